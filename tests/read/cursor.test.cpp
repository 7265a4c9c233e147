// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/cursor.hpp>

#include <catch2/catch_test_macros.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "support/failing.hpp"
#include "support/vectors.hpp"

namespace sw = shardweave;
using namespace std::string_literals;
using test_support::code_of;

namespace {

static_assert(std::copyable<sw::cursor>);
static_assert(std::equality_comparable<sw::cursor::state>);
static_assert(!std::default_initializable<sw::cursor>, "there is no cursor of nowhere");

using keys = std::vector<std::string>;

const auto bound = sw::binding::of(7, {"author-1"}, "");

sw::cursor::state any_state() { return {bound, sw::scan::backward, "\1\2"s, sw::epoch{9}}; }

std::string hex(const sw::binding& of) {
    std::string bytes;
    sw::byte_writer{bytes}.hash(of.value);
    return test_support::to_hex(bytes);
}

}  // namespace

TEST_CASE("a binding takes the keys as a set", "[cursor]") {
    CHECK(sw::binding::of(7, {"a", "b"}, "") == sw::binding::of(7, {"b", "a"}, ""));
    CHECK(sw::binding::of(7, {"a", "b"}, "") == sw::binding::of(7, {"b", "a", "b", "a", "a"}, ""));
}

TEST_CASE("another order, filter or set of keys is another binding", "[cursor]") {
    const std::vector<sw::binding> all{
        sw::binding::of(7, {"a"}, ""), sw::binding::of(8, {"a"}, ""), sw::binding::of(7, {"b"}, ""),
        sw::binding::of(7, {"a", "b"}, ""), sw::binding::of(7, {"ab"}, ""),
        sw::binding::of(7, {"a", ""}, ""), sw::binding::of(7, {""}, ""), sw::binding::of(7, {}, ""),
        sw::binding::of(7, {"a"}, "x"), sw::binding::of(7, {}, "a"),
        sw::binding::of(7, {"x", "a"}, ""), sw::binding::of(7, {"a\0"s}, ""),
        // Where one part ends and the next begins counts, too.
        sw::binding::of(7, {"b", "c"}, "a"), sw::binding::of(7, {"c"}, "ab"),
        sw::binding::of(7, {"\1c"}, "b")};
    for (std::size_t i = 0; i != all.size(); ++i) {
        for (std::size_t j = 0; j != i; ++j) {
            CAPTURE(i, j);
            CHECK(all[i] != all[j]);
        }
    }
}

TEST_CASE("a binding never changes", "[cursor][golden]") {
    // A token that is out there is bound by it, and nothing else notices a change: the same code
    // binds and checks. It is XXH3-128, seed 0, of the order's fingerprint (8 bytes, big-endian),
    // the filter and each key in byte order, once, all of these behind their length (LEB128).
    const std::string bytes = "\x01\x23\x45\x67\x89\xab\xcd\xef"
                              "\x05kind="
                              "\x08"
                              "author-1"
                              "\x08"
                              "author-2"s;
    const auto known = sw::binding::of(0x0123456789abcdef, {"author-2", "author-1"}, "kind=");
    CHECK(known.value == sw::stable_hash128(bytes, 0));
    CHECK(hex(known) == "63ef2a615523ba90afd208a875e4fc29");
    CHECK(hex(sw::binding::of(0, {}, "")) == "be637bf2e7ab4aec17dbb924bfd111e6");
}

TEST_CASE("a cursor opens for the query that it came from, and for no other", "[cursor]") {
    const sw::cursor at{any_state()};
    CHECK(at.resolve(bound) == any_state());
    REQUIRE(at.known() != nullptr);
    CHECK(*at.known() == any_state());
    CHECK(code_of([&] { (void)at.resolve(sw::binding::of(7, {"author-2"}, "")); }) ==
          sw::errc::cursor_mismatch);
}

TEST_CASE("what a client sent is opened only when the query is known", "[cursor]") {
    int opened = 0;
    const sw::cursor at{sw::cursor::opener{[&](const sw::binding& expected) {
        ++opened;
        CHECK(expected == bound);
        return any_state();
    }}};
    CHECK(at.known() == nullptr);
    CHECK(opened == 0);
    CHECK(at.resolve(bound) == any_state());
    CHECK(at.resolve(bound) == any_state());
    CHECK(opened == 2);
    CHECK(at.known() == nullptr);
}
