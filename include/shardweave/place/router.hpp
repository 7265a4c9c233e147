// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_ROUTER_HPP
#define SHARDWEAVE_PLACE_ROUTER_HPP

/// The routing table of a process, replaced while threads read it.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/detail/succession.hpp>
#include <shardweave/place/detail/thread_tables.hpp>
#include <shardweave/place/prepared_table.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/time_range.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>
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

    /// A thread's own handle: it keeps the table that it saw last, and looks at one pointer to know
    /// whether that is still the current one. About as fast as a plain pointer, since no count and
    /// no lock is shared while nothing is published. For one thread; the router must outlive it.
    class reader {
    public:
        explicit reader(const router& of) noexcept : router_(&of) {}
        explicit reader(const router&&) = delete;

        /// The current table; valid until the handle's next call.
        [[nodiscard, gnu::always_inline]] const prepared_table& current() {
            return router_->renewed(held_);
        }
        [[nodiscard]] const routing_table& table() { return current().table(); }

        /// Where a new item is written: no lock, no allocation, one hash for an ordinary key.
        template <class Id>
        [[nodiscard, gnu::always_inline]] route route_of(std::string_view key, const Id& id) {
            return current().route_of(key, id);
        }

        /// Lets go of the table. A handle that lies idle keeps an old table alive otherwise.
        void release() noexcept { held_.reset(); }

    private:
        const router* router_;
        detail::held_table held_;
    };

    explicit router(routing_table table)
        : current_(std::make_shared<const prepared_table>(std::move(table))), now_(current_.get()) {
    }

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
                now_.store(current_.get(), std::memory_order_relaxed);
                return publish_result::published;
            }
        }
    }

    /// Where a new item is written, in numbers; see `prepared_table::route_of`. As fast as by a
    /// `reader`, but for finding what the thread saw last: no lock, no allocation. A thread keeps
    /// the tables of four routers at most; more of them take turns, and then a lock.
    template <class Id>
    [[nodiscard, gnu::always_inline]] route route_of(std::string_view key, const Id& id) const {
        const detail::seen_table* const seen = look();
        if (seen == nullptr) [[unlikely]] {
            return current()->route_of(key, id);
        }
        return seen->held->route_by(key, id, [&](const id_bytes& bytes, std::uint64_t hash) {
            return here(
                [&](const prepared_table& now) { return now.farther_route(key, bytes, hash); });
        });
    }
    /// The current table's answers: see `routing_table`.
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id) const {
        return here([&](const prepared_table& now) {
            return now.placement_of(key, now.route_of(key, id));
        });
    }
    [[nodiscard]] placement place(std::string_view key, const id_bytes& id, item_time time) const {
        return here([&](const prepared_table& now) { return now.table().place(key, id, time); });
    }
    [[nodiscard]] std::vector<placement> candidates(std::string_view key, const id_bytes& id,
                                                    const time_range& range = {}) const {
        return here(
            [&](const prepared_table& now) { return now.table().candidates(key, id, range); });
    }
    [[nodiscard]] std::vector<placement> candidates(std::string_view key, const id_bytes& id,
                                                    item_time time) const {
        return candidates(key, id, static_cast<time_range>(time));
    }
    [[nodiscard]] std::vector<target> targets(std::string_view key,
                                              const time_range& range = {}) const {
        return here([&](const prepared_table& now) { return now.table().targets(key, range); });
    }
    template <std::ranges::input_range Range>
    [[nodiscard]] std::vector<shard_batch> group(Range&& items) const {
        return pin()->group(std::forward<Range>(items));
    }
    [[nodiscard]] shardweave::epoch epoch() const {
        return here([](const prepared_table& now) { return now.table().epoch(); });
    }

    /// Lets go of the table that this thread keeps for the calls above. A thread that lies idle
    /// keeps an old table alive otherwise, until it ends; even when the router is gone. So a shared
    /// library with selectors of its own lets each of its threads let go before it is unloaded, or
    /// uses readers.
    void release() const noexcept {
        detail::seen_table* const seen = detail::seen_by_thread(this);
        if (seen != nullptr && !seen->busy) {
            *seen = {};
        }
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

    [[nodiscard]] detail::held_table current() const {
        const std::scoped_lock lock{mutex_};
        return current_;
    }

    struct in_use {
        bool& busy;
        explicit in_use(bool& flag) noexcept : busy(flag) { busy = true; }
        ~in_use() { busy = false; }
        in_use(const in_use&) = delete;
        in_use& operator=(const in_use&) = delete;
    };

    /// What the thread has of the current table. Null within a call that uses it already, and when
    /// the thread is ending: then the table is taken by a lock.
    [[nodiscard, gnu::always_inline]] detail::seen_table* look() const {
        detail::seen_table* const seen = detail::seen_by_thread(this);
        if (seen == nullptr || seen->busy) [[unlikely]] {
            return nullptr;
        }
        if (now_.load(std::memory_order_relaxed) != seen->held.get()) [[unlikely]] {
            const in_use guard{seen->busy};  // what dies with the old table may call a router
            renew(seen->held);
        }
        return seen;
    }

    /// The current table, held by `held`, which may hold an older one or none before. What is held
    /// lives, so that no other table can have its address: the pointers are equal only if it is the
    /// current one.
    [[nodiscard, gnu::always_inline]] const prepared_table&
    renewed(detail::held_table& held) const {
        const prepared_table* const now = now_.load(std::memory_order_relaxed);
        if (now != held.get()) [[unlikely]] {
            renew(held);
            return *held;
        }
        return *now;
    }
    [[gnu::noinline, gnu::cold]] void renew(detail::held_table& held) const {
        const auto old = std::move(held);  // dies after the lock
        const std::scoped_lock lock{mutex_};
        held = current_;
    }

    /// `use` with the current table, which stays even when `use` calls the router again.
    template <class Use>
    std::invoke_result_t<const Use&, const prepared_table&> here(const Use& use) const {
        detail::seen_table* const seen = look();
        if (seen == nullptr) [[unlikely]] {
            return use(*current());
        }
        const in_use guard{seen->busy};
        return use(*seen->held);
    }

    mutable std::mutex mutex_;
    detail::held_table current_;
    /// The same, changed under the lock. Alone on its cache line, which every reader looks at.
    alignas(cache_line) std::atomic<const prepared_table*> now_;
    [[maybe_unused]] unsigned char padding_[cache_line - sizeof(void*)]{};
};

}  // namespace v1
}  // namespace shardweave

#endif
