// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_CURSOR_HPP
#define SHARDWEAVE_READ_CURSOR_HPP

/// Where a paged read stands, as an object within the process.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/hints.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// What ties a cursor to its query: a hash of order, keys and filter. Page size is not part of it.
struct binding {
    hash128 value;

    /// The keys are a set: their order and repetitions do not matter.
    [[nodiscard]] static binding of(std::uint64_t order_fingerprint, std::vector<std::string> keys,
                                    std::string_view filter) {
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        std::string bytes;
        byte_writer out{bytes};
        out.fixed64(order_fingerprint);
        out.text(filter);
        for (const std::string& key : keys) {
            out.text(key);
        }
        return {stable_hash128(bytes, 0)};
    }

    friend bool operator==(const binding&, const binding&) noexcept = default;
};

/// A place in one query's results. The boundary is the truth: every row up to it was handed out or
/// is deleted, in every source; none beyond it was. So buckets may move, and shards and schemes be
/// added, between two pages.
///
/// A cursor becomes text only through a sealer, and one that came from a client is opened only by
/// the read that it is given to, which knows what it must be bound to. A value.
class cursor {
public:
    struct state {
        shardweave::binding binding;
        scan way = scan::forward;
        /// The boundary's order-preserving bytes; nothing for the very start (or, backward, the
        /// end).
        std::optional<std::string> boundary;
        /// Of the routing table that the page was read with.
        shardweave::epoch epoch;
        /// What the page saw of its sources.
        cursor_hints hints{};
        /// The time that the list was first read as of, when it is pinned to one.
        std::optional<item_time> as_of{};
        /// Of orders by time: no row is left on the near side of it, whatever the boundary says.
        std::optional<item_time> reached{};

        friend bool operator==(const state&, const state&) noexcept = default;
    };
    /// Opens what a client sent, for the query of this binding; throws `failure` if it must not be.
    using opener = std::function<state(const shardweave::binding&)>;

    explicit cursor(state at) : content_(std::move(at)) {}
    explicit cursor(opener open) : content_(std::move(open)) {}

    /// The cursor's state, for a query of this binding. Throws `errc::cursor_mismatch` for another
    /// query's, and for a token what its sealer throws.
    [[nodiscard]] state resolve(const shardweave::binding& expected) const {
        if (const auto* open = std::get_if<opener>(&content_)) {
            return (*open)(expected);
        }
        const state& at = std::get<state>(content_);
        if (at.binding != expected) {
            throw failure{
                errc::cursor_mismatch,
                "the cursor belongs to a read of other keys, another filter or another order; "
                "start this one without it"};
        }
        return at;
    }

    /// The state of a cursor that a page gave; null for one that a sealer opened and no read
    /// resolved.
    [[nodiscard]] const state* known() const noexcept { return std::get_if<state>(&content_); }

private:
    std::variant<state, opener> content_;
};

}  // namespace v1
}  // namespace shardweave

#endif
