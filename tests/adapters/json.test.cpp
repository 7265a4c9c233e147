// SPDX-License-Identifier: BSL-1.0
#include <shardweave/adapters/json.hpp>

#include <shardweave/place/routing_codec.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/selectors.hpp"
#include "support/tables.hpp"
#include "support/timed_tables.hpp"

using namespace shardweave;
using test_support::error_of;

namespace {

selector_registry registry() { return selector_registry{}.with(test_support::java_hash{}); }

routing_table example() {
    const scheme_table schemes = scheme_table{calculated(1)}
                                     .with("author-1", calculated(1))
                                     .grow("author-1", calculated(8))
                                     .with("events", random(16))
                                     .with("old/users", selected_by(test_support::java_hash{}, 12))
                                     .with("\xff\x01", calculated(2, {.seed = ~std::uint64_t{0}}));
    return {schemes,
            shard_map{{"db0", "db1", "Zürich \"west\"", "new"},
                      {0, 0, 0, 1, 1, 0, 2, 2, 1, 0, 1, 0, 1, 0, 1, 0}},
            {epoch{7}, key_format{"{key}#{bucket}", suffix::unless_zero}}};
}

constexpr std::string_view golden = R"({
  "format": 1,
  "epoch": 7,
  "key_format": "{key}#{bucket}",
  "suffix": "unless_zero",
  "ordinary": [
    {"version": 1, "selector": "calculated", "buckets": 1, "seed": 1, "state": "writable"}
  ],
  "keys": {
    "author-1": [
      {"version": 1, "selector": "calculated", "buckets": 1, "seed": 1, "state": "readable"},
      {"version": 2, "selector": "calculated", "buckets": 8, "seed": 1, "state": "writable"}
    ],
    "events": [
      {"version": 1, "selector": "random", "buckets": 16, "seed": 1, "state": "writable"}
    ],
    "old/users": [
      {"version": 1, "selector": "custom", "name": "java-hash", "buckets": 12, "seed": 1, "state": "writable"}
    ]
  },
  "keys_hex": {
    "ff01": [
      {"version": 1, "selector": "calculated", "buckets": 2, "seed": "18446744073709551615", "state": "writable"}
    ]
  },
  "slots": 16,
  "shards": [
    {"name": "db0", "slots": ["0-2", "5", "9", "11", "13", "15"]},
    {"name": "db1", "slots": ["3-4", "8", "10", "12", "14"]},
    {"name": "Zürich \"west\"", "slots": ["6-7"]},
    {"name": "new", "slots": []}
  ]
}
)";

/// The golden text with its first `from` replaced; it must be there.
std::string with(std::string_view from, std::string_view to) {
    std::string text{golden};
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

/// The whole message, code in front.
std::string refusal(std::string_view text) {
    return error_of([&] { (void)decode_json(text, registry()); }).message();
}

}  // namespace

// The text lies in repositories, and a change of its layout would be a change of every line there.
TEST_CASE("a table's JSON is the same on every machine, and reads back", "[json][golden]") {
    CHECK(encode_json(example()) == golden);
    CHECK(decode_json(golden, registry()) == example());
    CHECK(encode(decode_json(golden, registry())) == encode(example()));
}

TEST_CASE("a table without keys of its own is short", "[json]") {
    const routing_table table{scheme_table{calculated(1)}, shard_map::even({"a", "b", "c", "d"})};
    const std::string text = encode_json(table);
    CHECK(text.find("\"keys\": {},\n") != std::string::npos);
    CHECK(text.find("{\"name\": \"b\", \"slots\": [\"4096-8191\"]},\n") != std::string::npos);
    CHECK(text.find("_hex") == std::string::npos);
    CHECK(text.size() < 600);
    CHECK(decode_json(text) == table);
}

TEST_CASE("many ranges are wrapped", "[json]") {
    std::vector<std::uint32_t> owners;
    for (std::uint32_t i = 0; i != 16; ++i) {
        owners.push_back(i % 2);
    }
    const routing_table table{scheme_table{calculated(1)}, shard_map{{"a", "b"}, owners}};
    CHECK(encode_json(table).ends_with(R"(
  "shards": [
    {"name": "a", "slots": [
      "0", "2", "4", "6", "8", "10",
      "12", "14"
    ]},
    {"name": "b", "slots": [
      "1", "3", "5", "7", "9", "11",
      "13", "15"
    ]}
  ]
}
)"));
    CHECK(decode_json(encode_json(table)) == table);
}

TEST_CASE("any table reads back as the one that its bytes hold", "[json]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const routing_table table =
            any.chance(50) ? test_support::any_table(any) : test_support::any_timed_table(any);
        const std::string text = encode_json(table);
        CAPTURE(round, text);
        const routing_table read = decode_json(text, registry());
        REQUIRE(read == table);
        REQUIRE(encode(read) == encode(table));
        REQUIRE(encode_json(read) == text);
    }
}

TEST_CASE("times and widths are written as a person reads them", "[json][golden]") {
    using namespace std::chrono;
    const sys_days start = sys_days{year{2026} / November / 30};
    const routing_table table{
        scheme_table{calculated(1)}
            .with("a", calculated(4))
            .grow("a", calculated(8, {.since = start + 59s}))
            .grow("a", time_windowed(days{7}, calculated(8, {.since = start + 1ms + 60s}))),
        shard_map::single("db0", 1)};
    const std::string text = encode_json(table);
    CHECK(text.starts_with("{\n  \"format\": 2,\n"));
    CHECK(text.find("\"seed\": 1, \"since\": \"2026-11-30T00:00:59Z\", \"state\": \"readable\"}") !=
          std::string::npos);
    CHECK(text.find("\"seed\": 1, \"window\": \"7d\", \"since\": \"2026-11-30T00:01:00.001Z\", "
                    "\"state\": \"writable\"}") != std::string::npos);
    CHECK(decode_json(text) == table);

    CHECK(detail::json_width(minutes{15}) == "15m");
    CHECK(detail::json_width(hours{6}) == "6h");
    CHECK(detail::json_width(hours{48}) == "2d");
    CHECK(detail::parse_json_width("90m") == minutes{90});
    CHECK(detail::parse_json_width("24h") == days{1});
    CHECK(detail::parse_json_width("36500d") == minutes{limits::window_minutes});
    for (const auto* wrong : {"", "d", "1", "1 d", "01d", "-1d", "1w", "1.5h", "36501d", "1D",
                              "4294967296m", "+1m", "1dd"}) {
        CAPTURE(wrong);
        CHECK_FALSE(detail::parse_json_width(wrong));
    }
    CHECK(detail::json_time(sys_days{year{0} / 1 / 1}) == "0000-01-01T00:00Z");
    CHECK(detail::parse_json_time("9999-12-31T23:59:59.999Z") ==
          sys_days{year{10'000} / 1 / 1} - 1ms);
    for (const auto* wrong :
         {"", "Z", "2026-11-30", "2026-11-30T00:00", "2026-11-30T00:00:00Z", "2026-11-31T00:00Z",
          "2026-11-30T24:00Z", "2026-11-30T00:60Z", "2026-11-30T00:00:01.000Z", "2026-11-30 00:00Z",
          "2026-11-30T00:00+01", "02026-11-30T00:00Z", "2026-1-30T00:00Z", "2026-11-30T00:00:60Z",
          "2026-11-30T00:00:01.0010Z", "2026-11-30T00:00z"}) {
        CAPTURE(wrong);
        CHECK_FALSE(detail::parse_json_time(wrong));
    }
}

TEST_CASE("wrong times are refused with their place and what to write instead", "[json]") {
    const auto refused = [](std::string_view format, std::string_view times) {
        const std::string one =
            "{\"version\": 1, \"selector\": \"calculated\", \"buckets\": 1, \"seed\": 1, " +
            std::string{times} + "\"state\": \"writable\"}";
        return refusal("{\"format\": " + std::string{format} +
                       ", \"epoch\": 1, \"key_format\": \"{key}#{bucket}\", \"suffix\": "
                       "\"always\", \"ordinary\": [" +
                       one +
                       "], \"keys\": {}, \"slots\": 1, \"shards\": [{\"name\": \"a\", "
                       "\"slots\": [\"0\"]}]}");
    };
    const std::string since = R"("since": "2026-11-30T00:00Z", )";
    CHECK(refused("2", since) == "ok");
    CHECK(refused("1", "") == "ok");
    CHECK(refused("2", "") == "table_malformed: at /format: no scheme has a window or a since; "
                              "write 1");
    CHECK(refused("1", since).find("the field \"since\" is unknown") != std::string::npos);
    CHECK(refused("3", since).find("this library reads 1 and 2") != std::string::npos);
    CHECK(refused("2", since + R"("window": "1w", )")
              .starts_with("table_malformed: at /ordinary/0/window: \"1w\"; write a width, such as "
                           "\"1d\""));
    CHECK(refused("2", since + R"("window": "0d", )")
              .starts_with("invalid_scheme: at /ordinary/0/window: "));
    CHECK(
        refused("2", R"("window": "1d", )").starts_with("invalid_scheme: at /ordinary/0/window: "));
    CHECK(refused("2", R"("since": "2026-11-30", )")
              .starts_with("table_malformed: at /ordinary/0/since: \"2026-11-30\"; write a time"));
    CHECK(refused("2", R"("since": 5, )").find("write a time") != std::string::npos);
}

TEST_CASE("a person may write it in another order and layout", "[json]") {
    const routing_table table = decode_json(
        R"({"shards":[{"slots":["2","0-1"],"name":"b"},{"name_hex":"61","slots":["3"]}],"slots":4,
            "keys":{},"ordinary":[{"state":"writable","seed":"9","buckets":2,"selector":"random",
            "version":3}],"suffix":"always","key_format":"{key}:{bucket}","epoch":"12","format":1})");
    CHECK(table == routing_table{scheme_table{random(2, {scheme_version{3}, 9})},
                                 shard_map{{"b", "a"}, {0, 0, 0, 1}},
                                 {epoch{12}, key_format{"{key}:{bucket}", suffix::always}}});
}

TEST_CASE("what is no JSON is refused with line and column", "[json]") {
    CHECK(refusal(with("\"epoch\": 7,", "\"epoch\": 7")) ==
          "table_malformed: at line 4, column 14: syntax error while parsing object - unexpected "
          "string literal; expected '}'");
    CHECK(refusal(with("7,", "seven,")) == "table_malformed: at line 3, column 12: syntax error "
                                           "while parsing value - invalid literal");
    CHECK(refusal("") == "table_malformed: at line 1, column 1: syntax error while parsing value - "
                         "unexpected end of input; expected '[', '{', or a literal");
    CHECK(refusal(golden.substr(0, golden.size() - 3)) ==
          "table_malformed: at line 32, column 4: syntax error while parsing object - unexpected "
          "end of input; expected '}'");
    CHECK(refusal(std::string{golden} + "x") == "table_malformed: at line 34, column 1: syntax "
                                                "error while parsing value - invalid literal");
    CHECK(refusal(with("db0", "db\xff")) ==
          "table_malformed: at line 28, column 17: syntax error while parsing value - invalid "
          "string: ill-formed UTF-8 byte");
}

TEST_CASE("wrong contents are refused with their place and what to write instead", "[json]") {
    CHECK(refusal("[]") == "table_malformed: at the top: an array; write an object");
    CHECK(refusal(with("\"format\": 1", "\"format\": 3")) ==
          "table_malformed: at /format: format 3; this library reads 1 and 2 (with time windows or "
          "since)");
    CHECK(
        refusal(with("\"format\": 1", "\"format\": 1, \"formt\": 1")) ==
        R"(table_malformed: at the top: the field "formt" is unknown; use "format", "epoch", "key_format", "key_format_hex", "suffix", "ordinary", "keys", "keys_hex", "slots" or "shards")");
    CHECK(refusal(with("\"epoch\": 7,", "")) ==
          R"(table_malformed: at the top: the field "epoch" is missing; add it)");
    CHECK(refusal(with("\"epoch\": 7", "\"epoch\": -7")) ==
          "table_malformed: at /epoch: -7; write a whole number from 0 to 18446744073709551615");
    CHECK(refusal(with("\"epoch\": 7", "\"epoch\": 7.0")) ==
          "table_malformed: at /epoch: 7.0; write a whole number from 0 to 18446744073709551615");
    CHECK(
        refusal(with("\"epoch\": 7", "\"epoch\": \"07\"")) ==
        R"(table_malformed: at /epoch: "07"; write a whole number from 0 to 18446744073709551615)");
    CHECK(refusal(with("\"epoch\": 7", "\"epoch\": 18446744073709551616")) ==
          "table_malformed: at /epoch: 1.8446744073709552e+19; write a whole number from 0 to "
          "18446744073709551615");
    CHECK(refusal(with("\"epoch\": 7", "\"epoch\": 1e999")) ==
          "table_malformed: at /epoch: a number beyond all limits; write a smaller one");
    CHECK(
        refusal(with("unless_zero", "sometimes")) ==
        R"(table_malformed: at /suffix: "sometimes"; write "unless_single", "always" or "unless_zero")");
    CHECK(
        refusal(with("{key}#{bucket}", "{key}{bucket}")) ==
        R"(invalid_key_format: at /key_format: the key format "{key}{bucket}" needs a character that is not a digit between {bucket} and the key's side, as in {key}:{bucket})");
    CHECK(
        refusal(with("{key}#{bucket}\"", "{key}#{bucket}\", \"key_format_hex\": \"61\"")) ==
        R"(table_malformed: at the top: both "key_format" and "key_format_hex"; write one of them)");
    CHECK(refusal(with("\"version\": 2", "\"version\": 1")) ==
          "invalid_scheme: at /keys/author-1: scheme version 1 comes after version 1; versions "
          "start above 0 and rise");
    CHECK(refusal(with("\"buckets\": 8", "\"buckets\": 0")) ==
          "invalid_scheme: at /keys/author-1/1: a scheme of 0 buckets; use 1 to 4096");
    CHECK(
        refusal(with("\"buckets\": 8", "\"buckets\": 5000")) ==
        "table_malformed: at /keys/author-1/1/buckets: 5000; write a whole number from 0 to 4096");
    CHECK(refusal(with("\"buckets\": 8, \"seed\": 1", "\"buckets\": 8, \"seed\": 0")) ==
          "invalid_scheme: at /keys/author-1/1: the scheme seed 0 is the slots' own; use another, "
          "such as 1");
    CHECK(
        refusal(with("\"selector\": \"random\"", "\"selector\": \"round-robin\"")) ==
        R"(table_malformed: at /keys/events/0/selector: "round-robin"; write "calculated", "random" or "custom")");
    CHECK(
        refusal(with("\"selector\": \"random\"", "\"selector\": \"random\", \"name\": \"x\"")) ==
        R"(table_malformed: at /keys/events/0: the field "name" is unknown; use "version", "selector", "buckets", "seed" or "state")");
    CHECK(
        refusal(with("java-hash", "java\\nhash")) ==
        R"(unknown_selector: at /keys/old~1users/0: the selector "java\x0ahash" is not registered; register it in the selector_registry given to decode_json)");
    CHECK(
        refusal(with("readable", "Readable")) ==
        R"(table_malformed: at /keys/author-1/0/state: "Readable"; write "writable", "readable" or "retired")");
    CHECK(
        refusal(with("ff01", "FF01")) ==
        R"(table_malformed: at /keys_hex/FF01: "FF01" is not hexadecimal; write two digits of 0-9 and a-f for each byte)");
    CHECK(
        refusal(with("ff01", "616")) ==
        R"(table_malformed: at /keys_hex/616: "616" is not hexadecimal; write two digits of 0-9 and a-f for each byte)");
    CHECK(refusal(with("\"events\"", "\"author-1\"")) ==
          R"(table_malformed: at /keys: the field "author-1" stands twice; write it once)");
    CHECK(
        refusal(with("\"ff01\"", "\"617574686f722d31\"")) ==
        R"(scheme_conflict: at /keys_hex/617574686f722d31: the key "author-1" has a scheme already; use grow to add a newer one)");
    CHECK(
        refusal(with("\"events\"", "\"events#3\"")) ==
        R"(ambiguous_key: at /keys/events#3: the key "events#3" reads as bucket 3 of the key "events"; rename it, or use suffix::always)");
    CHECK(refusal(with("\"slots\": 16", "\"slots\": 15")) ==
          "table_malformed: at /slots: 15 slots; write a power of two, such as 16384");
    CHECK(refusal(with("\"slots\": 16", "\"slots\": 4294967296")) ==
          "table_malformed: at /slots: 4294967296; write a whole number from 0 to 1048576");
    CHECK(refusal(with("\"slots\": 16", "\"slots\": 8")) ==
          "table_malformed: at /shards/0/slots/2: slot 9 of a table of 8 slots; slots are numbered "
          "from 0 to 7");
    CHECK(refusal(with("\"0-2\"", "\"0-\"")) ==
          R"(table_malformed: at /shards/0/slots/0: "0-"; write slots, such as "0-4095" or "7")");
    CHECK(refusal(with("\"0-2\"", "\"2-0\"")) ==
          R"(table_malformed: at /shards/0/slots/0: "2-0" ends before it begins; write "0-2")");
    CHECK(refusal(with("\"0-2\"", "7")) ==
          R"(table_malformed: at /shards/0/slots/0: 7; write slots, such as "0-4095" or "7")");
    CHECK(
        refusal(with("\"0-2\"", "\"0-3\"")) ==
        R"(table_malformed: at /shards/1/slots/0: slot 3 belongs to the shard "db0" already; write it under one shard only)");
    CHECK(refusal(with("\"0-2\"", "\"0\"")) ==
          R"(incomplete_map: at /shards: no shard has slot 1; add "1-2" to one)");
    CHECK(
        refusal(with("\"db1\", \"slots\"", "\"db1\", \"slot\"")) ==
        R"(table_malformed: at /shards/1: the field "slot" is unknown; use "name", "name_hex" or "slots")");
    CHECK(refusal(with("\"db1\"", "\"db0\"")) ==
          R"(invalid_map: at /shards: two shards are named "db0")");
    CHECK(refusal(with("\"new\"", "\"\"")) ==
          R"(invalid_map: at /shards: shard 3 is named ""; names have 1 to 255 bytes)");
    CHECK(refusal(with("[\"6-7\"]", "\"6-7\"")) ==
          R"(table_malformed: at /shards/2/slots: "6-7"; write a list such as ["0-4095"])");
    CHECK(refusal(with("[\"6-7\"]", "[[[\"6-7\"]]]")) ==
          "table_malformed: at /shards/2/slots/0/0: nested too deeply; no part of a table is");
    CHECK(
        refusal(with("\"keys_hex\": {", "\"keys_hex\": {\"~/\\u0000\": 1, ")) ==
        R"(table_malformed: at /keys_hex/~0~1\x00: "~/\x00" is not hexadecimal; write two digits of 0-9 and a-f for each byte)");
    CHECK(refusal(with("\"epoch\": 7", "\"epoch\": 7, \"epoch\": 7")) ==
          R"(table_malformed: at the top: the field "epoch" stands twice; write it once)");
    CHECK(refusal(with("\"name\": \"db1\"", "\"name\": \"db1\", \"name\": \"db1\"")) ==
          R"(table_malformed: at /shards/1: the field "name" stands twice; write it once)");
    CHECK(
        refusal(R"({"format":1,"a":{"b":{"c":{"d":{"e":1}}}}})") ==
        R"(table_malformed: at the top: the field "a" is unknown; use "format", "epoch", "key_format", "key_format_hex", "suffix", "ordinary", "keys", "keys_hex", "slots" or "shards")");
}

TEST_CASE("hostile text is refused or read, and nothing else happens", "[json]") {
    INFO(test_support::replay());
    test_support::generator any;
    const std::vector<std::string> pieces{
        "\"",   "{",    "}",       "[",        "]",     ",",
        ":",    "0",    "-",       "9999",     "null",  "\"0-15\"",
        "\xff", "\\u0", "\\ud800", "1e9",      "false", "\"keys\": {}",
        "\n",   "16",   "custom",  "\"name\"", "{}",    "\xEF\xBB\xBF"};
    std::size_t accepted = 0;
    std::size_t refused = 0;
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        std::string text{golden};
        for (unsigned changes = any.between(1U, 3U); changes != 0; --changes) {
            const std::size_t at = any.below(text.size());
            switch (any.below(4U)) {
                case 0: text[at] = static_cast<char>(any()); break;
                case 1: text.erase(at, any.between(1U, 9U)); break;
                case 2: text.insert(at, any.pick(pieces)); break;
                default:
                    text.insert(at, text.substr(any.below(text.size()), any.below(40U)));
                    break;
            }
        }
        CAPTURE(round, text);
        try {
            const routing_table table = decode_json(text, registry());
            REQUIRE(decode_json(encode_json(table), registry()) == table);
            ++accepted;
        } catch (const failure& thrown) {  // and nothing else may be thrown
            REQUIRE(thrown.reason().detail.starts_with("at "));
            REQUIRE(thrown.reason().detail.size() < 600);
            ++refused;
        }
    }
    CHECK(accepted > 0);
    CHECK(refused > accepted);
}
