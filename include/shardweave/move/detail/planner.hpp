// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_MOVE_DETAIL_PLANNER_HPP
#define SHARDWEAVE_MOVE_DETAIL_PLANNER_HPP

/// Which slots change owner, by number: exact arithmetic, no names.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/move/detail/proportion.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A shard as the planner sees it.
struct balanced_shard {
    std::uint32_t weight = 0;
    std::uint64_t capacity = 0;
    std::uint64_t load = 0;
    std::size_t slots = 0;
    /// What it should carry in the end.
    std::uint64_t target = 0;

    [[nodiscard]] std::int64_t excess() const noexcept {
        return static_cast<std::int64_t>(load) - static_cast<std::int64_t>(target);
    }
};

struct numbered_move {
    std::uint32_t slot;
    std::uint32_t from;
    std::uint32_t to;
};

/// Greedy: the fullest shard gives its greatest slot that fits to the emptiest. A shard either
/// gives or takes, so each shard's load only ever falls or only ever rises along the plan.
/// Requires a sum of the loads below 2^63.
class planner {
public:
    /// `owners` and `loads` by slot.
    planner(std::vector<balanced_shard> shards, std::span<const std::uint32_t> owners,
            std::span<const std::uint64_t> loads)
        : shards_(std::move(shards)), loads_(loads), held_(shards_.size()) {
        for (std::uint32_t slot = 0; slot != owners.size(); ++slot) {
            balanced_shard& owner = shards_[owners[slot]];
            owner.load += loads[slot];
            ++owner.slots;
        }
        set_targets();
        for (std::uint32_t slot = 0; slot != owners.size(); ++slot) {
            const balanced_shard& owner = shards_[owners[slot]];
            if (owner.weight == 0 || owner.load > owner.target) {
                held_[owners[slot]].emplace(loads[slot], slot);
            }
        }
    }

    /// In the order in which they should be made.
    [[nodiscard]] std::vector<numbered_move> plan() && {
        drain();
        relieve();
        gather();
        return std::move(moves_);
    }

private:
    /// A slot with its load in front.
    using weighed_slot = std::pair<std::uint64_t, std::uint32_t>;

    /// From the emptiest to the fullest; of equally full ones, the one with fewer slots first, so
    /// that idle slots are spread as well.
    struct by_fullness {
        const std::vector<balanced_shard>* shards;
        bool operator()(std::uint32_t a, std::uint32_t b) const {
            const balanced_shard& left = (*shards)[a];
            const balanced_shard& right = (*shards)[b];
            if (less_full(left.excess(), left.weight, right.excess(), right.weight)) {
                return true;
            }
            return !less_full(right.excess(), right.weight, left.excess(), left.weight) &&
                   std::tie(left.slots, a) < std::tie(right.slots, b);
        }
    };

    /// To each its part by weight, rounded down or up, and never above its capacity. Rounding up
    /// goes to those that hold more than the rounded part anyway: that is what makes the number of
    /// moves minimal when all slots have load 1.
    void set_targets() {
        std::vector<std::uint32_t> open;
        std::uint64_t left = 0;
        std::uint64_t weights = 0;
        for (std::uint32_t i = 0; i != shards_.size(); ++i) {
            left += shards_[i].load;
            if (shards_[i].weight != 0) {
                weights += shards_[i].weight;
                open.push_back(i);
            }
        }
        // Who is due more than fits gets what fits, which leaves more for the others; so again.
        for (bool again = true; again && !open.empty();) {
            const std::uint64_t total = left;
            const std::uint64_t parts = weights;
            const auto full = [&](std::uint32_t i) {
                balanced_shard& shard = shards_[i];
                if (share_of(total, shard.weight, parts).whole < shard.capacity) {
                    return false;
                }
                shard.target = shard.capacity;
                left -= shard.target;
                weights -= shard.weight;
                return true;
            };
            again = std::erase_if(open, full) != 0;
        }
        if (open.empty() && left != 0) {
            throw failure{errc::invalid_options,
                          concat("the shards' capacities are ", left,
                                 " short of the load; raise them, or add a shard")};
        }
        share_out(open, left, weights);
    }

    void share_out(const std::vector<std::uint32_t>& open, std::uint64_t left,
                   std::uint64_t weights) {
        std::vector<std::tuple<bool, std::uint64_t, std::uint32_t>> rounded;
        std::uint64_t rest = left;
        for (const std::uint32_t i : open) {
            const quotient share = share_of(left, shards_[i].weight, weights);
            shards_[i].target = share.whole;
            rest -= share.whole;
            if (share.rest != 0) {
                rounded.emplace_back(shards_[i].load <= share.whole, weights - share.rest, i);
            }
        }
        std::sort(rounded.begin(), rounded.end());
        for (std::uint64_t i = 0; i != rest; ++i) {
            ++shards_[std::get<2>(rounded[i])].target;
        }
    }

    /// Every slot of the shards of weight 0 goes, the greatest first, whatever its load.
    void drain() {
        std::set<std::uint32_t, by_fullness> takers{by_fullness{&shards_}};
        for (std::uint32_t i = 0; i != shards_.size(); ++i) {
            if (shards_[i].weight != 0) {
                takers.insert(i);
            }
        }
        took_.assign(shards_.size(), false);
        for (std::uint32_t from = 0; from != shards_.size(); ++from) {
            while (shards_[from].weight == 0 && !held_[from].empty()) {
                const auto slot = std::prev(held_[from].end());
                const std::uint32_t to = taker_of(*slot, takers);
                takers.erase(to);
                move(slot, from, to);
                took_[to] = true;
                takers.insert(to);
            }
        }
    }

    [[nodiscard]] std::uint32_t taker_of(const weighed_slot& slot,
                                         const std::set<std::uint32_t, by_fullness>& takers) const {
        const auto load = static_cast<std::int64_t>(slot.first);
        const std::uint32_t emptiest = *takers.begin();
        if (shards_[emptiest].excess() + load <= 0) {
            return emptiest;
        }
        // It fits in no part. Whoever is the least full with it takes it.
        auto best = static_cast<std::uint32_t>(shards_.size());
        for (const std::uint32_t i : takers) {
            const balanced_shard& shard = shards_[i];
            if (shard.load + slot.first <= shard.capacity &&
                (best == shards_.size() ||
                 less_full(shard.excess() + load, shard.weight, shards_[best].excess() + load,
                           shards_[best].weight))) {
                best = i;
            }
        }
        if (best == shards_.size()) {
            throw failure{
                errc::invalid_options,
                concat("slot ", slot.second, " with load ", slot.first,
                       " has to leave its shard, and fits in no other; raise a capacity")};
        }
        return best;
    }

    void relieve() {
        std::set<std::uint32_t, by_fullness> givers{by_fullness{&shards_}};
        std::set<std::uint32_t, by_fullness> takers{by_fullness{&shards_}};
        for (std::uint32_t i = 0; i != shards_.size(); ++i) {
            if (shards_[i].weight != 0) {
                const bool gives = shards_[i].excess() > 0 && !took_[i];
                (gives ? givers : takers).insert(i);
            }
        }
        while (!givers.empty() && !takers.empty()) {
            const std::uint32_t from = *std::prev(givers.end());
            const std::uint32_t to = *takers.begin();
            const auto slot = choose(from, to);
            givers.erase(from);
            if (slot == held_[from].end()) {
                continue;  // Nor will it have anything to give later, when the others are fuller.
            }
            takers.erase(to);
            move(slot, from, to);
            takers.insert(to);
            if (shards_[from].excess() > 0) {
                givers.insert(from);
            }
        }
    }

    /// The greatest slot that leaves neither beyond its part; else the smallest that leaves the
    /// taker less full than the giver was; else none.
    [[nodiscard]] std::set<weighed_slot>::iterator choose(std::uint32_t from, std::uint32_t to) {
        const balanced_shard& giver = shards_[from];
        const balanced_shard& taker = shards_[to];
        const std::int64_t room =
            std::max<std::int64_t>(0, std::min(giver.excess(), -taker.excess()));
        const auto after = [&](std::uint64_t load) {
            return held_[from].upper_bound({load, std::numeric_limits<std::uint32_t>::max()});
        };
        const auto beyond = after(static_cast<std::uint64_t>(room));
        if (beyond != held_[from].begin() && std::prev(beyond)->first != 0) {
            return std::prev(beyond);
        }
        const bool helps = beyond != held_[from].end() &&
                           taker.load + beyond->first <= taker.capacity &&
                           less_full(taker.excess() + static_cast<std::int64_t>(beyond->first),
                                     taker.weight, giver.excess(), giver.weight);
        return helps ? std::prev(after(beyond->first)) : held_[from].end();
    }

    void move(std::set<weighed_slot>::iterator slot, std::uint32_t from, std::uint32_t to) {
        moves_.push_back({slot->second, from, to});
        shards_[from].load -= slot->first;
        --shards_[from].slots;
        shards_[to].load += slot->first;
        ++shards_[to].slots;
        held_[from].erase(slot);
    }

    /// Slots of one shard and load are as good as each other: deal them out so that each taker gets
    /// neighbours, which are fewer ranges to read and to copy.
    void gather() {
        std::vector<std::size_t> order(moves_.size());
        std::vector<std::uint32_t> slots;
        for (std::size_t i = 0; i != moves_.size(); ++i) {
            order[i] = i;
            slots.push_back(moves_[i].slot);
        }
        std::vector<std::uint32_t> from_of(loads_.size());
        for (const numbered_move& each : moves_) {
            from_of[each.slot] = each.from;
        }
        std::sort(slots.begin(), slots.end(), [&](std::uint32_t a, std::uint32_t b) {
            return std::tie(from_of[a], loads_[a], a) < std::tie(from_of[b], loads_[b], b);
        });
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const numbered_move& left = moves_[a];
            const numbered_move& right = moves_[b];
            return std::tie(left.from, loads_[left.slot], left.to, a) <
                   std::tie(right.from, loads_[right.slot], right.to, b);
        });
        for (std::size_t i = 0; i != order.size(); ++i) {
            moves_[order[i]].slot = slots[i];
        }
    }

    std::vector<balanced_shard> shards_;
    std::span<const std::uint64_t> loads_;
    std::vector<std::set<weighed_slot>> held_;
    std::vector<bool> took_;
    std::vector<numbered_move> moves_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
