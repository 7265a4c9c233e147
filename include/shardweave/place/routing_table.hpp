// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_ROUTING_TABLE_HPP
#define SHARDWEAVE_PLACE_ROUTING_TABLE_HPP

/// Where everything is: schemes, key format, shard map and epoch as one immutable value.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/live_keys.hpp>
#include <shardweave/place/key_format.hpp>
#include <shardweave/place/placement.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_history.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/place/shard_map.hpp>
#include <shardweave/place/time_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <ranges>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// Pure functions of one immutable value: two processes with the same table place alike.
/// Safe to share between threads.
class routing_table {
public:
    struct options {
        shardweave::epoch epoch{1};
        key_format format{};
    };

    routing_table(scheme_table schemes, shard_map shards)
        : routing_table(std::move(schemes), std::move(shards), options{}) {}

    /// Throws `errc::ambiguous_key` when a key with its own scheme reads as another key's bucket,
    /// and `errc::invalid_key_format` when a scheme has time windows and the format can not hold
    /// them.
    routing_table(scheme_table schemes, shard_map shards, options with)
        : schemes_(std::move(schemes)), shards_(std::move(shards)), options_(std::move(with)) {
        check_windows(schemes_.ordinary());
        for (const auto& [key, history] : schemes_.exceptional()) {
            options_.format.check(key);
            check_windows(history);
        }
    }

    /// The scheme that places a key's new items. Throws `errc::ambiguous_key` or
    /// `errc::limit_exceeded` for a bad key, and `errc::time_required` when that scheme has time
    /// windows or a `since`.
    [[nodiscard]] const bucket_scheme& writer(std::string_view key) const& {
        options_.format.check(key);
        const bucket_scheme& scheme = schemes_.history(key).writer();
        if (scheme.timed()) {
            throw failure{errc::time_required,
                          detail::concat("the key ", detail::quoted(key),
                                         " is split by time; give the item's, as in "
                                         "place(key, id, created_at)")};
        }
        return scheme;
    }
    const bucket_scheme& writer(std::string_view key) const&& = delete;

    /// The scheme that places a key's items of this time: the newest live one that reaches back to
    /// it. Throws `errc::ambiguous_key` or `errc::limit_exceeded` for a bad key, and
    /// `errc::time_out_of_range` for an item that is older than every live scheme.
    [[nodiscard]] const bucket_scheme& writer(std::string_view key, item_time at) const& {
        options_.format.check(key);
        const bucket_scheme* scheme = schemes_.history(key).writer_at(at);
        if (scheme == nullptr) {
            throw failure{errc::time_out_of_range,
                          detail::concat("an item of the key ", detail::quoted(key),
                                         " is older than the since of every live scheme; nothing "
                                         "is kept from then")};
        }
        return *scheme;
    }
    const bucket_scheme& writer(std::string_view key, item_time at) const&& = delete;

    /// Where a new item is written. With a random scheme each call draws anew. Throws what `writer`
    /// throws.
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id) const {
        const bucket_scheme& scheme = writer(key);
        return at(key, scheme, scheme.select(id.view()));
    }
    /// The same, drawing from the caller's generator.
    template <std::uniform_random_bit_generator Generator>
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id,
                                  Generator& generator) const {
        const bucket_scheme& scheme = writer(key);
        return at(key, scheme, scheme.select(id.view(), generator));
    }

    /// Where an item of this time is written: each has one place, however late it comes. Throws
    /// what `writer` throws, and `errc::limit_exceeded` for a window outside the years 0000 to
    /// 9999.
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id, item_time time) const {
        const bucket_scheme& scheme = writer(key, time);
        return at(key, scheme, scheme.select(id.view()), scheme.window_at(time));
    }
    template <std::uniform_random_bit_generator Generator>
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id, item_time time,
                                  Generator& generator) const {
        const bucket_scheme& scheme = writer(key, time);
        return at(key, scheme, scheme.select(id.view(), generator), scheme.window_at(time));
    }

    /// Every place where an existing item may be whose time is in the range, newest scheme and
    /// newest window first, each once: one a live scheme (and window) that calculates, every bucket
    /// of one that draws at random. Throws as `targets` does.
    [[nodiscard]] std::vector<placement> candidates(std::string_view key, const id_bytes& id,
                                                    const time_range& range = {}) const {
        options_.format.check(key);
        std::vector<placement> found;
        const auto choose = [&](const bucket_scheme& scheme) {
            return scheme.repeatable() ? detail::bucket_span{scheme.locate(id.view()).value(), 1}
                                       : detail::bucket_span{0, scheme.buckets()};
        };
        detail::for_each_key(key, schemes_.history(key), options_.format, range, choose,
                             [&](const detail::live_key& each) {
                                 found.push_back(at(key, *each.scheme, each.bucket, each.window));
                             });
        return found;
    }
    [[nodiscard]] std::vector<placement> candidates(std::string_view key, const id_bytes& id,
                                                    item_time time) const {
        return candidates(key, id, static_cast<time_range>(time));
    }

    /// Every partition key to read for all items of the key whose time is in the range, newest
    /// scheme and newest window first, each once. Schemes that write the same texts share them: 8
    /// grown to 16 is 16 targets.
    ///
    /// A range never leaves out an item because of a newer scheme's `since`: older schemes are
    /// asked until they are retired. Throws `errc::time_required` for a range without an end when a
    /// live scheme has windows, and `errc::limit_exceeded` for more than `limits::sources` windowed
    /// partition keys.
    [[nodiscard]] std::vector<target> targets(std::string_view key,
                                              const time_range& range = {}) const {
        options_.format.check(key);
        const scheme_history& history = schemes_.history(key);
        std::vector<target> found;
        const auto every = [](const bucket_scheme& scheme) {
            return detail::bucket_span{0, scheme.buckets()};
        };
        detail::for_each_key(
            key, history, options_.format, range, every, [&](const detail::live_key& each) {
                placement to = at(key, *each.scheme, each.bucket, each.window);
                found.push_back({std::move(to.partition_key), std::move(to.shard), to.slot,
                                 to.bucket, to.scheme, each.rank,
                                 detail::times_of(each, history, options_.format)});
            });
        return found;
    }

    /// The widest range around the time over which `targets` are the same: what lets a read walk
    /// time, one window after another. O(live schemes).
    [[nodiscard]] time_range span_at(std::string_view key, item_time time) const {
        options_.format.check(key);
        return detail::span_around(time, schemes_.history(key));
    }

    /// The places of a range of (key, id) pairs, or of (key, id, time) tuples, by shard in the
    /// map's order: one batch a shard that gets anything.
    template <std::ranges::input_range Range>
    [[nodiscard]] std::vector<shard_batch> group(Range&& items) const {
        std::vector<shard_batch> by_number(shards_.names().size());
        std::size_t index = 0;
        for (const auto& item : items) {
            placement each = place_of(item);
            by_number[shards_.owner_number(each.slot)].entries.push_back(
                {index++, std::move(each)});
        }
        std::vector<shard_batch> batches;
        for (std::size_t i = 0; i != by_number.size(); ++i) {
            if (!by_number[i].entries.empty()) {
                by_number[i].shard = shards_.names()[i];
                batches.push_back(std::move(by_number[i]));
            }
        }
        return batches;
    }

    [[nodiscard]] shardweave::epoch epoch() const noexcept { return options_.epoch; }
    [[nodiscard]] const key_format& format() const& noexcept { return options_.format; }
    [[nodiscard]] key_format format() && { return std::move(options_.format); }
    [[nodiscard]] const scheme_table& schemes() const& noexcept { return schemes_; }
    [[nodiscard]] scheme_table schemes() && { return std::move(schemes_); }
    [[nodiscard]] const shard_map& shards() const& noexcept { return shards_; }
    [[nodiscard]] shard_map shards() && { return std::move(shards_); }

    /// The table's successor with other schemes: the next epoch (`errc::limit_exceeded` after 2^64
    /// − 1).
    [[nodiscard]] routing_table with_schemes(scheme_table schemes) const {
        return {std::move(schemes), shards_, next_options()};
    }
    /// The table's successor with another map: the next epoch.
    [[nodiscard]] routing_table with_shards(shard_map shards) const {
        return {schemes_, std::move(shards), next_options()};
    }

    /// The same table at the first epoch of the next incarnation, for one that comes from a backup:
    /// above its own epoch and the highest that is known to have been handed out, and so above all
    /// that were handed out since the backup (`errc::limit_exceeded` after incarnation 2^24 − 1).
    [[nodiscard]] routing_table restored(shardweave::epoch highest_seen = {}) const {
        const std::uint64_t next =
            std::uint64_t{incarnation(std::max(options_.epoch, highest_seen))} + 1;
        if (next >> 24U != 0) {
            throw failure{errc::limit_exceeded, "there is no incarnation after the last one"};
        }
        return {schemes_, shards_, {shardweave::epoch{next << 40U}, options_.format}};
    }

    friend bool operator==(const routing_table& a, const routing_table& b) noexcept {
        return a.epoch() == b.epoch() && a.format() == b.format() && a.schemes_ == b.schemes_ &&
               a.shards_ == b.shards_;
    }

private:
    [[nodiscard]] options next_options() const {
        // Wrapped around to 0, it would be older than every table there is.
        if (options_.epoch.value() == ~std::uint64_t{0}) {
            throw failure{errc::limit_exceeded, "there is no epoch after the last one"};
        }
        return {shardweave::epoch{options_.epoch.value() + 1}, options_.format};
    }

    void check_windows(const scheme_history& history) const {
        const auto windowed = [](const scheme_history::entry& each) {
            return each.scheme.width().count() != 0;
        };
        if (!options_.format.holds_windows() && std::ranges::any_of(history.entries(), windowed)) {
            throw failure{errc::invalid_key_format,
                          detail::concat("the key format ", detail::quoted(options_.format.text()),
                                         " can not hold time windows, which begin with @; put "
                                         "another character after {bucket}, or {key} in front")};
        }
    }

    template <class Item>
    [[nodiscard]] placement place_of(const Item& item) const {
        if constexpr (requires { requires std::tuple_size<Item>::value == 3; }) {
            const auto& [key, id, time] = item;
            return place(key, id, time);
        } else {
            const auto& [key, id] = item;
            return place(key, id);
        }
    }

    [[nodiscard]] placement at(std::string_view key, const bucket_scheme& scheme,
                               bucket_index bucket,
                               std::optional<item_time> window = std::nullopt) const {
        shardweave::partition_key text =
            options_.format.render(key, bucket, scheme.buckets(), window);
        const slot_index slot = shards_.slot_of(text.str());
        return {std::move(text),  shards_.owner(slot), slot,          bucket,
                scheme.version(), scheme.how(),        options_.epoch};
    }

    scheme_table schemes_;
    shard_map shards_;
    options options_;
};

}  // namespace v1
}  // namespace shardweave

#endif
