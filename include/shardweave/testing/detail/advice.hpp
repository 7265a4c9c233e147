// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_ADVICE_HPP
#define SHARDWEAVE_TESTING_DETAIL_ADVICE_HPP

/// From a wrong answer to what is probably behind it, and what to change.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/testing/detail/collation.hpp>
#include <shardweave/testing/detail/criteria.hpp>
#include <shardweave/testing/detail/mistakes.hpp>
#include <shardweave/testing/detail/question.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

/// What is wrong, and what to do.
struct fault {
    std::string what;
    std::string advice;
};

template <class Order>
class adviser {
public:
    using position_type = typename Order::position_type;
    using asked = question<position_type>;
    using positions = std::span<const position_type>;
    using known = mistakes<Order>;

    explicit adviser(std::vector<std::string> names) : criteria_(std::move(names)) {}

    [[nodiscard]] const criteria<Order>& by() const noexcept { return criteria_; }

    /// `right[i]` says whether `rows[i]` and `rows[i + 1]` stand as they should; some do not. Looks
    /// for one mistake that explains every pair.
    [[nodiscard]] std::string unordered(const asked& q, positions rows,
                                        const std::vector<bool>& right) const {
        const std::string sort = criteria_.order_by(q.way);
        for (std::size_t i = 0; i != right.size(); ++i) {
            if (!right[i] && rows[i] == rows[i + 1]) {
                return "give each row once (a join or UNION ALL may double them), and let "
                       "unique(…) project what no two rows share";
            }
        }
        const auto explains = [&](const auto& effect) {
            for (std::size_t i = 0; i != right.size(); ++i) {
                const std::size_t by = criteria_.first_difference(rows[i], rows[i + 1]);
                const pair_effect does = effect(by, rows[i], rows[i + 1]);
                if (does != pair_effect::either && (does == pair_effect::keeps) != right[i]) {
                    return false;
                }
            }
            return true;
        };
        // They were right one at a time.
        if (q.partition_keys.size() > 1) {
            return v1::detail::concat("merge the rows of all partition keys before the answer: ",
                                      sort, " over the whole, not one key after another");
        }
        if (explains([](auto...) { return pair_effect::turns; })) {
            return v1::detail::concat("walk the other way: ", sort, " when `way` is ",
                                      q.way == scan::forward ? "forward" : "backward");
        }
        for (std::size_t i = criteria_.count; i-- != 0;) {
            if (explains([i](std::size_t by, auto...) {
                    return by == i ? pair_effect::turns : pair_effect::keeps;
                })) {
                return v1::detail::concat(q.way == scan::backward
                                              ? "reverse every criterion when `way` is backward, "
                                              : "each criterion has its own direction, ",
                                          criteria_.name(i), " too: ", sort);
            }
        }
        if (explains(known::nulls_turned)) {
            return v1::detail::concat(
                "absent values stand on the wrong side; backward they change sides, too: ", sort);
        }
        if (explains(known::signs_turned)) {
            return sign_advice(
                criteria_.first_difference(rows[first_wrong(right)], rows[first_wrong(right) + 1]));
        }
        for (const collation& other : collations) {
            if (explains([&](std::size_t by, const position_type& a, const position_type& b) {
                    return known::collated(other, by, a, b);
                })) {
                const std::size_t at = first_wrong(right);
                return text_advice(criteria_.first_difference(rows[at], rows[at + 1]), other.name);
            }
        }
        return v1::detail::concat("sort by every criterion of the order: ", sort);
    }

    /// `beyond`, the rows that were to come, starts with `skipped` that did not, and goes on with
    /// what did.
    [[nodiscard]] std::string skipped(const asked& q, positions beyond, std::size_t first,
                                      std::size_t skipped, std::size_t answered) const {
        const position_type& lost = beyond[first];
        const bool ends = first + skipped == beyond.size();
        if (q.way == scan::backward && !ends && skipped + answered == beyond.size()) {
            return v1::detail::concat(
                "LIMIT was applied before the rows were reversed: let the store sort backward, ",
                criteria_.order_by(q.way), " LIMIT ?, instead of reversing a forward answer");
        }
        if (first == 0 && q.after) {
            if (const std::string because = after_boundary(q, beyond, skipped); !because.empty()) {
                return because;
            }
        }
        if (first != 0 && criteria_.tied(beyond[first - 1], lost)) {
            return "rows that are equal in all criteria but the last are different rows: no "
                   "DISTINCT, no map keyed by one criterion";
        }
        if (q.partition_keys.size() > 1) {
            return "each partition key's part needs its own sort and LIMIT, and the whole another; "
                   "and ask for all of `partition_keys`, not only the first";
        }
        return v1::detail::concat("give the first `limit` rows of the order, so sort before LIMIT "
                                  "and filter before both: WHERE …, ",
                                  criteria_.order_by(q.way), " LIMIT ?");
    }

    /// The source was ended while `beyond[first]` was still to come.
    [[nodiscard]] std::string ended_early(const asked& q, positions beyond, std::size_t first,
                                          std::size_t answered) const {
        const position_type& lost = beyond[first];
        const position_type* const before = first != 0 ? &beyond[first - 1]
                                            : q.after  ? &*q.after
                                                       : nullptr;
        if (known::has_null(lost) && before != nullptr && !known::has_null(*before)) {
            return null_advice();
        }
        if (answered != 0 && answered >= q.limit) {
            return "a full answer is no end: ask the store for `limit` + 1 rows and say `more` "
                   "when the extra one comes, or say `more` whenever `limit` rows came";
        }
        if (q.until && *q.until == lost) {
            return "`until` is included: compare with <= or >=, or ignore it";
        }
        if (first == 0 && q.after) {
            if (const std::string because = after_boundary(q, beyond, beyond.size());
                !because.empty()) {
                return because;
            }
        }
        return "an answer may be short or empty, but `more` is true unless the end is certain: "
               "pass on what the store says (LastEvaluatedKey, next page), and do not take a "
               "short answer for the end";
    }

    /// The source never ends; `left` rows are still to come.
    [[nodiscard]] std::string endless(const asked& q, bool repeats, std::size_t left) const {
        if (left == 0) {
            return "set `more` to false at the end: when fewer rows than `limit` came, or no next "
                   "page is left in the store";
        }
        if (repeats) {
            return v1::detail::concat("begin strictly beyond `after` in every query, and cache no "
                                      "answer without it: WHERE ",
                                      criteria_.beyond(q.way));
        }
        return "return a new `cursor` with each empty answer that has `more`, and take it up when "
               "it is handed back";
    }

private:
    static std::string null_advice() {
        return "a comparison with NULL is neither true nor false, so rows vanish: write the "
               "condition out with IS NULL, as docs/your-store.md does";
    }

    [[nodiscard]] static std::size_t first_wrong(const std::vector<bool>& right) {
        return static_cast<std::size_t>(std::ranges::find(right, false) - right.begin());
    }

    [[nodiscard]] std::string sign_advice(std::size_t by) const {
        return v1::detail::concat("the store compares ", criteria_.name(by),
                                  " without its sign: keep it in a signed column, or flip the "
                                  "sign bit of sorted bytes");
    }

    [[nodiscard]] std::string text_advice(std::size_t by, std::string_view how) const {
        return v1::detail::concat(
            "the store compares ", criteria_.name(by), " ", how,
            ", and must by unsigned bytes: COLLATE \"C\" (PostgreSQL), COLLATE BINARY (SQLite), "
            "COLLATE utf8mb4_0900_bin (MySQL), unsigned char in C++");
    }

    /// How the store may see two values, of which the one is skipped after the other.
    [[nodiscard]] std::string of_values(std::size_t by, const position_type& a,
                                        const position_type& b) const {
        std::string because;
        known::both_present(by, a, b, [&]<class T>(const T& x, const T& y) {
            if constexpr (std::convertible_to<const T&, std::string_view>) {
                if (const std::string_view how = other_collation(x, y); !how.empty()) {
                    because = text_advice(by, how);
                }
            }
        });
        return because.empty() && known::signs_turned(by, a, b) == pair_effect::turns
                   ? sign_advice(by)
                   : because;
    }

    /// Why the rows right beyond `after` may be missing.
    [[nodiscard]] std::string after_boundary(const asked& q, positions beyond,
                                             std::size_t skipped) const {
        if (!q.cursor.empty()) {
            return "the store's cursor points beyond the last row of its answer: build it from the "
                   "last row that was returned, not from the last one that was read";
        }
        const position_type& after = *q.after;
        const position_type& lost = beyond.front();
        const std::size_t by = criteria_.first_difference(after, lost);
        if (known::has_null(after) || known::has_null(lost)) {
            return null_advice();
        }
        const auto tied_with_after = [&](std::size_t at) {
            return criteria_.first_difference(after, beyond[at]) >= by;
        };
        const bool ties_only =
            tied_with_after(skipped - 1) && (skipped == beyond.size() || !tied_with_after(skipped));
        if (by != 0 && ties_only) {
            return v1::detail::concat(
                "rows that tie with `after` are skipped: compare every criterion, WHERE ",
                criteria_.beyond(q.way),
                skipped == 1 ? "; or the first row is dropped: skip none, no OFFSET 1" : "");
        }
        if (const std::string because = of_values(by, after, lost); !because.empty()) {
            return because;
        }
        if (skipped == 1) {
            return v1::detail::concat(
                "the first row beyond `after` is dropped: a strict comparison does not repeat "
                "`after`, so skip nothing (no OFFSET 1), WHERE ",
                criteria_.beyond(q.way));
        }
        return {};
    }

    criteria<Order> criteria_;
};

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
