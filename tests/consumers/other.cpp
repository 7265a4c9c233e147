#include <shardweave/shardweave.hpp>

namespace sw = shardweave;

sw::placement elsewhere(const char* key, const char* id) {
    const sw::routing_table table{sw::scheme_table{sw::calculated(8)},
                                  sw::shard_map::even({"db0", "db1"})};
    return table.place(key, id);
}
