// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/router.hpp>

#include <shardweave/place/routing_codec.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"

using namespace shardweave;
using test_support::code_of;
using test_support::error_of;

namespace {

static_assert(!std::is_copy_constructible_v<router>, "one process, one current table");
static_assert(std::is_same_v<router::snapshot::element_type, const routing_table>);

routing_table table(std::uint64_t at, scheme_table schemes = scheme_table{calculated(1)},
                    shard_map shards = shard_map::even({"db0", "db1"}, 16)) {
    return {std::move(schemes), std::move(shards), {.epoch = epoch{at}}};
}

scheme_version version(std::uint32_t number) { return scheme_version{number}; }

/// The error of publishing `newer` over `older`; nothing may have changed when there is one.
error refused(const scheme_table& older, const scheme_table& newer) {
    router routes{table(1, older)};
    const auto before = routes.pin();
    const error reason = error_of([&] { std::ignore = routes.publish(table(2, newer)); });
    CHECK((reason.code == errc::ok) == (routes.pin() != before));
    return reason;
}

}  // namespace

TEST_CASE("a table of a higher epoch becomes the current one", "[router]") {
    router routes{table(1)};
    CHECK(routes.publish(table(2)) == publish_result::published);
    CHECK(routes.publish(table(9)) == publish_result::published);
    CHECK(routes.pin()->epoch() == epoch{9});
    CHECK(routes.place("k", 1).epoch == epoch{9});
}

TEST_CASE("an older table is ignored, and the result says so", "[router]") {
    router routes{table(5)};
    CHECK(routes.publish(table(4, scheme_table{calculated(7)})) == publish_result::outdated);
    CHECK(routes.publish(table(0)) == publish_result::outdated);
    CHECK(routes.pin()->epoch() == epoch{5});
    CHECK(*routes.pin() == table(5));
}

TEST_CASE("the same epoch with other contents is refused", "[router]") {
    // After its state was wiped, a second owner gave out the epochs of the first one again.
    router routes{table(5)};
    CHECK(routes.publish(table(5)) == publish_result::unchanged);
    const auto conflict = error_of([&] {
        std::ignore =
            routes.publish(table(5, scheme_table{calculated(1)}.grow("a", calculated(2))));
    });
    CHECK(conflict.code == errc::epoch_conflict);
    CHECK(conflict.detail.find('5') != std::string::npos);
    CHECK(*routes.pin() == table(5));
}

TEST_CASE("a process with another bucket count under the same version finds out", "[router]") {
    // A writer split by 64 and a reader by 32; both called it version 1, and both were content.
    CHECK(refused(scheme_table{calculated(64)}, scheme_table{calculated(32)}).code ==
          errc::scheme_conflict);
    CHECK(fingerprint(table(1, scheme_table{calculated(64)})) !=
          fingerprint(table(1, scheme_table{calculated(32)})));
    CHECK(refused(scheme_table{calculated(64)}, scheme_table{calculated(64, {.seed = 2})}).code ==
          errc::scheme_conflict);
    CHECK(refused(scheme_table{calculated(64)}, scheme_table{random(64)}).code ==
          errc::scheme_conflict);
}

TEST_CASE("a scheme that holds items neither changes nor disappears", "[router]") {
    const scheme_table one{calculated(1)};
    const scheme_table grown = one.grow("a", calculated(8));
    CHECK(refused(one, grown).code == errc::ok);
    CHECK(refused(one, one.grow_ordinary(calculated(2))).code == errc::ok);
    CHECK(refused(grown, grown.retire("a", version(1))).code == errc::ok);
    CHECK(refused(grown,
                  grown.grow("a", calculated(16)).retire("a", version(1)).retire("a", version(2)))
              .code == errc::ok);

    // The key's version 1 was the ordinary one, and would be another now.
    const auto changed = refused(one, one.with("a", calculated(8)));
    CHECK(changed.code == errc::scheme_conflict);
    CHECK(changed.detail.find("version 1 of the key \"a\" has other contents") !=
          std::string::npos);
    // Its version 2 would be forgotten.
    const auto gone = refused(grown, one);
    CHECK(gone.code == errc::scheme_conflict);
    CHECK(gone.detail.find("of the key \"a\"") != std::string::npos);
    CHECK(refused(one.grow_ordinary(calculated(2)), one).code == errc::scheme_conflict);
    // A version is dropped from the list instead of being marked as ended.
    const scheme_table only_second{calculated(2, {.version = version(2)})};
    const auto dropped = refused(one.grow_ordinary(calculated(2)), only_second);
    CHECK(dropped.code == errc::scheme_conflict);
    CHECK(dropped.detail.find("version 1 of the ordinary keys is missing") != std::string::npos);
    // A new version below the newest one was never the next one.
    const scheme_table third =
        scheme_table{calculated(1)}.grow_ordinary(calculated(3, {.version = version(3)}));
    const scheme_table second_and_third =
        scheme_table{calculated(1)}
            .grow_ordinary(calculated(2, {.version = version(2)}))
            .grow_ordinary(calculated(3, {.version = version(3)}));
    CHECK(refused(third, second_and_third).code == errc::scheme_conflict);
}

TEST_CASE("a retired scheme does not come back", "[router]") {
    const scheme_table grown = scheme_table{calculated(1)}.grow("a", calculated(8));
    const scheme_table retired = grown.retire("a", version(1));
    const auto back = refused(retired, grown);
    CHECK(back.code == errc::scheme_conflict);
    CHECK(back.detail.find("goes back") != std::string::npos);
    // Nor does an older one take the writes again.
    const scheme_table ordinary = scheme_table{calculated(1)}.grow_ordinary(calculated(2));
    CHECK(refused(ordinary, scheme_table{calculated(1)}).code == errc::scheme_conflict);
}

TEST_CASE("the key format and the slot count are for as long as there are items", "[router]") {
    const scheme_table schemes{calculated(8)};
    router routes{table(1, schemes)};
    const auto with_format = [&](const key_format& format) {
        return routing_table{
            schemes, shard_map::even({"db0", "db1"}, 16), {.epoch = epoch{2}, .format = format}};
    };
    CHECK(code_of([&] {
              std::ignore = routes.publish(with_format(key_format{"{key}#{bucket}"}));
          }) == errc::scheme_conflict);
    CHECK(code_of([&] {
              std::ignore =
                  routes.publish(with_format(key_format{key_format::standard, suffix::always}));
          }) == errc::scheme_conflict);
    CHECK(code_of([&] {
              std::ignore = routes.publish(table(2, schemes, shard_map::even({"db0", "db1"}, 32)));
          }) == errc::invalid_map);
    CHECK(routes.pin()->epoch() == epoch{1});
    // Shards and owners are what changes.
    CHECK(routes.publish(table(2, schemes, shard_map::even({"db7", "db8", "db9"}, 16))) ==
          publish_result::published);
}

TEST_CASE("a pinned table answers alike whatever is published meanwhile", "[router]") {
    router routes{table(1, scheme_table{calculated(8)}, shard_map::single("old", 16))};
    const auto pinned = routes.pin();
    const auto before = pinned->place("k", 1);
    std::ignore =
        routes.publish(table(2, scheme_table{calculated(8)}, shard_map::single("new", 16)));
    CHECK(pinned->place("k", 1).shard == before.shard);
    CHECK(pinned->epoch() == epoch{1});
    CHECK(routes.place("k", 1).shard == "new");
}

TEST_CASE("a pinned table outlives its router", "[router]") {
    router::snapshot pinned;
    {
        router routes{table(3)};
        pinned = routes.pin();
    }
    CHECK(pinned->epoch() == epoch{3});
}

TEST_CASE("the router's answers are its current table's", "[router]") {
    const router routes{table(1, scheme_table{calculated(8)})};
    const auto pinned = routes.pin();
    CHECK(routes.place("k", 1).partition_key == pinned->place("k", 1).partition_key);
    CHECK(routes.candidates("k", 1).size() == pinned->candidates("k", 1).size());
    CHECK(routes.targets("k").size() == 8);
    const std::vector<std::pair<std::string, int>> items{{"k", 1}};
    CHECK(routes.group(items).size() == 1);
}

TEST_CASE("readers see whole tables and an epoch that never falls", "[router][threads]") {
    // Catch2's assertions are not for threads: they count, and the test checks the counts.
    const std::uint64_t last = test_support::scaled(20'000);
    const auto at_epoch = [](std::uint64_t number) {
        return table(number, scheme_table{calculated(8)},
                     shard_map::single("at " + std::to_string(number), 16));
    };
    router routes{at_epoch(0)};
    std::atomic<std::uint64_t> torn{0};
    std::atomic<std::uint64_t> fallen{0};
    std::atomic<std::uint64_t> moved_while_pinned{0};
    std::latch begun{9};
    const auto read = [&] {
        begun.arrive_and_wait();
        epoch seen{};
        while (seen < epoch{last}) {
            const auto at = routes.place("k", 7);
            torn += at.shard != "at " + std::to_string(at.epoch.value());
            fallen += at.epoch < seen;
            seen = at.epoch;
            const auto pinned = routes.pin();
            const auto first = pinned->targets("k");
            const auto again = pinned->targets("k");
            moved_while_pinned += first.front().shard != again.back().shard;
            fallen += pinned->epoch() < seen;
            seen = pinned->epoch();
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i != 8; ++i) {
        threads.emplace_back(read);
    }
    begun.arrive_and_wait();
    for (std::uint64_t number = 1; number <= last; ++number) {
        std::ignore = routes.publish(at_epoch(number));
    }
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(torn == 0);
    CHECK(fallen == 0);
    CHECK(moved_while_pinned == 0);
    CHECK(routes.pin()->epoch() == epoch{last});
}

TEST_CASE("of several owners that publish at once one wins each epoch", "[router][threads]") {
    const std::uint64_t last = test_support::scaled(5'000);
    router routes{table(0)};
    std::atomic<std::uint64_t> others{0};
    std::vector<std::vector<std::uint64_t>> won(4);
    std::latch begun{4};
    std::vector<std::thread> threads;
    for (std::size_t owner = 0; owner != won.size(); ++owner) {
        threads.emplace_back([&, owner] {
            begun.arrive_and_wait();
            for (std::uint64_t number = 1; number <= last; ++number) {
                try {
                    const auto result = routes.publish(
                        table(number, scheme_table{calculated(1)},
                              shard_map::single("owner " + std::to_string(owner), 16)));
                    if (result == publish_result::published) {
                        won[owner].push_back(number);
                    }
                } catch (const failure& thrown) {
                    others += thrown.code() != errc::epoch_conflict;
                }
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    std::vector<std::uint64_t> all;
    for (const auto& each : won) {
        all.insert(all.end(), each.begin(), each.end());
    }
    std::sort(all.begin(), all.end());
    CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
    CHECK(all.back() == last);
    CHECK(others == 0);
    CHECK(routes.pin()->epoch() == epoch{last});
}

TEST_CASE("a reader's handle follows what is published, and keeps what it has until it looks",
          "[router][reader]") {
    router current{table(1)};
    router::reader reader{current};
    const routing_table& first = reader.table();
    CHECK(first.epoch() == epoch{1});
    CHECK(&reader.table() == &first);

    std::ignore = current.publish(table(2));
    CHECK(first.epoch() == epoch{1});
    CHECK(reader.table().epoch() == epoch{2});
}

TEST_CASE("an idle handle keeps one old table alive, and lets go of it when told",
          "[router][reader]") {
    router current{table(1)};
    router::reader reader{current};
    static_cast<void>(reader.table());
    const std::weak_ptr<const routing_table> old = current.pin();
    std::ignore = current.publish(table(2));
    CHECK_FALSE(old.expired());
    reader.release();
    CHECK(old.expired());
    CHECK(reader.table().epoch() == epoch{2});
}

TEST_CASE("handles of four threads see whole tables while tables are published back to back",
          "[router][reader][threads]") {
    router current{table(1)};
    std::atomic<bool> stop{false};
    std::atomic<bool> fell{false};
    std::vector<std::thread> threads;
    for (int i = 0; i != 4; ++i) {
        threads.emplace_back([&] {
            router::reader reader{current};
            epoch last{0};
            while (!stop.load()) {
                const routing_table& seen = reader.table();
                if (seen.epoch() < last || seen.place("key", "id").epoch != seen.epoch()) {
                    fell.store(true);
                }
                last = seen.epoch();
            }
        });
    }
    for (std::uint64_t number = 2; number <= test_support::scaled(20'000); ++number) {
        std::ignore = current.publish(table(number));
    }
    stop.store(true);
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK_FALSE(fell.load());
}

namespace {

/// A selector that routes by the same router while it is asked, and publishes in between.
struct nested_selector {
    router** routes;
    [[nodiscard]] std::string_view name() const { return "nested"; }
    [[nodiscard]] bucket_index select(std::string_view, std::uint32_t buckets,
                                      std::uint64_t) const {
        if (*routes != nullptr) {
            router& inner = **routes;
            const std::uint64_t now = inner.epoch().value();
            std::ignore = inner.publish(inner.pin()->with_shards(inner.pin()->shards()));
            CHECK(inner.place("ordinary", 1).epoch == epoch{now + 1});
            inner.release();
        }
        return bucket_index{buckets - 1};
    }
};

}  // namespace

TEST_CASE("a router's own calls answer by the current table", "[router]") {
    router routes{table(1)};
    CHECK(routes.place("author-981", 7).epoch == epoch{1});
    CHECK(routes.targets("author-981").size() == 1);
    std::ignore =
        routes.publish(table(2, scheme_table{calculated(1)}.grow("author-981", calculated(8))));
    CHECK(routes.epoch() == epoch{2});
    CHECK(routes.place("author-981", 7).epoch == epoch{2});
    CHECK(routes.targets("author-981").size() == 9);
    CHECK(routes.candidates("author-981", 7).size() == 2);
    const route to = routes.route_of("author-981", 7);
    CHECK(to.bucket == routes.pin()->place("author-981", 7).bucket);
    CHECK(to.slot == routes.pin()->place("author-981", 7).slot);
}

TEST_CASE("routers do not see one another's tables", "[router]") {
    // More routers than a thread keeps tables of, alive and dead, at addresses that are used again.
    for (std::uint64_t round = 0; round != 50; ++round) {
        std::vector<std::unique_ptr<router>> all;
        for (std::uint64_t at = 1; at != 12; ++at) {
            all.push_back(std::make_unique<router>(table(100 * round + at)));
        }
        for (int turn = 0; turn != 3; ++turn) {
            for (std::uint64_t at = 1; at != 12; ++at) {
                CHECK(all[at - 1]->place("k", 1).epoch == epoch{100 * round + at});
            }
        }
    }
}

TEST_CASE("a router lets go of a thread's table when told", "[router]") {
    router routes{table(1)};
    std::weak_ptr<const routing_table> first = routes.pin();
    std::ignore = routes.place("k", 1);
    std::ignore = routes.publish(table(2));
    CHECK_FALSE(first.expired());
    routes.release();
    CHECK(first.expired());
    CHECK(routes.place("k", 1).epoch == epoch{2});
}

TEST_CASE("a call within a call does not pull the table away", "[router]") {
    router* within = nullptr;
    router routes{table(
        1, scheme_table{calculated(1)}.with("nested", selected_by(nested_selector{&within}, 4)))};
    within = &routes;
    const placement outer = routes.place("nested", 1);
    CHECK(outer.epoch == epoch{1});
    CHECK(outer.bucket == bucket_index{3});
    CHECK(routes.epoch() == epoch{2});
    within = nullptr;
}

TEST_CASE("a thread that is ending can still route", "[router][threads]") {
    router routes{table(1)};
    std::atomic<std::uint64_t> seen{0};
    struct late {
        router* routes = nullptr;
        std::atomic<std::uint64_t>* seen = nullptr;
        ~late() {
            if (routes != nullptr) {
                *seen = routes->place("k", 1).epoch.value();
                routes->release();
            }
        }
    };
    std::thread{[&] {
        // Constructed before the thread's tables, so that it is destroyed after them.
        thread_local late at_end;
        at_end.routes = &routes;
        at_end.seen = &seen;
        std::ignore = routes.place("k", 1);
    }}.join();
    CHECK(seen == 1);
}

TEST_CASE("threads route without handles while tables are published back to back",
          "[router][threads]") {
    router routes{table(1)};
    std::atomic<bool> over{false};
    std::atomic<int> fallen{0};
    std::vector<std::thread> readers;
    for (int i = 0; i != 4; ++i) {
        readers.emplace_back([&] {
            std::uint64_t last = 0;
            while (!over) {
                const std::uint64_t now = routes.place("author-1", 7).epoch.value();
                fallen += now < last ? 1 : 0;
                last = now;
                std::ignore = routes.route_of("author-2", 7);
            }
        });
    }
    const std::uint64_t publishes = test_support::scaled(2'000);
    for (std::uint64_t at = 2; at != publishes; ++at) {
        std::ignore = routes.publish(table(at));
    }
    over = true;
    for (std::thread& each : readers) {
        each.join();
    }
    CHECK(fallen == 0);
    CHECK(routes.place("author-1", 7).epoch == epoch{publishes - 1});
}

TEST_CASE("a router places by time", "[router]") {
    using namespace std::chrono_literals;
    const item_time year{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
    const router routes{table(1, scheme_table{calculated(1)}.with(
                                     "k", time_windowed(24h, calculated(2, {.since = year}))))};
    const item_time noon{year.sys() + 36h};
    const auto want = routes.pin()->place("k", 1, noon);
    CHECK(routes.place("k", 1, noon).partition_key == want.partition_key);
    CHECK(routes.candidates("k", 1, noon).front().partition_key == want.partition_key);
    CHECK(routes.targets("k", {year, year.sys() + 48h}).size() == 4);
    CHECK(code_of([&] { std::ignore = routes.place("k", 1); }) == errc::time_required);
    CHECK(code_of([&] { std::ignore = routes.targets("k"); }) == errc::time_required);
}

namespace {

/// A selector that uses a router once more when its last table dies.
struct last_words {
    const router* routes;
    std::shared_ptr<int> alive = std::make_shared<int>(1);
    explicit last_words(const router& of) : routes(&of) {}
    last_words(const last_words&) = default;
    last_words& operator=(const last_words&) = default;
    ~last_words() {
        if (alive.use_count() == 1) {
            std::ignore = routes->epoch();
            routes->release();
        }
    }
    [[nodiscard]] static std::string_view name() { return "last words"; }
    [[nodiscard]] static bucket_index select(std::string_view, std::uint32_t, std::uint64_t) {
        return bucket_index{0};
    }
};

}  // namespace

TEST_CASE("what dies with an old table may use routers", "[router]") {
    // Enough others that one of them shares the place in which the thread keeps the table.
    std::vector<std::unique_ptr<router>> others;
    for (std::uint64_t at = 0; at != 16; ++at) {
        others.push_back(std::make_unique<router>(table(1'000 + at)));
    }
    for (const auto& other : others) {
        router mine{
            table(1, scheme_table{calculated(1)}.with("k", selected_by(last_words{*other}, 2)))};
        CHECK(mine.place("a", 1).epoch == epoch{1});
        // Other contents under the same version would be refused: the selector has a name only.
        std::ignore = mine.publish(
            table(2, scheme_table{calculated(1)}.with("k", selected_by(last_words{mine}, 2))));
        CHECK(mine.place("a", 1).epoch == epoch{2});
        CHECK(mine.epoch() == epoch{2});
        std::ignore = mine.publish(
            table(3, scheme_table{calculated(1)}.with("k", selected_by(last_words{*other}, 2))));
        CHECK(mine.place("a", 1).epoch == epoch{3});
        mine.release();
    }
}
