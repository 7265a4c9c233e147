// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/scheme_table.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <utility>

#include "support/failing.hpp"

using namespace shardweave;
using test_support::code_of;

namespace {

static_assert(noexcept(std::declval<const scheme_table&>().history("")));
static_assert(!std::is_default_constructible_v<scheme_table>);

}  // namespace

TEST_CASE("a key without a scheme of its own has the ordinary one", "[scheme_table]") {
    const auto table = scheme_table{calculated(1)}.with("author-1", calculated(8));
    CHECK(table.history("author-1").writer().buckets() == 8);
    CHECK(table.history("author-2").writer().buckets() == 1);
    CHECK(table.history("").writer().buckets() == 1);
    CHECK(table.history("author-").writer().buckets() == 1);
    CHECK(table.history(std::string{"author-1\0", 9}).writer().buckets() == 1);
    CHECK(table.exceptional().size() == 1);
}

TEST_CASE("the empty key may have a scheme of its own", "[scheme_table]") {
    const auto table = scheme_table{calculated(1)}.with("", calculated(8));
    CHECK(table.history("").writer().buckets() == 8);
    CHECK(table.history("a").writer().buckets() == 1);
}

TEST_CASE("a key that has a scheme already gets no other one in its place", "[scheme_table]") {
    const auto table = scheme_table{calculated(1)}.with("a", calculated(8));
    CHECK(code_of([&] { (void)table.with("a", calculated(8)); }) == errc::scheme_conflict);
    CHECK(code_of([&] { (void)table.with("a", calculated(16)); }) == errc::scheme_conflict);
}

TEST_CASE("a key that grows starts from the ordinary history, where its items are",
          "[scheme_table]") {
    const auto table = scheme_table{calculated(1)}.grow("a", calculated(8));
    REQUIRE(table.history("a").entries().size() == 2);
    CHECK(table.history("a").entries()[0].scheme.buckets() == 1);
    CHECK(table.history("a").writer().version() == scheme_version{2});

    const auto own = scheme_table{calculated(1)}.with("a", calculated(4)).grow("a", calculated(8));
    REQUIRE(own.history("a").entries().size() == 2);
    CHECK(own.history("a").entries()[0].scheme.buckets() == 4);
}

TEST_CASE("the ordinary keys grow and retire without those that have their own", "[scheme_table]") {
    const auto table =
        scheme_table{calculated(1)}.with("a", calculated(8)).grow_ordinary(calculated(2));
    CHECK(table.history("b").writer().buckets() == 2);
    CHECK(table.history("b").entries().size() == 2);
    CHECK(table.history("a").entries().size() == 1);

    const auto retired = table.retire_ordinary(scheme_version{1});
    CHECK(retired.history("b").entries()[0].state == scheme_state::retired);
    CHECK(retired.history("a") == table.history("a"));
    CHECK(code_of([&] { (void)table.retire_ordinary(scheme_version{2}); }) == errc::invalid_scheme);
}

TEST_CASE("retiring a version concerns one key", "[scheme_table]") {
    const auto table =
        scheme_table{calculated(1)}.grow("a", calculated(8)).grow("b", calculated(8));
    const auto retired = table.retire("a", scheme_version{1});
    CHECK(retired.history("a").entries()[0].state == scheme_state::retired);
    CHECK(retired.history("b").entries()[0].state == scheme_state::readable);
    CHECK(retired.history("c") == table.ordinary());
}

TEST_CASE("a chain leaves the table that it starts from alone", "[scheme_table]") {
    const auto table = scheme_table{calculated(1)}.with("a", calculated(8));
    CHECK(table.with("b", calculated(2)).exceptional().size() == 2);
    const scheme_history grown = table.grow("a", calculated(16)).history("a");
    CHECK(grown.entries().size() == 2);
    const scheme_history ordinary = table.grow_ordinary(calculated(3)).ordinary();
    CHECK(ordinary.entries().size() == 2);
    CHECK(table == scheme_table{calculated(1)}.with("a", calculated(8)));
}

TEST_CASE("a key over its limit gets no scheme", "[scheme_table]") {
    const std::string longest(limits::key_bytes, 'k');
    const scheme_table table{calculated(1)};
    CHECK(table.with(longest, calculated(2)).exceptional().size() == 1);
    CHECK(code_of([&] { (void)table.with(longest + "k", calculated(2)); }) == errc::limit_exceeded);
    CHECK(code_of([&] { (void)table.grow(longest + "k", calculated(2)); }) == errc::limit_exceeded);
}

TEST_CASE("a full table still lets the keys that it has grow", "[scheme_table]") {
    scheme_table table{calculated(1)};
    const scheme_history own{calculated(2)};
    for (std::size_t i = 0; i != limits::keys_with_schemes; ++i) {
        table = std::move(table).with(std::to_string(i), own);
    }
    CHECK(code_of([&] { table = std::move(table).grow("7", calculated(4)); }) == errc::ok);
    CHECK(table.history("7").writer().buckets() == 4);
    CHECK(code_of([&] { table = std::move(table).with("one more", own); }) == errc::limit_exceeded);
    CHECK(table.exceptional().size() == limits::keys_with_schemes);
}
