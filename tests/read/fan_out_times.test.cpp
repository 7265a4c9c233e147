// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;
using namespace std::chrono;
using sw::errc;
using test_support::code_of;

namespace {

constexpr sys_days start = sys_days{year{2026} / November / 30};

struct post {
    std::int64_t created_at;
    std::string id;

    [[nodiscard]] sys_seconds time() const { return sys_seconds{seconds{created_at}}; }
    friend bool operator==(const post&, const post&) = default;
};

const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));
using store = test_support::memory_store<std::remove_const_t<decltype(newest)>>;

/// Daily windows for ten days, then six hours, by more buckets.
sw::routing_table table() {
    return {
        sw::scheme_table{sw::calculated(1)}
            .with("a", sw::time_windowed(days{1}, sw::calculated(2, {.since = start})))
            .grow("a", sw::time_windowed(hours{6}, sw::calculated(4, {.since = start + days{10}}))),
        sw::shard_map::even({"db0", "db1", "db2"})};
}

/// Posts of twenty days, newest first, each where it was placed.
std::vector<post> write(store& rows, const sw::routing_table& by, test_support::generator& any) {
    std::vector<post> all;
    for (int i = 0; i != 300; ++i) {
        const auto time = start + seconds{any.below(20U * 86'400U)};
        all.push_back({time.time_since_epoch().count(), "p" + std::to_string(i)});
    }
    std::sort(all.begin(), all.end(),
              [](const post& a, const post& b) { return newest.compare(a, b) < 0; });
    for (const post& each : all) {
        const sw::placement at = by.place("a", each.id, each.time());
        rows.insert(at.shard, at.partition_key, each);
    }
    return all;
}

}  // namespace

TEST_CASE("a key with windows is read in order across them", "[fan_out][time_windows]") {
    INFO(test_support::replay());
    test_support::generator any;
    const sw::router routes{table()};
    store rows{newest};
    const std::vector<post> all = write(rows, *routes.pin(), any);
    for (const sw::grouping by : {sw::grouping::per_partition_key, sw::grouping::per_shard}) {
        const sw::fan_out reader{routes,
                                 newest,
                                 [&](const auto& query) { return rows.answer(query); },
                                 {.grouping = by}};
        std::vector<post> read;
        std::optional<sw::cursor> from;
        // "Now" moves on between the pages.
        sys_time<hours> now = start + days{20};
        do {
            auto page = reader.page("a", {.limit = 17, .from = from, .within = {.until = now}});
            read.insert(read.end(), page.items.begin(), page.items.end());
            from = page.next;
            now += hours{1};
        } while (from);
        CHECK(read == all);

        std::vector<post> streamed;
        for (const post& each : reader.stream("a", {.chunk = 40, .within = {.until = now}})) {
            streamed.push_back(each);
        }
        CHECK(streamed == all);
    }
}

TEST_CASE("only the windows of the time that is read are asked", "[fan_out][time_windows]") {
    test_support::generator any{5};
    const sw::router routes{table()};
    store rows{newest};
    const std::vector<post> all = write(rows, *routes.pin(), any);
    std::set<std::string> asked;
    const sw::fan_out reader{routes, newest, [&](const auto& query) {
                                 asked.insert(query.partition_keys.begin(),
                                              query.partition_keys.end());
                                 return rows.answer(query);
                             }};
    const auto day = start + days{3};
    const auto page = reader.page("a", {.limit = 300, .within = {day, day + days{1}}});
    CHECK(asked == std::set<std::string>{"a:bucket-0@20261203T0000Z", "a:bucket-1@20261203T0000Z"});
    std::vector<post> expected;
    for (const post& each : all) {
        if (each.time() >= day && each.time() < day + days{1}) {
            expected.push_back(each);
        }
    }
    CHECK(page.items == expected);
    CHECK_FALSE(expected.empty());

    // Everything has no newest window to begin with.
    CHECK(code_of([&] { (void)reader.page("a"); }) == errc::time_required);
    CHECK(code_of([&] { (void)reader.stream("a").begin(); }) == errc::time_required);
}

TEST_CASE("an item with a time is found in its window", "[fan_out][time_windows]") {
    test_support::generator any{6};
    const sw::router routes{table()};
    store rows{newest};
    const std::vector<post> all = write(rows, *routes.pin(), any);
    const sw::fan_out reader{routes, newest, [&](const auto& query) { return rows.answer(query); }};
    const post& one = all[7];
    std::size_t gets = 0;
    const auto get = [&](const sw::placement& at) -> std::optional<post> {
        ++gets;
        const auto there = routes.pin()->place("a", one.id, one.time()).partition_key;
        return at.partition_key == there ? std::optional{one} : std::nullopt;
    };
    CHECK(reader.find("a", one.id, sw::item_time{one.time()}, get) == one);
    CHECK(gets == 1);
    // About when is enough.
    CHECK(reader.find("a", one.id, {.since = start, .until = start + days{21}}, get) == one);
    CHECK(code_of([&] { (void)reader.find("a", one.id, get); }) == errc::time_required);
}
