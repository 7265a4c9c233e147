// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_PLACEMENT_PLACEMENT_HPP
#define SHARDWEAVE_BENCHMARKS_PLACEMENT_PLACEMENT_HPP

/// The parts of the benchmark of placement, and the data that they share.

#include <shardweave/place/routing_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace placement_benchmark {

void routes();
void texts();
void batches();
void reading();
void movement();

/// Keys of `bytes` ≥ 8 bytes, as applications have them: a path, and a number at the end.
inline std::vector<std::string> keys_of(std::size_t bytes, std::size_t count) {
    const std::string path = "tenant/eu-west/authors/of/many/posts/in/a/very/busy/forum/"
                             "with/long/names/and/longer/threads/";
    std::vector<std::string> keys;
    for (std::size_t i = 0; i != count; ++i) {
        const std::string number = fmt::format("-{}", i * 7'919 % 1'000'003);
        std::string key = path.substr(0, bytes < number.size() ? 0 : bytes - number.size());
        key.resize(bytes - std::min(bytes, number.size()), 'x');
        keys.push_back(key + number);
    }
    return keys;
}

inline std::vector<std::string> shard_names(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i != count; ++i) {
        names.push_back(fmt::format("db{}", i));
    }
    return names;
}

inline constexpr std::size_t hot_count = 16;

/// Ten shards, and a few keys that have 16 buckets each.
inline shardweave::routing_table table_with(const std::vector<std::string>& hot) {
    shardweave::scheme_table schemes{shardweave::calculated(1)};
    for (const std::string& key : hot) {
        schemes = schemes.with(key, shardweave::calculated(16));
    }
    return {std::move(schemes), shardweave::shard_map::even(shard_names(10))};
}

}  // namespace placement_benchmark

#endif
