// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_MERGE_PEERS_HPP
#define SHARDWEAVE_BENCHMARKS_MERGE_PEERS_HPP

/// Other merges of sorted arrays: libraries', and techniques written for this comparison from their
/// published descriptions. Each takes at most `most` rows and returns the end of what it wrote.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <queue>
#include <utility>
#include <vector>

#include "merge.hpp"

#ifdef SHARDWEAVE_BENCHMARK_LIBSTDCXX_MERGE
// clang-format off: merge.h needs what multiway_merge.h includes
#include <parallel/multiway_merge.h>
#include <parallel/merge.h>
// clang-format on
#endif
#ifdef SHARDWEAVE_BENCHMARK_TLX
#include <tlx/algorithm/multiway_merge.hpp>
#endif

namespace merge_benchmark {

template <class Item>
struct span_of_rows {
    Item* next;
    Item* end;
};

template <class Item>
std::vector<span_of_rows<Item>> spans(sources<Item>& from) {
    std::vector<span_of_rows<Item>> made;
    for (std::vector<Item>& each : from) {
        if (!each.empty()) {
            made.push_back({each.data(), each.data() + each.size()});
        }
    }
    return made;
}

struct pure_move {
    template <class Item>
    Item* operator()(sources<Item>& from, Item* out, std::size_t most) const {
        for (std::vector<Item>& each : from) {
            const std::size_t count = std::min(most, each.size());
            out = std::move(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(count), out);
            most -= count;
        }
        return out;
    }
};

struct concatenate_and_sort {
    template <class Item>
    Item* operator()(sources<Item>& from, Item* out, std::size_t most) const {
        std::size_t rows = 0;
        for (const std::vector<Item>& each : from) {
            rows += each.size();
        }
        std::vector<Item> all;
        all.reserve(rows);
        for (std::vector<Item>& each : from) {
            std::move(each.begin(), each.end(), std::back_inserter(all));
        }
        std::sort(all.begin(), all.end());
        const auto count = static_cast<std::ptrdiff_t>(std::min(most, rows));
        return std::move(all.begin(), all.begin() + count, out);
    }
};

struct priority_queue {
    template <class Item>
    Item* operator()(sources<Item>& from, Item* out, std::size_t most) const {
        const auto later = [](const span_of_rows<Item>& a, const span_of_rows<Item>& b) {
            return *b.next < *a.next;
        };
        std::priority_queue<span_of_rows<Item>, std::vector<span_of_rows<Item>>, decltype(later)>
            heads{later, spans(from)};
        for (; most != 0 && !heads.empty(); --most) {
            span_of_rows<Item> top = heads.top();
            heads.pop();
            *out++ = std::move(*top.next);
            if (++top.next != top.end) {
                heads.push(top);
            }
        }
        return out;
    }
};

/// A tree of losers over streams, as Velox describes its own: nodes hold stream numbers, and each
/// game compares the streams' current rows.
struct tree_of_losers {
    template <class Item>
    Item* operator()(sources<Item>& from, Item* out, std::size_t most) const {
        auto streams = spans(from);
        const std::size_t count = streams.size();
        std::vector<std::uint32_t> losers(count);
        const auto before = [&](std::uint32_t a, std::uint32_t b) {
            if (streams[a].next == streams[a].end) {
                return false;
            }
            return streams[b].next == streams[b].end || *streams[a].next < *streams[b].next;
        };
        std::vector<std::uint32_t> winners(2 * count);
        for (std::uint32_t i = 0; i != count; ++i) {
            winners[count + i] = i;
        }
        for (std::size_t game = count - 1; game != 0; --game) {
            const std::uint32_t a = winners[2 * game];
            const std::uint32_t b = winners[2 * game + 1];
            const bool second = before(b, a);
            winners[game] = second ? b : a;
            losers[game] = second ? a : b;
        }
        std::uint32_t winner = count == 1 ? 0 : winners[1];
        for (; most != 0 && streams[winner].next != streams[winner].end; --most) {
            *out++ = std::move(*streams[winner].next++);
            for (std::size_t game = (winner + count) / 2; game != 0; game /= 2) {
                if (before(losers[game], winner)) {
                    std::swap(losers[game], winner);
                }
            }
        }
        return out;
    }
};

/// A heap of cursors that counts how many rows its first one may give before the second comes, as
/// ClickHouse describes its batch queue.
struct batch_queue {
    template <class Item>
    Item* operator()(sources<Item>& from, Item* out, std::size_t most) const {
        auto heap = spans(from);
        const auto later = [](const span_of_rows<Item>& a, const span_of_rows<Item>& b) {
            return *b.next < *a.next;
        };
        std::make_heap(heap.begin(), heap.end(), later);
        while (most != 0 && !heap.empty()) {
            span_of_rows<Item>& top = heap.front();
            const span_of_rows<Item>* second = nullptr;
            if (heap.size() > 1) {
                second = heap.size() > 2 && *heap[2].next < *heap[1].next ? &heap[2] : &heap[1];
            }
            do {
                *out++ = std::move(*top.next++);
            } while (--most != 0 && top.next != top.end &&
                     (second == nullptr || *top.next < *second->next));
            if (top.next == top.end) {
                top = heap.back();
                heap.pop_back();
            }
            sift(heap);
        }
        return out;
    }

private:
    /// Lets the first one sink.
    template <class Item>
    static void sift(std::vector<span_of_rows<Item>>& heap) {
        if (heap.empty()) {
            return;
        }
        const span_of_rows<Item> sinking = heap.front();
        std::size_t at = 0;
        for (std::size_t child = 1; child < heap.size(); child = 2 * at + 1) {
            if (child + 1 < heap.size() && *heap[child + 1].next < *heap[child].next) {
                ++child;
            }
            if (!(*heap[child].next < *sinking.next)) {
                break;
            }
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = sinking;
    }
};

template <class Item>
auto pairs_of(sources<Item>& from) {
    std::vector<std::pair<Item*, Item*>> made;
    for (const span_of_rows<Item>& each : spans(from)) {
        made.emplace_back(each.next, each.end);
    }
    return made;
}

/// Where the libraries write to: they assign from rows, which this moves.
template <class Item>
class moving_output {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using pointer = Item*;
    class reference {
    public:
        explicit reference(Item* to) : to_(to) {}
        // NOLINTNEXTLINE(misc-unconventional-assign-operator)
        void operator=(Item& row) const { *to_ = std::move(row); }

    private:
        Item* to_;
    };

    moving_output() = default;
    explicit moving_output(Item* at) : at_(at) {}
    reference operator*() const { return reference{at_}; }
    moving_output& operator++() {
        ++at_;
        return *this;
    }
    moving_output operator++(int) { return moving_output{at_++}; }
    moving_output operator+(std::ptrdiff_t by) const { return moving_output{at_ + by}; }
    moving_output& operator+=(std::ptrdiff_t by) {
        at_ += by;
        return *this;
    }
    std::ptrdiff_t operator-(const moving_output& other) const { return at_ - other.at_; }
    friend auto operator<=>(const moving_output&, const moving_output&) = default;
    [[nodiscard]] Item* base() const { return at_; }

private:
    Item* at_ = nullptr;
};

template <class Item>
std::ptrdiff_t rows_to_take(const sources<Item>& from, std::size_t most) {
    std::size_t rows = 0;
    for (const std::vector<Item>& each : from) {
        rows += each.size();
    }
    return static_cast<std::ptrdiff_t>(std::min(most, rows));
}

struct libstdcxx_merge {
    template <class Item>
    Item* operator()([[maybe_unused]] sources<Item>& from, Item* out,
                     [[maybe_unused]] std::size_t most) const {
#ifdef SHARDWEAVE_BENCHMARK_LIBSTDCXX_MERGE
        auto pairs = pairs_of(from);
        return __gnu_parallel::stable_multiway_merge(
                   pairs.begin(), pairs.end(), moving_output<Item>{out}, rows_to_take(from, most),
                   std::less<Item>{}, __gnu_parallel::sequential_tag())
            .base();
#else
        return out;
#endif
    }
};

struct tlx_merge {
    template <class Item>
    Item* operator()([[maybe_unused]] sources<Item>& from, Item* out,
                     [[maybe_unused]] std::size_t most) const {
#ifdef SHARDWEAVE_BENCHMARK_TLX
        auto pairs = pairs_of(from);
        return tlx::stable_multiway_merge(pairs.begin(), pairs.end(), moving_output<Item>{out},
                                          rows_to_take(from, most), std::less<Item>{})
            .base();
#else
        return out;
#endif
    }
};

#ifdef SHARDWEAVE_BENCHMARK_LIBSTDCXX_MERGE
inline constexpr bool has_libstdcxx_merge = true;
#else
inline constexpr bool has_libstdcxx_merge = false;
#endif
#ifdef SHARDWEAVE_BENCHMARK_TLX
inline constexpr bool has_tlx = true;
#else
inline constexpr bool has_tlx = false;
#endif

}  // namespace merge_benchmark

#endif
