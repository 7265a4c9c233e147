// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_WORKER_CREW_HPP
#define SHARDWEAVE_READ_DETAIL_WORKER_CREW_HPP

/// The threads of one call.

#include <shardweave/read/task_runner.hpp>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A few threads that run tasks until the crew is destroyed, which waits for those that run; or the
/// caller's own, which it does not wait for.
class worker_crew {
public:
    explicit worker_crew(const task_runner& own) : own_(&own) {}
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

    /// How many tasks the calling thread may have run at a time, of those that it wishes for. 1:
    /// it runs them itself.
    [[nodiscard]] std::size_t most(std::size_t wished) const {
        return own_->run && own_->inside && own_->inside() ? 1 : wished;
    }

    /// Runs the task on a thread that is free, or on a new one while there are fewer than `most`.
    void run(std::function<void()> task, std::size_t most) {
        if (own_->run) {
            own_->run(std::move(task));
            return;
        }
        {
            const std::scoped_lock lock{mutex_};
            tasks_.push_back(std::move(task));
            if (idle_ < tasks_.size() && threads_.size() < most) {
                try {
                    threads_.emplace_back([this] { work(); });
                    ++idle_;
                } catch (const std::system_error& refused) {
                    // With fewer threads than wished for it goes on; with none it can not.
                    if (threads_.empty()) {
                        tasks_.pop_back();
                        throw std::system_error{refused.code(), "no thread to call from"};
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

    const task_runner* own_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    bool closing_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
