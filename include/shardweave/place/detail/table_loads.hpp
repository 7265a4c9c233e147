// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_TABLE_LOADS_HPP
#define SHARDWEAVE_PLACE_DETAIL_TABLE_LOADS_HPP

/// Loads of the stored table into a router: one for all who ask, paced, and never stuck for good.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/core/single_flight.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/map_source.hpp>
#include <shardweave/place/refresh_options.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/routing_codec.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// The draw as a standard generator.
struct drawn {
    using result_type = std::uint64_t;
    const std::function<std::uint64_t()>* draw;
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()() const { return (*draw)(); }
};

/// What a `refresher` does about loading. Thread-safe; refers to all that it is given.
template <table_loader Source>
class table_loads {
public:
    table_loads(router& of, Source& source, const refresh_options& with)
        : router_(&of), source_(&source), with_(&with),
          flights_(flight_limits{stuck_after(with), with.surroundings.now}),
          pace_(with.minimum_interval, with.after_failure) {}

    [[nodiscard]] epoch current() const { return router_->pin()->epoch(); }

    /// See `refresher::refresh`.
    refresh_result refresh(epoch demanded, const patience& waiting) {
        const instant begin = with_->surroundings.now();
        auto admits = flights_.joining();
        for (int loads = 0; loads != 2;) {
            if (const epoch at = current(); at >= demanded) {
                return {refresh_status::reached, at};
            }
            const auto end =
                flights_.run(admits, rest_of(waiting, begin),
                             [&](std::uint64_t flight) { return answer(flight, demanded); });
            if (!end.value) {
                return without_answer(end);
            }
            loads += *end.value == answered::loaded ? 1 : 0;
            admits.after = end.flight;
        }
        const epoch at = current();
        return {at >= demanded ? refresh_status::reached : refresh_status::behind, at};
    }

    /// See `refresher::poll`.
    refresh_result poll(const patience& waiting)
        requires table_watcher<Source>
    {
        try {
            if (!failing() && !source_->changed()) {
                return {refresh_status::reached, current()};
            }
        } catch (...) {
            return {refresh_status::failed, current(), std::current_exception()};
        }
        const instant begin = with_->surroundings.now();
        for (auto admits = flights_.fresh();;) {
            const auto end =
                flights_.run(admits, rest_of(waiting, begin),
                             [&](std::uint64_t flight) { return answer(flight, std::nullopt); });
            if (!end.value) {
                return without_answer(end);
            }
            if (*end.value != answered::overtaken) {
                return {refresh_status::reached, current()};
            }
            admits.after = end.flight;
        }
    }

private:
    /// What became of a flight that did not fail.
    enum class answered : std::uint8_t {
        loaded,
        /// The demand was met before it was this flight's turn.
        spared,
        /// It hung, and another one took its place.
        overtaken,
    };
    using flights = single_flight<answered>;

    [[nodiscard]] patience rest_of(const patience& waiting, instant begin) const {
        const bool forever = waiting.at_most == std::chrono::nanoseconds::max();
        return forever
                   ? waiting
                   : patience{waiting.at_most - (with_->surroundings.now() - begin), waiting.stop};
    }

    [[nodiscard]] refresh_result without_answer(const typename flights::outcome& end) const {
        return end.left() ? refresh_result{refresh_status::left, current()}
                          : refresh_result{refresh_status::failed, current(), end.error};
    }

    /// A flight may wait for the interval, and then load.
    [[nodiscard]] static std::chrono::nanoseconds stuck_after(const refresh_options& with) {
        const auto most = std::chrono::nanoseconds::max();
        return with.load_at_most > most - with.minimum_interval
                   ? most
                   : with.load_at_most + with.minimum_interval;
    }

    /// One flight. The lock is for the one that was overtaken: it may come back at any time, and
    /// then changes nothing.
    answered answer(std::uint64_t flight, std::optional<epoch> demanded) {
        if (demanded && current() >= *demanded) {
            return answered::spared;
        }
        const instant now = with_->surroundings.now();
        std::chrono::nanoseconds early{};
        {
            const std::scoped_lock lock{pace_mutex_};
            if (flight < flight_) {
                return answered::overtaken;
            }
            flight_ = flight;
            unseen_ = false;
            early = pace_.early(now);
            if (early > std::chrono::nanoseconds{0} && cause_) {
                std::rethrow_exception(cause_);
            }
        }
        if (early > std::chrono::nanoseconds{0}) {
            with_->surroundings.sleep(early);
        }
        try {
            std::optional<std::string> bytes = source_->load();
            if (overtaken(flight)) {
                return answered::overtaken;
            }
            if (!bytes) {
                throw failure{errc::source_failed,
                              "the source has no routing table; store one before it is followed"};
            }
            // An older table, or the same one, is no failure: the router's epoch decides.
            static_cast<void>(router_->publish(decode(*bytes, with_->selectors)));
        } catch (...) {
            if (!settle(flight, std::current_exception())) {
                return answered::overtaken;
            }
            throw;
        }
        return settle(flight, nullptr) ? answered::loaded : answered::overtaken;
    }

    [[nodiscard]] bool overtaken(std::uint64_t flight) {
        const std::scoped_lock lock{pace_mutex_};
        unseen_ = unseen_ || flight != flight_;
        return flight != flight_;
    }

    /// Says when the next load may begin. False, and nothing is changed, for a flight that was
    /// overtaken.
    [[nodiscard]] bool settle(std::uint64_t flight, const std::exception_ptr& cause) {
        const instant now = with_->surroundings.now();
        std::exception_ptr dropped = cause;  // dies after the lock
        const std::scoped_lock lock{pace_mutex_};
        if (flight != flight_) {
            return false;
        }
        std::swap(cause_, dropped);
        if (cause) {
            drawn draws{&with_->surroundings.draw};
            pace_.failed(now, draws);
        } else {
            pace_.succeeded(now);
        }
        return true;
    }

    /// True when the source's `changed` does not say whether a look is worthwhile.
    [[nodiscard]] bool failing() {
        const std::scoped_lock lock{pace_mutex_};
        return cause_ != nullptr || unseen_;
    }

    router* router_;
    Source* source_;
    const refresh_options* with_;
    flights flights_;
    std::mutex pace_mutex_;
    /// The flight that has the say: the last one that began.
    std::uint64_t flight_ = 0;
    /// A load returned after it was overtaken: the source takes what it returned for seen.
    bool unseen_ = false;
    pace pace_;
    /// What the last load failed with, if it did.
    std::exception_ptr cause_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
