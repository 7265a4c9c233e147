// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/limits.hpp>

#include <catch2/catch_test_macros.hpp>

#include <bit>

using shardweave::limits;

TEST_CASE("the longest key with the longest suffix fits the narrowest store", "[limits]") {
    // 2,048 bytes of partition key in DynamoDB; four digits of bucket and a window in place of the
    // two fields.
    constexpr std::size_t fields = sizeof("{key}{bucket}") - 1;
    constexpr std::size_t digits = 4;
    STATIC_REQUIRE(limits::buckets <= 10'000);
    constexpr std::size_t window = sizeof("@20261130T0000Z") - 1;
    STATIC_REQUIRE(limits::key_bytes + limits::key_format_bytes - fields + digits + window <=
                   2'048);
}

TEST_CASE("the limits agree with each other", "[limits]") {
    STATIC_REQUIRE(std::has_single_bit(limits::slots));
    STATIC_REQUIRE(limits::shards <= limits::slots);
    STATIC_REQUIRE(limits::sources >= limits::buckets);  // one key can always be read whole
}
