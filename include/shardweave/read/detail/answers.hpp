// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_ANSWERS_HPP
#define SHARDWEAVE_READ_DETAIL_ANSWERS_HPP

/// What of an answer's rows is news, and what is said when they are not as promised.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/merge.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A store that resumes a little early repeats rows that are known; they are not news.
template <class Item, class Order>
void drop_known(const merge<Item, Order>& merged, std::size_t lane, std::vector<Item>& rows) {
    if (const auto& covered = merged.covered(lane)) {
        rows.erase(rows.begin(), std::ranges::find_if(rows, [&](const Item& row) {
                       return merged.compare(row, *covered) > 0;
                   }));
    }
}

/// Everything up to a row is known. False when that is no news.
template <class Item, class Order>
[[nodiscard]] bool move_wall(merge<Item, Order>& merged, std::size_t lane, const Item& row) {
    const auto& covered = merged.covered(lane);
    if (covered && !(merged.compare(*covered, row) < 0)) {
        return false;
    }
    merged.cover(lane, merged.order().position_of(row));
    return true;
}

/// What was left out of an answer.
struct other_times {
    /// Rows before the range, in the walked direction, that were news: they are behind the read
    /// now.
    bool before = false;
    /// The store looked beyond the range: nothing of it can follow.
    bool beyond = false;
};

/// Where an item's time is, as it is walked: below 0 before the range, 0 in it, above 0 beyond it.
template <class Order, class Item>
[[nodiscard]] int time_side(const Order& order, scan way, const time_range& within,
                            const Item& item) {
    const item_time at = order.time_of(item);
    const bool rising = Order::times_rise == (way == scan::forward);
    return within.contains(at) ? 0 : (at < within.since) == rising ? -1 : 1;
}

/// Leaves out the rows of other times, where an order tells them.
template <class Item, class Order>
[[nodiscard]] other_times drop_other_times(merge<Item, Order>& merged, std::size_t lane, scan way,
                                           const time_range& within, shard_page<Item>& page) {
    other_times left_out;
    if constexpr (Order::timed) {
        if (within == time_range{}) {
            return left_out;
        }
        const auto side = [&](const Item& row) {
            return time_side(merged.order(), way, within, row);
        };
        std::vector<Item>& rows = page.items;
        const auto end = std::ranges::find_if(rows, [&](const Item& row) { return side(row) > 0; });
        left_out.beyond = end != rows.end() || (page.scanned && side(*page.scanned) > 0);
        rows.erase(end, rows.end());
        const auto first =
            std::ranges::find_if(rows, [&](const Item& row) { return side(row) == 0; });
        left_out.before = first != rows.begin() && move_wall(merged, lane, *std::prev(first));
        rows.erase(rows.begin(), first);
    }
    return left_out;
}

/// Leaves out the rows from `far` on. True when the store looked that far.
template <class Item, class Order>
[[nodiscard]] bool drop_beyond(const merge<Item, Order>& merged,
                               const std::optional<typename Order::position_type>& far,
                               shard_page<Item>& page) {
    const auto is_beyond = [&](const Item& row) { return far && merged.compare(row, *far) >= 0; };
    const auto end = std::ranges::find_if(page.items, is_beyond);
    const bool any = end != page.items.end() || (page.scanned && is_beyond(*page.scanned));
    page.items.erase(end, page.items.end());
    return any;
}

/// The first row that comes back from beyond the range, where nothing is taken and so nothing is
/// checked: a store in another order would lack rows that nobody notices.
template <class Item, class Order>
[[nodiscard]] std::optional<std::size_t>
back_from_beyond(const merge<Item, Order>& merged, scan way, const time_range& within,
                 const std::optional<typename Order::position_type>& far,
                 const std::vector<Item>& rows) {
    const auto is_beyond = [&](const Item& row) {
        if constexpr (Order::timed) {
            if (time_side(merged.order(), way, within, row) > 0) {
                return true;
            }
        }
        return far && merged.compare(row, *far) >= 0;
    };
    const auto end = std::ranges::find_if(rows, is_beyond);
    const auto back = std::find_if_not(end, rows.end(), is_beyond);
    return back == rows.end() ? std::nullopt
                              : std::optional{static_cast<std::size_t>(back - rows.begin())};
}

/// What is left of an answer.
struct sifted {
    /// A row that comes back from beyond the range; nothing was left out then.
    std::optional<std::size_t> bad{};
    /// All up to somewhere is known now, though no row says so.
    bool before = false;
    /// Nothing of the range can follow.
    bool beyond = false;
};

/// Leaves out the rows that a read is not about, and those that it knows.
template <class Item, class Order, class Asked>
[[nodiscard]] sifted sift(merge<Item, Order>& merged, std::size_t lane, const Asked& asked,
                          shard_page<Item>& page) {
    if (const auto bad = back_from_beyond(merged, asked.way, asked.within, asked.far, page.items)) {
        return {.bad = bad};
    }
    const other_times others = drop_other_times(merged, lane, asked.way, asked.within, page);
    const bool beyond = drop_beyond(merged, asked.far, page) || others.beyond;
    drop_known(merged, lane, page.items);
    return {.before = others.before, .beyond = beyond};
}

/// The error that ends a read, first of all, naming every other one.
[[nodiscard]] inline error blame(const std::vector<error>& failures) {
    error first = failures.front();
    for (std::size_t i = 1; i != failures.size(); ++i) {
        first.detail += "; also " + failures[i].message();
    }
    return first;
}

[[nodiscard]] inline error blame(const source& about, errc code, std::string detail) {
    return {code, about.shard, about.partition_keys.empty() ? "" : about.partition_keys.front(),
            std::move(detail)};
}

/// Row number `bad` of an answer is not beyond the one before it.
template <class Item, class Order>
[[nodiscard]] error unordered(const merge<Item, Order>& merged, std::size_t lane,
                              const source& about, const std::vector<Item>& rows, std::size_t bad) {
    const Order& order = merged.order();
    const auto before = bad == 0 ? *merged.covered(lane) : order.position_of(rows[bad - 1]);
    return blame(about, errc::unordered_source,
                 concat("a row at ", order.text(order.position_of(rows[bad])),
                        " came after one at ", order.text(before),
                        "; make the store sort by exactly the order's criteria, text as unsigned "
                        "bytes, walking the way that the query says"));
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
