// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_MERGE_LOOPS_HPP
#define SHARDWEAVE_READ_DETAIL_MERGE_LOOPS_HPP

/// How a merge takes many rows: by the tree, from two lanes, or from a hot one.

#include <shardweave/read/detail/head_key.hpp>
#include <shardweave/read/detail/loser_tree.hpp>
#include <shardweave/read/detail/merge_lanes.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// The loops that take rows from lanes, and what they have learned about the data: whether the
/// first words of keys often tie.
template <class Item, class Order>
class merge_loops {
public:
    using lanes_type = merge_lanes<Item, Order>;

    /// See `merge::run`.
    template <class Out>
    std::size_t run(lanes_type& lanes, std::size_t most, Out& out) {
        std::size_t left = most;
        why stopped = why::done;
        while (stopped != why::tie && left != 0 && lanes.has_row(lanes.top())) {
            if (lanes.size() == 1) {
                take_run(lanes, 0, nullptr, left, out);
                lanes.refresh(0);
            } else if (stopped == why::streak) {
                stopped = run_hot(lanes, left, out);
                continue;
            } else if (lanes.size() == 2 && ties_ < many_ties) {
                stopped = run_two(lanes, left, out);
                if (stopped == why::streak) {
                    continue;
                }
            }
            stopped = ties_ < many_ties ? run_tree<words::high>(lanes, left, out)
                                        : run_tree<words::both>(lanes, left, out);
        }
        return most - left;
    }

private:
    /// Why a loop came to its end.
    enum class why : std::uint8_t { done, tie, streak };

    static constexpr std::size_t few_rows = 8;
    /// Runs up to this length are followed row by row: to search for their end would cost more.
    static constexpr std::ptrdiff_t short_run = 32;
    /// After so many wins on end, a lane leaves the tree.
    static constexpr std::size_t patience = 4;
    /// How often in vain.
    static constexpr std::size_t most_heat = 8;
    /// So many ties of the first words say that the second ones are needed.
    static constexpr std::uint32_t many_ties = 16;

    /// Takes rows by the tree.
    template <words Words, class Out>
    [[gnu::noinline]] why run_tree(lanes_type& lanes, std::size_t& left, Out& out) {
        constexpr bool high = Words == words::high;
        const auto at = lanes.view();
        const auto tied = [&](std::size_t a, std::size_t b) {
            ties_ += high ? 1 : 0;
            return lanes.before(a, b);
        };
        // Two lanes have a faster loop to go back to.
        std::size_t steps =
            lanes.size() == 2 && ties_ < many_ties ? std::min<std::size_t>(left, few_rows) : left;
        left -= steps;
        why stopped = why::done;
        contender top{lanes.top(), lanes.key(lanes.top())};
        std::size_t streak = 0;
        while (steps != 0) {
            auto& first = at.heads[top.player];
            if (first.next == first.end) {
                break;
            }
            if constexpr (high) {
                top.key.low = at.keys[top.player].low;
            }
            out(top.player, std::move(*first.next));
            --steps;
            const contender next = lanes.template pass<Words>(at, top.player, tied);
            if (next.key.high == top.key.high) [[unlikely]] {
                if ((high ? at.keys[next.player].low : next.key.low) == top.key.low) {
                    stopped = why::tie;
                    break;
                }
            }
            streak = (streak + 1) & mask_of(next.player == top.player);
            top = next;
            if (streak == patience) [[unlikely]] {
                stopped = why::streak;
                break;
            }
        }
        left += steps;
        return stopped;
    }

    /// Takes the winner out of the tree, and merges it with the rest: one comparison a row while
    /// it keeps winning.
    template <class Out>
    [[gnu::noinline]] why run_hot(lanes_type& lanes, std::size_t& left, Out& out) {
        const auto at = lanes.view();
        const std::size_t hot = lanes.top();
        auto& first = at.heads[hot];
        contender rival = lanes.leave();
        std::size_t heat = most_heat;
        why stopped = why::done;
        while (stopped == why::done) {
            const std::size_t taken = take_run(lanes, hot, &rival.key, left, out);
            const head_key key = lanes.key_in(first, first.next);
            heat = taken < 2 ? heat - 1 : most_heat;
            if (left == 0 || heat == 0 || first.end - first.next == 1 || !(rival.key < key)) {
                break;
            }
            stopped = run_rivals(lanes, rival, key, left, out);
            if (!(key < rival.key)) {
                break;
            }
        }
        lanes.enter(hot);
        return stopped;
    }

    /// Takes the rows of the winner, and of those who win then, that come before `end`.
    template <class Out>
    [[gnu::always_inline]] static why run_rivals(lanes_type& lanes, contender& rival,
                                                 const head_key& end, std::size_t& left, Out& out) {
        const auto at = lanes.view();
        for (std::size_t streak = 0; streak != patience;) {
            auto& first = at.heads[rival.player];
            if (first.next == first.end || left == 0) {
                return why::done;
            }
            out(rival.player, std::move(*first.next));
            --left;
            const contender next = lanes.template pass<words::both>(at, rival.player, lanes.tie());
            if (next.key == rival.key) [[unlikely]] {
                return why::tie;
            }
            streak = next.player == rival.player ? streak + 1 : 0;
            rival = next;
            if (!(rival.key < end)) {
                return why::done;
            }
        }
        return why::streak;
    }

    /// Takes a lane's rows that come before `end`, a few one after another, then in steps that
    /// double, and halve at the end. Leaves the lane a row. Returns how many.
    template <class Out>
    [[gnu::always_inline]] static std::size_t take_run(lanes_type& lanes, std::size_t lane,
                                                       const head_key* end, std::size_t& left,
                                                       Out& out) {
        auto& first = lanes.head_of(lane);
        Item* const begin = first.next;
        Item* const last = begin + std::min(lanes.waiting(lane) - 1, left);
        Item* next = begin;
        if (end == nullptr) {
            next = hand_out(out, lane, begin, last);
        } else {
            const head_key limit = *end;
            Item* const to = begin + std::min(last - begin, short_run);
            while (next != to && lanes.key_in(first, next) < limit) {
                out(lane, std::move(*next++));
            }
            if (next - begin == short_run) {
                std::ptrdiff_t step = short_run;
                for (bool grows = true; step != 0;) {
                    if (step <= last - next && lanes.key_in(first, next + step - 1) < limit) {
                        next = hand_out(out, lane, next, next + step);
                        step = grows ? 2 * step : step;
                    } else {
                        grows = false;
                        step /= 2;
                    }
                }
            }
        }
        lanes.skip_to(first, next);
        const auto taken = static_cast<std::size_t>(next - begin);
        left -= taken;
        return taken;
    }

    template <class Out>
    static Item* hand_out(Out& out, std::size_t lane, Item* next, Item* end) {
        if constexpr (std::invocable<Out&, std::size_t, Item*, Item*>) {
            out(lane, next, end);
        } else {
            for (; next != end; ++next) {
                out(lane, std::move(*next));
            }
        }
        return end;
    }

    /// Two lanes, while both have some rows, and the first words of their keys differ.
    template <class Out>
    [[gnu::noinline]] why run_two(lanes_type& lanes, std::size_t& left, Out& out) {
        const auto key = [&lanes](const Item& row) { return lanes.by().key_of(row).high; };
        constexpr std::size_t block = 64;
        Item* a = lanes.head_of(0).next;
        Item* b = lanes.head_of(1).next;
        std::uint64_t first = lanes.key(0).high;
        std::uint64_t second = lanes.key(1).high;
        bool lopsided = false;
        bool streak = false;
        while (!streak) {
            const auto rows = static_cast<std::size_t>(
                std::min(lanes.head_of(0).end - a, lanes.head_of(1).end - b));
            std::size_t steps = std::min({left, block, std::max<std::size_t>(rows, 2) - 2});
            const std::size_t begin = steps;
            const Item* const b_begin = b;
            if (lopsided) {
                for (; steps != 0 && first != second; --steps) {
                    if (second < first) {
                        out(1, std::move(*b));
                        second = key(*++b);
                    } else {
                        out(0, std::move(*a));
                        first = key(*++a);
                    }
                }
            }
            for (; steps != 0 && first != second; --steps) {
                // Both keys that may come next are loaded before it is known which one does.
                const std::uint64_t after_first = key(a[1]);
                const std::uint64_t after_second = key(b[1]);
                const std::uint64_t mask = mask_of(second < first);
                Item* const from = choose(mask, b, a);
                b += static_cast<std::ptrdiff_t>(mask & 1U);
                a += 1 - static_cast<std::ptrdiff_t>(mask & 1U);
                first = choose(mask, first, after_first);
                second = choose(mask, after_second, second);
                out(static_cast<std::size_t>(mask & 1U), std::move(*from));
            }
            const std::size_t taken = begin - steps;
            left -= taken;
            if (taken != block) {
                break;
            }
            const auto of_second = static_cast<std::size_t>(b - b_begin);
            lopsided = of_second < block / 6 || of_second > block - block / 6;
            streak = of_second == 0 || of_second == block;
        }
        lanes.skip_to(lanes.head_of(0), a);
        lanes.skip_to(lanes.head_of(1), b);
        lanes.refresh(0);
        lanes.refresh(1);
        lanes.play();
        return streak ? why::streak : why::done;
    }

    /// Texts often begin alike: with a date, or in the same seconds.
    std::uint32_t ties_ = Order::prefetches ? many_ties : 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
