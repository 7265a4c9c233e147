// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/joined_key.hpp>

#include <shardweave/place/partition_key.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/generate.hpp"

using namespace shardweave;
using namespace std::string_literals;

namespace {

template <class... Parts>
concept joinable = requires(Parts... parts) { join_key(parts...); };
static_assert(joinable<const char*, int, std::string, std::uint64_t>);
static_assert(!joinable<> && !joinable<partition_key> && !joinable<double>);
static_assert(!joinable<const char*, bool> && !joinable<const char*, char>,
              "a character would be joined as its number");

}  // namespace

// Stored items have these texts. No test of reading and writing together would notice a changed
// one.
TEST_CASE("joined keys are written as they always were", "[joined_key][golden]") {
    CHECK(join_key("user", 42) == "user#42");
    CHECK(join_key("STATUS", "pending") == "STATUS#pending");
    CHECK(join_key("user#1", 2) == "user\\#1#2");
    CHECK(join_key("user", "1#2") == "user#1\\#2");
    CHECK(join_key("a\\", "b") == "a\\\\#b");
    CHECK(join_key("").empty());
    CHECK(join_key("", "") == "#");
    CHECK(join_key(-7, std::uint64_t{18446744073709551615U}) == "-7#18446744073709551615");
    CHECK(join_key(std::int8_t{65}) == "65");
}

TEST_CASE("different fields never join to one key", "[joined_key]") {
    // A row with "a,b" and "c" was taken for one with "a" and "b,c", and overwrote it.
    CHECK(join_key("a,b", "c") != join_key("a", "b,c"));
    CHECK(join_key("a#b", "c") != join_key("a", "b#c"));
    CHECK(join_key("test", "testtest") != join_key("testtest", "test"));
    CHECK(join_key("a\\", "b") != join_key("a", "\\b"));
    CHECK(join_key("") != join_key("", ""));
    CHECK(join_key("a") != join_key("a", ""));

    INFO(test_support::replay());
    test_support::generator any;
    const std::vector<std::string> fragments{"#", "\\", "a", "", "\0"s, "\xff", "1"};
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        const std::string first = any.joined(fragments, 4);
        const std::string second = any.joined(fragments, 4);
        const std::string third = any.joined(fragments, 4);
        CAPTURE(round, first, second, third);
        REQUIRE(split_key(join_key(first)) == std::vector{first});
        REQUIRE(split_key(join_key(first, second)) == std::vector{first, second});
        REQUIRE(split_key(join_key(first, second, third)) == std::vector{first, second, third});
    }
}

TEST_CASE("a text that is not a joined key is not split", "[joined_key]") {
    CHECK_FALSE(split_key("\\"));
    CHECK_FALSE(split_key("a\\b"));
    CHECK_FALSE(split_key("a#b\\"));
    INFO(test_support::replay());
    test_support::generator any;
    const std::vector<std::string> fragments{"#", "\\", "a", "\0"s};
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        const std::string text = any.joined(fragments, 6);
        if (const auto parts = split_key(text)) {
            std::string again;
            for (std::size_t i = 0; i != parts->size(); ++i) {
                again += (i == 0 ? "" : "#") + join_key((*parts)[i]);
            }
            CAPTURE(round, text);
            REQUIRE(again == text);
        }
    }
}
