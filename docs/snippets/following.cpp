// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/growing.md.
#include <shardweave/shardweave.hpp>

#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace sw = shardweave;

// A database that knows which epoch it serves, and refuses a write that came by an older route.
struct database {
    sw::epoch serves{1};
    int rows = 0;
};

int main() {
    const auto folder = std::filesystem::temp_directory_path() / "shardweave-following";
    std::filesystem::create_directories(folder);
    const auto path = folder / "routing.swrt";
    std::filesystem::remove(path);

    // Once, by whoever sets the cluster up: nothing must be stored yet.
    sw::file_source source{path};
    const sw::routing_table first{sw::scheme_table{sw::calculated(1)},
                                  sw::shard_map::single("db0")};
    if (source.compare_and_swap(std::nullopt, sw::encode(first)) != sw::swap_result::stored) {
        return 1;  // somebody else did
    }

    // In every process: the router begins with the stored table, and a refresher keeps it there.
    sw::router router{sw::decode(source.load().value())};
    sw::refresher follow{router, source};

    // Whoever moves a slot stores the next table, if the one it was made from is still stored.
    const auto now = router.pin();
    const sw::routing_table next = now->with_shards(sw::shard_map::single("db1"));
    if (source.compare_and_swap(now->epoch(), sw::encode(next)) == sw::swap_result::conflict) {
        return 1;  // load, and decide again
    }

    std::map<std::string, database> databases{{"db0", {.serves = sw::epoch{2}}},
                                              {"db1", {.serves = sw::epoch{2}}}};

    // A write goes where the table says; a store that knows better says so, and it is tried again.
    const std::string shard = follow.with_route("author-1", "post-1", [&](const auto& at) {
        database& to = databases.at(at.shard);
        if (at.epoch < to.serves) {
            throw sw::stale_route{to.serves};  // nothing was written
        }
        ++to.rows;
        return at.shard;
    });
    std::printf("written to %s, by epoch %llu\n", shard.c_str(),
                static_cast<unsigned long long>(router.pin()->epoch().value()));

    // In a loop of its own, with waits of sw::spread(period, generator):
    if (follow.poll().status == sw::refresh_status::failed) {
        std::puts("the source fails; the last good table serves on");
    }
    return databases["db0"].rows == 0 && databases["db1"].rows == 1 ? 0 : 1;
}
