// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_COMMANDS_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_COMMANDS_HPP

/// What each command does, from its options to its exit code.

#include <shardweave/place/refresh.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/read/fan_out.hpp>
#include <shardweave/read/token.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "load.hpp"
#include "move.hpp"
#include "routing_key.hpp"
#include "store.hpp"
#include "timeline/print.hpp"

namespace redis_timeline {

using timeline::counted;
using timeline::grouped;
using timeline::shell_quoted;
using timeline::visible;

/// The program's exit codes.
enum exit_code : int { success = 0, failed = 1, bad_usage = 2, malformed_rows = 3 };

/// The command line asks for something that is not there.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct load_options {
    std::string history;
    std::uint32_t shards = 12;
    std::map<std::string, std::uint32_t> hot;
};

struct read_options {
    /// As it was typed, for the commands that are proposed.
    std::string program;
    std::string nodes;
    std::vector<std::string> authors;
    std::size_t limit = 20;
    std::string page;
    std::size_t concurrency = 1;
    bool per_shard = false;
};

/// A cluster with a timeline on it.
class opened {
public:
    /// Throws `usage_error` when nothing was ever loaded into it.
    explicit opened(const cluster_options& with)
        : on{with}, routing{on}, router{stored_table(routing)}, store{on, router.pin()->format()},
          fresh{router, routing} {}

    cluster on;
    routing_key routing;
    sw::router router;
    bucket_store store;
    sw::refresher<routing_key> fresh;

private:
    static sw::routing_table stored_table(routing_key& from) {
        const auto bytes = from.load();
        if (!bytes) {
            throw usage_error{"there is no timeline in this cluster; load a history first"};
        }
        return sw::decode(*bytes);
    }
};

/// The cluster's routing table, stored now if there was none.
inline void prepare(const cluster_options& with, const load_options& how) {
    cluster on{with};
    routing_key routing{on};
    if (routing.load()) {
        return;
    }
    sw::scheme_table schemes{sw::calculated(1)};
    for (const auto& [author, buckets] : how.hot) {
        schemes = std::move(schemes).with(author, sw::calculated(buckets));
    }
    const sw::routing_table table{std::move(schemes), sw::shard_map::even(shard_names(how.shards))};
    // Whoever was first, the table is there now.
    static_cast<void>(routing.compare_and_swap(std::nullopt, sw::encode(table)));
}

inline int load_command(const cluster_options& with, const load_options& how) {
    constexpr std::uint64_t most_complaints = 20;
    timeline::history_reader history{how.history};
    prepare(with, how);
    opened at{with};
    for (const auto& [author, buckets] : how.hot) {
        const auto now = at.router.pin()->schemes().history(author).writer().buckets();
        if (now != buckets) {
            throw usage_error{fmt::format("{} is in {} bucket(s) here already; change it by: grow "
                                          "{}={}",
                                          visible(author), now, shell_quoted(author), buckets)};
        }
    }
    loader into{at.on, at.store, at.router, at.fresh};
    const auto start = std::chrono::steady_clock::now();
    timeline::progress_bar progress;
    const load_report report = load(
        history, into,
        [&, complaints = std::uint64_t{0}](std::uint64_t line, std::string_view why) mutable {
            if (++complaints <= most_complaints) {
                progress.clear();
                fmt::print(stderr, "line {}: {}\n", line, visible(why));
            }
        },
        [&](std::uint64_t rows, std::optional<double> part) { progress.show(rows, part); });
    progress.clear();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("{} loaded, {} there already, {} malformed, {:.2f} s\n",
               counted(report.added, "new row"), grouped(report.present), grouped(report.malformed),
               took.count());
    if (report.malformed > most_complaints) {
        fmt::print(stderr, "and {} more malformed rows\n",
                   grouped(report.malformed - most_complaints));
    }
    return report.malformed == 0 ? success : malformed_rows;
}

/// The command that shows the page at a token.
[[nodiscard]] inline std::string command_for(const read_options& with, const std::string& token) {
    std::string command = shell_quoted(with.program) + " read";
    for (const std::string& author : with.authors) {
        command += " " + shell_quoted(author);
    }
    command += " --nodes " + shell_quoted(with.nodes);
    if (with.limit != 20) {
        command += " --limit " + std::to_string(with.limit);
    }
    return command + " --page " + token;
}

inline int read_command(const cluster_options& on, const read_options& with) {
    opened at{on};
    const sw::fan_out reader{
        at.router, newest_first,
        [&](const sw::shard_query<position>& q) { return at.store.ask(q); },
        sw::fan_out_options<item>{.concurrency = with.concurrency,
                                  .grouping = with.per_shard ? sw::grouping::per_shard
                                                             : sw::grouping::per_partition_key}};
    const sw::checksummed sealer;
    sw::page_options options{.limit = with.limit};
    if (!with.page.empty()) {
        options.from = sealer.open(with.page);
    }
    const auto start = std::chrono::steady_clock::now();
    const auto page = at.fresh.with_routes([&] { return reader.page(with.authors, options); });
    const auto took = std::chrono::steady_clock::now() - start;
    if (page.items.empty()) {
        fmt::print("  (nothing here: the list has no more items this way)\n");
    } else {
        timeline::print_rows(page.items, with.authors.size() > 1);
    }
    fmt::print("\n{}\n", timeline::costs(page.stats, took));
    if (page.next) {
        fmt::print("next page:      {}\n", command_for(with, sealer.seal(*page.next)));
    }
    if (page.previous) {
        fmt::print("previous page:  {}\n", command_for(with, sealer.seal(*page.previous)));
    }
    return success;
}

/// Where everything is: shards, their slots of the cluster, the nodes, and what they hold.
inline int shards_command(const cluster_options& with) {
    opened at{with};
    const auto table = at.router.pin();
    fmt::print("  {:<10} {:>5}  {:<21}  {:>14}  {:>10}\n", "shard", "slot", "node",
               "partition keys", "items");
    for (const std::string& shard : table->shards().names()) {
        const std::uint16_t slot = hash_slot(bucket_key(shard, ""));
        std::uint64_t items = 0;
        std::uint64_t keys = 0;
        for (const std::string& key : at.store.partition_keys(shard)) {
            const std::uint64_t size = at.store.size(shard, key);
            items += size;
            keys += size != 0;
        }
        fmt::print("  {:<10} {:>5}  {:<21}  {:>14}  {:>10}\n", shard, slot,
                   at.on.owner(slot).text(), grouped(keys), grouped(items));
    }
    fmt::print("\nthe routing table's epoch is {}\n", table->epoch().value());
    return success;
}

inline int grow_command(const cluster_options& with, const std::string& author,
                        std::uint32_t buckets) {
    opened at{with};
    const auto table = at.router.pin();
    const auto now = table->schemes().history(author).writer().buckets();
    if (now == buckets) {
        fmt::print("{} is in {} bucket(s) already; nothing to do\n", visible(author), buckets);
        return success;
    }
    const auto next = table->with_schemes(table->schemes().grow(author, sw::calculated(buckets)));
    if (at.routing.compare_and_swap(table->epoch(), sw::encode(next)) != sw::swap_result::stored) {
        throw conflict{"somebody else has changed the routing table; run it again"};
    }
    fmt::print("{}: new items go to {} bucket(s), not {}; older ones stay where they are\n"
               "to read: {} partition keys before, {} after; the routing table's epoch is {}\n",
               visible(author), buckets, now, table->targets(author).size(),
               next.targets(author).size(), next.epoch().value());
    return success;
}

inline int move_command(const cluster_options& with, const std::string& partition_key,
                        const std::string& to) {
    opened at{with};
    sw::routing_table table = *at.router.pin();
    const auto& names = table.shards().names();
    if (std::find(names.begin(), names.end(), to) == names.end()) {
        throw usage_error{"there is no shard " + visible(to) + "; see them by: shards"};
    }
    mover moves{at.store, at.routing};
    const move_report report = moves.move(table, partition_key, to);
    if (report.from == to) {
        fmt::print("{} is on {} already; an earlier move that was cut off is finished now\n",
                   visible(partition_key), to);
        return success;
    }
    fmt::print("{} moved from {} to {}, with what shares slot {} of the shard map:\n",
               counted(report.items, "item"), report.from, to, report.slot.value());
    for (const std::string& each : report.partition_keys) {
        fmt::print("  {}\n", visible(each));
    }
    fmt::print("the routing table's epoch is {}\n", table.epoch().value());
    return success;
}

}  // namespace redis_timeline

#endif
