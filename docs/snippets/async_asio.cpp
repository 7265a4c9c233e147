// SPDX-License-Identifier: BSL-1.0
// What docs/async.md shows of Asio: pages as coroutines, and queries on a pool.

#include <shardweave/adapters/asio.hpp>
#include <shardweave/shardweave.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using namespace std::chrono_literals;

namespace {

struct post {
    std::int64_t created_at;
    std::string id;
};

const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));
using post_query = sw::shard_query<decltype(newest)::position_type>;

/// Stands for an asynchronous client: one post in each bucket.
asio::awaitable<std::vector<post>> select(const post_query& query) {
    asio::steady_timer latency{co_await asio::this_coro::executor, 1ms};
    co_await latency.async_wait(asio::use_awaitable);
    co_return query.after ? std::vector<post>{} : std::vector<post>{{7, query.shard}};
}

asio::awaitable<std::size_t> read(const sw::router& router) {
    const auto query = [](const post_query& asked) -> asio::awaitable<sw::shard_page<post>> {
        auto rows = co_await select(asked);
        co_return sw::shard_page<post>{.items = std::move(rows), .more = false};
    };
    const sw::async_fan_out timeline{router, newest, query, {.concurrency = 16}};

    const sw::page_options first{.limit = 20};
    const auto page = co_await timeline.async_page("author-1", first);
    co_return page.items.size();
}

std::size_t read_on_a_pool(const sw::router& router) {
    const auto blocking_query = [](const post_query& asked) -> sw::shard_page<post> {
        return {.items = asked.after ? std::vector<post>{} : std::vector<post>{{7, asked.shard}}};
    };
    asio::thread_pool pool{8};
    const sw::fan_out timeline{
        router, newest, blocking_query, {.concurrency = 4, .run_on = sw::on(pool)}};
    return timeline.page("author-1").items.size();
}

}  // namespace

int main() {
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(8)),
                          sw::shard_map::even({"db0", "db1", "db2"})}};
    const std::size_t expected = read_on_a_pool(router);

    asio::io_context context;
    auto items = asio::co_spawn(context, read(router), asio::use_future);
    context.run();
    return items.get() == expected && expected != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
