// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/selectors.md.
#include <shardweave/shardweave.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace sw = shardweave;

// Data that a Java program laid out by Math.floorMod(id.hashCode(), buckets), for ASCII ids.
struct java_string_hash {
    static std::string_view name() { return "java-string-hash"; }
    static sw::bucket_index select(std::string_view id, std::uint32_t buckets, std::uint64_t) {
        std::uint32_t hash = 0;
        for (const char c : id) {
            hash = 31 * hash + static_cast<unsigned char>(c);
        }
        // hashCode is signed: a negative one is this much less than its unsigned twin.
        const std::int64_t value = static_cast<std::int32_t>(hash);
        const std::int64_t count = buckets;
        return sw::bucket_index{static_cast<std::uint32_t>((value % count + count) % count)};
    }
};

int main() {
    const sw::routing_table table{
        sw::scheme_table{sw::calculated(1)}.with("orders", sw::selected_by(java_string_hash{}, 10)),
        sw::shard_map::single("orders-table"),
        {.epoch = sw::epoch{1}, .format = sw::key_format{"{key}#{bucket}", sw::suffix::always}}};

    // A stored table names the rule; who reads it must know the rule.
    const std::string bytes = sw::encode(table);
    const auto selectors = sw::selector_registry{}.with(java_string_hash{});
    const sw::routing_table read = sw::decode(bytes, selectors);

    // A tenant's own key, whatever its name holds.
    const std::string key = sw::join_key("tenant#1", "STATUS", 7);
    std::printf("%s and %s\n",
                read.place("orders", "polygenelubricants").partition_key.str().c_str(),
                key.c_str());
    return read.place("orders", "polygenelubricants").bucket == sw::bucket_index{2} &&
                   key == "tenant\\#1#STATUS#7"
               ? 0
               : 1;
}
