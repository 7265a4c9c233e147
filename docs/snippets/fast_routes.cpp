// SPDX-License-Identifier: BSL-1.0
// The code of docs/fast-routes.md.
#include <shardweave/shardweave.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

std::size_t sent = 0;

void send(std::string_view shard, std::string_view partition_key, std::string_view id) {
    sent += shard.empty() || partition_key.empty() || id.empty() ? 0U : 1U;
}

void one_by_one(const sw::router& router, const std::vector<std::string>& ids) {
    sw::router::reader routes{router};  // one a thread
    sw::key_buffer text;
    for (const std::string& id : ids) {
        const sw::prepared_table& now = routes.current();  // one pointer is looked at
        const sw::route to = now.route_of("author-1", id);
        text.clear();
        now.append_partition_key(text, "author-1", to);
        send(now.table().shards().names()[to.shard_number], text.view(), id);
    }
    routes.release();  // this thread will do something else for a while
}

void a_million_at_once(const sw::router& router,
                       const std::vector<std::pair<std::string, std::string>>& posts) {
    sw::router::reader routes{router};
    const sw::prepared_table& now = routes.current();  // one table for the whole batch
    sw::shard_groups batch;                            // keep it: its memory is used again
    batch.assign(now, posts);
    for (const sw::shard_group& group : batch.groups()) {
        const std::string& shard = now.table().shards().names()[group.shard_number];
        for (const std::uint32_t post : group.items) {
            const auto& [author, id] = posts[post];
            sw::key_buffer text;
            now.append_partition_key(text, author, batch[post]);
            send(shard, text.view(), id);
        }
    }
}

}  // namespace

int main() {
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(8)),
                          sw::shard_map::even({"db0", "db1", "db2", "db3"})}};
    one_by_one(router, {"post-980", "post-981"});
    a_million_at_once(router, {{"author-1", "post-980"}, {"author-2", "post-981"}});
    return sent == 4 ? 0 : 1;
}
