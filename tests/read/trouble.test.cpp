// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/trouble.hpp>

#include <shardweave/place/refresh.hpp>
#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/memory_store.hpp"
#include "support/numbers.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using sw::errc;
using test_support::code_of;
using test_support::ints;
using test_support::number_query;
using test_support::numbers;
using test_support::spread;

namespace {

using callback = std::function<void(const number_query&, std::size_t)>;

constexpr sw::attempt_options at_once{.most = 3, .wait = {.base = 0ns, .cap = 0ns}};

/// The numbers from 0 up, spread evenly over shards S0, S1, …; `before(query, n)` is called ahead
/// of the n-th answer of each shard, from 0.
struct feed : test_support::spread_numbers {
    using spread_numbers::spread_numbers;

    [[nodiscard]] auto reader(callback before, sw::fan_out_options<int> with = {}) {
        return sw::fan_out{router, numbers,
                           std::function<sw::shard_page<int>(const number_query&)>{
                               [this, before = std::move(before)](const number_query& query) {
                                   std::size_t number = 0;
                                   {
                                       const std::scoped_lock lock{mutex};
                                       number = calls[query.shard]++;
                                   }
                                   before(query, number);
                                   return store.answer(query);
                               }},
                           std::move(with)};
    }

    std::mutex mutex;
    std::map<std::string, std::size_t> calls;
};

/// Waits as a client with a timeout of its own would, and heeds the stop.
void wait_for_stop(const std::stop_token& stop, std::chrono::milliseconds most) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(1ms);
    }
}

/// Throws the trouble of this number.
void in_trouble(int which) {
    switch (which) {
        case 0: throw sw::unavailable{"connection refused"};
        case 1: throw sw::timed_out{"no answer for 5 s"};
        default: throw sw::throttled{"too many requests", 1ms};
    }
}

}  // namespace

TEST_CASE("trouble that passes is tried again, and the page knows nothing of it", "[trouble]") {
    feed three{3, 30};
    const int which = GENERATE(0, 1, 2);
    const std::size_t concurrency = GENERATE(1U, 3U);
    const auto reader = three.reader(
        [&](const number_query& query, std::size_t number) {
            if (query.shard == "S1" && number < 2) {
                in_trouble(which);
            }
        },
        {.concurrency = concurrency, .attempts = at_once});
    const auto page = reader.page("feed", {.limit = 6});
    CHECK(page.items == ints{0, 1, 2, 3, 4, 5});
    CHECK(page.stats.retries == 2);
    CHECK(page.stats.requests == 3);
    CHECK(three.calls["S1"] == 3);
}

TEST_CASE("trouble that stays fails the page, with its kind, its place and its cause",
          "[trouble]") {
    feed three{3, 30};
    const int which = GENERATE(0, 1, 2);
    const auto reader = three.reader(
        [&](const number_query& query, std::size_t) {
            if (query.shard == "S1") {
                in_trouble(which);
            }
        },
        {.concurrency = GENERATE(1U, 2U), .attempts = at_once});
    const errc kinds[] = {errc::unavailable, errc::timed_out, errc::throttled};
    try {
        (void)reader.page("feed");
        FAIL("a page came");
    } catch (const sw::failure& thrown) {
        CHECK(thrown.code() == kinds[which]);
        CHECK(thrown.reason().shard == "S1");
        CHECK_THROWS_AS(std::rethrow_if_nested(thrown), sw::store_trouble);
    }
    CHECK(three.calls["S1"] == 3);
}

TEST_CASE("what is no trouble that passes is not tried again", "[trouble]") {
    feed two{2, 10};
    const auto reader = two.reader([](const number_query& query, std::size_t) {
        if (query.shard == "S0") {
            throw std::runtime_error{"no such table"};
        }
    });
    CHECK(code_of([&] { (void)reader.page("feed"); }) == errc::shard_failed);
    CHECK(two.calls["S0"] == 1);
}

TEST_CASE("fan-outs may share what retries cost", "[trouble]") {
    feed one{1, 10};
    const auto budgets = std::make_shared<sw::attempt_budgets>(
        sw::attempt_budgets::options{.trouble = {.percent = 0, .burst = 3}});
    const callback down = [](const number_query&, std::size_t) { throw sw::unavailable{"down"}; };
    const auto reader = one.reader(down, {.attempts = at_once, .budgets = budgets});
    const auto other = one.reader(down, {.attempts = at_once, .budgets = budgets});
    CHECK(code_of([&] { (void)reader.page("feed"); }) == errc::unavailable);
    CHECK(one.calls["S0"] == 3);
    CHECK(code_of([&] { (void)other.page("feed"); }) == errc::unavailable);
    CHECK(one.calls["S0"] == 5);
    CHECK(code_of([&] { (void)other.page("feed"); }) == errc::unavailable);
    CHECK(one.calls["S0"] == 6);
}

TEST_CASE("a read ends at its deadline, and gives back what is certain if it may", "[trouble]") {
    feed two{2, 20};
    std::atomic<bool> stopped = false;
    std::atomic<bool> known = true;
    const callback slow = [&](const number_query& query, std::size_t) {
        known = known && !query.deadline.never();
        if (query.shard == "S1") {
            wait_for_stop(query.stop, 5s);
            stopped = query.stop.stop_requested();
        }
    };
    const auto soon = [] { return sw::deadline::after(std::chrono::steady_clock::now(), 30ms); };
    CHECK(code_of([&] {
              (void)two.reader(slow, {.concurrency = 2}).page("feed", {.deadline = soon()});
          }) == errc::deadline_exceeded);
    CHECK(stopped);
    CHECK(known);
    const auto prefix = two.reader(slow, {.concurrency = 2, .on_failure = sw::on_failure::prefix})
                            .page("feed", {.deadline = soon()});
    CHECK(prefix.items.empty());
    REQUIRE(prefix.failures.size() == 1);
    CHECK(prefix.failures.front().code == errc::deadline_exceeded);
    CHECK(prefix.failures.front().shard == "S1");
    const auto skipped = two.reader(slow, {.concurrency = 2, .on_failure = sw::on_failure::skip})
                             .page("feed", {.limit = 3, .deadline = soon()});
    CHECK(skipped.items == ints{0, 2, 4});
}

TEST_CASE("an attempt that could not begin before the deadline is not waited for", "[trouble]") {
    feed one{1, 10};
    const auto reader =
        one.reader([](const number_query&, std::size_t) { throw sw::throttled{"busy", 20s}; });
    const auto begun = std::chrono::steady_clock::now();
    CHECK(code_of([&] {
              (void)reader.page("feed", {.deadline = sw::deadline::after(begun, 10s)});
          }) == errc::throttled);
    CHECK(std::chrono::steady_clock::now() - begun < 10s);
    CHECK(one.calls["S0"] == 1);
}

TEST_CASE("a store that asks for an hour is not waited for", "[trouble]") {
    feed one{1, 10};
    const auto reader =
        one.reader([](const number_query&, std::size_t) { throw sw::throttled{"busy", 1h}; });
    CHECK(code_of([&] { (void)reader.page("feed"); }) == errc::throttled);
    CHECK(one.calls["S0"] == 1);
}

TEST_CASE("a caller that stops a read gets it back, whatever it makes of failures", "[trouble]") {
    feed two{2, 20};
    const auto mode = GENERATE(sw::on_failure::fail, sw::on_failure::prefix, sw::on_failure::skip);
    std::stop_source source;
    std::atomic<bool> seen = true;
    const auto reader = two.reader(
        [&](const number_query& query, std::size_t) {
            source.request_stop();
            wait_for_stop(query.stop, 5s);
            seen = seen && query.stop.stop_requested();
        },
        {.concurrency = GENERATE(1U, 2U), .on_failure = mode});
    CHECK(code_of([&] { (void)reader.page("feed", {.stop = source.get_token()}); }) ==
          errc::cancelled);
    CHECK(seen);
}

TEST_CASE("a stopped read asks nobody", "[trouble]") {
    feed two{2, 20};
    std::stop_source source;
    source.request_stop();
    const auto reader = two.reader([](const number_query&, std::size_t) {});
    CHECK(code_of([&] { (void)reader.page("feed", {.stop = source.get_token()}); }) ==
          errc::cancelled);
    CHECK(two.calls.empty());
}

TEST_CASE("an attempt that takes too long is stopped and tried again", "[trouble]") {
    feed two{2, 20};
    const auto reader = two.reader(
        [](const number_query& query, std::size_t number) {
            if (query.shard == "S1" && number == 0) {
                wait_for_stop(query.stop, 5s);
                throw std::runtime_error{"stopped"};
            }
        },
        {.concurrency = 3,
         .attempts = {.most = 2, .wait = {.base = 0ns, .cap = 0ns}, .timeout = 30ms}});
    const auto page = reader.page("feed", {.limit = 4});
    CHECK(page.items == ints{0, 1, 2, 3});
    CHECK(page.stats.retries == 1);
    CHECK(two.calls["S1"] == 2);
}

TEST_CASE("a slow attempt loses against the one beside it, is stopped, and outlives nothing",
          "[trouble]") {
    feed two{2, 20};
    std::atomic<int> inside = 0;
    std::atomic<std::size_t> keys = 0;  // what a query views is there as long as its attempt
    const auto budgets = std::make_shared<sw::attempt_budgets>();
    for (int i = 0; i != 32; ++i) {
        budgets->took(1ms);
    }
    const auto reader = two.reader(
        [&](const number_query& query, std::size_t number) {
            ++inside;
            if (query.shard == "S1" && number == 0) {
                wait_for_stop(query.stop, 10s);
            }
            keys += query.partition_keys.front().size();
            --inside;
        },
        {.concurrency = 3,
         .attempts = {.hedge = {.beyond = 0.95, .at_least = 150ms}},
         .budgets = budgets});
    const auto before = std::chrono::steady_clock::now();
    const auto page = reader.page("feed", {.limit = 4});
    CHECK(std::chrono::steady_clock::now() - before < 5s);
    CHECK(inside == 0);
    CHECK(page.items == ints{0, 1, 2, 3});
    CHECK(page.stats.hedges == 1);
    CHECK(page.stats.retries == 0);
    CHECK(keys == 3 * std::string{"feed:bucket-0"}.size());
}

TEST_CASE("hedges stay within the concurrency", "[trouble]") {
    feed two{2, 20};
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    const auto budgets = std::make_shared<sw::attempt_budgets>();
    for (int i = 0; i != 32; ++i) {
        budgets->took(0ns);
    }
    const auto reader = two.reader(
        [&](const number_query&, std::size_t) {
            const int now = ++inside;
            int seen = most;
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            std::this_thread::sleep_for(10ms);
            --inside;
        },
        {.concurrency = 2, .attempts = {.hedge = {.beyond = 0.5}}, .budgets = budgets});
    CHECK(reader.page("feed", {.limit = 4}).items == ints{0, 1, 2, 3});
    CHECK(most <= 2);
}

// An answer with a shard missing, and no word of it.
TEST_CASE("a page that goes on without a source says so, and is in order", "[trouble]") {
    feed four{4, 40};
    bool down = true;
    const auto reader = four.reader(
        [&](const number_query& query, std::size_t) {
            if (down && query.shard == "S2") {
                throw std::runtime_error{"down"};
            }
            if (down && query.shard == "S3") {
                throw sw::timed_out{"slow"};
            }
        },
        {.on_failure = sw::on_failure::skip, .attempts = {.most = 1}});
    const auto page = reader.page("feed", {.limit = 6});
    CHECK(page.items == ints{0, 1, 4, 5, 8, 9});
    CHECK_FALSE(page.complete());
    REQUIRE(page.failures.size() == 2);
    CHECK(page.failures[0].shard == "S2");
    CHECK(page.failures[0].code == errc::shard_failed);
    CHECK(page.failures[1].shard == "S3");
    CHECK(page.failures[1].code == errc::timed_out);
    CHECK(page.ended == sw::page_end::full);
    SECTION("it is asked again by the next page, from there on") {
        down = false;
        const auto next = reader.page("feed", {.limit = 4, .from = page.next});
        CHECK(next.items == ints{10, 11, 12, 13});
        CHECK(next.complete());
    }
    SECTION("the end without it is not certain") {
        const auto rest = reader.page("feed", {.limit = 100, .from = page.next});
        CHECK(rest.items.size() == 14);
        CHECK(rest.ended == sw::page_end::end);
        CHECK(rest.next);
    }
}

TEST_CASE("rows that a source gave before it failed are handed out", "[trouble]") {
    feed two{2, 40};
    const auto reader = two.reader(
        [&](const number_query& query, std::size_t number) {
            if (query.shard == "S1" && number == 1) {
                throw std::runtime_error{"down"};
            }
        },
        {.on_failure = sw::on_failure::skip, .asking = {.fetch = sw::fetch::least}});
    const auto page = reader.page("feed", {.limit = 8});
    CHECK(page.items.size() == 8);
    CHECK(page.items[1] == 1);
}

TEST_CASE("when every source fails, a page that goes on without them is empty", "[trouble]") {
    feed two{2, 10};
    const auto reader =
        two.reader([](const number_query&, std::size_t) { throw std::runtime_error{"down"}; },
                   {.on_failure = sw::on_failure::skip});
    const auto page = reader.page("feed");
    CHECK(page.items.empty());
    CHECK(page.failures.size() == 2);
    CHECK(page.next);
}

TEST_CASE("a source out of order fails even a read that skips failures", "[trouble]") {
    const sw::router router{spread("feed", 2)};
    const sw::fan_out reader{router,
                             numbers,
                             [](const number_query& query) -> sw::shard_page<int> {
                                 return {.items = query.shard == "S0" ? ints{2, 1} : ints{},
                                         .more = false};
                             },
                             {.on_failure = sw::on_failure::skip}};
    CHECK(code_of([&] { (void)reader.page("feed"); }) == errc::unordered_source);
}

// With a mode that tolerates failures, a stale route was a gap like any other, and never refreshed.
TEST_CASE("a stale route ends the read, whatever it makes of failures", "[trouble]") {
    feed two{2, 10};
    const auto mode = GENERATE(sw::on_failure::prefix, sw::on_failure::skip);
    const auto reader = two.reader(
        [](const number_query& query, std::size_t) {
            if (query.shard == "S0") {
                throw sw::stale_route{sw::epoch{7}};
            }
        },
        {.on_failure = mode});
    try {
        (void)reader.page("feed");
        FAIL("a page came");
    } catch (const sw::failure& thrown) {
        CHECK_THROWS_AS(std::rethrow_if_nested(thrown), sw::stale_route);
    }
}

TEST_CASE("the exception that ends a read is nested in its failure, and no earlier one",
          "[trouble]") {
    // What was skipped hid the stale route, and nobody refreshed the table.
    const std::size_t concurrency = GENERATE(1U, 2U);
    feed two{2, 20};
    std::atomic<bool> down = false;
    const auto ask = [&](const auto& query) {
        if (query.shard == "S0") {
            down = true;
            throw std::runtime_error{"down"};
        }
        while (!down) {
            std::this_thread::sleep_for(1ms);
        }
        std::this_thread::sleep_for(5ms);
        throw sw::stale_route{sw::epoch{9}};
    };
    const auto reader =
        two.reader([&](const number_query& query, std::size_t) { ask(query); },
                   {.concurrency = concurrency, .on_failure = sw::on_failure::skip});
    const auto stale = [](const auto& read) {
        try {
            (void)read();
        } catch (const sw::failure&) {
            return sw::detail::stale_in(std::current_exception()).has_value();
        }
        return false;
    };
    CHECK(stale([&] { return reader.page("feed"); }));
    CHECK(stale([&] {
        const auto count = [&](const sw::reduce_query& query) {
            ask(query);
            return 1;
        };
        return reader.reduce("feed", {}, 0, count, std::plus<>{});
    }));
}

TEST_CASE("a stream may skip what fails, and ends when nothing else is left", "[trouble]") {
    feed two{2, 40};
    std::size_t fails = 0;
    const auto reader = two.reader(
        [&](const number_query& query, std::size_t) {
            if (query.shard == "S1" && ++fails != 3) {
                throw std::runtime_error{"down"};
            }
        },
        {.on_failure = sw::on_failure::skip});
    auto all = reader.stream("feed", {.chunk = 4});
    ints items;
    for (const int each : all) {
        items.push_back(each);
    }
    std::size_t even = 0;
    for (std::size_t i = 1; i < items.size(); ++i) {
        CHECK(items[i - 1] < items[i]);
    }
    for (const int each : items) {
        even += each % 2 == 0 ? 1U : 0U;
    }
    CHECK(even == 20);
    CHECK(items.size() > 20);             // the one time that it was up
    REQUIRE(all.failures().size() == 1);  // however often it failed
    CHECK(all.failures()[0].shard == "S1");
}

TEST_CASE("a stream reads its next round ahead, and no more", "[trouble]") {
    feed four{4, 400};
    const auto reader = four.reader([](const number_query&, std::size_t) {}, {.concurrency = 4});
    auto all = reader.stream("feed", {.chunk = 20, .prefetch = sw::prefetch::next_round});
    auto at = all.begin();
    CHECK(*at == 0);
    const auto so_far = [&] {
        const std::scoped_lock lock{four.mutex};
        std::size_t calls = 0;
        for (const auto& [shard, count] : four.calls) {
            calls += count;
        }
        return calls;
    };
    for (int i = 0; i != 2000 && so_far() != 8; ++i) {
        std::this_thread::sleep_for(1ms);
    }
    CHECK(so_far() == 8);  // the second round of four is sent, though nobody asked for its rows
    ints items;
    for (; at != all.end(); ++at) {
        items.push_back(*at);
    }
    CHECK(items.size() == 400);
    CHECK(std::ranges::is_sorted(items));
    CHECK(all.stats().rows_examined <= 400);
}

TEST_CASE("a stream that reads ahead fails where it would have failed", "[trouble]") {
    feed two{2, 100};
    std::atomic<bool> down = false;
    const auto reader = two.reader(
        [&](const number_query&, std::size_t) {
            if (down) {
                throw std::runtime_error{"down"};
            }
        },
        {.concurrency = 2});
    auto all = reader.stream("feed", {.chunk = 10, .prefetch = sw::prefetch::next_round});
    auto at = all.begin();
    ints items{*at};
    down = true;
    CHECK(code_of([&] {
              for (++at; at != all.end(); ++at) {
                  items.push_back(*at);
              }
          }) == errc::shard_failed);
    down = false;
    for (const int each : all) {
        items.push_back(each);
    }
    CHECK(items.size() == 100);
    CHECK(std::ranges::is_sorted(items));
}

TEST_CASE("a stream that reads ahead follows a table that changes", "[trouble]") {
    feed four{4, 200};
    const auto reader = four.reader([](const number_query&, std::size_t) {}, {.concurrency = 2});
    auto all = reader.stream("feed", {.chunk = 10, .prefetch = sw::prefetch::next_round});
    ints items;
    for (const int each : all) {
        items.push_back(each);
        if (each == 35 || each == 111) {
            const auto now = four.router.pin();
            const auto next = now->with_shards(now->shards());
            REQUIRE(four.router.publish(next) == sw::publish_result::published);
        }
    }
    CHECK(items.size() == 200);
    CHECK(std::ranges::is_sorted(items));
}

TEST_CASE("reading ahead on the calling thread is refused", "[trouble]") {
    feed one{1, 1};
    const auto reader = one.reader([](const number_query&, std::size_t) {});
    CHECK(code_of([&] { (void)reader.stream("feed", {.prefetch = sw::prefetch::next_round}); }) ==
          errc::invalid_options);
}
