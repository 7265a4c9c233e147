// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_REFRESH_OPTIONS_HPP
#define SHARDWEAVE_PLACE_REFRESH_OPTIONS_HPP

/// How often a refresher loads and retries, and what a refresh came to.

#include <shardweave/core/retry.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/selector.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <stop_token>
#include <thread>

namespace shardweave {
inline namespace v1 {

enum class refresh_status : std::uint8_t {
    /// The router's table has the demanded epoch, or a higher one.
    reached,
    /// The source has no such table yet.
    behind,
    /// The source failed, or has failed so lately that it is left alone. The last good table stays.
    failed,
    /// The caller left; the refresh goes on for the others.
    left,
};

/// What a refresh came to.
struct refresh_result {
    refresh_status status;
    /// The router's epoch.
    shardweave::epoch epoch;
    /// When it failed: what was thrown, shared by all who asked. To be read only.
    std::exception_ptr cause{};
};

/// Where time and chance come from. Each may be called from several threads at once.
struct surroundings {
    std::function<instant()> now = std::chrono::steady_clock::now;
    std::function<void(std::chrono::nanoseconds)> sleep = [](std::chrono::nanoseconds wait) {
        std::this_thread::sleep_for(wait);
    };
    /// 64 random bits.
    std::function<std::uint64_t()> draw = [] { return detail::thread_generator()(); };
};

struct refresh_options {
    /// From the end of a load to the begin of the next, whoever asks. A refresh waits for it.
    std::chrono::nanoseconds minimum_interval = std::chrono::milliseconds{50};
    /// Of one load: then it counts as stuck, another one takes its place, and what it comes back
    /// with is ignored. Longer than any load that is merely slow; its thread stays stuck.
    std::chrono::nanoseconds load_at_most = std::chrono::seconds{30};
    /// After failed loads, for all together. A refresh does not wait for it: it fails.
    backoff after_failure{std::chrono::milliseconds{100}, std::chrono::seconds{10}};
    /// Retries of one operation: it is called at most `hops` + 1 times.
    unsigned hops = 5;
    /// Before a retry, so that callers who were refused together do not come back together.
    backoff before_retry{std::chrono::milliseconds{2}, std::chrono::milliseconds{250}};
    /// Retries of all operations: apart from the budgets for timeouts and throttling. A retry by a
    /// newer table than the one that was refused is free.
    retry_budget::options budget{};
    /// The user's own selectors, to decode the table with.
    selector_registry selectors{};
    shardweave::surroundings surroundings{};
};

/// How long one operation may take, retries included; and who may end it. Looked at between tries.
struct route_limits {
    shardweave::deadline deadline{};
    std::stop_token stop{};
};

}  // namespace v1
}  // namespace shardweave

#endif
