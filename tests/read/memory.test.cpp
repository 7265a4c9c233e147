// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/allocated.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;
using test_support::spread;

namespace {

/// A number that knows how many of its kind hold one.
class tracked {
public:
    explicit tracked(int value) : value_(value) { add(1); }
    tracked(tracked&& from) noexcept : value_(std::exchange(from.value_, gone)) {}
    tracked& operator=(tracked&& from) noexcept {
        add(value_ == gone ? 0 : -1);
        value_ = std::exchange(from.value_, gone);
        return *this;
    }
    ~tracked() { add(value_ == gone ? 0 : -1); }

    [[nodiscard]] int value() const { return value_; }

    static inline long alive = 0;
    static inline long most = 0;

private:
    static constexpr int gone = -1;
    static void add(long count) {
        alive += count;
        most = std::max(most, alive);
    }
    int value_;
};

/// The numbers below `count`, in turn one from each of the sources; and what answering took.
struct numbers {
    numbers(std::uint32_t sources, int rows) : router{spread("feed", sources)}, count(rows) {
        int first = 0;
        for (const auto& each : router.pin()->targets("feed")) {
            starts.emplace_back(each.shard, first++);
        }
    }
    template <class Query>
    sw::shard_page<tracked> answer(const Query& query) {
        const std::size_t before = test_support::allocated_bytes;
        const int step = static_cast<int>(starts.size());
        int next =
            std::ranges::find(starts, query.shard, &std::pair<std::string, int>::first)->second;
        while (query.after && next <= get<0>(*query.after)) {
            next += step;
        }
        sw::shard_page<tracked> page;
        page.items.reserve(query.limit);
        for (; page.items.size() != query.limit && next < count; next += step) {
            page.items.emplace_back(next);
        }
        page.more = next < count;
        own_bytes += test_support::allocated_bytes - before;
        ++calls;
        return page;
    }

    sw::router router;
    int count;
    std::vector<std::pair<std::string, int>> starts;
    std::size_t own_bytes = 0;
    std::size_t calls = 0;
};

const auto order = sw::oldest_first(sw::unique(&tracked::value));

}  // namespace

TEST_CASE("a stream holds its sources' quotas and a chunk, and never more", "[memory][law]") {
    for (const std::uint32_t sources : {1U, 3U, 8U, 32U}) {
        for (const std::size_t chunk : {1U, 20U, 256U}) {
            for (const sw::fetch how : {sw::fetch::quota, sw::fetch::full, sw::fetch::least}) {
                numbers from{sources, 3000};
                const sw::fan_out reader{from.router,
                                         order,
                                         [&](const auto& query) { return from.answer(query); },
                                         {.asking = {.fetch = how}}};
                const std::size_t quota =
                    sw::asking{.fetch = how}.rows_of(chunk, 1.0 / sources, sources);
                tracked::most = tracked::alive = 0;
                int seen = 0;
                for (const tracked& each : reader.stream("feed", {.chunk = chunk})) {
                    if (each.value() != seen++) {
                        REQUIRE(each.value() == seen - 1);
                    }
                }
                CAPTURE(sources, chunk, static_cast<int>(how), quota);
                CHECK(seen == 3000);
                // A second round asks for what the page lacks.
                const std::size_t round = how == sw::fetch::least ? chunk : quota;
                CHECK(static_cast<std::size_t>(tracked::most) <= sources * round + chunk);
                CHECK(tracked::alive == 0);
            }
        }
    }
}

TEST_CASE("after its first page a stream allocates for requests, and not for items", "[memory]") {
    if (!test_support::counts_allocations) {
        SKIP("allocations are not counted under ThreadSanitizer");
    }
    const auto bytes_a_request = [](std::size_t chunk) {
        numbers from{8, 60'000};
        const sw::fan_out reader{from.router, order,
                                 [&](const auto& query) { return from.answer(query); }};
        auto stream = reader.stream("feed", {.chunk = chunk});
        auto at = stream.begin();
        for (std::size_t i = 0; i != 2 * chunk; ++i) {
            ++at;
        }
        const std::size_t before = test_support::allocated_bytes - from.own_bytes;
        const std::size_t calls = from.calls;
        for (; at != stream.end(); ++at) {
        }
        return (test_support::allocated_bytes - from.own_bytes - before) / (from.calls - calls);
    };
    const std::size_t small = bytes_a_request(100);
    const std::size_t large = bytes_a_request(2000);
    CAPTURE(small, large);
    CHECK(large <= small + 64);
}
