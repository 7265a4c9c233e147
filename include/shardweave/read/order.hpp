// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_ORDER_HPP
#define SHARDWEAVE_READ_ORDER_HPP

/// A total order over items, checked when it compiles, and the positions in it.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/detail/prefetch.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/criterion.hpp>
#include <shardweave/read/detail/order_key.hpp>
#include <shardweave/read/detail/order_rules.hpp>
#include <shardweave/read/detail/projection.hpp>
#include <shardweave/read/position.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// A total order by its criteria, most significant first. Strings compare as unsigned bytes,
/// floating point by the IEEE total order. A value; safe to share.
template <class Item, class... Components>
class total_order {
    static constexpr std::size_t count = sizeof...(Components);
    static_assert(detail::order_rules<Item, Components...>::hold);
    template <std::size_t I>
    using component = std::tuple_element_t<I, std::tuple<Components...>>;

public:
    using item_type = Item;
    using position_type = position<detail::component_value<Components, Item>...>;

    constexpr explicit total_order(Components... components)
        : components_(std::move(components)...) {}

    /// The same order under a name that goes into the fingerprint. Name an order when an
    /// application has several of the same types, such as by creation and by change: their tokens
    /// then differ.
    [[nodiscard]] total_order named(std::string_view name) const {
        total_order copy = *this;
        copy.name_ = name;
        return copy;
    }

    /// The item's position.
    template <class Any>
        requires(!std::same_as<Any, position_type>)
    [[nodiscard]] position_type position_of(const Any& item) const {
        return with_indices([&]<std::size_t... I>(std::index_sequence<I...>) {
            return position_type{{own<I>(view<I>(item))...}};
        });
    }

    /// Compares items and positions, in any mix.
    template <class A, class B>
    [[nodiscard]] std::strong_ordering compare(const A& a, const B& b) const {
        std::strong_ordering result = std::strong_ordering::equal;
        with_indices([&]<std::size_t... I>(std::index_sequence<I...>) {
            static_cast<void>((((result = compare_at<I>(view<I>(a), view<I>(b))) == 0) && ...));
        });
        return result;
    }

    /// The position's order-preserving bytes: they compare as the positions do.
    [[nodiscard]] std::string encode(const position_type& at) const {
        std::string bytes;
        detail::string_sink sink{bytes};
        write_all(sink, at, std::make_index_sequence<count>{});
        return bytes;
    }

    /// A position from its bytes, which may be hostile; nothing for bytes that `encode` does not
    /// write.
    [[nodiscard]] std::optional<position_type> decode(std::string_view bytes) const {
        ordered_reader in{bytes};
        // A braced list, so that the components are read in their order.
        position_type at{with_indices([&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple{read_at<I>(in)...};
        })};
        return in.finished() ? std::optional{std::move(at)} : std::nullopt;
    }

    /// The first bytes of the item's or position's key, for comparing fast.
    template <class Any>
    [[nodiscard, gnu::always_inline]] detail::sort_prefix prefix(const Any& item) const {
        detail::prefix_sink sink;
        write_all(sink, item, std::make_index_sequence<count>{});
        return sink.result();
    }

    /// Says that the item will soon be compared. Of use where it only views what is compared first.
    static constexpr bool prefetches = detail::first_is_viewed<Item, Components...>;
    void prefetch(const Item& item) const {
        if constexpr (prefetches) {
            detail::prefetch(std::string_view{view<0>(item)}.data());
        }
    }

    /// Whether the first criterion is the item's `timed`, and which way forward walks then.
    static constexpr bool timed = component<0>::is_timed;
    static constexpr bool times_rise = component<0>::way == direction::ascending;
    /// The time of an item or position. Requires `timed`.
    template <class Any>
    [[nodiscard]] item_time time_of(const Any& item) const {
        return detail::as_item_time<typename component<0>::unit>(view<0>(item));
    }

    /// The position as a person can read it in an error: `(1112911993, "e83c5163316f")`.
    [[nodiscard]] std::string text(const position_type& at) const {
        std::string text;
        with_indices([&]<std::size_t... I>(std::index_sequence<I...>) {
            ((text += (I == 0 ? "(" : ", ") + text_of<I>(view<I>(at))), ...);
        });
        return text + ")";
    }

    /// Tells orders apart whose positions must not be mixed: types, directions, nulls, name.
    [[nodiscard]] std::uint64_t fingerprint() const {
        std::string text;
        with_indices(
            [&]<std::size_t... I>(std::index_sequence<I...>) { ((text += describe<I>()), ...); });
        return stable_hash64(text + name_);
    }

private:
    template <std::size_t I>
    using traits = detail::component_traits<component<I>, Item>;
    template <std::size_t I>
    using key = detail::order_key<typename traits<I>::value>;

    template <class Call>
    static decltype(auto) with_indices(const Call& call) {
        return call(std::make_index_sequence<count>{});
    }

    /// Component I of an item or of a position, as it is compared.
    template <std::size_t I, class Any>
    [[gnu::always_inline]] decltype(auto) view(const Any& of) const {
        if constexpr (std::same_as<Any, position_type>) {
            return std::get<I>((of.values));
        } else {
            const auto& projection = std::get<I>(components_).projection;
            if constexpr (traits<I>::is_optional) {
                return std::invoke(projection, of);
            } else {
                using result = std::invoke_result_t<decltype(projection), const Any&>;
                return detail::viewed_key<result>(std::invoke(projection, of));
            }
        }
    }

    template <std::size_t I, class View>
    static auto own(const View& view) {
        using value = std::tuple_element_t<I, decltype(position_type::values)>;
        if constexpr (!traits<I>::is_optional) {
            return value(view);
        } else {
            return view ? value(typename value::value_type(*view)) : value();
        }
    }

    template <std::size_t I, class A, class B>
    static std::strong_ordering compare_at(const A& a, const B& b) {
        constexpr bool down = component<I>::way == direction::descending;
        if constexpr (traits<I>::is_optional) {
            if (!a || !b) {
                const auto absent_first = static_cast<bool>(a) <=> static_cast<bool>(b);
                return component<I>::absent == nulls::first ? absent_first : 0 <=> absent_first;
            }
            return down ? key<I>::compare(*b, *a) : key<I>::compare(*a, *b);
        } else {
            return down ? key<I>::compare(b, a) : key<I>::compare(a, b);
        }
    }

    template <std::size_t I>
    static constexpr unsigned char mask = component<I>::way == direction::descending ? 0xff : 0x00;

    template <class Sink, class Any, std::size_t... I>
    [[gnu::always_inline]] void write_all(Sink& sink, const Any& item,
                                          std::index_sequence<I...>) const {
        ordered_writer<Sink> out{sink};
        (write_at<I>(out, sink, view<I>(item)), ...);
    }

    template <std::size_t I, class Writer, class Sink, class View>
    [[gnu::always_inline]] static void write_at(Writer& out, const Sink& sink, const View& view) {
        if (sink.full()) {
            return;
        }
        out.mask(0);
        if constexpr (traits<I>::is_optional) {
            const bool present = static_cast<bool>(view);
            out.byte(present == (component<I>::absent == nulls::first) ? 1 : 0);
            if (present) {
                out.mask(mask<I>);
                key<I>::write(out, *view);
            }
        } else {
            out.mask(mask<I>);
            key<I>::write(out, view);
        }
    }

    template <std::size_t I>
    static auto read_at(ordered_reader& in) {
        using value = std::tuple_element_t<I, decltype(position_type::values)>;
        in.mask(0);
        if constexpr (traits<I>::is_optional) {
            const unsigned char flag = in.byte();
            if (flag > 1) {
                in.fail();
            }
            if ((flag == 1) != (component<I>::absent == nulls::first)) {
                return value();
            }
        }
        in.mask(mask<I>);
        return value(key<I>::read(in));
    }

    template <std::size_t I, class View>
    static std::string text_of(const View& view) {
        if constexpr (traits<I>::is_optional) {
            return view ? key<I>::text(*view) : "null";
        } else {
            return key<I>::text(view);
        }
    }

    template <std::size_t I>
    static std::string describe() {
        constexpr auto way = static_cast<std::size_t>(component<I>::way);
        return key<I>::tag() + "?<>"[way] + "-fl"[static_cast<std::size_t>(component<I>::absent)] +
               (component<I>::is_unique ? '!' : ',');
    }

    [[no_unique_address]] std::tuple<Components...> components_;
    std::string name_;
};

namespace detail {

template <class Item, direction Default, class... Projections>
constexpr auto make_order(Projections... projections) {
    using item =
        typename first_item<Item, typename projected_item<component_projection<
                                      decltype(as_component(projections))>>::type...>::type;
    return [](auto... components) {
        return total_order<item, decltype(components)...>{std::move(components)...};
    }(directed<Default>(as_component(std::move(projections)))...);
}

}  // namespace detail

/// Larger values first in every criterion that does not say otherwise:
/// `newest_first(&post::created_at, unique(&post::id))`.
template <class Item = void, class... Projections>
[[nodiscard]] constexpr auto newest_first(Projections... projections) {
    return detail::make_order<Item, direction::descending>(std::move(projections)...);
}
/// Smaller values first in every criterion that does not say otherwise.
template <class Item = void, class... Projections>
[[nodiscard]] constexpr auto oldest_first(Projections... projections) {
    return detail::make_order<Item, direction::ascending>(std::move(projections)...);
}
/// Each criterion in its own direction, ascending where none is given.
template <class Item = void, class... Projections>
[[nodiscard]] constexpr auto order_by(Projections... projections) {
    return detail::make_order<Item, direction::ascending>(std::move(projections)...);
}

}  // namespace v1
}  // namespace shardweave

#endif
