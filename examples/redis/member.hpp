// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_MEMBER_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_MEMBER_HPP

/// An item as a member of its bucket's sorted set, in bytes that sort as the items do.

#include <shardweave/core/types.hpp>
#include <shardweave/read/order.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "timeline/history.hpp"

namespace redis_timeline {

namespace sw = shardweave;
using timeline::item;

/// Newest first, and the id decides between two items of one second.
inline const auto newest_first = sw::newest_first(&item::created_at, sw::unique(&item::id));
using position = decltype(newest_first)::position_type;

// All scores are 0, so Redis sorts a set by its members' bytes, unsigned, least first:
//   00 · epoch, 20 digits · mode                  the fence, when there is one
//   01 · position, least first · note             an item
// A position ends by itself, so all members of one begin with it, and no other's do.

/// The beginning of every item's member, and beyond every fence.
inline constexpr std::string_view first_item = "\x01";

/// What the members of this position begin with.
[[nodiscard]] inline std::string first_member(const position& at) {
    static const auto oldest_first =
        sw::oldest_first(&item::created_at, sw::unique(&item::id));  // the same positions
    return std::string{first_item} + oldest_first.encode(at);
}

/// The least bytes beyond all members that begin so: a position's last byte is 00.
[[nodiscard]] inline std::string beyond(std::string first) {
    first.back() = '\x01';
    return first;
}

[[nodiscard]] inline std::string to_member(const item& row) {
    return first_member(newest_first.position_of(row)) + row.note;
}

/// Nothing for bytes that are no item's.
[[nodiscard]] inline std::optional<item> from_member(std::string_view member, std::string author) {
    static const auto oldest_first = sw::oldest_first(&item::created_at, sw::unique(&item::id));
    constexpr std::size_t time_bytes = 8;
    if (!member.starts_with(first_item)) {
        return std::nullopt;
    }
    member.remove_prefix(first_item.size());
    const auto end = member.find('\0', time_bytes);
    const auto at = oldest_first.decode(member.substr(0, end == member.npos ? end : end + 1));
    if (!at) {
        return std::nullopt;
    }
    return item{std::move(author), get<0>(*at), get<1>(*at), std::string{member.substr(end + 1)}};
}

/// Who may use a bucket of a shard.
struct fence {
    enum class mode : char {
        /// Writers of this epoch or a later one.
        open = 'o',
        /// Nobody: the bucket went elsewhere with this epoch.
        retired = 'r',
    };
    sw::epoch since{};
    mode now = mode::open;
};

/// As many digits for each, so that they sort as the numbers do: Lua has no 64-bit integers.
[[nodiscard]] inline std::string digits(sw::epoch of) {
    std::string text = std::to_string(of.value());
    return std::string(20 - text.size(), '0') + text;
}

[[nodiscard]] inline std::string to_member(const fence& of) {
    return std::string(1, '\0') + digits(of.since) + static_cast<char>(of.now);
}

}  // namespace redis_timeline

#endif
