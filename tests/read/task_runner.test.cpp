// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/task_runner.hpp>

#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/memory_store.hpp"
#include "support/posts.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using sw::errc;
using test_support::code_of;
using test_support::newest;
using test_support::post;

namespace {

using query_type = test_support::post_query;

/// A pool as a program may have one.
class pool {
public:
    explicit pool(std::size_t size) {
        for (std::size_t i = 0; i != size; ++i) {
            threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
        }
    }

    [[nodiscard]] sw::task_runner runner() {
        return {[this](std::function<void()> task) {
                    {
                        const std::scoped_lock lock{mutex_};
                        tasks_.push_back(std::move(task));
                    }
                    changed_.notify_one();
                },
                [this] {
                    return std::ranges::any_of(threads_, [](const std::jthread& each) {
                        return each.get_id() == std::this_thread::get_id();
                    });
                }};
    }

private:
    void work(const std::stop_token& stop) {
        std::unique_lock lock{mutex_};
        while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
            const auto task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> tasks_;
    std::vector<std::jthread> threads_;
};

struct world {
    world() : table(test_support::spread("a", 4)), router(table), store(newest) {
        for (int i = 0; i != 40; ++i) {
            const std::string id = "p" + std::to_string(i);
            store.insert(table, "a", id, {i / 3, id});
        }
    }
    sw::routing_table table;
    sw::router router;
    test_support::memory_store<std::remove_const_t<decltype(newest)>> store;
};

}  // namespace

TEST_CASE("queries run on the caller's threads, at most as many as allowed", "[task_runner]") {
    const world at;
    pool threads{4};
    const sw::task_runner runner = threads.runner();
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    std::atomic<int> elsewhere = 0;
    const sw::fan_out reader{at.router, newest,
                             [&](const query_type& query) {
                                 const int now = ++running;
                                 int seen = most;
                                 while (seen < now && !most.compare_exchange_weak(seen, now)) {
                                 }
                                 elsewhere += runner.inside() ? 0 : 1;
                                 std::this_thread::sleep_for(2ms);
                                 --running;
                                 return at.store.answer(query);
                             },
                             sw::fan_out_options<post>{.concurrency = 2, .run_on = runner}};
    const sw::fan_out same{at.router, newest,
                           [&](const query_type& query) { return at.store.answer(query); }};
    CHECK(reader.page("a").items == same.page("a").items);
    std::vector<post> streamed;
    for (const post& each : reader.stream("a", {.chunk = 7})) {
        streamed.push_back(each);
    }
    CHECK(streamed == same.page("a", {.limit = 40}).items);
    CHECK(most == 2);
    CHECK(elsewhere == 0);
}

TEST_CASE("a read that fails on the caller's threads has waited for its queries", "[task_runner]") {
    const world at;
    pool threads{2};
    std::atomic<int> running = 0;
    const sw::fan_out reader{
        at.router, newest,
        [&](const query_type& query) -> sw::shard_page<post> {
            ++running;
            while (!query.stop.stop_requested()) {
                std::this_thread::yield();
            }
            --running;
            throw sw::unavailable{"stopped"};
        },
        sw::fan_out_options<post>{.concurrency = 4, .run_on = threads.runner()}};
    const auto soon = sw::deadline::after(std::chrono::steady_clock::now(), 5ms);
    CHECK(code_of([&] { (void)reader.page("a", {.deadline = soon}); }) == errc::deadline_exceeded);
    CHECK(running == 0);
}

TEST_CASE("a read on one of those threads needs no other", "[task_runner]") {
    const world at;
    pool threads{1};
    const sw::task_runner runner = threads.runner();
    const sw::fan_out reader{at.router, newest,
                             [&](const query_type& query) { return at.store.answer(query); },
                             sw::fan_out_options<post>{.concurrency = 4, .run_on = runner}};
    std::atomic<std::size_t> items = 0;
    runner.run([&] { items = reader.page("a").items.size(); });
    while (items == 0) {
        std::this_thread::yield();
    }
    CHECK(items == 20);
}
