// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_MERGE_HPP
#define SHARDWEAVE_READ_MERGE_HPP

/// The k-way merge of lanes that are fed as answers come in.

#include <shardweave/read/detail/merge_lanes.hpp>
#include <shardweave/read/detail/merge_loops.hpp>
#include <shardweave/read/detail/waiting_rows.hpp>
#include <shardweave/read/query.hpp>

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
/// comparisons a row, without a branch that depends on them. A lane that keeps winning leaves the
/// tree and runs against the winner of the others; two lanes, and one, have loops of their own.
/// Stable: equal positions come in lane order. Items are moved, never copied. Nothing is allocated
/// but room for more than 16 lanes, the position of a lane's last row, if that has text, and room
/// for the keys of text of more than a thousand rows of all lanes, which is used again. Not
/// thread-safe.
template <class Item, class Order>
class merge {
public:
    using position_type = typename Order::position_type;

    /// What comes next in a lane.
    using head = typename detail::merge_lanes<Item, Order>::head;

    merge(const Order& order, scan way, std::size_t lanes) : lanes_(order, way, lanes) {}

    /// Appends rows to a lane. They must be beyond what it has and in strict order; else the number
    /// of the first that is not is returned, and nothing is appended. `settle` before the next
    /// `top`.
    [[nodiscard]] std::optional<std::size_t> feed(std::size_t lane, std::vector<Item>&& rows) {
        if (rows.empty()) {
            return std::nullopt;
        }
        const std::optional<std::size_t> wrong = lanes_.append(lane, std::move(rows));
        if (!wrong) {
            changed(lane);
        }
        return wrong;
    }

    /// Moves a lane's wall: all its rows up to `to` are known.
    void cover(std::size_t lane, const position_type& to) {
        lanes_.cover(lane, to);
        changed(lane);
    }

    /// The lane has no rows but those that it was fed.
    void finish(std::size_t lane) {
        lanes_.finish(lane);
        changed(lane);
    }

    /// The lane may have more rows after all.
    void reopen(std::size_t lane) {
        lanes_.reopen(lane);
        changed(lane);
    }

    /// Looks at the lanes anew, after some were fed, covered or finished. O(k), but O(log k) when
    /// only `top()` was.
    void settle() {
        if (stale_ == stale::top) {
            lanes_.replay();
        } else if (stale_ == stale::all) {
            lanes_.play();
        }
        stale_ = stale::nothing;
    }

    /// The lane whose head is first. Requires at least one lane, and `settle` since the last
    /// change.
    [[nodiscard]] std::size_t top() const noexcept { return lanes_.top(); }
    [[nodiscard]] head state(std::size_t lane) const noexcept { return lanes_.state(lane); }

    /// Takes the row of `top()`, which must have one, and plays its lane again. O(log k).
    [[nodiscard]] Item take() {
        Item item = std::move(*lanes_.head_of(top()).next);
        lanes_.template pass<detail::words::both>(lanes_.view(), top(), lanes_.tie());
        return item;
    }

    /// Takes up to `most` rows, calling `out(lane, Item&&)` for each, until what comes next is no
    /// row, or may have the position of the last one: see `next_equals`. Returns how many. Where
    /// `out(lane, Item* first, Item* last)` can be called, too, it is told at once of many rows of
    /// one lane, to be moved from.
    template <class Out>
    std::size_t run(std::size_t most, Out&& out) {
        return loops_.run(lanes_, most, out);
    }

    /// True when the next row has the position of `item`, which `take` or `run` just gave.
    [[nodiscard]] bool next_equals(const Item& item) const {
        return lanes_.has_row(top()) && order().compare(*lanes_.head_of(top()).next, item) == 0;
    }

    /// Up to where the lane's rows are known; nothing when it was never fed.
    [[nodiscard]] const std::optional<position_type>& covered(std::size_t lane) const {
        return lanes_.covered(lane);
    }
    [[nodiscard]] bool finished(std::size_t lane) const noexcept { return lanes_.finished(lane); }
    /// Rows that wait in the lane.
    [[nodiscard]] std::size_t buffered(std::size_t lane) const noexcept {
        return lanes_.waiting(lane);
    }
    [[nodiscard]] std::size_t lanes() const noexcept { return lanes_.size(); }

    [[nodiscard]] const Order& order() const noexcept { return lanes_.order(); }

    /// The position of the n-th waiting row over all lanes, counting equal positions once; nothing
    /// when there are fewer. O(n log k); only the rare second round needs it.
    [[nodiscard]] std::optional<position_type> nth_waiting(std::size_t n) const {
        const auto before = [this](const Item& a, const Item& b) { return compare(a, b) < 0; };
        detail::waiting_rows<Item, decltype(before)> rows{before};
        for (std::size_t lane = 0; lane != lanes(); ++lane) {
            rows.add(lanes_.head_of(lane).next, lanes_.head_of(lane).end);
        }
        const Item* last = nullptr;
        while (const Item* row = rows.next()) {
            if (last == nullptr || order().compare(*last, *row) != 0) {
                last = row;
                if (--n == 0) {
                    return order().position_of(*row);
                }
            }
        }
        return std::nullopt;
    }

    /// Compares items and positions in the direction of the merge.
    template <class A, class B>
    [[nodiscard]] std::strong_ordering compare(const A& a, const B& b) const {
        return lanes_.by().compare(a, b);
    }

private:
    enum class stale : std::uint8_t { nothing, top, all };

    void changed(std::size_t lane) {
        stale_ = stale_ != stale::all && lane == top() ? stale::top : stale::all;
    }

    detail::merge_lanes<Item, Order> lanes_;
    detail::merge_loops<Item, Order> loops_;
    stale stale_ = stale::all;
};

}  // namespace v1
}  // namespace shardweave

#endif
