// SPDX-License-Identifier: BSL-1.0
// Page tokens from hostile clients: refused with a code of their own, or read as what they say.
#include <shardweave/read/token.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "fuzz.hpp"

namespace sw = shardweave;

namespace {

const sw::checksummed sealer;
const auto bound = sw::binding::of(7, {"author-1"}, "kind=post");
constexpr std::string_view tenant = "tenant-7";

/// The token's state, or nothing for one that is refused.
std::optional<sw::cursor::state> opened(std::string_view token) {
    // Its bytes, again as decoded, the store cursors up to their limit, and what a string or a
    // vector that grows takes besides; a hint of a source takes 40 bytes.
    const std::size_t justified =
        16 * token.size() + 2 * sw::limits::token_cursor_bytes + 48 * sw::limits::sources + 4096;
    const fuzz::allocation_watch watch;
    std::optional<sw::cursor::state> state;
    try {
        state = sealer.open(token, tenant).resolve(bound);
    } catch (const sw::failure& refused) {
        fuzz::must(refused.code() == sw::errc::token_malformed ||
                       refused.code() == sw::errc::token_invalid,
                   "a token is refused as malformed or invalid");
        fuzz::must(refused.reason().detail.size() < 120, "a refusal does not echo the token");
    }
    fuzz::must(watch.bytes() <= justified, "a token allocates no more than it justifies");
    return state;
}

/// Token text that anyone can make who reads the source: the checksum is right.
std::string forged(std::string_view payload) {
    std::string associated;
    sw::byte_writer with{associated};
    with.byte(sw::checksum_protection::id);
    with.hash(bound.value);
    with.raw(tenant);
    std::string bytes(1, static_cast<char>(sw::checksum_protection::id));
    bytes += sw::checksum_protection{}.protect(payload, associated);
    return sw::detail::base64url_encode(bytes);
}

void check_state(const sw::cursor::state& state) {
    fuzz::must(state.binding == bound, "a token opens for the query that is asked");
    const std::string token = sealer.seal(sw::cursor{state}, tenant);
    const auto again = opened(token);
    fuzz::must(again.has_value(), "what was sealed opens");
    auto expected = state;
    if (again->hints != state.hints) {
        // A token that would be too long, or hints over their limits, go without.
        fuzz::must(again->hints.each.empty() || again->hints.each.size() == state.hints.each.size(),
                   "hints are left out, not changed");
        expected.hints = again->hints;
    }
    fuzz::must(*again == expected, "open(seal(x)) is x");
    fuzz::must(sealer.seal(sw::cursor{*again}, tenant) == token, "one state has one token");
}

/// Changes one character: never another state than the one that was sealed.
void check_changed(const sw::cursor::state& state, fuzz::choices& in) {
    std::string token = sealer.seal(sw::cursor{state}, tenant);
    const std::size_t at = (in.byte() * 256U + in.byte()) % token.size();
    token[at] = static_cast<char>(in.byte());
    if (const auto changed = opened(token)) {
        fuzz::must(sealer.seal(sw::cursor{*changed}, tenant) ==
                       sealer.seal(sw::cursor{state}, tenant),
                   "a token that was changed does not open");
    }
    if (in.byte() % 2 == 0) {
        token.resize(token.size() / 2);
        fuzz::must(!opened(token), "half a token does not open");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::choices in{fuzz::text_of(data, size)};
    switch (in.below(3)) {
        case 0:  // text as it comes
            if (const auto state = opened(in.rest())) {
                check_state(*state);
            }
            break;
        case 1:  // contents as they come, past the checksum
            if (const auto state = opened(forged(in.rest()))) {
                check_state(*state);
            }
            break;
        default: {  // any state
            sw::cursor::state state{bound,
                                    in.byte() % 2 == 0 ? sw::scan::forward : sw::scan::backward,
                                    std::nullopt, sw::epoch{in.number()}};
            if (const std::string_view boundary = in.text(); !boundary.empty()) {
                state.boundary = boundary;
            }
            if (in.byte() % 2 == 0) {
                state.as_of =
                    sw::item_time::at_milliseconds(static_cast<std::int64_t>(in.number()));
            }
            for (unsigned shares = in.below(4); shares != 0; --shares) {
                state.hints.shares.push_back(in.byte());
            }
            for (unsigned sources = in.below(20); sources != 0; --sources) {
                state.hints.sources = 5;
                state.hints.each.push_back({std::string{in.text()}, in.byte() % 2 == 0});
            }
            check_state(state);
            check_changed(state, in);
        }
    }
    return 0;
}
