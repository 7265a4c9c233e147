// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_STRETCHES_HPP
#define SHARDWEAVE_READ_DETAIL_STRETCHES_HPP

/// Walks a range of time, as far as a read needs it.

#include <shardweave/place/detail/live_keys.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/time_range.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Cuts a range into stretches at the ends of windows and at `since` bounds, from the end that a
/// read starts at. A read that has to go on takes the next window, then twice as many each time: a
/// sparse history costs few rounds, and a dense one few sources.
class stretches {
public:
    /// `rising`: oldest first. The table and the keys must outlive it.
    stretches(const routing_table& table, const std::vector<std::string>& keys,
              const time_range& all, bool rising)
        : table_(&table), keys_(&keys), rest_(all), rising_(rising) {}

    /// No cuts: all times in one.
    [[nodiscard]] static stretches
    whole(const routing_table& table, const std::vector<std::string>& keys, const time_range& all) {
        stretches one{table, keys, all, true};
        one.uncut_ = true;
        return one;
    }

    [[nodiscard]] bool done() const noexcept { return done_; }

    /// The next stretch: one window, or more with so many sources at most. Requires that it is not
    /// done.
    [[nodiscard]] time_range take(std::size_t most) {
        time_range taken = rest_;
        if (!uncut_ && !rest_.empty()) {
            taken = one();
            std::size_t sources = sources_of(taken);
            rest_after(taken);
            for (std::size_t i = 1; i < windows_ && !done_; ++i) {
                const time_range more = one();
                sources += sources_of(more);
                if (sources > std::min(most, most_sources)) {
                    break;
                }
                taken = taken.hull(more);
                rest_after(more);
            }
            return taken;
        }
        done_ = true;
        return taken;
    }

    /// The stretch was enough, or was not.
    void enough() noexcept { windows_ /= 2; }
    void too_little() noexcept { windows_ = std::max<std::size_t>(windows_ * 2, 1); }

private:
    /// More are never opened at a time, unless one window has them.
    static constexpr std::size_t most_sources = 512;

    /// From the near end of the rest up to where some key's partition keys change.
    [[nodiscard]] time_range one() const {
        const item_time near = rising_ || rest_.open_above()
                                   ? rising_ ? rest_.since : item_time::max()
                                   : item_time{rest_.until.sys() - tick};
        time_range span;
        for (const std::string& key : *keys_) {
            span = span.intersection(table_->span_at(key, near));
        }
        return span.intersection(rest_);
    }

    /// At most: keys may share some.
    [[nodiscard]] std::size_t sources_of(const time_range& span) const {
        std::size_t count = 0;
        for (const std::string& key : *keys_) {
            for_each_live(table_->schemes().history(key),
                          [&](const bucket_scheme& scheme, std::uint32_t) {
                              count += span.overlaps(scheme.held()) ? scheme.buckets() : 0;
                          });
        }
        return count;
    }

    void rest_after(const time_range& taken) noexcept {
        if (rising_) {
            rest_.since = taken.until;
            done_ = taken.open_above() || rest_.empty();
        } else {
            rest_.until = taken.since;
            done_ = taken.since == item_time::min() || rest_.empty();
        }
    }

    static constexpr std::chrono::milliseconds tick{1};

    const routing_table* table_;
    const std::vector<std::string>* keys_;
    time_range rest_;
    /// To take next; 0 is one, and one more after it.
    std::size_t windows_ = 0;
    bool rising_;
    bool uncut_ = false;
    bool done_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
