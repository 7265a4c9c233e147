// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_PEERS_HPP
#define SHARDWEAVE_BENCHMARKS_PEERS_HPP

/// Other ways from a key to a shard, written for this comparison from their published
/// descriptions; each names its own.

#include <shardweave/core/hash.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// 0 to `count` − 1.
inline std::vector<std::uint32_t> first_shards(std::uint32_t count) {
    std::vector<std::uint32_t> shards(count);
    std::iota(shards.begin(), shards.end(), 0U);
    return shards;
}

/// The Redis Cluster specification, "Key distribution model" and "Hash tags": CRC-16/XMODEM of the
/// key, or of what stands between its first braces, modulo 16,384; then a table of owners.
class redis_cluster {
public:
    static constexpr std::uint32_t slots = 16'384;

    explicit redis_cluster(std::uint32_t shards) {
        for (std::uint32_t slot = 0; slot != slots; ++slot) {
            owners_.push_back(slot * shards / slots);
        }
        for (unsigned byte = 0; byte != 256; ++byte) {
            unsigned rest = byte << 8U;
            for (int bit = 0; bit != 8; ++bit) {
                rest = (rest & 0x8000U) != 0 ? (rest << 1U) ^ 0x1021U : rest << 1U;
            }
            remainders_[byte] = static_cast<std::uint16_t>(rest);
        }
    }

    [[nodiscard]] std::uint32_t shard(std::string_view key) const {
        return owners_[crc(tag(key)) % slots];
    }

    [[nodiscard]] std::uint32_t crc(std::string_view text) const {
        unsigned rest = 0;
        for (const char c : text) {
            const unsigned at = ((rest >> 8U) ^ static_cast<unsigned char>(c)) & 0xffU;
            rest = ((rest << 8U) ^ remainders_[at]) & 0xffffU;
        }
        return rest;
    }

private:
    static std::string_view tag(std::string_view key) {
        const auto open = key.find('{');
        if (open == std::string_view::npos) {
            return key;
        }
        const auto close = key.find('}', open + 1);
        return close == std::string_view::npos || close == open + 1
                   ? key
                   : key.substr(open + 1, close - open - 1);
    }

    std::vector<std::uint32_t> owners_;
    std::array<std::uint16_t, 256> remainders_{};
};

/// Couchbase's vBuckets, by their documentation: bits 16 to 30 of the key's CRC-32, modulo 1,024;
/// then a table of owners.
class vbuckets {
public:
    static constexpr std::uint32_t count = 1'024;

    explicit vbuckets(std::uint32_t shards) {
        for (std::uint32_t bucket = 0; bucket != count; ++bucket) {
            owners_.push_back(bucket * shards / count);
        }
        for (std::uint32_t byte = 0; byte != 256; ++byte) {
            std::uint32_t rest = byte;
            for (int bit = 0; bit != 8; ++bit) {
                rest = (rest & 1U) != 0 ? (rest >> 1U) ^ 0xedb88320U : rest >> 1U;
            }
            remainders_[byte] = rest;
        }
    }

    [[nodiscard]] std::uint32_t shard(std::string_view key) const {
        return owners_[((crc(key) >> 16U) & 0x7fffU) % count];
    }

    [[nodiscard]] std::uint32_t crc(std::string_view text) const {
        std::uint32_t rest = ~std::uint32_t{0};
        for (const char c : text) {
            rest = (rest >> 8U) ^ remainders_[(rest ^ static_cast<unsigned char>(c)) & 0xffU];
        }
        return ~rest;
    }

private:
    std::vector<std::uint32_t> owners_;
    std::array<std::uint32_t, 256> remainders_{};
};

/// Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014: a key jumps from
/// shard to shard by a linear congruential generator, and stays at the last one that exists.
inline std::uint32_t jump_hash(std::uint64_t hash, std::uint32_t shards) {
    std::uint64_t stays = 0;
    for (std::uint64_t next = 0; next < shards;) {
        stays = next;
        hash = hash * 2'862'933'555'777'941'757U + 1;
        const double draw = static_cast<double>((hash >> 33U) + 1) / 2'147'483'648.0;
        next = static_cast<std::uint64_t>(static_cast<double>(stays + 1) / draw);
    }
    return static_cast<std::uint32_t>(stays);
}

/// Eisenbud and others, "Maglev", NSDI 2016, section 3.4: shards take turns to claim the next free
/// place of a permutation of their own, in a table whose size is a prime.
class maglev {
public:
    static constexpr std::uint32_t places = 65'537;

    explicit maglev(const std::vector<std::uint32_t>& shards) : owners_(places, nobody) {
        struct walk {
            std::uint32_t shard;
            std::uint64_t next;
            std::uint64_t step;
        };
        std::vector<walk> walks;
        for (const std::uint32_t shard : shards) {
            const std::string name = fmt::format("db{}", shard);
            walks.push_back({shard, shardweave::stable_hash64(name, 1) % places,
                             shardweave::stable_hash64(name, 2) % (places - 1) + 1});
        }
        for (std::uint32_t filled = 0; filled != places; ++filled) {
            walk& turn = walks[filled % walks.size()];
            while (owners_[turn.next] != nobody) {
                turn.next = (turn.next + turn.step) % places;
            }
            owners_[turn.next] = turn.shard;
        }
    }

    [[nodiscard]] std::uint32_t shard(std::uint64_t hash) const { return owners_[hash % places]; }

private:
    static constexpr std::uint32_t nobody = 0xffffffffU;

    std::vector<std::uint32_t> owners_;
};

/// Karger and others, "Consistent Hashing and Random Trees", 1997: each shard stands at many points
/// of a circle, and a key belongs to the next one.
class ring {
public:
    explicit ring(const std::vector<std::uint32_t>& shards, std::uint32_t points = 160) {
        for (const std::uint32_t shard : shards) {
            for (std::uint32_t point = 0; point != points; ++point) {
                const std::string name = fmt::format("db{}-{}", shard, point);
                points_.emplace_back(shardweave::stable_hash64(name), shard);
            }
        }
        std::sort(points_.begin(), points_.end());
    }

    [[nodiscard]] std::uint32_t shard(std::uint64_t hash) const {
        const auto next =
            std::lower_bound(points_.begin(), points_.end(), hash,
                             [](const auto& point, std::uint64_t at) { return point.first < at; });
        return next == points_.end() ? points_.front().second : next->second;
    }

private:
    std::vector<std::pair<std::uint64_t, std::uint32_t>> points_;
};

}  // namespace bench

#endif
