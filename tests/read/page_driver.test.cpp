// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/page_driver.hpp>

#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
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
using test_support::generator;
using test_support::newest;
using test_support::post;

namespace {

using order_type = test_support::post_order;
using query_type = test_support::post_query;
using driver_type = sw::page_driver<order_type>;

static_assert(std::is_same_v<driver_type::query_type, query_type>);
static_assert(!std::is_copy_constructible_v<driver_type>);

/// An event loop with a clock of its own.
class event_loop {
public:
    [[nodiscard]] sw::instant now() const { return now_; }
    void at(sw::instant when, std::function<void()> what) { due_.emplace(when, std::move(what)); }
    void after(std::chrono::nanoseconds wait, std::function<void()> what) {
        at(now_ + wait, std::move(what));
    }
    /// Until nothing is due. False when that does not come.
    [[nodiscard]] bool run() {
        for (int steps = 0; !due_.empty(); ++steps) {
            if (steps == 100'000) {
                return false;
            }
            auto next = due_.extract(due_.begin());
            now_ = std::max(now_, next.key());
            next.mapped()();
        }
        return true;
    }

private:
    sw::instant now_{1h};
    std::multimap<sw::instant, std::function<void()>> due_;
};

/// What a store does with one attempt.
struct reply {
    std::chrono::nanoseconds after{};
    std::exception_ptr fails{};
    /// Lets go when it is stopped, from within.
    bool heeds_stop = true;
};

/// Reads pages on the loop. Every attempt is in `running` until it has ended.
class loop_read {
public:
    using replies = std::function<reply(const query_type&)>;

    loop_read(event_loop& loop, const sw::key_reader<order_type>& reader,
              const test_support::memory_store<order_type>& store, replies reply,
              const sw::page_options& with = {})
        : loop_(&loop), store_(&store), reply_(std::move(reply)), driver_(reader, "a", with) {
        pump();
    }
    loop_read(const loop_read&) = delete;
    loop_read& operator=(const loop_read&) = delete;

    void pump() {
        while (const auto fresh = driver_.begin(loop_->now())) {
            send(*fresh);
        }
        if (driver_.finished()) {
            if (!ended) {
                ended = loop_->now();
                left_behind = running;
            }
        } else if (driver_.wake() != sw::instant::max()) {
            REQUIRE(driver_.wake() > loop_->now());
            loop_->at(driver_.wake(), [this] { pump(); });
        }
    }

    sw::read_page<post> take() { return driver_.take(); }
    void cancel() {
        driver_.cancel();
        pump();
    }

    std::size_t begun = 0;
    std::size_t running = 0;
    std::size_t most = 0;
    std::optional<sw::instant> ended;
    std::size_t left_behind = 0;

private:
    struct sent {
        driver_type::attempt of;
        reply how;
        bool over = false;
        std::optional<std::stop_callback<std::function<void()>>> stop{};

        sent(const driver_type::attempt& which, reply with) : of(which), how(std::move(with)) {}
    };

    void send(const driver_type::attempt& which) {
        ++begun;
        most = std::max(most, ++running);
        auto each = std::make_shared<sent>(which, reply_(which.query()));
        loop_->after(each->how.after, [this, each] { end(*each, each->how.fails); });
        if (each->how.heeds_stop) {
            each->stop.emplace(which.query().stop, [this, one = each.get()] {
                end(*one, std::make_exception_ptr(std::runtime_error{"stopped"}));
            });
        }
    }

    void end(sent& each, const std::exception_ptr& failed) {
        if (std::exchange(each.over, true)) {
            return;
        }
        --running;
        if (failed) {
            driver_.fail(each.of, failed, loop_->now());
        } else {
            driver_.answer(each.of, store_->answer(each.of.query()), loop_->now());
        }
        pump();
    }

    event_loop* loop_;
    const test_support::memory_store<order_type>* store_;
    replies reply_;
    driver_type driver_;
};

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

    [[nodiscard]] auto reader(sw::fan_out_options<post> with = {}) const {
        return sw::key_reader{router, newest, std::move(with)};
    }
    [[nodiscard]] sw::read_page<post> inline_page(const sw::page_options& with = {}) const {
        const sw::fan_out same{router, newest,
                               [this](const query_type& query) { return store.answer(query); }};
        return same.page("a", with);
    }

    sw::routing_table table;
    sw::router router;
    test_support::memory_store<order_type> store;
    event_loop loop;
};

std::exception_ptr unavailable() { return std::make_exception_ptr(sw::unavailable{"later"}); }

}  // namespace

TEST_CASE("pages on any event loop are the same as inline ones", "[page_driver][law]") {
    INFO(test_support::replay());
    generator draw;
    for (std::size_t round = 0; round != test_support::scaled(400); ++round) {
        CAPTURE(round);
        const world at{draw.below(60U), draw.between(1U, 6U)};
        event_loop loop;
        const unsigned trouble = draw.below(40U);
        const auto reader = at.reader(
            {.concurrency = draw.between(1U, 7U),
             .attempts = {.most = 40,
                          .wait = {.base = 1ms, .cap = 8ms},
                          .timeout = draw.chance(50) ? 50ms : std::chrono::nanoseconds::max(),
                          .hedge = {.beyond = draw.chance(50) ? 0.5 : 1.0}},
             .budgets = std::make_shared<sw::attempt_budgets>(sw::attempt_budgets::options{
                 .trouble = {.percent = 1000, .burst = 1000}, .hedges = {.burst = 3}})});
        std::optional<sw::cursor> from;
        do {
            const sw::page_options with{.limit = draw.between(1U, 15U), .from = from};
            loop_read read{loop, reader, at.store,
                           [&](const query_type&) {
                               return reply{.after = std::chrono::milliseconds{draw.below(60U)},
                                            .fails = draw.chance(trouble) ? unavailable() : nullptr,
                                            .heeds_stop = draw.chance(50)};
                           },
                           with};
            REQUIRE(loop.run());
            REQUIRE(read.ended);
            CHECK(read.left_behind == 0);
            CHECK(read.most <= reader.options().concurrency);
            const auto page = read.take();
            const auto same = at.inline_page(with);
            REQUIRE(page.items == same.items);
            REQUIRE(page.ended == same.ended);
            REQUIRE(page.next.has_value() == same.next.has_value());
            CHECK(read.begun == page.stats.requests + page.stats.retries + page.stats.hedges);
            from = page.next;
        } while (from);
    }
}

TEST_CASE("a page asks, waits, and is taken", "[page_driver]") {
    const world at;
    const auto reader = at.reader({.concurrency = 3});
    const sw::instant now{1h};
    driver_type driver{reader, "a", {.limit = 40}};
    CHECK_FALSE(driver.finished());
    std::vector<driver_type::attempt> sent;
    while (const auto fresh = driver.begin(now)) {
        sent.push_back(*fresh);
    }
    REQUIRE(sent.size() == 3);
    CHECK(driver.wake() == sw::instant::max());
    for (std::size_t answered = 0; answered != sent.size(); ++answered) {
        CHECK_FALSE(driver.finished());
        driver.answer(sent[answered], at.store.answer(sent[answered].query()), now);
        while (const auto fresh = driver.begin(now)) {
            sent.push_back(*fresh);
        }
    }
    CHECK(driver.finished());
    CHECK(driver.take().items == at.inline_page({.limit = 40}).items);
}

TEST_CASE("a retry is waited for, and a slow attempt gets another beside it", "[page_driver]") {
    world at;
    SECTION("a retry") {
        int left = 2;
        const auto reader = at.reader({.concurrency = 8});
        loop_read read{at.loop, reader, at.store, [&](const query_type& query) {
                           return reply{.after = 1ms,
                                        .fails = query.shard == "S1" && left-- > 0 ? unavailable()
                                                                                   : nullptr};
                       }};
        REQUIRE(at.loop.run());
        const auto page = read.take();
        CHECK(page.items == at.inline_page().items);
        CHECK(page.stats.retries == 2);
    }
    SECTION("a hedge, whose loser heeds its stop or does not") {
        const bool heeds = GENERATE(false, true);
        const auto budgets = std::make_shared<sw::attempt_budgets>();
        for (int i = 0; i != 16; ++i) {
            budgets->took(2ms);
        }
        bool slow = true;
        const auto reader = at.reader(
            {.concurrency = 8, .attempts = {.hedge = {.beyond = 0.9}}, .budgets = budgets});
        const sw::instant start = at.loop.now();
        loop_read read{at.loop, reader, at.store, [&](const query_type& query) {
                           return query.shard == "S1" && std::exchange(slow, false)
                                      ? reply{.after = 1min, .heeds_stop = heeds}
                                      : reply{.after = 1ms};
                       }};
        REQUIRE(at.loop.run());
        REQUIRE(read.ended);
        // The page ends after its attempts: who does not heed holds it up.
        CHECK((*read.ended < start + 1s) == heeds);
        CHECK(read.left_behind == 0);
        const auto page = read.take();
        CHECK(page.items == at.inline_page().items);
        CHECK(page.stats.hedges == 1);
    }
}

TEST_CASE("a page on a loop ends at its deadline, by its stop token, or by cancel",
          "[page_driver]") {
    world at;
    const auto reader = at.reader({.concurrency = 8});
    const sw::instant start = at.loop.now();
    std::stop_source stop;
    errc expected = errc::cancelled;
    sw::page_options with{.stop = stop.get_token()};
    std::function<void(loop_read&)> ends;
    SECTION("its deadline") {
        with.deadline = sw::deadline{start + 1s};
        expected = errc::deadline_exceeded;
    }
    SECTION("its stop token") {
        ends = [&](loop_read& read) {
            stop.request_stop();
            read.pump();
        };
    }
    SECTION("cancel") {
        ends = [](loop_read& read) { read.cancel(); };
    }
    loop_read read{at.loop, reader, at.store, [](const query_type&) { return reply{.after = 1h}; },
                   with};
    if (ends) {
        at.loop.at(start + 1s, [&] { ends(read); });
    }
    REQUIRE(at.loop.run());
    CHECK(read.begun == 4);
    CHECK(read.ended == start + 1s);
    CHECK(read.left_behind == 0);
    CHECK(code_of([&] { (void)read.take(); }) == expected);
}

TEST_CASE("a failure on a loop has its cause nested, and stops the others", "[page_driver]") {
    world at;
    const auto reader = at.reader({.concurrency = 8});
    const sw::instant start = at.loop.now();
    loop_read read{at.loop, reader, at.store, [](const query_type& query) {
                       return query.shard == "S2"
                                  ? reply{.after = 1ms,
                                          .fails =
                                              std::make_exception_ptr(std::runtime_error{"boom"})}
                                  : reply{.after = 1h};
                   }};
    REQUIRE(at.loop.run());
    CHECK(read.ended == start + 1ms);
    std::string nested;
    try {
        (void)read.take();
    } catch (const sw::failure& thrown) {
        CHECK(thrown.code() == errc::shard_failed);
        CHECK(thrown.reason().shard == "S2");
        try {
            std::rethrow_if_nested(thrown);
        } catch (const std::runtime_error& cause) {
            nested = cause.what();
        }
    }
    CHECK(nested == "boom");
}

TEST_CASE("what a driver is refused for is thrown where it is made", "[page_driver]") {
    const world at;
    const auto reader = at.reader();
    CHECK(code_of([&] { driver_type{reader, "a", {.limit = sw::limits::page_items + 1}}; }) ==
          errc::limit_exceeded);
    driver_type nothing{reader, "a", {.limit = 0}};
    CHECK_FALSE(nothing.begin(sw::instant{1h}));
    CHECK(nothing.finished());
    CHECK(nothing.take().items.empty());
}
