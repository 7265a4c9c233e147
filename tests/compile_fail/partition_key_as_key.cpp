// expect: no matching (member )?function .* 'place'|no matching function for call to '[^']*place\(
#include <shardweave/place/routing_table.hpp>

// A partition key that is split again is written where nobody reads.
int main() {
    const shardweave::routing_table table{shardweave::scheme_table{shardweave::calculated(8)},
                                          shardweave::shard_map::single("db0")};
    const auto at = table.place("key", 1);
#ifndef COMPILE_OK
    return static_cast<int>(table.place(at.partition_key, 1).bucket.value());
#else
    return static_cast<int>(table.place("other", 1).bucket.value());
#endif
}
