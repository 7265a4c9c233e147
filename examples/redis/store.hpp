// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_STORE_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_STORE_HPP

/// The shards: slots of a Redis Cluster, a sorted set for each bucket, and the query that the
/// library asks of them.

#include <shardweave/place/partition_key.hpp>
#include <shardweave/place/placement.hpp>
#include <shardweave/place/stale_route.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bucket.hpp"
#include "cluster.hpp"
#include "member.hpp"
#include "scripts.hpp"

namespace redis_timeline {

/// Items for one bucket, by the placement that the router gave.
struct batch {
    sw::placement at;
    std::vector<item> items;
};

/// What became of a batch.
struct written {
    std::uint64_t added = 0;
    /// The epoch that the bucket knows, when it refused the batch's: then nothing was written.
    std::optional<sw::epoch> refused{};
};

/// Thread-safe. Throws what `cluster` throws, and `redis_error` for what Redis refuses for good.
class bucket_store {
public:
    bucket_store(cluster& on, sw::key_format format)
        : on_(&on), format_(std::move(format)), write_(on, write_script), fence_(on, fence_script) {
    }

    /// The rows that a page asks for: of several buckets, in one exchange. Throws `stale_route`
    /// when a bucket went elsewhere. Rows first, and then whether they were all: what is purged is
    /// retired before.
    [[nodiscard]] sw::shard_page<item> ask(const sw::shard_query<position>& q) {
        std::vector<command> reads;
        for (const std::string& each : q.partition_keys) {
            reads.push_back(page_command(q, each));
            reads.push_back(read_fence(bucket_key(q.shard, each)));
        }
        const std::vector<reply> replies = on_->pipeline(reads, {q.deadline, q.stop});
        sw::shard_page<item> answer;
        for (std::size_t i = 0; i != q.partition_keys.size(); ++i) {
            append_rows(answer.items, checked(replies[2 * i], "ZRANGE"), q.partition_keys[i]);
            check_not_retired(checked(replies[2 * i + 1], "ZRANGE"));
        }
        if (q.partition_keys.size() > 1) {
            keep_first(answer.items, q.limit, q.way);
        }
        // A full answer proves nothing about what follows; one that is not full is the end.
        answer.more = answer.items.size() == q.limit;
        return answer;
    }

    /// Writes each batch in one step of its own, all of them in one exchange a node. An item
    /// replaces the one at its position. Whatever is thrown, all of it may be written again.
    [[nodiscard]] std::vector<written> write(std::span<const batch> batches,
                                             const waiting& wait = {}) {
        std::vector<command> writes;
        for (const batch& each : batches) {
            std::vector<std::string> words{digits(each.at.epoch)};
            for (const item& row : each.items) {
                add_bounds(words, row);
                words.push_back(to_member(row));
            }
            writes.push_back(write_.with(key_of(each.at), std::move(words), wait));
        }
        std::vector<written> results;
        for (const reply& got : on_->pipeline(writes, wait)) {
            results.push_back(result_of(got));
        }
        return results;
    }

    /// Whether it is new. Throws `stale_route` when the bucket knows a later epoch.
    bool write(const sw::placement& at, const item& row, const waiting& wait = {}) {
        const batch one{at, {row}};
        return accepted(write({&one, 1}, wait).front()) != 0;
    }

    /// Throws `stale_route` likewise.
    void remove(const sw::placement& at, const item& row, const waiting& wait = {}) {
        std::vector<std::string> words{digits(at.epoch)};
        add_bounds(words, row);
        words.emplace_back();
        accepted(result_of(on_->call(write_.with(key_of(at), std::move(words), wait), wait)));
    }

    /// For a pipeline: answers with 1 when there is an item at the row's position.
    [[nodiscard]] static command look_for(const sw::placement& at, const item& row) {
        const std::string first = first_member(newest_first.position_of(row));
        return {{"ZLEXCOUNT", key_of(at), "[" + first, "(" + beyond(first)}};
    }

    /// Throws `stale_route` when the bucket knows a later epoch.
    void set_fence(const std::string& shard, const std::string& partition_key, const fence& to) {
        accepted(
            result_of(on_->call(fence_.with(bucket_key(shard, partition_key), {to_member(to)}))));
    }

    [[nodiscard]] std::optional<fence> fence_of(const std::string& shard,
                                                const std::string& partition_key) {
        return parse_fence(
            checked(on_->call(read_fence(bucket_key(shard, partition_key))), "ZRANGE"));
    }

    /// Items of a bucket. Its fence is a member too, so ZCARD would count one too many.
    [[nodiscard]] std::uint64_t size(const std::string& shard, const std::string& partition_key) {
        const command count{
            {"ZLEXCOUNT", bucket_key(shard, partition_key), "[" + std::string{first_item}, "+"}};
        return static_cast<std::uint64_t>(checked(on_->call(count), "ZLEXCOUNT").integer());
    }

    /// Copies a bucket's items as they are, whatever the fences say.
    void copy(const std::string& partition_key, const std::string& from, const std::string& to) {
        for_each_chunk(bucket_key(from, partition_key), [&](const reply& members) {
            command add{{"ZADD", bucket_key(to, partition_key)}};
            for (std::size_t i = 0; i != members.size(); ++i) {
                add.words.emplace_back("0");
                add.words.emplace_back(members[i].text());
            }
            static_cast<void>(checked(on_->call(add), "ZADD"));
        });
    }

    /// Removes a bucket's items. Its fence stays, against those who still write there.
    void purge(const std::string& shard, const std::string& partition_key) {
        for_each_chunk(bucket_key(shard, partition_key), [&](const reply& members) {
            command remove{{"ZREM", bucket_key(shard, partition_key)}};
            for (std::size_t i = 0; i != members.size(); ++i) {
                remove.words.emplace_back(members[i].text());
            }
            static_cast<void>(checked(on_->call(remove), "ZREM"));
        });
    }

    /// The shard's partition keys, those that hold nothing but a fence too. A slot may be on its
    /// way to another node, so all are asked, its owner first: what goes meanwhile is seen twice.
    [[nodiscard]] std::vector<std::string> partition_keys(const std::string& shard) {
        const std::string prefix = bucket_key(shard, "");
        const std::uint16_t slot = hash_slot(prefix);
        std::vector<endpoint> nodes = on_->masters();
        const endpoint owner = on_->owner(slot);
        std::erase(nodes, owner);
        nodes.insert(nodes.begin(), owner);
        std::vector<std::string> found;
        for (const endpoint& node : nodes) {
            const reply keys = checked(on_->call_node(node, {"CLUSTER", "GETKEYSINSLOT",
                                                             std::to_string(slot), "1000000000"}),
                                       node.text());
            for (std::size_t i = 0; i != keys.size(); ++i) {
                if (keys[i].text().starts_with(prefix)) {
                    found.emplace_back(keys[i].text().substr(prefix.size()));
                }
            }
        }
        std::ranges::sort(found);
        const auto again = std::ranges::unique(found);
        found.erase(again.begin(), again.end());
        return found;
    }

private:
    /// Members in one command: so that no other waits for long.
    static constexpr std::size_t chunk = 500;

    [[nodiscard]] static std::string key_of(const sw::placement& at) {
        return bucket_key(at.shard, at.partition_key.str());
    }

    static command read_fence(std::string key) {
        return {{"ZRANGE", std::move(key), "-", "(" + std::string{first_item}, "BYLEX"}};
    }

    static sw::epoch epoch_from(std::string_view digits) {
        std::uint64_t value = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return sw::epoch{value};
    }

    static std::optional<fence> parse_fence(const reply& members) {
        if (members.size() == 0) {
            return std::nullopt;
        }
        const std::string_view member = members[0].text();
        return fence{epoch_from(member.substr(1, 20)), fence::mode{member.back()}};
    }

    static void check_not_retired(const reply& fences) {
        const auto found = parse_fence(fences);
        if (found && found->now == fence::mode::retired) {
            throw sw::stale_route{found->since};
        }
    }

    static written result_of(const reply& got) {
        constexpr std::string_view stale = "STALE ";
        if (got.is_error() && got.text().starts_with(stale)) {
            return {0, epoch_from(got.text().substr(stale.size(), 20))};
        }
        return {static_cast<std::uint64_t>(checked(got, "EVALSHA").integer()), std::nullopt};
    }

    static std::uint64_t accepted(const written& result) {
        if (result.refused) {
            throw sw::stale_route{*result.refused};
        }
        return result.added;
    }

    static void add_bounds(std::vector<std::string>& words, const item& row) {
        words.push_back(first_member(newest_first.position_of(row)));
        words.push_back(beyond(words.back()));
    }

    void append_rows(std::vector<item>& rows, const reply& members,
                     const std::string& partition_key) const {
        const auto parsed = format_.parse(partition_key);
        const std::string author{parsed ? parsed->key : partition_key};
        for (std::size_t i = 0; i != members.size(); ++i) {
            auto row = from_member(members[i].text(), author);
            if (!row) {
                throw redis_error{"the set of " + partition_key +
                                  " has a member that is no item; who else writes to it?"};
            }
            rows.push_back(*std::move(row));
        }
    }

    static void keep_first(std::vector<item>& rows, std::size_t limit, sw::scan way) {
        std::ranges::sort(rows, [way](const item& a, const item& b) {
            const auto order = newest_first.compare(a, b);
            return way == sw::scan::forward ? order < 0 : order > 0;
        });
        rows.resize(std::min(rows.size(), limit));
    }

    template <class Visit>
    void for_each_chunk(const std::string& key, const Visit& visit) {
        std::string from = "[" + std::string{first_item};
        for (;;) {
            const reply members = checked(on_->call({{"ZRANGE", key, from, "+", "BYLEX", "LIMIT",
                                                      "0", std::to_string(chunk)}}),
                                          "ZRANGE");
            if (members.size() == 0) {
                return;
            }
            visit(members);
            from = "(" + std::string{members[members.size() - 1].text()};
        }
    }

    cluster* on_;
    sw::key_format format_;
    script write_;
    script fence_;
};

}  // namespace redis_timeline

#endif
