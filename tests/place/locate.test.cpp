// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/locate.hpp>

#include <shardweave/place/router.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/tables.hpp"
#include "support/timed_tables.hpp"
#include "support/vectors.hpp"

using namespace shardweave;
using test_support::code_of;
using test_support::to_hex;

namespace {

shard_map four() { return shard_map::even({"db0", "db1", "db2", "db3"}); }

using place = std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint32_t>;

std::vector<place> places_of(const located& found) {
    std::vector<place> places;
    for (const routed_place& each : found.places) {
        places.emplace_back(each.shard, each.slot.value(), each.bucket.value(),
                            each.scheme.value());
    }
    return places;
}

/// Where the item of an id may be, by its key: its candidates, but of its own scheme only its own
/// bucket, and none of an older one. Not complete when only a time could tell.
std::pair<std::vector<place>, bool> expected(const routing_table& table, std::string_view key,
                                             const routed_id& id) {
    std::vector<place> places;
    bool complete = true;
    std::set<std::string> texts;
    const std::optional<item_time> time = id.from().time;
    const auto entries = table.schemes().history(key).entries();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        const bucket_scheme& scheme = entry->scheme;
        if (entry->state == scheme_state::retired || scheme.version() < id.from().scheme) {
            continue;
        }
        complete = complete && (time || !scheme.timed());
        if (scheme.timed() && !(time && scheme.held().contains(*time))) {
            continue;
        }
        for (std::uint32_t bucket = 0; bucket != scheme.buckets(); ++bucket) {
            const bool may_be =
                scheme.version() == id.from().scheme
                    ? bucket == id.from().bucket.value()
                    : !scheme.repeatable() || scheme.locate(id.local()) == bucket_index{bucket};
            const std::string text =
                table.format()
                    .render(key, bucket_index{bucket}, scheme.buckets(),
                            scheme.timed() ? scheme.window_at(*time) : std::nullopt)
                    .str();
            if (may_be && texts.insert(text).second) {
                const slot_index slot = table.shards().slot_of(text);
                places.emplace_back(table.shards().owner(slot), slot.value(), bucket,
                                    scheme.version().value());
            }
        }
    }
    return {places, complete};
}

bool among(const std::vector<place>& few, const std::vector<place>& all) {
    return std::ranges::all_of(
        few, [&](const place& each) { return std::ranges::count(all, each) == 1; });
}

/// What happens to a table: keys and ordinary keys grow, versions end, slots move.
routing_table changed(const routing_table& table, const std::string& key,
                      test_support::generator& any) {
    const scheme_table& schemes = table.schemes();
    const auto any_scheme = [&] {
        const bool windows = table.format().holds_windows() && any.chance(40);
        const item_time since = test_support::any_time(any);
        return windows && detail::written_times.contains(since)
                   ? test_support::any_timed_scheme(any, since, 12)
                   : test_support::any_scheme(any, {}, 12);
    };
    try {
        switch (any.below(6U)) {
            case 0: return table.with_schemes(schemes.grow(key, any_scheme()));
            case 1: return table.with_schemes(schemes.grow_ordinary(any_scheme()));
            case 2: {
                const auto entries = schemes.history(key).entries();
                const auto version = any.pick(entries).scheme.version();
                return table.with_schemes(schemes.exceptional().contains(key)
                                              ? schemes.retire(key, version)
                                              : schemes.retire_ordinary(version));
            }
            case 3:
                return table.with_shards(table.shards().with_shard("new " + std::to_string(any())));
            default:
                return table.with_shards(
                    table.shards().with_owner(slot_index{any.below(table.shards().slots())},
                                              any.pick(table.shards().names())));
        }
    } catch (const failure&) {
        return table;  // a since before the last one, or the end of the one that takes the writes
    }
}

}  // namespace

TEST_CASE("an item is located where it was placed, and where its key grew, after any change",
          "[locate][law]") {
    INFO(test_support::replay());
    test_support::generator any;
    std::size_t complete = 0;
    std::size_t incomplete = 0;
    for (std::size_t round = 0; round != test_support::scaled(3'000); ++round) {
        const bool timed = any.chance(50);
        routing_table table =
            timed ? test_support::any_timed_table(any) : test_support::any_table(any, 12);
        if (table.epoch().value() > ~std::uint64_t{0} - 100) {
            continue;
        }
        std::string key = test_support::any_key(any);
        const auto& listed = table.schemes().exceptional();
        if (!listed.empty() && any.chance(50)) {
            key = std::next(listed.begin(), static_cast<std::ptrdiff_t>(any.below(listed.size())))
                      ->first;
        }
        const std::string local = any.bytes(12);
        std::optional<routed_placement> made;
        const auto place = [&] {
            made = timed || any.chance(20)
                       ? place_routed(table, key, local, test_support::any_time(any), any)
                       : place_routed(table, key, local, any);
        };
        if (code_of(place) != errc::ok) {
            continue;  // an ambiguous key, or a time that no scheme holds
        }
        const routed_id id = routed_id::parse(made->id.text()).value();
        for (unsigned changes = any.below(8U);; --changes) {
            CAPTURE(round, changes, to_hex(key), to_hex(local), id.text());
            const located found = locate(table, id);
            const auto [all, known] = expected(table, key, id);
            const located by_key = locate(table, id, key);
            REQUIRE(by_key.complete == known);
            REQUIRE(places_of(by_key) == all);
            REQUIRE(found.epoch == table.epoch());
            // Nothing that is not there, and nothing missing that is not said to be.
            REQUIRE(among(places_of(found), all));
            if (found.complete) {
                REQUIRE(places_of(found) == all);
                ++complete;
            } else {
                REQUIRE_FALSE((known && table.schemes().exceptional().contains(key)));
                ++incomplete;
            }
            // Its own place is found without the key, for as long as its scheme is read.
            const auto entries = table.schemes().history(key).entries();
            const auto own = std::ranges::find_if(entries, [&](const auto& each) {
                return each.scheme.version() == id.from().scheme;
            });
            REQUIRE(own != entries.end());
            if (own->state != scheme_state::retired) {
                const slot_index slot = table.shards().slot_of(made->at.partition_key.str());
                REQUIRE(std::ranges::any_of(found.places, [&](const routed_place& each) {
                    return each.slot == slot && each.shard == table.shards().owner(slot);
                }));
            }
            for (const located* each : {&found, &by_key}) {
                for (const routed_place& at : each->places) {
                    REQUIRE((at.partition_key.has_value() || each == &found));
                    if (at.partition_key) {
                        REQUIRE(table.shards().slot_of(at.partition_key->str()) == at.slot);
                    }
                }
            }
            const id_locator locator{std::make_shared<const routing_table>(table)};
            REQUIRE(places_of(locator.locate(id)) == places_of(found));
            REQUIRE(locator.locate(id).complete == found.complete);
            if (changes == 0) {
                break;
            }
            table = changed(table, key, any);
        }
    }
    CHECK(complete > incomplete);
    CHECK(incomplete > 0);
}

TEST_CASE("an id follows its item's slot to another shard", "[locate]") {
    routing_table table{scheme_table{calculated(1)}, four()};
    const auto [id, at] = place_routed(table, "author-9", "post-1");
    REQUIRE(locate(table, id).places.size() == 1);
    CHECK(locate(table, id).places.front().shard == at.shard);
    const std::string other = at.shard == "db3" ? "db0" : "db3";
    table = table.with_shards(table.shards().with_owner(at.slot, other));
    const located found = locate(table, id);
    CHECK(found.complete);
    CHECK(found.places.front().shard == other);
    CHECK_FALSE(found.places.front().partition_key);  // the key has no scheme of its own
    CHECK(locate(table, id, "author-9").places.front().partition_key == at.partition_key);
}

TEST_CASE("an item of a random scheme is read by its id alone, from one place", "[locate]") {
    // Elsewhere a random shard made get and delete impossible, or a question to every shard.
    const routing_table table{scheme_table{calculated(1)}.with("e1", random(64)), four()};
    const auto [id, at] = place_routed(table, "e1", "v1");
    const located found = locate(table, id);
    CHECK(found.complete);
    REQUIRE(found.places.size() == 1);
    CHECK(found.places.front().shard == at.shard);
    CHECK(found.places.front().partition_key == at.partition_key);
}

TEST_CASE(
    "an item of a time window is found by its id, and by its time in a newer scheme's windows",
    "[locate]") {
    using namespace std::chrono;
    const item_time since = sys_days{year{2026} / November / 1};
    const item_time when = sys_days{year{2026} / November / 30} + hours{14};
    const bucket_scheme daily = time_windowed(days{1}, calculated(8, {.since = since}));
    routing_table table{scheme_table{calculated(1)}.with("events", daily), four()};
    const auto [id, at] = place_routed(table, "events", "e-1", when);
    CHECK(at.partition_key == table.place("events", "e-1", when).partition_key);
    located found = locate(table, routed_id::parse(id.text()).value());
    CHECK(found.complete);
    REQUIRE(found.places.size() == 1);
    CHECK(found.places.front().partition_key == at.partition_key);

    table = table.with_schemes(
        table.schemes().grow("events", time_windowed(hours{1}, calculated(16, {.since = since}))));
    found = locate(table, id);
    CHECK(found.complete);
    REQUIRE(found.places.size() == 2);
    CHECK(found.places.front().partition_key == table.place("events", "e-1", when).partition_key);
    CHECK(found.places.back().partition_key == at.partition_key);

    // An id without a time, from before there were windows, can not tell which one.
    routing_table old{scheme_table{calculated(1)}.with("events", calculated(8)), four()};
    const auto plain = place_routed(old, "events", "e-1");
    old = old.with_schemes(old.schemes().grow("events", daily));
    found = locate(old, plain.id, "events");
    CHECK_FALSE(found.complete);
    REQUIRE(found.places.size() == 1);
    CHECK(found.places.front().partition_key == plain.at.partition_key);
}

TEST_CASE("when ordinary keys grow, only the key can tell where an item may have gone",
          "[locate]") {
    routing_table table{scheme_table{calculated(1)}, four()};
    const auto [id, at] = place_routed(table, "author-9", "post-1");
    table = table.with_schemes(table.schemes().grow_ordinary(calculated(8)));
    const located found = locate(table, id);
    CHECK_FALSE(found.complete);
    REQUIRE(found.places.size() == 1);
    CHECK(found.places.front().slot == at.slot);
    const located by_key = locate(table, id, "author-9");
    CHECK(by_key.complete);
    CHECK(by_key.places.size() == 2);
    CHECK(by_key.places.front().scheme == scheme_version{2});
    // When the old scheme has ended, nothing is there any more.
    table = table.with_schemes(table.schemes().retire_ordinary(scheme_version{1}));
    CHECK(locate(table, id).places.empty());
    CHECK_FALSE(locate(table, id).complete);
    CHECK(locate(table, id, "author-9").places.size() == 1);
}

TEST_CASE("a table that has not heard of the id's scheme says so, and where the id was made",
          "[locate]") {
    const routing_table before{scheme_table{calculated(1)}, four()};
    const routing_table after =
        before.with_schemes(before.schemes().grow("author-9", calculated(8)));
    const auto [id, at] = place_routed(after, "author-9", "post-1");
    const located found = locate(before, id);
    CHECK_FALSE(found.complete);
    REQUIRE(found.places.size() == 1);
    CHECK(found.places.front().slot == at.slot);
    CHECK(locate(after, id).complete);
}

TEST_CASE("an id that the table never made has no place", "[locate]") {
    const routing_table table{
        scheme_table{calculated(1)}.with("author-1", calculated(8)).with("events", random(4)),
        four()};
    const auto made = place_routed(table, "author-1", "post-1").id;
    const auto forged = [&](std::string local, routed_id::origin from) {
        const located found = locate(table, routed_id{std::move(local), from});
        const bool nothing = found.places.empty() && !found.complete;
        return nothing;
    };
    auto from = made.from();
    CHECK_FALSE(forged("post-1", from));
    from.bucket = bucket_index{(from.bucket.value() + 1) % 8};
    CHECK(forged("post-1", from));  // not the item's bucket
    from = made.from();
    from.slot_bits ^= 1U;
    CHECK(forged("post-1", from));  // not its partition key's slot
    from.bucket = bucket_index{4'095};
    CHECK(forged("post-1", from));  // no bucket of the scheme
    from = place_routed(table, "somebody", "post-1").id.from();
    CHECK_FALSE(forged("post-1", from));
    from.slot_bits ^= 1U;
    CHECK(forged("post-1", from));  // of a plain key both are one hash

    // With a key that is not the id's, neither.
    CHECK(locate(table, made, "events").places.empty());
    CHECK_FALSE(locate(table, made, "events").complete);
    CHECK(code_of([&] { (void)locate(table, made, "a:bucket-1"); }) == errc::ambiguous_key);
}

TEST_CASE("whatever an id says, its places are places of the table", "[locate]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        const routing_table table =
            any.chance(50) ? test_support::any_table(any, 8) : test_support::any_timed_table(any);
        const auto& listed = table.schemes().exceptional();
        const std::uint64_t hash =
            listed.empty() || any.chance(30) ? any() : stable_hash64(listed.begin()->first, 0);
        const auto entries = table.schemes().ordinary().entries();
        const routed_id id{
            any.bytes(5),
            {hash,
             any.chance(70) ? any.pick(entries).scheme.version()
                            : scheme_version{static_cast<std::uint32_t>(any.magnitude()) | 1U},
             bucket_index{any.chance(80) ? any.below(8U) : any.below(limits::buckets)},
             any.chance(50) ? static_cast<std::uint32_t>(hash & routed_id::slot_mask)
                            : any.below(routed_id::slot_mask + 1),
             any.chance(50) ? std::optional{test_support::any_time(any)} : std::nullopt}};
        const located found = locate(table, id);
        for (const routed_place& at : found.places) {
            REQUIRE(at.slot.value() < table.shards().slots());
            REQUIRE(at.shard == table.shards().owner(at.slot));
        }
        const id_locator locator{std::make_shared<const routing_table>(table)};
        REQUIRE(places_of(locator.locate(id)) == places_of(found));
    }
}
