// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_SOURCES_HPP
#define SHARDWEAVE_READ_DETAIL_SOURCES_HPP

/// Which sources a read of some keys has.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/hints.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

[[nodiscard]] inline std::ptrdiff_t live_schemes(const routing_table& table, std::string_view key) {
    return std::ranges::count_if(table.schemes().history(key).entries(), [](const auto& each) {
        return each.state != scheme_state::retired;
    });
}

/// The sources of a read: each partition key of each key once, newest scheme first.
[[nodiscard]] inline std::vector<source> sources_of(const routing_table& table,
                                                    const std::vector<std::string>& keys,
                                                    grouping by, const time_range& within) {
    std::vector<std::string_view> distinct(keys.begin(), keys.end());
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<source> sources;
    std::map<std::string, std::size_t, std::less<>> by_shard;
    for (const std::string_view key : distinct) {
        std::vector<target> targets = table.targets(key, within);
        const bool one_scheme = live_schemes(table, key) == 1;
        if (!one_scheme) {
            // Schemes that share partition keys share a rank, too; and doubling moves items to a
            // higher bucket only, so that the higher of two has the newer copy.
            std::ranges::reverse(targets);
        }
        for (target& each : targets) {
            const double weight = each.rank == 0 ? 1 : 0;
            if (by == grouping::per_shard && one_scheme) {
                const auto [known, added] = by_shard.emplace(each.shard, sources.size());
                if (!added) {
                    source& shared = sources[known->second];
                    shared.partition_keys.push_back(each.partition_key);
                    shared.weight += weight;
                    continue;
                }
            }
            if (sources.size() == limits::sources) {
                throw failure{errc::limit_exceeded,
                              concat("a read of more than ", limits::sources,
                                     " sources; read fewer of the ", distinct.size(),
                                     " keys at a time, or group per shard")};
            }
            sources.push_back({std::move(each.shard), {each.partition_key}, each.rank, weight});
        }
    }
    // Equal positions go to the first: older schemes last. (A stable sort, which clang warns of in
    // libstdc++ 12; ranks are few.)
    std::vector<source> by_rank;
    for (std::uint32_t rank = 0; by_rank.size() != sources.size(); ++rank) {
        for (source& each : sources) {
            if (each.rank == rank) {
                by_rank.push_back(std::move(each));
            }
        }
    }
    return by_rank;
}

/// Throws `errc::limit_exceeded` for a page that is too large.
inline void check_size(std::size_t limit, std::size_t sources) {
    if (limit > limits::page_items ||
        limit * std::max<std::size_t>(sources, 1) > limits::buffered_rows) {
        throw failure{errc::limit_exceeded,
                      concat("a page of ", limit, " items from ", sources, " sources; at most ",
                             limits::page_items, " items and ", limits::buffered_rows,
                             " rows in memory are allowed")};
    }
}

/// Tells lists of sources apart, and where their ends are.
[[nodiscard]] inline std::uint64_t fingerprint(const std::vector<source>& sources,
                                               const std::string& end) {
    std::string bytes;
    byte_writer out{bytes};
    for (const source& each : sources) {
        out.text(each.shard);
        out.varint(each.partition_keys.size());
        for (const std::string& key : each.partition_keys) {
            out.text(key);
        }
    }
    if (!end.empty()) {
        out.text(end);
    }
    return stable_hash64(bytes);
}

/// Weighs the sources by what a page took from the schemes of each rank.
inline void weigh(std::vector<source>& sources, const std::vector<std::uint8_t>& shares) {
    for (std::uint32_t rank = 0; rank != shares.size(); ++rank) {
        const auto count = std::ranges::count(sources, rank, &source::rank);
        for (source& each : sources) {
            if (each.rank == rank) {
                each.weight = static_cast<double>(shares[rank]) / static_cast<double>(count);
            }
        }
    }
}

/// What a page's cursor may carry for the page after it.
template <class Weave>
[[nodiscard]] cursor_hints hints_of(const Weave& weave, bool ended_stay, const std::string& end) {
    cursor_hints hints;
    std::uint32_t ranks = 0;
    bool any = false;
    const auto hint = [&](std::size_t number) {
        cursor_hints::one one = weave.hint(number);
        one.ended = one.ended && ended_stay;
        return one;
    };
    for (std::size_t i = 0; i != weave.sources(); ++i) {
        const cursor_hints::one one = hint(i);
        any = any || one.ended || !one.cursor.empty();
        ranks = std::max(ranks, weave.about(i).rank + 1);
    }
    if (any) {
        std::vector<source> sources;
        for (std::size_t i = 0; i != weave.sources(); ++i) {
            hints.each.push_back(hint(i));
            sources.push_back(weave.about(i));
        }
        hints.sources = fingerprint(sources, end);
    }
    if (ranks > 1 && weave.share_of(0) < 1) {
        for (std::uint32_t rank = 0; rank != ranks; ++rank) {
            hints.shares.push_back(
                static_cast<std::uint8_t>(std::lround(255 * weave.share_of(rank))));
        }
    }
    return hints;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
