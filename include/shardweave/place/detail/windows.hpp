// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_WINDOWS_HPP
#define SHARDWEAVE_PLACE_DETAIL_WINDOWS_HPP

/// Time windows: which one a time is in, and how its start is written.

#include <shardweave/core/detail/digits.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/time_range.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// The times that a window's text can say: the years 0000 to 9999.
inline constexpr time_range written_times{
    std::chrono::sys_days{std::chrono::year{0} / std::chrono::January / 1},
    std::chrono::sys_days{std::chrono::year{10'000} / std::chrono::January / 1}};

[[noreturn]] inline void refuse_year() {
    throw failure{errc::limit_exceeded,
                  "a time before the year 0000 or after 9999; is it in another unit than "
                  "milliseconds?"};
}

/// The start of the window that the time is in; windows are aligned to 1970-01-01T00:00Z.
/// Throws `errc::limit_exceeded` unless both are in the years 0000 to 9999. Requires `width` > 0.
[[nodiscard]] inline item_time window_start(item_time time, std::chrono::minutes width) {
    if (!written_times.contains(time)) {
        refuse_year();  // and so nothing here can overflow
    }
    const std::int64_t unit = std::chrono::milliseconds{width}.count();
    const std::int64_t beyond = time.milliseconds() % unit;
    const item_time start{time.sys() -
                          std::chrono::milliseconds{beyond < 0 ? beyond + unit : beyond}};
    if (start < written_times.since) {
        refuse_year();
    }
    return start;
}

/// A window's start as `@20261130T0000Z`. Throws `errc::limit_exceeded` outside the years 0000 to
/// 9999.
class window_text {
public:
    static constexpr std::string_view shape = "@00000000T0000Z";  // 0 is any digit

    explicit window_text(item_time start) {
        if (!written_times.contains(start)) {
            refuse_year();
        }
        using namespace std::chrono;
        const auto day = floor<days>(start.sys());
        const year_month_day date{day};
        const auto minute = static_cast<unsigned>(floor<minutes>(start.sys() - day).count());
        write_digits(text_ + 1, 4, static_cast<unsigned>(static_cast<int>(date.year())));
        write_digits(text_ + 5, 2, static_cast<unsigned>(date.month()));
        write_digits(text_ + 7, 2, static_cast<unsigned>(date.day()));
        write_digits(text_ + 10, 2, minute / 60);
        write_digits(text_ + 12, 2, minute % 60);
    }

    [[nodiscard]] std::string_view view() const noexcept { return {text_, shape.size()}; }

    /// The window's start; nothing for what is never written.
    [[nodiscard]] static std::optional<item_time> parse(std::string_view text) noexcept {
        if (!fits_shape(text, shape)) {
            return std::nullopt;
        }
        using namespace std::chrono;
        const year_month_day date{year{static_cast<int>(read_digits(text, 1, 4))},
                                  month{read_digits(text, 5, 2)}, day{read_digits(text, 7, 2)}};
        const unsigned hour = read_digits(text, 10, 2);
        const unsigned minute = read_digits(text, 12, 2);
        if (!date.ok() || hour > 23 || minute > 59) {
            return std::nullopt;
        }
        return item_time{sys_days{date} + minutes{hour * 60 + minute}};
    }

private:
    char text_[shape.size() + 1] = "@00000000T0000Z";
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
