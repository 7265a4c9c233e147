// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_TIMELINE_COMMANDS_HPP
#define SHARDWEAVE_EXAMPLES_TIMELINE_COMMANDS_HPP

/// What each command does, from its options to its exit code.

#include <shardweave/place/router.hpp>
#include <shardweave/read/token.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "history.hpp"
#include "load.hpp"
#include "print.hpp"
#include "read.hpp"
#include "routing_file.hpp"
#include "store.hpp"

namespace timeline {

namespace sw = shardweave;

/// The program's exit codes.
enum exit_code : int { success = 0, failed = 1, bad_usage = 2, malformed_rows = 3, differs = 4 };

/// The command line asks for something that is not there.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct load_options {
    std::string history;
    std::string directory;
    std::optional<std::uint32_t> shards;
    bucket_counts hot;
};

struct read_options {
    /// As it was typed, for the commands that are proposed.
    std::string program;
    std::string directory;
    std::vector<std::string> authors;
    std::size_t limit = 20;
    std::string page;
    bool previous = false;
    std::size_t concurrency = 1;
    bool per_shard = false;
};

inline int load_command(const load_options& with) {
    constexpr std::uint64_t most_complaints = 20;
    history_reader history{with.history};
    std::filesystem::create_directories(with.directory);
    const directory_lock lock{with.directory};
    const sw::router router{prepare(with.directory, with.shards, with.hot)};
    loader into{with.directory, router};

    const auto start = std::chrono::steady_clock::now();
    progress_bar progress;
    std::uint64_t complaints = 0;
    const load_report report = load(
        history, into,
        [&](std::uint64_t line, std::string_view reason) {
            if (++complaints <= most_complaints) {
                progress.clear();
                fmt::print(stderr, "line {}: {}\n", line, visible(reason));
            }
        },
        [&](const load_report& so_far, std::optional<double> part) {
            progress.show(so_far.added + so_far.present + so_far.malformed, part);
        });
    progress.clear();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

    fmt::print("{} loaded, {} there already, {} malformed, {:.2f} s\n",
               counted(report.added, "new row"), grouped(report.present), grouped(report.malformed),
               took.count());
    for (const auto& [shard, rows] : report.by_shard) {
        fmt::print("  {}  {}\n", shard, counted(rows, "row"));
    }
    if (complaints > most_complaints) {
        fmt::print(stderr, "and {} more malformed rows\n", grouped(complaints - most_complaints));
    }
    return report.malformed == 0 ? success : malformed_rows;
}

/// A directory that is read from.
class opened {
public:
    explicit opened(const read_options& with)
        : router{read_routing(with.directory)}, shards{with.directory, router.pin()->format()},
          reader{make_reader(router, shards,
                             {.concurrency = with.concurrency,
                              .grouping = with.per_shard ? sw::grouping::per_shard
                                                         : sw::grouping::per_partition_key})} {}

    sw::router router;
    shard_pool shards;
    decltype(make_reader(router, shards)) reader;
};

/// Throws `usage_error` for an author without items.
inline void check_known(const opened& store, const read_options& with) {
    for (const std::string& author : with.authors) {
        if (store.reader.page(author, {.limit = 1}).items.empty()) {
            throw usage_error{fmt::format(
                "there is no item of {}; see who is there by: {} authors --dir {}", visible(author),
                shell_quoted(with.program), shell_quoted(with.directory))};
        }
    }
}

/// The command that shows the page at a token.
[[nodiscard]] inline std::string command_for(const read_options& with, const std::string& token) {
    std::string command = shell_quoted(with.program);
    for (const std::string& author : with.authors) {
        // As a plain argument, these would be a command, an option, or a list of CLI11's.
        const bool misread = author == "load" || author == "authors" || author.starts_with('-') ||
                             author.starts_with('[');
        command += (misread ? " --feed=" : " ") + shell_quoted(author);
    }
    command += " --dir " + shell_quoted(with.directory);
    if (with.limit != 20) {
        command += " --limit " + std::to_string(with.limit);
    }
    return command + " --page " + token;
}

inline int page_command(const read_options& with) {
    opened store{with};
    const sw::checksummed sealer;
    if (with.page.empty()) {
        check_known(store, with);
    }
    const auto start = std::chrono::steady_clock::now();
    sw::page_options options{.limit = with.limit};
    if (!with.page.empty()) {
        options.from = sealer.open(with.page);
    }
    auto page = store.reader.page(with.authors, options);
    if (with.previous) {
        if (!page.previous) {
            fmt::print("there is no page before this one\n");
            return success;
        }
        const sw::read_stats on_the_way = page.stats;
        options.from = page.previous;
        page = store.reader.page(with.authors, options);
        const std::size_t returned = page.stats.rows_returned;
        page.stats = on_the_way + page.stats;
        page.stats.rows_returned = returned;
    }
    const auto took = std::chrono::steady_clock::now() - start;

    if (page.items.empty()) {
        fmt::print("  (nothing here: the list has no more items this way)\n");
    } else {
        print_rows(page.items, with.authors.size() > 1);
    }
    fmt::print("\n{}\n", costs(page.stats, took));
    if (page.next) {
        fmt::print("next page:      {}\n", command_for(with, sealer.seal(*page.next)));
    }
    if (page.previous) {
        fmt::print("previous page:  {}\n", command_for(with, sealer.seal(*page.previous)));
    }
    return success;
}

/// All items to standard output, as lines that `load` takes back.
inline int all_command(const read_options& with) {
    opened store{with};
    check_known(store, with);
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const auto start = std::chrono::steady_clock::now();
    auto stream = store.reader.stream(with.authors);
    for (const item& row : stream) {
        const auto shown = [&](const std::string& text) { return terminal ? visible(text) : text; };
        fmt::print("{}\t{}\t{}\t{}\n", shown(row.author), row.created_at, shown(row.id),
                   shown(row.note));
    }
    const auto took = std::chrono::steady_clock::now() - start;
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", costs(stream.stats(), took));
    return success;
}

[[nodiscard]] inline std::string described(const std::optional<item>& row) {
    return row ? fmt::format("{}  {}  {}  {}", utc(row->created_at), visible(row->author),
                             visible(row->id), visible(row->note))
               : "(the end)";
}

/// Compares the authors' common timeline, or without authors each one's, with the unsharded query.
inline int verify_command(const read_options& with) {
    opened store{with};
    check_known(store, with);
    reference expected{unsharded_path(with.directory)};
    std::vector<std::vector<std::string>> lists{with.authors};
    if (with.authors.empty()) {
        std::set<std::string> authors;
        for (std::string& author : expected.authors()) {
            authors.insert(std::move(author));
        }
        for (author_summary& each : authors_of(*store.router.pin(), store.shards)) {
            authors.insert(std::move(each.author));
        }
        lists.clear();
        for (const std::string& author : authors) {
            lists.push_back({author});
        }
    }

    const auto start = std::chrono::steady_clock::now();
    std::uint64_t agreed = 0;
    std::uint64_t parted = 0;
    sw::read_stats stats;
    for (const auto& authors : lists) {
        const comparison result = compare(store.reader, expected, authors);
        agreed += result.agreed;
        stats = stats + result.stats;
        if (result.difference && parted++ == 0) {
            fmt::print("row {} differs:\n  shards:     {}\n  unsharded:  {}\n",
                       grouped(result.agreed + 1), described(result.difference->first),
                       described(result.difference->second));
        }
    }
    const auto took = std::chrono::steady_clock::now() - start;

    if (with.authors.empty()) {
        fmt::print("{} compared, ", counted(lists.size(), "author"));
    }
    fmt::print("{} agree{} with the unsharded query", counted(agreed, "row"),
               agreed == 1 ? "s" : "");
    if (parted == 0) {
        fmt::print(", all of them in order\n");
    } else {
        fmt::print("; {} not the same\n",
                   parted == 1 ? "one list is" : grouped(parted) + " lists are");
    }
    if (stats.duplicates != 0) {
        fmt::print("{} stored twice\n",
                   stats.duplicates == 1 ? "one row is" : grouped(stats.duplicates) + " rows are");
    }
    fmt::print("{}\n", costs(stats, took));
    return parted == 0 && stats.duplicates == 0 ? success : differs;
}

/// The author's buckets on each database; `plain` is the partition key without a bucket.
[[nodiscard]] inline std::map<std::string, std::string>
buckets_by_shard(const sw::routing_table& table, const std::string& author) {
    std::map<std::string, std::string> text;
    for (const sw::target& each : table.targets(author)) {
        std::string& list = text[each.shard];
        list += list.empty() ? "" : " ";
        list += each.partition_key == author ? "plain" : std::to_string(each.bucket.value());
    }
    return text;
}

inline int grow_command(const read_options& with, const std::string& author,
                        std::uint32_t buckets) {
    std::filesystem::path directory{with.directory};
    const auto unlocked = read_routing(directory);  // before a lock file is made in a wrong place
    static_cast<void>(unlocked);
    const directory_lock lock{directory};
    sw::router router{read_routing(directory)};
    const sw::router::snapshot before = router.pin();
    const auto now = before->schemes().history(author).writer().buckets();
    if (now == buckets) {
        fmt::print("{}'s new items go to {} already; nothing to do\n", visible(author),
                   counted(now, "bucket"));
        return success;
    }
    // The router refuses a table under which older items would not be found.
    std::ignore = router.publish(
        before->with_schemes(before->schemes().grow(author, sw::calculated(buckets))));
    const sw::router::snapshot after = router.pin();
    write_routing(directory, *after);

    fmt::print("{}: new items go to {}, not {}; older ones stay where they are\n\n",
               visible(author), counted(buckets, "bucket"), grouped(now));
    const auto old_text = buckets_by_shard(*before, author);
    const auto new_text = buckets_by_shard(*after, author);
    const auto of = [](const auto& texts, const std::string& shard) {
        const auto at = texts.find(shard);
        return at == texts.end() ? std::string{"-"} : at->second;
    };
    std::size_t column = 6;
    for (const auto& [shard, text] : old_text) {
        column = std::max(column, text.size());
    }
    fmt::print("  {:<8}  {:<{}}  {}\n", "database", "before", column, "after");
    for (const std::string& shard : after->shards().names()) {
        fmt::print("  {:<8}  {:<{}}  {}\n", shard, of(old_text, shard), column,
                   of(new_text, shard));
    }
    fmt::print("\nto read: {} before, {} after; the routing table's epoch is {}\n",
               counted(before->targets(author).size(), "partition key"),
               after->targets(author).size(), after->epoch().value());
    return success;
}

/// Who is there, the one with the most items first.
inline int authors_command(const read_options& with) {
    opened store{with};
    const auto table = store.router.pin();
    const std::vector<author_summary> authors = authors_of(*table, store.shards);
    std::uint64_t total = 0;
    std::size_t author_width = 6;
    for (std::size_t i = 0; i != authors.size(); ++i) {
        total += authors[i].items;
        if (i < with.limit) {
            author_width = std::max(author_width, width(authors[i].author));
        }
    }
    fmt::print("  {}  {:>10}  {:>7}  {:>7}\n", padded("author", author_width), "items", "share",
               "buckets");
    for (std::size_t i = 0; i != std::min(with.limit, authors.size()); ++i) {
        const author_summary& each = authors[i];
        fmt::print("  {}  {:>10}  {:>5.1f} %  {:>7}\n", padded(visible(each.author), author_width),
                   grouped(each.items),
                   100 * static_cast<double>(each.items) / static_cast<double>(total),
                   table->targets(each.author).size());
    }
    fmt::print("\n{} of {}, {} in all\n", std::min(with.limit, authors.size()),
               counted(authors.size(), "author"), counted(total, "item"));
    return success;
}

}  // namespace timeline

#endif
