// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_PLACEMENT_HPP
#define SHARDWEAVE_PLACE_PLACEMENT_HPP

/// What a routing table answers: places of items, and partition keys to read.

#include <shardweave/core/types.hpp>
#include <shardweave/place/partition_key.hpp>
#include <shardweave/place/selector.hpp>
#include <shardweave/place/time_range.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// One place that an item may have.
struct placement {
    shardweave::partition_key partition_key;
    std::string shard;
    slot_index slot;
    bucket_index bucket;
    /// The scheme that says so.
    scheme_version scheme;
    /// `random`: another call may answer otherwise, so store the bucket or search the `candidates`.
    selection how = selection::calculated;
    /// Of the table that was asked; hand it to a store that fences writes.
    shardweave::epoch epoch;
};

/// One partition key that a read of a key has to ask.
struct target {
    shardweave::partition_key partition_key;
    std::string shard;
    slot_index slot;
    bucket_index bucket;
    /// The newest live scheme that writes this partition key.
    scheme_version scheme;
    /// 0 for the scheme that takes the writes, 1 for the one before it, and so on.
    std::uint32_t rank = 0;
    /// The times that its items can have, whatever was asked for: its window, from where a scheme
    /// that writes it begins.
    time_range within{};
};

/// The items of a batch that go to one shard.
struct shard_batch {
    struct entry {
        /// The item's place in the range that was grouped.
        std::size_t index;
        placement at;
    };
    std::string shard;
    std::vector<entry> entries;
};

}  // namespace v1
}  // namespace shardweave

#endif
