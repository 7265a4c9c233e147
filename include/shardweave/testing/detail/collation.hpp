// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_COLLATION_HPP
#define SHARDWEAVE_TESTING_DETAIL_COLLATION_HPP

/// Other ways to compare texts, which stores are known to use, to tell them by what they do.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

/// Negative, zero or positive. `key` maps a text to one that compares by bytes.
template <class Key>
int compare_by(std::string_view a, std::string_view b, const Key& key) {
    return key(a).compare(key(b));
}

inline std::string mapped(std::string_view text, unsigned char (*map)(unsigned char)) {
    std::string out{text};
    std::ranges::transform(out, out.begin(), [map](char c) {
        return static_cast<char>(map(static_cast<unsigned char>(c)));
    });
    return out;
}

inline std::string without_case(std::string_view text) {
    return mapped(text, [](unsigned char c) {
        return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
}

inline std::string as_signed(std::string_view text) {
    return mapped(text, [](unsigned char c) { return static_cast<unsigned char>(c ^ 0x80U); });
}

/// UTF-16 puts what is beyond U+FFFF (in UTF-8: a first byte from F0 on) before U+E000 (from EE).
inline std::string as_utf16(std::string_view text) {
    return mapped(text, [](unsigned char c) {
        return static_cast<unsigned char>(c >= 0xf0 ? c - 2 : c >= 0xee ? c + 0x10 : c);
    });
}

inline std::string up_to_zero(std::string_view text) {
    return std::string{text.substr(0, text.find('\0'))};
}

inline std::string without_end_spaces(std::string_view text) {
    return std::string{text.substr(0, text.find_last_not_of(' ') + 1)};
}

/// Digits as a number: longer numbers are greater.
inline std::string as_number(std::string_view text) {
    const bool digits =
        !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    return digits ? std::string(1, static_cast<char>('0' + std::min<std::size_t>(text.size(), 9))) +
                        std::string{text}
                  : std::string{text};
}

struct collation {
    std::string_view name;
    std::string (*key)(std::string_view);

    /// Whether these two stand to each other as their unsigned bytes do.
    [[nodiscard]] bool agrees(std::string_view a, std::string_view b) const {
        const int here = compare_by(a, b, key);
        const int bytes = a.compare(b);
        return (here < 0) == (bytes < 0) && (here > 0) == (bytes > 0);
    }
};

inline constexpr std::array collations{
    collation{"without regard to case", without_case},
    collation{"with signed bytes", as_signed},
    collation{"in UTF-16", as_utf16},
    collation{"up to the first zero byte", up_to_zero},
    collation{"without the spaces at the end", without_end_spaces},
    collation{"as numbers", as_number},
};

/// The name of a way to compare in which these two do not stand as their bytes do; else empty.
[[nodiscard]] inline std::string_view other_collation(std::string_view a, std::string_view b) {
    const auto* const other =
        std::ranges::find_if(collations, [&](const collation& each) { return !each.agrees(a, b); });
    return other == collations.end() ? std::string_view{} : other->name;
}

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
