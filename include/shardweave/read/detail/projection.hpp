// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_PROJECTION_HPP
#define SHARDWEAVE_READ_DETAIL_PROJECTION_HPP

/// What projections tell about the items that they take and the values that they give.

#include <shardweave/place/time_range.hpp>
#include <shardweave/read/criterion.hpp>
#include <shardweave/read/detail/order_key.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>

namespace shardweave {
inline namespace v1 {

namespace detail {

/// The item type that a projection takes, or void where it does not tell.
template <class Projection>
struct projected_item {
    using type = void;
};
template <class Member, class Item>
struct projected_item<Member Item::*> {
    using type = Item;
};
template <class Result, class Item>
struct projected_item<Result (*)(Item)> {
    using type = std::remove_cvref_t<Item>;
};
template <class Call>
struct call_item;
template <class Result, class Function, class Item>
struct call_item<Result (Function::*)(Item) const> {
    using type = std::remove_cvref_t<Item>;
};
template <class Result, class Function, class Item>
struct call_item<Result (Function::*)(Item) const noexcept> {
    using type = std::remove_cvref_t<Item>;
};
template <class Function>
    requires requires { typename call_item<decltype(&Function::operator())>::type; }
struct projected_item<Function> {
    using type = typename call_item<decltype(&Function::operator())>::type;
};

template <class First, class... Rest>
struct first_item {
    using type = First;
};
template <class... Rest>
    requires(sizeof...(Rest) > 0)
struct first_item<void, Rest...> : first_item<Rest...> {};

template <class Component>
using component_projection = decltype(Component::projection);

template <class Component, class Item>
using projected = std::invoke_result_t<const component_projection<Component>&, const Item&>;

template <class Component, class Item>
using component_traits = optional_traits<std::remove_cvref_t<projected<Component, Item>>>;

/// Whether the first component is text that lives in the item.
template <class Item, class First, class... Rest>
constexpr bool first_is_viewed = text_like<typename component_traits<First, Item>::value> &&
                                 std::is_reference_v<projected<First, Item>>;

template <class Component, class Item>
using component_value =
    std::conditional_t<component_traits<Component, Item>::is_optional,
                       std::optional<owned_key<typename component_traits<Component, Item>::value>>,
                       owned_key<typename component_traits<Component, Item>::value>>;

/// A first criterion's value as a time.
template <class Unit, class Value>
[[nodiscard]] constexpr item_time as_item_time(const Value& value) {
    if constexpr (std::is_integral_v<Value>) {
        using count = std::chrono::duration<Value, typename Unit::period>;
        return item_time{std::chrono::sys_time<count>{count{value}}};
    } else {
        return item_time{value};
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
