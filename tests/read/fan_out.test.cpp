// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/fan_out.hpp>

#include <shardweave/place/refresh.hpp>
#include <shardweave/read/token.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;
using namespace std::string_literals;
using sw::errc;
using test_support::code_of;
using test_support::error_of;
using test_support::memory_store;
using test_support::script;
using test_support::spread;

namespace {

struct post {
    std::int64_t created_at;
    std::string id;
    std::uint64_t revision = 0;
    bool deleted = false;

    friend bool operator==(const post&, const post&) = default;
};

const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));
using post_order = std::remove_const_t<decltype(newest)>;
using post_query = sw::shard_query<post_order::position_type>;
using post_store = memory_store<post_order>;
using posts = std::vector<post>;

const auto numbers = sw::oldest_first<int>(sw::unique(std::identity{}));
using number_query = sw::shard_query<std::remove_const_t<decltype(numbers)>::position_type>;
using ints = std::vector<int>;

/// Hands queries to the store, and counts them.
template <class Store>
auto asking(Store& store, std::size_t& calls) {
    return [&](const auto& query) {
        ++calls;
        return store.answer(query);
    };
}
template <class Store>
auto asking(Store& store) {
    return [&](const auto& query) { return store.answer(query); };
}

using post_reader =
    decltype(sw::fan_out{std::declval<const sw::router&>(), newest,
                         [](const post_query&) -> sw::shard_page<post> { return {}; }});
static_assert(std::is_same_v<post_reader::item_type, post>);
static_assert(!std::is_constructible_v<post_reader, sw::router&&, post_order, int>);

/// A hot author of eight buckets on four shards, and posts of which several share a time.
struct timeline {
    explicit timeline(std::size_t count) {
        for (std::size_t i = 0; i != count; ++i) {
            const std::string id = "post-" + std::to_string(i);
            all.push_back({static_cast<std::int64_t>(i / 3), id});
            store.insert(*router.pin(), "author-1", id, all.back());
        }
        std::ranges::sort(all,
                          [](const post& a, const post& b) { return newest.compare(a, b) < 0; });
    }

    [[nodiscard]] posts part(std::size_t first, std::size_t count) const {
        const std::size_t from = std::min(first, all.size());
        const auto at = all.begin() + static_cast<std::ptrdiff_t>(from);
        return {at, at + static_cast<std::ptrdiff_t>(std::min(count, all.size() - from))};
    }

    sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(8)),
                          sw::shard_map::even({"db0", "db1", "db2", "db3"})}};
    post_store store{newest};
    posts all;
};

template <class Reader>
auto read_all(const Reader& reader, const sw::key_set& keys, std::size_t limit) {
    std::vector<typename Reader::item_type> items;
    std::optional<sw::cursor> from;
    do {
        auto page = reader.page(keys, {.limit = limit, .from = from});
        REQUIRE(page.items.size() <= limit);
        items.insert(items.end(), page.items.begin(), page.items.end());
        from = std::move(page.next);
    } while (from);
    return items;
}

/// Pages of numbers from a script, for keys on shards S0, S1 and so on.
template <class Item>
struct scripted {
    sw::router router;
    script<Item> answers;
    explicit scripted(std::uint32_t sources) : router{spread("feed", sources)} {}
};

template <class Item>
sw::shard_page<Item> last(std::vector<Item> items) {
    return {.items = std::move(items), .more = false, .cursor = {}};
}
template <class Item>
sw::shard_page<Item> more(std::vector<Item> items, std::string cursor = {}) {
    return {.items = std::move(items), .more = true, .cursor = std::move(cursor)};
}

}  // namespace

TEST_CASE("pages forward, and back again, are the whole list", "[fan_out]") {
    for (const std::size_t count : {0U, 1U, 7U, 50U}) {
        const timeline feed{count};
        const sw::fan_out reader{feed.router, newest, asking(feed.store)};
        for (const std::size_t limit : {1U, 2U, 3U, 7U, 20U, 100U}) {
            CAPTURE(count, limit);
            std::vector<posts> there;
            std::optional<sw::cursor> from;
            std::optional<sw::cursor> back;
            do {
                auto page = reader.page("author-1", {.limit = limit, .from = from});
                REQUIRE(page.items == feed.part(there.size() * limit, limit));
                REQUIRE(page.complete());
                REQUIRE(page.previous.has_value() == !there.empty());
                there.push_back(page.items);
                from = page.next;
                back = page.previous;
            } while (from);
            REQUIRE(there.size() == std::max<std::size_t>(1, (count + limit - 1) / limit));

            for (std::size_t at = there.size() - 1; at != 0; --at) {
                REQUIRE(back);
                auto page = reader.page("author-1", {.limit = limit, .from = back});
                REQUIRE(page.items == there[at - 1]);
                REQUIRE(page.next);
                REQUIRE(reader.page("author-1", {.limit = limit, .from = page.next}).items ==
                        there[at]);
                back = page.previous;
                REQUIRE(back.has_value() == (at != 1));
            }
        }
    }
}

TEST_CASE("versions of one entity that a random scheme scattered come back in their order",
          "[fan_out]") {
    // The shards were read one after another, and a reader met version 2 before version 1.
    struct change {
        std::uint64_t version;
        std::string entity;
        bool operator==(const change&) const = default;
    };
    const auto by_version = sw::oldest_first(&change::version, sw::unique(&change::entity));
    const sw::router router{sw::routing_table{sw::scheme_table{sw::random(8)},
                                              sw::shard_map::even({"S0", "S1", "S2"})}};
    memory_store store{by_version};
    std::vector<change> all;
    for (std::uint64_t i = 0; i != 50; ++i) {
        all.push_back({i, "e1"});
        store.insert(*router.pin(), "e1", std::to_string(i), all.back());
    }
    const sw::fan_out reader{router, by_version, asking(store)};
    CHECK(read_all(reader, "e1", 7) == all);
}

TEST_CASE("a page of another size goes on at the same place", "[fan_out]") {
    const timeline feed{20};
    const sw::fan_out reader{feed.router, newest, asking(feed.store)};
    const auto first = reader.page("author-1", {.limit = 5});
    CHECK(reader.page("author-1", {.limit = 2, .from = first.next}).items == feed.part(5, 2));
    CHECK(reader.page("author-1", {.limit = 9, .from = first.next}).items == feed.part(5, 9));
}

TEST_CASE("behind the end is an empty page, from which both ways lead back", "[fan_out]") {
    // A store that can not tell says "more" after a full page.
    scripted<int> feed{1};
    const sw::fan_out reader{feed.router, numbers, asking(feed.answers)};
    feed.answers.then("S0", more<int>({1, 2, 3})).then("S0", last<int>({}));
    const auto full = reader.page("feed", {.limit = 3});
    CHECK(full.items == ints{1, 2, 3});
    REQUIRE(full.next);
    const auto empty = reader.page("feed", {.limit = 3, .from = full.next});
    CHECK(empty.items.empty());
    CHECK_FALSE(empty.next);
    REQUIRE(empty.previous);
    // The way back is the whole list from its other end.
    feed.answers.then("S0", more<int>({3, 2}));
    const auto back = reader.page("feed", {.limit = 2, .from = empty.previous});
    CHECK(back.items == ints{2, 3});
    CHECK_FALSE(back.next);
    REQUIRE(back.previous);
    feed.answers.then("S0", more<int>({1})).then("S0", last<int>({}));
    const auto start = reader.page("feed", {.limit = 2, .from = back.previous});
    CHECK(start.items == ints{1});
    CHECK_FALSE(start.previous);
    REQUIRE(start.next);
}

TEST_CASE("a page of no items asks nobody, and leads where its cursor led", "[fan_out]") {
    const timeline feed{20};
    std::size_t calls = 0;
    const sw::fan_out reader{feed.router, newest, asking(feed.store, calls)};
    const auto start = reader.page("author-1", {.limit = 0});
    CHECK(start.items.empty());
    CHECK_FALSE(start.previous);
    CHECK(calls == 0);
    const auto first = reader.page("author-1", {.limit = 5, .from = start.next});
    CHECK(first.items == feed.part(0, 5));
    const auto second = reader.page("author-1", {.limit = 5, .from = first.next});

    calls = 0;
    const auto onward = reader.page("author-1", {.limit = 0, .from = first.next});
    const auto back = reader.page("author-1", {.limit = 0, .from = second.previous});
    CHECK(calls == 0);
    CHECK(reader.page("author-1", {.limit = 5, .from = onward.next}).items == feed.part(5, 5));
    // Where a page leads backward is its `previous`, as on every other page.
    CHECK_FALSE(back.next);
    REQUIRE(back.previous);
    CHECK(reader.page("author-1", {.limit = 5, .from = back.previous}).items == feed.part(0, 5));
}

TEST_CASE("a page over a limit is refused before anyone is asked", "[fan_out]") {
    const timeline feed{20};
    std::size_t calls = 0;
    const sw::fan_out reader{feed.router, newest, asking(feed.store, calls)};
    const auto limited = [&](std::size_t limit) {
        return code_of([&] { (void)reader.page("author-1", {.limit = limit}); });
    };
    CHECK(limited(sw::limits::page_items + 1) == errc::limit_exceeded);
    CHECK(limited(~std::size_t{0}) == errc::limit_exceeded);
    CHECK(limited(~std::size_t{0} / 2 + 1) == errc::limit_exceeded);
    CHECK(calls == 0);
    CHECK(limited(sw::limits::page_items) == errc::ok);

    // Few enough items, and too many rows over all sources.
    const sw::router wide{sw::routing_table{sw::scheme_table{sw::calculated(4'096)},
                                            sw::shard_map::single("db", 16)}};
    const sw::fan_out wide_reader{wide, newest, asking(feed.store, calls)};
    calls = 0;
    CHECK(code_of([&] { (void)wide_reader.page("k", {.limit = 1'000}); }) == errc::limit_exceeded);
    CHECK(calls == 0);
}

TEST_CASE("a read of too many sources is refused before anyone is asked", "[fan_out]") {
    const sw::router router{sw::routing_table{sw::scheme_table{sw::calculated(4'096)},
                                              sw::shard_map::even({"db0", "db1"}, 16)}};
    std::size_t calls = 0;
    const post_store store{newest};
    const sw::fan_out reader{router, newest, asking(store, calls)};
    CHECK(code_of([&] { (void)reader.page({"a", "b"}, {.limit = 1}); }) == errc::limit_exceeded);
    CHECK(calls == 0);
    CHECK(code_of([&] { (void)reader.page("a", {.limit = 1}); }) == errc::ok);
    CHECK(calls == sw::limits::sources);

    calls = 0;
    const sw::fan_out grouped{
        router, newest, asking(store, calls), {.grouping = sw::grouping::per_shard}};
    CHECK(grouped.page({"a", "b"}, {.limit = 1}).items.empty());
    CHECK(calls == 2);
}

TEST_CASE("a concurrency of nothing is refused", "[fan_out]") {
    const timeline feed{1};
    CHECK(code_of([&] {
              const sw::fan_out reader{feed.router, newest, asking(feed.store), {.concurrency = 0}};
          }) == errc::invalid_options);
}

TEST_CASE("a key that reads as another key's bucket is refused", "[fan_out]") {
    const timeline feed{1};
    std::size_t calls = 0;
    const sw::fan_out reader{feed.router, newest, asking(feed.store, calls)};
    CHECK(code_of([&] { (void)reader.page("author-1:bucket-1"); }) == errc::ambiguous_key);
    CHECK(code_of([&] { (void)reader.page({"a", "author-1:bucket-1"}); }) == errc::ambiguous_key);
    CHECK(calls == 0);
}

TEST_CASE("several keys are read as one list, each of them once", "[fan_out]") {
    timeline feed{30};
    for (int i = 0; i != 10; ++i) {
        const post other{i, "other-" + std::to_string(i)};
        feed.store.insert(*feed.router.pin(), "author-2", other.id, other);
        feed.all.push_back(other);
    }
    std::ranges::sort(feed.all,
                      [](const post& a, const post& b) { return newest.compare(a, b) < 0; });
    std::size_t calls = 0;
    const sw::fan_out reader{feed.router, newest, asking(feed.store, calls)};
    CHECK(read_all(reader, {"author-1", "author-2"}, 7) == feed.all);
    CHECK(read_all(reader, {"author-2", "author-1", "author-2", "author-2"}, 40) == feed.all);

    calls = 0;
    const std::vector<std::string> twice{"author-1", "author-2", "author-1", "author-3"};
    const auto page = reader.page(twice, {.limit = 3});
    CHECK(page.items == feed.part(0, 3));
    CHECK(calls == 10);
    CHECK(page.stats.duplicates == 0);
    // The same set, said in another way, goes on with the same cursor.
    CHECK(
        reader.page({"author-3", "author-2", "author-1"}, {.limit = 3, .from = page.next}).items ==
        feed.part(3, 3));

    const auto nobody = reader.page(std::vector<std::string>{}, {.limit = 3});
    CHECK(nobody.items.empty());
    CHECK_FALSE(nobody.next);
}

TEST_CASE("a key set is made of texts of any kind, and of ranges of them", "[fan_out]") {
    using keys = std::vector<std::string>;
    CHECK(sw::key_set{"a"}.keys() == keys{"a"});
    CHECK(sw::key_set{"a"s}.keys() == keys{"a"});
    CHECK(sw::key_set{std::string_view{"a\0b", 3}}.keys() == keys{"a\0b"s});
    CHECK(sw::key_set{""}.keys() == keys{""});
    CHECK(sw::key_set{"a", "b"s}.keys() == keys{"a", "b"});
    CHECK(sw::key_set{std::array{"a", "b"}}.keys() == keys{"a", "b"});
    CHECK(sw::key_set{keys{"a", "b"}}.keys() == keys{"a", "b"});
    const sw::key_set some{"a", "b"};
    CHECK(sw::key_set{some}.keys() == keys{"a", "b"});
}

TEST_CASE("grouped by shard, each shard is asked once for all its partition keys", "[fan_out]") {
    const timeline feed{60};
    std::map<std::string, std::size_t> calls;
    std::vector<std::string> asked;
    const sw::fan_out grouped{feed.router,
                              newest,
                              [&](const post_query& query) {
                                  ++calls[query.shard];
                                  asked.insert(asked.end(), query.partition_keys.begin(),
                                               query.partition_keys.end());
                                  return feed.store.answer(query);
                              },
                              {.grouping = sw::grouping::per_shard}};
    const auto page = grouped.page("author-1", {.limit = 20});
    CHECK(page.items == feed.part(0, 20));
    std::vector<std::string> expected;
    std::map<std::string, std::size_t> once;
    for (const sw::target& each : feed.router.targets("author-1")) {
        expected.push_back(each.partition_key);
        once[each.shard] = 1;
    }
    if (page.stats.rounds == 1) {
        CHECK(calls == once);
        std::ranges::sort(asked);
        std::ranges::sort(expected);
        CHECK(asked == expected);
    }
    CHECK(page.stats.shards_contacted == once.size());
    CHECK(read_all(grouped, "author-1", 7) == feed.all);
}

TEST_CASE("a cursor of another query is refused before anyone is asked", "[fan_out]") {
    // Offered to another endpoint, one was accepted, and the page came back empty or wrong.
    const timeline feed{30};
    std::size_t calls = 0;
    const sw::fan_out reader{feed.router, newest, asking(feed.store, calls)};
    const sw::fan_out oldest{feed.router,
                             sw::oldest_first(&post::created_at, sw::unique(&post::id)),
                             [](const auto&) -> sw::shard_page<post> { return {}; }};
    const sw::fan_out by_change{feed.router, newest.named("by change"), asking(feed.store, calls)};
    const auto page = reader.page("author-1", {.limit = 5, .filter = "kind = 1"});
    const sw::page_options with{.limit = 5, .from = page.next, .filter = "kind = 1"};
    calls = 0;
    CHECK(code_of([&] { (void)reader.page("author-2", with); }) == errc::cursor_mismatch);
    CHECK(code_of([&] { (void)reader.page({"author-1", "author-2"}, with); }) ==
          errc::cursor_mismatch);
    CHECK(code_of([&] { (void)reader.page("author-1", {.limit = 5, .from = page.next}); }) ==
          errc::cursor_mismatch);
    CHECK(code_of([&] { (void)oldest.page("author-1", with); }) == errc::cursor_mismatch);
    CHECK(code_of([&] { (void)by_change.page("author-1", with); }) == errc::cursor_mismatch);
    CHECK(calls == 0);
    CHECK(reader.page("author-1", with).items == feed.part(5, 5));
}

TEST_CASE("a token goes on where its page ended, for its own caller and query only", "[fan_out]") {
    const timeline feed{30};
    std::size_t calls = 0;
    const sw::fan_out reader{feed.router, newest, asking(feed.store, calls)};
    const sw::checksummed sealer;
    const auto page = reader.page("author-1", {.limit = 5});
    const std::string token = sealer.seal(page.next.value(), "tenant-7");
    calls = 0;
    const auto use = [&](std::string_view text, std::string_view tenant, std::string_view key) {
        return code_of(
            [&] { (void)reader.page(key, {.limit = 5, .from = sealer.open(text, tenant)}); });
    };
    CHECK(use(token, "tenant-8", "author-1") == errc::token_invalid);
    CHECK(use(token, "tenant-7", "author-2") == errc::token_invalid);
    CHECK(use("AAAA", "tenant-7", "author-1") == errc::token_invalid);
    CHECK(use("", "tenant-7", "author-1") == errc::token_malformed);
    CHECK(calls == 0);

    std::optional<sw::cursor> from = sealer.open(token, "tenant-7");
    posts items = page.items;
    for (; from; from = from ? std::optional{sealer.open(sealer.seal(*from))} : std::nullopt) {
        auto next = reader.page("author-1", {.limit = 7, .from = from});
        items.insert(items.end(), next.items.begin(), next.items.end());
        from = std::move(next.next);
    }
    CHECK(items == feed.all);
}

TEST_CASE("a boundary that is no position is refused, whatever vouches for it", "[fan_out]") {
    const timeline feed{30};
    std::size_t calls = 0;
    const sw::fan_out reader{feed.router, newest, asking(feed.store, calls)};
    const auto bound = sw::binding::of(newest.fingerprint(), {"author-1"}, "");
    const sw::checksummed sealer;
    const std::string right = newest.encode(newest.position_of(feed.all[4]));
    for (const std::string& boundary : {"x"s, right + "x", right.substr(0, right.size() - 1)}) {
        const sw::cursor forged{
            sw::cursor::state{bound, sw::scan::forward, boundary, sw::epoch{1}}};
        CHECK(code_of([&] {
                  (void)reader.page("author-1", {.from = sealer.open(sealer.seal(forged))});
              }) == errc::token_malformed);
    }
    CHECK(calls == 0);
}

TEST_CASE("at most as many queries run at a time as allowed, and the result is the same",
          "[fan_out]") {
    // A hundred shards were asked at once, and the pool behind them broke down.
    const sw::router router{sw::routing_table{sw::scheme_table{sw::calculated(100)},
                                              sw::shard_map::even({"db0", "db1", "db2"})}};
    post_store store{newest};
    for (int i = 0; i != 400; ++i) {
        const post each{i / 5, "post-" + std::to_string(i)};
        store.insert(*router.pin(), "feed", each.id, each);
    }
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    const auto query = [&](const post_query& asked) {
        const int now = ++running;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds{200});
        auto page = store.answer(asked);
        --running;
        return page;
    };
    const sw::fan_out one{router, newest, query};
    const auto expected = read_all(one, "feed", 90);
    CHECK(expected.size() == 400);
    CHECK(most == 1);
    const sw::fan_out eight{router, newest, query, {.concurrency = 8}};
    CHECK(read_all(eight, "feed", 90) == expected);
    CHECK(most <= 8);
    CHECK(most > 1);
    CHECK(running == 0);
}

TEST_CASE("with a concurrency of 1 the callback runs on the calling thread", "[fan_out]") {
    const timeline feed{30};
    bool elsewhere = false;
    const auto self = std::this_thread::get_id();
    const sw::fan_out reader{feed.router, newest, [&](const post_query& query) {
                                 elsewhere = elsewhere || std::this_thread::get_id() != self;
                                 return feed.store.answer(query);
                             }};
    CHECK(read_all(reader, "author-1", 7) == feed.all);
    CHECK_FALSE(elsewhere);
}

TEST_CASE("one fan-out serves several threads, while tables are published", "[fan_out]") {
    timeline feed{90};
    const sw::fan_out reader{
        feed.router, newest, asking(std::as_const(feed.store)), {.concurrency = 3}};
    std::atomic<int> wrong{0};
    {
        std::vector<std::thread> threads;
        for (std::size_t limit = 3; limit != 7; ++limit) {
            threads.emplace_back([&, limit] {
                posts items;
                std::optional<sw::cursor> from;
                do {
                    auto page = reader.page("author-1", {.limit = limit * 5, .from = from});
                    items.insert(items.end(), page.items.begin(), page.items.end());
                    from = page.next;
                } while (from);
                wrong += items == feed.all ? 0 : 1;
            });
        }
        threads.emplace_back([&] {
            for (int i = 0; i != 20; ++i) {
                const auto table = feed.router.pin();
                std::ignore = feed.router.publish(
                    table->with_shards(table->shards().with_shard("spare-" + std::to_string(i))));
            }
        });
        for (std::thread& each : threads) {
            each.join();
        }
    }
    CHECK(wrong == 0);
}

namespace {

struct timeout : std::runtime_error {
    using std::runtime_error::runtime_error;
    int code = 42;
};

/// What is nested in the failure that the action throws: `what`, or how else it is.
template <class Action>
std::string nested_in(const Action& action) {
    try {
        action();
    } catch (const sw::failure& thrown) {
        try {
            std::rethrow_if_nested(thrown);
        } catch (const timeout& cause) {
            return "timeout " + std::to_string(cause.code);
        } catch (const std::exception& cause) {
            return cause.what();
        } catch (int number) {
            return "the number " + std::to_string(number);
        }
        return "nothing nested";
    }
    return "nothing thrown";
}

}  // namespace

TEST_CASE("what a callback throws is nested in the failure, which names the place", "[fan_out]") {
    for (const std::size_t concurrency : {1U, 4U}) {
        scripted<int> feed{1};
        const sw::fan_out reader{
            feed.router, numbers, asking(feed.answers), {.concurrency = concurrency}};
        const auto read = [&] { (void)reader.page("feed"); };
        const auto fails = [&] {
            feed.answers.then_call("S0",
                                   []() -> sw::shard_page<int> { throw timeout{"too slow"}; });
        };
        fails();
        CHECK(nested_in(read) == "timeout 42");
        fails();
        const sw::error why = error_of(read);
        CHECK(why.code == errc::shard_failed);
        CHECK(why.shard == "S0");
        CHECK(why.partition_key == "feed");
        CHECK(why.detail == "too slow");

        // Not everything that is thrown is a std::exception.
        feed.answers.then_call("S0", []() -> sw::shard_page<int> { throw 7; });
        CHECK(nested_in(read) == "the number 7");
        feed.answers.then_call("S0", []() -> sw::shard_page<int> { throw 7; });
        CHECK(code_of(read) == errc::shard_failed);
    }
}

TEST_CASE("a page whose query finds its route stale is read again by the refreshed table",
          "[fan_out][with_routes]") {
    // The exception was nested in the page's failure, and so no retry saw it.
    const auto moved = [](const sw::routing_table& before) {
        return before.with_shards(sw::shard_map::even({"db4", "db5", "db6", "db7"}));
    };
    for (const std::size_t concurrency : {1U, 4U}) {
        timeline feed{20};
        struct {
            sw::routing_table stored;
            std::optional<std::string> load() const { return sw::encode(stored); }
        } source{moved(*feed.router.pin())};
        sw::refresher follow{feed.router, source};
        post_store elsewhere{newest};
        for (const post& each : feed.all) {
            elsewhere.insert(source.stored, "author-1", each.id, each);
        }
        std::atomic<int> refused{0};
        const sw::fan_out reader{feed.router,
                                 newest,
                                 [&](const post_query& query) {
                                     if (query.epoch < source.stored.epoch()) {
                                         ++refused;
                                         throw sw::stale_route{source.stored.epoch()};
                                     }
                                     return elsewhere.answer(query);
                                 },
                                 {.concurrency = concurrency}};
        const auto page = follow.with_routes([&] { return reader.page("author-1", {.limit = 7}); });
        CHECK(page.items == feed.part(0, 7));
        CHECK(refused >= 1);
        CHECK(feed.router.pin()->epoch() == source.stored.epoch());
        CHECK(code_of([&] { (void)reader.page("author-1", {.limit = 7}); }) == errc::ok);
    }
}

TEST_CASE("a failure that no callback threw has nothing nested", "[fan_out]") {
    // The exception of a shard that was only a gap would blame it for another shard's rows.
    scripted<int> feed{2};
    feed.answers.then_call("S0", []() -> sw::shard_page<int> { throw timeout{"too slow"}; })
        .then("S1", more<int>({5, 4}));
    const sw::fan_out reader{
        feed.router, numbers, asking(feed.answers), {.on_failure = sw::on_failure::prefix}};
    CHECK(nested_in([&] { (void)reader.page("feed"); }) == "nothing nested");
}

TEST_CASE("a page that failed changes nothing: its cursor can be used again", "[fan_out]") {
    // A token that was updated on the way to the exception skipped what nobody had seen.
    timeline feed{40};
    bool down = false;
    std::size_t calls = 0;
    const sw::fan_out reader{feed.router, newest, [&](const post_query& query) {
                                 if (++calls % 5 == 0 && down) {
                                     throw timeout{"too slow"};
                                 }
                                 return feed.store.answer(query);
                             }};
    const auto first = reader.page("author-1", {.limit = 10});
    down = true;
    calls = 0;
    CHECK(code_of([&] { (void)reader.page("author-1", {.limit = 10, .from = first.next}); }) ==
          errc::shard_failed);
    // Nobody is asked any more after the first failure.
    CHECK(calls == 5);
    down = false;
    CHECK(reader.page("author-1", {.limit = 10, .from = first.next}).items == feed.part(10, 10));
}

TEST_CASE("every shard that is missing is named, and nothing is handed out", "[fan_out]") {
    // An answer that is silently partial is worse than none.
    scripted<int> feed{4};
    const sw::fan_out reader{feed.router,
                             numbers,
                             [&](const number_query& query) -> sw::shard_page<int> {
                                 if (query.shard == "S2" || query.shard == "S3") {
                                     // Late, so that both are under way together.
                                     std::this_thread::sleep_for(std::chrono::milliseconds{20});
                                     throw timeout{query.shard + " does not answer"};
                                 }
                                 return last<int>({1, 2});
                             },
                             {.concurrency = 4}};
    const sw::error why = error_of([&] { (void)reader.page("feed"); });
    CHECK(why.code == errc::shard_failed);
    CHECK(why.message().find("S2 does not answer") != std::string::npos);
    CHECK(why.message().find("S3 does not answer") != std::string::npos);
}

TEST_CASE("a prefix ends before what could be missing, names the gap, and goes on without loss",
          "[fan_out]") {
    INFO(test_support::replay());
    test_support::generator from;
    for (std::size_t round = 0; round != test_support::scaled(200); ++round) {
        const timeline feed{40};
        const std::size_t limit = from.between(1U, 15U);
        const unsigned trouble = from.between(5U, 35U);
        const std::size_t concurrency = from.chance(20) ? 3 : 1;
        std::mutex mutex;
        const sw::fan_out reader{
            feed.router,
            newest,
            [&](const post_query& query) {
                const std::scoped_lock lock{mutex};
                if (from.chance(trouble)) {
                    throw timeout{"too slow"};
                }
                post_query less = query;
                less.limit = 1 + from.below(query.limit);
                return feed.store.answer(less);
            },
            {.concurrency = concurrency, .on_failure = sw::on_failure::prefix}};
        CAPTURE(round, limit, trouble);
        const sw::scan way = from.chance(50) ? sw::scan::forward : sw::scan::backward;
        posts items;
        std::optional<sw::cursor> at;
        if (way == sw::scan::backward) {
            at = sw::cursor{sw::cursor::state{
                sw::binding::of(newest.fingerprint(), {"author-1"}, ""), way, {}, {}}};
        }
        do {
            auto page = reader.page("author-1", {.limit = limit, .from = at});
            REQUIRE((page.items.size() == limit || !page.complete() ||
                     !(way == sw::scan::forward ? page.next : page.previous)));
            for (const sw::error& gap : page.failures) {
                REQUIRE(gap.code == errc::shard_failed);
                REQUIRE(gap.shard.starts_with("db"));
            }
            if (way == sw::scan::backward) {
                std::ranges::reverse(page.items);
            }
            items.insert(items.end(), page.items.begin(), page.items.end());
            at = way == sw::scan::forward ? page.next : page.previous;
            REQUIRE((at || page.complete()));
        } while (at);
        if (way == sw::scan::backward) {
            std::ranges::reverse(items);
        }
        REQUIRE(items == feed.all);
    }
}

TEST_CASE("buckets may move and schemes may grow between two pages", "[fan_out]") {
    // After a split only one half went on from the token, and the other half's rows were skipped.
    for (const std::size_t limit : {3U, 10U}) {
        timeline feed{60};
        const sw::fan_out reader{feed.router, newest, asking(feed.store)};
        posts items;
        std::optional<sw::cursor> from;
        int pages = 0;
        do {
            auto page = reader.page("author-1", {.limit = limit, .from = from});
            items.insert(items.end(), page.items.begin(), page.items.end());
            from = page.next;
            const auto table = feed.router.pin();
            switch (++pages) {
                case 1: {
                    const sw::slot_index slot = feed.router.targets("author-1")[2].slot;
                    std::ignore = feed.router.publish(table->with_shards(
                        table->shards().with_shard("db4").with_owner(slot, "db4")));
                    break;
                }
                case 2:
                    std::ignore = feed.router.publish(
                        table->with_schemes(table->schemes().grow("author-1", sw::calculated(16))));
                    break;
                case 3:
                    std::ignore = feed.router.publish(table->with_shards(table->shards().with_owner(
                        feed.router.targets("author-1")[5].slot, "db4")));
                    break;
                default: break;
            }
            feed.store.follow(*feed.router.pin());
        } while (from);
        CHECK(items == feed.all);
        CHECK(pages > 3);
    }
}

TEST_CASE("an item that a change of scheme copied is handed out once", "[fan_out]") {
    timeline feed{40};
    const sw::fan_out reader{feed.router,
                             newest,
                             asking(feed.store),
                             {.items = {.revision = [](const post& each) { return each.revision; },
                                        .deleted = [](const post& each) { return each.deleted; }}}};
    const auto before = feed.router.pin();
    std::ignore = feed.router.publish(
        before->with_schemes(before->schemes().grow("author-1", sw::calculated(16))));
    const auto after = feed.router.pin();
    posts expected;
    std::size_t copies = 0;
    for (std::size_t i = 0; i != feed.all.size(); ++i) {
        post copy = feed.all[i];
        const bool moves = before->place("author-1", copy.id).partition_key !=
                           after->place("author-1", copy.id).partition_key;
        if (moves && i % 2 == 0) {
            copy.revision = i % 3;
            copy.deleted = i % 4 == 0;
            feed.store.insert(*after, "author-1", copy.id, copy);
            ++copies;
        } else {
            copy = feed.all[i];
        }
        // Of revisions that are equal, the newer scheme's copy counts.
        if (!copy.deleted) {
            expected.push_back(copy);
        }
    }
    REQUIRE(copies > 5);
    CHECK(read_all(reader, "author-1", 6) == expected);
    CHECK(read_all(reader, "author-1", 100) == expected);
}

TEST_CASE("where only older items are, little is asked first", "[fan_out]") {
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.grow("feed", sw::calculated(8)),
                          sw::shard_map::single("db")}};
    std::map<std::string, std::size_t> limits;
    const sw::fan_out reader{router, numbers,
                             [&](const number_query& query) -> sw::shard_page<int> {
                                 limits[query.partition_keys[0]] = query.limit;
                                 return {};
                             }};
    (void)reader.page("feed", {.limit = 20});
    CHECK(limits.size() == 9);
    CHECK(limits["feed"] == 1);
    CHECK(limits["feed:bucket-0"] > 1);
}

TEST_CASE("copies are told apart where a shard is asked for all its partition keys, too",
          "[fan_out]") {
    // Copies of one item in one answer are a source out of order; and one that is the last row of
    // an answer hides the other, which may be newer, from the next.
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(8)}.grow("feed", sw::calculated(16)),
                          sw::shard_map::single("db")}};
    const auto table = router.pin();
    post_store store{newest};
    posts expected;
    for (int i = 0; i != 60; ++i) {
        const post old{i, "post-" + std::to_string(i)};
        post copy = old;
        copy.revision = i % 4 == 0 ? 0 : 1;
        copy.deleted = i % 3 == 0;
        const auto places = router.candidates("feed", old.id);
        store.insert("db", places.back().partition_key, places.size() == 1 ? copy : old);
        if (places.size() == 2) {
            store.insert("db", places.front().partition_key, copy);
        }
        if (!copy.deleted) {
            expected.push_back(copy);
        }
    }
    std::ranges::reverse(expected);
    for (const sw::grouping by : {sw::grouping::per_partition_key, sw::grouping::per_shard}) {
        const sw::fan_out reader{
            router,
            newest,
            asking(store),
            {.grouping = by,
             .items = {.revision = [](const post& each) { return each.revision; },
                       .deleted = [](const post& each) { return each.deleted; }}}};
        for (const std::size_t limit : {1U, 2U, 7U, 100U}) {
            CAPTURE(by, limit);
            CHECK(read_all(reader, "feed", limit) == expected);
        }
    }
}

TEST_CASE("find asks the newest scheme first, and stops where the item is", "[fan_out]") {
    timeline feed{1};
    auto table = feed.router.pin();
    std::ignore = feed.router.publish(
        table->with_schemes(table->schemes().grow("author-1", sw::calculated(5))));
    table = feed.router.pin();
    std::ignore = feed.router.publish(
        table->with_schemes(table->schemes().grow("author-1", sw::calculated(7))));
    const sw::fan_out reader{feed.router,
                             newest,
                             asking(feed.store),
                             {.items = {.deleted = [](const post& each) { return each.deleted; }}}};
    // An id that each of the three schemes puts somewhere else.
    std::string id;
    for (int i = 0; feed.router.candidates("author-1", id).size() != 3; ++i) {
        id = "post-" + std::to_string(i);
    }
    const auto places = feed.router.candidates("author-1", id);
    std::map<std::string, post> stored;
    std::vector<std::uint32_t> asked;
    const auto get = [&](const sw::placement& at) -> std::optional<post> {
        asked.push_back(at.scheme.value());
        const auto found = stored.find(at.partition_key);
        return found == stored.end() ? std::nullopt : std::optional{found->second};
    };
    const auto find = [&] {
        asked.clear();
        return reader.find("author-1", id, get);
    };
    CHECK_FALSE(find());
    CHECK(asked == std::vector<std::uint32_t>{3, 2, 1});

    stored[places[2].partition_key] = {1, id, 1};
    CHECK(find() == post{1, id, 1});
    CHECK(asked == std::vector<std::uint32_t>{3, 2, 1});
    stored[places[1].partition_key] = {1, id, 2};
    CHECK(find() == post{1, id, 2});
    CHECK(asked == std::vector<std::uint32_t>{3, 2});

    // A tombstone hides what is older.
    stored[places[0].partition_key] = {1, id, 3, true};
    CHECK_FALSE(find());
    CHECK(asked == std::vector<std::uint32_t>{3});

    CHECK(code_of([&] { (void)reader.find("author-1:bucket-1", id, get); }) == errc::ambiguous_key);
}

TEST_CASE("items that can only be moved are read and found", "[fan_out]") {
    using owner = std::unique_ptr<int>;
    const sw::router router{spread("feed", 3)};
    const auto order = sw::oldest_first<owner>(sw::unique([](const owner& each) { return *each; }));
    const sw::fan_out reader{router, order, [](const auto& query) {
                                 sw::shard_page<owner> page;
                                 page.items.push_back(
                                     std::make_unique<int>(query.shard.back() - '0'));
                                 return page;
                             }};
    const auto page = reader.page("feed");
    REQUIRE(page.items.size() == 3);
    CHECK(*page.items[2] == 2);
    CHECK(**reader.find("feed", "id", [](const sw::placement&) {
        return std::optional{std::make_unique<int>(7)};
    }) == 7);
    int sum = 0;
    auto stream = reader.stream("feed");
    for (const owner& each : stream) {
        sum += *each;
    }
    CHECK(sum == 3);
}

TEST_CASE("a query names what it asks, and hands the filter on", "[fan_out]") {
    const sw::router router{spread("feed", 2)};
    std::vector<std::string> asked;
    const sw::fan_out reader{
        router, numbers, [&](const number_query& query) -> sw::shard_page<int> {
            asked.push_back(query.shard + " " + query.partition_keys[0] + " " +
                            std::string{query.filter} + " " + std::to_string(query.epoch.value()));
            return {};
        }};
    (void)reader.page("feed", {.limit = 3, .filter = "kind = 1"});
    std::ranges::sort(asked);
    CHECK(asked ==
          std::vector<std::string>{"S0 feed:bucket-0 kind = 1 1", "S1 feed:bucket-1 kind = 1 1"});
}

// The tests from here on came from faults that others had. Rows are numbers or pairs, and the
// sources S0, S1 and so on.

TEST_CASE("sources are merged, not joined end to end", "[fan_out]") {
    // Rows of one stream all came before those of the next.
    scripted<int> feed{2};
    feed.answers.then("S0", last<int>({1, 100})).then("S1", last<int>({2, 3}));
    const sw::fan_out reader{feed.router, numbers, asking(feed.answers)};
    const auto first = reader.page("feed", {.limit = 3});
    CHECK(first.items == ints{1, 2, 3});
    feed.answers.then("S0", last<int>({100})).then("S1", last<int>({}));
    CHECK(reader.page("feed", {.limit = 3, .from = first.next}).items == ints{100});
}

TEST_CASE("rows that tie on the sort value are not skipped at a page's end", "[fan_out]") {
    // A cursor of the time alone left out every other row of the same time.
    sw::router router{spread("feed", 2)};
    post_store store{newest};
    for (const int id : {1, 2, 3, 4, 5}) {
        store.insert("S" + std::to_string(1 - id % 2), "feed:bucket-" + std::to_string(1 - id % 2),
                     {5, std::to_string(id)});
    }
    const sw::fan_out reader{router, newest, asking(store)};
    for (const std::size_t limit : {1U, 2U, 3U}) {
        const posts items = read_all(reader, "feed", limit);
        CHECK(items == posts{{5, "5"}, {5, "4"}, {5, "3"}, {5, "2"}, {5, "1"}});
    }
}

TEST_CASE("rows without a sort value have their place, and none is lost", "[fan_out]") {
    // The cursor of a row without a value said nothing, and what followed was left out.
    struct entry {
        std::optional<int> value;
        int id;
        bool operator==(const entry&) const = default;
    };
    const auto check = [](const auto& order) {
        sw::router router{spread("feed", 3)};
        memory_store store{order};
        std::vector<entry> all;
        const auto add = [&](int shard, std::optional<int> value) {
            const entry each{value, static_cast<int>(all.size())};
            all.push_back(each);
            store.insert("S" + std::to_string(shard), "feed:bucket-" + std::to_string(shard), each);
        };
        add(0, std::nullopt);
        for (const int value : {250, 200, 150, 100}) {
            add(1, value);
        }
        // A shard of which no row has the value.
        for (int i = 0; i != 8; ++i) {
            add(2, std::nullopt);
        }
        std::ranges::sort(all,
                          [&](const entry& a, const entry& b) { return order.compare(a, b) < 0; });
        const sw::fan_out reader{router, order, asking(store)};
        for (const std::size_t limit : {1U, 3U, 5U, 20U}) {
            CHECK(read_all(reader, "feed", limit) == all);
        }
        return all;
    };
    CHECK(check(sw::newest_first(sw::nulls_last(&entry::value), sw::unique(&entry::id)))[0].value ==
          250);
    CHECK(
        check(sw::newest_first(sw::nulls_first(&entry::value), sw::unique(&entry::id)))[9].value ==
        250);
    CHECK(check(sw::oldest_first(sw::nulls_last(&entry::value), sw::unique(&entry::id)))[0].value ==
          100);
    CHECK(
        check(sw::oldest_first(sw::nulls_first(&entry::value), sw::unique(&entry::id)))[9].value ==
        100);
}

TEST_CASE("infinities, zeros and NaN are paged like any other value", "[fan_out]") {
    // A limited result was no prefix of the whole one, because NaN was neither before nor after.
    struct entry {
        double value;
        int id;
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
    const std::array values{-infinity, -1.0, -0.0, 0.0, 1.0, infinity, not_a_number, not_a_number};
    const auto check = [&](const auto& order, const std::vector<int>& expected) {
        sw::router router{spread("feed", 3)};
        memory_store store{order};
        for (int i = 0; i != 8; ++i) {
            store.insert("S" + std::to_string(i % 3), "feed:bucket-" + std::to_string(i % 3),
                         {values[static_cast<std::size_t>(i)], i});
        }
        const sw::fan_out reader{router, order, asking(store)};
        const sw::checksummed sealer;
        for (const std::size_t limit : {1U, 3U, 8U}) {
            std::vector<int> ids;
            std::optional<sw::cursor> from;
            do {
                const auto page = reader.page("feed", {.limit = limit, .from = from});
                for (const entry& each : page.items) {
                    ids.push_back(each.id);
                }
                from =
                    page.next ? std::optional{sealer.open(sealer.seal(*page.next))} : std::nullopt;
            } while (from);
            CHECK(ids == expected);
        }
    };
    check(sw::oldest_first(&entry::value, sw::unique(&entry::id)), {0, 1, 2, 3, 4, 5, 6, 7});
    check(sw::newest_first(&entry::value, sw::unique(&entry::id)), {7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("a store that sorts text in another way is found on the first page", "[fan_out]") {
    // One that ignored case was merged by bytes, and rows came out of order and went missing.
    struct named {
        std::string name;
    };
    const auto order = sw::oldest_first(sw::unique(&named::name));
    scripted<named> feed{2};
    feed.answers.then("S0", last<named>({{"a"}, {"B"}, {"c"}}))
        .then("S1", last<named>({{"A"}, {"b"}}));
    const sw::fan_out reader{feed.router, order, asking(feed.answers)};
    const sw::error why = error_of([&] { (void)reader.page("feed"); });
    CHECK(why.code == errc::unordered_source);
    CHECK(why.shard == "S0");
    CHECK(why.partition_key == "feed:bucket-0");
    CHECK(why.detail.find(R"(("B") came after one at ("a"))") != std::string::npos);
}

TEST_CASE("text is compared by unsigned bytes on both sides of a page's end", "[fan_out]") {
    // Signed bytes on one side repeated rows after resuming.
    struct named {
        std::string name;
    };
    const std::vector<std::string> rising{
        "", "\0"s, "a", "a\0"s, "ab", "\x7f", "\x80", "\xef\xbd\x9e", "\xf0\x9f\x98\x80", "\xff"};
    const auto order = sw::oldest_first(sw::unique(&named::name));
    sw::router router{spread("feed", 2)};
    memory_store store{order};
    for (std::size_t i = 0; i != rising.size(); ++i) {
        store.insert("S" + std::to_string(i % 2), "feed:bucket-" + std::to_string(i % 2),
                     {rising[i]});
    }
    const sw::fan_out reader{router, order, asking(store)};
    for (const std::size_t limit : {1U, 2U, 20U}) {
        std::vector<std::string> names;
        for (const named& each : read_all(reader, "feed", limit)) {
            names.push_back(each.name);
        }
        CHECK(names == rising);
    }
}

TEST_CASE("the way back gives the same pages in the same order", "[fan_out]") {
    // The limit was taken before the order was turned round, so the way back began at the far end.
    sw::router router{spread("feed", 2)};
    const auto falling = sw::newest_first<int>(sw::unique(std::identity{}));
    memory_store store{falling};
    for (int i = 1; i <= 10; ++i) {
        store.insert("S" + std::to_string(i % 2), "feed:bucket-" + std::to_string(i % 2), i);
    }
    const sw::fan_out reader{router, falling, asking(store)};
    const auto first = reader.page("feed", {.limit = 3});
    CHECK(first.items == ints{10, 9, 8});
    CHECK_FALSE(first.previous);
    const auto second = reader.page("feed", {.limit = 3, .from = first.next});
    CHECK(second.items == ints{7, 6, 5});
    const auto back = reader.page("feed", {.limit = 3, .from = second.previous});
    CHECK(back.items == ints{10, 9, 8});
    CHECK_FALSE(back.previous);
    CHECK(reader.page("feed", {.limit = 3, .from = back.next}).items == ints{7, 6, 5});
}

TEST_CASE("a page's cursor goes on after what was handed out, not after what was fetched",
          "[fan_out]") {
    // Rows that a source had answered with and the page had no room for were lost.
    scripted<int> feed{1};
    const sw::fan_out one{feed.router, numbers, asking(feed.answers)};
    const auto rows = [](int first, int end) {
        ints made;
        for (; first != end; ++first) {
            made.push_back(first);
        }
        return made;
    };
    feed.answers.then("S0", more(rows(1, 8))).then("S0", more(rows(8, 18)));
    const auto page = one.page("feed", {.limit = 10});
    CHECK(page.items == rows(1, 11));
    feed.answers.then("S0", more(rows(11, 21)));
    CHECK(one.page("feed", {.limit = 10, .from = page.next}).items == rows(11, 21));

    const auto resumes_after = [](const auto& order, ints s0, ints s1, const ints& expected) {
        sw::router router{spread("feed", 2)};
        std::vector<std::optional<int>> after;
        memory_store store{order};
        for (const int each : s0) {
            store.insert("S0", "feed:bucket-0", each);
        }
        for (const int each : s1) {
            store.insert("S1", "feed:bucket-1", each);
        }
        const sw::fan_out reader{
            router, order, [&](const auto& query) {
                after.push_back(query.after ? std::optional{get<0>(*query.after)} : std::nullopt);
                return store.answer(query);
            }};
        const auto first = reader.page("feed", {.limit = 2});
        CHECK(first.items == expected);
        after.clear();
        const auto second = reader.page("feed", {.limit = 2, .from = first.next});
        REQUIRE(after.size() >= 2);
        CHECK(after[0] == expected.back());
        CHECK(after[1] == expected.back());
        return second.items;
    };
    CHECK(resumes_after(sw::newest_first<int>(sw::unique(std::identity{})), {100, 60, 40}, {90, 10},
                        {100, 90}) == ints{60, 40});
    CHECK(resumes_after(numbers, {1, 4, 7}, {2, 3, 5, 6}, {1, 2}) == ints{3, 4});
}

TEST_CASE("a source that goes in circles is an error, and the healthy one is not blamed",
          "[fan_out]") {
    // A store that gave back the same token, or two in turn, was asked for ever.
    for (const bool circle : {false, true}) {
        std::size_t calls = 0;
        const sw::router router{spread("feed", 2)};
        const sw::fan_out reader{router, numbers,
                                 [&](const number_query& query) -> sw::shard_page<int> {
                                     if (query.shard == "S1") {
                                         return last<int>({1, 2});
                                     }
                                     return more<int>({}, ++calls % 2 == 0 && circle ? "B" : "A");
                                 }};
        const sw::error why = error_of([&] { (void)reader.page("feed"); });
        CHECK(why.code == errc::no_progress);
        CHECK(why.shard == "S0");
        CHECK(why.message().find("S1") == std::string::npos);
        CHECK(calls < 20);
    }
}

TEST_CASE("a filter that matches little fills the page all the same", "[fan_out]") {
    // The limit was applied before the filter, and pages came back short or empty.
    const sw::router router{spread("feed", 1)};
    std::size_t calls = 0;
    // A thousand rows, of which the fifty in the middle match; ten are looked at in one call.
    const sw::fan_out reader{router, numbers, [&](const number_query& query) {
                                 ++calls;
                                 int at = query.after ? get<0>(*query.after) + 1 : 0;
                                 at = query.cursor.empty() ? at
                                                           : std::stoi(std::string{query.cursor});
                                 sw::shard_page<int> page;
                                 const int end = std::min(at + 10, 1'000);
                                 for (; at != end && page.items.size() != query.limit; ++at) {
                                     if (at >= 475 && at < 525) {
                                         page.items.push_back(at);
                                     }
                                 }
                                 page.more = at != 1'000;
                                 page.cursor = std::to_string(at);
                                 return page;
                             }};
    const auto first = reader.page("feed", {.limit = 10});
    CHECK(first.items == ints{475, 476, 477, 478, 479, 480, 481, 482, 483, 484});
    CHECK(calls < 52);
    CHECK(read_all(reader, "feed", 10).size() == 50);
    CHECK(read_all(reader, "feed", 1).size() == 50);
    CHECK(read_all(reader, "feed", 1'000).size() == 50);
}

TEST_CASE("a page reads a bounded number of rows, and nothing after it is full", "[fan_out]") {
    // Every shard was read a thousand rows deep for a page of ten.
    const sw::router router{sw::routing_table{sw::scheme_table{sw::calculated(64)},
                                              sw::shard_map::even({"db0", "db1"})}};
    std::size_t rows = 0;
    std::size_t calls = 0;
    post_store store{newest};
    for (int i = 0; i != 6'400; ++i) {
        const post each{i, "post-" + std::to_string(i)};
        store.insert(*router.pin(), "feed", each.id, each);
    }
    const sw::fan_out reader{router, newest, [&](const post_query& query) {
                                 ++calls;
                                 auto page = store.answer(query);
                                 rows += page.items.size();
                                 return page;
                             }};
    const auto page = reader.page("feed", {.limit = 10});
    CHECK(page.items.size() == 10);
    CHECK(page.items.front().created_at == 6'399);
    CHECK(page.items.back().created_at == 6'390);
    CHECK(rows <= 64 * 4 + 10);
    CHECK(page.stats.rows_examined == rows);
    CHECK(page.stats.rows_returned == 10);
    CHECK(page.stats.requests == calls);
    CHECK(page.stats.rounds <= 2);
}
