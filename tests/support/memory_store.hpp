// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_MEMORY_STORE_HPP
#define SHARDWEAVE_TESTS_SUPPORT_MEMORY_STORE_HPP

/// Stores for the tests of reads: one that keeps rows in memory, and one that plays a script.

#include <shardweave/core/types.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test_support {

/// A table in which bucket i of the key is on shard Si, alone.
inline shardweave::routing_table spread(std::string_view key, std::uint32_t buckets) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i != buckets; ++i) {
        names.push_back("S" + std::to_string(i));
    }
    const shardweave::key_format format;
    auto map = shardweave::shard_map::even(names);
    const auto slot = [&](std::uint32_t i) {
        return map.slot_of(format.render(key, shardweave::bucket_index{i}, buckets).str());
    };
    for (std::uint32_t i = 0; i != buckets; ++i) {
        map = map.with_owner(slot(i), names[i]);
    }
    for (std::uint32_t i = 0; i != buckets; ++i) {
        if (map.owner(slot(i)) != names[i]) {
            throw std::logic_error{"two buckets share a slot; choose another key"};
        }
    }
    return {shardweave::scheme_table{shardweave::calculated(1)}.with(
                key, shardweave::calculated(buckets)),
            std::move(map)};
}

/// Rows by shard and partition key, answered as the queries ask. Questions may come concurrently.
template <class Order>
class memory_store {
public:
    using item_type = typename Order::item_type;
    using query = shardweave::shard_query<typename Order::position_type>;

    explicit memory_store(Order order) : order_(std::move(order)) {}

    void insert(const std::string& shard, const std::string& partition_key, item_type row) {
        rows_[{shard, partition_key}].push_back(std::move(row));
    }

    /// Puts the item of this id where the table places it.
    void insert(const shardweave::routing_table& table, std::string_view key, std::string_view id,
                item_type row) {
        const shardweave::placement at = table.place(key, id);
        insert(at.shard, at.partition_key, std::move(row));
    }

    /// Moves every row to the shard that owns its partition key now.
    void follow(const shardweave::routing_table& table) {
        std::map<place, std::vector<item_type>> moved;
        for (auto& [at, rows] : rows_) {
            const std::string& owner = table.shards().owner(table.shards().slot_of(at.second));
            auto& there = moved[{owner, at.second}];
            there.insert(there.end(), rows.begin(), rows.end());
        }
        rows_ = std::move(moved);
    }

    [[nodiscard]] shardweave::shard_page<item_type> answer(const query& asked) const {
        const bool forward = asked.way == shardweave::scan::forward;
        const auto before = [&](const auto& a, const auto& b) {
            return forward ? order_.compare(a, b) < 0 : order_.compare(b, a) < 0;
        };
        shardweave::shard_page<item_type> page;
        for (const std::string& key : asked.partition_keys) {
            const auto at = rows_.find({asked.shard, key});
            for (const item_type& row : at == rows_.end() ? std::vector<item_type>{} : at->second) {
                if (!(asked.after && !before(*asked.after, row)) &&
                    !(asked.until && before(*asked.until, row))) {
                    page.items.push_back(row);
                }
            }
        }
        std::sort(page.items.begin(), page.items.end(), before);
        page.more = page.items.size() > asked.limit;
        page.items.erase(page.items.begin() +
                             static_cast<std::ptrdiff_t>(std::min(asked.limit, page.items.size())),
                         page.items.end());
        return page;
    }

private:
    using place = std::pair<std::string, std::string>;
    Order order_;
    std::map<place, std::vector<item_type>> rows_;
};

/// Each shard's answers, one after another; an answer may throw.
template <class Item>
class script {
public:
    using page = shardweave::shard_page<Item>;

    script& then(const std::string& shard, page answer) {
        return then_call(shard, [answer = std::move(answer)] { return answer; });
    }
    script& then_call(const std::string& shard, std::function<page()> answer) {
        answers_[shard].push_back(std::move(answer));
        return *this;
    }

    /// Throws `std::logic_error` when the script has no further answer of the shard.
    template <class Position>
    page answer(const shardweave::shard_query<Position>& asked) {
        auto& left = answers_[asked.shard];
        if (left.empty()) {
            throw std::logic_error{"no more answers of " + asked.shard};
        }
        const auto next = std::move(left.front());
        left.pop_front();
        ++calls_;
        return next();
    }

    [[nodiscard]] std::size_t calls() const { return calls_; }

private:
    std::map<std::string, std::deque<std::function<page()>>> answers_;
    std::size_t calls_ = 0;
};

}  // namespace test_support

#endif
