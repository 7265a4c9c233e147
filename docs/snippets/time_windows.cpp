// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/time-windows.md.
#include <shardweave/shardweave.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sw = shardweave;
using namespace std::chrono;

struct event {
    std::int64_t created_at;  // in seconds
    std::string id;
};

int main() {
    // Eight buckets a day, from the day on which the sensor first reported.
    const sys_days first = sys_days{year{2026} / November / 30};
    const sw::routing_table table{
        sw::scheme_table{sw::calculated(1)}.with(
            "sensor-7", sw::time_windowed(days{1}, sw::calculated(8, {.since = first}))),
        sw::shard_map::even({"db0", "db1", "db2", "db3"})};

    std::map<std::string, std::vector<event>> rows;
    for (const event& each : {event{1'796'035'000, "e1"}, event{1'796'130'000, "e2"}}) {
        // Write: the item's time says which window. "sensor-7:bucket-2@20261130T0000Z"
        const sw::placement at =
            table.place("sensor-7", each.id, sys_seconds{seconds{each.created_at}});
        rows[at.partition_key].push_back(each);
    }

    // Read one day: eight partition keys, whatever the sensor's age.
    const sw::router router{table};
    const auto select = [&](const auto& q) -> sw::shard_page<event> {
        const auto at = rows.find(q.partition_keys.front());
        return {.items = at == rows.end() || q.after ? std::vector<event>{} : at->second};
    };
    const sw::fan_out reader{router, sw::newest_first(&event::created_at, sw::unique(&event::id)),
                             select};
    const auto day = reader.page("sensor-7", {.limit = 20, .within = {first, first + days{1}}});

    // The newest twenty of ten years ask one window, or two.
    const sw::fan_out timeline{
        router, sw::newest_first(sw::timed<seconds>(&event::created_at), sw::unique(&event::id)),
        select};
    const auto newest = timeline.page("sensor-7", {.within = {.until = first + days{3653}}});

    // From Monday on, sixteen buckets an hour. Late items of Sunday still go to Sunday's window.
    const sys_days monday = first + days{7};
    const sw::routing_table grown = table.with_schemes(table.schemes().grow(
        "sensor-7", sw::time_windowed(hours{1}, sw::calculated(16, {.since = monday}))));
    const std::string late = grown.place("sensor-7", "e3", monday - minutes{1}).partition_key;
    const std::string next = grown.place("sensor-7", "e3", monday).partition_key;

    // Nothing is kept from before Monday: reads do not look there, and what comes late is refused.
    const sw::routing_table kept =
        grown.with_schemes(grown.schemes().retire("sensor-7", sw::scheme_version{1}));

    // What can be dropped once every process has that table: what was read before, and is no more.
    const sw::time_range all{first, monday + days{1}};  // up to now
    std::set<std::string> dropped;
    for (const sw::target& each : grown.targets("sensor-7", all)) {
        dropped.insert(each.partition_key);
    }
    for (const sw::target& each : kept.targets("sensor-7", all)) {
        dropped.erase(each.partition_key);
    }

    std::printf("%zu event of the day; %s, then %s; %zu partition keys an hour\n", day.items.size(),
                late.c_str(), next.c_str(), kept.targets("sensor-7", sw::item_time{monday}).size());
    return day.items.size() == 1 && newest.items.size() == 2 && late.ends_with("@20261206T0000Z") &&
                   next.ends_with("@20261207T0000Z") &&
                   kept.targets("sensor-7", sw::item_time{monday}).size() == 16 &&
                   dropped.size() == 7 * 8
               ? 0
               : 1;
}
