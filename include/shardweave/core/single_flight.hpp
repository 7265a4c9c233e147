// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_SINGLE_FLIGHT_HPP
#define SHARDWEAVE_CORE_SINGLE_FLIGHT_HPP

/// One call for many waiters, each of whom can say how fresh the call must be.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// How long one waiter waits. When it leaves, the work goes on for the others.
struct patience {
    std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max();
    std::stop_token stop{};
};

/// How long a flight may be in the air before it counts as stuck, and the clock that says so.
struct flight_limits {
    std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max();
    /// May be called from several threads at once. Never called when there is no limit.
    std::function<instant()> now = std::chrono::steady_clock::now;
};

/// Runs one piece of work at a time, a *flight*, and gives its outcome to everyone who waits for
/// it. One slot: who has many keys keeps one of these for each. Thread-safe. Never for writes:
/// what is joined must be the same whoever asks.
///
/// Flights are numbered, and a waiter names the ones that will do: those after its ticket. So what
/// it gets began after what it knows (its own write, an invalidation), and is never an older
/// flight's answer.
///
/// A flight that is in the air for too long is overtaken: one of those who wait flies instead, and
/// the others join that one. What the stuck one comes back with is its own caller's alone.
template <class Value>
class single_flight {
public:
    /// Satisfied by the flights with a higher number than `after`.
    struct ticket {
        std::uint64_t after = 0;
    };

    /// A flight's end. Neither value nor error: the waiter left before it.
    struct outcome {
        std::uint64_t flight = 0;
        std::shared_ptr<const Value> value;
        /// One exception, the same object for every waiter: to be read only.
        std::exception_ptr error;

        [[nodiscard]] bool left() const noexcept { return flight == 0; }
    };

    single_flight() = default;
    explicit single_flight(flight_limits limits) : limits_(std::move(limits)) {}
    single_flight(const single_flight&) = delete;
    single_flight& operator=(const single_flight&) = delete;

    /// For flights that begin from now on.
    [[nodiscard]] ticket fresh() const {
        const std::scoped_lock lock{mutex_};
        return {begun_};
    }

    /// The same, and the flight that is in the air now: when its outcome shows whether it will do.
    [[nodiscard]] ticket joining() const {
        const std::scoped_lock lock{mutex_};
        return {air_ ? air_->end.flight - 1 : begun_};
    }

    /// The outcome of a flight that the ticket admits: the last one that ended, the one in the air,
    /// or else one that begins with `work()` on this thread as soon as the air is free. Of those
    /// who wait for that, one flies and the others join. What `work` throws is the outcome's error,
    /// for all. No lock is held while it runs. Work that takes an argument is given its flight's
    /// number; a higher one that has begun means that it was overtaken.
    ///
    /// Throws `errc::reentrant_call` when `work` itself calls this: it would wait for itself.
    template <class Work>
    [[nodiscard]] outcome run(ticket admits, const patience& waiting, Work&& work) {
        const instant until = detail::later(std::chrono::steady_clock::now(), waiting.at_most);
        std::shared_ptr<flight> mine;
        while (!mine) {
            const instant seen = time();  // asked without the lock, since it is the user's
            std::shared_ptr<flight> other;
            std::unique_lock lock{mutex_};
            if (last_.flight > admits.after) {
                return last_;
            }
            if (air_ && air_->pilot == std::this_thread::get_id()) {
                throw failure{errc::reentrant_call,
                              "the work of a single flight asked for its own outcome; it would "
                              "wait for itself"};
            }
            if (!air_ || overdue(*air_, seen)) {
                mine = take_off(seen);
                continue;
            }
            other = air_;
            const bool ended = wait(lock, waiting.stop, std::min(until, stuck_at(*other, seen)),
                                    [&] { return other->landed || air_ != other; });
            if (other->landed && other->end.flight > admits.after) {
                return other->end;
            }
            if (!ended &&
                (waiting.stop.stop_requested() ||
                 (until != instant::max() && std::chrono::steady_clock::now() >= until))) {
                return {};
            }
        }
        const landing lands{*this, mine};
        try {
            if constexpr (std::is_invocable_v<Work, std::uint64_t>) {
                mine->end.value =
                    std::make_shared<const Value>(std::forward<Work>(work)(mine->end.flight));
            } else {
                mine->end.value = std::make_shared<const Value>(std::forward<Work>(work)());
            }
        } catch (...) {
            mine->end.error = std::current_exception();
        }
        return mine->end;
    }

    /// Frees the slot of a flight that is stuck, before its time is up. Who waits for it goes on to
    /// the next one, nobody joins it any more, and the last outcome is let go of.
    void forget() {
        outcome dropped;
        const std::scoped_lock lock{mutex_};
        air_.reset();
        std::swap(dropped, last_);
        ended_.notify_all();
    }

private:
    struct flight {
        std::thread::id pilot;
        instant began{};
        /// Guarded by the mutex. Value and error are the pilot's alone until then, and for good
        /// when it is overtaken.
        bool landed = false;
        outcome end;
    };

    /// Frees the slot however the flight ends: a waiter that is never told would hang for good.
    struct landing {
        single_flight& at;
        const std::shared_ptr<flight>& who;

        landing(single_flight& slot, const std::shared_ptr<flight>& pilot) noexcept
            : at(slot), who(pilot) {}
        landing(const landing&) = delete;
        landing& operator=(const landing&) = delete;
        ~landing() {
            outcome dropped;  // dies after the lock
            const std::scoped_lock lock{at.mutex_};
            if (at.air_ == who) {  // neither forgotten nor overtaken
                who->landed = true;
                at.air_.reset();
                dropped = std::exchange(at.last_, who->end);
            }
            at.ended_.notify_all();
        }
    };

    [[nodiscard]] bool limited() const noexcept {
        return limits_.at_most != std::chrono::nanoseconds::max();
    }
    [[nodiscard]] instant time() const { return limited() ? limits_.now() : instant{}; }

    [[nodiscard]] bool overdue(const flight& one, instant now) const noexcept {
        return limited() && now >= detail::later(one.began, limits_.at_most);
    }

    /// When a waiter looks again at the clock of the limits, which may not be the one it waits by.
    [[nodiscard]] instant stuck_at(const flight& one, instant now) const noexcept {
        constexpr std::chrono::nanoseconds least = std::chrono::milliseconds{1};
        return limited()
                   ? detail::later(std::chrono::steady_clock::now(),
                                   std::max(least, limits_.at_most - std::max(now - one.began, {})))
                   : instant::max();
    }

    /// Under the lock. A flight that is overdue is in the air no longer.
    std::shared_ptr<flight> take_off(instant now) {
        auto mine = std::make_shared<flight>();
        mine->pilot = std::this_thread::get_id();
        mine->began = now;
        mine->end.flight = ++begun_;
        if (std::exchange(air_, mine)) {
            ended_.notify_all();
        }
        return mine;
    }

    /// False when the waiter leaves first.
    template <class Done>
    bool wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, instant until,
              const Done& done) {
        return until == instant::max() ? ended_.wait(lock, stop, done)
                                       : ended_.wait_until(lock, stop, until, done);
    }

    flight_limits limits_;
    mutable std::mutex mutex_;
    std::condition_variable_any ended_;
    std::uint64_t begun_ = 0;
    std::shared_ptr<flight> air_;
    outcome last_;
};

}  // namespace v1
}  // namespace shardweave

#endif
