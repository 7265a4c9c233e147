// SPDX-License-Identifier: BSL-1.0
// How fast sources are merged beside a plain copy, and beside other merges.
// See docs/performance.md.

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "../ratio.hpp"
#include "merge.hpp"

namespace {

constexpr int usage_error = 2;

int usage(std::string_view unknown) {
    fmt::print(stderr,
               "{} is no part of this benchmark\n"
               "usage: benchmark_merge [--lines | --counted] "
               "[numbers] [strings] [first]\n",
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
    constexpr part parts[] = {{"numbers", merge_benchmark::numbers},
                              {"strings", merge_benchmark::strings},
                              {"first", merge_benchmark::first}};
    for (const std::string_view name : wanted) {
        bool known = false;
        for (const part& each : parts) {
            known = known || each.name == name;
        }
        if (!known) {
            return usage(name);
        }
    }
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
