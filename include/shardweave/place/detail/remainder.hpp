// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_REMAINDER_HPP
#define SHARDWEAVE_PLACE_DETAIL_REMAINDER_HPP

/// A remainder without a division, for a divisor that is known long before.

#include <shardweave/core/limits.hpp>

#include <cstdint>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// What stands in for a division of 32-bit numbers by a number of buckets.
/// D. Lemire, O. Kaser and N. Kurz, "Faster remainder by direct computation", 2019: exact when it
/// has as many bits as number and divisor have together. Requires 1 ≤ `divisor` ≤
/// `limits::buckets`.
[[nodiscard]] constexpr std::uint64_t reciprocal(std::uint32_t divisor) noexcept {
    static_assert(limits::buckets <= 1U << 12U, "44 bits are for divisors of 12 bits");
    return ((std::uint64_t{1} << 44U) - 1) / divisor + 1;
}

/// `number % divisor`, in two multiplications, with the divisor's `reciprocal`.
[[nodiscard]] constexpr std::uint32_t remainder(std::uint32_t number, std::uint32_t divisor,
                                                std::uint64_t reciprocal) noexcept {
    const std::uint64_t fraction = (reciprocal * number) & ((std::uint64_t{1} << 44U) - 1);
    return static_cast<std::uint32_t>((fraction * divisor) >> 44U);
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
