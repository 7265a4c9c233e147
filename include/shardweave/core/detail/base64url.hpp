// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_DETAIL_BASE64URL_HPP
#define SHARDWEAVE_CORE_DETAIL_BASE64URL_HPP

/// base64url (RFC 4648, section 5) without padding, strict: one text for each byte string.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace detail {

inline constexpr std::string_view base64url_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// How many characters so many bytes become.
constexpr std::size_t base64url_size(std::size_t bytes) noexcept { return (bytes * 4 + 2) / 3; }

inline std::string base64url_encode(std::string_view bytes) {
    std::string text;
    text.reserve(base64url_size(bytes.size()));
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : bytes) {
        bits = bits << 8U | static_cast<unsigned char>(c);
        for (count += 8; count >= 6; count -= 6) {
            text += base64url_alphabet[(bits >> (count - 6)) & 63U];
        }
    }
    if (count != 0) {
        text += base64url_alphabet[(bits << (6 - count)) & 63U];
    }
    return text;
}

/// Nothing for a text that `base64url_encode` does not write.
inline std::optional<std::string> base64url_decode(std::string_view text) {
    static constexpr auto values = [] {
        std::array<unsigned char, 256> table{};
        table.fill(64);
        for (std::size_t i = 0; i != base64url_alphabet.size(); ++i) {
            table[static_cast<unsigned char>(base64url_alphabet[i])] =
                static_cast<unsigned char>(i);
        }
        return table;
    }();
    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char c : text) {
        const unsigned char value = values[static_cast<unsigned char>(c)];
        if (value == 64) {
            return std::nullopt;
        }
        bits = bits << 6U | value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes += static_cast<char>(static_cast<unsigned char>(bits >> count));
        }
    }
    // A sixth bit too many, or bits that no byte justifies, would be a second text for these bytes.
    if (count >= 6 || (bits & ((1U << count) - 1)) != 0) {
        return std::nullopt;
    }
    return bytes;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
