// SPDX-License-Identifier: BSL-1.0
// How fast sources are merged beside a plain copy, and beside other merges.
// See docs/performance.md.

#include "../parts.hpp"
#include "merge.hpp"

int main(int argc, char** argv) {
    constexpr bench::part parts[] = {{"numbers", merge_benchmark::numbers},
                                     {"strings", merge_benchmark::strings},
                                     {"first", merge_benchmark::first}};
    return bench::run_parts("benchmark_merge", parts, {argv + 1, argv + argc});
}
