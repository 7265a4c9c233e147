// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_LIVE_KEYS_HPP
#define SHARDWEAVE_PLACE_DETAIL_LIVE_KEYS_HPP

/// The partition keys of a key's live schemes, by time.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/windows.hpp>
#include <shardweave/place/key_format.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_history.hpp>
#include <shardweave/place/time_range.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Some buckets of a scheme: `count` of them, from `first` on.
struct bucket_span {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// One partition key of a scheme, without its text.
struct live_key {
    const bucket_scheme* scheme;
    std::uint32_t rank;
    bucket_index bucket;
    /// The start of its window.
    std::optional<item_time> window;
};

/// The writer first, then the readable schemes from newer to older, with their rank.
template <class Visit>
void for_each_live(const scheme_history& history, const Visit& visit) {
    std::uint32_t rank = 0;
    const auto entries = history.entries();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        if (entry->state != scheme_state::retired) {
            visit(entry->scheme, rank++);
        }
    }
}

/// Identities of partition keys (`key_format::identity`).
class identity_set {
public:
    /// False when it is in the set already.
    bool insert(std::uint64_t identity) {
        if (identity > limits::buckets) {
            return windowed_.insert(identity).second;
        }
        if (identity >= plain_.size()) {
            plain_.resize(static_cast<std::size_t>(identity) + 1);
        } else if (plain_[static_cast<std::size_t>(identity)]) {
            return false;
        }
        plain_[static_cast<std::size_t>(identity)] = true;
        return true;
    }
    [[nodiscard]] std::size_t windowed() const noexcept { return windowed_.size(); }

private:
    std::vector<bool> plain_;
    std::unordered_set<std::uint64_t> windowed_;
};

[[noreturn]] inline void refuse_windows(std::string_view key) {
    throw failure{errc::limit_exceeded,
                  concat("more than ", limits::sources, " partition keys of the key ", quoted(key),
                         "; ask for a shorter time")};
}

/// Where the windows of a scheme that a range touches begin: `count` of them, back from `newest`.
struct window_run {
    item_time newest;
    std::uint64_t count = 0;
};

/// Requires a scheme with windows. Throws `errc::time_required` for a range without an end.
[[nodiscard]] inline window_run windows_of(std::string_view key, const bucket_scheme& scheme,
                                           const time_range& range) {
    if (range.open_above()) {
        throw failure{errc::time_required,
                      concat("the key ", quoted(key),
                             " has time windows without end; give an until, such as now")};
    }
    const time_range touched = range.intersection(scheme.held());
    if (touched.empty()) {
        return {};
    }
    const item_time oldest = window_start(touched.since, scheme.width());
    const item_time last{touched.until.sys() - std::chrono::milliseconds{1}};
    const item_time newest = window_start(last, scheme.width());
    const auto between = (newest.sys() - oldest.sys()) / scheme.width();
    return {newest, static_cast<std::uint64_t>(between) + 1};
}

/// Visits each partition key whose items can have a time in the range: newest scheme first, newest
/// window first, each text once. `choose(scheme)` says which buckets.
template <class Choose, class Visit>
void for_each_key(std::string_view key, const scheme_history& history, const key_format& format,
                  const time_range& range, const Choose& choose, const Visit& visit) {
    identity_set seen;
    const auto visit_buckets = [&](const live_key& first, std::uint32_t count) {
        for (live_key each = first; count != 0; --count) {
            if (seen.insert(format.identity(each.bucket, each.scheme->buckets(), each.window))) {
                if (seen.windowed() > limits::sources) {
                    refuse_windows(key);
                }
                visit(each);
            }
            each.bucket = bucket_index{each.bucket.value() + 1};
        }
    };
    for_each_live(history, [&](const bucket_scheme& scheme, std::uint32_t rank) {
        const bool windowed = scheme.width().count() != 0;
        if (!windowed && !range.overlaps(scheme.held())) {
            return;
        }
        const window_run run = windowed ? windows_of(key, scheme, range) : window_run{{}, 1};
        if (run.count == 0) {
            return;
        }
        const bucket_span buckets = choose(scheme);
        // Before anything is built: a range may be as long as it likes.
        if (windowed && run.count > limits::sources / buckets.count) {
            refuse_windows(key);
        }
        for (std::uint64_t back = 0; back != run.count; ++back) {
            const auto start =
                windowed
                    ? std::optional<item_time>{run.newest.sys() -
                                               static_cast<std::int64_t>(back) * scheme.width()}
                    : std::nullopt;
            visit_buckets({&scheme, rank, bucket_index{buckets.first}, start}, buckets.count);
        }
    });
}

/// The times of a scheme's window, or of a scheme without them. Requires a window that starts in
/// the years 0000 to 9999.
[[nodiscard]] inline time_range held_in(const bucket_scheme& scheme,
                                        std::optional<item_time> window) {
    return window ? scheme.held().intersection({*window, window->sys() + scheme.width()})
                  : scheme.held();
}

/// The times that the items of a partition key can have, by all live schemes that write its text.
[[nodiscard]] inline time_range times_of(const live_key& key, const scheme_history& history,
                                         const key_format& format) {
    time_range times = held_in(*key.scheme, key.window);
    const std::uint64_t identity = format.identity(key.bucket, key.scheme->buckets(), key.window);
    for_each_live(history, [&](const bucket_scheme& scheme, std::uint32_t) {
        const bool windowed = scheme.width().count() != 0;
        const bool alike =
            key.bucket.value() < scheme.buckets() && windowed == key.window.has_value() &&
            format.identity(key.bucket, scheme.buckets(), key.window) == identity &&
            (!windowed ||
             key.window->milliseconds() % std::chrono::milliseconds{scheme.width()}.count() == 0);
        const time_range more = alike ? held_in(scheme, key.window) : times;
        times = more.empty() ? times : times.hull(more);
    });
    return times;
}

/// The widest range around the time over which the same partition keys are asked.
[[nodiscard]] inline time_range span_around(item_time time, const scheme_history& history) {
    time_range span;
    for_each_live(history, [&](const bucket_scheme& scheme, std::uint32_t) {
        const time_range held = scheme.held();
        if (time < held.since) {
            span = span.intersection({item_time::min(), held.since});
        } else if (!held.contains(time)) {
            span = span.intersection({held.until, item_time::max()});
        } else {
            span = span.intersection(held_in(scheme, scheme.window_at(time)));
        }
    });
    return span;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
