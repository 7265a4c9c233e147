// SPDX-License-Identifier: BSL-1.0
// Timelines of many authors on several PostgreSQL databases: the command line. See README.md.
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"

namespace {

namespace sw = shardweave;
using namespace postgres;

constexpr const char* about =
    R"(Timelines of many authors, spread over several PostgreSQL databases.

  pg_timeline init --shards 4 --hot AUTHOR=8     make the databases
  pg_timeline load HISTORY                       fill them
  pg_timeline page AUTHOR                        the newest page, and the command for the next
  pg_timeline page A B C                         several authors as one list
  pg_timeline grow AUTHOR=16                     more buckets for the author's new items
  pg_timeline follow                             say each routing table as it is stored
)";

constexpr const char* exit_codes = R"(
Exit codes: 0 fine, 1 it failed, 2 the command line can not be followed (no timelines there, refused
page token, …), 3 loaded except for malformed rows.)";

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
                                  timeline::visible(text), sw::limits::buckets)};
}

int run(int argc, char** argv) {
    CLI::App app{about};
    app.footer(exit_codes);
    app.require_subcommand(1);

    read_options read;
    read.program = argv[0];
    app.add_option("--server", read.at.server,
                   "the server as libpq takes it, such as 'host=127.0.0.1 port=5432 user=me'; "
                   "without it, PGHOST, PGPORT, PGUSER and the like say it")
        ->envname("PG_TIMELINE_SERVER");

    std::uint32_t shards = 4;
    std::vector<std::string> hot;
    CLI::App& init = *app.add_subcommand("init", "Make the databases timeline0, timeline1, …");
    init.add_option("--shards", shards, "how many")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000));
    init.add_option("--hot", hot, "AUTHOR=8: buckets of an author with many items; repeatable")
        ->allow_extra_args(false);

    std::string history;
    CLI::App& load = *app.add_subcommand("load", "Fill the databases from a history");
    load.add_option("HISTORY", history,
                    "lines of author TAB unix-time TAB id [TAB note], plain or .gz; - for "
                    "standard input")
        ->required();

    CLI::App& page = *app.add_subcommand("page", "One page of one or several authors");
    page.add_option("AUTHOR", read.authors, "whose timeline; several are read as one list")
        ->required();
    page.add_option("--limit", read.limit, "rows of a page")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, sw::limits::page_items));
    page.add_option("--at", read.page, "the page that this token stands for");
    page.add_option("--concurrency", read.concurrency, "queries at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    page.add_flag("--per-shard", read.per_shard,
                  "one query a database instead of one a partition key");

    std::string growing;
    CLI::App& grow = *app.add_subcommand("grow", "More buckets for an author's new items");
    grow.add_option("AUTHOR", growing, "with the number: author-1=16")->required();

    std::uint64_t changes = std::numeric_limits<std::uint64_t>::max();
    CLI::App& follow = *app.add_subcommand("follow", "Say each routing table as it is stored");
    follow.add_option("--changes", changes, "end after so many");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& why) {
        return app.exit(why) == 0 ? success : bad_usage;
    }
    if (init.parsed()) {
        bucket_counts counts;
        for (const std::string& each : hot) {
            counts.insert(author_and_buckets(each));
        }
        create_cluster(read.at, shards, counts);
        fmt::print("{} made, and the routing table stored\n",
                   timeline::counted(shards, "database"));
        return success;
    }
    if (load.parsed()) {
        return load_command(read.at, history);
    }
    if (grow.parsed()) {
        const auto [author, buckets] = author_and_buckets(growing);
        return grow_command(read.at, author, buckets);
    }
    return follow.parsed() ? follow_command(read.at, changes) : page_command(read);
}

/// A line for a person, and the exit code.
int explain(const sw::failure& why) {
    switch (why.code()) {
        case sw::errc::token_malformed:
        case sw::errc::token_invalid:
        case sw::errc::token_expired:
            fmt::print(stderr,
                       "pg_timeline: this page token was refused: it is damaged, or belongs "
                       "to another list of authors. Leave out --at to start from the first "
                       "page\n");
            return bad_usage;
        case sw::errc::ambiguous_key:
        case sw::errc::limit_exceeded:
            fmt::print(stderr, "pg_timeline: {}\n", why.what());
            return bad_usage;
        case sw::errc::unavailable:
            fmt::print(stderr, "pg_timeline: {}; see that the server is up, and try again\n",
                       why.what());
            return failed;
        default: fmt::print(stderr, "pg_timeline: {}\n", why.what()); return failed;
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const int code = run(argc, argv);
        if (std::fflush(stdout) != 0) {
            fmt::print(stderr, "pg_timeline: standard output can not be written\n");
            return failed;
        }
        return code;
    } catch (const sw::failure& why) {
        return explain(why);
    } catch (const usage_error& why) {
        fmt::print(stderr, "pg_timeline: {}\n", why.what());
        return bad_usage;
    } catch (const std::exception& why) {
        fmt::print(stderr, "pg_timeline: {}\n", why.what());
        return failed;
    }
}
