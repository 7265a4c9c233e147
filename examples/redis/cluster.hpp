// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_CLUSTER_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_CLUSTER_HPP

/// A client of a Redis Cluster: it asks the node that has a key's slot, and follows the slots as
/// they move.

#include <shardweave/read/trouble.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nodes.hpp"
#include "trouble.hpp"

namespace redis_timeline {

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
    explicit cluster(cluster_options with) : nodes_(std::move(with)) {}

    /// The command's reply. Its keys must share a slot (`std::invalid_argument`).
    [[nodiscard]] reply call(const command& what, const waiting& wait = {}) {
        return follow(what, {nodes_.owner(slot_of(what), wait)}, wait);
    }

    /// The commands' replies, with one exchange a node for all of its commands. Those that are
    /// redirected are called again one by one, so two commands of one key keep their order only
    /// while its slot stays where it is.
    [[nodiscard]] std::vector<reply> pipeline(std::span<const command> what,
                                              const waiting& wait = {}) {
        batches by_node;
        for (std::size_t i = 0; i != what.size(); ++i) {
            by_node[nodes_.owner(slot_of(what[i]), wait)].push_back(i);
        }
        std::vector<attempt> tries = exchange_all(what, by_node, wait);
        std::vector<reply> replies;
        replies.reserve(tries.size());
        for (std::size_t i = 0; i != tries.size(); ++i) {
            replies.push_back(follow(what[i], std::move(tries[i]), wait));
        }
        return replies;
    }

    /// A reply of one node, whichever slots it has: for CLUSTER and SCRIPT.
    [[nodiscard]] reply call_node(const endpoint& node, const std::vector<std::string>& words,
                                  const waiting& wait = {}) {
        return nodes_.exchange(node, words, false, wait);
    }

    /// The node that has the slot, as far as is known. Throws `unavailable` when nobody has.
    [[nodiscard]] endpoint owner(std::uint16_t slot, const waiting& wait = {}) {
        return nodes_.owner(slot, wait);
    }

    /// The masters that have slots, asked anew.
    [[nodiscard]] std::vector<endpoint> masters(const waiting& wait = {}) {
        return nodes_.masters(wait);
    }

    [[nodiscard]] cluster_counts counts() const noexcept {
        return {moved_, asked_, tried_again_, scripts_sent_, nodes_.maps_loaded()};
    }

private:
    using batches = std::map<endpoint, std::vector<std::size_t>>;

    /// One try of a call: where, and what came of it if it was made already.
    struct attempt {
        endpoint node{};
        bool asking = false;
        std::optional<reply> got{};
        std::exception_ptr failed{};
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

    /// Sends to all nodes before it reads from any, so that they work at the same time.
    [[nodiscard]] std::vector<attempt> exchange_all(std::span<const command> what,
                                                    const batches& by_node, const waiting& caller) {
        std::vector<attempt> tries(what.size());
        const auto fail = [&](const std::vector<std::size_t>& indexes) {
            for (const std::size_t i : indexes) {
                if (!tries[i].got) {
                    tries[i].failed = std::current_exception();
                }
            }
        };
        std::vector<std::pair<connection_pool::lease, const std::vector<std::size_t>*>> sent;
        const waiting wait = nodes_.pool().limited(caller);
        for (const auto& [node, indexes] : by_node) {
            for (const std::size_t i : indexes) {
                tries[i].node = node;
            }
            try {
                auto lent = nodes_.pool().borrow(node, wait);
                for (const std::size_t i : indexes) {
                    lent->append(what[i].words);
                }
                lent->send(wait);
                sent.emplace_back(std::move(lent), &indexes);
            } catch (const sw::store_trouble&) {
                fail(indexes);
            }
        }
        for (auto& [lent, indexes] : sent) {
            try {
                for (const std::size_t i : *indexes) {
                    tries[i].got = lent->read(wait);
                }
                lent.keep();
            } catch (const sw::store_trouble&) {
                fail(*indexes);
            }
        }
        return tries;
    }

    /// Goes where the nodes say, until one answers. It asks no node again that failed: whether that
    /// is worth its cost is the library's decision.
    [[nodiscard]] reply follow(command what, attempt at, const waiting& wait) {
        const std::uint16_t slot = slot_of(what);
        for (unsigned hop = 0;; ++hop) {
            const std::uint64_t seen = nodes_.last_load();
            if (!at.got && !at.failed) {
                try_once(what, at, wait);
            }
            if (at.failed) {
                if (hop == nodes_.hops()) {
                    std::rethrow_exception(at.failed);
                }
                at = {elsewhere(slot, at, seen, wait)};
                continue;
            }
            const reply got = *std::exchange(at.got, std::nullopt);
            const bool on_their_way = got.is_error() && got.text().starts_with("TRYAGAIN ");
            if (!on_their_way && !redirected(got, what, slot, at)) {
                throw_passing(got, at.node);
                return got;
            }
            if (hop == nodes_.hops()) {
                throw sw::unavailable{"slot " + std::to_string(slot) +
                                      " of the cluster moves; the "
                                      "last answer was " +
                                      std::string{got.text()}};
            }
            if (on_their_way) {
                ++tried_again_;
                pause(hop, wait);
                at = {nodes_.owner(slot, wait)};
            }
        }
    }

    void try_once(const command& what, attempt& at, const waiting& wait) {
        try {
            at.got = nodes_.exchange(at.node, what.words, at.asking, wait);
        } catch (const sw::store_trouble&) {
            at.failed = std::current_exception();
        }
    }

    /// The node that has the slot by now, instead of the one that failed; else throws why it did.
    [[nodiscard]] endpoint elsewhere(std::uint16_t slot, const attempt& at, std::uint64_t seen,
                                     const waiting& wait) {
        try {
            std::rethrow_exception(at.failed);
        } catch (const sw::timed_out&) {
            nodes_.doubt(at.node);
            throw;
        } catch (const sw::unavailable&) {
            const auto other = at.asking ? std::nullopt : nodes_.successor(slot, seen, wait);
            if (!other || *other == at.node) {
                throw;
            }
            return *other;
        }
    }

    /// Whether the reply says what to try next; then `at` and `what` are that.
    [[nodiscard]] bool redirected(const reply& error, command& what, std::uint16_t slot,
                                  attempt& at) {
        if (!error.is_error()) {
            return false;
        }
        if (auto other = parse_redirect(error.text(), at.node)) {
            const bool ask = other->what == redirect::kind::ask;
            if (ask) {
                ++asked_;
            } else {
                ++moved_;
                nodes_.learn(slot, other->to);
            }
            at = {std::move(other->to), ask};
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

    cluster_nodes nodes_;
    std::atomic<std::uint64_t> moved_{0};
    std::atomic<std::uint64_t> asked_{0};
    std::atomic<std::uint64_t> tried_again_{0};
    std::atomic<std::uint64_t> scripts_sent_{0};
};

}  // namespace redis_timeline

#endif
