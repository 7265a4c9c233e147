// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/routing_table.hpp>

#include <shardweave/place/joined_key.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/selectors.hpp"
#include "support/tables.hpp"

using namespace shardweave;
using namespace std::string_literals;
using test_support::code_of;

namespace {

static_assert(noexcept(std::declval<const routing_table&>().epoch()));
static_assert(!std::is_default_constructible_v<routing_table>);

template <class Key, class Id>
concept can_place = requires(const routing_table& table, Key key, Id id) { table.place(key, id); };
static_assert(can_place<const char*, int> && can_place<std::string, std::string>);
static_assert(!can_place<partition_key, int>, "nothing is split twice");
static_assert(!can_place<const char*, partition_key>);
static_assert(!can_place<const char*, std::nullptr_t>, "no id is not an empty id");
static_assert(!can_place<int, int>, "a key is text: join_key makes one");

shard_map four() { return shard_map::even({"db0", "db1", "db2", "db3"}); }

std::set<std::string> texts(const auto& places) {
    std::set<std::string> found;
    for (const auto& each : places) {
        found.insert(each.partition_key.str());
    }
    return found;
}

/// A store that finds what was written under a partition key and nowhere else.
struct store {
    std::map<std::pair<std::string, std::string>, std::set<std::string>> rows;

    void put(const placement& at, const std::string& id) {
        rows[{at.shard, at.partition_key.str()}].insert(id);
    }
    [[nodiscard]] bool has(const placement& at, const std::string& id) const {
        const auto found = rows.find({at.shard, at.partition_key.str()});
        return found != rows.end() && found->second.contains(id);
    }
    [[nodiscard]] std::multiset<std::string> list(const std::vector<target>& targets) const {
        std::multiset<std::string> ids;
        for (const target& each : targets) {
            const auto found = rows.find({each.shard, each.partition_key.str()});
            if (found != rows.end()) {
                ids.insert(found->second.begin(), found->second.end());
            }
        }
        return ids;
    }
};

}  // namespace

TEST_CASE("a place names the partition key, its slot and shard, and who says so",
          "[routing_table]") {
    const routing_table table{
        scheme_table{calculated(1)}.with("author-1", calculated(8)), four(), {.epoch = epoch{7}}};
    const placement at = table.place("author-1", "post-981");
    CHECK(at.bucket == bucket_index{2});  // of the golden vectors
    CHECK(at.partition_key == "author-1:bucket-2");
    CHECK(at.slot == table.shards().slot_of("author-1:bucket-2"));
    CHECK(at.shard == table.shards().owner(at.slot));
    CHECK(at.scheme == scheme_version{1});
    CHECK(at.how == selection::calculated);
    CHECK(at.epoch == epoch{7});

    CHECK(table.place("author-42", "post-981").partition_key == "author-42");
    CHECK(table.place("author-42", "post-981").slot == slot_index{3350});
    CHECK(table.place("", "").partition_key == "");
}

TEST_CASE("an item is placed by its id, never by its key alone", "[routing_table]") {
    // A sharded table stayed hot, because the hashed value was the hot key itself.
    const routing_table table{scheme_table{calculated(20)}, four()};
    std::map<std::uint32_t, int> counted;
    for (int id = 0; id != 100'000; ++id) {
        ++counted[table.place("hot", id).bucket.value()];
    }
    CHECK(counted.size() == 20);
    for (const auto& [bucket, count] : counted) {
        CAPTURE(bucket);
        CHECK(count <= 5'750);
    }
    CHECK(table.place("hot", "hot").bucket == table.place("cold", "hot").bucket);
}

TEST_CASE("an empty id always has the same place", "[routing_table]") {
    const routing_table table{scheme_table{calculated(10)}, four()};
    const auto first = table.place("k", "");
    for (int i = 0; i != 1'000; ++i) {
        REQUIRE(table.place("k", ""s).partition_key == first.partition_key);
    }
    CHECK(first.bucket == bucket_index{7});
}

TEST_CASE("a random place is one of the candidates, and says that it is random",
          "[routing_table]") {
    // Two versions of an entity lay in two random shards, and neither get nor delete could name
    // one.
    const routing_table table{scheme_table{random(10)}, four()};
    test_support::generator any{3};
    std::set<std::string> drawn;
    for (int i = 0; i != 1'000; ++i) {
        const placement at = table.place("k", "e1", any);
        CHECK(at.how == selection::random);
        drawn.insert(at.partition_key.str());
        drawn.insert(table.place("k", "e1").partition_key.str());
    }
    CHECK(drawn == texts(table.targets("k")));
    CHECK(table.candidates("k", "e1").size() == 10);
    CHECK(texts(table.candidates("k", "e1")) == drawn);

    test_support::generator one{42};
    test_support::generator other{42};
    CHECK(table.place("k", "e1", one).bucket == table.place("k", "e1", other).bucket);
}

TEST_CASE("schemes that write the same texts share their targets", "[routing_table]") {
    const routing_table table{
        scheme_table{calculated(8)}.grow("a", calculated(16)).grow("a", calculated(4)), four()};
    const auto targets = table.targets("a");
    CHECK(targets.size() == 16);
    CHECK(texts(targets).size() == 16);
    for (const target& each : targets) {
        CHECK(each.rank == (each.bucket.value() < 4 ? 0U : 1U));
        CHECK(each.scheme == scheme_version{each.bucket.value() < 4 ? 3U : 2U});
        CHECK(each.slot == table.shards().slot_of(each.partition_key.str()));
        CHECK(each.shard == table.shards().owner(each.slot));
    }
    CHECK(std::is_sorted(targets.begin(), targets.end(),
                         [](const target& a, const target& b) { return a.rank < b.rank; }));
}

TEST_CASE("a single bucket and bucket 0 share a target exactly when they read alike",
          "[routing_table]") {
    const auto schemes = scheme_table{calculated(1)}.grow("a", calculated(8));
    const auto count = [&](suffix mode) {
        return routing_table{schemes, four(), {.format = key_format{key_format::standard, mode}}}
            .targets("a")
            .size();
    };
    CHECK(count(suffix::unless_single) == 9);
    CHECK(count(suffix::always) == 8);
    CHECK(count(suffix::unless_zero) == 8);
}

TEST_CASE("candidates come newest scheme first, one for each scheme that calculates",
          "[routing_table]") {
    const routing_table table{
        scheme_table{calculated(1)}.grow("a", random(3)).grow("a", calculated(64)), four()};
    const auto found = table.candidates("a", "post-981");
    REQUIRE(found.size() >= 4);
    CHECK(found.front().partition_key == table.place("a", "post-981").partition_key);
    CHECK(found.front().scheme == scheme_version{3});
    CHECK(found.back().partition_key == "a");
    CHECK(texts(found).size() == found.size());

    const routing_table retired{table.schemes().retire("a", scheme_version{2}), four()};
    CHECK(retired.candidates("a", "post-981").size() == 2);
    CHECK(retired.targets("a").size() == 65);
}

TEST_CASE("items written under any live scheme are found, each once", "[routing_table]") {
    // After the bucket count was changed, older rows were there but no read reached them.
    routing_table table{scheme_table{calculated(8)}, four()};
    store written;
    std::multiset<std::string> all;
    const auto write = [&](int from, int to) {
        for (int i = from; i != to; ++i) {
            const std::string id = "id" + std::to_string(i);
            written.put(table.place("k", id), id);
            all.insert(id);
        }
    };
    write(0, 100);
    std::size_t versions = 1;
    for (const std::uint32_t buckets : {16U, 4U}) {
        table = table.with_schemes(table.schemes().grow("k", calculated(buckets)));
        ++versions;
        write(static_cast<int>(versions) * 100 - 100, static_cast<int>(versions) * 100);
        CHECK(written.list(table.targets("k")) == all);
        for (const std::string& id : all) {
            const auto found = table.candidates("k", id);
            CHECK(found.size() <= versions);
            CHECK(std::count_if(found.begin(), found.end(),
                                [&](const placement& at) { return written.has(at, id); }) == 1);
        }
    }
    CHECK(table.targets("k").size() == 16);
    // Only the explicit end of the versions stops the search.
    const auto schemes =
        table.schemes().retire("k", scheme_version{1}).retire("k", scheme_version{2});
    CHECK(table.with_schemes(schemes).targets("k").size() == 4);
}

TEST_CASE("a batch goes where its items would go one by one", "[routing_table]") {
    // A bulk import forgot the salt: it succeeded, and nothing was ever read.
    const routing_table table{scheme_table{calculated(1)}.with("hot", calculated(8)), four()};
    std::vector<std::pair<std::string, std::string>> items;
    for (int i = 0; i != 100; ++i) {
        items.emplace_back(i % 2 == 0 ? "hot" : "k" + std::to_string(i), std::to_string(i));
    }
    const auto batches = table.group(items);
    std::set<std::size_t> seen;
    std::vector<std::string> shards;
    for (const shard_batch& batch : batches) {
        shards.push_back(batch.shard);
        CHECK_FALSE(batch.entries.empty());
        for (const auto& [index, at] : batch.entries) {
            seen.insert(index);
            const placement alone = table.place(items.at(index).first, items.at(index).second);
            CHECK(at.partition_key == alone.partition_key);
            CHECK(at.shard == alone.shard);
            CHECK(at.shard == batch.shard);
            CHECK(at.slot == alone.slot);
        }
        CHECK(std::is_sorted(batch.entries.begin(), batch.entries.end(),
                             [](const auto& a, const auto& b) { return a.index < b.index; }));
    }
    CHECK(seen.size() == items.size());
    CHECK(shards == std::vector<std::string>{"db0", "db1", "db2", "db3"});
    CHECK(table.group(std::vector<std::pair<std::string, int>>{}).empty());
    CHECK(table.group(std::vector{std::pair{"k", 1}, std::pair{"k", 2}}).size() == 1);
}

TEST_CASE("an ambiguous or overlong key is refused by every operation", "[routing_table]") {
    const routing_table table{scheme_table{calculated(8)}, four()};
    const std::vector<std::pair<std::string, int>> batch{{"ok", 1}, {"a:bucket-1", 2}};
    CHECK(code_of([&] { (void)table.place("a:bucket-1", 1); }) == errc::ambiguous_key);
    CHECK(code_of([&] { (void)table.candidates("a:bucket-1", 1); }) == errc::ambiguous_key);
    CHECK(code_of([&] { (void)table.targets("a:bucket-1"); }) == errc::ambiguous_key);
    CHECK(code_of([&] { (void)table.group(batch); }) == errc::ambiguous_key);
    const std::string overlong(limits::key_bytes + 1, 'k');
    CHECK(code_of([&] { (void)table.place(overlong, 1); }) == errc::limit_exceeded);
    CHECK(code_of([&] { (void)table.targets(overlong); }) == errc::limit_exceeded);
    CHECK(code_of([] {
              (void)routing_table{scheme_table{calculated(1)}.with("a:bucket-1", calculated(2)),
                                  four()};
          }) == errc::ambiguous_key);
}

TEST_CASE("a table's successor has the next epoch, and there is none after the last",
          "[routing_table]") {
    // An epoch that wrapped around to 0 would be older than every table, and be ignored for ever.
    const routing_table table{scheme_table{calculated(1)}, four()};
    CHECK(table.epoch() == epoch{1});
    CHECK(table.with_shards(four().with_shard("db4")).epoch() == epoch{2});
    CHECK(table.with_schemes(scheme_table{calculated(1)}).epoch() == epoch{2});
    CHECK(table.with_shards(four().with_shard("db4")).format() == table.format());

    const routing_table last{
        scheme_table{calculated(1)}, four(), {.epoch = epoch{~std::uint64_t{0}}}};
    CHECK(code_of([&] { (void)last.with_shards(four()); }) == errc::limit_exceeded);
    CHECK(code_of([&] { (void)last.with_schemes(last.schemes()); }) == errc::limit_exceeded);
}

TEST_CASE("a table from a backup starts above every epoch that was handed out since",
          "[routing_table]") {
    // After its state was wiped, a second owner gave out the epochs of the first one again.
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const routing_table backup = test_support::any_table(any, 8);
        const epoch seen{any.magnitude()};
        const auto most = std::max(incarnation(backup.epoch()), incarnation(seen));
        if (most == 0xffffffU) {
            REQUIRE(code_of([&] { (void)backup.restored(seen); }) == errc::limit_exceeded);
            continue;
        }
        const routing_table again = backup.restored(seen);
        REQUIRE(again.epoch() > backup.epoch());
        REQUIRE(again.epoch() > seen);
        REQUIRE(incarnation(again.epoch()) == most + 1);
        REQUIRE(incarnation(epoch{again.epoch().value() - 1}) == most);
        REQUIRE(again.schemes() == backup.schemes());
        REQUIRE(again.shards() == backup.shards());
        REQUIRE(again.format() == backup.format());
    }

    routing_table live{scheme_table{calculated(1)}, four()};
    const routing_table backup = live;
    for (int i = 0; i != 100; ++i) {
        live = live.with_shards(four());
    }
    routing_table restored = backup.restored();
    CHECK(restored.epoch() == epoch{std::uint64_t{1} << 40U});
    CHECK(restored.epoch() > live.epoch());
    // Restored twice: the old backup alone does not know of the first time.
    CHECK(backup.restored(restored.epoch()).epoch() == epoch{std::uint64_t{2} << 40U});
    // Exact where whole numbers have 53 bits.
    CHECK(incarnation(epoch{(std::uint64_t{1} << 53U) - 1}) == 8'191);
}

TEST_CASE("tables are equal when every part is", "[routing_table]") {
    const scheme_table one{calculated(1)};
    const routing_table table{one, four()};
    CHECK(table == routing_table{one, four()});
    CHECK(table != routing_table{one, four(), {.epoch = epoch{2}}});
    CHECK(table != routing_table{scheme_table{calculated(2)}, four()});
    CHECK(table != routing_table{one, shard_map::single("db0")});
    CHECK(table != routing_table{one, four(), {.format = key_format{"{key}#{bucket}"}}});
    CHECK(table !=
          routing_table{one, four(), {.format = key_format{key_format::standard, suffix::always}}});
}

TEST_CASE("adding a shard and moving one slot moves that slot's keys only", "[routing_table]") {
    const routing_table before{scheme_table{calculated(4)}, four()};
    const slot_index slot = before.place("k7", 1).slot;
    const routing_table after =
        before.with_shards(before.shards().with_shard("db4").with_owner(slot, "db4"));
    for (int key = 0; key != 1'000; ++key) {
        const auto was = before.place("k" + std::to_string(key), 1);
        const auto is = after.place("k" + std::to_string(key), 1);
        REQUIRE(is.partition_key == was.partition_key);
        REQUIRE(is.shard == (was.slot == slot ? "db4" : was.shard));
    }
}
