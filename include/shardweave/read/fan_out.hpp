// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_FAN_OUT_HPP
#define SHARDWEAVE_READ_FAN_OUT_HPP

/// Reads keys back as one ordered, pageable stream, through the user's query callback.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/detail/calls.hpp>
#include <shardweave/read/detail/drive.hpp>
#include <shardweave/read/detail/sources.hpp>
#include <shardweave/read/detail/worker_crew.hpp>
#include <shardweave/read/key_reader.hpp>
#include <shardweave/read/order.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/read/reading.hpp>
#include <shardweave/read/reduce.hpp>
#include <shardweave/read/stream.hpp>

#include <optional>
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

}  // namespace detail

/// Reads through a query callback, `shard_page<Item>(const shard_query<position>&)`, which asks one
/// store once. Several threads may use one fan-out at a time, when the callback allows it; it
/// refers to the router, which must outlive it.
template <class Order, class Query>
class fan_out {
public:
    using position_type = typename Order::position_type;
    using item_type = detail::answered_item<Order, Query>;
    using query_type = Query;
    using options = fan_out_options<item_type>;
    using reading_type = reading<item_type, Order>;

    /// Throws `errc::invalid_options` for a concurrency of 0.
    fan_out(const router& router, Order order, Query query, options with = {})
        : reader_(router, std::move(order), std::move(with)), query_(std::move(query)) {}
    fan_out(const router&&, Order, Query, options = {}) = delete;

    /// One page of the keys' items. Throws `failure`: what the key, the cursor or the token is
    /// refused for, before any query; `errc::shard_failed` with the callback's exception nested,
    /// `errc::unordered_source` and `errc::no_progress` from the queries. A page that throws
    /// changes nothing: its cursor can be used again.
    [[nodiscard]] read_page<item_type> page(const key_set& keys,
                                            const page_options& with = {}) const {
        reading_type reading = read(keys, with);
        detail::worker_crew crew{how().run_on};
        detail::calls_of<reading_type, Query> calls{query_, how().concurrency, crew, how().attempts,
                                                    *how().budgets};
        calls.limit({with.deadline, with.stop});
        detail::drive(reading, calls);
        reading.tried(calls.counted().retries, calls.counted().hedges);
        return reading.take();
    }

    /// A range of the order for the options of a read: rows strictly after one position, and
    /// strictly before another.
    [[nodiscard]] read_range between(const std::optional<position_type>& after,
                                     const std::optional<position_type>& before) const {
        return reader_.between(after, before);
    }

    /// The page as a machine without I/O, for drivers of one's own; `page` drives it by the query
    /// callback. Throws what the key, the cursor or the token is refused for.
    [[nodiscard]] reading_type read(const key_set& keys, const page_options& with = {}) const& {
        return reader_.read(keys, with);
    }
    reading_type read(const key_set&, const page_options& = {}) const&& = delete;

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
        for (const placement& at : reader_.router().candidates(key, id, within)) {
            std::optional<item_type> found = get(at);
            if (found) {
                return how().items.deleted && how().items.deleted(*found) ? std::nullopt
                                                                          : std::move(found);
            }
        }
        return std::nullopt;
    }

    /// Asks every source of the keys for its part, `ask(const reduce_query&)`, and combines them in
    /// the sources' order, `value = combine(std::move(value), std::move(part))`. Throws what `page`
    /// throws, and `errc::invalid_options` with `on_failure::prefix`, which a sum does not have.
    ///
    /// A part counts rows, and not items: what a migration has copied counts twice until its source
    /// is purged, and tombstones count unless `ask` leaves them out. Where that matters, `stream`.
    template <class Value, class Ask, class Combine>
    [[nodiscard]] reduction<Value> reduce(const key_set& keys, const reduce_options& with,
                                          Value start, const Ask& ask,
                                          const Combine& combine) const {
        using part = std::remove_cvref_t<std::invoke_result_t<const Ask&, const reduce_query&>>;
        if (how().on_failure == on_failure::prefix) {
            throw failure{errc::invalid_options,
                          "a reduction has no prefix; use on_failure::fail or skip"};
        }
        const router::snapshot table = reader_.router().pin();
        const std::vector<source> sources =
            detail::sources_of(*table, keys.keys(), how().grouping, with.within);
        using machine = detail::parts_of_sources<part>;
        machine parts{sources, with, table->epoch(), how().on_failure};
        detail::worker_crew crew{how().run_on};
        detail::calls<part, typename machine::action::request, Ask> calls{
            ask, how().concurrency, crew, how().attempts, *how().budgets};
        calls.limit({with.deadline, with.stop});
        detail::drive(parts, calls);
        parts.stats().retries = calls.counted().retries;
        parts.stats().hedges = calls.counted().hedges;
        for (auto& each : parts.parts()) {
            if (each) {
                start = combine(std::move(start), *std::move(each));
            }
        }
        return {std::move(start), std::move(parts.failures()), parts.stats()};
    }

    [[nodiscard]] const Order& order() const noexcept { return reader_.order(); }

private:
    friend class item_stream<fan_out>;

    [[nodiscard]] const options& how() const noexcept { return reader_.options(); }

    key_reader<Order, item_type> reader_;
    Query query_;
};

template <class Order, class Query>
fan_out(const router&, Order, Query) -> fan_out<Order, Query>;
template <class Order, class Query>
fan_out(const router&, Order, Query, fan_out_options<detail::answered_item<Order, Query>>)
    -> fan_out<Order, Query>;

}  // namespace v1
}  // namespace shardweave

#endif
