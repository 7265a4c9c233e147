// SPDX-License-Identifier: BSL-1.0
// One hot author in eight buckets over four databases, read back newest first, page by page.
#include <shardweave/shardweave.hpp>

#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <tuple>

namespace sw = shardweave;

struct post {
    std::int64_t created_at;
    std::string id;
    std::string text;
};

// A database is two maps here: partition key, then (created_at, id), newest first.
using table = std::map<std::tuple<std::int64_t, std::string>, post, std::greater<>>;
std::map<std::string, std::map<std::string, table>> databases;

int main() {
    // Every author is one bucket; the hot one is eight. All of them spread over four databases.
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(8)),
                          sw::shard_map::even({"db0", "db1", "db2", "db3"})}};

    // Write: the router says where each post goes.
    for (int i = 1; i <= 1000; ++i) {
        const post p{1'700'000'000 + i, "post-" + std::to_string(i), "hello"};
        const auto at = router.place("author-1", p.id);
        databases[at.shard][at.partition_key].insert({{p.created_at, p.id}, p});
    }

    // Read: the library asks for a few rows of one partition key; the answer is a query of yours.
    const sw::fan_out timeline{
        router, sw::newest_first(&post::created_at, sw::unique(&post::id)),
        [](const auto& q) -> sw::shard_page<post> {
            const table& rows = databases[q.shard][q.partition_keys.front()];
            sw::shard_page<post> answer;
            auto row = q.after ? rows.upper_bound(q.after->values) : rows.begin();
            for (; row != rows.end() && answer.items.size() != q.limit; ++row) {
                answer.items.push_back(row->second);
            }
            answer.more = row != rows.end();
            return answer;
        }};

    const auto print = [](const auto& page) {
        for (const post& p : page.items) {
            std::cout << p.created_at << "  " << p.id << '\n';
        }
    };
    const auto first = timeline.page("author-1", {.limit = 3});
    print(first);

    // The place to go on from travels as text, and comes back from a client.
    const sw::checksummed sealer;
    const std::string token = sealer.seal(*first.next);
    std::cout << "next page: " << token << '\n';

    print(timeline.page("author-1", {.limit = 3, .from = sealer.open(token)}));
}
