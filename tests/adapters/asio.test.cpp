// SPDX-License-Identifier: BSL-1.0
#include <shardweave/adapters/asio.hpp>

#include <shardweave/read/fan_out.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/memory_store.hpp"
#include "support/posts.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using sw::errc;
using test_support::code_of;
using test_support::error_of;
using test_support::generator;
using test_support::newest;
using test_support::post;

namespace {

using order_type = test_support::post_order;
using query_type = test_support::post_query;
using page_type = sw::shard_page<post>;
using answer_type = asio::awaitable<page_type>;
using callback = std::function<answer_type(const query_type&)>;
using async_reader = sw::async_fan_out<order_type, callback>;

static_assert(std::is_same_v<async_reader::item_type, post>);

/// Counts what runs, and how much at most.
struct gauge {
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    std::atomic<int> begun = 0;

    struct use {
        explicit use(gauge& at) : of(at) {
            ++of.begun;
            const int count = ++of.now;
            int seen = of.most;
            while (seen < count && !of.most.compare_exchange_weak(seen, count)) {
            }
        }
        use(const use&) = delete;
        use& operator=(const use&) = delete;
        ~use() { --of.now; }
        gauge& of;
    };
};

asio::awaitable<void> wait(std::chrono::nanoseconds time) {
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait(asio::use_awaitable);
}

/// A key over four shards, with `rows` posts.
struct world {
    explicit world(std::size_t rows = 40, std::uint32_t buckets = 4)
        : table(test_support::spread("a", buckets)), router(table), store(newest) {
        for (std::size_t i = 0; i != rows; ++i) {
            const std::string id = "p" + std::to_string(i);
            store.insert(table, "a", id, {static_cast<std::int64_t>(i / 3), id});
        }
    }
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    async_reader reader(callback ask, sw::fan_out_options<post> with = {}) {
        return {router, newest, std::move(ask), std::move(with)};
    }
    sw::read_page<post> inline_page(const sw::page_options& with = {},
                                    sw::fan_out_options<post> how = {}) {
        const sw::fan_out reader{router, newest,
                                 [this](const query_type& query) { return store.answer(query); },
                                 std::move(how)};
        return reader.page("a", with);
    }

    sw::routing_table table;
    sw::router router;
    test_support::memory_store<order_type> store;
    gauge running;
};

/// Runs one page on as many threads, and gives it or throws what it threw.
sw::read_page<post> read(const async_reader& reader, const sw::page_options& with = {},
                         std::size_t threads = 1) {
    asio::io_context context;
    auto page = asio::co_spawn(context, reader.async_page("a", with), asio::use_future);
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) {
        others.emplace_back([&context] { context.run(); });
    }
    context.run();
    others.clear();
    return page.get();
}

sw::attempt_options quick(unsigned most = 3) {
    return {.most = most, .wait = {.base = 1ms, .cap = 2ms}};
}

}  // namespace

TEST_CASE("asynchronous pages are the same as inline ones", "[asio][law]") {
    INFO(test_support::replay());
    generator draw;
    for (std::size_t round = 0; round != test_support::scaled(40); ++round) {
        world at{draw.below(60U), draw.between(1U, 6U)};
        std::mutex mutex;
        generator chaos{draw()};
        std::map<std::string, int> failed;
        const unsigned trouble = draw.below(30U);
        const std::size_t concurrency = draw.between(1U, 7U);
        const auto reader = at.reader(
            [&](const query_type& query) -> answer_type {
                const gauge::use used{at.running};
                std::chrono::microseconds latency{};
                bool fails = false;
                {
                    const std::scoped_lock lock{mutex};
                    latency = std::chrono::microseconds{chaos.below(900U)};
                    fails = chaos.chance(trouble) && failed[query.shard]++ < 5;
                }
                if (latency > 200us) {
                    co_await wait(latency);
                }
                if (fails) {
                    throw sw::unavailable{"chaos"};
                }
                co_return at.store.answer(query);
            },
            {.concurrency = concurrency,
             .attempts = {.most = 9, .wait = {.base = 100us, .cap = 1ms}},
             .budgets = std::make_shared<sw::attempt_budgets>(
                 sw::attempt_budgets::options{.trouble = {.percent = 100, .burst = 100}})});
        const std::size_t threads = draw.chance(50) ? 4 : 1;
        std::optional<sw::cursor> from;
        do {
            const sw::page_options with{.limit = draw.between(1U, 15U), .from = from};
            const auto page = read(reader, with, threads);
            const auto same = at.inline_page(with);
            REQUIRE(at.running.now == 0);
            REQUIRE(page.items == same.items);
            REQUIRE(page.ended == same.ended);
            REQUIRE(page.stats.rows_returned == same.stats.rows_returned);
            REQUIRE(page.next.has_value() == same.next.has_value());
            from = page.next;
        } while (from);
        CHECK(static_cast<std::size_t>(at.running.most) <= concurrency);
    }
}

TEST_CASE("asynchronous queries overlap, as many as allowed", "[asio]") {
    world at;
    const auto reader = [&](std::size_t concurrency) {
        return at.reader(
            [&](const query_type& query) -> answer_type {
                const gauge::use used{at.running};
                co_await wait(5ms);
                co_return at.store.answer(query);
            },
            {.concurrency = concurrency});
    };
    for (const int most : {1, 3}) {
        at.running.most = 0;
        (void)read(reader(static_cast<std::size_t>(most)), {}, 4);
        CHECK(at.running.most == most);
    }
}

TEST_CASE("a pass over failures is the same as inline", "[asio]") {
    world at;
    for (const auto mode : {sw::on_failure::prefix, sw::on_failure::skip}) {
        const auto reader = at.reader(
            [&](const query_type& query) -> answer_type {
                if (query.shard == "S2") {
                    throw std::runtime_error{"no disk"};
                }
                co_return at.store.answer(query);
            },
            {.on_failure = mode});
        const sw::fan_out same{at.router, newest,
                               [&](const query_type& query) {
                                   if (query.shard == "S2") {
                                       throw std::runtime_error{"no disk"};
                                   }
                                   return at.store.answer(query);
                               },
                               sw::fan_out_options<post>{.on_failure = mode}};
        const auto page = read(reader);
        const auto expected = same.page("a");
        CHECK(page.items == expected.items);
        REQUIRE(page.failures.size() == 1);
        CHECK(page.failures.front().shard == "S2");
        CHECK(page.failures.front().detail == expected.failures.front().detail);
    }
}

TEST_CASE("what a coroutine throws is nested in the failure, and the others are cancelled",
          "[asio]") {
    world at;
    const auto reader = at.reader(
        [&](const query_type& query) -> answer_type {
            const gauge::use used{at.running};
            co_await wait(query.shard == "S1" ? 5ms : 1h);
            throw std::runtime_error{"boom"};
        },
        {.concurrency = 8});
    std::string nested;
    try {
        (void)read(reader, {}, 4);
    } catch (const sw::failure& thrown) {
        CHECK(thrown.code() == errc::shard_failed);
        CHECK(thrown.reason().shard == "S1");
        try {
            std::rethrow_if_nested(thrown);
        } catch (const std::runtime_error& cause) {
            nested = cause.what();
        }
    }
    CHECK(nested == "boom");
    CHECK(at.running.begun == 4);
    CHECK(at.running.now == 0);
}

TEST_CASE("a callback that throws before its first await fails as well", "[asio]") {
    world at;
    const auto reader = at.reader(
        [](const query_type&) -> answer_type { throw std::runtime_error{"not even a coroutine"}; });
    CHECK(error_of([&] { (void)read(reader); }).detail == "not even a coroutine");
}

TEST_CASE("what a page is refused for is thrown at who awaits it", "[asio]") {
    world at;
    const auto reader = at.reader([&](const query_type& query) -> answer_type {
        const gauge::use used{at.running};
        co_return at.store.answer(query);
    });
    CHECK(code_of([&] { (void)read(reader, {.limit = sw::limits::page_items + 1}); }) ==
          errc::limit_exceeded);
    CHECK(at.running.begun == 0);
    CHECK(code_of([&] { at.reader(nullptr, {.concurrency = 0}); }) == errc::invalid_options);
}

TEST_CASE("trouble that passes is tried again, and counted", "[asio]") {
    world at;
    std::atomic<int> left = 2;
    const auto reader = at.reader(
        [&](const query_type& query) -> answer_type {
            const gauge::use used{at.running};
            co_await wait(100us);
            if (query.shard == "S1" && left-- > 0) {
                throw sw::throttled{"slow down"};
            }
            co_return at.store.answer(query);
        },
        {.concurrency = 4, .attempts = quick()});
    const auto page = read(reader);
    CHECK(page.items == at.inline_page().items);
    CHECK(page.stats.retries == 2);
    CHECK(at.running.begun == static_cast<int>(page.stats.requests) + 2);
}

TEST_CASE("an attempt that takes too long is cancelled, awaited, and tried again", "[asio]") {
    world at;
    std::atomic<bool> slow = true;
    std::atomic<bool> stopped = false;
    auto attempts = quick();
    attempts.timeout = 20ms;
    const auto reader = at.reader(
        [&](const query_type& query) -> answer_type {
            const gauge::use used{at.running};
            if (query.shard == "S1" && slow.exchange(false)) {
                try {
                    co_await wait(1h);
                } catch (...) {
                    stopped = query.stop.stop_requested();
                    throw;
                }
            }
            co_return at.store.answer(query);
        },
        {.concurrency = 4, .attempts = attempts});
    const auto page = read(reader, {}, 4);
    CHECK(page.items == at.inline_page().items);
    CHECK(page.stats.retries == 1);
    CHECK(stopped);
    CHECK(at.running.now == 0);
}

TEST_CASE("a slow attempt gets one beside it, and the loser is cancelled", "[asio]") {
    world at;
    std::atomic<bool> slow = true;
    const auto budgets = std::make_shared<sw::attempt_budgets>();
    for (int i = 0; i != 16; ++i) {
        budgets->took(1ms);
    }
    const auto reader = at.reader(
        [&](const query_type& query) -> answer_type {
            const gauge::use used{at.running};
            if (query.shard == "S1" && slow.exchange(false)) {
                co_await wait(1h);
            }
            co_return at.store.answer(query);
        },
        {.concurrency = 8, .attempts = {.hedge = {.beyond = 0.9}}, .budgets = budgets});
    const auto page = read(reader, {}, 4);
    CHECK(page.items == at.inline_page().items);
    CHECK(page.stats.hedges == 1);
    CHECK(at.running.now == 0);
}

TEST_CASE("a page ends at its deadline, by its stop token, or as its coroutine is cancelled",
          "[asio]") {
    world at;
    const auto reader = at.reader(
        [&](const query_type&) -> answer_type {
            const gauge::use used{at.running};
            co_await wait(1h);
            co_return page_type{};
        },
        {.concurrency = 3, .attempts = quick()});
    const std::size_t threads = GENERATE(std::size_t{1}, std::size_t{4});

    SECTION("its deadline") {
        const auto soon = sw::deadline::after(std::chrono::steady_clock::now(), 10ms);
        CHECK(code_of([&] { (void)read(reader, {.deadline = soon}, threads); }) ==
              errc::deadline_exceeded);
        CHECK(at.running.begun == 3);
    }
    SECTION("its stop token") {
        std::stop_source stop;
        std::jthread stopper{[&] {
            while (at.running.begun < 3) {
                std::this_thread::yield();
            }
            stop.request_stop();
        }};
        CHECK(code_of([&] { (void)read(reader, {.stop = stop.get_token()}, threads); }) ==
              errc::cancelled);
        CHECK(at.running.begun == 3);
    }
    SECTION("a stop token that is stopped already") {
        std::stop_source stop;
        stop.request_stop();
        CHECK(code_of([&] { (void)read(reader, {.stop = stop.get_token()}, threads); }) ==
              errc::cancelled);
        CHECK(at.running.begun == 0);
    }
    SECTION("its coroutine") {
        asio::io_context context;
        const auto strand = asio::make_strand(context);
        asio::cancellation_signal signal;
        std::exception_ptr thrown;
        int left_behind = -1;
        asio::co_spawn(strand, reader.async_page("a"),
                       asio::bind_cancellation_slot(signal.slot(),
                                                    [&](std::exception_ptr failed, const auto&) {
                                                        thrown = failed;
                                                        left_behind = at.running.now;
                                                    }));
        asio::co_spawn(
            strand,
            [&]() -> asio::awaitable<void> {
                while (at.running.begun < 3) {
                    co_await wait(1ms);
                }
                signal.emit(asio::cancellation_type::terminal);
            },
            [](const std::exception_ptr&) {});
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < threads; ++i) {
            others.emplace_back([&context] { context.run(); });
        }
        context.run();
        others.clear();
        REQUIRE(thrown);
        CHECK(code_of([&] { std::rethrow_exception(thrown); }) == errc::cancelled);
        CHECK(left_behind == 0);
    }
    CHECK(at.running.now == 0);
}

TEST_CASE("a page can be had by any completion token", "[asio]") {
    world at;
    const auto reader = at.reader([&](const query_type& query) -> answer_type {
        co_await wait(1ms);
        co_return at.store.answer(query);
    });
    asio::io_context context;
    asio::io_context other;
    auto future = reader.async_page(context.get_executor(), "a", {.limit = 5}, asio::use_future);
    std::vector<post> called_back;
    reader.async_page(context.get_executor(), "a", {.limit = 5},
                      asio::bind_executor(other, [&](std::exception_ptr failed, auto page) {
                          CHECK_FALSE(failed);
                          called_back = std::move(page.items);
                      }));
    context.run();
    CHECK(future.get().items == at.inline_page({.limit = 5}).items);
    CHECK(called_back.empty());
    other.run();
    CHECK(called_back == at.inline_page({.limit = 5}).items);
}

TEST_CASE("many pages at once share one reader and four threads", "[asio]") {
    world at{60};
    const auto reader = at.reader(
        [&](const query_type& query) -> answer_type {
            const gauge::use used{at.running};
            co_await wait(200us);
            co_return at.store.answer(query);
        },
        {.concurrency = 3});
    const auto all = at.inline_page({.limit = 60}).items;
    asio::io_context context;
    std::vector<std::future<std::vector<post>>> results;
    for (std::size_t limit = 1; limit != 16; ++limit) {
        results.push_back(asio::co_spawn(
            context,
            [&reader, limit]() -> asio::awaitable<std::vector<post>> {
                std::vector<post> items;
                std::optional<sw::cursor> from;
                do {
                    const sw::page_options with{.limit = limit, .from = from};
                    auto page = co_await reader.async_page("a", with);
                    items.insert(items.end(), page.items.begin(), page.items.end());
                    from = page.next;
                } while (from);
                co_return items;
            },
            asio::use_future));
    }
    {
        std::vector<std::jthread> threads(4);
        for (auto& each : threads) {
            each = std::jthread{[&context] { context.run(); }};
        }
    }
    for (auto& each : results) {
        CHECK(each.get() == all);
    }
}

TEST_CASE("a context may be destroyed with a page under way", "[asio]") {
    world at;
    const auto reader = at.reader(
        [&](const query_type&) -> answer_type {
            const gauge::use used{at.running};
            co_await wait(1h);
            co_return page_type{};
        },
        {.concurrency = 4});
    std::stop_source stop;
    bool ended = false;
    {
        asio::io_context context;
        const sw::page_options with{.stop = stop.get_token()};
        asio::co_spawn(context, reader.async_page("a", with),
                       [&](const std::exception_ptr&, const auto&) { ended = true; });
        context.run_for(5ms);
        CHECK(at.running.now == 4);
    }
    stop.request_stop();
    CHECK_FALSE(ended);
    CHECK(at.running.now == 0);
}

TEST_CASE("blocking queries run on the caller's pool, with the same result", "[asio][law]") {
    INFO(test_support::replay());
    generator draw;
    asio::thread_pool pool{3};
    std::mutex mutex;
    std::set<std::thread::id> threads;
    for (std::size_t round = 0; round != test_support::scaled(20); ++round) {
        world at{draw.below(60U), draw.between(1U, 6U)};
        std::atomic<std::size_t> calls = 0;
        const std::size_t concurrency = draw.between(2U, 5U);
        const sw::fan_out reader{at.router, newest,
                                 [&](const query_type& query) {
                                     const gauge::use used{at.running};
                                     {
                                         const std::scoped_lock lock{mutex};
                                         threads.insert(std::this_thread::get_id());
                                     }
                                     if (calls++ % 7 == 3) {
                                         throw sw::unavailable{"chaos"};
                                     }
                                     return at.store.answer(query);
                                 },
                                 sw::fan_out_options<post>{.concurrency = concurrency,
                                                           .run_on = sw::on(pool),
                                                           .attempts = quick()}};
        const sw::page_options with{.limit = draw.between(1U, 30U)};
        CHECK(reader.page("a", with).items == at.inline_page(with).items);
        CHECK(static_cast<std::size_t>(at.running.most) <= concurrency);
        CHECK(at.running.now == 0);
    }
    CHECK(threads.size() <= 3);
    CHECK_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_CASE("a page on the pool's own threads makes its queries there, and does not wait for ever",
          "[asio]") {
    world at;
    asio::thread_pool pool{2};
    std::atomic<bool> elsewhere = false;
    std::vector<std::future<std::vector<post>>> pages;
    for (int i = 0; i != 6; ++i) {
        std::packaged_task<std::vector<post>()> task{[&] {
            const auto me = std::this_thread::get_id();
            const sw::fan_out reader{
                at.router, newest,
                [&](const query_type& query) {
                    elsewhere = elsewhere || me != std::this_thread::get_id();
                    return at.store.answer(query);
                },
                sw::fan_out_options<post>{.concurrency = 4, .run_on = sw::on(pool)}};
            return reader.page("a").items;
        }};
        pages.push_back(asio::post(pool, std::move(task)));
    }
    for (auto& each : pages) {
        CHECK(each.get() == at.inline_page().items);
    }
    CHECK_FALSE(elsewhere);
}
