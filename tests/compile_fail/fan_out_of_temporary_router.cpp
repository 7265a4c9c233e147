// expect: use of deleted function|call to deleted
#include <shardweave/read/fan_out.hpp>

#include <functional>

namespace sw = shardweave;

const auto order = sw::oldest_first<int>(sw::unique(std::identity{}));

sw::shard_page<int> ask(const sw::shard_query<decltype(order)::position_type>&) { return {}; }

sw::routing_table table() {
    return {sw::scheme_table{sw::calculated(1)}, sw::shard_map::single("db0")};
}

// The fan-out asks the router for the table at each read.
int main() {
#ifndef COMPILE_OK
    const sw::fan_out reader{sw::router{table()}, order, ask};
#else
    const sw::router router{table()};
    const sw::fan_out reader{router, order, ask};
#endif
    return reader.page("key").items.empty() ? 0 : 1;
}
