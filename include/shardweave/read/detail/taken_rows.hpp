// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_TAKEN_ROWS_HPP
#define SHARDWEAVE_READ_DETAIL_TAKEN_ROWS_HPP

/// Where a merge puts its rows.

#include <shardweave/read/detail/shares.hpp>

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Appends rows to a page, one or many at a time, and counts them for their source.
template <class Item>
class taken_rows {
public:
    taken_rows(std::vector<Item>& page, source_shares& shares) noexcept
        : page_(&page), shares_(&shares) {}

    void operator()(std::size_t lane, Item&& item) const {
        shares_->took(lane, 1);
        page_->push_back(std::move(item));
    }
    void operator()(std::size_t lane, Item* first, Item* last) const {
        shares_->took(lane, static_cast<std::size_t>(last - first));
        page_->insert(page_->end(), std::move_iterator{first}, std::move_iterator{last});
    }

private:
    std::vector<Item>* page_;
    source_shares* shares_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
