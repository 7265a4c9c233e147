// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_CONFORMANCE_HPP
#define SHARDWEAVE_TESTING_CONFORMANCE_HPP

/// For users: does my query callback keep its promises? Needs no test framework.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/testing/detail/examination.hpp>
#include <shardweave/testing/detail/trial.hpp>
#include <shardweave/testing/report.hpp>
#include <shardweave/testing/samples.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {

/// What the store holds while it is checked, and how it is asked.
template <class Item>
struct stored_rows {
    std::string shard{};
    /// Every row that is stored under each partition key, in any order. Two partition keys with
    /// rows show more than one; `samples.hpp` and the report say which rows are worth having.
    std::map<std::string, std::vector<Item>> rows{};
    /// Handed to the callback as it is; `rows` are then those that it lets through.
    std::string filter{};
    shardweave::epoch epoch{};
    /// With `per_shard`, all partition keys are also asked for together.
    shardweave::grouping grouping = shardweave::grouping::per_partition_key;
    /// As the fan-out's `concurrency` will be at most; 1 for a callback that one thread calls.
    std::size_t concurrent_calls = 8;
    /// The criteria's names in the store, for the advice: `{"created_at", "id"}`.
    std::vector<std::string> criteria{};
    /// A partition key that the store does not know.
    std::string absent_key = "shardweave-conformance-absent";
    /// Rows to begin from, of each partition key; when there are more, `seed` chooses.
    std::size_t most_positions = 64;
    std::uint64_t seed = 1;
    /// Answers in a row that bring no row, and a new cursor each, before it counts as endless.
    std::size_t most_empty_answers = 10'000;
};

namespace detail {

template <class Order, class Query>
using answered_row = typename decltype(answer_of<Order, Query>::items)::value_type;

/// Throws `errc::invalid_options` for two rows at one position.
template <class Order>
void sort_positions(const Order& order, key_group<typename Order::position_type>& of) {
    std::ranges::sort(of.forward,
                      [&](const auto& a, const auto& b) { return order.compare(a, b) < 0; });
    if (const auto twice = std::ranges::adjacent_find(of.forward); twice != of.forward.end()) {
        throw failure{errc::invalid_options,
                      v1::detail::concat("two rows at ", order.text(*twice),
                                         "; give rows that unique(…) tells apart")};
    }
    of.backward.assign(of.forward.rbegin(), of.forward.rend());
}

}  // namespace detail

/// Asks the callback as reads do, at every kind of place that is known to go wrong, and compares
/// the answers with the rows that it should have: its order, both ways; that pages of several sizes
/// have each row once; ties; bounds; the end; cursors; threads. Nothing is written. What the
/// callback throws is a failed check. A callback that never ends is cut off.
///
/// Some hundred queries for each partition key. Throws `errc::invalid_options` when there are no
/// rows, or two at one position.
template <class Order, class Query>
[[nodiscard]] report check_callback(const Order& order, const Query& query,
                                    const stored_rows<detail::answered_row<Order, Query>>& store) {
    using group = detail::key_group<typename Order::position_type>;
    std::vector<group> groups;
    group all;
    for (const auto& [key, rows] : store.rows) {
        group one{{key}};
        for (const auto& row : rows) {
            one.forward.push_back(order.position_of(row));
        }
        all.partition_keys.push_back(key);
        all.forward.insert(all.forward.end(), one.forward.begin(), one.forward.end());
        detail::sort_positions(order, one);
        groups.push_back(std::move(one));
    }
    if (all.forward.empty()) {
        throw failure{errc::invalid_options, "no rows to check a callback with; store some"};
    }
    if (store.grouping == grouping::per_shard && groups.size() > 1) {
        detail::sort_positions(order, all);
    } else {
        all = {};
    }
    const detail::trial<Order, Query> trial{order,
                                            query,
                                            store.shard,
                                            store.filter,
                                            store.epoch,
                                            store.criteria,
                                            store.most_empty_answers};
    return detail::examination<Order, Query>{
        trial,
        std::move(groups),
        std::move(all),
        {store.absent_key, store.concurrent_calls, store.most_positions, store.seed}}
        .run();
}

}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
