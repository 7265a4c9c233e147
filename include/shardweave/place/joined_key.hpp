// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_JOINED_KEY_HPP
#define SHARDWEAVE_PLACE_JOINED_KEY_HPP

/// A key of several fields, joined so that no two lists of fields read alike.

#include <shardweave/core/hash.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// Joins fields into one key, injectively: `#` between them, `\#` and `\\` within them.
/// `join_key("user", 42)` is `user#42`. `split_key` gives the fields back. A field is text or an
/// integer, as an item id is: no bool, and no single character, which would be joined as a number.
template <class... Parts>
    requires(sizeof...(Parts) > 0) && ((detail::id_text<Parts> || detail::id_number<Parts>) && ...)
[[nodiscard]] std::string join_key(const Parts&... parts) {
    std::string key;
    bool first = true;
    const auto add = [&](std::string_view part) {
        if (!std::exchange(first, false)) {
            key += '#';
        }
        for (const char c : part) {
            if (c == '#' || c == '\\') {
                key += '\\';
            }
            key += c;
        }
    };
    (add(id_bytes{parts}.view()), ...);
    return key;
}

/// The fields of a key that `join_key` made; nothing for a text that it never makes.
[[nodiscard]] inline std::optional<std::vector<std::string>> split_key(std::string_view key) {
    std::vector<std::string> parts(1);
    for (std::size_t i = 0; i != key.size(); ++i) {
        if (key[i] == '#') {
            parts.emplace_back();
        } else if (key[i] != '\\') {
            parts.back() += key[i];
        } else if (++i != key.size() && (key[i] == '#' || key[i] == '\\')) {
            parts.back() += key[i];
        } else {
            return std::nullopt;
        }
    }
    return parts;
}

}  // namespace v1
}  // namespace shardweave

#endif
