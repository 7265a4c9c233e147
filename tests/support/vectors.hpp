// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_VECTORS_HPP
#define SHARDWEAVE_TESTS_SUPPORT_VECTORS_HPP

/// Reads the golden vectors. Their files hold one row a line, so that no JSON library is needed.

#include <charconv>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace test_support {

inline std::string from_hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        unsigned value = 0;
        std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
        bytes += static_cast<char>(value);
    }
    return bytes;
}

inline std::string to_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

/// One row: `{"name": "text", "other": 12}`.
class vector_row {
public:
    explicit vector_row(std::string line) : line_(std::move(line)) {}

    [[nodiscard]] std::string text(std::string_view name) const {
        const std::string start = "\"" + std::string{name} + "\": \"";
        const auto at = line_.find(start);
        if (at == std::string::npos) {
            throw std::runtime_error{"no text " + std::string{name} + " in " + line_};
        }
        const auto first = at + start.size();
        return line_.substr(first, line_.find('"', first) - first);
    }

    [[nodiscard]] std::uint64_t number(std::string_view name) const {
        const std::string start = "\"" + std::string{name} + "\": ";
        const auto at = line_.find(start);
        std::uint64_t value = 0;
        if (at == std::string::npos ||
            std::from_chars(line_.data() + at + start.size(), line_.data() + line_.size(), value)
                    .ec != std::errc{}) {
            throw std::runtime_error{"no number " + std::string{name} + " in " + line_};
        }
        return value;
    }

    [[nodiscard]] bool has(std::string_view name) const {
        return line_.find("\"" + std::string{name} + "\": ") != std::string::npos;
    }

    /// What stands between the brackets of a list.
    [[nodiscard]] std::string list(std::string_view name) const {
        const std::string start = "\"" + std::string{name} + "\": [";
        const auto at = line_.find(start);
        if (at == std::string::npos) {
            throw std::runtime_error{"no list " + std::string{name} + " in " + line_};
        }
        const auto first = at + start.size();
        return line_.substr(first, line_.find(']', first) - first);
    }

    /// A 64-bit number that is written as text, in base `base`.
    [[nodiscard]] std::uint64_t wide(std::string_view name, int base) const {
        const std::string digits = text(name);
        std::uint64_t value = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        return value;
    }

private:
    std::string line_;
};

/// The rows of a file that have the field.
inline std::vector<vector_row> vector_rows(const std::string& file, std::string_view field) {
    std::ifstream in{std::string{SHARDWEAVE_TEST_VECTORS} + "/" + file};
    std::vector<vector_row> rows;
    for (std::string line; std::getline(in, line);) {
        if (line.find("{\"" + std::string{field} + "\": ") != std::string::npos) {
            rows.emplace_back(line);
        }
    }
    return rows;
}

}  // namespace test_support

#endif
