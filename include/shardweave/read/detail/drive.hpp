// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_DRIVE_HPP
#define SHARDWEAVE_READ_DETAIL_DRIVE_HPP

/// The thin driver of a read: carries out what the machine says.

#include <shardweave/core/error.hpp>
#include <shardweave/read/detail/calls.hpp>
#include <shardweave/read/detail/try_call.hpp>
#include <shardweave/read/query.hpp>

#include <cstddef>
#include <exception>
#include <utility>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// The calls that drive a machine through a query callback.
template <class Machine, class Query>
using calls_of =
    calls<shard_page<typename Machine::item_type>, typename Machine::action::request, Query>;

[[noreturn]] inline void throw_failure(error&& why, const std::exception_ptr& cause) {
    if (cause) {
        try {
            std::rethrow_exception(cause);
        } catch (...) {
            std::throw_with_nested(failure{std::move(why)});
        }
    }
    throw failure{std::move(why)};
}

/// Hands over what the machine wants to ask. False when it is finished; throws when it failed.
template <class Machine, class Calls>
bool ask(Machine& machine, Calls& calls, const std::exception_ptr& cause = nullptr) {
    using action = typename Machine::action;
    action todo = machine.next();
    if (todo.what == action::kind::failed) {
        throw_failure(std::move(todo.why), cause);
    }
    for (auto& request : todo.requests) {
        calls.submit(std::move(request));
    }
    return todo.what != action::kind::finished;
}

/// Ends what has not begun, once the read has failed.
template <class Machine, class Calls>
void abandon_doomed(Machine& machine, Calls& calls) {
    if (machine.doomed()) {
        for (std::size_t left = calls.abandon(); left != 0; --left) {
            machine.cancel();
        }
    }
}

/// Tells the machine what became of a call, and keeps what ended the read.
template <class Machine, class Answer>
void feed(Machine& machine, outcome<Answer>&& result, std::exception_ptr& cause) {
    if (result.answer) {
        machine.answer(result.source, *std::move(result.answer));
        return;
    }
    const bool healthy = !machine.doomed();
    result.ends_read ? machine.doom(result.source, std::move(result.why))
                     : machine.fail(result.source, std::move(result.why));
    if (healthy && machine.doomed()) {
        cause = result.thrown;
    }
}

/// Drives one page until it is finished. When the read fails, no further query is sent, those under
/// way are stopped and waited for, and `failure` is thrown, with the exception nested that ended
/// it, if one did.
template <class Machine, class Calls>
void drive(Machine& machine, Calls& calls) {
    std::exception_ptr cause;
    while (ask(machine, calls, cause)) {
        abandon_doomed(machine, calls);
        if (!calls.idle()) {
            feed(machine, calls.receive(), cause);
        }
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
