// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/prepared_table.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <type_traits>
#include <utility>

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
