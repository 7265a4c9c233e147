// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_WRITE_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_WRITE_HPP

/// Writes that a shard refuses when the slot is no longer its own.

#include <shardweave/core/types.hpp>
#include <shardweave/place/placement.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/stale_route.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libpq.hpp"
#include "page_query.hpp"
#include "pool.hpp"
#include "waiting.hpp"

namespace postgres {

/// Which slots the shard serves, from which epoch of the routing table on. A slot that was never
/// the shard's has no row, and one that has moved away keeps its own, closed.
inline constexpr const char* fence_schema = R"(
    CREATE TABLE IF NOT EXISTS fence (
        slot integer PRIMARY KEY,
        epoch bigint NOT NULL,
        open boolean NOT NULL
    ))";

/// Every write begins with this, in its transaction. FOR SHARE keeps whoever closes the slot
/// waiting until the transaction has ended, and looks again at a row that was closed while it
/// waited itself. Neither a plain SELECT nor FOR KEY SHARE does, so a write would slip in after the
/// slot was closed and copied.
inline constexpr const char* fence_function = R"(
    CREATE OR REPLACE FUNCTION hold_fence(slots integer[], at bigint) RETURNS void
    LANGUAGE plpgsql AS $$
    DECLARE
        held bigint;
    BEGIN
        PERFORM 1 FROM fence WHERE slot = ANY (slots) AND open AND epoch <= at
        ORDER BY slot FOR SHARE;
        GET DIAGNOSTICS held = ROW_COUNT;
        IF held <> cardinality(slots) THEN
            RAISE EXCEPTION 'not all of these slots are open here at epoch %', at USING
                ERRCODE = 'SW001',
                DETAIL = (SELECT coalesce(max(epoch), 0) FROM fence WHERE slot = ANY (slots));
        END IF;
    END
    $$)";

/// Everything that a new shard needs.
inline void create_shard(connection& on, const limits& until = {}) {
    for (const char* statement : {item_schema, fence_schema, fence_function}) {
        run(on, statement, until);
    }
}

/// bigint has a sign, so the highest incarnations of a routing table (2^23 and up) do not fit.
[[nodiscard]] inline std::int64_t as_bigint(sw::epoch of) {
    if (of.value() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        throw database_error{{}, "the routing table's epoch does not fit into a bigint", {}};
    }
    return static_cast<std::int64_t>(of.value());
}

/// `{1,2,3}`, each once.
[[nodiscard]] inline std::string array_of(std::vector<std::uint32_t> slots) {
    std::ranges::sort(slots);
    slots.erase(std::ranges::unique(slots).begin(), slots.end());
    std::string text = "{";
    for (const std::uint32_t slot : slots) {
        text += (text.size() == 1 ? "" : ",") + std::to_string(slot);
    }
    return text + "}";
}

/// Opens the slots for writers from this epoch on, if nobody has by a later one.
inline void open_slots(connection& on, std::vector<std::uint32_t> slots, sw::epoch from,
                       const limits& until = {}) {
    run(on, "open",
        "INSERT INTO fence SELECT unnest($1::integer[]), $2, true "
        "ON CONFLICT (slot) DO UPDATE SET epoch = excluded.epoch, open = true "
        "WHERE fence.epoch <= excluded.epoch",
        arguments{}.add(array_of(std::move(slots))).add(as_bigint(from)), until);
}

/// Opens what the table says is the shard's: once, for a new shard of a new table.
inline void open_owned(connection& on, const sw::routing_table& table, std::string_view shard,
                       const limits& until = {}) {
    std::vector<std::uint32_t> owned;
    for (std::uint32_t slot = 0; slot != table.shards().slots(); ++slot) {
        if (table.shards().owner(sw::slot_index{slot}) == shard) {
            owned.push_back(slot);
        }
    }
    open_slots(on, std::move(owned), table.epoch(), until);
}

/// Closes a slot that moves away: `from` is the epoch of the table in which it has. When this
/// returns, all writes that were under way are in, and all others are refused.
inline void close_slot(connection& on, std::uint32_t slot, sw::epoch from,
                       const limits& until = {}) {
    run(on, "close", "UPDATE fence SET epoch = $2, open = false WHERE slot = $1 AND epoch < $2",
        arguments{}.add(std::int64_t{slot}).add(as_bigint(from)), until);
}

/// An item and where it is written.
struct placed_item {
    std::string partition_key;
    std::uint32_t slot;
    item row;
};

/// Writes items to one shard: all or none, in one transaction and, pipelined, one round trip. An
/// item that is there already stays as it is, so what failed may be written again. Throws
/// `stale_route`, with nothing written, when a slot is not open at the writer's epoch.
inline void write(connection_pool& shards, const std::string& shard, sw::epoch at,
                  std::span<const placed_item> items, const limits& until = {}) {
    auto on = shards.lend(shard);
    finish(*on, until);
    std::vector<std::uint32_t> slots;
    slots.reserve(items.size());
    for (const placed_item& each : items) {
        slots.push_back(each.slot);
    }
    const arguments held = arguments{}.add(array_of(std::move(slots))).add(as_bigint(at));
    const auto row_of = [](const placed_item& each) {
        return arguments{}
            .add(each.partition_key)
            .add(each.row.created_at)
            .add(each.row.id)
            .add(each.row.note);
    };
    prepare(*on, "hold", "SELECT hold_fence($1::integer[], $2)", held, until);
    prepare(*on, "write", "INSERT INTO item VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            row_of(placed_item{}), until);
    on->begin_pipeline();
    on->send_prepared("hold", held);
    for (const placed_item& each : items) {
        on->send_prepared("write", row_of(each));
    }
    on->end_pipeline();
    finish(*on, until);
    try {
        static_cast<void>(on->take_all());
    } catch (const database_error& refused) {
        if (refused.sqlstate != "SW001") {
            throw;
        }
        std::uint64_t known = 0;
        std::from_chars(refused.detail.data(), refused.detail.data() + refused.detail.size(),
                        known);
        on.keep();
        throw sw::stale_route{sw::epoch{std::max(known, at.value())}};
    }
    on.keep();
}

/// One item, where the placement says.
inline void write(connection_pool& shards, const sw::placement& at, const item& row,
                  const limits& until = {}) {
    const placed_item one{at.partition_key.str(), at.slot.value(), row};
    write(shards, at.shard, at.epoch, {&one, 1}, until);
}

}  // namespace postgres

#endif
