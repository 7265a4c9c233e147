// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/bytes.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/generate.hpp"
#include "support/vectors.hpp"

using namespace shardweave;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

static_assert(noexcept(std::declval<byte_reader&>().varint()), "hostile bytes never throw");
static_assert(noexcept(std::declval<byte_reader&>().text(1)), "nor allocate");
static_assert(noexcept(std::declval<byte_reader&>().hash()));
static_assert(std::is_nothrow_constructible_v<byte_reader, std::string_view>);

std::string varint(std::uint64_t value) {
    std::string bytes;
    byte_writer{bytes}.varint(value);
    return bytes;
}

struct string_sink {
    std::string bytes;
    void put(unsigned char byte) { bytes.push_back(static_cast<char>(byte)); }
    [[nodiscard]] static bool full() { return false; }
};

std::string ordered_text(std::string_view text, unsigned char mask = 0) {
    string_sink sink;
    ordered_writer{sink, mask}.text(text);
    return sink.bytes;
}

std::string ordered_number(std::uint64_t value, unsigned bytes, unsigned char mask = 0) {
    string_sink sink;
    ordered_writer{sink, mask}.fixed(value, bytes);
    return sink.bytes;
}

int sign(int comparison) { return (comparison > 0) - (comparison < 0); }

}  // namespace

TEST_CASE("a varint has one writing, at every length", "[bytes]") {
    for (unsigned bits = 0; bits != 64; ++bits) {
        for (const std::uint64_t value : {(std::uint64_t{1} << bits) - 1, std::uint64_t{1} << bits,
                                          ~std::uint64_t{0} >> bits}) {
            const std::string bytes = varint(value);
            CAPTURE(value, test_support::to_hex(bytes));
            std::size_t expected = 1;
            for (std::uint64_t rest = value >> 7U; rest != 0; rest >>= 7U) {
                ++expected;
            }
            CHECK(bytes.size() == expected);

            byte_reader whole{bytes};
            CHECK(whole.varint() == value);
            CHECK(whole.finished());

            byte_reader within{bytes};
            CHECK(within.varint(value) == value);
            if (value != 0) {
                byte_reader over{bytes};
                CHECK(over.varint(value - 1) == 0);
                CHECK_FALSE(over.ok());
            }

            byte_reader cut{std::string_view{bytes}.substr(0, bytes.size() - 1)};
            CHECK(cut.varint() == 0);
            CHECK_FALSE(cut.ok());

            // The same number with one zero group more: a second writing of it.
            std::string overlong = bytes;
            overlong.back() = static_cast<char>(overlong.back() | '\x80');
            overlong += '\0';
            byte_reader longer{overlong};
            CHECK(longer.varint() == 0);
            CHECK_FALSE(longer.ok());
        }
    }
    CHECK(test_support::to_hex(varint(0)) == "00");
    CHECK(test_support::to_hex(varint(127)) == "7f");
    CHECK(test_support::to_hex(varint(128)) == "8001");
    CHECK(test_support::to_hex(varint(300)) == "ac02");
    CHECK(test_support::to_hex(varint(~std::uint64_t{0})) == "ffffffffffffffffff01");
}

TEST_CASE("a varint of more than 64 bits is refused, not cut", "[bytes]") {
    for (const std::string_view bytes : {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"sv,
                                         "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01"sv,
                                         "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"sv}) {
        byte_reader in{bytes};
        CHECK(in.varint() == 0);
        CHECK_FALSE(in.ok());
    }
}

TEST_CASE("what a writer writes, a reader reads", "[bytes]") {
    INFO(test_support::replay());
    test_support::generator any;
    for (std::size_t round = 0; round != test_support::scaled(2'000); ++round) {
        const std::uint64_t number = any.magnitude();
        const std::string text = any.bytes(300);
        const hash128 print{any(), any()};
        const auto byte = static_cast<unsigned char>(any());
        std::string bytes;
        byte_writer out{bytes};
        out.varint(number);
        out.text(text);
        out.hash(print);
        out.byte(byte);
        out.raw("end");

        byte_reader in{bytes};
        const bool same = in.varint() == number && in.text(300) == text && in.hash() == print &&
                          in.byte() == byte && in.raw(3) == "end" && in.finished();
        CAPTURE(round, number, test_support::to_hex(text));
        REQUIRE(same);

        // Cut anywhere, the same reads end in a fault.
        byte_reader cut{std::string_view{bytes}.substr(0, any.below(bytes.size()))};
        cut.varint();
        cut.text(300);
        cut.hash();
        cut.byte();
        cut.raw(3);
        REQUIRE_FALSE(cut.ok());
    }
}

TEST_CASE("numbers of fixed width are big-endian on every machine", "[bytes][golden]") {
    std::string bytes;
    byte_writer{bytes}.hash({0x0102030405060708, 0x090a0b0c0d0e0ff0});
    CHECK(test_support::to_hex(bytes) == "0102030405060708090a0b0c0d0e0ff0");
}

TEST_CASE("the first fault sticks, and everything read after it is empty", "[bytes]") {
    byte_reader in{"\x06"
                   "abc"
                   "\x01z"sv};
    CHECK(in.text(10).empty());
    CHECK_FALSE(in.ok());
    CHECK_FALSE(in.finished());
    CHECK(in.remaining() == 0);
    CHECK(in.text(10).empty());
    CHECK(in.varint() == 0);
    CHECK(in.byte() == 0);
    CHECK(in.raw(1).empty());
    CHECK(in.fixed64() == 0);
    CHECK(in.hash() == hash128{});
}

TEST_CASE("a text over its limit is refused although the bytes are there", "[bytes]") {
    byte_reader exact{"\x03"
                      "abc"sv};
    CHECK(exact.text(3) == "abc");
    CHECK(exact.finished());
    byte_reader over{"\x03"
                     "abc"sv};
    CHECK(over.text(2).empty());
    CHECK_FALSE(over.ok());
}

TEST_CASE("bytes left over are noticed", "[bytes]") {
    byte_reader in{"\x01x"sv};
    CHECK(in.varint() == 1);
    CHECK(in.ok());
    CHECK_FALSE(in.finished());
    CHECK(in.remaining() == 1);
}

TEST_CASE("ordered texts compare as their bytes do, whatever the sign of char", "[bytes]") {
    // Signed bytes in one place and unsigned ones in another gave duplicate rows on resuming.
    const std::vector<std::string> rising{""s,
                                          "\0"s,
                                          "\0\0"s,
                                          "\0\1"s,
                                          "\1"s,
                                          "\1\0"s,
                                          "\2"s,
                                          "A"s,
                                          "a"s,
                                          "a\0"s,
                                          "a\0b"s,
                                          "a\1"s,
                                          "ab"s,
                                          "\x7f"s,
                                          "\x80"s,
                                          "\xef\xbd\x9e"s,
                                          "\xf0\x9f\x98\x80"s,
                                          "\xff"s,
                                          "\xff\xff"s};
    for (std::size_t i = 0; i + 1 < rising.size(); ++i) {
        CAPTURE(test_support::to_hex(rising[i]), test_support::to_hex(rising[i + 1]));
        CHECK(ordered_text(rising[i]) < ordered_text(rising[i + 1]));
        CHECK(ordered_text(rising[i], 0xff) > ordered_text(rising[i + 1], 0xff));
    }
    CHECK(test_support::to_hex(ordered_text("a\0\1z"sv)) == "61010101027a00");
    CHECK(test_support::to_hex(ordered_text("a\0\1z"sv, 0xff)) == "9efefefefd85ff");
}

TEST_CASE("joined ordered keys compare as the tuples of their values do", "[bytes]") {
    INFO(test_support::replay());
    test_support::generator any;
    const std::vector<std::string> fragments{"", "a", "b", "\0"s, "\1", "\2", "\xff", "\x80"};
    for (std::size_t round = 0; round != test_support::scaled(50'000); ++round) {
        const std::string first[] = {any.joined(fragments, 3), any.joined(fragments, 3)};
        const std::string last[] = {any.joined(fragments, 3), any.joined(fragments, 3)};
        const std::int64_t middle[] = {static_cast<std::int64_t>(any.magnitude()) >> any.below(2U),
                                       -static_cast<std::int64_t>(any.magnitude() >> 1U)};
        const unsigned char masks[] = {static_cast<unsigned char>(any.chance(50) ? 0xff : 0),
                                       static_cast<unsigned char>(any.chance(50) ? 0xff : 0),
                                       static_cast<unsigned char>(any.chance(50) ? 0xff : 0)};
        std::string keys[2];
        for (const unsigned i : {0U, 1U}) {
            string_sink sink;
            ordered_writer out{sink, masks[0]};
            out.text(first[i]);
            out.mask(masks[1]);
            out.fixed(static_cast<std::uint64_t>(middle[i]) ^ (std::uint64_t{1} << 63U), 8);
            out.mask(masks[2]);
            out.text(last[i]);
            keys[i] = std::move(sink.bytes);

            ordered_reader in{keys[i]};
            in.mask(masks[0]);
            const bool first_read = in.text() == first[i];
            in.mask(masks[1]);
            const bool middle_read =
                in.fixed(8) == (static_cast<std::uint64_t>(middle[i]) ^ (std::uint64_t{1} << 63U));
            in.mask(masks[2]);
            REQUIRE((first_read && middle_read && in.text() == last[i] && in.finished()));
        }
        int expected = sign(first[0].compare(first[1])) * (masks[0] == 0 ? 1 : -1);
        if (expected == 0) {
            expected =
                ((middle[0] > middle[1]) - (middle[0] < middle[1])) * (masks[1] == 0 ? 1 : -1);
        }
        if (expected == 0) {
            expected = sign(last[0].compare(last[1])) * (masks[2] == 0 ? 1 : -1);
        }
        CAPTURE(round, test_support::to_hex(keys[0]), test_support::to_hex(keys[1]));
        REQUIRE(sign(keys[0].compare(keys[1])) == expected);
        REQUIRE((expected == 0 || !keys[0].starts_with(keys[1])));
    }
}

TEST_CASE("ordered numbers are big-endian in as many bytes as asked", "[bytes][golden]") {
    CHECK(test_support::to_hex(ordered_number(0x0102030405060708, 8)) == "0102030405060708");
    CHECK(test_support::to_hex(ordered_number(0x0102, 2)) == "0102");
    CHECK(test_support::to_hex(ordered_number(0x0102, 2, 0xff)) == "fefd");
}

TEST_CASE("an ordered text that no writer makes is refused", "[bytes]") {
    for (const std::string_view bytes :
         {""sv, "a"sv, "a\1"sv, "a\1\0"sv, "a\1\3\0"sv, "a\1\xff\0"sv, "\1"sv}) {
        for (const char mask : {'\0', '\xff'}) {
            std::string masked{bytes};
            for (char& c : masked) {
                c = static_cast<char>(c ^ mask);
            }
            CAPTURE(test_support::to_hex(masked));
            ordered_reader in{masked};
            in.mask(static_cast<unsigned char>(mask));
            CHECK(in.text().empty());
            CHECK_FALSE(in.ok());
        }
    }
    ordered_reader cut{"\x01\x02"sv};
    cut.fixed(4);
    CHECK_FALSE(cut.ok());
}

TEST_CASE("reading an ordered text allocates no more than is left of it", "[bytes]") {
    const std::string long_text(10'000, '\1');
    const std::string key = ordered_text(long_text);
    ordered_reader in{key};
    CHECK(in.text().capacity() <= key.size() * 2);
    CHECK(in.finished());
}

namespace {

/// Takes four bytes, then listens no longer.
struct short_sink {
    std::string bytes;
    std::size_t offered = 0;
    void put(unsigned char byte) {
        ++offered;
        if (!full()) {
            bytes.push_back(static_cast<char>(byte));
        }
    }
    [[nodiscard]] bool full() const { return bytes.size() == 4; }
};

}  // namespace

TEST_CASE("a writer stops soon after its sink is full", "[bytes]") {
    short_sink sink;
    ordered_writer{sink}.text(std::string(1'000'000, 'x'));
    CHECK(sink.bytes == "xxxx");
    CHECK(sink.offered <= 5);
}
