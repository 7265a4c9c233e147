// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_TROUBLE_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_TROUBLE_HPP

/// What Redis's error texts mean to a caller.

#include <shardweave/read/trouble.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "connection.hpp"
#include "reply.hpp"

namespace redis_timeline {

/// Redis refused a command for good. The text names the node and says what to do.
struct redis_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws `unavailable` or `throttled` for an error that may pass; returns for any other reply.
inline void throw_passing(const reply& of, const endpoint& node) {
    const std::string_view error = of.is_error() ? of.text() : std::string_view{};
    const auto begins = [error](std::string_view code) { return error.starts_with(code); };
    // Not able to work now: reading its file after a start, no owner of a slot, a replica in
    // between, a disk that it can not write to.
    constexpr std::array away{"LOADING ",    "CLUSTERDOWN ", "MASTERDOWN ", "READONLY ",
                              "NOREPLICAS ", "MISCONF ",     "TRYAGAIN "};
    // Able, and asked too much: memory is full, a script runs, too many connections.
    constexpr std::array busy{"OOM ", "BUSY ", "ERR max number of clients"};
    if (std::ranges::any_of(away, begins)) {
        throw sw::unavailable{node.text() + ": " + std::string{error}};
    }
    if (std::ranges::any_of(busy, begins)) {
        throw sw::throttled{node.text() + ": " + std::string{error}};
    }
}

/// The reply, unless it is an error: then throws `redis_error`.
inline reply checked(reply of, std::string_view what) {
    if (of.is_error()) {
        const bool access = of.text().starts_with("NOAUTH") || of.text().starts_with("WRONGPASS") ||
                            of.text().starts_with("NOPERM");
        throw redis_error{std::string{what} + ": " + std::string{of.text()} +
                          (access ? "; see --user and REDIS_PASSWORD" : "")};
    }
    return of;
}

}  // namespace redis_timeline

#endif
