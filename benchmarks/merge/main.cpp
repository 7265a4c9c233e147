// SPDX-License-Identifier: BSL-1.0
// How fast sources are merged beside a plain copy, and beside other merges.
// See docs/performance.md.

#include "../parts.hpp"
#include "merge.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

/// What rows were made of goes back to the allocator between the rounds. It tidies up when somebody
/// next asks for much or frees much, which only merges do that are fed pages, and which takes as
/// long as a whole merge of strings.
void tidy_early() {
#ifdef __GLIBC__
    mallopt(M_MXFAST, 0);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace

int main(int argc, char** argv) {
    tidy_early();
    constexpr bench::part parts[] = {{"numbers", merge_benchmark::numbers},
                                     {"strings", merge_benchmark::strings},
                                     {"first", merge_benchmark::first}};
    return bench::run_parts("benchmark_merge", parts, {argv + 1, argv + argc});
}
