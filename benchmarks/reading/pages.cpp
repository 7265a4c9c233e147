// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/fan_out.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../ratio.hpp"
#include "feed.hpp"
#include "reading.hpp"

namespace reading_benchmark {
namespace {

bool before(const post& a, const post& b) {
    return std::tie(b.created_at, b.id) < std::tie(a.created_at, a.id);
}

/// The whole page of every bucket, sorted and cut: what is mostly written by hand.
std::vector<post> sorted(const feed& from, const std::optional<place>& after, std::size_t limit) {
    std::vector<post> all;
    for (const std::string& key : from.keys) {
        std::ranges::move(from.answer(key, after, limit).items, std::back_inserter(all));
    }
    std::ranges::sort(all, before);
    all.resize(std::min(limit, all.size()));
    return all;
}

/// The same, merged by a heap.
std::vector<post> merged(const feed& from, const std::optional<place>& after, std::size_t limit) {
    std::vector<std::vector<post>> answers;
    using head = std::pair<post*, post*>;
    const auto later = [](const head& a, const head& b) { return before(*b.first, *a.first); };
    std::priority_queue<head, std::vector<head>, decltype(later)> heads{later};
    for (const std::string& key : from.keys) {
        answers.push_back(from.answer(key, after, limit).items);
        if (!answers.back().empty()) {
            heads.emplace(answers.back().data(), answers.back().data() + answers.back().size());
        }
    }
    std::vector<post> page;
    while (page.size() != limit && !heads.empty()) {
        auto [next, end] = heads.top();
        heads.pop();
        page.push_back(std::move(*next));
        if (++next != end) {
            heads.emplace(next, end);
        }
    }
    return page;
}

void compare(std::size_t limit, std::uint32_t buckets) {
    const feed from{buckets, 20'000};
    const sw::fan_out reader{from.router, newest, [&](const auto& query) {
                                 return from.answer(query.partition_keys.front(), query.after,
                                                    query.limit);
                             }};
    // Where a second page begins.
    const auto first = reader.page("author-1", {.limit = limit});
    const std::optional<place> after{newest.position_of(first.items.back())};
    const std::array<int, 1> once{};
    bench::table table{fmt::format("a page of {} from {} buckets in memory, against all of every "
                                   "bucket sorted",
                                   limit, buckets)};
    const auto work = [&](std::string name, auto page) {
        table.row(std::move(name), std::span<const int>{once}, [page](int) {
            const auto items = page();
            bench::use(items.data());
        });
    };
    work("peer: all of every bucket, sorted", [&, limit] { return sorted(from, after, limit); });
    work("peer: all of every bucket, std::priority_queue",
         [&, limit] { return merged(from, after, limit); });
    work("fan_out::page", [&, limit] {
        return reader.page("author-1", {.limit = limit, .from = first.next}).items;
    });
    table.print(2000, 51);
}

}  // namespace

void pages() {
    compare(20, 8);
    compare(100, 16);
    compare(100, 64);
}

}  // namespace reading_benchmark
