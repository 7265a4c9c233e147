// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_TIMELINE_READ_HPP
#define SHARDWEAVE_EXAMPLES_TIMELINE_READ_HPP

/// Reads timelines back through the library, and compares them with the unsharded copy.

#include <shardweave/place/router.hpp>
#include <shardweave/read/fan_out.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/stats.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "history.hpp"
#include "sqlite.hpp"
#include "store.hpp"

namespace timeline {

namespace sw = shardweave;

/// The library's reader over the shards.
[[nodiscard]] inline auto make_reader(const sw::router& router, shard_pool& shards,
                                      sw::fan_out_options<item> how = {}) {
    return sw::fan_out{router, newest_first,
                       [&shards](const sw::shard_query<position>& q) { return shards.ask(q); },
                       std::move(how)};
}

/// The unsharded copy.
class reference {
public:
    explicit reference(const std::string& path) : all_(path, database::access::existing) {}

    /// Calls `visit` with each item of the authors, newest first, until it returns false.
    template <class Visit>
    void scan(const std::vector<std::string>& authors, const Visit& visit) {
        std::string sql = "SELECT author, created_at, id, note FROM item WHERE author IN (";
        for (std::size_t i = 0; i != authors.size(); ++i) {
            sql += (i == 0 ? "?" : ", ?") + std::to_string(i + 1);
        }
        query rows = all_.prepared(sql + ") ORDER BY created_at DESC, id DESC");
        for (int parameter = 1; const std::string& author : authors) {
            rows.bind(parameter++, author);
        }
        while (rows.step() && visit(item{std::string{rows.text(0)}, rows.integer(1),
                                         std::string{rows.text(2)}, std::string{rows.text(3)}})) {
        }
    }

    [[nodiscard]] std::vector<std::string> authors() {
        std::vector<std::string> found;
        query rows = all_.prepared("SELECT DISTINCT author FROM item");
        while (rows.step()) {
            found.emplace_back(rows.text(0));
        }
        return found;
    }

private:
    database all_;
};

/// A comparison of a merged stream with the unsharded query.
struct comparison {
    std::uint64_t agreed = 0;
    /// Where they part: what the shards say and what the unsharded database says, either of which
    /// may have ended.
    std::optional<std::pair<std::optional<item>, std::optional<item>>> difference;
    sw::read_stats stats;
};

/// Compares every item of the authors' common timeline, in order.
template <class Reader>
[[nodiscard]] comparison compare(const Reader& reader, reference& expected,
                                 const std::vector<std::string>& authors) {
    comparison result;
    auto stream = reader.stream(authors);
    auto merged = stream.begin();
    expected.scan(authors, [&](item&& row) {
        if (merged == stream.end() || !(*merged == row)) {
            result.difference.emplace(
                merged == stream.end() ? std::nullopt : std::optional{*merged}, std::move(row));
            return false;
        }
        ++result.agreed;
        ++merged;
        return true;
    });
    if (!result.difference && merged != stream.end()) {
        result.difference.emplace(*merged, std::nullopt);
    }
    result.stats = stream.stats();
    return result;
}

/// An author of the shards, and how the items are spread.
struct author_summary {
    std::string author;
    std::uint64_t items = 0;
    std::size_t partition_keys = 0;
};

/// All authors, the one with the most items first. Reads every row's key.
[[nodiscard]] inline std::vector<author_summary> authors_of(const sw::routing_table& table,
                                                            shard_pool& shards) {
    std::map<std::string, author_summary, std::less<>> found;
    for (const std::string& name : table.shards().names()) {
        const auto shard = shards.connection(name);
        query rows = shard->prepared("SELECT partition_key, count(*) FROM item GROUP BY 1");
        while (rows.step()) {
            const auto parsed = table.format().parse(rows.text(0));
            if (parsed) {
                author_summary& each = found[std::string{parsed->key}];
                each.author = parsed->key;
                each.items += static_cast<std::uint64_t>(rows.integer(1));
                ++each.partition_keys;
            }
        }
    }
    std::vector<author_summary> sorted;
    for (auto& [author, summary] : found) {
        sorted.push_back(std::move(summary));
    }
    std::ranges::sort(sorted, [](const author_summary& a, const author_summary& b) {
        return std::tie(b.items, a.author) < std::tie(a.items, b.author);
    });
    return sorted;
}

}  // namespace timeline

#endif
