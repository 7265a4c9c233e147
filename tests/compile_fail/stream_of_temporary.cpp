// expect: use of deleted function|call to deleted
#include <shardweave/read/fan_out.hpp>

#include <functional>

namespace sw = shardweave;

const auto order = sw::oldest_first<int>(sw::unique(std::identity{}));

sw::shard_page<int> ask(const sw::shard_query<decltype(order)::position_type>&) { return {}; }

sw::routing_table table() {
    return {sw::scheme_table{sw::calculated(1)}, sw::shard_map::single("db0")};
}

// The stream reads through the fan-out for as long as it goes.
int main() {
    const sw::router router{table()};
#ifndef COMPILE_OK
    auto stream = sw::fan_out{router, order, ask}.stream("key");
#else
    const sw::fan_out reader{router, order, ask};
    auto stream = reader.stream("key");
#endif
    return stream.begin() == stream.end() ? 0 : 1;
}
