// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/attempts.hpp>

#include <shardweave/read/detail/call_plan.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "support/generate.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using sw::detail::attempt;
using sw::detail::call_plan;
using test_support::generator;

namespace {

constexpr sw::instant start{1h};

/// A wait of exactly a second before each retry would need no jitter; without a base there is none.
constexpr sw::attempt_options at_once{.most = 3, .wait = {.base = 0ns, .cap = 0ns}};

struct play {
    sw::attempt_budgets budgets;
    call_plan plan;
    std::mt19937_64 draw{1};

    explicit play(const sw::attempt_options& with, const sw::attempt_budgets::options& paid = {})
        : budgets(paid), plan(with, budgets) {}

    bool failed(attempt who, sw::instant now, sw::errc why = sw::errc::unavailable,
                std::chrono::nanoseconds retry_after = {}, sw::deadline until = {}) {
        return plan.failed(who, why, retry_after, now, until, draw);
    }
    /// The limit under which this part of the recent attempts stays becomes known.
    void usual_is(std::chrono::nanoseconds time) {
        for (int i = 0; i != 16; ++i) {
            budgets.took(time);
        }
    }
};

}  // namespace

TEST_CASE("calls begin in their order, and are over with their answers", "[attempts]") {
    play on{at_once};
    CHECK(on.plan.add() == 0);
    CHECK(on.plan.add() == 1);
    CHECK(on.plan.next_due() <= start);
    CHECK(on.plan.due(start) == attempt{0, 0});
    CHECK(on.plan.due(start) == attempt{1, 0});
    CHECK(on.plan.due(start) == std::nullopt);
    CHECK(on.plan.next_due() == sw::instant::max());
    CHECK(on.plan.next_overdue() == sw::instant::max());
    CHECK(on.plan.answered({1, 0}, start + 1s));
    CHECK(on.plan.open() == 1);
    CHECK(on.plan.answered({0, 0}, start + 1s));
    CHECK(on.plan.open() == 0);
}

TEST_CASE("a call in trouble is tried as often as it may be, and then fails", "[attempts]") {
    play on{at_once};
    (void)on.plan.add();
    REQUIRE(on.plan.due(start) == attempt{0, 0});
    CHECK_FALSE(on.failed({0, 0}, start));
    REQUIRE(on.plan.due(start) == attempt{0, 1});
    CHECK_FALSE(on.failed({0, 1}, start));
    REQUIRE(on.plan.due(start) == attempt{0, 2});
    CHECK(on.failed({0, 2}, start));
    CHECK(on.plan.open() == 0);
    CHECK(on.plan.due(start) == std::nullopt);
    CHECK(on.plan.counted().retries == 2);
}

TEST_CASE("a retry waits for its jitter, within the ceiling of its turn", "[attempts]") {
    play on{{.most = 10, .wait = {.base = 1s, .cap = 4s}}};
    (void)on.plan.add();
    sw::instant now = start;
    std::size_t waited = 0;
    for (const std::chrono::seconds ceiling : {1s, 2s, 4s, 4s, 4s}) {
        const auto who = on.plan.due(now);
        REQUIRE(who);
        REQUIRE_FALSE(on.failed(*who, now));
        const sw::instant next = on.plan.next_due();
        CHECK(next <= now + ceiling);
        waited += next > now + ceiling / 100 ? 1 : 0;
        if (next > now) {
            CHECK(on.plan.due(next - 1ns) == std::nullopt);
        }
        now = next;
    }
    CHECK(waited >= 3);
}

TEST_CASE("a store that says how long to leave it alone is left alone", "[attempts]") {
    play on{at_once};
    (void)on.plan.add();
    REQUIRE(on.plan.due(start));
    CHECK_FALSE(on.failed({0, 0}, start, sw::errc::throttled, 30s));
    CHECK(on.plan.next_due() == start + 30s);
    CHECK(on.plan.due(start + 29s) == std::nullopt);
    CHECK(on.plan.due(start + 30s) == attempt{0, 1});
}

TEST_CASE("a retry that would come too late is not waited for, nor paid for", "[attempts]") {
    play on{{.most = 3, .wait = {.base = 0ns, .cap = 0ns}, .longest_wait = 20s},
            {.throttling = {.percent = 0, .burst = 1}}};
    for (int i = 0; i != 3; ++i) {
        (void)on.plan.add();
        REQUIRE(on.plan.due(start));
    }
    CHECK(on.failed({0, 0}, start, sw::errc::throttled, 21s));
    CHECK(on.failed({1, 0}, start, sw::errc::throttled, 5s, sw::deadline{start + 5s}));
    CHECK_FALSE(on.failed({2, 0}, start, sw::errc::throttled, 5s, sw::deadline{start + 6s}));
    CHECK(on.plan.next_due() == start + 5s);
}

TEST_CASE("calls that are over give up their numbers, and their late attempts mean nothing",
          "[attempts]") {
    play on{at_once};
    (void)on.plan.add();
    (void)on.plan.add();
    REQUIRE(on.plan.due(start) == attempt{0, 0});
    REQUIRE(on.plan.end(0));
    CHECK(on.plan.add() == 0);
    CHECK(on.plan.size() == 2);
    CHECK(on.plan.open() == 2);
    CHECK_FALSE(on.plan.answered({0, 0}, start));
    CHECK_FALSE(on.failed({0, 0}, start));
    CHECK_FALSE(on.plan.failed_for_good({0, 0}));
    REQUIRE(on.plan.due(start) == attempt{1, 0});  // which came first
    REQUIRE(on.plan.due(start) == attempt{0, 1});
    CHECK(on.plan.answered({0, 1}, start));
    REQUIRE(on.plan.end(1));
    CHECK(on.plan.open() == 0);
    CHECK_FALSE(on.plan.end(1));
}

TEST_CASE("throttling and other trouble are paid for apart, by all calls together", "[attempts]") {
    play on{{.most = 9, .wait = {.base = 0ns, .cap = 0ns}},
            {.trouble = {.percent = 0, .burst = 1}, .throttling = {.percent = 0, .burst = 2}}};
    for (int i = 0; i != 3; ++i) {
        (void)on.plan.add();
        REQUIRE(on.plan.due(start));
    }
    CHECK_FALSE(on.failed({0, 0}, start));  // the one retry after trouble
    CHECK(on.failed({1, 0}, start));
    CHECK_FALSE(on.failed({2, 0}, start, sw::errc::throttled));
    REQUIRE(on.plan.due(start));
    REQUIRE(on.plan.due(start));
    CHECK_FALSE(on.failed({2, 1}, start, sw::errc::throttled));
    REQUIRE(on.plan.due(start));
    CHECK(on.failed({2, 2}, start, sw::errc::throttled));
    CHECK(on.failed({0, 1}, start));
}

TEST_CASE("an attempt that takes too long is tried again, and its late answer is still taken",
          "[attempts]") {
    play on{{.most = 2, .wait = {.base = 0ns, .cap = 0ns}, .timeout = 5s}};
    (void)on.plan.add();
    REQUIRE(on.plan.due(start));
    CHECK(on.plan.next_overdue() == start + 5s);
    CHECK(on.plan.overdue(start + 4s) == std::nullopt);
    CHECK(on.plan.overdue(start + 5s) == attempt{0, 0});
    CHECK_FALSE(on.failed({0, 0}, start + 5s, sw::errc::timed_out));
    CHECK(on.plan.overdue(start + 5s) == std::nullopt);
    CHECK(on.plan.due(start + 5s) == attempt{0, 1});
    SECTION("the first") {
        CHECK(on.plan.answered({0, 0}, start + 6s));
        CHECK_FALSE(on.plan.answered({0, 1}, start + 7s));
    }
    SECTION("the first's failure is no news") {
        CHECK_FALSE(on.failed({0, 0}, start + 6s));
        CHECK_FALSE(on.plan.failed_for_good({0, 0}));
        CHECK(on.plan.open() == 1);
        CHECK(on.plan.answered({0, 1}, start + 7s));
    }
    CHECK(on.plan.open() == 0);
}

TEST_CASE("a slow attempt gets one beside it, after what is usual, once", "[attempts]") {
    play on{{.most = 1, .hedge = {.beyond = 0.9, .at_least = 1ms}}};
    on.usual_is(10ms);
    (void)on.plan.add();
    REQUIRE(on.plan.due(start) == attempt{0, 0});
    CHECK(on.plan.next_due() == start + 10ms);
    CHECK(on.plan.due(start + 9ms) == std::nullopt);
    CHECK(on.plan.due(start + 10ms) == attempt{0, 1});
    CHECK(on.plan.due(start + 1s) == std::nullopt);
    CHECK(on.plan.counted().hedges == 1);
    SECTION("the second answers first") {
        CHECK(on.plan.answered({0, 1}, start + 12ms));
        CHECK_FALSE(on.plan.answered({0, 0}, start + 50ms));
    }
    SECTION("one fails: the other is still waited for") {
        CHECK_FALSE(on.failed({0, 1}, start + 12ms));
        CHECK(on.plan.answered({0, 0}, start + 50ms));
    }
    SECTION("both fail") {
        CHECK_FALSE(on.failed({0, 0}, start + 12ms));
        CHECK(on.failed({0, 1}, start + 12ms));
    }
    CHECK(on.plan.open() == 0);
}

TEST_CASE("hedges wait until it is known what is usual, at least so long, and are paid for",
          "[attempts]") {
    play on{{.hedge = {.beyond = 0.5, .at_least = 20ms}}, {.hedges = {.percent = 0, .burst = 1}}};
    (void)on.plan.add();
    (void)on.plan.add();
    REQUIRE(on.plan.due(start));
    REQUIRE(on.plan.due(start));
    CHECK(on.plan.next_due() == sw::instant::max());
    on.usual_is(1ms);
    CHECK(on.plan.next_due() == start + 20ms);
    CHECK(on.plan.due(start + 20ms) == attempt{0, 2 - 1});
    CHECK(on.plan.due(start + 20ms) == std::nullopt);  // the budget is spent
    // A driver that is told to look again at once would never rest.
    CHECK(on.plan.next_due() == sw::instant::max());
}

TEST_CASE("what is usual follows the recent attempts", "[attempts]") {
    sw::attempt_budgets budgets;
    CHECK(budgets.usual(0.5) == std::chrono::nanoseconds::max());
    CHECK(budgets.usual(0) == std::chrono::nanoseconds::max());
    for (int i = 1; i <= 100; ++i) {
        budgets.took(std::chrono::milliseconds{i});
    }
    CHECK(budgets.usual(0) == 1ms);  // asked first
    CHECK(budgets.usual(0.5) >= 40ms);
    CHECK(budgets.usual(0.5) <= 60ms);
    CHECK(budgets.usual(0.95) >= 90ms);
    CHECK(budgets.usual(0) == 1ms);
    CHECK(budgets.usual(2) <= 100ms);
    for (int i = 0; i != 400; ++i) {
        budgets.took(7ms);
    }
    CHECK(budgets.usual(0.95) == 7ms);
}

// Whatever happens in whatever order: each call ends exactly once, is never tried more often than
// it may be, and is never forgotten.
TEST_CASE("every call ends once, and within its attempts", "[attempts][law]") {
    const std::uint64_t first = test_support::seed();
    for (std::uint64_t seed = first; seed != first + test_support::scaled(3000); ++seed) {
        CAPTURE(seed);
        generator draw{seed};
        const unsigned most = 1 + draw.below(4U);
        play on{{.most = most,
                 .wait = {.base = 1ms, .cap = 20ms},
                 .timeout = draw.chance(50) ? 30ms : std::chrono::nanoseconds::max(),
                 .hedge = {.beyond = draw.chance(50) ? 0.9 : 1}}};
        std::size_t calls = 1 + draw.below(12U);
        std::size_t later = draw.below(12U);
        for (std::size_t i = 0; i != calls; ++i) {
            (void)on.plan.add();
        }
        std::size_t most_open = calls;
        std::vector<int> due_ends(calls, 1);
        std::vector<int> ends(calls, 0);
        std::vector<unsigned> begun(calls, 0);
        std::vector<attempt> running;
        sw::instant now = start;
        for (int step = 0; on.plan.open() != 0 || later != 0; ++step) {
            REQUIRE(step < 10'000);
            if (later != 0 && (on.plan.open() == 0 || draw.chance(20))) {
                --later;
                const std::size_t number = on.plan.add();
                if (number == calls) {
                    ++calls;
                    due_ends.push_back(0);
                    ends.push_back(0);
                    begun.push_back(0);
                }
                REQUIRE(number < calls);
                REQUIRE(ends[number] == due_ends[number]);  // only of a call that is over
                ++due_ends[number];
                most_open = std::max(most_open, on.plan.open());
                begun[number] = 0;
            }
            while (const auto late = on.plan.overdue(now)) {
                ends[late->call] += on.failed(*late, now, sw::errc::timed_out) ? 1 : 0;
            }
            while (const auto next = on.plan.due(now)) {
                running.push_back(*next);
                ++begun[next->call];
            }
            if (!running.empty() && draw.chance(70)) {
                const std::size_t i = draw.below(running.size());
                const attempt who = std::exchange(running[i], running.back());
                running.pop_back();
                switch (draw.below(4U)) {
                    case 0: ends[who.call] += on.plan.answered(who, now) ? 1 : 0; break;
                    case 1: ends[who.call] += on.plan.failed_for_good(who) ? 1 : 0; break;
                    default: ends[who.call] += on.failed(who, now) ? 1 : 0;
                }
            } else if (running.empty() && on.plan.open() != 0) {
                REQUIRE(std::min(on.plan.next_due(), on.plan.next_overdue()) < sw::instant::max());
                now = std::max(now, std::min(on.plan.next_due(), on.plan.next_overdue()));
            } else {
                now += std::chrono::milliseconds{draw.below(10U)};
            }
        }
        CHECK(calls <= most_open);  // who streams for hours keeps nothing of calls that are over
        for (std::size_t i = 0; i != calls; ++i) {
            CHECK(ends[i] == due_ends[i]);
            // Each attempt may have had a hedge beside it.
            CHECK(begun[i] <= 2 * most);
        }
    }
}
