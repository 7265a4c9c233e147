// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/failures.md.
#include <shardweave/shardweave.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using namespace std::chrono_literals;

struct post {
    std::int64_t created_at;
    std::string id;
};

/// What some client library answers.
struct answer {
    int status = 200;
    std::chrono::seconds retry_after{0};
    std::vector<post> rows{};
};

answer ask(const std::string& shard, const std::string& key) {
    static std::map<std::string, int> calls;
    if (shard == "db1" && ++calls[shard] == 1) {
        return {.status = 503};
    }
    return {.rows = {{1'796'035'000, "post-of-" + key}}};
}

int main() {
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(8)),
                          sw::shard_map::even({"db0", "db1", "db2", "db3"})}};
    const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));

    // What may pass is thrown as such; anything else that is thrown is final.
    const auto query = [](const auto& q) -> sw::shard_page<post> {
        answer got = ask(q.shard, q.partition_keys.front());
        switch (got.status) {
            case 429: throw sw::throttled{"too many requests", got.retry_after};
            case 503: throw sw::unavailable{"the shard is failing over"};
            default: return {.items = std::move(got.rows)};
        }
    };

    // Three attempts, 200 ms each at most; a second one beside those that are unusually slow.
    const sw::fan_out timeline{
        router,
        newest,
        query,
        {.concurrency = 16,
         .on_failure = sw::on_failure::skip,
         .attempts = {.most = 3, .timeout = 200ms, .hedge = {.beyond = 0.95}}}};

    // Not longer than the client waits, and not after it has gone.
    std::stop_source client;
    const auto page = timeline.page(
        "author-1", {.limit = 20,
                     .deadline = sw::deadline::after(std::chrono::steady_clock::now(), 2s),
                     .stop = client.get_token()});
    for (const sw::error& missing : page.failures) {
        std::printf("without %s\n", missing.message().c_str());
    }

    // Two fan-outs of one store share what retries and hedges may cost.
    const auto budgets = std::make_shared<sw::attempt_budgets>();
    const sw::fan_out reader{router, newest, query, {.budgets = budgets}};
    const sw::fan_out other{router, newest, query, {.budgets = budgets}};

    // At most 40 queries and 500 rows, whatever the filter lets through.
    const auto some =
        reader.page("author-1", {.filter = "kind = 7", .budget = {.rows = 500, .requests = 40}});
    if (some.ended == sw::page_end::budget) {
        std::printf("%zu so far; go on from its next\n", some.items.size());
    }

    // How many posts are there? Every source counts its own.
    const auto total = reader.reduce(
        "author-1", {}, std::size_t{0},
        [](const sw::reduce_query& q) {
            return ask(q.shard, q.partition_keys.front()).rows.size();
        },
        [](std::size_t sum, std::size_t part) { return sum + part; });

    std::printf("%zu posts, %zu retried\n", page.items.size(), page.stats.retries);
    return page.complete() && page.items.size() == 8 && page.stats.retries == 1 &&
                   total.value == 8 && some.items.size() == 8 &&
                   other.page("author-1").items.size() == 8
               ? 0
               : 1;
}
