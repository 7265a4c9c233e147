// SPDX-License-Identifier: BSL-1.0
// Timelines of many authors on a Redis Cluster: the command line. See README.md.
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"

namespace {

namespace sw = shardweave;
using namespace redis_timeline;

constexpr const char* about = R"(Timelines of many authors on a Redis Cluster.

  redis-timeline load HISTORY --nodes HOST:PORT --hot AUTHOR=8   fill the cluster
  redis-timeline read AUTHOR --nodes HOST:PORT                   the newest page, and the next
  redis-timeline shards --nodes HOST:PORT                        where everything is
)";

constexpr const char* exit_codes = R"(
Exit codes: 0 fine, 1 it failed (a node is down, the cluster is in trouble: nothing is lost, run it
again), 2 the command line can not be followed, 3 loaded except for malformed rows.
The nodes may come from REDIS_NODES. With a password: --user, and REDIS_PASSWORD.)";

/// `author-1=8`; the author may have = too.
std::pair<std::string, std::uint32_t> author_and_buckets(const std::string& text) {
    const auto at = text.rfind('=');
    std::uint32_t buckets = 0;
    if (at != std::string::npos && at != 0) {
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data() + at + 1, end, buckets);
        if (read.ec == std::errc{} && read.ptr == end && buckets >= 1 &&
            buckets <= sw::limits::buckets) {
            return {text.substr(0, at), buckets};
        }
    }
    throw usage_error{fmt::format("{}: use AUTHOR=BUCKETS with 1 to {} buckets, such as author-1=8",
                                  visible(text), sw::limits::buckets)};
}

cluster_options connect(const std::string& nodes, const std::string& user) {
    cluster_options with{};
    for (std::string_view rest = nodes; !rest.empty();) {
        const auto comma = rest.find(',');
        const std::string_view one = rest.substr(0, comma);
        const auto parsed = parse_endpoint(one);
        if (!parsed) {
            throw usage_error{fmt::format("--nodes {}: use HOST:PORT, several separated by commas",
                                          visible(one))};
        }
        with.seeds.push_back(*parsed);
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
    if (with.seeds.empty()) {
        throw usage_error{"name a node of the cluster: --nodes HOST:PORT"};
    }
    with.connections.user = user;
    if (const char* password = std::getenv("REDIS_PASSWORD")) {
        with.connections.password = password;
    }
    return with;
}

/// The line for a person, and the exit code.
int explain(const sw::failure& why) {
    switch (why.code()) {
        case sw::errc::token_malformed:
        case sw::errc::token_invalid:
        case sw::errc::token_expired:
            fmt::print(stderr, "redis-timeline: this page token was refused: it is damaged, or "
                               "belongs to another list of authors. Leave out --page to start "
                               "from the first page\n");
            return bad_usage;
        case sw::errc::ambiguous_key:
        case sw::errc::limit_exceeded:
            fmt::print(stderr, "redis-timeline: {}\n", why.what());
            return bad_usage;
        default: fmt::print(stderr, "redis-timeline: {}\n", why.what()); return failed;
    }
}

int run(int argc, char** argv) {
    CLI::App app{about};
    app.footer(exit_codes);
    app.require_subcommand(1);
    std::string nodes;
    std::string user;
    const auto add_command = [&](const char* name, const char* what) {
        CLI::App& command = *app.add_subcommand(name, what);
        command.add_option("--nodes", nodes, "HOST:PORT of some nodes, separated by commas")
            ->envname("REDIS_NODES");
        command.add_option("--user", user, "for AUTH, with the password in REDIS_PASSWORD");
        return &command;
    };

    load_options loading;
    std::vector<std::string> hot;
    CLI::App* load_app = add_command("load", "Fill the cluster from a history");
    load_app
        ->add_option("HISTORY", loading.history,
                     "lines of author TAB unix-time TAB id [TAB note], plain or .gz; - for "
                     "standard input")
        ->required();
    load_app->add_option("--hot", hot, "AUTHOR=8: buckets of an author with many items; repeatable")
        ->allow_extra_args(false);
    load_app->add_option("--shards", loading.shards, "of a cluster that is empty")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000));

    read_options reading{};
    reading.program = argv[0];
    CLI::App* read_app = add_command("read", "A page of authors' items, newest first");
    read_app->add_option("AUTHOR", reading.authors, "several are read as one list")->required();
    read_app->add_option("--limit", reading.limit, "rows of a page")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, sw::limits::page_items));
    read_app->add_option("--page", reading.page, "the page that this token stands for");
    read_app->add_option("--concurrency", reading.concurrency, "queries at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    read_app->add_flag("--per-shard", reading.per_shard,
                       "one query a shard instead of one a partition key");

    CLI::App* shards_app = add_command("shards", "Where everything is");

    std::string growth;
    CLI::App* grow_app = add_command("grow", "More buckets for an author's new items");
    grow_app->add_option("AUTHOR=BUCKETS", growth)->required();

    std::string partition_key;
    std::string target;
    CLI::App* move_app = add_command("move", "A bucket to another shard, while it is in use");
    move_app->add_option("PARTITION_KEY", partition_key, "such as author-1:bucket-3")->required();
    move_app->add_option("SHARD", target)->required();

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& why) {
        return app.exit(why) == 0 ? success : bad_usage;
    }
    const cluster_options with = connect(nodes, user);
    if (load_app->parsed()) {
        for (const std::string& each : hot) {
            loading.hot.insert(author_and_buckets(each));
        }
        return load_command(with, loading);
    }
    if (read_app->parsed()) {
        reading.nodes = nodes;
        return read_command(with, reading);
    }
    if (shards_app->parsed()) {
        return shards_command(with);
    }
    if (grow_app->parsed()) {
        const auto [author, buckets] = author_and_buckets(growth);
        return grow_command(with, author, buckets);
    }
    return move_command(with, partition_key, target);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const int code = run(argc, argv);
        if (std::fflush(stdout) != 0) {
            fmt::print(stderr, "redis-timeline: standard output can not be written\n");
            return failed;
        }
        return code;
    } catch (const sw::failure& why) {
        return explain(why);
    } catch (const usage_error& why) {
        fmt::print(stderr, "redis-timeline: {}\n", why.what());
        return bad_usage;
    } catch (const std::exception& why) {
        fmt::print(stderr, "redis-timeline: {}\n", why.what());
        return failed;
    }
}
