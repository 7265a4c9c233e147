// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_REDUCE_HPP
#define SHARDWEAVE_READ_REDUCE_HPP

/// Sums, counts and minima over all sources of some keys.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/detail/answers.hpp>
#include <shardweave/read/detail/calls.hpp>
#include <shardweave/read/detail/drive.hpp>
#include <shardweave/read/on_failure.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/stats.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// What one source is asked for its part of a result, such as `SELECT count(*)`. Valid until the
/// callback returns; see `shard_query`.
struct reduce_query {
    std::string shard{};
    std::span<const std::string> partition_keys{};
    std::string_view filter{};
    shardweave::epoch epoch{};
    time_range within{};
    std::stop_token stop{};
    shardweave::deadline deadline{};
};

/// What a reduction is asked to be.
struct reduce_options {
    /// Handed to the callback as it is.
    std::string filter{};
    /// The times that count; the callback leaves out the others.
    time_range within{};
    shardweave::deadline deadline{};
    std::stop_token stop{};
};

/// What came of it.
template <class Value>
struct reduction {
    Value value;
    /// The sources that are missing in the value, with `on_failure::skip`.
    std::vector<error> failures{};
    read_stats stats{};

    [[nodiscard]] bool complete() const noexcept { return failures.empty(); }
};

namespace detail {

/// Asks every source once, and keeps the parts by source.
template <class Part, class Ask>
class parts_of_sources {
public:
    struct request {
        std::size_t source;
        reduce_query query;
    };
    using calls_type = calls<Part, request, Ask>;

    parts_of_sources(const std::vector<source>& sources, const reduce_options& with, epoch at)
        : parts_(sources.size()) {
        std::set<std::string_view> shards;
        for (std::size_t i = 0; i != sources.size(); ++i) {
            requests_.push_back(
                {i, {sources[i].shard, sources[i].partition_keys, with.filter, at, with.within}});
            shards.insert(sources[i].shard);
        }
        stats_.requests = sources.size();
        stats_.rounds = sources.empty() ? 0 : 1;
        stats_.shards_contacted = shards.size();
    }

    /// Throws what a page throws.
    void ask(calls_type& calls, on_failure mode) {
        for (request& each : requests_) {
            calls.submit(std::move(each));
        }
        std::exception_ptr cause;
        bool doomed = false;
        while (!calls.idle()) {
            auto result = calls.receive();
            if (result.answer) {
                parts_[result.source] = std::move(result.answer);
                continue;
            }
            failures_.push_back(std::move(result.why));
            if (!doomed && (mode == on_failure::fail || result.ends_read)) {
                doomed = true;
                cause = result.thrown;
                std::swap(failures_.front(), failures_.back());
                (void)calls.abandon();
            }
        }
        stats_.retries = calls.counted().retries;
        stats_.hedges = calls.counted().hedges;
        if (doomed) {
            throw_failure(blame(failures_), cause);
        }
    }

    [[nodiscard]] std::vector<std::optional<Part>>& parts() noexcept { return parts_; }
    [[nodiscard]] std::vector<error>& failures() noexcept { return failures_; }
    [[nodiscard]] const read_stats& stats() const noexcept { return stats_; }

private:
    std::vector<request> requests_;
    std::vector<std::optional<Part>> parts_;
    std::vector<error> failures_;
    read_stats stats_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
