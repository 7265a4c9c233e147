// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_CRITERION_HPP
#define SHARDWEAVE_READ_CRITERION_HPP

/// The criteria of an order: what is compared, in which direction, and where absent values go.

#include <cstdint>
#include <type_traits>
#include <utility>

namespace shardweave {
inline namespace v1 {

enum class direction : std::uint8_t { unset = 0, ascending = 1, descending = 2 };
enum class nulls : std::uint8_t { refused = 0, first = 1, last = 2 };

/// One criterion of an order: a projection of the item, and how it counts. Made by `ascending`,
/// `descending`, `unique`, `nulls_first` and `nulls_last`, which may be nested.
template <class Projection, direction Direction, nulls Nulls, bool Unique>
struct order_component {
    static constexpr direction way = Direction;
    static constexpr nulls absent = Nulls;
    static constexpr bool is_unique = Unique;
    [[no_unique_address]] Projection projection;
};

namespace detail {

template <class Projection>
constexpr auto as_component(Projection projection) {
    return order_component<Projection, direction::unset, nulls::refused, false>{
        std::move(projection)};
}
template <class P, direction D, nulls N, bool U>
constexpr auto as_component(order_component<P, D, N, U> component) {
    return component;
}

template <direction To, class P, direction D, nulls N, bool U>
constexpr auto directed(order_component<P, D, N, U> component) {
    return order_component<P, D == direction::unset ? To : D, N, U>{
        std::move(component.projection)};
}

}  // namespace detail

/// Smaller values first.
template <class Projection>
[[nodiscard]] constexpr auto ascending(Projection projection) {
    return detail::directed<direction::ascending>(detail::as_component(std::move(projection)));
}
/// Larger values first.
template <class Projection>
[[nodiscard]] constexpr auto descending(Projection projection) {
    return detail::directed<direction::descending>(detail::as_component(std::move(projection)));
}
/// The tie-break that no two items of one result share; the last criterion of every order.
template <class Projection>
[[nodiscard]] constexpr auto unique(Projection projection) {
    auto component = detail::as_component(std::move(projection));
    using type = decltype(component);
    return order_component<decltype(component.projection), type::way, type::absent, true>{
        std::move(component.projection)};
}
/// An `optional` whose absent values come first, in either direction.
template <class Projection>
[[nodiscard]] constexpr auto nulls_first(Projection projection) {
    auto component = detail::as_component(std::move(projection));
    using type = decltype(component);
    return order_component<decltype(component.projection), type::way, nulls::first,
                           type::is_unique>{std::move(component.projection)};
}
/// An `optional` whose absent values come last, in either direction.
template <class Projection>
[[nodiscard]] constexpr auto nulls_last(Projection projection) {
    auto component = detail::as_component(std::move(projection));
    using type = decltype(component);
    return order_component<decltype(component.projection), type::way, nulls::last, type::is_unique>{
        std::move(component.projection)};
}

}  // namespace v1
}  // namespace shardweave

#endif
