// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_ROUNDS_HPP
#define SHARDWEAVE_READ_DETAIL_ROUNDS_HPP

/// The asking half of a weave: which queries a page needs, and what their answers mean.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/read/action.hpp>
#include <shardweave/read/detail/progress.hpp>
#include <shardweave/read/merge.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/stats.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Asks sources in rounds, and feeds the answers to a merge. A short answer is followed up at once;
/// a new round starts when nothing is outstanding.
template <class Item, class Order>
class rounds {
public:
    using position_type = typename Order::position_type;
    using request = typename weave_action<position_type>::request;
    using requests = std::vector<request>;

    rounds(const Order& order, scan way, std::vector<source> sources, std::string filter, epoch at)
        : merge_(order, way, sources.size()), sources_(sources.size()), filter_(std::move(filter)),
          way_(way), epoch_(at) {
        for (std::size_t i = 0; i != sources.size(); ++i) {
            sources_[i].about = std::move(sources[i]);
        }
    }

    // Queries view its strings, and so does `contacted_`: a copy would view another one's.
    rounds(const rounds&) = delete;
    rounds& operator=(const rounds&) = delete;
    rounds(rounds&&) = default;
    rounds& operator=(rounds&&) = default;
    ~rounds() = default;

    /// Starts beyond a position: all before it is as good as known.
    void start_after(const position_type& at) {
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            merge_.cover(i, at);
        }
    }

    /// Tops every source up to its quota, `quota_of(source)`.
    template <class QuotaOf>
    [[nodiscard]] requests top_up(const QuotaOf& quota_of) {
        requests round;
        const std::size_t depth = stats_.rounds + 1;
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            const std::size_t waiting = merge_.buffered(i);
            if (const std::size_t quota = open(i) ? quota_of(i) : 0; waiting < quota) {
                sources_[i].wanted = quota - waiting;
                sources_[i].until.reset();
                round.push_back(ask(i, depth));
            }
        }
        return round;
    }

    /// Asks the sources that may hold more of the next `need` items than they gave: those whose
    /// last known position is before the last of these items, up to there.
    [[nodiscard]] requests refill(std::size_t need) {
        requests round;
        const std::size_t depth = stats_.rounds + 1;
        std::optional<position_type> bound = merge_.nth_waiting(need);
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            // Nothing beyond the frontier of a source that failed will be handed out.
            if (stuck(i) && (!bound || merge_.compare(*merge_.covered(i), *bound) < 0)) {
                bound = merge_.covered(i);
            }
        }
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            if (open(i) && !(bound && known_up_to(i, *bound))) {
                sources_[i].wanted = need - std::min(need - 1, merge_.buffered(i));
                sources_[i].until = bound;
                round.push_back(ask(i, depth));
            }
        }
        return round;
    }

    /// Follows up the answers that were short.
    [[nodiscard]] requests follow_up() {
        requests round;
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            if (std::exchange(sources_[i].unfinished, false)) {
                round.push_back(ask(i, sources_[i].depth + 1));
            }
        }
        return round;
    }

    /// What an answer means for its source. Returns an error when it breaks the source's promises:
    /// `errc::unordered_source`, which nothing can be done about, or `errc::no_progress`.
    [[nodiscard]] error answer(std::size_t from, shard_page<Item>&& page) {
        state& at = sources_[from];
        --outstanding_;
        stats_.rows_examined += page.items.size();
        drop_known(from, page.items);
        const std::size_t rows = page.items.size();
        if (const auto bad = merge_.feed(from, std::move(page.items))) {
            return unordered(from, page.items, *bad);  // nothing was taken: the rows can be named
        }
        at.wanted -= std::min(rows, at.wanted);
        if (at.until && known_up_to(from, *at.until)) {
            // Complete up to the bound, by rows at or beyond it; of what comes after, nothing is
            // said.
        } else if (page.more) {
            if (rows != 0) {
                at.progress.advanced();
            } else if (!at.progress.idle(at.cursor, page.cursor)) {
                return blame(
                    from, errc::no_progress,
                    "it keeps answering that there is more, without a row or a new cursor; "
                    "honour `after` (or `cursor`), and set `more` to false at the end");
            }
            at.unfinished = at.wanted != 0;
        } else if (at.until) {
            merge_.cover(from, *at.until);
        } else {
            merge_.finish(from);
        }
        at.cursor = page.more ? std::move(page.cursor) : std::string{};
        return {};
    }

    /// A request whose answer never comes. `give_up` is the source's end for this read.
    void take_back() noexcept { --outstanding_; }
    void give_up(std::size_t from) noexcept { sources_[from].failed = true; }

    /// Whether waiting for this wall to move is in vain, because a source that failed stands no
    /// further.
    [[nodiscard]] bool blocked_at(std::size_t wall) const {
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            if (stuck(i) && (!merge_.covered(i) || known_up_to(wall, *merge_.covered(i)))) {
                return true;
            }
        }
        return false;
    }

    /// False when every source is at its end, and nothing is buffered.
    [[nodiscard]] bool may_have_more() const noexcept {
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            if (merge_.buffered(i) != 0 || !merge_.finished(i)) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] bool outstanding() const noexcept { return outstanding_ != 0; }
    [[nodiscard]] merge<Item, Order>& merged() noexcept { return merge_; }
    [[nodiscard]] const merge<Item, Order>& merged() const noexcept { return merge_; }
    [[nodiscard]] read_stats& stats() noexcept { return stats_; }
    [[nodiscard]] const read_stats& stats() const noexcept { return stats_; }
    [[nodiscard]] epoch table_epoch() const noexcept { return epoch_; }

private:
    struct state {
        source about;
        /// Rows that the current ask still lacks, and its bound.
        std::size_t wanted = 0;
        std::optional<position_type> until;
        /// The store's own, from its last answer.
        std::string cursor;
        /// How many queries had to come one after another, its last one included.
        std::size_t depth = 0;
        /// Its last answer was short.
        bool unfinished = false;
        bool failed = false;
        progress_watch progress;
    };

    [[nodiscard]] bool open(std::size_t i) const noexcept {
        return !merge_.finished(i) && !sources_[i].failed;
    }
    [[nodiscard]] bool stuck(std::size_t i) const noexcept {
        return !merge_.finished(i) && sources_[i].failed;
    }
    [[nodiscard]] bool known_up_to(std::size_t i, const position_type& to) const {
        return merge_.covered(i) && merge_.compare(*merge_.covered(i), to) >= 0;
    }

    [[nodiscard]] request ask(std::size_t number, std::size_t depth) {
        state& at = sources_[number];
        at.depth = depth;
        ++outstanding_;
        ++stats_.requests;
        stats_.rounds = std::max(stats_.rounds, depth);
        contacted_.insert(at.about.shard);
        stats_.shards_contacted = contacted_.size();
        return {number,
                {at.about.shard, at.about.partition_keys, merge_.covered(number), at.until,
                 at.wanted, way_, filter_, at.cursor, epoch_}};
    }

    /// A store that resumes a little early repeats rows that are known; they are not news.
    void drop_known(std::size_t from, std::vector<Item>& rows) const {
        if (const auto& covered = merge_.covered(from)) {
            rows.erase(rows.begin(), std::ranges::find_if(rows, [&](const Item& row) {
                           return merge_.compare(row, *covered) > 0;
                       }));
        }
    }

    [[nodiscard]] error blame(std::size_t from, errc code, std::string detail) const {
        const source& about = sources_[from].about;
        return {code, about.shard, about.partition_keys.empty() ? "" : about.partition_keys.front(),
                std::move(detail)};
    }

    [[nodiscard]] error unordered(std::size_t from, const std::vector<Item>& rows,
                                  std::size_t bad) const {
        const Order& order = merge_.order();
        const position_type before =
            bad == 0 ? *merge_.covered(from) : order.position_of(rows[bad - 1]);
        return blame(
            from, errc::unordered_source,
            concat("a row at ", order.text(order.position_of(rows[bad])), " came after one at ",
                   order.text(before),
                   "; make the store sort by exactly the order's criteria, text as unsigned "
                   "bytes, walking the way that the query says"));
    }

    merge<Item, Order> merge_;
    std::vector<state> sources_;
    std::string filter_;
    scan way_;
    epoch epoch_;
    /// Views of the sources' names, which never move.
    std::set<std::string_view> contacted_;
    read_stats stats_;
    std::size_t outstanding_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
