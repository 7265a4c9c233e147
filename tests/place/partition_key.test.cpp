// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/partition_key.hpp>

#include <catch2/catch_test_macros.hpp>

#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>

using namespace shardweave;
using namespace std::string_literals;

namespace {

// A store takes a string; a key is a string_view, and C++ does not make both conversions by itself.
static_assert(std::is_convertible_v<partition_key, const std::string&>);
static_assert(!std::is_convertible_v<partition_key, std::string_view>);
static_assert(!std::is_convertible_v<std::string, partition_key>);
static_assert(std::is_nothrow_move_constructible_v<partition_key>);
// A temporary's text outlives it: `for (char c : router.place(k, id).partition_key.str())`.
static_assert(std::is_same_v<decltype(std::declval<partition_key>().str()), std::string>);
static_assert(
    std::is_same_v<decltype(std::declval<const partition_key&>().str()), const std::string&>);

}  // namespace

TEST_CASE("a partition key is a string for a store, a comparison and a log", "[partition_key]") {
    const partition_key key{"author-1:bucket-3"};
    const std::string& text = key;
    CHECK(text == "author-1:bucket-3");
    CHECK(key == "author-1:bucket-3");
    CHECK(key == "author-1:bucket-3"s);
    CHECK(key == std::string_view{"author-1:bucket-3"});
    CHECK(key != partition_key{"author-1:bucket-4"});
    CHECK(key < partition_key{"author-1:bucket-4"});
    CHECK(fmt::format("{:>20}|", key) == "   author-1:bucket-3|");
    std::map<std::string, int> rows;
    rows[partition_key{"author-1:bucket-3"}] = 1;
    CHECK(rows.at(key) == 1);
    std::ostringstream out;
    out << key;
    CHECK(out.str() == "author-1:bucket-3");
    CHECK(std::unordered_set<partition_key>{key, key}.size() == 1);
}
