// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_HOT_KEYS_HPP
#define SHARDWEAVE_PLACE_DETAIL_HOT_KEYS_HPP

/// The keys that have their own schemes, found by the hash that routing takes anyway.

#include <shardweave/core/hash.hpp>
#include <shardweave/place/key_format.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/place/shard_map.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// An open-addressed table from a key's slot hash to the scheme that takes its writes, with the
/// slot of each bucket computed beforehand: a hot key costs two hashes and no text, and an ordinary
/// one nothing but a look. Built once for a routing table, at most a quarter full. It views the
/// scheme table's keys.
class hot_keys {
public:
    struct entry {
        std::uint64_t hash = 0;
        std::string_view key;
        const bucket_scheme* writer = nullptr;
        std::vector<std::uint32_t> slots;
    };

    hot_keys(const scheme_table& schemes, const key_format& format, const shard_map& shards) {
        const auto& listed = schemes.exceptional();
        // Sparse, so that an ordinary key nearly always meets an empty place at once.
        places_.resize(std::bit_ceil(std::max<std::size_t>(256, 4 * listed.size())));
        entries_.reserve(listed.size());
        for (const auto& [key, history] : listed) {
            const bucket_scheme& writer = history.writer();
            entry& hot = entries_.emplace_back();
            hot = {stable_hash64(key, 0), key, &writer, {}};
            for (std::uint32_t bucket = 0; bucket != writer.buckets(); ++bucket) {
                hot.slots.push_back(
                    shards.slot_of(format.render(key, bucket_index{bucket}, writer.buckets()).str())
                        .value());
            }
            std::size_t place = first_place(hot.hash);
            while (places_[place] != 0) {
                place = next_place(place);
            }
            places_[place] = static_cast<std::uint32_t>(entries_.size());
        }
    }

    /// Null for an ordinary key. `hash` is the key's, with seed 0.
    [[nodiscard]] const entry* find(std::string_view key, std::uint64_t hash) const noexcept {
        for (std::size_t place = first_place(hash); places_[place] != 0;
             place = next_place(place)) {
            const entry& hot = entries_[places_[place] - 1];
            if (hot.hash == hash && hot.key == key) {
                return &hot;
            }
        }
        return nullptr;
    }

private:
    // Not the low bits, which choose the slot.
    [[nodiscard]] std::size_t first_place(std::uint64_t hash) const noexcept {
        return static_cast<std::size_t>(hash >> 40U) & (places_.size() - 1);
    }
    [[nodiscard]] std::size_t next_place(std::size_t place) const noexcept {
        return (place + 1) & (places_.size() - 1);
    }

    std::vector<entry> entries_;
    /// The number of an entry, from 1; 0 is empty.
    std::vector<std::uint32_t> places_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
