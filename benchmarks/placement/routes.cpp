// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/hash.hpp>
#include <shardweave/place/router.hpp>

#include <fmt/format.h>

#ifdef SHARDWEAVE_BENCHMARK_LIBMEMCACHED
#include <libmemcached/memcached.h>
#endif

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../peers.hpp"
#include "../ratio.hpp"
#include "placement.hpp"

namespace sw = shardweave;

namespace placement_benchmark {
namespace {

struct item {
    std::string_view key;
    std::string_view id;
};

constexpr std::size_t item_count = 4'096;

std::vector<item> items_of(const std::vector<std::string>& keys,
                           const std::vector<std::string>& ids) {
    std::vector<item> items;
    for (std::size_t i = 0; i != item_count; ++i) {
        items.push_back({keys[i % keys.size()], ids[i]});
    }
    return items;
}

void use(const sw::route& to) {
    bench::use(to.slot.value(), to.bucket.value(), to.shard_number, to.scheme_number);
}
void use(const sw::slot_owner& at) { bench::use(at.slot.value(), at.shard_number); }

#ifdef SHARDWEAVE_BENCHMARK_LIBMEMCACHED
/// libmemcached's consistent hashing over ten servers, which are never connected to.
class ketama {
public:
    ketama() : servers_(memcached_create(nullptr), &memcached_free) {
        memcached_behavior_set(servers_.get(), MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
        for (const std::string& name : shard_names(10)) {
            memcached_server_add(servers_.get(), name.c_str(), 11'211);
        }
    }
    [[nodiscard]] std::uint32_t shard(std::string_view key) const {
        return memcached_generate_hash(servers_.get(), key.data(), key.size());
    }

private:
    std::unique_ptr<memcached_st, decltype(&memcached_free)> servers_;
};
#endif

void peers(bench::table& table, std::span<const item> items) {
    table.row("peer: XXH3, ring of 160 points, 10 shards", items,
              [ring = bench::ring{bench::first_shards(10)}](const item& each) {
                  bench::use(ring.shard(sw::stable_hash64(each.key)));
              });
    table.row("peer: XXH3, maglev table, 10 shards", items,
              [maglev = bench::maglev{bench::first_shards(10)}](const item& each) {
                  bench::use(maglev.shard(sw::stable_hash64(each.key)));
              });
    for (const std::uint32_t shards : {10U, 1'000U}) {
        table.row(fmt::format("peer: XXH3, jump hash, {} shards", shards), items,
                  [shards](const item& each) {
                      bench::use(bench::jump_hash(sw::stable_hash64(each.key), shards));
                  });
    }
    table.row("peer: Redis Cluster, CRC-16 and table", items,
              [redis = bench::redis_cluster{10}](const item& each) {
                  bench::use(redis.shard(each.key));
              });
    table.row("peer: vBuckets, CRC-32 and table", items,
              [vbuckets = bench::vbuckets{10}](const item& each) {
                  bench::use(vbuckets.shard(each.key));
              });
#ifdef SHARDWEAVE_BENCHMARK_LIBMEMCACHED
    table.row("peer: libmemcached ketama, 10 shards", items,
              [servers = std::make_shared<ketama>()](const item& each) {
                  bench::use(servers->shard(each.key));
              });
#endif
}

void routes_of(std::size_t bytes) {
    const std::vector<std::string> keys = keys_of(bytes, item_count);
    const std::vector<std::string> ids = keys_of(16, item_count);
    const std::vector<std::string> hot = keys_of(bytes, item_count + hot_count);
    const std::vector<std::string> hot_keys(hot.end() - hot_count, hot.end());
    const std::vector<item> cold_items = items_of(keys, ids);
    const std::vector<item> hot_items = items_of(hot_keys, ids);
    const std::span<const item> cold{cold_items};
    const std::span<const item> split{hot_items};

    const sw::router router{table_with(hot_keys)};
    sw::router::reader reader{router};
    const sw::prepared_table& pinned = reader.current();
    std::atomic<std::shared_ptr<const sw::prepared_table>> shared{
        std::make_shared<const sw::prepared_table>(table_with(hot_keys))};

    bench::table table{fmt::format("one route, keys of {} bytes, against raw XXH3-64", bytes)};
    table.row("raw XXH3-64", cold,
              [](const item& each) { bench::use(sw::stable_hash64(each.key)); });
    table.row("the loop alone", cold,
              [](const item& each) { bench::use(each.key.data(), each.key.size()); });
    const bool short_key = bytes <= 16;
    table.row("slot and shard only, through a reader's handle", cold,
              [&](const item& each) { use(reader.current().owner_of(each.key)); },
              {.time = short_key ? 1.5 : 1.3, .instructions = short_key ? 1.30 : 1.15});
    table.row("the whole route, through a reader's handle", cold,
              [&](const item& each) { use(reader.route_of(each.key, each.id)); },
              {.time = short_key ? 2.2 : 1.6});
    table.row("the whole route, through the router (thread_local)", cold,
              [&](const item& each) { use(router.route_of(each.key, each.id)); });
    table.row("a batch: slot and shard, the table pinned once", cold,
              [&](const item& each) { use(pinned.owner_of(each.key)); }, {.time = 1.2});
    table.row("a batch: the whole route, the table pinned once", cold,
              [&](const item& each) { use(pinned.route_of(each.key, each.id)); });
    table.row("the whole route, through std::atomic<std::shared_ptr>", cold, [&](const item& each) {
        use(shared.load(std::memory_order_acquire)->route_of(each.key, each.id));
    });
    const std::string hot_route = "a hot key of 16 buckets, through a reader's handle";
    const std::string formatted = "a hot key, its text by fmt::format, hashed";
    table.row(hot_route, split, [&](const item& each) { use(reader.route_of(each.key, each.id)); },
              {.time = bytes <= 16 ? 5.0 : 3.0});
    table.row("a hot key, its text on the stack, hashed", split, [&](const item& each) {
        const sw::routing_table& now = reader.table();
        const auto bucket = sw::calculated_bucket(each.id, 16, 1);
        sw::key_buffer text;
        now.format().append_to(text, each.key, bucket, 16);
        use(now.shards().owner_of(text.view()));
    });
    table.row(formatted, split, [&](const item& each) {
        const sw::routing_table& now = reader.table();
        const auto bucket = sw::calculated_bucket(each.id, 16, 1);
        const std::string text = fmt::format("{}:bucket-{}", each.key, bucket.value());
        use(now.shards().owner_of(text));
    });
    table.at_least(7, hot_route, formatted);
    peers(table, cold);
    table.print();
}

}  // namespace

void routes() {
    for (const std::size_t bytes : {8U, 16U, 36U, 100U}) {
        routes_of(bytes);
    }
}

}  // namespace placement_benchmark
