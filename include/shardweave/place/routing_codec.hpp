// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_ROUTING_CODEC_HPP
#define SHARDWEAVE_PLACE_ROUTING_CODEC_HPP

/// A routing table as bytes, to be stored and sent: versioned, canonical, fingerprinted.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/place/detail/windows.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_history.hpp>
#include <shardweave/place/time_range.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The form, version 1. Numbers are varints, texts are length-prefixed:
//   "SWRT" · 1 · epoch · suffix mode · key format · slots (as a power of two)
//   shard count · shard names · the number of each slot's owner
//   ordinary history · count of keys with their own · each key, ascending, with its history
//   XXH3-128 of all of that, 16 bytes big-endian
// A history is its count, then per scheme: version · selection · buckets · seed · state, and for a
// custom selection its name. Version 2, for tables of which a scheme has time windows or a since,
// says 2, and adds to each scheme: the width of its windows in minutes (0: none) · its since as 1 +
// milliseconds from 0000-01-01T00:00Z (0: none). Owners are not run-length coded, so that a few
// hostile bytes can not ask for megabytes.

namespace shardweave {
inline namespace v1 {
namespace detail {

inline constexpr std::string_view routing_magic = "SWRT";
inline constexpr std::uint64_t routing_format_version = 1;
inline constexpr std::uint64_t timed_format_version = 2;

/// True for the format versions that this library reads.
[[nodiscard]] constexpr bool readable_format(std::uint64_t version) noexcept {
    return version == routing_format_version || version == timed_format_version;
}

inline constexpr std::size_t fingerprint_bytes = 16;

[[nodiscard]] inline std::uint64_t format_of(const scheme_history& history) {
    const bool timed = std::ranges::any_of(history.entries(),
                                           [](const auto& each) { return each.scheme.timed(); });
    return timed ? timed_format_version : routing_format_version;
}

[[nodiscard]] inline std::uint64_t format_of(const scheme_table& schemes) {
    std::uint64_t version = format_of(schemes.ordinary());
    for (const auto& [key, history] : schemes.exceptional()) {
        version = std::max(version, format_of(history));
    }
    return version;
}

inline void write_history(byte_writer& out, const scheme_history& history, std::uint64_t version) {
    out.varint(history.entries().size());
    for (const auto& [scheme, state] : history.entries()) {
        out.varint(scheme.version().value());
        out.byte(static_cast<unsigned char>(scheme.how()));
        out.varint(scheme.buckets());
        out.varint(scheme.seed());
        out.byte(static_cast<unsigned char>(state));
        if (scheme.how() == selection::custom) {
            out.text(scheme.selector_name());
        }
        if (version == timed_format_version) {
            const auto since = scheme.since();
            out.varint(static_cast<std::uint64_t>(scheme.width().count()));
            out.varint(since ? static_cast<std::uint64_t>(since->milliseconds() -
                                                          written_times.since.milliseconds()) +
                                   1
                             : 0);
        }
    }
}

/// What version 2 adds to a scheme.
struct scheme_times {
    std::uint64_t width = 0;
    std::optional<item_time> since;
};

inline scheme_times read_times(byte_reader& in) {
    constexpr std::int64_t first = written_times.since.milliseconds();
    constexpr auto most = static_cast<std::uint64_t>(written_times.until.milliseconds() - first);
    scheme_times times{in.varint(limits::window_minutes), std::nullopt};
    if (const std::uint64_t since = in.varint(most); since != 0) {
        const auto after = std::chrono::milliseconds{static_cast<std::int64_t>(since - 1)};
        times.since = written_times.since.sys() + after;
    }
    return times;
}

inline scheme_history read_history(byte_reader& in, const selector_registry& selectors,
                                   std::uint64_t version) {
    std::vector<scheme_history::entry> entries;
    const std::uint64_t count = in.varint(limits::schemes_per_key);
    for (std::uint64_t i = 0; i != count && in.ok(); ++i) {
        const scheme_version number{static_cast<std::uint32_t>(in.varint(0xffffffffU))};
        const unsigned char how = in.byte();
        const auto buckets = static_cast<std::uint32_t>(in.varint(limits::buckets));
        const std::uint64_t seed = in.varint();
        const unsigned char state = in.byte();
        if (how < 1 || how > 3 || state < 1 || state > 3) {
            in.fail();
        }
        shared_selector custom;
        if (in.ok() && selection{how} == selection::custom) {
            const std::string_view name = in.text(limits::selector_name_bytes);
            custom = selectors.find(name);
            if (in.ok() && !custom) {
                throw failure{errc::unknown_selector,
                              concat("the table uses the selector ", detail::quoted(name),
                                     "; register it in the selector_registry given to decode")};
            }
        }
        const scheme_times times =
            version == timed_format_version ? read_times(in) : scheme_times{};
        if (in.ok()) {
            const bucket_scheme scheme{
                selection{how}, buckets, {number, seed, times.since}, custom};
            const std::chrono::minutes width{times.width};
            entries.push_back(
                {times.width == 0 ? scheme : scheme.with_width(width), scheme_state{state}});
        }
    }
    if (!in.ok()) {
        throw failure{errc::table_malformed,
                      "a scheme history ends early or holds an unknown value"};
    }
    return scheme_history{std::move(entries)};
}

inline std::string encode_body(const routing_table& table) {
    std::string bytes;
    byte_writer out{bytes};
    out.raw(routing_magic);
    const std::uint64_t version = format_of(table.schemes());
    out.varint(version);
    out.varint(table.epoch().value());
    out.byte(static_cast<unsigned char>(table.format().mode()));
    out.text(table.format().text());
    const shard_map& map = table.shards();
    out.varint(static_cast<std::uint64_t>(std::countr_zero(map.slots())));
    out.varint(map.names().size());
    for (const std::string& name : map.names()) {
        out.text(name);
    }
    for (const std::uint32_t owner : map.owners()) {
        out.varint(owner);
    }
    write_history(out, table.schemes().ordinary(), version);
    out.varint(table.schemes().exceptional().size());
    for (const auto& [key, history] : table.schemes().exceptional()) {
        out.text(key);
        write_history(out, history, version);
    }
    return bytes;
}

inline shard_map read_map(byte_reader& in) {
    const auto slots = std::uint32_t{1} << in.varint(20);
    std::vector<std::string> names;
    const std::uint64_t shards = in.varint(limits::shards);
    for (std::uint64_t i = 0; i != shards && in.ok(); ++i) {
        names.emplace_back(in.text(limits::shard_name_bytes));
    }
    if (slots > in.remaining()) {  // each owner takes a byte at least
        in.fail();
    }
    std::vector<std::uint32_t> owners(in.ok() ? slots : 0);
    for (std::uint32_t& owner : owners) {
        owner = static_cast<std::uint32_t>(in.varint(limits::shards));
    }
    if (!in.ok()) {
        throw failure{errc::table_malformed, "the shard map ends early or holds a bad number"};
    }
    return {std::move(names), std::move(owners)};
}

}  // namespace detail

/// XXH3-128 of the table's stored form, epoch included: equal exactly for equal tables.
[[nodiscard]] inline hash128 fingerprint(const routing_table& table) {
    return stable_hash128(detail::encode_body(table), 0);
}

/// The table's stored form. O(slots + keys with their own schemes).
[[nodiscard]] inline std::string encode(const routing_table& table) {
    std::string bytes = detail::encode_body(table);
    const hash128 print = stable_hash128(bytes, 0);
    byte_writer{bytes}.hash(print);
    return bytes;
}

/// Reads a stored table. The bytes may be hostile: nothing is allocated that they do not justify.
/// Throws `errc::table_malformed` for bytes that `encode` does not write (damaged, cut, of a newer
/// format), `errc::unknown_selector` for a selector that is not in the registry, and what the parts
/// throw for contents that can not work.
[[nodiscard]] inline routing_table decode(std::string_view bytes,
                                          const selector_registry& selectors = {}) {
    if (bytes.size() < detail::fingerprint_bytes || !bytes.starts_with(detail::routing_magic)) {
        throw failure{errc::table_malformed,
                      detail::concat(bytes.size(), " bytes that are not a routing table")};
    }
    const std::string_view body = bytes.substr(0, bytes.size() - detail::fingerprint_bytes);
    byte_reader trailer{bytes.substr(body.size())};
    if (trailer.hash() != stable_hash128(body, 0)) {
        throw failure{errc::table_malformed,
                      "the fingerprint does not match: the bytes are cut or damaged"};
    }
    byte_reader in{body};
    in.raw(detail::routing_magic.size());
    const std::uint64_t version = in.varint();
    if (!detail::readable_format(version)) {
        throw failure{errc::table_malformed,
                      detail::concat("format version ", version, "; this library reads versions ",
                                     detail::routing_format_version, " and ",
                                     detail::timed_format_version)};
    }
    const epoch at{in.varint()};
    const unsigned char mode = in.byte();
    const std::string_view format = in.text(limits::key_format_bytes);
    if (!in.ok() || mode < 1 || mode > 3) {
        throw failure{errc::table_malformed, "the header ends early or holds an unknown value"};
    }
    shard_map shards = detail::read_map(in);
    scheme_table schemes{detail::read_history(in, selectors, version)};
    const std::uint64_t keys = in.varint(limits::keys_with_schemes);
    std::string_view last;
    for (std::uint64_t i = 0; i != keys && in.ok(); ++i) {
        const std::string_view key = in.text(limits::key_bytes);
        if (i != 0 && key <= last) {
            in.fail();
            break;
        }
        last = key;
        schemes = std::move(schemes).with(key, detail::read_history(in, selectors, version));
    }
    if (!in.finished()) {
        throw failure{errc::table_malformed, "the keys are out of order, cut, or followed by more"};
    }
    if (detail::format_of(schemes) != version) {
        throw failure{errc::table_malformed,
                      "format version 2 for a table without time windows or since bounds"};
    }
    return {std::move(schemes), std::move(shards), {at, key_format{format, suffix{mode}}}};
}

}  // namespace v1
}  // namespace shardweave

#endif
