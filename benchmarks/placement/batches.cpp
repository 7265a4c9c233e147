// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/hash.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/shard_groups.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../ratio.hpp"
#include "placement.hpp"

namespace sw = shardweave;

namespace placement_benchmark {
namespace {

void batches_of(const std::vector<std::string>& keys, const char* order) {
    const std::size_t count = keys.size();
    const std::vector<std::string> hot = keys_of(20, hot_count);
    const sw::router router{table_with(hot)};
    sw::router::reader reader{router};

    bench::table table{fmt::format(
        "each key of a batch by shard, {}, against unordered_map<shard, vector>", order)};
    const std::string map = "unordered_map<shard, vector<index>>";
    table.batch(map, count, [&] {
        std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> groups;
        const sw::prepared_table& now = reader.current();
        for (std::size_t i = 0; i != keys.size(); ++i) {
            groups[now.route_of(keys[i], "id").shard_number].push_back(
                static_cast<std::uint32_t>(i));
        }
        return groups.size();
    });
    table.batch("the floor: each key hashed, prefetched", count, [&] {
        constexpr std::size_t ahead = 8;
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i != keys.size(); ++i) {
            if (i + ahead < keys.size()) {
                __builtin_prefetch(keys[i + ahead].data());
            }
            sum += sw::stable_hash64(keys[i]);
        }
        return sum;
    });
    std::vector<std::pair<std::string_view, std::string_view>> pairs;
    for (const std::string& key : keys) {
        pairs.emplace_back(key, "id");
    }
    const std::string ours = "shard_groups, used again";
    sw::shard_groups groups;
    table.batch(ours, count, [&pairs, &reader, &groups] {
        groups.assign(reader.current(), pairs);
        return groups.groups().size();
    });
    table.batch("routing_table::group, with its texts", count,
                [&] { return reader.table().group(pairs).size(); });
    table.at_least(1.7, ours, map);
    table.print(0, 11);
}

}  // namespace

void batches() {
    const std::size_t count = bench::how == bench::mode::counted ? 20'000 : 1'000'000;
    std::vector<std::string> keys = keys_of(24, count);
    batches_of(keys, "1,000,000 keys of 24 bytes as they lie in memory");
    std::mt19937_64 generator{1};
    std::shuffle(keys.begin(), keys.end(), generator);
    batches_of(keys, "1,000,000 keys of 24 bytes scattered in memory");
}

}  // namespace placement_benchmark
