// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/token.hpp>

#include <shardweave/read/order.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/allocated.hpp"
#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/vectors.hpp"

namespace sw = shardweave;
using namespace std::string_literals;
using namespace std::string_view_literals;
using sw::errc;
using test_support::allocated_bytes;
using test_support::code_of;
using test_support::error_of;

namespace {

static_assert(sw::sealer<sw::checksummed>);
static_assert(sw::token_protection<sw::checksum_protection>);
static_assert(std::copyable<sw::checksummed>);

const sw::checksummed sealer;
const auto bound = sw::binding::of(7, {"author-1"}, "kind=post");

sw::cursor::state state_at(std::optional<std::string> boundary, sw::scan way = sw::scan::forward,
                           std::uint64_t epoch = 3) {
    return {bound, way, std::move(boundary), sw::epoch{epoch}};
}

std::string sealed(std::string boundary, std::string_view context = "tenant-7") {
    return sealer.seal(sw::cursor{state_at(std::move(boundary))}, context);
}

/// What opening and using a token ends in: `ok` for one that is taken.
errc use(std::string_view token, std::string_view context = "tenant-7",
         const sw::binding& expected = bound) {
    return code_of([&] { (void)sealer.open(token, context).resolve(expected); });
}

bool refused(std::string_view token) {
    const errc code = use(token);
    return code == errc::token_malformed || code == errc::token_invalid;
}

/// A token that anyone can make who reads the source: the checksum is right, whatever it guards.
std::string forged(std::string_view payload, std::string_view context = "tenant-7") {
    std::string associated;
    sw::byte_writer with{associated};
    with.byte(1);
    with.hash(bound.value);
    with.raw(context);
    std::string guarded;
    sw::byte_writer out{guarded};
    out.text(associated);
    out.raw(payload);
    std::string bytes = "\1" + std::string{payload};
    sw::byte_writer{bytes}.fixed64(sw::stable_hash64(guarded, 0));
    return sw::detail::base64url_encode(bytes);
}

/// Shows that any protection will do: the payload in a simple cipher, behind the key's number.
struct secret_protection {
    static constexpr unsigned char id = 200;
    unsigned char key = 1;

    [[nodiscard]] std::string protect(std::string_view payload, std::string_view associated) const {
        return std::string(1, static_cast<char>(key)) + mixed(payload, key) +
               mixed(associated, key);
    }
    [[nodiscard]] std::optional<std::string> unprotect(std::string_view bytes,
                                                       std::string_view associated) const {
        if (bytes.empty() || bytes.size() <= associated.size()) {
            return std::nullopt;
        }
        const auto used = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        const std::string_view payload = bytes.substr(0, bytes.size() - associated.size());
        if (used > key || bytes.substr(payload.size()) != mixed(associated, used)) {
            return std::nullopt;
        }
        return mixed(payload, used);
    }
    static std::string mixed(std::string_view text, unsigned char key) {
        std::string out{text};
        for (char& c : out) {
            c = static_cast<char>(c ^ static_cast<char>(key));
        }
        return out;
    }
};

}  // namespace

TEST_CASE("a token opens to the cursor that was sealed", "[token]") {
    INFO(test_support::replay());
    test_support::generator from;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const sw::cursor::state state =
            state_at(from.chance(10) ? std::nullopt : std::optional{"x" + from.bytes(60)},
                     from.chance(50) ? sw::scan::forward : sw::scan::backward, from.magnitude());
        const std::string context = from.bytes(20);
        const std::string token = sealer.seal(sw::cursor{state}, context);
        CAPTURE(token);
        REQUIRE(sealer.open(token, context).resolve(bound) == state);
        // Two sealers of one kind agree.
        REQUIRE(sw::checksummed{}.seal(sw::cursor{state}, context) == token);
        REQUIRE(token.find_first_not_of(sw::detail::base64url_alphabet) == std::string::npos);
    }
}

TEST_CASE("a token never changes", "[token][golden]") {
    // Clients hold tokens across releases, and nothing else notices a change: the same code seals
    // and opens. Derived from the form that token.hpp writes down; there is nothing to regenerate.
    struct post {
        std::int64_t created_at;
        std::string id;
    };
    const auto order = sw::newest_first(&post::created_at, sw::unique(&post::id));
    const std::string boundary =
        order.encode(order.position_of(post{1'112'911'993, "e83c5163316f"}));
    const auto known = sw::binding::of(order.fingerprint(), {"author-1"}, "");
    const sw::cursor::state forward{known, sw::scan::forward, boundary, sw::epoch{300}};
    const std::string token = sealer.seal(sw::cursor{forward}, "tenant-7");
    CHECK(test_support::to_hex(sw::detail::base64url_decode(token).value_or("")) ==
          "01"                          // checksummed
          "02"                          // forward, with a boundary
          "ac02"                        // epoch 300
          "7fffffffbdaa4f86"            // 1112911993, descending
          "9ac7cc9ccacec9cccccec999ff"  // "e83c5163316f", descending
          "cd0f677117bb28bc");          // XXH3-64 of what it is bound to, and of the above
    CHECK(token == "AQKsAn____-9qk-GmsfMnMrOyczMzsmZ_80PZ3EXuyi8");
    CHECK(sealer.open(token, "tenant-7").resolve(known) == forward);

    const sw::cursor::state start{known, sw::scan::backward, std::nullopt, sw::epoch{}};
    CHECK(sealer.seal(sw::cursor{start}) == "AQEAph9YZJlnaMg");
    CHECK(sealer.open("AQEAph9YZJlnaMg").resolve(known) == start);
}

TEST_CASE("a token carries the time that a list is as of", "[token]") {
    sw::cursor::state state = state_at("boundary");
    for (const std::int64_t time :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'796'030'654'153},
          sw::item_time::min().milliseconds(), sw::item_time::max().milliseconds()}) {
        state.as_of = sw::item_time::at_milliseconds(time);
        const std::string token = sealer.seal(sw::cursor{state});
        CAPTURE(time, token);
        CHECK(sealer.open(token).resolve(bound) == state);
        CHECK(token.size() <= sealed("boundary").size() + 14);
    }
    state.as_of = sw::item_time::at_milliseconds(-1);
    CHECK(test_support::to_hex(*sw::detail::base64url_decode(sealer.seal(sw::cursor{state})))
              .starts_with("01"       // checksummed
                           "06"       // a boundary, and as of a time
                           "03"       // epoch 3
                           "01"       // -1
                           "626f"));  // the boundary
}

TEST_CASE("a token carries the time that a list has reached", "[token]") {
    sw::cursor::state state = state_at("boundary");
    state.as_of = sw::item_time::at_milliseconds(-1);
    state.reached = sw::item_time::at_milliseconds(-2);
    const std::string token = sealer.seal(sw::cursor{state});
    CHECK(sealer.open(token).resolve(bound) == state);
    CHECK(test_support::to_hex(*sw::detail::base64url_decode(token))
              .starts_with("01"       // checksummed
                           "16"       // a boundary, as of a time, has reached a time
                           "03"       // epoch 3
                           "01"       // -1
                           "03"       // -2
                           "626f"));  // the boundary
}

TEST_CASE("a token does not grow with the number of sources", "[token]") {
    // One that held a store cursor for each of 256 shards had 20,480 characters, and broke the
    // header that carried it.
    for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{1'000}, ~std::uint64_t{0}}) {
        const sw::cursor at{state_at(std::string(16, '\x80'), sw::scan::forward, epoch)};
        CHECK(sealer.seal(at, "tenant-7").size() <= 66);
    }
    CHECK(sealed(std::string(16, 'x')).size() == 36);
    // The context costs nothing.
    CHECK(sealed(std::string(16, 'x'), std::string(1'000, 't')).size() == 36);
}

TEST_CASE("a token of another caller or another query is refused", "[token]") {
    // One that was sealed for one tenant opened for the next, and showed an empty page or worse.
    const std::string token = sealed("boundary");
    CHECK(use(token) == errc::ok);
    for (const std::string_view context : {"", "tenant-8", "tenant-", "tenant-77"}) {
        CAPTURE(context);
        CHECK(use(token, context) == errc::token_invalid);
    }
    CHECK(use(token, "tenant-7\0"sv) == errc::token_invalid);
    CHECK(use(token, "tenant-7", sw::binding::of(8, {"author-1"}, "kind=post")) ==
          errc::token_invalid);
    CHECK(use(token, "tenant-7", sw::binding::of(7, {"author-2"}, "kind=post")) ==
          errc::token_invalid);
    CHECK(use(token, "tenant-7", sw::binding::of(7, {"author-1"}, "kind=reply")) ==
          errc::token_invalid);
    CHECK(use(token, "tenant-7", sw::binding::of(7, {"author-1", "author-2"}, "kind=post")) ==
          errc::token_invalid);
}

TEST_CASE("every bit of a token counts", "[token]") {
    const std::string bytes = *sw::detail::base64url_decode(sealed("a boundary"));
    for (std::size_t bit = 0; bit != bytes.size() * 8; ++bit) {
        std::string changed = bytes;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ static_cast<char>(1U << bit % 8));
        CAPTURE(bit);
        CHECK(use(sw::detail::base64url_encode(changed)) == errc::token_invalid);
    }
}

TEST_CASE("a token with another character, fewer or more of them is refused", "[token]") {
    for (const std::size_t size : {8U, 9U, 10U}) {
        const std::string token = sealed(std::string(size, 'b'));
        CAPTURE(token);
        REQUIRE(use(token) == errc::ok);
        std::size_t taken = 0;
        for (std::size_t at = 0; at != token.size(); ++at) {
            taken += refused(token.substr(0, at)) ? 0U : 1U;
            taken += refused(token.substr(at + 1)) ? 0U : 1U;
            for (unsigned c = 0; c != 256; ++c) {
                std::string changed = token;
                changed[at] = static_cast<char>(c);
                taken += changed == token || refused(changed) ? 0U : 1U;
            }
        }
        for (unsigned c = 0; c != 256; ++c) {
            taken += refused(token + static_cast<char>(c)) ? 0U : 1U;
            taken += refused(static_cast<char>(c) + token) ? 0U : 1U;
        }
        for (const std::string_view end :
             {"=", "==", "===", " ", "\n", "\r\n", "%3D", "AA", "AAAA"}) {
            taken += refused(token + std::string{end}) ? 0U : 1U;
        }
        CHECK(taken == 0);
    }
}

TEST_CASE("what is no page token is refused when it is opened", "[token]") {
    const auto open = [](std::string_view token) {
        return code_of([&] { (void)sealer.open(token, ""); });
    };
    CHECK(open("") == errc::token_malformed);
    CHECK(open("=") == errc::token_malformed);
    CHECK(open("A") == errc::token_malformed);
    CHECK(open("AA==") == errc::token_malformed);
    CHECK(open("a page, please") == errc::token_malformed);
    // The other alphabet of RFC 4648.
    CHECK(open("AB+/") == errc::token_malformed);
    CHECK(open("AB-_") == errc::ok);
    // Bits that stand for nothing, so that two texts would be one token.
    CHECK(open("AA") == errc::ok);
    CHECK(open("AB") == errc::token_malformed);
    CHECK(open("AAA") == errc::ok);
    CHECK(open("AAB") == errc::token_malformed);
}

TEST_CASE("garbage in the right alphabet is refused", "[token]") {
    INFO(test_support::replay());
    test_support::generator from;
    for (std::size_t round = 0; round != test_support::scaled(5'000); ++round) {
        REQUIRE(refused(sw::detail::base64url_encode("\1" + from.bytes(100))));
        REQUIRE(refused(sw::detail::base64url_encode(from.bytes(100))));
    }
}

TEST_CASE("base64url goes there and back, and takes nothing that it does not write", "[token]") {
    using sw::detail::base64url_decode;
    using sw::detail::base64url_encode;
    CHECK(base64url_encode("").empty());
    // RFC 4648, section 10, without the padding.
    CHECK(base64url_encode("f") == "Zg");
    CHECK(base64url_encode("fo") == "Zm8");
    CHECK(base64url_encode("foo") == "Zm9v");
    CHECK(base64url_encode("foob") == "Zm9vYg");
    CHECK(base64url_encode("fooba") == "Zm9vYmE");
    CHECK(base64url_encode("foobar") == "Zm9vYmFy");
    CHECK(base64url_encode("\xfb\xff\xfe") == "-__-");
    INFO(test_support::replay());
    test_support::generator from;
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        const std::string bytes = from.bytes(40);
        REQUIRE(base64url_decode(base64url_encode(bytes)) == bytes);
        std::string text;
        for (std::size_t left = from.below(std::size_t{9}); left != 0; --left) {
            text += from.chance(95) ? from.pick(sw::detail::base64url_alphabet)
                                    : static_cast<char>(from());
        }
        if (const auto decoded = base64url_decode(text)) {
            REQUIRE(base64url_encode(*decoded) == text);
        }
    }
}

TEST_CASE("a huge token is refused before anything is allocated for it", "[token]") {
    std::string huge(10'000'000, 'A');
    test_support::generator from;
    for (const bool random : {false, true}) {
        if (random) {
            std::generate(huge.begin(), huge.end(), [&] { return static_cast<char>(from()); });
        }
        const std::size_t before = allocated_bytes;
        const errc code = use(huge);
        const std::size_t used = allocated_bytes - before;
        CHECK(code == errc::token_malformed);
        CHECK(used < 2'000);
    }

    const std::string over(sw::limits::token_chars + 1, 'A');
    CHECK(use(over) == errc::token_malformed);
    const std::string most(sw::limits::token_chars, 'A');
    const std::size_t start = allocated_bytes;
    CHECK(use(most) == errc::token_invalid);
    CHECK(allocated_bytes - start < 8 * sw::limits::token_chars);
}

TEST_CASE("a token that would be too long is refused when it is made, and never cut", "[token]") {
    // id, flags, epoch and tag take 11 bytes, and 6,000 bytes are 8,000 characters.
    const std::string most = sealed(std::string(5'989, 'b'));
    CHECK(most.size() == sw::limits::token_chars);
    CHECK(use(most) == errc::ok);
    CHECK(code_of([] { (void)sealed(std::string(5'990, 'b')); }) == errc::limit_exceeded);
}

TEST_CASE("what a right checksum guards is still treated as hostile", "[token]") {
    CHECK(use(forged("\2\3boundary")) == errc::ok);
    CHECK(use(forged("\0\3"sv)) == errc::ok);
    for (const std::string_view payload : {
             ""sv,                                            // nothing
             "\0"sv,                                          // no epoch
             "\2\3"sv,                                        // the boundary is missing
             "\0\3b"sv,                                       // bytes that nothing announces
             "\x20\3"sv, "\x80\3"sv, "\xff\3b"sv,             // flags that do not exist
             "\x10\3"sv,                                      // a reached time is missing
             "\4\3"sv, "\6\3b"sv,                             // a time, or a boundary, is missing
             "\4\3\x82\0"sv,                                  // the time, longer than it must be
             "\x8\3"sv, "\xa\3\0b"sv,                         // hints are missing, or none
             "\2\x83\0b"sv,                                   // the epoch, longer than it must be
             "\0\x80"sv,                                      // an epoch without an end
             "\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,  // an epoch of 65 bits
         }) {
        CAPTURE(test_support::to_hex(payload));
        CHECK(use(forged(payload)) == errc::token_malformed);
    }
    INFO(test_support::replay());
    test_support::generator from;
    for (std::size_t round = 0; round != test_support::scaled(5'000); ++round) {
        const std::string payload =
            std::string(1, static_cast<char>(from.below(8U))) + from.bytes(12);
        const std::string token = forged(payload);
        CAPTURE(test_support::to_hex(payload));
        if (use(token) == errc::ok) {
            // One text for each cursor without hints.
            REQUIRE(sealer.seal(sw::cursor{sealer.open(token, "tenant-7").resolve(bound)},
                                "tenant-7") == token);
        } else {
            REQUIRE(use(token) == errc::token_malformed);
        }
    }
}

TEST_CASE("a protection is told from another by the first byte", "[token]") {
    std::string bytes = *sw::detail::base64url_decode(sealed("boundary"));
    bytes[0] = 2;
    CHECK(use(sw::detail::base64url_encode(bytes)) == errc::token_invalid);
    // As when someone turned a signed token into a checksummed one.
    const sw::token_sealer<secret_protection> secret;
    CHECK(use(secret.seal(sw::cursor{state_at("boundary")}, "tenant-7")) == errc::token_invalid);
    CHECK(code_of([&] { (void)secret.open(sealed("boundary"), "tenant-7").resolve(bound); }) ==
          errc::token_invalid);
}

TEST_CASE("any protection can be a sealer, and read what an older key sealed", "[token]") {
    const sw::token_sealer<secret_protection> before{secret_protection{1}};
    const sw::token_sealer after{secret_protection{2}};
    const sw::cursor at{state_at("a boundary")};
    const std::string old = before.seal(at, "tenant-7");
    CHECK(after.open(old, "tenant-7").resolve(bound) == state_at("a boundary"));
    CHECK(after.seal(at, "tenant-7") != old);
    CHECK(code_of([&] { (void)before.open(after.seal(at), "").resolve(bound); }) ==
          errc::token_invalid);
    CHECK(code_of([&] { (void)after.open(old, "tenant-8").resolve(bound); }) ==
          errc::token_invalid);
}

TEST_CASE("an opened cursor outlives its sealer, and the texts that it came from", "[token]") {
    std::optional<sw::cursor> at;
    {
        const sw::checksummed passing;
        const std::string token = sealed("a boundary that no small buffer holds, for sure");
        const std::string context = "tenant-7";
        at = passing.open(token, context);
    }
    CHECK(at->resolve(bound) == state_at("a boundary that no small buffer holds, for sure"));
}

TEST_CASE("a cursor that was opened can not be sealed again without a read", "[token]") {
    // Its binding is not known before, and a token must not be bound anew to something else.
    const sw::cursor opened = sealer.open(sealed("boundary"), "tenant-7");
    CHECK(code_of([&] { (void)sealer.seal(opened, "tenant-8"); }) == errc::cursor_mismatch);
}

TEST_CASE("no error echoes what a token holds", "[token]") {
    const std::string secret = "a secret sort value";
    const std::string token = sealed(secret);
    std::string payload = "\x27\3";
    payload += secret;
    for (const std::string& bad :
         {token.substr(1), token + "!", token + "A", forged(payload), forged("\0\3" + secret)}) {
        const sw::error why = error_of([&] { (void)sealer.open(bad, "tenant-7").resolve(bound); });
        CAPTURE(why.message());
        CHECK(why.code != errc::ok);
        CHECK(why.message().find("secret") == std::string::npos);
        CHECK(why.message().find(token.substr(4, 8)) == std::string::npos);
        CHECK(why.message().find(bad.substr(0, 8)) == std::string::npos);
    }
    const sw::error other = error_of([&] { (void)sealer.open(token, "tenant-8").resolve(bound); });
    CHECK(other.message().find("tenant") == std::string::npos);
}
