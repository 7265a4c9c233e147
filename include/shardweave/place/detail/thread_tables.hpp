// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_THREAD_TABLES_HPP
#define SHARDWEAVE_PLACE_DETAIL_THREAD_TABLES_HPP

/// The tables that a thread saw last, for calls that carry no handle.

#include <shardweave/place/prepared_table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A table that lives for as long as it is held.
using held_table = std::shared_ptr<const prepared_table>;

/// What a thread saw last of one router.
struct seen_table {
    held_table held;
    /// While a call uses the table: a call within that call must not replace it.
    bool busy = false;
};

/// A thread's place for a router's table: its own, or one that it shares with other routers, which
/// then take turns. Null when the thread is ending and has no places any more.
[[nodiscard]] inline seen_table* seen_by_thread(const void* router) {
    using places = std::array<seen_table, 4>;
    // Pointers need no destructor, so that they are there to the thread's very end, and no guard.
    constinit thread_local places* now = nullptr;
    constinit thread_local bool over = false;
    if (now == nullptr) [[unlikely]] {
        if (over) {
            return nullptr;
        }
        struct owner {
            places all;
            owner() noexcept { now = &all; }
            ~owner() {
                now = nullptr;
                over = true;
            }
        };
        thread_local owner of_thread;
        now = &of_thread.all;
    }
    return &(*now)[(reinterpret_cast<std::uintptr_t>(router) >> 6U) % now->size()];
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
