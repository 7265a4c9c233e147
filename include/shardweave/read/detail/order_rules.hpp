// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_ORDER_RULES_HPP
#define SHARDWEAVE_READ_DETAIL_ORDER_RULES_HPP

/// What makes criteria an order that can be paged by.

#include <shardweave/place/time_range.hpp>
#include <shardweave/read/criterion.hpp>
#include <shardweave/read/detail/order_key.hpp>
#include <shardweave/read/detail/projection.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace shardweave {
inline namespace v1 {
namespace detail {

template <class T>
constexpr bool counts_time = std::is_integral_v<T> || std::is_convertible_v<T, item_time>;

/// Looked at when an order is made: what breaks a rule does not compile, and is told why.
template <class Item, class... Components>
struct order_rules {
    static constexpr std::size_t count = sizeof...(Components);
    static constexpr bool ends_unique =
        (std::size_t{Components::is_unique} + ...) == 1 &&
        std::tuple_element_t<count - 1, std::tuple<Components...>>::is_unique;
    static_assert(
        ends_unique,
        "shardweave: an order must end with unique(...), and have it nowhere else: without a "
        "unique tie-break, pages skip or repeat the items that tie");
    static_assert(!std::is_void_v<Item>,
                  "shardweave: the projections do not tell the item's type; name it, as in "
                  "newest_first<item>(...)");
    static_assert(
        ((component_traits<Components, Item>::is_optional ==
          (Components::absent != nulls::refused)) &&
         ...),
        "shardweave: an optional needs nulls_first(...) or nulls_last(...), and nothing else "
        "takes it: a store sorts absent values first or last, and both sides must agree");
    static_assert(((!component_traits<Components, Item>::is_optional || !Components::is_unique) &&
                   ...),
                  "shardweave: unique(...) must always have a value; absent values would tie");
    static_assert(
        (order_key<typename component_traits<Components, Item>::value>::supported && ...),
        "shardweave: an order compares integers, enums, float, double, text, std::array of "
        "bytes, and std::chrono durations and time points, or optionals of them");

    template <class Component>
    static constexpr bool misplaced =
        Component::is_timed &&
        !std::is_same_v<Component, std::tuple_element_t<0, std::tuple<Components...>>>;
    static_assert((!misplaced<Components> && ...),
                  "shardweave: timed(...) must be the first criterion: only what is sorted by time "
                  "can be read one window after another");
    static_assert(
        ((!Components::is_timed ||
          counts_time<typename component_traits<Components, Item>::value>) &&
         ...),
        "shardweave: timed(...) takes a std::chrono::sys_time, or a whole number with its "
        "unit, as in timed<std::chrono::seconds>(...)");
    static_assert(((!Components::is_timed || !component_traits<Components, Item>::is_optional) &&
                   ...),
                  "shardweave: timed(...) must always have a value");

    static constexpr bool hold = true;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
