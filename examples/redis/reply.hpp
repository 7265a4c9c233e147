// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_REPLY_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_REPLY_HPP

/// What Redis is told and what it says: commands and replies, as values.

#include <hiredis/hiredis.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redis_timeline {

/// A command, and which of its words are keys: they decide which node is asked.
struct command {
    std::vector<std::string> words;
    std::size_t first_key = 1;
    std::size_t keys = 1;
    /// Of an EVALSHA: the script itself, for a node that does not know it. Must outlive the call.
    std::string_view script{};
};

/// A reply, or a part of one. Cheap to copy: all parts of a reply share it.
class reply {
public:
    explicit reply(redisReply* owned) : whole_(owned, freeReplyObject), at_(owned) {}

    [[nodiscard]] bool is_error() const noexcept { return at_->type == REDIS_REPLY_ERROR; }
    [[nodiscard]] bool is_nil() const noexcept { return at_->type == REDIS_REPLY_NIL; }
    [[nodiscard]] std::int64_t integer() const noexcept { return at_->integer; }
    /// Of a string, a status or an error; else empty. Valid as long as a part of the reply is.
    [[nodiscard]] std::string_view text() const noexcept {
        return at_->str == nullptr ? std::string_view{} : std::string_view{at_->str, at_->len};
    }

    /// Of an array; 0 for what is none.
    [[nodiscard]] std::size_t size() const noexcept {
        return at_->type == REDIS_REPLY_ARRAY ? at_->elements : 0;
    }
    /// Requires `index` < `size()`.
    [[nodiscard]] reply operator[](std::size_t index) const {
        reply part = *this;
        part.at_ = at_->element[index];
        return part;
    }

private:
    std::shared_ptr<redisReply> whole_;
    const redisReply* at_;
};

}  // namespace redis_timeline

#endif
