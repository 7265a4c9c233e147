// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/routed_id.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/tables.hpp"
#include "support/timed_tables.hpp"
#include "support/vectors.hpp"

using namespace shardweave;
using namespace std::string_literals;
using test_support::code_of;
using test_support::from_hex;
using test_support::to_hex;

namespace {

static_assert(!std::is_default_constructible_v<routed_id>);
static_assert(!std::is_convertible_v<routed_id, std::string>);

routed_id::origin any_origin(test_support::generator& any) {
    return {any(), scheme_version{static_cast<std::uint32_t>(any.magnitude()) | 1U},
            bucket_index{any.below(limits::buckets)}, any.below(routed_id::slot_mask + 1),
            any.chance(50) ? std::optional{test_support::any_time(any)} : std::nullopt};
}

item_time time_of(const std::string& milliseconds) {
    return std::chrono::sys_time<std::chrono::milliseconds>{
        std::chrono::milliseconds{std::stoll(milliseconds)}};
}

std::string with_packed(std::string_view packed) {
    return "post~" + detail::base64url_encode(packed);
}

}  // namespace

// Ids are stored by applications and handed to clients for good. scripts/check_vectors.py computes
// the rows in another language; to add one, write its inputs there and run it with --write.
TEST_CASE("routed ids are written as they always were", "[routed_id][golden]") {
    const auto rows = test_support::vector_rows("routed_ids.json", "local_hex");
    REQUIRE(rows.size() == 13);
    for (const auto& row : rows) {
        const std::string text = from_hex(row.text("text_hex"));
        CAPTURE(text);
        const routed_id id{
            from_hex(row.text("local_hex")),
            {.key_hash = stable_hash64(from_hex(row.text("key_hex")), 0),
             .scheme = scheme_version{static_cast<std::uint32_t>(row.number("scheme"))},
             .bucket = bucket_index{static_cast<std::uint32_t>(row.number("bucket"))},
             .slot_bits = static_cast<std::uint32_t>(
                 stable_hash64(from_hex(row.text("partition_key_hex")), 0) & routed_id::slot_mask),
             .time = row.has("time") ? std::optional{time_of(row.text("time"))} : std::nullopt}};
        CHECK(id.text() == text);
        CHECK(routed_id::parse(text) == id);
    }
}

TEST_CASE("a routed id says the place that the table gave, and its text brings it back",
          "[routed_id]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(5'000); ++round) {
        const routing_table table = test_support::any_table(any);
        std::string key = test_support::any_key(any);
        const auto& listed = table.schemes().exceptional();
        if (!listed.empty() && any.chance(50)) {
            key = listed.begin()->first;
        }
        const std::string local = any.bytes(30);
        const item_time time = test_support::any_time(any);
        const bool with_time = any.chance(50);
        std::optional<routed_placement> made;
        const auto place = [&] {
            made = with_time ? place_routed(table, key, local, time, any)
                             : place_routed(table, key, local, any);
        };
        if (code_of(place) != errc::ok) {
            REQUIRE(code_of([&] { (void)table.place(key, local); }) != errc::ok);
            continue;
        }
        const auto& [id, at] = *made;
        CAPTURE(to_hex(key), to_hex(local));
        REQUIRE(id.local() == local);
        REQUIRE(id.of_key(key));
        REQUIRE(id.from().scheme == at.scheme);
        REQUIRE(id.from().bucket == at.bucket);
        REQUIRE((id.from().slot_bits & (table.shards().slots() - 1)) == at.slot.value());
        REQUIRE(at.epoch == table.epoch());
        REQUIRE(id.from().time == (with_time ? std::optional{time} : std::nullopt));
        if (at.how != selection::random) {
            REQUIRE(at.partition_key == table.place(key, local).partition_key);
        }
        REQUIRE(routed_id::parse(id.text()) == id);
        // One text for each id: whatever else is read is another id, written as it was read.
        std::string changed = id.text();
        changed[any.below(changed.size())] = static_cast<char>(any());
        const auto read = routed_id::parse(changed);
        REQUIRE((!read || (read->text() == changed && (*read == id) == (changed == id.text()))));
    }
}

TEST_CASE("a number as an id is its decimal text, as everywhere", "[routed_id]") {
    const routing_table table{scheme_table{calculated(8)}, shard_map::single("db0")};
    const auto made = place_routed(table, "author-1", 42);
    CHECK(made.id.local() == "42");
    CHECK(made.at.partition_key == table.place("author-1", "42").partition_key);
}

TEST_CASE("a random scheme draws once, and the id remembers the bucket", "[routed_id]") {
    const routing_table table{scheme_table{random(64)}, shard_map::even({"a", "b"})};
    for (int i = 0; i != 100; ++i) {
        const auto [id, at] = place_routed(table, "k", i);
        CHECK(id.from().bucket == at.bucket);
        CHECK(at.partition_key == table.format().render("k", id.from().bucket, 64));
    }
}

TEST_CASE("the last tilde separates, so the local part may hold any bytes", "[routed_id]") {
    INFO(test_support::replay());
    test_support::generator any;
    const std::string fragments[] = {"~", "~~", "a", "AA", "_", "-", "=", "\0"s, "\xff", "%7E"};
    for (std::size_t round = 0; round != test_support::scaled(5'000); ++round) {
        const routed_id id{any.joined(fragments, 6), any_origin(any)};
        CAPTURE(to_hex(id.local()));
        REQUIRE(routed_id::parse(id.text()) == id);
        const routed_id around{id.text(), any_origin(any)};
        REQUIRE(routed_id::parse(around.text()) == around);
        REQUIRE(routed_id::parse(around.text())->local() == id.text());
    }
}

TEST_CASE("what is no routed id is not taken for one", "[routed_id]") {
    const std::string good = "\x01"s + "\1\2\3\4\5\6\7\x08" + "\x01" + "\x07" + "\x0f\xff\xff";
    REQUIRE(routed_id::parse(with_packed(good)));
    CHECK(routed_id::parse(with_packed(good))->from().slot_bits == routed_id::slot_mask);
    const auto at = [&](std::size_t from, std::size_t count, std::string_view bytes) {
        std::string changed = good;
        return with_packed(changed.replace(from, count, bytes));
    };
    for (const std::string& text :
         {""s,
          "~"s,
          "post"s,
          "post~"s,
          "post~!"s,
          with_packed(""),
          with_packed("\x01"),
          with_packed(good) + "=",
          with_packed(good) + "A",
          with_packed(good) + " ",
          with_packed(good + '\0'),
          with_packed(good.substr(0, good.size() - 1)),
          at(0, 1, "\0"s),
          at(0, 1, "\x02"),
          at(0, 1, "\x03"),  // another format
          at(9, 1, "\0"s),   // no version
          at(9, 1, "\x81\0"s),
          at(10, 1, "\x87\0"s),  // overlong numbers
          at(9, 1, "\x80\x80\x80\x80\x10"),
          at(10, 1, "\x80\x20"),                             // too large ones
          at(11, 1, "\x10"),                                 // 21 bits of slot
          with_packed("\x02" + good.substr(1) + "\x80\0"s),  // an overlong time
          "post~" + std::string(10'000, 'A')}) {
        CAPTURE(text);
        CHECK_FALSE(routed_id::parse(text));
    }
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(50'000); ++round) {
        const std::string text = any.chance(50) ? any.bytes(40) : with_packed(any.bytes(20));
        const auto read = routed_id::parse(text);
        REQUIRE((!read || read->text() == text));
    }
}

TEST_CASE("an id that no table could make is refused, and so is an overlong one", "[routed_id]") {
    const routed_id::origin fine{1, scheme_version{1}, bucket_index{0}, 0};
    const auto code = [](std::string local, const routed_id::origin& from) {
        return code_of([&] { (void)routed_id{std::move(local), from}; });
    };
    CHECK(code("", fine) == errc::ok);
    CHECK(code("a", {1, scheme_version{0}, bucket_index{0}, 0}) == errc::limit_exceeded);
    CHECK(code("a", {1, scheme_version{1}, bucket_index{limits::buckets}, 0}) ==
          errc::limit_exceeded);
    CHECK(code("a", {1, scheme_version{1}, bucket_index{0}, routed_id::slot_mask + 1}) ==
          errc::limit_exceeded);

    const std::string longest(limits::local_id_bytes, 'x');
    CHECK(code(longest + "x", fine) == errc::limit_exceeded);
    const routed_id largest{longest,
                            {~std::uint64_t{0}, scheme_version{0xffffffffU},
                             bucket_index{limits::buckets - 1}, routed_id::slot_mask,
                             item_time::min()}};
    CHECK(largest.text().size() == 1'024);
    CHECK(routed_id::parse(largest.text()) == largest);
    CHECK_FALSE(routed_id::parse("x" + largest.text()));
    const routing_table table{scheme_table{calculated(1)}, shard_map::single("db0")};
    CHECK(code_of([&] { (void)place_routed(table, "k", longest + "x"); }) == errc::limit_exceeded);
}
