// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_CRITERION_HPP
#define SHARDWEAVE_READ_CRITERION_HPP

/// The criteria of an order: what is compared, in which direction, and where absent values go.

#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace shardweave {
inline namespace v1 {

enum class direction : std::uint8_t { unset = 0, ascending = 1, descending = 2 };
enum class nulls : std::uint8_t { refused = 0, first = 1, last = 2 };

/// The unit of a criterion that is no item's time.
struct untimed {};

/// One criterion of an order: a projection of the item, and how it counts. Made by `ascending`,
/// `descending`, `unique`, `nulls_first`, `nulls_last` and `timed`, which may be nested.
template <class Projection, direction Direction, nulls Nulls, bool Unique, class Unit = untimed>
struct order_component {
    static constexpr direction way = Direction;
    static constexpr nulls absent = Nulls;
    static constexpr bool is_unique = Unique;
    static constexpr bool is_timed = !std::is_same_v<Unit, untimed>;
    /// What a number counts, where the criterion is the item's time.
    using unit = Unit;
    [[no_unique_address]] Projection projection;
};

namespace detail {

template <class Projection>
constexpr auto as_component(Projection projection) {
    return order_component<Projection, direction::unset, nulls::refused, false>{
        std::move(projection)};
}
template <class P, direction D, nulls N, bool U, class T>
constexpr auto as_component(order_component<P, D, N, U, T> component) {
    return component;
}

template <direction To, class P, direction D, nulls N, bool U, class T>
constexpr auto directed(order_component<P, D, N, U, T> component) {
    return order_component<P, D == direction::unset ? To : D, N, U, T>{
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
    return order_component<decltype(component.projection), type::way, type::absent, true,
                           typename type::unit>{std::move(component.projection)};
}
/// An `optional` whose absent values come first, in either direction.
template <class Projection>
[[nodiscard]] constexpr auto nulls_first(Projection projection) {
    auto component = detail::as_component(std::move(projection));
    using type = decltype(component);
    return order_component<decltype(component.projection), type::way, nulls::first, type::is_unique,
                           typename type::unit>{std::move(component.projection)};
}
/// An `optional` whose absent values come last, in either direction.
template <class Projection>
[[nodiscard]] constexpr auto nulls_last(Projection projection) {
    auto component = detail::as_component(std::move(projection));
    using type = decltype(component);
    return order_component<decltype(component.projection), type::way, nulls::last, type::is_unique,
                           typename type::unit>{std::move(component.projection)};
}

/// The item's time, as `place` is given it: then a read opens only the windows that it needs, and
/// cuts its `within` to the millisecond. First criterion of its order; a `std::chrono::sys_time`,
/// or a whole number of `Unit`s since 1970, as in `timed<std::chrono::seconds>(&post::created_at)`.
template <class Unit = std::chrono::milliseconds, class Projection>
[[nodiscard]] constexpr auto timed(Projection projection) {
    auto component = detail::as_component(std::move(projection));
    using type = decltype(component);
    return order_component<decltype(component.projection), type::way, type::absent, type::is_unique,
                           Unit>{std::move(component.projection)};
}

}  // namespace v1
}  // namespace shardweave

#endif
