// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/ids.md.
#include <shardweave/shardweave.hpp>

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sw = shardweave;

// A database with an index on the item's id, and one on its partition key.
struct database {
    struct row {
        std::string partition_key;
        std::string author;
        std::string text;
    };
    std::multimap<std::string, row> by_id;

    [[nodiscard]] std::optional<row> find(const std::string& id) const {
        const auto at = by_id.find(id);
        return at == by_id.end() ? std::nullopt : std::optional{at->second};
    }
};
using databases = std::map<std::string, database>;

// A new post gets its id and its place in one step; the id's text is what clients are given.
std::string add(const sw::routing_table& table, databases& stores, const std::string& author,
                const std::string& local, std::string text) {
    const auto [id, at] = sw::place_routed(table, author, local);
    stores[at.shard].by_id.emplace(id.local(),
                                   database::row{at.partition_key, author, std::move(text)});
    return id.text();
}

// A post by its id alone: no author, no search on every shard.
std::optional<std::string> read(const sw::id_locator& locator, const databases& stores,
                                std::string_view text) {
    const auto id = sw::routed_id::parse(text);
    if (!id) {
        return std::nullopt;
    }
    for (const sw::routed_place& at : locator.locate(*id).places) {
        const auto row = stores.at(at.shard).find(id->local());
        if (row && id->of_key(row->author)) {  // the id came from a client: it may be forged
            return row->text;
        }
    }
    return std::nullopt;
}

int main() {
    sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("events", sw::random(8)),
                          sw::shard_map::even({"db0", "db1", "db2", "db3"})}};
    databases stores{{"db0", {}}, {"db1", {}}, {"db2", {}}, {"db3", {}}};
    const std::string post = add(*router.pin(), stores, "author-9", "post-981", "hello");
    const std::string event = add(*router.pin(), stores, "events", "e-1", "logged in");
    std::printf("%s\n", post.c_str());

    // Once for each table that is published; finding an id is then a search in a sorted list.
    const sw::id_locator locator{router.pin()};
    bool found = read(locator, stores, post) == "hello" && read(locator, stores, event);

    // When it is not complete, the key can tell the rest.
    const auto id = sw::routed_id::parse(post).value();
    sw::located where = locator.locate(id);
    if (!where.complete) {
        where = sw::locate(*router.pin(), id, "author-9");
    }
    found = found && where.complete && where.places.size() == 1;
    return found ? 0 : 1;
}
