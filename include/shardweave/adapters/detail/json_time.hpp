// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_ADAPTERS_DETAIL_JSON_TIME_HPP
#define SHARDWEAVE_ADAPTERS_DETAIL_JSON_TIME_HPP

/// Times and widths of windows as a person writes them: `2026-11-30T00:00Z`, `1d`.

#include <shardweave/adapters/detail/json_reader.hpp>
#include <shardweave/core/detail/digits.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/place/detail/windows.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/time_range.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace shardweave {
inline namespace v1 {
namespace detail {

inline void append_digits(std::string& out, std::int64_t number, std::size_t digits) {
    const std::string text = concat(number);
    out.append(digits - std::min(digits, text.size()), '0');
    out += text;
}

/// To the minute, the second or the millisecond, as needed. Requires the years 0000 to 9999.
[[nodiscard]] inline std::string json_time(item_time time) {
    using namespace std::chrono;
    const auto day = floor<days>(time.sys());
    const year_month_day date{day};
    const hh_mm_ss of_day{time.sys() - day};
    std::string text;
    append_digits(text, static_cast<int>(date.year()), 4);
    text += '-';
    append_digits(text, static_cast<unsigned>(date.month()), 2);
    text += '-';
    append_digits(text, static_cast<unsigned>(date.day()), 2);
    text += 'T';
    append_digits(text, of_day.hours().count(), 2);
    text += ':';
    append_digits(text, of_day.minutes().count(), 2);
    if (of_day.seconds().count() != 0 || of_day.subseconds().count() != 0) {
        text += ':';
        append_digits(text, of_day.seconds().count(), 2);
    }
    if (of_day.subseconds().count() != 0) {
        text += '.';
        append_digits(text, of_day.subseconds().count(), 3);
    }
    return text + 'Z';
}

/// Nothing for what `json_time` does not write.
[[nodiscard]] inline std::optional<item_time> parse_json_time(std::string_view text) {
    constexpr std::string_view shape = "0000-00-00T00:00:00.000Z";  // 0 is any digit
    constexpr std::size_t to_minutes = 16;
    constexpr std::size_t to_seconds = 19;
    std::string whole{text.substr(0, text.size() - (text.empty() ? 0 : 1))};
    if (!text.ends_with('Z') || whole.size() < to_minutes) {
        return std::nullopt;
    }
    if (whole.size() == to_minutes) {
        whole += ":00";
    }
    if (whole.size() == to_seconds) {
        whole += ".000";
    }
    whole += 'Z';
    if (!fits_shape(whole, shape)) {
        return std::nullopt;
    }
    const auto number = [&](std::size_t at, std::size_t digits) {
        return read_digits(whole, at, digits);
    };
    using namespace std::chrono;
    const year_month_day date{year{static_cast<int>(number(0, 4))}, month{number(5, 2)},
                              day{number(8, 2)}};
    if (!date.ok()) {
        return std::nullopt;
    }
    const item_time time{sys_days{date} + hours{number(11, 2)} + minutes{number(14, 2)} +
                         seconds{number(17, 2)} + milliseconds{number(20, 3)}};
    // Also refuses an hour 24, and zeros that could be left out.
    return json_time(time) == text ? std::optional{time} : std::nullopt;
}

/// In days, hours or minutes, whichever is whole.
[[nodiscard]] inline std::string json_width(std::chrono::minutes width) {
    const std::int64_t count = width.count();
    return count % 1'440 == 0 ? concat(count / 1'440, "d")
           : count % 60 == 0  ? concat(count / 60, "h")
                              : concat(count, "m");
}

/// A number of days, hours or minutes. Nothing for anything else, and above
/// `limits::window_minutes`.
[[nodiscard]] inline std::optional<std::chrono::minutes> parse_json_width(std::string_view text) {
    const std::uint32_t unit = text.ends_with('d')   ? 1'440
                               : text.ends_with('h') ? 60
                               : text.ends_with('m') ? 1
                                                     : 0;
    std::uint32_t count = 0;
    const std::string_view digits = text.substr(0, text.size() - (text.empty() ? 0 : 1));
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (unit == 0 || read.ec != std::errc{} || concat(count) != digits ||
        count > limits::window_minutes / unit) {
        return std::nullopt;
    }
    return std::chrono::minutes{std::int64_t{count} * unit};
}

/// The scheme with the window of its field `window`, if it has that.
inline bucket_scheme read_window(const json_reader& in, bucket_scheme scheme) {
    if (!in.has("window")) {
        return scheme;
    }
    const json_reader field = in.field("window");
    constexpr std::string_view what = R"(a width, such as "1d", "6h" or "15m")";
    const auto width = parse_json_width(field.as_text(what));
    if (!width) {
        field.refuse(concat(field.found(), "; write ", what, ", of at most ",
                            limits::window_minutes, " minutes"));
    }
    return field.within([&] { return scheme.with_width(*width); });
}

inline std::optional<item_time> read_since(const json_reader& in) {
    if (!in.has("since")) {
        return std::nullopt;
    }
    const json_reader field = in.field("since");
    constexpr std::string_view what =
        R"(a time, such as "2026-11-30T00:00Z"; seconds and milliseconds where they are not 0)";
    const auto since = parse_json_time(field.as_text(what));
    if (!since) {
        field.refuse(concat(field.found(), "; write ", what));
    }
    return since;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
