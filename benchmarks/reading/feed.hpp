// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_READING_FEED_HPP
#define SHARDWEAVE_BENCHMARKS_READING_FEED_HPP

/// A hot key over some buckets in memory, as cheap to ask as a store can be.

#include <shardweave/place/router.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reading_benchmark {

namespace sw = shardweave;

/// As short as a row of a timeline is: 32 bytes and an id on the heap.
struct post {
    std::int64_t created_at = 0;
    std::string id;
};

inline const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));
using place = decltype(newest)::position_type;

class feed {
public:
    feed(std::uint32_t buckets, std::size_t count)
        : router{sw::routing_table{
              sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(buckets)),
              sw::shard_map::even({"db0", "db1", "db2", "db3"})}} {
        for (std::size_t i = count; i-- != 0;) {
            post each{static_cast<std::int64_t>(1'700'000'000 + i),
                      "post-of-author-1-" + std::to_string(i)};
            const auto at = router.pin()->place("author-1", each.id);
            rows_[at.partition_key.str()].push_back(std::move(each));
        }
        for (const auto& each : router.pin()->targets("author-1")) {
            keys.push_back(each.partition_key.str());
        }
    }

    /// The first rows of a partition key beyond a position, newest first.
    [[nodiscard]] sw::shard_page<post>
    answer(const std::string& key, const std::optional<place>& after, std::size_t limit) const {
        const auto found = rows_.find(key);
        if (found == rows_.end()) {
            return {};
        }
        const std::vector<post>& rows = found->second;
        auto first = rows.begin();
        if (after) {
            first = std::partition_point(rows.begin(), rows.end(), [&](const post& row) {
                return std::tie(row.created_at, row.id) >= after->values;
            });
        }
        const auto left = static_cast<std::size_t>(rows.end() - first);
        const auto last = first + static_cast<std::ptrdiff_t>(std::min(left, limit));
        return {.items = {first, last}, .more = left > limit};
    }

    sw::router router;
    std::vector<std::string> keys;

private:
    std::unordered_map<std::string, std::vector<post>> rows_;
};

}  // namespace reading_benchmark

#endif
