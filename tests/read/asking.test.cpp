// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/asking.hpp>

#include <shardweave/read/fan_out.hpp>
#include <shardweave/read/token.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/memory_store.hpp"
#include "support/numbers.hpp"

namespace sw = shardweave;
using sw::errc;
using sw::fetch;
using test_support::code_of;
using test_support::ints;
using test_support::number_query;
using test_support::numbers;
using test_support::spread;

namespace {

static_assert(sw::asking{}.fetch == fetch::quota);

/// The numbers from 0 up, spread evenly over the sources.
struct feed : test_support::spread_numbers {
    using spread_numbers::spread_numbers;

    [[nodiscard]] auto reader(sw::fan_out_options<int> with = {}) {
        return sw::fan_out{router, numbers,
                           std::function<sw::shard_page<int>(const number_query&)>{
                               [this](const number_query& query) {
                                   ++calls;
                                   largest = std::max(largest, query.limit);
                                   return store.answer(query);
                               }},
                           std::move(with)};
    }

    std::size_t calls = 0;
    std::size_t largest = 0;
};

ints counted(int from, int count) {
    ints all(static_cast<std::size_t>(count));
    for (int& each : all) {
        each = from++;
    }
    return all;
}

/// A store whose filter drops most rows: it looks at ten at a time, as DynamoDB does.
struct filtering {
    int first = 0;
    int last = 0;
    std::size_t calls = 0;

    /// Answers by its own cursor alone.
    sw::shard_page<int> by_cursor(const number_query& query) {
        ++calls;
        const int from = query.cursor.empty() ? 0 : std::stoi(std::string{query.cursor});
        sw::shard_page<int> page = rows(query, from);
        page.cursor = page.more ? std::to_string(from + 10) : "";
        return page;
    }
    /// Answers by position, and tells how far it looked.
    sw::shard_page<int> by_position(const number_query& query) {
        ++calls;
        const int from = query.after ? get<0>(*query.after) + 1 : 0;
        sw::shard_page<int> page = rows(query, from);
        page.scanned = from + 9;
        return page;
    }

private:
    [[nodiscard]] sw::shard_page<int> rows(const number_query& query, int from) const {
        sw::shard_page<int> page;
        for (int row = from; row != from + 10 && row < 1000; ++row) {
            if (row >= first && row < last && page.items.size() != query.limit) {
                page.items.push_back(row);
            }
        }
        page.more = from + 10 < 1000;
        return page;
    }
};

}  // namespace

TEST_CASE("the first round asks for the quota, for all, or for the least", "[asking]") {
    CHECK(sw::asking{}.rows_of(20, 0.125, 8) == sw::quota(20, 0.125, 8));
    CHECK(sw::asking{.fetch = fetch::full}.rows_of(20, 0.125, 8) == 20);
    CHECK(sw::asking{.fetch = fetch::least}.rows_of(20, 0.125, 8) == 4);
    CHECK(sw::asking{.fetch = fetch::least}.rows_of(2, 0.5, 1) == 2);
    CHECK(sw::asking{.fetch = fetch::least}.rows_of(1, 0.125, 8) == 1);
}

TEST_CASE("a quota is rounded up to what the store bills, and never over the page", "[asking]") {
    const std::size_t quota = sw::quota(100, 0.125, 8);
    REQUIRE(quota % 16 != 0);
    CHECK(sw::asking{.billing_unit = 16}.rows_of(100, 0.125, 8) == (quota / 16 + 1) * 16);
    CHECK(sw::asking{.fetch = fetch::least, .billing_unit = 7}.rows_of(100, 0.125, 8) == 14);
    CHECK(sw::asking{.fetch = fetch::least, .billing_unit = 14}.rows_of(100, 0.125, 8) == 14);
    CHECK(sw::asking{.billing_unit = 1000}.rows_of(100, 0.125, 8) == 100);
}

TEST_CASE("every way to ask gives the same pages", "[asking]") {
    for (const sw::asking& how : {sw::asking{}, sw::asking{.fetch = fetch::full},
                                  sw::asking{.fetch = fetch::least}, sw::asking{.billing_unit = 5},
                                  sw::asking{.buffered_rows = 8}, sw::asking{.buffered_rows = 1}}) {
        feed eight{8, 100};
        const auto reader = eight.reader({.asking = how});
        ints all;
        std::optional<sw::cursor> from;
        do {
            auto page = reader.page("feed", {.limit = 20, .from = from});
            CHECK(page.stats.rounds <= (how.buffered_rows < 100 ? 40 : 2));
            all.insert(all.end(), page.items.begin(), page.items.end());
            from = std::move(page.next);
        } while (from);
        CHECK(all == counted(0, 100));
    }
}

TEST_CASE("full asks once, and least asks for little", "[asking]") {
    feed eight{8, 1000};
    const auto full = eight.reader({.asking = {.fetch = fetch::full}}).page("feed");
    CHECK(full.stats.rounds == 1);
    CHECK(full.stats.rows_examined == 160);
    const auto least = eight.reader({.asking = {.fetch = fetch::least}}).page("feed");
    CHECK(least.stats.rows_examined <= 40);
    CHECK(full.items == least.items);
}

// Memory that grew with partitions times page size, without a ceiling.
TEST_CASE("no more rows are in memory than allowed, and none is asked once the page is full",
          "[asking]") {
    feed many{64, 4000};
    for (const fetch how : {fetch::full, fetch::quota}) {
        many.largest = 0;
        many.calls = 0;
        const auto page =
            many.reader({.asking = {.fetch = how, .billing_unit = 1000, .buffered_rows = 500}})
                .page("feed", {.limit = 10});
        CHECK(page.items == counted(0, 10));
        CHECK(many.largest <= 500 / 64);
        CHECK(page.stats.rows_examined <= 500);
        CHECK(many.calls == 64);
    }
}

// A page cap that was not heeded, a limit that went negative, a filter that matched nothing until
// the caller gave up.
TEST_CASE("a page of a filter that matches little is full, whatever was looked at", "[asking]") {
    filtering store{475, 525};
    const sw::router router{spread("feed", 1)};
    const sw::fan_out reader{router, numbers,
                             [&](const number_query& query) { return store.by_cursor(query); }};
    const auto page = reader.page("feed", {.limit = 10});
    CHECK(page.items == counted(475, 10));
    CHECK(store.calls == 49);
    CHECK(page.ended == sw::page_end::full);
    store.calls = 0;
    CHECK(reader.page("feed", {.limit = 0}).next);
    CHECK(store.calls == 0);
    CHECK(reader.page("feed", {.limit = 1}).items == ints{475});
    CHECK(reader.page("feed", {.limit = 100'000}).items == counted(475, 50));
}

TEST_CASE("a spent budget ends a page early, and its token goes on from there", "[asking]") {
    filtering store{475, 525};
    const sw::router router{spread("feed", 1)};
    const bool by_cursor = GENERATE_COPY(true, false);
    const sw::fan_out reader{router, numbers, [&](const number_query& query) {
                                 return by_cursor ? store.by_cursor(query)
                                                  : store.by_position(query);
                             }};
    const sw::checksummed sealer;
    ints all;
    std::optional<sw::cursor> from;
    std::size_t early = 0;
    do {
        const std::size_t before = store.calls;
        const auto page =
            reader.page("feed", {.limit = 10, .from = from, .budget = {.requests = 3}});
        CHECK(store.calls - before <= 3);
        CHECK(page.stats.requests <= 3);
        CHECK(page.complete() == (page.ended != sw::page_end::budget));
        early += page.ended == sw::page_end::budget ? 1 : 0;
        all.insert(all.end(), page.items.begin(), page.items.end());
        from = page.next ? std::optional{sealer.open(sealer.seal(*page.next))} : std::nullopt;
    } while (from);
    CHECK(all == counted(475, 50));
    CHECK(early >= 30);
    CHECK(store.calls <= 120);
}

TEST_CASE("a budget of rows is what is asked for, over all sources", "[asking]") {
    feed eight{8, 1000};
    const auto reader = eight.reader({.asking = {.fetch = fetch::least}});
    ints all;
    std::optional<sw::cursor> from;
    do {
        const auto page = reader.page("feed", {.limit = 50, .from = from, .budget = {.rows = 24}});
        CHECK(page.stats.rows_examined <= 24);
        all.insert(all.end(), page.items.begin(), page.items.end());
        from = page.next;
    } while (from);
    CHECK(all == counted(0, 1000));
}

TEST_CASE("a budget that can not ask each source once is refused", "[asking]") {
    feed eight{8, 10};
    CHECK(code_of([&] { (void)eight.reader().page("feed", {.budget = {.requests = 7}}); }) ==
          errc::invalid_options);
    CHECK(code_of([&] { (void)eight.reader().page("feed", {.budget = {.rows = 7}}); }) ==
          errc::invalid_options);
    CHECK(eight.calls == 0);
    // With one row of each, one is certain: its source may have the next one, too.
    const auto page = eight.reader().page("feed", {.budget = {.rows = 8, .requests = 8}});
    CHECK(page.items == ints{0});
    CHECK(page.ended == sw::page_end::budget);
    CHECK(page.next);
}

TEST_CASE("a budget that leads nowhere is an error, and no endless list of empty pages",
          "[asking]") {
    const sw::router router{spread("feed", 1)};
    const sw::fan_out reader{router, numbers, [&](const number_query&) -> sw::shard_page<int> {
                                 return {.items = {}, .more = true};
                             }};
    CHECK(code_of([&] { (void)reader.page("feed", {.budget = {.requests = 3}}); }) ==
          errc::no_progress);
}

TEST_CASE("zero attempts and a billing unit of nothing are refused", "[asking]") {
    feed one{1, 1};
    CHECK(code_of([&] { (void)one.reader({.asking = {.billing_unit = 0}}); }) ==
          errc::invalid_options);
    CHECK(code_of([&] { (void)one.reader({.attempts = {.most = 0}}); }) == errc::invalid_options);
}

// For one service a repeated token is an error, for another it is how the list ends.
TEST_CASE("a repeated store cursor is no progress, or the end, as the store has it", "[asking]") {
    const sw::router router{spread("feed", 1)};
    const auto query = [](const number_query& asked) -> sw::shard_page<int> {
        if (asked.cursor.empty()) {
            return {.items = {1}, .more = true, .cursor = "A"};
        }
        return {.items = {}, .more = true, .cursor = "A"};
    };
    CHECK(code_of([&] { (void)sw::fan_out{router, numbers, query}.page("feed"); }) ==
          errc::no_progress);
    const sw::fan_out lenient{
        router, numbers, query, {.asking = {.repeated_cursor = sw::repeated_cursor::end}}};
    const auto page = lenient.page("feed");
    CHECK(page.items == ints{1});
    CHECK_FALSE(page.next);
}
