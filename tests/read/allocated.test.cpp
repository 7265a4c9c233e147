// SPDX-License-Identifier: BSL-1.0
#include <cstddef>
#include <cstdlib>
#include <new>

#include "support/allocated.hpp"

// The counting allocation functions, for what merge.test.cpp and token.test.cpp hold.
// In a file of their own: beside code that allocates, g++ sees `free` meet `operator new` and
// warns.
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
