// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_EXTENT_HPP
#define SHARDWEAVE_READ_DETAIL_EXTENT_HPP

/// Which part of an order a read is about.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace shardweave {
inline namespace v1 {
namespace detail {

template <class Position>
struct extent {
    /// Rows beyond this, in the walked direction, and before that.
    std::optional<Position> near{};
    std::optional<Position> far{};
    /// Rows of these times, and where they can still be.
    time_range within{};
    time_range left{};
};

template <class Order>
[[nodiscard]] std::optional<typename Order::position_type>
bound_of(const Order& order, const std::optional<std::string>& bytes) {
    auto at = bytes ? order.decode(*bytes) : std::nullopt;
    if (bytes && !at) {
        throw failure{errc::invalid_options,
                      "a range of another order; make it by between(…) of this fan-out"};
    }
    return at;
}

/// Whether the walk goes on to later times.
template <class Order>
[[nodiscard]] constexpr bool rises(scan way) noexcept {
    return Order::times_rise == (way == scan::forward);
}

/// What is left of the options' range and times from a boundary on, and from a time on that was
/// reached. Throws `errc::invalid_options` for what the order does not have.
template <class Order>
[[nodiscard]] extent<typename Order::position_type>
extent_of(const Order& order, const page_options& with, scan way,
          const std::optional<typename Order::position_type>& boundary,
          const std::optional<item_time>& reached, const std::optional<item_time>& as_of) {
    const bool forward = way == scan::forward;
    const read_range& range = with.range;
    extent<typename Order::position_type> part{
        .near = bound_of(order, forward ? range.after : range.before),
        .far = bound_of(order, forward ? range.before : range.after),
        .within = with.within,
        .left = with.within};
    if (boundary && (!part.near || (order.compare(*part.near, *boundary) < 0) == forward)) {
        part.near = boundary;
    }
    if constexpr (Order::timed) {
        constexpr item_time first = item_time::min();
        constexpr item_time last = item_time::max();
        if (as_of) {
            part.within.until = std::min(part.within.until, static_cast<time_range>(*as_of).until);
        }
        part.left = part.within;
        const auto narrow = [&](const auto& at, bool from_there) {
            if (at) {
                const time_range then = order.time_of(*at);
                part.left = part.left.intersection(from_there ? time_range{then.since, last}
                                                              : time_range{first, then.until});
            }
        };
        const bool rising = rises<Order>(way);
        narrow(part.near, rising);
        narrow(part.far, !rising);
        if (reached) {
            part.left = part.left.intersection(rising ? time_range{*reached, last}
                                                      : time_range{first, *reached});
        }
    } else if (as_of) {
        throw failure{errc::invalid_options,
                      "as_of needs an order by time; write its first criterion as timed(…)"};
    }
    return part;
}

/// The time that a read has come to which started with `left` and has these times open, unless its
/// boundary tells as much; else what it knew before.
template <class Order>
[[nodiscard]] std::optional<item_time>
reached_time(const Order& order, scan way,
             const std::optional<typename Order::position_type>& boundary, const time_range& left,
             const time_range& open, const std::optional<item_time>& before) {
    std::optional<item_time> time;
    if constexpr (Order::timed) {
        const bool rising = rises<Order>(way);
        const item_time near = rising ? open.since : open.until;
        time = near == (rising ? left.since : left.until) ? before : near;
        if (time && boundary) {
            const time_range at = order.time_of(*boundary);
            if (rising ? *time <= at.since : at.until <= *time) {
                time.reset();
            }
        }
    }
    return time;
}

/// Where a forward read ends, as bytes; empty when it goes on as long as there is anything.
template <class Order>
[[nodiscard]] std::string far_end(const Order& order,
                                  const extent<typename Order::position_type>& of) {
    std::string bytes;
    byte_writer out{bytes};
    const item_time end = Order::times_rise ? of.within.until : of.within.since;
    if (end != (Order::times_rise ? item_time::max() : item_time::min())) {
        out.signed_varint(end.milliseconds());
    }
    if (of.far) {
        out.text(order.encode(*of.far));
    }
    return bytes;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
