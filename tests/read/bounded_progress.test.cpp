// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/memory_store.hpp"

namespace sw = shardweave;

namespace {
struct row {
    std::uint64_t at = 0;
    std::string id;
};
}  // namespace

// Found by tests/fuzz/weave_script: a store whose cursors count its pages ("1",
// "2", …) gives the same ones to each bounded query. A query that was answered
// up to its bound is progress, also when rows beyond the bound say so.
TEST_CASE("a source that reaches its bound starts afresh with its cursors", "[fan_out]") {
    const auto order = sw::newest_first(&row::at, sw::unique(&row::id));
    const sw::router router{test_support::spread("k", 2)};
    const bool ignores_until = GENERATE(false, true);
    for (std::uint64_t front = 1; front != 13; ++front) {
        CAPTURE(front, ignores_until);
        test_support::memory_store store{order};
        for (std::uint64_t at = 1; at <= 60; ++at) {
            store.insert("S0", "k:bucket-0", {at, "a" + std::to_string(at)});
        }
        for (std::uint64_t at = 0; at != front; ++at) {
            store.insert("S1", "k:bucket-1", {100 + at, "b" + std::to_string(at)});
        }
        store.insert("S1", "k:bucket-1", {0, "last"});
        const sw::fan_out reader{router, order, [&](auto q) -> sw::shard_page<row> {
                                     if (q.shard == "S1" && q.after && q.cursor.empty()) {
                                         return {.items = {}, .more = true, .cursor = "page 2"};
                                     }
                                     if (ignores_until) {
                                         q.until.reset();
                                     }
                                     return store.answer(q);
                                 }};
        std::size_t seen = 0;
        auto all = reader.stream("k", {.chunk = 12});
        CHECK_NOTHROW([&] {
            for (const row& each : all) {
                seen += each.id.empty() ? 0U : 1U;
            }
        }());
        CHECK(seen == 61 + front);
    }
}
