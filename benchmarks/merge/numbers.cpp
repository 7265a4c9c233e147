// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../ratio.hpp"
#include "merge.hpp"
#include "rows.hpp"

namespace merge_benchmark {
namespace {

constexpr std::size_t rows = 200'000;

enum class shape : std::uint8_t { uniform, clustered, skewed, ties };

sources<number> numbers_of(shape like, std::size_t count) {
    std::mt19937_64 draw{count};
    std::vector<number> all(rows);
    for (std::size_t i = 0; i != rows; ++i) {
        all[i] = {draw(), draw()};
    }
    std::sort(all.begin(), all.end());
    sources<number> made(count);
    std::size_t source = 0;
    for (std::size_t i = 0; i != rows; ++i) {
        switch (like) {
            case shape::clustered: source = i % 200 == 0 ? draw() % count : source; break;
            case shape::skewed: source = draw() % 10 != 0 ? 0 : 1 + draw() % (count - 1); break;
            case shape::ties: all[i].key = all[i - i % 4].key; [[fallthrough]];
            case shape::uniform: source = draw() % count; break;
        }
        made[source].push_back(all[i]);
    }
    for (std::vector<number>& each : made) {
        std::sort(each.begin(), each.end());
    }
    return made;
}

void table_of(const char* name, shape like, std::size_t count, merge_bars bars) {
    bench::table table{
        fmt::format("merging 16-byte items, {}, from {} sources, against memcpy", name, count)};
    measure(table, "memcpy, source after source", numbers_of(like, count), bars, 25);
}

}  // namespace

void numbers() {
    table_of("uniform", shape::uniform, 2, {.multiway = 1.4});
    table_of("uniform", shape::uniform, 8, {.heap = 2.3, .multiway = 1.9});
    table_of("uniform", shape::uniform, 16, {.multiway = 2.2});
    table_of("uniform", shape::uniform, 64, {.heap = 3.2, .multiway = 3.0});
    table_of("uniform", shape::uniform, 256, {.multiway = 3.5});
    table_of("uniform", shape::uniform, 1'024, {});
    const char* clustered = "runs of 200 from one source";
    table_of(clustered, shape::clustered, 8, {.move = 1.7, .batches = 0.75, .multiway = 1.4});
    table_of(clustered, shape::clustered, 256, {.batches = 0.75});
    const char* skewed = "90 % of them in one source";
    table_of(skewed, shape::skewed, 2, {.multiway = 0.8});
    table_of(skewed, shape::skewed, 8, {.multiway = 1.2});
    table_of(skewed, shape::skewed, 64, {});
    const char* ties = "four share a key";
    table_of(ties, shape::ties, 8, {.multiway = 1.6});
    table_of(ties, shape::ties, 256, {});
}

}  // namespace merge_benchmark
