// SPDX-License-Identifier: BSL-1.0
// Pages of PostgreSQL as coroutines, and pipelined writes.
#include <shardweave/adapters/asio.hpp>
#include <shardweave/shardweave.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/postgres_server.hpp"
#include "postgres/async.hpp"
#include "postgres/pool.hpp"
#include "postgres/write.hpp"
#include "support/fault_proxy.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using postgres::item;
using test_support::fault_proxy;

namespace {

/// Three databases, each behind a proxy, with 3,000 items of one key in eight buckets.
struct world {
    world() {
        const auto& server = *test_support::running_postgres;
        postgres::connection admin = postgres::connected(server.conninfo("postgres", "postgres"));
        postgres::databases through;
        const auto table = router.pin();
        for (const std::string& name : table->shards().names()) {
            postgres::run(admin, "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
            postgres::run(admin, "CREATE DATABASE " + name);
            postgres::connection on = postgres::connected(server.conninfo(name, "postgres"));
            postgres::create_shard(on);
            postgres::open_owned(on, *table, name);
            auto& proxy = proxies[name] = std::make_unique<fault_proxy>(server.port());
            through[name] =
                server.conninfo(name, "postgres", proxy->port()) + " " + postgres::page_settings;
        }
        pool = std::make_unique<postgres::connection_pool>(std::move(through));
        std::map<std::string, std::vector<postgres::placed_item>> batches;
        for (int i = 0; i != 3'000; ++i) {
            const item row{"author-1", i / 7, "post-" + std::to_string(i), "of note"};
            const sw::placement at = table->place(row.author, row.id);
            batches[at.shard].push_back({at.partition_key.str(), at.slot.value(), row});
            expected.push_back(row);
        }
        for (const auto& [shard, batch] : batches) {
            postgres::write(*pool, shard, table->epoch(), batch);
        }
        std::ranges::sort(expected, [](const item& a, const item& b) {
            return std::tie(b.created_at, b.id) < std::tie(a.created_at, a.id);
        });
    }

    [[nodiscard]] auto reader(sw::fan_out_options<item> how) const {
        const auto ask = [this](const postgres::query& asked) {
            return postgres::async_ask(*pool, format, asked);
        };
        return sw::async_fan_out{router, postgres::newest_first, ask, std::move(how)};
    }

    sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(8)),
                          sw::shard_map::even({"async0", "async1", "async2"}, 64)}};
    sw::key_format format;
    std::map<std::string, std::unique_ptr<fault_proxy>> proxies;
    std::unique_ptr<postgres::connection_pool> pool;
    std::vector<item> expected;
};

template <class Reader>
asio::awaitable<std::vector<item>> traverse(const Reader& reader, std::size_t limit) {
    std::vector<item> all;
    sw::page_options with{.limit = limit};
    do {
        auto page = co_await reader.async_page("author-1", with);
        all.insert(all.end(), page.items.begin(), page.items.end());
        with.from = std::move(page.next);
    } while (with.from);
    co_return all;
}

template <class Reader>
sw::errc failure_of_page(const Reader& reader, const sw::page_options& with) {
    asio::io_context context;
    auto page = reader.async_page(context.get_executor(), "author-1", with, asio::use_future);
    context.run();
    try {
        static_cast<void>(page.get());
    } catch (const sw::failure& why) {
        return why.code();
    }
    return sw::errc::ok;
}

}  // namespace

TEST_CASE("pages of PostgreSQL as coroutines equal the sorted rows", "[postgres][async]") {
    world on;
    for (const auto grouping : {sw::grouping::per_partition_key, sw::grouping::per_shard}) {
        const auto reader = on.reader({.concurrency = 8, .grouping = grouping});
        // Several traversals at a time, on two threads.
        asio::io_context context;
        std::vector<std::future<std::vector<item>>> all;
        for (const std::size_t limit : {std::size_t{20}, std::size_t{100}, std::size_t{1'000}}) {
            all.push_back(asio::co_spawn(context, traverse(reader, limit), asio::use_future));
        }
        std::jthread other{[&] { context.run(); }};
        context.run();
        for (auto& each : all) {
            CHECK((each.get() == on.expected));
        }
    }

    auto& proxy = *on.proxies.at(on.router.pin()->targets("author-1").front().shard);
    const auto reader = on.reader({.concurrency = 8, .attempts = {.most = 3}});
    const sw::page_options first{.limit = 20};
    proxy.reset_at(1);
    CHECK(failure_of_page(reader, first) == sw::errc::ok);
    CHECK(proxy.struck() == 1);
    proxy.cut_answer_at(1, 30);
    CHECK(failure_of_page(reader, first) == sw::errc::ok);
    CHECK(proxy.struck() == 2);
    proxy.delay(2'000ms);
    const auto start = std::chrono::steady_clock::now();
    CHECK(failure_of_page(reader, {.deadline = sw::deadline::after(start, 80ms)}) ==
          sw::errc::deadline_exceeded);
    CHECK(std::chrono::steady_clock::now() - start < 1s);
    proxy.calm();
    CHECK(failure_of_page(reader, first) == sw::errc::ok);
}

TEST_CASE("one thread waits for all databases of PostgreSQL at once", "[postgres][async]") {
    world on;
    const auto blocking = [&](const postgres::query& asked) {
        return postgres::ask(*on.pool, on.format, asked);
    };
    const sw::fan_out one_by_one{on.router, postgres::newest_first, blocking};
    const auto at_once = on.reader({.concurrency = 8});
    const sw::page_options first{.limit = 20};
    const auto timed = [](const auto& read) {
        const auto start = std::chrono::steady_clock::now();
        read();
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count();
    };
    double slow = 0;
    double fast = 1e9;
    for (const auto delay : {0ms, 20ms, 20ms, 20ms, 20ms}) {  // first without, to connect
        for (const auto& [name, proxy] : on.proxies) {
            proxy->delay(delay);
        }
        const double took = timed([&] { CHECK(failure_of_page(at_once, first) == sw::errc::ok); });
        fast = delay == 0ms ? fast : std::min(fast, took);
        slow = timed([&] { CHECK(one_by_one.page("author-1", first).items.size() == 20); });
    }
    std::cout << "with 20 ms to each database, a page of 8 queries: " << slow << " ms one by one, "
              << fast << " ms at once\n";
    CHECK(slow >= 160);
    CHECK(fast < slow / 2);
}

TEST_CASE("a batch of writes to PostgreSQL is few round trips and one transaction",
          "[postgres][async]") {
    world on;
    const sw::placement at = on.router.place("author-2", "any");
    auto& proxy = *on.proxies.at(at.shard);
    std::vector<postgres::placed_item> batch;
    for (int i = 0; i != 2'000; ++i) {
        batch.push_back({at.partition_key.str(), at.slot.value(),
                         item{"author-2", i, "post-" + std::to_string(i), ""}});
    }
    const auto before = proxy.calls();
    postgres::write(*on.pool, at.shard, at.epoch, batch);
    CHECK(proxy.calls() - before < 200);

    // One row that can not be stored, and none of them is.
    for (postgres::placed_item& each : batch) {
        each.partition_key = "other";
    }
    batch[1'999].row.id = "\xff";  // no UTF-8
    CHECK_THROWS_AS(postgres::write(*on.pool, at.shard, at.epoch, batch), postgres::database_error);
    postgres::connection look =
        postgres::connected(test_support::running_postgres->conninfo(at.shard, "postgres"));
    CHECK(postgres::run(look, "SELECT count(*) FROM item WHERE partition_key = 'other'")
              .number(0, 0) == 0);
    CHECK(postgres::run(look, "SELECT count(*) FROM item WHERE partition_key = '" +
                                  at.partition_key.str() + "'")
              .number(0, 0) == 2'000);
}
