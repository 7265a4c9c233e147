// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_PURSE_HPP
#define SHARDWEAVE_READ_DETAIL_PURSE_HPP

/// Pays for queries out of a page's budget.

#include <shardweave/read/asking.hpp>

#include <algorithm>
#include <cstddef>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A round is paid for whole, or not at all: with some of its answers only, nothing more is
/// certain.
class purse {
public:
    explicit purse(const read_budget& budget) noexcept : left_(budget) {}

    /// The most rows that each of so many queries may be asked for; 0, and spent, when they can not
    /// be paid for.
    [[nodiscard]] std::size_t rows_each(std::size_t queries) noexcept {
        spent_ = spent_ || left_.requests < queries || left_.rows < queries;
        return spent_ ? 0 : left_.rows / queries;
    }
    void pay(std::size_t rows) noexcept {
        left_.rows -= std::min(left_.rows, rows);
        --left_.requests;
    }

    [[nodiscard]] bool spent() const noexcept { return spent_; }
    [[nodiscard]] const read_budget& left() const noexcept { return left_; }

private:
    read_budget left_;
    bool spent_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
