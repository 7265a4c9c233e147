// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_REDUCE_HPP
#define SHARDWEAVE_READ_REDUCE_HPP

/// Sums, counts and minima over all sources of some keys.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/action.hpp>
#include <shardweave/read/detail/answers.hpp>
#include <shardweave/read/on_failure.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/stats.hpp>

#include <cstddef>
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

/// Asks every source once, and keeps the parts by source: a machine for `drive`.
template <class Part>
class parts_of_sources {
public:
    using action = read_action<source_request<reduce_query>>;

    parts_of_sources(const std::vector<source>& sources, const reduce_options& with, epoch at,
                     on_failure mode)
        : parts_(sources.size()), outstanding_(sources.size()), mode_(mode) {
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

    [[nodiscard]] action next() {
        if (outstanding_ != 0) {
            return action::ask(std::exchange(requests_, {}));
        }
        return doomed_ ? action::failed(blame(failures_)) : action::finished();
    }
    void answer(std::size_t from, Part&& part) {
        --outstanding_;
        parts_[from] = std::move(part);
    }
    void fail(std::size_t /*from*/, error why) {
        --outstanding_;
        const bool dooms = !doomed_ && mode_ == on_failure::fail;
        doomed_ = doomed_ || dooms;
        failures_.insert(dooms ? failures_.begin() : failures_.end(), std::move(why));
    }
    void doom(std::size_t from, error why) {
        mode_ = on_failure::fail;
        fail(from, std::move(why));
    }
    void cancel() noexcept { --outstanding_; }
    [[nodiscard]] bool doomed() const noexcept { return doomed_; }

    [[nodiscard]] std::vector<std::optional<Part>>& parts() noexcept { return parts_; }
    [[nodiscard]] std::vector<error>& failures() noexcept { return failures_; }
    [[nodiscard]] read_stats& stats() noexcept { return stats_; }

private:
    std::vector<typename action::request> requests_;
    std::vector<std::optional<Part>> parts_;
    std::vector<error> failures_;
    read_stats stats_;
    std::size_t outstanding_;
    on_failure mode_;
    bool doomed_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
