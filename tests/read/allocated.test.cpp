// SPDX-License-Identifier: BSL-1.0
#include "support/allocated.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

// The counting allocation functions, for what merge.test.cpp and token.test.cpp hold.
// In a file of their own: beside code that allocates, g++ sees `free` meet `operator new` and
// warns.
void* operator new(std::size_t size) {
    test_support::allocated_bytes += size;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
