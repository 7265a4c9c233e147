// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_TIMELINE_STORE_HPP
#define SHARDWEAVE_EXAMPLES_TIMELINE_STORE_HPP

/// The shards: one SQLite database each, and the query that the library asks of them.

#include <shardweave/place/partition_key.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "history.hpp"
#include "sqlite.hpp"

namespace timeline {

namespace sw = shardweave;

/// Newest first, and the id decides between two items of one second.
inline const auto newest_first = sw::newest_first(&item::created_at, sw::unique(&item::id));
using position = decltype(newest_first)::position_type;

[[nodiscard]] inline std::string shard_path(const std::filesystem::path& directory,
                                            const std::string& shard) {
    return (directory / (shard + ".sqlite")).string();
}

/// A shard's only table. Its primary key is the order of a read, so a page is one index search.
inline constexpr const char* shard_schema = R"(
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS item (
        partition_key TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        id TEXT NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (partition_key, created_at, id)
    ) WITHOUT ROWID, STRICT;
)";

/// Partition keys in one statement: SQLite takes 500 limbs of a UNION at most.
inline constexpr std::size_t most_limbs = 400;

/// The query for a page of one or several partition keys. Parameters: ?1 limit, ?2 ?3 the position
/// after which it begins, ?4 ?5 the last one, ?6 and on the partition keys.
///
/// Several keys are one limb each, and not `partition_key IN (…)`: each limb then comes out of the
/// primary key in order, SQLite merges them as it goes, and stops at the limit. With IN it would
/// read and sort every row beyond the boundary.
[[nodiscard]] inline std::string page_sql(std::size_t partition_keys, sw::scan way, bool has_after,
                                          bool has_until) {
    const bool forward = way == sw::scan::forward;
    std::string sql;
    for (std::size_t i = 0; i != partition_keys; ++i) {
        sql += i == 0 ? "" : " UNION ALL ";
        sql += "SELECT partition_key, created_at, id, note FROM item WHERE partition_key = ?" +
               std::to_string(i + 6);
        if (has_after) {
            sql += std::string{" AND (created_at, id) "} + (forward ? "<" : ">") + " (?2, ?3)";
        }
        if (has_until) {
            sql += std::string{" AND (created_at, id) "} + (forward ? ">=" : "<=") + " (?4, ?5)";
        }
    }
    return sql + (forward ? " ORDER BY created_at DESC, id DESC" : " ORDER BY created_at, id") +
           " LIMIT ?1";
}

/// Connections to the shards, opened when needed and kept. Thread-safe: each is lent to one thread
/// at a time, so there are as many to a shard as there were threads that asked it at once.
class shard_pool {
public:
    shard_pool(std::filesystem::path directory, sw::key_format format)
        : directory_(std::move(directory)), format_(std::move(format)) {}

    class lease {
    public:
        lease(shard_pool& pool, std::string shard, std::unique_ptr<database> connection) noexcept
            : pool_(&pool), shard_(std::move(shard)), connection_(std::move(connection)) {}
        lease(const lease&) = delete;
        lease& operator=(const lease&) = delete;
        ~lease() { pool_->take_back(shard_, std::move(connection_)); }
        database* operator->() const noexcept { return connection_.get(); }

    private:
        shard_pool* pool_;
        std::string shard_;
        std::unique_ptr<database> connection_;
    };

    [[nodiscard]] lease connection(const std::string& shard) {
        {
            const std::scoped_lock lock{mutex_};
            auto& idle = idle_[shard];
            if (!idle.empty()) {
                auto connection = std::move(idle.back());
                idle.pop_back();
                return {*this, shard, std::move(connection)};
            }
        }
        return {
            *this, shard,
            std::make_unique<database>(shard_path(directory_, shard), database::access::existing)};
    }

    /// The rows that a page asks for. May be called by several threads at once.
    [[nodiscard]] sw::shard_page<item> ask(const sw::shard_query<position>& q) {
        const lease shard = connection(q.shard);
        sw::shard_page<item> answer;
        for (std::size_t i = 0; i < q.partition_keys.size(); i += most_limbs) {
            const auto keys =
                q.partition_keys.subspan(i, std::min(most_limbs, q.partition_keys.size() - i));
            query rows = shard->prepared(
                page_sql(keys.size(), q.way, q.after.has_value(), q.until.has_value()));
            rows.bind(1, static_cast<std::int64_t>(q.limit));
            if (q.after) {
                rows.bind(2, get<0>(*q.after)).bind(3, get<1>(*q.after));
            }
            if (q.until) {
                rows.bind(4, get<0>(*q.until)).bind(5, get<1>(*q.until));
            }
            for (int parameter = 6; const std::string& key : keys) {
                rows.bind(parameter++, key);
            }
            while (rows.step()) {
                answer.items.push_back({author_of(rows.text(0)), rows.integer(1),
                                        std::string{rows.text(2)}, std::string{rows.text(3)}});
            }
        }
        if (q.partition_keys.size() > most_limbs) {
            keep_first(answer.items, q.limit, q.way);
        }
        // A full answer proves nothing about what follows; one that is not full is the end.
        answer.more = answer.items.size() == q.limit;
        return answer;
    }

private:
    /// The key that the partition key is a part of.
    [[nodiscard]] std::string author_of(std::string_view partition_key) const {
        const auto parsed = format_.parse(partition_key);
        return std::string{parsed ? parsed->key : partition_key};
    }

    static void keep_first(std::vector<item>& items, std::size_t limit, sw::scan way) {
        std::ranges::sort(items, [way](const item& a, const item& b) {
            const auto order = newest_first.compare(a, b);
            return way == sw::scan::forward ? order < 0 : order > 0;
        });
        items.resize(std::min(items.size(), limit));
    }

    void take_back(const std::string& shard, std::unique_ptr<database> connection) {
        const std::scoped_lock lock{mutex_};
        idle_[shard].push_back(std::move(connection));
    }

    std::filesystem::path directory_;
    sw::key_format format_;
    std::mutex mutex_;
    std::map<std::string, std::vector<std::unique_ptr<database>>> idle_;
};

/// All items in one database without any sharding: what the merged stream must be equal to.
[[nodiscard]] inline std::string unsharded_path(const std::filesystem::path& directory) {
    return (directory / "unsharded.sqlite").string();
}

/// The same item of two authors would be one row of their common feed, so `(created_at, id)` is
/// unique over all of them.
inline constexpr const char* unsharded_schema = R"(
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS item (
        author TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        id TEXT NOT NULL,
        note TEXT NOT NULL,
        PRIMARY KEY (author, created_at, id)
    ) WITHOUT ROWID, STRICT;
    CREATE UNIQUE INDEX IF NOT EXISTS one_feed ON item (created_at, id);
)";

}  // namespace timeline

#endif
