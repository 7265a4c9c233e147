// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/table_stamp.hpp>

#include <shardweave/place/map_source.hpp>
#include <shardweave/place/stale_route.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/selectors.hpp"
#include "support/tables.hpp"
#include "support/vectors.hpp"

using namespace shardweave;
using test_support::code_of;
using test_support::error_of;

namespace {

static_assert(std::is_trivially_copyable_v<table_stamp> && sizeof(table_stamp) == 24);

routing_table table(std::uint64_t at, const bucket_scheme& scheme = calculated(1)) {
    return {scheme_table{scheme}, shard_map::single("db0", 16), {.epoch = epoch{at}}};
}

scheme_stamp stamp(const bucket_scheme& scheme, const key_format& format = key_format{}) {
    return stamp_of(scheme.with_version(scheme_version{1}), format);
}

/// The items of a list that stands in a row, such as `"scheme": [1, 2, "x"]`, without quotes.
std::vector<std::string> list_of(const test_support::vector_row& row, std::string_view name) {
    std::vector<std::string> items;
    std::string item;
    for (const char c : row.list(name)) {
        if (c == ',') {
            items.push_back(item);
            item.clear();
        } else if (c != ' ' && c != '"') {
            item += c;
        }
    }
    items.push_back(item);
    return items;
}

std::uint64_t number(const std::string& digits) { return std::stoull(digits); }

}  // namespace

// A stamp is kept beside data and sent to other processes; if it changed, everyone would find a
// conflict where there is none. scripts/check_vectors.py computes the rows in another language; to
// add one, write its inputs there and run it with --write.
TEST_CASE("stamps are written as they always were", "[stamp][golden]") {
    const auto rows = test_support::vector_rows("stamps.json", "scheme");
    REQUIRE(rows.size() == 10);
    for (const auto& row : rows) {
        CAPTURE(row.text("stamp"));
        const auto fields = list_of(row, "scheme");
        scheme_options with{scheme_version{static_cast<std::uint32_t>(number(fields[0]))},
                            number(fields[3])};
        const bool timed = fields.size() >= 7;
        if (timed) {
            with.since = std::chrono::sys_time<std::chrono::milliseconds>{
                std::chrono::milliseconds{number(fields[6])}};
        }
        const auto buckets = static_cast<std::uint32_t>(number(fields[2]));
        const bucket_scheme bare = fields[1] == "3"
                                       ? selected_by(test_support::java_hash{}, buckets, with)
                                   : fields[1] == "2" ? random(buckets, with)
                                                      : calculated(buckets, with);
        const bucket_scheme scheme =
            timed ? time_windowed(std::chrono::minutes{number(fields[5])}, bare) : bare;
        const key_format format{row.text("format"),
                                suffix{static_cast<std::uint8_t>(row.number("suffix"))}};
        CHECK(to_text(stamp_of(scheme, format)) == row.text("stamp"));
        CHECK(parse_scheme_stamp(row.text("stamp")) == stamp_of(scheme, format));
    }
    const auto stored = test_support::vector_rows("routing.json", "name");
    const auto tables = test_support::vector_rows("stamps.json", "table");
    REQUIRE(tables.size() == stored.size());
    for (std::size_t i = 0; i != stored.size(); ++i) {
        REQUIRE(tables[i].text("table") == stored[i].text("name"));
        const std::string bytes = test_support::from_hex(stored[i].text("bytes"));
        const auto registry = selector_registry{}.with(test_support::java_hash{});
        CHECK(to_text(stamp_of(decode(bytes, registry))) == tables[i].text("stamp"));
        CHECK(to_text(stored_stamp(bytes)) == tables[i].text("stamp"));
    }
}

TEST_CASE("two processes agree about their tables exactly when their contents are the same",
          "[stamp]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const routing_table mine = test_support::any_table(any, 8);
        const routing_table theirs = any.chance(50) ? routing_table{mine}
                                     : any.chance(50)
                                         ? test_support::any_table(any, 8)
                                         : routing_table{mine.schemes(),
                                                         test_support::any_map(any),
                                                         {mine.epoch(), mine.format()}};
        stamp_order order{};
        const errc code = code_of([&] { order = check_stamp(stamp_of(mine), stamp_of(theirs)); });
        if (mine.epoch() != theirs.epoch()) {
            REQUIRE(code == errc::ok);
            REQUIRE(order ==
                    (theirs.epoch() < mine.epoch() ? stamp_order::older : stamp_order::newer));
        } else if (mine == theirs) {
            REQUIRE(code == errc::ok);
            REQUIRE(order == stamp_order::same);
        } else {
            REQUIRE(code == errc::epoch_conflict);
        }
        REQUIRE(parse_table_stamp(to_text(stamp_of(mine))) == stamp_of(mine));
        REQUIRE(stored_stamp(encode(mine)) == stamp_of(mine));
    }
}

TEST_CASE("two tables of one epoch are named when they meet", "[stamp]") {
    const auto mine = stamp_of(table(5));
    const auto theirs = stamp_of(table(5, calculated(2)));
    const auto conflict = error_of([&] { check_stamp(mine, theirs); });
    CHECK(conflict.code == errc::epoch_conflict);
    CHECK(conflict.detail.find(to_text(mine) + " here") != std::string::npos);
    CHECK(conflict.detail.find(to_text(theirs) + " there") != std::string::npos);
    CHECK(check_stamp(mine, mine) == stamp_order::same);
    CHECK(check_stamp(mine, stamp_of(table(4, calculated(2)))) == stamp_order::older);
    CHECK(check_stamp(mine, stamp_of(table(6))) == stamp_order::newer);
}

TEST_CASE("a writer of 64 buckets and a reader of 32 under one version find out when they meet",
          "[stamp]") {
    // Both called it scheme 1, and each missed what the other wrote.
    const auto writer = stamp(calculated(64));
    const auto conflict = [&](const scheme_stamp& reader) {
        return code_of([&] { check_stamp(writer, reader); });
    };
    CHECK(conflict(stamp(calculated(64))) == errc::ok);
    CHECK(conflict(stamp(calculated(32))) == errc::scheme_conflict);
    CHECK(conflict(stamp(calculated(64, {.seed = 2}))) == errc::scheme_conflict);
    CHECK(conflict(stamp(random(64))) == errc::scheme_conflict);
    CHECK(conflict(stamp(selected_by(test_support::java_hash{}, 64))) == errc::scheme_conflict);
    CHECK(conflict(stamp(calculated(64), key_format{"{bucket}#{key}"})) == errc::scheme_conflict);
    CHECK(conflict(stamp(calculated(64), key_format{key_format::standard, suffix::always})) ==
          errc::scheme_conflict);
    const auto named = error_of([&] { check_stamp(writer, stamp(calculated(32))); });
    CHECK(named.detail.find(to_text(writer)) != std::string::npos);
    CHECK(named.detail.find(to_text(stamp(calculated(32)))) != std::string::npos);

    const auto next = stamp_of(calculated(32, {.version = scheme_version{2}}), key_format{});
    CHECK(check_stamp(writer, next) == stamp_order::newer);
    CHECK(check_stamp(next, writer) == stamp_order::older);
}

TEST_CASE("a scheme's stamp is the same whatever becomes of it", "[stamp]") {
    const scheme_history first{calculated(8)};
    const scheme_history later = first.grown(calculated(16)).retired(scheme_version{1});
    CHECK(stamp_of(first.writer(), key_format{}) ==
          stamp_of(later.entries().front().scheme, key_format{}));
}

TEST_CASE("a scheme that was given no version is the first one's equal, not an older one",
          "[stamp]") {
    const key_format format{};
    CHECK(stamp_of(calculated(64), format) ==
          stamp_of(scheme_history{calculated(64)}.writer(), format));
    CHECK(code_of([&] {
              check_stamp(stamp_of(calculated(64), format), stamp_of(calculated(32), format));
          }) == errc::scheme_conflict);
}

TEST_CASE("what is no stamp is not taken for one", "[stamp]") {
    const std::string digits(32, 'a');
    REQUIRE(parse_table_stamp("7-" + digits));
    REQUIRE(parse_scheme_stamp("4294967295-" + digits));
    for (const std::string& text :
         {std::string{}, "-" + digits, digits, "7" + digits, "7-" + digits + "a",
          "7-" + digits.substr(1), "07-" + digits, "+7-" + digits, "-7-" + digits, " 7-" + digits,
          "7-" + std::string(32, 'A'), "7-" + std::string(32, 'g'), "7--" + digits.substr(1),
          "7-0x" + digits.substr(2), "18446744073709551616-" + digits, "7-" + digits + "\n",
          std::string("7\0-", 3) + digits}) {
        CAPTURE(text);
        CHECK_FALSE(parse_table_stamp(text));
        CHECK_FALSE(parse_scheme_stamp(text));
    }
    CHECK_FALSE(parse_scheme_stamp("4294967296-" + digits));
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(10'000); ++round) {
        std::string text = to_text(table_stamp{epoch{any.magnitude()}, {any(), any()}});
        text[any.below(text.size())] = static_cast<char>(any());
        const auto read = parse_table_stamp(text);
        REQUIRE((!read || to_text(*read) == text));
    }
}

TEST_CASE("a stale route carries the stamp that its store told", "[stamp]") {
    const stale_route plain{epoch{6}};
    CHECK_FALSE(plain.stamp());
    const stale_route stamped{stamp_of(table(6))};
    CHECK(stamped.seen() == epoch{6});
    CHECK(stamped.stamp() == stamp_of(table(6)));
    CHECK(std::string_view{stamped.what()} == plain.what());
}
