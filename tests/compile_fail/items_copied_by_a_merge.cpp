// expect: use of deleted function|call to deleted|call to implicitly-deleted
#include <shardweave/read/merge.hpp>
#include <shardweave/read/order.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace sw = shardweave;
using item = std::unique_ptr<int>;

// Items are moved, so those that can not be copied will do; and a merge of them is not copied
// either.
int main() {
    const auto order = sw::oldest_first<item>(sw::unique([](const item& each) { return *each; }));
    sw::merge<item, decltype(order)> merge{order, sw::scan::forward, 1};
    std::vector<item> rows;
    rows.push_back(std::make_unique<int>(1));
    static_cast<void>(merge.feed(0, std::move(rows)));
#ifndef COMPILE_OK
    auto copy = merge;
#else
    auto copy = std::move(merge);
#endif
    copy.settle();
    return *copy.take();
}
