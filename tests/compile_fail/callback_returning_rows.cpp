// expect: must return a shardweave::shard_page
#include <shardweave/read/fan_out.hpp>

#include <string>
#include <vector>

namespace sw = shardweave;

struct post {
    int created_at;
    std::string id;
};

int main() {
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}, sw::shard_map::single("db0")}};
    const sw::fan_out reader{router, sw::newest_first(&post::created_at, sw::unique(&post::id)),
                             [](const auto&) {
#ifndef COMPILE_OK
                                 return std::vector<post>{};
#else
                                 return sw::shard_page<post>{};
#endif
                             }};
    return static_cast<int>(reader.page("key").items.size());
}
