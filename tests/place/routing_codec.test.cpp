// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/routing_codec.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/allocated.hpp"
#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/selectors.hpp"
#include "support/tables.hpp"
#include "support/timed_tables.hpp"
#include "support/vectors.hpp"

using namespace shardweave;
using namespace std::string_literals;
using test_support::allocated_bytes;
using test_support::code_of;
using test_support::error_of;
using test_support::from_hex;
using test_support::java_hash;
using test_support::to_hex;

namespace {

static_assert(sizeof(hash128) == detail::fingerprint_bytes);

selector_registry known() { return selector_registry{}.with(java_hash{}); }

/// A stored form whose fingerprint is right, whatever its body says.
std::string sealed(std::string body) {
    const hash128 print = stable_hash128(body, 0);
    byte_writer{body}.hash(print);
    return body;
}

std::string body_of(const routing_table& table) {
    const std::string bytes = encode(table);
    return bytes.substr(0, bytes.size() - detail::fingerprint_bytes);
}

scheme_version version(std::uint32_t number) { return scheme_version{number}; }

/// The tables of tests/vectors/routing.json, by their names there.
std::map<std::string, routing_table> golden_tables() {
    const auto own_max =
        calculated(limits::buckets, {.version = version(300), .seed = ~std::uint64_t{0}});
    std::map<std::string, routing_table> tables;
    tables.emplace("one shard",
                   routing_table{scheme_table{calculated(1)}, shard_map::single("db0", 1)});
    tables.emplace("four shards",
                   routing_table{scheme_table{calculated(1)}.with("author-1", calculated(8)),
                                 shard_map::even({"db0", "db1", "db2", "db3"}, 16)});
    tables.emplace(
        "every field",
        routing_table{
            scheme_table{scheme_history{calculated(1)}
                             .grown(calculated(127))
                             .retired(version(1))
                             .grown(random(128, {.version = version(127)}))}
                .with("", own_max)
                .with("a\0b"s, selected_by(java_hash{}, 10, {.version = version(128)}))
                .with("\xff", scheme_history{selected_by(java_hash{}, 1)}.grown(calculated(2))),
            shard_map::from_slots({"zeta", "alpha", "\xc3\x85", "alpha"}),
            {.epoch = epoch{300}, .format = key_format{"{bucket}#{key}", suffix::always}}});
    tables.emplace("last epoch", routing_table{scheme_table{calculated(1)},
                                               shard_map::single("t", 2),
                                               {.epoch = epoch{~std::uint64_t{0}},
                                                .format = key_format{key_format::standard,
                                                                     suffix::unless_zero}}});
    using namespace std::chrono;
    tables.emplace(
        "times",
        routing_table{
            scheme_table{scheme_history{calculated(4)}
                             .grown(calculated(8, {.since = sys_days{year{1970} / 1 / 1}}))
                             .retired(version(1))
                             .grown(time_windowed(
                                 days{1}, calculated(8, {.since = sys_days{year{2026} / 11 / 30} +
                                                                  milliseconds{1}})))}
                .with("first",
                      time_windowed(minutes{1}, random(1, {.since = sys_days{year{0} / 1 / 1}})))
                .with("last", time_windowed(minutes{limits::window_minutes},
                                            selected_by(java_hash{}, 2,
                                                        {.since = sys_days{year{9999} / 12 / 31} +
                                                                  milliseconds{86'399'999}}))),
            shard_map::single("db0", 1)});
    return tables;
}

/// Some table, with times or without.
routing_table some_table(test_support::generator& any) {
    return any.chance(50) ? test_support::any_table(any) : test_support::any_timed_table(any);
}

}  // namespace

// Routing tables are stored and sent to other processes. Encoding and decoding would change
// together and agree, so only these rows notice. scripts/check_vectors.py encodes the same tables
// from their description in another language; to add one, describe it there and run the script with
// --write. A row that changes needs a new format version, and a `decode` that still reads the old
// one.
TEST_CASE("the stored form of a routing table is the documented one", "[routing_codec][golden]") {
    const auto rows = test_support::vector_rows("routing.json", "name");
    const auto tables = golden_tables();
    REQUIRE(rows.size() == tables.size());
    for (const auto& row : rows) {
        CAPTURE(row.text("name"));
        const routing_table& table = tables.at(row.text("name"));
        CHECK(to_hex(encode(table)) == row.text("bytes"));
        CHECK(decode(from_hex(row.text("bytes")), known()) == table);
        std::string print;
        byte_writer{print}.hash(fingerprint(table));
        CHECK(to_hex(print) == row.text("fingerprint"));
    }
}

TEST_CASE("a decoded table is the encoded one and encodes alike", "[routing_codec]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const routing_table table = some_table(any);
        const std::string bytes = encode(table);
        const routing_table again = decode(bytes, known());
        CAPTURE(round, to_hex(bytes));
        REQUIRE(again == table);
        REQUIRE(encode(again) == bytes);
        REQUIRE(fingerprint(again) == fingerprint(table));
    }
}

TEST_CASE("tables with the same fingerprint are the same", "[routing_codec]") {
    INFO(test_support::replay());
    test_support::generator any;
    std::map<hash128, routing_table> seen;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const routing_table table = some_table(any);
        const auto [at, added] = seen.emplace(fingerprint(table), table);
        REQUIRE(at->second == table);
    }
    const routing_table one{scheme_table{calculated(1)}, shard_map::single("a")};
    CHECK(fingerprint(one) == fingerprint(routing_table{one}));
    CHECK(fingerprint(one) != fingerprint(one.with_schemes(one.schemes())));  // the epoch counts
}

TEST_CASE("a damaged table is refused, whichever byte is hit", "[routing_codec]") {
    for (const auto& [name, table] : golden_tables()) {
        const std::string bytes = encode(table);
        CAPTURE(name);
        for (std::size_t i = 0; i != bytes.size(); ++i) {
            for (unsigned bit = 0; bit != 8; ++bit) {
                std::string flipped = bytes;
                flipped[i] =
                    static_cast<char>(static_cast<unsigned char>(flipped[i]) ^ (1U << bit));
                CAPTURE(i, bit);
                REQUIRE(code_of([&] { (void)decode(flipped, known()); }) == errc::table_malformed);
            }
        }
        for (std::size_t size = 0; size != bytes.size(); ++size) {
            CAPTURE(size);
            REQUIRE(code_of([&] { (void)decode(bytes.substr(0, size), known()); }) ==
                    errc::table_malformed);
        }
        for (int extra = 0; extra != 256; ++extra) {
            CAPTURE(extra);
            REQUIRE(code_of([&] { (void)decode(bytes + static_cast<char>(extra), known()); }) ==
                    errc::table_malformed);
        }
    }
}

TEST_CASE("a body with more or less than a table in it is refused", "[routing_codec]") {
    for (const auto& [name, table] : golden_tables()) {
        const std::string body = body_of(table);
        CAPTURE(name);
        REQUIRE(code_of([&] { (void)decode(sealed(body), known()); }) == errc::ok);
        for (std::size_t size = 0; size != body.size(); ++size) {
            CAPTURE(size);
            REQUIRE(code_of([&] { (void)decode(sealed(body.substr(0, size)), known()); }) ==
                    errc::table_malformed);
        }
        REQUIRE(code_of([&] { (void)decode(sealed(body + '\0'), known()); }) ==
                errc::table_malformed);
    }
}

TEST_CASE("an unknown selector is an error that names it, never a guess", "[routing_codec]") {
    const routing_table table{scheme_table{calculated(1)}.with("a", selected_by(java_hash{}, 8)),
                              shard_map::single("db0")};
    const auto unknown = test_support::error_of([&] { (void)decode(encode(table)); });
    CHECK(unknown.code == errc::unknown_selector);
    CHECK(unknown.detail.find("\"java-hash\"") != std::string::npos);
    const routing_table read = decode(encode(table), known());
    CHECK(read.place("a", "polygenelubricants").bucket == bucket_index{0});
    CHECK(read.place("a", "post-981").bucket == table.place("a", "post-981").bucket);
}

TEST_CASE("a newer format version is refused, and says which one is read", "[routing_codec]") {
    std::string body = body_of(golden_tables().at("one shard"));
    body[4] = 3;
    const auto newer = test_support::error_of([&] { (void)decode(sealed(body)); });
    CHECK(newer.code == errc::table_malformed);
    CHECK(newer.detail.find("version 3") != std::string::npos);
    CHECK(newer.detail.find("versions 1 and 2") != std::string::npos);
}

TEST_CASE("a second writing of the same table is refused", "[routing_codec]") {
    const std::string head = "SWRT\x01"s;
    const std::string format = "\x01\x15{key}:bucket-{bucket}"s;
    const std::string map = "\x00\x01\x02"
                            "db"
                            "\x00"s;
    const std::string ordinary =
        "\x01\x01\x01\x01\x01\x01"s;  // one: version, selection, buckets, seed, state
    const auto code = [](const std::string& body) {
        return code_of([&] { (void)decode(sealed(body), known()); });
    };
    REQUIRE(code(head + "\x01" + format + map + ordinary + "\x00"s) == errc::ok);
    // An overlong epoch, an overlong count.
    CHECK(code(head + "\x81\x00"s + format + map + ordinary + "\x00"s) == errc::table_malformed);
    CHECK(code(head + "\x01" + format + map + ordinary + "\x80\x00"s) == errc::table_malformed);
    // Keys in order, out of order, and twice.
    const auto keys = [&](std::string_view first, std::string_view second) {
        std::string body = head + "\x01" + format + map + ordinary + "\x02";
        byte_writer out{body};
        out.text(first);
        out.raw(ordinary);
        out.text(second);
        out.raw(ordinary);
        return body;
    };
    CHECK(code(keys("a", "b")) == errc::ok);
    CHECK(code(keys("", "a")) == errc::ok);
    CHECK(code(keys("\x7f", "\x80")) == errc::ok);
    CHECK(code(keys("b", "a")) == errc::table_malformed);
    CHECK(code(keys("\x80", "\x7f")) == errc::table_malformed);
    CHECK(code(keys("a", "a")) == errc::table_malformed);
    CHECK(code(keys("", "")) == errc::table_malformed);
}

TEST_CASE("contents that no table could have are refused", "[routing_codec]") {
    const auto code = [](std::string_view mode, std::string_view format, std::string_view map,
                         std::string_view history, std::string_view keys) {
        std::string body = "SWRT\x01\x01"s;
        byte_writer out{body};
        out.raw(mode);
        out.text(format);
        out.raw(map);
        out.raw(history);
        out.raw(keys);
        return code_of([&] { (void)decode(sealed(body), known()); });
    };
    const std::string none = "\x00"s;
    const std::string map = "\x00\x01\x02"
                            "db"
                            "\x00"s;
    const std::string one = "\x01\x01\x01\x01\x01\x01"s;
    const std::string standard{key_format::standard};
    REQUIRE(code("\x01", standard, map, one, none) == errc::ok);
    CHECK(code("\x00"s, standard, map, one, none) == errc::table_malformed);
    CHECK(code("\x04", standard, map, one, none) == errc::table_malformed);
    CHECK(code("\x01", "{key}", map, one, none) == errc::invalid_key_format);
    CHECK(code("\x01", std::string(200, 'x'), map, one, none) == errc::table_malformed);
    // The map: 2^21 slots, no shards, an owner that is not there, a name given twice, an empty one.
    CHECK(code("\x01", standard,
               "\x15\x01\x02"
               "db"
               "\x00"s,
               one, none) == errc::table_malformed);
    CHECK(code("\x01", standard, "\x00\x00\x00"s, one, none) == errc::invalid_map);
    CHECK(code("\x01", standard,
               "\x00\x01\x02"
               "db"
               "\x01"s,
               one, none) == errc::incomplete_map);
    CHECK(code("\x01", standard,
               "\x00\x02\x01"
               "d"
               "\x01"
               "d"
               "\x00"s,
               one, none) == errc::invalid_map);
    CHECK(code("\x01", standard, "\x00\x01\x00\x00"s, one, none) == errc::invalid_map);
    // The history: none, version 0, unknown selection, no buckets, too many, seed 0, unknown state,
    // no writer, a custom selection without a name.
    CHECK(code("\x01", standard, map, "\x00"s, none) == errc::invalid_scheme);
    CHECK(code("\x01", standard, map, "\x01\x00\x01\x01\x01\x01"s, none) == errc::invalid_scheme);
    CHECK(code("\x01", standard, map, "\x01\x01\x00\x01\x01\x01"s, none) == errc::table_malformed);
    CHECK(code("\x01", standard, map, "\x01\x01\x04\x01\x01\x01"s, none) == errc::table_malformed);
    CHECK(code("\x01", standard, map, "\x01\x01\x01\x00\x01\x01"s, none) == errc::invalid_scheme);
    CHECK(code("\x01", standard, map, "\x01\x01\x01\x81\x20\x01\x01"s, none) ==
          errc::table_malformed);
    CHECK(code("\x01", standard, map, "\x01\x01\x01\x01\x00\x01"s, none) == errc::invalid_scheme);
    CHECK(code("\x01", standard, map, "\x01\x01\x01\x01\x01\x00"s, none) == errc::table_malformed);
    CHECK(code("\x01", standard, map, "\x01\x01\x01\x01\x01\x04"s, none) == errc::table_malformed);
    CHECK(code("\x01", standard, map, "\x01\x01\x01\x01\x01\x02"s, none) == errc::invalid_scheme);
    CHECK(code("\x01", standard, map, "\x01\x01\x03\x01\x01\x01\x00"s, none) ==
          errc::unknown_selector);
    // A key that reads as another one's bucket.
    CHECK(code("\x01", standard, map, one,
               "\x01\x0a"
               "a:bucket-1" +
                   one) == errc::ambiguous_key);
}

namespace {

/// Nothing when the table owns every slot exactly once, and lists every bucket of every live scheme
/// exactly once; else what it does not.
std::string uncovered(const routing_table& table) {
    const shard_map& map = table.shards();
    std::vector<std::size_t> owned(map.names().size());
    for (std::uint32_t slot = 0; slot != map.slots(); ++slot) {
        const std::uint32_t number = map.owner_number(slot_index{slot});
        if (number >= owned.size() || map.owner(slot_index{slot}) != map.names()[number]) {
            return "slot " + std::to_string(slot);
        }
        ++owned[number];
    }
    if (std::accumulate(owned.begin(), owned.end(), std::size_t{0}) != map.slots() ||
        map.owners().size() != map.slots()) {
        return "the slots are not as many as they are";
    }
    std::vector<std::string> keys{"an ordinary key"};
    for (const auto& [key, history] : table.schemes().exceptional()) {
        keys.push_back(key);
    }
    for (const std::string& key : keys) {
        std::set<std::string> texts;
        for (const target& each : table.targets(key)) {
            if (!texts.insert(each.partition_key.str()).second ||
                each.slot != map.slot_of(each.partition_key.str()) ||
                each.shard != map.owner(each.slot)) {
                return "a target of " + to_hex(key);
            }
        }
        std::set<std::string> expected;
        for (const auto& [scheme, state] : table.schemes().history(key).entries()) {
            for (std::uint32_t bucket = 0;
                 state != scheme_state::retired && bucket != scheme.buckets(); ++bucket) {
                expected.insert(
                    table.format().render(key, bucket_index{bucket}, scheme.buckets()).str());
            }
        }
        if (texts != expected) {
            return "the targets of " + to_hex(key);
        }
    }
    return {};
}

}  // namespace

TEST_CASE("a table that was read owns every slot once, and lists every bucket of every live scheme",
          "[routing_codec]") {
    INFO(test_support::replay());
    test_support::generator any;
    const auto registry = known();
    std::size_t read = 0;
    std::size_t holes = 0;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const routing_table table = test_support::any_table(any, 12);
        REQUIRE(uncovered(decode(encode(table), registry)).empty());
        // Then with another number or two anywhere in the header, the map, or the schemes.
        std::string hostile = body_of(table);
        for (unsigned changes = any.between(1U, 2U); changes != 0; --changes) {
            hostile[any.below(hostile.size())] = static_cast<char>(any.below(12U));
        }
        CAPTURE(round, to_hex(hostile));
        std::string missing;
        try {
            missing = uncovered(decode(sealed(hostile), registry));
            ++read;
        } catch (const failure& refused) {
            holes += refused.code() == errc::incomplete_map;
        }
        REQUIRE(missing.empty());
    }
    CHECK(read > 0);
    CHECK(holes > 0);
}

TEST_CASE("a slot whose owner is not there is named, whichever it is", "[routing_codec]") {
    const routing_table table{scheme_table{calculated(1)}, shard_map::even({"a", "b"}, 64)};
    const std::string body = body_of(table);
    const std::size_t owners = body.size() - 7 - 64;  // a history and the count of keys follow
    for (std::size_t slot = 0; slot != 64; ++slot) {
        std::string holed = body;
        REQUIRE((holed[owners + slot] == 0 || holed[owners + slot] == 1));
        holed[owners + slot] = 2;
        const auto hole = error_of([&] { (void)decode(sealed(holed)); });
        CHECK(hole.code == errc::incomplete_map);
        CHECK(hole.detail.starts_with("slot " + std::to_string(slot) + " "));
        // One owner fewer is no table of one slot fewer.
        holed = body;
        holed.erase(owners + slot, 1);
        CHECK(code_of([&] { (void)decode(sealed(holed)); }) != errc::ok);
    }
}

TEST_CASE("a table has times exactly in format version 2", "[routing_codec]") {
    const auto code = [](std::string_view version, std::string_view scheme) {
        std::string body = "SWRT"s + std::string{version} + "\x01\x01";
        byte_writer out{body};
        out.text(key_format::standard);
        out.raw("\x00\x01\x02"
                "db"
                "\x00\x01"s);
        out.raw(scheme);
        out.raw("\x00"s);
        return code_of([&] { (void)decode(sealed(body), known()); });
    };
    const std::string scheme = "\x01\x01\x01\x01\x01"s;
    CHECK(code("\x01", scheme) == errc::ok);
    CHECK(code("\x02", scheme + "\x01\x01"s) == errc::ok);
    CHECK(code("\x02", scheme + "\x00\x01"s) == errc::ok);
    CHECK(code("\x02", scheme + "\x00\x00"s) == errc::table_malformed);  // as version 1 instead
    CHECK(code("\x02", scheme) == errc::table_malformed);
    CHECK(code("\x01", scheme + "\x00\x01"s) == errc::table_malformed);
    CHECK(code("\x00"s, scheme) == errc::table_malformed);
    CHECK(code("\x03", scheme) == errc::table_malformed);
    CHECK(code("\x02", scheme + "\x01\x00"s) == errc::invalid_scheme);  // windows since never
    // The last since, and the one after it; the widest window, and a wider one.
    CHECK(code("\x02", scheme + "\x00\x80\xf8\x90\x89\xa4\xe0\x47"s) == errc::ok);
    CHECK(code("\x02", scheme + "\x00\x81\xf8\x90\x89\xa4\xe0\x47"s) == errc::table_malformed);
    CHECK(code("\x02", scheme + "\x80\x81\x88\x19\x81\x90\xd6\xc7\xc9\xc5\x0e"s) == errc::ok);
    CHECK(code("\x02", scheme + "\x81\x81\x88\x19\x81\x90\xd6\xc7\xc9\xc5\x0e"s) ==
          errc::table_malformed);
}

TEST_CASE("a few hostile bytes cannot ask for much memory", "[routing_codec]") {
    // Else the limits would hold because nothing is counted.
    if (!test_support::counts_allocations) {
        SKIP("allocations are not counted here");
    }
    const std::size_t start = allocated_bytes;
    const std::string counted(1'000, 'x');
    REQUIRE(allocated_bytes - start >= counted.size());

    // Each promises as much as its field can say, with a right fingerprint.
    const std::string head = "SWRT\x01\x01\x01\x15{key}:bucket-{bucket}"s;
    const std::string map = "\x00\x01\x02"
                            "db"
                            "\x00"s;
    const std::string one = "\x01\x01\x01\x01\x01\x01"s;
    const std::string most = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;
    const std::vector<std::vector<std::string>> promises{
        {head, "\x14\x01\x02", "db"},      // 2^20 slots
        {head, "\x14\x80\x80\x04"},        // 65,536 shards
        {head, "\x00\x01"s, most},         // a name of 2^64 − 1 bytes
        {head, "\x00"s, most},             // as many shards
        {head, map, "\x40"},               // 64 schemes
        {head, map, one, "\xc0\x84\x3d"},  // a million keys
        {head, map, one, "\x01", most},    // a key of 2^64 − 1 bytes
        {"SWRT\x01\x01\x01", most}};       // a format of as many
    for (const auto& pieces : promises) {
        std::string body;
        for (const std::string& piece : pieces) {
            body += piece;
        }
        const std::string bytes = sealed(body);
        const std::size_t before = allocated_bytes;
        const errc code = code_of([&] { (void)decode(bytes); });
        const std::size_t used = allocated_bytes - before;
        CAPTURE(to_hex(body), used);
        CHECK(code == errc::table_malformed);
        CHECK(used < 4'096);
    }
}

TEST_CASE("hostile bodies never crash, and decode to nothing that encodes otherwise",
          "[routing_codec]") {
    INFO(test_support::replay());
    test_support::generator any;
    const auto registry = known();
    std::size_t accepted = 0;
    std::size_t refused = 0;
    std::string body;
    for (std::size_t round = 0; round != test_support::scaled(100'000); ++round) {
        if (round % 50 == 0) {
            body = body_of(some_table(any));
        }
        std::string hostile = body;
        for (unsigned changes = any.between(1U, 3U); changes != 0 && !hostile.empty(); --changes) {
            const std::size_t at = any.below(hostile.size());
            switch (any.below(5U)) {
                case 0: hostile[at] = static_cast<char>(any()); break;
                case 1: hostile[at] = static_cast<char>(any.below(4U)); break;
                case 2: hostile.erase(at, any.between(1U, 4U)); break;
                case 3: hostile.insert(at, any.bytes(4)); break;
                default: hostile[at] = static_cast<char>(hostile[at] ^ (1 << any.below(8U))); break;
            }
        }
        hostile = sealed(hostile);
        const std::size_t before = allocated_bytes;
        bool same = true;
        try {
            const routing_table table = decode(hostile, registry);
            same = encode(table) == hostile;
            ++accepted;
        } catch (const failure&) {  // and nothing else may be thrown
            ++refused;
        }
        const std::size_t used = allocated_bytes - before;
        CAPTURE(round, to_hex(hostile), used);
        REQUIRE(same);
        REQUIRE(used <= 100 * hostile.size() + 4'096);
    }
    // Else the changes were too coarse, or too fine, to test anything.
    CHECK(accepted > 0);
    CHECK(refused > accepted);
}
