// SPDX-License-Identifier: BSL-1.0
// The example on PostgreSQL: four databases on a server of the test's own.
#include <shardweave/shardweave.hpp>
#include <shardweave/testing/conformance.hpp>

#include <catch2/catch_session.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/postgres_server.hpp"
#include "backends/stores_suite.hpp"
#include "postgres/page_query.hpp"
#include "postgres/pool.hpp"
#include "support/fault_proxy.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using postgres::item;
using test_support::fault_proxy;
using test_support::postgres_server;

namespace {

const postgres_server& server() { return *test_support::running_postgres; }

/// Four databases, each behind a proxy.
class postgres_store {
public:
    static constexpr bool groups = true;

    postgres_store() {
        postgres::connection admin = postgres::connected(server().conninfo("postgres", "postgres"));
        postgres::run(admin, "CREATE ROLE reader LOGIN");
        postgres::databases through;
        for (const std::string& name : shards()) {
            postgres::run(admin, "CREATE DATABASE " + name);
            auto& proxy = proxies_[name] = std::make_unique<fault_proxy>(server().port());
            through[name] =
                server().conninfo(name, "reader", proxy->port()) + " " + postgres::page_settings;
            writers_.emplace(name, postgres::connected(server().conninfo(name, "postgres")));
            postgres::run(writers_.at(name), postgres::item_schema);
            postgres::run(writers_.at(name), "GRANT SELECT ON item TO reader");
        }
        readers_ = std::make_unique<postgres::connection_pool>(std::move(through));
    }

    [[nodiscard]] static std::vector<std::string> shards() { return {"db0", "db1", "db2", "db3"}; }

    [[nodiscard]] postgres::rows_page ask(const postgres::query& asked) {
        return postgres::ask(*readers_, sw::key_format{}, asked);
    }

    void write(const std::string& shard, const std::string& partition_key,
               const std::vector<item>& rows) {
        postgres::connection& base = writers_.at(shard);
        for (std::size_t at = 0; at < rows.size(); at += 1'000) {
            std::string sql = "INSERT INTO item VALUES ";
            for (std::size_t i = at; i != std::min(rows.size(), at + 1'000); ++i) {
                sql += (i == at ? "('" : ", ('") + partition_key + "', " +
                       std::to_string(rows[i].created_at) + ", '" + rows[i].id + "', '" +
                       rows[i].note + "')";
            }
            postgres::run(base, sql + " ON CONFLICT DO NOTHING");
        }
    }
    void copy(const std::string& partition_key, const std::string& from, const std::string& to) {
        postgres::connection& base = writers_.at(from);
        const postgres::rows all =
            postgres::run(base, "SELECT created_at, id, note FROM item WHERE partition_key = '" +
                                    partition_key + "'");
        std::vector<item> rows;
        for (int row = 0; row != all.size(); ++row) {
            rows.push_back({"", all.number(row, 0), std::string{all.text(row, 1)},
                            std::string{all.text(row, 2)}});
        }
        write(to, partition_key, rows);
    }
    void remove(const std::string& shard, const std::string& partition_key) {
        postgres::run(writers_.at(shard),
                      "DELETE FROM item WHERE partition_key = '" + partition_key + "'");
    }

    /// All shards are on one server.
    void kill(const std::string& /*shard*/) {
        writers_.clear();
        test_support::running_postgres->kill();
    }
    void restart(const std::string& /*shard*/) {
        test_support::running_postgres->restart();
        for (const std::string& name : shards()) {
            writers_.emplace(name, postgres::connected(server().conninfo(name, "postgres")));
        }
    }

    /// The database takes no connections, as it does when they are all in use.
    void throttle(const std::string& shard) {
        postgres::connection& base = writers_.at(shard);
        postgres::run(base, "ALTER DATABASE " + shard + " CONNECTION LIMIT 0");
        postgres::run(base, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
                            "usename = 'reader' AND datname = '" +
                                shard + "'");
    }
    void calm(const std::string& shard) {
        postgres::run(writers_.at(shard), "ALTER DATABASE " + shard + " CONNECTION LIMIT -1");
    }
    [[nodiscard]] fault_proxy& proxy(const std::string& shard) { return *proxies_.at(shard); }

    [[nodiscard]] postgres::connection& writer(const std::string& shard) {
        return writers_.at(shard);
    }

private:
    std::map<std::string, std::unique_ptr<fault_proxy>> proxies_;
    std::map<std::string, postgres::connection> writers_;
    std::unique_ptr<postgres::connection_pool> readers_;
};

postgres_store& store() {
    static postgres_store one;
    return one;
}

stores_suite::stored_history<postgres_store>& history() {
    static stores_suite::stored_history<postgres_store> stored{
        store(), stores_suite::read_history(SHARDWEAVE_EXCERPT)};
    return stored;
}

/// The plan of a page's statement with its parameters, after it ran: what the server does for every
/// user of the example.
std::string plan_of(postgres::connection& on, const postgres::page_statement& each,
                    const std::vector<std::string>& parameters) {
    std::string call = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE plan_of(";
    for (std::size_t i = 0; i != parameters.size(); ++i) {
        call += (i == 0 ? "" : ", ") + parameters[i];
    }
    std::string types = "bigint, bigint, text, bigint, text";
    for (std::size_t i = 5; i < parameters.size(); ++i) {
        types += ", text";
    }
    postgres::run(on, "PREPARE plan_of (" + types + ") AS " + each.sql);
    const postgres::rows lines = postgres::run(on, call + ")");
    postgres::run(on, "DEALLOCATE plan_of");
    std::string plan;
    for (int row = 0; row != lines.size(); ++row) {
        plan += std::string{lines.text(row, 0)} + '\n';
    }
    return plan;
}

}  // namespace

TEST_CASE("pages of PostgreSQL equal the sorted rows", "[postgres][stores]") {
    stores_suite::pages_equal_the_sorted_rows(history());
}

TEST_CASE("pages of PostgreSQL lose nothing while buckets move and a key grows",
          "[postgres][stores]") {
    stores_suite::pages_while_buckets_move_and_a_key_grows(history());
}

TEST_CASE("a PostgreSQL server that is killed ends a page and not the traversal",
          "[postgres][stores][faults]") {
    stores_suite::a_killed_server_ends_the_page_and_not_the_traversal(history());
}

TEST_CASE("connections to PostgreSQL that are reset are tried again",
          "[postgres][stores][faults]") {
    stores_suite::a_connection_reset_at_any_call_is_tried_again(history());
}

TEST_CASE("an answer of PostgreSQL that is cut short is no answer", "[postgres][stores][faults]") {
    stores_suite::an_answer_cut_short_is_no_answer(history());
}

TEST_CASE("a slow PostgreSQL holds up no page beyond its time", "[postgres][stores][faults]") {
    stores_suite::a_slow_shard_holds_up_no_page_beyond_its_time(history());
}

TEST_CASE("a PostgreSQL without connections left is waited for within the budget",
          "[postgres][stores][faults]") {
    stores_suite::throttling_is_waited_for_within_the_budget(history());
}

TEST_CASE("the callback on PostgreSQL keeps its promises", "[postgres][conformance]") {
    std::map<std::string, std::vector<item>> rows;
    for (const std::string author : {"author-1", "author-2"}) {
        std::vector<item>& of = rows["conformance " + author];
        for (std::size_t i = 0; const std::string& id : sw::testing::sample_texts()) {
            if (id.find('\0') == std::string::npos) {  // no text of PostgreSQL has one
                const std::int64_t at = static_cast<std::int64_t>(i++ / 5) * 4 - 9;
                of.push_back({"", author == "author-1" ? at : at + 1, id, ""});
            }
        }
        for (const std::int64_t extreme : sw::testing::sample_integers()) {
            of.push_back({"", extreme, "of " + author, ""});
        }
        std::vector<item> quoted = of;
        for (item& each : quoted) {
            std::string id;
            for (const char c : each.id) {
                id += c == '\'' ? "''" : std::string{c};
            }
            each.id = id;
        }
        store().write("db0", "conformance " + author, quoted);
    }
    const auto report = sw::testing::check_callback(
        postgres::newest_first, [](const postgres::query& q) { return store().ask(q); },
        {.shard = "db0",
         .rows = rows,
         .grouping = sw::grouping::per_shard,
         .criteria = {"created_at", "id"}});
    for (const auto& [key, of] : rows) {
        store().remove("db0", key);
    }
    INFO(report.text());
    CHECK(report.ok());
    CHECK(report.remarks.empty());
}

TEST_CASE("a page of PostgreSQL sorts nothing and reads no row that it does not need",
          "[postgres][plans]") {
    const std::string shard = stores_suite::shard_of(history());
    postgres::connection on =
        postgres::connected(server().conninfo(shard, "postgres") + " " + postgres::page_settings);
    std::vector<std::string> keys;
    for (const sw::target& each : history().router().pin()->targets("author-1")) {
        if (each.shard == shard) {
            keys.push_back(each.partition_key.str());
        }
    }
    const std::vector<item> rows = history().expected({"author-1"});
    const postgres::position middle = postgres::newest_first.position_of(rows[rows.size() / 2]);
    const postgres::position last = postgres::newest_first.position_of(rows.back());
    const postgres::position first = postgres::newest_first.position_of(rows.front());
    for (const bool statistics : {false, true}) {
        if (statistics) {
            postgres::run(store().writer(shard), "ANALYZE item");
        }
        for (const char* mode : {"force_generic_plan", "force_custom_plan"}) {
            postgres::run(on, std::string{"SET plan_cache_mode = "} + mode);
            for (std::size_t count = 1; count <= keys.size(); ++count) {
                for (const auto way : {sw::scan::forward, sw::scan::backward}) {
                    for (const bool bounded : {false, true}) {
                        for (const bool after : {false, true}) {
                            postgres::query asked;
                            asked.partition_keys = std::span{keys}.first(count);
                            asked.limit = 20;
                            asked.way = way;
                            if (after) {
                                asked.after = middle;
                            }
                            if (bounded) {
                                asked.until = way == sw::scan::forward ? last : first;
                            }
                            const auto statement = postgres::statements_of(asked).front();
                            std::vector<std::string> parameters{"20"};
                            for (const auto& at : {asked.after, asked.until}) {
                                parameters.push_back(at ? std::to_string(get<0>(*at)) : "NULL");
                                parameters.push_back(at ? "'" + get<1>(*at) + "'" : "NULL");
                            }
                            for (const std::string& key : asked.partition_keys) {
                                parameters.push_back("'" + key + "'");
                            }
                            const std::string plan = plan_of(on, statement, parameters);
                            CAPTURE(plan, mode, statistics);
                            CHECK(plan.find("Sort (") == std::string::npos);  // not "Sort Key:"
                            CHECK(plan.find("Filter") == std::string::npos);
                            // Each scan with the rows that it read.
                            const std::regex scan{"Scan.*rows=(\\d+)"};
                            std::size_t scans = 0;
                            for (auto at = std::sregex_iterator{plan.begin(), plan.end(), scan};
                                 at != std::sregex_iterator{}; ++at) {
                                ++scans;
                                CHECK(std::stoul((*at)[1]) <= 21);
                            }
                            CHECK(scans == count);
                        }
                    }
                }
            }
        }
    }
}

int main(int argc, char** argv) {
    if (!postgres_server::program("initdb") || !postgres_server::program("postgres")) {
        std::puts("skipped: PostgreSQL's server is not installed (scripts/setup.sh test)");
        return 77;
    }
    try {
        postgres_server started;
        test_support::running_postgres = &started;
        return Catch::Session().run(argc, argv);
    } catch (const std::exception& why) {
        std::fprintf(stderr, "%s\n", why.what());
        return 1;
    }
}
