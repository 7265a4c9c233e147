// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_ACTION_HPP
#define SHARDWEAVE_READ_ACTION_HPP

/// What a weave wants done next.

#include <shardweave/core/error.hpp>
#include <shardweave/read/query.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// One step of a read. A driver carries it out, and knows nothing else.
template <class Request>
struct read_action {
    enum class kind : std::uint8_t {
        /// Send these queries and feed their answers, in any order; call `next` after each.
        ask,
        /// Nothing to send: feed an answer that is outstanding, then call `next`.
        wait,
        /// The page is complete; take it.
        finished,
        /// The read failed; `why` says how.
        failed,
    };
    using request = Request;

    kind what = kind::wait;
    std::vector<request> requests{};
    error why{};

    [[nodiscard]] static read_action ask(std::vector<request> requests) {
        return requests.empty() ? wait() : read_action{kind::ask, std::move(requests)};
    }
    [[nodiscard]] static read_action wait() { return {kind::wait}; }
    [[nodiscard]] static read_action finished() { return {kind::finished}; }
    [[nodiscard]] static read_action failed(error why) {
        return {kind::failed, {}, std::move(why)};
    }
};

/// One query to one source.
template <class Query>
struct source_request {
    /// Which source it is for; handed back with the answer.
    std::size_t source;
    Query query;
};

/// A step of a read of rows.
template <class Position>
using weave_action = read_action<source_request<shard_query<Position>>>;

}  // namespace v1
}  // namespace shardweave

#endif
