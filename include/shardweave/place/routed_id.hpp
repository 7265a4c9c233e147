// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_ROUTED_ID_HPP
#define SHARDWEAVE_PLACE_ROUTED_ID_HPP

/// Item ids by which an item is found alone, without its key.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/detail/base64url.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/placement.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/time_range.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

// The text, version 1: the local part as it is, "~", and base64url, without padding, of
//   1 · key hash (8 bytes, big-endian) · scheme version (varint) · bucket (varint)
//   the low 20 bits of the partition key's hash (3 bytes, big-endian)
// Version 2, for an id with a time, says 2, and adds the milliseconds since 1970-01-01T00:00Z as a
// varint, zigzag: 0, -1, 1, -2, …

namespace shardweave {
inline namespace v1 {

/// An item's id that remembers where the item was put: which key by its hash, and which bucket
/// under which scheme version. It names no shard, so it stays good when slots move; `locate` says
/// where the item is now. Selectors hash the local part alone.
///
/// Ids that come from a client may be forged: each field may be anything. Then the item that is
/// found, if any, is another one, so check what it says of itself (its key, its owner). The hash of
/// a key that can be guessed can be, too.
class routed_id {
public:
    /// What an id carries besides its local part.
    struct origin {
        /// XXH3-64 of the key, seed 0.
        std::uint64_t key_hash = 0;
        scheme_version scheme{};
        bucket_index bucket{};
        /// The low 20 bits of the partition key's hash: its slot, however many slots there are.
        std::uint32_t slot_bits = 0;
        /// The item's time, if it was placed with one: schemes with time windows need it.
        std::optional<item_time> time{};

        friend constexpr bool operator==(const origin&, const origin&) noexcept = default;
    };
    static constexpr std::uint32_t slot_mask = 0xfffff;
    static_assert(limits::slots - 1 <= slot_mask);
    /// Those of a hash, or of a partition key's text.
    [[nodiscard]] static std::uint32_t slot_bits_of(std::uint64_t hash) noexcept {
        return static_cast<std::uint32_t>(hash & slot_mask);
    }
    [[nodiscard]] static std::uint32_t slot_bits_of(std::string_view partition_key_text) noexcept {
        return slot_bits_of(stable_hash64(partition_key_text));
    }

    /// Throws `errc::limit_exceeded` for a local part over `limits::local_id_bytes`, a version of
    /// 0, a bucket that no scheme has, or more than 20 bits of slot.
    routed_id(std::string local, const origin& from) : local_(std::move(local)), from_(from) {
        if (!possible(local_, from_)) {
            throw failure{errc::limit_exceeded,
                          detail::concat("an item id of ", local_.size(), " bytes, at most ",
                                         limits::local_id_bytes, ", under scheme version ",
                                         from_.scheme.value(), " in bucket ", from_.bucket.value(),
                                         "; versions start above 0")};
        }
    }

    /// The application's own id: any bytes.
    [[nodiscard]] const std::string& local() const& noexcept { return local_; }
    [[nodiscard]] std::string local() && noexcept { return std::move(local_); }
    [[nodiscard]] const origin& from() const noexcept { return from_; }

    /// True for the key that the item was placed under, and by chance for one in 2^64 others.
    [[nodiscard]] bool of_key(std::string_view key) const noexcept {
        return stable_hash64(key) == from_.key_hash;
    }

    /// `<local>~<19 to 39 characters>`: the last `~` separates. One text for each id.
    [[nodiscard]] std::string text() const {
        std::string packed;
        byte_writer out{packed};
        out.byte(from_.time ? timed_format_version : format_version);
        out.fixed64(from_.key_hash);
        out.varint(from_.scheme.value());
        out.varint(from_.bucket.value());
        for (const unsigned shift : {16U, 8U, 0U}) {
            out.byte(static_cast<unsigned char>(from_.slot_bits >> shift));
        }
        if (from_.time) {
            out.signed_varint(from_.time->milliseconds());
        }
        return detail::concat(local_, "~", detail::base64url_encode(packed));
    }

    /// Nothing for what `text` does not write. Takes hostile text: its size is looked at first.
    [[nodiscard]] static std::optional<routed_id> parse(std::string_view text) {
        constexpr std::size_t packed_chars = 39;
        if (text.size() > limits::local_id_bytes + 1 + packed_chars) {
            return std::nullopt;
        }
        const std::size_t end = text.rfind('~');
        if (end > limits::local_id_bytes || text.size() - end - 1 > packed_chars) {
            return std::nullopt;  // or there is none
        }
        const std::optional<std::string> packed = detail::base64url_decode(text.substr(end + 1));
        if (!packed) {
            return std::nullopt;
        }
        byte_reader in{*packed};
        const unsigned char version = in.byte();
        origin from;
        from.key_hash = in.fixed64();
        from.scheme = scheme_version{static_cast<std::uint32_t>(in.varint(0xffffffffU))};
        from.bucket = bucket_index{static_cast<std::uint32_t>(in.varint(limits::buckets))};
        for (int i = 0; i != 3; ++i) {
            from.slot_bits = from.slot_bits << 8U | in.byte();
        }
        if (version == timed_format_version) {
            from.time = item_time::at_milliseconds(in.signed_varint());
        }
        const bool known = version == format_version || version == timed_format_version;
        std::string local{text.substr(0, end)};
        if (!known || !in.finished() || !possible(local, from)) {
            return std::nullopt;
        }
        return routed_id{std::move(local), from};
    }

    friend bool operator==(const routed_id&, const routed_id&) noexcept = default;

private:
    static constexpr unsigned char format_version = 1;
    static constexpr unsigned char timed_format_version = 2;

    static bool possible(const std::string& local, const origin& from) noexcept {
        return local.size() <= limits::local_id_bytes && from.scheme.value() != 0 &&
               from.bucket.value() < limits::buckets && from.slot_bits <= slot_mask;
    }

    std::string local_;
    origin from_;
};

/// A new item's place, and the id by which it is found.
struct routed_placement {
    routed_id id;
    placement at;
};

namespace detail {

[[nodiscard]] inline routed_placement routed(std::string_view key, std::string_view local,
                                             placement at,
                                             std::optional<item_time> time = std::nullopt) {
    return {routed_id{std::string{local},
                      {.key_hash = stable_hash64(key),
                       .scheme = at.scheme,
                       .bucket = at.bucket,
                       .slot_bits = routed_id::slot_bits_of(at.partition_key.str()),
                       .time = time}},
            std::move(at)};
}

}  // namespace detail

/// Where a new item is written, and its id. With a random scheme it draws once, and the id
/// remembers the bucket. Throws what `routing_table::place` throws, and `errc::limit_exceeded` for
/// an overlong local part.
[[nodiscard]] inline routed_placement place_routed(const routing_table& table, std::string_view key,
                                                   const id_bytes& local) {
    return detail::routed(key, local.view(), table.place(key, local));
}
template <std::uniform_random_bit_generator Generator>
[[nodiscard]] routed_placement place_routed(const routing_table& table, std::string_view key,
                                            const id_bytes& local, Generator& generator) {
    return detail::routed(key, local.view(), table.place(key, local, generator));
}

/// The same for an item with a time, which the id remembers, too: for keys that have, or may get,
/// schemes with time windows.
[[nodiscard]] inline routed_placement place_routed(const routing_table& table, std::string_view key,
                                                   const id_bytes& local, item_time time) {
    return detail::routed(key, local.view(), table.place(key, local, time), time);
}
template <std::uniform_random_bit_generator Generator>
[[nodiscard]] routed_placement place_routed(const routing_table& table, std::string_view key,
                                            const id_bytes& local, item_time time,
                                            Generator& generator) {
    return detail::routed(key, local.view(), table.place(key, local, time, generator), time);
}

}  // namespace v1
}  // namespace shardweave

#endif
