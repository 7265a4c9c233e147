// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/merge.hpp>

#include <shardweave/read/detail/game.hpp>
#include <shardweave/read/order.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/allocated.hpp"
#include "support/generate.hpp"

namespace sw = shardweave;
using test_support::generator;

namespace {

struct row {
    std::uint32_t key;
    std::size_t lane;
    std::string name;

    friend bool operator==(const row&, const row&) = default;
};

const auto numbers = sw::oldest_first<int>(sw::unique(std::identity{}));
using number_merge = sw::merge<int, decltype(numbers)>;
using head = number_merge::head;

static_assert(noexcept(std::declval<const number_merge&>().top()));
static_assert(noexcept(std::declval<const number_merge&>().buffered(0)));

/// A number as text of its width, behind `before`: long ones have equal prefixes and differ later.
std::string padded(std::uint32_t number, const std::string& before) {
    std::string digits = std::to_string(number);
    return before + std::string(10 - digits.size(), '0') + digits;
}

/// Lanes of rows in the order that `way` walks. Keys repeat between lanes, never within one.
std::vector<std::vector<row>> any_lanes(generator& from, std::size_t count, sw::scan way,
                                        const std::string& before) {
    std::vector<std::vector<row>> lanes(count);
    const std::uint32_t keys = from.pick(std::vector<std::uint32_t>{4, 40, 4'000, 4'000'000'000});
    for (std::size_t lane = 0; lane != count; ++lane) {
        std::set<std::uint32_t> drawn;
        for (std::size_t left = from.below(40U); left != 0; --left) {
            drawn.insert(from.below(keys));
        }
        for (const std::uint32_t key : drawn) {
            lanes[lane].push_back({key, lane, padded(key, before)});
        }
        if (way == sw::scan::backward) {
            std::ranges::reverse(lanes[lane]);
        }
    }
    return lanes;
}

/// What one sort of everything gives: rows of one position by lane.
std::vector<row> sorted(const std::vector<std::vector<row>>& lanes, sw::scan way) {
    std::vector<row> all;
    for (const std::vector<row>& lane : lanes) {
        all.insert(all.end(), lane.begin(), lane.end());
    }
    std::ranges::sort(all, [way](const row& a, const row& b) {
        return a.key == b.key ? a.lane < b.lane : (a.key < b.key) == (way == sw::scan::forward);
    });
    return all;
}

/// Takes rows one by one and, where many come from a lane on end, all of these at once.
template <class Row>
struct rows_and_runs {
    std::vector<Row>* all;

    void operator()(std::size_t, Row&& row) const { all->push_back(std::move(row)); }
    void operator()(std::size_t, Row* first, Row* last) const {
        all->insert(all->end(), std::make_move_iterator(first), std::make_move_iterator(last));
    }
};

/// Takes everything, one by one or in runs, feeding each lane a few rows whenever the merge waits
/// for it. Checks what a run promises: its rows are at positions of their own, and it stops only at
/// its most, before what is no row, or where `next_equals` is to be asked.
template <class Row, class Order>
std::vector<Row> merged(const Order& order, sw::scan way, std::vector<std::vector<Row>> lanes,
                        generator& from, std::size_t page) {
    using merge_type = sw::merge<Row, Order>;
    const bool in_runs = from.chance(50);
    merge_type merge{order, way, lanes.size()};
    std::vector<std::size_t> fed(lanes.size(), 0);
    std::vector<Row> all;
    merge.settle();
    for (;;) {
        const std::size_t lane = merge.top();
        switch (merge.state(lane)) {
            case merge_type::head::end: return all;
            case merge_type::head::row: {
                const std::size_t before = all.size();
                if (from.chance(10)) {
                    all.push_back(merge.take());
                } else {
                    const std::size_t most = from.chance(30) ? from.between(1U, 20U) : 1'000'000;
                    const std::size_t taken = in_runs
                                                  ? merge.run(most, rows_and_runs<Row>{&all})
                                                  : merge.run(most, [&](std::size_t, Row&& row) {
                                                        all.push_back(std::move(row));
                                                    });
                    REQUIRE(taken >= 1);
                    REQUIRE(taken <= most);
                    REQUIRE(all.size() == before + taken);
                }
                bool apart = true;
                for (std::size_t i = before + 1; i < all.size(); ++i) {
                    apart = apart && order.compare(all[i - 1], all[i]) != 0;
                }
                REQUIRE(apart);
                break;
            }
            case merge_type::head::wall: {
                const std::size_t left = lanes[lane].size() - fed[lane];
                const auto count = std::min<std::size_t>(left, from.below(std::size_t{page}));
                const auto first = lanes[lane].begin() + static_cast<std::ptrdiff_t>(fed[lane]);
                REQUIRE_FALSE(
                    merge.feed(lane, {first, first + static_cast<std::ptrdiff_t>(count)}));
                fed[lane] += count;
                if (fed[lane] == lanes[lane].size() && from.chance(50)) {
                    merge.finish(lane);
                }
                merge.settle();
            }
        }
    }
}

/// Two numbers, of which many share the first.
struct pair_row {
    std::uint64_t high;
    std::uint64_t low;
    std::size_t lane;

    friend bool operator==(const pair_row&, const pair_row&) = default;
};

/// Long lanes, as data come: evenly spread, in runs from one lane, most of it in one lane, or half
/// of it in two lanes at once. A few rows are in two lanes in the other shapes, too.
std::vector<std::vector<pair_row>> long_lanes(generator& from, std::size_t count,
                                              std::size_t rows) {
    std::vector<std::vector<pair_row>> lanes(count);
    const unsigned shape = from.below(4U);
    const std::uint64_t share = from.pick(std::vector<std::uint64_t>{1, 1, 4, 1'000});
    const std::size_t run = from.pick(std::vector<std::size_t>{3, 15, 70, 400});
    const std::size_t hot = from.below(count);
    const unsigned copies = from.pick(std::vector<unsigned>{0, 2});
    std::size_t lane = 0;
    for (std::size_t i = 0; i != rows; ++i) {
        if (shape == 1 ? i % run == 0 : shape != 2 || from.chance(15)) {
            lane = from.below(count);
        } else if (shape == 2) {
            lane = hot;
        }
        const pair_row row{i / share, i % share == 0 ? 0 : i, lane};
        lanes[lane].push_back(row);
        if (from.chance(shape == 3 ? 50 : copies)) {
            const std::size_t copied = (lane + 1) % count;
            if (copied != lane) {
                lanes[copied].push_back({row.high, row.low, copied});
            }
        }
    }
    return lanes;
}

/// The same with text for the numbers, whose first bytes often tie.
struct text_row {
    std::string text;
    std::size_t lane;

    friend bool operator==(const text_row&, const text_row&) = default;
};

std::vector<std::vector<text_row>> as_texts(const std::vector<std::vector<pair_row>>& lanes) {
    std::vector<std::vector<text_row>> texts(lanes.size());
    for (std::size_t lane = 0; lane != lanes.size(); ++lane) {
        for (const pair_row& row : lanes[lane]) {
            const std::string high = padded(static_cast<std::uint32_t>(row.high), "");
            texts[lane].push_back({padded(static_cast<std::uint32_t>(row.low), high), row.lane});
        }
    }
    return texts;
}

/// The rows that come before the merge has to wait, or ends.
std::vector<int> certain(number_merge& merge) {
    std::vector<int> rows;
    merge.settle();
    while (merge.state(merge.top()) == head::row) {
        rows.push_back(merge.take());
    }
    return rows;
}

}  // namespace

TEST_CASE("a merge gives what one sort of everything gives, and ties in lane order", "[merge]") {
    INFO(test_support::replay());
    generator from;
    // A number that decides by its first bytes, a text that fits in the prefix, and texts that are
    // equal in the prefix and beyond it.
    const auto by_key = sw::oldest_first(sw::unique(&row::key));
    const auto by_name = sw::oldest_first(sw::unique(&row::name));
    for (const std::size_t count : {1U, 2U, 3U, 5U, 8U, 64U, 1000U}) {
        for (std::size_t round = 0; round != test_support::scaled(count < 100 ? 40 : 2); ++round) {
            for (const sw::scan way : {sw::scan::forward, sw::scan::backward}) {
                for (const std::string before : {"", "12345678", "a common beginning "}) {
                    CAPTURE(count, round, way, before);
                    const auto lanes = any_lanes(from, count, way, before);
                    const auto expected = sorted(lanes, way);
                    REQUIRE(merged(by_name, way, lanes, from, 6) == expected);
                    if (before.empty()) {
                        REQUIRE(merged(by_key, way, lanes, from, 6) == expected);
                    }
                }
            }
        }
    }
}

TEST_CASE("games have the same ends in conditional moves and in plain steps", "[merge]") {
    namespace detail = sw::detail;
    INFO(test_support::replay());
    generator from;
    const auto play = [&]<detail::words Words> {
        // Few values, so that each word ties often; and the largest ones, which borrow.
        const auto word = [&] {
            return from.pick(std::vector<std::uint64_t>{0, 1, 2, ~std::uint64_t{0}});
        };
        const detail::contender first{std::uint64_t{16} * from.below(4U), {word(), word()}};
        const std::uint64_t rival = std::uint64_t{16} * from.between(4U, 8U);
        const detail::head_key key{word(), word()};
        detail::contender a = first;
        detail::contender b = first;
        const detail::game_result quick = detail::play_game<Words>(a, rival, key);
        const detail::game_result plain = detail::play_plainly<Words>(b, rival, key);
        REQUIRE(quick.tied == plain.tied);
        REQUIRE(quick.loser == plain.loser);
        REQUIRE(a.player == b.player);
        REQUIRE(a.key == b.key);
        const bool both = Words == detail::words::both;
        const bool wins = both ? key < first.key : key.high < first.key.high;
        REQUIRE(b.player == (wins ? rival : first.player));
        REQUIRE(b.key.high == (wins ? key.high : first.key.high));
        REQUIRE(plain.tied == (both ? key == first.key : key.high == first.key.high));
    };
    for (std::size_t round = 0; round != test_support::scaled(5'000); ++round) {
        play.template operator()<detail::words::high>();
        play.template operator()<detail::words::both>();
    }
}

TEST_CASE("long lanes merge like one sort, whichever loop takes their rows", "[merge]") {
    INFO(test_support::replay());
    generator from;
    const auto by_both = sw::oldest_first(&pair_row::high, sw::unique(&pair_row::low));
    const auto by_text = sw::oldest_first(sw::unique(&text_row::text));
    for (std::size_t round = 0; round != test_support::scaled(300); ++round) {
        const auto count = from.pick(std::vector<std::size_t>{1, 2, 2, 3, 7, 8, 17, 40});
        const sw::scan way = from.chance(50) ? sw::scan::forward : sw::scan::backward;
        auto lanes = long_lanes(from, count, 3'000);
        std::vector<pair_row> expected;
        for (std::vector<pair_row>& lane : lanes) {
            expected.insert(expected.end(), lane.begin(), lane.end());
            if (way == sw::scan::backward) {
                std::ranges::reverse(lane);
            }
        }
        std::ranges::sort(expected, [way](const pair_row& a, const pair_row& b) {
            const auto order = std::tie(a.high, a.low) <=> std::tie(b.high, b.low);
            return order == 0 ? a.lane < b.lane : (order < 0) == (way == sw::scan::forward);
        });
        CAPTURE(round, count, way);
        const auto page = from.pick(std::vector<std::size_t>{5, 60, 4'000});
        const auto all_texts = merged(by_text, way, as_texts(lanes), from, page);
        const bool same_texts = all_texts == as_texts({expected}).front();
        REQUIRE(same_texts);
        const auto all = merged(by_both, way, std::move(lanes), from, page);
        const bool same = all == expected;
        REQUIRE(same);
    }
}

TEST_CASE("a run stops at each copy, however few of two lanes' rows these are", "[merge]") {
    number_merge merge{numbers, sw::scan::forward, 2};
    std::vector<int> all(3'000);
    std::ranges::generate(all, [next = 0]() mutable { return next++; });
    std::vector<int> copies;
    std::ranges::copy_if(all, std::back_inserter(copies), [](int row) { return row % 20 == 7; });
    REQUIRE_FALSE(merge.feed(0, std::vector{all}));
    REQUIRE_FALSE(merge.feed(1, std::vector{copies}));
    merge.finish(0);
    merge.finish(1);
    merge.settle();
    std::vector<int> taken;
    std::vector<int> doubled;
    while (merge.state(merge.top()) == head::row) {
        merge.run(all.size(), [&](std::size_t, int&& row) { taken.push_back(row); });
        while (merge.next_equals(taken.back())) {
            doubled.push_back(merge.take());
        }
    }
    CHECK(taken == all);
    CHECK(doubled == copies);
}

TEST_CASE("a run stops at the most, at a wall and at the end", "[merge]") {
    number_merge merge{numbers, sw::scan::forward, 2};
    REQUIRE_FALSE(merge.feed(0, {1, 3, 5, 9}));
    REQUIRE_FALSE(merge.feed(1, {2, 4}));
    merge.finish(0);
    merge.settle();
    std::vector<std::pair<std::size_t, int>> taken;
    const auto out = [&](std::size_t lane, int&& row) { taken.emplace_back(lane, row); };
    CHECK(merge.run(0, out) == 0);
    CHECK(merge.run(2, out) == 2);
    CHECK(merge.run(100, out) == 2);
    CHECK(taken == std::vector<std::pair<std::size_t, int>>{{0, 1}, {1, 2}, {0, 3}, {1, 4}});
    CHECK(merge.state(merge.top()) == head::wall);
    CHECK(merge.run(100, out) == 0);
    merge.finish(1);
    merge.settle();
    CHECK(merge.run(100, out) == 2);
    CHECK(merge.state(merge.top()) == head::end);
    CHECK(merge.run(100, out) == 0);
}

TEST_CASE("what is beyond a wall is not handed out, what is up to it is", "[merge]") {
    number_merge merge{numbers, sw::scan::forward, 2};
    REQUIRE_FALSE(merge.feed(0, {1, 4, 5, 7}));
    CHECK(certain(merge).empty());
    CHECK(merge.top() == 1);

    REQUIRE_FALSE(merge.feed(1, {3}));
    CHECK(certain(merge) == std::vector{1, 3});
    CHECK(merge.top() == 1);
    CHECK(merge.state(1) == head::wall);
    CHECK(merge.covered(1) == numbers.position_of(3));

    // Covered up to a position, that position included: a row there is certain.
    merge.cover(1, numbers.position_of(4));
    CHECK(certain(merge) == std::vector{4});
    CHECK(merge.top() == 1);

    merge.finish(1);
    CHECK(certain(merge) == std::vector{5, 7});
    CHECK(merge.top() == 0);
    CHECK(merge.state(0) == head::wall);
    merge.finish(0);
    CHECK(certain(merge).empty());
    CHECK(merge.state(merge.top()) == head::end);
}

TEST_CASE("walls stop a walk backward, too", "[merge]") {
    number_merge merge{numbers, sw::scan::backward, 2};
    REQUIRE_FALSE(merge.feed(0, {7, 5, 4, 1}));
    REQUIRE_FALSE(merge.feed(1, {5}));
    CHECK(certain(merge) == std::vector{7, 5, 5});
    merge.cover(1, numbers.position_of(4));
    CHECK(certain(merge) == std::vector{4});
    merge.finish(1);
    CHECK(certain(merge) == std::vector{1});
}

TEST_CASE("lanes that are not on top may change, too", "[merge]") {
    number_merge merge{numbers, sw::scan::forward, 4};
    REQUIRE_FALSE(merge.feed(0, {1, 20}));
    REQUIRE_FALSE(merge.feed(1, {25}));
    REQUIRE_FALSE(merge.feed(3, {30}));
    merge.cover(2, numbers.position_of(5));
    for (const std::size_t lane : {0U, 1U, 3U}) {
        merge.finish(lane);
    }
    merge.settle();
    CHECK(merge.top() == 0);
    REQUIRE_FALSE(merge.feed(2, {40}));
    merge.finish(2);
    CHECK(certain(merge) == std::vector{1, 20, 25, 30, 40});
}

TEST_CASE("a wall never goes back", "[merge]") {
    number_merge merge{numbers, sw::scan::forward, 1};
    merge.cover(0, numbers.position_of(5));
    merge.cover(0, numbers.position_of(3));
    CHECK(merge.covered(0) == numbers.position_of(5));
    REQUIRE_FALSE(merge.feed(0, {6, 8}));
    merge.cover(0, numbers.position_of(7));
    CHECK(merge.covered(0) == numbers.position_of(8));
}

TEST_CASE("rows at a wall come before it, whichever lane has it", "[merge]") {
    for (const std::size_t with_row : {0U, 1U}) {
        CAPTURE(with_row);
        number_merge merge{numbers, sw::scan::forward, 2};
        merge.cover(1 - with_row, numbers.position_of(5));
        REQUIRE_FALSE(merge.feed(with_row, {5, 6}));
        CHECK(certain(merge) == std::vector{5});
        CHECK(merge.top() == 1 - with_row);
    }
}

TEST_CASE("the smallest and the largest values are not taken for a wall or an end", "[merge]") {
    // Their order-preserving bytes are those of a lane that knows nothing, and of one at its end.
    struct extreme {
        std::uint64_t high;
        std::uint64_t low;
        bool operator==(const extreme&) const = default;
    };
    const auto order = sw::oldest_first(&extreme::high, sw::unique(&extreme::low));
    constexpr std::uint64_t most = ~std::uint64_t{0};
    using merge_type = sw::merge<extreme, decltype(order)>;
    for (const sw::scan way : {sw::scan::forward, sw::scan::backward}) {
        merge_type merge{order, way, 3};
        std::vector<extreme> rows{{0, 0}, {most, most}};
        if (way == sw::scan::backward) {
            std::ranges::reverse(rows);
        }
        merge.finish(0);
        REQUIRE_FALSE(merge.feed(1, std::vector{rows}));
        merge.finish(1);
        merge.settle();
        CHECK(merge.top() == 2);
        CHECK(merge.state(2) == merge_type::head::wall);
        merge.finish(2);
        merge.settle();
        for (const extreme& expected : rows) {
            REQUIRE(merge.state(merge.top()) == merge_type::head::row);
            CHECK(merge.take() == expected);
        }
        CHECK(merge.state(merge.top()) == merge_type::head::end);
    }
}

TEST_CASE("rows out of order are refused by their number, and none of them is taken", "[merge]") {
    number_merge merge{numbers, sw::scan::forward, 2};
    merge.finish(1);
    std::vector rows{1, 3, 2, 4};
    CHECK(merge.feed(0, std::move(rows)) == std::optional<std::size_t>{2});
    CHECK(rows == std::vector{1, 3, 2, 4});  // NOLINT(bugprone-use-after-move): so it says
    CHECK(merge.feed(0, {1, 1}) == std::optional<std::size_t>{1});
    CHECK(merge.buffered(0) == 0);
    CHECK_FALSE(merge.covered(0));

    REQUIRE_FALSE(merge.feed(0, {1, 3}));
    CHECK(merge.feed(0, {3, 4}) == std::optional<std::size_t>{0});
    CHECK(merge.feed(0, {2}) == std::optional<std::size_t>{0});
    merge.cover(0, numbers.position_of(6));
    CHECK(merge.feed(0, {6, 7}) == std::optional<std::size_t>{0});
    CHECK(merge.buffered(0) == 2);
    CHECK(certain(merge) == std::vector{1, 3});

    number_merge back{numbers, sw::scan::backward, 1};
    CHECK(back.feed(0, {1, 2}) == std::optional<std::size_t>{1});
    REQUIRE_FALSE(back.feed(0, {2, 1}));
}

TEST_CASE("rows are appended behind those that wait, and those that were taken are forgotten",
          "[merge]") {
    number_merge merge{numbers, sw::scan::forward, 2};
    REQUIRE_FALSE(merge.feed(0, {1, 3, 5}));
    REQUIRE_FALSE(merge.feed(1, {2}));
    CHECK(certain(merge) == std::vector{1, 2});
    CHECK(merge.buffered(0) == 2);
    REQUIRE_FALSE(merge.feed(0, {7}));
    CHECK(merge.buffered(0) == 3);
    REQUIRE_FALSE(merge.feed(0, {}));
    CHECK(merge.buffered(0) == 3);
    merge.finish(0);
    merge.finish(1);
    CHECK(merge.finished(0));
    CHECK(certain(merge) == std::vector{3, 5, 7});
}

TEST_CASE("the n-th waiting row counts equal positions once", "[merge]") {
    INFO(test_support::replay());
    generator from;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const sw::scan way = from.chance(50) ? sw::scan::forward : sw::scan::backward;
        number_merge merge{numbers, way, from.between(std::size_t{1}, std::size_t{6})};
        std::set<int> waiting;
        for (std::size_t lane = 0; lane != merge.lanes(); ++lane) {
            std::set<int> rows;
            for (std::size_t left = from.below(6U); left != 0; --left) {
                rows.insert(static_cast<int>(from.below(12U)));
            }
            waiting.insert(rows.begin(), rows.end());
            std::vector<int> fed(rows.begin(), rows.end());
            if (way == sw::scan::backward) {
                std::ranges::reverse(fed);
            }
            REQUIRE_FALSE(merge.feed(lane, std::move(fed)));
        }
        // Some are gone already.
        merge.settle();
        while (from.chance(30) && merge.state(merge.top()) == head::row) {
            const int item = merge.take();
            if (!merge.next_equals(item)) {
                waiting.erase(item);
            }
        }
        std::vector<int> left(waiting.begin(), waiting.end());
        if (way == sw::scan::backward) {
            std::ranges::reverse(left);
        }
        for (std::size_t n = 1; n <= left.size(); ++n) {
            REQUIRE(merge.nth_waiting(n) == numbers.position_of(left[n - 1]));
        }
        REQUIRE_FALSE(merge.nth_waiting(left.size() + 1));
    }
}

TEST_CASE("a merge knows whether the next row is at the position of the one just taken",
          "[merge]") {
    const auto by_name = sw::oldest_first(sw::unique(&row::name));
    for (const std::string before : {"", "12345", "beyond any prefix: "}) {
        for (const sw::scan way : {sw::scan::forward, sw::scan::backward}) {
            CAPTURE(before, way);
            sw::merge<row, decltype(by_name)> merge{by_name, way, 3};
            const bool forward = way == sw::scan::forward;
            const auto at = [&](std::uint32_t number) {
                return padded(forward ? number : 9 - number, before);
            };
            REQUIRE_FALSE(merge.feed(0, {{1, 0, at(1)}, {2, 0, at(2)}}));
            REQUIRE_FALSE(merge.feed(1, {{1, 1, at(1)}, {3, 1, at(3)}}));
            REQUIRE_FALSE(merge.feed(2, {{3, 2, at(3)}}));
            for (const std::size_t lane : {0U, 1U, 2U}) {
                merge.finish(lane);
            }
            merge.settle();
            std::vector<bool> equal;
            for (std::size_t i = 0; i != 5; ++i) {
                const row taken = merge.take();
                equal.push_back(merge.next_equals(taken));
            }
            CHECK(equal == std::vector{true, false, false, true, false});
        }
    }
}

TEST_CASE("a wall or an end at the position of the row just taken is no equal row", "[merge]") {
    number_merge merge{numbers, sw::scan::forward, 2};
    merge.cover(1, numbers.position_of(5));
    REQUIRE_FALSE(merge.feed(0, {5}));
    merge.settle();
    CHECK_FALSE(merge.next_equals(merge.take()));

    struct largest {
        std::uint64_t a;
        std::uint64_t b;
    };
    constexpr std::uint64_t most = ~std::uint64_t{0};
    const auto order = sw::oldest_first(&largest::a, sw::unique(&largest::b));
    sw::merge<largest, decltype(order)> ending{order, sw::scan::forward, 1};
    REQUIRE_FALSE(ending.feed(0, {{most, most}}));
    ending.finish(0);
    ending.settle();
    CHECK_FALSE(ending.next_equals(ending.take()));
}

TEST_CASE("items are moved and never copied", "[merge]") {
    using owner = std::unique_ptr<int>;
    const auto order = sw::oldest_first<owner>(sw::unique([](const owner& each) { return *each; }));
    sw::merge<owner, decltype(order)> merge{order, sw::scan::forward, 2};
    const auto owners = [](std::initializer_list<int> values) {
        std::vector<owner> made;
        for (const int value : values) {
            made.push_back(std::make_unique<int>(value));
        }
        return made;
    };
    REQUIRE_FALSE(merge.feed(0, owners({1, 4})));
    REQUIRE_FALSE(merge.feed(1, owners({2})));
    REQUIRE_FALSE(merge.feed(0, owners({5})));
    merge.finish(0);
    merge.finish(1);
    merge.settle();
    CHECK(merge.nth_waiting(3) == order.position_of(std::make_unique<int>(4)));
    std::vector<int> taken;
    while (merge.state(merge.top()) == decltype(merge)::head::row) {
        taken.push_back(*merge.take());
    }
    CHECK(taken == std::vector{1, 2, 4, 5});
}

TEST_CASE("rows are fed and taken without allocating, but for a lane's last position", "[merge]") {
    constexpr std::size_t lanes = 8;
    constexpr std::size_t rows = 100;
    const auto by_name = sw::oldest_first(sw::unique(&row::name));
    std::vector<std::vector<row>> pages(lanes);
    for (std::size_t lane = 0; lane != lanes; ++lane) {
        for (std::uint32_t i = 0; i != rows; ++i) {
            const auto key = static_cast<std::uint32_t>(i * lanes + lane);
            pages[lane].push_back({key, lane, padded(key, "too long for any small buffer: ")});
        }
    }
    std::size_t before = test_support::allocated_bytes;
    sw::merge<row, decltype(by_name)> merge{by_name, sw::scan::forward, lanes};
    bool fed = true;
    for (std::size_t lane = 0; lane != lanes; ++lane) {
        fed = !merge.feed(lane, std::move(pages[lane])) && fed;
        merge.finish(lane);
    }
    merge.settle();
    std::size_t taken = 0;
    bool rising = true;
    const auto out = [&](std::size_t, row&& each) { rising = each.key == taken++ && rising; };
    while (taken < (rows - 2) * lanes) {
        merge.run(lanes * 10, out);
        out(0, merge.take());
    }
    CHECK(test_support::allocated_bytes - before == 0);
    // The last rows' positions say up to where the lanes are known: a text each.
    before = test_support::allocated_bytes;
    while (merge.state(merge.top()) == decltype(merge)::head::row) {
        merge.run(10, out);
        out(0, merge.take());
    }
    CHECK(test_support::allocated_bytes - before <= lanes * 64);
    CHECK(fed);
    CHECK(rising);
    CHECK(taken == lanes * rows);
}

TEST_CASE("a merge of up to sixteen lanes allocates nothing but what it is fed", "[merge]") {
    for (const std::size_t lanes : {1U, 2U, 9U, 16U}) {
        std::vector<std::vector<int>> pages(lanes, {1, 2, 3});
        const std::size_t before = test_support::allocated_bytes;
        number_merge merge{numbers, sw::scan::forward, lanes};
        bool fed = true;
        for (std::size_t lane = 0; lane != lanes; ++lane) {
            fed = !merge.feed(lane, std::move(pages[lane])) && fed;
        }
        merge.settle();
        number_merge moved = std::move(merge);
        std::size_t taken = 0;
        while (moved.state(moved.top()) == head::row) {
            taken += moved.run(100, [](std::size_t, int&&) {});
        }
        CHECK(test_support::allocated_bytes - before == 0);
        CHECK(fed);
        CHECK(taken >= 2 * lanes + 1);
    }
}
