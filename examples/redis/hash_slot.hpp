// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_HASH_SLOT_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_HASH_SLOT_HPP

/// Which of a Redis Cluster's slots a key is in, and names of shards that spread over the slots.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redis_timeline {

inline constexpr std::uint32_t cluster_slots = 16'384;

/// CRC-16/XMODEM: polynomial 0x1021, from 0, most significant bit first.
[[nodiscard]] constexpr std::uint16_t crc16(std::string_view bytes) noexcept {
    std::uint32_t crc = 0;
    for (const char c : bytes) {
        crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << 8U;
        for (int bit = 0; bit != 8; ++bit) {
            crc = (crc & 0x8000U) != 0 ? crc << 1U ^ 0x1021U : crc << 1U;
        }
    }
    return static_cast<std::uint16_t>(crc & 0xffffU);
}

/// What is hashed of a key: the text within the first { and the first } after it, unless that is
/// empty; else the whole key.
[[nodiscard]] constexpr std::string_view hashed_part(std::string_view key) noexcept {
    const auto open = key.find('{');
    if (open != std::string_view::npos) {
        const auto close = key.find('}', open + 1);
        if (close != std::string_view::npos && close != open + 1) {
            return key.substr(open + 1, close - open - 1);
        }
    }
    return key;
}

[[nodiscard]] constexpr std::uint16_t hash_slot(std::string_view key) noexcept {
    return static_cast<std::uint16_t>(crc16(hashed_part(key)) % cluster_slots);
}

/// So many shards' names, which are hash tags: the i-th is in the i-th part of the cluster's slots.
/// A cluster of m masters that own equal ranges, as `redis-cli --cluster create` gives them, has as
/// many shards on each when m divides the count. For the same count, always the same names.
[[nodiscard]] inline std::vector<std::string> shard_names(std::uint32_t count) {
    if (count == 0 || count > 1'000) {
        throw std::invalid_argument{"1 to 1000 shards"};
    }
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i != count; ++i) {
        // Within the middle half of its part, so that uneven borders of ranges cut none off.
        const std::uint32_t from = (4 * i + 1) * cluster_slots / (4 * count);
        const std::uint32_t to = (4 * i + 3) * cluster_slots / (4 * count) + 1;
        std::string name;
        for (std::uint32_t attempt = 0; name.empty(); ++attempt) {
            const std::string tried = "s" + std::to_string(i) + "-" + std::to_string(attempt);
            const std::uint32_t slot = hash_slot(tried);
            if (slot >= from && slot < to) {
                name = tried;
            }
        }
        names.push_back(name);
    }
    return names;
}

}  // namespace redis_timeline

#endif
