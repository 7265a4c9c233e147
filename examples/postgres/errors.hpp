// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_ERRORS_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_ERRORS_HPP

/// What PostgreSQL's errors mean to the library.

#include <shardweave/read/trouble.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace postgres {

namespace sw = shardweave;

/// What is wrong stays wrong: a refused password, a database that is not there, a faulty statement.
struct database_error : std::runtime_error {
    database_error(std::string state, const std::string& text, std::string more)
        : std::runtime_error(text), sqlstate(std::move(state)), detail(std::move(more)) {}
    std::string sqlstate;
    std::string detail;
};

/// Throws what an SQLSTATE means to the library; none is a lost connection.
[[noreturn]] inline void raise(std::string_view sqlstate, const std::string& text,
                               std::string detail = {}) {
    if (sqlstate == "57014") {  // statement_timeout, or cancelled
        throw sw::timed_out{text};
    }
    if (sqlstate.starts_with("53")) {  // no connections, memory or disk left
        throw sw::throttled{text};
    }
    // Lost, shutting down, starting up; read-only is a standby after a failover.
    if (sqlstate.empty() || sqlstate.starts_with("08") || sqlstate.starts_with("57P") ||
        sqlstate == "25006") {
        throw sw::unavailable{text};
    }
    throw database_error{std::string{sqlstate}, text, std::move(detail)};
}

}  // namespace postgres

#endif
