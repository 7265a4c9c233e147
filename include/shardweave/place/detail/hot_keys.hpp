// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_HOT_KEYS_HPP
#define SHARDWEAVE_PLACE_DETAIL_HOT_KEYS_HPP

/// The keys that have their own schemes, found by the hash that routing takes anyway.

#include <shardweave/core/hash.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/remainder.hpp>
#include <shardweave/place/key_format.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/place/shard_map.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Equality of texts of one size, at least 8 bytes, that are nearly always equal: without a call,
/// whose preparation would cost more than the comparison.
[[nodiscard]] inline bool same_words(const char* a, const char* b, std::size_t size) noexcept {
    constexpr std::size_t word = sizeof(std::uint64_t);
    const auto differ = [a, b](std::size_t at) {
        std::uint64_t x = 0;
        std::uint64_t y = 0;
        std::memcpy(&x, a + at, word);
        std::memcpy(&y, b + at, word);
        return x ^ y;
    };
    std::uint64_t unlike = differ(0) | differ(size - word);
    if (size > 2 * word) {
        unlike |= differ(word) | differ(size - 2 * word);
        for (std::size_t at = 2 * word; at < size - 2 * word; at += word) {
            unlike |= differ(at);
        }
    }
    return unlike == 0;
}

/// An open-addressed table from a key's slot hash to the scheme that takes its writes, with the
/// place of each bucket computed beforehand: a hot key costs two hashes and no text. Built once for
/// a routing table, at most a quarter full. It views the scheme table's keys.
class hot_keys {
public:
    /// What a route needs of one key, in one cache line.
    struct alignas(64) entry {
        const char* key = nullptr;
        /// The key's size, when `glance` may answer; else one that no key has.
        std::size_t usual_size = ~std::size_t{0};
        /// Where each of its buckets is.
        const slot_owner* owners = nullptr;
        const bucket_scheme* writer = nullptr;
        std::uint64_t seed = 0;
        std::uint64_t reciprocal_of_buckets = 0;
        std::uint32_t buckets = 0;
        /// Its own.
        std::uint32_t number = 0;
        std::uint32_t key_size = 0;

        [[nodiscard]] std::string_view key_text() const noexcept { return {key, key_size}; }

        /// The same as the writer's `select`. Requires that it calculates.
        [[nodiscard]] bucket_index calculate(std::string_view id) const noexcept {
            return bucket_index{remainder(static_cast<std::uint32_t>(stable_hash64(id, seed)),
                                          buckets, reciprocal_of_buckets)};
        }
    };

    /// O(buckets of the keys with their own schemes).
    hot_keys(const scheme_table& schemes, const key_format& format, const shard_map& shards) {
        const auto& listed = schemes.exceptional();
        // Sparse, so that a key that is not there nearly always meets an empty place at once.
        numbers_.resize(std::bit_ceil(std::max<std::size_t>(256, 4 * listed.size())));
        last_place_ = numbers_.size() - 1;
        entries_.reserve(listed.size() + 1);
        entries_.emplace_back();
        std::string text;
        for (const auto& [key, history] : listed) {
            const bucket_scheme& writer = history.writer();
            entry& hot = entries_.emplace_back();
            hot.key = key.data();
            hot.key_size = static_cast<std::uint32_t>(key.size());
            if (usual(key, writer)) {
                hot.usual_size = key.size();
            }
            hot.writer = &writer;
            hot.seed = writer.seed();
            hot.buckets = writer.buckets();
            hot.reciprocal_of_buckets = reciprocal(hot.buckets);
            hot.number = static_cast<std::uint32_t>(entries_.size() - 1);
            for (std::uint32_t bucket = 0; bucket != hot.buckets; ++bucket) {
                text.clear();
                format.append_to(text, key, bucket_index{bucket}, hot.buckets);
                owners_.push_back(shards.owner_of(text));
            }
            std::size_t place = first_place(stable_hash64(key));
            while (numbers_[place] != 0) {
                place = next_place(place);
            }
            numbers_[place] = hot.number;
        }
        const slot_owner* owners = owners_.data();
        for (entry& hot : entries_) {
            hot.owners = owners;
            owners += hot.buckets;
        }
    }
    hot_keys(const hot_keys&) = delete;
    hot_keys& operator=(const hot_keys&) = delete;

    /// The key's entry, if it is a usual one and in its first place; null says nothing. `hash` is
    /// the key's, with seed 0.
    [[nodiscard]] const entry* glance(std::string_view key, std::uint64_t hash) const noexcept {
        const entry& hot = entries_[numbers_[first_place(hash)]];
        return hot.usual_size == key.size() && same_words(hot.key, key.data(), key.size())
                   ? &hot
                   : nullptr;
    }

    /// The key's entry; null for an ordinary key.
    [[nodiscard]] const entry* find(std::string_view key, std::uint64_t hash) const noexcept {
        for (std::size_t place = first_place(hash); numbers_[place] != 0;
             place = next_place(place)) {
            const entry& hot = entries_[numbers_[place]];
            if (hot.key_text() == key) {
                return &hot;
            }
        }
        return nullptr;
    }

    /// The first is none, and has number 0.
    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }

private:
    /// At most 64 bytes, which are compared in place.
    [[nodiscard]] static bool usual(std::string_view key, const bucket_scheme& writer) noexcept {
        return key.size() >= 8 && key.size() <= 64 && writer.how() == selection::calculated &&
               !writer.timed();
    }

    // Not the low bits, which choose the slot.
    [[nodiscard]] std::size_t first_place(std::uint64_t hash) const noexcept {
        return static_cast<std::size_t>(hash >> 40U) & last_place_;
    }
    [[nodiscard]] std::size_t next_place(std::size_t place) const noexcept {
        return (place + 1) & last_place_;
    }

    std::vector<entry> entries_;
    std::vector<slot_owner> owners_;
    /// Of entries, at their places; 0 is empty.
    std::vector<std::uint32_t> numbers_;
    std::size_t last_place_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
