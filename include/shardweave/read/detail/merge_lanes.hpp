// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_MERGE_LANES_HPP
#define SHARDWEAVE_READ_DETAIL_MERGE_LANES_HPP

/// What a merge knows of its lanes.

#include <shardweave/core/detail/prefetch.hpp>
#include <shardweave/read/detail/head_key.hpp>
#include <shardweave/read/detail/loser_tree.hpp>
#include <shardweave/read/detail/order_key.hpp>
#include <shardweave/read/detail/small_array.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
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

    /// What comes next in a lane.
    enum class head : std::uint8_t { row, wall, end };

    struct lane_state {
        std::vector<Item> rows;
        std::optional<position_type> covered;
        bool finished = false;
    };

    /// What the loops need of a lane. A wall without a position is before everything, an end after.
    struct head_of_lane {
        Item* next = nullptr;
        Item* end = nullptr;
        /// The key of the row after `next`, so that nobody waits for it when its turn comes.
        head_key following{};
    };

    merge_lanes(const Order& order, scan way, std::size_t lanes)
        : order_(&order), flip_(way == scan::forward ? 0 : ~std::uint64_t{0}), lanes_(lanes),
          heads_(lanes), tree_(lanes), keys_(tree_.size()) {
        for (std::size_t lane = 0; lane != keys_.size(); ++lane) {
            keys_[lane] = lane < lanes ? head_key{} : last_key;
        }
    }

    [[nodiscard]] std::uint64_t flip() const noexcept { return flip_; }
    [[nodiscard]] const Order& order() const noexcept { return *order_; }
    [[nodiscard]] std::size_t size() const noexcept { return lanes_.size(); }
    /// A lane that was changed is to be refreshed, its waiting rows being its head's.
    [[nodiscard]] lane_state& lane(std::size_t number) noexcept { return lanes_[number]; }
    [[nodiscard]] const lane_state& lane(std::size_t number) const noexcept {
        return lanes_[number];
    }
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

    /// Compares items and positions in the direction of the merge.
    template <class A, class B>
    [[nodiscard]] std::strong_ordering compare(const A& a, const B& b) const {
        return flip_ == 0 ? order_->compare(a, b) : order_->compare(b, a);
    }

    [[nodiscard]] head_key key_of(const sort_prefix& prefix) const noexcept {
        return {prefix.high ^ flip_, prefix.low ^ flip_};
    }
    [[nodiscard]] head_key key_of(const Item& row) const { return key_of(order_->prefix(row)); }

    /// How many of the first rows are in strict order.
    [[nodiscard]] std::size_t sorted_rows(const std::vector<Item>& rows) const {
        const Item* const end = rows.data() + rows.size();
        head_key last = key_of(rows.front());
        for (std::size_t i = 1; i != rows.size(); ++i) {
            if constexpr (Order::prefetches) {
                prefetch_beyond(&rows[i], end);
            }
            const head_key key = key_of(rows[i]);
            if (!(last < key) && !(last == key && compare(rows[i - 1], rows[i]) < 0)) {
                return i;
            }
            last = key;
        }
        return rows.size();
    }

    void refresh(std::size_t lane) {
        head_of_lane& first = heads_[lane];
        const lane_state& at = lanes_[lane];
        if (first.next != first.end) {
            keys_[lane] = key_of(*first.next);
            if (first.next + 1 != first.end) {
                first.following = key_of(first.next[1]);
            }
        } else if (at.finished) {
            keys_[lane] = last_key;
        } else {
            keys_[lane] = at.covered ? key_of(order_->prefix(*at.covered)) : head_key{};
        }
    }

    /// Fetches rows that come soon, and what they view where keys are elsewhere.
    [[gnu::always_inline]] void prefetch_beyond(const Item* next, const Item* end) const {
        // As a number, since it may lie beyond the rows.
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a hint, and nothing is read there.
        prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(next) + ahead));
        if constexpr (Order::prefetches) {
            order_->prefetch(next[std::min(keys_ahead, end - next - 1)]);
        }
    }

    /// The winner's row was taken: on to its next one. Returns the new winner; see `loser_tree`.
    template <words Words, class Tied>
    [[gnu::always_inline]] contender pass(std::size_t winner, const Tied& tied) {
        head_of_lane& first = heads_[winner];
        head_key key = first.following;
        ++first.next;
        if (first.end - first.next > 1) [[likely]] {
            prefetch_beyond(first.next, first.end);
            assign(first.following, key_of(first.next[1]));
        } else if (first.next == first.end) {
            key = drained(winner);
        }
        assign(keys_[winner], key);
        return tree_.template replay<Words>({winner, key}, keys_.data(), tied);
    }

    /// Plays the whole tree, or the winner's way up.
    void play() { tree_.play(keys_.data(), tie()); }
    void replay() {
        tree_.template replay<words::both>({top(), keys_[top()]}, keys_.data(), tie());
    }
    /// The key that the winner's rows have to beat.
    [[nodiscard]] head_key rival() const { return keys_[tree_.runner_up(keys_.data(), tie())]; }

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
    [[nodiscard]] std::strong_ordering compare_heads(std::size_t a, std::size_t b) const {
        const auto with = [this, b](const auto& of_a) {
            return has_row(b) ? compare(of_a, *heads_[b].next) : compare(of_a, *lanes_[b].covered);
        };
        return has_row(a) ? with(*heads_[a].next) : with(*lanes_[a].covered);
    }

    [[nodiscard, gnu::noinline]] head_key drained(std::size_t lane) {
        lanes_[lane].rows.clear();
        heads_[lane].next = heads_[lane].end = lanes_[lane].rows.data();
        refresh(lane);
        return keys_[lane];
    }

    static constexpr head_key last_key{~std::uint64_t{0}, ~std::uint64_t{0}};
    /// How many rows ahead keys are fetched, and how many bytes ahead the rows are.
    static constexpr std::ptrdiff_t keys_ahead = 4;
    static constexpr std::uintptr_t ahead =
        Order::prefetches ? 2 * sizeof(Item) * keys_ahead : std::max<std::size_t>(sizeof(Item), 64);

    const Order* order_;
    /// All ones when the merge walks backward: keys are complemented.
    std::uint64_t flip_;
    small_array<lane_state, loser_tree::few> lanes_;
    small_array<head_of_lane, loser_tree::few> heads_;
    loser_tree tree_;
    small_array<head_key, loser_tree::few> keys_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
