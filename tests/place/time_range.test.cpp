// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/time_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <type_traits>

#include "support/generate.hpp"

using namespace shardweave;
using namespace std::chrono;

namespace {

constexpr item_time at(std::int64_t milliseconds_since_1970) {
    return sys_time<milliseconds>{milliseconds{milliseconds_since_1970}};
}

static_assert(std::is_convertible_v<system_clock::time_point, item_time>, "what now() returns");
static_assert(std::is_convertible_v<sys_days, std::optional<item_time>>);
static_assert(!std::is_convertible_v<milliseconds, item_time>, "a duration is no time");
static_assert(!std::is_convertible_v<std::int64_t, item_time>, "a number has no unit");
static_assert(!std::is_convertible_v<steady_clock::time_point, item_time>);
static_assert(std::is_nothrow_constructible_v<item_time, sys_days>);
static_assert(item_time{} == sys_days{});

// Rounded down, before 1970 too: rounded towards it, two windows would meet in one millisecond.
static_assert(item_time{sys_time<nanoseconds>{nanoseconds{1'999'999}}} == at(1));
static_assert(item_time{sys_time<nanoseconds>{nanoseconds{-1}}} == at(-1));
static_assert(item_time{sys_time<nanoseconds>{nanoseconds{-1'000'001}}} == at(-2));
static_assert(item_time{sys_seconds{seconds{-3}}} == at(-3'000));

// Coarser units reach further, and end where the milliseconds do.
static_assert(item_time{sys_seconds::max()} == item_time::max());
static_assert(item_time{sys_seconds::min()} == item_time::min());
static_assert(item_time{sys_time<minutes>{minutes{std::numeric_limits<std::int64_t>::max()}}} ==
              item_time::max());

static_assert(time_range{}.open_above() && !time_range{}.empty());
static_assert(time_range{}.contains(item_time::min()) && time_range{}.contains(item_time::max()));
static_assert(static_cast<time_range>(at(5)) == time_range{at(5), at(6)});
static_assert(static_cast<time_range>(item_time::max()).contains(item_time::max()));

}  // namespace

TEST_CASE("a range holds its since, and not its until", "[time_range]") {
    const time_range range{at(10), at(20)};
    CHECK(range.contains(at(10)));
    CHECK(range.contains(at(19)));
    CHECK_FALSE(range.contains(at(20)));
    CHECK_FALSE(range.contains(at(9)));
    CHECK((time_range{at(10), at(10)}).empty());
    CHECK((time_range{at(10), at(9)}).empty());
    CHECK_FALSE((time_range{.since = at(10)}).empty());
}

TEST_CASE("ranges overlap when some time is in both", "[time_range]") {
    INFO(test_support::replay());
    test_support::generator any;
    const auto some = [&] {
        return any.chance(10)   ? item_time::min()
               : any.chance(10) ? item_time::max()
                                : at(any.below(std::uint32_t{8}));
    };
    for (std::size_t round = 0; round != test_support::scaled(5'000); ++round) {
        const time_range a{some(), some()};
        const time_range b{some(), some()};
        const time_range both = a.intersection(b);
        const time_range hull = a.hull(b);
        bool overlap = false;
        for (const item_time each : {item_time::min(), at(0), at(1), at(2), at(3), at(4), at(5),
                                     at(6), at(7), at(8), item_time::max()}) {
            CAPTURE(round, a.since.milliseconds(), a.until.milliseconds(), b.since.milliseconds(),
                    b.until.milliseconds(), each.milliseconds());
            const bool in_both = a.contains(each) && b.contains(each);
            REQUIRE((both.contains(each) && !a.empty() && !b.empty()) == in_both);
            REQUIRE((hull.contains(each) || !(a.contains(each) || b.contains(each))));
            overlap = overlap || in_both;
        }
        CAPTURE(round);
        REQUIRE(a.overlaps(b) == overlap);
    }
}

TEST_CASE("times of every whole unit and width are rounded down, and kept within reach",
          "[time_range]") {
    using std::chrono::duration;
    using std::chrono::sys_time;
    const auto ms = [](auto time) {
        return item_time{sys_time<decltype(time)>{time}}.milliseconds();
    };
    CHECK(ms(duration<std::int32_t>{1'796'035'000}) == 1'796'035'000'000);
    CHECK(ms(duration<std::uint64_t>{1'796'035'000}) == 1'796'035'000'000);
    CHECK(ms(duration<std::int32_t, std::ratio<86'400>>{20'787}) == 1'795'996'800'000);
    CHECK(ms(duration<std::int16_t, std::nano>{-1}) == -1);
    CHECK(ms(duration<std::int16_t, std::nano>{32'767}) == 0);
    CHECK(ms(duration<std::int64_t, std::nano>{-1'000'000}) == -1);
    CHECK(ms(duration<std::int64_t, std::nano>{-1'000'001}) == -2);
    CHECK(ms(duration<std::int64_t, std::ratio<3, 2'000>>{-1}) == -2);
    CHECK(ms(duration<std::int64_t, std::ratio<3, 2'000>>{3}) == 4);
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    CHECK(ms(duration<std::int64_t, std::milli>{most}) == most);
    CHECK(ms(duration<std::int64_t, std::milli>{most - 1}) == most - 1);
    CHECK(ms(duration<std::int64_t, std::milli>{least}) == least);
    CHECK(ms(duration<std::int64_t, std::milli>{least + 1}) == least + 1);
    CHECK(ms(duration<std::uint64_t, std::milli>{~std::uint64_t{0}}) == most);
    CHECK(ms(duration<std::int64_t>{most}) == most);
    CHECK(ms(duration<std::int64_t>{least}) == least);
    CHECK(ms(duration<std::int64_t, std::ratio<2, 3'000>>{most}) == most / 3 * 2);
    // A floating-point time has no item time: what is exact about it, its owner knows.
    STATIC_REQUIRE_FALSE(std::is_constructible_v<item_time, sys_time<duration<double>>>);
}
