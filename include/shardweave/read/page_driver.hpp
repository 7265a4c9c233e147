// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_PAGE_DRIVER_HPP
#define SHARDWEAVE_READ_PAGE_DRIVER_HPP

/// One page over queries that answer later: for event loops and clients of any kind.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/read/detail/call_book.hpp>
#include <shardweave/read/detail/drive.hpp>
#include <shardweave/read/detail/try_call.hpp>
#include <shardweave/read/key_reader.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// A page with its retries, timeouts, hedges, deadline and stop token as a machine without I/O, and
/// without a clock. Whenever something has happened: send what `begin` says until it says nothing,
/// then `take` the page if it is `finished`, else come back when an attempt has ended, at `wake`,
/// or when the page's stop token is stopped, whichever is first. Not thread-safe. It refers to the
/// reader, and must outlive its attempts.
template <class Order, class Item = typename Order::item_type>
class page_driver {
public:
    using item_type = Item;
    using query_type = shard_query<typename Order::position_type>;

    /// One attempt at one query. Stays where it is until it was answered or has failed.
    class attempt {
    public:
        /// Its `stop` is stopped when the answer is no longer wanted: let go of the store then, and
        /// say that the attempt has failed, with whatever error.
        [[nodiscard]] const query_type& query() const noexcept { return task_->request.query; }

    private:
        friend page_driver;
        using task = detail::call_task<typename reading<Item, Order>::action::request>;
        explicit attempt(task* of) noexcept : task_(of) {}

        task* task_;
    };

    /// Throws what the key, the cursor or the token is refused for.
    page_driver(const key_reader<Order, Item>& reader, const key_set& keys,
                const page_options& with = {})
        : reading_(reader.read(keys, with)),
          book_(reader.options().concurrency, reader.options().attempts,
                *reader.options().budgets) {
        book_.limit({with.deadline, with.stop});
    }
    page_driver(const key_reader<Order, Item>&&, const key_set&, const page_options& = {}) = delete;
    page_driver(const page_driver&) = delete;
    page_driver& operator=(const page_driver&) = delete;

    /// Takes in what has happened, stops the attempts that are no longer wanted, and says what to
    /// send now, one attempt at a time.
    [[nodiscard]] std::optional<attempt> begin(instant now) {
        typename attempt::task* fresh = nullptr;
        try {
            advance(now);
            fresh = over_ ? nullptr : book_.begin(now);
            if (fresh != nullptr) {
                fresh->detach();
            }
        } catch (...) {
            if (fresh != nullptr) {
                book_.forget(*std::exchange(fresh, nullptr));
            }
            finish(std::current_exception());
        }
        book_.stop_cancelled();
        return fresh == nullptr ? std::nullopt : std::optional{attempt{fresh}};
    }

    /// An attempt was answered. Call `begin` next, once or after several such.
    void answer(const attempt& of, shard_page<Item>&& page, instant now) {
        book_.ended(*of.task_, {of.task_->request.source, std::move(page)}, now);
    }

    /// An attempt has failed, with what a query callback would throw: one of `store_trouble`'s for
    /// what may pass. Call `begin` next.
    void fail(const attempt& of, const std::exception_ptr& why, instant now) {
        try {
            std::rethrow_exception(why);
        } catch (...) {
            book_.ended(*of.task_, detail::caught<answer_type>(of.task_->request), now);
        }
    }

    /// Ends the page as its stop token does, with `errc::cancelled`. Call `begin` next.
    void cancel() { book_.cancel(); }

    /// When to call `begin`, even if nothing happens before.
    [[nodiscard]] instant wake() const { return over_ ? instant::max() : book_.wake(); }

    /// True when the page is ready or has failed, and no attempt is under way any more.
    [[nodiscard]] bool finished() const noexcept { return over_ && book_.quiet(); }

    /// The finished page, or what `fan_out::page` throws.
    [[nodiscard]] read_page<Item> take() {
        if (failed_) {
            std::rethrow_exception(failed_);
        }
        reading_.tried(book_.counted().retries, book_.counted().hedges);
        return reading_.take();
    }

private:
    using answer_type = shard_page<Item>;
    using request_type = typename reading<Item, Order>::action::request;

    void advance(instant now) {
        while (!over_) {
            if (book_.limits().cancelled && book_.idle()) {
                finish(std::make_exception_ptr(failure{book_.limits().over(now)}));
                return;
            }
            if (!detail::ask(reading_, book_, cause_)) {
                finish(nullptr);
                return;
            }
            detail::abandon_doomed(reading_, book_);
            if (auto result = book_.receive(now)) {
                detail::feed(reading_, *std::move(result), cause_);
            } else if (!book_.idle()) {
                return;
            }
        }
    }

    /// What is still under way has lost, and nobody waits for it but `finished`.
    void finish(std::exception_ptr failed) {
        over_ = true;
        failed_ = std::move(failed);
        book_.cancel_all();
    }

    reading<Item, Order> reading_;
    detail::call_book<answer_type, request_type> book_;
    std::exception_ptr cause_;
    std::exception_ptr failed_;
    bool over_ = false;
};

template <class Order, class Item>
page_driver(const key_reader<Order, Item>&, const key_set&) -> page_driver<Order, Item>;
template <class Order, class Item>
page_driver(const key_reader<Order, Item>&, const key_set&, const page_options&)
    -> page_driver<Order, Item>;

}  // namespace v1
}  // namespace shardweave

#endif
