// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_TOKEN_PAYLOAD_HPP
#define SHARDWEAVE_READ_DETAIL_TOKEN_PAYLOAD_HPP

/// What a page token protects: a cursor's state as bytes.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/detail/hints_codec.hpp>
#include <shardweave/read/query.hpp>

#include <optional>
#include <string>
#include <string_view>

// The form, version 1:
//   flags (1: backward, 2: has a boundary, 4: as of a time, 8: has hints, 16: has reached a time)
//   · epoch (varint) · as of, reached (signed varints, milliseconds) · hints (hints_codec.hpp)
//   · the boundary's order-preserving bytes
// A later version of the library may add flags; one that is not known here is a fault.

namespace shardweave {
inline namespace v1 {
namespace detail {

inline constexpr unsigned backward_flag = 1;
inline constexpr unsigned boundary_flag = 2;
inline constexpr unsigned as_of_flag = 4;
inline constexpr unsigned hints_flag = 8;
inline constexpr unsigned reached_flag = 16;
inline constexpr unsigned known_flags =
    backward_flag | boundary_flag | as_of_flag | hints_flag | reached_flag;

/// The state with as much of its hints.
inline std::string write_payload(const cursor::state& at, hint_level level) {
    const unsigned parts = hint_parts(at.hints, level);
    std::string payload;
    byte_writer out{payload};
    out.byte(static_cast<unsigned char>(
        (at.way == scan::backward ? backward_flag : 0U) | (at.boundary ? boundary_flag : 0U) |
        (at.as_of ? as_of_flag : 0U) | (parts != 0 ? hints_flag : 0U) |
        (at.reached ? reached_flag : 0U)));
    out.varint(at.epoch.value());
    if (at.as_of) {
        out.signed_varint(at.as_of->milliseconds());
    }
    if (at.reached) {
        out.signed_varint(at.reached->milliseconds());
    }
    if (parts != 0) {
        write_hints(out, at.hints, parts);
    }
    if (at.boundary) {
        out.raw(*at.boundary);
    }
    return payload;
}

/// Nothing for bytes that are no payload; they may be hostile.
inline std::optional<cursor::state> read_payload(std::string_view payload, const binding& bound) {
    byte_reader in{payload};
    const unsigned flags = in.byte();
    cursor::state at{bound, (flags & backward_flag) != 0 ? scan::backward : scan::forward,
                     std::nullopt, epoch{in.varint()}};
    if ((flags & as_of_flag) != 0) {
        at.as_of = item_time::at_milliseconds(in.signed_varint());
    }
    if ((flags & reached_flag) != 0) {
        at.reached = item_time::at_milliseconds(in.signed_varint());
    }
    if ((flags & hints_flag) != 0) {
        at.hints = read_hints(in);
    }
    const bool has_boundary = (flags & boundary_flag) != 0;
    const std::string_view boundary = in.raw(in.remaining());
    if (!in.ok() || flags > known_flags || has_boundary == boundary.empty()) {
        return std::nullopt;
    }
    if (has_boundary) {
        at.boundary = boundary;
    }
    return at;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
