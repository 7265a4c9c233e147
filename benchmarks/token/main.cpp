// SPDX-License-Identifier: BSL-1.0
// How long page tokens are and what they cost, beside tokens that hold every shard's place as JSON.
// See docs/performance.md.
#include <shardweave/adapters/sodium.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/token.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../parts.hpp"
#include "../ratio.hpp"
#include "peer.hpp"

namespace sw = shardweave;

namespace token_benchmark {
namespace {

constexpr std::size_t short_id = 7;  // a boundary of 16 bytes
constexpr std::size_t long_id = 42;  // of 51
constexpr std::string_view tenant = "tenant-7";

const auto newest = sw::newest_first(&shard_key::created_at, sw::unique(&shard_key::id));
const auto bound = sw::binding::of(newest.fingerprint(), {"author-1"}, "");

sw::key_ring ring() {
    std::string key;
    for (std::size_t i = 0; i != sw::key_ring::key_bytes; ++i) {
        key += static_cast<char>(i);
    }
    return {{1, key}};
}
const sw::checksummed checksummed;
const sw::token_sealer with_signature{sw::signed_tokens{ring()}};
const sw::token_sealer with_secrecy{sw::encrypted_tokens{ring()}};

sw::cursor cursor_at(const shard_key& last) {
    return sw::cursor{sw::cursor::state{bound, sw::scan::forward,
                                        newest.encode(newest.position_of(last)), sw::epoch{300}}};
}

/// A cursor that also carries an opaque store cursor for each source, as DynamoDB's
/// `LastEvaluatedKey` would be.
sw::cursor cursor_with_hints(const std::vector<shard_key>& keys) {
    sw::cursor::state state = *cursor_at(keys.front()).known();
    state.hints.sources = 1;
    for (const shard_key& each : keys) {
        state.hints.each.push_back({fmt::format(R"({{"PK":{{"S":"{}"}},"SK":{{"S":"{}#{}"}}}})",
                                                each.partition_key, each.created_at, each.id)});
    }
    return sw::cursor{std::move(state)};
}

/// How it would be without the aligned copies: each store cursor as what differs from the one
/// before it, behind what they share from their starts.
std::size_t prefix_coded(const sw::cursor& at) {
    std::size_t bytes = 0;
    std::string_view before;
    for (const auto& source : at.known()->hints.each) {
        const std::string_view text = source.cursor;
        std::size_t shared = 0;
        while (shared != std::min(text.size(), before.size()) && text[shared] == before[shared]) {
            ++shared;
        }
        bytes += text.size() - shared + 2;
        before = text;
    }
    return sw::detail::base64url_size(bytes);
}

void sizes() {
    if (bench::how != bench::mode::text) {
        return;
    }
    for (const std::size_t id : {short_id, long_id}) {
        fmt::print("characters of a token, boundary of {} bytes\n", id + 9);
        fmt::print("  {:>7} {:>12} {:>8} {:>10} {:>12} {:>12} {:>16}\n", "sources", "JSON, base64",
                   "signed", "encrypted", "checksummed", "with hints", "prefixes, alone");
        for (const std::size_t sources : {1U, 8U, 64U, 256U, 1'024U}) {
            const auto keys = keys_of(sources, id);
            const sw::cursor at = cursor_at(keys.front());
            const sw::cursor hinted = cursor_with_hints(keys);
            fmt::print("  {:>7} {:>12} {:>8} {:>10} {:>12} {:>12} {:>16}\n", sources,
                       peer_seal(keys).size(), with_signature.seal(at, tenant).size(),
                       with_secrecy.seal(at, tenant).size(), checksummed.seal(at, tenant).size(),
                       with_signature.seal(hinted, tenant).size(), prefix_coded(hinted));
        }
    }
    fmt::print("\n");
}

void times() {
    for (const std::size_t sources : {8U, 64U, 1'024U}) {
        const std::array inputs{keys_of(sources, short_id)};
        const std::span<const std::vector<shard_key>> keys{inputs};
        const std::array cursors{cursor_at(inputs.front().front())};
        const std::array hinted{cursor_with_hints(inputs.front())};

        bench::table seal{fmt::format("sealing a token, {} sources", sources)};
        seal.row("peer: JSON of every shard's key, base64", keys,
                 [](const auto& each) { bench::keep_whole(peer_seal(each)); });
        const auto sealing = [&seal](std::string name, const auto& sealer, const auto& cursor,
                                     bench::bars limits = {}) {
            seal.row(
                std::move(name), std::span<const sw::cursor>{cursor},
                [&sealer](const sw::cursor& at) { bench::keep_whole(sealer.seal(at, tenant)); },
                limits);
        };
        sealing("checksummed", checksummed, cursors);
        sealing("signed", with_signature, cursors, {.time = 0.2});
        sealing("encrypted", with_secrecy, cursors);
        sealing("signed, with a store cursor for each source", with_signature, hinted);
        seal.print();

        bench::table open{fmt::format("opening a token, {} sources", sources)};
        const std::array peer_tokens{peer_seal(inputs.front())};
        open.row("peer: JSON of every shard's key, base64",
                 std::span<const std::string>{peer_tokens},
                 [](const std::string& token) { bench::keep_whole(peer_open(token)); });
        const auto opening = [&open](std::string name, const auto& sealer, const auto& cursor,
                                     bench::bars limits = {}) {
            const std::vector<std::string> tokens{sealer.seal(cursor.front(), tenant)};
            open.row(
                std::move(name), std::span<const std::string>{tokens},
                [&sealer, token = tokens.front()](const std::string&) {
                    bench::keep_whole(sealer.open(token, tenant).resolve(bound));
                },
                limits);
        };
        opening("checksummed", checksummed, cursors);
        opening("signed", with_signature, cursors, {.time = 0.2});
        opening("encrypted", with_secrecy, cursors);
        opening("signed, with a store cursor for each source", with_signature, hinted);
        open.print();
    }
}

void garbage() {
    std::array texts{std::string(10'000'000, 'A'), std::string(10'000'000, '\0')};
    std::mt19937_64 random{1};
    for (char& c : texts[1]) {
        c = static_cast<char>(random());
    }
    const std::span<const std::string> inputs{texts};
    bench::table table{"refusing 10 MB that are no token"};
    table.row("peer: base64, then JSON", inputs,
              [](const std::string& text) { bench::keep_whole(peer_open(text).has_value()); });
    table.row("signed", inputs,
              [](const std::string& text) {
                  try {
                      bench::keep_whole(with_signature.open(text, tenant));
                  } catch (const sw::failure& refused) {
                      bench::keep_whole(refused);
                  }
              },
              {.time = 0.01});
    table.print(500, 11);
}

}  // namespace
}  // namespace token_benchmark

int main(int argc, char** argv) {
    constexpr bench::part parts[] = {{"sizes", token_benchmark::sizes},
                                     {"times", token_benchmark::times},
                                     {"garbage", token_benchmark::garbage}};
    return bench::run_parts("benchmark_token", parts, {argv + 1, argv + argc});
}
