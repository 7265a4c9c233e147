// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_QUERY_HPP
#define SHARDWEAVE_READ_QUERY_HPP

/// The one question that the library asks of a store, and its answer.

#include <shardweave/core/retry.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/time_range.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// Which way a query walks the order. `backward` reverses every criterion, the tie-break and the
/// place of absent values too.
enum class scan : std::uint8_t { forward = 0, backward = 1 };

/// What a query callback is asked: the first `limit` rows of the partition keys, together, strictly
/// beyond `after` and not beyond `until`, in the order, walking `way`. What it refers to is valid
/// until the callback returns.
template <class Position>
struct shard_query {
    /// The shard to ask.
    std::string shard;
    /// One partition key; several with `grouping::per_shard`, whose rows come merged.
    std::span<const std::string> partition_keys;
    /// Where to go on: rows up to here are known. Forward and newest first, the condition is
    /// `(created_at, id) < (after)`.
    std::optional<Position> after;
    /// The last position of interest, included. A store may ignore it and answer with more.
    std::optional<Position> until;
    /// The most rows that are wanted; more than 0.
    std::size_t limit = 0;
    scan way = scan::forward;
    /// The caller's filter, as given to the read.
    std::string_view filter;
    /// The store's own cursor from the answer before, when that came from this same read; else
    /// empty.
    std::string_view cursor;
    /// Of the routing table in use; for stores that refuse stale routes.
    shardweave::epoch epoch{};
    /// The times of interest, for orders that are `timed`. A store may answer with others.
    time_range within{};
    /// Stopped when nobody waits for the answer any more. A read does not return before its
    /// callbacks do, so one that heeds this, or the deadline, lets go of a slow store in time.
    std::stop_token stop{};
    /// When nobody waits any more.
    shardweave::deadline deadline{};
};

/// A query callback's answer.
template <class Item>
struct shard_page {
    /// Rows in the query's order. Fewer than `limit` are no sign of the end.
    std::vector<Item> items{};
    /// True when there may be more rows within the query's bounds; false ends the source.
    bool more = false;
    /// Where the store would go on, for stores with opaque cursors; handed back in the next query.
    std::string cursor{};
    /// The last row that the store looked at, where a filter dropped it: of the item, only what the
    /// order compares. Lets a read get on through rows that do not match.
    std::optional<Item> scanned{};
};

/// One ordered stream of a fan-out: a partition key, or all partition keys of one shard.
struct source {
    std::string shard;
    std::vector<std::string> partition_keys;
    /// 0 for the scheme that takes the writes, higher for older ones. Decides between two copies of
    /// one item.
    std::uint32_t rank = 0;
    /// The expected part of a page's rows, relative to the other sources.
    double weight = 1;
};

}  // namespace v1
}  // namespace shardweave

#endif
