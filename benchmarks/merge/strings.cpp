// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <cstddef>
#include <random>
#include <string>

#include "../ratio.hpp"
#include "documents.hpp"
#include "merge.hpp"
#include "rows.hpp"

namespace merge_benchmark {

void strings() {
    const auto table_of = [](std::size_t count, merge_bars bars) {
        bench::table table{fmt::format(
            "merging a ULID and 100 bytes, uniform, from {} sources, against a move", count)};
        std::mt19937_64 draw{count};
        measure(table, "moving them, source after source", documents_of(count, 100'000, draw), bars,
                11);
    };
    table_of(8, {.move = 1.25, .multiway = 1.9});
    table_of(16, {.move = 1.25});
    table_of(64, {.multiway = 4.0});
    table_of(1'024, {});
}

}  // namespace merge_benchmark
