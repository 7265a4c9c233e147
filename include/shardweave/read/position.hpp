// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_POSITION_HPP
#define SHARDWEAVE_READ_POSITION_HPP

/// The value of a total order for one item: what a keyset query compares with.

#include <cstddef>
#include <tuple>

namespace shardweave {
inline namespace v1 {

/// The values of an order's criteria, most significant first, owned. Read them by `get<0>(at)` or
/// by structured bindings: `const auto& [created_at, id] = *query.after;`
template <class... Values>
struct position {
    std::tuple<Values...> values;

    friend bool operator==(const position&, const position&) = default;
};

template <std::size_t Index, class... Values>
[[nodiscard]] const auto& get(const position<Values...>& at) noexcept {
    return std::get<Index>(at.values);
}

}  // namespace v1
}  // namespace shardweave

template <class... Values>
struct std::tuple_size<shardweave::position<Values...>> : std::tuple_size<std::tuple<Values...>> {};
template <std::size_t Index, class... Values>
struct std::tuple_element<Index, shardweave::position<Values...>>
    : std::tuple_element<Index, const std::tuple<Values...>> {};

#endif
