// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_HINTS_CODEC_HPP
#define SHARDWEAVE_READ_DETAIL_HINTS_CODEC_HPP

/// Hints as bytes within a page token.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/read/detail/cursor_texts.hpp>
#include <shardweave/read/detail/runs.hpp>
#include <shardweave/read/hints.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// The form, in which unlike elsewhere one value may have several writings (how much is copied is
// the writer's choice):
//   parts (1: shares, 2: sources, 4: their cursors, which come only with 2; at least one)
//   shares: their number (varint), one byte each
//   sources: their number (varint), the list's fingerprint (8 bytes), which have ended (runs)
//   cursors: which have one (runs), the cursors (cursor_texts.hpp)

namespace shardweave {
inline namespace v1 {
namespace detail {

/// How much of a cursor's hints a token holds. Each is less than the one before.
enum class hint_level : std::uint8_t { all, without_cursors, only_shares, none };

inline constexpr unsigned shares_part = 1;
inline constexpr unsigned sources_part = 2;
inline constexpr unsigned cursors_part = 4;
inline constexpr std::size_t most_shares = limits::schemes_per_key;

/// What of the hints is there, at this level and within the limits.
inline unsigned hint_parts(const cursor_hints& hints, hint_level level) {
    using one = cursor_hints::one;
    unsigned parts = 0;
    if (level != hint_level::none && !hints.shares.empty() && hints.shares.size() <= most_shares) {
        parts |= shares_part;
    }
    const auto& each = hints.each;
    if (level >= hint_level::only_shares || each.empty() || each.size() > limits::sources) {
        return parts;
    }
    std::size_t bytes = 0;
    for (const one& source : each) {
        bytes += source.cursor.size();
    }
    if (level == hint_level::all) {
        parts |= bytes != 0 && bytes <= limits::token_cursor_bytes ? sources_part | cursors_part
                                                                   : sources_part;
    } else if (std::any_of(each.begin(), each.end(), [](const one& at) { return at.ended; })) {
        parts |= sources_part;
    }
    return parts;
}

/// Appends these parts; see `hint_parts`.
inline void write_hints(byte_writer& out, const cursor_hints& hints, unsigned parts) {
    const auto& each = hints.each;
    out.byte(static_cast<unsigned char>(parts));
    if ((parts & shares_part) != 0) {
        out.varint(hints.shares.size());
        for (const std::uint8_t share : hints.shares) {
            out.byte(share);
        }
    }
    if ((parts & sources_part) != 0) {
        out.varint(each.size());
        out.fixed64(hints.sources);
        write_runs(out, each.size(), [&](std::size_t i) { return each[i].ended; });
    }
    if ((parts & cursors_part) != 0) {
        write_runs(out, each.size(), [&](std::size_t i) { return !each[i].cursor.empty(); });
        cursor_writer cursors;
        for (const cursor_hints::one& source : each) {
            if (!source.cursor.empty()) {
                cursors.add(source.cursor);
            }
        }
        cursors.finish(out);
    }
}

/// Reads them from bytes that may be hostile. A fault is one of `in`.
inline cursor_hints read_hints(byte_reader& in) {
    cursor_hints hints;
    const unsigned parts = in.byte();
    if (parts == 0 || parts > (shares_part | sources_part | cursors_part) ||
        (parts & (sources_part | cursors_part)) == cursors_part) {
        in.fail();
    }
    if ((parts & shares_part) != 0) {
        const auto count = static_cast<std::size_t>(in.varint(most_shares));
        for (const char share : in.raw(count)) {
            hints.shares.push_back(static_cast<std::uint8_t>(share));
        }
        if (count == 0) {
            in.fail();
        }
    }
    if ((parts & sources_part) != 0) {
        const auto count = static_cast<std::size_t>(in.varint(limits::sources));
        hints.sources = in.fixed64();
        if (count == 0) {
            in.fail();
        }
        hints.each.resize(in.ok() ? count : 0);
        read_runs(in, hints.each.size(), [&](std::size_t i) { hints.each[i].ended = true; });
    }
    if (in.ok() && (parts & cursors_part) != 0) {
        std::vector<bool> held(hints.each.size());
        read_runs(in, held.size(), [&](std::size_t i) { held[i] = true; });
        cursor_reader cursors{in};
        for (std::size_t i = 0; in.ok() && i != held.size(); ++i) {
            if (held[i]) {
                cursors.next(hints.each[i].cursor);
            }
        }
        cursors.finish();
    }
    return hints;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
