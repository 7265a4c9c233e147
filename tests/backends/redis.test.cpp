// SPDX-License-Identifier: BSL-1.0
// The Redis example on a cluster of three real nodes: its callback, its fences, its moves, and what
// happens when slots move, nodes die, and answers do not come.
#include <shardweave/shardweave.hpp>
#include <shardweave/testing/conformance.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/redis_servers.hpp"
#include "backends/stores_suite.hpp"
#include "redis/move.hpp"
#include "support/generate.hpp"

namespace sw = shardweave;
using namespace redis_timeline;
using redis_timeline::newest_first;
using redis_timeline::position;
using timeline::item;
using namespace std::chrono_literals;
using test_support::slot_migration;

template <>
struct Catch::StringMaker<item> {
    static std::string convert(const item& row) {
        return row.author + "/" + std::to_string(row.created_at) + "/" + row.id;
    }
};

namespace {

/// The nodes, started once for all cases; the last one to end stops them.
test_support::redis_cluster& servers() {
    static test_support::redis_cluster started;
    return started;
}

int wipes = 0;
void wipe() {
    ++wipes;
    servers().wipe();
}

sw::routing_table first_table(const std::map<std::string, std::uint32_t>& hot = {}) {
    sw::scheme_table schemes{sw::calculated(1)};
    for (const auto& [author, buckets] : hot) {
        schemes = std::move(schemes).with(author, sw::calculated(buckets));
    }
    return {std::move(schemes), sw::shard_map::even(shard_names(6))};
}

/// Rows through a client of their own, with a router.
struct stored {
    explicit stored(sw::routing_table table, cluster_options with = servers().direct())
        : on(std::move(with)), router(std::move(table)), store(on, router.pin()->format()) {}

    void write(const std::vector<item>& rows) {
        std::map<std::string, batch> batches;
        for (const item& row : rows) {
            const sw::placement at = router.place(row.author, row.id);
            batch& to = batches.try_emplace(at.partition_key.str(), batch{at, {}}).first->second;
            to.items.push_back(row);
        }
        std::vector<batch> all;
        for (auto& [key, each] : batches) {
            all.push_back(std::move(each));
        }
        for (const written& result : store.write(all)) {
            REQUIRE_FALSE(result.refused);
        }
    }

    auto reader(sw::fan_out_options<item> how = {}) {
        return sw::fan_out{router, newest_first,
                           [this](const sw::shard_query<position>& q) { return store.ask(q); },
                           std::move(how)};
    }

    cluster on;
    sw::router router;
    bucket_store store;
};

std::vector<item> sorted(std::vector<item> rows) {
    std::ranges::sort(rows, [](const item& a, const item& b) {
        return std::tie(b.created_at, b.id) < std::tie(a.created_at, a.id);
    });
    return rows;
}

std::vector<item> posts(const std::string& author, int count) {
    std::vector<item> rows;
    for (int i = 0; i != count; ++i) {
        rows.push_back(
            {author, 1'000 + i / 3, "post-" + std::to_string(i), "note " + std::to_string(i)});
    }
    return rows;
}

/// Pages to the end; `between` is called before each but the first.
template <class Reader, class Between>
std::vector<item> all_pages(const Reader& reader, const std::string& author, std::size_t limit,
                            const Between& between) {
    std::vector<item> rows;
    sw::page_options options{.limit = limit};
    for (;;) {
        auto page = reader.page(author, options);
        std::ranges::move(page.items, std::back_inserter(rows));
        if (!page.next) {
            return rows;
        }
        options.from = page.next;
        between();
    }
}
template <class Reader>
std::vector<item> all_pages(const Reader& reader, const std::string& author, std::size_t limit) {
    return all_pages(reader, author, limit, [] {});
}

endpoint another_node(const endpoint& than) {
    for (const endpoint& each : servers().direct().seeds) {
        if (each != than) {
            return each;
        }
    }
    throw std::logic_error{"one node only"};
}

/// As a node says it.
reply error(const std::string& text) {
    const std::unique_ptr<redisReader, void (*)(redisReader*)> reader{redisReaderCreate(),
                                                                      redisReaderFree};
    const std::string bytes = "-" + text + "\r\n";
    redisReaderFeed(reader.get(), bytes.data(), bytes.size());
    void* got = nullptr;
    redisReaderGetReply(reader.get(), &got);
    return reply{static_cast<redisReply*>(got)};
}

}  // namespace

TEST_CASE("a key's slot is the one that Redis says", "[redis]") {
    INFO(test_support::replay());
    test_support::generator random;
    const std::vector<std::string> fragments{"{", "}", "{}", "a", "user", ":", "\x01\xff", "{x}"};
    cluster on{servers().direct()};
    for (int i = 0; i != 300; ++i) {
        const std::string key = random.chance(50) ? random.joined(fragments, 6) : random.bytes(12);
        const reply said = on.call_node(servers().node(0).at(), {"CLUSTER", "KEYSLOT", key});
        CAPTURE(key);
        REQUIRE(said.integer() == hash_slot(key));
    }
    STATIC_REQUIRE(hash_slot("{shard}:a") == hash_slot("shard"));
    STATIC_REQUIRE(hash_slot("123456789") == 12739);
}

TEST_CASE("shards spread over the nodes, whatever their number", "[redis]") {
    for (const std::uint32_t count : {3U, 6U, 12U, 24U, 96U}) {
        std::map<std::uint32_t, std::uint32_t> on_node;
        std::set<std::string> names;
        for (const std::string& name : shard_names(count)) {
            names.insert(name);
            ++on_node[hash_slot(bucket_key(name, "a}b{c")) * 3U / cluster_slots];
        }
        CHECK(names.size() == count);
        CHECK(on_node == std::map<std::uint32_t, std::uint32_t>{
                             {0, count / 3}, {1, count / 3}, {2, count / 3}});
    }
    CHECK_THROWS_AS(bucket_key("a}b", "key"), std::invalid_argument);
    CHECK_THROWS_AS(bucket_key("", "key"), std::invalid_argument);
}

TEST_CASE("members sort as their items do, and give them back", "[redis]") {
    INFO(test_support::replay());
    test_support::generator random;
    std::vector<item> rows;
    for (int i = 0; i != 300; ++i) {
        const auto time = static_cast<std::int64_t>(random.magnitude());
        rows.push_back({"a", random.chance(50) ? time : -time, random.bytes(3), random.bytes(3)});
    }
    for (const item& a : rows) {
        CHECK(from_member(to_member(a), "a") == a);
        CHECK(to_member(fence{sw::epoch{~std::uint64_t{0}}, fence::mode::retired}) < to_member(a));
        for (const item& b : rows) {
            const std::string first = first_member(newest_first.position_of(b));
            const auto order = newest_first.compare(b, a);  // newest first, so the other way round
            if (order != 0) {
                REQUIRE((to_member(a) < to_member(b)) == (order < 0));
            }
            REQUIRE((to_member(a) >= first && to_member(a) < beyond(first)) == (order == 0));
        }
    }
    for (const std::string bytes : {"", "\x01", "\x01short", "\x02", "\x01longer but no end"}) {
        CHECK_FALSE(from_member(bytes, "a"));
    }
}

TEST_CASE("what nodes say about slots is understood", "[redis]") {
    const endpoint asked{"10.0.0.1", 6379};
    const auto moved = parse_redirect("MOVED 3999 127.0.0.1:6381", asked);
    REQUIRE(moved);
    CHECK(moved->what == redirect::kind::moved);
    CHECK(moved->to == endpoint{"127.0.0.1", 6381});
    CHECK(parse_redirect("ASK 3999 ::1:6381", asked)->to == endpoint{"::1", 6381});
    CHECK(parse_redirect("ASK 3999 ::1:6381", asked)->what == redirect::kind::ask);
    CHECK(parse_redirect("MOVED 3999 :6381", asked)->to == endpoint{"10.0.0.1", 6381});
    CHECK(parse_redirect("MOVED 3999 ?:6381", asked)->to == endpoint{"10.0.0.1", 6381});
    for (const auto* other : {"MOVED 3999 host", "MOVED 3999 host:0", "MOVED 3999 host:65536",
                              "ERR ASK 1 a:1", "MOVED", "ASK 1 a:1x"}) {
        CHECK_FALSE(parse_redirect(other, asked));
    }
    CHECK_THROWS_AS(throw_passing(error("LOADING Redis is loading the dataset in memory"), asked),
                    sw::unavailable);
    CHECK_THROWS_AS(throw_passing(error("CLUSTERDOWN The cluster is down"), asked),
                    sw::unavailable);
    CHECK_THROWS_AS(throw_passing(error("OOM command not allowed"), asked), sw::throttled);
    CHECK_NOTHROW(throw_passing(error("WRONGTYPE Operation"), asked));
}

TEST_CASE("the callback on Redis Cluster keeps its promises", "[redis][conformance]") {
    wipe();
    stored db{first_table()};
    const std::string shard = db.router.pin()->shards().names().front();
    std::map<std::string, std::vector<item>> rows;
    for (const std::string author : {"author-1", "author-2"}) {
        std::vector<std::string> ids = sw::testing::sample_texts();
        std::ranges::copy(sw::testing::sample_bytes(), std::back_inserter(ids));
        auto& of = rows[author + ":bucket-0"];
        for (std::size_t i = 0; i != ids.size(); ++i) {
            const std::int64_t at = static_cast<std::int64_t>(i / 5) * 4 - 9;
            of.push_back(
                {author, author == "author-1" ? at : at + 1, ids[i], i % 2 == 0 ? "" : "note"});
        }
        for (const std::int64_t extreme : sw::testing::sample_integers()) {
            of.push_back({author, extreme, "of " + author, "\x01"});
        }
        const batch all{{sw::partition_key{author + ":bucket-0"},
                         shard,
                         {},
                         {},
                         {},
                         sw::selection::calculated,
                         sw::epoch{1}},
                        of};
        CHECK(db.store.write({&all, 1}).front().added == of.size());
        // A fence is a member of the set, and no row.
        db.store.set_fence(shard, author + ":bucket-0", {sw::epoch{2}, fence::mode::open});
    }
    const auto report = sw::testing::check_callback(
        newest_first, [&](const sw::shard_query<position>& q) { return db.store.ask(q); },
        {.shard = shard,
         .rows = rows,
         .grouping = sw::grouping::per_shard,
         .criteria = {"created_at", "id"}});
    INFO(report.text());
    CHECK(report.ok());
    CHECK(report.count(sw::testing::verdict::not_covered) == 1);  // no cursors of its own
    CHECK(report.situations_missing.empty());
    CHECK(report.remarks.empty());
}

TEST_CASE("an item replaces the one at its position, and can be removed", "[redis]") {
    wipe();
    stored db{first_table({{"author-1", 4}})};
    const item row{"author-1", 7, "post-1", "old"};
    const auto at = db.router.place(row.author, row.id);
    CHECK(db.store.write(at, row));
    CHECK_FALSE(db.store.write(at, {"author-1", 7, "post-1", "new"}));
    CHECK(db.store.write(at, {"author-1", 7, "post-10", ""}));
    const auto page = db.reader().page("author-1");
    REQUIRE(db.store.size(at.shard, at.partition_key) >= 1);
    CHECK(std::ranges::count(page.items, std::string{"new"}, &item::note) == 1);
    CHECK(std::ranges::count(page.items, std::string{"old"}, &item::note) == 0);
    db.store.remove(at, row);
    CHECK(std::ranges::count(db.reader().page("author-1").items, std::string{"post-1"},
                             &item::id) == 0);
    // The script was sent once: the nodes know it by its hash afterwards.
    CHECK(db.on.counts().scripts_sent <= 3);
}

TEST_CASE("pages go on while a slot of the cluster moves to another node", "[redis]") {
    wipe();
    stored db{first_table({{"author-1", 8}})};
    const auto rows = posts("author-1", 400);
    db.write(rows);
    const std::uint16_t slot =
        hash_slot(bucket_key(db.router.place("author-1", "post-0").shard, ""));
    const endpoint home = db.on.owner(slot);
    const auto reader = db.reader({.concurrency = 2, .grouping = sw::grouping::per_shard});

    cluster admin{servers().direct()};
    slot_migration move{admin, slot, another_node(home)};
    // Half way: some of the shard's buckets are here, some there.
    REQUIRE(move.move_keys(1) == 1);
    CHECK(all_pages(reader, "author-1", 30) == sorted(rows));
    CHECK(db.on.counts().asked > 0);
    CHECK(db.on.counts().moved == 0);
    // And written: in either place, a bucket that is new too.
    std::vector<item> more = rows;
    for (const item& row : posts("author-1", 440)) {
        if (std::ranges::find(rows, row) == rows.end()) {
            more.push_back(row);
        }
    }
    db.write(more);
    // A bucket that is nowhere yet; two keys would have to wait until the slot has moved.
    sw::placement fresh = db.router.place("author-1", "post-0");
    fresh.partition_key = sw::partition_key{"nobody"};
    CHECK(db.store.write(fresh, {"nobody", 1, "first", ""}));
    CHECK(db.on.counts().tried_again == 0);
    move.finish();
    CHECK(all_pages(reader, "author-1", 30) == sorted(more));
    const auto moved = db.on.counts().moved;
    CHECK(moved > 0);
    // What was told once is known.
    CHECK(all_pages(reader, "author-1", 30) == sorted(more));
    CHECK(db.on.counts().moved == moved);
    CHECK(db.on.owner(slot) != home);

    // Back again, while pages are read all the time.
    std::atomic<int> walks{0};
    std::atomic<int> wrong{0};
    const std::jthread walker{[&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            try {
                wrong += all_pages(reader, "author-1", 30) != sorted(more);
            } catch (const std::exception&) {
                ++wrong;
            }
            ++walks;
        }
    }};
    for (int round = 0; round != 4; ++round) {
        slot_migration again{admin, slot, another_node(slot_migration::owner_of(admin, slot))};
        while (again.move_keys(1) != 0) {
            std::this_thread::sleep_for(5ms);
        }
        again.finish();
    }
    CHECK(walks > 0);
    CHECK(wrong == 0);
    if (slot_migration::owner_of(admin, slot) != home) {
        slot_migration{admin, slot, home}.finish();
    }
}

TEST_CASE("keys on their way are waited for, and not for ever", "[redis]") {
    wipe();
    cluster on{servers().direct()};
    const std::vector<std::string> keys{"{pair}a", "{pair}b"};
    for (const std::string& key : keys) {
        static_cast<void>(checked(on.call({{"SET", key, "1"}}), "SET"));
    }
    const command both{{"MGET", keys[0], keys[1]}, 1, 2};
    const std::uint16_t slot = hash_slot(keys[0]);
    cluster admin{servers().direct()};
    const endpoint home = admin.owner(slot);
    slot_migration move{admin, slot, another_node(home)};
    move.move_key(keys[0]);

    CHECK_THROWS_AS(on.call(both), sw::unavailable);
    const auto tries = on.counts().tried_again;
    CHECK(tries > 0);
    CHECK(tries <= 9);
    CHECK_THROWS_AS(on.call(both, {sw::deadline::after(std::chrono::steady_clock::now(), 20ms)}),
                    sw::timed_out);

    const std::jthread mover{[&] {
        std::this_thread::sleep_for(15ms);
        move.move_key(keys[1]);
    }};
    const reply got = on.call(both);
    REQUIRE(got.size() == 2);
    CHECK(got[1].text() == "1");
    move.finish();
    slot_migration back{admin, slot, home};
    back.finish();

    CHECK_THROWS_AS(on.call({{"MGET", "a", "b"}, 1, 2}), std::invalid_argument);
}

TEST_CASE("a node that dies in the middle of a page is a typed error, and the page goes on when it "
          "is back",
          "[redis][faults]") {
    wipe();
    stored db{first_table({{"author-1", 8}})};
    const auto rows = posts("author-1", 300);
    db.write(rows);
    std::atomic<int> asked{0};
    std::atomic<bool> armed{false};
    const std::string victim_shard = db.router.place("author-1", "post-0").shard;
    auto& victim = servers().node_at(db.on.owner(hash_slot(bucket_key(victim_shard, ""))));
    const sw::fan_out reader{db.router, newest_first,
                             [&](const sw::shard_query<position>& q) {
                                 ++asked;
                                 // In the middle: some sources have answered, and the rest finds it
                                 // dead.
                                 if (armed && q.shard == victim_shard) {
                                     armed = false;
                                     victim.process().kill();
                                 }
                                 return db.store.ask(q);
                             },
                             sw::fan_out_options<item>{.attempts = {.most = 2}}};

    auto page = reader.page("author-1", {.limit = 40});
    std::vector<item> got = page.items;
    const auto before = page.next;
    armed = true;
    asked = 0;
    for (int attempt = 0; attempt != 3; ++attempt) {
        std::optional<sw::errc> code;
        try {
            static_cast<void>(reader.page("author-1", {.limit = 40, .from = before}));
        } catch (const sw::failure& why) {
            code = why.code();
            CHECK_THAT(why.what(), Catch::Matchers::ContainsSubstring("127.0.0.1"));
        }
        CHECK(code == sw::errc::unavailable);
    }
    CHECK(asked <= 3 * 2 * 16);

    // The rest without it, marked as such.
    const auto skipping = db.reader({.on_failure = sw::on_failure::skip, .attempts = {.most = 1}});
    const auto partly = skipping.page("author-1", {.limit = 40, .from = before});
    CHECK_FALSE(partly.complete());

    victim.process().restart();
    servers().wait_until_whole();
    sw::page_options options{.limit = 40, .from = before};
    for (;;) {
        page = reader.page("author-1", options);
        std::ranges::move(page.items, std::back_inserter(got));
        if (!page.next) {
            break;
        }
        options.from = page.next;
    }
    CHECK(got == sorted(rows));
}

TEST_CASE("a node that hangs is not waited for longer than the caller does", "[redis][faults]") {
    wipe();
    stored db{first_table({{"author-1", 8}}), servers().through_proxies()};
    const auto rows = posts("author-1", 100);
    db.write(rows);
    const std::string shard = db.router.place("author-1", "post-0").shard;
    const auto key = db.router.place("author-1", "post-0").partition_key.str();
    auto& victim = servers().node_at(db.on.owner(hash_slot(bucket_key(shard, ""))));
    const auto count = [&] { return db.store.size(shard, key); };
    const auto items = count();
    const command read{{"ZLEXCOUNT", bucket_key(shard, key), "-", "+"}};

    victim.proxy().delay(3'000ms);
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(db.on.call(read, {sw::deadline::after(start, 60ms)}), sw::timed_out);
    std::stop_source nobody;
    std::thread stopper{[&] {
        std::this_thread::sleep_for(50ms);
        nobody.request_stop();
    }};
    CHECK_THROWS_AS(db.on.call(read, {{}, nobody.get_token()}), sw::timed_out);
    stopper.join();
    CHECK_THROWS_AS(db.reader().page("author-1", {.deadline = sw::deadline::after(
                                                      std::chrono::steady_clock::now(), 60ms)}),
                    sw::failure);
    CHECK(std::chrono::steady_clock::now() - start < 1'500ms);
    victim.proxy().calm();
    // The late answers are nobody's.
    CHECK(count() == items);
    CHECK(all_pages(db.reader(), "author-1", 7) == sorted(rows));
}

TEST_CASE("a node whose memory is full is throttled", "[redis][faults]") {
    wipe();
    stored db{first_table()};
    const auto at = db.router.place("author-1", "post-1");
    const endpoint node = db.on.owner(hash_slot(bucket_key(at.shard, "")));
    static_cast<void>(db.on.call_node(node, {"CONFIG", "SET", "maxmemory", "1"}));
    CHECK_THROWS_AS(db.store.write(at, {"author-1", 1, "post-1", ""}), sw::throttled);
    static_cast<void>(db.on.call_node(node, {"CONFIG", "SET", "maxmemory", "0"}));
    CHECK(db.store.write(at, {"author-1", 1, "post-1", ""}));
}

TEST_CASE("the program loads, reads, moves, grows, and says what is wrong", "[redis][program]") {
    const char* path = std::getenv("SHARDWEAVE_REDIS_TIMELINE");
    if (path == nullptr) {
        SKIP("the example is not built");
    }
    wipe();
    const std::string nodes = " --nodes " + servers().node(1).at().text();
    int code = 0;
    const auto run = [&](const std::string& arguments) {
        const std::string line = "'" + std::string{path} + "' " + arguments + " 2>&1 </dev/null";
        FILE* const out = ::popen(line.c_str(), "r");
        REQUIRE(out != nullptr);
        std::string text;
        for (int c = 0; (c = std::fgetc(out)) != EOF;) {
            text += static_cast<char>(c);
        }
        code = WEXITSTATUS(::pclose(out));
        return text;
    };
    const auto says = [](const std::string& text) {
        return Catch::Matchers::ContainsSubstring(text);
    };
    const std::string excerpt = SHARDWEAVE_EXCERPT;
    CHECK_THAT(run("read author-1" + nodes), says("load a history first"));
    CHECK(code == 2);
    CHECK_THAT(run("load '" + excerpt + "' --hot author-1=8" + nodes),
               says("12,000 new rows loaded, 0 there already, 0 malformed"));
    CHECK(code == 0);
    const std::string page = run("read author-1 --limit 7" + nodes);
    CHECK_THAT(page, says("7 rows returned"));
    const auto token = page.substr(page.find("--page"),
                                   page.find('\n', page.find("--page")) - page.find("--page"));
    const auto rows = [](const std::string& text) { return text.substr(0, text.find("\n\n")); };
    const std::string second = rows(run("read author-1 --limit 7 " + token + nodes));
    CHECK_THAT(run("move author-1:bucket-3 " + shard_names(12)[7] + nodes), says("items moved"));
    CHECK(code == 0);
    CHECK_THAT(run("grow author-1=16" + nodes), says("8 partition keys before, 16 after"));
    CHECK(rows(run("read author-1 --limit 7 --per-shard --concurrency 4 " + token + nodes)) ==
          second);
    CHECK_THAT(run("load '" + excerpt + "'" + nodes), says("0 new rows loaded, 12,000 there"));
    CHECK_THAT(run("shards" + nodes), says("epoch is 3"));
    CHECK_THAT(run("load '" + excerpt + "' --hot author-1=5" + nodes), says("already"));
    CHECK(code == 2);
    CHECK_THAT(run("read author-2 " + token + nodes), says("page token was refused"));
    CHECK(code == 2);
    CHECK_THAT(run("move author-1 nowhere" + nodes), says("there is no shard nowhere"));
    CHECK(code == 2);
    CHECK_THAT(run("read author-1 --nodes localhost"), says("use HOST:PORT"));
    CHECK(code == 2);
    CHECK_THAT(run("read author-1 --nodes 127.0.0.1:1"), says("127.0.0.1:1: Connection refused"));
    CHECK(code == 1);
}

TEST_CASE("the routing table in a key is replaced by one of several at once", "[redis]") {
    wipe();
    cluster on{servers().direct()};
    routing_key source{on};
    CHECK_FALSE(source.load());
    const auto table = first_table();
    CHECK(source.compare_and_swap(sw::epoch{1}, sw::encode(first_table().with_schemes(
                                                    sw::scheme_table{sw::calculated(2)}))) ==
          sw::swap_result::conflict);
    CHECK(source.compare_and_swap(std::nullopt, sw::encode(table)) == sw::swap_result::stored);
    CHECK(source.compare_and_swap(std::nullopt, sw::encode(table)) == sw::swap_result::conflict);
    CHECK(source.changed());
    CHECK(sw::decode(*source.load()) == table);
    CHECK_FALSE(source.changed());

    std::atomic<int> won{0};
    std::vector<std::thread> writers;
    for (int i = 0; i != 4; ++i) {
        writers.emplace_back([&, i] {
            routing_key mine{on};
            const auto next = table.with_shards(table.shards().with_owner(
                sw::slot_index{static_cast<std::uint32_t>(i)}, table.shards().names().back()));
            won +=
                mine.compare_and_swap(table.epoch(), sw::encode(next)) == sw::swap_result::stored;
        });
    }
    for (std::thread& each : writers) {
        each.join();
    }
    CHECK(won == 1);
    CHECK(source.changed());
}

TEST_CASE("after the seal, a writer with the old table is refused", "[redis][fence]") {
    wipe();
    stored db{first_table({{"author-1", 4}})};
    const auto rows = posts("author-1", 60);
    db.write(rows);
    routing_key source{db.on};
    sw::routing_table table = *db.router.pin();
    REQUIRE(source.compare_and_swap(std::nullopt, sw::encode(table)) == sw::swap_result::stored);
    const sw::placement before = db.router.place("author-1", "post-0");
    const auto& names = table.shards().names();
    const std::string target = before.shard == names.back() ? names.front() : names.back();
    mover moves{db.store, source};
    const auto report = moves.move(table, before.partition_key, target);
    CHECK(report.from == before.shard);
    CHECK(report.items == db.store.size(target, before.partition_key));
    CHECK(db.store.size(before.shard, before.partition_key) == 0);

    const item late{"author-1", 5'000, "post-0-late", ""};
    const auto refused = [&](const auto& write) {
        try {
            write();
            return sw::epoch{0};
        } catch (const sw::stale_route& why) {
            return why.seen();
        }
    };
    CHECK(refused([&] { db.store.write(before, late); }) == sw::epoch{2});
    CHECK(refused([&] { db.store.remove(before, rows.front()); }) == sw::epoch{2});
    CHECK(db.store.size(before.shard, before.partition_key) == 0);
    // A reader with the old table is told as well, instead of finding nothing; a refresher gets
    // both of them the new one.
    const auto reader = db.reader();
    CHECK_THROWS_AS(reader.page("author-1"), sw::failure);
    auto expected = rows;
    sw::refresher fresh{db.router, source};
    CHECK(fresh.with_routes([&] { return reader.page("author-1", {.limit = 7}); }).items.size() ==
          7);
    CHECK(db.router.epoch() == sw::epoch{2});
    expected.push_back({"author-1", 5'000, "post-0", "late"});
    CHECK(fresh.with_route("author-1", "post-0", [&](const sw::placement& at) {
        return at.shard == target && db.store.write(at, expected.back());
    }));
    CHECK(all_pages(reader, "author-1", 7) == sorted(expected));

    // A first item that comes by an old table after the move is found by the next `finish`.
    const sw::slot_index slot = table.shards().slot_of(before.partition_key.str());
    std::string stray = "stray-0";
    for (int i = 0; table.shards().slot_of(stray) != slot; ++i) {
        stray = "stray-" + std::to_string(i);
    }
    sw::placement wrong = before;
    wrong.partition_key = sw::partition_key{stray};
    CHECK(db.store.write(wrong, {stray, 1, "first", ""}));
    moves.finish(table, slot);
    CHECK(db.store.size(target, stray) == 1);
    CHECK(refused([&] { db.store.write(wrong, {stray, 1, "first", ""}); }) == sw::epoch{2});
    // And there again: nothing is left to do, nothing changes.
    moves.move(table, before.partition_key, target);
    CHECK(all_pages(db.reader(), "author-1", 7) == sorted(expected));
}

TEST_CASE("a move that was cut off anywhere is finished by the same call", "[redis][fence]") {
    wipe();
    stored db{first_table({{"author-1", 4}})};
    auto expected = posts("author-1", 80);
    db.write(expected);
    routing_key source{db.on};
    REQUIRE(source.compare_and_swap(std::nullopt, sw::encode(*db.router.pin())) ==
            sw::swap_result::stored);
    const auto bucket = db.router.place("author-1", "post-0").partition_key;
    const auto reader = db.reader();
    int cut_off = 0;
    int moved = 0;
    for (std::size_t call = 1; call != 40; ++call) {
        CAPTURE(call);
        sw::routing_table table = sw::decode(*source.load());
        const auto& names = table.shards().names();
        const std::string from = table.shards().owner(table.shards().slot_of(bucket.str()));
        const std::string to = names[(call * 5 + 1) % names.size()];
        const std::string& struck = call % 2 == 0 ? from : to;
        auto& proxy =
            servers()
                .node_at(slot_migration::owner_of(db.on, hash_slot(bucket_key(struck, ""))))
                .proxy();
        cluster frail{servers().through_proxies()};
        bucket_store store{frail, table.format()};
        routing_key own{frail};
        static_cast<void>(frail.masters());
        proxy.reset_at(call / 2 + 1);
        try {
            mover{store, own}.move(table, bucket, to);
        } catch (const sw::unavailable&) {
            ++cut_off;
        }
        proxy.calm();
        table = sw::decode(*source.load());
        mover{db.store, source}.move(table, bucket, to);
        moved += from != to;
        static_cast<void>(db.router.publish(table));
        const item row{"author-1", 2'000 + static_cast<std::int64_t>(call), "post-0", "after"};
        REQUIRE(db.store.write(db.router.place("author-1", "post-0"), row));
        expected.push_back(row);
        REQUIRE(all_pages(reader, "author-1", 50) == sorted(expected));
    }
    CHECK(moved > 20);
    CHECK(cut_off > 20);
}

TEST_CASE("no write is lost while its bucket moves back and forth", "[redis][fence]") {
    wipe();
    stored db{first_table({{"author-1", 4}})};
    routing_key source{db.on};
    sw::routing_table table = *db.router.pin();
    REQUIRE(source.compare_and_swap(std::nullopt, sw::encode(table)) == sw::swap_result::stored);
    std::vector<std::vector<item>> acknowledged(2);
    std::vector<std::jthread> writers;
    for (std::size_t w = 0; w != acknowledged.size(); ++w) {
        writers.emplace_back([&, w](const std::stop_token& stop) {
            stored mine{first_table({{"author-1", 4}})};
            routing_key own{mine.on};
            sw::refresher fresh{mine.router, own, {.minimum_interval = 1ms}};
            for (int i = 0; !stop.stop_requested(); ++i) {
                const item row{"author-1", i, std::to_string(w) + "-" + std::to_string(i), ""};
                try {
                    fresh.with_route(row.author, row.id, [&](const sw::placement& at) {
                        return mine.store.write(at, row);
                    });
                    acknowledged[w].push_back(row);
                } catch (const sw::failure&) {
                    continue;  // not acknowledged: the table was not there in time
                }
            }
        });
    }
    mover moves{db.store, source};
    const auto bucket = db.router.place("author-1", "post-0");
    const auto names = table.shards().names();
    for (int round = 0; round != 20; ++round) {
        moves.move(table, bucket.partition_key,
                   names[static_cast<std::size_t>(round) % names.size()]);
        std::this_thread::sleep_for(10ms);
    }
    std::vector<item> expected;
    for (std::size_t w = 0; w != writers.size(); ++w) {
        writers[w].request_stop();
        writers[w].join();
        std::ranges::copy(acknowledged[w], std::back_inserter(expected));
    }
    CHECK(expected.size() > 100);
    REQUIRE(db.router.publish(table) == sw::publish_result::published);
    const auto found = all_pages(db.reader(), "author-1", 500);
    CHECK(std::ranges::includes(found, sorted(expected), [](const item& a, const item& b) {
        return newest_first.compare(a, b) < 0;
    }));
}

namespace {

/// A shard a node.
class redis_store {
public:
    static constexpr bool groups = true;

    [[nodiscard]] static std::vector<std::string> shards() {
        return shard_names(test_support::redis_cluster::size);
    }
    [[nodiscard]] stores_suite::answer ask(const stores_suite::query& asked) {
        return readers_->ask(asked);
    }
    /// Whether queries go through the proxies. Of use only for faults, and slower.
    void through_proxies(bool yes) { readers_ = yes ? &proxied_readers_ : &writers_; }

    void write(const std::string& shard, const std::string& partition_key,
               const std::vector<item>& rows) {
        const sw::placement at{sw::partition_key{partition_key}, shard,       {}, {}, {},
                               sw::selection::calculated,        sw::epoch{1}};
        for (std::size_t from = 0; from < rows.size(); from += 100) {
            const std::size_t count = std::min<std::size_t>(100, rows.size() - from);
            const auto first = rows.begin() + static_cast<std::ptrdiff_t>(from);
            const batch some{at, {first, first + static_cast<std::ptrdiff_t>(count)}};
            REQUIRE_FALSE(writers_.write({&some, 1}).front().refused);
        }
    }
    void copy(const std::string& partition_key, const std::string& from, const std::string& to) {
        writers_.copy(partition_key, from, to);
    }
    void remove(const std::string& shard, const std::string& partition_key) {
        writers_.purge(shard, partition_key);
    }

    void kill(const std::string& shard) { node(shard).process().kill(); }
    void restart(const std::string& shard) {
        node(shard).process().restart();
        servers().wait_until_whole();
    }
    void throttle(const std::string& shard) { node(shard).occupy(); }
    void calm(const std::string& shard) { node(shard).release(); }
    [[nodiscard]] test_support::fault_proxy& proxy(const std::string& shard) {
        return node(shard).proxy();
    }

private:
    test_support::redis_node& node(const std::string& shard) {
        return servers().node_at(direct_.owner(hash_slot(bucket_key(shard, ""))));
    }

    cluster direct_{servers().direct()};
    bucket_store writers_{direct_, sw::key_format{}};
    cluster proxied_{servers().through_proxies()};
    bucket_store proxied_readers_{proxied_, sw::key_format{}};
    bucket_store* readers_ = &writers_;
};

static_assert(stores_suite::served_store<redis_store>);

/// Stored once, and again when another case has wiped it away.
stores_suite::stored_history<redis_store>& history(bool with_faults = false) {
    static redis_store store;
    store.through_proxies(with_faults);
    static std::optional<stores_suite::stored_history<redis_store>> stored;
    static int wiped = 0;
    if (!stored || wiped != wipes) {
        wipe();
        wiped = wipes;
        stored.emplace(store, stores_suite::read_history(SHARDWEAVE_EXCERPT));
    }
    return *stored;
}

}  // namespace

TEST_CASE("pages of Redis Cluster equal the sorted rows", "[redis][stores]") {
    stores_suite::pages_equal_the_sorted_rows(history());
}

TEST_CASE("pages of Redis Cluster lose nothing while buckets move and a key grows",
          "[redis][stores]") {
    stores_suite::pages_while_buckets_move_and_a_key_grows(history());
}

TEST_CASE("no fault of a node loses or repeats a row of Redis Cluster", "[redis][stores]") {
    SECTION("a kill") {
        stores_suite::a_killed_server_ends_the_page_and_not_the_traversal(history(true));
    }
    SECTION("a reset") {
        stores_suite::a_connection_reset_at_any_call_is_tried_again(history(true));
    }
    SECTION("a cut") { stores_suite::an_answer_cut_short_is_no_answer(history(true)); }
    SECTION("a slow node") {
        stores_suite::a_slow_shard_holds_up_no_page_beyond_its_time(history(true));
    }
    SECTION("a busy node") {
        stores_suite::throttling_is_waited_for_within_the_budget(history(true));
    }
}
