// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_READING_HPP
#define SHARDWEAVE_READ_READING_HPP

/// One read of some keys as a state machine without I/O: a walk, and cursors from where it ends.

#include <shardweave/core/error.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/detail/walk.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// Do what `next` says until it says `finished`, feed `answer` or `fail`, then `take` the page.
/// Made by `key_reader::read`; `page_driver` adds attempts for an event loop of one's own. Not
/// thread-safe. It refers to its reader, and its queries to it: it stays where it is while one is
/// under way.
template <class Item, class Order>
class reading : detail::walk<Item, Order> {
    using walk = detail::walk<Item, Order>;

public:
    using item_type = Item;
    using typename walk::action;
    using typename walk::position_type;
    using typename walk::start;

    /// Throws what the keys and the options are refused for.
    reading(const Order& order, const fan_out_options<Item>& how, router::snapshot pinned,
            const key_set& keys, const page_options& with, start from)
        : walk(order, how, std::move(pinned), keys, with, std::move(from)) {}

    /// What to do now. Throws `errc::limit_exceeded` where it reaches a time with too many sources.
    using walk::next;

    /// Feed the answer to a request of a source; or tell that it failed for good, or that so the
    /// whole read did.
    using walk::answer;
    using walk::doom;
    using walk::fail;
    /// True when the read has failed: send nothing more, and `cancel` what was not sent.
    using walk::cancel;
    using walk::doomed;

    /// Counts attempts, which only a driver sees.
    using walk::tried;

    /// The finished page. Throws `errc::no_progress` when its budget did not get it anywhere.
    [[nodiscard]] read_page<Item> take() {
        read_page<Item> result;
        result.failures = this->failures();
        result.ended = this->ended();
        result.stats = this->stats();
        std::optional<cursor> onward;
        // What failed is asked again, by the page after the last one, too.
        if (this->may_have_more() || !result.failures.empty()) {
            onward.emplace(onward_state());
        }
        check_progress(onward);
        this->take_items(result.items);
        std::optional<cursor> back;
        if (this->from().after && this->asked() &&
            (result.failures.empty() || !result.items.empty())) {
            back = way_back(result.items.empty() ? nullptr : &result.items.front(), onward);
        }
        if (this->way() == scan::backward) {
            std::ranges::reverse(result.items);
            onward.swap(back);
        }
        result.next = std::move(onward);
        result.previous = std::move(back);
        return result;
    }

    /// For streams: the items alone, in the walked direction, in exchange for memory to use again.
    using walk::take_items;
    /// Starts the next page, keeping what is buffered. Requires `may_have_more`.
    using walk::may_have_more;
    using walk::turn;
    /// Every row up to here was handed out or is deleted, every row beyond was not.
    using walk::boundary;
    using walk::epoch;
    using walk::failures;
    using walk::stats;

private:
    [[nodiscard]] cursor::state state_at(scan way, const std::optional<position_type>& at) const {
        return {this->from().state.binding,
                way,
                at ? std::optional<std::string>{this->order().encode(*at)} : std::nullopt,
                this->epoch(),
                {},
                this->as_of()};
    }

    [[nodiscard]] cursor::state onward_state() const {
        if (!this->asked()) {
            cursor::state same = this->from().state;
            same.as_of = this->as_of();
            return same;
        }
        cursor::state onward = state_at(this->way(), this->boundary());
        onward.reached = this->reached();
        onward.hints = this->hints();
        return onward;
    }

    /// Back from a page's first item. Behind an empty page is the whole list, read from its other
    /// end; or where its budget ended it, unless that is where it began.
    [[nodiscard]] std::optional<cursor> way_back(const Item* first,
                                                 const std::optional<cursor>& onward) const {
        cursor::state state = state_at(
            this->way() == scan::forward ? scan::backward : scan::forward,
            first == nullptr ? std::nullopt : std::optional{this->order().position_of(*first)});
        if (first == nullptr && this->ended() == page_end::budget && onward) {
            state.reached = onward->known()->reached;
            if (!state.reached && this->boundary() == this->from().after) {
                return std::nullopt;
            }
            state.boundary = state.reached ? std::nullopt : onward->known()->boundary;
        }
        return cursor{std::move(state)};
    }

    void check_progress(const std::optional<cursor>& onward) const {
        const cursor::state& before = this->from().state;
        if (this->ended() == page_end::budget && this->items().empty() && onward &&
            this->boundary() == this->from().after && onward->known()->reached == before.reached &&
            onward->known()->hints.each == before.hints.each) {
            throw failure{errc::no_progress,
                          "the page's budget was spent before anything was certain, and the page "
                          "after it would be the same; raise it, or let the callback tell `cursor` "
                          "or `scanned`"};
        }
    }
};

}  // namespace v1
}  // namespace shardweave

#endif
