// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/reading.hpp>

#include <shardweave/read/fan_out.hpp>
#include <shardweave/read/token.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;
using namespace std::chrono;
using sw::errc;
using test_support::code_of;
using test_support::generator;

namespace {

constexpr sys_days start = sys_days{year{2026} / January / 1};

struct post {
    std::int64_t created_at;
    std::string id;

    [[nodiscard]] sys_seconds time() const { return sys_seconds{seconds{created_at}}; }
    friend bool operator==(const post&, const post&) = default;
};
using posts = std::vector<post>;

const auto newest = sw::newest_first(sw::timed<seconds>(&post::created_at), sw::unique(&post::id));
const auto oldest = sw::oldest_first(sw::timed<seconds>(&post::created_at), sw::unique(&post::id));
using post_query = sw::shard_query<decltype(newest)::position_type>;

static_assert(decltype(newest)::timed);
static_assert(!decltype(newest)::times_rise);
static_assert(decltype(oldest)::times_rise);
static_assert(!decltype(sw::newest_first(&post::created_at, sw::unique(&post::id)))::timed);

/// A key with a window a day, and what its store was asked.
template <class Order>
struct history {
    history(const Order& order, sw::routing_table table)
        : store(order), router(std::move(table)), by(order) {}
    history(const history&) = delete;
    history& operator=(const history&) = delete;

    void write(std::int64_t at, const std::string& id) {
        all.push_back({at, id});
        const auto place = router.pin()->place("a", id, all.back().time());
        store.insert(place.shard, place.partition_key.str(), all.back());
    }
    void sort() {
        std::ranges::sort(all, [&](const post& a, const post& b) { return by.compare(a, b) < 0; });
    }
    [[nodiscard]] auto reader(sw::fan_out_options<post> with = {}) {
        return sw::fan_out{
            router, by,
            std::function<sw::shard_page<post>(const post_query&)>{[this](const post_query& query) {
                const std::scoped_lock lock{mutex};
                asked.insert(query.partition_keys.begin(), query.partition_keys.end());
                ++calls;
                return store.answer(query);
            }},
            std::move(with)};
    }
    [[nodiscard]] posts part(std::size_t first, std::size_t count) const {
        const auto at = all.begin() + static_cast<std::ptrdiff_t>(first);
        return {at, at + static_cast<std::ptrdiff_t>(std::min(count, all.size() - first))};
    }

    test_support::memory_store<Order> store;
    sw::router router;
    Order by;
    posts all;
    std::mutex mutex;
    std::set<std::string> asked;
    std::size_t calls = 0;
};

sw::routing_table daily(std::uint32_t buckets) {
    return {sw::scheme_table{sw::calculated(1)}.with(
                "a", sw::time_windowed(days{1}, sw::calculated(buckets, {.since = start}))),
            sw::shard_map::even({"db0", "db1", "db2"})};
}

std::int64_t day_at(int number) { return (start + days{number}).time_since_epoch() / seconds{1}; }

template <class Reader>
posts read_all(const Reader& reader, const std::string& key, sw::page_options with) {
    posts items;
    do {
        auto page = reader.page(key, with);
        items.insert(items.end(), page.items.begin(), page.items.end());
        with.from = std::move(page.next);
    } while (with.from);
    return items;
}

}  // namespace

TEST_CASE("the newest page of a long history contacts its newest window alone",
          "[reading][time_windows]") {
    history a{newest, daily(8)};
    for (int i = 0; i != 500; ++i) {
        for (int j = 0; j != 60; ++j) {
            a.write(day_at(i) + std::int64_t{60} * j,
                    "p" + std::to_string(i) + "-" + std::to_string(j));
        }
    }
    a.sort();
    const sw::time_range all{.until = start + days{500}};
    const auto page = a.reader().page("a", {.limit = 20, .within = all});
    CHECK(page.items == a.part(0, 20));
    CHECK(a.asked.size() == 8);
    CHECK(a.calls <= 16);
    SECTION("the next pages contact the one before it only when they reach it") {
        a.asked.clear();
        const auto next = a.reader().page("a", {.limit = 20, .from = page.next, .within = all});
        CHECK(next.items == a.part(20, 20));
        CHECK(a.asked.size() == 8);
        const auto third = a.reader().page("a", {.limit = 30, .from = next.next, .within = all});
        CHECK(third.items == a.part(40, 30));
        CHECK(a.asked.size() == 16);
        a.asked.clear();
        const auto back =
            a.reader().page("a", {.limit = 20, .from = third.previous, .within = all});
        CHECK(back.items == a.part(20, 20));
        CHECK(a.asked.size() == 8);
    }
}

TEST_CASE("a sparse history costs few rounds", "[reading][time_windows]") {
    history a{newest, daily(1)};
    a.write(day_at(0), "first");
    a.write(day_at(300), "second");
    a.sort();
    const auto page = a.reader().page("a", {.limit = 5, .within = {.until = start + days{400}}});
    CHECK(page.items == a.all);
    CHECK(page.ended == sw::page_end::end);
    CHECK_FALSE(page.next);
    CHECK(page.stats.requests == 400);
    CHECK(page.stats.rounds <= 18);
}

TEST_CASE("a history longer than a read may have sources is read all the same",
          "[reading][time_windows]") {
    history a{newest, daily(16)};
    for (int i = 0; i < 2000; i += 7) {
        a.write(day_at(i), "p" + std::to_string(i));
    }
    a.sort();
    const sw::time_range all{.until = start + days{2000}};
    CHECK(read_all(a.reader(), "a", {.limit = 100, .within = all}) == a.all);
    posts streamed;
    const auto reader = a.reader();
    for (post& each : reader.stream("a", {.chunk = 30, .within = all})) {
        streamed.push_back(std::move(each));
    }
    CHECK(streamed == a.all);
}

TEST_CASE("an order by time cuts its range to the millisecond", "[reading][time_windows]") {
    history a{newest, daily(4)};
    for (int i = 0; i != 200; ++i) {
        a.write(day_at(0) + std::int64_t{3600} * i, "p" + std::to_string(i));
    }
    a.sort();
    const auto from = start + hours{50};
    const auto until = start + hours{70};
    const posts between = read_all(a.reader(), "a", {.limit = 3, .within = {from, until}});
    REQUIRE(between.size() == 20);
    CHECK(between.front().time() == until - hours{1});
    CHECK(between.back().time() == from);
}

TEST_CASE("a list as of a time shows nothing later, on no page that follows", "[reading]") {
    history a{newest, daily(4)};
    for (int i = 0; i != 40; ++i) {
        a.write(day_at(0) + std::int64_t{3600} * i, "p" + std::to_string(i));
    }
    a.sort();
    const posts before = a.all;
    const auto now = start + hours{40};
    const sw::time_range all{.until = start + days{9}};
    const sw::checksummed sealer;
    const auto reader = a.reader();
    const auto first = reader.page("a", {.limit = 10, .within = all, .as_of = now});
    a.write(day_at(2), "later");
    a.write(day_at(3), "later still");
    const auto second = reader.page(
        "a", {.limit = 10, .from = sealer.open(sealer.seal(*first.next)), .within = all});
    CHECK(second.items == posts(before.begin() + 10, before.begin() + 20));
    const auto back = reader.page(
        "a", {.limit = 30, .from = sealer.open(sealer.seal(*second.previous)), .within = all});
    CHECK(back.items == posts(before.begin(), before.begin() + 10));
    CHECK_FALSE(back.previous);
    CHECK(reader.page("a", {.limit = 1, .within = all}).items.front().id == "later still");
}

TEST_CASE("as of a time needs an order by time", "[reading]") {
    const auto plain = sw::newest_first(&post::created_at, sw::unique(&post::id));
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}, sw::shard_map::single("db")}};
    const sw::fan_out reader{router, plain, [](const auto&) -> sw::shard_page<post> { return {}; }};
    CHECK(code_of([&] { (void)reader.page("a", {.as_of = start}); }) == errc::invalid_options);
}

TEST_CASE("a read of windows without end is refused before anyone is asked",
          "[reading][time_windows]") {
    history a{oldest, daily(2)};
    CHECK(code_of([&] { (void)a.reader().page("a"); }) == errc::time_required);
    CHECK(a.calls == 0);
}

TEST_CASE("since bounds are opened when they are reached", "[reading][time_windows]") {
    history a{newest,
              {sw::scheme_table{sw::calculated(1)}
                   .with("a", sw::calculated(2))
                   .grow("a", sw::calculated(4, {.since = start + days{10}})),
               sw::shard_map::even({"db0", "db1", "db2"})}};
    for (int i = 0; i != 20; ++i) {
        for (int j = 0; j != 10; ++j) {
            a.write(day_at(i) + j, "p" + std::to_string(10 * i + j));
        }
    }
    a.sort();
    // The older scheme may have later items, too, so it is asked from the start.
    const auto page = a.reader().page("a", {.limit = 20});
    CHECK(page.items == a.part(0, 20));
    CHECK(a.asked.size() == 4);
    a.asked.clear();
    sw::page_options rest{.limit = 20, .from = page.next, .within = {.until = start + days{9}}};
    CHECK(a.reader().page("a", rest).items.front().time() < start + days{9});
    CHECK(a.asked.size() == 2);
}

// A read that opens what it needs gives what one that asks everything does.
TEST_CASE("lazily or at once, forward and back, a timed list is the same list",
          "[reading][time_windows][law]") {
    const auto draw_all = [](const auto& by, std::uint64_t seed) {
        CAPTURE(seed, test_support::replay());
        generator draw{seed};
        sw::scheme_table schemes{sw::calculated(1)};
        const unsigned shape = draw.below(4U);
        if (shape == 0) {
            schemes = std::move(schemes).with("a", sw::calculated(1 + draw.below(4U)));
        } else {
            schemes = std::move(schemes).with(
                "a", sw::time_windowed(hours{6 + draw.below(40U)},
                                       sw::calculated(1 + draw.below(4U), {.since = start})));
        }
        if (shape > 1) {
            schemes = std::move(schemes).grow(
                "a",
                sw::time_windowed(hours{1 + draw.below(30U)},
                                  sw::calculated(1 + draw.below(6U), {.since = start + days{5}})));
        }
        history a{by, {std::move(schemes), sw::shard_map::even({"db0", "db1", "db2"})}};
        const std::size_t rows = draw.below(80U);
        for (std::size_t i = 0; i != rows; ++i) {
            a.write(day_at(0) + std::int64_t{3600} * draw.below(15U * 24), "p" + std::to_string(i));
        }
        a.sort();
        const sw::item_time from = start + hours{draw.below(8U * 24)};
        const sw::item_time until = from.sys() + hours{draw.below(9U * 24)};
        const sw::time_range within = draw.chance(50) ? sw::time_range{.until = start + days{16}}
                                                      : sw::time_range{from, until};
        posts expected;
        for (const post& each : a.all) {
            if (within.contains(each.time())) {
                expected.push_back(each);
            }
        }
        const sw::checksummed sealer;
        const auto reader = a.reader({.concurrency = draw.chance(5) ? 3U : 1U});
        const std::size_t limit = 1 + draw.below(12U);
        std::size_t at = 0;
        std::optional<sw::cursor> next;
        std::optional<sw::cursor> back;
        std::size_t back_from = 0;
        do {
            auto page = reader.page("a", {.limit = limit, .from = next, .within = within});
            const std::size_t count = std::min(limit, expected.size() - at);
            REQUIRE(page.items ==
                    posts(expected.begin() + static_cast<std::ptrdiff_t>(at),
                          expected.begin() + static_cast<std::ptrdiff_t>(at + count)));
            if (count != 0) {
                back = page.previous;
                back_from = at;
            }
            at += count;
            next = page.next ? std::optional{sealer.open(sealer.seal(*page.next))} : std::nullopt;
        } while (next);
        REQUIRE(at == expected.size());
        while (back) {
            auto page = reader.page("a", {.limit = limit, .from = back, .within = within});
            const std::size_t count = std::min(limit, back_from);
            back_from -= count;
            REQUIRE(page.items ==
                    posts(expected.begin() + static_cast<std::ptrdiff_t>(back_from),
                          expected.begin() + static_cast<std::ptrdiff_t>(back_from + count)));
            back = page.previous;
        }
        REQUIRE(back_from == 0);
        posts streamed;
        for (post& each : reader.stream("a", {.chunk = 1 + draw.below(20U), .within = within})) {
            streamed.push_back(std::move(each));
        }
        REQUIRE(streamed == expected);
    };
    const std::uint64_t first = test_support::seed();
    for (std::uint64_t seed = first; seed != first + test_support::scaled(600); ++seed) {
        draw_all(newest, seed);
        draw_all(oldest, seed);
    }
}

TEST_CASE("a range bounds a read at both ends, both ways, whatever is asked beyond it",
          "[reading][range]") {
    const auto plain = sw::newest_first(&post::created_at, sw::unique(&post::id));
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("a", sw::calculated(4)),
                          sw::shard_map::even({"db0", "db1"})}};
    test_support::memory_store store{plain};
    posts all;
    for (int i = 0; i != 60; ++i) {
        all.push_back({i / 2, "p" + std::to_string(i)});
        store.insert(*router.pin(), "a", all.back().id, all.back());
    }
    std::ranges::sort(all, [&](const post& a, const post& b) { return plain.compare(a, b) < 0; });
    const bool heeds = GENERATE(true, false);
    const sw::fan_out reader{router, plain, [&](auto query) {
                                 if (!heeds) {
                                     query.until.reset();
                                 }
                                 return store.answer(query);
                             }};
    const auto at = [&](std::size_t i) { return std::optional{plain.position_of(all[i])}; };
    const auto part = [&](std::size_t from, std::size_t to) {
        return posts(all.begin() + static_cast<std::ptrdiff_t>(from),
                     all.begin() + static_cast<std::ptrdiff_t>(to));
    };
    for (const std::size_t limit : {3U, 7U, 100U}) {
        sw::page_options with{.limit = limit, .range = reader.between(at(9), at(50))};
        CHECK(read_all(reader, "a", with) == part(10, 50));
        const auto first = reader.page("a", with);
        CHECK_FALSE(first.previous);
        with.from = first.next;
        if (with.from) {
            const auto second = reader.page("a", with);
            with.from = second.previous;
            CHECK(reader.page("a", with).items == first.items);
        }
    }
    CHECK(read_all(reader, "a", {.limit = 9, .range = reader.between(at(40), std::nullopt)}) ==
          part(41, 60));
    CHECK(read_all(reader, "a", {.limit = 9, .range = reader.between(std::nullopt, at(5))}) ==
          part(0, 5));
    CHECK(read_all(reader, "a", {.range = reader.between(at(5), at(5))}).empty());
    CHECK(read_all(reader, "a", {.range = reader.between(at(9), at(5))}).empty());
    posts streamed;
    for (post& each : reader.stream("a", {.chunk = 4, .range = reader.between(at(9), at(50))})) {
        streamed.push_back(std::move(each));
    }
    CHECK(streamed == part(10, 50));
    CHECK(code_of([&] { (void)reader.page("a", {.range = {.after = "\x01"}}); }) ==
          errc::invalid_options);
}

TEST_CASE("a source that repeats rows of earlier times makes no progress",
          "[reading][time_windows]") {
    // Each answer counted as one that got the read on, and so it never ended.
    const sw::router router{test_support::spread("feed", 1)};
    int calls = 0;
    const sw::fan_out reader{router, oldest, [&](const post_query&) -> sw::shard_page<post> {
                                 if (++calls == 100) {
                                     throw std::runtime_error{"it goes on for ever"};
                                 }
                                 return {.items = {{1, "a"}, {2, "b"}}, .more = true};
                             }};
    CHECK(code_of([&] { (void)reader.page("feed", {.within = {start, start + days{1}}}); }) ==
          errc::no_progress);
}

TEST_CASE("a store that looked beyond the range is not asked for more of it",
          "[reading][time_windows]") {
    // A filter that matched nothing took a read through all of the history.
    const sw::router router{test_support::spread("feed", 1)};
    int calls = 0;
    const sw::fan_out reader{router, newest, [&](const post_query& query) -> sw::shard_page<post> {
                                 ++calls;
                                 const std::int64_t seen =
                                     (query.after ? get<0>(*query.after) : day_at(9)) - 3'600;
                                 return {.more = seen > 0, .scanned = post{seen, "x"}};
                             }};
    const auto page = reader.page("feed", {.within = {start + days{8}, start + days{10}}});
    CHECK(page.items.empty());
    CHECK_FALSE(page.next);
    CHECK(calls == 25);
}

TEST_CASE("the rows that a budget allows are for all windows together", "[reading][time_windows]") {
    // What windows without rows were asked for was not counted.
    const sw::router router{daily(2)};
    std::size_t rows = 0;
    const sw::fan_out reader{router, newest, [&](const post_query& query) -> sw::shard_page<post> {
                                 rows += query.limit;
                                 return {};
                             }};
    const auto page = reader.page(
        "a", {.limit = 20, .within = {start, start + days{200}}, .budget = {.rows = 50}});
    CHECK(page.ended == sw::page_end::budget);
    CHECK(page.next);
    CHECK(rows <= 50);
}

TEST_CASE("a budget leads through a gap that is longer than it pays for",
          "[reading][time_windows]") {
    const auto through = [](const auto& by) {
        history a{by, daily(3)};
        for (const int day : {0, 1, 200, 399}) {
            a.write(day_at(day), "p" + std::to_string(day));
        }
        a.sort();
        const sw::checksummed sealer;
        sw::page_options with{.limit = 2,
                              .within = {start, start + days{401}},
                              .budget = {.requests = GENERATE(std::size_t{7}, std::size_t{60})}};
        posts items;
        std::size_t pages = 0;
        for (std::optional<sw::cursor> next; pages == 0 || next; ++pages) {
            REQUIRE(pages < 400);
            with.from = next;
            auto page = a.reader().page("a", with);
            REQUIRE(page.stats.requests <= with.budget.requests);
            items.insert(items.end(), page.items.begin(), page.items.end());
            next = page.next ? std::optional{sealer.open(sealer.seal(*page.next))} : std::nullopt;
        }
        CHECK(items == a.all);
        // Windows that were empty are not asked for again; a row's own window may be.
        CHECK(a.calls <= std::size_t{3} * (401 + 4 * 4));
        CHECK(a.asked.size() == std::size_t{3} * 401);
    };
    SECTION("newest first") { through(newest); }
    SECTION("oldest first") { through(oldest); }
}

// Found by the reading law: the cursor of an answer that went beyond the range was taken up by the
// next page, which so skipped what had been added within it.
TEST_CASE("a store cursor from beyond the range is not gone on from", "[reading]") {
    const sw::router router{daily(2)};
    const std::string bucket =
        router.pin()->targets("a", sw::item_time{start})[0].partition_key.str();
    posts rows{{day_at(0) + 9, "i"}, {day_at(0) + 8, "h"}, {day_at(0) + 2, "b"}};
    const posts others{{day_at(0) + 7, "g"}, {day_at(0) + 5, "e"}};
    const auto ask = [&](const post_query& query) {
        const bool has_cursors = query.partition_keys[0] == bucket;
        const posts& from = has_cursors ? rows : others;
        sw::shard_page<post> answer;
        for (const post& each : from) {
            if (query.cursor.empty() ? !query.after || newest.compare(each, *query.after) > 0
                                     : each.id < query.cursor) {
                answer.items.push_back(each);
            }
        }
        if (has_cursors && !answer.items.empty()) {
            answer.more = true;
            answer.cursor = answer.items.back().id;
        }
        return answer;
    };
    const sw::fan_out reader{router, newest, ask};
    const sw::time_range within{start + 5s, start + days{1}};
    const auto first = reader.page("a", {.limit = 3, .within = within});
    CHECK(first.items == posts{rows[0], rows[1], others[0]});
    rows.insert(rows.begin() + 2, {day_at(0) + 6, "f"});
    REQUIRE(first.next);
    CHECK(reader.page("a", {.limit = 3, .from = first.next, .within = within}).items ==
          posts{rows[2], others[1]});
}

TEST_CASE("marks of ended sources hold for a range that ends there", "[reading]") {
    // A page of a longer range left out what a source had beyond the end of the shorter one.
    const sw::router router{test_support::spread("feed", 2)};
    test_support::memory_store<std::remove_const_t<decltype(newest)>> store{newest};
    const auto targets = router.pin()->targets("feed");
    for (int day = 0; day != 20; ++day) {
        const sw::target& at = targets[day < 10 ? 1U : 0U];
        store.insert(at.shard, at.partition_key.str(), {day_at(day), "post"});
    }
    std::size_t calls = 0;
    const sw::fan_out reader{router,
                             newest,
                             [&](const post_query& query) {
                                 ++calls;
                                 return store.answer(query);
                             },
                             {.growth = sw::growth::in_front}};
    const auto first = reader.page("feed", {.limit = 5, .within = {.since = start + days{10}}});
    REQUIRE(first.items.size() == 5);
    CHECK(read_all(reader, "feed", {.limit = 5, .from = first.next}).size() == 15);
    calls = 0;
    CHECK(
        reader.page("feed", {.limit = 4, .from = first.next, .within = {.since = start + days{10}}})
            .items.size() == 4);
    CHECK(calls == 1);  // for the same range they hold
}

TEST_CASE("a stream that can not read ahead hands out what it has first", "[reading][stream]") {
    // The chunk at hand was lost with the failure of the one after it.
    const auto ahead = GENERATE(sw::prefetch::nothing, sw::prefetch::next_round);
    const auto schemes =
        sw::scheme_history{sw::time_windowed(days{1}, sw::calculated(1, {.since = start}))}.grown(
            sw::time_windowed(days{1}, sw::calculated(4'096, {.since = start + days{2}})));
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("a", schemes).with("b", schemes),
                          sw::shard_map::single("db")}};
    const sw::fan_out reader{
        router,
        oldest,
        [&](const post_query& query) -> sw::shard_page<post> {
            const bool first =
                query.partition_keys.front().front() == 'a' && query.within.contains(start);
            return first ? sw::shard_page<post>{.items = {{day_at(0), "x"}, {day_at(0), "y"}}}
                         : sw::shard_page<post>{};
        },
        {.concurrency = 2}};
    auto all = reader.stream({"a", "b"},
                             {.chunk = 2, .within = {start, start + days{5}}, .prefetch = ahead});
    posts items;
    const auto read = [&] {
        for (const post& each : all) {
            items.push_back(each);
        }
    };
    CHECK(code_of(read) == errc::limit_exceeded);
    CHECK(items.size() == 2);
    CHECK(code_of(read) == errc::limit_exceeded);
    CHECK(items.size() == 2);
}
