// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../ratio.hpp"
#include "documents.hpp"
#include "merge.hpp"
#include "rows.hpp"

namespace merge_benchmark {
namespace {

constexpr std::size_t count = 8;
constexpr std::size_t limit = 50;
// Few, so that their merges stay in the nearest caches, as one on the stack would.
constexpr std::size_t reads = 32;

sources<number> some_numbers(std::size_t each) {
    std::mt19937_64 draw{each};
    sources<number> made(count, std::vector<number>(each));
    for (std::vector<number>& source : made) {
        for (number& row : source) {
            row = {draw(), draw()};
        }
        std::sort(source.begin(), source.end());
    }
    return made;
}

/// Pages are made and thrown away outside the clock; the merge's set-up and feeding count.
template <class Item>
void first_of(const std::string& title, const std::vector<sources<Item>>& data, double sort_bar,
              double heap_bar, double best_bar) {
    std::vector<sources<Item>> given;
    std::vector<std::vector<Item>> outs;
    std::vector<std::vector<Item>> expected;
    for (const sources<Item>& each : data) {
        expected.push_back(sorted(each));
        expected.back().resize(limit);
    }
    const auto begin = [&] {
        given = data;
        outs.assign(reads, std::vector<Item>(limit));
    };
    bench::table table{title};
    const auto peer = [&](const std::string& name, auto merge) {
        table.batch(name, reads, [&, merge] {
            for (std::size_t i = 0; i != reads; ++i) {
                merge(given[i], outs[i].data(), limit);
            }
            return outs.size();
        });
        table.beside(begin, [&, name] { stop_unless(outs == expected, name); });
    };
    peer(sorting, concatenate_and_sort{});
    std::vector<std::optional<merge_of<Item>>> merges(reads);
    const std::string paged = "shardweave::merge";
    table.batch(paged, reads, [&] {
        for (std::size_t i = 0; i != reads; ++i) {
            merge_of<Item>& merged =
                merges[i].emplace(order_of<Item>(), shardweave::scan::forward, count);
            for (std::size_t lane = 0; lane != count; ++lane) {
                stop_unless(!merged.feed(lane, std::move(given[i][lane])), "a page");
            }
            merged.settle();
            Item* out = outs[i].data();
            merged.run(limit, [&out](std::size_t, Item&& item) { *out++ = std::move(item); });
        }
        return outs.size();
    });
    table.beside(begin, [&] {
        stop_unless(outs == expected, paged);
        for (auto& each : merges) {
            each.reset();
        }
    });
    peer(heap, priority_queue{});
    peer(losers, tree_of_losers{});
    peer(batches, batch_queue{});
    table.at_least(sort_bar, paged, sorting);
    table.at_least(heap_bar, paged, heap);
    table.at_least(best_bar, paged, losers);
    table.at_least(best_bar, paged, batches);
    if constexpr (has_libstdcxx_merge) {
        peer(libstdcxx, libstdcxx_merge{});
        table.at_least(best_bar, paged, libstdcxx);
    }
    if constexpr (has_tlx) {
        peer(tlx, tlx_merge{});
        table.at_least(best_bar, paged, tlx);
    }
    table.print(0, 301);
}

}  // namespace

void first() {
    for (const std::size_t each : {limit, limit / 3}) {
        std::vector<sources<number>> numbers;
        std::vector<sources<document>> documents;
        for (std::size_t i = 0; i != reads; ++i) {
            numbers.push_back(some_numbers(each + i % 2));
            documents.push_back(documents_of(count, each * count + i % 2));
        }
        first_of(fmt::format("the first 50 of 8 sources with {} 16-byte items each", each), numbers,
                 15, 2.2, 1.7);
        first_of(fmt::format("the first 50 of 8 sources with about {} ULIDs each", each), documents,
                 60, 2.2, 1.7);
    }
}

}  // namespace merge_benchmark
