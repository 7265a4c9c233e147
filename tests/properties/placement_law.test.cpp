// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/routing_table.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/tables.hpp"

using namespace shardweave;
using test_support::code_of;

namespace {

std::string printable(std::string_view bytes) { return detail::quoted(bytes); }

bool is_one_of(const std::vector<target>& targets, const placement& at) {
    for (const target& each : targets) {
        if (each.partition_key == at.partition_key) {
            return each.shard == at.shard && each.slot == at.slot;
        }
    }
    return false;
}

/// The pair that a bucket-carrying partition key of this text would be of, found by trying every
/// bucket: slow, and with nothing of `parse` in it.
std::optional<std::pair<std::string, std::uint32_t>> reads_as(const key_format& format,
                                                              std::string_view text) {
    const std::string& written = format.text();
    const auto key_at = written.find("{key}");
    for (std::uint32_t bucket = 0; bucket != limits::buckets; ++bucket) {
        std::string before = written.substr(0, key_at);
        std::string after = written.substr(key_at + 5);
        for (std::string* part : {&before, &after}) {
            const auto at = part->find("{bucket}");
            if (at != std::string::npos) {
                part->replace(at, 8, std::to_string(bucket));
            }
        }
        if (text.size() >= before.size() + after.size() && text.starts_with(before) &&
            text.ends_with(after)) {
            return std::pair{
                std::string{text.substr(before.size(), text.size() - before.size() - after.size())},
                bucket};
        }
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("an item is placed and looked for only where its key is read", "[placement][law]") {
    // The first law: place ∈ targets, candidates ⊆ targets, for every key, id and scheme.
    INFO(test_support::replay());
    test_support::generator any;
    const std::size_t tables = test_support::scaled(2'500);
    constexpr std::size_t ids_per_key = 110;
    std::size_t items = 0;
    std::size_t refused = 0;
    for (std::size_t round = 0; round != tables; ++round) {
        const routing_table table = test_support::any_table(any);
        std::vector<std::string> keys{"", test_support::any_key(any), test_support::any_key(any)};
        // A key that looks like a partition key is refused, or has to be told apart.
        const std::string inner = test_support::any_key(any);
        keys.push_back(table.format().render(inner, bucket_index{any.below(20U)}, 20).str());
        for (const auto& [key, history] : table.schemes().exceptional()) {
            keys.push_back(key);
        }
        for (const std::string& key : keys) {
            CAPTURE(round, printable(key), printable(table.format().text()),
                    static_cast<int>(table.format().mode()));
            if (code_of([&] { table.format().check(key); }) != errc::ok) {
                ++refused;
                REQUIRE(code_of([&] { (void)table.targets(key); }) != errc::ok);
                REQUIRE(code_of([&] { (void)table.place(key, 1); }) != errc::ok);
                REQUIRE(code_of([&] { (void)table.candidates(key, 1); }) != errc::ok);
                continue;
            }
            const auto targets = table.targets(key);
            const auto entries = table.schemes().history(key).entries();
            std::unordered_set<std::string> texts;
            std::uint32_t rank = 0;
            for (const target& each : targets) {
                REQUIRE(texts.insert(each.partition_key.str()).second);
                REQUIRE(each.slot == table.shards().slot_of(each.partition_key.str()));
                REQUIRE(each.shard == table.shards().owner(each.slot));
                REQUIRE(each.rank >= rank);
                rank = each.rank;
                REQUIRE(table.format().parse(each.partition_key.str()) ==
                        key_format::parsed{key, each.bucket});
            }
            // Nothing is left out: every bucket of every live scheme is read.
            for (const auto& [scheme, state] : entries) {
                for (std::uint32_t b = 0; state != scheme_state::retired && b != scheme.buckets();
                     ++b) {
                    const auto text = table.format().render(key, bucket_index{b}, scheme.buckets());
                    REQUIRE(texts.contains(text.str()));
                }
            }
            for (std::size_t i = 0; i != ids_per_key; ++i, ++items) {
                const std::uint64_t number = any.magnitude();
                const std::string text =
                    any.chance(50) ? any.bytes(12) : any.joined(test_support::key_fragments(), 3);
                const id_bytes id = i % 2 == 0 ? id_bytes{number} : id_bytes{text};
                const placement at = table.place(key, id, any);
                bool lawful = is_one_of(targets, at) &&
                              at.scheme == entries.back().scheme.version() &&
                              at.epoch == table.epoch();
                const auto candidates = table.candidates(key, id);
                bool placed_among = false;
                for (std::size_t c = 0; c != candidates.size(); ++c) {
                    lawful = lawful && is_one_of(targets, candidates[c]);
                    placed_among = placed_among || candidates[c].partition_key == at.partition_key;
                    for (std::size_t other = 0; other != c; ++other) {
                        lawful = lawful &&
                                 candidates[c].partition_key != candidates[other].partition_key;
                    }
                }
                // Calculated again, it is the same place; and that is the first to look in.
                if (at.how != selection::random) {
                    lawful = lawful &&
                             table.place(key, id, any).partition_key == at.partition_key &&
                             candidates.front().partition_key == at.partition_key;
                }
                // An item of any live scheme is among the candidates.
                for (const auto& [scheme, state] : entries) {
                    if (state == scheme_state::retired || !lawful) {
                        continue;
                    }
                    const auto bucket = scheme.select(id.view(), any);
                    const auto there = table.format().render(key, bucket, scheme.buckets());
                    bool found = false;
                    for (const placement& each : candidates) {
                        found = found || each.partition_key == there;
                    }
                    lawful = found;
                }
                if (!lawful || !placed_among) {
                    CAPTURE(i, number, printable(text), printable(at.partition_key.str()));
                    FAIL("the first law is broken");
                }
            }
        }
    }
    INFO(items << " items, " << refused << " keys refused");
    CHECK(items >= tables * 400);  // a million when the scale is 100
    CHECK((refused > tables / 10 || tables < 100));
}

TEST_CASE("no two pairs of key and bucket are written alike, and parsing inverts writing",
          "[partition_key][law]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(1'000); ++round) {
        const key_format format = test_support::any_format(any);
        CAPTURE(round, printable(format.text()), static_cast<int>(format.mode()));
        std::map<std::string, std::pair<std::string, std::uint32_t>> written;
        std::vector<std::string> pool;
        for (int i = 0; i != 12; ++i) {
            pool.push_back(test_support::any_key(any));
        }
        for (std::size_t i = 0; i != pool.size(); ++i) {
            const std::string key = pool[i];
            CAPTURE(printable(key));
            const errc code = code_of([&] { format.check(key); });
            REQUIRE((code == errc::ok || code == errc::ambiguous_key));
            // Refused are exactly the keys that are another key's bucket, where such a text is a
            // key.
            if (i % 4 == 0) {
                REQUIRE((code == errc::ambiguous_key) ==
                        (format.mode() != suffix::always && reads_as(format, key)));
            }
            if (code != errc::ok) {
                continue;
            }
            for (const std::uint32_t buckets : {1U, 2U, 11U, limits::buckets}) {
                for (int draw = 0; draw != 4; ++draw) {
                    const std::uint32_t bucket = draw == 0 ? 0 : any.below(buckets);
                    const std::string text =
                        format.render(key, bucket_index{bucket}, buckets).str();
                    const auto [at, added] = written.emplace(text, std::pair{key, bucket});
                    CAPTURE(printable(text), printable(at->second.first), at->second.second);
                    REQUIRE(at->second == std::pair{key, bucket});
                    REQUIRE(format.parse(text) == key_format::parsed{key, bucket_index{bucket}});
                    if (draw == 0 && pool.size() < 60) {
                        pool.push_back(text);  // a key that looks like a partition key
                    }
                }
            }
        }
    }
}

TEST_CASE("a parsed partition key is one that this format writes", "[partition_key][law]") {
    INFO(test_support::replay());
    test_support::generator any;
    std::size_t read_back = 0;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const key_format format = test_support::any_format(any);
        for (int i = 0; i != 50; ++i) {
            std::string text = test_support::any_key(any);
            if (any.chance(50)) {
                text = format.render(text, bucket_index{any.below(20U)}, 20).str();
                if (any.chance(50) && !text.empty()) {
                    text[any.below(text.size())] = any.pick(std::string{"0179:-{a"});
                }
            }
            const auto read = format.parse(text);
            if (!read) {
                continue;
            }
            ++read_back;
            CAPTURE(round, printable(format.text()), static_cast<int>(format.mode()),
                    printable(text));
            REQUIRE(code_of([&] { format.check(read->key); }) == errc::ok);
            const bool as_single = format.render(read->key, read->bucket, 1) == text;
            const bool as_one_of_many =
                format.render(read->key, read->bucket, limits::buckets) == text;
            REQUIRE((as_single || as_one_of_many));
        }
    }
    CHECK(read_back > 0);
}

TEST_CASE("a format is accepted exactly when its keys can be told apart", "[partition_key][law]") {
    // For the fields in their order: between them is text, and on the bucket's side of it no digit.
    INFO(test_support::replay());
    test_support::generator any;
    std::size_t accepted = 0;
    std::size_t refused = 0;
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        const std::string text = test_support::any_format_text(any);
        const auto key_at = text.find("{key}");
        const auto bucket_at = text.find("{bucket}");
        const std::string between = key_at < bucket_at
                                        ? text.substr(key_at + 5, bucket_at - key_at - 5)
                                        : text.substr(bucket_at + 8, key_at - bucket_at - 8);
        const auto digit = [](char c) { return c >= '0' && c <= '9'; };
        const bool sound =
            !between.empty() && !digit(key_at < bucket_at ? between.back() : between.front());
        CAPTURE(round, printable(text));
        REQUIRE((code_of([&] { (void)key_format{text}; }) == errc::ok) == sound);
        ++(sound ? accepted : refused);
    }
    CHECK((accepted > 0 && refused > 0));
}
