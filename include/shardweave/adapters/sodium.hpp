// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_ADAPTERS_SODIUM_HPP
#define SHARDWEAVE_ADAPTERS_SODIUM_HPP

/// Page tokens that only a holder of your keys can make: signed, or encrypted as well. Needs
/// libsodium: link `shardweave::sodium`.

#include <shardweave/adapters/key_ring.hpp>
#include <shardweave/core/bytes.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/read/token.hpp>

#include <sodium.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The protected bytes, version 1:
//   signed: key's id (varint) · end (varint) · payload · tag (16 bytes), the tag being BLAKE2b with
//     the key, of the associated text behind its length (varint), and of all before the tag
//   encrypted: key's id (varint) · nonce (24 bytes) · box, the box being what XChaCha20-Poly1305
//     (IETF) makes of the end (varint) and the payload, with the associated text behind its length
//     and the key's id as additional data
// The end is the first second, since 1970, in which the token is too old; 0 for one that never is.

namespace shardweave {
inline namespace v1 {

/// When tokens grow too old.
struct token_expiry {
    /// How long a token can be opened, or up to a second longer; 0 for ever. A token keeps the
    /// lifetime that it was sealed with.
    std::chrono::seconds lifetime{0};
    /// The time now. May be called concurrently.
    std::function<std::chrono::system_clock::time_point()> clock = [] {
        return std::chrono::system_clock::now();
    };
};

namespace detail {

inline const unsigned char* data_of(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}
inline unsigned char* data_of(std::string& text) noexcept {
    return reinterpret_cast<unsigned char*>(text.data());
}

/// What signed and encrypted tokens have in common.
class keyed_tokens {
public:
    keyed_tokens(key_ring keys, token_expiry expiry)
        : keys_(std::move(keys)), expiry_(std::move(expiry)) {
        if (expiry_.lifetime < std::chrono::seconds{0} || !expiry_.clock) {
            throw failure{errc::invalid_options,
                          "an expiry needs a clock, and a lifetime of 0 (for ever) or more"};
        }
    }

protected:
    [[nodiscard]] const key_ring& keys() const noexcept { return keys_; }

    /// The id that the bytes begin with, which are left without it; more than any for none.
    static std::uint32_t take_id(std::string_view& bytes) noexcept {
        byte_reader in{bytes};
        const auto id = static_cast<std::uint32_t>(in.varint(key_ring::most_id));
        if (!in.ok()) {
            return key_ring::most_id + 1;
        }
        bytes.remove_prefix(bytes.size() - in.remaining());
        return id;
    }

    void write_end(byte_writer& out) const {
        using namespace std::chrono;
        const auto lifetime = static_cast<std::uint64_t>(expiry_.lifetime.count());
        out.varint(lifetime == 0 ? 0 : seconds_of(ceil<seconds>(expiry_.clock())) + lifetime);
    }

    /// The payload of what is known to be ours. Throws `errc::token_expired`.
    [[nodiscard]] std::optional<std::string> payload_of(std::string_view body) const {
        using namespace std::chrono;
        byte_reader in{body};
        const std::uint64_t end = in.varint();
        if (in.ok() && end != 0 && seconds_of(floor<seconds>(expiry_.clock())) >= end) {
            throw failure{errc::token_expired, "the page token is too old; start from page one"};
        }
        return in.ok() ? std::optional<std::string>{in.raw(in.remaining())} : std::nullopt;
    }

private:
    static std::uint64_t seconds_of(std::chrono::sys_seconds time) noexcept {
        const auto count = time.time_since_epoch().count();
        return count < 0 ? 0 : static_cast<std::uint64_t>(count);
    }

    key_ring keys_;
    token_expiry expiry_;
};

}  // namespace detail

/// Protection for a `token_sealer`: keyed BLAKE2b (RFC 7693) with a tag of 16 bytes, compared in
/// constant time. A client can read such a token, and change nothing in it. Thread-safe.
class signed_tokens : private detail::keyed_tokens {
public:
    static constexpr unsigned char id = 2;
    static constexpr std::size_t tag_bytes = 16;

    /// Throws `errc::invalid_options` for a negative lifetime, or without a clock.
    explicit signed_tokens(key_ring keys, token_expiry expiry = {})
        : keyed_tokens(std::move(keys), std::move(expiry)) {}

    [[nodiscard]] std::string protect(std::string_view payload, std::string_view associated) const {
        std::string bytes;
        byte_writer out{bytes};
        out.varint(keys().current());
        write_end(out);
        out.raw(payload);
        const tag made = tag_of(keys().find(keys().current()), bytes, associated);
        bytes.append(made.begin(), made.end());
        return bytes;
    }

    /// Throws `errc::token_expired`.
    [[nodiscard]] std::optional<std::string> unprotect(std::string_view bytes,
                                                       std::string_view associated) const {
        if (bytes.size() < tag_bytes) {
            return std::nullopt;
        }
        std::string_view body = bytes.substr(0, bytes.size() - tag_bytes);
        const std::string_view sent = bytes.substr(body.size());
        const std::string_view guarded = body;
        const unsigned char* key = keys().find(take_id(body));
        if (key == nullptr ||
            sodium_memcmp(tag_of(key, guarded, associated).data(), sent.data(), tag_bytes) != 0) {
            return std::nullopt;
        }
        return payload_of(body);
    }

private:
    using tag = std::array<unsigned char, tag_bytes>;

    static tag tag_of(const unsigned char* key, std::string_view bytes,
                      std::string_view associated) {
        std::string guarded;
        byte_writer out{guarded};
        out.text(associated);
        out.raw(bytes);
        tag made{};
        crypto_generichash(made.data(), made.size(), detail::data_of(std::string_view{guarded}),
                           guarded.size(), key, key_ring::key_bytes);
        return made;
    }
};

/// Protection for a `token_sealer`: XChaCha20-Poly1305 (IETF) with a random nonce. A client can
/// neither read nor change such a token; only its length tells of what it holds. Thread-safe.
class encrypted_tokens : private detail::keyed_tokens {
public:
    static constexpr unsigned char id = 3;

    /// Throws `errc::invalid_options` for a negative lifetime, or without a clock.
    explicit encrypted_tokens(key_ring keys, token_expiry expiry = {})
        : keyed_tokens(std::move(keys), std::move(expiry)) {}

    [[nodiscard]] std::string protect(std::string_view payload, std::string_view associated) const {
        std::string body;
        byte_writer inside{body};
        write_end(inside);
        inside.raw(payload);
        std::string bytes;
        byte_writer{bytes}.varint(keys().current());
        const std::string with = additional(bytes, associated);
        const std::size_t nonce = bytes.size();
        bytes.resize(nonce + nonce_bytes + body.size() + tag_bytes);
        randombytes_buf(detail::data_of(bytes) + nonce, nonce_bytes);
        crypto_aead_xchacha20poly1305_ietf_encrypt(
            detail::data_of(bytes) + nonce + nonce_bytes, nullptr,
            detail::data_of(std::string_view{body}), body.size(),
            detail::data_of(std::string_view{with}), with.size(), nullptr,
            detail::data_of(bytes) + nonce, keys().find(keys().current()));
        return bytes;
    }

    /// Throws `errc::token_expired`.
    [[nodiscard]] std::optional<std::string> unprotect(std::string_view bytes,
                                                       std::string_view associated) const {
        std::string_view rest = bytes;
        const unsigned char* key = keys().find(take_id(rest));
        if (key == nullptr || rest.size() < nonce_bytes + tag_bytes) {
            return std::nullopt;
        }
        const std::string with =
            additional(bytes.substr(0, bytes.size() - rest.size()), associated);
        const std::string_view box = rest.substr(nonce_bytes);
        std::string body(box.size() - tag_bytes, '\0');
        if (crypto_aead_xchacha20poly1305_ietf_decrypt(
                detail::data_of(body), nullptr, nullptr, detail::data_of(box), box.size(),
                detail::data_of(std::string_view{with}), with.size(), detail::data_of(rest),
                key) != 0) {
            return std::nullopt;
        }
        return payload_of(body);
    }

private:
    static constexpr std::size_t nonce_bytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
    static constexpr std::size_t tag_bytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;

    static std::string additional(std::string_view key_id, std::string_view associated) {
        std::string bytes;
        byte_writer out{bytes};
        out.text(associated);
        out.raw(key_id);
        return bytes;
    }
};

}  // namespace v1
}  // namespace shardweave

#endif
