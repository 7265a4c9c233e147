// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_HEAD_KEY_HPP
#define SHARDWEAVE_READ_DETAIL_HEAD_KEY_HPP

/// What the merge compares, and choosing between two of it without a branch.

#include <cstddef>
#include <cstdint>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// An order-preserving prefix of a row's key, as numbers that compare the way the merge walks.
struct head_key {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    // In one comparison: the first words alone may well be equal, and a branch on them
    // mispredicted.
    friend bool operator==(const head_key& a, const head_key& b) noexcept {
        return ((a.high ^ b.high) | (a.low ^ b.low)) == 0;
    }
    friend bool operator<(const head_key& a, const head_key& b) noexcept {
#ifdef __SIZEOF_INT128__
        // A comparison with borrow: half the instructions of the other form.
        __extension__ using wide = unsigned __int128;
        return (static_cast<wide>(a.high) << 64U | a.low) <
               (static_cast<wide>(b.high) << 64U | b.low);
#else
        return (static_cast<unsigned>(a.high < b.high) |
                (static_cast<unsigned>(a.high == b.high) & static_cast<unsigned>(a.low < b.low))) !=
               0;
#endif
    }
};

/// All ones or all zeros. Compilers turn `?:` into branches, which uniform data mispredicts every
/// second time; they leave masks alone.
[[nodiscard]] inline std::uint64_t mask_of(bool set) noexcept {
    return std::uint64_t{0} - static_cast<std::uint64_t>(set);
}

[[nodiscard]] inline std::uint64_t choose(std::uint64_t mask, std::uint64_t set,
                                          std::uint64_t unset) noexcept {
    return unset ^ ((unset ^ set) & mask);
}
/// Copies in two words. Compilers would copy a vector of two, which has to wait until both words
/// that were written just before are in the cache.
inline void assign(head_key& to, const head_key& from) noexcept {
    const std::uint64_t low = from.low;
    to.high = from.high;
#ifdef __GNUC__
    asm("" : "+m"(to.high));  // does nothing, which the compiler can not know
#endif
    to.low = low;
}

template <class T>
[[nodiscard]] T* choose(std::uint64_t mask, T* set, T* unset) noexcept {
    return reinterpret_cast<T*>(choose(mask, reinterpret_cast<std::uintptr_t>(set),
                                       reinterpret_cast<std::uintptr_t>(unset)));
}
[[nodiscard]] inline head_key choose(std::uint64_t mask, const head_key& set,
                                     const head_key& unset) noexcept {
    return {choose(mask, set.high, unset.high), choose(mask, set.low, unset.low)};
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
