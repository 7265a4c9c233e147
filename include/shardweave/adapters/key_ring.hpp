// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_ADAPTERS_KEY_RING_HPP
#define SHARDWEAVE_ADAPTERS_KEY_RING_HPP

/// The secret keys of page tokens, and their rotation. Part of `adapters/sodium.hpp`.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// A key and its number. Refers to the bytes; a ring copies them.
struct token_key {
    /// Stands readable in every token that the key seals, so that it is found again. Below 2^28; up
    /// to 127 it takes one byte.
    std::uint32_t id = 0;
    /// 32 bytes of randomness, such as `openssl rand 32` gives. Not a password, nor hexadecimal.
    std::string_view bytes{};
};

/// The keys of one service. One of them, the current one, seals; all of them open. A value that
/// never changes: rotation makes new ones. Copies share the keys, which are wiped from memory with
/// the last copy.
class key_ring {
public:
    static constexpr std::size_t key_bytes = 32;
    static constexpr std::uint32_t most_id = (1U << 28U) - 1;

    /// The first key is the current one. Throws `errc::invalid_options` for no key, an id that is
    /// used twice or too large, and bytes that are not 32 or all zero.
    explicit key_ring(std::span<const token_key> keys) {
        if (keys.empty()) {
            refuse("a key ring needs a key");
        }
        for (const token_key& key : keys) {
            add(key);
        }
        current_ = keys.front().id;
    }
    key_ring(std::initializer_list<token_key> keys)
        : key_ring(std::span<const token_key>{keys.begin(), keys.size()}) {}

    /// With one more key, which opens. The first step of a rotation, on every machine.
    [[nodiscard]] key_ring with(const token_key& key) const {
        key_ring ring = *this;
        ring.add(key);
        return ring;
    }
    /// With this key of it as the current one. The second step, when every machine did the first.
    [[nodiscard]] key_ring sealing_with(std::uint32_t id) const {
        if (find(id) == nullptr) {
            refuse(detail::concat("no key has the id ", id, "; add it first"));
        }
        key_ring ring = *this;
        ring.current_ = id;
        return ring;
    }
    /// Without this key: what it sealed is `errc::token_invalid` from now on. The third step.
    [[nodiscard]] key_ring without(std::uint32_t id) const {
        if (id == current_) {
            refuse(detail::concat("key ", id, " is the current one; seal with another first"));
        }
        key_ring ring = *this;
        std::erase_if(ring.keys_, [id](const entry& key) { return key.id == id; });
        return ring;
    }

    /// The id of the key that seals.
    [[nodiscard]] std::uint32_t current() const noexcept { return current_; }
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

    /// The 32 bytes of a key, for as long as the ring lives; null for an id that it does not have.
    [[nodiscard]] const unsigned char* find(std::uint32_t id) const noexcept {
        const auto key = std::find_if(keys_.begin(), keys_.end(),
                                      [id](const entry& each) { return each.id == id; });
        return key == keys_.end() ? nullptr : key->secret->bytes.data();
    }

private:
    struct secret_key {
        explicit secret_key(std::string_view from) { std::ranges::copy(from, bytes.begin()); }
        secret_key(const secret_key&) = delete;
        secret_key& operator=(const secret_key&) = delete;
        ~secret_key() { sodium_memzero(bytes.data(), bytes.size()); }

        std::array<unsigned char, key_bytes> bytes{};
    };
    struct entry {
        std::uint32_t id;
        std::shared_ptr<const secret_key> secret;
    };

    [[noreturn]] static void refuse(std::string why) {
        throw failure{errc::invalid_options, std::move(why)};
    }

    void add(const token_key& key) {
        static const bool ready = sodium_init() >= 0;
        if (!ready) {
            refuse("libsodium can not be used: it finds no source of randomness");
        }
        if (key.id > most_id) {
            refuse(detail::concat("a key id of ", key.id, "; at most ", most_id, " is allowed"));
        }
        if (find(key.id) != nullptr) {
            refuse(detail::concat("two keys have the id ", key.id, "; a new key needs a new one"));
        }
        if (key.bytes.size() != key_bytes) {
            refuse(detail::concat("key ", key.id, " has ", key.bytes.size(), " bytes instead of ",
                                  key_bytes, "; decode hexadecimal or base64 text first"));
        }
        auto secret = std::make_shared<const secret_key>(key.bytes);
        if (sodium_is_zero(secret->bytes.data(), key_bytes) != 0) {
            refuse(detail::concat("key ", key.id, " is all zero: was it ever loaded?"));
        }
        keys_.push_back({key.id, std::move(secret)});
    }

    std::vector<entry> keys_;
    std::uint32_t current_ = 0;
};

}  // namespace v1
}  // namespace shardweave

#endif
