// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_PAGE_QUERY_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_PAGE_QUERY_HPP

/// A shard's schema, and the library's question as SQL.

#include <shardweave/place/partition_key.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libpq.hpp"
#include "timeline/history.hpp"

namespace postgres {

using timeline::item;

/// Newest first, and the id decides between two items of one second.
inline const auto newest_first = sw::newest_first(&item::created_at, sw::unique(&item::id));
using position = decltype(newest_first)::position_type;
using query = sw::shard_query<position>;
using rows_page = sw::shard_page<item>;

/// The primary key is the order of a read, with text as unsigned bytes, so a page is one search in
/// it. The database's own collation would sort by a language, and change with the system's library.
inline constexpr const char* item_schema = R"(
    CREATE TABLE IF NOT EXISTS item (
        partition_key text COLLATE "C" NOT NULL,
        created_at bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        note text NOT NULL,
        PRIMARY KEY (partition_key, created_at, id)
    ))";

/// For every connection that asks for pages: each query names its few rows by the primary key, and
/// anything but a walk through its index is a mistake of statistics that are old or absent. The
/// timeout is for what nobody waits for any more.
inline constexpr const char* page_settings =
    "options='-c enable_seqscan=off -c enable_bitmapscan=off -c statement_timeout=30s'";

/// Partition keys in one statement. Planning takes time for each.
inline constexpr std::size_t most_limbs = 64;

/// The statement for so many partition keys. Parameters: $1 limit, $2 $3 the position after which
/// the page begins, $4 $5 the last one, $6 and on the partition keys.
///
/// Several keys are one limb each and not `partition_key IN (…)`: each limb then comes out of the
/// index in order and stops at the limit, and the limbs are merged (Merge Append). With IN, every
/// row beyond the boundary is read and sorted.
[[nodiscard]] inline std::string page_sql(std::size_t partition_keys, sw::scan way, bool has_after,
                                          bool has_until) {
    const bool forward = way == sw::scan::forward;
    const std::string order = forward ? " ORDER BY created_at DESC, id DESC LIMIT $1"
                                      : " ORDER BY created_at, id LIMIT $1";
    std::string sql;
    for (std::size_t i = 0; i != partition_keys; ++i) {
        sql += i == 0 ? "" : " UNION ALL ";
        sql += "(SELECT partition_key, created_at, id, note FROM item WHERE partition_key = $" +
               std::to_string(i + 6);
        if (has_after) {
            sql += std::string{" AND (created_at, id) "} + (forward ? "<" : ">") + " ($2, $3)";
        }
        if (has_until) {
            sql += std::string{" AND (created_at, id) "} + (forward ? ">=" : "<=") + " ($4, $5)";
        }
        sql += order + ")";
    }
    return partition_keys == 1 ? sql : sql + order;
}

/// One statement of a query: all of it, or a part when it has more partition keys than one takes.
struct page_statement {
    std::string name;
    std::string sql;
    arguments with;
};

[[nodiscard]] inline std::vector<page_statement> statements_of(const query& asked) {
    std::vector<page_statement> all;
    const bool has_after = asked.after.has_value();
    const bool has_until = asked.until.has_value();
    for (std::size_t i = 0; i < asked.partition_keys.size(); i += most_limbs) {
        const auto keys =
            asked.partition_keys.subspan(i, std::min(most_limbs, asked.partition_keys.size() - i));
        page_statement& next = all.emplace_back();
        next.name = "page" + std::to_string(keys.size()) +
                    (asked.way == sw::scan::forward ? "f" : "b") + (has_after ? "a" : "") +
                    (has_until ? "u" : "");
        next.sql = page_sql(keys.size(), asked.way, has_after, has_until);
        next.with.add(static_cast<std::int64_t>(asked.limit));
        for (const auto& at : {asked.after, asked.until}) {
            if (at) {
                next.with.add(get<0>(*at)).add(std::string_view{get<1>(*at)});
            } else {
                next.with.add_nothing(arguments::int8).add_nothing(arguments::text_type);
            }
        }
        for (const std::string& key : keys) {
            next.with.add(std::string_view{key});
        }
    }
    return all;
}

/// Takes a statement's rows into the page.
inline void take_rows(const rows& found, const sw::key_format& format, rows_page& into) {
    into.items.reserve(into.items.size() + static_cast<std::size_t>(found.size()));
    for (int row = 0; row != found.size(); ++row) {
        const std::string_view key = found.text(row, 0);
        const auto parsed = format.parse(key);
        into.items.push_back({std::string{parsed ? parsed->key : key}, found.number(row, 1),
                              std::string{found.text(row, 2)}, std::string{found.text(row, 3)}});
    }
}

/// After the last statement: the first rows of them all, and whether there may be more.
inline void close_page(const query& asked, std::size_t statements, rows_page& result) {
    if (statements > 1) {
        std::ranges::sort(result.items, [&](const item& a, const item& b) {
            const auto order = newest_first.compare(a, b);
            return asked.way == sw::scan::forward ? order < 0 : order > 0;
        });
        result.items.resize(std::min(result.items.size(), asked.limit));
    }
    // A full answer proves nothing about what follows; one that is not full is the end.
    result.more = result.items.size() == asked.limit;
}

}  // namespace postgres

#endif
