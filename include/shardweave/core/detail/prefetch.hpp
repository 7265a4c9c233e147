// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_DETAIL_PREFETCH_HPP
#define SHARDWEAVE_CORE_DETAIL_PREFETCH_HPP

/// A hint to the processor, where the compiler has one.

#include <cstddef>
#include <cstdint>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Says that the memory will be read soon. Any address may be given, and nothing else happens.
inline void prefetch([[maybe_unused]] const void* address) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

/// The same for what lies so many bytes after `from`, which may be beyond an array.
inline void prefetch_after(const void* from, std::size_t bytes) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a hint, and nothing is read there.
    prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + bytes));
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
