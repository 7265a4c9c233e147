// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_BUCKET_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_BUCKET_HPP

/// A bucket's key, and the command that reads a page of it.

#include <shardweave/read/query.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

#include "member.hpp"
#include "reply.hpp"

namespace redis_timeline {

/// The set of a bucket. What is within the braces is all that Redis hashes: every bucket of a shard
/// is in one slot of the cluster. Throws `std::invalid_argument` for a name that is no hash tag.
[[nodiscard]] inline std::string bucket_key(std::string_view shard,
                                            std::string_view partition_key) {
    if (shard.empty() || shard.find('}') != std::string_view::npos) {
        throw std::invalid_argument{"the shard \"" + std::string{shard} +
                                    "\" can not be a hash tag; name it without }"};
    }
    return "timeline:{" + std::string{shard} + "}:" + std::string{partition_key};
}

/// The command for a page of one bucket.
[[nodiscard]] inline command page_command(const sw::shard_query<position>& q,
                                          const std::string& partition_key) {
    const std::string key = bucket_key(q.shard, partition_key);
    const std::string limit = std::to_string(q.limit);
    std::string greatest = "+";
    std::string least = "[" + std::string{first_item};
    if (q.way == sw::scan::forward) {
        // A position's members begin with its bytes, so all of them are beyond the bytes alone.
        if (q.after) {
            greatest = "(" + first_member(*q.after);
        }
        if (q.until) {
            least = "[" + first_member(*q.until);
        }
        return {{"ZRANGE", key, greatest, least, "BYLEX", "REV", "LIMIT", "0", limit}};
    }
    if (q.after) {
        least = "[" + beyond(first_member(*q.after));
    }
    if (q.until) {
        greatest = "(" + beyond(first_member(*q.until));
    }
    return {{"ZRANGE", key, least, greatest, "BYLEX", "LIMIT", "0", limit}};
}

}  // namespace redis_timeline

#endif
