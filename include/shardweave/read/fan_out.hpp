// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_FAN_OUT_HPP
#define SHARDWEAVE_READ_FAN_OUT_HPP

/// Reads keys back as one ordered, pageable stream, through the user's query callback.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/detail/drive.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/stream.hpp>
#include <shardweave/read/weave.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

namespace detail {

template <class Page>
struct page_item {
    static_assert(always_false<Page>,
                  "shardweave: the query callback must return a shardweave::shard_page<item>, "
                  "such as {.items = rows, .more = there_are_more}");
    using type = void;
};
template <class Item>
struct page_item<shard_page<Item>> {
    using type = Item;
};

template <class Order, class Query>
using answered_item = typename page_item<std::remove_cvref_t<
    std::invoke_result_t<const Query&, const shard_query<typename Order::position_type>&>>>::type;

[[nodiscard]] inline std::ptrdiff_t live_schemes(const routing_table& table, std::string_view key) {
    return std::ranges::count_if(table.schemes().history(key).entries(), [](const auto& each) {
        return each.state != scheme_state::retired;
    });
}

/// The sources of a read: each partition key of each key once, newest scheme first.
[[nodiscard]] inline std::vector<source> sources_of(const routing_table& table,
                                                    const std::vector<std::string>& keys,
                                                    grouping by, const time_range& within) {
    std::vector<std::string_view> distinct(keys.begin(), keys.end());
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<source> sources;
    std::map<std::string, std::size_t, std::less<>> by_shard;
    for (const std::string_view key : distinct) {
        std::vector<target> targets = table.targets(key, within);
        const bool one_scheme = live_schemes(table, key) == 1;
        if (!one_scheme) {
            // Schemes that share partition keys share a rank, too; and doubling moves items to a
            // higher bucket only, so that the higher of two has the newer copy.
            std::ranges::reverse(targets);
        }
        for (target& each : targets) {
            const double weight = each.rank == 0 ? 1 : 0;
            if (by == grouping::per_shard && one_scheme) {
                const auto [known, added] = by_shard.emplace(each.shard, sources.size());
                if (!added) {
                    source& shared = sources[known->second];
                    shared.partition_keys.push_back(each.partition_key);
                    shared.weight += weight;
                    continue;
                }
            }
            if (sources.size() == limits::sources) {
                throw failure{errc::limit_exceeded,
                              concat("a read of more than ", limits::sources,
                                     " sources; read fewer of the ", distinct.size(),
                                     " keys at a time, or group per shard")};
            }
            sources.push_back({std::move(each.shard), {each.partition_key}, each.rank, weight});
        }
    }
    // Equal positions go to the first: older schemes last. (A stable sort, which clang warns of in
    // libstdc++ 12; ranks are few.)
    std::vector<source> by_rank;
    for (std::uint32_t rank = 0; by_rank.size() != sources.size(); ++rank) {
        for (source& each : sources) {
            if (each.rank == rank) {
                by_rank.push_back(std::move(each));
            }
        }
    }
    return by_rank;
}

}  // namespace detail

/// Reads through a query callback, `shard_page<Item>(const shard_query<position>&)`, which asks one
/// store once. Several threads may use one fan-out at a time, when the callback allows it; it
/// refers to the router, which must outlive it.
template <class Order, class Query>
class fan_out {
public:
    using position_type = typename Order::position_type;
    using item_type = detail::answered_item<Order, Query>;
    using options = fan_out_options<item_type>;

    /// Throws `errc::invalid_options` for a concurrency of 0.
    fan_out(const router& router, Order order, Query query, options with = {})
        : router_(&router), order_(std::move(order)), query_(std::move(query)),
          options_(std::move(with)) {
        if (options_.concurrency == 0) {
            throw failure{errc::invalid_options, "a concurrency of 0 asks nothing; use 1 or more"};
        }
    }
    fan_out(const router&&, Order, Query, options = {}) = delete;

    /// One page of the keys' items. Throws `failure`: what the key, the cursor or the token is
    /// refused for, before any query; `errc::shard_failed` with the callback's exception nested,
    /// `errc::unordered_source` and `errc::no_progress` from the queries. A page that throws
    /// changes nothing: its cursor can be used again.
    [[nodiscard]] read_page<item_type> page(const key_set& keys,
                                            const page_options& with = {}) const {
        const router::snapshot table = router_->pin();
        const binding bound = bind(keys, with.filter);
        const start from = resolve(with.from, bound);
        read_page<item_type> result;
        if (with.limit == 0) {
            (from.state.way == scan::forward ? result.next : result.previous) = cursor{from.state};
            return result;
        }
        machine weave = make(*table, keys, from, with.limit, with.filter, with.within);
        detail::worker_crew crew;
        detail::drive(weave, query_, options_.concurrency, crew);
        finish(result, weave, from);
        return result;
    }

    /// The keys' items as a range to iterate once: `for (const item& each : reader.stream(key))`.
    /// Reads a chunk at a time as it goes, in bounded memory, and follows a routing table that
    /// changes meanwhile. Iterating throws what `page` throws; with `on_failure::prefix`, after
    /// handing out what is certain. It refers to this fan-out.
    [[nodiscard]] item_stream<fan_out> stream(const key_set& keys,
                                              const stream_options& with = {}) const& {
        return item_stream<fan_out>{*this, keys, with};
    }
    item_stream<fan_out> stream(const key_set&, const stream_options& = {}) const&& = delete;

    /// Looks for one item where it may be, newest scheme first: `get(placement)` returns an
    /// optional of the item. A tombstone counts as not there, and hides older copies.
    template <class Get>
    [[nodiscard]] std::optional<item_type> find(std::string_view key, const id_bytes& id,
                                                const Get& get) const {
        return find(key, id, time_range{}, get);
    }

    /// The same for an item whose time is in the range, which a key with time windows needs.
    template <class Get>
    [[nodiscard]] std::optional<item_type> find(std::string_view key, const id_bytes& id,
                                                const time_range& within, const Get& get) const {
        for (const placement& at : router_->candidates(key, id, within)) {
            std::optional<item_type> found = get(at);
            if (found) {
                return options_.items.deleted && options_.items.deleted(*found) ? std::nullopt
                                                                                : std::move(found);
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] const Order& order() const noexcept { return order_; }

private:
    friend class item_stream<fan_out>;
    using machine = weave<item_type, Order>;

    struct start {
        cursor::state state;
        std::optional<position_type> after;
    };

    [[nodiscard]] binding bind(const key_set& keys, std::string_view filter) const {
        return binding::of(order_.fingerprint(), keys.keys(), filter);
    }

    [[nodiscard]] start resolve(const std::optional<cursor>& from, const binding& bound) const {
        start at;
        at.state.binding = bound;
        if (from) {
            at.state = from->resolve(bound);
        }
        if (at.state.boundary) {
            at.after = order_.decode(*at.state.boundary);
            if (!at.after) {
                throw failure{errc::token_malformed, "the page token's boundary can not be read"};
            }
        }
        return at;
    }

    [[nodiscard]] machine make(const routing_table& table, const key_set& keys, const start& from,
                               std::size_t limit, const std::string& filter,
                               const time_range& within) const {
        std::vector<source> sources =
            detail::sources_of(table, keys.keys(), options_.grouping, within);
        if (limit > limits::page_items ||
            limit * std::max<std::size_t>(sources.size(), 1) > limits::buffered_rows) {
            throw failure{errc::limit_exceeded,
                          detail::concat("a page of ", limit, " items from ", sources.size(),
                                         " sources; at most ", limits::page_items, " items and ",
                                         limits::buffered_rows, " rows in memory are allowed")};
        }
        return machine{order_,
                       std::move(sources),
                       {.limit = limit,
                        .way = from.state.way,
                        .after = from.after,
                        .filter = filter,
                        .epoch = table.epoch(),
                        .on_failure = options_.on_failure,
                        .items = options_.items}};
    }

    void finish(read_page<item_type>& result, machine& weave, const start& from) const {
        const auto at = [&](scan way, const std::optional<position_type>& boundary) {
            return cursor{cursor::state{
                from.state.binding, way,
                boundary ? std::optional<std::string>{order_.encode(*boundary)} : std::nullopt,
                weave.epoch()}};
        };
        const bool forward = from.state.way == scan::forward;
        const scan back = forward ? scan::backward : scan::forward;
        result.failures = weave.failures();
        result.stats = weave.stats();
        std::optional<cursor> onward;
        if (weave.may_have_more()) {
            onward = at(from.state.way, weave.boundary());
        }
        result.items = weave.take_page();
        std::optional<cursor> return_way;
        if (from.after && (result.complete() || !result.items.empty())) {
            // Behind an empty page is the whole list, read from its other end.
            return_way = at(back, result.items.empty()
                                      ? std::nullopt
                                      : std::optional{order_.position_of(result.items.front())});
        }
        if (!forward) {
            std::ranges::reverse(result.items);
            onward.swap(return_way);
        }
        result.next = std::move(onward);
        result.previous = std::move(return_way);
    }

    const router* router_;
    Order order_;
    Query query_;
    options options_;
};

template <class Order, class Query>
fan_out(const router&, Order, Query) -> fan_out<Order, Query>;
template <class Order, class Query>
fan_out(const router&, Order, Query, fan_out_options<detail::answered_item<Order, Query>>)
    -> fan_out<Order, Query>;

}  // namespace v1
}  // namespace shardweave

#endif
