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
#include <shardweave/place/detail/table_loads.hpp>
#include <shardweave/place/map_source.hpp>
#include <shardweave/place/refresh_options.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/stale_route.hpp>
#include <shardweave/place/table_stamp.hpp>
#include <shardweave/place/time_range.hpp>

#include <chrono>
#include <concepts>
#include <exception>
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
        : router_(&of), with_(std::move(with)), budget_(with_.budget), loads_(of, source, with_) {}
    refresher(const refresher&) = delete;
    refresher& operator=(const refresher&) = delete;

    /// Brings the router to the demanded epoch. All who ask share one load, and a router that is
    /// there already costs none. A load that was in the air when the demand came may have read too
    /// early; if what it read is too old, it is followed by one more. One that hangs is replaced
    /// after `load_at_most`, and what it comes back with is ignored. Never throws what the source
    /// throws; `errc::reentrant_call` when called inside `load`.
    refresh_result refresh(epoch demanded, const patience& waiting = {}) {
        return loads_.refresh(demanded, waiting);
    }

    /// Loads when the source says that the table may have changed, or when the last load failed.
    /// For a loop of the caller's, with waits of `spread(period)`.
    refresh_result poll(const patience& waiting = {})
        requires table_watcher<Source>
    {
        return loads_.poll(waiting);
    }

    /// The stamp of the router's table, for a store to compare with its own. Costs a lock; O(slots
    /// + keys with their own schemes) when first asked of a table.
    [[nodiscard]] table_stamp stamp() {
        const router::snapshot table = router_->pin();
        {
            const std::scoped_lock lock{mutex_};
            if (stamp_ && stamp_->epoch == table->epoch()) {  // a router never has two of an epoch
                return *stamp_;
            }
        }
        const table_stamp computed = stamp_of(*table);
        const std::scoped_lock lock{mutex_};
        stamp_ = computed;
        return computed;
    }

    /// `operation(placement)` at the place of a new item. When it throws `stale_route`, or a
    /// failure that nests one, refreshes, and tries again where the item belongs now, within the
    /// hop limit and the budget; so exactly one call succeeds, or none. It must not throw
    /// `stale_route` after it did something.
    ///
    /// Gives up with `errc::stale_route`, which names both epochs and nests what the source threw,
    /// if it failed, or else the operation's last exception; at once with `errc::epoch_conflict`
    /// when the store has another table of the same epoch. Every other exception passes.
    template <std::invocable<const placement&> Operation>
    decltype(auto) with_route(std::string_view key, const id_bytes& id, Operation&& operation) {
        return with_route(key, id, route_limits{}, std::forward<Operation>(operation));
    }
    template <std::invocable<const placement&> Operation>
    decltype(auto) with_route(std::string_view key, const id_bytes& id, const route_limits& limits,
                              Operation&& operation) {
        return placed(key, limits, operation, [&] { return router_->place(key, id); });
    }

    /// The same for an item of a key that is split by time.
    template <std::invocable<const placement&> Operation>
    decltype(auto) with_route(std::string_view key, const id_bytes& id, item_time time,
                              Operation&& operation) {
        return with_route(key, id, time, route_limits{}, std::forward<Operation>(operation));
    }
    template <std::invocable<const placement&> Operation>
    decltype(auto) with_route(std::string_view key, const id_bytes& id, item_time time,
                              const route_limits& limits, Operation&& operation) {
        return placed(key, limits, operation, [&] { return router_->place(key, id, time); });
    }

    /// The same for an operation that routes by itself, such as a page of a `fan_out`, which nests
    /// what its query threw. Within one another these do not multiply their retries: what one of
    /// them gave up on passes the others.
    template <std::invocable Operation>
    decltype(auto) with_routes(Operation&& operation) {
        return with_routes(route_limits{}, std::forward<Operation>(operation));
    }
    template <std::invocable Operation>
    decltype(auto) with_routes(const route_limits& limits, Operation&& operation) {
        const auto attempt = [&](tries& so_far) -> decltype(auto) {
            so_far.used = loads_.current();
            return operation();
        };
        return retrying(std::nullopt, limits, attempt);
    }

private:
    using known_key = std::optional<std::string_view>;

    /// What became of one operation.
    struct tries {
        unsigned retries = 0;
        /// One retry was made at once already.
        bool hurried = false;
        /// The epochs that the store knows, and of the last placement.
        epoch seen{};
        epoch used{};
        /// Of the store's table, if it said so.
        std::optional<table_stamp> stamp{};
        std::exception_ptr refusal{};
        /// What the last refresh failed with, if it did.
        std::exception_ptr source{};
    };

    template <class Operation, class Place>
    decltype(auto) placed(std::string_view key, const route_limits& limits, Operation& operation,
                          const Place& place) {
        const auto attempt = [&](tries& so_far) -> decltype(auto) {
            const placement at = place();
            so_far.used = at.epoch;
            return operation(at);
        };
        return retrying(key, limits, attempt);
    }

    template <class Attempt>
    decltype(auto) retrying(known_key key, const route_limits& limits, const Attempt& attempt) {
        request();
        for (tries so_far;; ++so_far.retries) {
            try {
                return attempt(so_far);
            } catch (...) {
                so_far.refusal = std::current_exception();
                const std::optional<stale_route> stale = detail::stale_in(so_far.refusal);
                if (!stale) {
                    throw;
                }
                so_far.seen = stale->seen();
                so_far.stamp = stale->stamp();
            }
            before_retry(key, limits, so_far);  // outside of the handler: nothing is being thrown
        }
    }

    void request() {
        const std::scoped_lock lock{mutex_};
        budget_.request();
    }

    [[nodiscard]] bool pay_for_retry() {
        const std::scoped_lock lock{mutex_};
        return budget_.retry();
    }

    /// No retry helps against two tables of one epoch.
    void check_contents(const tries& why) {
        if (!why.stamp || why.stamp->epoch != loads_.current()) {
            return;
        }
        const table_stamp mine = stamp();
        if (mine.epoch == why.stamp->epoch && mine != *why.stamp) {
            nesting(why.refusal, detail::stamp_conflict(mine, *why.stamp));
        }
    }

    /// Returns when it is time for the next try, or throws the final error. One try is made at once
    /// if the router has the epoch already: the table came while the operation was under way.
    void before_retry(known_key key, const route_limits& limits, tries& why) {
        check_contents(why);
        const instant now = with_.surroundings.now();
        if (why.retries == with_.hops) {
            give_up(key, why, "the hop limit is reached");
        }
        if (limits.stop.stop_requested() || limits.deadline.passed(now)) {
            give_up(key, why, "the caller waits no longer");
        }
        const bool known = loads_.current() >= why.seen;
        if (!known) {
            why.source = refresh(why.seen, {limits.deadline.left(now), limits.stop}).cause;
            check_contents(why);
        }
        // By a newer table it is another route, and not more of the same. So a change of the table
        // costs nothing from the budget, however many operations were under way.
        if (loads_.current() <= why.used && !pay_for_retry()) {
            give_up(key, why, "the budget for retries is spent");
        }
        if (known && !std::exchange(why.hurried, true)) {
            return;
        }
        const detail::drawn draws{&with_.surroundings.draw};
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
    [[noreturn]] void give_up(known_key key, const tries& why, std::string_view reason) {
        nesting(
            why.source ? why.source : why.refusal,
            failure{errc::stale_route,
                    detail::concat(key ? "the route of the key " + detail::quoted(*key) : "a route",
                                   " by epoch ", why.used.value(),
                                   " is refused by a store that knows epoch ", why.seen.value(),
                                   "; ", reason, " after ", why.retries,
                                   why.retries == 1 ? " retry" : " retries",
                                   why.source ? ", and the source of the table fails" : "")});
    }

    [[noreturn]] static void nesting(const std::exception_ptr& cause, const failure& last) {
        try {
            std::rethrow_exception(cause);
        } catch (...) {
            std::throw_with_nested(last);
        }
    }

    router* router_;
    refresh_options with_;
    std::mutex mutex_;
    retry_budget budget_;
    std::optional<table_stamp> stamp_;
    detail::table_loads<Source> loads_;
};

}  // namespace v1
}  // namespace shardweave

#endif
