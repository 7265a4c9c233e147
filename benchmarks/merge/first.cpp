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
// A round is of few reads, so that their merges stay in the nearest caches, as one on the stack
// would. Rounds are of different reads, or processors would learn by heart which source wins when.
constexpr std::size_t reads = 32;
constexpr std::size_t different = 32;

sources<number> some_numbers(std::size_t each, std::mt19937_64& draw) {
    sources<number> made(count, std::vector<number>(each));
    for (std::vector<number>& source : made) {
        for (number& row : source) {
            row = {draw(), draw()};
        }
        std::sort(source.begin(), source.end());
    }
    return made;
}

template <class Item>
struct round_of_reads {
    std::vector<sources<Item>> data;
    std::vector<std::vector<Item>> expected;
};

/// Pages are made and thrown away outside the clock; the merge's set-up and feeding count.
template <class Item, class Draw>
void first_of(const std::string& title, Draw draw, double sort_bar, double heap_bar,
              double best_bar) {
    std::vector<round_of_reads<Item>> rounds(different);
    for (std::size_t i = 0; i != reads * different; ++i) {
        auto& [data, expected] = rounds[i % different];
        data.push_back(draw());
        expected.push_back(sorted(data.back()));
        expected.back().resize(limit);
    }
    std::size_t round = 0;
    std::vector<sources<Item>> given;
    std::vector<std::vector<Item>> outs;
    const auto begin = [&] {
        given = rounds[round].data;
        outs = std::vector<std::vector<Item>>(reads, std::vector<Item>(limit));
    };
    const auto check = [&](const std::string& name) {
        stop_unless(outs == rounds[round].expected, name);
    };
    bench::table table{title};
    const auto peer = [&](const std::string& name, auto merge) {
        table.batch(name, reads, [&, merge] {
            for (std::size_t i = 0; i != reads; ++i) {
                merge(given[i], outs[i].data(), limit);
            }
            return outs.size();
        });
        table.beside(begin, [&, name] { check(name); });
    };
    peer(sorting, concatenate_and_sort{});
    table.beside(
        [&] {
            round = (round + 1) % different;
            begin();
        },
        [&] { check(sorting); });
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
            merged.run(limit, to_array<Item>{outs[i].data()});
        }
        return outs.size();
    });
    table.beside(begin, [&] {
        check(paged);
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
        std::mt19937_64 draw{each};
        first_of<number>(
            fmt::format("the first 50 of 8 sources with {} 16-byte items each", each),
            [&] { return some_numbers(each, draw); }, 15, 2.2, 1.7);
        first_of<document>(
            fmt::format("the first 50 of 8 sources with about {} ULIDs each", each),
            [&] { return documents_of(count, each * count, draw); }, 60, 2.2, 1.7);
    }
}

}  // namespace merge_benchmark
