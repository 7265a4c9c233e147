// SPDX-License-Identifier: BSL-1.0
// Timelines of many authors on several SQLite databases: the command line. See README.md.
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"

namespace {

namespace sw = shardweave;
using namespace timeline;

constexpr const char* about = R"(Timelines of many authors, spread over several SQLite databases.

  timeline load HISTORY --dir DIR --hot AUTHOR=8    fill the databases
  timeline AUTHOR --dir DIR                         the newest page, and the command for the next
  timeline --feed A,B,C --dir DIR                   several authors as one list
  timeline authors --dir DIR                        who is there
)";

constexpr const char* history_help =
    "lines of author TAB unix-time TAB id [TAB note], plain or .gz; - for standard input. "
    "Of any git repository: git log --reverse --format='%aN%x09%at%x09%H%x09%s'";

constexpr const char* exit_codes = R"(
Exit codes: 0 fine, 1 it failed, 2 the command line can not be followed (unknown author, refused
page token, …), 3 loaded except for malformed rows, 4 --verify found a difference.
An author called like a command, or [so], is reached by --feed. DIR may come from TIMELINE_DIR.)";

/// `author-1=8`; the author may have = too.
std::pair<std::string, std::uint32_t> author_and_buckets(std::string_view option,
                                                         const std::string& text) {
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
    throw usage_error{
        fmt::format("{} {}: use AUTHOR=BUCKETS with 1 to {} buckets, such as author-1=8", option,
                    visible(text), sw::limits::buckets)};
}

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> parts;
    while (true) {
        const auto comma = list.find(',');
        if (comma != 0 && !list.empty()) {
            parts.emplace_back(list.substr(0, comma));
        }
        if (comma == std::string_view::npos) {
            return parts;
        }
        list.remove_prefix(comma + 1);
    }
}

/// The line for a person, and the exit code.
int explain(const sw::failure& why) {
    switch (why.code()) {
        case sw::errc::shard_failed:
            // The store's own text says what to do.
            fmt::print(stderr, "timeline: {}\n", why.reason().detail);
            return failed;
        case sw::errc::token_malformed:
        case sw::errc::token_invalid:
        case sw::errc::token_expired:
            fmt::print(
                stderr,
                "timeline: this page token was refused: it is damaged, or belongs to another "
                "list of authors. Leave out --page to start from the first page\n");
            return bad_usage;
        case sw::errc::ambiguous_key:
        case sw::errc::limit_exceeded:
            fmt::print(stderr, "timeline: {}\n", why.what());
            return bad_usage;
        default: fmt::print(stderr, "timeline: {}\n", why.what()); return failed;
    }
}

int run(int argc, char** argv) {
    CLI::App app{about};
    app.footer(exit_codes);
    app.require_subcommand(0, 1);

    read_options read;
    read.program = argv[0];
    std::vector<std::string> feeds;
    std::string grow;
    bool all = false;
    bool verify = false;
    const auto add_directory = [](CLI::App& to, std::string& directory) {
        to.add_option("--dir", directory, "the directory of the databases")
            ->envname("TIMELINE_DIR");
    };
    app.add_option("AUTHOR", read.authors, "whose timeline; several are read as one list");
    add_directory(app, read.directory);
    app.add_option("--feed", feeds, "authors, separated by commas, as one list")
        ->allow_extra_args(false);
    app.add_option("--limit", read.limit, "rows of a page")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, sw::limits::page_items));
    auto* page = app.add_option("--page", read.page, "the page that this token stands for");
    auto* previous =
        app.add_flag("--previous", read.previous, "the page before the one of --page")->needs(page);
    auto* every =
        app.add_flag("--all", all, "all rows to standard output, as lines that load takes")
            ->excludes(page, previous);
    auto* check = app.add_flag("--verify", verify,
                               "compare with the unsharded database; without AUTHOR for everybody")
                      ->excludes(page, previous, every);
    app.add_option("--grow", grow, "AUTHOR=16: that many buckets for the author's new items")
        ->excludes(page, previous, every, check);
    app.add_option("--concurrency", read.concurrency, "queries at a time")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    app.add_flag("--per-shard", read.per_shard,
                 "one query a database instead of one a partition key");

    load_options load;
    std::uint32_t shards = 0;
    std::vector<std::string> hot;
    CLI::App& load_app = *app.add_subcommand("load", "Fill the databases from a history");
    load_app.add_option("HISTORY", load.history, history_help)->required();
    add_directory(load_app, load.directory);
    auto* shards_option =
        load_app.add_option("--shards", shards, "databases of a new directory (4)")
            ->check(CLI::Range(1, 1'000));
    load_app.add_option("--hot", hot, "AUTHOR=8: buckets of an author with many items; repeatable")
        ->allow_extra_args(false);

    CLI::App& authors_app = *app.add_subcommand("authors", "Who is there");
    add_directory(authors_app, read.directory);
    authors_app.add_option("--limit", read.limit, "authors to list")->capture_default_str();

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& why) {
        return app.exit(why) == 0 ? success : bad_usage;
    }
    const std::string& directory = load_app.parsed() ? load.directory : read.directory;
    if (directory.empty()) {
        throw usage_error{"name the directory of the databases: --dir DIR"};
    }
    if (load_app.parsed()) {
        if (*shards_option) {
            load.shards = shards;
        }
        for (const std::string& each : hot) {
            load.hot.insert_or_assign(author_and_buckets("--hot", each).first,
                                      author_and_buckets("--hot", each).second);
        }
        return load_command(load);
    }
    if (authors_app.parsed()) {
        return authors_command(read);
    }
    if (!grow.empty()) {
        const auto [author, buckets] = author_and_buckets("--grow", grow);
        return grow_command(read, author, buckets);
    }
    for (const std::string& each : feeds) {
        for (std::string& author : split(each)) {
            read.authors.push_back(std::move(author));
        }
    }
    if (verify) {
        return verify_command(read);
    }
    if (read.authors.empty()) {
        throw usage_error{fmt::format("name an author; see who is there by: {} authors --dir {}",
                                      shell_quoted(read.program), shell_quoted(directory))};
    }
    return all ? all_command(read) : page_command(read);
}

}  // namespace

int main(int argc, char** argv) {
    // A limit on file sizes then is an error of the write, with a text, like a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    try {
        const int code = run(argc, argv);
        if (std::fflush(stdout) != 0) {
            fmt::print(stderr, "timeline: standard output can not be written\n");
            return failed;
        }
        return code;
    } catch (const sw::failure& why) {
        return explain(why);
    } catch (const usage_error& why) {
        fmt::print(stderr, "timeline: {}\n", why.what());
        return bad_usage;
    } catch (const conflict& why) {
        fmt::print(stderr, "timeline: {}\n", why.what());
        return bad_usage;
    } catch (const std::exception& why) {
        fmt::print(stderr, "timeline: {}\n", why.what());
        return failed;
    }
}
