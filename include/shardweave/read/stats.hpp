// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_STATS_HPP
#define SHARDWEAVE_READ_STATS_HPP

/// What a read cost.

#include <algorithm>
#include <cstddef>

namespace shardweave {
inline namespace v1 {

/// Counts of one page, or of a stream so far.
struct read_stats {
    /// Rows that the sources answered with.
    std::size_t rows_examined = 0;
    /// Items handed out.
    std::size_t rows_returned = 0;
    /// Queries sent.
    std::size_t requests = 0;
    /// Length of the longest chain of queries of which each had to wait for the one before: the
    /// read's latency, in round trips.
    std::size_t rounds = 0;
    /// Different shards that were asked.
    std::size_t shards_contacted = 0;
    /// Items seen twice (copies of a migration) and handed out once.
    std::size_t duplicates = 0;
    /// Items that were marked as deleted, and not handed out.
    std::size_t deleted = 0;
    /// Attempts after the first at one query, not counted as requests.
    std::size_t retries = 0;
    /// Attempts beside a slow one, likewise.
    std::size_t hedges = 0;

    /// One read after another. The shards are the most that either asked.
    friend constexpr read_stats operator+(const read_stats& a, const read_stats& b) noexcept {
        return {a.rows_examined + b.rows_examined,
                a.rows_returned + b.rows_returned,
                a.requests + b.requests,
                a.rounds + b.rounds,
                std::max(a.shards_contacted, b.shards_contacted),
                a.duplicates + b.duplicates,
                a.deleted + b.deleted,
                a.retries + b.retries,
                a.hedges + b.hedges};
    }
};

}  // namespace v1
}  // namespace shardweave

#endif
