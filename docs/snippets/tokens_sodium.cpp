// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/tokens.md.
#include <shardweave/adapters/sodium.hpp>
#include <shardweave/shardweave.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace sw = shardweave;
using namespace std::chrono_literals;

struct post {
    std::int64_t created_at;
    std::string id;
};

int main() {
    sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(4)}, sw::shard_map::even({"db0"})}};
    const sw::fan_out timeline{router, sw::newest_first(&post::created_at, sw::unique(&post::id)),
                               [](const auto& q) -> sw::shard_page<post> {
                                   const std::string& bucket = q.partition_keys.front();
                                   if (q.after) {
                                       return {};
                                   }
                                   return {.items = {{2, bucket + "b"}, {1, bucket + "a"}},
                                           .more = true};
                               }};
    // In a service, from where it keeps its secrets.
    const std::string key(sw::key_ring::key_bytes, 'k');
    const std::string new_key(sw::key_ring::key_bytes, 'n');

    // Key 1 seals and opens. A token is good for a day.
    const sw::key_ring keys{{1, key}};
    const sw::token_sealer sealer{sw::signed_tokens{keys, {.lifetime = 24h}}};
    const auto first = timeline.page("author-1", {.limit = 3});
    const std::string token = sealer.seal(*first.next, "tenant-7");

    // What a token must be bound to beside the query: all of it, joined so that nothing is
    // confused.
    const std::string context = sw::join_key("tenant-7", "user-42", "v2/posts");
    const std::string narrower = sealer.seal(*first.next, context);

    // Three releases, each on every machine before the next one.
    const sw::key_ring both = keys.with({2, new_key});      // 1. opens what key 2 seals
    const sw::key_ring switched = both.sealing_with(2);     // 2. seals with key 2
    const sw::key_ring only_the_new = switched.without(1);  // 3. ends key 1

    // Tokens of 2,000 characters at most, for a client with short URLs.
    const sw::token_sealer brief{sw::encrypted_tokens{switched}, {.chars = 2'000}};

    // What to tell the client.
    std::string answer = "200";
    try {
        (void)timeline.page("author-1", {.limit = 3, .from = sealer.open(token, "tenant-8")});
    } catch (const sw::failure& failure) {
        switch (failure.code()) {
            case sw::errc::token_malformed:
            case sw::errc::token_invalid: answer = "400 start again"; break;
            case sw::errc::token_expired: answer = "410 start again"; break;
            default: throw;
        }
    }
    std::printf("%s\n%s\n%s\n", token.c_str(), narrower.c_str(), answer.c_str());

    const auto next = timeline.page("author-1", {.from = sealer.open(token, "tenant-7")});
    const sw::token_sealer after{sw::signed_tokens{only_the_new}};
    return answer == "400 start again" && next.previous && only_the_new.size() == 1 &&
                   brief.seal(*first.next).size() < 100 && after.seal(*first.next) != token
               ? 0
               : 1;
}
