// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/prepared_table.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/allocated.hpp"
#include "support/failing.hpp"
#include "support/generate.hpp"

using namespace shardweave;
using test_support::code_of;

namespace {

static_assert(!std::is_copy_constructible_v<prepared_table>, "its index views its own keys");
static_assert(std::is_trivially_copyable_v<route>);

bucket_scheme any_scheme(test_support::generator& any) {
    const std::uint32_t buckets = 1 + any.below(12U);
    return any.chance(20) ? random(buckets) : calculated(buckets, {.seed = 1 + any.below(3U)});
}

}  // namespace

TEST_CASE("a route is the table's placement, for hot and ordinary keys alike", "[prepared_table]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(300); ++round) {
        scheme_table schemes{any.chance(50) ? calculated(1) : any_scheme(any)};
        for (unsigned i = any.below(30U); i != 0; --i) {
            const std::string key = "hot-" + std::to_string(i);
            schemes = any.chance(30) ? std::move(schemes).grow(key, any_scheme(any))
                                     : std::move(schemes).with(key, any_scheme(any));
        }
        const suffix mode{static_cast<unsigned char>(1 + any.below(3U))};
        const routing_table table{std::move(schemes),
                                  shard_map::even({"db0", "db1", "db2"}, 1024),
                                  {epoch{1}, key_format{"{key}:b{bucket}", mode}}};
        const prepared_table prepared{table};
        for (unsigned i = 0; i != 100; ++i) {
            const std::string key =
                (any.chance(50) ? "hot-" : "k") + std::to_string(any.below(40U));
            const std::string id = any.bytes(12);
            CAPTURE(round, key, id);
            const std::uint64_t drawn = any();
            test_support::generator first{drawn};
            test_support::generator second{drawn};
            const placement want = table.place(key, id, first);
            const route got = prepared.route_of(key, id, second);
            const placement all = prepared.placement_of(key, got);
            std::string text;
            prepared.append_partition_key(text, key, got);
            const bool alike = got.slot == want.slot && got.bucket == want.bucket &&
                               all.shard == want.shard && all.partition_key == want.partition_key &&
                               all.scheme == want.scheme && all.how == want.how &&
                               all.epoch == want.epoch && want.partition_key == text;
            if (!alike) {
                REQUIRE(alike);
            }
        }
    }
    SUCCEED();
}

TEST_CASE("a route refuses what a placement refuses", "[prepared_table]") {
    const prepared_table prepared{routing_table{
        scheme_table{calculated(1)}.with("k", calculated(4)), shard_map::single("db0")}};
    CHECK(code_of([&] { static_cast<void>(prepared.route_of("k:bucket-1", 1)); }) ==
          errc::ambiguous_key);
    CHECK(code_of([&] {
              static_cast<void>(prepared.route_of(std::string(limits::key_bytes + 1, 'k'), 1));
          }) == errc::limit_exceeded);
}

TEST_CASE("keys that share a hash are told apart", "[prepared_table]") {
    // 10,000 keys in a table of 32,768 places collide in their first place thousands of times.
    scheme_table schemes{calculated(1)};
    for (int i = 0; i != 10'000; ++i) {
        schemes = std::move(schemes).with("hot-" + std::to_string(i), calculated(2));
    }
    const routing_table table{std::move(schemes), shard_map::single("db0")};
    const prepared_table prepared{table};
    std::size_t wrong = 0;
    for (int i = 0; i != 20'000; ++i) {
        const std::string key = "hot-" + std::to_string(i);
        wrong += prepared.route_of(key, i).slot != table.place(key, i).slot ? 1U : 0U;
    }
    CHECK(wrong == 0);
}

TEST_CASE("hot keys of every length are told apart from keys like them", "[prepared_table]") {
    // Lengths around the words by which they are compared, and one byte changed at each place.
    for (std::size_t size = 0; size != 80; ++size) {
        const std::string key(size, 'k');
        const routing_table table{scheme_table{calculated(1)}.with(key, calculated(16)),
                                  shard_map::single("db0", 1)};
        const prepared_table prepared{table};
        CAPTURE(size);
        CHECK(prepared.scheme_of(prepared.route_of(key, 7)).buckets() == 16);
        for (std::size_t at = 0; at != size; ++at) {
            std::string other = key;
            other[at] = 'K';
            CHECK(prepared.scheme_of(prepared.route_of(other, 7)).buckets() == 1);
        }
        CHECK(prepared.scheme_of(prepared.route_of(key + "k", 7)).buckets() == 1);
    }
}

TEST_CASE("a bucket count's reciprocal gives exact remainders", "[prepared_table]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::uint32_t divisor = 1; divisor <= limits::buckets; ++divisor) {
        const std::uint64_t reciprocal = detail::reciprocal(divisor);
        std::vector<std::uint32_t> numbers{0,
                                           1,
                                           divisor - 1,
                                           divisor,
                                           0xffffffffU,
                                           0x80000000U,
                                           0xffffffffU / divisor * divisor,
                                           0xffffffffU / divisor * divisor - 1};
        for (int i = 0; i != 50; ++i) {
            numbers.push_back(static_cast<std::uint32_t>(any()));
        }
        for (const std::uint32_t number : numbers) {
            if (detail::remainder(number, divisor, reciprocal) != number % divisor) {
                CAPTURE(number, divisor);
                REQUIRE(detail::remainder(number, divisor, reciprocal) == number % divisor);
            }
        }
    }
    SUCCEED();
}

TEST_CASE("a route allocates nothing", "[prepared_table]") {
    const prepared_table prepared{
        routing_table{scheme_table{calculated(4)}.with("hot-author", calculated(16)),
                      shard_map::even({"db0", "db1"})}};
    const prepared_table plain{routing_table{
        scheme_table{calculated(1)}.with("hot-author", random(16)), shard_map::single("db0")}};
    std::vector<std::string> keys{"hot-author", "a", "author-981", std::string(1'900, 'k')};
    std::uint64_t sum = plain.route_of("hot-author", 1).slot.value();  // seeds the thread's draws
    const std::size_t before = test_support::allocated_bytes;
    for (int round = 0; round != 100; ++round) {
        for (const std::string& key : keys) {
            sum += prepared.route_of(key, round).slot.value();
            sum += plain.route_of(key, "post-1").slot.value();
            sum += plain.owner_of(key).slot.value();
        }
    }
    CHECK(test_support::allocated_bytes == before);
    CHECK(sum != 0);
}

TEST_CASE("keys that are split by time have no routes, and the others beside them have",
          "[prepared_table]") {
    using namespace std::chrono_literals;
    const item_time year{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
    const bucket_scheme windows = time_windowed(24h, calculated(4, {.since = year}));
    const bucket_scheme bounded = calculated(4, {.since = year});
    for (const bucket_scheme& timed : {windows, bounded}) {
        const prepared_table some{
            routing_table{scheme_table{calculated(1)}.with("author-1", timed).with("a", timed),
                          shard_map::even({"db0", "db1"}, 2)}};
        for (const char* key : {"author-1", "a"}) {
            test_support::generator any;
            CHECK(code_of([&] { static_cast<void>(some.route_of(key, 1)); }) ==
                  errc::time_required);
            CHECK(code_of([&] { static_cast<void>(some.route_of(key, 1, any)); }) ==
                  errc::time_required);
        }
        CHECK(some.route_of("author-2", 1).slot == some.table().place("author-2", 1).slot);
        const prepared_table one{
            routing_table{scheme_table{calculated(1, {.since = year})}, shard_map::single("db0")}};
        CHECK(code_of([&] { static_cast<void>(one.route_of("author-1", 1)); }) ==
              errc::time_required);
        const prepared_table all{routing_table{scheme_table{timed}, shard_map::single("db0")}};
        CHECK(code_of([&] { static_cast<void>(all.route_of("author-1", 1)); }) ==
              errc::time_required);
        CHECK(code_of([&] { static_cast<void>(all.route_of("author-1:bucket-1", 1)); }) ==
              errc::ambiguous_key);
    }
}

TEST_CASE("routes reach the last of as many shards as there can be", "[prepared_table]") {
    std::vector<std::string> names;
    for (std::size_t i = 0; i != limits::shards; ++i) {
        names.push_back("db" + std::to_string(i));
    }
    const prepared_table prepared{
        routing_table{scheme_table{calculated(1)}, shard_map::even(std::move(names), 65'536)}};
    std::uint32_t last = 0;
    for (int i = 0; i != 400'000; ++i) {
        const std::string key = "author-" + std::to_string(i);
        const route to = prepared.route_of(key, 1);
        const slot_owner at = prepared.owner_of(key);
        REQUIRE(to.shard_number == prepared.table().shards().owner_number(to.slot));
        REQUIRE(at.shard_number == to.shard_number);
        last = std::max(last, to.shard_number);
    }
    CHECK(last == limits::shards - 1);
}

TEST_CASE("a difference in any byte of a key is seen", "[prepared_table]") {
    for (std::size_t size = 8; size <= 80; ++size) {
        const std::string key(size, 'k');
        std::string other = key;
        CHECK(detail::same_words(key.data(), other.data(), size));
        for (std::size_t at = 0; at != size; ++at) {
            other[at] = 'K';
            CAPTURE(size, at);
            CHECK_FALSE(detail::same_words(key.data(), other.data(), size));
            other[at] = 'k';
        }
    }
}
