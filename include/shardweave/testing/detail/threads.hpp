// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_THREADS_HPP
#define SHARDWEAVE_TESTING_DETAIL_THREADS_HPP

/// Asks a callback from several threads at a time.

#include <shardweave/read/query.hpp>
#include <shardweave/testing/detail/advice.hpp>

#include <cstddef>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

inline constexpr scan both_ways[] = {scan::forward, scan::backward};

/// Each thread reads all groups, in pages of another size and another way than its neighbours. The
/// first fault ends them all.
template <class Trial, class Group>
[[nodiscard]] std::optional<fault>
from_threads(const Trial& trial, const std::vector<Group>& groups, std::size_t count) {
    std::mutex mutex;
    std::optional<fault> first;
    std::latch ready{static_cast<std::ptrdiff_t>(count)};
    const auto work = [&](std::size_t number) {
        ready.arrive_and_wait();
        for (std::size_t i = 0; i != 4 * groups.size(); ++i) {
            const Group& of = groups[(i + number) % groups.size()];
            typename Trial::asked q{of.partition_keys};
            q.limit = 1 + (i + number) % 3;
            q.way = both_ways[(i / groups.size() + number) % 2];
            std::optional<fault> wrong = trial.walk(of, q);
            const std::scoped_lock lock{mutex};
            if (wrong && !first) {
                first = std::move(wrong);
            }
            if (first) {
                return;
            }
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != count; ++i) {
        threads.emplace_back(work, i);
    }
    for (std::thread& each : threads) {
        each.join();
    }
    return first;
}

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
