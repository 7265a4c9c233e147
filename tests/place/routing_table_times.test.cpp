// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/router.hpp>
#include <shardweave/place/routing_table.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/allocated.hpp"
#include "support/failing.hpp"
#include "support/vectors.hpp"

using namespace shardweave;
using namespace std::chrono;
using test_support::code_of;
using test_support::error_of;

namespace {

constexpr sys_days start = sys_days{year{2026} / November / 30};

shard_map four() { return shard_map::even({"db0", "db1", "db2", "db3"}); }

routing_table daily(std::uint32_t buckets = 8) {
    return {scheme_table{calculated(1)}.with(
                "a", time_windowed(days{1}, calculated(buckets, {.since = start}))),
            four()};
}

std::vector<std::string> texts(const auto& places) {
    std::vector<std::string> found;
    for (const auto& each : places) {
        found.push_back(each.partition_key.str());
    }
    return found;
}

}  // namespace

// Stored items have these texts; writing and parsing would change together and agree.
TEST_CASE("windows are written as they always were", "[time_windows][golden]") {
    const auto rows = test_support::vector_rows("placement.json", "window");
    REQUIRE(rows.size() == 12);
    for (const auto& row : rows) {
        const minutes width{row.number("minutes")};
        const item_time time{sys_time<milliseconds>{milliseconds{std::stoll(row.text("time"))}}};
        const std::string text = row.text("window");
        CAPTURE(text, width.count(), time.milliseconds());
        const item_time first = detail::window_start(time, width);
        CHECK(detail::window_text{first}.view() == text);
        CHECK(detail::window_text::parse(text) == first);
    }
    CHECK(daily().place("a", "post-981", start + 5h).partition_key == "a:bucket-2@20261130T0000Z");
}

TEST_CASE("an item goes to the window of its time", "[time_windows]") {
    const routing_table table = daily();
    const placement at = table.place("a", "post-981", start + days{3} + 23h + 59min);
    CHECK(at.partition_key == "a:bucket-2@20261203T0000Z");
    CHECK(at.shard == table.shards().owner(table.shards().slot_of(at.partition_key.str())));
    CHECK(table.place("a", "post-981", start + days{4}).partition_key ==
          "a:bucket-2@20261204T0000Z");
    // Ordinary keys do not care.
    CHECK(table.place("b", "post-981", start).partition_key == "b");
    CHECK(table.place("b", "post-981").partition_key == "b");
    // One bucket, and bucket 0, have their window all the same.
    for (const suffix mode : {suffix::unless_single, suffix::always, suffix::unless_zero}) {
        const routing_table single{
            scheme_table{time_windowed(hours{1}, calculated(1, {.since = start}))},
            four(),
            {.format = key_format{"{bucket}#{key}", mode}}};
        CHECK(single.place("a", 1, start + 90min).partition_key == "0@20261130T0100Z#a");
    }
}

TEST_CASE("a place needs the time where a time decides it", "[time_windows]") {
    const routing_table table = daily();
    const auto refused = error_of([&] { (void)table.place("a", 1); });
    CHECK(refused.code == errc::time_required);
    CHECK(refused.detail.find("created_at") != std::string::npos);
    CHECK(code_of([&] { (void)table.targets("a"); }) == errc::time_required);
    CHECK(code_of([&] { (void)table.candidates("a", 1); }) == errc::time_required);
    CHECK(code_of([&] { (void)table.group(std::vector{std::pair{"a", 1}}); }) ==
          errc::time_required);
    // A since alone is enough; but a read of everything has no windows to count.
    const routing_table bounded{
        scheme_table{calculated(1)}.grow("a", calculated(8, {.since = start})), four()};
    CHECK(code_of([&] { (void)bounded.place("a", 1); }) == errc::time_required);
    CHECK(bounded.targets("a").size() == 9);
    // The newest has no bound: it takes everything, as ever.
    const routing_table grown = table.with_schemes(table.schemes().grow("a", calculated(16)));
    CHECK(grown.place("a", 1).scheme == scheme_version{2});
    CHECK(grown.place("a", 1, start).scheme == scheme_version{2});
    CHECK(grown.place("a", 1, start - days{9}).scheme == scheme_version{2});
}

TEST_CASE("a late item goes to the scheme that reaches back to it, while that is live",
          "[time_windows]") {
    const scheme_table schemes =
        scheme_table{calculated(1)}
            .with("a", time_windowed(days{1}, calculated(2, {.since = start})))
            .grow("a", time_windowed(hours{1}, calculated(4, {.since = start + days{10}})));
    const routing_table table{schemes, four()};
    CHECK(table.place("a", 1, start + days{10}).scheme == scheme_version{2});
    CHECK(table.place("a", 1, start + days{10} - milliseconds{1}).scheme == scheme_version{1});
    CHECK(table.place("a", 1, start).scheme == scheme_version{1});
    const auto old = error_of([&] { (void)table.place("a", 1, start - milliseconds{1}); });
    CHECK(old.code == errc::time_out_of_range);
    CHECK(old.detail.find("nothing is kept") != std::string::npos);

    const routing_table retired = table.with_schemes(schemes.retire("a", scheme_version{1}));
    CHECK(code_of([&] { (void)retired.place("a", 1, start + days{9}); }) ==
          errc::time_out_of_range);
    CHECK(retired.targets("a", {start, start + days{10}}).empty());
}

TEST_CASE("a read asks the windows of its time, the newest first", "[time_windows]") {
    const routing_table table = daily(2);
    CHECK(texts(table.targets("a", {start + 23h, start + 25h})) ==
          std::vector<std::string>{"a:bucket-0@20261201T0000Z", "a:bucket-1@20261201T0000Z",
                                   "a:bucket-0@20261130T0000Z", "a:bucket-1@20261130T0000Z"});
    // Open below is bounded by since; the until is not in the range.
    CHECK(table.targets("a", {.until = start + days{3}}).size() == 6);
    CHECK(table.targets("a", {.until = start + days{3} + milliseconds{1}}).size() == 8);
    CHECK(table.targets("a", {.until = start}).empty());
    CHECK(table.targets("a", item_time{start + 5h}).size() == 2);
    const auto targets = table.targets("a", item_time{start + 5h});
    CHECK(targets.front().within == time_range{start, start + days{1}});
    CHECK(table.candidates("a", "post-981", start + 5h).size() == 1);
    CHECK(table.candidates("a", "post-981", {.until = start + days{30}}).size() == 30);
    CHECK(table.span_at("a", start + 5h) == time_range{start, start + days{1}});
    CHECK(table.span_at("a", start - 5h) == time_range{.until = start});
    CHECK(table.span_at("b", start) == time_range{});
}

TEST_CASE("schemes that write one window alike share it, with the times of both",
          "[time_windows]") {
    const routing_table table{
        scheme_table{calculated(1)}
            .with("a", time_windowed(days{1}, calculated(2, {.since = start + 6h})))
            .grow("a", time_windowed(hours{1}, calculated(4, {.since = start + 12h}))),
        four()};
    // At noon: four buckets of the hour, and two of the day, from where it began.
    const auto noon = table.targets("a", item_time{start + 12h});
    REQUIRE(noon.size() == 6);
    CHECK(noon[0].partition_key == "a:bucket-0@20261130T1200Z");
    CHECK(noon[0].within == time_range{start + 12h, start + 13h});
    CHECK(noon[4].partition_key == "a:bucket-0@20261130T0000Z");
    CHECK(noon[4].within == time_range{start + 6h, start + 24h});
    CHECK(noon[4].rank == 1);
    // At midnight the hour's text is the day's: 4 of them, and 2 may hold the whole day.
    const auto midnight = table.targets("a", item_time{start + 24h});
    REQUIRE(midnight.size() == 4);
    CHECK(midnight[1].within == time_range{start + 24h, start + 48h});
    CHECK(midnight[2].within == time_range{start + 24h, start + 25h});
}

TEST_CASE("a range of any length is refused before anything is built", "[time_windows]") {
    const routing_table table{
        scheme_table{time_windowed(minutes{1}, calculated(8, {.since = start}))}, four()};
    const item_time nearly{item_time::max().sys() - milliseconds{2}};
    CHECK(table.targets("a", {start, start + minutes{512}}).size() == limits::sources);
    CHECK(code_of([&] { (void)table.targets("a", {start, start + minutes{513}}); }) ==
          errc::limit_exceeded);
    // One of eight buckets is looked in.
    CHECK(table.candidates("a", 1, {start, start + minutes{4'096}}).size() == limits::sources);
    const std::size_t before = test_support::allocated_bytes;
    CHECK(code_of([&] { (void)table.targets("a", {item_time::min(), nearly}); }) ==
          errc::limit_exceeded);
    CHECK(test_support::allocated_bytes - before < 10'000);
    // Beyond the years that can be written nothing is kept.
    CHECK(table.targets("a", nearly).empty());
    CHECK(code_of([&] { (void)table.place("a", 1, nearly); }) == errc::limit_exceeded);
    CHECK(code_of([&] { (void)table.place("a", 1, item_time::max()); }) == errc::limit_exceeded);
    CHECK(code_of([&] { (void)table.place("a", 1, item_time::min()); }) == errc::time_out_of_range);
    CHECK(table.span_at("a", item_time::min()) == time_range{.until = start});
    CHECK(table.span_at("a", nearly).open_above());
}

TEST_CASE("a batch with times goes where its items would go one by one", "[time_windows]") {
    const routing_table table = daily();
    const std::vector<std::tuple<std::string, int, item_time>> items{
        {"a", 1, start}, {"a", 2, start + days{1}}, {"b", 3, start}};
    std::size_t placed = 0;
    for (const shard_batch& batch : table.group(items)) {
        for (const auto& [index, at] : batch.entries) {
            const auto& [key, id, time] = items[index];
            CHECK(at.partition_key == table.place(key, id, time).partition_key);
            CHECK(at.shard == batch.shard);
            ++placed;
        }
    }
    CHECK(placed == 3);
}

TEST_CASE("a format in which a window could be a part of the key holds none", "[time_windows]") {
    const key_format format{"{bucket}@{key}"};
    CHECK_FALSE(format.holds_windows());
    const auto refused = error_of([&] {
        (void)routing_table{scheme_table{time_windowed(days{1}, calculated(1, {.since = start}))},
                            four(),
                            {.format = format}};
    });
    CHECK(refused.code == errc::invalid_key_format);
    CHECK(refused.detail.find("{key} in front") != std::string::npos);
    CHECK(code_of([&] {
              (void)routing_table{
                  scheme_table{calculated(1, {.since = start})}, four(), {.format = format}};
          }) == errc::ok);
    CHECK(key_format{"{key}@{bucket}"}.holds_windows());
}

TEST_CASE("a table under which windows would not be found is not published", "[time_windows]") {
    router routes{daily()};
    const routing_table table = daily();
    const auto publish = [&](const bucket_scheme& scheme) {
        return code_of([&] {
            (void)routes.publish(table.with_schemes(scheme_table{calculated(1)}.with("a", scheme)));
        });
    };
    CHECK(publish(calculated(8)) == errc::scheme_conflict);
    CHECK(publish(calculated(8, {.since = start})) == errc::scheme_conflict);
    CHECK(publish(time_windowed(days{2}, calculated(8, {.since = start}))) ==
          errc::scheme_conflict);
    CHECK(publish(time_windowed(days{1}, calculated(8, {.since = start - days{1}}))) ==
          errc::scheme_conflict);
    CHECK(publish(time_windowed(days{1}, calculated(8, {.since = start}))) == errc::ok);
}

TEST_CASE("the limit of partition keys holds over all schemes together", "[time_windows]") {
    // Each scheme has fewer than 4,096 windows' buckets in the range; both have more.
    const routing_table table{
        scheme_table{calculated(1)}.with(
            "a", scheme_history{time_windowed(days{1}, calculated(30, {.since = start}))}.grown(
                     time_windowed(hours{25}, calculated(30, {.since = start + minutes{1}})))),
        four()};
    CHECK(table.targets("a", {start, start + days{60}}).size() > 3'000);
    CHECK(code_of([&] { static_cast<void>(table.targets("a", {start, start + days{100}})); }) ==
          errc::limit_exceeded);
}

TEST_CASE("a narrow window in the year 0 is found beside a wide one", "[time_windows]") {
    const item_time dawn{sys_days{year{0} / January / 1} + seconds{16}};
    const routing_table table{
        scheme_table{calculated(1)}.with(
            "a", scheme_history{time_windowed(minutes{1}, calculated(2, {.since = dawn}))}.grown(
                     time_windowed(days{7}, calculated(2, {.since = start})))),
        four()};
    const auto at = table.place("a", 1, dawn).partition_key;
    const auto asked = texts(table.targets("a", dawn));
    CHECK(std::find(asked.begin(), asked.end(), at.str()) != asked.end());
}
