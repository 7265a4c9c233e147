// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_QUESTION_HPP
#define SHARDWEAVE_TESTING_DETAIL_QUESTION_HPP

/// What a callback is asked, and what is stored there.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/read/query.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

/// What a query asked, kept.
template <class Position>
struct question {
    std::vector<std::string> partition_keys;
    std::optional<Position> after{};
    std::optional<Position> until{};
    std::size_t limit = 0;
    scan way = scan::forward;
    std::string cursor{};
};

/// The question as a person can read it.
template <class Order>
[[nodiscard]] std::string question_text(const Order& order,
                                        const question<typename Order::position_type>& q) {
    std::string out = q.partition_keys.size() == 1
                          ? v1::detail::quoted(q.partition_keys.front())
                          : v1::detail::concat(q.partition_keys.size(), " partition keys");
    out += v1::detail::concat(q.way == scan::forward ? ", forward" : ", backward", ", limit ",
                              q.limit);
    out += q.after ? ", after " + order.text(*q.after) : "";
    out += q.until ? ", until " + order.text(*q.until) : "";
    out += q.cursor.empty() ? "" : ", with the store's cursor";
    return out + ": ";
}

template <class Order, class Query>
using answer_of = std::remove_cvref_t<
    std::invoke_result_t<const Query&, const shard_query<typename Order::position_type>&>>;

/// Some partition keys, and the positions of their rows.
template <class Position>
struct key_group {
    std::vector<std::string> partition_keys;
    /// In the order, and against it.
    std::vector<Position> forward{};
    std::vector<Position> backward{};

    [[nodiscard]] const std::vector<Position>& walked(scan way) const noexcept {
        return way == scan::forward ? forward : backward;
    }
};

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
