// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_WEAVE_HPP
#define SHARDWEAVE_READ_WEAVE_HPP

/// The fan-out read as a state machine without I/O: it says what to ask, and is fed the answers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/read/detail/progress.hpp>
#include <shardweave/read/merge.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/quota.hpp>
#include <shardweave/read/stats.hpp>

namespace shardweave {
inline namespace v1 {

/// What to do when a source fails.
enum class on_failure : std::uint8_t {
    /// Hand out nothing.
    fail,
    /// Hand out what is certain before the failed source's frontier, and name the gap. The cursor
    /// resumes there.
    prefix,
};

/// What a weave wants done.
template <class Position>
struct weave_action {
    enum class kind : std::uint8_t {
        /// Send these queries and feed their answers, in any order; call `next` after each.
        ask,
        /// Nothing to send: feed an answer that is outstanding, then call `next`.
        wait,
        /// The page is complete; take it.
        finished,
        /// The read failed; `why` says how.
        failed,
    };
    struct request {
        /// Which source it is; handed back with the answer.
        std::size_t source;
        shard_query<Position> query;
    };

    kind what = kind::wait;
    std::vector<request> requests;
    error why;

    [[nodiscard]] static weave_action ask(std::vector<request> requests) {
        return {kind::ask, std::move(requests), {}};
    }
    [[nodiscard]] static weave_action wait() { return {}; }
    [[nodiscard]] static weave_action finished() { return {kind::finished, {}, {}}; }
    [[nodiscard]] static weave_action failed(error why) { return {kind::failed, {}, std::move(why)}; }
};

/// How items seen twice (a migration's copies) and deleted ones are told. Both may be empty.
template <class Item>
struct item_traits {
    /// Of two copies, the one with the higher revision is the item; without it, or when equal, the one
    /// from the newer scheme.
    std::function<std::uint64_t(const Item&)> revision;
    /// True for a tombstone: it hides its copies, and is not handed out itself.
    std::function<bool(const Item&)> deleted;
};

/// One paged read over many sources. Give it sources and a start; then do what `next` says until it
/// says `finished`, and take the page; `turn` goes on to the page after it, keeping what is buffered.
///
/// A page takes at most two rounds of full answers, whatever the skew. Round one asks each source for
/// its `quota`. When some source may hold more of the page, the second round asks only those whose
/// last known position is before the page's last one, B, for the rows up to B.
/// Buffers at most sources × quota + limit rows. Not thread-safe.
template <class Item, class Order>
class weave {
public:
    using position_type = typename Order::position_type;
    using action = weave_action<position_type>;

    struct options {
        std::size_t limit = 20;
        scan way = scan::forward;
        /// Rows beyond this only.
        std::optional<position_type> after{};
        std::string filter{};
        shardweave::epoch epoch{};
        on_failure failure = on_failure::fail;
        item_traits<Item> items{};
        double refill_chance = standard_refill_chance;
    };

    weave(const Order& order, std::vector<source> sources, options with)
        : options_(std::move(with)), sources_(sources.size()),
          merge_(order, options_.way, sources.size()) {
        double total = 0;
        for (std::size_t i = 0; i != sources.size(); ++i) {
            sources_[i].about = std::move(sources[i]);
            total += sources_[i].about.weight;
            if (options_.after) {
                merge_.cover(i, *options_.after);
            }
        }
        for (state& each : sources_) {
            each.share = total > 0 ? each.about.weight / total
                                   : 1 / static_cast<double>(sources_.size());
            each.taken_before = each.share * static_cast<double>(options_.limit);
        }
        merge_.settle();
    }

    /// What to do now.
    [[nodiscard]] action next() {
        if (fatal_) {
            return outstanding_ == 0 ? action::failed(blame()) : action::wait();
        }
        std::vector<typename action::request> requests;
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            if (std::exchange(sources_[i].unfinished, false)) {
                requests.push_back(ask(i, sources_[i].depth + 1));
            }
        }
        if (outstanding_ == 0) {
            if (!asked_) {
                requests = first_round();
                asked_ = true;
            }
            while (requests.empty()) {
                if (drain()) {
                    return action::finished();
                }
                requests = refill();
            }
        }
        return requests.empty() ? action::wait() : action::ask(std::move(requests));
    }

    /// Feeds the answer to a request of source `from`.
    void answer(std::size_t from, shard_page<Item>&& page) {
        state& at = sources_[from];
        take_back();
        stats_.rows_examined += page.items.size();
        drop_known(from, page.items);
        const std::size_t rows = page.items.size();
        if (const auto bad = merge_.feed(from, std::move(page.items))) {
            // Nothing was taken from the answer: its rows are still there to be named.
            fatal_ = true;
            blames_.push_back(unordered(from, page.items, *bad));
            return;
        }
        at.wanted -= std::min(rows, at.wanted);
        if (rows != 0) {
            at.progress.advanced();
        }
        const bool past_bound = at.until && merge_.covered(from) &&
                                merge_.compare(*merge_.covered(from), *at.until) >= 0;
        if (page.more && !past_bound) {
            if (rows == 0 && !at.progress.idle(at.cursor, page.cursor)) {
                give_up(from, {errc::no_progress, at.about.shard, first_key(at),
                               detail::concat("it keeps answering that there is more, without a row or "
                                              "a new cursor; honour `after` (or `cursor`), and set "
                                              "`more` to false at the end")});
                return;
            }
            at.unfinished = at.wanted != 0;
        } else if (!page.more) {
            if (!at.until) {
                merge_.finish(from);
            } else if (!past_bound) {
                merge_.cover(from, *at.until);
            }
        }
        at.cursor = page.more ? std::move(page.cursor) : std::string{};
    }

    /// Tells that a request of source `from` failed for good.
    void fail(std::size_t from, error why) {
        take_back();
        give_up(from, std::move(why));
    }

    /// Tells that a request was never sent, because the read has failed already.
    void cancel(std::size_t /*from*/) noexcept { take_back(); }

    /// The items of the finished page, in the walked direction.
    [[nodiscard]] std::vector<Item> take_page() { return std::move(page_); }

    /// The position of the last row that the finished page consumed, or where the read started; call it
    /// before `take_page`. Every row up to here was handed out or is deleted, every row beyond was not.
    [[nodiscard]] std::optional<position_type> boundary() const {
        if (page_.empty()) {
            return dropped_ ? dropped_ : options_.after;
        }
        const Item& last = page_.back();
        return dropped_ && merge_.compare(*dropped_, last) > 0 ? dropped_ : position_of(last);
    }

    /// False when the page was certainly the last one.
    [[nodiscard]] bool may_have_more() const noexcept {
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            if (merge_.buffered(i) != 0 || !merge_.finished(i)) {
                return true;
            }
        }
        return false;
    }

    /// The sources that failed, with `on_failure::prefix`.
    [[nodiscard]] const std::vector<error>& failures() const noexcept { return blames_; }

    /// Starts the next page of `limit`. Call it after `finished` and `take_page`, when
    /// `may_have_more` and nothing failed.
    void turn(std::size_t limit) {
        // Shares follow what the pages so far took, most of it lately.
        double total = 0;
        for (state& each : sources_) {
            each.taken_before = each.taken_before * 0.75 + static_cast<double>(each.taken);
            each.taken = 0;
            total += each.taken_before;
        }
        for (state& each : sources_) {
            each.share = total > 0 ? each.taken_before / total : each.share;
        }
        options_.after = boundary_after_turn_;
        options_.limit = limit;
        page_.clear();
        dropped_.reset();
        asked_ = false;
    }

    /// True when the read has failed: send nothing more, `cancel` what was not sent.
    [[nodiscard]] bool doomed() const noexcept { return fatal_; }
    [[nodiscard]] shardweave::epoch epoch() const noexcept { return options_.epoch; }
    [[nodiscard]] const read_stats& stats() const noexcept { return stats_; }

private:
    struct state {
        source about;
        double share = 0;
        /// Rows that pages took from it: this page, and before it (fading).
        std::size_t taken = 0;
        double taken_before = 0;
        /// Of the current ask.
        std::size_t wanted = 0;
        std::optional<position_type> until;
        std::string cursor;
        std::size_t depth = 0;
        bool unfinished = false;
        bool failed = false;
        detail::progress_watch progress;
    };

    [[nodiscard]] static std::string first_key(const state& at) {
        return at.about.partition_keys.empty() ? std::string{} : at.about.partition_keys.front();
    }

    typename action::request ask(std::size_t number, std::size_t depth) {
        state& at = sources_[number];
        at.depth = depth;
        ++outstanding_;
        ++stats_.requests;
        stats_.rounds = std::max(stats_.rounds, depth);
        contacted_.insert(at.about.shard);
        stats_.shards_contacted = contacted_.size();
        return {number, shard_query<position_type>{at.about.shard, at.about.partition_keys,
                                                   merge_.covered(number), at.until, at.wanted,
                                                   options_.way, options_.filter, at.cursor,
                                                   options_.epoch}};
    }

    /// Tops every source up to its quota.
    std::vector<typename action::request> first_round() {
        std::vector<typename action::request> requests;
        const std::size_t depth = deepest() + 1;
        double known_share = -1;
        std::size_t known_quota = 0;
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            state& at = sources_[i];
            if (merge_.finished(i) || at.failed) {
                continue;
            }
            if (at.share != known_share) {
                known_share = at.share;
                known_quota =
                    quota(options_.limit, at.share, sources_.size(), options_.refill_chance);
            }
            const std::size_t waiting = merge_.buffered(i);
            if (waiting < known_quota) {
                at.wanted = known_quota - waiting;
                at.until.reset();
                requests.push_back(ask(i, depth));
            }
        }
        return requests;
    }

    /// Asks the sources that may hold more of the page than they gave, up to its last position.
    std::vector<typename action::request> refill() {
        std::vector<typename action::request> requests;
        const std::size_t depth = deepest() + 1;
        const std::size_t need = options_.limit - page_.size();
        std::optional<position_type> bound = merge_.nth_waiting(need);
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            // Nothing beyond a failed source's frontier can be handed out.
            if (sources_[i].failed && !merge_.finished(i) && (!bound || merge_.compare(*merge_.covered(i), *bound) < 0)) {
                bound = merge_.covered(i);
            }
        }
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            state& at = sources_[i];
            const auto& covered = merge_.covered(i);
            if (merge_.finished(i) || at.failed ||
                (bound && covered && merge_.compare(*covered, *bound) >= 0)) {
                continue;
            }
            at.wanted = need - std::min(need - 1, merge_.buffered(i));
            at.until = bound;
            requests.push_back(ask(i, depth));
        }
        return requests;
    }

    [[nodiscard]] std::size_t deepest() const noexcept { return stats_.rounds; }

    /// Moves what is certain into the page. True when the page is complete: full, at the end, or at
    /// the frontier of a source that failed.
    bool drain() {
        merge_.settle();
        using head = typename merge<Item, Order>::head;
        while (page_.size() != options_.limit) {
            if (sources_.empty()) {
                break;
            }
            const std::size_t lane = merge_.top();
            if (merge_.state(lane) == head::end) {
                break;
            }
            if (merge_.state(lane) == head::wall) {
                if (failed_before(lane)) {
                    break;
                }
                return false;
            }
            ++sources_[lane].taken;
            Item item = merge_.take();
            while (merge_.next_equals(item)) {
                ++stats_.duplicates;
                Item copy = merge_.take();
                if (options_.items.revision &&
                    options_.items.revision(copy) > options_.items.revision(item)) {
                    item = std::move(copy);
                }
            }
            if (options_.items.deleted && options_.items.deleted(item)) {
                ++stats_.deleted;
                dropped_ = position_of(item);
            } else {
                page_.push_back(std::move(item));
            }
        }
        stats_.rows_returned += page_.size();
        boundary_after_turn_ = boundary();
        return true;
    }

    /// Whether a failed source's frontier is not beyond this wall. Then waiting for the wall to move is
    /// in vain.
    [[nodiscard]] bool failed_before(std::size_t wall) const {
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            const auto& frontier = merge_.covered(i);
            if (sources_[i].failed && !merge_.finished(i) &&
                (!frontier ||
                 (merge_.covered(wall) && merge_.compare(*frontier, *merge_.covered(wall)) <= 0))) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] position_type position_of(const Item& item) const {
        return merge_.order().position_of(item);
    }

    /// A store that resumes a little early repeats rows that are known; they are not news.
    void drop_known(std::size_t from, std::vector<Item>& rows) const {
        const auto& covered = merge_.covered(from);
        if (!covered) {
            return;
        }
        const auto fresh = std::ranges::find_if(
            rows, [&](const Item& row) { return merge_.compare(row, *covered) > 0; });
        rows.erase(rows.begin(), fresh);
    }

    void take_back() noexcept { --outstanding_; }

    void give_up(std::size_t from, error why) {
        sources_[from].failed = true;
        fatal_ = fatal_ || options_.failure == on_failure::fail;
        blames_.push_back(std::move(why));
    }

    [[nodiscard]] error unordered(std::size_t from, const std::vector<Item>& rows,
                                  std::size_t bad) const {
        const position_type before =
            bad == 0 ? *merge_.covered(from) : position_of(rows[bad - 1]);
        const state& at = sources_[from];
        return {errc::unordered_source, at.about.shard, first_key(at),
                detail::concat("a row at ", merge_.order().text(position_of(rows[bad])), " came after one at ",
                               merge_.order().text(before), "; make the store sort by exactly the "
                               "order's criteria, text as unsigned bytes, walking the way that the "
                               "query says")};
    }

    /// The first error, naming every shard that failed.
    [[nodiscard]] error blame() const {
        error first = blames_.front();
        for (std::size_t i = 1; i != blames_.size(); ++i) {
            first.detail += "; also " + blames_[i].message();
        }
        return first;
    }

    options options_;
    std::vector<state> sources_;
    merge<Item, Order> merge_;
    std::vector<Item> page_;
    std::optional<position_type> dropped_;
    std::optional<position_type> boundary_after_turn_;
    std::vector<error> blames_;
    /// Views of the sources' names, which never move.
    std::set<std::string_view> contacted_;
    read_stats stats_;
    std::size_t outstanding_ = 0;
    bool asked_ = false;
    bool fatal_ = false;
};

}  // namespace v1
}  // namespace shardweave

#endif
