// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_NODES_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_NODES_HPP

/// The nodes of a cluster: exchanges with one of them, and which of them has a slot.

#include <shardweave/read/trouble.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "connection_pool.hpp"
#include "owners.hpp"
#include "trouble.hpp"

namespace redis_timeline {

struct cluster_options {
    /// Some of the nodes; any that answers tells of the others.
    std::vector<endpoint> seeds;
    connection_options connections{};
    /// For one node to tell the cluster's slots, before the next one is asked.
    std::chrono::milliseconds map_at_most{500};
    /// Redirects, and waits for keys that are on their way, in one call.
    unsigned hops = 8;
};

/// Thread-safe. Throws `unavailable` for a node that can not be reached, and `timed_out` for one
/// that does not answer: then it is open whether the command was done.
class cluster_nodes {
public:
    explicit cluster_nodes(cluster_options with)
        : with_(std::move(with)), pool_(with_.connections) {
        if (with_.seeds.empty()) {
            throw std::invalid_argument{"a cluster needs a node to begin with"};
        }
    }

    [[nodiscard]] connection_pool& pool() noexcept { return pool_; }
    [[nodiscard]] unsigned hops() const noexcept { return with_.hops; }
    [[nodiscard]] std::uint64_t maps_loaded() const noexcept { return maps_loaded_; }

    /// One command, one reply. `asking` announces that an ASK has led there.
    [[nodiscard]] reply exchange(const endpoint& node, const std::vector<std::string>& words,
                                 bool asking, const waiting& caller) {
        const waiting wait = pool_.limited(caller);
        auto lent = pool_.borrow(node, wait);
        if (asking) {
            lent->append({"ASKING"});
        }
        lent->append(words);
        lent->send(wait);
        if (asking) {
            static_cast<void>(lent->read(wait));
        }
        reply got = lent->read(wait);
        lent.keep();
        return got;
    }

    /// The node that has the slot, as far as is known. Throws `unavailable` when nobody has.
    [[nodiscard]] endpoint owner(std::uint16_t slot, const waiting& wait) {
        const owners::view view = owners_.now();
        const endpoint* node = view.map->owner(slot);
        if (node != nullptr && !view.doubted) {
            return *node;
        }
        if (node != nullptr) {
            return successor(slot, view.load, wait).value_or(*node);
        }
        const owners::view later = load_after(view.load, wait);
        if (const endpoint* owner = later.map->owner(slot)) {
            return *owner;
        }
        throw sw::unavailable{"slot " + std::to_string(slot) + " of the cluster has no owner"};
    }

    /// The slot's owner by a map that is later than this load, if there is any.
    [[nodiscard]] std::optional<endpoint> successor(std::uint16_t slot, std::uint64_t seen,
                                                    const waiting& wait) {
        try {
            const endpoint* owner = load_after(seen, wait).map->owner(slot);
            return owner == nullptr ? std::nullopt : std::optional{*owner};
        } catch (const sw::store_trouble&) {
            return std::nullopt;
        }
    }

    /// The masters that have slots, asked anew.
    [[nodiscard]] std::vector<endpoint> masters(const waiting& wait) {
        return load_after(owners_.now().load, wait).map->nodes();
    }

    [[nodiscard]] std::uint64_t last_load() const { return owners_.now().load; }
    /// See `owners`.
    void learn(std::uint16_t slot, const endpoint& node) { owners_.learn(slot, node); }
    void doubt(const endpoint& node) { owners_.doubt(node); }

private:
    [[nodiscard]] owners::view load_after(std::uint64_t seen, const waiting& wait) {
        return owners_.later_than(seen, wait, [&] { return load(); });
    }

    /// The map by any node that tells it. It is for all who wait, so none of them can end it.
    [[nodiscard]] slot_map load() {
        std::string reasons;
        for (const endpoint& node : who_may_tell(maps_loaded_++)) {
            try {
                const auto now = std::chrono::steady_clock::now();
                const waiting wait{sw::deadline::after(now, with_.map_at_most), {}};
                const reply slots = exchange(node, {"CLUSTER", "SLOTS"}, false, wait);
                throw_passing(slots, node);
                static_cast<void>(checked(slots, node.text()));
                if (slots.size() != 0) {
                    return slot_map::from(slots, node);
                }
                reasons += "; " + node.text() + ": it knows of no slots";
            } catch (const sw::store_trouble& why) {
                reasons += "; " + why.reason().detail;
            }
        }
        throw sw::unavailable{"no node tells the cluster's slots" + reasons};
    }

    /// All nodes that are known, another one first each time, and last the one that hangs.
    [[nodiscard]] std::vector<endpoint> who_may_tell(std::uint64_t turn) const {
        const owners::view view = owners_.now();
        std::vector<endpoint> nodes = view.map->nodes();
        for (const endpoint& seed : with_.seeds) {
            if (std::ranges::find(nodes, seed) == nodes.end()) {
                nodes.push_back(seed);
            }
        }
        std::ranges::rotate(nodes,
                            nodes.begin() + static_cast<std::ptrdiff_t>(turn % nodes.size()));
        std::ranges::partition(
            nodes, [&](const endpoint& node) { return !view.doubted || node != *view.doubted; });
        return nodes;
    }

    cluster_options with_;
    connection_pool pool_;
    owners owners_;
    std::atomic<std::uint64_t> maps_loaded_{0};
};

}  // namespace redis_timeline

#endif
