// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_SHARD_MAP_HPP
#define SHARDWEAVE_PLACE_SHARD_MAP_HPP

/// Which shard owns each slot of the key space.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// Where a partition key is, in numbers.
struct slot_owner {
    slot_index slot;
    /// The shard's place in the map's `names()`.
    std::uint32_t shard_number = 0;
};

/// A complete map from slots to shards: every slot has exactly one owner, and every owner exists.
/// Servers come and go by slots changing owner; the number of slots never changes. A value.
class shard_map {
public:
    /// Plenty to spread over 100 shards within 3 %, and 64 KiB of memory.
    static constexpr std::uint32_t standard_slots = 16'384;

    struct weighted_shard {
        std::string name;
        /// Its part of the whole, relative to the others. 0: it owns nothing yet.
        std::uint32_t weight = 1;
    };

    /// One shard that owns everything: a table that shards itself, as DynamoDB does.
    [[nodiscard]] static shard_map single(std::string name, std::uint32_t slots = standard_slots) {
        return even({std::move(name)}, slots);
    }

    /// Equal numbers of slots, to within one. `slots` is a power of two, at least the shards' count
    /// (`errc::invalid_map`).
    [[nodiscard]] static shard_map even(std::vector<std::string> names,
                                        std::uint32_t slots = standard_slots) {
        if (names.size() > slots) {
            throw failure{errc::invalid_map,
                          detail::concat(names.size(), " shards cannot share ", slots,
                                         " slots evenly; use a power of two that is not below")};
        }
        std::vector<weighted_shard> shards;
        shards.reserve(names.size());
        for (std::string& name : names) {
            shards.push_back({std::move(name), 1});
        }
        return weighted(std::move(shards), slots);
    }

    /// Numbers of slots in proportion to the weights, to within one.
    [[nodiscard]] static shard_map weighted(std::vector<weighted_shard> shards,
                                            std::uint32_t slots = standard_slots) {
        std::uint64_t total = 0;
        std::vector<std::string> names;
        for (weighted_shard& shard : shards) {
            total += shard.weight;
            names.push_back(std::move(shard.name));
        }
        if (total == 0) {
            throw failure{errc::incomplete_map,
                          "no shard with a weight above 0; slot 0 has no owner"};
        }
        check_slots(slots);
        std::vector<std::uint32_t> owners(slots);
        std::uint64_t weight = 0;
        auto first = owners.begin();
        for (std::size_t i = 0; i != shards.size(); ++i) {
            weight += shards[i].weight;
            const auto last = owners.begin() + slots_for(weight, total, slots);
            std::fill(first, last, static_cast<std::uint32_t>(i));
            first = last;
        }
        return {std::move(names), std::move(owners)};
    }

    /// The owner of each slot by name, slot 0 first; the count is a power of two. An empty name is
    /// a hole: `errc::incomplete_map` names the slot.
    [[nodiscard]] static shard_map from_slots(const std::vector<std::string>& owner_names) {
        std::vector<std::string> names;
        std::vector<std::uint32_t> owners;
        std::map<std::string_view, std::uint32_t> index;
        for (const std::string& name : owner_names) {
            if (name.empty()) {
                throw failure{errc::incomplete_map,
                              detail::concat("slot ", owners.size(), " of ", owner_names.size(),
                                             " has no owner; name a shard for it")};
            }
            const auto [at, added] = index.emplace(name, static_cast<std::uint32_t>(names.size()));
            if (added) {
                names.push_back(name);
            }
            owners.push_back(at->second);
        }
        return {std::move(names), std::move(owners)};
    }

    /// Shards by number, and the number of each slot's owner. Throws `errc::invalid_map` for a bad
    /// count, an empty name or one given twice, and `errc::incomplete_map` for an owner that is not
    /// there.
    shard_map(std::vector<std::string> names, std::vector<std::uint32_t> owners)
        : names_(std::move(names)), owners_(std::move(owners)),
          last_slot_(static_cast<std::uint32_t>(owners_.size()) - 1) {
        check_slots(owners_.size());
        if (names_.empty() || names_.size() > limits::shards) {
            throw failure{errc::invalid_map,
                          detail::concat(names_.size(), " shards; use 1 to ", limits::shards)};
        }
        for (std::size_t i = 0; i != names_.size(); ++i) {
            if (names_[i].empty() || names_[i].size() > limits::shard_name_bytes) {
                throw failure{errc::invalid_map,
                              detail::concat("shard ", i, " is named ", detail::quoted(names_[i]),
                                             "; names have 1 to ", limits::shard_name_bytes,
                                             " bytes")};
            }
        }
        std::vector<std::string_view> sorted(names_.begin(), names_.end());
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end()) {
            throw failure{errc::invalid_map,
                          detail::concat("two shards are named ", detail::quoted(*twice))};
        }
        for (std::size_t slot = 0; slot != owners_.size(); ++slot) {
            if (owners_[slot] >= names_.size()) {
                throw failure{errc::incomplete_map,
                              detail::concat("slot ", slot, " belongs to shard number ",
                                             owners_[slot], " of ", names_.size())};
            }
        }
    }

    /// The slot of a partition key's text.
    [[nodiscard]] slot_index slot_of(std::string_view partition_key_text) const noexcept {
        return slot_by(stable_hash64(partition_key_text));
    }

    /// The slot of a partition key whose hash with seed 0 is known already.
    [[nodiscard]] slot_index slot_by(std::uint64_t hash) const noexcept {
        return slot_index{static_cast<std::uint32_t>(hash) & last_slot_};
    }

    /// The slot's owner. Requires `slot` < `slots()`.
    [[nodiscard]] const std::string& owner(slot_index slot) const noexcept {
        return names_[owners_[slot.value()]];
    }
    /// The same as its place in `names()`.
    [[nodiscard]] std::uint32_t owner_number(slot_index slot) const noexcept {
        return owners_[slot.value()];
    }

    /// The slot of a partition key's text, and its owner's number.
    [[nodiscard]] slot_owner owner_of(std::string_view partition_key_text) const noexcept {
        const slot_index slot = slot_of(partition_key_text);
        return {slot, owner_number(slot)};
    }

    [[nodiscard]] std::uint32_t slots() const noexcept { return last_slot_ + 1; }
    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
    [[nodiscard]] const std::vector<std::uint32_t>& owners() const noexcept { return owners_; }

    /// A new shard that owns nothing yet. The copy is validated like any other map.
    [[nodiscard]] shard_map with_shard(std::string name) const {
        std::vector<std::string> names = names_;
        names.push_back(std::move(name));
        return {std::move(names), owners_};
    }

    /// The slot with another owner: what a finished move of its data leads to. Throws
    /// `errc::unknown_shard` or, for a slot that is not there, `errc::invalid_map`.
    [[nodiscard]] shard_map with_owner(slot_index slot, std::string_view name) const {
        const auto at = std::find(names_.begin(), names_.end(), name);
        if (at == names_.end()) {
            throw failure{errc::unknown_shard,
                          detail::concat("no shard is named ", detail::quoted(name),
                                         "; add it by with_shard first")};
        }
        if (slot.value() >= slots()) {
            throw failure{errc::invalid_map,
                          detail::concat("slot ", slot.value(), " of ", slots(), " slots")};
        }
        shard_map next = *this;
        next.owners_[slot.value()] = static_cast<std::uint32_t>(at - names_.begin());
        return next;
    }

    friend bool operator==(const shard_map&, const shard_map&) noexcept = default;

private:
    static void check_slots(std::size_t slots) {
        if (!std::has_single_bit(slots) || slots > limits::slots) {
            throw failure{
                errc::invalid_map,
                detail::concat(slots, " slots; use a power of two of at most ", limits::slots)};
        }
    }

    /// `weight * slots / total`, bit by bit, because the product can have more than 64 bits.
    /// Requires weight ≤ total < 2^63.
    static std::ptrdiff_t slots_for(std::uint64_t weight, std::uint64_t total,
                                    std::uint32_t slots) {
        std::ptrdiff_t quotient = weight == total ? 1 : 0;
        std::uint64_t rest = weight == total ? 0 : weight;
        for (std::uint32_t scale = 1; scale != slots; scale *= 2) {
            rest *= 2;
            quotient = 2 * quotient + (rest >= total ? 1 : 0);
            rest -= rest >= total ? total : 0;
        }
        return quotient;
    }

    std::vector<std::string> names_;
    std::vector<std::uint32_t> owners_;
    std::uint32_t last_slot_;
};

}  // namespace v1
}  // namespace shardweave

#endif
