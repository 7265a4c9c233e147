// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/growing.md.
#include <shardweave/shardweave.hpp>

#include <cstdio>
#include <string>

namespace sw = shardweave;

namespace {

// author-1 got hot: eight buckets take the new items, the one with the old ones is still read.
bool grow(sw::router& router) {
    const auto table = router.pin();
    const auto result =
        router.publish(table->with_schemes(table->schemes().grow("author-1", sw::calculated(8))));
    return result == sw::publish_result::published;
}

// When nothing is left under the first scheme, nobody needs to look there any more.
bool retire(sw::router& router) {
    const auto table = router.pin();
    const auto result = router.publish(
        table->with_schemes(table->schemes().retire("author-1", sw::scheme_version{1})));
    return result == sw::publish_result::published;
}

// A key that will be hot, and has no item yet, starts split: its first scheme ends at once.
bool start_split(sw::router& router) {
    const auto table = router.pin();
    const auto result =
        router.publish(table->with_schemes(table->schemes()
                                               .grow("author-2", sw::calculated(8))
                                               .retire("author-2", sw::scheme_version{1})));
    return result == sw::publish_result::published;
}

}  // namespace

int main() {
    // Every author is one bucket, on two databases.
    sw::router router{sw::routing_table{sw::scheme_table{sw::calculated(1)},
                                        sw::shard_map::even({"db0", "db1"})}};
    bool fine = grow(router) && router.targets("author-1").size() == 9;
    fine = fine && retire(router) && router.targets("author-1").size() == 8;
    fine = fine && start_split(router) && router.targets("author-2").size() == 8;

    // The table is stored as bytes; every process that reads them places alike.
    const std::string bytes = sw::encode(*router.pin());
    const sw::routing_table stored = sw::decode(bytes);
    std::printf("epoch %llu, %zu bytes\n", static_cast<unsigned long long>(stored.epoch().value()),
                bytes.size());
    return fine && stored == *router.pin() ? 0 : 1;
}
