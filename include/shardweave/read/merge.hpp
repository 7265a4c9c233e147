// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_MERGE_HPP
#define SHARDWEAVE_READ_MERGE_HPP

/// The k-way merge of lanes that are fed as answers come in.

#include <shardweave/read/detail/loser_tree.hpp>
#include <shardweave/read/detail/order_key.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// Merges lanes of rows into one order. A lane whose rows ran out stands at a wall: everything up
/// to there is known, what comes after is not, so nothing beyond the nearest wall is certain.
///
/// A loser tree of lane numbers over a dense array of order-preserving key prefixes: ⌈log₂ k⌉
/// comparisons a row, most of them of two integers. Stable: equal positions come in lane order.
/// Items are moved, never copied; nothing is allocated but the rows' own vectors. Not thread-safe.
template <class Item, class Order>
class merge {
public:
    using position_type = typename Order::position_type;

    /// What comes next in a lane.
    enum class head : std::uint8_t { row, wall, end };

    merge(const Order& order, scan way, std::size_t lanes)
        : order_(&order), way_(way), lanes_(lanes), keys_(lanes), tree_(lanes) {
        for (std::size_t lane = 0; lane != lanes; ++lane) {
            refresh(lane);
        }
    }

    /// Appends rows to a lane. They must be beyond what it has and in strict order; else the number
    /// of the first that is not is returned, and nothing is appended. `settle` before the next
    /// `top`.
    [[nodiscard]] std::optional<std::size_t> feed(std::size_t lane, std::vector<Item>&& rows) {
        lane_state& at = lanes_[lane];
        for (std::size_t i = 0; i != rows.size(); ++i) {
            const bool in_order = i == 0 ? !at.covered || compare(*at.covered, rows[0]) < 0
                                         : compare(rows[i - 1], rows[i]) < 0;
            if (!in_order) {
                return i;
            }
        }
        if (rows.empty()) {
            return std::nullopt;
        }
        at.covered = order_->position_of(rows.back());
        if (at.next == at.rows.size()) {
            at.rows = std::move(rows);
        } else {
            at.rows.erase(at.rows.begin(), at.rows.begin() + static_cast<std::ptrdiff_t>(at.next));
            at.rows.insert(at.rows.end(), std::make_move_iterator(rows.begin()),
                           std::make_move_iterator(rows.end()));
        }
        at.next = 0;
        refresh(lane);
        return std::nullopt;
    }

    /// Moves a lane's wall: all its rows up to `to` are known.
    void cover(std::size_t lane, const position_type& to) {
        lane_state& at = lanes_[lane];
        if (!at.covered || compare(*at.covered, to) < 0) {
            at.covered = to;
        }
        refresh(lane);
    }

    /// The lane has no rows but those that it was fed.
    void finish(std::size_t lane) {
        lanes_[lane].finished = true;
        refresh(lane);
    }

    /// Looks at all lanes anew, after some were fed, covered or finished. O(k).
    void settle() {
        tree_.play([this](std::size_t a, std::size_t b) { return before(a, b); });
    }

    /// The lane whose head is first. Requires at least one lane, and `settle` since the last
    /// change.
    [[nodiscard]] std::size_t top() const noexcept { return tree_.winner(); }
    [[nodiscard]] head state(std::size_t lane) const noexcept { return keys_[lane].kind; }

    /// Takes the row of `top()`, which must have one, and plays its lane again. O(log k).
    [[nodiscard]] Item take() {
        const std::size_t lane = tree_.winner();
        lane_state& at = lanes_[lane];
        taken_ = keys_[lane];
        Item item = std::move(at.rows[at.next]);
        if (++at.next == at.rows.size()) {
            at.rows.clear();
            at.next = 0;
        }
        refresh(lane);
        tree_.replay([this](std::size_t a, std::size_t b) { return before(a, b); });
        return item;
    }

    /// True when the next row has the position of `item`, which `take` just gave.
    [[nodiscard]] bool next_equals(const Item& item) const {
        const lane_key& next = keys_[top()];
        return next.high == taken_.high && next.low == taken_.low && next.kind == head::row &&
               (next.exact || taken_.exact || order_->compare(front(top()), item) == 0);
    }

    /// Up to where the lane's rows are known; nothing when it was never fed.
    [[nodiscard]] const std::optional<position_type>& covered(std::size_t lane) const noexcept {
        return lanes_[lane].covered;
    }
    [[nodiscard]] bool finished(std::size_t lane) const noexcept { return lanes_[lane].finished; }
    /// Rows that wait in the lane.
    [[nodiscard]] std::size_t buffered(std::size_t lane) const noexcept {
        return lanes_[lane].rows.size() - lanes_[lane].next;
    }
    [[nodiscard]] std::size_t lanes() const noexcept { return lanes_.size(); }

    [[nodiscard]] const Order& order() const noexcept { return *order_; }

    /// The position of the n-th waiting row over all lanes, counting equal positions once; nothing
    /// when there are fewer. O(n log k); only the rare second round needs it.
    [[nodiscard]] std::optional<position_type> nth_waiting(std::size_t n) const {
        merge_view view{*this};
        const Item* last = nullptr;
        while (const Item* row = view.next()) {
            if (last == nullptr || order_->compare(*last, *row) != 0) {
                last = row;
                if (--n == 0) {
                    return order_->position_of(*row);
                }
            }
        }
        return std::nullopt;
    }

    /// Compares items and positions in the direction of the merge.
    template <class A, class B>
    [[nodiscard]] std::strong_ordering compare(const A& a, const B& b) const {
        return way_ == scan::forward ? order_->compare(a, b) : order_->compare(b, a);
    }

private:
    struct lane_state {
        std::vector<Item> rows;
        std::size_t next = 0;
        std::optional<position_type> covered;
        bool finished = false;
    };

    /// A lane's head as it is compared. A wall without a position is before everything, an end
    /// after.
    struct lane_key {
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        head kind = head::wall;
        bool exact = false;
    };

    /// Walks the waiting rows in order without taking them: a heap of lanes by their next row.
    class merge_view {
    public:
        explicit merge_view(const merge& of) : of_(&of) {
            for (std::size_t lane = 0; lane != of.lanes(); ++lane) {
                if (of.buffered(lane) != 0) {
                    heap_.push_back({lane, of.lanes_[lane].next});
                    std::push_heap(heap_.begin(), heap_.end(), later());
                }
            }
        }

        const Item* next() {
            if (heap_.empty()) {
                return nullptr;
            }
            std::pop_heap(heap_.begin(), heap_.end(), later());
            auto& [lane, index] = heap_.back();
            const std::vector<Item>& rows = of_->lanes_[lane].rows;
            const Item* row = &rows[index];
            if (++index == rows.size()) {
                heap_.pop_back();
            } else {
                std::push_heap(heap_.begin(), heap_.end(), later());
            }
            return row;
        }

    private:
        struct place {
            std::size_t lane;
            std::size_t index;
        };
        auto later() const {
            return [of = of_](const place& a, const place& b) {
                return of->compare(of->lanes_[b.lane].rows[b.index],
                                   of->lanes_[a.lane].rows[a.index]) < 0;
            };
        }
        const merge* of_;
        std::vector<place> heap_;
    };

    [[nodiscard]] const Item& front(std::size_t lane) const noexcept {
        return lanes_[lane].rows[lanes_[lane].next];
    }

    void refresh(std::size_t lane) {
        const lane_state& at = lanes_[lane];
        lane_key& key = keys_[lane];
        if (at.next != at.rows.size()) {
            key = keyed(order_->prefix(front(lane)), head::row);
        } else if (at.finished) {
            key = {~std::uint64_t{0}, ~std::uint64_t{0}, head::end, false};
        } else if (at.covered) {
            key = keyed(order_->prefix(*at.covered), head::wall);
        } else {
            key = {0, 0, head::wall, false};
        }
    }

    [[nodiscard]] lane_key keyed(detail::sort_prefix prefix, head kind) const noexcept {
        const std::uint64_t flip = way_ == scan::forward ? 0 : ~std::uint64_t{0};
        return {prefix.high ^ flip, prefix.low ^ flip, kind, prefix.exact};
    }

    [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
        const lane_key& x = keys_[a];
        const lane_key& y = keys_[b];
        if (x.high != y.high) {
            return x.high < y.high;
        }
        if (x.low != y.low) {
            return x.low < y.low;
        }
        return before_among_equal_prefixes(a, b);
    }

    [[nodiscard]] bool before_among_equal_prefixes(std::size_t a, std::size_t b) const {
        const lane_key& x = keys_[a];
        const lane_key& y = keys_[b];
        const bool x_start = x.kind == head::wall && !lanes_[a].covered;
        const bool y_start = y.kind == head::wall && !lanes_[b].covered;
        if (x_start || y_start) {
            return x_start && (!y_start || a < b);
        }
        if (x.kind == head::end || y.kind == head::end) {
            return x.kind != head::end || (y.kind == head::end && a < b);
        }
        if (!x.exact && !y.exact) {
            const std::strong_ordering order = compare_heads(a, b);
            if (order != 0) {
                return order < 0;
            }
        }
        // At one position: the rows first, as they are known; then the walls behind it.
        return x.kind != y.kind ? x.kind == head::row : a < b;
    }

    [[nodiscard]] std::strong_ordering compare_heads(std::size_t a, std::size_t b) const {
        const bool a_row = keys_[a].kind == head::row;
        const bool b_row = keys_[b].kind == head::row;
        if (a_row) {
            return b_row ? compare(front(a), front(b)) : compare(front(a), *lanes_[b].covered);
        }
        return b_row ? compare(*lanes_[a].covered, front(b))
                     : compare(*lanes_[a].covered, *lanes_[b].covered);
    }

    const Order* order_;
    scan way_;
    std::vector<lane_state> lanes_;
    std::vector<lane_key> keys_;
    detail::loser_tree tree_;
    /// The key of the row that `take` gave last.
    lane_key taken_{};
};

}  // namespace v1
}  // namespace shardweave

#endif
