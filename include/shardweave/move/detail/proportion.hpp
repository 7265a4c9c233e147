// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_MOVE_DETAIL_PROPORTION_HPP
#define SHARDWEAVE_MOVE_DETAIL_PROPORTION_HPP

/// Parts in proportion to weights, exactly: a plan must not depend on how a machine rounds.

#include <cstdint>

namespace shardweave {
inline namespace v1 {
namespace detail {

struct quotient {
    std::uint64_t whole = 0;
    std::uint64_t rest = 0;
};

/// `total * weight / weights`, bit by bit, because the product can have more than 64 bits.
/// Requires weight ≤ weights < 2^60, and weights > 0.
[[nodiscard]] constexpr quotient share_of(std::uint64_t total, std::uint64_t weight,
                                          std::uint64_t weights) noexcept {
    quotient share;
    for (unsigned bit = 64; bit-- != 0;) {
        share.whole *= 2;
        share.rest = 2 * share.rest + (((total >> bit) & 1U) != 0 ? weight : 0);
        share.whole += share.rest / weights;
        share.rest %= weights;
    }
    return share;
}

/// Whether `a / weight_a < b / weight_b`, exactly. Weights are positive and below 2^32.
[[nodiscard]] constexpr bool less_full(std::int64_t a, std::uint32_t weight_a, std::int64_t b,
                                       std::uint32_t weight_b) noexcept {
    struct parts {
        std::int64_t floor;
        std::uint64_t rest;
    };
    const auto split = [](std::int64_t value, std::int64_t weight) {
        const std::int64_t floor = value / weight - (value % weight < 0 ? 1 : 0);
        return parts{floor, static_cast<std::uint64_t>(value - floor * weight)};
    };
    const parts left = split(a, weight_a);
    const parts right = split(b, weight_b);
    return left.floor != right.floor ? left.floor < right.floor
                                     : left.rest * weight_b < right.rest * weight_a;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
