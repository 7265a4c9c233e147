// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_TIMELINE_PRINT_HPP
#define SHARDWEAVE_EXAMPLES_TIMELINE_PRINT_HPP

/// What the program shows: aligned pages, what a read cost, how far a load is.

#include <shardweave/read/stats.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "history.hpp"

namespace timeline {

namespace sw = shardweave;

/// `2024-05-01 17:03:20`, or the plain number where a calendar helps nobody.
[[nodiscard]] inline std::string utc(std::int64_t seconds) {
    using namespace std::chrono;
    constexpr std::int64_t year_1 = -62'135'596'800;
    constexpr std::int64_t year_10000 = 253'402'300'800;
    if (seconds < year_1 || seconds >= year_10000) {
        return std::to_string(seconds);
    }
    const sys_seconds time{std::chrono::seconds{seconds}};
    const auto day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss clock{time - day};
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", int{date.year()},
                       unsigned{date.month()}, unsigned{date.day()}, clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count());
}

/// `1234567` as `1,234,567`.
[[nodiscard]] inline std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) {
        digits.insert(at -= 3, 1, ',');
    }
    return digits;
}

/// `1 row`, `20 rows`.
[[nodiscard]] inline std::string counted(std::uint64_t number, std::string_view what) {
    return fmt::format("{} {}{}", grouped(number), what, number == 1 ? "" : "s");
}

/// The text without what a terminal would obey instead of show.
[[nodiscard]] inline std::string visible(std::string_view text) {
    std::string out{text};
    std::ranges::replace_if(
        out, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
    return out;
}

/// Columns that it takes: UTF-8 characters, not bytes.
[[nodiscard]] inline std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

[[nodiscard]] inline std::string padded(std::string_view text, std::size_t columns) {
    return std::string{text} + std::string(columns - std::min(columns, width(text)), ' ');
}

/// The text, cut to so many columns.
[[nodiscard]] inline std::string shortened(std::string_view text, std::size_t columns) {
    if (width(text) <= columns) {
        return std::string{text};
    }
    std::size_t end = 0;
    for (std::size_t seen = 0; end != text.size(); ++end) {
        if ((static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80 && seen++ == columns - 1) {
            break;
        }
    }
    return std::string{text.substr(0, end)} + "…";
}

/// As a shell takes it back.
[[nodiscard]] inline std::string shell_quoted(std::string_view text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-./=:@%+,";
    if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) {
        return std::string{text};
    }
    std::string quoted = "$'";
    bool special = false;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < ' ' || byte == 0x7f) {
            quoted += fmt::format("\\x{:02x}", byte);
            special = true;
        } else if (c == '\'' || c == '\\') {
            quoted += '\\';
            quoted += c;
            special = true;
        } else {
            quoted += c;
        }
    }
    return (special ? quoted : quoted.substr(1)) + '\'';
}

/// The rows in columns; the author's only where there are several.
inline void print_rows(const std::vector<item>& rows, bool with_authors) {
    std::size_t author_width = std::string_view{"author"}.size();
    std::size_t id_width = std::string_view{"id"}.size();
    for (const item& row : rows) {
        author_width = std::max(author_width, width(row.author));
        id_width = std::max(id_width, width(row.id));
    }
    const auto heading = fmt::format("  {:<19}  {}{}  note", "time (UTC)",
                                     with_authors ? padded("author", author_width) + "  " : "",
                                     padded("id", id_width));
    fmt::print("{}\n", heading);
    for (const item& row : rows) {
        std::string line = "  " + padded(utc(row.created_at), 19);
        if (with_authors) {
            line += "  " + padded(visible(row.author), author_width);
        }
        line += "  " + padded(visible(row.id), id_width);
        line += "  " + shortened(visible(row.note), 72);
        fmt::print("{}\n", line);
    }
}

/// `20 rows returned, 64 examined (3.20 a row), 1 round, 8 queries, 4 shards, 0.3 ms`
[[nodiscard]] inline std::string costs(const sw::read_stats& stats,
                                       std::chrono::steady_clock::duration took) {
    const double ratio = stats.rows_returned == 0 ? 0
                                                  : static_cast<double>(stats.rows_examined) /
                                                        static_cast<double>(stats.rows_returned);
    return fmt::format("{} returned, {} examined ({:.2f} a row), {}, {}, {}, {:.1f} ms",
                       counted(stats.rows_returned, "row"), grouped(stats.rows_examined), ratio,
                       counted(stats.rounds, "round"),
                       stats.requests == 1 ? "1 query" : grouped(stats.requests) + " queries",
                       counted(stats.shards_contacted, "shard"),
                       std::chrono::duration<double, std::milli>(took).count());
}

/// How far a load is, on standard error: a bar on a terminal, else a line every few seconds.
class progress_bar {
public:
    progress_bar() = default;
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;
    ~progress_bar() { clear(); }

    void show(std::uint64_t rows, std::optional<double> part) {
        const auto now = std::chrono::steady_clock::now();
        if (shown_ && now - *shown_ < (terminal_ ? std::chrono::milliseconds{100}
                                                 : std::chrono::milliseconds{2'000})) {
            return;
        }
        if (!shown_ && !terminal_) {
            shown_ = now;  // the first line after a while only: most loads are over by then
            return;
        }
        shown_ = now;
        constexpr std::size_t cells = 30;
        const double done = std::clamp(part.value_or(0), 0.0, 1.0);
        const auto full = static_cast<std::size_t>(done * static_cast<double>(cells));
        const std::string percent = part ? fmt::format("{:3.0f} %, ", done * 100) : std::string{};
        if (terminal_) {
            fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {}{}\x1b[K", "", full, "", cells - full, percent,
                       counted(rows, "row"));
            std::fflush(stderr);
            drawn_ = true;
        } else {
            fmt::print(stderr, "loading: {}{}\n", percent, counted(rows, "row"));
        }
    }

    /// Takes the bar away, before another line is written.
    void clear() {
        if (drawn_) {
            fmt::print(stderr, "\r\x1b[K");
            drawn_ = false;
        }
    }

private:
    bool terminal_ = isatty(STDERR_FILENO) != 0;
    bool drawn_ = false;
    std::optional<std::chrono::steady_clock::time_point> shown_;
};

}  // namespace timeline

#endif
