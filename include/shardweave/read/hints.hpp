// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_HINTS_HPP
#define SHARDWEAVE_READ_HINTS_HPP

/// What a cursor may know beyond its boundary. Losing it costs time, and never a row.

#include <cstdint>
#include <string>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// What the page before saw of its sources. The boundary alone is the truth: a read uses hints
/// where they surely still hold, and a sealer leaves them out where they do not fit. A value.
struct cursor_hints {
    struct one {
        /// Where the store said that it would go on, or empty.
        std::string cursor{};
        /// True when the source had no more rows this way.
        bool ended = false;

        friend bool operator==(const one&, const one&) noexcept = default;
    };

    /// The fingerprint of the list of sources that `each` belongs to; nothing without `each`.
    std::uint64_t sources = 0;
    /// By source, in the list's order; empty without hints. At most `limits::sources`.
    std::vector<one> each{};
    /// The part of the page's items that came from the schemes of each rank, from 0 to 255; empty
    /// when it is unknown.
    std::vector<std::uint8_t> shares{};

    [[nodiscard]] bool empty() const noexcept { return each.empty() && shares.empty(); }

    friend bool operator==(const cursor_hints&, const cursor_hints&) noexcept = default;
};

}  // namespace v1
}  // namespace shardweave

#endif
