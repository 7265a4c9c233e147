// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_CLUSTER_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_CLUSTER_HPP

/// A client of a Redis Cluster: it asks the node that has a key's slot, and follows the slots as
/// they move.

#include <shardweave/core/retry.hpp>
#include <shardweave/read/trouble.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
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

/// What calls came to so far.
struct cluster_counts {
    std::uint64_t moved = 0;
    std::uint64_t asked = 0;
    std::uint64_t tried_again = 0;
    /// Scripts that a node did not know.
    std::uint64_t scripts_sent = 0;
    /// CLUSTER SLOTS.
    std::uint64_t maps_loaded = 0;
};

/// Thread-safe. Calls throw `unavailable` for a node that can not be reached or can not work now,
/// `timed_out` for one that does not answer, `throttled` for one that is asked too much: then it is
/// open whether the command was done. Errors of the command itself come back as replies.
class cluster {
public:
    explicit cluster(cluster_options with) : with_(std::move(with)), pool_(with_.connections) {
        if (with_.seeds.empty()) {
            throw std::invalid_argument{"a cluster needs a node to begin with"};
        }
    }

    /// The command's reply. Its keys must share a slot (`std::invalid_argument`).
    [[nodiscard]] reply call(const command& what, const waiting& wait = {}) {
        const std::uint16_t slot = slot_of(what);
        return follow(what, slot, {owner(slot, wait), false, std::nullopt}, wait);
    }

    /// The commands' replies, with one exchange a node for all of its commands. Those that are
    /// redirected are called again one by one, so two commands of one key keep their order only
    /// while its slot stays where it is.
    [[nodiscard]] std::vector<reply> pipeline(std::span<const command> what,
                                              const waiting& wait = {}) {
        batches by_node;
        for (std::size_t i = 0; i != what.size(); ++i) {
            by_node[owner(slot_of(what[i]), wait)].push_back(i);
        }
        std::vector<std::optional<reply>> got = exchange_all(what, by_node, wait);
        for (const auto& [node, indexes] : by_node) {
            for (const std::size_t i : indexes) {
                got[i] = follow(what[i], slot_of(what[i]), {node, false, std::move(got[i])}, wait);
            }
        }
        std::vector<reply> replies;
        replies.reserve(got.size());
        for (std::optional<reply>& each : got) {
            replies.push_back(*std::move(each));
        }
        return replies;
    }

    /// A reply of one node, whichever slots it has: for CLUSTER and SCRIPT.
    [[nodiscard]] reply call_node(const endpoint& node, const std::vector<std::string>& words,
                                  const waiting& wait = {}) {
        return exchange(node, words, false, wait);
    }

    /// The node that has the slot, as far as is known. Throws `unavailable` when nobody has.
    [[nodiscard]] endpoint owner(std::uint16_t slot, const waiting& wait = {}) {
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

    /// The masters that have slots, asked anew.
    [[nodiscard]] std::vector<endpoint> masters(const waiting& wait = {}) {
        return load_after(owners_.now().load, wait).map->nodes();
    }

    [[nodiscard]] cluster_counts counts() const noexcept {
        return {moved_, asked_, tried_again_, scripts_sent_, maps_loaded_};
    }

private:
    using batches = std::map<endpoint, std::vector<std::size_t>>;

    /// One try of a call: where, and what came of it if it was made already.
    struct attempt {
        endpoint node;
        bool asking = false;
        std::optional<reply> got;
    };

    [[nodiscard]] static std::uint16_t slot_of(const command& what) {
        const std::string& first = what.words.at(what.first_key);
        for (std::size_t i = 1; i != what.keys; ++i) {
            const std::string& other = what.words.at(what.first_key + i);
            if (hash_slot(other) != hash_slot(first)) {
                throw std::invalid_argument{what.words.front() + ": the keys " + first + " and " +
                                            other +
                                            " are in two slots of the cluster; give them "
                                            "the same {hash tag}"};
            }
        }
        return hash_slot(first);
    }

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

    /// Sends to all nodes before it reads from any, so that they work at the same time. What nodes
    /// that fail have not answered stays empty.
    [[nodiscard]] std::vector<std::optional<reply>>
    exchange_all(std::span<const command> what, const batches& by_node, const waiting& caller) {
        std::vector<std::optional<reply>> got(what.size());
        std::vector<std::pair<connection_pool::lease, const std::vector<std::size_t>*>> sent;
        const waiting wait = pool_.limited(caller);
        for (const auto& [node, indexes] : by_node) {
            try {
                auto lent = pool_.borrow(node, wait);
                for (const std::size_t i : indexes) {
                    lent->append(what[i].words);
                }
                lent->send(wait);
                sent.emplace_back(std::move(lent), &indexes);
            } catch (const sw::unavailable&) {
                continue;  // tried again by itself
            }
        }
        for (auto& [lent, indexes] : sent) {
            try {
                for (const std::size_t i : *indexes) {
                    got[i] = lent->read(wait);
                }
                lent.keep();
            } catch (const sw::unavailable&) {
                continue;
            } catch (const sw::timed_out&) {
                owners_.doubt(lent->to());
                throw;
            }
        }
        return got;
    }

    /// Goes where the nodes say, until one answers.
    [[nodiscard]] reply follow(command what, std::uint16_t slot, attempt at, const waiting& wait) {
        for (unsigned hop = 0;; ++hop) {
            const std::optional<reply> got =
                at.got ? std::exchange(at.got, std::nullopt) : reach(what, slot, at, wait);
            if (got && !got->is_error()) {
                return *got;
            }
            if (got && !redirected(*got, what, slot, at)) {
                if (!got->text().starts_with("TRYAGAIN ")) {
                    throw_passing(got->text(), at.node);
                    return *got;
                }
                // Some of the keys are here and some are not: for as long as they are on their way.
                ++tried_again_;
                pause(hop, wait);
                at = {owner(slot, wait), false, std::nullopt};
            }
            if (hop == with_.hops) {
                throw sw::unavailable{"slot " + std::to_string(slot) +
                                      " of the cluster is on its way; the last answer was " +
                                      (got ? std::string{got->text()} : "none")};
            }
        }
    }

    /// The node's reply; nothing when it can not be reached, and another one has the slot by now.
    [[nodiscard]] std::optional<reply> reach(const command& what, std::uint16_t slot, attempt& at,
                                             const waiting& wait) {
        const std::uint64_t seen = owners_.now().load;
        try {
            return exchange(at.node, what.words, at.asking, wait);
        } catch (const sw::timed_out&) {
            owners_.doubt(at.node);
            throw;
        } catch (const sw::unavailable&) {
            const std::optional<endpoint> other =
                at.asking ? std::nullopt : successor(slot, seen, wait);
            if (!other || *other == at.node) {
                throw;
            }
            at.node = *other;
            return std::nullopt;
        }
    }

    /// The slot's owner by a later map, if there is any.
    [[nodiscard]] std::optional<endpoint> successor(std::uint16_t slot, std::uint64_t seen,
                                                    const waiting& wait) {
        try {
            const endpoint* owner = load_after(seen, wait).map->owner(slot);
            return owner == nullptr ? std::nullopt : std::optional{*owner};
        } catch (const sw::store_trouble&) {
            return std::nullopt;
        }
    }

    /// Whether the error says what to try next; then `at` and `what` are that.
    [[nodiscard]] bool redirected(const reply& error, command& what, std::uint16_t slot,
                                  attempt& at) {
        if (auto other = parse_redirect(error.text(), at.node)) {
            const bool ask = other->what == redirect::kind::ask;
            if (ask) {
                ++asked_;
            } else {
                ++moved_;
                owners_.learn(slot, other->to);
            }
            at = {std::move(other->to), ask, std::nullopt};
            return true;
        }
        if (error.text().starts_with("NOSCRIPT") && what.words[0] == "EVALSHA") {
            ++scripts_sent_;
            what.words[0] = "EVAL";
            what.words[1] = what.script;
            return true;
        }
        return false;
    }

    static void pause(unsigned hop, const waiting& wait) {
        const auto left = wait.until.left(std::chrono::steady_clock::now());
        if (left.count() == 0 || wait.stop.stop_requested()) {
            throw sw::timed_out{"the keys were still on their way between two nodes"};
        }
        constexpr std::chrono::milliseconds longest{50};
        const std::chrono::milliseconds next{2LL << std::min(hop, 6U)};
        std::this_thread::sleep_for(
            std::min<std::chrono::nanoseconds>(left, std::min(next, longest)));
    }

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
                if (slots.is_error()) {
                    throw_passing(slots.text(), node);
                    static_cast<void>(checked(slots, node.text()));
                }
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
        std::ranges::stable_partition(
            nodes, [&](const endpoint& node) { return !view.doubted || node != *view.doubted; });
        return nodes;
    }

    cluster_options with_;
    connection_pool pool_;
    owners owners_;
    std::atomic<std::uint64_t> moved_{0};
    std::atomic<std::uint64_t> asked_{0};
    std::atomic<std::uint64_t> tried_again_{0};
    std::atomic<std::uint64_t> scripts_sent_{0};
    std::atomic<std::uint64_t> maps_loaded_{0};
};

}  // namespace redis_timeline

#endif
