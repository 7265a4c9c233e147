// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_MOVE_PLAN_TEXT_HPP
#define SHARDWEAVE_MOVE_PLAN_TEXT_HPP

/// A rebalancing plan as text, for the person who has to agree to it.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/move/rebalance.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

inline std::string decimals(double value, int count) {
    char digits[64];
    const auto written =
        std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, count);
    return {digits, written.ptr};
}

/// Sorted numbers as "0-3, 7, 9-10", cut after `most` ranges.
inline std::string ranges(std::vector<std::uint32_t> numbers, std::size_t most) {
    std::sort(numbers.begin(), numbers.end());
    std::string text;
    std::size_t written = 0;
    for (std::size_t i = 0; i != numbers.size();) {
        if (written++ == most) {
            return concat(text, " and ", numbers.size() - i, " more");
        }
        std::size_t last = i;
        while (last + 1 != numbers.size() && numbers[last + 1] == numbers[last] + 1) {
            ++last;
        }
        text += concat(i == 0 ? "" : ", ", numbers[i]);
        if (last != i) {
            text += concat("-", numbers[last]);
        }
        i = last + 1;
    }
    return text;
}

/// Rows of cells, each column as wide as its widest cell.
inline std::string columns(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i != row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i != row.size(); ++i) {
            line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace detail

/// The plan for people: a line of sums, a line for each shard (from -> to), a line for each pair of
/// shards with the slots that go that way. The text is stable; it is not for programs to read.
[[nodiscard]] inline std::string to_text(const rebalance_plan& plan) {
    constexpr std::size_t most_ranges = 12;  // beyond that nobody reads on
    const auto name_of = [](std::string_view shard) {
        const std::string quoted = detail::quoted(shard);
        return quoted.size() == shard.size() + 2 ? std::string{shard} : quoted;
    };
    std::size_t slots = 0;
    std::uint64_t load = 0;
    for (const shard_change& each : plan.shards) {
        slots += each.slots_before;
        load += each.load_before;
    }
    std::uint64_t moved = 0;
    std::map<std::pair<std::string_view, std::string_view>,
             std::pair<std::uint64_t, std::vector<std::uint32_t>>>
        flows;
    for (const slot_move& each : plan.moves) {
        moved += each.load;
        auto& [flow_load, flow_slots] = flows[{each.from, each.to}];
        flow_load += each.load;
        flow_slots.push_back(each.slot.value());
    }
    const double percent =
        load == 0 ? 0 : 100 * static_cast<double>(moved) / static_cast<double>(load);
    std::string text = detail::concat(plan.moves.size(), " of ", slots, " slots move, ",
                                      detail::decimals(percent, 2), " % of the load; peak/average ",
                                      detail::decimals(plan.peak_before(), 3), " -> ",
                                      detail::decimals(plan.peak_after(), 3), "\n");
    if (plan.left_out != 0) {
        text += detail::concat(plan.left_out, " more moves are left for another plan\n");
    }

    std::vector<std::vector<std::string>> rows{{"shard", "weight", "slots", "load", ""}};
    const auto arrow = [](std::uint64_t before, std::uint64_t after) {
        return before == after ? detail::concat(before) : detail::concat(before, " -> ", after);
    };
    for (const shard_change& each : plan.shards) {
        const bool added =
            std::find(plan.added.begin(), plan.added.end(), each.shard) != plan.added.end();
        rows.push_back({name_of(each.shard), detail::concat(each.weight),
                        arrow(each.slots_before, each.slots_after),
                        arrow(each.load_before, each.load_after),
                        added              ? "new"
                        : each.weight == 0 ? "drained"
                                           : ""});
    }
    text += "\n" + detail::columns(rows);

    rows = {{"from -> to", "slots", "load", "which"}};
    for (const auto& [ends, flow] : flows) {
        rows.push_back({detail::concat(name_of(ends.first), " -> ", name_of(ends.second)),
                        detail::concat(flow.second.size()), detail::concat(flow.first),
                        detail::ranges(flow.second, most_ranges)});
    }
    return flows.empty() ? text : text + "\n" + detail::columns(rows);
}

}  // namespace v1
}  // namespace shardweave

#endif
