// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_ADAPTERS_DETAIL_ASIO_PAGE_HPP
#define SHARDWEAVE_ADAPTERS_DETAIL_ASIO_PAGE_HPP

/// One page that is read by coroutines.

#include <shardweave/core/retry.hpp>
#include <shardweave/read/key_reader.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/page_driver.hpp>
#include <shardweave/read/query.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/error_code.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#ifndef ASIO_HAS_CO_AWAIT
#error                                                                                             \
    "adapters/asio.hpp needs Asio's coroutines: link shardweave::asio, or with clang and an Asio \
before 1.24, define ASIO_HAS_CO_AWAIT and ASIO_HAS_STD_COROUTINE for the whole program"
#endif

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A page under way: one coroutine that does what the `page_driver` says, and one for each attempt,
/// all on one strand. Only `cancel` and `wake`, posted to the strand, come from elsewhere.
template <class Order, class Item, class Query>
class asio_page : public std::enable_shared_from_this<asio_page<Order, Item, Query>> {
    using self = std::shared_ptr<asio_page>;
    using strand = asio::strand<asio::any_io_executor>;
    using reader_type = key_reader<Order, Item>;
    using driver = page_driver<Order, Item>;

public:
    asio_page(const asio::any_io_executor& there, const reader_type& reader, const Query& query,
              key_set keys, page_options with)
        : strand_(there), timer_(strand_), reader_(&reader), query_(&query), keys_(std::move(keys)),
          with_(std::move(with)) {}

    /// Reads the page, and calls the handler on its executor with what came of it.
    template <class Handler>
    static void start(const asio::any_io_executor& there, const reader_type& reader,
                      const Query& query, key_set keys, page_options with, Handler handler) {
        auto page =
            std::make_shared<asio_page>(there, reader, query, std::move(keys), std::move(with));
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
            // The signal is emitted wherever the caller is, which is not this page's strand.
            slot.assign([weak = std::weak_ptr{page}](asio::cancellation_type) {
                if (const self here = weak.lock()) {
                    asio::post(here->strand_, [here] { here->cancel(); });
                }
            });
        }
        auto back = asio::make_work_guard(asio::get_associated_executor(handler, there));
        const strand on = page->strand_;
        asio::co_spawn(on, run(std::move(page)),
                       [handler = std::move(handler), slot, back = std::move(back)](
                           std::exception_ptr failed, read_page<Item> read) mutable {
                           asio::post(back.get_executor(), [handler = std::move(handler), slot,
                                                            failed = std::move(failed),
                                                            read = std::move(read)]() mutable {
                               slot.clear();
                               std::move(handler)(std::move(failed), std::move(read));
                           });
                       });
    }

private:
    struct emit {
        asio::cancellation_signal* to;
        void operator()() const { to->emit(asio::cancellation_type::all); }
    };
    /// An attempt. Its end is only noted: it may come while the driver is at work.
    struct running {
        typename driver::attempt of;
        asio::cancellation_signal signal{};
        std::optional<std::stop_callback<emit>> stop{};
        bool ended = false;
        std::exception_ptr failed{};
        shard_page<Item> answer{};

        explicit running(const typename driver::attempt& which) : of(which) {}
    };

    /// Coroutines keep what they use alive, also where an execution context is destroyed with them.
    static asio::awaitable<read_page<Item>> run(self page) {
        page->driver_.emplace(*page->reader_, page->keys_, page->with_);
        const auto wake = [&page] { asio::post(page->strand_, [page] { page->wake(); }); };
        const std::stop_callback stopped{page->with_.stop, wake};
        for (;;) {
            page->woken_ = false;
            page->step();
            if (page->driver_->finished()) {
                break;
            }
            if (!page->woken_) {
                asio::error_code ignored;
                page->timer_.expires_at(page->driver_->wake());
                co_await page->timer_.async_wait(
                    asio::redirect_error(asio::use_awaitable, ignored));
            }
        }
        co_return page->driver_->take();
    }

    static asio::awaitable<shard_page<Item>> ask(self page, typename driver::attempt which) {
        co_return co_await (*page->query_)(which.query());
    }

    void step() {
        const instant now = std::chrono::steady_clock::now();
        for (auto each = running_.begin(); each != running_.end();) {
            if (!each->ended) {
                ++each;
                continue;
            }
            each->failed ? driver_->fail(each->of, each->failed, now)
                         : driver_->answer(each->of, std::move(each->answer), now);
            each = running_.erase(each);
        }
        while (const auto fresh = driver_->begin(now)) {
            begin(*fresh);
        }
    }

    void begin(const typename driver::attempt& which) {
        running& fresh = running_.emplace_back(which);
        const self page = this->shared_from_this();
        try {
            asio::co_spawn(strand_, ask(page, which),
                           asio::bind_cancellation_slot(
                               fresh.signal.slot(),
                               [page, &fresh](std::exception_ptr failed, shard_page<Item> answer) {
                                   page->end(fresh, std::move(failed), std::move(answer));
                               }));
        } catch (...) {
            end(fresh, std::current_exception(), {});
        }
        fresh.stop.emplace(which.query().stop, emit{&fresh.signal});
    }

    void end(running& of, std::exception_ptr failed, shard_page<Item> answer) {
        of.stop.reset();
        of.ended = true;
        of.failed = std::move(failed);
        of.answer = std::move(answer);
        wake();
    }

    void cancel() {
        if (driver_) {
            driver_->cancel();
        }
        wake();
    }

    void wake() {
        woken_ = true;
        timer_.cancel();
    }

    strand strand_;
    asio::steady_timer timer_;
    const reader_type* reader_;
    const Query* query_;
    key_set keys_;
    page_options with_;
    std::optional<driver> driver_;
    std::list<running> running_;
    bool woken_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
