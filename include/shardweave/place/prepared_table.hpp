// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_PREPARED_TABLE_HPP
#define SHARDWEAVE_PLACE_PREPARED_TABLE_HPP

/// A routing table with all computed that routing needs, for the hot path of a process.

#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/hot_keys.hpp>
#include <shardweave/place/key_buffer.hpp>
#include <shardweave/place/placement.hpp>
#include <shardweave/place/routing_table.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// Where an item goes, without texts: what a `placement` says, in numbers. All but the bucket are
/// those of the table that was asked.
struct route {
    slot_index slot;
    bucket_index bucket;
    /// The shard's place in the map's `names()`.
    std::uint32_t shard_number = 0;
    /// For `prepared_table::scheme_of`: the scheme that says so.
    std::uint32_t scheme_number = 0;
};

/// What a router publishes: a routing table with its index of keys with their own schemes. An
/// ordinary key costs one hash, a hot one two, and nothing is allocated. Safe to share between
/// threads.
class prepared_table {
public:
    /// O(slots + buckets of the keys with their own schemes): these are hashed here, once.
    explicit prepared_table(routing_table table)
        : table_(std::move(table)), hot_(table_.schemes(), table_.format(), table_.shards()),
          owners_(table_.shards().slots()), ordinary_owners_(table_.shards().slots(), closer) {
        static_assert(limits::shards - 1 <= std::numeric_limits<std::uint16_t>::max());
        for (std::size_t slot = 0; slot != owners_.size(); ++slot) {
            owners_[slot] = static_cast<std::uint16_t>(table_.shards().owners()[slot]);
        }
        if (ordinary().buckets() == 1 && !ordinary().timed() &&
            table_.format().plain(bucket_index{0}, 1)) {
            ordinary_owners_ = owners_;
        }
        for (const auto& hot : hot_.entries() | std::views::drop(1)) {
            ordinary_owners_[table_.shards().slot_of(hot.key_text()).value()] = closer;
        }
    }
    prepared_table(const prepared_table&) = delete;
    prepared_table& operator=(const prepared_table&) = delete;

    [[nodiscard]] const routing_table& table() const noexcept { return table_; }

    /// Where a new item is written; the same as `routing_table::place`, and throws the same. Keys
    /// that are split by time have no routes: `routing_table::place` takes the time, too.
    /// The id is whatever `id_bytes` takes, and is looked at only when the key has several buckets.
    template <class Id>
    [[nodiscard, gnu::always_inline]] route route_of(std::string_view key, const Id& id) const {
        return route_by(key, id, [&](const id_bytes& bytes, std::uint64_t hash) {
            return farther_route(key, bytes, hash);
        });
    }
    template <std::uniform_random_bit_generator Generator>
    [[nodiscard]] route route_of(std::string_view key, const id_bytes& id,
                                 Generator& generator) const {
        const std::uint64_t hash = stable_hash64(key);
        if (const auto* hot = hot_.find(key, hash)) {
            return hot_route(*hot, untimed(key, *hot->writer).select(id.view(), generator));
        }
        table_.format().check(key);
        return ordinary_route(key, hash, untimed(key, ordinary()).select(id.view(), generator));
    }

    /// Where a partition key is that was stored with an item. One hash, whatever its key.
    [[nodiscard]] slot_owner owner_of(std::string_view partition_key_text) const noexcept {
        const slot_index slot = table_.shards().slot_of(partition_key_text);
        return {slot, owners_[slot.value()]};
    }

    /// The scheme of a route of this table.
    [[nodiscard]] const bucket_scheme& scheme_of(const route& to) const noexcept {
        return to.scheme_number == 0 ? ordinary() : *hot_.entries()[to.scheme_number].writer;
    }

    /// Appends the partition key's text of a route of this key to any container of characters.
    template <class Buffer>
    void append_partition_key(Buffer& out, std::string_view key, const route& to) const {
        table_.format().append_to(out, key, to.bucket, scheme_of(to).buckets());
    }

    /// The route with its texts.
    [[nodiscard]] placement placement_of(std::string_view key, const route& to) const {
        const bucket_scheme& scheme = scheme_of(to);
        return {table_.format().render(key, to.bucket, scheme.buckets()),
                table_.shards().names()[to.shard_number],
                to.slot,
                to.bucket,
                scheme.version(),
                scheme.how(),
                table_.epoch()};
    }

private:
    friend class router;

    /// Instead of the owner of a slot where a key may need more than its own hash: where a key with
    /// its own scheme belongs by its hash; everywhere, when ordinary keys are not written plainly.
    /// (And of the last of 65,536 shards, which then takes the longer way, too.)
    static constexpr std::uint16_t closer = 0xffff;

    /// The short ways; `farther(id, hash)` is called where they end, and there alone a user's own
    /// selector may be asked.
    template <class Id, class Farther>
    [[nodiscard, gnu::always_inline]] route route_by(std::string_view key, const Id& id,
                                                     const Farther& farther) const {
        const std::uint64_t hash = stable_hash64(key);
        const slot_index slot = table_.shards().slot_by(hash);
        const std::uint16_t owner = ordinary_owners_[slot.value()];
        if (owner == closer || !table_.format().surely_valid(key)) [[unlikely]] {
            return closer_route(key, id, hash, farther);
        }
        return {slot, bucket_index{0}, owner, 0};
    }
    template <class Farther>
    [[nodiscard, gnu::always_inline]] route closer_route(std::string_view key, const id_bytes& id,
                                                         std::uint64_t hash,
                                                         const Farther& farther) const {
        if (const auto* hot = hot_.glance(key, hash)) [[likely]] {
            return hot_route(*hot, hot->calculate(id.view()));
        }
        return farther(id, hash);
    }

    [[nodiscard, gnu::noinline]] route farther_route(std::string_view key, const id_bytes& id,
                                                     std::uint64_t hash) const {
        if (const auto* hot = hot_.find(key, hash)) {
            return hot_route(*hot, untimed(key, *hot->writer).select(id.view()));
        }
        table_.format().check(key);
        return ordinary_route(key, hash, untimed(key, ordinary()).select(id.view()));
    }

    /// The scheme; throws `errc::time_required` for one that asks for the item's time.
    [[nodiscard]] const bucket_scheme& untimed(std::string_view key,
                                               const bucket_scheme& writer) const {
        return writer.timed() ? table_.writer(key) : writer;
    }

    [[nodiscard]] static route hot_route(const detail::hot_keys::entry& hot,
                                         bucket_index bucket) noexcept {
        const slot_owner at = hot.owners[bucket.value()];
        return {at.slot, bucket, at.shard_number, hot.number};
    }
    [[nodiscard]] route ordinary_route(std::string_view key, std::uint64_t hash,
                                       bucket_index bucket) const {
        const shard_map& shards = table_.shards();
        slot_index slot = shards.slot_by(hash);
        if (!table_.format().plain(bucket, ordinary().buckets())) {
            key_buffer text;
            table_.format().append_to(text, key, bucket, ordinary().buckets());
            slot = shards.slot_of(text.view());
        }
        return {slot, bucket, shards.owner_number(slot), 0};
    }

    [[nodiscard]] const bucket_scheme& ordinary() const noexcept {
        return table_.schemes().ordinary().writer();
    }

    routing_table table_;
    detail::hot_keys hot_;
    // Numbers of 16 bits, so that 16,384 of them fit in the nearest cache.
    std::vector<std::uint16_t> owners_;
    std::vector<std::uint16_t> ordinary_owners_;
};

}  // namespace v1
}  // namespace shardweave

#endif
