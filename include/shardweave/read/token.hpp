// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_TOKEN_HPP
#define SHARDWEAVE_READ_TOKEN_HPP

/// Page tokens: a cursor as text for a client, and back.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/detail/base64url.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/detail/hints_codec.hpp>
#include <shardweave/read/detail/token_payload.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The form, version 1: base64url, without padding, of
//   protection's id · protect(payload)
// where the payload is as in detail/token_payload.hpp.
// Protected along with it, at no cost in bytes: the id, the binding (order, keys, filter) and the
// caller's context.

namespace shardweave {
inline namespace v1 {

/// Turns cursors into text and back. `context` is whatever else the token must be bound to, such as
/// the tenant: a token opens only with the context that it was sealed with.
template <class Sealer>
concept sealer = requires(const Sealer& sealer, const cursor& at, std::string_view text) {
    { sealer.seal(at, text) } -> std::same_as<std::string>;
    { sealer.open(text, text) } -> std::same_as<cursor>;
};

/// How a token's bytes are protected. `protect` gives bytes that `unprotect` takes back only
/// unchanged and with the same `associated` text; else nothing. Only for bytes that it has found to
/// be its own may `unprotect` throw: `failure` of `errc::token_expired` when their time is over.
/// `id` is the token's first byte; 1 to 63 are the library's. Both may be called concurrently.
template <class Protection>
concept token_protection = requires(const Protection& protection, std::string_view bytes) {
    { Protection::id } -> std::convertible_to<unsigned char>;
    { protection.protect(bytes, bytes) } -> std::same_as<std::string>;
    { protection.unprotect(bytes, bytes) } -> std::same_as<std::optional<std::string>>;
};

struct token_options {
    /// The most characters of a token, up to `limits::token_chars`. One that would be longer loses
    /// its hints: the store cursors, all of them; then the marks of ended sources; then the shares.
    std::size_t chars = limits::token_chars;
};

/// Any protection as a sealer. Copies share it. Thread-safe if the protection is.
template <token_protection Protection>
class token_sealer {
public:
    /// Throws `errc::invalid_options` for a size of 0 or over the limit.
    explicit token_sealer(Protection protection = Protection{}, token_options options = {})
        : protection_(std::make_shared<const Protection>(std::move(protection))),
          options_(options) {
        if (options_.chars == 0 || options_.chars > limits::token_chars) {
            throw failure{errc::invalid_options,
                          detail::concat("page tokens of at most ", options_.chars,
                                         " characters; give 1 to ", limits::token_chars)};
        }
    }

    /// The cursor as a page token: about 4/3 × (12 + the boundary's bytes) characters for
    /// `checksummed` without hints, however many sources there are. Hints that do not fit are left
    /// out. Throws `errc::limit_exceeded` when the rest does not fit either, and
    /// `errc::cursor_mismatch` for a cursor that was opened and never read with.
    [[nodiscard]] std::string seal(const cursor& at, std::string_view context = {}) const {
        const cursor::state* state = at.known();
        if (state == nullptr) {
            throw failure{
                errc::cursor_mismatch,
                "only a cursor that a page gave can be sealed; this one was opened from a token"};
        }
        using detail::hint_level;
        std::string text;
        for (const hint_level level : {hint_level::all, hint_level::without_cursors,
                                       hint_level::only_shares, hint_level::none}) {
            const std::string payload = detail::write_payload(*state, level);
            // What no protection could make fit is not worth protecting.
            if (level == hint_level::none ||
                detail::base64url_size(payload.size()) <= options_.chars) {
                text = sealed(payload, state->binding, context);
                if (text.size() <= options_.chars) {
                    return text;
                }
            }
        }
        throw failure{errc::limit_exceeded,
                      detail::concat("a page token of ", text.size(), " characters; at most ",
                                     options_.chars, " are allowed, so use shorter sort values")};
    }

    /// A cursor from a token that a client sent. What can be seen without the query is checked here
    /// (`errc::token_malformed`); the rest by the read that gets the cursor, before it asks any
    /// store: `errc::token_invalid` for one that was changed, or that belongs to another query,
    /// order or context; `errc::token_expired` for a right one whose time is over. No error says
    /// which, or echoes the contents.
    [[nodiscard]] cursor open(std::string_view token, std::string_view context = {}) const {
        if (token.size() > limits::token_chars) {
            throw failure{errc::token_malformed,
                          detail::concat("a page token of ", token.size(), " characters; at most ",
                                         limits::token_chars, " are allowed")};
        }
        std::optional<std::string> bytes = detail::base64url_decode(token);
        if (!bytes || bytes->empty()) {
            throw failure{errc::token_malformed,
                          "the text is not a page token; start from the first page"};
        }
        return cursor{cursor::opener{[protection = protection_, bytes = *std::move(bytes),
                                      context = std::string{context}](const binding& expected) {
            return unseal(*protection, bytes, context, expected);
        }}};
    }

private:
    [[nodiscard]] std::string sealed(std::string_view payload, const binding& bound,
                                     std::string_view context) const {
        std::string bytes(1, static_cast<char>(Protection::id));
        bytes += protection_->protect(payload, associated(bound, context));
        return detail::base64url_encode(bytes);
    }

    static std::string associated(const binding& bound, std::string_view context) {
        std::string bytes;
        byte_writer out{bytes};
        out.byte(Protection::id);
        out.hash(bound.value);
        out.raw(context);
        return bytes;
    }

    static cursor::state unseal(const Protection& protection, std::string_view bytes,
                                std::string_view context, const binding& expected) {
        std::optional<std::string> payload;
        if (static_cast<unsigned char>(bytes.front()) == Protection::id) {
            payload = protection.unprotect(bytes.substr(1), associated(expected, context));
        }
        if (!payload) {
            throw failure{
                errc::token_invalid,
                "the page token is not one of this query and caller; start from the first page"};
        }
        std::optional<cursor::state> state = detail::read_payload(*payload, expected);
        if (!state) {
            throw failure{errc::token_malformed, "the page token's contents can not be read"};
        }
        return *std::move(state);
    }

    std::shared_ptr<const Protection> protection_;
    token_options options_;
};

/// XXH3 over everything that must match: finds accidents (a cut or damaged token, another query's),
/// stops nobody. Anyone can compute it, so a client could read from where it likes within the keys
/// that it may read, and hand bytes of its choice to the callback as the store's own cursor; give
/// `token_sealer` a protection with a secret key where that matters.
struct checksum_protection {
    static constexpr unsigned char id = 1;
    static constexpr std::size_t tag_bytes = 8;

    [[nodiscard]] std::string protect(std::string_view payload, std::string_view associated) const {
        std::string bytes{payload};
        byte_writer{bytes}.fixed64(tag(payload, associated));
        return bytes;
    }

    [[nodiscard]] std::optional<std::string> unprotect(std::string_view bytes,
                                                       std::string_view associated) const {
        if (bytes.size() < tag_bytes) {
            return std::nullopt;
        }
        const std::string_view payload = bytes.substr(0, bytes.size() - tag_bytes);
        if (byte_reader{bytes.substr(payload.size())}.fixed64() != tag(payload, associated)) {
            return std::nullopt;
        }
        return std::string{payload};
    }

private:
    static std::uint64_t tag(std::string_view payload, std::string_view associated) {
        std::string bytes;
        byte_writer out{bytes};
        out.text(associated);
        out.raw(payload);
        return stable_hash64(bytes);
    }
};

/// Tokens that are guarded against accidents only; see `checksum_protection`.
using checksummed = token_sealer<checksum_protection>;

}  // namespace v1
}  // namespace shardweave

#endif
