// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_ROUTING_TABLE_HPP
#define SHARDWEAVE_PLACE_ROUTING_TABLE_HPP

/// Where everything is: schemes, key format, shard map and epoch as one immutable value.

#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/key_format.hpp>
#include <shardweave/place/partition_key.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/place/shard_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
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

namespace detail {

/// A set of small numbers.
class bucket_set {
public:
    /// False when the number is in the set already.
    bool insert(std::uint32_t number) {
        if (number >= bits_.size()) {
            bits_.resize(number + std::size_t{1});
        } else if (bits_[number]) {
            return false;
        }
        bits_[number] = true;
        return true;
    }

private:
    std::vector<bool> bits_;
};

}  // namespace detail

/// Pure functions of one immutable value: two processes with the same table place alike.
/// Safe to share between threads.
class routing_table {
public:
    struct options {
        shardweave::epoch epoch{1};
        key_format format{};
    };

    routing_table(scheme_table schemes, shard_map shards)
        : routing_table(std::move(schemes), std::move(shards), options{}) {}

    /// Throws `errc::ambiguous_key` when a key with its own scheme reads as another key's bucket.
    routing_table(scheme_table schemes, shard_map shards, options with)
        : schemes_(std::move(schemes)), shards_(std::move(shards)), options_(std::move(with)) {
        for (const auto& [key, history] : schemes_.exceptional()) {
            options_.format.check(key);
        }
    }

    /// Where a new item is written: by the scheme that takes the writes. With a random scheme each
    /// call draws anew. Throws `errc::ambiguous_key` or `errc::limit_exceeded` for a bad key.
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id) const {
        options_.format.check(key);
        const bucket_scheme& scheme = schemes_.history(key).writer();
        return at(key, scheme, scheme.select(id.view()));
    }
    /// The same, drawing from the caller's generator.
    template <std::uniform_random_bit_generator Generator>
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id,
                                  Generator& generator) const {
        options_.format.check(key);
        const bucket_scheme& scheme = schemes_.history(key).writer();
        return at(key, scheme, scheme.select(id.view(), generator));
    }

    /// Every place where an existing item may be, newest scheme first, each once: one a live scheme
    /// that calculates, every bucket of one that draws at random.
    [[nodiscard]] std::vector<placement> candidates(std::string_view key,
                                                    const id_bytes& id) const {
        options_.format.check(key);
        std::vector<placement> found;
        detail::bucket_set seen;
        const auto add = [&](const bucket_scheme& scheme, bucket_index bucket) {
            if (seen.insert(options_.format.identity(bucket, scheme.buckets()))) {
                found.push_back(at(key, scheme, bucket));
            }
        };
        for_each_live(key, [&](const bucket_scheme& scheme, std::uint32_t) {
            if (scheme.repeatable()) {
                add(scheme, scheme.locate(id.view()));
                return;
            }
            for (std::uint32_t bucket = 0; bucket != scheme.buckets(); ++bucket) {
                add(scheme, bucket_index{bucket});
            }
        });
        return found;
    }

    /// Every partition key to read for all items of the key, newest scheme first, each once.
    /// Schemes that write the same texts share them: 8 grown to 16 is 16 targets.
    [[nodiscard]] std::vector<target> targets(std::string_view key) const {
        options_.format.check(key);
        std::vector<target> found;
        detail::bucket_set seen;
        for_each_live(key, [&](const bucket_scheme& scheme, std::uint32_t rank) {
            for (std::uint32_t number = 0; number != scheme.buckets(); ++number) {
                const bucket_index bucket{number};
                if (seen.insert(options_.format.identity(bucket, scheme.buckets()))) {
                    placement each = at(key, scheme, bucket);
                    found.push_back({std::move(each.partition_key), std::move(each.shard),
                                     each.slot, each.bucket, each.scheme, rank});
                }
            }
        });
        return found;
    }

    /// The places of a range of (key, id) pairs, by shard in the map's order: one batch a shard
    /// that gets anything.
    template <std::ranges::input_range Range>
    [[nodiscard]] std::vector<shard_batch> group(Range&& items) const {
        std::vector<shard_batch> by_number(shards_.names().size());
        std::size_t index = 0;
        for (const auto& [key, id] : items) {
            placement each = place(key, id);
            by_number[shards_.owner_number(each.slot)].entries.push_back(
                {index++, std::move(each)});
        }
        std::vector<shard_batch> batches;
        for (std::size_t i = 0; i != by_number.size(); ++i) {
            if (!by_number[i].entries.empty()) {
                by_number[i].shard = shards_.names()[i];
                batches.push_back(std::move(by_number[i]));
            }
        }
        return batches;
    }

    [[nodiscard]] shardweave::epoch epoch() const noexcept { return options_.epoch; }
    [[nodiscard]] const key_format& format() const& noexcept { return options_.format; }
    [[nodiscard]] key_format format() && { return std::move(options_.format); }
    [[nodiscard]] const scheme_table& schemes() const& noexcept { return schemes_; }
    [[nodiscard]] scheme_table schemes() && { return std::move(schemes_); }
    [[nodiscard]] const shard_map& shards() const& noexcept { return shards_; }
    [[nodiscard]] shard_map shards() && { return std::move(shards_); }

    /// The table's successor with other schemes: the next epoch (`errc::limit_exceeded` after 2^64
    /// − 1).
    [[nodiscard]] routing_table with_schemes(scheme_table schemes) const {
        return {std::move(schemes), shards_, next_options()};
    }
    /// The table's successor with another map: the next epoch.
    [[nodiscard]] routing_table with_shards(shard_map shards) const {
        return {schemes_, std::move(shards), next_options()};
    }

    /// The same table at the first epoch of the next incarnation, for one that comes from a backup:
    /// above its own epoch and the highest that is known to have been handed out, and so above all
    /// that were handed out since the backup (`errc::limit_exceeded` after incarnation 2^24 − 1).
    [[nodiscard]] routing_table restored(shardweave::epoch highest_seen = {}) const {
        const std::uint64_t next =
            std::uint64_t{incarnation(std::max(options_.epoch, highest_seen))} + 1;
        if (next >> 24U != 0) {
            throw failure{errc::limit_exceeded, "there is no incarnation after the last one"};
        }
        return {schemes_, shards_, {shardweave::epoch{next << 40U}, options_.format}};
    }

    friend bool operator==(const routing_table& a, const routing_table& b) noexcept {
        return a.epoch() == b.epoch() && a.format() == b.format() && a.schemes_ == b.schemes_ &&
               a.shards_ == b.shards_;
    }

private:
    [[nodiscard]] options next_options() const {
        // Wrapped around to 0, it would be older than every table there is.
        if (options_.epoch.value() == ~std::uint64_t{0}) {
            throw failure{errc::limit_exceeded, "there is no epoch after the last one"};
        }
        return {shardweave::epoch{options_.epoch.value() + 1}, options_.format};
    }

    /// The writer first, then the readable schemes from newer to older, with their rank.
    template <class Visit>
    void for_each_live(std::string_view key, const Visit& visit) const {
        std::uint32_t rank = 0;
        const auto entries = schemes_.history(key).entries();
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
            if (entry->state != scheme_state::retired) {
                visit(entry->scheme, rank++);
            }
        }
    }

    [[nodiscard]] placement at(std::string_view key, const bucket_scheme& scheme,
                               bucket_index bucket) const {
        shardweave::partition_key text = options_.format.render(key, bucket, scheme.buckets());
        const slot_index slot = shards_.slot_of(text.str());
        return {std::move(text),  shards_.owner(slot), slot,          bucket,
                scheme.version(), scheme.how(),        options_.epoch};
    }

    scheme_table schemes_;
    shard_map shards_;
    options options_;
};

}  // namespace v1
}  // namespace shardweave

#endif
