// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_TYPES_HPP
#define SHARDWEAVE_CORE_TYPES_HPP

/// Strong integers for the four numbers that must never be mixed up.

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace shardweave {
inline namespace v1 {

/// An unsigned integer that converts to and from nothing by itself.
/// `Tag` names its meaning; `value()` gives the number back.
template <class Tag, std::unsigned_integral Rep>
class strong_integer {
public:
    using rep = Rep;

    constexpr strong_integer() noexcept = default;
    constexpr explicit strong_integer(Rep value) noexcept : value_(value) {}

    [[nodiscard]] constexpr Rep value() const noexcept { return value_; }

    friend constexpr auto operator<=>(strong_integer, strong_integer) noexcept = default;

private:
    Rep value_ = 0;
};

/// One part of one key: 0 to the scheme's bucket count − 1.
using bucket_index = strong_integer<struct bucket_tag, std::uint32_t>;
/// A logical bucket of the whole key space: 0 to the shard map's slot count − 1.
using slot_index = strong_integer<struct slot_tag, std::uint32_t>;
/// The version of a bucket scheme within its history. They rise; 0 means "not given yet".
using scheme_version = strong_integer<struct scheme_version_tag, std::uint32_t>;
/// The generation of a routing table. A higher one replaces a lower one, never the reverse.
using epoch = strong_integer<struct epoch_tag, std::uint64_t>;

/// How often the routing table was restored from a backup: an epoch's upper 24 bits. The lower 40
/// count the changes since then, more than anybody makes.
[[nodiscard]] constexpr std::uint32_t incarnation(epoch at) noexcept {
    return static_cast<std::uint32_t>(at.value() >> 40U);
}

}  // namespace v1
}  // namespace shardweave

template <class Tag, class Rep>
struct std::hash<shardweave::strong_integer<Tag, Rep>> {
    // For the user's own in-memory containers; nothing durable is ever derived from it.
    std::size_t operator()(shardweave::strong_integer<Tag, Rep> number) const noexcept {
        return std::hash<Rep>{}(number.value());
    }
};

#endif
