// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/retry.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "support/generate.hpp"

using namespace shardweave;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {

static_assert(deadline{}.never() && !deadline{}.passed(instant::max()));
static_assert(deadline::after(instant{}, nanoseconds::max()).never());
static_assert(noexcept(std::declval<const backoff&>().ceiling(0)));
static_assert(noexcept(retry_budget{}.request()) && noexcept(retry_budget{}.retry()));
static_assert(backoff{10ms, 1s}.ceiling(0) == 10ms && backoff{10ms, 1s}.ceiling(3) == 80ms);
static_assert(backoff{10ms, 1s}.ceiling(7) == 1s && backoff{10ms, 1s}.ceiling(~0U) == 1s);

/// min(cap, base · 2^k), doubled step by step.
nanoseconds doubled(const backoff& rule, unsigned k) {
    nanoseconds wait = std::min(rule.base, rule.cap);
    for (; k != 0 && wait < rule.cap; --k) {
        wait = wait > rule.cap - wait ? rule.cap : 2 * wait;
        if (wait == 0ns) {
            break;
        }
    }
    return wait;
}

instant at(nanoseconds since) { return instant{since}; }

}  // namespace

TEST_CASE("the longest wait doubles up to the cap, and never overflows", "[retry][backoff]") {
    INFO(test_support::replay());
    test_support::generator draw;
    for (std::size_t i = test_support::scaled(100'000); i != 0; --i) {
        const backoff rule{nanoseconds{static_cast<std::int64_t>(draw.magnitude() >> 1U)},
                           nanoseconds{static_cast<std::int64_t>(draw.magnitude() >> 1U)}};
        const unsigned k = draw.below(100U);
        CAPTURE(rule.base.count(), rule.cap.count(), k);
        REQUIRE(rule.ceiling(k) == doubled(rule, k));
        const nanoseconds wait = rule.delay(k, draw);
        REQUIRE(wait >= 0ns);
        REQUIRE(wait <= rule.ceiling(k));
    }
    CHECK(backoff{0ns, 1s}.ceiling(99) == 0ns);
    CHECK(backoff{1s, 0ns}.delay(5, draw) == 0ns);
}

TEST_CASE("jitter is full: every wait from nothing to the longest is as likely",
          "[retry][backoff]") {
    INFO(test_support::replay());
    test_support::generator draw;
    const backoff rule{999ns, 999ns};
    std::vector<int> tenths(10);
    nanoseconds least = 1s;
    nanoseconds most = 0s;
    for (int i = 0; i != 100'000; ++i) {
        const nanoseconds wait = rule.delay(0, draw);
        ++tenths[static_cast<std::size_t>(wait.count() / 100)];
        least = std::min(least, wait);
        most = std::max(most, wait);
    }
    CHECK(least == 0ns);
    CHECK(most == 999ns);
    for (const int count : tenths) {
        CHECK(count > 9'500);  // five standard deviations are 475
        CHECK(count < 10'500);
    }
}

TEST_CASE("the same generator gives the same waits", "[retry][backoff]") {
    // The standard fixes what these engines draw, and nothing but this library comes after them.
    std::mt19937_64 wide{1};
    CHECK(backoff{1s, 1h}.delay(3, wide) == 7'439'150'952ns);
    std::mt19937 narrow{1};
    CHECK(backoff{1s, 1h}.delay(3, narrow) == 4'005'303'368ns);
}

TEST_CASE("a period is spread by a fifth to both sides", "[retry]") {
    INFO(test_support::replay());
    test_support::generator draw;
    nanoseconds least = 1h;
    nanoseconds most = 0s;
    for (int i = 0; i != 10'000; ++i) {
        const nanoseconds wait = spread(1'000ns, draw);
        least = std::min(least, wait);
        most = std::max(most, wait);
    }
    CHECK(least == 800ns);
    CHECK(most == 1'200ns);
    CHECK(spread(0ns, draw) == 0ns);
}

TEST_CASE("a deadline passes when its time has come", "[retry][deadline]") {
    const auto limit = deadline::after(at(5s), 2s);
    CHECK_FALSE(limit.passed(at(6s)));
    CHECK(limit.left(at(6s)) == 1s);
    CHECK(limit.passed(at(7s)));
    CHECK(limit.left(at(9s)) == 0s);
    CHECK(deadline::after(at(5s), -1s).passed(at(5s)));
    CHECK(deadline{}.left(at(9s)) == nanoseconds::max());
    CHECK(deadline::after(at(-5s), 2s).left(at(-5s)) == 2s);
}

TEST_CASE("retries are a share of the requests", "[retry][budget]") {
    INFO(test_support::replay());
    test_support::generator draw;
    for (std::size_t i = test_support::scaled(200); i != 0; --i) {
        const retry_budget::options with{.percent = draw.below(101U), .burst = draw.below(20U)};
        CAPTURE(with.percent, with.burst);
        retry_budget budget{with};
        std::uint64_t requests = 0;
        std::uint64_t retries = 0;
        for (int step = 0; step != 1'000; ++step) {
            if (draw.chance(50)) {
                ++requests;
                budget.request();
            } else {
                retries += budget.retry() ? 1U : 0U;
            }
            REQUIRE(retries * 100 <= std::uint64_t{with.burst} * 100 + requests * with.percent);
        }
    }
}

TEST_CASE("a tenth, ten times, pays for one retry", "[retry][budget]") {
    retry_budget budget{{.percent = 10, .burst = 1}};
    CHECK(budget.retry());
    for (int request = 0; request != 9; ++request) {
        budget.request();
        CHECK_FALSE(budget.retry());
    }
    budget.request();
    CHECK(budget.retry());
    CHECK_FALSE(budget.retry());
}

TEST_CASE("an idle time does not save up more than the burst", "[retry][budget]") {
    retry_budget budget{{.percent = 10, .burst = 3}};
    for (int request = 0; request != 10'000; ++request) {
        budget.request();
    }
    CHECK((budget.retry() && budget.retry() && budget.retry()));
    CHECK_FALSE(budget.retry());
}

TEST_CASE("attempts are paced by an interval, and by longer waits while they fail",
          "[retry][pace]") {
    test_support::generator draw;
    pace attempts{100ms, {.base = 10s, .cap = 40s}};
    CHECK(attempts.next() <= at(0s));
    CHECK(attempts.early(at(0s)) == 0s);

    attempts.succeeded(at(1s));
    CHECK(attempts.next() == at(1'100ms));
    CHECK(attempts.early(at(1'030ms)) == 70ms);
    CHECK(attempts.early(at(1'100ms)) == 0s);
    CHECK(attempts.failures() == 0);

    for (unsigned k = 0; k != 5; ++k) {
        attempts.failed(at(2s), draw);
        CHECK(attempts.failures() == k + 1);
        CHECK(attempts.next() >= at(2'100ms));
        CHECK(attempts.next() <= at(2s) + backoff{10s, 40s}.ceiling(k));
    }
    attempts.succeeded(at(3s));
    CHECK(attempts.next() == at(3'100ms));
    CHECK(attempts.failures() == 0);
}

TEST_CASE("a failure whose jitter draws nothing still waits for the interval", "[retry][pace]") {
    test_support::generator draw;
    pace attempts{100ms, {.base = 0ns, .cap = 0ns}};
    attempts.failed(at(1s), draw);
    CHECK(attempts.next() == at(1'100ms));
}

TEST_CASE("each failure in a row may be waited for longer than the one before", "[retry][pace]") {
    INFO(test_support::replay());
    test_support::generator draw;
    instant latest{};
    for (int i = 0; i != 100; ++i) {
        pace attempts{1ms, {.base = 1s, .cap = 1h}};
        for (int failure = 0; failure != 4; ++failure) {
            attempts.failed(at(0s), draw);
        }
        latest = std::max(latest, attempts.next());
    }
    CHECK(latest > at(4s));  // U(0, 8 s), a hundred times
    CHECK(latest <= at(8s));
}
