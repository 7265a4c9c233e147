// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_MERGE_LANES_HPP
#define SHARDWEAVE_READ_DETAIL_MERGE_LANES_HPP

/// What a merge knows of its lanes.

#include <shardweave/core/detail/prefetch.hpp>
#include <shardweave/read/detail/directed_order.hpp>
#include <shardweave/read/detail/head_key.hpp>
#include <shardweave/read/detail/loser_tree.hpp>
#include <shardweave/read/detail/small_array.hpp>
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
namespace detail {

/// The lanes of a merge: their rows, the keys of their heads, and the tree over these. Rows are
/// moved out by whoever takes them, and then passed.
template <class Item, class Order>
class merge_lanes {
public:
    using position_type = typename Order::position_type;
    static constexpr bool keeps_keys = directed_order<Item, Order>::keys_are_far;

    /// What comes next in a lane.
    enum class head : std::uint8_t { row, wall, end };

    /// What the loops need of a lane. A wall without a position is before everything, an end after.
    struct head_of_lane {
        Item* next = nullptr;
        Item* end = nullptr;
        /// The key of `next`, and those after it; null where keys are not kept.
        const head_key* keys = nullptr;
        /// The key of the row after `next`, so that nobody waits for it when its turn comes.
        head_key following{};
    };

    merge_lanes(const Order& order, scan way, std::size_t lanes)
        : by_(order, way), lanes_(lanes), heads_(lanes), tree_(lanes), keys_(tree_.size() + 1) {
        for (std::size_t lane = 0; lane != keys_.size(); ++lane) {
            keys_[lane] = lane < lanes ? head_key{} : last_key;
        }
    }

    [[nodiscard]] const Order& order() const noexcept { return by_.order(); }
    /// The order as it is walked.
    [[nodiscard]] const directed_order<Item, Order>& by() const noexcept { return by_; }
    [[nodiscard]] std::size_t size() const noexcept { return lanes_.size(); }
    [[nodiscard]] head_of_lane& head_of(std::size_t lane) noexcept { return heads_[lane]; }
    [[nodiscard]] const head_of_lane& head_of(std::size_t lane) const noexcept {
        return heads_[lane];
    }
    [[nodiscard]] const head_key& key(std::size_t lane) const noexcept { return keys_[lane]; }
    [[nodiscard]] std::size_t top() const noexcept { return tree_.winner(); }
    [[nodiscard]] bool has_row(std::size_t lane) const noexcept {
        return heads_[lane].next != heads_[lane].end;
    }
    [[nodiscard]] std::size_t waiting(std::size_t lane) const noexcept {
        return static_cast<std::size_t>(heads_[lane].end - heads_[lane].next);
    }
    [[nodiscard]] head state(std::size_t lane) const noexcept {
        return has_row(lane) ? head::row : lanes_[lane].finished ? head::end : head::wall;
    }
    [[nodiscard]] bool finished(std::size_t lane) const noexcept { return lanes_[lane].finished; }

    /// Up to where the lane's rows are known.
    [[nodiscard]] const std::optional<position_type>& covered(std::size_t lane) const {
        const lane_state& at = lanes_[lane];
        if (at.covered_by_rows) {
            at.covered = order().position_of(at.rows.back());
            at.covered_by_rows = false;
        }
        return at.covered;
    }

    /// The key of one of a lane's waiting rows.
    [[nodiscard, gnu::always_inline]] head_key key_in(const head_of_lane& lane,
                                                      const Item* row) const {
        if constexpr (keeps_keys) {
            if (lane.keys != nullptr) {
                return lane.keys[row - lane.next];
            }
        }
        return by_.key_of(*row);
    }
    /// The lane's rows before `next` were taken.
    [[gnu::always_inline]] static void skip_to(head_of_lane& lane, Item* next) {
        if constexpr (keeps_keys) {
            if (lane.keys != nullptr) {
                lane.keys += next - lane.next;
            }
        }
        lane.next = next;
    }

    /// See `merge::feed`.
    [[nodiscard]] std::optional<std::size_t> append(std::size_t lane, std::vector<Item>&& rows) {
        lane_state& at = lanes_[lane];
        if (at.covered_by_rows ? !(by_.compare(at.rows.back(), rows.front()) < 0)
                               : at.covered && !(by_.compare(*at.covered, rows.front()) < 0)) {
            return 0;
        }
        head_of_lane& first = heads_[lane];
        const bool keeps =
            keeps_keys && first.next == first.end && rows.size() * size() >= many_rows;
        if (keeps) {
            at.keys.resize(rows.size());
        }
        head_key* const keys = keeps ? at.keys.data() : nullptr;
        const std::size_t sorted = by_.sorted_rows(rows, keys);
        if (sorted != rows.size()) {
            return sorted;
        }
        if (first.next == first.end) {
            at.rows = std::move(rows);
        } else {
            at.rows.erase(at.rows.begin(), at.rows.begin() + (first.next - at.rows.data()));
            at.rows.insert(at.rows.end(), std::make_move_iterator(rows.begin()),
                           std::make_move_iterator(rows.end()));
        }
        at.covered_by_rows = true;
        first.next = at.rows.data();
        first.end = first.next + at.rows.size();
        first.keys = keys;
        refresh(lane);
        return std::nullopt;
    }

    void cover(std::size_t lane, const position_type& to) {
        if (!covered(lane) || by_.compare(*lanes_[lane].covered, to) < 0) {
            lanes_[lane].covered = to;
        }
        refresh(lane);
    }

    void finish(std::size_t lane) {
        lanes_[lane].finished = true;
        refresh(lane);
    }

    void reopen(std::size_t lane) {
        lanes_[lane].finished = false;
        refresh(lane);
    }

    /// Reads a lane's head anew.
    void refresh(std::size_t lane) {
        head_of_lane& first = heads_[lane];
        if (first.next != first.end) {
            keys_[lane] = key_in(first, first.next);
            if (first.next + 1 != first.end) {
                first.following = key_in(first, first.next + 1);
            } else {
                static_cast<void>(covered(lane));  // while the last row is still there
            }
        } else if (lanes_[lane].finished) {
            keys_[lane] = last_key;
        } else {
            const auto& at = covered(lane);
            keys_[lane] = at ? by_.key_of(order().prefix(*at)) : head_key{};
        }
    }

    /// Copies of where all lies, for loops whose writes elsewhere can not change these.
    struct places {
        head_of_lane* heads;
        head_key* keys;
        loser_tree::places tree;
    };
    [[nodiscard]] places view() noexcept { return {heads_.data(), keys_.data(), tree_.view()}; }

    /// The winner's row was taken: on to its next one. Returns the new winner; see `loser_tree`.
    template <words Words, class Tied>
    [[gnu::always_inline]] contender pass(const places& at, std::size_t winner, const Tied& tied) {
        head_of_lane& first = at.heads[winner];
        head_key key = first.following;
        Item* const next = first.next + 1;
        Item* const end = first.end;
        skip_to(first, next);
        if (end - next > 1) [[likely]] {
            if (keeps_keys && first.keys != nullptr) {
                // With many lanes, what is fetched for later rows is gone when they come.
                prefetch_after(next, 2 * sizeof(Item));
                prefetch_after(first.keys, 4 * sizeof(head_key));
            } else {
                by_.prefetch_beyond(next, end);
            }
            assign(first.following, key_in(first, next + 1));
        } else {
            key = near_the_end(winner, key);
        }
        assign(at.keys[winner], key);
        return at.tree.template replay<Words>(winner, {winner, key}, at.keys, tied);
    }

    /// Plays the whole tree, or the winner's way up.
    void play() { tree_.play(keys_.data(), tie()); }
    void replay() {
        tree_.template replay<words::both>({top(), keys_[top()]}, keys_.data(), tie());
    }
    /// Takes the winner out, and puts it back in; see `loser_tree`. Requires two lanes.
    contender leave() { return tree_.leave({tree_.size(), last_key}, keys_.data(), tie()); }
    void enter(std::size_t lane) {
        refresh(lane);
        tree_.enter(lane, keys_.data(), tie());
    }

    /// Whether lane a's head comes before lane b's.
    [[nodiscard, gnu::noinline]] bool before(std::size_t a, std::size_t b) const {
        return keys_[a] == keys_[b] ? before_among_equal_keys(a, b) : keys_[a] < keys_[b];
    }
    /// The same for heads of equal keys.
    [[nodiscard]] auto tie() const {
        return [this](std::size_t a, std::size_t b) { return before_among_equal_keys(a, b); };
    }

    [[nodiscard, gnu::noinline]] bool before_among_equal_keys(std::size_t a, std::size_t b) const {
        if (a >= size() || b >= size()) {
            return a < b;
        }
        const head x = state(a);
        const head y = state(b);
        const bool x_start = x == head::wall && !lanes_[a].covered;
        const bool y_start = y == head::wall && !lanes_[b].covered;
        if (x_start || y_start) {
            return x_start && (!y_start || a < b);
        }
        if (x == head::end || y == head::end) {
            return x != head::end || (y == head::end && a < b);
        }
        const std::strong_ordering order = compare_heads(a, b);
        if (order != 0) {
            return order < 0;
        }
        // At one position: the rows first, as they are known; then the walls behind it.
        return x != y ? x == head::row : a < b;
    }

private:
    struct lane_state {
        std::vector<Item> rows;
        /// Of text, the keys of many rows are kept from when their order was checked: to read them
        /// once more where they lie would take longer than all else.
        std::vector<head_key> keys;
        mutable std::optional<position_type> covered;
        /// The last row says up to where, until somebody asks, or it is about to be taken.
        mutable bool covered_by_rows = false;
        bool finished = false;
    };

    [[nodiscard]] std::strong_ordering compare_heads(std::size_t a, std::size_t b) const {
        const auto with = [this, b](const auto& of_a) {
            return has_row(b) ? by_.compare(of_a, *heads_[b].next)
                              : by_.compare(of_a, *lanes_[b].covered);
        };
        return has_row(a) ? with(*heads_[a].next) : with(*lanes_[a].covered);
    }

    /// What `pass` does where one row is left, or none: returns the head's key.
    [[nodiscard, gnu::noinline]] head_key near_the_end(std::size_t lane, head_key key) {
        if (has_row(lane)) {
            static_cast<void>(covered(lane));  // while the last row is still there
            return key;
        }
        lanes_[lane].rows.clear();
        heads_[lane].next = heads_[lane].end = lanes_[lane].rows.data();
        refresh(lane);
        return keys_[lane];
    }

    /// If all lanes have as many as this one. Fewer are still in a cache when they are merged.
    static constexpr std::size_t many_rows = 1024;
    static constexpr head_key last_key{~std::uint64_t{0}, ~std::uint64_t{0}};
    directed_order<Item, Order> by_;
    small_array<lane_state, loser_tree::few> lanes_;
    small_array<head_of_lane, loser_tree::few> heads_;
    loser_tree tree_;
    /// One more than players: who left the tree has the last key.
    small_array<head_key, loser_tree::few + 1> keys_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
