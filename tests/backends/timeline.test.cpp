// SPDX-License-Identifier: BSL-1.0
// The timeline example on SQLite: its parts, its query plans, and a real history as the library's
// bar.
#include <shardweave/shardweave.hpp>

#include <catch2/catch_all.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "support/generate.hpp"
#include "support/temporary_directory.hpp"
#include "timeline/load.hpp"
#include "timeline/print.hpp"
#include "timeline/read.hpp"

namespace sw = shardweave;
using namespace timeline;
using test_support::temporary_directory;

namespace {

std::vector<item> read_history() {
    const char* path = std::getenv("SHARDWEAVE_HISTORY");
    history_reader reader{path == nullptr || *path == '\0' ? SHARDWEAVE_EXCERPT : path};
    std::vector<item> rows;
    while (const auto line = reader.next()) {
        if (reader.line_number() == 1 && is_header(*line)) {
            continue;
        }
        rows.push_back(std::get<item>(parse_line(*line)));
    }
    return rows;
}

using rows_by_author = std::map<std::string, std::vector<item>>;

rows_by_author sorted_by_author(const std::vector<item>& rows) {
    rows_by_author authors;
    for (const item& row : rows) {
        authors[row.author].push_back(row);
    }
    for (auto& [author, of] : authors) {
        // Not by the library's order: this is what it is compared with.
        std::ranges::sort(of, [](const item& a, const item& b) {
            return std::tie(b.created_at, b.id) < std::tie(a.created_at, a.id);
        });
    }
    return authors;
}

/// The history on four databases, `author-1` in eight buckets, loaded in a shuffled order: every
/// row arrives late.
struct loaded_history {
    loaded_history() {
        std::vector<item> shuffled = rows;
        test_support::generator random;
        for (std::size_t i = shuffled.size(); i > 1; --i) {
            std::swap(shuffled[i - 1], shuffled[random.below(i)]);
        }
        loader into{directory.path(), router};
        for (const item& row : shuffled) {
            REQUIRE(into.add(row) == outcome::added);
        }
        into.commit();
    }

    temporary_directory directory;
    std::vector<item> rows = read_history();
    rows_by_author expected = sorted_by_author(rows);
    sw::router router{first_table(4, {{"author-1", 8}})};
    shard_pool shards{directory.path(), router.pin()->format()};
};

loaded_history& history() {
    static loaded_history loaded;
    return loaded;
}

/// Up to 50 of the busiest authors and 50 of the others.
std::vector<std::string> chosen_authors(const rows_by_author& all,
                                        test_support::generator& random) {
    std::vector<std::string> names;
    for (const auto& [author, rows] : all) {
        names.push_back(author);
    }
    std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
        return std::pair{all.at(b).size(), a} < std::pair{all.at(a).size(), b};
    });
    const std::size_t each = std::min(test_support::scaled(50), names.size() / 2);
    for (std::size_t i = each; i != 2 * each; ++i) {
        std::swap(names[i], names[i + random.below(names.size() - i)]);
    }
    names.resize(2 * each);
    return names;
}

template <class Reader>
struct walk {
    std::vector<item> forward;
    std::vector<item> backward;
    std::size_t pages = 0;
    std::size_t full_pages = 0;
    sw::read_stats stats;

    /// By `next` to the end, then by `previous` to the start.
    walk(const Reader& reader, const std::string& author, std::size_t limit) {
        auto page = reader.page(author, {.limit = limit});
        for (;;) {
            ++pages;
            stats = stats + page.stats;
            REQUIRE(page.items.size() <= limit);
            forward.insert(forward.end(), page.items.begin(), page.items.end());
            if (!page.next) {
                break;
            }
            page = reader.page(author, {.limit = limit, .from = page.next});
        }
        std::vector<std::vector<item>> back{std::move(page.items)};
        while (page.previous) {
            page = reader.page(author, {.limit = limit, .from = page.previous});
            back.push_back(std::move(page.items));
        }
        for (auto each = back.rbegin(); each != back.rend(); ++each) {
            backward.insert(backward.end(), each->begin(), each->end());
        }
    }
};

std::string plan_of(database& base, const std::string& sql) {
    query rows = base.prepared("EXPLAIN QUERY PLAN " + sql);
    std::string plan;
    while (rows.step()) {
        plan += std::string{rows.text(3)} + '\n';
    }
    return plan;
}

}  // namespace

TEST_CASE("a line is an item or a reason", "[timeline][history]") {
    const auto reason = [](std::string_view line) {
        return std::get<std::string>(parse_line(line));
    };
    CHECK(std::get<item>(parse_line("a\t-5\tid")) == item{"a", -5, "id", ""});
    CHECK(std::get<item>(parse_line("a b\t12\tid\tnote\twith a tab")) ==
          item{"a b", 12, "id", "note\twith a tab"});
    CHECK(std::get<item>(parse_line("\xff\t9223372036854775807\tid\t")) ==
          item{"\xff", std::numeric_limits<std::int64_t>::max(), "id", ""});
    for (const char* line : {"", "a", "a\t1", "\t1\tid", "a\t1\t", "a\t\tid", "a\t1.5\tid",
                             "a\t 1\tid", "a\t9223372036854775808\tid", "a\t0x1\tid"}) {
        CAPTURE(line);
        CHECK_FALSE(reason(line).empty());
    }
}

TEST_CASE("lines of any length come whole, whatever the chunks", "[timeline][history]") {
    const temporary_directory directory;
    const std::string path = (directory.path() / "lines").string();
    std::vector<std::string> lines;
    for (const std::size_t size : {0U, 1U, 65'534U, 65'535U, 65'536U, 65'537U, 200'000U, 3U}) {
        lines.emplace_back(size, static_cast<char>('a' + lines.size()));
    }
    for (const bool last_ends : {false, true}) {
        {
            std::ofstream file{path, std::ios::binary};
            for (const std::string& line : lines) {
                file << line << (&line == &lines[1] ? "\r" : "")
                     << (&line != &lines.back() || last_ends ? "\n" : "");
            }
        }
        history_reader reader{path};
        for (const std::string& line : lines) {
            CHECK(reader.next() == line);
        }
        CHECK_FALSE(reader.next().has_value());
        CHECK(reader.line_number() == lines.size());
    }
}

TEST_CASE("times and texts are shown for people", "[timeline][print]") {
    CHECK(utc(0) == "1970-01-01 00:00:00");
    CHECK(utc(1'112'911'993) == "2005-04-07 22:13:13");
    CHECK(utc(-1) == "1969-12-31 23:59:59");
    CHECK(utc(253'402'300'799) == "9999-12-31 23:59:59");
    CHECK(utc(253'402'300'800) == "253402300800");
    CHECK(utc(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(81'966) == "81,966");
    CHECK(grouped(1'234'567) == "1,234,567");
    CHECK(visible("a\x1b[2J\n\xc3\xa9") == "a?[2J?\xc3\xa9");
    CHECK(shortened("\xc3\xa9\xc3\xa8\xc3\xa7", 3) == "\xc3\xa9\xc3\xa8\xc3\xa7");
    CHECK(shortened("\xc3\xa9\xc3\xa8\xc3\xa7", 2) == "\xc3\xa9…");
    CHECK(shell_quoted("author-1") == "author-1");
    CHECK(shell_quoted("") == "''");
    CHECK(shell_quoted("A. U. Thor") == "'A. U. Thor'");
    CHECK(shell_quoted("it's") == "$'it\\'s'");
}

TEST_CASE("every page query is an index search without a sort", "[timeline][plan]") {
    const temporary_directory directory;
    database base{shard_path(directory.path(), "db0"), database::access::create};
    base.run(shard_schema);
    // The trap: IN reads and sorts everything beyond the boundary. If this changes, look again.
    CHECK_THAT(plan_of(base,
                       "SELECT * FROM item WHERE partition_key IN ('a', 'b') AND "
                       "(created_at, id) < (1, 'x') ORDER BY created_at DESC, id DESC LIMIT 20"),
               Catch::Matchers::ContainsSubstring("TEMP B-TREE"));

    for (const std::size_t limbs : {std::size_t{1}, std::size_t{2}, std::size_t{7}, most_limbs}) {
        for (const sw::scan way : {sw::scan::forward, sw::scan::backward}) {
            for (const bool after : {false, true}) {
                for (const bool until : {false, true}) {
                    const std::string sql = page_sql(limbs, way, after, until);
                    const std::string plan = plan_of(base, sql);
                    CAPTURE(limbs, way, after, until, plan);
                    CHECK(plan.find("TEMP B-TREE") == std::string::npos);
                    CHECK(plan.find("SCAN") == std::string::npos);
                    CHECK((plan.find("MERGE (UNION ALL)") != std::string::npos) == (limbs > 1));
                    const std::string bound =
                        std::string{"SEARCH item USING PRIMARY KEY (partition_key=?"} +
                        (after || until ? " AND (created_at,id)" : ")");
                    std::size_t searches = 0;
                    for (auto at = plan.find(bound); at != std::string::npos;
                         at = plan.find(bound, at + 1)) {
                        ++searches;
                    }
                    CHECK(searches == limbs);
                }
            }
        }
    }
}

TEST_CASE("the query callback takes after, until, limit and way at their word",
          "[timeline][query]") {
    INFO(test_support::replay());
    test_support::generator random;
    const temporary_directory directory;
    const sw::router router{first_table(1, {})};
    std::vector<item> rows;
    {
        loader into{directory.path(), router};
        std::set<std::pair<std::int64_t, std::string>> taken;
        for (int i = 0; i != 300; ++i) {
            // Few seconds, so that most rows tie; ids that only compare right as unsigned bytes.
            item row{"author-" + std::to_string(random.below(3U)),
                     static_cast<std::int64_t>(random.below(20U)) - 10, random.bytes(3) + "x", "n"};
            if (taken.emplace(row.created_at, row.id).second) {
                REQUIRE(into.add(row) == outcome::added);
                rows.push_back(std::move(row));
            }
        }
        into.commit();
    }
    shard_pool shards{directory.path(), router.pin()->format()};
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        std::vector<std::string> keys;
        for (const char* author : {"author-0", "author-1", "author-2", "author-none"}) {
            if (random.chance(50)) {
                keys.emplace_back(author);
            }
        }
        sw::shard_query<position> q;
        q.shard = "db0";
        q.partition_keys = keys;
        q.limit = 1 + random.below(std::size_t{50});
        q.way = random.chance(50) ? sw::scan::forward : sw::scan::backward;
        const auto place = [&]() -> std::optional<position> {
            if (random.chance(30)) {
                return std::nullopt;
            }
            return newest_first.position_of(random.pick(rows));
        };
        q.after = place();
        q.until = place();

        std::vector<item> expected;
        for (const item& row : rows) {
            const auto before = [&](const auto& a, const auto& b) {
                const auto order = newest_first.compare(a, b);
                return q.way == sw::scan::forward ? order < 0 : order > 0;
            };
            if (std::ranges::find(keys, row.author) != keys.end() &&
                (!q.after || before(*q.after, row)) && (!q.until || !before(*q.until, row))) {
                expected.push_back(row);
            }
        }
        std::ranges::sort(expected, [&](const item& a, const item& b) {
            const auto left = std::tie(a.created_at, a.id);
            const auto right = std::tie(b.created_at, b.id);
            return q.way == sw::scan::forward ? right < left : left < right;
        });
        const bool more = expected.size() >= q.limit;
        expected.resize(std::min(expected.size(), q.limit));
        const auto answer = shards.ask(q);
        REQUIRE(answer.items == expected);
        REQUIRE(answer.more == more);
    }
}

TEST_CASE("a feed of more authors than one statement takes is still one list",
          "[timeline][query]") {
    const temporary_directory directory;
    const sw::router router{first_table(2, {})};
    std::vector<std::string> authors;
    std::vector<item> expected;
    {
        loader into{directory.path(), router};
        for (int i = 0; i != 2'000; ++i) {
            authors.push_back("author-" + std::to_string(i));
            expected.push_back({authors.back(), i % 97, "id-" + std::to_string(i), ""});
            REQUIRE(into.add(expected.back()) == outcome::added);
        }
        into.commit();
    }
    std::ranges::sort(expected, [](const item& a, const item& b) {
        return std::tie(b.created_at, b.id) < std::tie(a.created_at, a.id);
    });
    shard_pool shards{directory.path(), router.pin()->format()};
    const auto reader = make_reader(router, shards, {.grouping = sw::grouping::per_shard});
    std::vector<item> seen;
    std::optional<sw::cursor> from;
    do {
        auto page = reader.page(authors, {.limit = 150, .from = from});
        CHECK(page.stats.requests <= 2 * page.stats.rounds);
        seen.insert(seen.end(), page.items.begin(), page.items.end());
        from = page.next;
    } while (from);
    CHECK(seen == expected);
}

TEST_CASE("an item is stored once, by whichever scheme its author had", "[timeline][load]") {
    const temporary_directory directory;
    sw::router router{first_table(4, {{"a", 2}})};
    const item old_item{"a", 1, "old", ""};
    {
        loader into{directory.path(), router};
        CHECK(into.add(old_item) == outcome::added);
        CHECK(into.add(old_item) == outcome::present);
        CHECK(into.add({"b", 1, "old", ""}) == outcome::other_authors);
        CHECK(into.add({"b", 2, "old", ""}) == outcome::added);
        into.commit();
    }
    const auto before = router.pin();
    std::ignore =
        router.publish(before->with_schemes(before->schemes().grow("a", sw::calculated(64))));
    REQUIRE(router.place("a", "old").partition_key != before->place("a", "old").partition_key);
    loader into{directory.path(), router};
    CHECK(into.add(old_item) == outcome::present);
    CHECK(into.add({"a", 1, "new", ""}) == outcome::added);
    CHECK(into.add({"a", 1, "new", ""}) == outcome::present);
}

TEST_CASE("a routing table survives whatever happens to its writing", "[timeline][routing]") {
    const temporary_directory directory;
    const sw::routing_table table = first_table(4, {{"author-1", 8}});
    write_routing(directory.path(), table);
    CHECK(read_routing(directory.path()) == table);
    // A crash before the rename leaves this; the next writer replaces it.
    std::ofstream{routing_path(directory.path()).string() + ".new"} << "half";
    CHECK(read_routing(directory.path()) == table);
    const sw::routing_table grown =
        table.with_schemes(table.schemes().grow("author-1", sw::calculated(16)));
    write_routing(directory.path(), grown);
    CHECK(read_routing(directory.path()) == grown);

    // A valid table whose shard would be a file elsewhere.
    write_routing(directory.path(),
                  {sw::scheme_table{sw::calculated(1)}, sw::shard_map::single("../elsewhere")});
    CHECK_THROWS_AS(read_routing(directory.path()), store_error);
}

TEST_CASE("a real history reads back as its own sorted rows, page by page, both ways",
          "[timeline][history][bar]") {
    INFO(test_support::replay());
    test_support::generator random;
    loaded_history& on = history();
    const auto authors = chosen_authors(on.expected, random);
    const auto reader = make_reader(on.router, on.shards);
    const auto grouped_reader =
        make_reader(on.router, on.shards, {.grouping = sw::grouping::per_shard});
    std::size_t pages = 0;
    for (const std::size_t limit : {1U, 7U, 20U, 1000U}) {
        for (const std::string& author : authors) {
            CAPTURE(author, limit);
            const std::vector<item>& expected = on.expected.at(author);
            const walk walked{reader, author, limit};
            // Not compared by a macro: it would print a whole history.
            REQUIRE((walked.forward == expected));
            REQUIRE((walked.backward == expected));
            pages += walked.pages;
            if (limit >= 20) {
                const walk by_shard{grouped_reader, author, limit};
                REQUIRE((by_shard.forward == expected));
                REQUIRE((by_shard.backward == expected));
            }
        }
    }
    std::cout << "seed " << test_support::seed() << ": " << on.rows.size() << " rows, "
              << authors.size() << " authors, " << pages << " pages forward, as many back\n";
}

TEST_CASE("a page of 20 from 8 buckets examines few rows in one round", "[timeline][bar]") {
    loaded_history& on = history();
    const auto reader = make_reader(on.router, on.shards);
    const walk walked{reader, "author-1", 20};
    REQUIRE((walked.forward == on.expected.at("author-1")));
    const double examined = static_cast<double>(walked.stats.rows_examined) /
                            static_cast<double>(walked.stats.rows_returned);
    const double rounds =
        static_cast<double>(walked.stats.rounds) / static_cast<double>(walked.pages);
    std::cout << walked.pages << " pages: " << examined << " rows examined per row returned, "
              << rounds << " rounds a page\n";
    CHECK(examined <= 3.3);
    CHECK(rounds <= 1.02);
}

TEST_CASE("threads may share one reader, while a load goes on", "[timeline][threads]") {
    const temporary_directory directory;
    const sw::router router{first_table(4, {{"author-1", 8}})};
    std::vector<item> rows = read_history();
    std::erase_if(rows, [](const item& row) { return row.author != "author-1"; });
    std::ranges::sort(rows, [](const item& a, const item& b) {
        return std::tie(a.created_at, a.id) < std::tie(b.created_at, b.id);
    });
    const std::size_t half = rows.size() / 2;
    loader into{directory.path(), router};
    // Older rows first: what the readers compare is behind what arrives meanwhile.
    for (std::size_t i = 0; i != half; ++i) {
        REQUIRE(into.add(rows[i]) == outcome::added);
    }
    into.commit();
    std::vector<item> expected(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(half));
    expected = sorted_by_author(expected).at("author-1");

    shard_pool shards{directory.path(), router.pin()->format()};
    const auto reader = make_reader(router, shards, {.concurrency = 3});
    const auto start = reader.page("author-1", {.limit = 1});
    REQUIRE(start.items.front() == expected.front());
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i != 4; ++i) {
        threads.emplace_back([&] {
            std::vector<item> seen{start.items.front()};
            for (const item& row : reader.stream("author-1", {.chunk = 50, .from = start.next})) {
                seen.push_back(row);
            }
            wrong += seen == expected ? 0 : 1;
        });
    }
    for (std::size_t i = half; i != rows.size(); ++i) {
        into.add(rows[i]);
        if (i % 100 == 0) {
            into.commit();
        }
    }
    into.commit();
    threads.clear();
    CHECK(wrong == 0);
}
