// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_CALLS_HPP
#define SHARDWEAVE_READ_DETAIL_CALLS_HPP

/// Calls of a user's callback, on the calling thread or on a few others.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/place/selector.hpp>
#include <shardweave/read/attempts.hpp>
#include <shardweave/read/detail/call_plan.hpp>
#include <shardweave/read/detail/try_call.hpp>
#include <shardweave/read/detail/worker_crew.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Makes calls and collects what becomes of them, by a `call_plan`. Its destructor stops those
/// under way and waits for them, since they refer to it.
template <class Answer, class Request, class Call>
class calls {
public:
    calls(const Call& call, std::size_t concurrency, worker_crew& crew, const attempt_options& with,
          attempt_budgets& budgets)
        : call_(&call), crew_(&crew), concurrency_(concurrency), with_(with), budgets_(&budgets),
          plan_(with, budgets) {}
    calls(const calls&) = delete;
    calls& operator=(const calls&) = delete;
    ~calls() { quiet(); }

    void limit(call_limits limits) { limits_ = std::move(limits); }

    /// Makes the call as soon as there is room: at once, where it is not the calling thread's.
    void submit(Request&& request) {
        if (idle() && under_way_.empty()) {
            requests_.clear();  // whoever streams for hours calls often
            before_ = before_ + plan_.counted();
            plan_ = call_plan{with_, *budgets_};
        }
        requests_.push_back(std::move(request));
        (void)plan_.add();
    }

    /// Starts what can run without the calling thread.
    void start() {
        if (concurrency_ != 1) {
            begin_due(std::chrono::steady_clock::now());
        }
    }

    [[nodiscard]] bool idle() const noexcept { return plan_.open() == 0 && ready_.empty(); }

    /// The next outcome; waits for it, and makes the calls in the meantime. Requires that not all
    /// is idle.
    [[nodiscard]] outcome<Answer> receive() {
        for (;;) {
            collect();
            const instant now = std::chrono::steady_clock::now();
            if (const error why = limits_.over(now)) {
                expire(why);
            }
            while (const auto late = plan_.overdue(now)) {
                time_out(*late, now);
            }
            if (!ready_.empty()) {
                outcome<Answer> result = std::move(ready_.front());
                ready_.pop_front();
                return result;
            }
            begin_due(now);
            wait();
        }
    }

    /// Tries nothing again and starts nothing more. How many calls end by it without an outcome.
    [[nodiscard]] std::size_t abandon() {
        abandoned_ = true;
        std::size_t ended = 0;
        for (std::size_t i = 0; i != plan_.size(); ++i) {
            if (std::ranges::none_of(under_way_,
                                     [&](const task& each) { return each.who.call == i; })) {
                ended += plan_.end(i) ? 1 : 0;
            }
        }
        for (task& each : under_way_) {
            each.cancel();
        }
        return ended;
    }

    /// Stops what is under way, waits for it, and forgets it.
    void quiet() {
        for (task& each : under_way_) {
            each.cancel();
        }
        std::unique_lock lock{mutex_};
        arrived_.wait(lock, [this] { return ended_.size() == under_way_.size(); });
    }

    [[nodiscard]] call_plan::counts counted() const noexcept { return before_ + plan_.counted(); }

private:
    struct task {
        attempt who;
        Request request;
        std::optional<std::stop_source> stop{};
        outcome<Answer> result{};

        /// An attempt may outlast the machine's interest in it: it views texts of its own.
        std::vector<std::string> keys{};
        std::string filter{};
        std::string cursor{};

        task(const attempt& number, const Request& asks) : who(number), request(asks) {}

        void own() {
            auto& query = request.query;
            keys.assign(query.partition_keys.begin(), query.partition_keys.end());
            filter = query.filter;
            query.partition_keys = keys;
            query.filter = filter;
            if constexpr (requires { query.cursor; }) {
                cursor = query.cursor;
                query.cursor = cursor;
            }
        }
        void cancel() {
            if (stop) {
                stop->request_stop();
            }
        }
    };

    [[nodiscard]] bool has_room() const noexcept { return under_way_.size() < concurrency_; }

    void begin_due(instant now) {
        while (has_room()) {
            const std::optional<attempt> who = abandoned_ ? std::nullopt : plan_.due(now);
            if (!who) {
                return;
            }
            begin(*who, now);
        }
    }

    void begin(const attempt& who, instant now) {
        task& fresh = under_way_.emplace_back(who, requests_[who.call]);
        fresh.request.query.deadline = with_.timeout == std::chrono::nanoseconds::max()
                                           ? limits_.until
                                           : sooner(limits_.until, later(now, with_.timeout));
        if (concurrency_ == 1) {
            fresh.request.query.stop = limits_.stop;
            fresh.result = try_call<Answer>(fresh.request, *call_);
            ended_.push_back(&fresh);
            return;
        }
        try {
            fresh.own();
            fresh.stop.emplace();
            fresh.request.query.stop = fresh.stop->get_token();
            crew_->run(
                [this, &fresh] {
                    fresh.result = try_call<Answer>(fresh.request, *call_);
                    // Notified under the lock: afterwards all this may be gone.
                    const std::scoped_lock lock{mutex_};
                    ended_.push_back(&fresh);
                    arrived_.notify_one();
                },
                concurrency_);
        } catch (...) {
            under_way_.pop_back();
            throw;
        }
    }

    static deadline sooner(const deadline& a, instant b) noexcept {
        return a.passed(b) ? a : deadline{b};
    }

    /// Takes what has ended.
    void collect() {
        std::vector<task*> ended;
        {
            const std::scoped_lock lock{mutex_};
            ended.swap(ended_);
        }
        const instant now = std::chrono::steady_clock::now();
        for (task* each : ended) {
            conclude(each->who, std::move(each->result), now);
            under_way_.remove_if([&](const task& done) { return &done == each; });
        }
    }

    void conclude(const attempt& who, outcome<Answer>&& result, instant now) {
        bool decided = false;
        if (result.answer) {
            decided = plan_.answered(who, now);
        } else if (result.passing && !abandoned_) {
            decided = plan_.failed(who, result.why.code, *result.passing, now, thread_generator());
        } else {
            decided = plan_.failed_for_good(who);
        }
        if (decided) {
            ready_.push_back(std::move(result));
            cancel(who.call);
        }
    }

    void time_out(const attempt& who, instant now) {
        for (task& each : under_way_) {
            if (each.who == who) {
                each.cancel();
            }
        }
        const Request& request = requests_[who.call];
        outcome<Answer> result{request.source};
        result.why = error_at(request.query, errc::timed_out,
                              "an attempt took longer than attempt_options::timeout");
        result.passing.emplace();
        conclude(who, std::move(result), now);
    }

    void cancel(std::size_t call) {
        for (task& each : under_way_) {
            if (each.who.call == call) {
                each.cancel();
            }
        }
    }

    /// Ends every call.
    void expire(const error& why) {
        for (std::size_t i = 0; i != plan_.size(); ++i) {
            if (plan_.end(i)) {
                outcome<Answer> result{requests_[i].source};
                result.why = error_at(requests_[i].query, why.code, why.detail);
                result.ends_read = why.code == errc::cancelled;
                ready_.push_back(std::move(result));
                cancel(i);
            }
        }
    }

    /// Until something has ended, or is to be done.
    void wait() {
        std::unique_lock lock{mutex_};
        const auto arrived = [this] { return !ended_.empty(); };
        instant until = plan_.next_overdue();
        if (has_room() && !abandoned_) {
            until = std::min(until, plan_.next_due());
        }
        until = limits_.until.never() ? until : std::min(until, limits_.until.at());
        if (until == instant::max()) {
            arrived_.wait(lock, limits_.stop, arrived);
        } else {
            arrived_.wait_until(lock, limits_.stop, until, arrived);
        }
    }

    const Call* call_;
    worker_crew* crew_;
    std::size_t concurrency_;
    attempt_options with_;
    attempt_budgets* budgets_;
    call_plan plan_;
    call_plan::counts before_{};
    call_limits limits_;
    /// By call number.
    std::vector<Request> requests_;
    std::list<task> under_way_;
    std::deque<outcome<Answer>> ready_;
    bool abandoned_ = false;

    std::mutex mutex_;
    std::condition_variable_any arrived_;
    std::vector<task*> ended_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
