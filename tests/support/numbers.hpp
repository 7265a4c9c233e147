// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_NUMBERS_HPP
#define SHARDWEAVE_TESTS_SUPPORT_NUMBERS_HPP

/// Numbers as items: what is in a list, and what is missing, can be seen.

#include <shardweave/place/router.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/query.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "support/memory_store.hpp"

namespace test_support {

inline const auto numbers = shardweave::oldest_first<int>(shardweave::unique(std::identity{}));
using number_order = std::remove_const_t<decltype(numbers)>;
using number_query = shardweave::shard_query<number_order::position_type>;
using ints = std::vector<int>;

/// The numbers from 0 up under the key "feed", spread evenly over shards S0, S1, ….
struct spread_numbers {
    spread_numbers(std::uint32_t sources, int count) : router{spread("feed", sources)} {
        const auto targets = router.pin()->targets("feed");
        for (int i = 0; i != count; ++i) {
            const shardweave::target& at = targets[static_cast<std::size_t>(i) % targets.size()];
            store.insert(at.shard, at.partition_key.str(), i);
        }
    }

    shardweave::router router;
    memory_store<number_order> store{numbers};
};

}  // namespace test_support

#endif
