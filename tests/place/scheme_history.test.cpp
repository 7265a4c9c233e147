// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/scheme_history.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"

using namespace shardweave;
using test_support::code_of;

namespace {

static_assert(!std::is_default_constructible_v<scheme_history>);
template <class History>
concept has_entries = requires(History history) { std::forward<History>(history).entries(); };
static_assert(has_entries<const scheme_history&>);
static_assert(!has_entries<scheme_history>, "a loop over a temporary's entries outlives them");

scheme_version version(std::uint32_t number) { return scheme_version{number}; }

}  // namespace

TEST_CASE("versions start at 1 and rise by themselves", "[scheme_history]") {
    const scheme_history history =
        scheme_history{calculated(1)}.grown(calculated(8)).grown(random(4));
    REQUIRE(history.entries().size() == 3);
    CHECK(history.entries()[0].scheme == calculated(1, {.version = version(1)}));
    CHECK(history.entries()[1].scheme == calculated(8, {.version = version(2)}));
    CHECK(history.writer() == random(4, {.version = version(3)}));
    CHECK(history.entries()[0].state == scheme_state::readable);
    CHECK(history.entries()[1].state == scheme_state::readable);
    CHECK(history.entries()[2].state == scheme_state::writable);
}

TEST_CASE("a given version is kept, and must be higher than all before it", "[scheme_history]") {
    const scheme_history history{calculated(1, {.version = version(5)})};
    CHECK(history.writer().version() == version(5));
    CHECK(history.grown(calculated(2)).writer().version() == version(6));
    CHECK(history.grown(calculated(2, {.version = version(9)})).writer().version() == version(9));
    CHECK(code_of([&] { (void)history.grown(calculated(2, {.version = version(5)})); }) ==
          errc::invalid_scheme);
    CHECK(code_of([&] { (void)history.grown(calculated(2, {.version = version(4)})); }) ==
          errc::invalid_scheme);
    // After the last version there is no next one, and none starts over.
    const scheme_history last{calculated(1, {.version = version(0xffffffffU)})};
    CHECK(code_of([&] { (void)last.grown(calculated(2)); }) == errc::invalid_scheme);
}

TEST_CASE("growing and retiring leave the value that they start from alone", "[scheme_history]") {
    const scheme_history first{calculated(1)};
    const scheme_history grown = first.grown(calculated(8));
    CHECK(first == scheme_history{calculated(1)});
    CHECK(grown != first);
    (void)grown.retired(version(1));
    CHECK(grown == first.grown(calculated(8)));
}

TEST_CASE("only a version that takes no writes is retired", "[scheme_history]") {
    const scheme_history history = scheme_history{calculated(1)}.grown(calculated(8));
    const scheme_history retired = history.retired(version(1));
    CHECK(retired.entries()[0].state == scheme_state::retired);
    CHECK(retired.entries()[1].state == scheme_state::writable);
    CHECK(retired.retired(version(1)) == retired);
    CHECK(code_of([&] { (void)history.retired(version(2)); }) == errc::invalid_scheme);
    CHECK(code_of([&] { (void)history.retired(version(3)); }) == errc::invalid_scheme);
    // A retired version is never used again.
    CHECK(code_of([&] { (void)retired.grown(calculated(4, {.version = version(1)})); }) ==
          errc::invalid_scheme);
}

TEST_CASE("stored entries that no history could have are refused", "[scheme_history]") {
    using entry = scheme_history::entry;
    const auto of = [](std::uint32_t number, scheme_state state) {
        return entry{calculated(2, {.version = version(number)}), state};
    };
    const auto code = [](std::vector<entry> entries) {
        return code_of([&] { (void)scheme_history{std::move(entries)}; });
    };
    using enum scheme_state;
    CHECK(code({of(1, retired), of(2, readable), of(7, writable)}) == errc::ok);
    CHECK(code({}) == errc::invalid_scheme);
    CHECK(code({of(0, writable)}) == errc::invalid_scheme);
    CHECK(code({of(1, readable)}) == errc::invalid_scheme);
    CHECK(code({of(1, writable), of(2, writable)}) == errc::invalid_scheme);
    CHECK(code({of(1, writable), of(2, readable)}) == errc::invalid_scheme);
    CHECK(code({of(2, readable), of(1, writable)}) == errc::invalid_scheme);
    CHECK(code({of(1, readable), of(1, writable)}) == errc::invalid_scheme);

    std::vector<entry> many;
    for (std::uint32_t i = 1; i != limits::schemes_per_key; ++i) {
        many.push_back(of(i, readable));
    }
    many.push_back(of(limits::schemes_per_key, writable));
    CHECK(code(many) == errc::ok);
    const scheme_history full{many};
    CHECK(code_of([&] { (void)full.grown(calculated(2)); }) == errc::invalid_scheme);
}

TEST_CASE("no scheme begins before the one that it follows", "[scheme_history]") {
    using namespace std::chrono;
    const sys_days start = sys_days{year{2026} / November / 30};
    const auto from = [](sys_days since) { return calculated(8, {.since = since}); };
    const scheme_history history = scheme_history{calculated(1)}.grown(from(start));
    CHECK(code_of([&] { (void)history.grown(from(start - days{1})); }) == errc::invalid_scheme);
    CHECK(history.grown(from(start)).writer_at(start)->version() == version(3));
    CHECK(history.grown(from(start + days{1})).writer_at(start)->version() == version(2));
    CHECK(history.grown(calculated(2)).writer_at(start + days{1})->version() == version(3));
    // Behind one that reaches back to everything, all is open again.
    const auto again = history.grown(calculated(2)).grown(from(start - days{1}));
    CHECK(again.writer_at(start)->version() == version(4));
    CHECK(again.writer_at(start - days{2})->version() == version(3));
    CHECK(again.retired(version(3)).writer_at(start - days{2})->version() == version(1));
    CHECK(scheme_history{from(start)}.writer_at(start - days{1}) == nullptr);
}
