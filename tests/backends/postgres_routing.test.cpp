// SPDX-License-Identifier: BSL-1.0
// Writes to PostgreSQL that are fenced, and the routing table in a row of it.
#include <shardweave/shardweave.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/postgres_server.hpp"
#include "postgres/pool.hpp"
#include "postgres/routing_source.hpp"
#include "postgres/write.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using postgres::item;
using test_support::postgres_server;

namespace {

postgres_server& server() { return *test_support::running_postgres; }

/// Creates a database, which is dropped first if it is there.
std::string fresh_database(const std::string& name) {
    postgres::connection admin = postgres::connected(server().conninfo("postgres", "postgres"));
    postgres::run(admin, "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
    postgres::run(admin, "CREATE DATABASE " + name);
    return server().conninfo(name, "postgres");
}

/// Two shards with open fences, a stored routing table, and a router that follows it.
struct cluster {
    cluster() {
        source.create();
        const sw::routing_table first{sw::scheme_table{sw::calculated(1)},
                                      sw::shard_map::even({"fence0", "fence1"}, 16)};
        REQUIRE(source.compare_and_swap(std::nullopt, sw::encode(first)) ==
                sw::swap_result::stored);
        for (const auto& [name, conninfo] : databases) {
            postgres::connection& admin =
                admins.emplace(name, postgres::connected(conninfo)).first->second;
            postgres::create_shard(admin);
            postgres::open_owned(admin, first, name);
        }
        static_cast<void>(router.publish(first));
    }

    /// Every row of the partition key at the shard.
    std::set<std::string> ids(const std::string& shard, const std::string& partition_key) {
        const postgres::rows found = postgres::run(
            admins.at(shard), "SELECT id FROM item WHERE partition_key = '" + partition_key + "'");
        std::set<std::string> all;
        for (int row = 0; row != found.size(); ++row) {
            all.emplace(found.text(row, 0));
        }
        return all;
    }

    /// Closes the key's slot, copies it, stores and publishes the table, opens the slot.
    void move(const std::string& key) {
        const auto table = router.pin();
        const sw::placement at = table->place(key, "any");
        const std::string to = at.shard == "fence0" ? "fence1" : "fence0";
        const sw::routing_table next = table->with_shards(table->shards().with_owner(at.slot, to));
        postgres::close_slot(admins.at(at.shard), at.slot.value(), next.epoch());
        const std::string name = at.partition_key.str();
        const postgres::rows rows = postgres::run(
            admins.at(at.shard),
            "SELECT created_at, id, note FROM item WHERE partition_key = '" + name + "'");
        for (int row = 0; row != rows.size(); ++row) {
            postgres::run(admins.at(to), "copy",
                          "INSERT INTO item VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                          postgres::arguments{}
                              .add(name)
                              .add(rows.number(row, 0))
                              .add(rows.text(row, 1))
                              .add(rows.text(row, 2)));
        }
        REQUIRE(source.compare_and_swap(table->epoch(), sw::encode(next)) ==
                sw::swap_result::stored);
        postgres::open_slots(admins.at(to), {at.slot.value()}, next.epoch());
        postgres::run(admins.at(at.shard), "DELETE FROM item WHERE partition_key = '" + name + "'");
        static_cast<void>(router.publish(next));
    }

    postgres::databases databases{{"fence0", fresh_database("fence0")},
                                  {"fence1", fresh_database("fence1")}};
    std::map<std::string, postgres::connection> admins;
    postgres::connection_pool pool{databases};
    postgres::routing_source source{fresh_database("routing")};
    sw::router router{sw::routing_table{sw::scheme_table{sw::calculated(1)},
                                        sw::shard_map::even({"fence0", "fence1"}, 16),
                                        {.epoch = sw::epoch{0}}}};
};

}  // namespace

TEST_CASE("a write to PostgreSQL after its slot was closed is refused, with nothing written",
          "[postgres][fence]") {
    cluster on;
    const sw::placement at = on.router.place("author-1", "post-1");
    const std::string key = at.partition_key.str();
    postgres::write(on.pool, at, item{"author-1", 1, "post-1", ""});
    CHECK(on.ids(at.shard, key) == std::set<std::string>{"post-1"});

    postgres::close_slot(on.admins.at(at.shard), at.slot.value(), sw::epoch{7});
    const auto seen_by = [&](const auto& write) {
        try {
            write();
        } catch (const sw::stale_route& stale) {
            return stale.seen();
        }
        return sw::epoch{0};
    };
    CHECK(seen_by([&] { postgres::write(on.pool, at, item{"author-1", 2, "post-2", ""}); }) ==
          sw::epoch{7});
    // A batch of which one slot is closed, or was never the shard's.
    const std::uint32_t open = (at.slot.value() + 1) % 16;
    postgres::open_slots(on.admins.at(at.shard), {open}, sw::epoch{1});
    for (const std::uint32_t other : {at.slot.value(), 16U}) {
        CHECK(seen_by([&] {
                  const std::vector<postgres::placed_item> batch{
                      {"open", open, {"open", 1, "a", ""}},
                      {"other", other, {"other", 1, "b", ""}}};
                  postgres::write(on.pool, at.shard, sw::epoch{1}, batch);
              }) == (other == 16 ? sw::epoch{1} : sw::epoch{7}));
        CHECK(on.ids(at.shard, "open").empty());
    }
    CHECK(on.ids(at.shard, key) == std::set<std::string>{"post-1"});
    // Opened again: by the new epoch only.
    postgres::open_slots(on.admins.at(at.shard), {at.slot.value()}, sw::epoch{8});
    CHECK(seen_by([&] { postgres::write(on.pool, at, item{"author-1", 2, "post-2", ""}); }) ==
          sw::epoch{8});
}

TEST_CASE("closing a slot of PostgreSQL waits for writes that are under way", "[postgres][fence]") {
    cluster on;
    const sw::placement at = on.router.place("author-1", "post-1");
    postgres::connection writer = postgres::connected(on.databases.at(at.shard));
    postgres::run(writer, "BEGIN");
    postgres::run(writer, "SELECT hold_fence('{" + std::to_string(at.slot.value()) + "}', 1)");
    postgres::run(writer, "INSERT INTO item VALUES ('late', 1, 'late', '')");
    auto closed = std::async(std::launch::async, [&] {
        postgres::close_slot(on.admins.at(at.shard), at.slot.value(), sw::epoch{2});
        return on.ids(at.shard, "late").size();
    });
    CHECK(closed.wait_for(200ms) == std::future_status::timeout);
    postgres::run(writer, "COMMIT");
    CHECK(closed.get() == 1);
}

TEST_CASE("a write to PostgreSQL that waits for a slot's closing is refused", "[postgres][fence]") {
    cluster on;
    const sw::placement at = on.router.place("author-1", "post-1");
    postgres::connection closer = postgres::connected(on.databases.at(at.shard));
    postgres::run(closer, "BEGIN");
    postgres::close_slot(closer, at.slot.value(), sw::epoch{2});
    auto written = std::async(std::launch::async, [&] {
        postgres::write(on.pool, at, item{"author-1", 1, "post-1", ""});
    });
    CHECK(written.wait_for(200ms) == std::future_status::timeout);
    postgres::run(closer, "COMMIT");
    CHECK_THROWS_AS(written.get(), sw::stale_route);
    CHECK(on.ids(at.shard, at.partition_key.str()).empty());
}

TEST_CASE("no acknowledged write is lost while its slot moves between PostgreSQL databases",
          "[postgres][fence]") {
    cluster on;
    // Each process has a router and a source of its own; here they are threads.
    std::atomic<bool> enough = false;
    const auto writes = [&](int number) {
        postgres::routing_source source{server().conninfo("routing", "postgres")};
        sw::router router{sw::decode(source.load().value())};
        sw::refresher follow{router, source};
        std::set<std::string> acknowledged;
        for (int i = 0; !enough; ++i) {
            const std::string id = "post-" + std::to_string(number) + "-" + std::to_string(i);
            try {
                follow.with_route("author-1", id, [&](const sw::placement& at) {
                    postgres::write(on.pool, at, item{"author-1", i, id, ""});
                });
                acknowledged.insert(id);
            } catch (const sw::failure& why) {
                if (why.code() != sw::errc::stale_route) {
                    throw;
                }
            }
        }
        return acknowledged;
    };
    std::vector<std::future<std::set<std::string>>> writers;
    for (int i = 0; i != 3; ++i) {
        writers.push_back(std::async(std::launch::async, writes, i));
    }
    for (int i = 0; i != 8; ++i) {
        std::this_thread::sleep_for(60ms);
        on.move("author-1");
    }
    std::this_thread::sleep_for(100ms);
    enough = true;
    std::set<std::string> acknowledged;
    for (auto& each : writers) {
        acknowledged.merge(each.get());
    }
    const sw::placement at = on.router.place("author-1", "any");
    const std::set<std::string> stored = on.ids(at.shard, at.partition_key.str());
    CHECK(std::ranges::includes(stored, acknowledged));
    CHECK(acknowledged.size() > 100);
}

TEST_CASE("PostgreSQL stores a routing table by compare-and-swap", "[postgres][routing]") {
    const std::string conninfo = fresh_database("routing");
    postgres::routing_source source{conninfo};
    source.create();
    source.create();
    CHECK(source.changed());
    CHECK_FALSE(source.load().has_value());
    const sw::routing_table first{sw::scheme_table{sw::calculated(1)},
                                  sw::shard_map::even({"db0", "db1"}, 16)};
    CHECK(source.compare_and_swap(sw::epoch{1}, sw::encode(first.with_schemes(first.schemes()))) ==
          sw::swap_result::conflict);
    CHECK(source.compare_and_swap(std::nullopt, sw::encode(first)) == sw::swap_result::stored);
    CHECK(source.compare_and_swap(std::nullopt, sw::encode(first)) == sw::swap_result::conflict);
    CHECK(source.load() == sw::encode(first));

    // Of those who try at a time, one does.
    const auto next = sw::encode(first.with_schemes(first.schemes().grow("a", sw::calculated(4))));
    std::vector<std::future<sw::swap_result>> tries;
    for (int i = 0; i != 4; ++i) {
        tries.push_back(std::async(std::launch::async,
                                   [&] { return source.compare_and_swap(first.epoch(), next); }));
    }
    int stored = 0;
    for (auto& each : tries) {
        stored += each.get() == sw::swap_result::stored ? 1 : 0;
    }
    CHECK(stored == 1);
    CHECK(source.load() == next);
    CHECK_THROWS_AS(source.compare_and_swap(sw::epoch{5}, next), sw::failure);
}

TEST_CASE("a change of the routing table in PostgreSQL wakes who waits for it",
          "[postgres][routing]") {
    const std::string conninfo = fresh_database("routing");
    postgres::routing_source publisher{conninfo};
    publisher.create();
    sw::routing_table table{sw::scheme_table{sw::calculated(1)},
                            sw::shard_map::even({"db0", "db1"}, 16)};
    REQUIRE(publisher.compare_and_swap(std::nullopt, sw::encode(table)) == sw::swap_result::stored);
    postgres::routing_source source{conninfo};
    sw::router router{sw::decode(source.load().value())};
    sw::refresher follow{router, source, {.minimum_interval = 0ns, .after_failure = {1ms, 20ms}}};
    CHECK_FALSE(source.changed());
    CHECK_FALSE(source.wait(50ms));

    const auto publish = [&] {
        const sw::routing_table next = table.with_schemes(table.schemes());
        REQUIRE(publisher.compare_and_swap(table.epoch(), sw::encode(next)) ==
                sw::swap_result::stored);
        table = next;
    };
    const auto followed = [&] {
        const auto start = std::chrono::steady_clock::now();
        while (router.pin()->epoch() != table.epoch() &&
               std::chrono::steady_clock::now() - start < 10s) {
            source.wait(5'000ms);
            static_cast<void>(follow.poll());
        }
        CHECK(router.pin()->epoch() == table.epoch());
        return std::chrono::steady_clock::now() - start;
    };
    auto waiting = std::async(std::launch::async, [&] { return source.wait(10'000ms); });
    std::this_thread::sleep_for(50ms);
    publish();
    const auto told = std::chrono::steady_clock::now();
    CHECK(waiting.get());
    CHECK(std::chrono::steady_clock::now() - told < 2s);
    CHECK(followed() < 2s);
    CHECK_FALSE(source.changed());

    // Meanwhile, the last good table serves.
    server().kill();
    CHECK(source.wait(5'000ms));
    CHECK(follow.poll().status == sw::refresh_status::failed);
    CHECK(router.pin()->epoch() == table.epoch());
    server().restart();
    publish();  // told while nobody listened
    CHECK(source.changed());
    CHECK(followed() < 5s);
    publish();
    CHECK(followed() < 2s);

    std::stop_source enough;
    auto stopped =
        std::async(std::launch::async, [&] { return source.wait(60'000ms, enough.get_token()); });
    enough.request_stop();
    CHECK_FALSE(stopped.get());
}
