// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_ITEM_TRAITS_HPP
#define SHARDWEAVE_READ_ITEM_TRAITS_HPP

/// What a read needs to know of items besides their order.

#include <cstdint>
#include <functional>

namespace shardweave {
inline namespace v1 {

/// How items seen twice (a migration's copies) and deleted ones are told. Both may be empty.
template <class Item>
struct item_traits {
    /// Of two copies, the one with the higher revision is the item; without it, or when equal, the
    /// one from the newer scheme. Schemes that share partition keys can be told apart only when the
    /// newer one has a multiple of the buckets; give a revision for any other.
    std::function<std::uint64_t(const Item&)> revision{};
    /// True for a tombstone: it hides its copies, and is not handed out itself.
    std::function<bool(const Item&)> deleted{};
};

}  // namespace v1
}  // namespace shardweave

#endif
