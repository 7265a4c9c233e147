// SPDX-License-Identifier: BSL-1.0
// The cases of all stores on SQLite, by the timeline's query callback.
#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "backends/stores_suite.hpp"
#include "support/temporary_directory.hpp"
#include "timeline/sqlite.hpp"
#include "timeline/store.hpp"

namespace sw = shardweave;

namespace {

/// Four database files. There is no server that could fail.
class sqlite_store {
public:
    static constexpr bool groups = true;

    sqlite_store() {
        for (const std::string& name : shards()) {
            writers_
                .try_emplace(name, timeline::shard_path(directory_.path(), name),
                             timeline::database::access::create)
                .first->second.run(timeline::shard_schema);
        }
    }

    [[nodiscard]] static std::vector<std::string> shards() { return {"db0", "db1", "db2", "db3"}; }

    [[nodiscard]] stores_suite::answer ask(const stores_suite::query& asked) {
        return readers_.ask(asked);
    }

    void write(const std::string& shard, const std::string& partition_key,
               const std::vector<timeline::item>& rows) {
        timeline::database& base = writers_.at(shard);
        base.run("BEGIN");
        for (const timeline::item& row : rows) {
            timeline::query insert =
                base.prepared("INSERT OR IGNORE INTO item VALUES (?, ?, ?, ?)");
            insert.bind(1, partition_key).bind(2, row.created_at).bind(3, row.id);
            insert.bind(4, row.note).step();
        }
        base.run("COMMIT");
    }

    void copy(const std::string& partition_key, const std::string& from, const std::string& to) {
        std::vector<timeline::item> rows;
        {
            timeline::query all = writers_.at(from).prepared(
                "SELECT created_at, id, note FROM item WHERE partition_key = ?");
            all.bind(1, partition_key);
            while (all.step()) {
                rows.push_back(
                    {"", all.integer(0), std::string{all.text(1)}, std::string{all.text(2)}});
            }
        }
        write(to, partition_key, rows);
    }

    void remove(const std::string& shard, const std::string& partition_key) {
        writers_.at(shard)
            .prepared("DELETE FROM item WHERE partition_key = ?")
            .bind(1, partition_key)
            .step();
    }

private:
    test_support::temporary_directory directory_;
    std::map<std::string, timeline::database> writers_;
    timeline::shard_pool readers_{directory_.path(), sw::key_format{}};
};

stores_suite::stored_history<sqlite_store>& history() {
    static sqlite_store store;
    static stores_suite::stored_history<sqlite_store> stored{
        store, stores_suite::read_history(SHARDWEAVE_EXCERPT)};
    return stored;
}

}  // namespace

TEST_CASE("pages of SQLite equal the sorted rows", "[sqlite][stores]") {
    stores_suite::pages_equal_the_sorted_rows(history());
}

TEST_CASE("pages of SQLite lose nothing while buckets move and a key grows", "[sqlite][stores]") {
    stores_suite::pages_while_buckets_move_and_a_key_grows(history());
}
