// SPDX-License-Identifier: BSL-1.0
#include <shardweave/move/rebalance.hpp>

#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"

using namespace shardweave;
using test_support::code_of;
using test_support::error_of;

namespace {

static_assert(detail::share_of(7, 3, 10).whole == 2 && detail::share_of(7, 3, 10).rest == 1);
static_assert(detail::share_of(~std::uint64_t{0}, 0xffffffffU, 0xffffffffU).whole ==
              ~std::uint64_t{0});
static_assert(detail::less_full(-7, 3, -2, 1) && !detail::less_full(-2, 1, -7, 3));
static_assert(!detail::less_full(2, 4, 1, 2) && detail::less_full(-1, 2, 0, 1));

std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> made;
    for (std::size_t i = 0; i != count; ++i) {
        made.push_back("db" + std::to_string(i));
    }
    return made;
}

std::vector<shard_target> equal_targets(std::size_t count) {
    std::vector<shard_target> made;
    for (std::string& name : names(count)) {
        made.push_back({std::move(name)});
    }
    return made;
}

std::vector<std::size_t> sizes(const shard_map& map) {
    std::vector<std::size_t> counted(map.names().size());
    for (const std::uint32_t owner : map.owners()) {
        ++counted[owner];
    }
    return counted;
}

/// A map whose shards own any slots, some of them many more than others.
shard_map any_map(test_support::generator& any, std::size_t shards, std::uint32_t slots) {
    std::vector<std::uint32_t> owners;
    for (std::uint32_t i = 0; i != slots; ++i) {
        owners.push_back(
            static_cast<std::uint32_t>(any.below(any.between(std::size_t{1}, shards))));
    }
    return {names(shards), std::move(owners)};
}

/// Targets for the map's shards and up to two new ones; not all of them drained.
std::vector<shard_target> any_targets(test_support::generator& any, std::size_t shards) {
    auto targets = equal_targets(shards + any.below(std::size_t{3}));
    for (shard_target& each : targets) {
        each.weight = any.chance(50) ? 1 : any.chance(30) ? 0 : any.between(1U, 9U);
    }
    targets[any.below(targets.size())].weight = any.between(1U, 3U);
    return targets;
}

/// What no plan can undercut when each shard is to own its exact part rounded down or up: every
/// choice of who is rounded up is tried.
std::size_t fewest_moves(const std::vector<std::size_t>& owned,
                         const std::vector<shard_target>& targets, std::size_t slots) {
    std::size_t weights = 0;
    for (const shard_target& each : targets) {
        weights += each.weight;
    }
    std::size_t best = slots + 1;
    for (std::size_t up = 0; up != std::size_t{1} << targets.size(); ++up) {
        std::size_t sum = 0;
        std::size_t moves = 0;
        bool valid = true;
        for (std::size_t i = 0; i != targets.size(); ++i) {
            const std::size_t product = slots * targets[i].weight;
            const bool rounded_up = ((up >> i) & 1U) != 0;
            valid = valid && (!rounded_up || product % weights != 0);
            const std::size_t part = product / weights + (rounded_up ? 1 : 0);
            const std::size_t has = i < owned.size() ? owned[i] : 0;
            moves += has > part ? has - part : 0;
            sum += part;
        }
        if (valid && sum == slots) {
            best = std::min(best, moves);
        }
    }
    return best;
}

/// How many of the first million posts each shard has.
std::vector<std::size_t> keys_by_shard(const shard_map& map) {
    std::vector<std::size_t> counted(map.names().size());
    for (int i = 0; i != 1'000'000; ++i) {
        ++counted[map.owner_number(map.slot_of("post-" + std::to_string(i)))];
    }
    return counted;
}

std::size_t keys_that_move(const shard_map& before, const shard_map& after) {
    std::size_t moved = 0;
    for (int i = 0; i != 1'000'000; ++i) {
        const slot_index slot = before.slot_of("post-" + std::to_string(i));
        moved += before.owner(slot) != after.owner(slot) ? 1U : 0U;
    }
    return moved;
}

}  // namespace

TEST_CASE("a plan has exactly the fewest moves, and ends at each shard's part to within one",
          "[rebalance]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(3'000); ++round) {
        const std::size_t shards = any.between(std::size_t{1}, std::size_t{7});
        const std::uint32_t slots = 1U << any.between(3U, 8U);
        const shard_map map = any_map(any, shards, slots);
        const auto targets = any_targets(any, shards);
        const auto plan = plan_rebalance(map, targets);
        CAPTURE(round, shards, slots);
        REQUIRE(plan.moves.size() == fewest_moves(sizes(map), targets, slots));
        const shard_map after = apply(map, plan);
        std::size_t weights = 0;
        for (const shard_target& each : targets) {
            weights += each.weight;
        }
        const auto owned = sizes(after);
        for (std::size_t i = 0; i != targets.size(); ++i) {
            const std::size_t product = std::size_t{slots} * targets[i].weight;
            REQUIRE(owned[i] >= product / weights);
            REQUIRE(owned[i] <= (product + weights - 1) / weights);
            REQUIRE(plan.shards[i].slots_after == owned[i]);
        }
        // From there, there is nothing to do.
        REQUIRE(plan_rebalance(after, targets).moves.empty());
        REQUIRE(plan_rebalance(map, targets) == plan);
    }
}

TEST_CASE("on every prefix of a plan no shard carries more than before or after it",
          "[rebalance]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(300); ++round) {
        const std::size_t shards = any.between(std::size_t{1}, std::size_t{9});
        const std::uint32_t slots = 1U << any.between(3U, 6U);
        const shard_map map = any_map(any, shards, slots);
        const auto targets = any_targets(any, shards);
        rebalance_options with;
        if (any.chance(70)) {
            for (std::uint32_t i = 0; i != slots; ++i) {
                with.load.push_back(any.chance(30) ? 0 : any.magnitude() >> any.between(10U, 60U));
            }
        }
        with.most_moves = any.chance(70) ? slots : any.below(std::size_t{slots});
        const auto plan = plan_rebalance(map, targets, with);
        CAPTURE(round, shards, slots, with.load.size(), plan.moves.size());
        REQUIRE(plan.moves.size() <= with.most_moves);

        for (std::size_t count = 0; count <= plan.moves.size(); ++count) {
            const shard_map at = apply(map, plan, count);  // a shard_map is valid, or throws
            std::vector<std::uint64_t> loads(at.names().size());
            for (std::uint32_t slot = 0; slot != slots; ++slot) {
                loads[at.owners()[slot]] += with.load.empty() ? 1 : with.load[slot];
            }
            for (std::size_t i = 0; i != loads.size(); ++i) {
                const shard_change& change = plan.shards[i];
                REQUIRE(at.names()[i] == change.shard);
                REQUIRE(loads[i] <= std::max(change.load_before, change.load_after));
                REQUIRE((count != plan.moves.size() || loads[i] == change.load_after));
            }
        }
        // Weighing by the targets' weights, the peak does not rise, but for what draining forces.
        const bool drains = std::any_of(plan.shards.begin(), plan.shards.end(), [](const auto& s) {
            return s.weight == 0 && s.slots_before != 0;
        });
        REQUIRE((drains || plan.peak_after() <= plan.peak_before()));
        for (const shard_change& each : plan.shards) {
            REQUIRE((each.weight != 0 || plan.left_out != 0 || each.slots_after == 0));
        }
    }
}

// Taking 100 at first and giving 90 away again would have been the evener plan; halfway, the shard
// would have carried what it never did before and never will.
TEST_CASE("a shard that takes a drained slot gives none away", "[rebalance]") {
    std::vector<std::uint32_t> owners(16, 1);
    owners[0] = 0;
    owners[1] = 2;
    rebalance_options with;
    with.load.assign(16, 30);
    with.load[0] = 100;
    with.load[1] = 0;
    const auto plan = plan_rebalance(shard_map{{"old", "large", "b"}, owners},
                                     {{"old", 0}, {"large", 8}, {"b", 1}, {"c", 1}}, with);
    REQUIRE(plan.moves.size() == 1);
    CHECK(plan.moves[0] == slot_move{slot_index{0}, "old", "large", 100});
}

TEST_CASE("the eleventh shard of ten takes an eleventh of the keys, and no other key moves",
          "[rebalance]") {
    const shard_map before = shard_map::even(names(10));
    const auto plan = plan_rebalance(before, equal_targets(11));
    CHECK(plan.moves.size() == 16'384 / 11);
    const shard_map after = apply(before, plan);
    CHECK(sizes(after).back() == 16'384 / 11);
    const std::size_t moved = keys_that_move(before, after);
    CAPTURE(moved);
    CHECK(moved >= 90'600);
    CHECK(moved <= 90'900);
}

TEST_CASE("draining one shard of ten moves its keys and no others", "[rebalance]") {
    const shard_map before = shard_map::even(names(10));
    auto targets = equal_targets(10);
    targets[5].weight = 0;
    const auto plan = plan_rebalance(before, targets);
    CHECK(plan.moves.size() == sizes(before)[5]);
    const shard_map after = apply(before, plan);
    CHECK(sizes(after)[5] == 0);
    const std::size_t moved = keys_that_move(before, after);
    CHECK(moved == keys_by_shard(before)[5]);
    CAPTURE(moved);
    CHECK(moved >= 99'700);
    CHECK(moved <= 100'300);
}

TEST_CASE("a hundred shards that grew from ten carry at most 3 % more than the average",
          "[rebalance]") {
    shard_map map = shard_map::even(names(10));
    std::size_t moves = 0;
    for (std::size_t shards = 11; shards <= 100; ++shards) {
        const auto plan = plan_rebalance(map, equal_targets(shards));
        moves += plan.moves.size();
        map = apply(map, plan);
    }
    const auto owned = sizes(map);
    CHECK(*std::max_element(owned.begin(), owned.end()) == 164);
    const auto keys = keys_by_shard(map);
    const std::size_t peak = *std::max_element(keys.begin(), keys.end());
    CAPTURE(moves, peak);
    CHECK(peak <= 10'300);
}

TEST_CASE("weights are parts of the whole, and a new weight moves only what it must",
          "[rebalance]") {
    const shard_map before = shard_map::even({"a", "b"}, 16);
    const auto plan = plan_rebalance(before, {{"a", 1}, {"b", 3}});
    CHECK(plan.moves.size() == 4);
    CHECK(sizes(apply(before, plan)) == std::vector<std::size_t>{4, 12});
    // The greatest weights and slots do not overflow.
    const shard_map wide = shard_map::even(names(3), limits::slots);
    const auto even =
        plan_rebalance(wide, {{"db0", 0xffffffffU}, {"db1", 0xffffffffU}, {"db2", 0xffffffffU}});
    CHECK(even.moves.empty());
}

TEST_CASE("a capacity is never exceeded, and what does not fit goes to the others", "[rebalance]") {
    const shard_map before = shard_map::even({"a", "b", "c"}, 64);
    const auto plan = plan_rebalance(before, {{"a", 1, 10}, {"b", 1}, {"c", 1}, {"new", 5, 20}});
    CHECK(sizes(apply(before, plan)) == std::vector<std::size_t>{10, 17, 17, 20});

    const auto full =
        error_of([&] { (void)plan_rebalance(before, {{"a", 1, 10}, {"b", 1, 20}, {"c", 1, 30}}); });
    CHECK(full.code == errc::invalid_options);
    CHECK(full.detail ==
          "the shards' capacities are 4 short of the load; raise them, or add a shard");

    // One slot of 70 has to leave a shard, and no other has room for all of it.
    const auto stuck = error_of([&] {
        (void)plan_rebalance(shard_map{{"old", "a", "b"}, {0, 1, 2, 1}},
                             {{"old", 0}, {"a", 1, 60}, {"b", 1, 60}}, {.load = {70, 1, 1, 1}});
    });
    CHECK(stuck.code == errc::invalid_options);
    CHECK(stuck.detail == "slot 0 with load 70 has to leave its shard, and fits in no other; "
                          "raise a capacity");
}

TEST_CASE("a slot that dominates stays where it is, and the others leave it", "[rebalance]") {
    const shard_map before = shard_map::even({"a", "b", "c", "d"}, 16);
    rebalance_options with;
    with.load.assign(16, 10);
    with.load[2] = 1'000;
    const auto plan = plan_rebalance(before, {{"a"}, {"b"}, {"c"}, {"d"}}, with);
    for (const slot_move& each : plan.moves) {
        CHECK(each.slot != slot_index{2});
        CHECK(each.from == "a");
    }
    CHECK(plan.shards[0].slots_after == 1);
    CHECK(plan.shards[0].load_after == 1'000);
    for (std::size_t i = 1; i != 4; ++i) {
        CHECK(plan.shards[i].load_after == 50);
    }
}

TEST_CASE("measured loads come out nearly even, with few moves", "[rebalance]") {
    INFO(test_support::replay());
    test_support::generator any;
    const shard_map before = shard_map::even(names(10), 4'096);
    rebalance_options with;
    for (std::uint32_t i = 0; i != before.slots(); ++i) {
        with.load.push_back(any.below(1'000U) + (i < 400 ? 1'000U : 0U));
    }
    const auto plan = plan_rebalance(before, equal_targets(10), with);
    CAPTURE(plan.moves.size(), plan.peak_before());
    CHECK(plan.peak_before() > 2.3);
    CHECK(plan.peak_after() < 1.001);
    CHECK(plan.moves.size() < 300);

    // The best moves come first: a third of them brings more than a third.
    with.most_moves = plan.moves.size() / 3;
    const auto third = plan_rebalance(before, equal_targets(10), with);
    CHECK(third.moves.size() == with.most_moves);
    CHECK(third.left_out == plan.moves.size() - with.most_moves);
    CHECK(third.peak_after() - 1 < (plan.peak_before() - 1) * 2 / 3);
    CHECK(std::equal(third.moves.begin(), third.moves.end(), plan.moves.begin()));
}

TEST_CASE("idle slots leave a drained shard too, and are spread", "[rebalance]") {
    const shard_map before = shard_map::even({"old", "a", "b", "c"}, 16);
    rebalance_options with;
    with.load.assign(16, 0);
    const auto plan =
        plan_rebalance(before, {{"old", 0}, {"a", 1}, {"b", 1}, {"c", 1}}, std::move(with));
    CHECK(plan.peak_before() == 0);
    CHECK(sizes(apply(before, plan)) == std::vector<std::size_t>{0, 6, 5, 5});
}

TEST_CASE("slots that go one way are neighbours", "[rebalance]") {
    const shard_map before = shard_map::even(names(4));
    auto targets = equal_targets(4);
    targets[1].weight = 0;
    std::size_t breaks = 0;
    const auto plan = plan_rebalance(before, targets);
    std::vector<std::string> to(before.slots());
    for (const slot_move& each : plan.moves) {
        to[each.slot.value()] = each.to;
    }
    for (std::size_t i = 1; i != to.size(); ++i) {
        breaks += to[i] != to[i - 1] ? 1U : 0U;
    }
    CHECK(breaks == 4);
}

TEST_CASE("a plan goes on from where it was left", "[rebalance]") {
    const shard_map before = shard_map::even({"a", "b"}, 16);
    const auto plan = plan_rebalance(before, {{"a"}, {"b"}, {"c"}});
    REQUIRE(plan.added == std::vector<std::string>{"c"});
    // The new shard is there before it owns anything, so that it can be copied to.
    CHECK(apply(before, plan, 0) == before.with_shard("c"));
    shard_map current = before;
    for (std::size_t count = 0; count <= plan.moves.size(); ++count) {
        current = apply(current, plan, count);
        CHECK(current == apply(before, plan, count));
    }
    CHECK(current == apply(current, plan));

    const auto other = error_of([&] {
        (void)apply(before.with_owner(plan.moves[0].slot, plan.moves[0].from == "a" ? "b" : "a"),
                    plan);
    });
    CHECK(other.code == errc::invalid_options);
    CHECK(other.detail.find("make a plan for the map as it is now") != std::string::npos);
    CHECK(code_of([&] { (void)apply(shard_map::even({"a", "b"}, 2), plan); }) ==
          errc::invalid_options);
    auto unknown = plan;
    unknown.added.clear();
    CHECK(code_of([&] { (void)apply(before, unknown); }) == errc::unknown_shard);
}

TEST_CASE("targets that make no sense are refused, and the error says what to write",
          "[rebalance]") {
    const shard_map map = shard_map::even({"a", "b"}, 16);
    const auto detail_of = [&](const std::vector<shard_target>& targets,
                               std::vector<std::uint64_t> load = {}) {
        const auto error =
            error_of([&] { (void)plan_rebalance(map, targets, {.load = std::move(load)}); });
        CHECK(error.code == errc::invalid_options);
        return error.detail;
    };
    CHECK(detail_of({{"a"}}) ==
          "no target for the shard \"b\"; give it a weight, or 0 to drain it");
    CHECK(detail_of({{"a"}, {"b"}, {"a"}}) == "two targets for the shard \"a\"; give it one");
    CHECK(detail_of({{"a", 0}, {"b", 0}}) ==
          "no target with a weight above 0; some shard has to take the slots");
    CHECK(detail_of({{"a"}, {"b"}}, {1, 2, 3}) ==
          "the load of 3 slots for a map of 16; give one number a slot, or none");
    CHECK(detail_of({{"a"}, {"b"}}, std::vector<std::uint64_t>(16, ~std::uint64_t{0} / 8)) ==
          "the loads add up to 2^63 or more; measure in a larger unit");
    CHECK(code_of([&] { (void)plan_rebalance(map, {{"a"}, {"b"}, {""}}); }) == errc::invalid_map);
}
