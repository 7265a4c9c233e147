// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_CURSORS_HPP
#define SHARDWEAVE_TESTS_SUPPORT_CURSORS_HPP

/// Store cursors as real stores give them, and the plain way to write many of them.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/detail/base64url.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/generate.hpp"

namespace test_support {

enum class shape : std::uint8_t { json, base64 };

/// What DynamoDB's `LastEvaluatedKey` is for bucket `index` of one key, a second or so apart from
/// the others.
inline std::string last_key(std::size_t index, shape as) {
    generator from{index};
    const auto digits = [](std::size_t width, std::uint64_t value) {
        std::string text = std::to_string(value);
        return text.insert(0, width - text.size(), '0');
    };
    const std::string json = "{\"PK\":{\"S\":\"author-1:bucket-" + std::to_string(index) +
                             "\"},\"SK\":{\"S\":\"2026-11-30T09:24:" + digits(2, from.below(60U)) +
                             "." + digits(3, from.below(1'000U)) + "Z#post-" +
                             digits(6, from.below(1'000'000U)) + "\"}}";
    return as == shape::json ? json : shardweave::detail::base64url_encode(json);
}

inline std::string random_text(generator& from, std::string_view alphabet, std::size_t size) {
    std::string text(size, '\0');
    std::generate(text.begin(), text.end(), [&] { return from.pick(alphabet); });
    return text;
}

/// The characters of ASCII that can be printed.
inline std::string_view printable() {
    static const std::string all = [] {
        std::string text;
        for (char c = ' '; c <= '~'; ++c) {
            text += c;
        }
        return text;
    }();
    return all;
}

/// The bytes of the cursors, each as how much it shares with the beginning of the one before, and
/// the rest.
inline std::size_t prefix_coded(const std::vector<std::string>& cursors) {
    std::string bytes;
    shardweave::byte_writer out{bytes};
    std::string_view before;
    for (const std::string& each : cursors) {
        const auto differs =
            std::mismatch(each.begin(), each.end(), before.begin(), before.end()).first;
        const auto shared = static_cast<std::size_t>(differs - each.begin());
        out.varint(shared);
        out.text(std::string_view{each}.substr(shared));
        before = each;
    }
    return bytes.size();
}

}  // namespace test_support

#endif
