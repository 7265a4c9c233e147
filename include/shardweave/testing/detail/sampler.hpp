// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_SAMPLER_HPP
#define SHARDWEAVE_TESTING_DETAIL_SAMPLER_HPP

/// Which of many rows, and which page sizes, are tried.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

/// Choices that a seed repeats.
class sampler {
public:
    sampler(std::size_t most, std::uint64_t seed) noexcept : most_(most), state_(seed) {}

    /// Less than `bound`, by a linear congruential generator (Knuth's MMIX): even enough.
    [[nodiscard]] std::size_t below(std::size_t bound) noexcept {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::size_t>((state_ >> 33U) % bound);
    }

    /// Some of the places of `count` rows, all if they are few; the first and the last always.
    [[nodiscard]] std::vector<std::size_t> places(std::size_t count) {
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i != count; ++i) {
            const bool end = i == 0 || i + 1 == count;
            if (count <= most_ || end || below(count) < most_) {
                chosen.push_back(i);
            }
        }
        return chosen;
    }

    /// Page sizes for `rows` rows: the smallest ones, and the whole.
    [[nodiscard]] static std::vector<std::size_t> limits(std::size_t rows) {
        std::vector<std::size_t> all{1, 2, 3};
        if (rows > 3) {
            all.push_back(rows);
        }
        return all;
    }

private:
    std::size_t most_;
    std::uint64_t state_;
};

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
