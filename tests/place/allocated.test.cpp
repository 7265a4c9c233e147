// SPDX-License-Identifier: BSL-1.0
#include <cstdlib>
#include <new>

#include "support/allocated.hpp"

// The counting allocation functions, for the limits that routing_codec.test.cpp holds.
// In a file of their own: g++ warns where it sees `free` meet an allocation of its own.
#if SHARDWEAVE_TEST_COUNTS_ALLOCATIONS
void* operator new(std::size_t size) {
    test_support::allocated_bytes += size;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
