// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_SINGLE_FLIGHT_HPP
#define SHARDWEAVE_CORE_SINGLE_FLIGHT_HPP

/// One call for many waiters, each of whom can say how fresh the call must be.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// How long one waiter waits. When it leaves, the work goes on for the others.
struct patience {
    std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max();
    std::stop_token stop{};
};

/// Runs one piece of work at a time, a *flight*, and gives its outcome to everyone who waits for
/// it. One slot: who has many keys keeps one of these for each. Thread-safe. Never for writes:
/// what is joined must be the same whoever asks.
///
/// Flights are numbered, and a waiter names the ones that will do: those after its ticket. So what
/// it gets began after what it knows (its own write, an invalidation), and is never an older
/// flight's answer.
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
    /// for all. No lock is held while it runs.
    ///
    /// Throws `errc::reentrant_call` when `work` itself calls this: it would wait for itself.
    template <class Work>
    [[nodiscard]] outcome run(ticket admits, const patience& waiting, Work&& work) {
        const instant until = detail::later(std::chrono::steady_clock::now(), waiting.at_most);
        std::shared_ptr<flight> mine;
        {
            std::unique_lock lock{mutex_};
            while (last_.flight <= admits.after && air_) {
                if (air_->pilot == std::this_thread::get_id()) {
                    throw failure{errc::reentrant_call,
                                  "the work of a single flight asked for its own outcome; it would "
                                  "wait for itself"};
                }
                const std::uint64_t number = air_->end.flight;
                if (number <= admits.after) {
                    if (!wait(lock, waiting.stop, until,
                              [&] { return !air_ || air_->end.flight != number; })) {
                        return {};
                    }
                    continue;
                }
                const std::shared_ptr<flight> other = air_;
                if (!wait(lock, waiting.stop, until, [&] { return other->landed; })) {
                    return {};
                }
                return other->end;
            }
            if (last_.flight > admits.after) {
                return last_;
            }
            mine = std::make_shared<flight>();
            mine->pilot = std::this_thread::get_id();
            mine->end.flight = ++begun_;
            air_ = mine;
        }
        const landing lands{*this, mine};
        try {
            mine->end.value = std::make_shared<const Value>(std::forward<Work>(work)());
        } catch (...) {
            mine->end.error = std::current_exception();
        }
        return mine->end;
    }

    /// Frees the slot of a flight that is stuck. Who waits for it still gets its outcome; nobody
    /// joins it any more, and the last outcome is let go of.
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
        /// Guarded by the mutex. Value and error are the pilot's alone until then.
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
            who->landed = true;
            if (at.air_ == who) {  // not forgotten, and so not another flight's slot
                at.air_.reset();
                dropped = std::exchange(at.last_, who->end);
            }
            at.ended_.notify_all();
        }
    };

    /// False when the waiter leaves first.
    template <class Done>
    bool wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, instant until,
              const Done& done) {
        return until == instant::max() ? ended_.wait(lock, stop, done)
                                       : ended_.wait_until(lock, stop, until, done);
    }

    mutable std::mutex mutex_;
    std::condition_variable_any ended_;
    std::uint64_t begun_ = 0;
    std::shared_ptr<flight> air_;
    outcome last_;
};

}  // namespace v1
}  // namespace shardweave

#endif
