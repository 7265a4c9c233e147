// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_CALLS_HPP
#define SHARDWEAVE_READ_DETAIL_CALLS_HPP

/// Calls of a user's callback, on the calling thread or on a few others.

#include <shardweave/core/retry.hpp>
#include <shardweave/read/attempts.hpp>
#include <shardweave/read/detail/call_book.hpp>
#include <shardweave/read/detail/call_plan.hpp>
#include <shardweave/read/detail/try_call.hpp>
#include <shardweave/read/detail/worker_crew.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Makes calls and waits for what becomes of them. Its destructor stops those under way and waits
/// for them, since they refer to it.
template <class Answer, class Request, class Call>
class calls {
public:
    calls(const Call& call, std::size_t concurrency, worker_crew& crew, const attempt_options& with,
          attempt_budgets& budgets)
        : call_(&call), crew_(&crew), concurrency_(crew.most(concurrency)),
          book_(concurrency_, with, budgets) {}
    calls(const calls&) = delete;
    calls& operator=(const calls&) = delete;
    ~calls() {
        book_.cancel_all();
        book_.stop_cancelled();
        std::unique_lock lock{mutex_};
        arrived_.wait(lock, [this] { return ended_.size() == book_.under_way(); });
    }

    void limit(call_limits limits) { book_.limit(std::move(limits)); }

    /// Makes the call as soon as there is room: at once, where it is not the calling thread's.
    void submit(Request&& request) { book_.submit(std::move(request)); }

    /// Starts what can run without the calling thread.
    void start() {
        if (concurrency_ != 1) {
            begin_due(std::chrono::steady_clock::now());
        }
    }

    [[nodiscard]] bool idle() const noexcept { return book_.idle(); }

    /// The next outcome; waits for it, and makes the calls in the meantime. Requires that not all
    /// is idle.
    [[nodiscard]] outcome<Answer> receive() {
        for (;;) {
            collect();
            const instant now = std::chrono::steady_clock::now();
            std::optional<outcome<Answer>> result = book_.receive(now);
            book_.stop_cancelled();
            if (result) {
                return *std::move(result);
            }
            begin_due(now);
            wait();
        }
    }

    /// Tries nothing again and starts nothing more. How many calls end by it without an outcome.
    [[nodiscard]] std::size_t abandon() {
        const std::size_t ended = book_.abandon();
        book_.stop_cancelled();
        return ended;
    }

    [[nodiscard]] const call_plan::counts& counted() const noexcept { return book_.counted(); }

private:
    using task = call_task<Request>;
    struct end {
        task* of;
        outcome<Answer> result;
    };

    void begin_due(instant now) {
        while (task* fresh = book_.begin(now)) {
            begin(*fresh);
        }
    }

    void begin(task& fresh) {
        if (concurrency_ == 1) {
            fresh.request.query.stop = book_.limits().stop;
            ended_.push_back({&fresh, try_call<Answer>(fresh.request, *call_)});
            return;
        }
        try {
            fresh.detach();
            crew_->run(
                [this, &fresh] {
                    end done{&fresh, try_call<Answer>(fresh.request, *call_)};
                    // Notified under the lock: afterwards all this may be gone.
                    const std::scoped_lock lock{mutex_};
                    ended_.push_back(std::move(done));
                    arrived_.notify_one();
                },
                concurrency_);
        } catch (...) {
            // No thread, or a pool that takes no more: the attempt has failed.
            const std::scoped_lock lock{mutex_};
            ended_.push_back({&fresh, caught<Answer>(fresh.request)});
        }
    }

    /// Takes what has ended.
    void collect() {
        std::vector<end> ended;
        {
            const std::scoped_lock lock{mutex_};
            ended.swap(ended_);
        }
        const instant now = std::chrono::steady_clock::now();
        for (end& each : ended) {
            book_.ended(*each.of, std::move(each.result), now);
        }
    }

    /// Until something has ended, or is to be done.
    void wait() {
        std::unique_lock lock{mutex_};
        const auto arrived = [this] { return !ended_.empty(); };
        const instant until = book_.wake();
        if (until == instant::max()) {
            arrived_.wait(lock, book_.limits().stop, arrived);
        } else {
            arrived_.wait_until(lock, book_.limits().stop, until, arrived);
        }
    }

    const Call* call_;
    worker_crew* crew_;
    std::size_t concurrency_;
    call_book<Answer, Request> book_;

    std::mutex mutex_;
    std::condition_variable_any arrived_;
    std::vector<end> ended_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
