// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>
#include <type_traits>

using namespace shardweave;

namespace {

static_assert(noexcept(to_string(errc::ok)));
static_assert(to_string(errc::ambiguous_key) == "ambiguous_key");
static_assert(!std::is_convertible_v<error, bool>, "an error is tested, never counted or added");
static_assert(std::is_base_of_v<std::exception, failure>);
static_assert(std::is_nothrow_move_constructible_v<error>);
static_assert(!std::is_convertible_v<int, errc> && !std::is_convertible_v<errc, int>);

}  // namespace

TEST_CASE("every code has a name of its own", "[error]") {
    std::set<std::string_view> names;
    int codes = 0;
    for (; to_string(static_cast<errc>(codes)) != "unknown"; ++codes) {
        names.insert(to_string(static_cast<errc>(codes)));
    }
    CHECK(codes > static_cast<int>(errc::token_expired));
    CHECK(names.size() == static_cast<std::size_t>(codes));
    CHECK(to_string(static_cast<errc>(-1)) == "unknown");
}

TEST_CASE("a default error is no error", "[error]") {
    CHECK_FALSE(error{});
    CHECK(error{errc::no_progress, {}, {}, {}});
    CHECK(error{}.message() == "ok");
}

TEST_CASE("a message names the code, the place and the advice", "[error]") {
    CHECK(error{errc::no_progress, {}, {}, {}}.message() == "no_progress");
    CHECK(error{errc::no_progress, "db2", {}, "honour the cursor"}.message() ==
          "no_progress [shard \"db2\"]: honour the cursor");
    CHECK(error{errc::no_progress, "db2", "a:bucket-1", {}}.message() ==
          "no_progress [shard \"db2\", partition key \"a:bucket-1\"]");
    CHECK(error{errc::ambiguous_key, {}, "a:bucket-1", "rename it"}.message() ==
          "ambiguous_key [partition key \"a:bucket-1\"]: rename it");
}

TEST_CASE("a message is one printable line whatever bytes a name holds", "[error]") {
    // A key comes from a client: it must neither forge a second log line nor cut the first one.
    const error forged{errc::shard_failed, "db\n2", std::string{"a\0b\r\n[ok]\xff", 10}, "retry"};
    const std::string message = forged.message();
    CHECK(message.find_first_of(std::string{"\0\r\n\xff", 4}) == std::string::npos);
    CHECK(message ==
          "shard_failed [shard \"db\\x0a2\", partition key \"a\\x00b\\x0d\\x0a[ok]\\xff\"]: retry");
    CHECK(failure{forged}.what() == message);
}

TEST_CASE("a failure carries the whole error", "[error]") {
    const failure thrown{error{errc::shard_failed, "db2", "a:bucket-1", "timed out"}};
    CHECK(thrown.code() == errc::shard_failed);
    CHECK(thrown.reason().shard == "db2");
    CHECK(thrown.reason().partition_key == "a:bucket-1");
    CHECK(thrown.reason().detail == "timed out");
    CHECK(std::string{thrown.what()} == thrown.reason().message());
}
