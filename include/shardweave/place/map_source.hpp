// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_MAP_SOURCE_HPP
#define SHARDWEAVE_PLACE_MAP_SOURCE_HPP

/// What shardweave asks of the place where the routing table is stored.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/table_stamp.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardweave {
inline namespace v1 {

/// What `compare_and_swap` did.
enum class swap_result : std::uint8_t {
    /// The bytes are the stored table now.
    stored,
    /// Another epoch is stored than was expected, and nothing was changed. Load, and decide again.
    conflict,
};

/// Reads the stored table: the bytes of `encode`, or none when nothing was ever stored.
///
/// No compiler checks: `load` returns a whole table, never parts of two; what it returns was stored
/// when it was called or later; it throws (anything) when it can not tell, instead of returning
/// none. It may block, but should end by itself, as with a time limit of its client. A `refresher`
/// calls it from any thread, one at a time, except while a call hangs for longer than its
/// `load_at_most`.
template <class Source>
concept table_loader = requires(Source& source) {
    { source.load() } -> std::convertible_to<std::optional<std::string>>;
};

/// Says whether a look is worthwhile: whether the stored table may differ from what the last `load`
/// returned.
///
/// No compiler checks: every change is said, though it may be said late, twice, or with nothing
/// changed; after a gap (a lost connection, a compacted log) the answer is yes. It does not block
/// for long, and may be called while another thread is in `load`.
template <class Source>
concept table_watcher = requires(Source& source) {
    { source.changed() } -> std::convertible_to<bool>;
};

/// Replaces the stored table if it still has the expected epoch; none expects that nothing is
/// stored.
///
/// No compiler checks: comparing and replacing is one step for every process that stores, and what
/// is stored lasts. When it throws, it is open whether the bytes were stored; `load` tells. The new
/// table's epoch is higher than the expected one (`check_swap`). May be called concurrently.
template <class Source>
concept table_swapper =
    requires(Source& source, std::optional<epoch> expected, std::string_view bytes) {
        { source.compare_and_swap(expected, bytes) } -> std::same_as<swap_result>;
    };

/// Loads, watches and stores the routing table: a file, a row of a database, a key of etcd.
template <class Source>
concept map_source = table_loader<Source> && table_watcher<Source> && table_swapper<Source>;

/// The epoch of a stored table, without decoding the rest: a source needs no selectors for it.
/// Throws `errc::table_malformed` for bytes that are not a whole table.
[[nodiscard]] inline epoch stored_epoch(std::string_view bytes) {
    byte_reader in{bytes};
    const bool magic = in.raw(detail::routing_magic.size()) == detail::routing_magic;
    const bool known = detail::readable_format(in.varint()) && magic;
    const epoch stored{in.varint()};
    if (!known || in.remaining() < detail::fingerprint_bytes) {
        throw failure{errc::table_malformed,
                      detail::concat(bytes.size(), " bytes that are not a routing table of format ",
                                     detail::routing_format_version, " or ",
                                     detail::timed_format_version)};
    }
    const std::string_view body = bytes.substr(0, bytes.size() - detail::fingerprint_bytes);
    if (byte_reader{bytes.substr(body.size())}.hash() != stable_hash128(body, 0)) {
        throw failure{errc::table_malformed,
                      "the fingerprint does not match: the bytes are cut or damaged"};
    }
    return stored;
}

/// The stamp of a stored table, likewise.
[[nodiscard]] inline table_stamp stored_stamp(std::string_view bytes) {
    const epoch at = stored_epoch(bytes);
    return {at, byte_reader{bytes.substr(bytes.size() - detail::fingerprint_bytes)}.hash()};
}

/// Throws when the bytes must not follow a table of the expected epoch: `errc::table_malformed`, or
/// `errc::epoch_conflict` when their epoch is not higher. For the beginning of `compare_and_swap`.
inline void check_swap(std::optional<epoch> expected, std::string_view bytes) {
    const epoch next = stored_epoch(bytes);
    if (expected && next <= *expected) {
        throw failure{errc::epoch_conflict,
                      detail::concat("a table of epoch ", next.value(), " can not follow epoch ",
                                     expected->value(),
                                     "; make it with with_schemes or "
                                     "with_shards from the current one")};
    }
}

}  // namespace v1
}  // namespace shardweave

#endif
