// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/scheme.hpp>

#include <catch2/catch_test_macros.hpp>

#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/selectors.hpp"

using namespace shardweave;
using test_support::code_of;
using test_support::java_hash;

namespace {

static_assert(!std::is_convertible_v<std::uint32_t, bucket_scheme>);
static_assert(!std::is_default_constructible_v<bucket_scheme>);
static_assert(!std::is_default_constructible_v<scheme_history>);
static_assert(std::is_nothrow_move_constructible_v<bucket_scheme>);
static_assert(noexcept(std::declval<bucket_scheme&>() == std::declval<bucket_scheme&>()));
template <class History>
concept has_entries = requires(History history) { std::forward<History>(history).entries(); };
static_assert(has_entries<const scheme_history&>);
static_assert(!has_entries<scheme_history>, "a loop over a temporary's entries outlives them");
static_assert(scheme_options{}.seed == 1, "never the slots' seed 0");

scheme_version version(std::uint32_t number) { return scheme_version{number}; }

}  // namespace

TEST_CASE("a scheme has 1 to the limit of buckets", "[scheme]") {
    CHECK(code_of([] { (void)calculated(0); }) == errc::invalid_scheme);
    CHECK(code_of([] { (void)random(limits::buckets + 1); }) == errc::invalid_scheme);
    CHECK(calculated(1).buckets() == 1);
    CHECK(random(limits::buckets).buckets() == limits::buckets);
}

TEST_CASE("a scheme does not share the slots' seed", "[scheme]") {
    CHECK(code_of([] { (void)calculated(8, {.seed = 0}); }) == errc::invalid_scheme);
    CHECK(calculated(8).seed() == 1);
}

TEST_CASE("a scheme tells whether an item can be found alone", "[scheme]") {
    CHECK(calculated(8).repeatable());
    CHECK(selected_by(java_hash{}, 8).repeatable());
    CHECK_FALSE(random(8).repeatable());
}

TEST_CASE("a scheme uses the selector that it says it uses", "[scheme]") {
    CHECK(calculated(8).selector_name().empty());
    CHECK(selected_by(java_hash{}, 8).selector_name() == "java-hash");
    CHECK(selected_by(java_hash{}, 8).locate("a") == bucket_index{97 % 8});
    CHECK(calculated(8).locate("a") == calculated_bucket("a", 8, 1));

    // A custom scheme without a selector would calculate silently, and be stored under no name.
    CHECK(code_of([] { (void)bucket_scheme{selection::custom, 8, {}}; }) == errc::invalid_scheme);
    const auto registry = selector_registry{}.with(java_hash{});
    CHECK(code_of([&] {
              (void)bucket_scheme{selection::calculated, 8, {}, registry.find("java-hash")};
          }) == errc::invalid_scheme);
    CHECK(code_of([] { (void)bucket_scheme{selection{0}, 8, {}}; }) == errc::invalid_scheme);
    CHECK(code_of([] { (void)bucket_scheme{selection{4}, 8, {}}; }) == errc::invalid_scheme);
}

TEST_CASE("only a random scheme draws from the generator", "[scheme]") {
    test_support::generator any{1};
    test_support::generator untouched{1};
    CHECK(calculated(64).select("post-981", any) == calculated(64).locate("post-981"));
    CHECK(any() == untouched());
    bool moved = false;
    for (int i = 0; i != 100; ++i) {
        moved = moved || random(64).select("x", any) != random(64).select("x", any);
    }
    CHECK(moved);
}

TEST_CASE("schemes are equal when every part that places items is", "[scheme]") {
    CHECK(calculated(8) == calculated(8));
    CHECK(calculated(8) != calculated(16));
    CHECK(calculated(8) != random(8));
    CHECK(calculated(8) != calculated(8, {.seed = 2}));
    CHECK(calculated(8) != calculated(8, {.version = version(2)}));
    CHECK(calculated(8) != selected_by(java_hash{}, 8));
    CHECK(selected_by(java_hash{}, 8) == selected_by(java_hash{}, 8));
}

TEST_CASE("versions start at 1 and rise by themselves", "[scheme]") {
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

TEST_CASE("a given version is kept, and must be higher than all before it", "[scheme]") {
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

TEST_CASE("growing and retiring leave the value that they start from alone", "[scheme]") {
    const scheme_history first{calculated(1)};
    const scheme_history grown = first.grown(calculated(8));
    CHECK(first == scheme_history{calculated(1)});
    CHECK(grown != first);
    (void)grown.retired(version(1));
    CHECK(grown == first.grown(calculated(8)));
}

TEST_CASE("only a version that takes no writes is retired", "[scheme]") {
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

TEST_CASE("stored entries that no history could have are refused", "[scheme]") {
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
