// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/stream.hpp>

#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;
using sw::errc;
using test_support::code_of;

namespace {

const auto numbers = sw::oldest_first<int>(sw::unique(std::identity{}));
using number_order = std::remove_const_t<decltype(numbers)>;
using number_query = sw::shard_query<number_order::position_type>;
using ints = std::vector<int>;

using reader_type =
    sw::fan_out<number_order, std::function<sw::shard_page<int>(const number_query&)>>;
using stream_type = sw::item_stream<reader_type>;

static_assert(std::ranges::input_range<stream_type>);
static_assert(std::same_as<std::ranges::range_value_t<stream_type>, int>);
static_assert(std::same_as<std::ranges::range_reference_t<stream_type>, int&>);

/// The numbers from 0 up, each in the bucket that its text as an id gives.
struct feed {
    explicit feed(int count, std::uint32_t buckets = 8)
        : router{sw::routing_table{
              sw::scheme_table{sw::calculated(1)}.with("feed", sw::calculated(buckets)),
              sw::shard_map::even({"db0", "db1", "db2"})}} {
        for (int i = 0; i != count; ++i) {
            all.push_back(i);
            store.insert(*router.pin(), "feed", std::to_string(i), i);
        }
    }

    sw::shard_page<int> answer(const number_query& query) {
        ++calls;
        auto page = store.answer(query);
        rows += page.items.size();
        return page;
    }
    auto asking() {
        return [this](const number_query& query) { return answer(query); };
    }

    sw::router router;
    test_support::memory_store<number_order> store{numbers};
    ints all;
    std::size_t calls = 0;
    std::size_t rows = 0;
};

template <class Stream>
ints rest_of(Stream&& stream) {
    ints items;
    for (const int each : stream) {
        items.push_back(each);
    }
    return items;
}

}  // namespace

TEST_CASE("a stream is the whole list, whatever its chunks", "[stream]") {
    for (const int count : {0, 1, 5, 64, 100}) {
        for (const std::size_t chunk : {1U, 2U, 5U, 64U, 1'000U}) {
            for (const std::size_t concurrency : {1U, 3U}) {
                CAPTURE(count, chunk, concurrency);
                feed data{count};
                const sw::fan_out reader{data.router,
                                         numbers,
                                         [&](const number_query& query) {
                                             return std::as_const(data.store).answer(query);
                                         },
                                         {.concurrency = concurrency}};
                REQUIRE(rest_of(reader.stream("feed", {.chunk = chunk})) == data.all);
            }
        }
    }
}

TEST_CASE("a stream reads as it goes, and no further", "[stream]") {
    // Everything was read into memory for the sake of the first few items.
    feed data{10'000};
    const sw::fan_out reader{data.router, numbers, data.asking()};
    auto stream = reader.stream("feed", {.chunk = 50});
    CHECK(data.calls == 0);
    auto at = stream.begin();
    CHECK(*at == 0);
    const std::size_t first = data.rows;
    CHECK(first <= 150);
    for (int i = 0; i != 49; ++i) {
        ++at;
    }
    CHECK(*at == 49);
    CHECK(data.rows == first);
    at++;
    CHECK(*at == 50);
    CHECK(data.rows > first);
    CHECK(data.rows <= 250);
    // Where it stands, an iteration goes on.
    CHECK(*stream.begin() == 50);
}

TEST_CASE("a whole stream examines about as many rows as it hands out", "[stream]") {
    feed data{10'000};
    const sw::fan_out reader{data.router, numbers, data.asking()};
    auto stream = reader.stream("feed", {.chunk = 100});
    CHECK(rest_of(stream) == data.all);
    CHECK(data.rows == 10'000);
    CHECK(stream.stats().rows_examined == data.rows);
    CHECK(stream.stats().rows_returned == 10'000);
    CHECK(stream.stats().requests == data.calls);
    CHECK(stream.stats().shards_contacted == 3);
}

TEST_CASE("a stream outlives the keys and options that it was made of", "[stream]") {
    feed data{100};
    std::string filter;
    const sw::fan_out reader{data.router, numbers, [&](const number_query& query) {
                                 filter = query.filter;
                                 return data.answer(query);
                             }};
    auto stream = [&] {
        const std::string key = "feed";
        const sw::stream_options with{.chunk = 7, .filter = "a filter that no small buffer holds"};
        return reader.stream(key, with);
    }();
    CHECK(rest_of(stream) == data.all);
    CHECK(filter == "a filter that no small buffer holds");
}

TEST_CASE("a stream goes on from a page, and walks the way of its cursor", "[stream]") {
    feed data{30};
    const sw::fan_out reader{data.router, numbers, data.asking()};
    const auto first = reader.page("feed", {.limit = 10});
    const auto second = reader.page("feed", {.limit = 10, .from = first.next});
    CHECK(rest_of(reader.stream("feed", {.chunk = 4, .from = second.next})) ==
          ints{20, 21, 22, 23, 24, 25, 26, 27, 28, 29});
    CHECK(rest_of(reader.stream("feed", {.chunk = 4, .from = second.previous})) ==
          ints{9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
    data.calls = 0;
    CHECK(code_of([&] { (void)reader.stream("other", {.from = first.next}); }) ==
          errc::cursor_mismatch);
    CHECK(data.calls == 0);
}

TEST_CASE("a stream that can not be is refused", "[stream]") {
    feed data{30};
    const sw::fan_out reader{data.router, numbers, data.asking()};
    CHECK(code_of([&] { (void)reader.stream("feed", {.chunk = 0}); }) == errc::invalid_options);
    CHECK(code_of([&] { rest_of(reader.stream("feed", {.chunk = sw::limits::page_items + 1})); }) ==
          errc::limit_exceeded);
    CHECK(code_of([&] { rest_of(reader.stream("feed:bucket-0")); }) == errc::ambiguous_key);
    CHECK(data.calls == 0);
}

TEST_CASE("a stream follows a table that changes while it runs", "[stream]") {
    for (const std::size_t chunk : {1U, 7U, 20U}) {
        CAPTURE(chunk);
        feed data{200};
        std::vector<sw::epoch> epochs;
        const sw::fan_out reader{data.router, numbers, [&](const number_query& query) {
                                     epochs.push_back(query.epoch);
                                     return data.answer(query);
                                 }};
        ints items;
        auto stream = reader.stream("feed", {.chunk = chunk});
        for (const int each : stream) {
            items.push_back(each);
            const auto table = data.router.pin();
            switch (items.size()) {
                case 30:
                    std::ignore = data.router.publish(
                        table->with_shards(table->shards().with_shard("db3").with_owner(
                            data.router.targets("feed")[1].slot, "db3")));
                    break;
                case 31:
                case 90:
                    std::ignore = data.router.publish(table->with_shards(table->shards().with_owner(
                        data.router.targets("feed")[4].slot, items.size() == 90 ? "db0" : "db3")));
                    break;
                case 60:
                    std::ignore = data.router.publish(
                        table->with_schemes(table->schemes().grow("feed", sw::calculated(16))));
                    break;
                default: break;
            }
            // What is at its new place now is at no other.
            data.store.follow(*data.router.pin());
        }
        CHECK(items == data.all);
        CHECK(epochs.front() == sw::epoch{1});
        CHECK(epochs.back() == sw::epoch{5});
        CHECK(stream.stats().rows_returned == 200);
        CHECK(stream.stats().requests == data.calls);
        CHECK(stream.stats().rows_examined == data.rows);
    }
}

TEST_CASE("a stream that failed goes on where it stood when it is iterated again", "[stream]") {
    // A loop that was started again after an error found nothing, as if the list had ended.
    for (const sw::on_failure mode : {sw::on_failure::fail, sw::on_failure::prefix}) {
        feed data{200};
        std::size_t calls = 0;
        const sw::fan_out reader{data.router,
                                 numbers,
                                 [&](const number_query& query) {
                                     if (++calls % 10 == 0) {
                                         throw std::runtime_error{"too slow"};
                                     }
                                     return data.answer(query);
                                 },
                                 {.on_failure = mode}};
        auto stream = reader.stream("feed", {.chunk = 16});
        ints items;
        int failures = 0;
        for (bool ended = false; !ended && failures != 1'000;) {
            try {
                for (const int each : stream) {
                    items.push_back(each);
                }
                ended = true;
            } catch (const sw::failure& thrown) {
                CHECK(thrown.code() == errc::shard_failed);
                ++failures;
            }
        }
        CHECK(failures > 2);
        CHECK(failures < 1'000);
        CHECK(items == data.all);
        CHECK(stream.stats().rows_returned == 200);
    }
}

TEST_CASE("a stream of prefixes hands out what is certain before it throws", "[stream]") {
    const sw::router router{test_support::spread("feed", 2)};
    const sw::fan_out reader{router,
                             numbers,
                             [](const number_query& query) -> sw::shard_page<int> {
                                 if (query.shard == "S0") {
                                     return {.items = {1, 2, 5}, .more = false, .cursor = {}};
                                 }
                                 if (query.after) {
                                     throw std::runtime_error{"too slow"};
                                 }
                                 return {.items = {3}, .more = true, .cursor = {}};
                             },
                             {.on_failure = sw::on_failure::prefix}};
    ints items;
    std::string shard;
    try {
        for (const int each : reader.stream("feed")) {
            items.push_back(each);
        }
    } catch (const sw::failure& thrown) {
        shard = thrown.reason().shard;
    }
    CHECK(items == ints{1, 2, 3});
    CHECK(shard == "S1");
}

TEST_CASE("a stream of prefixes throws at once when nothing is certain", "[stream]") {
    const sw::router router{test_support::spread("feed", 2)};
    const sw::fan_out reader{router,
                             numbers,
                             [](const number_query& query) -> sw::shard_page<int> {
                                 if (query.shard == "S0") {
                                     throw std::runtime_error{"too slow"};
                                 }
                                 return {.items = {1}, .more = false, .cursor = {}};
                             },
                             {.on_failure = sw::on_failure::prefix}};
    auto stream = reader.stream("feed");
    CHECK(code_of([&] { (void)stream.begin(); }) == errc::shard_failed);
    CHECK(code_of([&] { (void)stream.begin(); }) == errc::shard_failed);
}
