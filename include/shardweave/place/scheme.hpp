// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_SCHEME_HPP
#define SHARDWEAVE_PLACE_SCHEME_HPP

/// How one key is split into buckets, and the versions that this went through.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/selector.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// What a scheme may be given besides its selector and bucket count.
struct scheme_options {
    /// 0: the next one of the history that it joins.
    scheme_version version{};
    /// Of the item's hash. Never 0, which is the slots' seed: two levels must not share a hash.
    std::uint64_t seed = 1;
};

/// `{version, selector, bucket count, seed}`. Never changed once items were placed by it: a
/// different split is a new version.
class bucket_scheme {
public:
    /// Throws `errc::invalid_scheme` unless 1 ≤ buckets ≤ `limits::buckets`, the seed is not 0, and
    /// there is a custom selector exactly for `selection::custom`.
    bucket_scheme(selection how, std::uint32_t buckets, scheme_options options,
                  detail::shared_selector custom = nullptr)
        : custom_(std::move(custom)), seed_(options.seed), buckets_(buckets),
          version_(options.version), selection_(how) {
        if (buckets == 0 || buckets > limits::buckets) {
            throw failure{
                errc::invalid_scheme,
                detail::concat("a scheme of ", buckets, " buckets; use 1 to ", limits::buckets)};
        }
        if (seed_ == 0) {
            throw failure{errc::invalid_scheme,
                          "the scheme seed 0 is the slots' own; use another, such as 1"};
        }
        if (how < selection::calculated || how > selection::custom ||
            (how == selection::custom) != (custom_ != nullptr)) {
            throw failure{errc::invalid_scheme,
                          "a custom scheme has a selector, and no other has one; use calculated, "
                          "random or selected_by"};
        }
    }

    [[nodiscard]] scheme_version version() const noexcept { return version_; }
    [[nodiscard]] selection how() const noexcept { return selection_; }
    [[nodiscard]] std::uint32_t buckets() const noexcept { return buckets_; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
    /// The registered name of a custom selector, else empty.
    [[nodiscard]] std::string_view selector_name() const noexcept {
        return custom_ ? custom_->name() : std::string_view{};
    }

    /// True when the bucket follows from the id.
    [[nodiscard]] bool repeatable() const noexcept { return selection_ != selection::random; }

    /// The id's bucket; with a random scheme, one from the thread's generator.
    [[nodiscard]] bucket_index select(std::string_view id) const {
        return repeatable() ? locate(id) : random_bucket(buckets_, detail::thread_generator());
    }

    /// The id's bucket; with a random scheme, one from the generator.
    template <std::uniform_random_bit_generator Generator>
    [[nodiscard]] bucket_index select(std::string_view id, Generator& generator) const {
        return repeatable() ? locate(id) : random_bucket(buckets_, generator);
    }

    /// The id's bucket. Requires `repeatable()`.
    [[nodiscard]] bucket_index locate(std::string_view id) const {
        return custom_ ? custom_->select(id, buckets_, seed_)
                       : calculated_bucket(id, buckets_, seed_);
    }

    [[nodiscard]] bucket_scheme with_version(scheme_version version) const {
        bucket_scheme copy = *this;
        copy.version_ = version;
        return copy;
    }

    friend bool operator==(const bucket_scheme& a, const bucket_scheme& b) noexcept {
        return a.version_ == b.version_ && a.selection_ == b.selection_ &&
               a.buckets_ == b.buckets_ && a.seed_ == b.seed_ &&
               a.selector_name() == b.selector_name();
    }

private:
    detail::shared_selector custom_;
    std::uint64_t seed_;
    std::uint32_t buckets_;
    scheme_version version_;
    selection selection_;
};

/// Items spread by the stable hash of their id: the usual choice.
[[nodiscard]] inline bucket_scheme calculated(std::uint32_t buckets, scheme_options options = {}) {
    return {selection::calculated, buckets, options};
}

/// Items spread at random, for data that is written once and read in bulk.
[[nodiscard]] inline bucket_scheme random(std::uint32_t buckets, scheme_options options = {}) {
    return {selection::random, buckets, options};
}

/// Items spread by a rule of the user's own.
template <bucket_selector Selector>
[[nodiscard]] bucket_scheme selected_by(Selector selector, std::uint32_t buckets,
                                        scheme_options options = {}) {
    return {selection::custom, buckets, options,
            std::make_shared<const detail::selector_model<Selector>>(std::move(selector))};
}

/// What is still done with a scheme.
enum class scheme_state : std::uint8_t {
    /// New items are placed by it. Exactly one scheme of a history is.
    writable = 1,
    /// Older items are still found by it.
    readable = 2,
    /// Ended, and kept so that its version is never used again.
    retired = 3,
};

/// The schemes of one key: versions rise, the newest takes the writes, older ones stay readable
/// until they are retired. A value; nothing is ever changed in place.
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
    /// and exactly the newest is writable.
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
                          detail::concat("a history of ", entries_.size(), " schemes; use 1 to ",
                                         limits::schemes_per_key)};
        }
        scheme_version last{0};
        for (const entry& each : entries_) {
            if (each.scheme.version() <= last) {
                throw failure{errc::invalid_scheme,
                              detail::concat("scheme version ", each.scheme.version().value(),
                                             " comes after version ", last.value(),
                                             "; versions start above 0 and rise")};
            }
            last = each.scheme.version();
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
