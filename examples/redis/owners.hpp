// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_OWNERS_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_OWNERS_HPP

/// The slot map that all callers share: loaded once for all of them, mended by what nodes tell.

#include <shardweave/core/single_flight.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "slot_map.hpp"

namespace redis_timeline {

/// Thread-safe.
class owners {
public:
    /// A map, and the load that it comes from: 0 for none.
    struct view {
        std::shared_ptr<const slot_map> map = std::make_shared<const slot_map>();
        std::uint64_t load = 0;
        /// A node that did not answer: another one may have its slots by now.
        std::optional<endpoint> doubted{};
    };

    [[nodiscard]] view now() const {
        const std::scoped_lock lock{mutex_};
        return view_;
    }

    /// A slot's new owner, by a node that knows: the one slot is mended at once, and no other node
    /// is asked. So a thousand slots that move are no thousand loads.
    void learn(std::uint16_t slot, const endpoint& node) {
        const std::scoped_lock lock{mutex_};
        auto next = std::make_shared<slot_map>(*view_.map);
        next->set(slot, node);
        view_.map = std::move(next);
    }

    void doubt(const endpoint& node) {
        const std::scoped_lock lock{mutex_};
        view_.doubted = node;
    }

    /// A map of a later load than `seen`: the one that is there, or `load()`'s, which is one for
    /// all who ask at the same time. Throws what it throws; the last map stays.
    template <class Load>
    [[nodiscard]] view later_than(std::uint64_t seen, const waiting& wait, const Load& load) {
        if (view there = now(); there.load > seen) {
            return there;
        }
        const auto left = wait.until.left(std::chrono::steady_clock::now());
        const auto end =
            flight_.run(flight_.joining(), {left, wait.stop}, [&](std::uint64_t number) {
                view loaded{std::make_shared<const slot_map>(load()), number, {}};
                const std::scoped_lock lock{mutex_};
                view_ = loaded;
                return loaded;
            });
        if (end.error) {
            std::rethrow_exception(end.error);
        }
        if (end.left()) {
            throw sw::timed_out{"the cluster's nodes did not tell their slots in time"};
        }
        return *end.value;
    }

private:
    mutable std::mutex mutex_;
    view view_;
    sw::single_flight<view> flight_;
};

}  // namespace redis_timeline

#endif
