// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_TASK_RUNNER_HPP
#define SHARDWEAVE_READ_TASK_RUNNER_HPP

/// Threads of the caller's own, on which a fan-out runs its queries.

#include <functional>

namespace shardweave {
inline namespace v1 {

/// A pool of threads that many reads share, such as an `asio::thread_pool` (`adapters/asio.hpp`
/// makes a runner of one). It outlives the reads. Both functions may be called from any thread.
struct task_runner {
    /// Runs the task once, on a thread other than the caller's, and returns before it has. A task
    /// must not be dropped: the read waits for it.
    std::function<void(std::function<void()>)> run{};
    /// True on the pool's own threads: a read there makes its queries itself, one after another.
    /// Without it, a read on such a thread waits for another one of them; when all wait, for ever.
    std::function<bool()> inside{};
};

}  // namespace v1
}  // namespace shardweave

#endif
