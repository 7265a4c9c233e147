// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_ERROR_HPP
#define SHARDWEAVE_CORE_ERROR_HPP

/// What can go wrong: a code, a value that names the place, and the exception that carries it.

#include <shardweave/core/detail/text.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// The kinds of error. Each comment says what to do about it.
enum class errc {
    /// No error. A default `error` has this code.
    ok = 0,

    /// A scheme that cannot work (no buckets, too many, a bad version). Correct the configuration.
    invalid_scheme,
    /// One scheme version with two different contents, or a live version that would disappear.
    /// Give the changed scheme a new version with `grow`, and end the old one with `retire`.
    scheme_conflict,
    /// The stored table names a selector that this process does not know. Register it for `decode`.
    unknown_selector,
    /// A key format from which keys could not be told apart. Follow the advice in the detail.
    invalid_key_format,
    /// The key reads as a bucket of another key. Rename it, or use `suffix::always`.
    ambiguous_key,
    /// Placing by time was asked without one, or without an end. Give the item's time; to a read,
    /// an `until`, such as now.
    time_required,
    /// The item is older than everything that the key's live schemes keep. Drop it, as its like was
    /// dropped when its scheme was retired.
    time_out_of_range,
    /// A text that is no time key. Write it as the detail says: one width, UTC, one writing.
    time_malformed,
    /// The key, or another size, is over its limit in `limits`. Use a shorter one.
    limit_exceeded,
    /// A shard map that cannot work (bad slot count, a shard named twice). Correct the
    /// configuration.
    invalid_map,
    /// A slot without an owner, which would silently miss data. Give it one.
    incomplete_map,
    /// A shard that the map does not have. Add it with `with_shard` first.
    unknown_shard,
    /// The same epoch with other contents: two owners publish at once. Give one the next epoch.
    epoch_conflict,
    /// The bytes are not a routing table that this version can read. Restore it from its source.
    table_malformed,
    /// The store has another route than the routing table, and still has after all retries. Make
    /// sure that the new table is stored before the store is told of it.
    stale_route,
    /// The routing table can not be loaded or stored. The last good one is kept; see the detail.
    source_failed,

    /// Options that make no sense together or alone. Follow the advice in the detail.
    invalid_options,
    /// The work of a single flight waits for itself. Do not ask for a refresh inside a `load`.
    reentrant_call,
    /// A source's rows are not strictly increasing under the order. Make the store sort by exactly
    /// the order's components, text as unsigned bytes (`COLLATE "C"`, `COLLATE BINARY`).
    unordered_source,
    /// A source keeps saying that there is more, and does not advance. Honour `after` or `cursor`.
    no_progress,
    /// A query callback threw. The nested exception is its own; the cursor is unchanged, so retry.
    shard_failed,
    /// A store that can not be reached, and still can not after all retries. See that it is up.
    unavailable,
    /// A store that did not answer in time. Raise `attempt_options::timeout`, or see why it is
    /// slow.
    timed_out,
    /// A store that refused work because of its load. Ask less of it, or give it more capacity.
    throttled,
    /// The read's deadline passed. The cursor is unchanged, so retry with more time.
    deadline_exceeded,
    /// The caller's stop token was stopped. The cursor is unchanged.
    cancelled,
    /// A cursor of another query (keys, filter, or order). Start that query from its first page.
    cursor_mismatch,

    /// The text is not a page token. Start from the first page, or show the client an error.
    token_malformed,
    /// A token that was changed, or made by another key, for another query, or for another caller.
    token_invalid,
    /// A token past its time. Start from the first page.
    token_expired,
};

/// The code's name, as written in the program.
[[nodiscard]] constexpr std::string_view to_string(errc code) noexcept {
    switch (code) {
        case errc::ok: return "ok";
        case errc::invalid_scheme: return "invalid_scheme";
        case errc::scheme_conflict: return "scheme_conflict";
        case errc::unknown_selector: return "unknown_selector";
        case errc::invalid_key_format: return "invalid_key_format";
        case errc::ambiguous_key: return "ambiguous_key";
        case errc::time_required: return "time_required";
        case errc::time_out_of_range: return "time_out_of_range";
        case errc::time_malformed: return "time_malformed";
        case errc::limit_exceeded: return "limit_exceeded";
        case errc::invalid_map: return "invalid_map";
        case errc::incomplete_map: return "incomplete_map";
        case errc::unknown_shard: return "unknown_shard";
        case errc::epoch_conflict: return "epoch_conflict";
        case errc::table_malformed: return "table_malformed";
        case errc::stale_route: return "stale_route";
        case errc::source_failed: return "source_failed";
        case errc::invalid_options: return "invalid_options";
        case errc::reentrant_call: return "reentrant_call";
        case errc::unordered_source: return "unordered_source";
        case errc::no_progress: return "no_progress";
        case errc::shard_failed: return "shard_failed";
        case errc::unavailable: return "unavailable";
        case errc::timed_out: return "timed_out";
        case errc::throttled: return "throttled";
        case errc::deadline_exceeded: return "deadline_exceeded";
        case errc::cancelled: return "cancelled";
        case errc::cursor_mismatch: return "cursor_mismatch";
        case errc::token_malformed: return "token_malformed";
        case errc::token_invalid: return "token_invalid";
        case errc::token_expired: return "token_expired";
    }
    return "unknown";
}

/// An error as a value: what happened, and where. Machines without I/O return it.
struct error {
    errc code = errc::ok;
    /// The shard that it concerns, or empty.
    std::string shard;
    /// The partition key that it concerns, or empty.
    std::string partition_key;
    /// For people: the offending value, and what to do.
    std::string detail;

    /// True when there is an error.
    [[nodiscard]] explicit operator bool() const noexcept { return code != errc::ok; }

    /// One line for a log: code, place, detail. The names are quoted, since a key may come from a
    /// client, and could otherwise forge a line of its own.
    [[nodiscard]] std::string message() const {
        std::string text{to_string(code)};
        if (!shard.empty()) {
            text += " [shard " + v1::detail::quoted(shard);
            text += partition_key.empty()
                        ? "]"
                        : ", partition key " + v1::detail::quoted(partition_key) + "]";
        } else if (!partition_key.empty()) {
            text += " [partition key " + v1::detail::quoted(partition_key) + "]";
        }
        if (!detail.empty()) {
            text += ": " + detail;
        }
        return text;
    }
};

/// The exception that carries an `error`. When a callback threw, its exception is nested
/// (`std::rethrow_if_nested`).
class failure : public std::exception {
public:
    explicit failure(error reason) : reason_(std::move(reason)), text_(reason_.message()) {}
    failure(errc code, std::string detail) : failure(error{code, {}, {}, std::move(detail)}) {}

    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
    /// What went wrong, and where.
    [[nodiscard]] const error& reason() const noexcept { return reason_; }
    [[nodiscard]] errc code() const noexcept { return reason_.code; }

private:
    error reason_;
    std::string text_;
};

}  // namespace v1
}  // namespace shardweave

#endif
