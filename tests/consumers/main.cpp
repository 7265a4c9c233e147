#include <shardweave/shardweave.hpp>

#include <cstdio>

namespace sw = shardweave;

// In the other translation unit: the two must link, and agree.
sw::placement elsewhere(const char* key, const char* id);

int main() {
    const sw::routing_table table{sw::scheme_table{sw::calculated(8)},
                                  sw::shard_map::even({"db0", "db1"})};
    const sw::placement here = table.place("author-1", "post-981");
    std::printf("%s on %s\n", here.partition_key.str().c_str(), here.shard.c_str());
    const sw::placement there = elsewhere("author-1", "post-981");
    return here.partition_key == there.partition_key && here.shard == there.shard ? 0 : 1;
}
