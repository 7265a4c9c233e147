// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_TROUBLE_HPP
#define SHARDWEAVE_READ_TROUBLE_HPP

/// What a query callback throws when its store is in trouble that may pass.

#include <shardweave/core/error.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// A failure of one attempt that may not happen again: the query is tried again, within
/// `attempt_options`. Throw one of the three below; whatever else a callback throws is final.
class store_trouble : public failure {
public:
    /// The store asked to be left alone for so long; zero when it did not say.
    [[nodiscard]] std::chrono::nanoseconds retry_after() const noexcept { return retry_after_; }

protected:
    store_trouble(errc code, std::string detail, std::chrono::nanoseconds retry_after)
        : failure(code, std::move(detail)), retry_after_(retry_after) {}

private:
    std::chrono::nanoseconds retry_after_;
};

/// The store can not be reached: refused, reset, or failing over.
class unavailable : public store_trouble {
public:
    explicit unavailable(std::string detail)
        : store_trouble(errc::unavailable, std::move(detail), {}) {}
};

/// The store did not answer in time.
class timed_out : public store_trouble {
public:
    explicit timed_out(std::string detail)
        : store_trouble(errc::timed_out, std::move(detail), {}) {}
};

/// The store refused the query because of its load (HTTP 429,
/// ProvisionedThroughputExceededException), with the time that it asked to wait, if it did.
class throttled : public store_trouble {
public:
    explicit throttled(std::string detail, std::chrono::nanoseconds retry_after = {})
        : store_trouble(errc::throttled, std::move(detail), retry_after) {}
};

}  // namespace v1
}  // namespace shardweave

#endif
