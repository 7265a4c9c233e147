// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_STALE_ROUTE_HPP
#define SHARDWEAVE_PLACE_STALE_ROUTE_HPP

/// What a store's answer "that is no longer mine" becomes.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/types.hpp>

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

    [[nodiscard]] epoch seen() const noexcept { return seen_; }

private:
    epoch seen_;
};

}  // namespace v1
}  // namespace shardweave

#endif
