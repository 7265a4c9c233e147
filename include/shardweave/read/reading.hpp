// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_READING_HPP
#define SHARDWEAVE_READ_READING_HPP

/// One read of some keys as a state machine without I/O: the weaves of its stretches of time, one
/// after another.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/action.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/detail/extent.hpp>
#include <shardweave/read/detail/sources.hpp>
#include <shardweave/read/detail/stretches.hpp>
#include <shardweave/read/hints.hpp>
#include <shardweave/read/on_failure.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/stats.hpp>
#include <shardweave/read/weave.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// Do what `next` says until it says `finished`, feed `answer` or `fail`, then `take` the page.
/// Made by `key_reader::read`; `page_driver` adds attempts for an event loop of one's own. Not
/// thread-safe. It refers to its reader, and its queries to it: it stays where it is while one is
/// under way.
template <class Item, class Order>
class reading {
public:
    using item_type = Item;
    using position_type = typename Order::position_type;
    using action = weave_action<position_type>;

    /// Where a read starts.
    struct start {
        cursor::state state{};
        std::optional<position_type> after{};
    };

    /// Throws what the keys and the options are refused for.
    reading(const Order& order, const fan_out_options<Item>& how, router::snapshot pinned,
            const key_set& keys, const page_options& with, start from)
        : order_(&order), how_(&how), table_(std::move(pinned)), keys_(keys), with_(with),
          from_(std::move(from)), extent_(detail::extent_of(order, with_, way(), from_.after,
                                                            from_.state.reached, as_of())),
          boundary_(extent_.near), stretches_(cut()) {
        if (with_.limit != 0) {
            open();
        }
    }
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;

    /// What to do now. Throws `errc::limit_exceeded` where it reaches a time with too many sources.
    [[nodiscard]] action next() {
        while (with_.limit != 0) {
            action todo = weave_->next();
            if (todo.what != action::kind::finished) {
                return todo;
            }
            collect();
            if (ended_ != page_end::end || stretches_.done() || out_of_time()) {
                break;
            }
            stretches_.too_little();
            open();
        }
        return action::finished();
    }

    /// Feeds the answer to a request of source `from`.
    void answer(std::size_t from, shard_page<Item>&& page) {
        weave_->answer(from, std::move(page));
    }
    /// Tells that a request of source `from` failed for good, or that so the whole read did.
    void fail(std::size_t from, error why) { weave_->fail(from, std::move(why)); }
    void doom(std::size_t from, error why) { weave_->doom(from, std::move(why)); }
    /// True when the read has failed: send nothing more, and `cancel` what was not sent.
    [[nodiscard]] bool doomed() const noexcept { return weave_ && weave_->doomed(); }
    void cancel() noexcept { weave_->cancel(); }

    /// Counts attempts, which only a driver sees.
    void tried(std::size_t retries, std::size_t hedges) noexcept {
        before_.retries = retries;
        before_.hedges = hedges;
    }

    /// The finished page. Throws `errc::no_progress` when its budget did not get it anywhere.
    [[nodiscard]] read_page<Item> take() {
        const bool forward = way() == scan::forward;
        read_page<Item> result;
        result.failures = std::exchange(failures_, {});
        result.ended = ended_;
        result.stats = stats();
        std::optional<cursor> onward;
        // What failed is asked again, by the page after the last one, too.
        if (may_have_more() || !result.failures.empty()) {
            onward.emplace(onward_state());
        }
        check_progress(onward);
        take_items(result.items);
        std::optional<cursor> return_way;
        if (from_.after && with_.limit != 0 && (result.failures.empty() || !result.items.empty())) {
            return_way = way_back(result.items.empty() ? nullptr : &result.items.front(), onward);
        }
        if (!forward) {
            std::ranges::reverse(result.items);
            onward.swap(return_way);
        }
        result.next = std::move(onward);
        result.previous = std::move(return_way);
        return result;
    }

    /// For streams: the items alone, in the walked direction, in exchange for memory to use again.
    void take_items(std::vector<Item>& into) {
        into.clear();
        into.swap(items_);
    }
    /// Starts the next page, keeping what is buffered. Requires `may_have_more`.
    void turn() {
        failures_.clear();
        if (weave_->may_have_more()) {
            weave_->turn(with_.limit);
        } else {
            open();
        }
    }
    [[nodiscard]] bool may_have_more() const noexcept {
        return with_.limit == 0 || weave_->may_have_more() || !stretches_.done();
    }
    /// Every row up to here was handed out or is deleted, every row beyond was not.
    [[nodiscard]] const std::optional<position_type>& boundary() const noexcept {
        return boundary_;
    }
    [[nodiscard]] const std::vector<error>& failures() const noexcept { return failures_; }
    [[nodiscard]] read_stats stats() const { return weave_ ? before_ + weave_->stats() : before_; }
    [[nodiscard]] shardweave::epoch epoch() const noexcept { return table_->epoch(); }

private:
    [[nodiscard]] scan way() const noexcept { return from_.state.way; }
    [[nodiscard]] std::optional<item_time> as_of() const noexcept {
        return from_.state.as_of ? from_.state.as_of : with_.as_of;
    }

    /// Whether a source that is at its end this way stays there.
    [[nodiscard]] bool ended_stay() const noexcept {
        return how_->growth == growth::in_front && way() == scan::forward;
    }

    /// What marks of ended sources hold for, beside the sources.
    [[nodiscard]] std::string far_end() const {
        return ended_stay() ? detail::far_end(*order_, extent_) : std::string{};
    }

    [[nodiscard]] detail::stretches cut() const {
        if (!Order::timed) {
            return detail::stretches::whole(*table_, keys_.keys(), extent_.left);
        }
        if (extent_.left.open_above()) {
            // Refuses keys that have windows without end.
            (void)detail::sources_of(*table_, keys_.keys(), how_->grouping,
                                     {item_time::max(), item_time::max()});
        }
        return {*table_, keys_.keys(), extent_.left, detail::rises<Order>(way())};
    }

    /// The weave of the next stretch.
    void open() {
        const read_budget left = weave_ ? weave_->left() : with_.budget;
        times_ = stretches_.take(
            std::min({left.requests, left.rows, limits::buffered_rows / with_.limit}));
        std::vector<source> sources =
            detail::sources_of(*table_, keys_.keys(), how_->grouping, times_);
        check(sources.size());
        detail::weigh(sources, from_.state.hints.shares);
        const bool same = !weave_ && !from_.state.hints.each.empty() &&
                          from_.state.epoch == table_->epoch() &&
                          from_.state.hints.each.size() == sources.size() &&
                          from_.state.hints.sources == detail::fingerprint(sources, far_end());
        before_ = stats();
        weave_.emplace(
            *order_, std::move(sources),
            typename weave<Item, Order>::options{
                .limit = with_.limit - items_.size(),
                .way = way(),
                .after = boundary_,
                .filter = with_.filter,
                .epoch = table_->epoch(),
                .on_failure = how_->on_failure,
                .items = how_->items,
                .asking = how_->asking,
                .budget = left,
                .within = Order::timed ? extent_.within.intersection(times_) : time_range{},
                .before = extent_.far,
            });
        if (same) {
            weave_->resume(from_.state.hints.each, ended_stay());
        }
    }

    void check(std::size_t sources) const {
        detail::check_size(with_.limit, sources);
        if (!weave_ && std::min(with_.budget.requests, with_.budget.rows) < sources) {
            throw failure{errc::invalid_options,
                          detail::concat("a budget of ", with_.budget.requests, " requests and ",
                                         with_.budget.rows, " rows can not ask ", sources,
                                         " sources once; give one of each for each source")};
        }
    }

    /// Whoever skips what fails does not skip all that is left once the time is over.
    [[nodiscard]] bool out_of_time() {
        const bool over = std::ranges::any_of(
            failures_, [](const error& each) { return each.code == errc::deadline_exceeded; });
        ended_ = over ? page_end::gap : ended_;
        return over;
    }

    /// Takes what a finished weave has.
    void collect() {
        if (items_.empty()) {
            weave_->take_page(items_);
        } else {
            std::ranges::move(weave_->take_page(), std::back_inserter(items_));
        }
        boundary_ = weave_->boundary();
        ended_ = weave_->ended();
        failures_.insert(failures_.end(), weave_->failures().begin(), weave_->failures().end());
        if (ended_ == page_end::full) {
            stretches_.enough();
        }
    }

    [[nodiscard]] cursor::state state_at(scan way, const std::optional<position_type>& at) const {
        return {from_.state.binding,
                way,
                at ? std::optional<std::string>{order_->encode(*at)} : std::nullopt,
                table_->epoch(),
                {},
                as_of()};
    }
    /// Back from a page's first item. Behind an empty page is the whole list, read from its other
    /// end; or where its budget ended it, unless that is where it began.
    [[nodiscard]] std::optional<cursor> way_back(const Item* first,
                                                 const std::optional<cursor>& onward) const {
        cursor::state state =
            state_at(way() == scan::forward ? scan::backward : scan::forward,
                     first == nullptr ? std::nullopt : std::optional{order_->position_of(*first)});
        if (first == nullptr && ended_ == page_end::budget && onward) {
            state.reached = onward->known()->reached;
            if (!state.reached && boundary_ == from_.after) {
                return std::nullopt;
            }
            state.boundary = state.reached ? std::nullopt : onward->known()->boundary;
        }
        return cursor{std::move(state)};
    }
    [[nodiscard]] cursor::state onward_state() const {
        if (!weave_) {
            cursor::state same = from_.state;
            same.as_of = as_of();
            return same;
        }
        cursor::state onward = state_at(way(), boundary_);
        // At a gap it is not said: what is added before that is still to be shown.
        const bool spent = ended_ == page_end::budget;
        onward.reached = detail::reached_time(*order_, way(), boundary_, extent_.left,
                                              spent ? times_ : extent_.left, from_.state.reached);
        onward.hints =
            detail::hints_of(*weave_, ended_stay() && ended_ != page_end::gap, far_end());
        return onward;
    }

    void check_progress(const std::optional<cursor>& onward) const {
        if (ended_ == page_end::budget && items_.empty() && onward && boundary_ == from_.after &&
            onward->known()->reached == from_.state.reached &&
            onward->known()->hints.each == from_.state.hints.each) {
            throw failure{errc::no_progress,
                          "the page's budget was spent before anything was certain, and the page "
                          "after it would be the same; raise it, or let the callback tell `cursor` "
                          "or `scanned`"};
        }
    }

    const Order* order_;
    const fan_out_options<Item>* how_;
    router::snapshot table_;
    key_set keys_;
    page_options with_;
    start from_;
    detail::extent<position_type> extent_;
    std::optional<position_type> boundary_;
    detail::stretches stretches_;
    /// Of the stretch that is open.
    time_range times_;
    std::optional<weave<Item, Order>> weave_;
    std::vector<Item> items_;
    std::vector<error> failures_;
    page_end ended_ = page_end::full;
    read_stats before_;
};

}  // namespace v1
}  // namespace shardweave

#endif
