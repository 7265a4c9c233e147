// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_TIMELINE_LOAD_HPP
#define SHARDWEAVE_EXAMPLES_TIMELINE_LOAD_HPP

/// Places a history's items on the shards. Any load can be cut off and run again.

#include <shardweave/place/router.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/place/shard_map.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "history.hpp"
#include "routing_file.hpp"
#include "sqlite.hpp"
#include "store.hpp"

namespace timeline {

/// Authors and the number of buckets that each is given.
using bucket_counts = std::map<std::string, std::uint32_t>;

/// The options do not fit what the directory holds already.
struct conflict : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The table of a new directory: databases db0, db1, …, one bucket an author, more for the hot
/// ones.
[[nodiscard]] inline sw::routing_table first_table(std::uint32_t shards, const bucket_counts& hot) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i != shards; ++i) {
        names.push_back("db" + std::to_string(i));
    }
    sw::scheme_table schemes{sw::calculated(1)};
    for (const auto& [author, buckets] : hot) {
        schemes = std::move(schemes).with(author, sw::calculated(buckets));
    }
    return {std::move(schemes), sw::shard_map::even(std::move(names))};
}

/// Throws `conflict` when a load's options would have placed earlier items elsewhere.
inline void check_options(const sw::routing_table& table, std::optional<std::uint32_t> shards,
                          const bucket_counts& hot) {
    const std::size_t there = table.shards().names().size();
    if (shards && *shards != there) {
        throw conflict{"the directory has " + std::to_string(there) + " databases, not " +
                       std::to_string(*shards) +
                       "; leave out --shards, or load into a new directory"};
    }
    for (const auto& [author, buckets] : hot) {
        const sw::scheme_history& history = table.schemes().history(author);
        const auto first = history.entries().front().scheme.buckets();
        const auto now = history.writer().buckets();
        if (buckets != first && buckets != now) {
            throw conflict{
                author + " is in " + std::to_string(now) +
                " bucket(s) here already; leave out its --hot to load more, or change it "
                "by: timeline --grow AUTHOR=" +
                std::to_string(buckets) + " --dir DIR"};
        }
    }
}

/// The routing table of a directory to load into; a new one is written before any item.
[[nodiscard]] inline sw::routing_table prepare(const std::filesystem::path& directory,
                                               std::optional<std::uint32_t> shards,
                                               const bucket_counts& hot) {
    if (std::filesystem::exists(routing_path(directory))) {
        sw::routing_table table = read_routing(directory);
        check_options(table, shards, hot);
        return table;
    }
    if (std::filesystem::exists(unsharded_path(directory))) {
        throw store_error{routing_path(directory).string() +
                          " is gone, but there are databases; without it nobody knows where their "
                          "items are, so restore it from a copy, or load into a new directory"};
    }
    sw::routing_table table = first_table(shards.value_or(4), hot);
    write_routing(directory, table);
    return table;
}

/// What became of an item.
enum class outcome { added, present, other_authors };

/// Writes items to their shards and to the unsharded copy, in transactions over all of them.
class loader {
public:
    loader(const std::filesystem::path& directory, const sw::router& router)
        : router_(&router), unsharded_(unsharded_path(directory), database::access::create) {
        unsharded_.run(unsharded_schema);
        for (const std::string& name : router.pin()->shards().names()) {
            shards_.try_emplace(name, shard_path(directory, name), database::access::create)
                .first->second.run(shard_schema);
        }
        for_each([](database& each) { each.run("BEGIN IMMEDIATE"); });
    }

    /// Throws `sw::failure` for an author that can not be a key, `database_error` for the rest.
    outcome add(const item& row) {
        const sw::placement at = router_->place(row.author, row.id);
        if (!add_unsharded(row)) {
            return outcome::other_authors;
        }
        // An item from before its author grew is where an older scheme put it, and stays there.
        for (const sw::placement& other : router_->candidates(row.author, row.id)) {
            if (other.partition_key != at.partition_key && holds(other, row)) {
                return outcome::present;
            }
        }
        database& shard = shards_.at(at.shard);
        query insert = shard.prepared("INSERT OR IGNORE INTO item VALUES (?1, ?2, ?3, ?4)");
        insert.bind(1, at.partition_key.str()).bind(2, row.created_at).bind(3, row.id);
        insert.bind(4, row.note).step();
        if (shard.changes() == 0) {
            return outcome::present;
        }
        ++added_[at.shard];
        return outcome::added;
    }

    /// Stores what was added. What is cut off between two databases, the next load completes.
    void commit() {
        for_each([](database& each) { each.run("COMMIT; BEGIN IMMEDIATE"); });
    }

    /// New items by shard.
    [[nodiscard]] const std::map<std::string, std::uint64_t>& added() const noexcept {
        return added_;
    }

private:
    /// False when another author has an item of this id and time.
    bool add_unsharded(const item& row) {
        query insert = unsharded_.prepared("INSERT OR IGNORE INTO item VALUES (?1, ?2, ?3, ?4)");
        insert.bind(1, row.author).bind(2, row.created_at).bind(3, row.id);
        insert.bind(4, row.note).step();
        if (unsharded_.changes() != 0) {
            return true;
        }
        query same = unsharded_.prepared(
            "SELECT 1 FROM item WHERE author = ?1 AND created_at = ?2 AND id = ?3");
        return same.bind(1, row.author).bind(2, row.created_at).bind(3, row.id).step();
    }

    bool holds(const sw::placement& at, const item& row) {
        query same = shards_.at(at.shard).prepared(
            "SELECT 1 FROM item WHERE partition_key = ?1 AND created_at = ?2 AND id = ?3");
        return same.bind(1, at.partition_key.str()).bind(2, row.created_at).bind(3, row.id).step();
    }

    template <class Visit>
    void for_each(const Visit& visit) {
        for (auto& [name, shard] : shards_) {
            visit(shard);
        }
        visit(unsharded_);
    }

    const sw::router* router_;
    database unsharded_;
    std::map<std::string, database> shards_;
    std::map<std::string, std::uint64_t> added_;
};

/// What a load did.
struct load_report {
    std::uint64_t added = 0;
    std::uint64_t present = 0;
    std::uint64_t malformed = 0;
    std::map<std::string, std::uint64_t> by_shard;
};

/// Loads a whole history. `complain(line number, reason)` is told each row that is no item; the
/// rest is loaded. `show(report, progress)` is called after every few thousand rows.
template <class Complain, class Show>
load_report load(history_reader& history, loader& into, const Complain& complain,
                 const Show& show) {
    constexpr std::uint64_t batch = 5'000;
    load_report report;
    const auto next = [&] {
        try {
            return history.next();
        } catch (const history_error&) {
            into.commit();  // what came before the damage stays
            throw;
        }
    };
    while (const auto line = next()) {
        if (history.line_number() == 1 && is_header(*line)) {
            continue;
        }
        auto row = parse_line(*line);
        std::string reason;
        if (const auto* complaint = std::get_if<std::string>(&row)) {
            reason = *complaint;
        } else {
            try {
                switch (into.add(std::get<item>(row))) {
                    case outcome::added: ++report.added; break;
                    case outcome::present: ++report.present; break;
                    case outcome::other_authors:
                        reason = "another author has an item of this id and time";
                        break;
                }
            } catch (const sw::failure& why) {
                reason = why.what();
            }
        }
        if (!reason.empty()) {
            ++report.malformed;
            complain(history.line_number(), reason);
        }
        if (history.line_number() % batch == 0) {
            into.commit();
            show(report, history.progress());
        }
    }
    into.commit();
    report.by_shard = into.added();
    return report;
}

}  // namespace timeline

#endif
