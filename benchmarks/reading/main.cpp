// SPDX-License-Identifier: BSL-1.0
// What a page costs: time of its own, rows and rounds, and what hedges do to the slowest.
// See docs/performance.md.

#include "../parts.hpp"
#include "reading.hpp"

int main(int argc, char** argv) {
    constexpr bench::part parts[] = {{"pages", reading_benchmark::pages},
                                     {"rows", reading_benchmark::rows},
                                     {"hedges", reading_benchmark::hedges}};
    return bench::run_parts("benchmark_reading", parts, {argv + 1, argv + argc});
}
