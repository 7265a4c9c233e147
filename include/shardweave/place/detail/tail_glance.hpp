// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_TAIL_GLANCE_HPP
#define SHARDWEAVE_PLACE_DETAIL_TAIL_GLANCE_HPP

/// Whether a text may end like the bucket of a key, by a look at two of its characters.

#include <shardweave/core/limits.hpp>
#include <shardweave/place/detail/windows.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Every route asks this, and nearly every answer is no. A bucket ends in one of five ways: with
/// one to four digits after what stands before them, or with a window. For each value of the 5th
/// and the 6th last character there is a byte, whose bits say which of the ways have that character
/// there; a text without a way in common is no bucket.
class tail_glance {
public:
    /// Says no to every text: where no text is mistaken for a bucket.
    tail_glance() = default;

    /// Of buckets that end with `between`, the number and `after`; with a bucket in front, only
    /// `after` can be told from the end.
    tail_glance(std::string_view between, std::string_view after, bool bucket_last) {
        static_assert(limits::buckets <= 10'000, "four digits");
        for (unsigned c = 0; c != 256; ++c) {
            for (unsigned way = 0; way != ways; ++way) {
                const auto fits = [&](std::size_t from_end) {
                    return from_end > after.size() && !bucket_last
                               ? true
                               : may_be(static_cast<char>(c), from_end, way, between, after);
                };
                const unsigned bit = 1U << way;
                fifth_[c] = static_cast<std::uint8_t>(fifth_[c] | (fits(5) ? bit : 0));
                sixth_[c] = static_cast<std::uint8_t>(sixth_[c] | (fits(6) ? bit : 0));
            }
        }
    }

    /// Requires six characters at least.
    static constexpr std::size_t shortest = 6;

    /// False when the text surely is not a bucket.
    [[nodiscard]] bool may_be_bucket(std::string_view text) const noexcept {
        const auto* end = text.data() + text.size();
        return (fifth_[static_cast<unsigned char>(end[-5])] &
                sixth_[static_cast<unsigned char>(end[-6])]) != 0;
    }

private:
    static constexpr unsigned ways = 5;
    static constexpr unsigned windowed = 4;

    [[nodiscard]] static bool may_be(char c, std::size_t from_end, unsigned way,
                                     std::string_view between, std::string_view after) noexcept {
        const bool digit = c >= '0' && c <= '9';
        if (from_end <= after.size()) {
            return c == after[after.size() - from_end];
        }
        from_end -= after.size();
        if (way == windowed) {
            constexpr std::string_view shape = window_text::shape;
            const char at = shape[shape.size() - from_end];
            return at == '0' ? digit : c == at;
        }
        const std::size_t digits = way + 1;
        if (from_end <= digits) {
            return digit;
        }
        from_end -= digits;
        return from_end > between.size() || c == between[between.size() - from_end];
    }

    std::array<std::uint8_t, 256> fifth_{};
    std::array<std::uint8_t, 256> sixth_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
