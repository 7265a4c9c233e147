// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_ROUTER_HPP
#define SHARDWEAVE_PLACE_ROUTER_HPP

/// The routing table of a process, replaced while threads read it.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/detail/succession.hpp>
#include <shardweave/place/prepared_table.hpp>
#include <shardweave/place/routing_table.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// What `router::publish` did.
enum class [[nodiscard]] publish_result : std::uint8_t {
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

    /// A thread's own handle: it keeps the table that it saw last, and looks at one version number
    /// to know whether that is still the current one. About as fast as a plain pointer, since no
    /// count and no lock is shared while nothing is published. For one thread; the router must
    /// outlive it.
    class reader {
    public:
        explicit reader(const router& of) noexcept : router_(&of) {}
        explicit reader(const router&&) = delete;

        /// The current table; valid until the handle's next call.
        [[nodiscard]] const prepared_table& current() {
            if (router_->version_.load(std::memory_order_acquire) != seen_) {
                refresh();
            }
            return *held_;
        }
        [[nodiscard]] const routing_table& table() { return current().table(); }

        /// Where a new item is written: no lock, no allocation, one hash for an ordinary key.
        [[nodiscard]] route route_of(std::string_view key, const id_bytes& id) {
            return current().route_of(key, id);
        }

        /// Lets go of the table. A handle that lies idle keeps an old table alive otherwise.
        void release() noexcept {
            held_.reset();
            seen_ = 0;
        }

    private:
        void refresh() {
            const auto old = std::move(held_);  // dies after the lock
            const std::scoped_lock lock{router_->mutex_};
            held_ = router_->current_;
            seen_ = router_->version_.load(std::memory_order_relaxed);
        }

        const router* router_;
        std::shared_ptr<const prepared_table> held_;
        std::uint64_t seen_ = 0;
    };

    explicit router(routing_table table)
        : current_(std::make_shared<const prepared_table>(std::move(table))) {}

    /// The current table, for one whole operation or a batch. Costs a lock.
    [[nodiscard]] snapshot pin() const {
        auto held = current();
        const routing_table* table = &held->table();
        return {std::move(held), table};
    }

    /// Replaces the table by one of a higher epoch; an older one is ignored, and the result says
    /// so. Throws `errc::epoch_conflict` for other contents at the same epoch,
    /// `errc::scheme_conflict` or `errc::invalid_map` when items placed under the current table
    /// would not be found under the new one. Then nothing changes.
    ///
    /// What it can not see is data: that a retired scheme's buckets are empty, and that rows were
    /// copied before their slot gets another owner, is for its caller to know. `outdated` means
    /// that another owner was first: start again from the table that is current now.
    publish_result publish(routing_table table) {
        // Asked before the index is built, and again whenever another owner was faster.
        if (const auto settled = compare(current()->table(), table)) {
            return *settled;
        }
        auto next = std::make_shared<const prepared_table>(std::move(table));
        for (;;) {
            const auto seen = current();
            if (const auto settled = compare(seen->table(), next->table())) {
                return *settled;
            }
            const std::scoped_lock lock{mutex_};
            if (current_ == seen) {
                current_.swap(next);  // the old table dies with `next`, after the lock
                version_.fetch_add(1, std::memory_order_release);
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
    // Not std::hardware_destructive_interference_size, on which translation units may differ.
    static constexpr std::size_t cache_line = 64;

    /// Nothing when `next` may follow `seen`; it walks every key that has its own scheme.
    static std::optional<publish_result> compare(const routing_table& seen,
                                                 const routing_table& next) {
        if (next.epoch() < seen.epoch()) {
            return publish_result::outdated;
        }
        if (next.epoch() == seen.epoch()) {
            if (next == seen) {
                return publish_result::unchanged;
            }
            throw failure{errc::epoch_conflict,
                          detail::concat("two different routing tables have the epoch ",
                                         next.epoch().value(),
                                         "; give the newer one a higher epoch")};
        }
        detail::check_succession(seen, next);
        return std::nullopt;
    }

    [[nodiscard]] std::shared_ptr<const prepared_table> current() const {
        const std::scoped_lock lock{mutex_};
        return current_;
    }

    mutable std::mutex mutex_;
    std::shared_ptr<const prepared_table> current_;
    /// Changes with `current_`, under the lock. Alone on its cache line, which every reader looks
    /// at.
    alignas(cache_line) std::atomic<std::uint64_t> version_{1};
    [[maybe_unused]] unsigned char padding_[cache_line - sizeof(std::atomic<std::uint64_t>)]{};
};

}  // namespace v1
}  // namespace shardweave

#endif
