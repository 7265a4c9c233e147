// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/day-two.md.
#include <shardweave/shardweave.hpp>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

namespace sw = shardweave;

// What a service keeps beside its data, in any column of text.
struct kept {
    std::string scheme;
};

int main() {
    const auto folder = std::filesystem::temp_directory_path() / "shardweave-day-two";
    std::filesystem::create_directories(folder);
    const auto path = folder / "routing.swrt";
    std::filesystem::remove(path);

    const sw::routing_table first{sw::scheme_table{sw::calculated(64)},
                                  sw::shard_map::single("db0")};
    const std::string backup = sw::encode(first);

    // The store's table is gone, and so is every change since the backup. The highest epoch that
    // any store or process still knows is 41.
    sw::file_source source{path};
    const auto highest_seen = sw::epoch{41};
    const sw::routing_table restored = sw::decode(backup).restored(highest_seen);
    if (source.compare_and_swap(std::nullopt, sw::encode(restored)) != sw::swap_result::stored) {
        return 1;  // somebody else was first
    }
    std::printf("incarnation %u\n", sw::incarnation(restored.epoch()));

    sw::router router{sw::decode(source.load().value())};
    sw::refresher follow{router, source};

    // On first contact, and then whenever the other side's stamp changes:
    const std::string header = sw::to_text(follow.stamp());
    if (const auto theirs = sw::parse_table_stamp(header)) {
        if (sw::check_stamp(follow.stamp(), *theirs) == sw::stamp_order::newer) {
            follow.refresh(theirs->epoch);
        }
    }

    // Written beside the data by whoever wrote it first; whoever opens it compares.
    const auto& scheme = router.pin()->schemes().ordinary().writer();
    const kept row{sw::to_text(sw::stamp_of(scheme, router.pin()->format()))};
    try {
        const auto mine =
            sw::stamp_of(sw::calculated(32, {.version = sw::scheme_version{1}}), sw::key_format{});
        sw::check_stamp(mine, sw::parse_scheme_stamp(row.scheme).value());
    } catch (const sw::failure& conflict) {
        std::puts(conflict.what());  // scheme_conflict: there are two schemes of version 1: …
        return 0;
    }
    return 1;
}
