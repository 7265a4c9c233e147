// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_PARTS_HPP
#define SHARDWEAVE_BENCHMARKS_PARTS_HPP

/// The command line of a benchmark that has parts.

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "ratio.hpp"

namespace bench {

struct part {
    std::string_view name;
    void (*run)();
};

/// Runs the parts that the command line names, or all of them, on the first processor. Returns the
/// exit code.
inline int run_parts(std::string_view program, std::span<const part> parts,
                     std::span<char* const> arguments) {
    constexpr int usage_error = 2;
    std::vector<std::string_view> wanted;
    for (const std::string_view argument : arguments) {
        if (argument == "--lines") {
            how = mode::lines;
        } else if (argument == "--counted") {
            how = mode::counted;
        } else if (std::ranges::find(parts, argument, &part::name) != parts.end()) {
            wanted.push_back(argument);
        } else {
            fmt::print(stderr, "{} is no part of this benchmark\nusage: {} [--lines | --counted]",
                       argument, program);
            for (const part& each : parts) {
                fmt::print(stderr, " [{}]", each.name);
            }
            fmt::print(stderr, "\n");
            return usage_error;
        }
    }
    pin_thread(0);
    for (const part& each : parts) {
        if (wanted.empty() || std::ranges::find(wanted, each.name) != wanted.end()) {
            each.run();
        }
    }
    return 0;
}

}  // namespace bench

#endif
