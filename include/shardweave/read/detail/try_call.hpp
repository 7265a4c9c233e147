// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_TRY_CALL_HPP
#define SHARDWEAVE_READ_DETAIL_TRY_CALL_HPP

/// One attempt at a user's callback, and what became of it.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/place/stale_route.hpp>
#include <shardweave/read/trouble.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// When a read is no longer wanted.
struct call_limits {
    deadline until{};
    std::stop_token stop{};
    /// By whoever drives it.
    bool cancelled = false;

    /// Why not, or no error.
    [[nodiscard]] error over(instant now) const {
        if (cancelled || stop.stop_requested()) {
            return {errc::cancelled, {}, {}, "the caller stopped the read"};
        }
        if (until.passed(now)) {
            return {errc::deadline_exceeded, {}, {}, "the read's deadline passed"};
        }
        return {};
    }
};

/// What became of one call.
template <class Answer>
struct outcome {
    /// The request's.
    std::size_t source = 0;
    std::optional<Answer> answer{};
    error why{};
    std::exception_ptr thrown{};
    /// How long to wait before the next attempt; nothing when none can help.
    std::optional<std::chrono::nanoseconds> passing{};
    /// The whole read is to end, whatever it makes of failures.
    bool ends_read = false;
};

/// The place that a request asks, for errors.
template <class Query>
[[nodiscard]] error error_at(const Query& query, errc code, std::string why) {
    return {code, query.shard, query.partition_keys.empty() ? "" : query.partition_keys.front(),
            std::move(why)};
}

/// What the exception that is being handled makes of an attempt.
template <class Answer, class Request>
[[nodiscard]] outcome<Answer> caught(const Request& request) {
    outcome<Answer> result{request.source};
    const auto failed = [&](errc code, const char* what) {
        result.thrown = std::current_exception();
        result.why = error_at(request.query, code, what);
    };
    try {
        throw;
    } catch (const store_trouble& trouble) {
        failed(trouble.code(), trouble.reason().detail.c_str());
        result.passing = trouble.retry_after();
    } catch (const stale_route& stale) {
        failed(errc::shard_failed, stale.what());
        result.ends_read = true;
    } catch (const std::exception& thrown) {
        failed(errc::shard_failed, thrown.what());
    } catch (...) {
        failed(errc::shard_failed,
               "the query callback threw something that is not a std::exception");
    }
    return result;
}

/// One attempt: calls, and catches.
template <class Answer, class Request, class Call>
[[nodiscard]] outcome<Answer> try_call(const Request& request, const Call& call) {
    try {
        return {request.source, call(request.query)};
    } catch (...) {
        return caught<Answer>(request);
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
