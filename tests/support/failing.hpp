// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_FAILING_HPP
#define SHARDWEAVE_TESTS_SUPPORT_FAILING_HPP

/// What an action fails with.

#include <shardweave/core/error.hpp>

#include <string>

namespace test_support {

/// The error of the failure that the action throws; no error when it throws none.
template <class Action>
shardweave::error error_of(const Action& action) {
    try {
        action();
    } catch (const shardweave::failure& thrown) {
        return thrown.reason();
    }
    return {};
}

template <class Action>
shardweave::errc code_of(const Action& action) {
    return error_of(action).code;
}

}  // namespace test_support

#endif
