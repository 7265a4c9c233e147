// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_FUZZ_FUZZ_HPP
#define SHARDWEAVE_TESTS_FUZZ_FUZZ_HPP

/// What the fuzz targets share: laws that stop the run, bytes as choices, and counted memory.

#include <sanitizer/allocator_interface.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

inline std::size_t allocated_bytes = 0;
inline const bool counts_allocations =
    __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, std::size_t size) { allocated_bytes += size; },
        [](const volatile void*) {}) != 0;

/// What is said along with a broken law.
inline std::string last_note;
inline void note(std::string_view what) { last_note = what; }

/// A law: what does not hold is a finding, and is said.
inline void must(bool holds, const char* law) {
    if (!holds) {
        std::fprintf(stderr, "\nbroken: %s %s\n", law, last_note.c_str());
        std::abort();
    }
}

/// What was allocated since it was made.
class allocation_watch {
public:
    [[nodiscard]] std::size_t bytes() const { return allocated_bytes - before_; }

private:
    std::size_t before_ = allocated_bytes;
};

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// Reads choices from the input; zeros at its end.
class choices {
public:
    explicit choices(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] std::size_t left() const { return rest_.size(); }

    std::uint8_t byte() {
        if (rest_.empty()) {
            return 0;
        }
        const auto first = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        return first;
    }

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (int i = 0; i != 8; ++i) {
            value = value << 8U | byte();
        }
        return value;
    }

    /// Below `bound`.
    unsigned below(unsigned bound) { return byte() % bound; }

    /// A length in one byte, and as many bytes, if there are.
    std::string_view text() { return raw(byte()); }
    std::string_view raw(std::size_t count) {
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::string_view rest() { return raw(rest_.size()); }

private:
    std::string_view rest_;
};

}  // namespace fuzz

#endif
