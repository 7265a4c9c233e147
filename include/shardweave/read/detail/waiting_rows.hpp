// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_WAITING_ROWS_HPP
#define SHARDWEAVE_READ_DETAIL_WAITING_ROWS_HPP

/// Looks through sorted rows in order without taking them.

#include <algorithm>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A heap of sorted ranges by their first row. `before` compares two rows.
template <class Item, class Before>
class waiting_rows {
public:
    explicit waiting_rows(Before before) : before_(std::move(before)) {}

    void add(const Item* next, const Item* end) {
        if (next != end) {
            heap_.push_back({next, end});
            std::push_heap(heap_.begin(), heap_.end(), later());
        }
    }

    /// The next row; null after the last one.
    [[nodiscard]] const Item* next() {
        if (heap_.empty()) {
            return nullptr;
        }
        std::pop_heap(heap_.begin(), heap_.end(), later());
        range& first = heap_.back();
        const Item* row = first.next++;
        if (first.next == first.end) {
            heap_.pop_back();
        } else {
            std::push_heap(heap_.begin(), heap_.end(), later());
        }
        return row;
    }

private:
    struct range {
        const Item* next;
        const Item* end;
    };

    [[nodiscard]] auto later() const {
        return [this](const range& a, const range& b) { return before_(*b.next, *a.next); };
    }

    Before before_;
    std::vector<range> heap_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
