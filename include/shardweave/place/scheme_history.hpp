// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_SCHEME_HISTORY_HPP
#define SHARDWEAVE_PLACE_SCHEME_HISTORY_HPP

/// The versions that the split of one key went through.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/time_range.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// What is still done with a scheme.
enum class scheme_state : std::uint8_t {
    /// New items are placed by it. Exactly one scheme of a history is.
    writable = 1,
    /// Older items are still found by it, and it takes what is too old for the newer ones.
    readable = 2,
    /// Ended, and kept so that its version is never used again.
    retired = 3,
};

/// The schemes of one key: versions rise, the newest takes the writes, older ones stay readable
/// until they are retired. With `since` bounds, the newest live scheme that reaches back to an
/// item's time takes it. A value; nothing is ever changed in place.
class scheme_history {
public:
    struct entry {
        bucket_scheme scheme;
        scheme_state state;
        friend bool operator==(const entry&, const entry&) noexcept = default;
    };

    /// The first scheme takes the writes; without a version of its own it is version 1.
    explicit scheme_history(const bucket_scheme& first) { append(first); }

    /// Entries as they were stored. Throws `errc::invalid_scheme` unless versions rise from 1 up,
    /// exactly the newest is writable, and no `since` is before the one of the scheme before it. (A
    /// scheme without one reaches back to everything; after it, they may start anywhere.)
    explicit scheme_history(std::vector<entry> entries) : entries_(std::move(entries)) {
        validate();
    }

    /// A newer scheme takes the writes; the older ones stay readable. A given version must be
    /// higher than all before it (`errc::invalid_scheme`).
    [[nodiscard]] scheme_history grown(const bucket_scheme& scheme) const {
        scheme_history next = *this;
        next.entries_.back().state = scheme_state::readable;
        next.append(scheme);
        return next;
    }

    /// Ends a version that nothing is left under: from here on nobody looks there. Throws
    /// `errc::invalid_scheme` when the version is unknown, or still takes the writes.
    [[nodiscard]] scheme_history retired(scheme_version version) const {
        scheme_history next = *this;
        for (entry& each : next.entries_) {
            if (each.scheme.version() == version && each.state != scheme_state::writable) {
                each.state = scheme_state::retired;
                return next;
            }
        }
        throw failure{
            errc::invalid_scheme,
            detail::concat("scheme version ", version.value(),
                           version == writer().version()
                               ? " takes the writes; grow to a newer one before retiring it"
                               : " is not in the history; nothing to retire")};
    }

    /// The scheme that takes the writes.
    [[nodiscard]] const bucket_scheme& writer() const noexcept { return entries_.back().scheme; }

    /// The live scheme that takes an item of this time; null when the item is older than all.
    [[nodiscard]] const bucket_scheme* writer_at(item_time time) const noexcept {
        for (auto each = entries_.rbegin(); each != entries_.rend(); ++each) {
            if (each->state != scheme_state::retired &&
                each->scheme.since().value_or(item_time::min()) <= time) {
                return &each->scheme;
            }
        }
        return nullptr;
    }

    /// All versions, oldest first, retired ones included.
    [[nodiscard]] std::span<const entry> entries() const& noexcept { return entries_; }
    // A loop over the entries of a temporary would outlive them.
    std::span<const entry> entries() const&& = delete;

    friend bool operator==(const scheme_history&, const scheme_history&) noexcept = default;

private:
    void append(const bucket_scheme& scheme) {
        const std::uint32_t last = entries_.empty() ? 0 : writer().version().value();
        const std::uint32_t given = scheme.version().value();
        entries_.push_back({given == 0 ? scheme.with_version(scheme_version{last + 1}) : scheme,
                            scheme_state::writable});
        validate();
    }

    void validate() const {
        if (entries_.empty() || entries_.size() > limits::schemes_per_key) {
            throw failure{errc::invalid_scheme,
                          detail::concat("a history of ", entries_.size(),
                                         " schemes, retired ones included; use 1 to ",
                                         limits::schemes_per_key,
                                         ", and time windows for a key that grows for ever")};
        }
        scheme_version last{0};
        std::optional<item_time> since;
        for (const entry& each : entries_) {
            if (each.scheme.version() <= last) {
                throw failure{errc::invalid_scheme,
                              detail::concat("scheme version ", each.scheme.version().value(),
                                             " comes after version ", last.value(),
                                             "; versions start above 0 and rise")};
            }
            last = each.scheme.version();
            if (since && each.scheme.since() && *each.scheme.since() < *since) {
                throw failure{errc::invalid_scheme,
                              detail::concat("scheme version ", last.value(),
                                             " begins before the version that it follows; give it "
                                             "the same since or a later one, or none")};
            }
            since = each.scheme.since();
            if ((each.state == scheme_state::writable) != (&each == &entries_.back())) {
                throw failure{errc::invalid_scheme,
                              "exactly the newest scheme of a history takes the writes"};
            }
        }
    }

    std::vector<entry> entries_;
};

}  // namespace v1
}  // namespace shardweave

#endif
