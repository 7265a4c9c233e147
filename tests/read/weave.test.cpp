// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/weave.hpp>

#include <shardweave/read/order.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/generate.hpp"

namespace sw = shardweave;
using test_support::generator;

namespace {

/// What a migration and deletions need of an item.
struct version {
    int at;
    std::uint64_t revision = 0;
    bool deleted = false;
    std::string from{};

    friend bool operator==(const version&, const version&) = default;
};

const auto numbers = sw::oldest_first<int>(sw::unique(std::identity{}));
const auto versions = sw::oldest_first(sw::unique(&version::at));
using number_order = std::remove_const_t<decltype(numbers)>;
using number_weave = sw::weave<int, number_order>;
using version_weave = sw::weave<version, std::remove_const_t<decltype(versions)>>;

// What it asked refers to its own sources.
static_assert(!std::copyable<number_weave>);
static_assert(std::is_move_constructible_v<number_weave>);

std::vector<sw::source> sources(std::size_t count) {
    std::vector<sw::source> made;
    for (std::size_t i = 0; i != count; ++i) {
        made.push_back({"S" + std::to_string(i), {"key:bucket-" + std::to_string(i)}, 0, 1});
    }
    return made;
}

/// An action as a line of a screenplay: `ask 0 limit 2, ask 1 after 5 until 8 limit 1`.
template <class Position>
std::string line(const sw::weave_action<Position>& todo) {
    using kind = typename sw::weave_action<Position>::kind;
    switch (todo.what) {
        case kind::wait: return "wait";
        case kind::finished: return "finished";
        case kind::failed: return "failed: " + std::string{sw::to_string(todo.why.code)};
        case kind::ask: break;
    }
    std::string text;
    for (const auto& [number, query] : todo.requests) {
        text += text.empty() ? "ask " : ", ask ";
        text += std::to_string(number);
        if (query.after) {
            text += " after " + std::to_string(get<0>(*query.after));
        }
        if (query.until) {
            text += " until " + std::to_string(get<0>(*query.until));
        }
        text += " limit " + std::to_string(query.limit);
        if (!query.cursor.empty()) {
            text += " cursor " + std::string{query.cursor};
        }
    }
    return text;
}

template <class Item>
sw::shard_page<Item> last(std::initializer_list<Item> items) {
    return {.items = items, .more = false, .cursor = {}};
}
template <class Item>
sw::shard_page<Item> more(std::initializer_list<Item> items, std::string cursor = {}) {
    return {.items = items, .more = true, .cursor = std::move(cursor)};
}
sw::shard_page<int> nothing() { return last<int>({}); }
sw::shard_page<int> nothing_yet(std::string cursor = {}) {
    return more<int>({}, std::move(cursor));
}

sw::error broken(const std::string& shard) {
    return {sw::errc::shard_failed, shard, {}, "it broke"};
}

/// Three sources and pages of three: asked for two rows each, at this chance of a second round.
number_weave three(sw::on_failure mode = sw::on_failure::fail) {
    return {numbers, sources(3), {.limit = 3, .on_failure = mode, .asking = {.refill_chance = 1}}};
}

std::optional<int> boundary(const number_weave& weave) {
    return weave.boundary() ? std::optional{get<0>(*weave.boundary())} : std::nullopt;
}

using ints = std::vector<int>;

}  // namespace

TEST_CASE("one round is enough when no source gave its whole quota before the page's end",
          "[weave]") {
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(1, more({2, 5}));
    CHECK(line(weave.next()) == "wait");
    weave.answer(0, more({1, 7}));
    CHECK(line(weave.next()) == "wait");
    weave.answer(2, more({3, 9}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 3});
    CHECK(boundary(weave) == 3);
    CHECK(weave.may_have_more());
    CHECK(weave.stats().rounds == 1);
    CHECK(weave.stats().requests == 3);
    CHECK(weave.stats().rows_examined == 6);
    CHECK(weave.stats().rows_returned == 3);
    CHECK(weave.stats().shards_contacted == 3);
}

TEST_CASE("the second round asks only who may hold more of the page, up to its last row",
          "[weave]") {
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(0, more({1, 2}));
    weave.answer(1, more({6, 8}));
    weave.answer(2, last({7}));
    // 1 and 2 are certain; then 6 is the third, unless source 0 has one before it.
    CHECK(line(weave.next()) == "ask 0 after 2 until 6 limit 1");
    weave.answer(0, more({4}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 4});
    CHECK(boundary(weave) == 4);
    CHECK(weave.stats().rounds == 2);
}

TEST_CASE("a second round's limit is what the page lacks beyond the source's own rows", "[weave]") {
    number_weave weave{numbers, sources(5), {.limit = 5, .asking = {.refill_chance = 1}}};
    CHECK(line(weave.next()) ==
          "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2, ask 3 limit 2, ask 4 limit 2");
    weave.answer(0, more({1, 2}));
    weave.answer(1, more({3, 4}));
    weave.answer(2, more({10, 20}));
    weave.answer(3, nothing());
    weave.answer(4, last({30}));
    // Nothing is certain beyond 2, and of the three that the page lacks, 10 is the last one known.
    // Source 1 holds two of them, so one more of its rows is all that could matter.
    CHECK(line(weave.next()) == "ask 0 after 2 until 10 limit 3, ask 1 after 4 until 10 limit 1");
    weave.answer(1, more({5}));
    weave.answer(0, nothing());
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 3, 4, 5});
}

TEST_CASE("an empty answer to a bounded question makes the rest of the page certain", "[weave]") {
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(0, more({1, 2}));
    weave.answer(1, more({6, 8}));
    weave.answer(2, nothing());
    CHECK(line(weave.next()) == "ask 0 after 2 until 6 limit 1");
    weave.answer(0, {.items = {}, .more = false, .cursor = "where 2 was"});
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 6});
    // The end of a bounded question is not the end of the source; a cursor from it leads nowhere.
    CHECK(weave.may_have_more());
    weave.turn(3);
    CHECK(line(weave.next()).starts_with("ask 0 after 6 limit 2, "));
}

TEST_CASE("a store may ignore the bound and answer with rows beyond it", "[weave]") {
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(0, more({1, 2}));
    weave.answer(1, more({6, 8}));
    weave.answer(2, nothing());
    CHECK(line(weave.next()) == "ask 0 after 2 until 6 limit 1");
    weave.answer(0, more({9}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 6});
    weave.turn(2);
    // The row beyond was kept, and whether it was the source's last one is open.
    CHECK(line(weave.next()) == "ask 0 after 9 limit 1");
    weave.answer(0, nothing_yet("c"));
    CHECK(line(weave.next()) == "ask 0 after 9 limit 1 cursor c");
    weave.answer(0, more({10}));
    CHECK(line(weave.next()) == "ask 1 after 8 until 9 limit 1");
    weave.answer(1, nothing());
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{8, 9});
    CHECK(weave.may_have_more());
}

TEST_CASE("a short answer is followed up at once, while others are still awaited", "[weave]") {
    // A page that was too small was taken for the end, because a filter or a size cap cut it.
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(1, more({5}, "c"));
    CHECK(line(weave.next()) == "ask 1 after 5 limit 1 cursor c");
    weave.answer(1, nothing_yet("d"));
    CHECK(line(weave.next()) == "ask 1 after 5 limit 1 cursor d");
    weave.answer(0, last({7}));
    CHECK(line(weave.next()) == "wait");
    weave.answer(1, more({6}, "e"));
    CHECK(line(weave.next()) == "wait");
    weave.answer(2, last({8}));
    // Source 1 may have more before 7.
    CHECK(line(weave.next()) == "ask 1 after 6 until 7 limit 1 cursor e");
    weave.answer(1, nothing());
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{5, 6, 7});
    CHECK(weave.stats().rounds == 4);
    CHECK(weave.stats().requests == 6);
}

TEST_CASE("a short answer to a bounded question is followed up with the same bound", "[weave]") {
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(0, more({1, 2}));
    weave.answer(1, more({6, 8}));
    weave.answer(2, nothing());
    CHECK(line(weave.next()) == "ask 0 after 2 until 6 limit 1");
    weave.answer(0, nothing_yet("c"));
    CHECK(line(weave.next()) == "ask 0 after 2 until 6 limit 1 cursor c");
    weave.answer(0, more({3}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 3});
}

TEST_CASE("an answer of no rows ends nothing while it says that there is more", "[weave]") {
    // Empty pages in the middle were taken for the end, and everything behind them went missing.
    number_weave weave{numbers, sources(2), {.limit = 2}};
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2");
    weave.answer(0, nothing_yet("t1"));
    CHECK(line(weave.next()) == "ask 0 limit 2 cursor t1");
    weave.answer(1, last({3}));
    CHECK(line(weave.next()) == "wait");
    weave.answer(0, nothing_yet("t2"));
    CHECK(line(weave.next()) == "ask 0 limit 2 cursor t2");
    weave.answer(0, last({5}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{3, 5});
    CHECK_FALSE(weave.may_have_more());
}

TEST_CASE("a full last page may have a page after it, which ends the read", "[weave]") {
    // A full page was taken for proof of another one, and reading it never came to an end.
    number_weave weave{numbers, sources(1), {.limit = 3}};
    CHECK(line(weave.next()) == "ask 0 limit 3");
    weave.answer(0, more({1, 2, 3}, "c"));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 3});
    CHECK(weave.may_have_more());
    weave.turn(3);
    CHECK(line(weave.next()) == "ask 0 after 3 limit 3 cursor c");
    weave.answer(0, nothing());
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page().empty());
    CHECK(boundary(weave) == 3);
    CHECK_FALSE(weave.may_have_more());
}

TEST_CASE("the next page starts from what is buffered, and tops it up", "[weave]") {
    number_weave weave{numbers, sources(4), {.limit = 4, .asking = {.refill_chance = 1}}};
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2, ask 3 limit 2");
    weave.answer(0, more({1, 8}));
    weave.answer(1, more({2, 5}));
    weave.answer(2, more({3, 7}));
    weave.answer(3, last({4, 6}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 3, 4});
    weave.turn(4);
    // Each has one in hand, and source 3 is known to have no more.
    CHECK(line(weave.next()) ==
          "ask 0 after 8 limit 1, ask 1 after 5 limit 1, ask 2 after 7 limit 1");
    weave.answer(0, nothing());
    weave.answer(1, nothing());
    weave.answer(2, nothing());
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{5, 6, 7, 8});
    CHECK(weave.stats().rows_returned == 8);
    CHECK(weave.stats().rounds == 2);
    CHECK_FALSE(weave.may_have_more());
}

TEST_CASE("a page that is buffered already asks nothing", "[weave]") {
    number_weave weave{numbers, sources(1), {.limit = 5}};
    CHECK(line(weave.next()) == "ask 0 limit 5");
    weave.answer(0, last({1, 2, 3, 4, 5}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 3, 4, 5});

    number_weave generous{numbers, sources(1), {.limit = 2}};
    CHECK(line(generous.next()) == "ask 0 limit 2");
    // More rows than were asked for are accepted.
    generous.answer(0, more({1, 2, 3, 4, 5}));
    CHECK(line(generous.next()) == "finished");
    CHECK(generous.take_page() == ints{1, 2});
    CHECK(boundary(generous) == 2);
    generous.turn(3);
    CHECK(line(generous.next()) == "finished");
    CHECK(generous.take_page() == ints{3, 4, 5});
    CHECK(generous.stats().requests == 1);
}

TEST_CASE("what pages took tells what the next ones ask", "[weave]") {
    number_weave weave{numbers, sources(2), {.limit = 8, .asking = {.refill_chance = 0.5}}};
    const std::string even = line(weave.next());
    CHECK(even == "ask 0 limit 5, ask 1 limit 5");
    weave.answer(0, more({1, 2, 3, 4, 5}));
    weave.answer(1, more({100, 101, 102, 103, 104}));
    CHECK(line(weave.next()) == "ask 0 after 5 until 102 limit 3");
    weave.answer(0, more({6, 7, 8}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 3, 4, 5, 6, 7, 8});
    weave.turn(8);
    // Source 0 is expected to hold more of the page now; source 1 has enough in hand.
    CHECK(line(weave.next()) == "ask 0 after 8 limit 7");
}

TEST_CASE("sources of no weight are asked for one row first", "[weave]") {
    auto weighted = sources(2);
    weighted[0].weight = 3;
    weighted[1].weight = 0;
    number_weave weave{numbers, std::move(weighted), {.limit = 20}};
    CHECK(line(weave.next()) == "ask 0 limit 20, ask 1 limit 1");
    auto weightless = sources(2);
    weightless[0].weight = 0;
    weightless[1].weight = 0;
    number_weave even{numbers, std::move(weightless), {.limit = 2}};
    CHECK(line(even.next()) == "ask 0 limit 2, ask 1 limit 2");
}

TEST_CASE("a read starts beyond a position, and rows up to it are dropped", "[weave]") {
    // A store that resumes a little early, as an inclusive condition does.
    number_weave weave{numbers, sources(1), {.limit = 2, .after = numbers.position_of(5)}};
    CHECK(line(weave.next()) == "ask 0 after 5 limit 2");
    weave.answer(0, more({4, 5, 6}));
    CHECK(line(weave.next()) == "ask 0 after 6 limit 1");
    weave.answer(0, last({6, 7}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{6, 7});
}

TEST_CASE("a query says which way to walk, and carries filter, epoch and names", "[weave]") {
    auto named = sources(1);
    named[0].partition_keys = {"a:bucket-1", "b"};
    number_weave weave{numbers,
                       std::move(named),
                       {.limit = 2,
                        .way = sw::scan::backward,
                        .after = numbers.position_of(9),
                        .filter = "kind = 'x'",
                        .epoch = sw::epoch{7}}};
    const auto todo = weave.next();
    REQUIRE(todo.requests.size() == 1);
    const auto& query = todo.requests[0].query;
    CHECK(query.way == sw::scan::backward);
    CHECK(query.filter == "kind = 'x'");
    CHECK(query.epoch == sw::epoch{7});
    CHECK(query.shard == "S0");
    CHECK(std::vector(query.partition_keys.begin(), query.partition_keys.end()) ==
          std::vector<std::string>{"a:bucket-1", "b"});
    CHECK(weave.epoch() == sw::epoch{7});
    weave.answer(0, more({8, 3}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{8, 3});
    CHECK(boundary(weave) == 3);
}

TEST_CASE("a read of no sources is an empty page", "[weave]") {
    number_weave weave{numbers, {}, {.limit = 2}};
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page().empty());
    CHECK_FALSE(weave.may_have_more());
    CHECK_FALSE(weave.boundary());
}

TEST_CASE("a source that fails fails the read, once nothing is outstanding", "[weave]") {
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(0, more({1}));
    CHECK(line(weave.next()) == "ask 0 after 1 limit 1");
    CHECK_FALSE(weave.doomed());
    weave.fail(1, broken("S1"));
    CHECK(weave.doomed());
    CHECK(line(weave.next()) == "wait");
    // Nothing is followed up any more.
    weave.answer(2, nothing_yet("c"));
    CHECK(line(weave.next()) == "wait");
    weave.cancel();
    const auto todo = weave.next();
    CHECK(line(todo) == "failed: shard_failed");
    CHECK(todo.why.shard == "S1");
    CHECK(todo.why.detail == "it broke");
    CHECK(weave.take_page().empty());
}

TEST_CASE("every source that fails is named", "[weave]") {
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.fail(2, broken("S2"));
    weave.answer(0, last({1}));
    weave.fail(1, broken("S1"));
    const auto todo = weave.next();
    CHECK(line(todo) == "failed: shard_failed");
    CHECK(todo.why.shard == "S2");
    CHECK(todo.why.message().find("S1") != std::string::npos);
}

TEST_CASE("a prefix is what is certain before the failed source's frontier", "[weave]") {
    number_weave weave = three(sw::on_failure::prefix);
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(1, more({2}));
    CHECK(line(weave.next()) == "ask 1 after 2 limit 1");
    weave.fail(1, broken("S1"));
    CHECK_FALSE(weave.doomed());
    CHECK(line(weave.next()) == "wait");
    weave.answer(0, last({1, 4}));
    weave.answer(2, nothing());
    CHECK(line(weave.next()) == "finished");
    // The failed source's own rows count; beyond 2, it could have one before 4.
    CHECK(weave.take_page() == ints{1, 2});
    CHECK(boundary(weave) == 2);
    CHECK(weave.may_have_more());
    REQUIRE(weave.failures().size() == 1);
    CHECK(weave.failures()[0].shard == "S1");
}

TEST_CASE("a prefix is empty when a source failed before its first row", "[weave]") {
    number_weave weave = three(sw::on_failure::prefix);
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(0, more({1, 4}));
    weave.fail(1, broken("S1"));
    weave.fail(2, broken("S2"));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page().empty());
    CHECK_FALSE(weave.boundary());
    CHECK(weave.may_have_more());
    CHECK(weave.failures().size() == 2);
}

TEST_CASE("a prefix that is a whole page is one, whatever failed behind it", "[weave]") {
    number_weave weave{numbers, sources(2), {.limit = 2, .on_failure = sw::on_failure::prefix}};
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2");
    weave.answer(0, more({7}));
    CHECK(line(weave.next()) == "ask 0 after 7 limit 1");
    weave.fail(0, broken("S0"));
    weave.answer(1, more({1, 2}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2});
}

TEST_CASE("nobody is asked beyond the frontier of a source that failed", "[weave]") {
    number_weave weave = three(sw::on_failure::prefix);
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(0, more({1, 2}));
    weave.answer(1, more({4}));
    CHECK(line(weave.next()) == "ask 1 after 4 limit 1");
    weave.fail(1, broken("S1"));
    weave.answer(2, nothing());
    CHECK(line(weave.next()) == "ask 0 after 2 until 4 limit 1");
    weave.answer(0, nothing());
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 4});

    // Where the page's last row would be behind the frontier, too.
    number_weave wide{
        numbers,
        sources(5),
        {.limit = 5, .on_failure = sw::on_failure::prefix, .asking = {.refill_chance = 1}}};
    CHECK(line(wide.next()) ==
          "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2, ask 3 limit 2, ask 4 limit 2");
    wide.answer(0, more({1, 2}));
    wide.answer(1, more({4}));
    CHECK(line(wide.next()) == "ask 1 after 4 limit 1");
    wide.fail(1, broken("S1"));
    wide.answer(2, last({9}));
    wide.answer(3, last({10}));
    wide.answer(4, nothing());
    CHECK(line(wide.next()) == "ask 0 after 2 until 4 limit 3");

    // Where its frontier is before every row that waits, too.
    number_weave bare{numbers,
                      sources(2),
                      {.limit = 4,
                       .after = numbers.position_of(0),
                       .on_failure = sw::on_failure::prefix,
                       .asking = {.refill_chance = 1}}};
    CHECK(line(bare.next()) == "ask 0 after 0 limit 3, ask 1 after 0 limit 3");
    bare.answer(0, more({1, 2, 3}));
    bare.fail(1, broken("S1"));
    CHECK(line(bare.next()) == "finished");
    CHECK(bare.take_page().empty());
    CHECK(boundary(bare) == 0);
}

TEST_CASE("of an item seen twice, the copy under the newer scheme is the item", "[weave]") {
    version_weave weave{versions, sources(3), {.limit = 3}};
    CHECK(line(weave.next()) == "ask 0 limit 3, ask 1 limit 3, ask 2 limit 3");
    weave.answer(2, last<version>({{1, 9, false, "oldest"}, {2, 0, false, "oldest"}}));
    weave.answer(1, last<version>({{1, 5, false, "older"}, {2, 0, false, "older"}}));
    weave.answer(0, last<version>({{1, 1, false, "new"}, {3, 0, false, "new"}}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() ==
          std::vector<version>{{1, 1, false, "new"}, {2, 0, false, "older"}, {3, 0, false, "new"}});
    CHECK(weave.stats().duplicates == 3);
    CHECK(weave.stats().rows_returned == 3);
}

TEST_CASE("of an item seen twice, the higher revision is the item", "[weave]") {
    version_weave weave{
        versions,
        sources(3),
        {.limit = 3, .items = {.revision = [](const version& v) { return v.revision; }}}};
    CHECK(line(weave.next()) == "ask 0 limit 3, ask 1 limit 3, ask 2 limit 3");
    weave.answer(0,
                 last<version>({{1, 1, false, "new"}, {2, 7, false, "new"}, {3, 7, false, "new"}}));
    weave.answer(1, last<version>({{1, 5, false, "older"}, {2, 3, false, "older"}}));
    weave.answer(2, last<version>({{1, 2, false, "oldest"}, {3, 7, false, "oldest"}}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() ==
          std::vector<version>{{1, 5, false, "older"}, {2, 7, false, "new"}, {3, 7, false, "new"}});
}

TEST_CASE("a copy that is only known after a second round is found", "[weave]") {
    number_weave weave = three();
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.answer(0, more({1, 2}));
    weave.answer(1, more({6, 8}));
    weave.answer(2, nothing());
    CHECK(line(weave.next()) == "ask 0 after 2 until 6 limit 1");
    weave.answer(0, more({6}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == ints{1, 2, 6});
    CHECK(weave.stats().duplicates == 1);
    weave.turn(1);
    CHECK(line(weave.next()) != "finished");
}

TEST_CASE("a tombstone hides its copies and is not handed out", "[weave]") {
    const sw::item_traits<version> traits{.revision = [](const version& v) { return v.revision; },
                                          .deleted = [](const version& v) { return v.deleted; }};
    version_weave weave{versions, sources(2), {.limit = 3, .items = traits}};
    CHECK(line(weave.next()) == "ask 0 limit 3, ask 1 limit 3");
    weave.answer(0, last<version>({{1, 1}, {2, 5, true}, {3, 1, true}}));
    weave.answer(1, last<version>({{1, 2, true}, {2, 4}, {3, 2}}));
    CHECK(line(weave.next()) == "finished");
    // 1 and 2 are deleted; 3 was written again.
    CHECK(weave.take_page() == std::vector<version>{{3, 2}});
    CHECK(weave.stats().deleted == 2);
    CHECK_FALSE(weave.may_have_more());
}

TEST_CASE("a page makes up for what was deleted, and moves beyond it", "[weave]") {
    const sw::item_traits<version> traits{.deleted = [](const version& v) { return v.deleted; }};
    version_weave weave{versions, sources(1), {.limit = 2, .items = traits}};
    CHECK(line(weave.next()) == "ask 0 limit 2");
    weave.answer(0, more<version>({{1, 0, true}, {2, 0, true}}));
    CHECK(line(weave.next()) == "ask 0 after 2 limit 2");
    weave.answer(0, more<version>({{3}, {4, 0, true}}));
    CHECK(line(weave.next()) == "ask 0 after 4 limit 1");
    weave.answer(0, last<version>({{5, 0, true}}));
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page() == std::vector<version>{{3}});
    // Tombstones at the end are behind the boundary, so the next read does not see them again.
    CHECK(get<0>(weave.boundary().value()) == 5);
}

TEST_CASE("a source out of order is named with its shard, its key and both positions", "[weave]") {
    // A store that sorts text in another way than the merge compares it loses rows in silence.
    for (const sw::on_failure mode : {sw::on_failure::fail, sw::on_failure::prefix}) {
        number_weave weave = three(mode);
        CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
        weave.answer(1, more({55, 44}));
        CHECK(weave.doomed());
        weave.answer(0, nothing());
        weave.cancel();
        const auto todo = weave.next();
        CHECK(line(todo) == "failed: unordered_source");
        CHECK(todo.why.shard == "S1");
        CHECK(todo.why.partition_key == "key:bucket-1");
        CHECK(todo.why.detail.find("(44) came after one at (55)") != std::string::npos);
    }
}

TEST_CASE("equal positions within one source are out of order", "[weave]") {
    number_weave weave{numbers, sources(1), {.limit = 2}};
    CHECK(line(weave.next()) == "ask 0 limit 2");
    weave.answer(0, more({5, 5}));
    CHECK(line(weave.next()) == "failed: unordered_source");
}

TEST_CASE("a source out of order that comes second is still the error", "[weave]") {
    // Waiting and asking again may cure a source that failed; it never cures one out of order.
    number_weave weave = three(sw::on_failure::prefix);
    CHECK(line(weave.next()) == "ask 0 limit 2, ask 1 limit 2, ask 2 limit 2");
    weave.fail(0, broken("S0"));
    weave.answer(1, more({2, 1}));
    weave.answer(2, nothing());
    const auto todo = weave.next();
    CHECK(line(todo) == "failed: unordered_source");
    CHECK(todo.why.message().find("S0") != std::string::npos);
}

namespace {

/// Feeds source 0 answers by number until the read ends or 10,000 were needed; source 1 is healthy.
template <class Answer>
std::pair<std::string, std::size_t> feed_until_end(const Answer& answer) {
    number_weave weave{numbers, sources(2), {.limit = 3}};
    std::string said = line(weave.next());
    CHECK(said == "ask 0 limit 3, ask 1 limit 3");
    weave.answer(1, last({1, 2, 3}));
    std::size_t answers = 0;
    do {
        weave.answer(0, answer(answers));
        said = line(weave.next());
    } while (++answers != 10'000 && said.starts_with("ask"));
    return {said, answers};
}

}  // namespace

TEST_CASE("a source that repeats its cursor and brings nothing makes no progress", "[weave]") {
    const auto [said, answers] = feed_until_end([](std::size_t) { return nothing_yet("A"); });
    CHECK(said == "failed: no_progress");
    CHECK(answers <= sw::limits::idle_answers + 1);
}

TEST_CASE("a source whose cursors go in a circle makes no progress", "[weave]") {
    // Comparing with the cursor before finds A, A and never A, B, A, B.
    for (const std::size_t cycle : {2U, 3U, 7U, 100U}) {
        for (const std::size_t lead : {0U, 1U, 50U}) {
            CAPTURE(cycle, lead);
            const auto [said, answers] = feed_until_end([&](std::size_t i) {
                return nothing_yet("c" + std::to_string(i < lead ? i + 1'000 : (i - lead) % cycle));
            });
            CHECK(said == "failed: no_progress");
            CHECK(answers <= 3 * (cycle + lead) + 3);
        }
    }
}

TEST_CASE("a source whose repeated cursors go in a circle makes no progress", "[weave]") {
    const auto [said, answers] =
        feed_until_end([](std::size_t i) { return nothing_yet(i / 2 % 2 == 0 ? "A" : "B"); });
    CHECK(said == "failed: no_progress");
    CHECK(answers < 20);
}

TEST_CASE("a source that ignores where to go on makes no progress", "[weave]") {
    const auto [said, answers] = feed_until_end([](std::size_t) { return more({1, 2}); });
    CHECK(said == "failed: no_progress");
    CHECK(answers <= sw::limits::idle_answers + 1);
}

TEST_CASE("empty answers without end are no fault while their cursors are new", "[weave]") {
    const auto [said, answers] = feed_until_end([](std::size_t i) {
        return i == 1'000 ? last({0}) : nothing_yet("c" + std::to_string(i));
    });
    CHECK(said == "finished");
    CHECK(answers == 1'001);
}

TEST_CASE("a source that says each cursor twice is slow, and goes on", "[weave]") {
    const auto [said, answers] = feed_until_end([](std::size_t i) {
        return i == 1'000 ? last({0}) : nothing_yet("c" + std::to_string(i / 2));
    });
    CHECK(said == "finished");
    CHECK(answers == 1'001);
}

TEST_CASE("a row starts the count of idle answers anew", "[weave]") {
    number_weave weave{numbers, sources(1), {.limit = 100}};
    CHECK(line(weave.next()) == "ask 0 limit 100");
    for (int row = 0; row != 100; ++row) {
        for (std::size_t idle = 1; idle != sw::limits::idle_answers; ++idle) {
            weave.answer(0, nothing_yet("A"));
            REQUIRE(line(weave.next()).starts_with("ask 0"));
        }
        weave.answer(0, more({row}, "A"));
        static_cast<void>(weave.next());
    }
    CHECK(line(weave.next()) == "finished");
    CHECK(weave.take_page().size() == 100);
}

TEST_CASE("a source that makes no progress is a gap like any other", "[weave]") {
    number_weave weave{numbers, sources(2), {.limit = 3, .on_failure = sw::on_failure::prefix}};
    CHECK(line(weave.next()) == "ask 0 limit 3, ask 1 limit 3");
    weave.answer(1, last({1, 4, 7}));
    weave.answer(0, more({2, 5}, "A"));
    std::string said = line(weave.next());
    while (said.starts_with("ask")) {
        weave.answer(0, nothing_yet("A"));
        said = line(weave.next());
    }
    CHECK(said == "finished");
    CHECK(weave.take_page() == ints{1, 2, 4});
    REQUIRE(weave.failures().size() == 1);
    CHECK(weave.failures()[0].code == sw::errc::no_progress);
    CHECK(weave.failures()[0].shard == "S0");
}

TEST_CASE("a page takes two rounds at most, whatever the skew", "[weave]") {
    INFO(test_support::replay());
    generator from;
    std::size_t pages = 0;
    std::size_t second_rounds = 0;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const std::size_t count = from.between(std::size_t{1}, std::size_t{20});
        const std::size_t rows = from.below(200U);
        // Each source in its own way of being skewed: much or little, in runs or mixed.
        std::vector<ints> stored(count);
        std::size_t current = from.below(count);
        const unsigned stay = from.pick(std::vector<unsigned>{0, 50, 90, 99});
        const std::size_t few = from.between(std::size_t{1}, count);
        for (std::size_t i = 0; i != rows; ++i) {
            current = from.chance(stay) ? current : from.below(from.chance(70) ? few : count);
            stored[current].push_back(static_cast<int>(i));
        }
        auto about = sources(count);
        for (sw::source& each : about) {
            each.weight = from.pick(std::vector<double>{0, 1, 1, 1, 100});
        }
        const std::size_t limit = from.between(std::size_t{1}, std::size_t{30});
        const bool resumed = from.chance(30);
        const int start = resumed ? static_cast<int>(from.below(100U)) : -1;
        number_weave weave{
            numbers,
            about,
            {.limit = limit,
             .after = resumed ? std::optional{numbers.position_of(start)} : std::nullopt,
             .asking = {.refill_chance = from.pick(std::vector{1.0, 0.1, 0.02})}}};
        CAPTURE(round, count, rows, limit, stay, few);
        int expected = start + 1;
        std::size_t waiting = 0;
        do {
            std::size_t rounds = 0;
            for (auto todo = weave.next(); todo.what == number_weave::action::kind::ask;) {
                ++rounds;
                auto requests = std::move(todo.requests);
                std::shuffle(requests.begin(), requests.end(), from);
                for (const auto& [number, query] : requests) {
                    REQUIRE(query.limit > 0);
                    REQUIRE(query.limit <= limit);
                    sw::shard_page<int> page;
                    for (const int each : stored[number]) {
                        if ((query.after && each <= get<0>(*query.after)) ||
                            (query.until && each > get<0>(*query.until))) {
                            continue;
                        }
                        if (page.items.size() == query.limit) {
                            page.more = true;
                            break;
                        }
                        page.items.push_back(each);
                    }
                    waiting += page.items.size();
                    weave.answer(number, std::move(page));
                    todo = weave.next();
                }
            }
            REQUIRE(rounds <= 2);
            ++pages;
            second_rounds += rounds == 2 ? 1U : 0U;
            // At most a page's rows of each source are ever in hand.
            REQUIRE(waiting <= limit * count);
            const ints page = weave.take_page();
            waiting -= page.size();
            REQUIRE(page.size() ==
                    std::min(limit, rows - std::min(rows, static_cast<std::size_t>(expected))));
            for (const int each : page) {
                REQUIRE(each == expected++);
            }
            if (weave.may_have_more()) {
                weave.turn(limit);
            }
        } while (weave.may_have_more());
        REQUIRE(expected >= static_cast<int>(rows));
    }
    // Else this shows nothing.
    CHECK(second_rounds * 20 > pages);
}
