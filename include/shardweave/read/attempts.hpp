// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_ATTEMPTS_HPP
#define SHARDWEAVE_READ_ATTEMPTS_HPP

/// How often a query is tried, and what that may cost.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>

namespace shardweave {
inline namespace v1 {

/// A second attempt beside one that is slow; whichever answers first counts, and the other is
/// cancelled (Dean and Barroso, The Tail at Scale, 2013). Only for reads that may go to several
/// threads or are asynchronous.
struct hedging {
    /// When the first attempt has taken longer than this part of the recent ones; 1 is never. From
    /// 0.95 on, healthy stores see at most 5 % more queries.
    double beyond = 1;
    /// And at least so long.
    std::chrono::nanoseconds at_least = std::chrono::milliseconds{1};
};

/// How one query is tried. Only a `store_trouble` is tried again.
struct attempt_options {
    /// Attempts one after another, the first included; at least 1.
    unsigned most = 3;
    /// Between them; a `throttled` store's `retry_after` is waited for at least.
    backoff wait{};
    /// A store that wants to be left alone for longer is not waited for: its call fails. No call
    /// waits beyond the read's deadline either.
    std::chrono::nanoseconds longest_wait = std::chrono::seconds{30};
    /// What one attempt may take. Then its query's `stop` is stopped, and it counts as `timed_out`;
    /// an answer that comes before the next attempt's is taken all the same.
    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
    hedging hedge{};
};

/// What retries and hedges may cost in all: shares of the queries, so that they can not multiply
/// the load of a store that is in trouble. Each kind of trouble has a budget of its own (and stale
/// routes have the refresher's). Thread-safe; several fan-outs may share one.
class attempt_budgets {
public:
    struct options {
        /// For stores that are unavailable or time out.
        retry_budget::options trouble{};
        retry_budget::options throttling{};
        retry_budget::options hedges{.percent = 5, .burst = 5};
    };

    attempt_budgets() : attempt_budgets(options{}) {}
    explicit attempt_budgets(const options& with)
        : trouble_(with.trouble), throttling_(with.throttling), hedges_(with.hedges) {}

    /// A query, not a retry or a hedge: earns its shares.
    void query() {
        const std::scoped_lock lock{mutex_};
        trouble_.request();
        throttling_.request();
        hedges_.request();
    }
    /// Pays for one retry after this kind of trouble; false when its budget is spent.
    [[nodiscard]] bool retry(errc after) {
        const std::scoped_lock lock{mutex_};
        return after == errc::throttled ? throttling_.retry() : trouble_.retry();
    }
    /// Pays for one hedge.
    [[nodiscard]] bool hedge() {
        const std::scoped_lock lock{mutex_};
        return hedges_.retry();
    }

    /// An attempt's time until its answer, or until it was given up.
    void took(std::chrono::nanoseconds time) {
        const std::scoped_lock lock{mutex_};
        recent_[count_++ % recent_.size()] = time;
        if (count_ % fresh == 0) {
            known_part_.reset();
        }
    }
    /// What this part of the recent attempts stayed under; the longest time there is before the
    /// first few answers.
    [[nodiscard]] std::chrono::nanoseconds usual(double part) {
        const std::scoped_lock lock{mutex_};
        if (count_ < fresh) {
            return std::chrono::nanoseconds::max();
        }
        if (known_part_ != part) {
            known_part_ = part;
            auto sorted = recent_;
            const std::size_t size = std::min(count_, sorted.size());
            const auto rank =
                std::min(static_cast<std::size_t>(std::max(part, 0.0) * static_cast<double>(size)),
                         size - 1);
            auto* const at = sorted.data() + rank;
            std::nth_element(sorted.data(), at, sorted.data() + size);
            known_ = *at;
        }
        return known_;
    }

private:
    /// Answers until the usual time is found anew.
    static constexpr std::size_t fresh = 16;

    std::mutex mutex_;
    retry_budget trouble_;
    retry_budget throttling_;
    retry_budget hedges_;
    std::array<std::chrono::nanoseconds, 256> recent_{};
    std::size_t count_ = 0;
    std::optional<double> known_part_;
    std::chrono::nanoseconds known_{};
};

}  // namespace v1
}  // namespace shardweave

#endif
