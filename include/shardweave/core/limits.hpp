// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_LIMITS_HPP
#define SHARDWEAVE_CORE_LIMITS_HPP

/// Every size that the library refuses to exceed, with its reason, in one place.

#include <cstddef>
#include <cstdint>

namespace shardweave {
inline namespace v1 {

/// Named limits. Exceeding one is `errc::limit_exceeded`, or the more specific code of the part.
struct limits {
    /// Bytes of a key. The narrowest store that we know (DynamoDB) takes 2,048 bytes of partition
    /// key, and the suffix needs a few of them.
    static constexpr std::size_t key_bytes = 1'900;
    /// Bytes of a key format, such as `{key}:bucket-{bucket}`.
    static constexpr std::size_t key_format_bytes = 128;
    /// Bytes of the local part of a routed id. With the 40 characters that follow at most, it fits
    /// the narrowest sort key that we know (DynamoDB: 1,024 bytes).
    static constexpr std::size_t local_id_bytes = 984;
    /// Buckets of one scheme. A read asks each of them, so more is an outage and not a design. Part
    /// of the data contract: a key that ends like bucket 4096 is a plain key.
    static constexpr std::uint32_t buckets = 4'096;
    /// Minutes of a time window: 100 years of 365 days, beyond which a window splits nothing.
    static constexpr std::uint32_t window_minutes = 52'560'000;
    /// Bucket schemes in one history, retired ones included.
    static constexpr std::size_t schemes_per_key = 64;
    /// Keys with a history of their own. Ordinary keys stay under the default scheme.
    static constexpr std::size_t keys_with_schemes = 1'000'000;
    /// Bytes of the registered name of a selector.
    static constexpr std::size_t selector_name_bytes = 64;
    /// Slots of a shard map; slot numbers stay below 2^20 so that a map is at most 4 MiB.
    static constexpr std::uint32_t slots = 1U << 20U;
    /// Shards of a shard map: one slot each at the very most.
    static constexpr std::size_t shards = 65'536;
    /// Bytes of a shard's name.
    static constexpr std::size_t shard_name_bytes = 255;
    /// Sources of one fan-out. The merge is measured up to here.
    static constexpr std::size_t sources = 4'096;
    /// Items of one page.
    static constexpr std::size_t page_items = 100'000;
    /// Rows that one read asks its sources for at a time: what may be buffered, in rows.
    static constexpr std::size_t buffered_rows = 4'000'000;
    /// Characters of a page token: what fits in a URL that every proxy takes, and in an 8 KiB
    /// header.
    static constexpr std::size_t token_chars = 8'000;
    /// Bytes of all store cursors that one page token may hold, which are far fewer within it: 64
    /// for each of the most sources. So a hostile token costs no more memory than that.
    static constexpr std::size_t token_cursor_bytes = 64 * sources;
    /// Answers of one source in a row that bring neither a row nor a new store cursor.
    static constexpr std::size_t idle_answers = 8;
};

}  // namespace v1
}  // namespace shardweave

#endif
