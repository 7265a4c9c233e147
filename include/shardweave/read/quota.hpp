// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_QUOTA_HPP
#define SHARDWEAVE_READ_QUOTA_HPP

/// How many rows to ask of each source, so that one round is nearly always enough.

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace shardweave {
inline namespace v1 {

namespace detail {

/// ln n!, by Stirling's series above 16 (relative error below 1e-14). Not std::lgamma, which writes
/// a global (signgam) and so is a data race between threads.
inline double log_factorial(double n) noexcept {
    if (n < 16) {
        double product = 1;
        for (double i = 2; i <= n; ++i) {
            product *= i;
        }
        return std::log(product);
    }
    constexpr double half_log_two_pi = 0.91893853320467274178;
    const double x = n + 1;
    const double y = 1 / (x * x);
    return (x - 0.5) * std::log(x) - x + half_log_two_pi +
           (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / x;
}

}  // namespace detail

/// The accepted chance that a page needs a second round because some source was asked for too
/// little. At 2 %, a page of 20 rows from 8 sources asks each for 8 and takes a second round once
/// in 100 pages (tests/read/quota.test.cpp counts it); asking for all 20 would read 2.5 times as
/// much.
inline constexpr double standard_refill_chance = 0.02;

/// Rows to ask of a source that holds each of the page's rows with probability `share`, for a page
/// of `limit` rows from `sources` sources. At least 1, never above `limit` (0 only for a limit of
/// 0).
///
/// A source asked for q is asked again exactly when it holds q or more of the first limit − 1 rows.
/// That number is binomial with n = limit − 1, so this is the smallest q above its mean for which
/// pmf(q) / (1 − r) ≤ chance / sources, where r is the ratio of the next two terms: a geometric
/// bound of the tail, summed over the sources by the union bound. It holds for unequal shares. O(q
/// − mean) steps.
[[nodiscard]] inline std::size_t quota(std::size_t limit, double share, std::size_t sources,
                                       double refill_chance = standard_refill_chance) noexcept {
    if (limit <= 1 || sources <= 1 || share >= 1) {
        return limit;
    }
    if (share <= 0) {
        return 1;
    }
    const auto n = static_cast<double>(limit - 1);
    const double odds = share / (1 - share);
    double q = std::floor(n * share) + 1;
    double pmf =
        std::exp(detail::log_factorial(n) - detail::log_factorial(q) -
                 detail::log_factorial(n - q) + q * std::log(share) + (n - q) * std::log1p(-share));
    while (q <= n) {
        const double ratio = (n - q) / (q + 1) * odds;
        if (pmf <= refill_chance / static_cast<double>(sources) * (1 - ratio)) {
            break;
        }
        pmf *= ratio;
        ++q;
    }
    return std::min(limit, static_cast<std::size_t>(q));
}

}  // namespace v1
}  // namespace shardweave

#endif
