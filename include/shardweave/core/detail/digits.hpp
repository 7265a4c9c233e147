// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_DETAIL_DIGITS_HPP
#define SHARDWEAVE_CORE_DETAIL_DIGITS_HPP

/// Numbers of a fixed width within a text of a fixed shape.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// True for a text in which each character is the shape's, or a digit where that has a 0.
[[nodiscard]] inline bool fits_shape(std::string_view text, std::string_view shape) noexcept {
    return std::equal(text.begin(), text.end(), shape.begin(), shape.end(),
                      [](char c, char at) { return at == '0' ? c >= '0' && c <= '9' : c == at; });
}

/// The lowest `digits` decimal digits.
inline void write_digits(char* to, std::size_t digits, unsigned value) noexcept {
    for (; digits != 0; --digits, value /= 10) {
        to[digits - 1] = static_cast<char>('0' + value % 10);
    }
}

/// Requires digits, up to 9.
[[nodiscard]] inline unsigned read_digits(std::string_view text, std::size_t at,
                                          std::size_t digits) noexcept {
    unsigned value = 0;
    for (const char c : text.substr(at, digits)) {
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
