// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_MISTAKES_HPP
#define SHARDWEAVE_TESTING_DETAIL_MISTAKES_HPP

/// What a store that makes a known mistake does to two positions.

#include <shardweave/testing/detail/collation.hpp>
#include <shardweave/testing/detail/criteria.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

/// Neighbours keep their places, change them, or may do either.
enum class pair_effect : std::uint8_t { keeps, turns, either };

template <class T>
[[nodiscard]] bool is_null(const T& value) {
    if constexpr (is_optional<T>) {
        return !value.has_value();
    } else {
        return false;
    }
}

/// Two positions that criterion `by` is the first to tell apart.
template <class Order>
struct mistakes {
    using position_type = typename Order::position_type;

    [[nodiscard]] static bool has_null(const position_type& at) {
        bool found = false;
        for (std::size_t i = 0; i != criteria<Order>::count; ++i) {
            criteria<Order>::visit(i, at, at, [&](const auto& value, const auto&) {
                found = found || is_null(value);
            });
        }
        return found;
    }

    template <class T>
    static const auto& present(const T& value) {
        if constexpr (is_optional<T>) {
            return *value;
        } else {
            return value;
        }
    }

    static pair_effect nulls_turned(std::size_t by, const position_type& a,
                                    const position_type& b) {
        bool turned = false;
        criteria<Order>::visit(
            by, a, b, [&](const auto& x, const auto& y) { turned = is_null(x) != is_null(y); });
        return turned ? pair_effect::turns : pair_effect::keeps;
    }

    static pair_effect signs_turned(std::size_t by, const position_type& a,
                                    const position_type& b) {
        bool turned = false;
        both_present(by, a, b, [&]<class T>(const T& x, const T& y) {
            if constexpr (std::signed_integral<T>) {
                turned = (x < 0) != (y < 0);
            }
        });
        return turned ? pair_effect::turns : pair_effect::keeps;
    }

    static pair_effect collated(const collation& other, std::size_t by, const position_type& a,
                                const position_type& b) {
        pair_effect does = pair_effect::keeps;
        both_present(by, a, b, [&]<class T>(const T& x, const T& y) {
            if constexpr (std::convertible_to<const T&, std::string_view>) {
                does = compare_by(x, y, other.key) == 0 ? pair_effect::either
                       : other.agrees(x, y)             ? pair_effect::keeps
                                                        : pair_effect::turns;
            }
        });
        return does;
    }

    template <class Visit>
    static void both_present(std::size_t by, const position_type& a, const position_type& b,
                             const Visit& visit) {
        criteria<Order>::visit(by, a, b, [&](const auto& x, const auto& y) {
            if (!is_null(x) && !is_null(y)) {
                visit(present(x), present(y));
            }
        });
    }
};

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
