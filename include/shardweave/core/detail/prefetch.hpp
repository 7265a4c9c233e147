// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_DETAIL_PREFETCH_HPP
#define SHARDWEAVE_CORE_DETAIL_PREFETCH_HPP

/// A hint to the processor, where the compiler has one.

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Says that the memory will be read soon. Any address may be given, and nothing else happens.
inline void prefetch([[maybe_unused]] const void* address) noexcept {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
