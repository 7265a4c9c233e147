// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_BACKENDS_STORES_SUITE_HPP
#define SHARDWEAVE_TESTS_BACKENDS_STORES_SUITE_HPP

/// The same cases over every store: a real history, read back page by page while buckets move, a
/// key grows, and the store goes wrong.
///
/// A store's test makes one store, one `stored_history` over it, and calls the cases in its own
/// TEST_CASEs, in any order: they leave the history readable, and the store calm. They use
/// Catch2's macros on the calling thread alone.

#include <shardweave/shardweave.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "support/fault_proxy.hpp"
#include "timeline/history.hpp"

namespace stores_suite {

namespace sw = shardweave;
using timeline::item;
using namespace std::chrono_literals;

/// The order of every read here. A store that declares the same one has the same position.
inline const auto newest_first = sw::newest_first(&item::created_at, sw::unique(&item::id));
using position = decltype(newest_first)::position_type;
using query = sw::shard_query<position>;
using answer = sw::shard_page<item>;

/// What the suite asks of a store. Partition keys are texts, and ids are unique over all of them.
///
/// No compiler checks: `ask` is the query callback, may be called by several threads, and fills in
/// the whole item (its author is the key of the partition key); `write` and `copy` are read at once
/// by whatever asks next; writing a row again changes nothing. `write`, `copy` and `remove` are
/// called by one thread, while nothing is wrong, and must not go through a `proxy`.
template <class Store>
concept store = requires(Store& of, const query& asked, const std::string& text,
                         const std::vector<item>& rows) {
    /// Names of three shards or more.
    { of.shards() } -> std::convertible_to<std::vector<std::string>>;
    /// Whether one query may carry several partition keys (`grouping::per_shard`).
    { Store::groups } -> std::convertible_to<bool>;
    { of.ask(asked) } -> std::same_as<answer>;
    /// Shard, partition key, rows.
    of.write(text, text, rows);
    /// Partition key, from this shard, to that.
    of.copy(text, text, text);
    /// All of a partition key: shard, partition key.
    of.remove(text, text);
};

/// A store on servers that the test has started.
///
/// No compiler checks: a shard's queries reach it through its `proxy` only; while it is killed, a
/// query throws `unavailable` in a second or less; `restart` waits until it answers again;
/// between `throttle` and `calm`, every query of the shard throws `throttled`. Query callbacks heed
/// `deadline` and `stop`.
template <class Store>
concept served_store = store<Store> && requires(Store& of, const std::string& shard) {
    of.kill(shard);
    of.restart(shard);
    of.throttle(shard);
    of.calm(shard);
    { of.proxy(shard) } -> std::same_as<test_support::fault_proxy&>;
};

/// The rows of SHARDWEAVE_HISTORY, else of the excerpt, the first `most` of them.
inline std::vector<item> read_history(const char* excerpt, std::size_t most = SIZE_MAX) {
    const char* path = std::getenv("SHARDWEAVE_HISTORY");
    timeline::history_reader reader{path == nullptr || *path == '\0' ? excerpt : path};
    std::vector<item> rows;
    while (rows.size() < most) {
        const auto line = reader.next();
        if (!line) {
            break;
        }
        if (reader.line_number() != 1 || !timeline::is_header(*line)) {
            rows.push_back(std::get<item>(timeline::parse_line(*line)));
        }
    }
    return rows;
}

/// A history in a store, and what every read of it has to be equal to. `author-1` is in eight
/// buckets at first, everybody else in one.
template <store Store>
class stored_history {
public:
    static constexpr const char* hot = "author-1";

    stored_history(Store& into, const std::vector<item>& rows)
        : store_(&into), router_(sw::routing_table{
                             sw::scheme_table{sw::calculated(1)}.with(hot, sw::calculated(8)),
                             sw::shard_map::even(into.shards())}) {
        add(rows);
    }

    [[nodiscard]] Store& store() const noexcept { return *store_; }
    [[nodiscard]] sw::router& router() noexcept { return router_; }

    /// Writes rows where the present table places them.
    void add(const std::vector<item>& rows) {
        std::map<std::pair<std::string, std::string>, std::vector<item>> parts;
        for (const item& row : rows) {
            const sw::placement at = router_.place(row.author, row.id);
            parts[{at.shard, at.partition_key.str()}].push_back(row);
            expected_[row.author].push_back(row);
        }
        for (const auto& [at, part] : parts) {
            store_->write(at.first, at.second, part);
            stored_[router_.pin()->shards().slot_of(at.second).value()].insert(at.second);
        }
        for (auto& [author, all] : expected_) {
            sort(all);
        }
    }

    /// All rows of the authors, newest first, by another sort than the library's.
    [[nodiscard]] std::vector<item> expected(const std::vector<std::string>& authors) const {
        std::vector<item> all;
        for (const std::string& author : authors) {
            const auto& of = expected_.at(author);
            all.insert(all.end(), of.begin(), of.end());
        }
        sort(all);
        return all;
    }

    /// The authors with the most rows first.
    [[nodiscard]] std::vector<std::string> authors() const {
        std::vector<std::string> names;
        for (const auto& [author, rows] : expected_) {
            names.push_back(author);
        }
        std::ranges::sort(names, [&](const auto& a, const auto& b) {
            return std::pair{expected_.at(b).size(), a} < std::pair{expected_.at(a).size(), b};
        });
        return names;
    }

    /// Moves one of the key's partition keys, and all that share its slot, to the next shard: copy,
    /// publish, remove.
    void move(const std::string& key, std::size_t which) {
        const auto table = router_.pin();
        const auto targets = table->targets(key);
        const sw::target& moved = targets[which % targets.size()];
        const auto& names = table->shards().names();
        const std::string& to =
            names[(table->shards().owner_number(moved.slot) + 1) % names.size()];
        for (const std::string& each : stored_[moved.slot.value()]) {
            store_->copy(each, moved.shard, to);
        }
        static_cast<void>(
            router_.publish(table->with_shards(table->shards().with_owner(moved.slot, to))));
        for (const std::string& each : stored_[moved.slot.value()]) {
            store_->remove(moved.shard, each);
        }
    }

    /// From now on, the key's new rows are in so many buckets.
    void grow(const std::string& key, std::uint32_t buckets) {
        const auto table = router_.pin();
        static_cast<void>(router_.publish(
            table->with_schemes(table->schemes().grow(key, sw::calculated(buckets)))));
    }

private:
    static void sort(std::vector<item>& rows) {
        std::ranges::sort(rows, [](const item& a, const item& b) {
            return std::tie(b.created_at, b.id) < std::tie(a.created_at, a.id);
        });
    }

    Store* store_;
    sw::router router_;
    std::map<std::string, std::vector<item>> expected_;
    std::map<std::uint32_t, std::set<std::string>> stored_;
};

/// Counts the calls of the query callback; `before` is told the number of each.
template <class Store>
struct counted_calls {
    Store* of;
    std::atomic<std::size_t> calls{0};
    std::function<void(std::size_t)> before{};

    answer operator()(const query& asked) {
        const std::size_t call = ++calls;
        if (before) {
            before(call);
        }
        return of->ask(asked);
    }
};

template <class Store>
auto reader_of(stored_history<Store>& on, counted_calls<Store>& calls,
               sw::fan_out_options<item> how) {
    return sw::fan_out{on.router(), newest_first,
                       [&calls](const query& asked) { return calls(asked); }, std::move(how)};
}

/// All items of the keys by pages: by `next` to the end, then by `previous` to the start. `turn` is
/// called before every page but the first.
struct walk {
    std::vector<item> forward;
    std::vector<item> backward;
    std::size_t pages = 0;
    sw::read_stats stats{};

    template <class Reader, class Turn>
    walk(const Reader& reader, const sw::key_set& keys, std::size_t limit, const Turn& turn) {
        auto page = reader.page(keys, {.limit = limit});
        for (;;) {
            note(page, limit);
            forward.insert(forward.end(), page.items.begin(), page.items.end());
            if (!page.next) {
                break;
            }
            turn(pages);
            page = reader.page(keys, {.limit = limit, .from = page.next});
        }
        std::vector<std::vector<item>> back{std::move(page.items)};
        while (page.previous) {
            turn(pages);
            page = reader.page(keys, {.limit = limit, .from = page.previous});
            note(page, limit);
            back.push_back(std::move(page.items));
        }
        for (auto each = back.rbegin(); each != back.rend(); ++each) {
            backward.insert(backward.end(), each->begin(), each->end());
        }
    }
    template <class Reader>
    walk(const Reader& reader, const sw::key_set& keys, std::size_t limit)
        : walk(reader, keys, limit, [](std::size_t) {}) {}

private:
    template <class Page>
    void note(const Page& page, std::size_t limit) {
        ++pages;
        REQUIRE(page.items.size() <= limit);
        stats = stats + page.stats;
    }
};

/// Every page of busy, of rare and of several authors is what the sorted rows say, both ways, one
/// query a partition key and one a shard.
template <store Store>
void pages_equal_the_sorted_rows(stored_history<Store>& on) {
    const auto authors = on.authors();
    std::vector<std::vector<std::string>> reads{{authors.front()}, {authors[1]}, {authors.back()}};
    reads.emplace_back(authors.begin() + 1,
                       authors.begin() +
                           static_cast<std::ptrdiff_t>(std::min<std::size_t>(6, authors.size())));
    for (const auto grouping : {sw::grouping::per_partition_key, sw::grouping::per_shard}) {
        if (grouping == sw::grouping::per_shard && !Store::groups) {
            continue;
        }
        counted_calls<Store> calls{&on.store()};
        // Threads that start for each small page would be most of the time; other cases have them.
        const std::size_t concurrency = grouping == sw::grouping::per_shard ? 4 : 1;
        const auto reader =
            reader_of(on, calls, {.concurrency = concurrency, .grouping = grouping});
        for (const auto& keys : reads) {
            const std::vector<item> expected = on.expected(keys);
            // At most some hundred pages, whatever the history's size.
            const std::size_t few = std::max<std::size_t>(20, expected.size() / 300);
            for (const std::size_t limit : {few, std::size_t{1'000}}) {
                CAPTURE(keys.front(), keys.size(), limit, grouping);
                calls.calls = 0;
                const walk walked{reader, keys, limit};
                // Not compared by a macro: it would print a whole history.
                REQUIRE((walked.forward == expected));
                REQUIRE((walked.backward == expected));
                REQUIRE(walked.stats.retries == 0);
                REQUIRE(calls.calls == walked.stats.requests);
                REQUIRE(walked.stats.rounds <= 2 * walked.pages);
            }
        }
    }
}

/// Buckets move to other shards between pages, the key grows, and rows arrive: no row that was
/// there is lost or repeated.
template <store Store>
void pages_while_buckets_move_and_a_key_grows(stored_history<Store>& on) {
    const std::string key = stored_history<Store>::hot;
    counted_calls<Store> calls{&on.store()};
    const auto reader = reader_of(on, calls, {.concurrency = 4});
    std::vector<item> expected = on.expected({key});
    const std::int64_t oldest = expected.back().created_at;
    const std::int64_t newest = expected.front().created_at;
    // Some 80 pages, whatever the history's size.
    const std::size_t limit = expected.size() / 80 + 1;
    const std::size_t half = 40;
    std::size_t moved = 0;
    std::vector<item> in_front;
    std::vector<item> behind;
    for (int i = 0; i != 60; ++i) {
        // With the same times, so that only the ids decide.
        behind.push_back({key, oldest - 1 - i / 7, "behind-" + std::to_string(i), ""});
        in_front.push_back({key, newest + 1 + i / 7, "in-front-" + std::to_string(i), ""});
    }
    const walk walked{reader, key, limit, [&](std::size_t pages) {
                          if (pages % 3 == 0) {
                              on.move(key, moved++);
                          }
                          if (pages == half) {
                              on.grow(key, 16);
                              on.add(in_front);
                              on.add(behind);
                          }
                      }};
    const std::vector<item> now = on.expected({key});
    const std::vector<item> seen(now.begin() + 60, now.end());
    REQUIRE(moved >= 10);
    // Forward, what came in front of the page came too late; back, it is met.
    REQUIRE((walked.forward == seen));
    REQUIRE((walked.backward == now));
    REQUIRE((walk{reader, key, 1'000}.forward == now));
}

/// What a page fails with.
template <class Read>
sw::error failure_of(const Read& read) {
    try {
        static_cast<void>(read());
    } catch (const sw::failure& why) {
        return why.reason();
    }
    return {};
}

/// A traversal to which `at_page` happens once, before the fourth page. `at_page` is told how to
/// read that page; it throws unless it is calm again, and the same cursor then goes on.
template <served_store Store, class Happens>
void traverse(stored_history<Store>& on, counted_calls<Store>& calls,
              const sw::attempt_options& attempts, const Happens& happens) {
    const std::string key = stored_history<Store>::hot;
    const auto reader = reader_of(on, calls, {.concurrency = 4, .attempts = attempts});
    const std::size_t limit = on.expected({key}).size() / 12 + 1;
    std::vector<item> seen;
    std::optional<sw::cursor> from;
    std::size_t pages = 0;
    do {
        const auto read = [&](const sw::page_options& with = {}) {
            sw::page_options options = with;
            options.limit = limit;
            options.from = from;
            return reader.page(key, options);
        };
        if (pages == 3) {
            happens(read);
        }
        auto page = read();
        ++pages;
        seen.insert(seen.end(), page.items.begin(), page.items.end());
        from = page.next;
    } while (from);
    REQUIRE((seen == on.expected({key})));
}

/// The most calls of one failing page: every source, in two rounds, with its attempts.
template <class Store>
std::size_t most_calls(stored_history<Store>& on, const sw::attempt_options& attempts) {
    const std::string key = stored_history<Store>::hot;
    return on.router().pin()->targets(key).size() * 2 * attempts.most;
}

/// A shard that the hot key's reads ask.
template <class Store>
std::string shard_of(stored_history<Store>& on) {
    return on.router().pin()->targets(stored_history<Store>::hot).front().shard;
}

/// A page of a store whose server was killed fails with `unavailable`, after so many calls and no
/// more; when the server is back, its cursor goes on.
template <served_store Store>
void a_killed_server_ends_the_page_and_not_the_traversal(stored_history<Store>& on) {
    const std::string shard = shard_of(on);
    counted_calls<Store> calls{&on.store()};
    const sw::attempt_options attempts{.most = 2};
    traverse(on, calls, attempts, [&](const auto& read) {
        on.store().kill(shard);
        calls.calls = 0;
        const sw::error why = failure_of(read);
        INFO(why.message());
        CHECK(why.code == sw::errc::unavailable);
        CHECK_FALSE(why.shard.empty());
        CHECK(calls.calls <= most_calls(on, attempts));
        on.store().restart(shard);
        // Connections that the kill has broken are found out one by one, by a store that pools.
        for (int tries = 0; tries != 5 && failure_of(read); ++tries) {
        }
    });
}

/// A connection that is reset at any of the calls is tried again; without a second attempt, the
/// page fails with `unavailable`, and its cursor goes on.
template <served_store Store>
void a_connection_reset_at_any_call_is_tried_again(stored_history<Store>& on) {
    const std::string shard = shard_of(on);
    auto& proxy = on.store().proxy(shard);
    for (const std::size_t call : {1U, 2U, 3U, 5U}) {
        for (const unsigned most : {3U, 1U}) {
            CAPTURE(call, most);
            counted_calls<Store> calls{&on.store()};
            std::size_t failed = 0;
            std::size_t retries = 0;
            const auto struck = proxy.struck();
            traverse(on, calls, {.most = most}, [&](const auto& read) {
                proxy.reset_at(call);
                for (std::size_t tries = 0; proxy.struck() == struck && tries != 10; ++tries) {
                    calls.calls = 0;
                    const sw::error why = failure_of([&] {
                        const auto page = read();
                        retries += page.stats.retries;
                        return page.items.size();
                    });
                    INFO(why.message());
                    CHECK((!why || why.code == sw::errc::unavailable));
                    CHECK(calls.calls <= most_calls(on, {.most = most}));
                    failed += why ? 1 : 0;
                }
            });
            CHECK(proxy.struck() == struck + 1);
            CHECK(retries == (most == 1 ? 0 : 1));
            CHECK(failed == (most == 1 ? 1 : 0));
        }
    }
}

/// An answer that ends in its middle is no short answer: it is tried again.
template <served_store Store>
void an_answer_cut_short_is_no_answer(stored_history<Store>& on) {
    const std::string shard = shard_of(on);
    auto& proxy = on.store().proxy(shard);
    for (const std::size_t bytes : {1U, 7U, 64U, 300U}) {
        CAPTURE(bytes);
        counted_calls<Store> calls{&on.store()};
        std::size_t retries = 0;
        const auto struck = proxy.struck();
        traverse(on, calls, {.most = 3}, [&](const auto& read) {
            proxy.cut_answer_at(2, bytes);
            for (std::size_t tries = 0; retries == 0 && tries != 10; ++tries) {
                retries += read().stats.retries;
            }
        });
        CHECK(proxy.struck() == struck + 1);
        CHECK(retries == 1);
    }
}

/// A shard that answers late holds up a page no longer than its deadline and the attempts' timeout
/// say, and fails it with the error for that.
template <served_store Store>
void a_slow_shard_holds_up_no_page_beyond_its_time(stored_history<Store>& on) {
    const std::string shard = shard_of(on);
    auto& proxy = on.store().proxy(shard);
    counted_calls<Store> calls{&on.store()};
    const sw::attempt_options attempts{.most = 2, .timeout = 150ms};
    traverse(on, calls, attempts, [&](const auto& read) {
        proxy.delay(2'000ms);
        const auto timed = [&](std::chrono::milliseconds at_most, sw::errc expected,
                               const auto& page) {
            calls.calls = 0;
            const auto start = std::chrono::steady_clock::now();
            const sw::error why = failure_of(page);
            const auto took = std::chrono::steady_clock::now() - start;
            INFO(why.message());
            CHECK(why.code == expected);
            CHECK(took < at_most);
            CHECK(calls.calls <= most_calls(on, attempts));
        };
        timed(1'200ms, sw::errc::deadline_exceeded, [&] {
            return read({.deadline = sw::deadline::after(std::chrono::steady_clock::now(), 80ms)});
        });
        timed(1'800ms, sw::errc::timed_out, [&] { return read(); });
        proxy.calm();
        for (int tries = 0; tries != 5 && failure_of(read); ++tries) {
        }
    });
}

/// A throttled shard is asked again within the budget, and a page that it fails is one of
/// `throttled`.
template <served_store Store>
void throttling_is_waited_for_within_the_budget(stored_history<Store>& on) {
    const std::string shard = shard_of(on);
    counted_calls<Store> calls{&on.store()};
    const sw::attempt_options attempts{.most = 4};
    traverse(on, calls, attempts, [&](const auto& read) {
        on.store().throttle(shard);
        calls.calls = 0;
        const sw::error why = failure_of(read);
        INFO(why.message());
        CHECK(why.code == sw::errc::throttled);
        CHECK(why.shard == shard);
        CHECK(calls.calls <= most_calls(on, attempts));

        // It ends while the page waits for it.
        const std::size_t sources = on.router().pin()->targets(stored_history<Store>::hot).size();
        std::atomic<bool> calmed = false;
        calls.calls = 0;
        calls.before = [&](std::size_t call) {
            if (call > sources && !calmed.exchange(true)) {
                on.store().calm(shard);
            }
        };
        std::size_t retries = 0;
        const sw::error after = failure_of([&] {
            const auto page = read();
            retries = page.stats.retries;
            return page.items.size();
        });
        calls.before = nullptr;
        on.store().calm(shard);
        INFO(after.message());
        CHECK((!after || after.code == sw::errc::throttled));
        CHECK((after || retries > 0));
    });
}

}  // namespace stores_suite

#endif
