// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_SCRIPTS_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_SCRIPTS_HPP

/// The Lua that Redis runs: each is one step that nothing comes between. Each takes one key, so
/// that none is ever caught half on its way to another node.

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster.hpp"

namespace redis_timeline {

/// Writes items to a bucket, unless its fence is against the writer's epoch.
/// ARGV: the epoch, 20 digits; then three for each item: what members of its position begin with,
/// the least beyond them, and its member, or '' to remove it. Answers how many are new.
inline constexpr std::string_view write_script = R"(
local fence = redis.call('ZRANGE', KEYS[1], '-', '(\1', 'BYLEX')[1]
if fence then
  local since, mode = string.sub(fence, 2, 21), string.sub(fence, 22)
  if mode ~= 'o' or ARGV[1] < since then return redis.error_reply('STALE ' .. since) end
end
local added = 0
for i = 2, #ARGV, 3 do
  local member, there = ARGV[i + 2], false
  for _, old in ipairs(redis.call('ZRANGE', KEYS[1], '[' .. ARGV[i], '(' .. ARGV[i + 1], 'BYLEX')) do
    there = true
    if old ~= member then redis.call('ZREM', KEYS[1], old) end
  end
  if member ~= '' then
    redis.call('ZADD', KEYS[1], 0, member)
    if not there then added = added + 1 end
  end
end
return added
)";

/// Puts up a fence, unless a later one is there. ARGV: its member.
inline constexpr std::string_view fence_script = R"(
local old = redis.call('ZRANGE', KEYS[1], '-', '(\1', 'BYLEX')[1]
if old then
  local since = string.sub(old, 2, 21)
  if since > string.sub(ARGV[1], 2, 21) then return redis.error_reply('STALE ' .. since) end
  redis.call('ZREM', KEYS[1], old)
end
redis.call('ZADD', KEYS[1], 0, ARGV[1])
return redis.status_reply('OK')
)";

/// Replaces the stored routing table, if its last 16 bytes, the fingerprint, are the expected ones;
/// '' expects none. ARGV: these, and the new table.
inline constexpr std::string_view swap_script = R"(
local fingerprint = redis.call('GETRANGE', KEYS[1], -16, -1)
if fingerprint ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
)";

/// Runs a script by its hash, which a node tells once. Thread-safe.
class script {
public:
    /// The text must outlive it.
    script(cluster& on, std::string_view text) noexcept : on_(&on), text_(text) {}

    /// For a pipeline. Throws what `cluster::call_node` throws, the first time.
    [[nodiscard]] command with(const std::string& key, std::vector<std::string> arguments,
                               const waiting& wait = {}) {
        command made{{"EVALSHA", hash(key, wait), "1", key}, 3, 1, text_};
        for (std::string& argument : arguments) {
            made.words.push_back(std::move(argument));
        }
        return made;
    }

private:
    [[nodiscard]] std::string hash(const std::string& key, const waiting& wait) {
        {
            const std::scoped_lock lock{mutex_};
            if (!hash_.empty()) {
                return hash_;
            }
        }
        const endpoint node = on_->owner(hash_slot(key), wait);
        const reply got = on_->call_node(node, {"SCRIPT", "LOAD", std::string{text_}}, wait);
        throw_passing(got, node);
        const std::scoped_lock lock{mutex_};
        return hash_ = checked(got, "SCRIPT LOAD").text();
    }

    cluster* on_;
    std::string_view text_;
    std::mutex mutex_;
    std::string hash_;
};

}  // namespace redis_timeline

#endif
