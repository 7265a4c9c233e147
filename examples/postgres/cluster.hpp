// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_CLUSTER_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_CLUSTER_HPP

/// The databases of one set of timelines: made once, then opened by every process.

#include <shardweave/place/refresh.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/place/shard_map.hpp>

#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "libpq.hpp"
#include "pool.hpp"
#include "routing_source.hpp"
#include "waiting.hpp"
#include "write.hpp"

namespace postgres {

/// The command line asks for something that is not there.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Where the databases are. A shard is a database of the same name; the routing table has one of
/// its own, so that it can be on another server some day.
struct location {
    /// Keywords as libpq takes them, without a database; empty: what PGHOST and the like say.
    std::string server;

    [[nodiscard]] std::string conninfo(const std::string& database) const {
        return server + " application_name=pg_timeline connect_timeout=10 dbname='" + database +
               "'";
    }
    [[nodiscard]] std::string routing() const { return conninfo("timeline_routing"); }
};

/// Authors and the number of buckets that each is given.
using bucket_counts = std::map<std::string, std::uint32_t>;

/// Creates the databases, and stores the first routing table last: until then, nobody reads or
/// writes. What was made by an earlier attempt that was cut off is used.
inline void create_cluster(const location& at, std::uint32_t shards, const bucket_counts& hot) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i != shards; ++i) {
        names.push_back("timeline" + std::to_string(i));
    }
    sw::scheme_table schemes{sw::calculated(1)};
    for (const auto& [author, buckets] : hot) {
        schemes = std::move(schemes).with(author, sw::calculated(buckets));
    }
    const sw::routing_table first{std::move(schemes), sw::shard_map::even(names)};

    connection admin = connected(at.conninfo("postgres"));
    const auto create = [&](const std::string& name) {
        try {
            run(admin, "CREATE DATABASE " + name + " ENCODING 'UTF8' TEMPLATE template0");
        } catch (const database_error& why) {
            if (why.sqlstate != "42P04") {  // it is there
                throw;
            }
        }
    };
    create("timeline_routing");
    routing_source source{at.routing()};
    source.create();
    if (source.load()) {
        throw usage_error{"there are timelines on this server already"};
    }
    for (const std::string& name : names) {
        create(name);
        connection shard = connected(at.conninfo(name));
        create_shard(shard);
        open_owned(shard, first, name);
    }
    if (source.compare_and_swap(std::nullopt, sw::encode(first)) != sw::swap_result::stored) {
        throw usage_error{"another process has just made timelines on this server"};
    }
}

/// The cluster as one process sees it.
class opened_cluster {
public:
    explicit opened_cluster(const location& at)
        : source(at.routing()), router(sw::decode(stored(source))), follow(router, source),
          pool(databases_of(at, *router.pin())) {}

    /// Gives the author's new items so many buckets; returns the table that says so.
    [[nodiscard]] sw::router::snapshot grow(const std::string& author, std::uint32_t buckets) {
        for (;;) {
            const auto now = router.pin();
            const sw::routing_table next =
                now->with_schemes(now->schemes().grow(author, sw::calculated(buckets)));
            if (source.compare_and_swap(now->epoch(), sw::encode(next)) ==
                sw::swap_result::stored) {
                static_cast<void>(router.publish(next));
                return router.pin();
            }
            // Somebody else was first; decide again by what they stored.
            static_cast<void>(follow.refresh(sw::epoch{now->epoch().value() + 1}));
        }
    }

    routing_source source;
    sw::router router;
    sw::refresher<routing_source> follow;
    connection_pool pool;

private:
    [[nodiscard]] static std::string stored(routing_source& from) {
        std::optional<std::string> bytes;
        try {
            bytes = from.load();
        } catch (const sw::failure& why) {
            if (!is_missing(why)) {
                throw;
            }
        }
        if (!bytes) {
            throw usage_error{"there are no timelines on this server; make some by: "
                              "pg_timeline init"};
        }
        return *std::move(bytes);
    }
    /// Whether it failed for want of the database or of its table.
    [[nodiscard]] static bool is_missing(const sw::failure& why) {
        try {
            std::rethrow_if_nested(why);
        } catch (const database_error& inner) {
            return inner.sqlstate == "3D000" || inner.sqlstate == "42P01";
        } catch (...) {
            return false;
        }
        return false;
    }
    [[nodiscard]] static databases databases_of(const location& at,
                                                const sw::routing_table& table) {
        databases all;
        for (const std::string& name : table.shards().names()) {
            all[name] = at.conninfo(name) + " " + page_settings;
        }
        return all;
    }
};

}  // namespace postgres

#endif
