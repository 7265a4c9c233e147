// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/hints.hpp>

#include <shardweave/core/detail/base64url.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/token.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/allocated.hpp"
#include "support/cursors.hpp"
#include "support/failing.hpp"
#include "support/generate.hpp"
#include "support/vectors.hpp"

namespace sw = shardweave;
using namespace std::string_literals;
using namespace std::string_view_literals;
using sw::errc;
using sw::detail::hint_level;
using test_support::allocated_bytes;
using test_support::code_of;
using test_support::last_key;
using test_support::random_text;

namespace {

static_assert(std::equality_comparable<sw::cursor_hints>);

const auto bound = sw::binding::of(7, {"author-1"}, "");
const sw::checksummed sealer;

std::string encoded(const sw::cursor_hints& hints, hint_level level = hint_level::all) {
    std::string bytes;
    sw::byte_writer out{bytes};
    sw::detail::write_hints(out, hints, sw::detail::hint_parts(hints, level));
    return bytes;
}

std::optional<sw::cursor_hints> decoded(std::string_view bytes) {
    sw::byte_reader in{bytes};
    sw::cursor_hints hints = sw::detail::read_hints(in);
    return in.finished() ? std::optional{std::move(hints)} : std::nullopt;
}

sw::cursor_hints hints_of(std::vector<std::string> cursors) {
    sw::cursor_hints hints{.sources = 0x0123456789abcdef};
    for (std::string& each : cursors) {
        hints.each.push_back({std::move(each)});
    }
    return hints;
}

std::vector<std::string> many(std::size_t count, const auto& make) {
    std::vector<std::string> cursors;
    for (std::size_t i = 0; i != count; ++i) {
        cursors.push_back(make(i));
    }
    return cursors;
}

sw::cursor::state state_with(sw::cursor_hints hints, std::string boundary = "0123456789abcdef") {
    return {bound, sw::scan::forward, std::move(boundary), sw::epoch{3}, std::move(hints)};
}

/// A changed copy of `text`: some bytes replaced, inserted, or gone.
std::string edited(test_support::generator& from, std::string text) {
    for (std::size_t edits = from.below(std::size_t{4}); edits != 0; --edits) {
        const std::size_t at = from.below(text.size() + 1);
        text.replace(at, from.below(std::size_t{4}), from.bytes(5));
    }
    return text;
}

}  // namespace

TEST_CASE("hints come back from their bytes", "[hints]") {
    INFO(test_support::replay());
    test_support::generator from;
    for (std::size_t round = 0; round != test_support::scaled(3'000); ++round) {
        sw::cursor_hints hints;
        for (std::size_t ranks = from.below(std::size_t{5}); ranks != 0; --ranks) {
            hints.shares.push_back(static_cast<std::uint8_t>(from()));
        }
        const std::size_t count = from.chance(5) ? from.below(std::size_t{2'000}) : from.below(9U);
        const unsigned ended = from.pick(std::vector{0U, 5U, 50U, 100U});
        const unsigned empty = from.pick(std::vector{0U, 5U, 50U, 100U});
        std::string shape = from.bytes(from.chance(10) ? 400 : 40);
        for (std::size_t i = 0; i != count; ++i) {
            hints.sources = 1 + round;
            shape = from.chance(5) ? from.bytes(40) : edited(from, std::move(shape));
            hints.each.push_back({from.chance(empty) ? "" : shape, from.chance(ended)});
        }
        if (hints.empty()) {
            continue;
        }
        const std::string bytes = encoded(hints);
        CAPTURE(round, bytes.size());
        REQUIRE(decoded(bytes) == hints);
        // Every byte counts, and nothing may follow.
        REQUIRE_FALSE(decoded(bytes.substr(0, bytes.size() - 1)));
        REQUIRE_FALSE(decoded(bytes + '\0'));
    }
}

TEST_CASE("hints have the bytes that their form says", "[hints][golden]") {
    // Clients hold them across releases, and nothing else notices a change: the same code writes
    // and reads. Derived by hand from the forms; there is nothing to regenerate.
    CHECK(test_support::to_hex(encoded({.shares = {255, 16}})) == "0102ff10");
    sw::cursor_hints hints = hints_of({"page-07/000111", "", "page-08/000222", "page-10/000222"});
    hints.each[1].ended = true;
    CHECK(test_support::to_hex(encoded(hints)) ==
          "06"                // sources and their cursors
          "04"                // four
          "0123456789abcdef"  // of this list
          "010102"            // the second has ended
          "00010102"          // all but the second have cursors
          "0e08"              // 14 bytes, as they are, of the first cursor
          "706167652d30372f303030313131"
          "0608"    // 6 bytes, as they are, in which the others differ
          "38"      // the digit
          "323232"  // the digits
          "3130"    // the digits
          "0808"    // 8 bytes of steps, as they are
          "1c"      // 14 bytes longer than nothing
          "0f"      // copy nothing, insert all
          "00"      // no longer than the one before
          "6143"    // copy 6, insert 1; copy 4, insert 3
          "00"      // no longer
          "5270");  // copy 5, insert 2; copy 7
    CHECK(decoded(encoded(hints)) == hints);
    // A field that grows shifts nothing behind it: its end is where the next copy begins.
    const sw::cursor_hints grown = hints_of({"item-9/2026-11-30", "item-10/2026-11-30"});
    CHECK(test_support::to_hex(encoded(grown)).ends_with("0252b0"));
    CHECK(decoded(encoded(grown)) == grown);
    // Eight symbols take three bits each.
    CHECK(test_support::to_hex(encoded(hints_of({std::string(24, 'x') + "abcdefg"})))
              .starts_with("0601"
                           "0123456789abcdef"
                           "0100"
                           "01"
                           "1f"
                           "03"
                           "610710018701"));
}

TEST_CASE("cursors of one shape take half of what their differences behind a prefix take",
          "[hints]") {
    for (const std::size_t count : {16U, 64U, 256U}) {
        for (const auto kind : {test_support::shape::json, test_support::shape::base64}) {
            const auto cursors = many(count, [&](std::size_t i) { return last_key(i, kind); });
            const std::size_t ours = encoded(hints_of(cursors)).size();
            const std::size_t prefixed = test_support::prefix_coded(cursors);
            CAPTURE(count, ours, prefixed, cursors.front().size());
            CHECK(10 * ours <= 5 * prefixed);
        }
    }
}

TEST_CASE("what can not be made smaller hardly grows", "[hints]") {
    test_support::generator from;
    const auto cursors = many(100, [&](std::size_t) {
        std::string bytes(64, '\0');
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(from()); });
        return bytes;
    });
    CHECK(encoded(hints_of(cursors)).size() <= std::size_t{100} * (64 + 4) + 24);
}

TEST_CASE("102 sources with incompressible cursors of 64 characters fit in a token", "[hints]") {
    test_support::generator from;
    for (const std::string_view alphabet :
         {sw::detail::base64url_alphabet, "0123456789abcdef"sv, test_support::printable()}) {
        const auto state = state_with(
            hints_of(many(102, [&](std::size_t) { return random_text(from, alphabet, 64); })));
        const std::string token = sealer.seal(sw::cursor{state});
        CAPTURE(alphabet, token.size());
        CHECK(token.size() <= sw::limits::token_chars);
        CHECK(sealer.open(token).resolve(bound) == state);
    }
}

TEST_CASE("a token loses its hints before it grows too long, and never its boundary", "[hints]") {
    test_support::generator from;
    auto hints = hints_of(many(300, [&](std::size_t) { return from.bytes(100); }));
    for (std::size_t i = 0; i < 300; i += 3) {
        hints.each[i].ended = true;
    }
    hints.shares = {250, 5};
    const auto kept = [&](std::size_t chars) {
        const sw::token_sealer<sw::checksum_protection> small{{}, {.chars = chars}};
        const std::string token = small.seal(sw::cursor{state_with(hints)});
        CHECK(token.size() <= chars);
        const auto state = sealer.open(token).resolve(bound);
        CHECK(state.boundary == "0123456789abcdef");
        return state.hints;
    };
    auto marks = hints;
    for (auto& each : marks.each) {
        each.cursor.clear();
    }
    CHECK(kept(sw::limits::token_chars) == marks);
    CHECK(kept(400) == marks);
    CHECK(kept(300) == sw::cursor_hints{.shares = {250, 5}});
    CHECK(kept(42) == sw::cursor_hints{.shares = {250, 5}});
    CHECK(kept(36) == sw::cursor_hints{});
    CHECK(code_of([&] { (void)kept(35); }) == errc::limit_exceeded);

    // Without a mark, nothing is left of sources without cursors.
    for (auto& each : hints.each) {
        each.ended = false;
    }
    CHECK(kept(sw::limits::token_chars) == sw::cursor_hints{.shares = {250, 5}});
}

TEST_CASE("hints over their limits are left out, and fail nothing", "[hints]") {
    const auto opened = [](sw::cursor_hints hints) {
        const std::string token = sealer.seal(sw::cursor{state_with(std::move(hints))});
        return sealer.open(token).resolve(bound).hints;
    };
    sw::cursor_hints hints{.sources = 1};
    hints.each.assign(sw::limits::sources, {"", true});
    CHECK(opened(hints) == hints);
    hints.each.emplace_back();
    CHECK(opened(hints) == sw::cursor_hints{});

    hints = hints_of({std::string(sw::limits::token_cursor_bytes, 'x')});
    hints.each.front().ended = true;
    CHECK(opened(hints) == hints);
    hints.each.front().cursor += 'x';
    CHECK(opened(hints) == sw::cursor_hints{.sources = hints.sources, .each = {{"", true}}});

    hints = {.shares = std::vector<std::uint8_t>(sw::limits::schemes_per_key, 1)};
    CHECK(opened(hints) == hints);
    hints.shares.push_back(1);
    CHECK(opened(hints) == sw::cursor_hints{});

    CHECK(code_of([] { (void)sw::checksummed{{}, {.chars = 0}}; }) == errc::invalid_options);
    CHECK(code_of([] { (void)sw::checksummed{{}, {.chars = sw::limits::token_chars + 1}}; }) ==
          errc::invalid_options);
}

TEST_CASE("hostile hints are refused", "[hints]") {
    const std::string list = "\1\2\3\4\5\6\7\x8"s;
    CHECK(decoded("\2\1"s + list + "\1"));
    // One source, its marks, and what comes first of its cursor "hi".
    const std::string head = "\6\1"s + list + "\1\0\1"s;
    const std::string hi = head + "\2\x8hi\0"s;
    CHECK(decoded(hi + "\2\x8\4\2"s));
    for (const std::string& bytes : {
             ""s,
             "\0"s,        // no part at all
             "\4\1\0\1"s,  // cursors of no source
             "\x8"s,
             "\xff"s,                                    // parts that do not exist
             "\1\0"s,                                    // no shares
             "\1\2\1"s,                                  // too few
             "\1\x41"s + std::string(65, 'x'),           // too many
             "\2\0"s + list,                             // no sources
             "\2\x80\x80\x80\x80\x8"s + list + "\1"s,    // 2^31 of them
             "\2\x81\x20"s + list + "\x81\x20"s,         // 4,097 of them
             "\2\x81\0"s + list + "\1"s,                 // one, in an overlong way
             "\2\1"s + list,                             // no marks
             "\2\1"s + list + "\2"s,                     // more marks than sources
             "\2\1"s + list + "\0\0\1"s,                 // runs of nothing
             "\2\2"s + list + "\1\0\1"s,                 // and between others
             head,                                       // cursors that are missing
             hi,                                         // and their steps
             hi + "\2\x8\2\2"s,                          // of another length
             hi + "\2\x8\0\2"s,                          // of no length
             hi + "\2\x8\3\2"s,                          // of a negative one
             hi + "\2\x8\4\1"s,                          // a step too few
             hi + "\2\x8\4\3"s,                          // a step too far
             hi + "\3\x8\4\1\1"s,                        // a second one without a copy
             hi + "\3\x8\4\0\2"s,                        // the same, after nothing
             hi + "\3\x8\4\x11\1"s,                      // a copy of nothing
             hi + "\2\x8\2\1"s,                          // a byte too many
             hi + "\3\x8\4\2\0"s,                        // steps that nobody asks for
             head + "\2\x8hi\1\x8x\2\x8\4\2"s,           // bytes that nobody inserts
             head + "\2\x9hi\0\2\x8\4\2"s,               // of nine bits
             head + "\2\0\1\1\xff\1\0\2\x8\4\2"s,        // more than 256 values
             head + "\2\1\x61\1\x9e\1\0\0\2\x8\4\2"s,    // one bit for one value
             head + "\2\2\x61\3\x9c\1\xf0\0\2\x8\4\2"s,  // no such value
             head + "\2\1\x61\2\x9d\1\x01\0\2\x8\4\2"s,  // a hidden bit
         }) {
        CAPTURE(test_support::to_hex(bytes));
        CHECK_FALSE(decoded(bytes));
    }
    CHECK(decoded(head + "\2\0\x61\1\x9e\1\0\2\x8\4\2"s));
    CHECK(decoded(head + "\2\1\x61\2\x9d\1\x40\0\2\x8\4\2"s));
}

TEST_CASE("damaged hints never cost more memory than the limits allow", "[hints]") {
    INFO(test_support::replay());
    test_support::generator from;
    const std::size_t most = sw::limits::sources * sizeof(sw::cursor_hints::one) +
                             2 * sw::limits::token_cursor_bytes + 4'096;
    std::size_t taken = 0;
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        std::string bytes = encoded(hints_of(many(1 + from.below(20U), [&](std::size_t i) {
            return last_key(i, test_support::shape::json);
        })));
        for (std::size_t faults = 1 + from.below(3U); faults != 0; --faults) {
            bytes[from.below(bytes.size())] = static_cast<char>(from());
        }
        CAPTURE(test_support::to_hex(bytes));
        const std::size_t before = allocated_bytes;
        const auto hints = decoded(bytes);
        REQUIRE(allocated_bytes - before <= most);
        if (hints && !hints->empty()) {
            ++taken;
            REQUIRE(decoded(encoded(*hints)) == hints);
        }
    }
    CHECK(taken > 0);

    // The worst that bytes can ask for: one long cursor, and copies of it for all other sources.
    std::string bomb = "\6\x80\x20\1\2\3\4\5\6\7\x8\x80\x20\0\x80\x20"s;
    sw::byte_writer out{bomb};
    out.varint(4'000);
    out.byte(0);  // nothing but x
    out.varint('x');
    out.varint(1);
    out.varint(255 - 'x');
    out.varint(0);  // the others insert nothing
    std::string steps;
    sw::byte_writer to{steps};
    for (std::size_t i = 0; i != sw::limits::sources; ++i) {
        to.signed_varint(i == 0 ? 4'000 : 0);
        to.byte(i == 0 ? 0x0f : 0xf0);
    }
    sw::detail::write_packed(out, steps);
    CHECK(bomb.size() < sw::limits::token_chars * 3 / 4);
    const std::size_t before = allocated_bytes;
    CHECK_FALSE(decoded(bomb));
    CHECK(allocated_bytes - before <= most);
}
