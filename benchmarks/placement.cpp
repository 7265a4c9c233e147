// SPDX-License-Identifier: BSL-1.0
// How much routing costs beside the hash that it can not do without. See docs/performance.md.
#include <shardweave/shardweave.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ratio.hpp"

namespace sw = shardweave;

namespace {

constexpr std::size_t count = 4'096;

/// Keys of `bytes` bytes, as applications have them: words, and a number at the end.
std::vector<std::string> keys_of(std::size_t bytes) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i != count; ++i) {
        const std::string number = std::to_string(i * 7'919 % 10'000);
        std::string key = bytes < 12 ? "u-"
                                     : "tenant/eu-west/author/of/many/posts/in/a/very/busy/"
                                       "forum/with/long/names/and/longer/threads/";
        key = key.substr(0, bytes - number.size() - 1);
        key.resize(bytes - number.size() - 1, 'x');
        keys.push_back(key + "-" + number);
    }
    return keys;
}

void routes(std::size_t bytes) {
    const std::vector<std::string> keys = keys_of(bytes);
    const sw::router router{sw::routing_table{
        sw::scheme_table{sw::calculated(1)}.with("hot", sw::calculated(16)),
        sw::shard_map::even({"db0", "db1", "db2", "db3", "db4", "db5", "db6", "db7"})}};
    const sw::router hot_router{sw::routing_table{
        sw::scheme_table{sw::calculated(1)}.with(keys.front(), sw::calculated(16)),
        sw::shard_map::even({"db0", "db1", "db2", "db3"})}};
    sw::router::reader reader{router};
    sw::router::reader hot_reader{hot_router};
    const std::string& hot_key = keys.front();

    bench::table table{fmt::format("one route, keys of {} bytes, against raw XXH3-64", bytes)};
    table.baseline("raw XXH3-64",
                   [&](std::size_t i) { return sw::stable_hash64(keys[i % count], 0); });
    table.row("slot and shard, by a reader's handle", [&](std::size_t i) {
        const sw::route to = reader.route_of(keys[i % count], "id");
        return std::uint64_t{to.slot.value()} + to.shard_number;
    });
    table.row("a batch, the table pinned once", [&, &pinned = reader.current()](std::size_t i) {
        const sw::route to = pinned.route_of(keys[i % count], "id");
        return std::uint64_t{to.slot.value()} + to.shard_number;
    });
    table.row("a hot key of 16 buckets, by its id", [&](std::size_t i) {
        const sw::route to = hot_reader.route_of(hot_key, keys[i % count]);
        return std::uint64_t{to.slot.value()} + to.shard_number;
    });
    table.row("a hot key, its partition key by fmt::format, hashed", [&](std::size_t i) {
        const auto bucket = sw::calculated_bucket(keys[i % count], 16, 1);
        const std::string text = fmt::format("{}:bucket-{}", hot_key, bucket.value());
        return sw::stable_hash64(text, 0);
    });
    table.row("place: the whole placement with its texts", [&](std::size_t i) {
        return std::uint64_t{router.place(keys[i % count], "id").slot.value()};
    });
    table.print();
}

void texts() {
    const std::vector<std::string> keys = keys_of(16);
    const sw::key_format format;
    bench::table table{"the text of a partition key, against fmt::format"};
    table.baseline("fmt::format", [&](std::size_t i) {
        return fmt::format("{}:bucket-{}", keys[i % count], i % 16).size();
    });
    fmt::memory_buffer text;
    table.row("append_to a reused buffer", [&](std::size_t i) {
        text.clear();
        format.append_to(text, keys[i % count],
                         sw::bucket_index{static_cast<std::uint32_t>(i % 16)}, 16);
        return text.size();
    });
    table.print();
}

void current_table() {
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}, sw::shard_map::single("db0")}};
    const auto pinned = router.pin();
    const sw::routing_table* plain = pinned.get();
    sw::router::reader reader{router};
    std::shared_mutex mutex;
    bench::table table{"reading the current table, against a plain pointer"};
    table.baseline("plain pointer", [&](std::size_t) {
        bench::keep(plain);
        return plain->epoch().value();
    });
    table.row("a reader's handle", [&](std::size_t) { return reader.table().epoch().value(); });
    table.row("a shared_mutex", [&](std::size_t) {
        const std::shared_lock lock{mutex};
        return plain->epoch().value();
    });
    table.row("pin", [&](std::size_t) { return router.pin()->epoch().value(); });
    table.print();
}

}  // namespace

int main() {
    for (const std::size_t bytes : {8U, 16U, 36U, 100U}) {
        routes(bytes);
    }
    texts();
    current_table();
}
