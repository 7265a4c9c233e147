// expect: an item id is text, bytes or an integer; a floating-point number
#include <shardweave/place/routing_table.hpp>

// 0.0 and -0.0 are equal, and have two texts: two places for one item.
int main() {
    const shardweave::routing_table table{shardweave::scheme_table{shardweave::calculated(8)},
                                          shardweave::shard_map::single("db0")};
#ifndef COMPILE_OK
    return static_cast<int>(table.place("key", 0.0).bucket.value());
#else
    return static_cast<int>(table.place("key", 0).bucket.value());
#endif
}
