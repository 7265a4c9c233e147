// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_TABLE_STAMP_HPP
#define SHARDWEAVE_PLACE_TABLE_STAMP_HPP

/// Which routing table or scheme a process goes by, in a few bytes: so that two with different
/// contents under one number find out when they first meet.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/key_format.hpp>
#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/scheme.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace shardweave {
inline namespace v1 {

/// An epoch, and what the routing table of that epoch holds. 24 bytes to send along or to keep.
struct table_stamp {
    shardweave::epoch epoch{};
    hash128 fingerprint{};

    friend constexpr bool operator==(const table_stamp&, const table_stamp&) noexcept = default;
};

/// A version of a scheme, and what it is: what a store keeps beside a key's data, or beside a whole
/// data set under one scheme.
struct scheme_stamp {
    scheme_version version{};
    hash128 fingerprint{};

    friend constexpr bool operator==(const scheme_stamp&, const scheme_stamp&) noexcept = default;
};

/// Of everything that decides the partition key of an item: the scheme (version, selector, buckets,
/// seed, time windows, since) and the key format. Not of its state, so it is for good.
[[nodiscard]] inline hash128 fingerprint(const bucket_scheme& scheme, const key_format& format) {
    std::string bytes;
    byte_writer out{bytes};
    out.raw("SWSC");
    const scheme_history history{scheme};
    out.varint(detail::format_of(history));
    out.byte(static_cast<unsigned char>(format.mode()));
    out.text(format.text());
    detail::write_history(out, history, detail::format_of(history));
    return stable_hash128(bytes, 0);
}

/// O(slots + keys with their own schemes), like `encode`: 0.1 ms for 16,384 slots. Once for a
/// table that is published, not once for a request; `refresher::stamp` keeps it.
[[nodiscard]] inline table_stamp stamp_of(const routing_table& table) {
    return {table.epoch(), fingerprint(table)};
}

/// A scheme that has no version yet counts as the first of a history.
[[nodiscard]] inline scheme_stamp stamp_of(const bucket_scheme& scheme, const key_format& format) {
    return {scheme_history{scheme}.writer().version(), fingerprint(scheme, format)};
}

namespace detail {

inline void append_hex(std::string& out, std::uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (unsigned shift = 64; shift != 0; shift -= 4) {
        out += digits[value >> (shift - 4) & 15U];
    }
}

[[nodiscard]] inline std::string stamp_text(std::uint64_t number, const hash128& fingerprint) {
    std::string text = concat(number, "-");
    append_hex(text, fingerprint.high);
    append_hex(text, fingerprint.low);
    return text;
}

template <class Number>
[[nodiscard]] bool parse_whole(std::string_view text, Number& value, int base) {
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return ec == std::errc{} && end == text.data() + text.size();
}

/// A stamp whose text is this one, letter for letter.
template <class Stamp, class Number>
[[nodiscard]] std::optional<Stamp> parse_stamp(std::string_view text) {
    constexpr std::size_t half = 16;
    const std::size_t dash = text.find('-');
    typename Number::rep number = 0;
    Stamp stamp{};
    if (dash == std::string_view::npos || text.size() - dash - 1 != 2 * half ||
        !parse_whole(text.substr(0, dash), number, 10) ||
        !parse_whole(text.substr(dash + 1, half), stamp.fingerprint.high, 16) ||
        !parse_whole(text.substr(dash + 1 + half), stamp.fingerprint.low, 16) ||
        stamp_text(number, stamp.fingerprint) != text) {
        return std::nullopt;
    }
    if constexpr (std::is_same_v<Stamp, table_stamp>) {
        stamp.epoch = Number{number};
    } else {
        stamp.version = Number{number};
    }
    return stamp;
}

}  // namespace detail

/// For a header or a column: the number, a dash, and 32 hexadecimal digits.
[[nodiscard]] inline std::string to_text(const table_stamp& stamp) {
    return detail::stamp_text(stamp.epoch.value(), stamp.fingerprint);
}
[[nodiscard]] inline std::string to_text(const scheme_stamp& stamp) {
    return detail::stamp_text(stamp.version.value(), stamp.fingerprint);
}

/// Nothing for what `to_text` does not write.
[[nodiscard]] inline std::optional<table_stamp> parse_table_stamp(std::string_view text) {
    return detail::parse_stamp<table_stamp, epoch>(text);
}
[[nodiscard]] inline std::optional<scheme_stamp> parse_scheme_stamp(std::string_view text) {
    return detail::parse_stamp<scheme_stamp, scheme_version>(text);
}

namespace detail {

[[nodiscard]] inline failure stamp_conflict(const table_stamp& mine, const table_stamp& theirs) {
    return {errc::epoch_conflict,
            concat("there are two routing tables of epoch ", mine.epoch.value(), ": ",
                   to_text(mine), " here and ", to_text(theirs),
                   " there; give the right one a higher epoch, and find out who made the other")};
}

}  // namespace detail

/// How another's table or scheme stands to mine.
enum class stamp_order : std::uint8_t { same, older, newer };

/// How theirs stands to mine. Throws `errc::epoch_conflict`, which names both, for different tables
/// of one epoch.
inline stamp_order check_stamp(const table_stamp& mine, const table_stamp& theirs) {
    if (mine.epoch != theirs.epoch) {
        return theirs.epoch < mine.epoch ? stamp_order::older : stamp_order::newer;
    }
    if (mine != theirs) {
        throw detail::stamp_conflict(mine, theirs);
    }
    return stamp_order::same;
}

/// The same for schemes: `errc::scheme_conflict` for different ones of one version.
inline stamp_order check_stamp(const scheme_stamp& mine, const scheme_stamp& theirs) {
    if (mine.version != theirs.version) {
        return theirs.version < mine.version ? stamp_order::older : stamp_order::newer;
    }
    if (mine != theirs) {
        throw failure{errc::scheme_conflict,
                      detail::concat("there are two schemes of version ", mine.version.value(),
                                     ": ", to_text(mine), " here and ", to_text(theirs),
                                     " there; nobody finds what the other wrote, so let all load "
                                     "one stored table")};
    }
    return stamp_order::same;
}

}  // namespace v1
}  // namespace shardweave

#endif
