// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_CALL_PLAN_HPP
#define SHARDWEAVE_READ_DETAIL_CALL_PLAN_HPP

/// When the attempts at some calls begin and end: retries, timeouts and hedges as a state machine
/// without I/O, and without a clock.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/read/attempts.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Which attempt at which call. Calls that are over give their numbers to new ones, attempts never.
struct attempt {
    std::size_t call = 0;
    std::size_t number = 0;

    friend bool operator==(const attempt&, const attempt&) noexcept = default;
};

/// Says which attempts to begin (`due`), which to cancel (`overdue`), and when to look again
/// (`next_due`, `next_overdue`); is told how they end. A call is over with its first answer, or
/// with a failure after which nothing is tried any more. Not thread-safe.
class call_plan {
public:
    call_plan(const attempt_options& with, attempt_budgets& budgets)
        : with_(with), budgets_(&budgets) {}

    /// A new call, due at once. Its number: one of a call that is over, or else the next.
    [[nodiscard]] std::size_t add() {
        budgets_->query();
        std::size_t number = calls_.size();
        if (over_.empty()) {
            calls_.emplace_back();
        } else {
            number = over_.back();
            over_.pop_back();
            const std::size_t begun = calls_[number].begun;
            calls_[number] = {.first = begun, .begun = begun};
        }
        fresh_.push_back(number);
        return number;
    }

    /// An attempt to begin now, if there is one: retries, then first attempts in their order, then
    /// hedges.
    [[nodiscard]] std::optional<attempt> due(instant now) {
        for (planned& each : retries_) {
            if (each.at <= now) {
                const std::size_t number = each.call;
                each = retries_.back();
                retries_.pop_back();
                ++counts_.retries;
                return begin(number, now);
            }
        }
        if (!fresh_.empty()) {
            const std::size_t number = fresh_.front();
            fresh_.pop_front();
            return begin(number, now);
        }
        for (const run& each : runs_) {
            if (hedge_at(each) <= now) {
                // Whether it can be paid for or not: asked again and again, it would never rest.
                calls_[each.who.call].hedged = true;
                if (budgets_->hedge()) {
                    ++counts_.hedges;
                    return begin(each.who.call, now);
                }
            }
        }
        return std::nullopt;
    }

    /// An attempt that took too long: cancel it, and tell `failed`, of `errc::timed_out`.
    [[nodiscard]] std::optional<attempt> overdue(instant now) const {
        for (const run& each : runs_) {
            if (later(each.began, with_.timeout) <= now) {
                return each.who;
            }
        }
        return std::nullopt;
    }

    /// When `due` may next have something.
    [[nodiscard]] instant next_due() const {
        instant soonest = fresh_.empty() ? instant::max() : instant::min();
        for (const planned& each : retries_) {
            soonest = std::min(soonest, each.at);
        }
        for (const run& each : runs_) {
            soonest = std::min(soonest, hedge_at(each));
        }
        return soonest;
    }
    /// When `overdue` may next have something.
    [[nodiscard]] instant next_overdue() const {
        instant soonest = instant::max();
        for (const run& each : runs_) {
            soonest = std::min(soonest, later(each.began, with_.timeout));
        }
        return soonest;
    }

    /// An attempt has answered. True when its answer is the call's: then the call is over, and
    /// whatever else runs for it is to be cancelled.
    [[nodiscard]] bool answered(const attempt& who, instant now) {
        if (calls_[who.call].over || who.number < calls_[who.call].first) {
            return false;
        }
        for (const run& each : runs_) {
            if (each.who.call == who.call) {
                // One that lost has taken as long, at least.
                budgets_->took(now - each.began);
            }
        }
        return end(who.call);
    }

    /// An attempt has failed with a trouble that may pass. True when that ends its call: no attempt
    /// is under way, and none will be. A retry that could not begin before `until` is not waited
    /// for.
    template <std::uniform_random_bit_generator Generator>
    [[nodiscard]] bool failed(const attempt& who, errc why, std::chrono::nanoseconds retry_after,
                              instant now, deadline until, Generator& generator) {
        const auto found = std::ranges::find(runs_, who, &run::who);
        if (found == runs_.end()) {
            return false;
        }
        budgets_->took(now - found->began);
        runs_.erase(found);
        call& at = calls_[who.call];
        if (--at.running != 0) {
            return false;
        }
        if (at.tries < with_.most && retry_after <= with_.longest_wait) {
            const std::chrono::nanoseconds drawn = with_.wait.delay(at.tries - 1, generator);
            const instant next = later(now, std::max(retry_after, drawn));
            if (!until.passed(next) && budgets_->retry(why)) {
                retries_.push_back({who.call, next});
                at.hedged = false;
                return false;
            }
        }
        return end(who.call);
    }

    /// An attempt has failed for good. True when that ends its call: an attempt that was given up
    /// may say what it likes, such as that it was stopped.
    [[nodiscard]] bool failed_for_good(const attempt& who) {
        return std::ranges::find(runs_, who, &run::who) != runs_.end() && end(who.call);
    }

    /// Ends a call whatever its attempts do. False when it was over.
    bool end(std::size_t number) {
        call& at = calls_[number];
        if (std::exchange(at.over, true)) {
            return false;
        }
        std::erase_if(runs_, [&](const run& each) { return each.who.call == number; });
        std::erase_if(retries_, [&](const planned& each) { return each.call == number; });
        if (at.begun == at.first) {
            fresh_.erase(std::ranges::find(fresh_, number));
        }
        over_.push_back(number);
        return true;
    }

    /// True when an attempt at this call is under way that was not given up.
    [[nodiscard]] bool awaited(std::size_t number) const noexcept {
        return calls_[number].running != 0;
    }
    /// Calls that are not over.
    [[nodiscard]] std::size_t open() const noexcept { return calls_.size() - over_.size(); }
    /// Their numbers are below: the most that were open at a time.
    [[nodiscard]] std::size_t size() const noexcept { return calls_.size(); }

    struct counts {
        std::size_t retries = 0;
        std::size_t hedges = 0;
    };
    [[nodiscard]] const counts& counted() const noexcept { return counts_; }

private:
    struct call {
        /// The first attempt's number, and the next one's.
        std::size_t first = 0;
        std::size_t begun = 0;
        /// Attempts one after another.
        unsigned tries = 0;
        std::size_t running = 0;
        bool hedged = false;
        bool over = false;
    };
    struct run {
        attempt who;
        instant began;
    };
    struct planned {
        std::size_t call;
        instant at;
    };

    [[nodiscard]] instant hedge_at(const run& of) const {
        const call& at = calls_[of.who.call];
        if (!(with_.hedge.beyond < 1) || at.hedged || at.running != 1) {
            return instant::max();
        }
        return later(of.began, std::max(with_.hedge.at_least, budgets_->usual(with_.hedge.beyond)));
    }

    attempt begin(std::size_t number, instant now) {
        call& at = calls_[number];
        if (!at.hedged) {
            ++at.tries;
        }
        ++at.running;
        runs_.push_back({{number, at.begun}, now});
        return {number, at.begun++};
    }

    attempt_options with_;
    attempt_budgets* budgets_;
    std::vector<call> calls_;
    /// The attempts that run, as far as anybody waits for them.
    std::vector<run> runs_;
    std::vector<planned> retries_;
    /// The calls that no attempt was begun at, and those that are over.
    std::deque<std::size_t> fresh_;
    std::vector<std::size_t> over_;
    counts counts_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
