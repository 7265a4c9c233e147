// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_COMMANDS_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_COMMANDS_HPP

/// What each command does, from its options to its exit code.

#include <shardweave/adapters/asio.hpp>
#include <shardweave/read/token.hpp>

#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "async.hpp"
#include "cluster.hpp"
#include "page_query.hpp"
#include "timeline/history.hpp"
#include "timeline/print.hpp"
#include "write.hpp"

namespace postgres {

enum exit_code : int { success = 0, failed = 1, bad_usage = 2, malformed_rows = 3 };

struct read_options {
    /// As it was typed, for the commands that are proposed.
    std::string program;
    location at;
    std::vector<std::string> authors;
    std::size_t limit = 20;
    std::string page;
    std::size_t concurrency = 16;
    bool per_shard = false;
};

/// Writes the items, each shard's in one transaction. When a shard refuses the route, the table is
/// loaded again, and what is not written yet goes where that says.
inline void write_batch(opened_cluster& into, std::vector<item> left) {
    into.follow.with_routes([&] {
        const auto table = into.router.pin();
        std::map<std::string, std::vector<placed_item>> parts;
        for (const item& row : left) {
            const sw::placement at = table->place(row.author, row.id);
            parts[at.shard].push_back({at.partition_key.str(), at.slot.value(), row});
        }
        left.clear();
        for (auto part = parts.begin(); part != parts.end(); ++part) {
            try {
                write(into.pool, part->first, table->epoch(), part->second);
            } catch (...) {
                for (; part != parts.end(); ++part) {
                    for (placed_item& each : part->second) {
                        left.push_back(std::move(each.row));
                    }
                }
                throw;
            }
        }
    });
}

/// Whether PostgreSQL takes it as a text: whole UTF-8 (RFC 3629), without a zero byte.
[[nodiscard]] inline bool is_text(std::string_view bytes) {
    for (std::size_t at = 0; at != bytes.size();) {
        const auto first = static_cast<unsigned char>(bytes[at]);
        const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        if (first == 0 || (first >= 0x80 && first < 0xc2) || first > 0xf4 ||
            bytes.size() - at < size) {
            return false;
        }
        for (std::size_t i = 1; i != size; ++i) {
            const auto next = static_cast<unsigned char>(bytes[at + i]);
            // The second byte of some has a narrower range: no long forms, no surrogates.
            const unsigned low = i != 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
            const unsigned high = i != 1          ? 0xbf
                                  : first == 0xed ? 0x9f
                                  : first == 0xf4 ? 0x8f
                                                  : 0xbf;
            if (next < low || next > high) {
                return false;
            }
        }
        at += size;
    }
    return true;
}

inline int load_command(const location& at, const std::string& path) {
    constexpr std::size_t batch = 2'000;
    constexpr std::uint64_t most_complaints = 20;
    timeline::history_reader history{path};
    opened_cluster into{at};
    const auto start = std::chrono::steady_clock::now();
    std::vector<item> rows;
    std::uint64_t loaded = 0;
    std::uint64_t malformed = 0;
    const auto complain = [&](std::string_view reason) {
        if (++malformed <= most_complaints) {
            fmt::print(stderr, "line {}: {}\n", history.line_number(), timeline::visible(reason));
        }
    };
    const auto flush = [&] {
        loaded += rows.size();
        write_batch(into, std::move(rows));
        rows.clear();
    };
    while (const auto line = history.next()) {
        if (history.line_number() == 1 && timeline::is_header(*line)) {
            continue;
        }
        auto parsed = timeline::parse_line(*line);
        if (const auto* reason = std::get_if<std::string>(&parsed)) {
            complain(*reason);
        } else if (!is_text(*line)) {
            complain("it is no UTF-8, which a text in PostgreSQL must be");
        } else {
            rows.push_back(std::get<item>(std::move(parsed)));
            if (rows.size() == batch) {
                flush();
            }
        }
    }
    flush();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("{} loaded, {} malformed, {:.2f} s\n", timeline::counted(loaded, "row"),
               timeline::grouped(malformed), took.count());
    return malformed == 0 ? success : malformed_rows;
}

/// Reads one page on this thread, which waits for all shards at once.
[[nodiscard]] inline sw::read_page<item> read_page(opened_cluster& from, const read_options& with,
                                                   const sw::page_options& options) {
    const auto table = from.router.pin();
    const auto ask = [&](const query& asked) {
        return async_ask(from.pool, table->format(), asked);
    };
    const sw::async_fan_out reader{
        from.router, newest_first, ask,
        sw::fan_out_options<item>{.concurrency = with.concurrency,
                                  .grouping = with.per_shard ? sw::grouping::per_shard
                                                             : sw::grouping::per_partition_key}};
    asio::io_context context;
    auto page = reader.async_page(context.get_executor(), with.authors, options, asio::use_future);
    context.run();
    return page.get();
}

/// The command that shows the page at a token.
[[nodiscard]] inline std::string command_for(const read_options& with, const std::string& token) {
    std::string command = timeline::shell_quoted(with.program);
    if (!with.at.server.empty()) {
        command += " --server " + timeline::shell_quoted(with.at.server);
    }
    command += " page";
    if (with.limit != 20) {
        command += " --limit " + std::to_string(with.limit);
    }
    command += " --at " + token + " --";
    for (const std::string& author : with.authors) {
        command += " " + timeline::shell_quoted(author);
    }
    return command;
}

inline int page_command(const read_options& with) {
    opened_cluster from{with.at};
    const sw::checksummed sealer;
    sw::page_options options{.limit = with.limit};
    if (!with.page.empty()) {
        options.from = sealer.open(with.page);
    }
    const auto start = std::chrono::steady_clock::now();
    const auto page = read_page(from, with, options);
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

inline int grow_command(const location& at, const std::string& author, std::uint32_t buckets) {
    opened_cluster of{at};
    const auto before = of.router.pin()->targets(author).size();
    const auto table = of.grow(author, buckets);
    fmt::print("{}: new items go to {}; to read: {} before, {} after; epoch {}\n",
               timeline::visible(author), timeline::counted(buckets, "bucket"),
               timeline::counted(before, "partition key"), table->targets(author).size(),
               table->epoch().value());
    return success;
}

/// Says each routing table as it is stored, so many times.
inline int follow_command(const location& at, std::uint64_t changes) {
    opened_cluster of{at};
    const auto say = [&] {
        const auto table = of.router.pin();
        fmt::print("epoch {}: {}, {}\n", table->epoch().value(),
                   timeline::counted(table->shards().names().size(), "database"),
                   timeline::counted(table->schemes().exceptional().size(),
                                     "author with buckets of its own"));
        std::fflush(stdout);
    };
    say();
    for (auto shown = of.router.pin()->epoch(); changes != 0;) {
        // Woken by NOTIFY; and a look now and then, in case a connection died without a word.
        of.source.wait(std::chrono::seconds{30});
        const auto came = of.follow.poll();
        if (came.epoch != shown) {
            shown = came.epoch;
            --changes;
            say();
        }
    }
    return success;
}

}  // namespace postgres

#endif
