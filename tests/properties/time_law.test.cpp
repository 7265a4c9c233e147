// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/routing_table.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/timed_tables.hpp"

using namespace shardweave;
using test_support::code_of;

namespace {

std::set<std::string> texts(const auto& places) {
    std::set<std::string> found;
    for (const auto& each : places) {
        found.insert(each.partition_key.str());
    }
    return found;
}

/// A range that holds the time, from one millisecond to a few hours around it.
time_range around(item_time time, test_support::generator& any) {
    const auto some = [&] {
        return std::chrono::milliseconds{any.below(std::uint32_t{1} << any.below(24U))};
    };
    const time_range exact = time;
    const bool low = time.milliseconds() < item_time::min().milliseconds() + (1 << 24);
    const bool high = time.milliseconds() > item_time::max().milliseconds() - (1 << 25);
    return {low ? exact.since : item_time{time.sys() - some()},
            high ? exact.until : item_time{exact.until.sys() + some()}};
}

/// The scheme that the rule names: the newest live one that begins at or before the time.
const bucket_scheme* by_the_rule(const scheme_history& history, item_time time) {
    const bucket_scheme* best = nullptr;
    for (const auto& [scheme, state] : history.entries()) {
        if (state != scheme_state::retired && (!scheme.since() || *scheme.since() <= time)) {
            best = &scheme;
        }
    }
    return best;
}

}  // namespace

TEST_CASE("an item is placed and looked for only where its time is read", "[placement][law]") {
    // The first law with times: place(key, id, t) ∈ targets(key, range) for every range that holds
    // t, and candidates(key, id, range) ⊆ targets(key, range).
    INFO(test_support::replay());
    test_support::generator any;
    std::size_t placed = 0;
    std::size_t too_old = 0;
    std::size_t too_many = 0;
    for (std::size_t round = 0; round != test_support::scaled(2'500); ++round) {
        const routing_table table = test_support::any_timed_table(any);
        std::vector<std::string> keys{"", "k"};
        for (const auto& [key, history] : table.schemes().exceptional()) {
            keys.push_back(key);
        }
        for (const std::string& key : keys) {
            CAPTURE(round, detail::quoted(key), detail::quoted(table.format().text()),
                    static_cast<int>(table.format().mode()));
            if (code_of([&] { table.format().check(key); }) != errc::ok) {
                continue;
            }
            const scheme_history& history = table.schemes().history(key);
            for (int i = 0; i != 12; ++i) {
                const item_time time = test_support::any_time(any);
                const std::uint64_t id = any.magnitude();
                CAPTURE(i, time.milliseconds(), id);
                const bucket_scheme* writer = by_the_rule(history, time);
                const bool written = writer == nullptr || writer->width().count() == 0 ||
                                     detail::written_times.contains(time);
                const errc code = code_of([&] { (void)table.place(key, id, time); });
                if (writer == nullptr || !written) {
                    REQUIRE(code == (written ? errc::time_out_of_range : errc::limit_exceeded));
                    ++too_old;
                    continue;
                }
                REQUIRE(code == errc::ok);
                const placement at = table.place(key, id, time, any);
                REQUIRE(at.scheme == writer->version());
                const time_range range = around(time, any);
                std::vector<target> targets;
                const errc read = code_of([&] { targets = table.targets(key, range); });
                if (read != errc::ok) {
                    REQUIRE(read == errc::limit_exceeded);
                    ++too_many;
                    continue;
                }
                ++placed;
                const auto asked = texts(targets);
                REQUIRE(asked.size() == targets.size());
                REQUIRE(asked.contains(at.partition_key.str()));
                for (const target& each : targets) {
                    REQUIRE(each.slot == table.shards().slot_of(each.partition_key.str()));
                    REQUIRE(each.shard == table.shards().owner(each.slot));
                    REQUIRE(each.within.overlaps(range));
                    // `within` holds every time that is placed there, and says where the text is.
                    if (each.partition_key == at.partition_key) {
                        REQUIRE(each.within.contains(time));
                    }
                    const auto read_back = table.format().parse(each.partition_key.str());
                    REQUIRE(read_back);
                    REQUIRE(read_back->key == key);
                    REQUIRE(read_back->bucket == each.bucket);
                }
                REQUIRE(std::is_sorted(
                    targets.begin(), targets.end(),
                    [](const target& a, const target& b) { return a.rank < b.rank; }));
                const auto candidates = table.candidates(key, id, range);
                const auto looked = texts(candidates);
                REQUIRE(looked.size() == candidates.size());
                REQUIRE(std::ranges::includes(asked, looked));
                REQUIRE(looked.contains(at.partition_key.str()));
                // An item that an older live scheme placed before the newer ones came is found,
                // too.
                for (const auto& [scheme, state] : history.entries()) {
                    if (state == scheme_state::retired || !scheme.held().contains(time)) {
                        continue;
                    }
                    const auto there =
                        table.format().render(key, scheme.select(id_bytes{id}.view(), any),
                                              scheme.buckets(), scheme.window_at(time));
                    REQUIRE(looked.contains(there.str()));
                }
            }
        }
    }
    INFO(placed << " items, " << too_old << " refused, " << too_many << " ranges too long");
    CHECK(placed > 0);
    CHECK(too_old > 0);
}

TEST_CASE("walking span by span asks what one range asks", "[placement][law]") {
    INFO(test_support::replay());
    test_support::generator any;
    std::size_t walked = 0;
    for (std::size_t round = 0; round != test_support::scaled(1'000); ++round) {
        const routing_table table = test_support::any_timed_table(any);
        const time_range range = around(test_support::any_time(any), any);
        CAPTURE(round, range.since.milliseconds(), range.until.milliseconds());
        const std::string key = "k";
        std::vector<target> whole;
        if (code_of([&] { whole = table.targets(key, range); }) != errc::ok) {
            continue;
        }
        std::set<std::string> by_spans;
        std::optional<std::set<std::string>> newer;
        item_time upper = range.until;
        for (bool more = true; more; ++walked) {
            const item_time time{upper.sys() - std::chrono::milliseconds{1}};
            const time_range span = table.span_at(key, time);
            CAPTURE(time.milliseconds(), span.since.milliseconds(), span.until.milliseconds());
            REQUIRE(span.contains(time));
            if (span.open_above() && whole.empty()) {
                break;
            }
            const auto asked = texts(table.targets(key, time));
            // Constant over the span, up to its edges, and another set beyond them.
            if (!span.open_above()) {
                REQUIRE(texts(table.targets(key, span)) == asked);
            }
            const time_range first = span.since;
            REQUIRE(texts(table.targets(key, first)) == asked);
            by_spans.insert(asked.begin(), asked.end());
            more = span.since > range.since;
            upper = span.since;
        }
        REQUIRE(by_spans == texts(whole));
    }
    CHECK(walked > 0);
}

TEST_CASE("no two keys, buckets and windows are written alike, and parsing inverts writing",
          "[partition_key][law]") {
    INFO(test_support::replay());
    test_support::generator any;
    const std::vector<std::string> extra{
        "@", "@20261130T0000Z", "@20261130T0000Z:", "3@2026", ":bucket-3@20261130T0000Z", "T0000Z",
        "Z"};
    using written_as = std::tuple<std::string, std::uint32_t, std::optional<item_time>>;
    std::size_t refused = 0;
    for (std::size_t round = 0; round != test_support::scaled(1'500); ++round) {
        const bool at_sign = any.chance(20);
        const key_format format =
            at_sign
                ? key_format{any.pick(std::vector<std::string>{"{bucket}@{key}", "{key}@{bucket}",
                                                               "{bucket}@20261130T0000Z:{key}",
                                                               "{key}@20261130T0000Z{bucket}"}),
                             test_support::any_suffix(any)}
                : test_support::any_format(any);
        CAPTURE(round, detail::quoted(format.text()), static_cast<int>(format.mode()));
        std::map<std::string, written_as> written;
        std::vector<std::string> pool;
        for (int i = 0; i != 8; ++i) {
            pool.push_back(test_support::any_key(any));
            pool.push_back(test_support::any_key(any) + any.pick(extra) +
                           (any.chance(50) ? test_support::any_key(any) : ""));
        }
        for (std::size_t i = 0; i != pool.size(); ++i) {
            const std::string key = pool[i];
            CAPTURE(detail::quoted(key));
            const errc code = code_of([&] { format.check(key); });
            // Refused are exactly the keys that read as a bucket where every bucket is written.
            const key_format always{format.text(), suffix::always};
            const bool reads = format.mode() != suffix::always && always.parse(key).has_value();
            REQUIRE(code == (reads ? errc::ambiguous_key : errc::ok));
            if (code != errc::ok) {
                ++refused;
                continue;
            }
            for (const std::uint32_t buckets : {1U, 11U, limits::buckets}) {
                for (int draw = 0; draw != 4; ++draw) {
                    const std::uint32_t bucket = draw == 0 ? 0 : any.below(buckets);
                    std::optional<item_time> window;
                    if (format.holds_windows() && any.chance(60)) {
                        const item_time time = test_support::any_time(any);
                        if (detail::written_times.contains(time)) {
                            window = detail::window_start(time, std::chrono::minutes{1});
                        }
                    }
                    const std::string text =
                        format.render(key, bucket_index{bucket}, buckets, window).str();
                    const written_as pair{key, bucket, window};
                    const auto [at, added] = written.emplace(text, pair);
                    CAPTURE(detail::quoted(text));
                    REQUIRE(at->second == pair);
                    REQUIRE(format.parse(text) ==
                            key_format::parsed{key, bucket_index{bucket}, window});
                    if (draw != 3 && pool.size() < 60) {
                        pool.push_back(text);  // a key that looks like a partition key
                        pool.back().resize(any.chance(80) ? text.size()
                                                          : any.below(text.size() + 1));
                    }
                }
            }
        }
    }
    CHECK(refused > 0);
}
