// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_WEAVE_HPP
#define SHARDWEAVE_READ_WEAVE_HPP

/// The fan-out read as a state machine without I/O: it says what to ask, and is fed the answers.

#include <shardweave/core/error.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/action.hpp>
#include <shardweave/read/asking.hpp>
#include <shardweave/read/detail/rounds.hpp>
#include <shardweave/read/detail/shares.hpp>
#include <shardweave/read/detail/source_state.hpp>
#include <shardweave/read/detail/taken_rows.hpp>
#include <shardweave/read/hints.hpp>
#include <shardweave/read/item_traits.hpp>
#include <shardweave/read/merge.hpp>
#include <shardweave/read/on_failure.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/stats.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// One paged read over many sources. Give it the sources and a start; then do what `next` says
/// until it says `finished`, and take the page. `turn` goes on to the page after it, keeping what
/// is buffered.
///
/// A page takes at most two rounds of full answers, whatever the skew (more only to make up for
/// items that `deleted` drops). Round one asks each source for its `quota`. If some source may hold
/// more of the page, the second round asks only those whose last known position is before the
/// page's last one, B, for the rows up to B. Not thread-safe; not to be moved while a query, which
/// views it, is under way.
template <class Item, class Order>
class weave {
public:
    using position_type = typename Order::position_type;
    using action = weave_action<position_type>;

    struct options {
        /// Items of the page; more than 0.
        std::size_t limit = 20;
        scan way = scan::forward;
        /// Only rows beyond this.
        std::optional<position_type> after{};
        std::string filter{};
        shardweave::epoch epoch{};
        shardweave::on_failure on_failure = shardweave::on_failure::fail;
        item_traits<Item> items{};
        shardweave::asking asking{};
        read_budget budget{};
        /// For orders by time: rows of other times are left out.
        time_range within{};
        /// Only rows before this.
        std::optional<position_type> before{};
    };

    /// `order` is referred to, and must outlive the machine. Sources that come first win ties.
    weave(const Order& order, std::vector<source> sources, options with)
        : options_(std::move(with)), shares_(sources, options_.limit),
          rounds_(order, std::move(sources),
                  {options_.way, std::move(options_.filter), options_.epoch, options_.within,
                   options_.before, options_.budget, options_.asking.repeated_cursor}),
          boundary_(options_.after) {
        if (boundary_) {
            rounds_.start_after(*boundary_);
        }
    }

    /// Takes up what the page before saw of the same sources, by number. Before the first `next`.
    /// Its marks of ended sources are taken only where nothing can be added behind the boundary.
    void resume(const std::vector<cursor_hints::one>& hints, bool ended_stay) {
        for (std::size_t i = 0; i != hints.size(); ++i) {
            rounds_.sources()[i].resume(hints[i].cursor);
            if (hints[i].ended && ended_stay) {
                rounds_.merged().finish(i);
            }
        }
    }

    /// What to do now.
    [[nodiscard]] action next() {
        if (doomed_) {
            return rounds_.outstanding() ? action::wait()
                                         : action::failed(detail::blame(failures_));
        }
        auto requests = rounds_.follow_up();
        if (!rounds_.outstanding() && !std::exchange(topped_up_, true)) {
            requests = rounds_.top_up([this](std::size_t source) {
                return shares_.quota_of(source, options_.limit, options_.asking);
            });
        }
        while (!rounds_.outstanding()) {
            if (drain() || rounds_.spent()) {
                finish();
                return action::finished();
            }
            requests = rounds_.refill(options_.limit - page_.size(), options_.asking.buffered_rows);
        }
        return action::ask(std::move(requests));
    }

    /// Feeds the answer to a request of source `from`.
    void answer(std::size_t from, shard_page<Item>&& page) {
        if (error broken = rounds_.answer(from, std::move(page))) {
            give_up(from, std::move(broken));
        }
    }

    /// Tells that a request of source `from` failed for good.
    void fail(std::size_t from, error why) {
        rounds_.take_back();
        give_up(from, std::move(why));
    }
    /// The same, of a failure that ends the read, whatever `on_failure` says.
    void doom(std::size_t from, error why) {
        options_.on_failure = on_failure::fail;
        fail(from, std::move(why));
    }

    /// Tells that a request was never sent, because the read is doomed.
    void cancel() noexcept { rounds_.take_back(); }

    /// True when the read has failed: send nothing more, and `cancel` what was not sent.
    [[nodiscard]] bool doomed() const noexcept { return doomed_; }

    /// The items of the finished page, in the walked direction.
    [[nodiscard]] std::vector<Item> take_page() { return std::exchange(page_, {}); }
    /// The same, in exchange for memory that is used again.
    void take_page(std::vector<Item>& into) {
        into.clear();
        into.swap(page_);
    }

    /// The position of the last row that the finished pages consumed, or where the read started.
    /// Every row up to here was handed out or is deleted, every row beyond was not.
    [[nodiscard]] const std::optional<position_type>& boundary() const noexcept {
        return boundary_;
    }

    /// False when the page was certainly the last one.
    [[nodiscard]] bool may_have_more() const noexcept { return rounds_.may_have_more(); }
    /// Why the finished page ends where it does.
    [[nodiscard]] page_end ended() const noexcept { return ended_; }

    /// The sources that failed on this page, with `on_failure::prefix` and `skip`.
    [[nodiscard]] const std::vector<error>& failures() const noexcept { return failures_; }

    /// Starts the next page, of `limit` items. Call it after `finished` and `take_page`, when
    /// `may_have_more`. Sources that were skipped are asked again, from here on.
    void turn(std::size_t limit) {
        shares_.turn();
        options_.limit = limit;
        topped_up_ = false;
        failures_.clear();
        rounds_.come_back(boundary_);
    }

    /// What a later read from the boundary may take up of a source.
    [[nodiscard]] cursor_hints::one hint(std::size_t number) const {
        const auto& at = rounds_.sources()[number];
        const auto& merged = rounds_.merged();
        return {at.settled(), at.standing == detail::standing::asked && merged.finished(number) &&
                                  merged.buffered(number) == 0};
    }
    /// The part of the recent pages that came from sources of this rank.
    [[nodiscard]] double share_of(std::uint32_t rank) const {
        return shares_.part_of(
            [&](std::size_t i) { return rounds_.sources()[i].about.rank == rank; });
    }

    [[nodiscard]] shardweave::epoch epoch() const noexcept { return options_.epoch; }
    [[nodiscard]] std::size_t sources() const noexcept { return rounds_.sources().size(); }
    [[nodiscard]] const source& about(std::size_t number) const noexcept {
        return rounds_.sources()[number].about;
    }
    /// Of all pages so far.
    [[nodiscard]] const read_stats& stats() const noexcept { return rounds_.stats(); }
    /// Of the budget.
    [[nodiscard]] const read_budget& left() const noexcept { return rounds_.left(); }

private:
    using head = typename merge<Item, Order>::head;

    /// Moves what is certain into the page. True when the page is complete: full, at the end, or at
    /// the frontier of a source that failed.
    bool drain() {
        merge<Item, Order>& merged = rounds_.merged();
        merged.settle();
        page_.reserve(std::min(options_.limit, page_.size() + rounds_.waiting()));
        while (page_.size() != options_.limit && merged.lanes() != 0) {
            const std::size_t lane = merged.top();
            if (merged.state(lane) == head::wall && !rounds_.blocked_at(lane)) {
                return false;
            }
            if (merged.state(lane) != head::row) {
                break;
            }
            consume(merged);
        }
        return true;
    }

    /// Says how the page ended, and where.
    void finish() {
        merge<Item, Order>& merged = rounds_.merged();
        const bool full = page_.size() == options_.limit;
        const bool at_wall =
            !full && merged.lanes() != 0 && merged.state(merged.top()) == head::wall;
        const bool stuck = at_wall && rounds_.blocked_at(merged.top());
        ended_ = full                        ? page_end::full
                 : !at_wall                  ? page_end::end
                 : rounds_.spent() && !stuck ? page_end::budget
                                             : page_end::gap;
        if (!page_.empty()) {
            reach(merged.order().position_of(page_.back()));
        }
        if (ended_ == page_end::budget && merged.covered(merged.top())) {
            // All up to the nearest wall was looked at: the next budget is not for that again.
            reach(*merged.covered(merged.top()));
        }
        rounds_.stats().rows_returned += page_.size();
        if (boundary_) {
            for (auto& each : rounds_.sources()) {
                each.settle(
                    [&](const position_type& end) { return merged.compare(end, *boundary_) <= 0; });
            }
        }
    }

    void reach(const position_type& at) {
        if (!boundary_ || rounds_.merged().compare(*boundary_, at) < 0) {
            boundary_ = at;
        }
    }

    /// Takes items that are certain, each once however often it is there.
    void consume(merge<Item, Order>& merged) {
        const std::size_t before = page_.size();
        merged.run(options_.limit - before, detail::taken_rows<Item>{page_, shares_});
        while (merged.next_equals(page_.back())) {
            ++rounds_.stats().duplicates;
            Item copy = merged.take();
            if (options_.items.revision &&
                options_.items.revision(copy) > options_.items.revision(page_.back())) {
                page_.back() = std::move(copy);
            }
        }
        if (options_.items.deleted) {
            drop_deleted(merged.order(), before);
        }
    }

    /// Of the page's items from `first` on.
    void drop_deleted(const Order& order, std::size_t first) {
        if (options_.items.deleted(page_.back())) {
            boundary_ = order.position_of(page_.back());
        }
        const auto gone = std::remove_if(page_.begin() + static_cast<std::ptrdiff_t>(first),
                                         page_.end(), options_.items.deleted);
        rounds_.stats().deleted += static_cast<std::size_t>(page_.end() - gone);
        page_.erase(gone, page_.end());
    }

    void give_up(std::size_t from, error why) {
        const bool dooms = !doomed_ && (options_.on_failure == on_failure::fail ||
                                        why.code == errc::unordered_source);
        doomed_ = doomed_ || dooms;
        rounds_.give_up(from, options_.on_failure == on_failure::skip ? detail::standing::skipped
                                                                      : detail::standing::stuck);
        failures_.insert(dooms ? failures_.begin() : failures_.end(), std::move(why));
    }

    options options_;
    detail::source_shares shares_;
    detail::rounds<Item, Order> rounds_;
    std::vector<Item> page_;
    std::optional<position_type> boundary_;
    std::vector<error> failures_;
    page_end ended_ = page_end::full;
    bool topped_up_ = false;
    bool doomed_ = false;
};

}  // namespace v1
}  // namespace shardweave

#endif
