// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_TIME_KEY_HPP
#define SHARDWEAVE_CORE_TIME_KEY_HPP

/// Times as text that a store sorts rightly, byte by byte: `2026-11-30T09:24:14.153Z`.

#include <shardweave/core/detail/digits.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

// Most writers of ISO 8601 leave zeros out, or write +00:00 for Z, and then neither bytes nor
// widths compare: 12:00:00.1Z is less than 12:00:00Z. A time key has one width and one writing. The
// latest first variant has each digit d as 9 - d: as its months begin at 87, no text is a key of
// both.

namespace shardweave {
inline namespace v1 {

/// The precision of a time key, which must be one throughout a column: seconds, milliseconds,
/// microseconds or nanoseconds.
template <class Precision>
concept time_key_precision = std::same_as<Precision, std::chrono::seconds> ||
                             std::same_as<Precision, std::chrono::milliseconds> ||
                             std::same_as<Precision, std::chrono::microseconds> ||
                             std::same_as<Precision, std::chrono::nanoseconds>;

namespace detail {

/// Days in numbers that hold those of any time.
using wide_days = std::chrono::duration<std::int64_t, std::chrono::days::period>;

constexpr wide_days start_of_year(int year) {
    return std::chrono::sys_days{std::chrono::year{year} / std::chrono::January / 1}
        .time_since_epoch();
}
inline constexpr wide_days first_written_day = start_of_year(0);
inline constexpr wide_days end_of_written_days = start_of_year(10'000);

template <time_key_precision Precision>
class time_key_text {
public:
    /// Throws `errc::limit_exceeded` outside the years 0000 to 9999.
    template <class Duration>
    [[nodiscard]] static std::string write(std::chrono::sys_time<Duration> time) {
        using namespace std::chrono;
        // Not floor, which overflows in the first day of a unit's range.
        auto day = duration_cast<wide_days>(time.time_since_epoch());
        auto of_day = time.time_since_epoch() - day;
        if (of_day < of_day.zero()) {
            day -= wide_days{1};
            of_day += wide_days{1};
        }
        if (day < first_written_day || day >= end_of_written_days) {
            throw failure{errc::limit_exceeded,
                          "a time before the year 0000 or after 9999 has no time key; is it in "
                          "another unit?"};
        }
        const year_month_day date{sys_days{duration_cast<days>(day)}};
        const auto rest = floor<Precision>(of_day);
        const auto second = static_cast<unsigned>(floor<seconds>(rest).count());
        std::string text{shape};
        write_digits(text.data(), 4, static_cast<unsigned>(static_cast<int>(date.year())));
        write_digits(text.data() + 5, 2, static_cast<unsigned>(date.month()));
        write_digits(text.data() + 8, 2, static_cast<unsigned>(date.day()));
        write_digits(text.data() + 11, 2, second / 3'600);
        write_digits(text.data() + 14, 2, second / 60 % 60);
        write_digits(text.data() + 17, 2, second % 60);
        if constexpr (digits != 0) {
            const auto fraction = (rest - floor<seconds>(rest)).count();
            write_digits(text.data() + 20, digits, static_cast<unsigned>(fraction));
        }
        return text;
    }

    /// Throws `errc::time_malformed`, naming the text as it was given.
    [[nodiscard]] static std::chrono::sys_time<Precision> parse(std::string_view text,
                                                                std::string_view given) {
        using namespace std::chrono;
        if (!fits_shape(text, shape)) {
            refuse(given);
        }
        const year_month_day date{year{static_cast<int>(read_digits(text, 0, 4))},
                                  month{read_digits(text, 5, 2)}, day{read_digits(text, 8, 2)}};
        const unsigned hour = read_digits(text, 11, 2);
        const unsigned minute = read_digits(text, 14, 2);
        const unsigned second = read_digits(text, 17, 2);
        if (!date.ok() || hour > 23 || minute > 59 || second > 59) {
            refuse(given);
        }
        const wide_days of_day = sys_days{date}.time_since_epoch();
        // Nanoseconds reach from 1677 to 2262 only.
        if (of_day < duration_cast<wide_days>(Precision::min()) ||
            of_day >= duration_cast<wide_days>(Precision::max())) {
            throw failure{errc::time_malformed,
                          concat(quoted(given), " does not fit ", digits, " digits; read fewer")};
        }
        unsigned fraction = 0;
        if constexpr (digits != 0) {
            fraction = read_digits(text, 20, digits);
        }
        return sys_time<Precision>{of_day + hours{hour} + minutes{minute} + seconds{second} +
                                   Precision{fraction}};
    }

    /// Each digit d as 9 - d.
    [[nodiscard]] static std::string turned(std::string_view text) {
        std::string result{text};
        for (char& c : result) {
            if (c >= '0' && c <= '9') {
                c = static_cast<char>('0' + '9' - c);
            }
        }
        return result;
    }

private:
    /// Behind the point.
    static constexpr std::size_t digits = [] {
        std::size_t count = 0;
        for (auto unit = Precision::period::den; unit != 1; unit /= 10) {
            ++count;
        }
        return count;
    }();
    // 0 is any digit.
    static constexpr std::string_view full_shape = "0000-00-00T00:00:00.000000000Z";
    static constexpr std::size_t size = digits == 0 ? 20 : 21 + digits;
    static constexpr std::array<char, size> shape_characters = [] {
        std::array<char, size> shape{};
        for (std::size_t i = 0; i != size; ++i) {
            shape[i] = i + 1 == size ? 'Z' : full_shape[i];
        }
        return shape;
    }();
    static constexpr std::string_view shape{shape_characters.data(), size};

    [[noreturn]] static void refuse(std::string_view given) {
        constexpr std::string_view example = "2026-11-30T09:24:14.153000000";
        throw failure{errc::time_malformed,
                      concat(quoted(given), " is no time key of ", size, " characters; write ",
                             example.substr(0, size - 1),
                             "Z: every zero, capital T and Z, UTC as Z alone, and for latest "
                             "first each digit d as 9 - d")};
    }
};

}  // namespace detail

/// The time as text, rounded down: `2026-11-30T09:24:14.153Z`. The byte order of such texts of one
/// precision is the order of time. Throws `errc::limit_exceeded` outside the years 0000 to 9999.
template <time_key_precision Precision = std::chrono::milliseconds, std::integral Rep, class Period>
[[nodiscard]] std::string time_key(std::chrono::sys_time<std::chrono::duration<Rep, Period>> time) {
    return detail::time_key_text<Precision>::write(time);
}

/// The time as text whose byte order is latest first: `7973-88-69T90:75:85.846Z`. As `time_key`.
template <time_key_precision Precision = std::chrono::milliseconds, std::integral Rep, class Period>
[[nodiscard]] std::string
latest_first_time_key(std::chrono::sys_time<std::chrono::duration<Rep, Period>> time) {
    using text = detail::time_key_text<Precision>;
    return text::turned(text::write(time));
}

/// The time that `time_key` wrote. Everything else is refused, be it the same time: without Z or
/// with +00:00, with zeros left out, in small letters. Throws `errc::time_malformed`.
template <time_key_precision Precision = std::chrono::milliseconds>
[[nodiscard]] std::chrono::sys_time<Precision> parse_time_key(std::string_view text) {
    return detail::time_key_text<Precision>::parse(text, text);
}

/// The time that `latest_first_time_key` wrote. Throws `errc::time_malformed`.
template <time_key_precision Precision = std::chrono::milliseconds>
[[nodiscard]] std::chrono::sys_time<Precision> parse_latest_first_time_key(std::string_view text) {
    using key = detail::time_key_text<Precision>;
    return key::parse(key::turned(text), text);
}

}  // namespace v1
}  // namespace shardweave

#endif
