// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_ADAPTERS_ASIO_HPP
#define SHARDWEAVE_ADAPTERS_ASIO_HPP

/// Reads on Asio: pages over stores with asynchronous clients, as coroutines, and pages with
/// blocking ones on a pool of the caller's. Needs Asio 1.22 or later, standalone: link
/// shardweave::asio.

#include <shardweave/adapters/detail/asio_page.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/read/key_reader.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/task_runner.hpp>

#include <asio/awaitable.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// The threads of an `asio::thread_pool`, or those that run an `asio::io_context`, for
/// `fan_out_options::run_on`. It must outlive the reads, and not be stopped while there are any.
template <class Context>
    requires requires(Context& pool) { pool.get_executor().running_in_this_thread(); }
[[nodiscard]] task_runner on(Context& pool) {
    const auto there = pool.get_executor();
    return {[there](std::function<void()> task) { asio::post(there, std::move(task)); },
            [there] { return there.running_in_this_thread(); }};
}

namespace detail {

template <class Awaitable>
struct awaited_item {
    static_assert(always_false<Awaitable>,
                  "shardweave: the query callback must be a coroutine that returns an "
                  "asio::awaitable of a shardweave::shard_page<item>");
    using type = void;
};
template <class Item>
struct awaited_item<asio::awaitable<shard_page<Item>>> {
    using type = Item;
};

template <class Order, class Query>
using awaited_item_of = typename awaited_item<std::remove_cvref_t<
    std::invoke_result_t<const Query&, const shard_query<typename Order::position_type>&>>>::type;

}  // namespace detail

/// Reads through a query callback that is a coroutine,
/// `asio::awaitable<shard_page<Item>>(const shard_query<position>&)`, under the options of a
/// `fan_out`. Several pages may be read at a time, on any executors, when the callback allows it;
/// they refer to this, which must outlive them, as the router must outlive it.
///
/// The callbacks of one page run on a strand of its own, so never two of them at once between their
/// awaits. One that nobody waits for any more is cancelled as Asio cancels (`terminal`), and its
/// query's `stop` is stopped; the page ends only after it, so it must let go of its store then.
template <class Order, class Query>
class async_fan_out {
public:
    using position_type = typename Order::position_type;
    using item_type = detail::awaited_item_of<Order, Query>;
    using page_type = read_page<item_type>;
    using options = fan_out_options<item_type>;

    /// Throws `errc::invalid_options` for a concurrency of 0, and the like.
    async_fan_out(const router& router, Order order, Query query, options with = {})
        : reader_(router, std::move(order), std::move(with)), query_(std::move(query)) {}
    async_fan_out(const router&&, Order, Query, options = {}) = delete;

    /// One page of the keys' items, on the awaiting coroutine's executor. Throws what
    /// `fan_out::page` throws; cancelled as a coroutine, `errc::cancelled`.
    [[nodiscard]] asio::awaitable<page_type> async_page(const key_set& keys,
                                                        const page_options& with) const& {
        return page_here(keys, with);
    }
    [[nodiscard]] asio::awaitable<page_type> async_page(const key_set& keys) const& {
        return page_here(keys, {});
    }
    asio::awaitable<page_type> async_page(const key_set&, page_options&&) const& {
        // As a temporary of the awaiting expression it would be destroyed twice (g++ 12.2).
        static_assert(detail::always_false<Order>,
                      "shardweave: give a page that is awaited options that have a name, such as "
                      "const page_options with{.limit = 20}; some compilers destroy others twice");
    }
    template <class... Any>
    asio::awaitable<page_type> async_page(const Any&...) const&& = delete;

    /// The same on an executor, for any completion token of the signature
    /// `void(std::exception_ptr, read_page<Item>)`.
    template <class Executor, class Token>
    auto async_page(const Executor& there, key_set keys, page_options with, Token&& token) const& {
        return asio::async_initiate<Token, void(std::exception_ptr, page_type)>(
            [reader = &reader_, query = &query_](auto handler, const Executor& on, key_set of,
                                                 page_options how) {
                detail::asio_page<Order, item_type, Query>::start(
                    on, *reader, *query, std::move(of), std::move(how), std::move(handler));
            },
            token, there, std::move(keys), std::move(with));
    }
    /// As `fan_out::between`.
    [[nodiscard]] read_range between(const std::optional<position_type>& after,
                                     const std::optional<position_type>& before) const {
        return reader_.between(after, before);
    }

    [[nodiscard]] const Order& order() const noexcept { return reader_.order(); }

private:
    [[nodiscard]] asio::awaitable<page_type> page_here(key_set keys, page_options with) const {
        const auto here = co_await asio::this_coro::executor;
        auto page = async_page(here, std::move(keys), std::move(with), asio::use_awaitable);
        co_return co_await std::move(page);
    }

    key_reader<Order, item_type> reader_;
    Query query_;
};

template <class Order, class Query>
async_fan_out(const router&, Order, Query) -> async_fan_out<Order, Query>;
template <class Order, class Query>
async_fan_out(const router&, Order, Query, fan_out_options<detail::awaited_item_of<Order, Query>>)
    -> async_fan_out<Order, Query>;

}  // namespace v1
}  // namespace shardweave

#endif
