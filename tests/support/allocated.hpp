// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_ALLOCATED_HPP
#define SHARDWEAVE_TESTS_SUPPORT_ALLOCATED_HPP

/// How much a whole test executable has allocated. A file of its own defines the allocation
/// functions (tests/place/allocated.test.cpp, say); the others see the count.

#include <atomic>
#include <cstddef>

// ThreadSanitizer links allocation functions of its own, which cannot be replaced by another's.
#if defined(__SANITIZE_THREAD__)
#define SHARDWEAVE_TEST_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHARDWEAVE_TEST_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef SHARDWEAVE_TEST_COUNTS_ALLOCATIONS
#define SHARDWEAVE_TEST_COUNTS_ALLOCATIONS 1
#endif

namespace test_support {

/// Stays 0 when nothing is counted.
inline std::atomic<std::size_t> allocated_bytes{0};
inline constexpr bool counts_allocations = SHARDWEAVE_TEST_COUNTS_ALLOCATIONS == 1;

}  // namespace test_support

#endif
