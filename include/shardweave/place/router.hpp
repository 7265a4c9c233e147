// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_ROUTER_HPP
#define SHARDWEAVE_PLACE_ROUTER_HPP

/// The routing table of a process, replaced while threads read it.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/routing_table.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

namespace detail {

/// Throws `errc::scheme_conflict` when items placed by the older history could be missed by the
/// newer: a version with other contents, one that is gone without being retired, one that comes
/// back, or a new one that is not newer.
inline void check_succession(std::string_view key, const scheme_history& older,
                             const scheme_history& newer) {
    const auto conflict = [&](scheme_version version, std::string_view what) {
        return failure{errc::scheme_conflict,
                       concat("scheme version ", version.value(), " of ", key, " ", what,
                              "; add schemes with grow and end them with retire")};
    };
    auto next = newer.entries().begin();
    for (const auto& [scheme, state] : older.entries()) {
        if (next == newer.entries().end() || next->scheme.version() != scheme.version()) {
            throw conflict(scheme.version(), "is missing from the new table");
        }
        if (next->scheme != scheme) {
            throw conflict(scheme.version(), "has other contents in the new table");
        }
        if (next->state < state) {
            throw conflict(scheme.version(), "goes back to an earlier state");
        }
        ++next;
    }
}

/// The same for whole tables: what was placed by the older must be found by the newer.
inline void check_succession(const routing_table& older, const routing_table& newer) {
    if (!(older.format() == newer.format())) {
        throw failure{errc::scheme_conflict,
                      concat("the key format changes from ", detail::quoted(older.format().text()),
                             " to ", detail::quoted(newer.format().text()),
                             ", or its suffix mode does; items "
                             "would not be found, so keep both for as long as there are items")};
    }
    if (older.shards().slots() != newer.shards().slots()) {
        throw failure{errc::invalid_map, concat("the slots change from ", older.shards().slots(),
                                                " to ", newer.shards().slots(),
                                                "; items would not be found, so keep the count")};
    }
    const auto check_keys = [&](const routing_table& listed) {
        for (const auto& [key, history] : listed.schemes().exceptional()) {
            check_succession("the key " + detail::quoted(key), older.schemes().history(key),
                             newer.schemes().history(key));
        }
    };
    check_succession("the ordinary keys", older.schemes().ordinary(), newer.schemes().ordinary());
    check_keys(older);
    check_keys(newer);
}

}  // namespace detail

/// What `router::publish` did.
enum class publish_result : std::uint8_t {
    /// The table is the current one now.
    published,
    /// It was the current one already.
    unchanged,
    /// It is older than the current one, and was ignored.
    outdated,
};

/// Holds the current routing table. Thread-safe. A reader pins the table and keeps it for one whole
/// operation, whatever is published meanwhile.
class router {
public:
    /// A pinned table. It stays valid for as long as it is held.
    using snapshot = std::shared_ptr<const routing_table>;

    explicit router(routing_table table)
        : current_(std::make_shared<const routing_table>(std::move(table))) {}

    [[nodiscard]] snapshot pin() const {
        const std::scoped_lock lock{mutex_};
        return current_;
    }

    /// Replaces the table by one of a higher epoch; an older one is ignored, and the result says
    /// so. Throws `errc::epoch_conflict` for other contents at the same epoch,
    /// `errc::scheme_conflict` or `errc::invalid_map` when items placed under the current table
    /// would not be found under the new one. Then nothing changes.
    publish_result publish(routing_table table) {
        auto next = std::make_shared<const routing_table>(std::move(table));
        for (;;) {
            snapshot seen = pin();
            if (next->epoch() < seen->epoch()) {
                return publish_result::outdated;
            }
            if (next->epoch() == seen->epoch()) {
                if (*next == *seen) {
                    return publish_result::unchanged;
                }
                throw failure{errc::epoch_conflict,
                              detail::concat("two different routing tables have the epoch ",
                                             next->epoch().value(),
                                             "; give the newer one a higher epoch")};
            }
            // Outside the lock: it walks every key that has its own scheme.
            detail::check_succession(*seen, *next);
            const std::scoped_lock lock{mutex_};
            if (current_ == seen) {
                current_.swap(next);  // the old table dies with `next`, after the lock
                return publish_result::published;
            }
        }
    }

    /// The current table's answers: see `routing_table`.
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id) const {
        return pin()->place(key, id);
    }
    [[nodiscard]] std::vector<placement> candidates(std::string_view key,
                                                    const id_bytes& id) const {
        return pin()->candidates(key, id);
    }
    [[nodiscard]] std::vector<target> targets(std::string_view key) const {
        return pin()->targets(key);
    }
    template <std::ranges::input_range Range>
    [[nodiscard]] std::vector<shard_batch> group(Range&& items) const {
        return pin()->group(std::forward<Range>(items));
    }

private:
    mutable std::mutex mutex_;
    snapshot current_;
};

}  // namespace v1
}  // namespace shardweave

#endif
