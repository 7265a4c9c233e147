// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_CALL_BOOK_HPP
#define SHARDWEAVE_READ_DETAIL_CALL_BOOK_HPP

/// Which calls are to be made, are under way and have ended: what all that make calls have in
/// common, whether they wait for them or not.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/place/selector.hpp>
#include <shardweave/read/attempts.hpp>
#include <shardweave/read/detail/call_plan.hpp>
#include <shardweave/read/detail/try_call.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <list>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// An attempt that is under way.
template <class Request>
struct call_task {
    attempt who;
    Request request;
    std::optional<std::stop_source> stop{};

    /// An attempt may outlast the read's interest in it: then it views texts of its own.
    std::vector<std::string> keys{};
    std::string filter{};
    std::string cursor{};

    call_task(const attempt& number, const Request& asks) : who(number), request(asks) {}
    call_task(const call_task&) = delete;
    call_task& operator=(const call_task&) = delete;

    /// Gives it texts of its own, and a way to stop it alone.
    void detach() {
        auto& query = request.query;
        keys.assign(query.partition_keys.begin(), query.partition_keys.end());
        filter = query.filter;
        query.partition_keys = keys;
        query.filter = filter;
        if constexpr (requires { query.cursor; }) {
            cursor = query.cursor;
            query.cursor = cursor;
        }
        query.stop = stop.emplace().get_token();
    }
};

/// Calls by a `call_plan`, at most `concurrency` attempts at a time. Makes none itself: whoever
/// does begins what `begin` says, and tells `ended`. Not thread-safe.
template <class Answer, class Request>
class call_book {
public:
    using task = call_task<Request>;

    call_book(std::size_t concurrency, const attempt_options& with, attempt_budgets& budgets)
        : concurrency_(concurrency), timeout_(with.timeout), plan_(with, budgets) {}

    void limit(call_limits limits) { limits_ = std::move(limits); }
    [[nodiscard]] const call_limits& limits() const noexcept { return limits_; }
    /// As a stop token that was stopped.
    void cancel() noexcept { limits_.cancelled = true; }

    void submit(Request&& request) {
        const std::size_t number = plan_.add();
        if (number == requests_.size()) {
            requests_.push_back(std::move(request));
        } else {
            requests_[number] = std::move(request);
        }
    }

    /// True when no call is open, and no outcome is to be received.
    [[nodiscard]] bool idle() const noexcept { return plan_.open() == 0 && ready_.empty(); }
    /// True when no attempt is under way.
    [[nodiscard]] bool quiet() const noexcept { return under_way_.empty(); }
    [[nodiscard]] std::size_t under_way() const noexcept { return under_way_.size(); }

    /// The next attempt to begin now, if there is one and room for it. Stays where it is until it
    /// has ended.
    [[nodiscard]] task* begin(instant now) {
        const std::optional<attempt> who =
            has_room() && !abandoned_ ? plan_.due(now) : std::nullopt;
        if (!who) {
            return nullptr;
        }
        task& fresh = under_way_.emplace_back(*who, requests_[who->call]);
        fresh.request.query.deadline = timeout_ == std::chrono::nanoseconds::max()
                                           ? limits_.until
                                           : sooner(limits_.until, later(now, timeout_));
        return &fresh;
    }

    void ended(task& done, outcome<Answer>&& result, instant now) {
        const attempt who = done.who;
        forget(done);
        conclude(who, std::move(result), now);
    }
    void forget(task& gone) {
        under_way_.remove_if([&](const task& each) { return &each == &gone; });
    }

    /// The next outcome, if there is one yet.
    [[nodiscard]] std::optional<outcome<Answer>> receive(instant now) {
        if (const error why = limits_.over(now)) {
            end(why);
        }
        while (const auto late = plan_.overdue(now)) {
            time_out(*late, now);
        }
        std::optional<outcome<Answer>> result;
        if (!ready_.empty()) {
            result.emplace(std::move(ready_.front()));
            ready_.pop_front();
        }
        return result;
    }

    /// When `begin` or `receive` may next have something, unless an attempt ends before.
    [[nodiscard]] instant wake() const {
        instant at = plan_.next_overdue();
        if (has_room() && !abandoned_) {
            at = std::min(at, plan_.next_due());
        }
        return limits_.until.never() ? at : std::min(at, limits_.until.at());
    }

    /// Tries nothing again and starts nothing more. How many calls end by it without an outcome.
    [[nodiscard]] std::size_t abandon() {
        abandoned_ = true;
        std::size_t ended = 0;
        for (std::size_t i = 0; i != plan_.size(); ++i) {
            ended += !plan_.awaited(i) && plan_.end(i) ? 1 : 0;
        }
        cancel_all();
        return ended;
    }

    /// Ends every call.
    void end(const error& why) {
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

    /// Asks for the end of whatever is under way.
    void cancel_all() {
        for (const task& each : under_way_) {
            cancel(each);
        }
    }
    /// Stops the attempts that were cancelled. Apart, since who stops one may be called back.
    void stop_cancelled() {
        while (!cancelled_.empty()) {
            std::stop_source each = std::move(cancelled_.back());
            cancelled_.pop_back();
            each.request_stop();
        }
    }

    [[nodiscard]] const call_plan::counts& counted() const noexcept { return plan_.counted(); }

private:
    [[nodiscard]] bool has_room() const noexcept { return under_way_.size() < concurrency_; }

    static deadline sooner(const deadline& a, instant b) noexcept {
        return a.passed(b) ? a : deadline{b};
    }

    void conclude(const attempt& who, outcome<Answer>&& result, instant now) {
        bool decided = false;
        if (result.answer) {
            decided = plan_.answered(who, now);
        } else if (result.passing && !abandoned_) {
            decided = plan_.failed(who, result.why.code, *result.passing, now, limits_.until,
                                   thread_generator());
        } else {
            decided = plan_.failed_for_good(who);
        }
        if (decided) {
            ready_.push_back(std::move(result));
            cancel(who.call);
        }
    }

    void time_out(const attempt& who, instant now) {
        for (const task& each : under_way_) {
            if (each.who == who) {
                cancel(each);
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
        for (const task& each : under_way_) {
            if (each.who.call == call) {
                cancel(each);
            }
        }
    }
    void cancel(const task& one) {
        if (one.stop && !one.stop->stop_requested()) {
            cancelled_.push_back(*one.stop);
        }
    }

    std::size_t concurrency_;
    std::chrono::nanoseconds timeout_;
    call_plan plan_;
    call_limits limits_;
    /// By call number.
    std::vector<Request> requests_;
    std::list<task> under_way_;
    std::vector<std::stop_source> cancelled_;
    std::deque<outcome<Answer>> ready_;
    bool abandoned_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
