// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_LOCATE_HPP
#define SHARDWEAVE_PLACE_LOCATE_HPP

/// Where the item of a routed id is now.

#include <shardweave/core/hash.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/partition_key.hpp>
#include <shardweave/place/routed_id.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_history.hpp>
#include <shardweave/place/scheme_table.hpp>
#include <shardweave/place/time_range.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// One place where the item of a routed id may be.
struct routed_place {
    std::string shard;
    slot_index slot;
    bucket_index bucket;
    scheme_version scheme;
    /// Known when the key is: when it was given, or has its own scheme in the table. Otherwise the
    /// store is asked by the item's id alone, on this shard.
    std::optional<shardweave::partition_key> partition_key{};
};

/// Where an item may be, newest scheme first, each place once. Older schemes than the id's own are
/// left out: nothing is ever moved to one.
struct located {
    std::vector<routed_place> places{};
    /// False when the item may be elsewhere as well: when the schemes of ordinary keys grew to
    /// several buckets since, so that only the key could tell (give it to `locate`); when a newer
    /// scheme has time windows and the id has no time (give it times from the start); when the
    /// table does not know the id's scheme version yet (refresh it); or when no such id was made by
    /// this table, as with a forged one.
    bool complete = true;
    shardweave::epoch epoch{};
};

namespace detail {

/// The search for one id under the history of its key, whose text may be unknown.
class id_search {
public:
    id_search(const routing_table& table, const routed_id& id, const scheme_history& history,
              std::optional<std::string_view> key)
        : table_(&table), id_(&id), history_(&history), key_(key),
          own_(scheme_of(history, id.from().scheme)) {}

    /// True when the id was made under the version of this history that it names, as far as can be
    /// seen.
    [[nodiscard]] bool made_here() const {
        const routed_id::origin& from = id_->from();
        if (own_ == nullptr || from.bucket.value() >= own_->buckets() ||
            (own_->repeatable() && own_->locate(id_->local()) != from.bucket)) {
            return false;
        }
        if (own_->timed() && !(from.time && own_->held().contains(*from.time))) {
            return false;
        }
        if (key_) {
            return id_->of_key(*key_) &&
                   routed_id::slot_bits_of(text(*own_, from.bucket, window(*own_)).str()) ==
                       from.slot_bits;
        }
        return window(*own_) || !table_->format().plain(from.bucket, own_->buckets()) ||
               routed_id::slot_bits_of(from.key_hash) == from.slot_bits;
    }

    [[nodiscard]] bool knows_version() const noexcept { return own_ != nullptr; }

    [[nodiscard]] located run() {
        found_.epoch = table_->epoch();
        const routed_id::origin& from = id_->from();
        if (!made_here()) {
            found_.complete = false;
            if (!knows_version() && (!key_ || id_->of_key(*key_))) {
                add(from.scheme, from.bucket, from.slot_bits);
            }
            return std::move(found_);
        }
        const auto entries = history_->entries();
        for (auto entry = entries.rbegin();
             entry != entries.rend() && entry->scheme.version() >= from.scheme; ++entry) {
            if (entry->state != scheme_state::retired) {
                under(entry->scheme);
            }
        }
        return std::move(found_);
    }

private:
    static const bucket_scheme* scheme_of(const scheme_history& history, scheme_version version) {
        const auto entries = history.entries();
        const auto at = std::find_if(entries.begin(), entries.end(), [&](const auto& each) {
            return each.scheme.version() == version;
        });
        return at == entries.end() ? nullptr : &at->scheme;
    }

    using window_start = std::optional<item_time>;

    /// Requires an id with a time if the scheme is timed.
    [[nodiscard]] window_start window(const bucket_scheme& scheme) const {
        return scheme.timed() ? scheme.window_at(*id_->from().time) : std::nullopt;
    }

    [[nodiscard]] partition_key text(const bucket_scheme& scheme, bucket_index bucket,
                                     window_start start) const {
        return table_->format().render(*key_, bucket, scheme.buckets(), start);
    }

    void under(const bucket_scheme& scheme) {
        if (scheme.timed()) {
            const window_start& time = id_->from().time;
            if (!time) {
                found_.complete = false;
            }
            if (!time || !scheme.held().contains(*time)) {
                return;
            }
        }
        if (&scheme == own_) {
            consider(scheme, id_->from().bucket);
        } else if (scheme.repeatable()) {
            consider(scheme, scheme.locate(id_->local()));
        } else {
            for (std::uint32_t bucket = 0; bucket != scheme.buckets(); ++bucket) {
                consider(scheme, bucket_index{bucket});
            }
        }
    }

    void consider(const bucket_scheme& scheme, bucket_index bucket) {
        const key_format& format = table_->format();
        const window_start start = window(scheme);
        const auto identity = format.identity(bucket, scheme.buckets(), start);
        if (!seen_.insert(identity).second) {
            return;
        }
        if (key_) {
            partition_key written = text(scheme, bucket, start);
            const std::uint32_t slot_bits = routed_id::slot_bits_of(written.str());
            add(scheme.version(), bucket, slot_bits).partition_key = std::move(written);
        } else if (identity ==
                   format.identity(id_->from().bucket, own_->buckets(), window(*own_))) {
            add(scheme.version(), bucket, id_->from().slot_bits);
        } else if (!start && format.plain(bucket, scheme.buckets())) {
            add(scheme.version(), bucket, routed_id::slot_bits_of(id_->from().key_hash));
        } else {
            found_.complete = false;
        }
    }

    routed_place& add(scheme_version scheme, bucket_index bucket, std::uint32_t slot_bits) {
        const shard_map& map = table_->shards();
        const slot_index slot = map.slot_by(slot_bits);
        return found_.places.emplace_back(routed_place{map.owner(slot), slot, bucket, scheme});
    }

    const routing_table* table_;
    const routed_id* id_;
    const scheme_history* history_;
    std::optional<std::string_view> key_;
    const bucket_scheme* own_;
    std::set<std::uint64_t> seen_;
    located found_;
};

using listed_key = scheme_table::histories::value_type;

/// `listed` are the keys with their own schemes that have the id's hash: nearly always none or one.
template <class Range>
[[nodiscard]] located locate_among(const routing_table& table, const routed_id& id,
                                   const Range& listed) {
    const auto named = [&](const listed_key* each) {
        return id_search{table, id, each->second, each->first};
    };
    for (const listed_key* each : listed) {
        id_search search = named(each);
        // Of a version that this table has not heard of, the key's hash has to do.
        if (search.made_here() || !search.knows_version()) {
            return search.run();
        }
    }
    return id_search{table, id, table.schemes().ordinary(), std::nullopt}.run();
}

}  // namespace detail

/// Where the item is, by its id alone. O(keys with their own schemes), which are hashed; use an
/// `id_locator` for more than a few ids.
[[nodiscard]] inline located locate(const routing_table& table, const routed_id& id) {
    std::vector<const detail::listed_key*> listed;
    for (const detail::listed_key& each : table.schemes().exceptional()) {
        if (id.of_key(each.first)) {
            listed.push_back(&each);
        }
    }
    return detail::locate_among(table, id, listed);
}

/// The same with the key: complete for every id that the table made (with the item's time, if a
/// scheme has time windows), and every place has its partition key.
[[nodiscard]] inline located locate(const routing_table& table, const routed_id& id,
                                    std::string_view key) {
    table.format().check(key);
    return detail::id_search{table, id, table.schemes().history(key), key}.run();
}

/// Finds many ids by one table. Made once for each, in O(k log k) for k keys with their own
/// schemes; then an id costs O(log k + live schemes). Safe to share between threads.
class id_locator {
public:
    explicit id_locator(std::shared_ptr<const routing_table> table) : table_(std::move(table)) {
        const auto& listed = table_->schemes().exceptional();
        by_hash_.reserve(listed.size());
        for (const detail::listed_key& each : listed) {
            by_hash_.emplace_back(stable_hash64(each.first), &each);
        }
        std::sort(by_hash_.begin(), by_hash_.end(),
                  [](const entry& a, const entry& b) { return a.first < b.first; });
    }

    [[nodiscard]] located locate(const routed_id& id) const {
        const auto less = [](const entry& each, std::uint64_t hash) { return each.first < hash; };
        std::vector<const detail::listed_key*> listed;
        for (auto at = std::lower_bound(by_hash_.begin(), by_hash_.end(), id.from().key_hash, less);
             at != by_hash_.end() && at->first == id.from().key_hash; ++at) {
            listed.push_back(at->second);
        }
        return detail::locate_among(*table_, id, listed);
    }

private:
    using entry = std::pair<std::uint64_t, const detail::listed_key*>;

    std::shared_ptr<const routing_table> table_;
    std::vector<entry> by_hash_;
};

}  // namespace v1
}  // namespace shardweave

#endif
