// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/reduce.hpp>

#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using sw::errc;
using test_support::code_of;
using test_support::spread;

namespace {

/// Four sources S0 to S3; the part of Si is i + 1.
struct sums {
    [[nodiscard]] int part(const sw::reduce_query& asked) {
        const std::scoped_lock lock{mutex};
        ++calls[asked.shard];
        return asked.shard.back() - '0' + 1;
    }
    [[nodiscard]] auto reader(sw::fan_out_options<int> with = {}) const {
        return sw::fan_out{router, sw::oldest_first<int>(sw::unique(std::identity{})),
                           [](const auto&) -> sw::shard_page<int> { return {}; }, std::move(with)};
    }

    sw::router router{spread("feed", 4)};
    std::mutex mutex;
    std::map<std::string, int> calls;
};

constexpr sw::attempt_options at_once{.most = 3, .wait = {.base = 0ns, .cap = 0ns}};

}  // namespace

TEST_CASE("a sum, a minimum and a list are made of every source's part, once", "[reduce]") {
    sums four;
    const auto reader = four.reader({.concurrency = GENERATE(1U, 3U)});
    const auto ask = [&](const sw::reduce_query& asked) { return four.part(asked); };
    const auto sum = reader.reduce("feed", {}, 0L, ask, std::plus<>{});
    CHECK(sum.value == 10);
    CHECK(sum.complete());
    CHECK(sum.stats.requests == 4);
    CHECK(sum.stats.rounds == 1);
    CHECK(sum.stats.shards_contacted == 4);
    CHECK(four.calls.size() == 4);
    CHECK(reader.reduce("feed", {}, 99, ask, [](int a, int b) { return std::min(a, b); }).value ==
          1);
    // In the sources' order, whoever answers first: sums of floating point are the same each time.
    const auto list = reader.reduce("feed", {}, std::string{}, ask, [](std::string all, int part) {
        return std::move(all) + std::to_string(part);
    });
    CHECK(list.value == "1234");
}

TEST_CASE("a part is asked for with all that the read knows", "[reduce]") {
    sums four;
    const auto result = four.reader().reduce(
        "feed", {.filter = "tag = 1", .within = {sw::item_time{}, sw::item_time::max()}}, 0,
        [&](const sw::reduce_query& asked) {
            CHECK(asked.filter == "tag = 1");
            CHECK(asked.within.since == sw::item_time{});
            CHECK(asked.epoch == four.router.epoch());
            REQUIRE(asked.partition_keys.size() == 1);
            CHECK(asked.partition_keys.front().starts_with("feed:bucket-"));
            return 1;
        },
        std::plus<>{});
    CHECK(result.value == 4);
}

TEST_CASE("a reduction of which a part is missing fails, or says so", "[reduce]") {
    sums four;
    const auto ask = [&](const sw::reduce_query& asked) {
        if (asked.shard == "S1" || asked.shard == "S2") {
            throw std::runtime_error{"down"};
        }
        return four.part(asked);
    };
    try {
        (void)four.reader({.concurrency = 4}).reduce("feed", {}, 0, ask, std::plus<>{});
        FAIL("a sum came");
    } catch (const sw::failure& thrown) {
        CHECK(thrown.code() == errc::shard_failed);
        CHECK_THROWS_AS(std::rethrow_if_nested(thrown), std::runtime_error);
    }
    const auto some =
        four.reader({.on_failure = sw::on_failure::skip}).reduce("feed", {}, 0, ask, std::plus<>{});
    CHECK(some.value == 1 + 4);
    CHECK_FALSE(some.complete());
    REQUIRE(some.failures.size() == 2);
    CHECK(some.failures[0].shard == "S1");
    CHECK(code_of([&] {
              (void)four.reader({.on_failure = sw::on_failure::prefix})
                  .reduce("feed", {}, 0, ask, std::plus<>{});
          }) == errc::invalid_options);
}

TEST_CASE("a failed reduction asks nobody else", "[reduce]") {
    sums four;
    int calls = 0;
    CHECK(code_of([&] {
              (void)four.reader().reduce(
                  "feed", {}, 0,
                  [&](const sw::reduce_query&) -> int {
                      ++calls;
                      throw std::runtime_error{"down"};
                  },
                  std::plus<>{});
          }) == errc::shard_failed);
    CHECK(calls == 1);
}

TEST_CASE("parts are tried again, and end with the deadline and the stop", "[reduce]") {
    sums four;
    const auto ask = [&](const sw::reduce_query& asked) {
        const int part = four.part(asked);
        if (four.calls[asked.shard] < 3) {
            throw sw::unavailable{"down"};
        }
        return part;
    };
    const auto sum = four.reader({.attempts = at_once}).reduce("feed", {}, 0, ask, std::plus<>{});
    CHECK(sum.value == 10);
    CHECK(sum.stats.retries == 8);
    std::stop_source source;
    source.request_stop();
    CHECK(code_of([&] {
              (void)four.reader({.on_failure = sw::on_failure::skip})
                  .reduce("feed", {.stop = source.get_token()}, 0, ask, std::plus<>{});
          }) == errc::cancelled);
    CHECK(code_of([&] {
              (void)four.reader().reduce("feed",
                                         {.deadline = sw::deadline{sw::instant::min() + 1ns}}, 0,
                                         ask, std::plus<>{});
          }) == errc::deadline_exceeded);
}
