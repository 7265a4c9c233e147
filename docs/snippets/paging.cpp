// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/paging.md.
#include <shardweave/shardweave.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

struct post {
    std::int64_t created_at;
    std::string id;
    std::optional<double> score;
};

int main() {
    sw::router router{sw::routing_table{sw::scheme_table{sw::calculated(4)},
                                        sw::shard_map::even({"db0", "db1"})}};

    // Best first, posts without a score at the end; ties by id.
    const auto best_first =
        sw::order_by(sw::nulls_last(sw::descending(&post::score)), sw::unique(&post::id))
            .named("posts by score");

    std::map<std::string, std::vector<post>> rows;
    for (int i = 0; i != 100; ++i) {
        const post p{i, "post-" + std::to_string(i),
                     i % 10 == 0 ? std::nullopt : std::optional{i % 7 * 0.5}};
        rows[router.place("forum-1", p.id).partition_key].push_back(p);
    }

    // What a database does with ORDER BY … LIMIT, by hand: both ways, strictly beyond `after`.
    const auto select = [&](const auto& q) -> sw::shard_page<post> {
        std::vector<post> found = rows.at(q.partition_keys.front());
        const auto walked = [&](const auto& a, const auto& b) {
            return q.way == sw::scan::forward ? best_first.compare(a, b) < 0
                                              : best_first.compare(b, a) < 0;
        };
        std::erase_if(found, [&](const post& p) { return q.after && !walked(*q.after, p); });
        std::sort(found.begin(), found.end(), walked);
        const bool more = found.size() > q.limit;
        found.erase(found.begin() + static_cast<std::ptrdiff_t>(std::min(found.size(), q.limit)),
                    found.end());
        return {.items = std::move(found), .more = more};
    };

    const sw::fan_out forum{
        router, best_first, select, {.concurrency = 4, .on_failure = sw::on_failure::prefix}};

    // Forward, and back again.
    const auto first = forum.page("forum-1", {.limit = 10});
    const auto second = forum.page("forum-1", {.limit = 10, .from = first.next});
    const auto back = forum.page("forum-1", {.limit = 10, .from = second.previous});

    // A token is bound to the read and to a context of yours, such as the tenant.
    const sw::checksummed sealer;
    const std::string token = sealer.seal(*first.next, "tenant-7");
    std::string refused;
    try {
        (void)forum.page("forum-1", {.from = sealer.open(token, "tenant-8")});
    } catch (const sw::failure& failure) {
        refused = failure.what();
    }
    std::printf("%s\n%s\n", token.c_str(), refused.c_str());

    // With on_failure::prefix, a page says what it lacks.
    for (const sw::error& gap : first.failures) {
        std::printf("missing: %s\n", gap.message().c_str());
    }

    // Everything, a chunk at a time.
    std::size_t count = 0;
    auto all = forum.stream("forum-1");
    for (const post& p : all) {
        count += p.id.empty() ? 0U : 1U;
    }
    std::printf("%zu items, %zu rows examined\n", count, all.stats().rows_examined);

    // The posts between two of them, in the order, both left out.
    const auto between =
        forum.page("forum-1", {.range = forum.between(best_first.position_of(first.items.front()),
                                                      best_first.position_of(first.items.back()))});

    // One item, wherever an older or newer scheme put it.
    const auto found = forum.find("forum-1", "post-42", [&](const sw::placement& at) {
        const auto& bucket = rows.at(at.partition_key);
        const auto row = std::ranges::find(bucket, "post-42", &post::id);
        return row == bucket.end() ? std::nullopt : std::optional{*row};
    });
    return count == 100 && found && back.items.front().id == first.items.front().id &&
                   between.items.size() == 8 && !refused.empty()
               ? 0
               : 1;
}
