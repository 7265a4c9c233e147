// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_MERGE_ROWS_HPP
#define SHARDWEAVE_BENCHMARKS_MERGE_ROWS_HPP

/// The rows of a table of merges.

#include <cstddef>
#include <string>
#include <vector>

#include "../ratio.hpp"
#include "merge.hpp"
#include "peers.hpp"

namespace merge_benchmark {

inline const std::string ours = "shardweave::merge, fed in pages of 1000";
inline const std::string sorting = "concatenate and std::sort";
inline const std::string heap = "std::priority_queue";
inline const std::string losers = "peer: a tree of losers, as Velox describes it";
inline const std::string batches = "peer: a batch queue, as ClickHouse describes it";
inline const std::string libstdcxx = "peer: libstdc++ stable multiway_merge";
inline const std::string tlx = "peer: tlx stable multiway_merge";

/// What ours must be over each peer; 0 is no bar.
struct merge_bars {
    double move = 0;
    double heap = 0;
    double batches = 0;
    double multiway = 0;
};

/// Measures all merges of the same rows. What they write is compared outside the clock. They write
/// to new rows each time: text that is assigned to keeps its room, which a move swaps into the row
/// it moves from, so that a merge that frees pages would free what an earlier one wrote.
template <class Item>
void measure(bench::table& table, const std::string& moving, const sources<Item>& data,
             merge_bars bars, std::size_t rounds) {
    const std::vector<Item> expected = sorted(data);
    const std::size_t rows = expected.size();
    std::vector<Item> out(rows);
    sources<Item> given;
    const auto peer = [&](const std::string& name, auto merge, bool sorts = true) {
        table.batch(name, rows, [&, merge] {
            return static_cast<std::size_t>(merge(given, out.data(), rows) - out.data());
        });
        table.beside(
            [&] {
                given = data;
                out = std::vector<Item>(rows);
            },
            [&, name, sorts] { stop_unless(!sorts || out == expected, name); });
    };
    peer(moving, pure_move{}, false);
    pages<Item> paged;
    std::vector<std::size_t> fed;
    table.batch(ours, rows,
                [&] {
                    merge_of<Item> merged{order_of<Item>(), shardweave::scan::forward, data.size()};
                    return static_cast<std::size_t>(
                        merge_pages(merged, paged, fed, out.data(), rows) - out.data());
                },
                {.time = bars.move});
    table.beside(
        [&] {
            paged = in_pages(data, 1'000);
            fed.assign(data.size(), 0);
            out = std::vector<Item>(rows);
        },
        [&] { stop_unless(out == expected, ours); });
    peer(sorting, concatenate_and_sort{});
    peer(heap, priority_queue{});
    peer(losers, tree_of_losers{});
    peer(batches, batch_queue{});
    if constexpr (has_libstdcxx_merge) {
        peer(libstdcxx, libstdcxx_merge{});
    }
    if constexpr (has_tlx) {
        peer(tlx, tlx_merge{});
    }
    if (bars.heap != 0) {
        table.at_least(bars.heap, ours, heap);
    }
    if (bars.batches != 0) {
        table.at_least(bars.batches, ours, batches);
    }
    if (bars.multiway != 0) {
        for (const auto& [there, name] :
             {std::pair{has_libstdcxx_merge, libstdcxx}, std::pair{has_tlx, tlx}}) {
            if (there) {
                table.at_least(bars.multiway, ours, name);
            }
        }
    }
    table.print(0, rounds);
}

}  // namespace merge_benchmark

#endif
