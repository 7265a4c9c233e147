// SPDX-License-Identifier: BSL-1.0
// The timeline's callback, and faulty ones, on SQLite, under the conformance checks.
#include <shardweave/testing/conformance.hpp>

#include <shardweave/shardweave.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/temporary_directory.hpp"
#include "timeline/store.hpp"

namespace sw = shardweave;
using namespace timeline;

namespace {

/// A shard with two buckets of every sample text, five of them at each time, and of every integer.
class sample_shard {
public:
    sample_shard() {
        database base{shard_path(directory(), "db0"), database::access::create};
        base.run(shard_schema);
        for (const std::string author : {"author-1", "author-2"}) {
            std::vector<std::string> ids = sw::testing::sample_texts();
            std::ranges::copy(sw::testing::sample_bytes(), std::back_inserter(ids));
            for (std::size_t i = 0; i != ids.size(); ++i) {
                const std::int64_t at = static_cast<std::int64_t>(i / 5) * 4 - 9;
                add(base, {author, author == "author-1" ? at : at + 1, ids[i], ""});
            }
            for (const std::int64_t extreme : sw::testing::sample_integers()) {
                add(base, {author, extreme, "of " + author, ""});
            }
        }
    }

    [[nodiscard]] const std::filesystem::path& directory() const { return directory_.path(); }

    template <class Callback>
    [[nodiscard]] sw::testing::report check(const Callback& callback) const {
        return sw::testing::check_callback(newest_first, callback,
                                           {.shard = "db0",
                                            .rows = rows_,
                                            .grouping = sw::grouping::per_shard,
                                            .criteria = {"created_at", "id"}});
    }

private:
    void add(database& base, const item& row) {
        const std::string key = row.author + ":bucket-0";
        query insert = base.prepared(
            "INSERT INTO item (partition_key, created_at, id, note) VALUES (?1, ?2, ?3, ?4)");
        insert.bind(1, key).bind(2, row.created_at).bind(3, row.id).bind(4, row.note);
        insert.step();
        rows_[key].push_back(row);
    }

    test_support::temporary_directory directory_;
    std::map<std::string, std::vector<item>> rows_;
};

/// As the timeline asks, with parts of the SQL replaced.
class faulty {
public:
    faulty(const std::filesystem::path& directory, std::string part, std::string by)
        : base_(shard_path(directory, "db0"), database::access::existing), part_(std::move(part)),
          by_(std::move(by)) {}

    [[nodiscard]] sw::shard_page<item> ask(const sw::shard_query<position>& q) {
        std::string sql =
            page_sql(q.partition_keys.size(), q.way, q.after.has_value(), q.until.has_value());
        for (auto at = sql.find(part_); at != std::string::npos;
             at = sql.find(part_, at + by_.size())) {
            sql.replace(at, part_.size(), by_);
        }
        query rows = base_.prepared(sql);
        rows.bind(1, static_cast<std::int64_t>(q.limit));
        if (q.after) {
            rows.bind(2, get<0>(*q.after)).bind(3, get<1>(*q.after));
        }
        if (q.until) {
            rows.bind(4, get<0>(*q.until)).bind(5, get<1>(*q.until));
        }
        for (int parameter = 6; const std::string& key : q.partition_keys) {
            rows.bind(parameter++, key);
        }
        sw::shard_page<item> answer;
        while (rows.step()) {
            answer.items.push_back({"", rows.integer(1), std::string{rows.text(2)}, ""});
        }
        answer.more = answer.items.size() == q.limit;
        return answer;
    }

private:
    database base_;
    std::string part_;
    std::string by_;
};

}  // namespace

TEST_CASE("the timeline's callback on SQLite keeps its promises", "[timeline][conformance]") {
    const sample_shard shard;
    shard_pool shards{shard.directory(), sw::key_format{}};
    const auto report =
        shard.check([&](const sw::shard_query<position>& q) { return shards.ask(q); });
    INFO(report.text());
    CHECK(report.ok());
    CHECK(report.count(sw::testing::verdict::not_covered) == 1);  // no cursors of its own
    CHECK(report.situations_missing.empty());
    CHECK(report.remarks.empty());
}

TEST_CASE("faults in the SQL of a callback are found and explained", "[timeline][conformance]") {
    const sample_shard shard;
    const auto advice = [&](const std::string& part, const std::string& by) {
        faulty store{shard.directory(), part, by};
        std::mutex one_at_a_time;
        const auto report = shard.check([&](const sw::shard_query<position>& q) {
            const std::scoped_lock lock{one_at_a_time};
            return store.ask(q);
        });
        const auto failed = std::ranges::find(report.checks, sw::testing::verdict::failed,
                                              &sw::testing::check::result);
        INFO(report.text());
        REQUIRE(failed != report.checks.end());
        return failed->name + ": " + failed->advice;
    };
    using Catch::Matchers::ContainsSubstring;
    CHECK_THAT(advice("id DESC", "id COLLATE NOCASE DESC"),
               ContainsSubstring("order, forward") && ContainsSubstring("without regard to case"));
    CHECK_THAT(advice("id DESC", "id COLLATE RTRIM DESC"),
               ContainsSubstring("without the spaces at the end"));
    CHECK_THAT(advice("created_at, id LIMIT", "created_at, id DESC LIMIT"),
               ContainsSubstring("order, backward") && ContainsSubstring("id too"));
    CHECK_THAT(advice("(created_at, id) < (?2, ?3)", "created_at < ?2 AND ?3 = ?3"),
               ContainsSubstring("every row once, forward") && ContainsSubstring("tie"));
    CHECK_THAT(advice("(created_at, id) > (?2, ?3)", "(created_at, id) >= (?2, ?3)"),
               ContainsSubstring("every row once, backward") && ContainsSubstring("strictly"));
    CHECK_THAT(advice("(created_at, id) >= (?4, ?5)", "(created_at, id) > (?4, ?5)"),
               ContainsSubstring("until a row, forward") && ContainsSubstring("included"));
}
