// SPDX-License-Identifier: BSL-1.0
// How much placement costs beside the hash that it can not do without, and beside other ways.
// See docs/performance.md.

#include <fmt/format.h>

#include <cstdlib>
#include <thread>

#include "../parts.hpp"
#include "../peers.hpp"
#include "placement.hpp"

namespace {

/// The check values of both CRCs' catalogue entries.
bool peers_are_right() {
    return bench::redis_cluster{1}.crc("123456789") == 0x31c3U &&
           bench::vbuckets{1}.crc("123456789") == 0xcbf43926U;
}

}  // namespace

int main(int argc, char** argv) {
    if (!peers_are_right()) {
        fmt::print(stderr, "a peer's checksum is wrong\n");
        return EXIT_FAILURE;
    }
    // A process that routes has threads, and with one alone libstdc++ counts references for less.
    std::thread{[] {}}.join();
    constexpr bench::part parts[] = {{"routes", placement_benchmark::routes},
                                     {"texts", placement_benchmark::texts},
                                     {"batches", placement_benchmark::batches},
                                     {"reading", placement_benchmark::reading},
                                     {"movement", placement_benchmark::movement}};
    return bench::run_parts("benchmark_placement", parts, {argv + 1, argv + argc});
}
