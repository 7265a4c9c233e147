// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/scheme.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/selectors.hpp"

using namespace shardweave;
using test_support::code_of;
using test_support::java_hash;

namespace {

static_assert(!std::is_convertible_v<std::uint32_t, bucket_scheme>);
static_assert(!std::is_default_constructible_v<bucket_scheme>);
static_assert(std::is_nothrow_move_constructible_v<bucket_scheme>);
static_assert(noexcept(std::declval<bucket_scheme&>() == std::declval<bucket_scheme&>()));
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

TEST_CASE("windows are whole minutes, and begin somewhere", "[scheme]") {
    using namespace std::chrono;
    const sys_days start = sys_days{year{2026} / November / 30};
    const bucket_scheme bounded = calculated(8, {.since = start});
    const bucket_scheme daily = time_windowed(days{1}, bounded);
    CHECK(daily.width() == hours{24});
    CHECK(daily.since() == start);
    CHECK(daily.timed());
    CHECK(daily.held() == time_range{start, sys_days{year{10'000} / 1 / 1}});
    CHECK(daily.window_at(start + 25h) == start + days{1});
    CHECK(daily != bounded);
    CHECK(daily != time_windowed(days{2}, bounded));
    CHECK(daily != time_windowed(days{1}, calculated(8, {.since = start + days{1}})));
    CHECK(daily.with_version(version(2)).width() == days{1});

    CHECK(bounded.width() == minutes{0});
    CHECK(bounded.timed());
    CHECK(bounded != calculated(8));
    CHECK(bounded.window_at(start) == std::nullopt);
    CHECK(bounded.held() == time_range{.since = start});
    CHECK_FALSE(calculated(8).timed());
    CHECK(calculated(8).held() == time_range{});

    CHECK(code_of([&] { (void)time_windowed(minutes{0}, bounded); }) == errc::invalid_scheme);
    CHECK(code_of([&] { (void)time_windowed(minutes{-1}, bounded); }) == errc::invalid_scheme);
    CHECK(time_windowed(minutes{limits::window_minutes}, bounded).timed());
    CHECK(code_of([&] { (void)time_windowed(minutes{limits::window_minutes + 1}, bounded); }) ==
          errc::invalid_scheme);
    CHECK(code_of([&] { (void)time_windowed(minutes::max(), bounded); }) == errc::invalid_scheme);
    const auto endless = test_support::error_of([] { (void)time_windowed(days{1}, random(8)); });
    CHECK(endless.code == errc::invalid_scheme);
    CHECK(endless.detail.find("since") != std::string::npos);
}

TEST_CASE("a scheme begins in the years that can be written", "[scheme]") {
    using namespace std::chrono;
    const auto code = [](item_time since) {
        return code_of([&] { (void)calculated(1, {.since = since}); });
    };
    CHECK(code(sys_days{year{0} / 1 / 1}) == errc::ok);
    CHECK(code(sys_days{year{0} / 1 / 1} - milliseconds{1}) == errc::limit_exceeded);
    CHECK(code(sys_days{year{10'000} / 1 / 1} - milliseconds{1}) == errc::ok);
    CHECK(code(sys_days{year{10'000} / 1 / 1}) == errc::limit_exceeded);
    CHECK(code(item_time::min()) == errc::limit_exceeded);
    // The first window would begin in the year before.
    CHECK(code_of([] {
              (void)time_windowed(days{7}, calculated(1, {.since = sys_days{year{0} / 1 / 1}}));
          }) == errc::limit_exceeded);
}
