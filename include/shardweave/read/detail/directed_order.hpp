// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_DIRECTED_ORDER_HPP
#define SHARDWEAVE_READ_DETAIL_DIRECTED_ORDER_HPP

/// An order as a merge walks it.

#include <shardweave/core/detail/prefetch.hpp>
#include <shardweave/read/detail/head_key.hpp>
#include <shardweave/read/detail/order_key.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// An order, forward or backward, which must outlive this: comparisons, keys, and whether rows are
/// sorted.
template <class Item, class Order>
class directed_order {
public:
    /// Whether what is compared lies elsewhere than the rows.
    static constexpr bool keys_are_far = Order::prefetches;

    directed_order(const Order& order, scan way)
        : order_(&order), flip_(way == scan::forward ? 0 : ~std::uint64_t{0}) {}

    [[nodiscard]] const Order& order() const noexcept { return *order_; }

    /// Compares items and positions in the direction of the merge.
    template <class A, class B>
    [[nodiscard]] std::strong_ordering compare(const A& a, const B& b) const {
        return flip_ == 0 ? order_->compare(a, b) : order_->compare(b, a);
    }

    [[nodiscard]] head_key key_of(const sort_prefix& prefix) const noexcept {
        return {prefix.high ^ flip_, prefix.low ^ flip_};
    }
    [[nodiscard]] head_key key_of(const Item& row) const { return key_of(order_->prefix(row)); }

    /// Fetches rows that come soon, and what they view where keys are elsewhere.
    [[gnu::always_inline]] void prefetch_beyond(const Item* next, const Item* end) const {
        prefetch_after(next, ahead);
        if constexpr (Order::prefetches) {
            order_->prefetch(next[std::min(keys_ahead, end - next - 1)]);
        }
    }

    /// How many of the first rows are in strict order. Writes their keys to `keys`, if that is not
    /// null.
    [[nodiscard]] std::size_t sorted_rows(const std::vector<Item>& rows, head_key* keys) const {
        return flip_ == 0 ? sorted_rows<true>(rows, keys) : sorted_rows<false>(rows, keys);
    }

private:
    template <bool Forward>
    [[nodiscard]] std::size_t sorted_rows(const std::vector<Item>& rows, head_key* keys) const {
        const Item* const begin = rows.data();
        const Item* const end = begin + rows.size();
        sort_prefix last = order_->prefix(*begin);
        for (const Item* row = begin + 1; row != end; ++row) {
            if constexpr (!keys_are_far) {
                // Four at once are half the work.
                while (end - row > 4 && rises<Forward>(last, row, end) &&
                       rises<Forward>(last, row + 1, end) && rises<Forward>(last, row + 2, end) &&
                       rises<Forward>(last, row + 3, end)) {
                    row += 4;
                }
                last = order_->prefix(row[-1]);
            } else if (keys != nullptr) {
                *keys++ = key_of(last);
            }
            if (!rises<Forward>(last, row, end) && !(compare(row[-1], *row) < 0)) {
                return static_cast<std::size_t>(row - begin);
            }
        }
        if (keys != nullptr) {
            *keys = key_of(last);
        }
        return rows.size();
    }

    /// Whether the row's prefix is beyond `last`, which becomes it.
    template <bool Forward>
    [[nodiscard, gnu::always_inline]] bool rises(sort_prefix& last, const Item* row,
                                                 const Item* end) const {
        if constexpr (Order::prefetches) {
            prefetch_beyond(row, end);
        }
        const head_key before{last.high, last.low};
        last = order_->prefix(*row);
        const head_key now{last.high, last.low};
        return Forward ? before < now : now < before;
    }

    /// How many rows ahead keys are fetched, and how many bytes ahead the rows are.
    static constexpr std::ptrdiff_t keys_ahead = 4;
    static constexpr std::size_t ahead =
        Order::prefetches ? 2 * sizeof(Item) * keys_ahead : std::max<std::size_t>(sizeof(Item), 64);

    const Order* order_;
    /// All ones when the merge walks backward: keys are complemented.
    std::uint64_t flip_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
