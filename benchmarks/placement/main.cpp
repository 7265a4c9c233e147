// SPDX-License-Identifier: BSL-1.0
// How much placement costs beside the hash that it can not do without, and beside other ways.
// See docs/performance.md.

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "../peers.hpp"
#include "../ratio.hpp"
#include "placement.hpp"

namespace {

constexpr int usage_error = 2;

/// The check values of both CRCs' catalogue entries.
bool peers_are_right() {
    return bench::redis_cluster{1}.crc("123456789") == 0x31c3U &&
           bench::vbuckets{1}.crc("123456789") == 0xcbf43926U;
}

int usage(std::string_view unknown) {
    fmt::print(stderr,
               "{} is no part of this benchmark\n"
               "usage: benchmark_placement [--lines | --counted] "
               "[routes] [texts] [batches] [reading] [movement]\n",
               unknown);
    return usage_error;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> arguments(argv + 1, argv + argc);
    std::vector<std::string_view> wanted;
    for (const std::string_view argument : arguments) {
        if (argument == "--lines") {
            bench::how = bench::mode::lines;
        } else if (argument == "--counted") {
            bench::how = bench::mode::counted;
        } else {
            wanted.push_back(argument);
        }
    }
    struct part {
        std::string_view name;
        void (*run)();
    };
    constexpr part parts[] = {{"routes", placement_benchmark::routes},
                              {"texts", placement_benchmark::texts},
                              {"batches", placement_benchmark::batches},
                              {"reading", placement_benchmark::reading},
                              {"movement", placement_benchmark::movement}};
    for (const std::string_view name : wanted) {
        bool known = false;
        for (const part& each : parts) {
            known = known || each.name == name;
        }
        if (!known) {
            return usage(name);
        }
    }
    if (!peers_are_right()) {
        fmt::print(stderr, "a peer's checksum is wrong\n");
        return EXIT_FAILURE;
    }
    // A process that routes has threads, and with one alone libstdc++ counts references for less.
    std::thread{[] {}}.join();
    bench::pin_thread(0);
    for (const part& each : parts) {
        bool run = wanted.empty();
        for (const std::string_view name : wanted) {
            run = run || each.name == name;
        }
        if (run) {
            each.run();
        }
    }
}
