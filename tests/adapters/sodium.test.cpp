// SPDX-License-Identifier: BSL-1.0
#include <shardweave/adapters/sodium.hpp>

#include <shardweave/core/detail/base64url.hpp>
#include <shardweave/read/order.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/cursors.hpp"
#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/vectors.hpp"

namespace sw = shardweave;
using namespace std::chrono_literals;
using namespace std::string_view_literals;
using sw::encrypted_tokens;
using sw::errc;
using sw::key_ring;
using sw::signed_tokens;
using test_support::code_of;
using test_support::error_of;

namespace {

static_assert(sw::token_protection<signed_tokens>);
static_assert(sw::token_protection<encrypted_tokens>);
static_assert(sw::sealer<sw::token_sealer<signed_tokens>>);
static_assert(sw::sealer<sw::token_sealer<encrypted_tokens>>);
static_assert(std::copyable<sw::token_sealer<encrypted_tokens>>);
static_assert(std::copyable<key_ring>);
static_assert(signed_tokens::id == 2 && encrypted_tokens::id == 3);

/// 32 bytes, another for each number.
std::string key(std::size_t number) {
    std::string bytes(key_ring::key_bytes, '\0');
    for (std::size_t i = 0; i != bytes.size(); ++i) {
        bytes[i] = static_cast<char>(number * 37 + i);
    }
    return bytes;
}

key_ring ring() { return {{7, key(7)}}; }

using clock_time = std::chrono::system_clock::time_point;

/// A clock that only the test moves.
struct hand_clock {
    std::shared_ptr<clock_time> now = std::make_shared<clock_time>(1'796'030'654s);

    [[nodiscard]] sw::token_expiry expiry(std::chrono::seconds lifetime) const {
        return {.lifetime = lifetime, .clock = [now = now] { return *now; }};
    }
};

const auto bound = sw::binding::of(7, {"author-1"}, "kind=post");

sw::cursor::state state_at(std::string boundary = "a boundary of 20 ...") {
    return {bound, sw::scan::forward, std::move(boundary), sw::epoch{3}};
}

template <class Sealer>
std::string sealed(const Sealer& sealer) {
    return sealer.seal(sw::cursor{state_at()}, "tenant-7");
}

/// What opening and using a token ends in: `ok` for one that is taken.
template <class Sealer>
errc use(const Sealer& sealer, std::string_view token, std::string_view context = "tenant-7",
         const sw::binding& expected = bound) {
    return code_of([&] { (void)sealer.open(token, context).resolve(expected); });
}

std::string bytes_of(std::string_view token) { return *sw::detail::base64url_decode(token); }

}  // namespace

TEMPLATE_TEST_CASE("a keyed token opens to the cursor that was sealed", "[sodium]", signed_tokens,
                   encrypted_tokens) {
    INFO(test_support::replay());
    test_support::generator from;
    const sw::token_sealer sealer{TestType{ring()}};
    const auto another_machine = sealer;
    for (std::size_t round = 0; round != test_support::scaled(1'000); ++round) {
        sw::cursor::state state{bound, from.chance(50) ? sw::scan::forward : sw::scan::backward,
                                from.chance(10) ? std::nullopt
                                                : std::optional{"x" + from.bytes(60)},
                                sw::epoch{from.magnitude()}};
        for (std::size_t i = from.below(std::size_t{20}); i != 0; --i) {
            state.hints.each.push_back(
                {test_support::last_key(i, test_support::shape::json), from.chance(20)});
            state.hints.sources = i;
        }
        const std::string context = from.bytes(20);
        const std::string token = sealer.seal(sw::cursor{state}, context);
        CAPTURE(token);
        REQUIRE(another_machine.open(token, context).resolve(bound) == state);
    }
}

TEST_CASE("a signed token never changes", "[sodium][golden]") {
    // Clients hold tokens across releases, and nothing else notices a change: the same code seals
    // and opens. The tag is from another implementation, Python's
    //   hashlib.blake2b(guarded, key=bytes(range(32)), digest_size=16)
    // with guarded = the length of, and the associated text: 02, the binding and the context; then
    // all bytes of the token but the first and the tag.
    std::string counting(key_ring::key_bytes, '\0');
    for (std::size_t i = 0; i != counting.size(); ++i) {
        counting[i] = static_cast<char>(i);
    }
    const auto known = sw::binding::of(7, {"author-1"}, "");
    const sw::cursor::state state{known, sw::scan::forward, "boundary", sw::epoch{300}};
    const sw::token_sealer sealer{signed_tokens{key_ring{{300, counting}}}};
    const std::string token = sealer.seal(sw::cursor{state}, "tenant-7");
    CHECK(test_support::to_hex(bytes_of(token)) == "02"    // signed
                                                   "ac02"  // by key 300
                                                   "00"    // for ever
                                                   "02"    // forward, with a boundary
                                                   "ac02"  // epoch 300
                                                   "626f756e64617279"
                                                   "a7ffef43e59ad572159d61999fd15005");
    CHECK(sealer.open(token, "tenant-7").resolve(known) == state);

    // The nonce of an encrypted one is random, so that it is never sealed twice alike; this one was
    // sealed once.
    const sw::token_sealer encrypted{encrypted_tokens{key_ring{{300, counting}}}};
    CHECK(encrypted
              .open("A6wCRi39aMnOTOD-e3srZTMaNEnBlznJxtwR7EuFFV5JSUIL_TrtRG0Uvboexu-yM2bV0IIUyg",
                    "tenant-7")
              .resolve(known) == state);
    CHECK(encrypted.seal(sw::cursor{state}, "tenant-7") !=
          encrypted.seal(sw::cursor{state}, "tenant-7"));
}

TEMPLATE_TEST_CASE("every bit of a keyed token counts", "[sodium]", signed_tokens,
                   encrypted_tokens) {
    const sw::token_sealer sealer{TestType{ring()}};
    const std::string bytes = bytes_of(sealed(sealer));
    for (std::size_t bit = 0; bit != bytes.size() * 8; ++bit) {
        std::string changed = bytes;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ static_cast<char>(1U << bit % 8));
        CAPTURE(bit);
        CHECK(use(sealer, sw::detail::base64url_encode(changed)) == errc::token_invalid);
    }
}

TEMPLATE_TEST_CASE("a keyed token with fewer or more bytes is refused", "[sodium]", signed_tokens,
                   encrypted_tokens) {
    const sw::token_sealer sealer{TestType{ring()}};
    const std::string bytes = bytes_of(sealed(sealer));
    for (std::size_t size = 1; size != bytes.size(); ++size) {
        CAPTURE(size);
        CHECK(use(sealer, sw::detail::base64url_encode(bytes.substr(0, size))) ==
              errc::token_invalid);
        CHECK(use(sealer, sw::detail::base64url_encode(bytes.substr(size))) == errc::token_invalid);
    }
    for (unsigned c = 0; c != 256; ++c) {
        const std::string more(1, static_cast<char>(c));
        CHECK(use(sealer, sw::detail::base64url_encode(bytes + more)) == errc::token_invalid);
        CHECK(use(sealer, sw::detail::base64url_encode(bytes.substr(0, 1) + more +
                                                       bytes.substr(1))) == errc::token_invalid);
    }
}

TEMPLATE_TEST_CASE("garbage is no keyed token", "[sodium]", signed_tokens, encrypted_tokens) {
    INFO(test_support::replay());
    test_support::generator from;
    const sw::token_sealer sealer{TestType{ring()}};
    for (std::size_t round = 0; round != test_support::scaled(3'000); ++round) {
        const std::string head = {static_cast<char>(TestType::id), '\7'};
        REQUIRE(use(sealer, sw::detail::base64url_encode(head + from.bytes(100))) ==
                errc::token_invalid);
    }
    CHECK(use(sealer, std::string(10'000'000, 'A')) == errc::token_malformed);
    CHECK(use(sealer, "Ag") == errc::token_invalid);
    CHECK(use(sealer, "Aw") == errc::token_invalid);
}

TEMPLATE_TEST_CASE("a keyed token of another query or caller is refused", "[sodium]", signed_tokens,
                   encrypted_tokens) {
    const sw::token_sealer sealer{TestType{ring()}};
    const std::string token = sealed(sealer);
    CHECK(use(sealer, token) == errc::ok);
    for (const std::string_view context : {""sv, "tenant-8"sv, "tenant-"sv, "tenant-7\0"sv}) {
        CHECK(use(sealer, token, context) == errc::token_invalid);
    }
    for (const auto& other :
         {sw::binding::of(8, {"author-1"}, "kind=post"),
          sw::binding::of(7, {"author-2"}, "kind=post"),
          sw::binding::of(7, {"author-1", "author-2"}, "kind=post"),
          sw::binding::of(7, {"author-1"}, "kind=reply"), sw::binding::of(7, {"author-1"}, "")}) {
        CHECK(use(sealer, token, "tenant-7", other) == errc::token_invalid);
    }
}

TEST_CASE("the direction of a signed token can not be turned", "[sodium]") {
    const sw::token_sealer sealer{signed_tokens{ring()}};
    std::string bytes = bytes_of(sealed(sealer));
    REQUIRE(bytes[3] == 2);  // behind the kind, the key's id and the end
    bytes[3] = 3;
    CHECK(use(sealer, sw::detail::base64url_encode(bytes)) == errc::token_invalid);
}

TEST_CASE("one kind of token is never taken for another, under one and the same key", "[sodium]") {
    const sw::token_sealer with_signature{signed_tokens{ring()}};
    const sw::token_sealer with_secrecy{encrypted_tokens{ring()}};
    const sw::checksummed without_key;
    for (const std::string& token :
         {sealed(with_signature), sealed(with_secrecy), sealed(without_key)}) {
        std::string bytes = bytes_of(token);
        for (const int kind : {1, 2, 3, 4}) {
            const bool right = static_cast<unsigned char>(bytes_of(token).front()) == kind;
            bytes.front() = static_cast<char>(kind);
            const std::string turned = sw::detail::base64url_encode(bytes);
            CHECK((use(with_signature, turned) == errc::ok) == (right && kind == 2));
            CHECK((use(with_secrecy, turned) == errc::ok) == (right && kind == 3));
            CHECK((use(without_key, turned) == errc::ok) == (right && kind == 1));
        }
    }
}

TEMPLATE_TEST_CASE("a token of another key is refused", "[sodium]", signed_tokens,
                   encrypted_tokens) {
    const sw::token_sealer sealer{TestType{ring()}};
    const std::string token = sealed(sealer);
    // The same id with another key, and the same key with another id.
    for (std::size_t bit = 0; bit != key_ring::key_bytes * 8; ++bit) {
        std::string other = key(7);
        other[bit / 8] = static_cast<char>(other[bit / 8] ^ static_cast<char>(1U << bit % 8));
        CHECK(use(sw::token_sealer{TestType{key_ring{{7, other}}}}, token) == errc::token_invalid);
    }
    const sw::token_sealer renamed{TestType{key_ring{{8, key(7)}}}};
    CHECK(use(renamed, token) == errc::token_invalid);
    std::string bytes = bytes_of(token);
    bytes[1] = 8;
    CHECK(use(renamed, sw::detail::base64url_encode(bytes)) == errc::token_invalid);
}

TEMPLATE_TEST_CASE("keys rotate in three steps, and no token is refused on the way", "[sodium]",
                   signed_tokens, encrypted_tokens) {
    const key_ring before = ring();
    const key_ring added = before.with({300, key(8)});
    const key_ring switched = added.sealing_with(300);
    const key_ring after = switched.without(7);
    const sw::token_sealer first{TestType{before}};
    const sw::token_sealer second{TestType{added}};
    const sw::token_sealer third{TestType{switched}};
    const sw::token_sealer fourth{TestType{after}};

    // Machines are one step apart at most.
    for (const auto& [made, opened] : {std::pair{&first, &second},
                                       {&second, &first},
                                       {&second, &third},
                                       {&third, &second},
                                       {&third, &fourth},
                                       {&fourth, &third},
                                       {&first, &third}}) {
        CHECK(use(*opened, sealed(*made)) == errc::ok);
    }
    // What the old key sealed ends with it.
    CHECK(use(fourth, sealed(first)) == errc::token_invalid);
    CHECK(use(fourth, sealed(second)) == errc::token_invalid);
    // An id that no key has.
    CHECK(use(first, sealed(third)) == errc::token_invalid);
    CHECK(before.current() == 7);
    CHECK(after.current() == 300);
    CHECK(added.size() == 2);
    CHECK(after.size() == 1);
}

TEST_CASE("a key ring refuses what is no key, and says what to do", "[sodium]") {
    const auto why = [](auto make) {
        const sw::error reason = error_of([&] { (void)make(); });
        CHECK(reason.code == errc::invalid_options);
        return reason.detail;
    };
    CHECK(why([] { return key_ring{std::span<const sw::token_key>{}}; }) ==
          "a key ring needs a key");
    CHECK(why([] { return key_ring{{1, std::string(31, 'k')}}; }) ==
          "key 1 has 31 bytes instead of 32; decode hexadecimal or base64 text first");
    CHECK(why([] { return key_ring{{1, std::string(64, 'f')}}; }) ==
          "key 1 has 64 bytes instead of 32; decode hexadecimal or base64 text first");
    CHECK(why([] { return key_ring{{1, ""}}; }).starts_with("key 1 has 0 bytes"));
    CHECK(why([] { return key_ring{{1, std::string(32, '\0')}}; }) ==
          "key 1 is all zero: was it ever loaded?");
    CHECK(why([] { return key_ring{{1, key(1)}, {2, key(2)}, {1, key(3)}}; }) ==
          "two keys have the id 1; a new key needs a new one");
    CHECK(why([] { return ring().with({7, key(8)}); }) ==
          "two keys have the id 7; a new key needs a new one");
    CHECK(why([] { return ring().sealing_with(8); }) == "no key has the id 8; add it first");
    CHECK(why([] { return ring().without(7); }) ==
          "key 7 is the current one; seal with another first");
    CHECK(why([] { return key_ring{{key_ring::most_id + 1, key(1)}}; }) ==
          "a key id of 268435456; at most 268435455 is allowed");
    CHECK(key_ring{{key_ring::most_id, key(1)}}.current() == key_ring::most_id);
    CHECK(ring().without(9).size() == 1);
}

TEMPLATE_TEST_CASE("a token opens for its lifetime, and not much longer", "[sodium]", signed_tokens,
                   encrypted_tokens) {
    const hand_clock clock;
    const sw::token_sealer sealer{TestType{ring(), clock.expiry(1h)}};
    *clock.now += 400ms;
    const std::string token = sealed(sealer);
    CHECK(use(sealer, token) == errc::ok);
    *clock.now += 1h;
    CHECK(use(sealer, token) == errc::ok);
    *clock.now += 1s;
    CHECK(use(sealer, token) == errc::token_expired);
    // Back in time, it is young again: nothing is remembered.
    *clock.now -= 2h;
    CHECK(use(sealer, token) == errc::ok);
    *clock.now = clock_time{} - 24h;
    CHECK(use(sealer, token) == errc::ok);
    const std::string early = sealed(sealer);
    *clock.now = clock_time{} + 59min;
    CHECK(use(sealer, early) == errc::ok);
    *clock.now = clock_time::max();
    CHECK(use(sealer, early) == errc::token_expired);
}

TEMPLATE_TEST_CASE("only a right token is called expired", "[sodium]", signed_tokens,
                   encrypted_tokens) {
    const hand_clock clock;
    const sw::token_sealer sealer{TestType{ring(), clock.expiry(1h)}};
    const std::string token = sealed(sealer);
    *clock.now += 2h;
    REQUIRE(use(sealer, token) == errc::token_expired);
    CHECK(use(sealer, token, "tenant-8") == errc::token_invalid);
    CHECK(use(sw::token_sealer{TestType{key_ring{{7, key(8)}}, clock.expiry(1h)}}, token) ==
          errc::token_invalid);
    const std::string bytes = bytes_of(token);
    for (std::size_t at = 0; at != bytes.size(); ++at) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        CHECK(use(sealer, sw::detail::base64url_encode(changed)) == errc::token_invalid);
    }
    // A token keeps what it was sealed with, whatever the opener's lifetime is.
    const sw::token_sealer for_ever{TestType{ring(), clock.expiry(0s)}};
    CHECK(use(for_ever, token) == errc::token_expired);
    const std::string old = sealed(for_ever);
    *clock.now += 24h * 365 * 100;
    CHECK(use(sealer, old) == errc::ok);
    CHECK(code_of([&] { (void)TestType{ring(), clock.expiry(-1s)}; }) == errc::invalid_options);
    CHECK(code_of([&] { (void)TestType{ring(), {.clock = nullptr}}; }) == errc::invalid_options);
    const sw::token_sealer endless{TestType{ring(), clock.expiry(std::chrono::seconds::max())}};
    CHECK(use(endless, sealed(endless)) == errc::ok);
}

TEST_CASE("an encrypted token shows nothing of its boundary", "[sodium]") {
    const std::string secret = "a secret sort value";
    const sw::token_sealer sealer{encrypted_tokens{ring()}};
    const std::string token = sealer.seal(sw::cursor{state_at(secret)}, "tenant-7");
    CHECK(bytes_of(token).find("secret") == std::string::npos);
    const sw::token_sealer readable{signed_tokens{ring()}};
    CHECK(bytes_of(readable.seal(sw::cursor{state_at(secret)}, "tenant-7")).find(secret) !=
          std::string::npos);
}

TEST_CASE("a keyed token stays short with a thousand sources", "[sodium]") {
    const hand_clock clock;
    const sw::cursor at{
        sw::cursor::state{bound, sw::scan::forward, std::string(16, '\x80'), sw::epoch{1'000'000}}};
    CHECK(sw::token_sealer{signed_tokens{ring()}}.seal(at).size() <= 52);
    CHECK(sw::token_sealer{signed_tokens{ring(), clock.expiry(24h)}}.seal(at).size() <= 58);
    const sw::cursor old{sw::cursor::state{bound, sw::scan::forward, std::string(16, '\x80'),
                                           sw::epoch{1ULL << 60U}}};
    CHECK(sw::token_sealer{signed_tokens{ring(), clock.expiry(24h)}}.seal(old).size() <= 66);
    CHECK(sw::token_sealer{encrypted_tokens{ring()}}.seal(at).size() <= 84);
    // Marks and shares of 1,024 sources.
    sw::cursor::state state = *at.known();
    state.hints.each.resize(1'024);
    state.hints.shares = {255};
    CHECK(sw::token_sealer{signed_tokens{ring()}, {.chars = 66}}.seal(sw::cursor{state}).size() <=
          66);
}

TEMPLATE_TEST_CASE("threads share a sealer", "[sodium]", signed_tokens, encrypted_tokens) {
    const sw::token_sealer sealer{TestType{ring(), {.lifetime = 1h}}};
    std::array<int, 4> taken{};
    std::vector<std::thread> threads;
    for (int& count : taken) {
        threads.emplace_back([&sealer, &count, copy = sealer] {
            for (int i = 0; i != 200; ++i) {
                count += use(copy, sealed(sealer)) == errc::ok ? 1 : 0;
            }
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(taken == std::array{200, 200, 200, 200});
}
