// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_SCHEME_HPP
#define SHARDWEAVE_PLACE_SCHEME_HPP

/// How one key is split into buckets, and time windows.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/windows.hpp>
#include <shardweave/place/selector.hpp>
#include <shardweave/place/time_range.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// What a scheme may be given besides its selector and bucket count.
struct scheme_options {
    /// 0: the next one of the history that it joins.
    scheme_version version{};
    /// Of the item's hash. Never 0, which is the slots' seed: two levels must not share a hash.
    std::uint64_t seed = 1;
    /// No item of this scheme is older; older ones go to the schemes before it, as far as they are
    /// live. In the years 0000 to 9999.
    std::optional<item_time> since{};
};

/// `{version, selector, bucket count, seed, window width, since}`. Never changed once items were
/// placed by it: a different split is a new version.
class bucket_scheme {
public:
    /// Throws `errc::invalid_scheme` unless 1 ≤ buckets ≤ `limits::buckets`, the seed is not 0, and
    /// there is a custom selector exactly for `selection::custom`; `errc::limit_exceeded` for a
    /// `since` outside the years 0000 to 9999.
    bucket_scheme(selection how, std::uint32_t buckets, scheme_options options,
                  detail::shared_selector custom = nullptr)
        : custom_(std::move(custom)), seed_(options.seed), since_(options.since), buckets_(buckets),
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
        if (since_ && !detail::written_times.contains(*since_)) {
            detail::refuse_year();
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

    /// Of a time window; zero for a scheme without them.
    [[nodiscard]] std::chrono::minutes width() const noexcept { return width_; }
    /// No item of the scheme is older.
    [[nodiscard]] std::optional<item_time> since() const noexcept { return since_; }
    /// True when the scheme has windows, or a `since`: then it places by the item's time, too.
    [[nodiscard]] bool timed() const noexcept { return since_.has_value(); }
    /// The times that an item of the scheme can have.
    [[nodiscard]] time_range held() const noexcept {
        return {since_.value_or(item_time::min()),
                width_.count() == 0 ? item_time::max() : detail::written_times.until};
    }
    /// The start of the time's window; nothing for a scheme without windows. Throws
    /// `errc::limit_exceeded` outside the years 0000 to 9999.
    [[nodiscard]] std::optional<item_time> window_at(item_time time) const {
        return width_.count() == 0 ? std::nullopt
                                   : std::optional{detail::window_start(time, width_)};
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

    /// The scheme with time windows. Throws `errc::invalid_scheme` for a width below a minute or
    /// over `limits::window_minutes`, or without a `since`.
    [[nodiscard]] bucket_scheme with_width(std::chrono::minutes width) const {
        if (width.count() < 1 || width.count() > limits::window_minutes) {
            throw failure{errc::invalid_scheme,
                          detail::concat("windows of ", width.count(), " minutes; use 1 to ",
                                         limits::window_minutes)};
        }
        if (!since_) {
            throw failure{errc::invalid_scheme,
                          "a scheme with windows begins somewhere, or nobody could list them; give "
                          "it a since, as in time_windowed(days{1}, calculated(8, {.since = …}))"};
        }
        (void)detail::window_start(*since_, width);
        bucket_scheme copy = *this;
        copy.width_ = width;
        return copy;
    }

    friend bool operator==(const bucket_scheme& a, const bucket_scheme& b) noexcept {
        return a.version_ == b.version_ && a.selection_ == b.selection_ &&
               a.buckets_ == b.buckets_ && a.seed_ == b.seed_ && a.width_ == b.width_ &&
               a.since_ == b.since_ && a.selector_name() == b.selector_name();
    }

private:
    detail::shared_selector custom_;
    std::uint64_t seed_;
    std::optional<item_time> since_;
    std::chrono::minutes width_{0};
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

/// The scheme with time windows: each has partition keys of its own, so that a read of some time
/// asks only for the windows of that time, and old windows can be dropped whole. The scheme needs a
/// `since`. Widths are whole minutes; windows are aligned to 1970-01-01T00:00Z.
[[nodiscard]] inline bucket_scheme time_windowed(std::chrono::minutes width,
                                                 const bucket_scheme& scheme) {
    return scheme.with_width(width);
}

}  // namespace v1
}  // namespace shardweave

#endif
