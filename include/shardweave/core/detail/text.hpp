// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_DETAIL_TEXT_HPP
#define SHARDWEAVE_CORE_DETAIL_TEXT_HPP

/// Error texts from pieces, without a formatting library in every header.

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <system_error>

namespace shardweave {
inline namespace v1 {
namespace detail {

inline void append(std::string& out, std::string_view piece) { out += piece; }

template <std::integral Number>
void append(std::string& out, Number number) {
    char digits[24];
    const auto [end, ec] = std::to_chars(digits, digits + sizeof digits, number);
    if (ec == std::errc{}) {
        out.append(digits, end);
    }
}

/// The pieces (texts and integers) one after another.
template <class... Pieces>
[[nodiscard]] std::string concat(const Pieces&... pieces) {
    std::string out;
    (detail::append(out, pieces), ...);
    return out;
}

/// Bytes as a person can read them in an error: printable ASCII as it is, the rest as \xNN, cut
/// at 80.
[[nodiscard]] inline std::string quoted(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::size_t most = 80;
    std::string out = "\"";
    for (const char c : bytes.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte >= 0x20 && byte < 0x7f) {
            out += c;
        } else {
            out += "\\x";
            out += digits[byte >> 4U];
            out += digits[byte & 15U];
        }
    }
    out += bytes.size() > most ? "…\"" : "\"";
    return out;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
