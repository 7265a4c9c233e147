// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_PREPARED_TABLE_HPP
#define SHARDWEAVE_PLACE_PREPARED_TABLE_HPP

/// A routing table with all computed that routing needs, for the hot path of a process.

#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/hot_keys.hpp>
#include <shardweave/place/routing_table.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// Where an item goes, without texts: what a `placement` says, in numbers.
struct route {
    slot_index slot;
    bucket_index bucket;
    /// The shard's place in the map's `names()`.
    std::uint32_t shard_number = 0;
    /// The scheme that says so. Belongs to the table.
    const bucket_scheme* scheme = nullptr;
};

namespace detail {

/// Room for any partition key, on the stack.
class key_buffer {
public:
    void append(const char* begin, const char* end) noexcept {
        std::memcpy(text_ + size_, begin, static_cast<std::size_t>(end - begin));
        size_ += static_cast<std::size_t>(end - begin);
    }
    [[nodiscard]] std::string_view view() const noexcept { return {text_, size_}; }

private:
    // A key, its format's literals, and ten digits, each at most as long as its limit.
    char text_[limits::key_bytes + limits::key_format_bytes + 10];
    std::size_t size_ = 0;
};

}  // namespace detail

/// What a router publishes: a routing table and its index of keys with their own schemes. An
/// ordinary key costs one hash, a hot one two, and nothing is allocated. Safe to share between
/// threads.
class prepared_table {
public:
    /// O(slots of the keys with their own schemes): their buckets are hashed here, once.
    explicit prepared_table(routing_table table)
        : table_(std::move(table)), hot_(table_.schemes(), table_.format(), table_.shards()),
          ordinary_(&table_.schemes().ordinary().writer()),
          ordinary_is_plain_(ordinary_->buckets() == 1 &&
                             table_.format().plain(bucket_index{0}, 1)) {}
    prepared_table(const prepared_table&) = delete;
    prepared_table& operator=(const prepared_table&) = delete;

    [[nodiscard]] const routing_table& table() const noexcept { return table_; }

    /// Where a new item is written; the same as `routing_table::place`, and throws the same.
    [[nodiscard]] route route_of(std::string_view key, const id_bytes& id) const {
        return route_by(key, [&](const bucket_scheme& scheme) { return scheme.select(id.view()); });
    }
    template <std::uniform_random_bit_generator Generator>
    [[nodiscard]] route route_of(std::string_view key, const id_bytes& id,
                                 Generator& generator) const {
        return route_by(
            key, [&](const bucket_scheme& scheme) { return scheme.select(id.view(), generator); });
    }

    /// Appends the partition key's text of a route of this key to any container of characters.
    template <class Buffer>
    void append_partition_key(Buffer& out, std::string_view key, const route& to) const {
        table_.format().append_to(out, key, to.bucket, to.scheme->buckets());
    }

    /// The route with its texts.
    [[nodiscard]] placement placement_of(std::string_view key, const route& to) const {
        return {table_.format().render(key, to.bucket, to.scheme->buckets()),
                table_.shards().names()[to.shard_number],
                to.slot,
                to.bucket,
                to.scheme->version(),
                to.scheme->how(),
                table_.epoch()};
    }

private:
    template <class Select>
    [[nodiscard]] route route_by(std::string_view key, const Select& select) const {
        const std::uint64_t hash = stable_hash64(key, 0);
        if (const auto* hot = hot_.find(key, hash)) {
            const bucket_index bucket = select(*hot->writer);
            return at(hot->slots[bucket.value()], bucket, *hot->writer);
        }
        table_.format().check(key);
        if (ordinary_is_plain_) {
            return at(plain_slot(hash), bucket_index{0}, *ordinary_);
        }
        return ordinary_route(key, hash, select(*ordinary_));
    }

    [[nodiscard]] std::uint32_t plain_slot(std::uint64_t hash) const noexcept {
        return static_cast<std::uint32_t>(hash) & (table_.shards().slots() - 1);
    }

    [[nodiscard]] route at(std::uint32_t slot, bucket_index bucket,
                           const bucket_scheme& scheme) const noexcept {
        const slot_index index{slot};
        return {index, bucket, table_.shards().owner_number(index), &scheme};
    }

    [[nodiscard]] route ordinary_route(std::string_view key, std::uint64_t hash,
                                       bucket_index bucket) const {
        if (table_.format().plain(bucket, ordinary_->buckets())) {
            return at(plain_slot(hash), bucket, *ordinary_);
        }
        detail::key_buffer text;
        table_.format().append_to(text, key, bucket, ordinary_->buckets());
        return at(table_.shards().slot_of(text.view()).value(), bucket, *ordinary_);
    }

    routing_table table_;
    detail::hot_keys hot_;
    const bucket_scheme* ordinary_;
    bool ordinary_is_plain_;
};

}  // namespace v1
}  // namespace shardweave

#endif
