// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/shard_map.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/vectors.hpp"

using namespace shardweave;
using test_support::code_of;
using test_support::error_of;

namespace {

static_assert(noexcept(std::declval<const shard_map&>().slot_of("")));
static_assert(noexcept(std::declval<const shard_map&>().owner(slot_index{})));
static_assert(!std::is_default_constructible_v<shard_map>, "there is no map without an owner");

std::vector<std::size_t> sizes(const shard_map& map) {
    std::vector<std::size_t> counted(map.names().size());
    for (const std::uint32_t owner : map.owners()) {
        ++counted[owner];
    }
    return counted;
}

std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> made;
    for (std::size_t i = 0; i != count; ++i) {
        made.push_back("db" + std::to_string(i));
    }
    return made;
}

}  // namespace

// Nothing else would notice another slot rule: each process would agree with itself, and look for
// stored items on the wrong shard. scripts/check_vectors.py computes the rows in another language
// and says how to add some; none may ever change.
TEST_CASE("the slot of a partition key is the same in every process, build and language",
          "[shard_map][golden]") {
    const auto rows = test_support::vector_rows("placement.json", "partition_key");
    REQUIRE(rows.size() == 7);
    const auto standard = shard_map::single("table");
    const auto small = shard_map::single("table", 1024);
    for (const auto& row : rows) {
        const std::string text = row.text("partition_key");
        CAPTURE(text);
        CHECK(stable_hash64(text, 0) == row.wide("hash", 16));
        CHECK(standard.slot_of(text).value() == row.number("of_16384"));
        CHECK(small.slot_of(text).value() == row.number("of_1024"));
    }
}

TEST_CASE("every slot has an owner, and the shards' parts are equal to within one", "[shard_map]") {
    CHECK(sizes(shard_map::single("table")) == std::vector<std::size_t>{16'384});
    CHECK(sizes(shard_map::even(names(4))) == std::vector<std::size_t>(4, 4'096));
    for (const std::size_t shards : {1U, 3U, 7U, 100U, 1'000U}) {
        const auto counted = sizes(shard_map::even(names(shards), 1'024));
        CHECK(*std::min_element(counted.begin(), counted.end()) >= 1'024 / shards);
        CHECK(*std::max_element(counted.begin(), counted.end()) <= 1'024 / shards + 1);
    }
}

TEST_CASE("weighted shards own slots in proportion, to within one", "[shard_map]") {
    CHECK(sizes(shard_map::weighted({{"a", 1}, {"b", 3}}, 16)) == std::vector<std::size_t>{4, 12});
    CHECK(sizes(shard_map::weighted({{"a", 0}, {"b", 5}, {"c", 0}}, 16)) ==
          std::vector<std::size_t>{0, 16, 0});
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(500); ++round) {
        std::vector<shard_map::weighted_shard> shards;
        double total = 0;
        for (std::string& name : names(any.between(1U, 20U))) {
            const auto weight = static_cast<std::uint32_t>(any.magnitude() >> 32U);
            shards.push_back({std::move(name), weight});
            total += weight;
        }
        if (total == 0) {
            continue;
        }
        const std::uint32_t slots = 1U << any.below(12U);
        const auto counted = sizes(shard_map::weighted(shards, slots));
        for (std::size_t i = 0; i != shards.size(); ++i) {
            const double exact = shards[i].weight / total * slots;
            CAPTURE(round, i, slots, exact, counted[i]);
            REQUIRE(static_cast<double>(counted[i]) > exact - 1 - 1e-6);
            REQUIRE(static_cast<double>(counted[i]) < exact + 1 + 1e-6);
        }
    }
}

TEST_CASE("the greatest weights do not overflow", "[shard_map]") {
    // 2^13 shards of 2^32 times 2^20 slots is more than 64 bits hold.
    std::vector<shard_map::weighted_shard> shards;
    for (std::string& name : names(8'192)) {
        shards.push_back({std::move(name), 0xffffffffU});
    }
    const auto counted = sizes(shard_map::weighted(std::move(shards), limits::slots));
    CHECK(counted == std::vector<std::size_t>(8'192, 128));
}

TEST_CASE("a slot without an owner is named, not silently missed", "[shard_map]") {
    const auto hole = error_of([] { (void)shard_map::from_slots({"a", "b", "", "a"}); });
    CHECK(hole.code == errc::incomplete_map);
    CHECK(hole.detail.find("slot 2 ") != std::string::npos);

    const auto dangling = error_of([] { (void)shard_map{{"a", "b"}, {0, 1, 1, 2}}; });
    CHECK(dangling.code == errc::incomplete_map);
    CHECK(dangling.detail.find("slot 3 ") != std::string::npos);

    CHECK(code_of([] { (void)shard_map::weighted({{"a", 0}, {"b", 0}}); }) == errc::incomplete_map);
    CHECK(code_of([] { (void)shard_map::even({}); }) == errc::incomplete_map);
}

TEST_CASE("a map from slots names each owner once, in order of appearance", "[shard_map]") {
    const auto map = shard_map::from_slots({"b", "a", "b", "b"});
    CHECK(map.names() == std::vector<std::string>{"b", "a"});
    CHECK(map.owners() == std::vector<std::uint32_t>{0, 1, 0, 0});
    CHECK(map.owner(slot_index{1}) == "a");
    CHECK(map.owner_number(slot_index{3}) == 0);
}

TEST_CASE("a map that cannot work is refused when it is built", "[shard_map]") {
    for (const std::uint32_t slots : {0U, 3U, 1000U, limits::slots * 2}) {
        CAPTURE(slots);
        CHECK(code_of([&] { (void)shard_map::single("a", slots); }) == errc::invalid_map);
    }
    CHECK(shard_map::single("a", 1).slots() == 1);
    CHECK(shard_map::single("a", limits::slots).slots() == limits::slots);
    CHECK(code_of([] { (void)shard_map::from_slots({}); }) == errc::invalid_map);
    CHECK(code_of([] { (void)shard_map::from_slots({"a", "a", "a"}); }) == errc::invalid_map);
    CHECK(code_of([] { (void)shard_map::single(""); }) == errc::invalid_map);
    CHECK(code_of([] { (void)shard_map::even({"a", "b", "a"}); }) == errc::invalid_map);
    CHECK(code_of([] { (void)shard_map::even({"a", "b", "c"}, 2); }) == errc::invalid_map);
    const std::string longest(limits::shard_name_bytes, 's');
    CHECK(shard_map::single(longest).names().front() == longest);
    CHECK(code_of([&] { (void)shard_map::single(longest + "s"); }) == errc::invalid_map);
    CHECK(code_of([] { (void)shard_map{names(limits::shards + 1), {0}}; }) == errc::invalid_map);
}

TEST_CASE("shards come and slots move without any other slot changing", "[shard_map]") {
    const auto before = shard_map::even({"a", "b"}, 8);
    const auto with_c = before.with_shard("c");
    CHECK(with_c.owners() == before.owners());
    CHECK(sizes(with_c) == std::vector<std::size_t>{4, 4, 0});

    const auto moved = with_c.with_owner(slot_index{5}, "c");
    for (std::uint32_t slot = 0; slot != 8; ++slot) {
        CHECK(moved.owner(slot_index{slot}) == (slot == 5 ? "c" : before.owner(slot_index{slot})));
    }
    CHECK(before == shard_map::even({"a", "b"}, 8));
    CHECK(code_of([&] { (void)before.with_shard("a"); }) == errc::invalid_map);
    CHECK(code_of([&] { (void)before.with_owner(slot_index{0}, "c"); }) == errc::unknown_shard);
    CHECK(code_of([&] { (void)before.with_owner(slot_index{8}, "a"); }) == errc::invalid_map);
}

TEST_CASE("slots spread over shards evenly whatever the partition keys look like", "[shard_map]") {
    const auto map = shard_map::even(names(16));
    std::vector<std::size_t> counted(16);
    for (int i = 0; i != 100'000; ++i) {
        ++counted[map.owner_number(map.slot_of("author-" + std::to_string(i)))];
    }
    CHECK(static_cast<double>(*std::max_element(counted.begin(), counted.end())) <=
          1.15 * 100'000 / 16);
}
