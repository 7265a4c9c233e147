// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_SAMPLES_HPP
#define SHARDWEAVE_TESTING_SAMPLES_HPP

/// Values that stores are known to sort or compare in ways of their own, to make rows of.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {

/// Texts that any store of UTF-8 can hold, in no order: case, digits, accents, what UTF-16 sorts
/// otherwise, a text that is another one's beginning, trailing spaces, and the empty text.
[[nodiscard]] inline std::vector<std::string> sample_texts() {
    return {"b",
            "a",
            "B",
            "A",
            "ab",
            "a ",
            "a\x1f",
            "a!",
            "",
            "10",
            "9",
            "_",
            "\x7f",
            "\xc3\x85",
            "z",
            "\xef\xbd\x9e",
            "\xf0\x9f\x98\x80",
            "%",
            "a%",
            "'a",
            "\\",
            "A\xcc\x8a",
            "Z"};
}

/// Texts for stores of bytes: a zero byte, and bytes that are negative where `char` has a sign.
[[nodiscard]] inline std::vector<std::string> sample_bytes() {
    using namespace std::string_literals;
    return {"\0"s, "a\0"s, "a\0b"s, "\x80"s, "\xff"s, "\xff\xfe"s, "a\xff"s, "a\x7f"s};
}

/// Integers: both ends, both signs, one more digit, and what a double can not hold.
[[nodiscard]] inline std::vector<std::int64_t> sample_integers() {
    using limits = std::numeric_limits<std::int64_t>;
    return {0,
            1,
            -1,
            2,
            9,
            10,
            -9,
            99,
            100,
            1 << 30,
            -(1 << 30),
            (1LL << 53) + 1,
            limits::max(),
            limits::min()};
}

}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
