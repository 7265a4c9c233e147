// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_WALK_HPP
#define SHARDWEAVE_READ_DETAIL_WALK_HPP

/// A walk through some keys in their order: the weaves of its stretches of time, one after another.

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
namespace detail {

/// Where a walk starts.
template <class Position>
struct walk_start {
    cursor::state state{};
    std::optional<Position> after{};
};

/// Opens stretches as far as the limit needs them. With a limit of 0 it asks nothing. What it
/// throws, `reading` says.
template <class Item, class Order>
class walk {
public:
    using position_type = typename Order::position_type;
    using action = weave_action<position_type>;
    using start = walk_start<position_type>;

    walk(const Order& order, const fan_out_options<Item>& how, router::snapshot pinned,
         const key_set& keys, const page_options& with, start from)
        : order_(&order), how_(&how), table_(std::move(pinned)), keys_(keys), with_(with),
          from_(std::move(from)),
          extent_(extent_of(order, with_, way(), from_.after, from_.state.reached, as_of())),
          boundary_(extent_.near), stretches_(cut()) {
        if (with_.limit != 0) {
            open();
        }
    }
    walk(const walk&) = delete;
    walk& operator=(const walk&) = delete;

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

    void answer(std::size_t from, shard_page<Item>&& page) {
        weave_->answer(from, std::move(page));
    }
    void fail(std::size_t from, error why) { weave_->fail(from, std::move(why)); }
    void doom(std::size_t from, error why) { weave_->doom(from, std::move(why)); }
    [[nodiscard]] bool doomed() const noexcept { return weave_ && weave_->doomed(); }
    void cancel() noexcept { weave_->cancel(); }

    void tried(std::size_t retries, std::size_t hedges) noexcept {
        before_.retries = retries;
        before_.hedges = hedges;
    }

    void take_items(std::vector<Item>& into) {
        into.clear();
        into.swap(items_);
    }
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
    [[nodiscard]] const std::optional<position_type>& boundary() const noexcept {
        return boundary_;
    }
    [[nodiscard]] const std::vector<error>& failures() const noexcept { return failures_; }
    [[nodiscard]] read_stats stats() const { return weave_ ? before_ + weave_->stats() : before_; }
    [[nodiscard]] shardweave::epoch epoch() const noexcept { return table_->epoch(); }

    // Where it stands, for cursors.
    [[nodiscard]] scan way() const noexcept { return from_.state.way; }
    [[nodiscard]] std::optional<item_time> as_of() const noexcept {
        return from_.state.as_of ? from_.state.as_of : with_.as_of;
    }
    [[nodiscard]] const start& from() const noexcept { return from_; }
    [[nodiscard]] const Order& order() const noexcept { return *order_; }
    [[nodiscard]] const std::vector<Item>& items() const noexcept { return items_; }
    [[nodiscard]] page_end ended() const noexcept { return ended_; }
    [[nodiscard]] bool asked() const noexcept { return weave_.has_value(); }

    /// The time that it has come to, unless its boundary tells as much. At a gap it is not said:
    /// what is added before that is still to be shown.
    [[nodiscard]] std::optional<item_time> reached() const {
        const bool spent = ended_ == page_end::budget;
        return reached_time(*order_, way(), boundary_, extent_.left, spent ? times_ : extent_.left,
                            from_.state.reached);
    }
    /// What makes the next walk cheaper. Requires `asked`.
    [[nodiscard]] auto hints() const {
        return hints_of(*weave_, ended_stay() && ended_ != page_end::gap, far_end());
    }

private:
    /// Whether a source that is at its end this way stays there.
    [[nodiscard]] bool ended_stay() const noexcept {
        return how_->growth == growth::in_front && way() == scan::forward;
    }

    /// What marks of ended sources hold for, beside the sources.
    [[nodiscard]] std::string far_end() const {
        return ended_stay() ? detail::far_end(*order_, extent_) : std::string{};
    }

    [[nodiscard]] stretches cut() const {
        if (!Order::timed) {
            return stretches::whole(*table_, keys_.keys(), extent_.left);
        }
        if (extent_.left.open_above()) {
            // Refuses keys that have windows without end.
            (void)sources_of(*table_, keys_.keys(), how_->grouping,
                             {item_time::max(), item_time::max()});
        }
        return {*table_, keys_.keys(), extent_.left, rises<Order>(way())};
    }

    /// The weave of the next stretch.
    void open() {
        const read_budget left = weave_ ? weave_->left() : with_.budget;
        times_ = stretches_.take(
            std::min({left.requests, left.rows, limits::buffered_rows / with_.limit}));
        std::vector<source> sources = sources_of(*table_, keys_.keys(), how_->grouping, times_);
        check(sources.size());
        weigh(sources, from_.state.hints.shares);
        const bool same = !weave_ && !from_.state.hints.each.empty() &&
                          from_.state.epoch == table_->epoch() &&
                          from_.state.hints.each.size() == sources.size() &&
                          from_.state.hints.sources == fingerprint(sources, far_end());
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
        check_size(with_.limit, sources);
        if (!weave_ && std::min(with_.budget.requests, with_.budget.rows) < sources) {
            throw failure{errc::invalid_options,
                          concat("a budget of ", with_.budget.requests, " requests and ",
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

    const Order* order_;
    const fan_out_options<Item>* how_;
    router::snapshot table_;
    key_set keys_;
    page_options with_;
    start from_;
    extent<position_type> extent_;
    std::optional<position_type> boundary_;
    stretches stretches_;
    /// Of the stretch that is open.
    time_range times_;
    std::optional<weave<Item, Order>> weave_;
    std::vector<Item> items_;
    std::vector<error> failures_;
    page_end ended_ = page_end::full;
    read_stats before_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
