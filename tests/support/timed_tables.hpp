// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_TIMED_TABLES_HPP
#define SHARDWEAVE_TESTS_SUPPORT_TIMED_TABLES_HPP

/// Generated routing tables whose schemes have time windows and `since` bounds.

#include <shardweave/place/routing_table.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "support/generate.hpp"
#include "support/tables.hpp"

namespace test_support {

/// A time within a few days, often on the edge of a window; or, rarely, any time there is.
inline shardweave::item_time any_time(generator& any) {
    using namespace std::chrono;
    if (any.chance(3)) {
        return sys_time<milliseconds>{milliseconds{static_cast<std::int64_t>(any())}};
    }
    const auto minute = sys_days{year{2026} / November / 30} + minutes{any.below(6U * 1440U)};
    const auto edge = any.chance(30) ? floor<days>(minute) : floor<hours>(minute);
    const auto start = any.chance(50) ? time_point_cast<milliseconds>(edge)
                                      : time_point_cast<milliseconds>(minute);
    return start + milliseconds{static_cast<int>(any.below(5U)) - 2};
}

inline shardweave::bucket_scheme any_timed_scheme(generator& any,
                                                  std::optional<shardweave::item_time> since,
                                                  std::uint32_t most_buckets) {
    static constexpr int widths[] = {1, 7, 60, 60, 360, 1440, 1440, 10'080};
    const shardweave::bucket_scheme plain = any_scheme(any, {}, most_buckets);
    if (!since) {
        return plain;
    }
    const shardweave::scheme_options options{{}, plain.seed(), since};
    const auto scheme = plain.how() == shardweave::selection::custom
                            ? shardweave::selected_by(java_hash{}, plain.buckets(), options)
                            : shardweave::bucket_scheme{plain.how(), plain.buckets(), options};
    return any.chance(30)
               ? scheme
               : shardweave::time_windowed(std::chrono::minutes{any.pick(widths)}, scheme);
}

/// One to four versions, whose `since` rises or is not given; some retired.
inline shardweave::scheme_history any_timed_history(generator& any, std::uint32_t most_buckets) {
    std::optional<shardweave::item_time> since;
    const auto next = [&] {
        shardweave::item_time start = any_time(any);
        while (!shardweave::detail::written_times.contains(start)) {
            start = any_time(any);
        }
        since =
            any.chance(25) ? std::nullopt : std::optional{since ? std::max(*since, start) : start};
        return any_timed_scheme(any, since, most_buckets);
    };
    shardweave::scheme_history history{next()};
    for (unsigned more = any.below(4U); more != 0; --more) {
        history = history.grown(next());
    }
    const shardweave::scheme_history grown = history;
    for (const auto& [scheme, state] : grown.entries()) {
        if (state == shardweave::scheme_state::readable && any.chance(30)) {
            history = history.retired(scheme.version());
        }
    }
    return history;
}

/// Any valid table with such schemes; keys that have their own are in `schemes().exceptional()`.
inline shardweave::routing_table any_timed_table(generator& any, std::uint32_t most_buckets = 12) {
    shardweave::key_format format = any_format(any);
    while (!format.holds_windows()) {
        format = any_format(any);
    }
    shardweave::scheme_table schemes{any_timed_history(any, most_buckets)};
    for (unsigned i = any.below(4U); i != 0; --i) {
        const std::string key = any_key(any);
        try {
            format.check(key);
            schemes = std::move(schemes).with(key, any_timed_history(any, most_buckets));
        } catch (const shardweave::failure&) {
            // An ambiguous key, or one that has its own already.
        }
    }
    return {std::move(schemes), any_map(any), {shardweave::epoch{any.magnitude()}, format}};
}

}  // namespace test_support

#endif
