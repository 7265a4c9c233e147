// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_MOVE_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_MOVE_HPP

/// Moves a part of the key space from one shard to another while others read and write. Each step
/// can be done again, so a move that was cut off is finished by the same call.

#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/routing_table.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "routing_key.hpp"
#include "store.hpp"

namespace redis_timeline {

/// Somebody else changed the routing table at the same time.
struct conflict : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct move_report {
    sw::slot_index slot{};
    std::string from;
    std::string to;
    /// That were there to be copied: all that share the slot.
    std::vector<std::string> partition_keys;
    std::uint64_t items = 0;
};

class mover {
public:
    mover(bucket_store& store, routing_key& routing) noexcept
        : store_(&store), routing_(&routing) {}

    /// Moves the partition key, and whatever shares its slot of the shard map. `table` is replaced
    /// by its successor. Throws `conflict`; then nothing has moved.
    move_report move(sw::routing_table& table, const std::string& partition_key,
                     const std::string& to) {
        const sw::slot_index slot = table.shards().slot_of(partition_key);
        move_report report{slot, table.shards().owner(slot), to, {}, 0};
        if (report.from != to) {
            sw::routing_table next = table.with_shards(table.shards().with_owner(slot, to));
            report.partition_keys = keys_of(table, report.from, slot);
            if (std::ranges::find(report.partition_keys, partition_key) ==
                report.partition_keys.end()) {
                report.partition_keys.push_back(partition_key);
            }
            report.items = copy(report, next.epoch());
            if (routing_->compare_and_swap(table.epoch(), sw::encode(next)) !=
                sw::swap_result::stored) {
                throw conflict{"somebody else has changed the routing table; run it again"};
            }
            table = std::move(next);
        }
        finish(table, slot);
        return report;
    }

    /// Makes true what the table says about the slot: elsewhere nobody reads or writes it, and
    /// where it is, everybody does.
    void finish(const sw::routing_table& table, sw::slot_index slot) {
        const std::string& owner = table.shards().owner(slot);
        for (const std::string& shard : table.shards().names()) {
            if (shard != owner) {
                for (const std::string& key : keys_of(table, shard, slot)) {
                    retire(table, shard, key, owner);
                }
            }
        }
        // Opened last: before, a reader of the old table could miss what is written here.
        const std::vector<std::string> here = keys_of(table, owner, slot);
        for (const std::string& key : here) {
            const auto seen = store_->fence_of(owner, key);
            if (seen && seen->now == fence::mode::retired) {
                store_->set_fence(owner, key, {table.epoch(), fence::mode::open});
            }
        }
        for (const std::string& shard : table.shards().names()) {
            if (shard != owner) {
                for (const std::string& key : keys_of(table, shard, slot)) {
                    store_->purge(shard, key);
                }
            }
        }
    }

private:
    [[nodiscard]] std::vector<std::string> keys_of(const sw::routing_table& table,
                                                   const std::string& shard, sw::slot_index slot) {
        std::vector<std::string> keys = store_->partition_keys(shard);
        std::erase_if(keys,
                      [&](const std::string& key) { return table.shards().slot_of(key) != slot; });
        return keys;
    }

    /// Seals the old place against all writers of the old table, then copies what is there.
    [[nodiscard]] std::uint64_t copy(const move_report& what, sw::epoch next) {
        std::uint64_t items = 0;
        for (const std::string& key : what.partition_keys) {
            store_->set_fence(what.from, key, {next, fence::mode::open});
            store_->set_fence(what.to, key, {next, fence::mode::retired});
            store_->purge(what.to, key);
            store_->copy(key, what.from, what.to);
            const std::uint64_t copied = store_->size(what.to, key);
            if (copied != store_->size(what.from, key)) {
                throw redis_error{"the copy of " + key + " on " + what.to +
                                  " is not whole; nothing has moved, so run it again"};
            }
            items += copied;
        }
        return items;
    }

    /// What has no fence was written by somebody with an old table after the bucket had moved, as
    /// its first item there: it goes after the others.
    void retire(const sw::routing_table& table, const std::string& shard, const std::string& key,
                const std::string& owner) {
        const bool stray = !store_->fence_of(shard, key).has_value();
        store_->set_fence(shard, key, {table.epoch(), fence::mode::retired});
        if (stray) {
            store_->copy(key, shard, owner);
        }
    }

    bucket_store* store_;
    routing_key* routing_;
};

}  // namespace redis_timeline

#endif
