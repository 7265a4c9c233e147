// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_MERGE_MERGE_HPP
#define SHARDWEAVE_BENCHMARKS_MERGE_MERGE_HPP

/// The parts of the benchmark of the merge, and the data that they share.

#include <shardweave/read/merge.hpp>
#include <shardweave/read/order.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace merge_benchmark {

void numbers();
void strings();
void first();

/// 16 bytes: what is sorted by, and a tie-break.
struct number {
    std::uint64_t key = 0;
    std::uint64_t id = 0;

    friend bool operator==(const number&, const number&) = default;
    friend bool operator<(const number& a, const number& b) {
        return a.key != b.key ? a.key < b.key : a.id < b.id;
    }
};

/// A ULID of 26 characters, and 100 bytes of text.
struct document {
    std::string id;
    std::string text;

    friend bool operator==(const document&, const document&) = default;
    friend bool operator<(const document& a, const document& b) { return a.id < b.id; }
};

inline const auto order_of_numbers =
    shardweave::oldest_first(&number::key, shardweave::unique(&number::id));
inline const auto order_of_documents = shardweave::oldest_first(shardweave::unique(&document::id));

template <class Item>
const auto& order_of() {
    if constexpr (std::same_as<Item, number>) {
        return order_of_numbers;
    } else {
        return order_of_documents;
    }
}
template <class Item>
using merge_of = shardweave::merge<Item, std::remove_cvref_t<decltype(order_of<Item>())>>;

/// Sorted sources, and the same rows in pages as a store gives them.
template <class Item>
using sources = std::vector<std::vector<Item>>;
template <class Item>
using pages = std::vector<std::vector<std::vector<Item>>>;

template <class Item>
pages<Item> in_pages(const sources<Item>& from, std::size_t page) {
    pages<Item> made(from.size());
    for (std::size_t i = 0; i != from.size(); ++i) {
        for (std::size_t at = 0; at < from[i].size(); at += page) {
            const auto first = from[i].begin() + static_cast<std::ptrdiff_t>(at);
            const auto count = std::min(page, from[i].size() - at);
            made[i].emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
        }
    }
    return made;
}

template <class Item>
std::vector<Item> sorted(const sources<Item>& from) {
    std::vector<Item> all;
    for (const std::vector<Item>& each : from) {
        all.insert(all.end(), each.begin(), each.end());
    }
    std::sort(all.begin(), all.end());
    return all;
}

inline void stop_unless(bool right, std::string_view who) {
    if (!right) {
        fmt::print(stderr, "{} merged wrongly\n", who);
        std::exit(EXIT_FAILURE);
    }
}

/// Moves rows, and runs of them, to where `next` points, and that on.
template <class Item>
struct to_array {
    Item* next;

    void operator()(std::size_t, Item&& row) { *next++ = std::move(row); }
    void operator()(std::size_t, Item* first, Item* last) { next = std::move(first, last, next); }
};

/// Feeds a page whenever the merge waits for its source; returns the end of what was written.
template <class Item>
Item* merge_pages(merge_of<Item>& merged, pages<Item>& from, std::vector<std::size_t>& fed,
                  Item* out, std::size_t most) {
    using head = typename merge_of<Item>::head;
    merged.settle();
    Item* const end = out + most;
    to_array<Item> to{out};
    while (to.next != end) {
        merged.run(static_cast<std::size_t>(end - to.next), to);
        const std::size_t lane = merged.top();
        if (merged.state(lane) == head::wall) {
            if (fed[lane] == from[lane].size()) {
                merged.finish(lane);
            } else {
                stop_unless(!merged.feed(lane, std::move(from[lane][fed[lane]++])), "a page");
            }
            merged.settle();
        } else if (merged.state(lane) == head::end) {
            break;
        }
    }
    return to.next;
}

}  // namespace merge_benchmark

#endif
