// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_PROGRESS_HPP
#define SHARDWEAVE_READ_DETAIL_PROGRESS_HPP

/// Tells a source that is slow from one that goes round in circles.

#include <shardweave/core/limits.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Watches the answers of one source that say "more" and bring no row. Legitimate ones (a filter
/// that matches nothing, page after page) come with store cursors that are new each time. A
/// repeated cursor is given a few tries; cursors that cycle are found by Brent's algorithm (BIT 20,
/// 1980) within three times the cycle, in constant memory.
class progress_watch {
public:
    void advanced() noexcept {
        idle_ = 0;
        steps_ = 0;
        power_ = 1;
        marked_ = false;
    }

    /// An answer without rows, and its store cursor. False when the source goes nowhere.
    [[nodiscard]] bool idle(std::string_view previous_cursor, std::string_view cursor) {
        if (cursor.empty() || cursor == previous_cursor) {
            return ++idle_ < limits::idle_answers;
        }
        idle_ = 0;
        if (marked_ && cursor == mark_) {
            return false;
        }
        if (!marked_ || ++steps_ == power_) {
            mark_ = cursor;
            marked_ = true;
            power_ *= 2;
            steps_ = 0;
        }
        return true;
    }

private:
    std::string mark_;
    std::size_t idle_ = 0;
    std::size_t steps_ = 0;
    std::size_t power_ = 1;
    bool marked_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
