// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_COVERAGE_HPP
#define SHARDWEAVE_TESTING_DETAIL_COVERAGE_HPP

/// Which kinds of rows, of those that stores get wrong, were given.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/testing/detail/collation.hpp>
#include <shardweave/testing/detail/criteria.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

/// Looks at the values of one criterion.
class value_survey {
public:
    template <class T>
    void see(const T& value) {
        if constexpr (is_optional<T>) {
            optional_ = true;
            if (value) {
                present_ = true;
                see(*value);
            } else {
                ++absent_;
            }
        } else if constexpr (std::convertible_to<const T&, std::string_view>) {
            text_ = true;
            texts_.emplace(std::string_view{value});
        } else if constexpr (std::floating_point<T>) {
            floating_ = true;
            infinite_ = infinite_ || std::isinf(value);
            see_sign(std::signbit(value));
        } else if constexpr (std::signed_integral<T>) {
            signed_ = true;
            see_sign(value < 0);
        }
    }

    void report(const std::string& name, std::vector<std::string>& missing) const {
        const auto want = [&](bool there, std::string_view what) {
            if (!there) {
                missing.push_back(v1::detail::concat(name, ": ", what));
            }
        };
        if (optional_) {
            want(absent_ >= 2 && present_, "two rows without a value, and one with");
        }
        if (signed_ || floating_) {
            want(negative_ && positive_, "a negative value and another");
        }
        if (floating_) {
            want(infinite_, "an infinite value");
        }
        if (text_) {
            report_texts(want);
        }
    }

private:
    void see_sign(bool negative) {
        negative_ = negative_ || negative;
        positive_ = positive_ || !negative;
    }

    template <class Want>
    void report_texts(const Want& want) const {
        want(texts_.contains(""), "the empty text");
        want(neighbours([](const std::string& a, const std::string& b) {
                 return !a.empty() && b.starts_with(a);
             }),
             "a text that another one begins with (\"a\", \"ab\")");
        for (const collation& each : collations) {
            want(neighbours([&](const std::string& a, const std::string& b) {
                     return !each.agrees(a, b);
                 }),
                 v1::detail::concat("two texts that compare otherwise ", each.name));
        }
    }

    /// Two orders of a set are the same when they agree on all neighbours in one of them.
    template <class Test>
    [[nodiscard]] bool neighbours(const Test& test) const {
        return std::adjacent_find(texts_.begin(), texts_.end(), test) != texts_.end();
    }

    bool optional_ = false;
    bool present_ = false;
    bool text_ = false;
    bool floating_ = false;
    bool signed_ = false;
    bool negative_ = false;
    bool positive_ = false;
    bool infinite_ = false;
    std::size_t absent_ = 0;
    std::set<std::string, std::less<>> texts_;
};

/// The situations that the rows do not exercise. `lists` has a sorted one for each partition key.
template <class Position, class Criteria>
[[nodiscard]] std::vector<std::string>
situations_missing(const Criteria& by, const std::vector<std::vector<Position>>& lists) {
    std::vector<std::string> missing;
    std::size_t most = 0;
    std::array<std::size_t, Criteria::count> longest{};
    std::array<value_survey, Criteria::count> surveys;
    for (const auto& list : lists) {
        most = std::max(most, list.size());
        std::array<std::size_t, Criteria::count> run{};
        for (std::size_t at = 0; at != list.size(); ++at) {
            const std::size_t same = at == 0 ? 0 : by.first_difference(list[at - 1], list[at]);
            for (std::size_t i = 0; i != by.count; ++i) {
                run[i] = same > i ? run[i] + 1 : 1;
                longest[i] = std::max(longest[i], run[i]);
                by.visit(i, list[at], list[at],
                         [&](const auto& value, const auto&) { surveys[i].see(value); });
            }
        }
    }
    if (most < 8) {
        missing.emplace_back("eight rows or more of one partition key");
    }
    for (std::size_t i = 0; i != by.count; ++i) {
        if (i + 1 != by.count && longest[i] < 3) {
            missing.push_back(v1::detail::concat(
                by.name(i), ": three rows of one partition key that are equal up to here"));
        }
        surveys[i].report(by.name(i), missing);
    }
    return missing;
}

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
