// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_CRITERIA_HPP
#define SHARDWEAVE_TESTING_DETAIL_CRITERIA_HPP

/// An order's criteria one by one: which one tells two positions apart, and how SQL says it.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/read/criterion.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/query.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// As an order sees it: floating point by its bits.
template <class T>
[[nodiscard]] bool same_value(const T& a, const T& b) {
    if constexpr (is_optional<T>) {
        return a.has_value() == b.has_value() && (!a || same_value(*a, *b));
    } else if constexpr (std::floating_point<T>) {
        return std::memcmp(&a, &b, sizeof a) == 0;
    } else {
        return a == b;
    }
}

template <class Order>
struct order_shape;
template <class Item, class... Components>
struct order_shape<total_order<Item, Components...>> {
    static constexpr std::size_t count = sizeof...(Components);
    static constexpr std::array<direction, count> ways{Components::way...};
    static constexpr bool has_nulls = ((Components::absent != nulls::refused) || ...);
    static constexpr std::array<nulls, count> absent{Components::absent...};
};

/// The criteria of `Order` under the names that the user gave them, or `c1`, `c2`, ….
template <class Order>
class criteria {
public:
    using position_type = typename Order::position_type;
    using shape = order_shape<Order>;
    static constexpr std::size_t count = shape::count;

    explicit criteria(std::vector<std::string> names) : names_(std::move(names)) {
        for (std::size_t i = names_.size(); i < count; ++i) {
            names_.push_back(v1::detail::concat("c", i + 1));
        }
    }

    [[nodiscard]] const std::string& name(std::size_t i) const { return names_[i]; }

    /// Calls `visit(a's value, b's value)` of criterion `at`.
    template <class Visit>
    static void visit(std::size_t at, const position_type& a, const position_type& b,
                      const Visit& visit) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            static_cast<void>(
                ((I == at && (visit(std::get<I>(a.values), std::get<I>(b.values)), true)) || ...));
        }(std::make_index_sequence<count>{});
    }

    /// The most significant criterion that tells the two apart; `count` for equal positions.
    [[nodiscard]] static std::size_t first_difference(const position_type& a,
                                                      const position_type& b) {
        std::size_t at = 0;
        bool same = true;
        while (at != count) {
            visit(at, a, b, [&](const auto& x, const auto& y) { same = same_value(x, y); });
            if (!same) {
                break;
            }
            ++at;
        }
        return at;
    }

    /// Equal in all criteria but the last.
    [[nodiscard]] static bool tied(const position_type& a, const position_type& b) {
        return count > 1 && first_difference(a, b) == count - 1;
    }

    /// `ORDER BY created_at DESC, id DESC`
    [[nodiscard]] std::string order_by(scan way) const {
        std::string sql = "ORDER BY ";
        for (std::size_t i = 0; i != count; ++i) {
            sql += (i == 0 ? "" : ", ") + names_[i] + (rises(i, way) ? " ASC" : " DESC");
            if (shape::absent[i] != nulls::refused) {
                const bool first = (shape::absent[i] == nulls::first) == (way == scan::forward);
                sql += first ? " NULLS FIRST" : " NULLS LAST";
            }
        }
        return sql;
    }

    /// `(created_at, id) < (?, ?)`, or what stands for it with mixed directions.
    [[nodiscard]] std::string beyond(scan way) const {
        bool mixed = false;
        std::string left;
        std::string right;
        for (std::size_t i = 0; i != count; ++i) {
            mixed = mixed || rises(i, way) != rises(0, way);
            left += (i == 0 ? "" : ", ") + names_[i];
            right += i == 0 ? "?" : ", ?";
        }
        if (!mixed) {
            left = count == 1 ? left : "(" + left + ")";
            right = count == 1 ? right : "(" + right + ")";
            return left + (rises(0, way) ? " > " : " < ") + right;
        }
        std::string sql;
        for (std::size_t i = count; i-- != 0;) {
            std::string limb = names_[i];
            limb += rises(i, way) ? " > ?" : " < ?";
            if (i + 1 != count) {
                limb += " OR (";
                limb += names_[i];
                limb += i + 2 == count ? " = ? AND " : " = ? AND (";
                limb += sql;
                limb += i + 2 == count ? ")" : "))";
            }
            sql = std::move(limb);
        }
        return sql;
    }

private:
    static bool rises(std::size_t i, scan way) {
        return (shape::ways[i] == direction::ascending) == (way == scan::forward);
    }

    std::vector<std::string> names_;
};

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
