// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/fan_out.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "../ratio.hpp"
#include "feed.hpp"
#include "reading.hpp"

namespace reading_benchmark {
namespace {

void count(std::size_t limit, std::uint32_t buckets, std::string_view name, sw::asking how) {
    const feed from{buckets, 100'000};
    const sw::fan_out reader{from.router,
                             newest,
                             [&](const auto& query) {
                                 return from.answer(query.partition_keys.front(), query.after,
                                                    query.limit);
                             },
                             {.asking = how}};
    sw::read_stats all;
    std::size_t pages = 0;
    std::optional<sw::cursor> next;
    do {
        const auto page = reader.page("author-1", {.limit = limit, .from = next});
        next = page.next;
        all = all + page.stats;
        ++pages;
    } while (next);
    const auto per = [](std::size_t a, std::size_t b) {
        return static_cast<double>(a) / static_cast<double>(b);
    };
    const double rows = per(all.rows_examined, all.rows_returned);
    const double rounds = per(all.rounds, pages);
    const double requests = per(all.requests, pages);
    if (bench::how == bench::mode::lines) {
        fmt::print("rows read a row returned: pages of {} from {} buckets\t{}\t{:.2f}\t{:.3f}\t"
                   "{:.2f}\n",
                   limit, buckets, name, rows, rounds, requests);
        return;
    }
    fmt::print("  {:<14} {:>6.2f} rows read a row returned {:>8.3f} rounds {:>8.2f} requests a "
               "page\n",
               name, rows, rounds, requests);
}

}  // namespace

void rows() {
    if (bench::how == bench::mode::counted) {
        return;
    }
    const bool text = bench::how == bench::mode::text;
    for (const auto& [limit, buckets] : {std::pair{20U, 8U}, {100U, 16U}, {100U, 64U}}) {
        if (text) {
            fmt::print("all 100,000 rows in pages of {} from {} buckets\n", limit, buckets);
        }
        count(limit, buckets, "fetch::full", {.fetch = sw::fetch::full});
        count(limit, buckets, "fetch::quota", {});
        count(limit, buckets, "fetch::least", {.fetch = sw::fetch::least});
        fmt::print("{}", text ? "\n" : "");
    }
}

}  // namespace reading_benchmark
