// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_ALLOCATED_HPP
#define SHARDWEAVE_TESTS_SUPPORT_ALLOCATED_HPP

/// How much a whole test executable has allocated. One of its files defines the allocation
/// functions (tests/place/allocated.test.cpp); the others see the count.

#include <atomic>
#include <cstddef>

namespace test_support {

inline std::atomic<std::size_t> allocated_bytes{0};

}  // namespace test_support

#endif
