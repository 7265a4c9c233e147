// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_KEY_READER_HPP
#define SHARDWEAVE_READ_KEY_READER_HPP

/// What is read and in which order, without how a store is asked: what all drivers share.

#include <shardweave/core/error.hpp>
#include <shardweave/place/router.hpp>
#include <shardweave/read/attempts.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/reading.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// A router, an order and the options. It makes readings; it refers to the router, which must
/// outlive it. Immutable, so threads may share one.
template <class Order, class Item = typename Order::item_type>
class key_reader {
public:
    using item_type = Item;
    using order_type = Order;
    using position_type = typename Order::position_type;
    using options_type = fan_out_options<Item>;
    using reading_type = reading<Item, Order>;

    /// Throws `errc::invalid_options` for a concurrency of 0, and the like.
    key_reader(const router& router, Order order, options_type with = {})
        : router_(&router), order_(std::move(order)), options_(std::move(with)) {
        if (options_.concurrency == 0) {
            throw failure{errc::invalid_options, "a concurrency of 0 asks nothing; use 1 or more"};
        }
        if (options_.attempts.most == 0 || options_.asking.billing_unit == 0) {
            throw failure{errc::invalid_options,
                          "0 attempts, or a billing unit of 0 rows, asks nothing; use 1 or more"};
        }
        if (!options_.budgets) {
            options_.budgets = std::make_shared<attempt_budgets>();
        }
    }
    key_reader(const router&&, Order, options_type = {}) = delete;

    /// A page as a machine without I/O. Throws what the key, the cursor or the token is refused
    /// for.
    [[nodiscard]] reading_type read(const key_set& keys, const page_options& with = {}) const& {
        return {order_, options_, router_->pin(), keys, with, start(keys, with)};
    }
    reading_type read(const key_set&, const page_options& = {}) const&& = delete;

    /// A range of the order for the options of a read: rows strictly after one position, and
    /// strictly before another.
    [[nodiscard]] read_range between(const std::optional<position_type>& after,
                                     const std::optional<position_type>& before) const {
        const auto bytes = [this](const std::optional<position_type>& at) {
            return at ? std::optional{order_.encode(*at)} : std::nullopt;
        };
        return {bytes(after), bytes(before)};
    }

    /// Where such a read starts. Throws what its cursor or token is refused for.
    [[nodiscard]] typename reading_type::start start(const key_set& keys,
                                                     const page_options& with) const {
        const binding bound = binding::of(order_.fingerprint(), keys.keys(), with.filter);
        typename reading_type::start at;
        at.state.binding = bound;
        if (with.from) {
            at.state = with.from->resolve(bound);
        }
        if (at.state.boundary) {
            at.after = order_.decode(*at.state.boundary);
            if (!at.after) {
                throw failure{errc::token_malformed, "the page token's boundary can not be read"};
            }
        }
        return at;
    }

    [[nodiscard]] const shardweave::router& router() const noexcept { return *router_; }
    [[nodiscard]] const Order& order() const noexcept { return order_; }
    [[nodiscard]] const options_type& options() const noexcept { return options_; }

private:
    const shardweave::router* router_;
    Order order_;
    options_type options_;
};

template <class Order>
key_reader(const router&, Order) -> key_reader<Order>;
template <class Order>
key_reader(const router&, Order, fan_out_options<typename Order::item_type>) -> key_reader<Order>;

}  // namespace v1
}  // namespace shardweave

#endif
