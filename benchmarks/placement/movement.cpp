// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/hash.hpp>
#include <shardweave/move/rebalance.hpp>
#include <shardweave/place/shard_map.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../peers.hpp"
#include "../ratio.hpp"
#include "placement.hpp"

namespace sw = shardweave;

namespace placement_benchmark {
namespace {

/// From a key's hash to the number of its shard.
using placed = std::function<std::uint32_t(std::uint64_t)>;

constexpr std::uint32_t drained = 4;

/// What a way of placing does when shards come and go.
struct technique {
    std::string name;
    placed of_10;
    placed of_11;
    /// The ten without `drained`.
    placed of_10_less_one;
    placed of_100;
    placed of_101;
};

placed by_map(sw::shard_map map) {
    return [map = std::move(map)](std::uint64_t hash) {
        return map.owner_number(
            sw::slot_index{static_cast<std::uint32_t>(hash) & (map.slots() - 1)});
    };
}

std::vector<sw::shard_target> equal_targets(std::size_t count) {
    std::vector<sw::shard_target> targets;
    for (std::string& name : shard_names(count)) {
        targets.push_back({.shard = std::move(name)});
    }
    return targets;
}

/// Slots planned to move; `fewest` is what any plan must move.
void print_plan(const char* what, std::size_t moves, std::size_t fewest) {
    fmt::print("  {:<54} {:>8} slots of {}  exactly {}: {}\n", what, moves,
               sw::shard_map::standard_slots, fewest, moves == fewest ? "met" : "NOT MET");
}

technique slots() {
    const auto ten = sw::shard_map::even(shard_names(10));
    const auto hundred = sw::shard_map::even(shard_names(100));
    auto without = equal_targets(10);
    without[drained].weight = 0;
    const auto grow = sw::plan_rebalance(ten, equal_targets(11));
    const auto drain = sw::plan_rebalance(ten, without);
    if (bench::how == bench::mode::text) {
        const auto leaving =
            static_cast<std::size_t>(std::count(ten.owners().begin(), ten.owners().end(), drained));
        print_plan("the plan from 10 shards to 11", grow.moves.size(),
                   sw::shard_map::standard_slots / 11);
        print_plan("the plan that drains one of ten", drain.moves.size(), leaving);
    }
    return {"slots and plan_rebalance",
            by_map(ten),
            by_map(sw::apply(ten, grow)),
            by_map(sw::apply(ten, drain)),
            by_map(hundred),
            by_map(sw::apply(hundred, sw::plan_rebalance(hundred, equal_targets(101))))};
}

/// For a way that only knows a number of shards: the last one takes the drained one's number.
placed renumbered(const std::function<std::uint32_t(std::uint64_t, std::uint32_t)>& place) {
    return [place](std::uint64_t hash) {
        const std::uint32_t shard = place(hash, 9);
        return shard == drained ? 9 : shard;
    };
}

technique by_count(std::string name,
                   const std::function<std::uint32_t(std::uint64_t, std::uint32_t)>& place) {
    const auto of = [&place](std::uint32_t shards) {
        return [place, shards](std::uint64_t hash) { return place(hash, shards); };
    };
    return {std::move(name), of(10), of(11), renumbered(place), of(100), of(101)};
}

template <class Peer>
technique by_shards(std::string name) {
    const auto of = [](const std::vector<std::uint32_t>& shards) {
        return [peer = Peer{shards}](std::uint64_t hash) { return peer.shard(hash); };
    };
    auto without = bench::first_shards(10);
    without.erase(without.begin() + drained);
    return {std::move(name), of(bench::first_shards(10)),  of(bench::first_shards(11)),
            of(without),     of(bench::first_shards(100)), of(bench::first_shards(101))};
}

double moved(const std::vector<std::uint64_t>& hashes, const placed& before, const placed& after) {
    const auto count = std::count_if(hashes.begin(), hashes.end(), [&](std::uint64_t hash) {
        return before(hash) != after(hash);
    });
    return 100 * static_cast<double>(count) / static_cast<double>(hashes.size());
}

double peak(const std::vector<std::uint64_t>& hashes, const placed& place, std::size_t shards) {
    std::vector<std::size_t> counts(shards);
    for (const std::uint64_t hash : hashes) {
        ++counts[place(hash)];
    }
    return static_cast<double>(*std::max_element(counts.begin(), counts.end())) *
           static_cast<double>(shards) / static_cast<double>(hashes.size());
}

}  // namespace

void movement() {
    if (bench::how == bench::mode::counted) {
        return;
    }
    const bool lines = bench::how == bench::mode::lines;
    const std::string title = "movement of 1,000,000 keys, when shards come and go";
    if (!lines) {
        fmt::print("{}\n", title);
    }
    std::vector<std::uint64_t> hashes;
    for (const std::string& key : keys_of(24, 1'000'000)) {
        hashes.push_back(sw::stable_hash64(key));
    }
    const std::vector<technique> techniques{
        slots(), by_count("peer: jump hash", bench::jump_hash),
        by_shards<bench::ring>("peer: ring of 160 points"),
        by_shards<bench::maglev>("peer: maglev table of 65,537"),
        by_count("peer: hash % n", [](std::uint64_t hash, std::uint32_t shards) {
            return static_cast<std::uint32_t>(hash % shards);
        })};
    for (const technique& each : techniques) {
        const double grown = moved(hashes, each.of_10, each.of_11);
        const double left = moved(hashes, each.of_10, each.of_10_less_one);
        const double peak_100 = peak(hashes, each.of_100, 100);
        const double peak_101 = peak(hashes, each.of_101, 101);
        if (lines) {
            fmt::print("{}\t{}\t{:.2f}\t{:.2f}\t{:.3f}\t{:.3f}\n", title, each.name, grown, left,
                       peak_100, peak_101);
        } else {
            fmt::print("  {:<32} 10 to 11: {:>6.2f} %  one of ten drained: {:>6.2f} %  peak over "
                       "average at 100: {:.3f}, at 101: {:.3f}\n",
                       each.name, grown, left, peak_100, peak_101);
        }
    }
    fmt::print("{}", lines ? "" : "\n");
}

}  // namespace placement_benchmark
