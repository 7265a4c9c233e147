// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_SHARD_GROUPS_HPP
#define SHARDWEAVE_PLACE_SHARD_GROUPS_HPP

/// A large batch of items by shard, in memory that is used again for the next batch.

#include <shardweave/core/detail/prefetch.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/prepared_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// The items of a batch that go to one shard.
struct shard_group {
    /// The shard's place in the map's `names()`.
    std::uint32_t shard_number = 0;
    /// The items' places in the batch, ascending.
    std::span<const std::uint32_t> items;
};

/// Groups batches by shard, one after another: the way to write a million items. Where
/// `routing_table::group` answers with texts, this answers with numbers, in a counting sort whose
/// memory is kept. One thread at a time; what it answers is valid until the next `assign`.
class shard_groups {
public:
    shard_groups() = default;
    // The groups view its memory.
    shard_groups(const shard_groups&) = delete;
    shard_groups& operator=(const shard_groups&) = delete;

    /// Takes (key, id) pairs or tuples. O(items + shards); nothing is allocated for a batch that is
    /// no larger than one before, over no more shards. Keys that are split by time have no routes:
    /// `routing_table::group` takes their times. Throws what `route_of` throws, and
    /// `errc::limit_exceeded` for 2^32 items or more; then there are no groups.
    template <std::ranges::random_access_range Items>
        requires std::ranges::sized_range<Items> &&
                 (std::tuple_size<
                      std::remove_cvref_t<std::ranges::range_reference_t<Items>>>::value == 2)
    void assign(const prepared_table& table, Items&& items) {
        groups_.clear();
        size_ = 0;
        const std::size_t count = std::ranges::size(items);
        if (count > std::numeric_limits<std::uint32_t>::max()) {
            throw failure{
                errc::limit_exceeded,
                detail::concat("a batch of ", count, " items; group fewer than 2^32 at a time")};
        }
        starts_.assign(table.table().shards().names().size() + 1, 0);
        groups_.reserve(starts_.size());
        if (routes_.size() < count) {
            routes_.resize(count);
            order_.resize(count);
        }
        route_all(table, std::ranges::begin(items), count);
        sort(count);
        size_ = count;
    }

    /// One for each shard that gets anything, in the map's order.
    [[nodiscard]] std::span<const shard_group> groups() const noexcept { return groups_; }

    /// Where an item of the batch goes. Requires `item` < `size()`.
    [[nodiscard]] const route& operator[](std::size_t item) const noexcept { return routes_[item]; }

    /// Of the batch.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    template <class Iterator>
    void route_all(const prepared_table& table, Iterator begin, std::size_t count) {
        const auto item = [&](std::size_t at) -> decltype(auto) {
            return begin[static_cast<std::iter_difference_t<Iterator>>(at)];
        };
        for (std::size_t at = 0; at != count; ++at) {
            // The text of a key that comes soon; it may lie anywhere.
            const auto& soon = item(std::min(at + 8, count - 1));
            detail::prefetch(std::string_view{std::get<0>(soon)}.data());
            const auto& [key, id] = item(at);
            const route to = table.route_of(key, id);
            routes_[at] = to;
            ++starts_[to.shard_number + std::size_t{1}];
        }
    }

    /// `starts_[shard + 1]` counts the shard's items, at first.
    void sort(std::size_t count) {
        for (std::size_t shard = 1; shard != starts_.size(); ++shard) {
            const std::uint32_t items = starts_[shard];
            if (items != 0) {
                groups_.push_back({static_cast<std::uint32_t>(shard - 1),
                                   std::span{order_}.subspan(starts_[shard - 1], items)});
            }
            starts_[shard] += starts_[shard - 1];
        }
        for (std::size_t item = 0; item != count; ++item) {
            order_[starts_[routes_[item].shard_number]++] = static_cast<std::uint32_t>(item);
        }
    }

    /// As long as the longest batch so far, like `order_`.
    std::vector<route> routes_;
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> starts_;
    std::vector<shard_group> groups_;
    std::size_t size_ = 0;
};

}  // namespace v1
}  // namespace shardweave

#endif
