// SPDX-License-Identifier: BSL-1.0
#include <shardweave/testing/conformance.hpp>

#include <shardweave/shardweave.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;
using sw::testing::verdict;

namespace {

struct post {
    std::int64_t created_at = 0;
    std::string id;
};

struct scored {
    std::optional<std::int64_t> score;
    std::string id;
};

const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));
const auto best =
    sw::order_by(sw::nulls_last(sw::descending(&scored::score)), sw::unique(&scored::id));

/// Ties of ten, negative times, every sample text among the ids.
std::vector<post> sample_posts(int salt) {
    std::vector<std::string> ids = sw::testing::sample_texts();
    std::ranges::copy(sw::testing::sample_bytes(), std::back_inserter(ids));
    std::vector<post> rows;
    for (std::size_t i = 0; i != ids.size(); ++i) {
        const std::int64_t at = static_cast<std::int64_t>(i / 10) * 10 - 10 + salt;
        rows.push_back({at, ids[i]});
    }
    rows.push_back({7, salt == 0 ? "x" : "y"});
    return rows;
}

std::vector<scored> sample_scores() {
    return {{5, "a"},
            {5, "b"},
            {5, "c"},
            {-1, "d"},
            {7, "e"},
            {0, "f"},
            {std::nullopt, "g"},
            {9, "h"},
            {std::nullopt, "i"},
            {std::nullopt, "j"}};
}

const std::string one = "conformance-1";
const std::string two = "conformance-2";

/// A store in memory whose parts can be replaced by faulty ones.
template <class Order>
struct faulty_store {
    using item = typename Order::item_type;
    using position = typename Order::position_type;
    using query = sw::shard_query<position>;
    using page = sw::shard_page<item>;
    using before = std::function<bool(const item&, const item&)>;

    Order order;
    std::map<std::string, std::vector<item>> rows;
    /// How it sorts forward; backward is the reverse.
    before sorts = [this](const item& a, const item& b) { return order.compare(a, b) < 0; };
    /// Whether a row is beyond `after`.
    std::function<bool(const query&, const item&)> beyond = [this](const query& q,
                                                                   const item& row) {
        const auto side = order.compare(row, *q.after);
        return q.way == sw::scan::forward ? side > 0 : side < 0;
    };
    std::function<bool(const query&, const item&)> within = [this](const query& q,
                                                                   const item& row) {
        const auto side = order.compare(row, *q.until);
        return q.way == sw::scan::forward ? side <= 0 : side >= 0;
    };

    [[nodiscard]] std::vector<item> selected(const query& q) const {
        std::vector<item> found;
        for (const std::string& key : q.partition_keys) {
            if (const auto at = rows.find(key); at != rows.end()) {
                std::ranges::copy_if(at->second, std::back_inserter(found), [&](const item& row) {
                    return (!q.after || beyond(q, row)) && (!q.until || within(q, row));
                });
            }
        }
        return found;
    }

    void sort(std::vector<item>& found, sw::scan way) const {
        std::sort(found.begin(), found.end(), [&](const item& a, const item& b) {
            return way == sw::scan::forward ? sorts(a, b) : sorts(b, a);
        });
    }

    static page cut(std::vector<item> found, std::size_t limit) {
        const bool more = found.size() > limit;
        found.resize(std::min(limit, found.size()));
        return {.items = std::move(found), .more = more};
    }

    [[nodiscard]] page answer(const query& q) const {
        std::vector<item> found = selected(q);
        sort(found, q.way);
        return cut(std::move(found), q.limit);
    }
};

using post_store = faulty_store<decltype(newest)>;
using score_store = faulty_store<decltype(best)>;
using query = post_store::query;
using page = post_store::page;

post_store posts() { return {newest, {{one, sample_posts(0)}, {two, sample_posts(5)}}}; }

template <class Store>
score_store as_scores(Store store) {
    return store;
}
score_store scores() { return {best, {{one, sample_scores()}, {two, {{3, "k"}, {{}, "l"}}}}}; }

template <class Order>
sw::testing::stored_rows<typename Order::item_type> holding(const faulty_store<Order>& store,
                                                            std::vector<std::string> names) {
    return {.shard = "db0", .rows = store.rows, .criteria = std::move(names)};
}

template <class Order, class Callback>
sw::testing::report examine(const faulty_store<Order>& store, const Callback& callback) {
    const bool plain = store.rows.at(one).size() > 20;
    return sw::testing::check_callback(store.order, callback,
                                       holding(store, {plain ? "created_at" : "score", "id"}));
}

template <class Order>
sw::testing::report examine(const faulty_store<Order>& store) {
    return examine(store, [&](const auto& q) { return store.answer(q); });
}

const sw::testing::check* find(const sw::testing::report& of, std::string_view name) {
    const auto at = std::ranges::find(of.checks, name, &sw::testing::check::name);
    return at == of.checks.end() ? nullptr : &*at;
}

/// That the check failed, and that its advice has the words.
void found(const sw::testing::report& of, std::string_view name, const std::string& advice) {
    INFO(of.text());
    CHECK_FALSE(of.ok());
    const sw::testing::check* const at = find(of, name);
    REQUIRE(at != nullptr);
    CHECK(at->result == verdict::failed);
    CHECK_FALSE(at->detail.empty());
    CHECK_THAT(at->advice, Catch::Matchers::ContainsSubstring(advice));
}

void passes(const sw::testing::report& of) {
    INFO(of.text());
    CHECK(of.ok());
    CHECK(of.count(verdict::passed) > 10);
}

}  // namespace

TEST_CASE("a store that keeps its promises passes", "[conformance]") {
    test_support::memory_store store{newest};
    const post_store reference = posts();
    for (const auto& [key, rows] : reference.rows) {
        for (const post& row : rows) {
            store.insert("db0", key, row);
        }
    }
    auto what = holding(reference, {"created_at", "id"});
    what.grouping = sw::grouping::per_shard;
    const auto report =
        sw::testing::check_callback(newest, [&](const query& q) { return store.answer(q); }, what);
    passes(report);
    INFO(report.text());
    CHECK(report.remarks.empty());
    CHECK(report.situations_missing.empty());
    CHECK(find(report, "partition keys together")->result == verdict::passed);
    CHECK(find(report, "the store's cursor")->result == verdict::not_covered);
    passes(examine(scores()));
}

TEST_CASE("what the contract allows passes, and what it wastes is remarked", "[conformance]") {
    const post_store store = posts();

    SECTION("short and empty answers, with cursors that go on") {
        // A cursor is the number of rows that were looked at, as of a store that filters late.
        const auto report = examine(store, [&](const query& q) -> page {
            std::vector<post> all = store.selected(q);
            store.sort(all, q.way);
            std::size_t begin = 0;
            if (!q.cursor.empty()) {
                const auto [first, counted] = std::pair{q.cursor.find(' '), 0};
                static_cast<void>(counted);
                std::from_chars(q.cursor.data() + first + 1, q.cursor.data() + q.cursor.size(),
                                begin);
            }
            if (begin < 3) {
                return {.items = {}, .more = true, .cursor = "at " + std::to_string(begin + 1)};
            }
            page answer = post_store::cut(std::move(all), std::max<std::size_t>(q.limit / 2, 1));
            answer.cursor = answer.more ? "at 3" : "";
            return answer;
        });
        passes(report);
        INFO(report.text());
        CHECK(find(report, "the store's cursor")->result == verdict::passed);
        CHECK(report.remarks.empty());
    }
    SECTION("empty answers that say how far was looked") {
        // As of a store that looks at three rows at a time, and filters the others' out.
        passes(examine(store, [&](const query& q) {
            query both = q;
            const std::vector<std::string> all{one, two};
            both.partition_keys = all;
            both.limit = 3;
            page looked = store.answer(both);
            page mine;
            mine.more = looked.more;
            for (const post& row : looked.items) {
                if (store.rows.contains(q.partition_keys.front()) &&
                    std::ranges::any_of(
                        store.rows.at(q.partition_keys.front()),
                        [&](const post& own) { return newest.compare(row, own) == 0; })) {
                    mine.items.push_back(row);
                }
                mine.scanned = row;
            }
            return mine;
        }));
    }
    SECTION("a full answer says that there is more") {
        passes(examine(store, [&](const query& q) {
            page answer = store.answer(q);
            answer.more = answer.items.size() == q.limit;
            return answer;
        }));
    }
    SECTION("`until` is ignored") {
        passes(examine(store, [&](query q) {
            q.until.reset();
            return store.answer(q);
        }));
    }
    SECTION("more rows than were asked for") {
        const auto report = examine(store, [&](query q) {
            q.limit += 2;
            return store.answer(q);
        });
        passes(report);
        REQUIRE(report.remarks.size() == 1);
        CHECK_THAT(report.remarks.front(), Catch::Matchers::ContainsSubstring("`limit`"));
    }
    SECTION("rows up to `after` are repeated, and one more is given") {
        post_store again = store;
        again.beyond = [](const query& q, const post& row) {
            const auto side = newest.compare(row, *q.after);
            return q.way == sw::scan::forward ? side >= 0 : side <= 0;
        };
        const auto report = examine(again, [&](query q) {
            q.limit += q.after ? 1 : 0;
            return again.answer(q);
        });
        passes(report);
        REQUIRE_FALSE(report.remarks.empty());
        CHECK_THAT(report.remarks.front(), Catch::Matchers::ContainsSubstring("`after`"));
    }
}

TEST_CASE("a wrong sort is found, and said what to sort by", "[conformance]") {
    post_store store = posts();
    score_store with_nulls = scores();

    SECTION("no sort at all") {
        found(examine(store,
                      [&](const query& q) { return post_store::cut(store.selected(q), q.limit); }),
              "order, forward", "ORDER BY created_at DESC, id DESC");
    }
    SECTION("the tie-break is not in the sort") {
        store.sorts = [](const post& a, const post& b) {
            return std::pair{b.created_at, a.id} < std::pair{a.created_at, b.id};
        };
        found(examine(store), "order, forward", "created_at DESC, id DESC");
    }
    SECTION("the tie-break is not reversed backward") {
        found(examine(store,
                      [&](const query& q) {
                          std::vector<post> all = store.selected(q);
                          std::ranges::sort(all, [&](const post& a, const post& b) {
                              return a.created_at != b.created_at ? (a.created_at > b.created_at) ==
                                                                        (q.way == sw::scan::forward)
                                                                  : a.id > b.id;
                          });
                          return post_store::cut(std::move(all), q.limit);
                      }),
              "order, backward", "reverse every criterion when `way` is backward, id too");
    }
    SECTION("backward is not looked at") {
        found(examine(store,
                      [&](query q) {
                          auto all = store.selected(q);
                          store.sort(all, sw::scan::forward);
                          return post_store::cut(std::move(all), q.limit);
                      }),
              "order, backward", "walk the other way: ORDER BY created_at ASC, id ASC");
    }
    SECTION("letters' case is ignored") {
        const auto lower = [](std::string text) {
            for (char& c : text) {
                c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
            }
            return text;
        };
        store.sorts = [lower](const post& a, const post& b) {
            return std::tuple{b.created_at, lower(b.id), b.id} <
                   std::tuple{a.created_at, lower(a.id), a.id};
        };
        found(examine(store), "order, forward", "without regard to case");
        found(examine(store), "order, forward", "COLLATE \"C\"");
    }
    SECTION("bytes have a sign") {
        store.sorts = [](const post& a, const post& b) {
            const auto less = [](const std::string& x, const std::string& y) {
                return std::ranges::lexicographical_compare(x, y, [](char c, char d) {
                    return static_cast<signed char>(c) < static_cast<signed char>(d);
                });
            };
            return a.created_at != b.created_at ? a.created_at > b.created_at : less(b.id, a.id);
        };
        found(examine(store), "order, forward", "with signed bytes");
    }
    SECTION("text counts in UTF-16") {
        store.rows = {{one, {{1, "\xef\xbd\x9e"}, {1, "\xf0\x9f\x98\x80"}, {1, "a"}}}};
        store.sorts = [](const post& a, const post& b) {
            const auto units = [](const std::string& id) {  // the first, of the texts above
                return id == "a" ? 0x61 : id.size() == 4 ? 0xd83d : 0xff5e;
            };
            return units(b.id) < units(a.id);
        };
        found(sw::testing::check_callback(
                  newest, [&](const query& q) { return store.answer(q); }, holding(store, {})),
              "order, forward", "in UTF-16");
    }
    SECTION("numbers are kept as text") {
        store.rows = {{one, {{1, "9"}, {1, "10"}, {1, "2"}, {2, "1"}}}};
        store.sorts = [](const post& a, const post& b) {
            return std::tuple{b.created_at, b.id.size(), b.id} <
                   std::tuple{a.created_at, a.id.size(), a.id};
        };
        found(sw::testing::check_callback(
                  newest, [&](const query& q) { return store.answer(q); }, holding(store, {})),
              "order, forward", "as numbers");
    }
    SECTION("the sign is not looked at") {
        store.sorts = [](const post& a, const post& b) {
            return std::pair{static_cast<std::uint64_t>(b.created_at), b.id} <
                   std::pair{static_cast<std::uint64_t>(a.created_at), a.id};
        };
        found(examine(store), "order, forward", "created_at without its sign");
    }
    SECTION("absent values on the wrong side") {
        with_nulls.sorts = [](const scored& a, const scored& b) {
            return a.score.has_value() != b.score.has_value() ? !a.score.has_value()
                                                              : best.compare(a, b) < 0;
        };
        found(examine(with_nulls), "order, forward", "ORDER BY score DESC NULLS LAST, id ASC");
    }
    SECTION("absent values do not change sides backward") {
        found(examine(with_nulls,
                      [&](const score_store::query& q) {
                          auto all = with_nulls.selected(q);
                          with_nulls.sort(all, q.way);
                          std::ranges::sort(all, [&](const scored& x, const scored& y) {
                              const auto side = best.compare(x, y);
                              return x.score.has_value() != y.score.has_value()
                                         ? x.score.has_value()
                                     : q.way == sw::scan::forward ? side < 0
                                                                  : side > 0;
                          });
                          return score_store::cut(std::move(all), q.limit);
                      }),
              "order, backward", "ORDER BY score ASC NULLS FIRST, id DESC");
    }
    SECTION("a row is given twice") {
        found(examine(store,
                      [&](const query& q) {
                          auto all = store.selected(q);
                          store.sort(all, q.way);
                          if (!all.empty()) {
                              all.push_back(all.back());
                          }
                          return post_store::cut(std::move(all), q.limit);
                      }),
              "order, forward", "give each row once");
    }
}

TEST_CASE("a wrong start is found, and said what to compare", "[conformance]") {
    post_store store = posts();

    SECTION("only the first criterion is compared") {
        store.beyond = [](const query& q, const post& row) {
            return q.way == sw::scan::forward ? row.created_at < get<0>(*q.after)
                                              : row.created_at > get<0>(*q.after);
        };
        const auto report = examine(store);
        found(report, "every row once, forward", "WHERE (created_at, id) < (?, ?)");
        found(report, "every row once, backward", "WHERE (created_at, id) > (?, ?)");
        found(report, "ties", "rows that tie with `after` are skipped");
    }
    SECTION("with mixed directions, the condition is written out") {
        score_store tied = scores();
        tied.rows = {{one, {{5, "a"}, {5, "b"}, {5, "c"}, {4, "d"}, {3, "e"}}}};
        tied.beyond = [](const auto& q, const scored& row) {
            return q.way == sw::scan::forward ? row.score < get<0>(*q.after)
                                              : row.score > get<0>(*q.after);
        };
        found(examine(tied), "ties", "score < ? OR (score = ? AND id > ?)");
    }
    SECTION("`after` is included") {
        store.beyond = [](const query& q, const post& row) {
            const auto side = newest.compare(row, *q.after);
            return q.way == sw::scan::forward ? side >= 0 : side <= 0;
        };
        found(examine(store), "every row once, forward",
              "strictly beyond `after` in every query, and cache no answer without it: WHERE "
              "(created_at, id) < (?, ?)");
    }
    SECTION("`after` is ignored") {
        store.beyond = [](const query&, const post&) { return true; };
        found(examine(store), "every row once, forward", "begin strictly beyond `after`");
    }
    SECTION("the first row is dropped, as if it were `after`") {
        found(examine(store,
                      [&](query q) {
                          q.limit += 1;
                          page answer = store.answer(q);
                          if (q.after && !answer.items.empty()) {
                              answer.items.erase(answer.items.begin());
                          }
                          return answer;
                      }),
              "from any row, forward", "no OFFSET 1");
    }
    SECTION("`after` is looked up among the partition key's own rows") {
        found(examine(store,
                      [&](query q) -> page {
                          const bool known =
                              !q.after ||
                              std::ranges::any_of(store.rows[q.partition_keys.front()],
                                                  [&](const post& row) {
                                                      return newest.compare(row, *q.after) == 0;
                                                  });
                          return known ? store.answer(q) : page{};
                      }),
              "from between rows", "`more` is true unless the end is certain");
    }
    SECTION("rows without a value vanish in the comparison") {
        score_store with_nulls = scores();
        with_nulls.beyond = [](const auto& q, const scored& row) {
            const auto side = best.compare(row, *q.after);
            return row.score && get<0>(*q.after) &&
                   (q.way == sw::scan::forward ? side > 0 : side < 0);
        };
        found(examine(with_nulls), "every row once, forward", "IS NULL");
    }
    SECTION("the condition compares text in another way than the sort") {
        store.beyond = [](const query& q, const post& row) {
            const auto text = [](const std::string& id) { return id.substr(0, id.find('\0')); };
            const std::pair there{row.created_at, text(row.id)};
            const std::pair here{get<0>(*q.after), text(get<1>(*q.after))};
            return q.way == sw::scan::forward ? there < here : there > here;
        };
        found(examine(store), "ties", "up to the first zero byte");
    }
    SECTION("walking backward, the condition still walks forward") {
        store.beyond = [](const query& q, const post& row) {
            return newest.compare(row, *q.after) > 0;
        };
        CHECK(find(examine(store), "order, backward")->result == verdict::passed);
        found(examine(store), "every row once, backward", "");
    }
}

TEST_CASE("wrong rows within an answer are found", "[conformance]") {
    post_store store = posts();

    SECTION("the limit comes before the reversal") {
        found(examine(store,
                      [&](const query& q) {
                          std::vector<post> all = store.selected(q);
                          store.sort(all, sw::scan::forward);
                          page answer = post_store::cut(std::move(all), q.limit);
                          if (q.way == sw::scan::backward) {
                              std::ranges::reverse(answer.items);
                          }
                          return answer;
                      }),
              "every row once, backward", "LIMIT was applied before the rows were reversed");
    }
    SECTION("the limit comes before the sort") {
        found(examine(store,
                      [&](const query& q) {
                          page answer = post_store::cut(store.selected(q), q.limit);
                          store.sort(answer.items, q.way);
                          return answer;
                      }),
              "every row once, forward", "sort before LIMIT");
    }
    SECTION("rows that tie are taken for one") {
        found(examine(store,
                      [&](const query& q) {
                          auto all = store.selected(q);
                          store.sort(all, q.way);
                          const auto gone = std::ranges::unique(all, {}, &post::created_at);
                          all.erase(gone.begin(), gone.end());
                          return post_store::cut(std::move(all), q.limit);
                      }),
              "order, forward", "different rows");
    }
    SECTION("the partition key is ignored") {
        found(examine(store,
                      [&](const query& q) {
                          const std::vector<std::string> all{one, two};
                          query every = q;
                          every.partition_keys = all;
                          return store.answer(every);
                      }),
              "order, forward", "rows of `partition_keys` only");
    }
    SECTION("an unknown partition key is one with rows") {
        found(examine(store,
                      [&](const query& q) {
                          const std::vector<std::string> first{one};
                          query known = q;
                          known.partition_keys = store.rows.contains(q.partition_keys.front())
                                                     ? q.partition_keys
                                                     : std::span<const std::string>{first};
                          return store.answer(known);
                      }),
              "a partition key without rows", "`partition_keys` only");
    }
    SECTION("a value is rounded on its way") {
        found(examine(store,
                      [&](const query& q) {
                          page answer = store.answer(q);
                          for (post& row : answer.items) {
                              row.created_at += row.created_at == 15 ? 1 : 0;
                          }
                          return answer;
                      }),
              "order, forward", "a rounded number");
    }
    SECTION("`until` is not included") {
        store.within = [](const query& q, const post& row) {
            const auto side = newest.compare(row, *q.until);
            return q.way == sw::scan::forward ? side < 0 : side > 0;
        };
        found(examine(store), "until a row, forward", "`until` is included");
    }
}

TEST_CASE("a wrong `more` is found", "[conformance]") {
    const post_store store = posts();

    SECTION("it is never true") {
        found(examine(store,
                      [&](const query& q) {
                          page answer = store.answer(q);
                          answer.more = false;
                          return answer;
                      }),
              "every row once, forward", "`limit` + 1 rows");
    }
    SECTION("it is always true") {
        found(examine(store,
                      [&](const query& q) {
                          page answer = store.answer(q);
                          answer.more = true;
                          return answer;
                      }),
              "order, forward", "set `more` to false at the end");
    }
    SECTION("it is true while rows come, and the answers are short") {
        found(examine(store,
                      [&](query q) {
                          const std::size_t wanted = q.limit;
                          q.limit = std::min<std::size_t>(q.limit, 4);
                          page answer = store.answer(q);
                          answer.more = answer.items.size() == wanted;
                          return answer;
                      }),
              "order, forward", "do not take a short answer for the end");
    }
    SECTION("an empty answer with a cursor that never changes") {
        found(examine(store,
                      [&](const query& q) -> page {
                          return q.after ? page{.items = {}, .more = true, .cursor = "same"}
                                         : store.answer(q);
                      }),
              "every row once, forward", "a new `cursor` with each empty answer");
    }
    SECTION("cursors go round in a circle") {
        found(examine(store,
                      [&](const query& q) -> page {
                          return {.items = {}, .more = true, .cursor = q.cursor == "a" ? "b" : "a"};
                      }),
              "order, forward", "a new `cursor`");
    }
    SECTION("new cursors for ever") {
        std::atomic<int> count = 0;
        auto what = holding(store, {});
        what.most_empty_answers = 100;
        found(sw::testing::check_callback(
                  newest,
                  [&](const query&) -> page {
                      return {.items = {}, .more = true, .cursor = std::to_string(++count)};
                  },
                  what),
              "order, forward", "take it up when it is handed back");
    }
    SECTION("the last row that was looked at is beyond one that was cut off") {
        found(examine(store,
                      [&](query q) {
                          const std::size_t limit = std::exchange(q.limit, q.limit + 1);
                          page answer = store.answer(q);
                          if (answer.items.size() > limit) {
                              answer.scanned = answer.items.back();
                              answer.items.pop_back();
                              answer.more = true;
                          }
                          return answer;
                      }),
              "every row once, forward", "`scanned` is the last row that was looked at");
    }
    SECTION("the cursor is built from rows that were read and not returned") {
        // A cursor here is the count of rows to skip.
        found(examine(store,
                      [&](const query& q) -> page {
                          query whole = q;
                          if (!q.cursor.empty()) {
                              whole.after.reset();
                          }
                          auto all = store.selected(whole);
                          store.sort(all, q.way);
                          std::size_t skip = 0;
                          std::from_chars(q.cursor.data(), q.cursor.data() + q.cursor.size(), skip);
                          if (q.cursor.empty() && q.after) {
                              return store.answer(q);
                          }
                          all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                                   std::min(skip, all.size())));
                          page answer = post_store::cut(std::move(all), q.limit);
                          answer.cursor = std::to_string(skip + answer.items.size() + 1);
                          return answer;
                      }),
              "the store's cursor", "points beyond the last row of its answer");
    }
}

TEST_CASE("several partition keys in one query are checked, for stores that take them",
          "[conformance]") {
    const post_store store = posts();
    const auto together = [&](const auto& callback) {
        auto what = holding(store, {"created_at", "id"});
        what.grouping = sw::grouping::per_shard;
        return sw::testing::check_callback(newest, callback, what);
    };

    SECTION("only the first is asked for") {
        found(together([&](query q) {
                  q.partition_keys = q.partition_keys.first(1);
                  return store.answer(q);
              }),
              "partition keys together", "`partition_keys`");
    }
    SECTION("their rows come one key after another") {
        found(together([&](const query& q) {
                  page all;
                  for (std::size_t i = 0; i != q.partition_keys.size(); ++i) {
                      query each = q;
                      each.partition_keys = q.partition_keys.subspan(i, 1);
                      const page part = store.answer(each);
                      all.items.insert(all.items.end(), part.items.begin(), part.items.end());
                      all.more = all.more || part.more;
                  }
                  return all;
              }),
              "partition keys together", "over the whole, not one key after another");
    }
    SECTION("those that read by one key are not asked for more") {
        const auto report = examine(store, [&](const query& q) {
            if (q.partition_keys.size() != 1) {
                throw std::logic_error{"one partition key at a time"};
            }
            return store.answer(q);
        });
        passes(report);
        CHECK(find(report, "partition keys together")->result == verdict::not_covered);
    }
}

TEST_CASE("state between calls is found", "[conformance]") {
    const post_store store = posts();

    SECTION("one iterator for all threads") {
        // As with one prepared statement: bound by one call, stepped by another.
        struct {
            std::mutex mutex;
            std::optional<query> bound;
        } statement;
        const auto callback = [&](const query& q) {
            {
                const std::scoped_lock lock{statement.mutex};
                statement.bound = q;
            }
            std::this_thread::sleep_for(std::chrono::microseconds{20});
            const std::scoped_lock lock{statement.mutex};
            query mine = q;
            mine.after = statement.bound->after;
            mine.way = statement.bound->way;
            return store.answer(mine);
        };
        found(examine(store, callback), "calls at a time", "keep no state between calls");
        auto alone = holding(store, {});
        alone.concurrent_calls = 1;
        const auto report = sw::testing::check_callback(newest, callback, alone);
        passes(report);
        CHECK(find(report, "calls at a time")->result == verdict::not_covered);
    }
    SECTION("an answer is cached without its start") {
        std::mutex mutex;
        std::map<std::pair<std::string, std::size_t>, page> cache;
        found(examine(store,
                      [&](const query& q) {
                          const std::scoped_lock lock{mutex};
                          const auto [at, fresh] =
                              cache.try_emplace({q.partition_keys.front(), q.limit});
                          if (fresh) {
                              at->second = store.answer(q);
                          }
                          return at->second;
                      }),
              "every row once, forward", "cache no answer without it");
    }
    SECTION("an answer changes when it is asked for again") {
        std::atomic<std::size_t> calls = 0;
        const auto report = examine(store, [&](query q) {
            q.limit = std::max<std::size_t>(1, q.limit - ++calls % 2);
            return store.answer(q);
        });
        passes(report);
    }
}

TEST_CASE("what a callback throws is a failed check that says what", "[conformance]") {
    const post_store store = posts();
    const auto report = examine(store, [&](const query& q) {
        if (!store.rows.contains(q.partition_keys.front())) {
            throw std::out_of_range{"map::at"};
        }
        return store.answer(q);
    });
    found(report, "a partition key without rows", "unknown partition key");
    CHECK_THAT(find(report, "a partition key without rows")->detail,
               Catch::Matchers::ContainsSubstring("map::at"));
    CHECK(report.count(verdict::failed) == 1);
    found(examine(store, [](const query&) -> page { throw 1; }), "order, forward", "");
}

TEST_CASE("rows that exercise nothing are told from rows that pass", "[conformance]") {
    post_store store = posts();
    store.rows = {{one, {{1, "a"}, {2, "b"}}}};
    const auto report = sw::testing::check_callback(
        newest, [&](const query& q) { return store.answer(q); }, holding(store, {}));
    INFO(report.text());
    CHECK(report.ok());
    CHECK(find(report, "ties")->result == verdict::not_covered);
    CHECK(find(report, "from between rows")->result == verdict::not_covered);
    const std::string text = report.text();
    for (const char* const situation :
         {"eight rows or more", "c1: three rows of one partition key that are equal",
          "c1: a negative value", "c2: the empty text",
          "c2: two texts that compare otherwise in UTF-16"}) {
        CHECK_THAT(text, Catch::Matchers::ContainsSubstring(situation));
    }
}

TEST_CASE("a check without rows, or with two at one position, is refused", "[conformance]") {
    post_store store = posts();
    const auto check = [&] {
        static_cast<void>(sw::testing::check_callback(
            newest, [&](const query& q) { return store.answer(q); }, holding(store, {})));
    };
    store.rows = {{one, {}}};
    CHECK(test_support::code_of(check) == sw::errc::invalid_options);
    store.rows = {{one, {{1, "a"}, {1, "a"}}}};
    CHECK(test_support::code_of(check) == sw::errc::invalid_options);
}
