// SPDX-License-Identifier: BSL-1.0
#include <shardweave/move/plan_text.hpp>

#include <shardweave/move/rebalance.hpp>
#include <shardweave/place/shard_map.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <vector>

using namespace shardweave;

// People compare such texts between two runs and paste them into tickets; a changed column would be
// read as a changed plan. To change it, change it here as well, knowingly.
TEST_CASE("a plan reads the same on every machine", "[plan_text][golden]") {
    const auto map = shard_map::even({"db0", "db1", "db2"}, 1024);
    const auto plan = plan_rebalance(
        map, {{"db0", 1}, {"db1", 0}, {"db2", 1}, {"big one", 2}, {"line\nbreak", 1}});
    CHECK(to_text(plan) ==
          R"(614 of 1024 slots move, 59.96 % of the load; peak/average 1.670 -> 1.001

shard            weight  slots       load
db0              1       341 -> 205  341 -> 205
db1              0       341 -> 0    341 -> 0    drained
db2              1       342 -> 205  342 -> 205
big one          2       0 -> 409    0 -> 409    new
"line\x0abreak"  1       0 -> 205    0 -> 205    new

from -> to              slots  load  which
db0 -> big one          91     91    205-295
db0 -> "line\x0abreak"  45     45    296-340
db1 -> big one          227    227   341-567
db1 -> "line\x0abreak"  114    114   568-681
db2 -> big one          91     91    887-977
db2 -> "line\x0abreak"  46     46    978-1023
)");
}

TEST_CASE("a plan that was cut says so, and a long list of slots is cut", "[plan_text]") {
    std::vector<std::uint32_t> owners(64);
    for (std::uint32_t i = 0; i != 64; ++i) {
        owners[i] = i % 2;
    }
    const shard_map map{{"a", "b"}, owners};
    rebalance_options with;
    with.load.assign(64, 250);
    with.most_moves = 15;
    CHECK(to_text(plan_rebalance(map, {{"a", 0}, {"b"}}, with)) ==
          R"(15 of 64 slots move, 23.44 % of the load; peak/average 0.500 -> 0.734
17 more moves are left for another plan

shard  weight  slots     load
a      0       32 -> 17  8000 -> 4250   drained
b      1       32 -> 47  8000 -> 11750

from -> to  slots  load  which
a -> b      15     3750  0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 3 more
)");
    CHECK(to_text(plan_rebalance(map, {{"a"}, {"b"}})) ==
          R"(0 of 64 slots move, 0.00 % of the load; peak/average 1.000 -> 1.000

shard  weight  slots  load
a      1       32     32
b      1       32     32
)");
}
