// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/growing.md.
#include <shardweave/shardweave.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace sw = shardweave;

int main() {
    // Every author is one bucket, on two databases.
    sw::router router{sw::routing_table{sw::scheme_table{sw::calculated(1)},
                                        sw::shard_map::even({"db0", "db1"})}};

    // author-1 got hot: eight buckets take the new items, the one with the old ones is still read.
    const auto table = router.pin();
    router.publish(table->with_schemes(table->schemes().grow("author-1", sw::calculated(8))));

    for (const sw::target& each : router.targets("author-1")) {
        std::printf("%-20s on %s, scheme %u\n", each.partition_key.str().c_str(),
                    each.shard.c_str(), each.scheme.value());
    }

    // A new database. It owns nothing until slots are given to it.
    const auto now = router.pin();
    const sw::shard_map wider = now->shards().with_shard("db2");
    const sw::slot_index slot = router.targets("author-1").front().slot;
    // … here the slot's rows are copied to db2 …
    router.publish(now->with_shards(wider.with_owner(slot, "db2")));

    // When nothing is left under the first scheme, nobody needs to look there any more.
    const auto grown = router.pin();
    router.publish(grown->with_schemes(grown->schemes().retire("author-1", sw::scheme_version{1})));

    // The table is stored as bytes; every process that reads them places alike.
    const std::string bytes = sw::encode(*router.pin());
    const sw::routing_table stored = sw::decode(bytes);
    std::printf("epoch %llu, %zu targets, %zu bytes\n",
                static_cast<unsigned long long>(stored.epoch().value()),
                stored.targets("author-1").size(), bytes.size());
    return stored == *router.pin() ? 0 : 1;
}
