// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/shard_groups.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "support/allocated.hpp"
#include "support/failing.hpp"
#include "support/generate.hpp"

using namespace shardweave;
using test_support::code_of;

namespace {

using item = std::pair<std::string, std::string>;

prepared_table two_hot(std::vector<std::string> shards = {"db0", "db1", "db2"}) {
    return prepared_table{routing_table{scheme_table{calculated(1)}
                                            .with("hot-author", calculated(16))
                                            .with("random-author", random(8)),
                                        shard_map::even(std::move(shards), 1024)}};
}

}  // namespace

TEST_CASE("a batch is grouped as its items are routed, each once and in order", "[shard_groups]") {
    INFO(test_support::replay());
    test_support::generator any;
    const prepared_table table = two_hot();
    shard_groups groups;
    for (std::size_t round = 0; round != test_support::scaled(200); ++round) {
        std::vector<item> items;
        for (unsigned i = any.below(300U); i != 0; --i) {
            items.emplace_back(any.chance(20)   ? "hot-author"
                               : any.chance(10) ? "random-author"
                                                : "author-" + std::to_string(any.below(50U)),
                               any.bytes(8));
        }
        groups.assign(table, items);
        CAPTURE(round, items.size());
        REQUIRE(groups.size() == items.size());
        std::vector<unsigned> met(items.size());
        std::uint32_t least_number = 0;
        for (const shard_group& group : groups.groups()) {
            CHECK(group.shard_number >= least_number);
            least_number = group.shard_number + 1;
            CHECK_FALSE(group.items.empty());
            std::size_t least = 0;
            for (const std::uint32_t at : group.items) {
                CHECK(at >= least);
                least = at + std::size_t{1};
                ++met[at];
                const route& to = groups[at];
                CHECK(to.shard_number == group.shard_number);
                const auto& [key, id] = items[at];
                const std::string text = table.placement_of(key, to).partition_key;
                CHECK(table.owner_of(text).slot == to.slot);
                CHECK(table.owner_of(text).shard_number == to.shard_number);
                if (key != "random-author") {
                    CHECK(text == table.table().place(key, id).partition_key);
                }
            }
        }
        CHECK(met == std::vector<unsigned>(items.size(), 1));
    }
}

TEST_CASE("a batch that is refused leaves no groups", "[shard_groups]") {
    const prepared_table table = two_hot();
    shard_groups groups;
    groups.assign(table, std::vector<item>{{"a", "1"}, {"b", "2"}});
    CHECK(groups.size() == 2);
    CHECK(code_of([&] {
              groups.assign(table, std::vector<item>{{"a", "1"}, {"hot-author:bucket-1", "2"}});
          }) == errc::ambiguous_key);
    CHECK(groups.groups().empty());
    CHECK(groups.size() == 0);
    groups.assign(table, std::vector<item>{});
    CHECK(groups.groups().empty());
}

TEST_CASE("views and tuples are grouped without copies", "[shard_groups]") {
    const prepared_table table = two_hot({"db0"});
    const std::vector<std::tuple<std::string_view, int>> items{{"a", 1}, {"hot-author", 2}};
    shard_groups groups;
    groups.assign(table, items);
    REQUIRE(groups.groups().size() == 1);
    CHECK(groups.groups().front().items.size() == 2);
}

TEST_CASE("a batch no larger than one before allocates nothing", "[shard_groups]") {
    const prepared_table table = two_hot();
    std::vector<item> items;
    for (int i = 0; i != 1000; ++i) {
        items.emplace_back(i % 3 == 0 ? "hot-author" : "author-" + std::to_string(i),
                           "post-" + std::to_string(i));
    }
    shard_groups groups;
    groups.assign(table, items);
    const std::size_t before = test_support::allocated_bytes;
    groups.assign(table, items);
    CHECK(test_support::allocated_bytes == before);
}
