// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_STALE_ROUTE_HPP
#define SHARDWEAVE_PLACE_STALE_ROUTE_HPP

/// What a store's answer "that is no longer mine" becomes.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/table_stamp.hpp>

#include <exception>
#include <optional>

namespace shardweave {
inline namespace v1 {

/// What an operation throws when its store answers that the route is no longer the store's: then
/// nothing was done, and it may be tried again elsewhere. `seen` is the epoch that the store knows.
class stale_route : public failure {
public:
    explicit stale_route(epoch seen)
        : failure(errc::stale_route,
                  detail::concat("the store knows the routing table of epoch ", seen.value())),
          seen_(seen) {}

    /// With the stamp of the table that the store knows, so that another one of the same epoch is
    /// found out instead of tried again.
    explicit stale_route(const table_stamp& seen) : stale_route(seen.epoch) { stamp_ = seen; }

    [[nodiscard]] epoch seen() const noexcept { return seen_; }
    [[nodiscard]] const std::optional<table_stamp>& stamp() const noexcept { return stamp_; }

private:
    epoch seen_;
    std::optional<table_stamp> stamp_;
};

namespace detail {

/// What an exception nests, or null. By handlers alone: `std::rethrow_if_nested` does nothing where
/// there is no RTTI.
[[nodiscard]] inline std::exception_ptr nested_in(const std::exception_ptr& outer) {
    try {
        std::rethrow_exception(outer);
    } catch (const std::nested_exception& nest) {
        return nest.nested_ptr();
    } catch (...) {
        return nullptr;
    }
}

/// The `stale_route` that an exception is or nests, unless its retries were spent already.
[[nodiscard]] inline std::optional<stale_route> stale_in(std::exception_ptr thrown) {
    constexpr int most = 16;  // nobody nests as deeply, but a cycle would never end
    for (int depth = 0; thrown && depth != most; ++depth) {
        try {
            std::rethrow_exception(thrown);
        } catch (const stale_route& stale) {
            return stale;
        } catch (const failure& other) {
            if (other.code() == errc::stale_route) {
                return std::nullopt;
            }
            thrown = nested_in(thrown);
        } catch (...) {
            thrown = nested_in(thrown);
        }
    }
    return std::nullopt;
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
