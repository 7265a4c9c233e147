// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_ASKED_HPP
#define SHARDWEAVE_READ_DETAIL_ASKED_HPP

/// What all queries of a read have in common.

#include <shardweave/core/types.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/asking.hpp>
#include <shardweave/read/query.hpp>

#include <optional>
#include <string>

namespace shardweave {
inline namespace v1 {
namespace detail {

template <class Position>
struct asked {
    scan way = scan::forward;
    std::string filter{};
    shardweave::epoch epoch{};
    time_range within{};
    /// Nothing from here on, in the walked direction.
    std::optional<Position> far{};
    read_budget budget{};
    repeated_cursor repeated = repeated_cursor::no_progress;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
