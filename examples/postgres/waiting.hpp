// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_WAITING_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_WAITING_HPP

/// Statements for callers that block, but not for longer than they want to.

#include <shardweave/core/retry.hpp>
#include <shardweave/read/trouble.hpp>

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <string>

#include "libpq.hpp"

namespace postgres {

/// How long somebody waits.
struct limits {
    sw::deadline deadline{};
    std::stop_token stop{};
};

/// Waits until the socket is ready; false when the time is over or the waiting is to stop.
inline bool wait_for(int socket, need what, const limits& until) {
    constexpr std::chrono::milliseconds look{10};  // at the stop token
    pollfd watched{socket, 0, 0};
    watched.events = static_cast<short>((what != need::output ? POLLIN : 0) |
                                        (what != need::input ? POLLOUT : 0));
    for (;;) {
        const auto now = std::chrono::steady_clock::now();
        if (until.stop.stop_requested() || until.deadline.passed(now)) {
            return false;
        }
        auto wait = until.deadline.left(now);
        if (until.stop.stop_possible()) {
            wait = std::min<std::chrono::nanoseconds>(wait, look);
        }
        const auto most = std::chrono::nanoseconds{std::chrono::hours{1}};
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::min(wait, most)).count();
        if (::poll(&watched, 1, static_cast<int>(ms)) > 0) {
            return true;
        }
    }
}

/// Blocks until what was begun is done.
inline void finish(connection& with, const limits& until = {}) {
    for (;;) {
        const need what = with.advance();
        if (what == need::nothing) {
            return;
        }
        if (!wait_for(with.socket(), what, until)) {
            throw sw::timed_out{"PostgreSQL did not answer in time"};
        }
    }
}

/// A connection that is there.
[[nodiscard]] inline connection connected(const std::string& conninfo, const limits& until = {}) {
    connection fresh{conninfo};
    finish(fresh, until);
    return fresh;
}

/// Runs one statement.
inline rows run(connection& on, const std::string& sql, const limits& until = {}) {
    on.send(sql);
    finish(on, until);
    return on.take();
}

/// Prepares a statement, unless the connection knows it.
inline void prepare(connection& on, const std::string& name, const std::string& sql,
                    const arguments& like, const limits& until = {}) {
    if (!on.knows(name)) {
        on.send_prepare(name, sql, like);
        finish(on, until);
        static_cast<void>(on.take_all());
    }
}

/// Runs a statement that is prepared once.
inline rows run(connection& on, const std::string& name, const std::string& sql,
                const arguments& with, const limits& until = {}) {
    prepare(on, name, sql, with, until);
    on.send_prepared(name, with);
    finish(on, until);
    return on.take();
}

}  // namespace postgres

#endif
