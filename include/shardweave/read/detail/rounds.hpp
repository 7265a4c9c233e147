// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_ROUNDS_HPP
#define SHARDWEAVE_READ_DETAIL_ROUNDS_HPP

/// The asking half of a weave: which queries a page needs, and what their answers mean.

#include <shardweave/core/error.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/read/action.hpp>
#include <shardweave/read/asking.hpp>
#include <shardweave/read/detail/answers.hpp>
#include <shardweave/read/detail/asked.hpp>
#include <shardweave/read/detail/purse.hpp>
#include <shardweave/read/detail/source_state.hpp>
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
    using state = source_state<position_type>;

    rounds(const Order& order, std::vector<source> sources, asked<position_type> common)
        : merge_(order, common.way, sources.size()), sources_(sources.size()),
          common_(std::move(common)), purse_(common_.budget) {
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
        round_.clear();
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            const std::size_t waiting = merge_.buffered(i);
            if (const std::size_t quota = open(i) ? quota_of(i) : 0; waiting < quota) {
                want(i, quota - waiting, std::nullopt, stats_.rounds + 1);
            }
        }
        return send();
    }

    /// Asks the sources that may hold more of the next `need` items than they gave: those whose
    /// last known position is before the last of these items, up to there.
    [[nodiscard]] requests refill(std::size_t need, std::size_t buffered_rows) {
        round_.clear();
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
                want(i, need - std::min(need - 1, merge_.buffered(i)), bound, depth);
            }
        }
        // What is in memory already leaves less room for the rest.
        const std::size_t room = buffered_rows - std::min(buffered_rows, waiting());
        for (const std::size_t i : round_) {
            sources_[i].wanted =
                std::min(sources_[i].wanted, std::max<std::size_t>(room / round_.size(), 1));
        }
        return send();
    }

    /// Follows up the answers that were short.
    [[nodiscard]] requests follow_up() {
        round_.clear();
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            if (std::exchange(sources_[i].unfinished, false)) {
                ++sources_[i].depth;
                round_.push_back(i);
            }
        }
        return send();
    }

    /// What an answer means for its source. Returns an error when it breaks the source's promises:
    /// `errc::unordered_source`, which nothing can be done about, or `errc::no_progress`.
    [[nodiscard]] error answer(std::size_t from, shard_page<Item>&& page) {
        state& at = sources_[from];
        --outstanding_;
        if (common_.repeated == repeated_cursor::end && page.items.empty() &&
            !page.cursor.empty() && page.cursor == at.cursor) {
            page.more = false;
        }
        stats_.rows_examined += page.items.size();
        const sifted news = sift(merge_, from, common_, page);
        if (news.bad) {
            return unordered(merge_, from, at.about, page.items, *news.bad);
        }
        const std::size_t rows = page.items.size();
        if (const auto bad = merge_.feed(from, std::move(page.items))) {
            // Nothing was taken: the rows can be named.
            return unordered(merge_, from, at.about, page.items, *bad);
        }
        const bool moved =
            (page.scanned && move_wall(merge_, from, *page.scanned)) || rows != 0 || news.before;
        at.wanted -= std::min(rows, at.wanted);
        // Where rows were left out, its cursor is behind them, and nobody knows how far.
        at.gave(page.more && !news.beyond ? page.cursor : std::string{}, moved,
                merge_.covered(from));
        const bool reached = at.until && known_up_to(from, *at.until);
        if (moved || reached || (at.until && !page.more)) {
            at.progress.advanced();  // the next question is another one
        }
        if (news.beyond) {
            merge_.finish(from);
        } else if (reached) {
            // By rows at or beyond the bound. Of what comes after it, nothing is said.
        } else if (page.more) {
            if (!moved && !at.progress.idle(at.cursor, page.cursor)) {
                return blame(
                    at.about, errc::no_progress,
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

    /// A request whose answer never comes. `give_up` is the source's end for this page.
    void take_back() noexcept { --outstanding_; }
    void give_up(std::size_t from, standing as) {
        sources_[from].standing = as;
        sources_[from].unfinished = false;
        if (as == standing::skipped && !merge_.finished(from)) {
            merge_.finish(from);
        }
    }
    /// Asks again, from here on, those that the page went on without.
    void come_back(const std::optional<position_type>& boundary) {
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            if (sources_[i].standing == standing::skipped) {
                sources_[i].standing = standing::asked;
                sources_[i].cursor.clear();
                sources_[i].progress.advanced();
                merge_.reopen(i);
                if (boundary) {
                    merge_.cover(i, *boundary);
                }
            }
        }
    }

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
            if (merge_.buffered(i) != 0 || !merge_.finished(i) ||
                sources_[i].standing == standing::skipped) {
                return true;
            }
        }
        return false;
    }

    /// Rows that wait in all sources.
    [[nodiscard]] std::size_t waiting() const noexcept {
        std::size_t rows = 0;
        for (std::size_t i = 0; i != sources_.size(); ++i) {
            rows += merge_.buffered(i);
        }
        return rows;
    }
    [[nodiscard]] bool outstanding() const noexcept { return outstanding_ != 0; }
    /// The budget would not pay for what is to be asked next.
    [[nodiscard]] bool spent() const noexcept { return purse_.spent(); }
    [[nodiscard]] const read_budget& left() const noexcept { return purse_.left(); }
    [[nodiscard]] merge<Item, Order>& merged() noexcept { return merge_; }
    [[nodiscard]] const merge<Item, Order>& merged() const noexcept { return merge_; }
    [[nodiscard]] std::vector<state>& sources() noexcept { return sources_; }
    [[nodiscard]] const std::vector<state>& sources() const noexcept { return sources_; }
    [[nodiscard]] read_stats& stats() noexcept { return stats_; }
    [[nodiscard]] const read_stats& stats() const noexcept { return stats_; }

private:
    [[nodiscard]] bool open(std::size_t i) const noexcept {
        return !merge_.finished(i) && sources_[i].standing == standing::asked;
    }
    [[nodiscard]] bool stuck(std::size_t i) const noexcept {
        return !merge_.finished(i) && sources_[i].standing == standing::stuck;
    }
    [[nodiscard]] bool known_up_to(std::size_t i, const position_type& to) const {
        return merge_.covered(i) && merge_.compare(*merge_.covered(i), to) >= 0;
    }

    void want(std::size_t i, std::size_t rows, const std::optional<position_type>& until,
              std::size_t depth) {
        sources_[i].wanted = rows;
        sources_[i].until = until;
        sources_[i].depth = depth;
        round_.push_back(i);
    }

    /// The queries of `round_`, as far as the budget pays for them: all, or none.
    [[nodiscard]] requests send() {
        requests round;
        const std::size_t most = round_.empty() ? 0 : purse_.rows_each(round_.size());
        for (const std::size_t i : round_) {
            if (most != 0) {
                sources_[i].wanted = std::min(sources_[i].wanted, most);
                purse_.pay(sources_[i].wanted);
                round.push_back(ask(i));
            }
        }
        return round;
    }

    [[nodiscard]] request ask(std::size_t number) {
        state& at = sources_[number];
        ++outstanding_;
        ++stats_.requests;
        stats_.rounds = std::max(stats_.rounds, at.depth);
        contacted_.insert(at.about.shard);
        stats_.shards_contacted = contacted_.size();
        request made{number, {}};
        made.query.shard = at.about.shard;
        made.query.partition_keys = at.about.partition_keys;
        made.query.after = merge_.covered(number);
        made.query.until = at.until ? at.until : common_.far;
        made.query.limit = at.wanted;
        made.query.way = common_.way;
        made.query.filter = common_.filter;
        made.query.cursor = at.cursor;
        made.query.epoch = common_.epoch;
        made.query.within = common_.within;
        return made;
    }

    merge<Item, Order> merge_;
    std::vector<state> sources_;
    asked<position_type> common_;
    /// The sources of the next queries.
    std::vector<std::size_t> round_;
    /// Views of the sources' names, which never move.
    std::set<std::string_view> contacted_;
    read_stats stats_;
    purse purse_;
    std::size_t outstanding_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
