// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_MERGE_LOOPS_HPP
#define SHARDWEAVE_READ_DETAIL_MERGE_LOOPS_HPP

/// How a merge takes many rows: by the tree, from two lanes, or from a hot one.

#include <shardweave/read/detail/head_key.hpp>
#include <shardweave/read/detail/loser_tree.hpp>
#include <shardweave/read/detail/merge_lanes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// The loops that take rows from lanes, and what they have learned about the data: whether the
/// first words of keys often tie, and which lane is hot.
template <class Item, class Order>
class merge_loops {
public:
    using lanes_type = merge_lanes<Item, Order>;

    /// See `merge::run`.
    template <class Out>
    std::size_t run(lanes_type& lanes, std::size_t most, Out& out) {
        std::size_t left = most;
        why stopped = lanes.size() == 1 ? why::streak : why::done;
        while (stopped != why::tie && left != 0 && lanes.has_row(lanes.top())) {
            if (stopped == why::streak) {
                run_alone(lanes, left, out);
            }
            if (lanes.size() == 2 && ties_ < many_ties) {
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

    static constexpr std::ptrdiff_t few_rows = 8;
    /// Runs up to this length are followed row by row: to search for their end would cost more.
    static constexpr std::ptrdiff_t short_run = 32;
    /// After so many wins on end, a lane leaves the tree.
    static constexpr std::size_t patience = 4;
    static constexpr std::size_t nobody = ~std::size_t{0};
    /// So many ties of the first words say that the second ones are needed.
    static constexpr std::uint32_t many_ties = 64;

    template <words Words>
    [[gnu::always_inline]] contender pass(lanes_type& lanes, std::size_t lane) {
        if constexpr (Words == words::both) {
            return lanes.template pass<Words>(lane, lanes.tie());
        } else {
            return lanes.template pass<Words>(lane, [&lanes, this](std::size_t a, std::size_t b) {
                ++ties_;
                return lanes.before(a, b);
            });
        }
    }

    template <words Words>
    [[nodiscard]] static bool tied_with(const lanes_type& lanes, const head_key& taken,
                                        const contender& next) {
        return Words == words::both
                   ? next.key == taken
                   : next.key.high == taken.high && lanes.key(next.player).low == taken.low;
    }

    /// Takes rows by the tree.
    template <words Words, class Out>
    [[gnu::noinline]] why run_tree(lanes_type& lanes, std::size_t& left, Out& out) {
        std::size_t lane = lanes.top();
        std::size_t streak = 0;
        // Two lanes have a faster loop to go back to.
        std::size_t steps =
            lanes.size() == 2 && ties_ < many_ties ? std::min<std::size_t>(left, few_rows) : left;
        left -= steps;
        why stopped = why::done;
        while (steps != 0 && lanes.has_row(lane)) {
            const head_key taken = lanes.key(lane);
            out(lane, std::move(*lanes.head_of(lane).next));
            --steps;
            const contender next = pass<Words>(lanes, lane);
            if (tied_with<Words>(lanes, taken, next)) [[unlikely]] {
                stopped = why::tie;
                break;
            }
            streak = (streak + 1) & mask_of(next.player == lane);
            lane = next.player;
            if (streak == patience || lane == hot_) [[unlikely]] {
                stopped = why::streak;
                break;
            }
        }
        left += steps;
        return stopped;
    }

    /// Takes the winner's rows while those after them are before any other lane's: a few one after
    /// another, then in steps that double, and halve at the end. Leaves the winner a row.
    template <class Out>
    [[gnu::noinline]] void run_alone(lanes_type& lanes, std::size_t& left, Out& out) {
        const std::size_t lane = lanes.top();
        auto& first = lanes.head_of(lane);
        const bool alone = lanes.size() == 1;
        const head_key rival = alone ? head_key{} : lanes.rival();
        Item* const begin = first.next;
        Item* const last = begin + std::min(lanes.waiting(lane) - 1, left);
        Item* next = begin;
        for (Item* const to = begin + std::min(last - begin, short_run);
             next != to && !alone && lanes.key_of(next[1]) < rival; ++next) {
            out(lane, std::move(*next));
        }
        std::ptrdiff_t step = alone ? last - begin : next - begin == short_run ? short_run : 0;
        for (bool grows = true; step != 0;) {
            if (step <= last - next && (alone || lanes.key_of(next[step]) < rival)) {
                for (Item* const to = next + step; next != to; ++next) {
                    out(lane, std::move(*next));
                }
                step = grows ? 2 * step : step;
            } else {
                grows = false;
                step /= 2;
            }
        }
        first.next = next;
        lanes.refresh(lane);
        const auto taken = static_cast<std::size_t>(next - begin);
        left -= taken;
        if (taken >= few_rows / 2) {
            hot_ = lane;
            heat_ = few_rows;
        } else if (heat_ == 0) {
            hot_ = nobody;
        } else {
            --heat_;
        }
    }

    /// Two lanes, while both have some rows, and the first words of their keys differ.
    template <class Out>
    [[gnu::noinline]] why run_two(lanes_type& lanes, std::size_t& left, Out& out) {
        const auto key = [&order = lanes.order(), flip = lanes.flip()](const Item& row) {
            return order.prefix(row).high ^ flip;
        };
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
            } else {
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
        lanes.head_of(0).next = a;
        lanes.head_of(1).next = b;
        lanes.refresh(0);
        lanes.refresh(1);
        lanes.play();
        return streak ? why::streak : why::done;
    }

    std::uint32_t ties_ = 0;
    /// The lane that leaves the tree whenever it wins, and how often that may be in vain.
    std::size_t hot_ = nobody;
    std::size_t heat_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
