// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/growing.md.
#include <shardweave/shardweave.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace sw = shardweave;

namespace {

void copy_rows(const sw::slot_move& /*move*/) {
    // The application's own: read the slot's rows from `from`, write them to `to`.
}

}  // namespace

int main() {
    sw::router router{sw::routing_table{sw::scheme_table{sw::calculated(1)},
                                        sw::shard_map::even({"db0", "db1", "db2"})}};

    // A new database joins, the oldest leaves, and db2 is twice as large as the others.
    const sw::shard_map now = router.pin()->shards();
    const sw::rebalance_plan plan =
        sw::plan_rebalance(now, {{"db0", 0}, {"db1", 1}, {"db2", 2}, {"db3", 1}});
    std::fputs(sw::to_text(plan).c_str(), stdout);

    std::vector<std::uint64_t> measured(now.slots(), 10);
    measured[4'242] = 20'000;
    // What each slot cost yesterday, in any unit; at most 100 moves, the best first.
    const auto relieved =
        sw::plan_rebalance(now, {{"db0"}, {"db1"}, {"db2"}}, {.load = measured, .most_moves = 100});
    std::fputs(sw::to_text(relieved).c_str(), stdout);

    // Slot by slot: copy its rows, then give it its new owner. Every prefix is a valid map.
    for (std::size_t done = 0; done != plan.moves.size(); ++done) {
        copy_rows(plan.moves[done]);
        const auto table = router.pin();
        const auto next = table->with_shards(sw::apply(table->shards(), plan, done + 1));
        if (router.publish(next) != sw::publish_result::published) {
            return 1;  // another owner was first: plan again, from the map that is current now
        }
    }
    return router.pin()->shards() == sw::apply(now, plan) ? 0 : 1;
}
