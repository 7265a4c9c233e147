// SPDX-License-Identifier: BSL-1.0
// A page of 20 of a hot author, 8 buckets on 4 PostgreSQL databases, against the ways without this
// library: a fan-out written by hand, postgres_fdw, and one table that is not sharded. Starts a
// server of its own. Every page is compared with the sorted rows, outside the clock.

#include <shardweave/adapters/asio.hpp>
#include <shardweave/shardweave.hpp>

#include <asio/io_context.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backends/postgres_server.hpp"
#include "postgres/async.hpp"
#include "postgres/pool.hpp"
#include "postgres/write.hpp"
#include "timeline/history.hpp"

namespace sw = shardweave;
using postgres::arguments;
using postgres::item;
using postgres::position;

namespace {

constexpr std::string_view author = "author-1";
constexpr std::size_t limit = 20;
constexpr std::size_t places = 300;

std::vector<item> read_history(const char* path) {
    timeline::history_reader reader{path};
    std::vector<item> rows;
    while (const auto line = reader.next()) {
        if (reader.line_number() != 1 || !timeline::is_header(*line)) {
            rows.push_back(std::get<item>(timeline::parse_line(*line)));
        }
    }
    return rows;
}

bool newer(const item& a, const item& b) { return postgres::newest_first.compare(a, b) < 0; }

using keys_by_database = std::map<std::string, std::vector<std::string>>;

/// The same rows in four databases, in one, and in one that sees the four as foreign tables.
class databases {
public:
    explicit databases(const std::vector<item>& rows) : router(table()) {
        auto admin = connect("postgres");
        for (const std::string_view name : {"db0", "db1", "db2", "db3", "one", "front"}) {
            postgres::run(admin, fmt::format("CREATE DATABASE {}", name));
        }
        std::map<std::string, std::vector<postgres::placed_item>> parts;
        for (const item& row : rows) {
            const sw::placement at = router.place(row.author, row.id);
            parts[at.shard].push_back({at.partition_key.str(), at.slot.value(), row});
            parts["one"].push_back({row.author, 0, row});
        }
        for (const auto& [name, part] : parts) {
            connections[name] = server.conninfo(name, "postgres") + " " + postgres::page_settings;
            auto on = connect(name);
            postgres::create_shard(on);
            load(on, part);
        }
        make_front();
    }

    [[nodiscard]] postgres::connection connect(const std::string& name) const {
        return postgres::connected(server.conninfo(name, "postgres"));
    }
    [[nodiscard]] keys_by_database keys_by_shard() const {
        keys_by_database keys;
        for (const sw::target& each : router.pin()->targets(author)) {
            keys[each.shard].push_back(each.partition_key.str());
        }
        return keys;
    }

    test_support::postgres_server server;
    sw::router router;
    postgres::databases connections;

private:
    static sw::routing_table table() {
        return {sw::scheme_table{sw::calculated(1)}.with(std::string{author}, sw::calculated(8)),
                sw::shard_map::even({"db0", "db1", "db2", "db3"})};
    }

    static void load(postgres::connection& on, const std::vector<postgres::placed_item>& rows) {
        postgres::run(on, "BEGIN");
        for (const postgres::placed_item& each : rows) {
            postgres::run(on, "load", "INSERT INTO item VALUES ($1, $2, $3, $4)",
                          arguments{}
                              .add(each.partition_key)
                              .add(each.row.created_at)
                              .add(each.row.id)
                              .add(each.row.note));
        }
        postgres::run(on, "COMMIT");
        postgres::run(on, "VACUUM ANALYZE item");
    }

    /// As its documentation advises for partitions on other servers: asynchronous, with estimates
    /// of theirs, and each partition naming the keys that it has.
    void make_front() {
        auto front = connect("front");
        postgres::run(front, "CREATE EXTENSION postgres_fdw");
        postgres::run(front, "CREATE TABLE item (partition_key text COLLATE \"C\" NOT NULL, "
                             "created_at bigint NOT NULL, id text COLLATE \"C\" NOT NULL, "
                             "note text NOT NULL) PARTITION BY LIST (partition_key)");
        for (const auto& [shard, keys] : keys_by_shard()) {
            postgres::run(front, fmt::format("CREATE SERVER {0} FOREIGN DATA WRAPPER postgres_fdw "
                                             "OPTIONS (host '127.0.0.1', port '{1}', dbname '{0}', "
                                             "async_capable 'true', use_remote_estimate 'true')",
                                             shard, server.port()));
            postgres::run(front, fmt::format("CREATE USER MAPPING FOR postgres SERVER {} "
                                             "OPTIONS (user 'postgres')",
                                             shard));
            postgres::run(front, fmt::format("CREATE FOREIGN TABLE item_{0} PARTITION OF item FOR "
                                             "VALUES IN ('{1}') SERVER {0} OPTIONS (table_name "
                                             "'item')",
                                             shard, fmt::join(keys, "', '")));
            postgres::run(front, fmt::format("ANALYZE item_{}", shard));
        }
    }
};

/// What a way makes of one place in the list.
struct outcome {
    std::vector<item> items;
    std::size_t rows = 0;
};
using way = std::function<outcome(const position&)>;

void take(const postgres::rows& found, std::vector<item>& into) {
    for (int row = 0; row != found.size(); ++row) {
        into.push_back({std::string{author}, found.number(row, 1), std::string{found.text(row, 2)},
                        std::string{found.text(row, 3)}});
    }
}

/// As written by hand: everyone is asked for a whole page, all at once, and the rest is a sort.
class by_hand {
public:
    by_hand(const databases& at, const keys_by_database& ask, bool a_query_a_database) {
        for (const auto& [shard, keys] : ask) {
            const std::size_t each = a_query_a_database ? keys.size() : 1;
            for (std::size_t i = 0; i < keys.size(); i += each) {
                asked_.push_back({postgres::connected(at.connections.at(shard)),
                                  {keys.begin() + static_cast<std::ptrdiff_t>(i),
                                   keys.begin() + static_cast<std::ptrdiff_t>(i + each)}});
            }
        }
    }

    outcome operator()(const position& after) {
        for (auto& [on, keys] : asked_) {
            arguments with;
            with.add(std::int64_t{limit}).add(get<0>(after)).add(std::string_view{get<1>(after)});
            with.add_nothing(arguments::int8).add_nothing(arguments::text_type);
            for (const std::string& key : keys) {
                with.add(std::string_view{key});
            }
            postgres::prepare(
                on, "page", postgres::page_sql(keys.size(), sw::scan::forward, true, false), with);
            on.send_prepared("page", with);
        }
        outcome all;
        for (auto& [on, keys] : asked_) {
            postgres::finish(on);
            take(on.take(), all.items);
        }
        all.rows = all.items.size();
        std::ranges::sort(all.items, newer);
        all.items.resize(std::min(all.items.size(), limit));
        return all;
    }

private:
    struct asked {
        postgres::connection on;
        std::vector<std::string> keys;
    };
    std::vector<asked> asked_;
};

/// One statement of one database. A comparison of rows is not sent to foreign servers, so it is
/// written out.
class statement {
public:
    statement(postgres::connection on, std::string sql)
        : on_(std::move(on)), sql_(std::move(sql)) {}

    outcome operator()(const position& after) {
        outcome page;
        take(postgres::run(on_, "page", sql_,
                           arguments{}
                               .add(std::int64_t{limit})
                               .add(get<0>(after))
                               .add(std::string_view{get<1>(after)})),
             page.items);
        return page;
    }

    [[nodiscard]] static std::string page_of(std::string_view from,
                                             const std::vector<std::string>& keys) {
        return fmt::format("SELECT partition_key, created_at, id, note FROM {} WHERE partition_key "
                           "IN ('{}') AND created_at <= $2 AND (created_at < $2 OR id < $3) "
                           "ORDER BY created_at DESC, id DESC LIMIT $1",
                           from, fmt::join(keys, "', '"));
    }

private:
    postgres::connection on_;
    std::string sql_;
};

std::string through_parent(const databases& at) {
    std::vector<std::string> all;
    for (const auto& [shard, keys] : at.keys_by_shard()) {
        all.insert(all.end(), keys.begin(), keys.end());
    }
    return statement::page_of("item", all);
}

std::string union_all(const databases& at, bool a_limb_a_key) {
    std::vector<std::string> limbs;
    for (const auto& [shard, keys] : at.keys_by_shard()) {
        if (!a_limb_a_key) {
            limbs.push_back("(" + statement::page_of("item_" + shard, keys) + ")");
            continue;
        }
        for (const std::string& key : keys) {
            limbs.push_back("(" + statement::page_of("item_" + shard, {key}) + ")");
        }
    }
    return fmt::format("{} ORDER BY created_at DESC, id DESC LIMIT $1",
                       fmt::join(limbs, " UNION ALL "));
}

/// A page from the reader, from a place in the middle of the list.
template <class Read>
outcome ours(const Read& read, sw::read_range range) {
    auto page = read(sw::page_options{.limit = limit, .range = std::move(range)});
    return {std::move(page.items), page.stats.rows_examined};
}

way blocking(const databases& at, postgres::connection_pool& pool, sw::grouping grouping) {
    static const sw::key_format format{};
    auto ask = [&pool](const postgres::query& asked) { return postgres::ask(pool, format, asked); };
    auto reader = std::make_shared<sw::fan_out<decltype(postgres::newest_first), decltype(ask)>>(
        at.router, postgres::newest_first, ask, sw::fan_out_options<item>{.grouping = grouping});
    return [reader](const position& after) {
        return ours([&](const auto& with) { return reader->page(std::string{author}, with); },
                    reader->between(after, std::nullopt));
    };
}

way coroutines(const databases& at, postgres::connection_pool& pool, sw::grouping grouping) {
    static const sw::key_format format{};
    auto ask = [&pool](const postgres::query& asked) {
        return postgres::async_ask(pool, format, asked);
    };
    auto reader =
        std::make_shared<sw::async_fan_out<decltype(postgres::newest_first), decltype(ask)>>(
            at.router, postgres::newest_first, ask,
            sw::fan_out_options<item>{.concurrency = 8, .grouping = grouping});
    auto loop = std::make_shared<asio::io_context>(1);
    return [reader, loop](const position& after) {
        return ours(
            [&](const sw::page_options& with) {
                std::optional<sw::read_page<item>> page;
                std::exception_ptr failed;
                reader->async_page(loop->get_executor(), std::string{author}, with,
                                   [&](std::exception_ptr why, sw::read_page<item> got) {
                                       failed = std::move(why);
                                       page = std::move(got);
                                   });
                loop->run();
                loop->restart();
                if (failed) {
                    std::rethrow_exception(failed);
                }
                return *std::move(page);
            },
            reader->between(after, std::nullopt));
    };
}

struct row {
    std::string name;
    way page;
    std::vector<double> microseconds{};
    std::size_t rows = 0;
};

double median(std::vector<double> of) {
    std::ranges::nth_element(of, of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2));
    return of[of.size() / 2];
}

void check(bool holds, const std::string& what) {
    if (!holds) {
        throw std::runtime_error{what};
    }
}

void run(const char* path) {
    const std::vector<item> rows = read_history(path);
    std::vector<item> sorted;
    std::ranges::copy_if(rows, std::back_inserter(sorted),
                         [](const item& each) { return each.author == author; });
    std::ranges::sort(sorted, newer);
    const databases at{rows};
    postgres::connection_pool pool{at.connections};

    std::vector<row> ways;
    const auto add = [&](std::string name, way page) {
        ways.push_back({std::move(name), std::move(page)});
    };
    const auto shared = [](auto one) {
        auto kept = std::make_shared<decltype(one)>(std::move(one));
        return [kept](const position& after) { return (*kept)(after); };
    };
    add("one table, not sharded", shared(by_hand{at, {{"one", {std::string{author}}}}, true}));
    add("ours, blocking, a query a bucket", blocking(at, pool, sw::grouping::per_partition_key));
    add("ours, blocking, a query a database", blocking(at, pool, sw::grouping::per_shard));
    add("ours, coroutines, a query a bucket",
        coroutines(at, pool, sw::grouping::per_partition_key));
    add("ours, coroutines, a query a database", coroutines(at, pool, sw::grouping::per_shard));
    add("by hand, at once, a query a bucket, sorted",
        shared(by_hand{at, at.keys_by_shard(), false}));
    add("by hand, at once, a query a database, sorted",
        shared(by_hand{at, at.keys_by_shard(), true}));
    add("postgres_fdw, the partitioned parent",
        shared(statement{at.connect("front"), through_parent(at)}));
    add("postgres_fdw, UNION ALL of the foreign tables",
        shared(statement{at.connect("front"), union_all(at, false)}));
    add("postgres_fdw, UNION ALL, a limb a bucket",
        shared(statement{at.connect("front"), union_all(at, true)}));

    std::mt19937_64 draw{20'261'201};
    // What has been planned five times is planned no more; the first rounds are for that.
    constexpr std::size_t warm = 10;
    for (std::size_t i = 0; i != places + warm; ++i) {
        const std::size_t from = draw() % (sorted.size() - limit - 1);
        const position after = postgres::newest_first.position_of(sorted[from]);
        for (row& each : ways) {
            const auto begun = std::chrono::steady_clock::now();
            const outcome page = each.page(after);
            const std::chrono::duration<double, std::micro> took =
                std::chrono::steady_clock::now() - begun;
            check(std::ranges::equal(page.items, std::span{sorted}.subspan(from + 1, limit), {},
                                     &item::id, &item::id),
                  each.name + " gives another page");
            if (i >= warm) {
                each.microseconds.push_back(took.count());
                each.rows += page.rows;
            }
        }
    }
    fmt::print("{} of {} rows, from {} places; medians\n", limit, sorted.size(), places);
    const double unsharded = median(ways.front().microseconds);
    for (const row& each : ways) {
        const double time = median(each.microseconds);
        fmt::print("{:<48} {:>8.0f} µs {:>8.2f} ", each.name, time, time / unsharded);
        each.rows == 0 ? fmt::print("{:>8}\n", "")
                       : fmt::print("{:>8.1f} rows\n", static_cast<double>(each.rows) / places);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 2) {
            fmt::print(stderr, "usage: {} HISTORY     as tests/data/commits-excerpt.tsv.gz\n",
                       argv[0]);
            return 2;
        }
        if (!test_support::postgres_server::program("postgres")) {
            fmt::print(stderr, "PostgreSQL's server is not installed (scripts/setup.sh test)\n");
            return 1;
        }
        run(argv[1]);
    } catch (const std::exception& failed) {
        fmt::print(stderr, "{}\n", failed.what());
        return 1;
    }
}
