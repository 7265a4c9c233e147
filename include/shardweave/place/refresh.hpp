// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_REFRESH_HPP
#define SHARDWEAVE_PLACE_REFRESH_HPP

/// Keeps a router at the stored table: refreshes that do not storm, and retries on a stale route.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/core/single_flight.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/map_source.hpp>
#include <shardweave/place/refresh_options.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/stale_route.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// Joins a router with the source of its table. Thread-safe; both must outlive it. It has no thread
/// of its own: what it does, it does while it is called, and no lock is held while it calls the
/// source or an operation.
template <table_loader Source>
class refresher {
public:
    refresher(router& of, Source& source, refresh_options with = {})
        : router_(&of), source_(&source), with_(std::move(with)), budget_(with_.budget),
          pace_(with_.minimum_interval, with_.after_failure) {}
    refresher(const refresher&) = delete;
    refresher& operator=(const refresher&) = delete;

    /// Brings the router to the demanded epoch. All who ask share one load, and a router that is
    /// there already costs none. A load that was in the air when the demand came may have read too
    /// early; if what it read is too old, it is followed by one more. Never throws what the source
    /// throws; `errc::reentrant_call` when called inside `load`.
    refresh_result refresh(epoch demanded, const patience& waiting = {}) {
        const instant begin = with_.surroundings.now();
        auto admits = flights_.joining();
        for (int loads = 0; loads != 2;) {
            if (const epoch at = current(); at >= demanded) {
                return {refresh_status::reached, at};
            }
            const auto end =
                flights_.run(admits, rest_of(waiting, begin), [&] { return answer(demanded); });
            if (!end.value) {
                return without_answer(end);
            }
            loads += end.value->loaded ? 1 : 0;
            admits.after = end.flight;
        }
        const epoch at = current();
        return {at >= demanded ? refresh_status::reached : refresh_status::behind, at};
    }

    /// Loads when the source says that the table may have changed, or when the last load failed.
    /// For a loop of the caller's, with waits of `spread(period)`.
    refresh_result poll(const patience& waiting = {})
        requires table_watcher<Source>
    {
        try {
            if (!failing_.load() && !source_->changed()) {
                return {refresh_status::reached, current()};
            }
        } catch (...) {
            return {refresh_status::failed, current(), std::current_exception()};
        }
        const auto end = flights_.run(flights_.fresh(), waiting, [&] { return answer({}); });
        return end.value ? refresh_result{refresh_status::reached, current()} : without_answer(end);
    }

    /// `operation(placement)` at the place of a new item. When it throws `stale_route`, refreshes,
    /// and tries again where the item belongs now, within the hop limit and the budget; so exactly
    /// one call succeeds, or none. It must not throw `stale_route` after it did something.
    ///
    /// Gives up with `errc::stale_route`, which names both epochs and nests what the source threw,
    /// if it failed, or else the operation's last exception. Every other exception passes.
    template <std::invocable<const placement&> Operation>
    decltype(auto) with_route(std::string_view key, const id_bytes& id, Operation&& operation) {
        return with_route(key, id, route_limits{}, std::forward<Operation>(operation));
    }
    template <std::invocable<const placement&> Operation>
    decltype(auto) with_route(std::string_view key, const id_bytes& id, const route_limits& limits,
                              Operation&& operation) {
        request();
        for (tries so_far;; ++so_far.retries) {
            const placement at = router_->place(key, id);
            try {
                return operation(at);
            } catch (const stale_route& stale) {
                so_far.seen = stale.seen();
                so_far.used = at.epoch;
                so_far.refusal = std::current_exception();
            }
            before_retry(key, limits, so_far);  // outside of the handler: nothing is being thrown
        }
    }

private:
    struct answered {
        /// False when the demand was met before it was this flight's turn.
        bool loaded;
    };
    using flights = single_flight<answered>;

    /// What became of one operation.
    struct tries {
        unsigned retries = 0;
        /// One retry was made at once already.
        bool hurried = false;
        /// The epochs that the store knows, and of the last placement.
        epoch seen{};
        epoch used{};
        std::exception_ptr refusal{};
        /// What the last refresh failed with, if it did.
        std::exception_ptr source{};
    };

    /// The draw as a standard generator.
    struct generator {
        using result_type = std::uint64_t;
        const std::function<std::uint64_t()>* draw;
        static constexpr result_type min() { return 0; }
        static constexpr result_type max() { return ~result_type{0}; }
        result_type operator()() const { return (*draw)(); }
    };

    [[nodiscard]] epoch current() const { return router_->pin()->epoch(); }

    [[nodiscard]] patience rest_of(const patience& waiting, instant begin) const {
        const bool forever = waiting.at_most == std::chrono::nanoseconds::max();
        return forever
                   ? waiting
                   : patience{waiting.at_most - (with_.surroundings.now() - begin), waiting.stop};
    }

    [[nodiscard]] refresh_result without_answer(const typename flights::outcome& end) const {
        return end.left() ? refresh_result{refresh_status::left, current()}
                          : refresh_result{refresh_status::failed, current(), end.error};
    }

    /// One flight. Flights come one after another, so that what only they use needs no lock.
    answered answer(std::optional<epoch> demanded) {
        if (demanded && current() >= *demanded) {
            return {false};
        }
        const std::chrono::nanoseconds early = pace_.early(with_.surroundings.now());
        if (early > std::chrono::nanoseconds{0}) {
            if (cause_) {
                std::rethrow_exception(cause_);
            }
            with_.surroundings.sleep(early);
        }
        try {
            std::optional<std::string> bytes = source_->load();
            if (!bytes) {
                throw failure{errc::source_failed,
                              "the source has no routing table; store one before it is followed"};
            }
            // An older table, or the same one, is no failure: the router's epoch decides.
            static_cast<void>(router_->publish(decode(*bytes, with_.selectors)));
        } catch (...) {
            cause_ = std::current_exception();
            failing_.store(true);
            generator draws{&with_.surroundings.draw};
            pace_.failed(with_.surroundings.now(), draws);
            throw;
        }
        cause_ = nullptr;
        failing_.store(false);
        pace_.succeeded(with_.surroundings.now());
        return {true};
    }

    void request() {
        const std::scoped_lock lock{budget_mutex_};
        budget_.request();
    }

    [[nodiscard]] bool pay_for_retry() {
        const std::scoped_lock lock{budget_mutex_};
        return budget_.retry();
    }

    /// Returns when it is time for the next try, or throws the final error. One try is made at once
    /// if the router has the epoch already: the table came while the operation was under way.
    void before_retry(std::string_view key, const route_limits& limits, tries& why) {
        const instant now = with_.surroundings.now();
        if (why.retries == with_.hops) {
            give_up(key, why, "the hop limit is reached");
        }
        if (limits.stop.stop_requested() || limits.deadline.passed(now)) {
            give_up(key, why, "the caller waits no longer");
        }
        if (!pay_for_retry()) {
            give_up(key, why, "the budget for retries is spent");
        }
        if (current() >= why.seen) {
            if (!std::exchange(why.hurried, true)) {
                return;
            }
        } else {
            why.source = refresh(why.seen, {limits.deadline.left(now), limits.stop}).cause;
        }
        generator draws{&with_.surroundings.draw};
        const std::chrono::nanoseconds wait = with_.before_retry.delay(why.retries, draws);
        if (limits.stop.stop_requested() ||
            limits.deadline.left(with_.surroundings.now()) <= wait) {
            give_up(key, why, "the caller waits no longer");
        }
        if (wait > std::chrono::nanoseconds{0}) {
            with_.surroundings.sleep(wait);
        }
    }

    /// A plain `failure`, so that one of these within another does not multiply the retries.
    [[noreturn]] void give_up(std::string_view key, const tries& why, std::string_view reason) {
        const failure last{errc::stale_route,
                           detail::concat("the route of the key ", detail::quoted(key),
                                          " by epoch ", why.used.value(),
                                          " is refused by a store that knows epoch ",
                                          why.seen.value(), "; ", reason, " after ", why.retries,
                                          why.retries == 1 ? " retry" : " retries",
                                          why.source ? ", and the source of the table fails" : "")};
        try {
            std::rethrow_exception(why.source ? why.source : why.refusal);
        } catch (...) {
            std::throw_with_nested(last);
        }
    }

    router* router_;
    Source* source_;
    refresh_options with_;
    std::mutex budget_mutex_;
    retry_budget budget_;
    flights flights_;
    std::atomic<bool> failing_{false};
    // Of the flight in the air:
    pace pace_;
    std::exception_ptr cause_;
};

}  // namespace v1
}  // namespace shardweave

#endif
