// SPDX-License-Identifier: BSL-1.0
// Faults that a reader of the code found where pages end early: by budgets, gaps, cursors of the
// store's, ranges and deadlines.
#include <shardweave/read/fan_out.hpp>
#include <shardweave/read/page_driver.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/failing.hpp"
#include "support/tables.hpp"

namespace sw = shardweave;
using namespace std::chrono;
using test_support::code_of;

namespace {

struct row {
    std::int64_t at = 0;
    std::string id;

    friend bool operator==(const row&, const row&) = default;
};
using rows = std::vector<row>;
/// By partition key.
using stored = std::map<std::string, rows>;

const auto oldest = sw::oldest_first(&row::at, sw::unique(&row::id));
const auto newest = sw::newest_first(&row::at, sw::unique(&row::id));
const auto newest_by_time = sw::newest_first(sw::timed<seconds>(&row::at), sw::unique(&row::id));
constexpr sys_days start = sys_days{year{2026} / January / 1};

sw::router buckets(std::uint32_t count) {
    return sw::router{{sw::scheme_table{sw::calculated(count)}, sw::shard_map::even({"db0"})}};
}
sw::router windows(minutes width, std::uint32_t count) {
    return sw::router{{sw::scheme_table{sw::calculated(1)}.with(
                           "k", sw::time_windowed(width, sw::calculated(count, {.since = start}))),
                       sw::shard_map::even({"db0"})}};
}

template <class Order, class Query>
sw::shard_page<row> select(const stored& from, const Order& order, const Query& query) {
    sw::shard_page<row> page;
    rows all;
    if (const auto found = from.find(query.partition_keys[0]); found != from.end()) {
        all = found->second;
    }
    const bool forward = query.way == sw::scan::forward;
    std::ranges::sort(all, [&](const row& a, const row& b) {
        return forward ? order.compare(a, b) < 0 : order.compare(b, a) < 0;
    });
    for (const row& each : all) {
        if (query.after && (forward ? order.compare(each, *query.after) <= 0
                                    : order.compare(each, *query.after) >= 0)) {
            continue;
        }
        if (page.items.size() == query.limit) {
            page.more = true;
            break;
        }
        page.items.push_back(each);
    }
    return page;
}

}  // namespace

TEST_CASE("a cursor that comes with no rows does not skip those that came without a cursor",
          "[fan_out]") {
    const sw::router router = buckets(2);
    const stored all{{"k:bucket-0", {{1, "a"}, {5, "b"}, {200, "c"}}},
                     {"k:bucket-1", {{2, "d"}, {3, "e"}, {4, "f"}}}};
    // Looks at ten numbers a query, and gives a cursor where it found no row.
    const sw::fan_out reader{
        router,
        oldest,
        [&](const auto& query) {
            const std::int64_t from = !query.cursor.empty() ? std::stoll(std::string{query.cursor})
                                      : query.after         ? get<0>(*query.after)
                                                            : 0;
            sw::shard_page<row> page;
            for (const row& each : all.at(query.partition_keys[0])) {
                if (each.at > from && each.at <= from + 10 && page.items.size() < query.limit) {
                    page.items.push_back(each);
                }
            }
            page.more = from + 10 < 300;
            page.cursor = page.items.empty() && page.more ? std::to_string(from + 10) : "";
            return page;
        },
        {.asking = {.fetch = sw::fetch::full}}};
    rows got;
    std::optional<sw::cursor> from;
    do {
        const auto page = reader.page("k", {.limit = 3, .from = from});
        got.insert(got.end(), page.items.begin(), page.items.end());
        from = page.next;
    } while (from);
    CHECK(got == rows{{1, "a"}, {2, "d"}, {3, "e"}, {4, "f"}, {5, "b"}, {200, "c"}});
}

TEST_CASE("back from an empty page that its budget ended is the page before it", "[fan_out]") {
    const sw::router router = buckets(1);
    stored all;
    for (std::int64_t at = 1; at <= 100; ++at) {
        all["k:bucket-0"].push_back({at, "x"});
        all["k"].push_back({at, "x"});
    }
    const sw::fan_out reader{
        router, oldest, [&](const auto& query) {
            auto page = select(all, oldest, query);
            if (!page.items.empty()) {
                page.scanned = page.items.back();
            }
            std::erase_if(page.items, [](const row& each) { return each.at > 10 && each.at < 91; });
            return page;
        }};
    const auto first = reader.page("k", {.limit = 10});
    const auto empty =
        reader.page("k", {.limit = 5, .from = first.next, .budget = {.rows = 5, .requests = 1}});
    REQUIRE(empty.items.empty());
    REQUIRE(empty.ended == sw::page_end::budget);
    REQUIRE(empty.previous);
    CHECK(reader.page("k", {.limit = 10, .from = empty.previous}).items == first.items);
}

TEST_CASE("a store in another order is found out though a range leaves its rows out", "[fan_out]") {
    // As text, 10 and 100 come before 2.
    const sw::router router = buckets(1);
    const sw::fan_out reader{router, oldest, [](const auto& query) -> sw::shard_page<row> {
                                 if (query.after) {
                                     return {};
                                 }
                                 return {.items = {{1, ""}, {10, ""}, {100, ""}, {2, ""}}};
                             }};
    const auto range = reader.between(std::nullopt, oldest.position_of(row{10, ""}));
    CHECK(code_of([&] { (void)reader.page("k", {.range = range}); }) == sw::errc::unordered_source);
}

TEST_CASE("what a store looked at beyond the range is not asked for", "[fan_out]") {
    const sw::router router = buckets(1);
    std::size_t calls = 0;
    const sw::fan_out reader{router, oldest, [&](const auto& query) -> sw::shard_page<row> {
                                 ++calls;
                                 const std::int64_t from = query.after ? get<0>(*query.after) : 0;
                                 return {.items = {}, .more = true, .scanned = row{from + 10, ""}};
                             }};
    const auto range = reader.between(std::nullopt, oldest.position_of(row{35, ""}));
    CHECK(reader.page("k", {.range = range}).items.empty());
    CHECK(calls == 4);
}

TEST_CASE("a gap is told as one, and named, though the budget is spent as well", "[fan_out]") {
    const sw::router router = buckets(2);
    stored all;
    for (std::int64_t at = 1; at < 50; ++at) {
        all["k:bucket-1"].push_back({at, "x"});
    }
    const sw::fan_out reader{router,
                             oldest,
                             [&](auto query) {
                                 if (query.partition_keys[0] == "k:bucket-0") {
                                     throw std::runtime_error{"down"};
                                 }
                                 query.limit = 2;
                                 return select(all, oldest, query);
                             },
                             {.on_failure = sw::on_failure::prefix}};
    const auto page = reader.page("k", {.limit = 10, .budget = {.requests = 2}});
    CHECK(page.ended == sw::page_end::gap);
    CHECK(page.failures.size() == 1);
}

TEST_CASE("an empty page at a gap marks no source as ended", "[fan_out]") {
    const sw::router router = buckets(2);
    stored all;
    bool down = true;
    const sw::fan_out reader{
        router,
        newest,
        [&](const auto& query) {
            if (down && query.partition_keys[0] == "k:bucket-1") {
                throw std::runtime_error{"down"};
            }
            return select(all, newest, query);
        },
        {.on_failure = sw::on_failure::prefix, .growth = sw::growth::in_front}};
    const auto gap = reader.page("k", {.limit = 5});
    REQUIRE(gap.ended == sw::page_end::gap);
    all["k:bucket-0"] = {{7, "new"}};
    down = false;
    CHECK(reader.page("k", {.limit = 5, .from = gap.next}).items == rows{{7, "new"}});
}

TEST_CASE("a page that skipped a window has a next one", "[fan_out][time_windows]") {
    const sw::router router = windows(days{1}, 1);
    const std::string failing = router.place("k", "x", start + days{1}).partition_key.str();
    const sw::fan_out reader{router,
                             newest_by_time,
                             [&](const auto& query) -> sw::shard_page<row> {
                                 if (query.partition_keys[0] == failing) {
                                     throw std::runtime_error{"down"};
                                 }
                                 return {};
                             },
                             {.on_failure = sw::on_failure::skip}};
    const auto page = reader.page("k", {.within = {.until = start + days{2}}});
    CHECK(page.failures.size() == 1);
    CHECK(page.next);
}

TEST_CASE("whoever skips does not skip all of a history once the time is over",
          "[fan_out][time_windows]") {
    const sw::router router = windows(hours{1}, 8);
    const sw::fan_out reader{router,
                             newest_by_time,
                             [](const auto&) -> sw::shard_page<row> { return {}; },
                             {.on_failure = sw::on_failure::skip}};
    const auto page = reader.page("k", {.within = {.until = start + days{3650}},
                                        .deadline = sw::deadline{steady_clock::now()}});
    CHECK(page.ended == sw::page_end::gap);
    CHECK(page.failures.size() <= 8);
    CHECK(page.next);
}

TEST_CASE("a long page opens no more windows than it may have rows for",
          "[fan_out][time_windows]") {
    const sw::router router = windows(days{1}, 8);
    const sw::fan_out reader{router, newest_by_time,
                             [](const auto&) -> sw::shard_page<row> { return {}; }};
    CHECK(reader.page("k", {.limit = 10'000, .within = {.until = start + days{365}}})
              .stats.requests == std::size_t{8} * 365);
}

TEST_CASE("a driver is cancelled between its calls, too", "[page_driver]") {
    const sw::router router = buckets(1);
    const sw::key_reader reader{router, oldest};
    const sw::instant now{1h};
    sw::page_driver early{reader, "k"};
    early.cancel();
    CHECK_FALSE(early.begin(now));
    CHECK(early.finished());
    CHECK(code_of([&] { (void)early.take(); }) == sw::errc::cancelled);

    sw::page_driver late{reader, "k", {.limit = 5}};
    const auto first = late.begin(now);
    REQUIRE(first);
    late.answer(*first, {.items = {{1, "a"}}, .more = true}, now);
    late.cancel();
    CHECK_FALSE(late.begin(now));
    CHECK(code_of([&] { (void)late.take(); }) == sw::errc::cancelled);
}
