// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_DRIVE_HPP
#define SHARDWEAVE_READ_DETAIL_DRIVE_HPP

/// The thin drivers of a weave: one thread, or a few.

#include <shardweave/core/error.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/weave.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A few threads that run tasks until the crew is destroyed, which waits for those that run.
class worker_crew {
public:
    worker_crew() = default;
    worker_crew(const worker_crew&) = delete;
    worker_crew& operator=(const worker_crew&) = delete;
    ~worker_crew() {
        {
            const std::scoped_lock lock{mutex_};
            closing_ = true;
        }
        changed_.notify_all();
        for (std::thread& each : threads_) {
            each.join();
        }
    }

    /// Runs the task on a thread that is free, or on a new one while there are fewer than `most`.
    void run(std::function<void()> task, std::size_t most) {
        {
            const std::scoped_lock lock{mutex_};
            tasks_.push_back(std::move(task));
            if (idle_ < tasks_.size() && threads_.size() < most) {
                try {
                    threads_.emplace_back([this] { work(); });
                    ++idle_;
                } catch (...) {
                    // With fewer threads than wished for it goes on; with none it can not.
                    if (threads_.empty()) {
                        tasks_.pop_back();
                        throw;
                    }
                }
            }
        }
        changed_.notify_one();
    }

private:
    void work() {
        std::unique_lock lock{mutex_};
        for (;;) {
            changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
            if (tasks_.empty()) {
                return;
            }
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            --idle_;
            lock.unlock();
            task();
            lock.lock();
            ++idle_;
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    bool closing_ = false;
};

/// What became of one request.
template <class Item>
struct outcome {
    std::size_t source = 0;
    std::optional<shard_page<Item>> page;
    error why;
    std::exception_ptr thrown;
};

template <class Item, class Request, class Query>
outcome<Item> send(const Request& request, const Query& query) {
    outcome<Item> result{request.source, {}, {}, {}};
    const auto failed = [&](const char* what) {
        result.thrown = std::current_exception();
        result.why = {
            errc::shard_failed, request.query.shard,
            request.query.partition_keys.empty() ? "" : request.query.partition_keys.front(), what};
    };
    try {
        result.page = query(request.query);
    } catch (const std::exception& thrown) {
        failed(thrown.what());
    } catch (...) {
        failed("the query callback threw something that is not a std::exception");
    }
    return result;
}

/// Sends requests, on the calling thread or by a crew, and collects what becomes of them. Its
/// destructor waits for those under way, since they refer to it and to the machine's sources.
template <class Item, class Request, class Query>
class dispatcher {
public:
    dispatcher(const Query& query, std::size_t concurrency, worker_crew& crew) noexcept
        : query_(&query), crew_(&crew), concurrency_(concurrency) {}
    dispatcher(const dispatcher&) = delete;
    dispatcher& operator=(const dispatcher&) = delete;
    ~dispatcher() {
        std::unique_lock lock{mutex_};
        arrived_.wait(lock, [this] { return outcomes_.size() == under_way_; });
    }

    [[nodiscard]] bool has_room() const noexcept { return under_way_ < concurrency_; }
    [[nodiscard]] bool idle() const noexcept { return under_way_ == 0; }

    void dispatch(Request&& request) {
        if (concurrency_ == 1) {
            outcomes_.push_back(send<Item>(request, *query_));
            ++under_way_;
            return;
        }
        crew_->run(
            [this, request = std::move(request)] {
                outcome<Item> result = send<Item>(request, *query_);
                // Notified under the lock: afterwards the dispatcher may be gone.
                const std::scoped_lock lock{mutex_};
                outcomes_.push_back(std::move(result));
                arrived_.notify_one();
            },
            concurrency_);
        ++under_way_;
    }

    /// The next outcome; waits for it. Requires that something is under way.
    [[nodiscard]] outcome<Item> receive() {
        std::unique_lock lock{mutex_};
        arrived_.wait(lock, [this] { return !outcomes_.empty(); });
        outcome<Item> result = std::move(outcomes_.front());
        outcomes_.pop_front();
        --under_way_;
        return result;
    }

private:
    const Query* query_;
    worker_crew* crew_;
    std::size_t concurrency_;
    std::size_t under_way_ = 0;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<outcome<Item>> outcomes_;
};

[[noreturn]] inline void throw_failure(error&& why, const std::exception_ptr& cause) {
    if (cause) {
        try {
            std::rethrow_exception(cause);
        } catch (...) {
            std::throw_with_nested(failure{std::move(why)});
        }
    }
    throw failure{std::move(why)};
}

/// Drives one page of a weave with at most `concurrency` queries at a time; 1 runs them on the
/// calling thread. Returns when the page is finished. When the read fails, no further query is
/// sent, those under way are waited for, and `failure` is thrown, of `errc::shard_failed` with the
/// first exception nested.
template <class Item, class Order, class Query>
void drive(weave<Item, Order>& machine, const Query& query, std::size_t concurrency,
           worker_crew& crew) {
    using action = typename weave<Item, Order>::action;
    using request = typename action::request;
    std::deque<request> waiting;
    std::exception_ptr cause;
    dispatcher<Item, request, Query> dispatcher{query, concurrency, crew};
    for (;;) {
        action todo = machine.next();
        if (todo.what == action::kind::finished) {
            return;
        }
        if (todo.what == action::kind::failed) {
            // What a callback threw is the cause of its own failure only.
            throw_failure(std::move(todo.why),
                          todo.why.code == errc::shard_failed ? cause : nullptr);
        }
        std::ranges::move(todo.requests, std::back_inserter(waiting));
        for (; machine.doomed() && !waiting.empty(); waiting.pop_front()) {
            machine.cancel();
        }
        for (; !waiting.empty() && dispatcher.has_room(); waiting.pop_front()) {
            dispatcher.dispatch(std::move(waiting.front()));
        }
        if (!dispatcher.idle()) {
            outcome<Item> result = dispatcher.receive();
            if (result.page) {
                machine.answer(result.source, *std::move(result.page));
            } else {
                cause = cause ? cause : result.thrown;
                machine.fail(result.source, std::move(result.why));
            }
        }
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
