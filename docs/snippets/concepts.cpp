// SPDX-License-Identifier: BSL-1.0
// Holds the figures of docs/concepts.md and of the README's picture.
#include <shardweave/shardweave.hpp>

#include <cstdio>
#include <map>
#include <string>

namespace sw = shardweave;

int main() {
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(8)),
                          sw::shard_map::even({"db0", "db1", "db2", "db3"})}};
    const auto at = router.place("author-1", "post-981");
    std::printf("%s, slot %u, %s\n", at.partition_key.str().c_str(), at.slot.value(),
                at.shard.c_str());
    bool fine = at.partition_key == "author-1:bucket-2" && at.slot == sw::slot_index{9068} &&
                at.shard == "db2";

    std::map<std::string, std::string> buckets;
    for (const sw::target& each : router.targets("author-1")) {
        buckets[each.shard] += " " + std::to_string(each.bucket.value());
    }
    for (const auto& [shard, numbers] : buckets) {
        std::printf("%s:%s\n", shard.c_str(), numbers.c_str());
    }
    fine = fine && buckets["db0"] == " 1 3 4" && buckets["db1"] == " 5 6" &&
           buckets["db2"] == " 2 7" && buckets["db3"] == " 0";
    return fine ? 0 : 1;
}
