// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/conformance.md.
#include <shardweave/testing/conformance.hpp>

#include <shardweave/shardweave.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

struct post {
    std::int64_t created_at;
    std::string id;
};

int main() {
    const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));

    // Write rows that are worth having to partition keys of their own, and keep a copy.
    std::map<std::string, std::vector<post>> rows;
    for (const std::string& text : sw::testing::sample_texts()) {
        for (const std::int64_t time : {-7, 7}) {
            rows["conformance-1"].push_back({time, text});
            rows["conformance-2"].push_back({time, "2" + text});
        }
    }

    // A callback with a mistake that many make: it compares the time alone.
    const auto select = [&](const auto& q) -> sw::shard_page<post> {
        const auto bucket = rows.find(q.partition_keys.front());
        std::vector<post> found = bucket == rows.end() ? std::vector<post>{} : bucket->second;
        const bool forward = q.way == sw::scan::forward;
        std::erase_if(found, [&](const post& p) {
            return q.after &&
                   (forward ? p.created_at >= get<0>(*q.after) : p.created_at <= get<0>(*q.after));
        });
        std::sort(found.begin(), found.end(), [&](const post& a, const post& b) {
            return forward ? newest.compare(a, b) < 0 : newest.compare(b, a) < 0;
        });
        const bool more = found.size() > q.limit;
        found.erase(found.begin() + static_cast<std::ptrdiff_t>(std::min(found.size(), q.limit)),
                    found.end());
        return {.items = std::move(found), .more = more};
    };

    const auto report = sw::testing::check_callback(
        newest, select, {.shard = "db0", .rows = rows, .criteria = {"created_at", "id"}});
    std::fputs(report.text().c_str(), stdout);

    // It is meant to fail; in a test of yours, report.ok() must be true.
    return report.ok() ? 1 : 0;
}
