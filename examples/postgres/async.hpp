// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_ASYNC_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_ASYNC_HPP

/// The same query callback as a coroutine: one thread waits for all shards at once.

#include <shardweave/adapters/asio.hpp>

#include <asio/awaitable.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <string>
#include <string_view>

#include "libpq.hpp"
#include "page_query.hpp"
#include "pool.hpp"

namespace postgres {

/// libpq's socket, lent to Asio for one wait. libpq keeps it: it may be another one while it
/// connects, and libpq closes it.
class lent_socket {
public:
    lent_socket(const asio::any_io_executor& on, int socket) : of_(on, socket) {}
    lent_socket(const lent_socket&) = delete;
    lent_socket& operator=(const lent_socket&) = delete;
    ~lent_socket() { of_.release(); }
    [[nodiscard]] asio::posix::stream_descriptor& operator*() noexcept { return of_; }

private:
    asio::posix::stream_descriptor of_;
};

/// Waits without blocking until what was begun is done. Cancelled, it throws Asio's
/// `operation_aborted`, and the connection is to be dropped.
inline asio::awaitable<void> async_finish(connection& with) {
    using asio::posix::stream_descriptor;
    const asio::any_io_executor here = co_await asio::this_coro::executor;
    for (need what = with.advance(); what != need::nothing; what = with.advance()) {
        lent_socket socket{here, with.socket()};
        // A page's statement is small, and sent before the server has much to answer.
        co_await (*socket).async_wait(what == need::input ? stream_descriptor::wait_read
                                                          : stream_descriptor::wait_write,
                                      asio::use_awaitable);
    }
}

/// The query callback for an `async_fan_out`. What it refers to must outlive the pages.
inline asio::awaitable<rows_page> async_ask(connection_pool& shards, const sw::key_format& format,
                                            const query& asked) {
    auto shard = shards.lend(asked.shard);
    co_await async_finish(*shard);
    rows_page answer;
    const auto statements = statements_of(asked);
    for (const page_statement& each : statements) {
        if (!shard->knows(each.name)) {
            shard->send_prepare(each.name, each.sql, each.with);
            co_await async_finish(*shard);
            static_cast<void>(shard->take_all());
        }
        shard->send_prepared(each.name, each.with);
        co_await async_finish(*shard);
        take_rows(shard->take(), format, answer);
    }
    close_page(asked, statements.size(), answer);
    shard.keep();
    co_return answer;
}

}  // namespace postgres

#endif
