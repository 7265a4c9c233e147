// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_MOVE_REBALANCE_HPP
#define SHARDWEAVE_MOVE_REBALANCE_HPP

/// From one shard map to a better one: which slots change owner, in which order, and what it
/// brings.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/move/detail/planner.hpp>
#include <shardweave/place/shard_map.hpp>

#include <algorithm>
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

/// What a shard should carry in the end.
struct shard_target {
    std::string shard;
    /// Its part of the load, relative to the others'. 0 drains it: every slot of it leaves.
    std::uint32_t weight = 1;
    /// No move takes its load (its slots, when no load is given) above this.
    std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();
};

struct rebalance_options {
    /// What was measured for each slot, slot 0 first, in any unit, together below 2^63.
    /// Empty: every slot counts 1.
    std::vector<std::uint64_t> load{};
    /// The plan stops after so many moves. The best come first.
    std::size_t most_moves = std::numeric_limits<std::size_t>::max();
};

/// One slot that changes owner.
struct slot_move {
    slot_index slot;
    std::string from;
    std::string to;
    /// 1 when none was given.
    std::uint64_t load = 1;
    friend bool operator==(const slot_move&, const slot_move&) noexcept = default;
};

/// What a plan does to one shard.
struct shard_change {
    std::string shard;
    std::uint32_t weight = 0;
    std::size_t slots_before = 0;
    std::size_t slots_after = 0;
    std::uint64_t load_before = 0;
    std::uint64_t load_after = 0;
    friend bool operator==(const shard_change&, const shard_change&) noexcept = default;
};

/// A value: the moves in the order in which to make them. Every prefix of them leads to a valid
/// map, on which no shard carries more than it did before the plan or will after it: each shard
/// only gives or only takes.
struct rebalance_plan {
    std::vector<slot_move> moves;
    /// The shards that the map did not have.
    std::vector<std::string> added;
    /// All shards: the map's, in its order, then the added ones.
    std::vector<shard_change> shards;
    /// Moves that `most_moves` cut off.
    std::size_t left_out = 0;

    /// The load of the fullest shard over what is due to it by its weight, before the first move.
    /// Shards that are drained do not count. 0 when there is no load.
    [[nodiscard]] double peak_before() const noexcept { return peak(&shard_change::load_before); }
    /// The same after the last one. 1 is perfect.
    [[nodiscard]] double peak_after() const noexcept { return peak(&shard_change::load_after); }

    friend bool operator==(const rebalance_plan&, const rebalance_plan&) noexcept = default;

private:
    [[nodiscard]] double peak(std::uint64_t shard_change::* load) const noexcept {
        double total = 0;
        double weights = 0;
        double fullest = 0;
        for (const shard_change& each : shards) {
            total += static_cast<double>(each.*load);
            weights += each.weight;
            if (each.weight != 0) {
                fullest = std::max(fullest, static_cast<double>(each.*load) / each.weight);
            }
        }
        return total == 0 ? 0 : fullest * weights / total;
    }
};

namespace detail {

[[noreturn]] inline void refuse_plan(std::string why) {
    throw failure{errc::invalid_options, std::move(why)};
}

/// The map's shards with what they should carry, then the targets' new ones.
inline std::vector<std::pair<std::string, balanced_shard>>
shards_of(const shard_map& map, const std::vector<shard_target>& targets) {
    std::map<std::string_view, const shard_target*> by_name;
    std::uint64_t weights = 0;
    for (const shard_target& each : targets) {
        weights += each.weight;
        if (!by_name.emplace(each.shard, &each).second) {
            refuse_plan(
                concat("two targets for the shard ", detail::quoted(each.shard), "; give it one"));
        }
    }
    if (weights == 0) {
        refuse_plan("no target with a weight above 0; some shard has to take the slots");
    }
    std::vector<std::pair<std::string, balanced_shard>> shards;
    for (const std::string& name : map.names()) {
        const auto at = by_name.find(name);
        if (at == by_name.end()) {
            refuse_plan(concat("no target for the shard ", detail::quoted(name),
                               "; give it a weight, or 0 to drain it"));
        }
        shards.push_back({name, {at->second->weight, at->second->capacity}});
        by_name.erase(at);
    }
    for (const shard_target& each : targets) {
        if (by_name.contains(each.shard)) {
            shards.push_back({each.shard, {each.weight, each.capacity}});
        }
    }
    return shards;
}

inline std::vector<std::uint64_t> loads_of(const shard_map& map, std::vector<std::uint64_t> loads) {
    if (loads.empty()) {
        loads.assign(map.slots(), 1);
    }
    if (loads.size() != map.slots()) {
        refuse_plan(concat("the load of ", loads.size(), " slots for a map of ", map.slots(),
                           "; give one number a slot, or none"));
    }
    constexpr std::uint64_t most = std::uint64_t{1} << 63U;
    std::uint64_t total = 0;
    for (const std::uint64_t load : loads) {
        if (load >= most - total) {
            refuse_plan("the loads add up to 2^63 or more; measure in a larger unit");
        }
        total += load;
    }
    return loads;
}

}  // namespace detail

/// The moves that bring each shard to its part by weight, within its capacity.
///
/// When every slot counts 1, each shard ends at its part rounded down or up, and no plan with this
/// outcome has fewer moves. With measured loads the plan is greedy: it moves the greatest slots
/// that fit, and leaves alone what would not get better. The same arguments always give the same
/// plan.
///
/// Every shard of the map needs a target; targets that the map does not have are new shards.
/// Throws `errc::invalid_options` for targets or loads that make no sense, or capacities that do
/// not suffice; and what `shard_map` throws for a bad name. O((slots + shards) log slots).
[[nodiscard]] inline rebalance_plan plan_rebalance(const shard_map& map,
                                                   const std::vector<shard_target>& targets,
                                                   rebalance_options with = {}) {
    const auto shards = detail::shards_of(map, targets);
    const auto loads = detail::loads_of(map, std::move(with.load));
    rebalance_plan plan;
    std::vector<detail::balanced_shard> balanced;
    std::vector<std::string> names;
    for (const auto& [name, shard] : shards) {
        plan.shards.push_back({name, shard.weight});
        balanced.push_back(shard);
        names.push_back(name);
        if (names.size() > map.names().size()) {
            plan.added.push_back(name);
        }
    }
    // Checks the names and their number.
    const shard_map wide{std::move(names), map.owners()};
    for (std::uint32_t slot = 0; slot != map.slots(); ++slot) {
        shard_change& owner = plan.shards[map.owners()[slot]];
        ++owner.slots_before;
        owner.load_before += loads[slot];
    }
    for (shard_change& each : plan.shards) {
        each.slots_after = each.slots_before;
        each.load_after = each.load_before;
    }
    const auto moves = detail::planner{std::move(balanced), map.owners(), loads}.plan();
    for (const auto& [slot, from, to] : moves) {
        if (plan.moves.size() == with.most_moves) {
            plan.left_out = moves.size() - plan.moves.size();
            break;
        }
        plan.moves.push_back({slot_index{slot}, wide.names()[from], wide.names()[to], loads[slot]});
        --plan.shards[from].slots_after;
        plan.shards[from].load_after -= loads[slot];
        ++plan.shards[to].slots_after;
        plan.shards[to].load_after += loads[slot];
    }
    return plan;
}

/// The map after the plan's first `count` moves (all, when there are fewer), with its new shards.
///
/// Moves that the map has behind it already are fine, so `apply(current, plan, n + 1)` goes on from
/// where `n` moves led. Throws `errc::invalid_options` for a slot that belongs to another shard
/// than the plan thinks: it was made for another map.
[[nodiscard]] inline shard_map apply(const shard_map& map, const rebalance_plan& plan,
                                     std::size_t count = std::numeric_limits<std::size_t>::max()) {
    std::vector<std::string> names = map.names();
    for (const std::string& name : plan.added) {
        if (std::find(map.names().begin(), map.names().end(), name) == map.names().end()) {
            names.push_back(name);
        }
    }
    std::map<std::string_view, std::uint32_t> numbers;
    for (const std::string& name : names) {
        numbers.emplace(name, static_cast<std::uint32_t>(numbers.size()));
    }
    std::vector<std::uint32_t> owners = map.owners();
    for (std::size_t i = 0; i != std::min(count, plan.moves.size()); ++i) {
        const slot_move& each = plan.moves[i];
        const auto to = numbers.find(each.to);
        if (to == numbers.end()) {
            throw failure{errc::unknown_shard,
                          detail::concat("the plan moves slot ", each.slot.value(),
                                         " to the shard ", detail::quoted(each.to),
                                         ", which neither it nor the map has; add it to both")};
        }
        if (each.slot.value() >= owners.size()) {
            detail::refuse_plan(detail::concat("the plan moves slot ", each.slot.value(),
                                               " of a map of ", owners.size(),
                                               " slots; make a plan for this map"));
        }
        std::uint32_t& owner = owners[each.slot.value()];
        if (names[owner] != each.from && owner != to->second) {
            detail::refuse_plan(detail::concat(
                "slot ", each.slot.value(), " belongs to ", detail::quoted(names[owner]),
                ", and the plan moves it from ", detail::quoted(each.from),
                "; make a plan for the map as it is now"));
        }
        owner = to->second;
    }
    return {std::move(names), std::move(owners)};
}

}  // namespace v1
}  // namespace shardweave

#endif
