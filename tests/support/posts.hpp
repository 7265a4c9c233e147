// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_POSTS_HPP
#define SHARDWEAVE_TESTS_SUPPORT_POSTS_HPP

/// Posts, newest first, for tests that need no more of an item.

#include <shardweave/read/order.hpp>
#include <shardweave/read/query.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace test_support {

struct post {
    std::int64_t created_at = 0;
    std::string id{};

    friend bool operator==(const post&, const post&) = default;
};

inline const auto newest =
    shardweave::newest_first(&post::created_at, shardweave::unique(&post::id));
using post_order = std::remove_const_t<decltype(newest)>;
using post_query = shardweave::shard_query<post_order::position_type>;

}  // namespace test_support

#endif
