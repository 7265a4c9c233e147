// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_TIME_RANGE_HPP
#define SHARDWEAVE_PLACE_TIME_RANGE_HPP

/// When an item is, and spans of such times.

#include <algorithm>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>
#include <utility>

namespace shardweave {
inline namespace v1 {

struct time_range;

/// The time of an item, in milliseconds since 1970-01-01T00:00Z. Made from any
/// `std::chrono::sys_time` that counts whole numbers, such as `std::chrono::system_clock::now()`,
/// rounded down; one that is too far away becomes `min()` or `max()`.
class item_time {
public:
    constexpr item_time() noexcept = default;
    template <std::integral Rep, class Period>
    // NOLINTNEXTLINE(google-explicit-constructor): what items carry is a time of some precision.
    constexpr item_time(std::chrono::sys_time<std::chrono::duration<Rep, Period>> time) noexcept
        : since_epoch_(
              rounded(time.time_since_epoch().count(), std::ratio_divide<Period, std::milli>{})) {}

    [[nodiscard]] static constexpr item_time min() noexcept { return item_time{unit::min()}; }
    [[nodiscard]] static constexpr item_time max() noexcept { return item_time{unit::max()}; }
    /// So many milliseconds after 1970-01-01T00:00Z.
    [[nodiscard]] static constexpr item_time at_milliseconds(std::int64_t count) noexcept {
        return item_time{unit{count}};
    }

    [[nodiscard]] constexpr std::chrono::sys_time<std::chrono::milliseconds> sys() const noexcept {
        return std::chrono::sys_time<unit>{since_epoch_};
    }
    [[nodiscard]] constexpr std::int64_t milliseconds() const noexcept {
        return since_epoch_.count();
    }

    /// The one millisecond as a range.
    // NOLINTNEXTLINE(google-explicit-constructor): it is the shortest of ranges.
    [[nodiscard]] constexpr operator time_range() const noexcept;

    friend constexpr auto operator<=>(const item_time&, const item_time&) noexcept = default;

private:
    using unit = std::chrono::milliseconds;

    constexpr explicit item_time(unit since_epoch) noexcept : since_epoch_(since_epoch) {}

    /// `count` × `Many` / `Of` milliseconds, in numbers that hold every step.
    template <std::integral Rep, std::intmax_t Many, std::intmax_t Of>
    [[nodiscard]] static constexpr unit rounded(Rep count, std::ratio<Many, Of>) noexcept {
        using limits_of_unit = std::numeric_limits<std::int64_t>;
        static_assert(Many <= limits_of_unit::max() / Of,
                      "shardweave: an item time of such a unit; cast it to milliseconds first");
        using wide = std::conditional_t<std::is_signed_v<Rep>, std::int64_t, std::uint64_t>;
        // The whole multiples of `Of`, and a rest that is not negative.
        wide whole = wide{count} / wide{Of};
        wide rest = wide{count} % wide{Of};
        if (std::cmp_less(rest, 0)) {
            rest += wide{Of};
            --whole;
        }
        if (std::cmp_greater_equal(whole, limits_of_unit::max() / Many)) {
            return unit::max();
        }
        if (std::cmp_less(whole, limits_of_unit::min() / Many)) {
            return unit::min();
        }
        return unit{static_cast<std::int64_t>(whole) * Many +
                    static_cast<std::int64_t>(rest) * Many / Of};
    }

    unit since_epoch_{};
};

/// The item times from `since` up to, not including, `until`; everything unless given. An `until`
/// of `item_time::max()` is no end at all.
struct time_range {
    item_time since = item_time::min();
    item_time until = item_time::max();

    [[nodiscard]] constexpr bool open_above() const noexcept { return until == item_time::max(); }
    [[nodiscard]] constexpr bool empty() const noexcept { return !open_above() && until <= since; }
    [[nodiscard]] constexpr bool contains(item_time time) const noexcept {
        return since <= time && (time < until || open_above());
    }
    /// True when some time is in both.
    [[nodiscard]] constexpr bool overlaps(const time_range& other) const noexcept {
        return !empty() && !other.empty() && !intersection(other).empty();
    }
    /// The times that are in both.
    [[nodiscard]] constexpr time_range intersection(const time_range& other) const noexcept {
        return {std::max(since, other.since), std::min(until, other.until)};
    }
    /// The shortest range that holds both, and what is between them.
    [[nodiscard]] constexpr time_range hull(const time_range& other) const noexcept {
        return {std::min(since, other.since), std::max(until, other.until)};
    }

    friend constexpr bool operator==(const time_range&, const time_range&) noexcept = default;
};

constexpr item_time::operator time_range() const noexcept {
    return {*this, *this == max() ? *this : item_time{since_epoch_ + unit{1}}};
}

}  // namespace v1
}  // namespace shardweave

#endif
