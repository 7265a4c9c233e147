// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/time_key.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/failing.hpp"
#include "support/generate.hpp"

namespace sw = shardweave;
using namespace std::chrono;
using namespace std::chrono_literals;
using sw::errc;
using test_support::code_of;
using test_support::error_of;

namespace {

constexpr sys_time<nanoseconds> known =
    sys_days{2026y / November / 30} + 9h + 24min + 14s + 153'045'006ns;

errc parsed(std::string_view text) {
    return code_of([&] { (void)sw::parse_time_key(text); });
}

}  // namespace

TEMPLATE_TEST_CASE("the byte order of time keys is the order of time", "[time_key]", seconds,
                   milliseconds, microseconds, nanoseconds) {
    INFO(test_support::replay());
    test_support::generator from;
    const auto begin = duration_cast<TestType>(sys_days{1800y / January / 1}.time_since_epoch());
    const auto end = duration_cast<TestType>(sys_days{2050y / January / 1}.time_since_epoch());
    const auto any = [&] {
        const auto range = static_cast<std::uint64_t>((end - begin).count());
        return sys_time<TestType>{begin + TestType{static_cast<std::int64_t>(from.below(range))}};
    };
    for (std::size_t round = 0; round != test_support::scaled(5'000); ++round) {
        const sys_time<TestType> a = any();
        const sys_time<TestType> b =
            from.chance(50) ? any()
                            : a + TestType{static_cast<std::int64_t>(from.magnitude() >> 40U)};
        const std::string first = sw::time_key<TestType>(a);
        const std::string second = sw::time_key<TestType>(b);
        CAPTURE(first, second);
        REQUIRE(first.size() == second.size());
        REQUIRE((first < second) == (a < b));
        REQUIRE((first == second) == (a == b));
        REQUIRE(sw::parse_time_key<TestType>(first) == a);
        const std::string turned = sw::latest_first_time_key<TestType>(a);
        REQUIRE((turned > sw::latest_first_time_key<TestType>(b)) == (a < b));
        REQUIRE(sw::parse_latest_first_time_key<TestType>(turned) == a);
        // No text is a key of both kinds.
        REQUIRE(code_of([&] { (void)sw::parse_time_key<TestType>(turned); }) ==
                errc::time_malformed);
        REQUIRE(code_of([&] { (void)sw::parse_latest_first_time_key<TestType>(first); }) ==
                errc::time_malformed);
    }
}

TEST_CASE("a time key never changes", "[time_key][golden]") {
    // Stores are sorted by them, and nothing else notices a change: the same code writes and reads.
    CHECK(sw::time_key<seconds>(known) == "2026-11-30T09:24:14Z");
    CHECK(sw::time_key(known) == "2026-11-30T09:24:14.153Z");
    CHECK(sw::time_key<microseconds>(known) == "2026-11-30T09:24:14.153045Z");
    CHECK(sw::time_key<nanoseconds>(known) == "2026-11-30T09:24:14.153045006Z");
    CHECK(sw::latest_first_time_key<seconds>(known) == "7973-88-69T90:75:85Z");
    CHECK(sw::latest_first_time_key(known) == "7973-88-69T90:75:85.846Z");
    CHECK(sw::latest_first_time_key<nanoseconds>(known) == "7973-88-69T90:75:85.846954993Z");
    CHECK(sw::time_key(sys_seconds{0s}) == "1970-01-01T00:00:00.000Z");
    CHECK(sw::time_key(sys_time<milliseconds>{-1ms}) == "1969-12-31T23:59:59.999Z");
    CHECK(sw::time_key(sys_time<microseconds>{-1us}) == "1969-12-31T23:59:59.999Z");
    CHECK(sw::time_key(sys_days{2024y / February / 29}) == "2024-02-29T00:00:00.000Z");
    CHECK(sw::time_key(sys_days{0y / January / 1}) == "0000-01-01T00:00:00.000Z");
    CHECK(sw::time_key<nanoseconds>(sys_days{9999y / December / 31} + 23h + 59min + 59s) ==
          "9999-12-31T23:59:59.000000000Z");
}

TEST_CASE("times that other writers cut short sort rightly as time keys", "[time_key]") {
    // A writer that leaves zeros out writes these as 12:00:00Z, 12:00:00.1Z and 12:00:00.15Z, whose
    // byte order is the reverse of time.
    const auto noon = sys_days{2026y / November / 30} + 12h;
    REQUIRE(std::string_view{"12:00:00.15Z"} < std::string_view{"12:00:00.1Z"});
    REQUIRE(std::string_view{"12:00:00.1Z"} < std::string_view{"12:00:00Z"});
    CHECK(sw::time_key(noon) < sw::time_key(noon + 100ms));
    CHECK(sw::time_key(noon + 100ms) < sw::time_key(noon + 150ms));
    CHECK(sw::latest_first_time_key(noon) > sw::latest_first_time_key(noon + 100ms));
    // And with what follows in a sort key.
    CHECK(sw::time_key(noon) + "#post-981" < sw::time_key(noon + 1ms) + "#post-1");
}

TEST_CASE("a time key has one writing", "[time_key]") {
    CHECK(parsed("2026-11-30T09:24:14.153Z") == errc::ok);
    CHECK(parsed("2024-02-29T23:59:59.999Z") == errc::ok);
    for (const std::string_view text : {"",
                                        "Z",
                                        "2026-11-30T09:24:14.153",
                                        "2026-11-30T09:24:14.153+00:00",
                                        "2026-11-30T09:24:14.15Z",
                                        "2026-11-30T09:24:14Z",
                                        "2026-11-30T09:24Z",
                                        "2026-11-30",
                                        "2026-11-30T09:24:14.153000Z",
                                        "2026-11-30t09:24:14.153Z",
                                        "2026-11-30T09:24:14.153z",
                                        "2026-11-30 09:24:14.153Z",
                                        "2026-11-30T9:24:14.153Z",
                                        "20261130T092414.153Z",
                                        "2026-11-30T09:24:14,153Z",
                                        " 2026-11-30T09:24:14.153Z",
                                        "2026-11-30T09:24:14.153Z ",
                                        "2026-11-30T09:24:14.153Z\n",
                                        "+2026-11-30T09:24:14.153Z",
                                        "2026-11-31T09:24:14.153Z",
                                        "2025-02-29T09:24:14.153Z",
                                        "2026-13-01T09:24:14.153Z",
                                        "2026-00-01T09:24:14.153Z",
                                        "2026-11-00T09:24:14.153Z",
                                        "2026-11-30T24:00:00.000Z",
                                        "2026-11-30T09:60:14.153Z",
                                        "2016-12-31T23:59:60.000Z",
                                        "2026-11-30T09:24:14.15aZ",
                                        "-026-11-30T09:24:14.153Z"}) {
        CAPTURE(text);
        CHECK(parsed(text) == errc::time_malformed);
    }
    INFO(test_support::replay());
    test_support::generator from;
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        std::string text = sw::time_key(known);
        text[from.below(text.size())] =
            from.chance(50) ? from.pick(std::string_view{"0123456789"}) : static_cast<char>(from());
        CAPTURE(text);
        if (parsed(text) == errc::ok) {
            REQUIRE(sw::time_key(sw::parse_time_key(text)) == text);
        }
    }
}

TEST_CASE("a refused time says what to write", "[time_key]") {
    CHECK(error_of([] { (void)sw::parse_time_key("2026-11-30T09:24:14.15+00:00"); }).detail ==
          "\"2026-11-30T09:24:14.15+00:00\" is no time key of 24 characters; write "
          "2026-11-30T09:24:14.153Z: every zero, capital T and Z, UTC as Z alone, and for latest "
          "first each digit d as 9 - d");
    CHECK(error_of([] {
              (void)sw::parse_time_key<seconds>("x");
          }).detail.find("of 20 characters; write 2026-11-30T09:24:14Z:") != std::string::npos);
    CHECK(error_of([] {
              (void)sw::parse_latest_first_time_key("2026-11-30T09:24:14.153Z");
          }).detail.starts_with("\"2026-11-30T09:24:14.153Z\" is no time key"));
    CHECK(error_of([] {
              (void)sw::parse_time_key<nanoseconds>("2500-01-01T00:00:00.000000000Z");
          }).detail == "\"2500-01-01T00:00:00.000000000Z\" does not fit 9 digits; read fewer");
    for (const auto far : {sys_time<milliseconds>::min(), sys_time<milliseconds>::max(),
                           sys_time<milliseconds>{sys_days{-1y / December / 31}},
                           sys_time<milliseconds>{sys_days{10'000y / January / 1}}}) {
        CHECK(code_of([&] { (void)sw::time_key(far); }) == errc::limit_exceeded);
    }
    CHECK(code_of([] { (void)sw::time_key(sys_time<hours>::max()); }) == errc::limit_exceeded);
    CHECK(sw::time_key<nanoseconds>(sys_time<nanoseconds>::max()) ==
          "2262-04-11T23:47:16.854775807Z");
    CHECK(sw::time_key<nanoseconds>(sys_time<nanoseconds>::min()) ==
          "1677-09-21T00:12:43.145224192Z");
}
