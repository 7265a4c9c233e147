// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/single_flight.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <latch>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"

using namespace shardweave;
using namespace std::chrono_literals;
using test_support::code_of;

namespace {

using flights = single_flight<int>;

static_assert(!std::is_copy_constructible_v<flights> && !std::is_move_constructible_v<flights>,
              "waiters hold its address");
static_assert(std::is_same_v<decltype(flights::outcome::value), std::shared_ptr<const int>>,
              "a value that many share is not changed");

/// Long enough for a thread to get somewhere, so that a fault shows; no test passes because of it.
void give_time() { std::this_thread::sleep_for(20ms); }

std::string text_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& each) {
        return each.what();
    }
}

/// A flight in the air, on a thread of its own, until it is told to land.
class held_flight {
public:
    held_flight(flights& slot, int value)
        : pilot_([this, &slot, value] {
              end_ = slot.run(slot.fresh(), {}, [&] {
                  flying_.count_down();
                  lands_.wait();
                  return value;
              });
          }) {
        flying_.wait();
    }
    flights::outcome land() {
        lands_.count_down();
        pilot_.join();
        return end_;
    }

private:
    std::latch flying_{1};
    std::latch lands_{1};
    flights::outcome end_;
    std::thread pilot_;
};

}  // namespace

TEST_CASE("of a hundred who join, one works and all get its value", "[single_flight][threads]") {
    flights slot;
    held_flight held{slot, 7};
    std::atomic<int> worked{0};
    std::atomic<int> right{0};
    std::latch asked{100};
    std::vector<std::thread> threads;
    for (int i = 0; i != 100; ++i) {
        threads.emplace_back([&] {
            const auto ticket = slot.joining();
            asked.count_down();
            const auto end = slot.run(ticket, {}, [&] { return ++worked; });
            right += end.value && *end.value == 7 && end.flight == 1;
        });
    }
    asked.wait();
    CHECK(held.land().flight == 1);
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(worked == 0);
    CHECK(right == 100);
}

TEST_CASE("who needs a flight that begins after its ticket does not get the one in the air",
          "[single_flight][threads]") {
    // Of a hundred, one flies when the air is free, and the others join that one.
    flights slot;
    held_flight held{slot, 7};
    std::atomic<int> worked{0};
    std::atomic<int> right{0};
    std::latch asked{100};
    std::vector<std::thread> threads;
    for (int i = 0; i != 100; ++i) {
        threads.emplace_back([&] {
            const auto ticket = slot.fresh();
            asked.count_down();
            const auto end = slot.run(ticket, {}, [&] {
                ++worked;
                return 8;
            });
            right += end.value && *end.value == 8 && end.flight == 2;
        });
    }
    asked.wait();
    give_time();
    CHECK(worked == 0);  // one in the air at most
    CHECK(*held.land().value == 7);
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(worked == 1);
    CHECK(right == 100);
}

TEST_CASE("a ticket is good for a flight that ended meanwhile, and only for a later one",
          "[single_flight]") {
    flights slot;
    int worked = 0;
    const auto work = [&] { return ++worked; };
    const auto early = slot.fresh();
    CHECK(*slot.run(slot.fresh(), {}, work).value == 1);
    CHECK(*slot.run(early, {}, work).value == 1);
    CHECK(*slot.run(slot.joining(), {}, work).value == 2);  // nothing is in the air
    CHECK(*slot.run(early, {}, work).value == 2);
    CHECK(*slot.run(slot.fresh(), {}, work).value == 3);
    CHECK(worked == 3);
}

TEST_CASE("what the pilot throws reaches everyone, and the next call works",
          "[single_flight][threads]") {
    // Elsewhere a panic left the key taken for good, and every later caller hung.
    flights slot;
    std::latch flying{1};
    std::latch lands{1};
    std::atomic<int> told{0};
    std::vector<std::thread> threads;
    const auto expect_error = [&](const flights::outcome& end) {
        told += end.error && !end.value && !end.left() && text_of(end.error) == "no network";
    };
    threads.emplace_back([&] {
        expect_error(slot.run(slot.fresh(), {}, [&]() -> int {
            flying.count_down();
            lands.wait();
            throw std::runtime_error{"no network"};
        }));
    });
    flying.wait();
    std::latch asked{9};
    for (int i = 0; i != 9; ++i) {
        threads.emplace_back([&] {
            const auto ticket = slot.joining();
            asked.count_down();
            expect_error(slot.run(ticket, {}, [] { return 0; }));
        });
    }
    asked.wait();
    lands.count_down();
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(told == 10);
    CHECK(*slot.run(slot.fresh(), {}, [] { return 5; }).value == 5);
}

TEST_CASE("a waiter that leaves does not end the work for the others", "[single_flight][threads]") {
    flights slot;
    held_flight held{slot, 7};
    const auto never = []() -> int { throw std::logic_error{"there is a flight in the air"}; };

    CHECK(slot.run(slot.joining(), {.at_most = 1ms}, never).left());
    CHECK(slot.run(slot.fresh(), {.at_most = 0ms}, never).left());
    CHECK(slot.run(slot.joining(), {.at_most = -1ms}, never).left());
    std::stop_source stop;
    const auto ticket = slot.joining();
    std::thread stops{[&] {
        give_time();
        stop.request_stop();
    }};
    CHECK(slot.run(ticket, {.stop = stop.get_token()}, never).left());
    stops.join();

    flights::outcome stayed;
    std::thread stays{[&] { stayed = slot.run(ticket, {}, never); }};
    CHECK(*held.land().value == 7);
    stays.join();
    REQUIRE(stayed.value);
    CHECK(*stayed.value == 7);
}

TEST_CASE("work that asks for itself is an error, and no deadlock", "[single_flight]") {
    flights slot;
    const auto end = slot.run(slot.fresh(), {}, [&] {
        CHECK(code_of([&] { static_cast<void>(slot.run(slot.joining(), {}, [] { return 0; })); }) ==
              errc::reentrant_call);
        CHECK(code_of([&] { static_cast<void>(slot.run(slot.fresh(), {}, [] { return 0; })); }) ==
              errc::reentrant_call);
        return 1;
    });
    CHECK(*end.value == 1);
}

TEST_CASE("the work may use another slot, and this one when it has landed", "[single_flight]") {
    flights slot;
    flights other;
    const auto end = slot.run(
        slot.fresh(), {}, [&] { return *other.run(other.fresh(), {}, [] { return 2; }).value; });
    CHECK(*end.value == 2);
    CHECK(*slot.run(slot.fresh(), {}, [] { return 3; }).value == 3);
}

TEST_CASE("a forgotten flight neither frees nor answers for the one after it",
          "[single_flight][threads]") {
    // Elsewhere the older call, when it came back, erased the entry of the newer one.
    flights slot;
    held_flight stuck{slot, 1};
    const auto old_ticket = slot.joining();
    flights::outcome waited;
    std::thread waits{[&] { waited = slot.run(old_ticket, {}, [] { return 3; }); }};
    std::thread queues{[&] { static_cast<void>(slot.run({1}, {}, [] { return 3; })); }};
    give_time();
    slot.forget();
    queues.join();  // one of the two flew, instead of waiting for the stuck one
    waits.join();
    REQUIRE(waited.value);
    CHECK(*waited.value == 3);

    held_flight newer{slot, 4};
    const auto ticket = slot.joining();
    CHECK(*stuck.land().value == 1);

    // The newer flight is still the one to join, and the older one's outcome is nobody's.
    std::atomic<int> worked{0};
    flights::outcome joined;
    std::thread joins{[&] { joined = slot.run(ticket, {}, [&] { return ++worked; }); }};
    give_time();
    CHECK(*newer.land().value == 4);
    joins.join();
    CHECK(worked == 0);
    CHECK(*joined.value == 4);
}

TEST_CASE(
    "who comes after a flight's time is up flies instead, and the stuck one answers for nobody",
    "[single_flight][threads]") {
    // A clock that a test moves: nobody has waited when the time is up.
    std::atomic<std::int64_t> time{0};
    flights slot{{.at_most = 30s, .now = [&] { return instant{std::chrono::nanoseconds{time}}; }}};
    held_flight stuck{slot, 1};
    const auto ticket = slot.joining();
    time = std::chrono::nanoseconds{30s}.count() - 1;
    CHECK(slot.run(ticket, {.at_most = 1ms}, [] { return 9; }).left());
    time = std::chrono::nanoseconds{30s}.count();
    const auto end =
        slot.run(ticket, {}, [](std::uint64_t flight) { return static_cast<int>(flight); });
    REQUIRE(end.value);
    CHECK(*end.value == 2);

    held_flight newer{slot, 4};
    const auto joining = slot.joining();
    CHECK(*stuck.land().value == 1);  // for its own caller
    std::atomic<int> worked{0};
    flights::outcome joined;
    std::thread joins{[&] { joined = slot.run(joining, {}, [&] { return ++worked; }); }};
    give_time();
    CHECK(*newer.land().value == 4);
    joins.join();
    CHECK(worked == 0);
    CHECK(*joined.value == 4);
    CHECK(*slot.run(ticket, {}, [] { return 9; }).value == 4);
}

TEST_CASE(
    "those who wait for a flight that hangs are freed when its time is up, and share the next",
    "[single_flight][threads]") {
    flights slot{{.at_most = 20ms}};
    held_flight stuck{slot, 1};
    std::atomic<int> worked{0};
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int i = 0; i != 100; ++i) {
        threads.emplace_back([&, i] {
            const auto ticket = i % 2 == 0 ? flights::ticket{0} : flights::ticket{1};
            const auto end = slot.run(ticket, {}, [&] { return ++worked; });
            right += end.value && *end.value == 1 && end.flight == 2;
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(worked == 1);
    CHECK(right == 100);
    CHECK(stuck.land().flight == 1);
}

TEST_CASE("a flight in time is never overtaken, and one without a limit is never asked the time",
          "[single_flight]") {
    int asked = 0;
    flights unlimited{{.now = [&] {
        ++asked;
        return instant{};
    }}};
    CHECK(*unlimited.run({}, {}, [] { return 1; }).value == 1);
    CHECK(asked == 0);
    // Work that asks for itself late is told so, as ever, and does not overtake itself.
    std::int64_t time = 0;
    flights slot{{.at_most = 1s, .now = [&] { return instant{std::chrono::nanoseconds{time}}; }}};
    const auto end = slot.run({}, {}, [&] {
        time = std::chrono::nanoseconds{2s}.count();
        return code_of([&] { static_cast<void>(slot.run({}, {}, [] { return 0; })); }) ==
                       errc::reentrant_call
                   ? 1
                   : 0;
    });
    CHECK(*end.value == 1);
}

TEST_CASE("a value dies with the last who holds it, outside the lock", "[single_flight]") {
    struct asks_when_it_dies {
        single_flight<asks_when_it_dies>* slot;
        ~asks_when_it_dies() { static_cast<void>(slot->fresh()); }
    };
    single_flight<asks_when_it_dies> slot;
    const auto work = [&] { return asks_when_it_dies{&slot}; };
    static_cast<void>(slot.run(slot.fresh(), {}, work));
    static_cast<void>(slot.run(slot.fresh(), {}, work));
    slot.forget();
    slot.forget();
}

TEST_CASE("no outcome is of a flight that began before the ticket, and no two fly at once",
          "[single_flight][threads]") {
    INFO(test_support::replay());
    flights slot;
    std::atomic<int> in_the_air{0};
    std::atomic<int> counter{0};
    std::atomic<int> crowded{0};
    std::atomic<int> old{0};
    std::atomic<std::uint64_t> thrown{0};
    std::atomic<std::uint64_t> valued{0};
    const std::size_t rounds = test_support::scaled(5'000);
    std::vector<std::thread> threads;
    for (std::uint64_t number = 0; number != 8; ++number) {
        threads.emplace_back([&, number] {
            test_support::generator draw{test_support::seed() + number};
            for (std::size_t i = 0; i != rounds; ++i) {
                const bool joins = draw.chance(50);
                const bool fails = draw.chance(20);
                const int seen = counter;
                const auto end = slot.run(joins ? slot.joining() : slot.fresh(), {}, [&]() -> int {
                    crowded += ++in_the_air != 1;
                    const int began = ++counter;
                    --in_the_air;
                    if (fails) {
                        throw std::runtime_error{"drawn"};
                    }
                    return began;
                });
                (end.error ? thrown : valued) += 1;
                old += end.left() || (!end.error && !joins && *end.value <= seen);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(crowded == 0);
    CHECK(old == 0);
    CHECK(thrown + valued == 8 * rounds);
    CHECK(thrown != 0);
    CHECK(static_cast<std::uint64_t>(counter) <= 8 * rounds);
}

TEST_CASE("flights that are overtaken while they land give nobody an outcome before its ticket",
          "[single_flight][threads]") {
    // Work takes about as long as it may: some flights land just when they are overtaken.
    INFO(test_support::replay());
    flights slot{{.at_most = 100us}};
    std::atomic<int> old{0};
    std::atomic<int> nothing{0};
    std::atomic<int> worked{0};
    const std::size_t rounds = test_support::scaled(500);
    std::vector<std::thread> threads;
    for (std::uint64_t number = 0; number != 6; ++number) {
        threads.emplace_back([&, number] {
            test_support::generator draw{test_support::seed() + number};
            for (std::size_t i = 0; i != rounds; ++i) {
                const auto ticket = draw.chance(50) ? slot.joining() : slot.fresh();
                const auto end = slot.run(ticket, {}, [&](std::uint64_t flight) {
                    ++worked;
                    std::this_thread::sleep_for(std::chrono::microseconds{draw.below(200U)});
                    return static_cast<int>(flight);
                });
                nothing += !end.value;
                old += end.flight <= ticket.after ||
                       (end.value && static_cast<std::uint64_t>(*end.value) != end.flight);
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(old == 0);
    CHECK(nothing == 0);
    CHECK(worked > 0);
    CHECK(static_cast<std::size_t>(worked) <= 6 * rounds);
}
