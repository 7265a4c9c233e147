// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/key_format.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/vectors.hpp"

using namespace shardweave;
using namespace std::string_literals;
using test_support::code_of;
using test_support::error_of;

namespace {

static_assert(noexcept(std::declval<const key_format&>().parse("")), "foreign keys never throw");
static_assert(noexcept(std::declval<const key_format&>().identity(bucket_index{}, 1)));

std::string text_of(const key_format& format, std::string_view key, std::uint32_t bucket,
                    std::uint32_t buckets) {
    return format.render(key, bucket_index{bucket}, buckets).str();
}

}  // namespace

// Stored items have these texts. No test of reading and writing together would notice a changed
// one.
TEST_CASE("partition keys are written as they always were", "[key_format][golden]") {
    const key_format standard;
    CHECK(text_of(standard, "author-42", 0, 1) == "author-42");
    CHECK(text_of(standard, "author-1", 0, 8) == "author-1:bucket-0");
    CHECK(text_of(standard, "author-1", 7, 8) == "author-1:bucket-7");
    CHECK(text_of(standard, "", 3, 8) == ":bucket-3");
    CHECK(text_of(standard, "a\0b"s, 4095, 4096) == "a\0b:bucket-4095"s);

    const key_format always{key_format::standard, suffix::always};
    CHECK(text_of(always, "author-42", 0, 1) == "author-42:bucket-0");

    const key_format zero{key_format::standard, suffix::unless_zero};
    CHECK(text_of(zero, "author-1", 0, 1) == "author-1");
    CHECK(text_of(zero, "author-1", 0, 8) == "author-1");
    CHECK(text_of(zero, "author-1", 1, 8) == "author-1:bucket-1");

    CHECK(text_of(key_format{"{key}#{bucket}"}, "STATUS#pending", 3, 8) == "STATUS#pending#3");
    CHECK(text_of(key_format{"{key}#shard-{bucket}"}, "user#101", 5, 8) == "user#101#shard-5");
    CHECK(text_of(key_format{"{bucket}#{key}"}, "user#101", 5, 8) == "5#user#101");
    CHECK(text_of(key_format{"p/{key}/b{bucket}/x"}, "k", 12, 16) == "p/k/b12/x");
}

TEST_CASE("a key that reads as another key's bucket is refused, with both named", "[key_format]") {
    // A key that held the delimiter became another key with another bucket, and a change was lost.
    const key_format standard;
    const auto refused = error_of([&] { standard.check("user:bucket-2"); });
    CHECK(refused.code == errc::ambiguous_key);
    CHECK(refused.detail.find("\"user:bucket-2\"") != std::string::npos);
    CHECK(refused.detail.find("\"user\"") != std::string::npos);
    CHECK(refused.detail.find("suffix::always") != std::string::npos);

    for (const auto* key : {":bucket-0", "a:bucket-4095", "a:bucket-1:bucket-2"}) {
        CHECK(code_of([&] { standard.check(key); }) == errc::ambiguous_key);
    }
    // What this format never writes is no bucket of anything.
    for (const auto* key : {"", "bucket-2", "user:bucket-", "user:bucket-02", "user:bucket-00",
                            "user:bucket-4096", "user:bucket-99999999999", "user:bucket-2 ",
                            "user:bucket--2", "user:bucket-+2", "user:Bucket-2", "7", "user:2"}) {
        CAPTURE(key);
        CHECK(code_of([&] { standard.check(key); }) == errc::ok);
        CHECK(standard.parse(key) == key_format::parsed{key, bucket_index{0}});
    }
    // With the bucket always written, every key can be told apart.
    const key_format always{key_format::standard, suffix::always};
    always.check("user:bucket-2");
    CHECK(text_of(always, "user:bucket-2", 3, 8) == "user:bucket-2:bucket-3");
    CHECK(always.parse("user:bucket-2:bucket-3") ==
          key_format::parsed{"user:bucket-2", bucket_index{3}});
}

TEST_CASE("a foreign partition key is not taken for one of ours", "[key_format]") {
    const key_format standard;
    CHECK_FALSE(standard.parse("a:bucket-1:bucket-2"));  // its key would have been refused
    CHECK_FALSE(standard.parse(std::string(limits::key_bytes + 1, 'k')));
    CHECK_FALSE(standard.parse(std::string(limits::key_bytes + 1, 'k') + ":bucket-1"));

    const key_format always{key_format::standard, suffix::always};
    for (const auto* text : {"", "a", "a:bucket-", "a:bucket-01", "a:bucket-4096", "a:bucket-1x"}) {
        CAPTURE(text);
        CHECK_FALSE(always.parse(text));
    }
    // Bucket 0 writes the plain key in this mode, never its number.
    const key_format zero{key_format::standard, suffix::unless_zero};
    CHECK_FALSE(zero.parse("a:bucket-0"));
    CHECK(code_of([&] { zero.check("a:bucket-0"); }) == errc::ambiguous_key);

    const key_format wrapped{"<{key}|{bucket}>", suffix::always};
    CHECK(wrapped.parse("<|1>") == key_format::parsed{"", bucket_index{1}});
    for (const auto* text : {"<1>", "|1>", "<|1", "<|>", "<", ">", "<>", "<a|1> "}) {
        CAPTURE(text);
        CHECK_FALSE(wrapped.parse(text));
    }
}

TEST_CASE("keys are limited in bytes", "[key_format]") {
    const key_format standard;
    standard.check(std::string(limits::key_bytes, 'k'));
    CHECK(code_of([&] { standard.check(std::string(limits::key_bytes + 1, 'k')); }) ==
          errc::limit_exceeded);
}

TEST_CASE("a format from which keys cannot be told apart is refused with advice", "[key_format]") {
    for (const auto* text :
         {"", "{key}", "{bucket}", "{key}{bucket}", "{bucket}{key}", "{key}:{bucket}:{key}",
          "{key}:{bucket}{bucket}", "{key}7{bucket}", "{key}:7{bucket}", "{bucket}7:{key}",
          "{{key}}:{bucket}", "{key}:{bucket}}", "{key}:{shard}:{bucket}", "{KEY}:{bucket}",
          "{ key}:{bucket}", "{}:{}"}) {
        CAPTURE(text);
        const auto refused = error_of([&] { (void)key_format{text}; });
        CHECK(refused.code == errc::invalid_key_format);
        CHECK(refused.detail.size() > std::string_view{text}.size() + 20);
    }
    for (const auto* text :
         {"{key}:{bucket}", "{bucket}:{key}", "{key}7:{bucket}", "{bucket}:7{key}",
          "7{key}:{bucket}7", "7{bucket}:{key}7", "{key}\xff{bucket}"}) {
        CAPTURE(text);
        CHECK(key_format{text}.text() == text);
    }
    const std::string longest = "{key}:{bucket}" + std::string(limits::key_format_bytes - 14, 'x');
    CHECK(key_format{longest}.text() == longest);
    CHECK(code_of([&] { (void)key_format{longest + "x"}; }) == errc::invalid_key_format);
}

TEST_CASE("buckets of different schemes are identical exactly when they read alike",
          "[key_format]") {
    for (const suffix mode : {suffix::unless_single, suffix::always, suffix::unless_zero}) {
        const key_format format{key_format::standard, mode};
        for (const std::uint32_t some : {1U, 2U, 8U}) {
            for (const std::uint32_t other : {1U, 2U, 16U}) {
                for (std::uint32_t a = 0; a != some; ++a) {
                    for (std::uint32_t b = 0; b != other; ++b) {
                        const bool same =
                            text_of(format, "k", a, some) == text_of(format, "k", b, other);
                        CAPTURE(static_cast<int>(mode), some, a, other, b);
                        REQUIRE(same == (format.identity(bucket_index{a}, some) ==
                                         format.identity(bucket_index{b}, other)));
                    }
                }
            }
        }
    }
}

TEST_CASE("a promotion leaves bucket 0 where the plain key was", "[key_format]") {
    const key_format zero{key_format::standard, suffix::unless_zero};
    CHECK(text_of(zero, "a", 0, 1) == text_of(zero, "a", 0, 8));
    const key_format standard;
    CHECK(text_of(standard, "a", 0, 1) != text_of(standard, "a", 0, 8));
}

TEST_CASE("a partition key is appended to any buffer of characters", "[key_format]") {
    fmt::memory_buffer buffer;
    key_format{}.append_to(buffer, "author-1", bucket_index{3}, 8);
    CHECK(std::string_view{buffer.data(), buffer.size()} == "author-1:bucket-3");
    std::string text = "pk=";
    key_format{}.append_to(text, "author-1", bucket_index{3}, 8);
    CHECK(text == "pk=author-1:bucket-3");
}

TEST_CASE("a key's bytes are written verbatim", "[key_format]") {
    // Keys were normalised on their way to the store, and were not found under their own bytes.
    const key_format standard;
    std::set<std::string> texts;
    for (const auto& key :
         {"\xC3\x85"s, "A\xCC\x8A"s, "\xE2\x84\xAB"s, "\xff\xfe"s, "a\0b"s, "a"s, "A"s}) {
        const std::string text = text_of(standard, key, 1, 2);
        CHECK(text == key + ":bucket-1");
        CHECK(standard.parse(text) == key_format::parsed{key, bucket_index{1}});
        texts.insert(text);
    }
    CHECK(texts.size() == 7);
}

// Keys that an application joined are stored; see above.

TEST_CASE("the quick look at a key never lets a bucket of another key pass", "[key_format]") {
    INFO(test_support::replay());
    test_support::generator any;
    const std::vector<std::string> heads{"",   "k", "a-t",       "tenant/",
                                         "::", "0", "b:bucket-", "\xff"s};
    for (const char* text :
         {"{key}:bucket-{bucket}", "{key}#{bucket}", "{key}::{bucket}", "{key}1-{bucket}",
          "{key}:{bucket}!", "{bucket}:{key}", "{key}-{bucket}/b123456", "{bucket}@{key}",
          "{bucket}:{key}:7654321"}) {
        const key_format always{text, suffix::always};
        const key_format plain{text};
        for (std::size_t round = 0; round != test_support::scaled(3'000); ++round) {
            const std::string key = any.joined(heads, 3);
            const auto bucket =
                static_cast<std::uint32_t>(any.below(std::uint64_t{limits::buckets}));
            std::optional<item_time> window;
            if (plain.holds_windows() && any.chance(50)) {
                window = std::chrono::sys_time<std::chrono::minutes>{
                    std::chrono::minutes{any.below(std::uint32_t{100'000'000})}};
            }
            const std::string like =
                always.render(key, bucket_index{bucket}, limits::buckets, window).str();
            CAPTURE(text, key, bucket, like);
            REQUIRE(code_of([&] { plain.check(like); }) == errc::ambiguous_key);
            REQUIRE_FALSE(plain.surely_valid(like));
            // One character changed, it reads as a bucket exactly if it parses as one.
            std::string nearly = like;
            nearly[any.below(nearly.size())] = static_cast<char>('!' + any.below(90U));
            const bool reads = always.parse(nearly).has_value();
            REQUIRE((code_of([&] { plain.check(nearly); }) == errc::ambiguous_key) == reads);
            REQUIRE_FALSE((reads && plain.surely_valid(nearly)));
        }
    }
}

TEST_CASE("most keys are told from buckets by a glance", "[key_format]") {
    // Else every route would read them closely.
    const key_format standard;
    for (const auto* key : {"author-42", "STATUS#pending", "user#101", "tenant/7/orders",
                            "0190a8f2-7b5e-7c1d-9a40-5f2d3c1b0a99", "@20261130"}) {
        CAPTURE(key);
        CHECK(standard.surely_valid(key));
        CHECK(key_format{key_format::standard, suffix::always}.surely_valid(key));
    }
    CHECK(standard.surely_valid("short"));  // no bucket is that short
    CHECK(standard.surely_valid(""));
    CHECK_FALSE(key_format{"{key}#{bucket}"}.surely_valid("a#1"));
    CHECK_FALSE(key_format{"{key}#{bucket}"}.surely_valid("#1"));
    CHECK(key_format{"{key}#{bucket}"}.surely_valid("1"));
    standard.check("short");
    CHECK_FALSE(standard.surely_valid(std::string(limits::key_bytes + 1, 'k')));
}
