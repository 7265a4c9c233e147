// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_RETRY_HPP
#define SHARDWEAVE_CORE_RETRY_HPP

/// Whether to try again, and when: values that decide, with the caller's clock and generator.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <random>

namespace shardweave {
inline namespace v1 {

/// A time of the caller's clock: steady, or a test's own.
using instant = std::chrono::steady_clock::time_point;

namespace detail {

/// `at + wait`, or the last instant there is. `wait` is not negative.
[[nodiscard]] constexpr instant later(instant at, std::chrono::nanoseconds wait) noexcept {
    return wait > instant::max() - std::max(at, instant{}) ? instant::max() : at + wait;
}

/// 0 to `most`, both included, each as likely. Unlike a standard distribution, it draws the same
/// numbers with every standard library.
template <std::uniform_random_bit_generator Generator>
[[nodiscard]] std::uint64_t uniform(std::uint64_t most, Generator& generator) {
    static_assert(Generator::min() == 0 &&
                      (Generator::max() == 0xffffffffU || Generator::max() == ~std::uint64_t{0}),
                  "shardweave: the generator must give whole words of 32 or 64 bits, as "
                  "std::mt19937_64 does");
    const std::uint64_t mask =
        most == 0 ? 0 : ~std::uint64_t{0} >> static_cast<unsigned>(std::countl_zero(most));
    for (;;) {  // ends after two draws on average
        std::uint64_t word = generator();
        if constexpr (Generator::max() == 0xffffffffU) {
            word = word << 32U | generator();
        }
        if ((word & mask) <= most) {
            return word & mask;
        }
    }
}

}  // namespace detail

/// When a caller no longer wants the answer.
class deadline {
public:
    /// Never: the default.
    constexpr deadline() noexcept = default;
    constexpr explicit deadline(instant at) noexcept : at_(at) {}

    [[nodiscard]] static constexpr deadline after(instant now,
                                                  std::chrono::nanoseconds wait) noexcept {
        return deadline{detail::later(now, std::max(wait, std::chrono::nanoseconds{0}))};
    }

    /// The last instant there is when it never comes.
    [[nodiscard]] constexpr instant at() const noexcept { return at_; }
    [[nodiscard]] constexpr bool never() const noexcept { return at_ == instant::max(); }
    [[nodiscard]] constexpr bool passed(instant now) const noexcept {
        return !never() && now >= at_;
    }
    /// How long until then, at least 0; the longest duration when it never comes.
    [[nodiscard]] constexpr std::chrono::nanoseconds left(instant now) const noexcept {
        return never() ? std::chrono::nanoseconds::max()
                       : std::max(at_ - now, std::chrono::nanoseconds{0});
    }

private:
    instant at_ = instant::max();
};

/// Exponential backoff with full jitter: the wait before retry k (0, 1, …) is drawn from
/// `U(0, min(cap, base · 2^k))`. Full, since callers that failed together would come back together
/// with anything less. Durations are not negative.
struct backoff {
    std::chrono::nanoseconds base = std::chrono::milliseconds{10};
    std::chrono::nanoseconds cap = std::chrono::seconds{1};

    /// The longest wait before retry k. Never overflows.
    [[nodiscard]] constexpr std::chrono::nanoseconds ceiling(unsigned k) const noexcept {
        // base · 2^k > cap, said without computing it.
        return k >= 63 || base.count() > cap.count() >> k
                   ? (base.count() == 0 ? base : cap)
                   : std::chrono::nanoseconds{base.count() << k};
    }

    template <std::uniform_random_bit_generator Generator>
    [[nodiscard]] std::chrono::nanoseconds delay(unsigned k, Generator& generator) const {
        const auto most = static_cast<std::uint64_t>(ceiling(k).count());
        return std::chrono::nanoseconds{
            static_cast<std::int64_t>(detail::uniform(most, generator))};
    }
};

/// `period` ± 20 %, so that processes that started together do not poll together.
template <std::uniform_random_bit_generator Generator>
[[nodiscard]] std::chrono::nanoseconds spread(std::chrono::nanoseconds period,
                                              Generator& generator) {
    const std::chrono::nanoseconds fifth = period / 5;
    const auto drawn = detail::uniform(static_cast<std::uint64_t>(2 * fifth.count()), generator);
    return period - fifth + std::chrono::nanoseconds{static_cast<std::int64_t>(drawn)};
}

/// A token bucket that lets retries be only a share of the requests, so that they can not multiply
/// the load of a store that is in trouble. Not thread-safe: who shares one, locks.
class retry_budget {
public:
    struct options {
        /// Retries per 100 requests.
        std::uint32_t percent = 10;
        /// Retries that can be saved up. The bucket starts full, so that a quiet caller has some.
        std::uint32_t burst = 10;
    };

    constexpr retry_budget() noexcept : retry_budget(options{}) {}
    constexpr explicit retry_budget(options with) noexcept : with_(with), hundredths_(full()) {}

    /// A request, not a retry: earns its share.
    constexpr void request() noexcept {
        hundredths_ = std::min(full(), hundredths_ + with_.percent);
    }

    /// Pays for one retry. False when the budget is spent: fail instead.
    [[nodiscard]] constexpr bool retry() noexcept {
        if (hundredths_ < 100) {
            return false;
        }
        hundredths_ -= 100;
        return true;
    }

private:
    [[nodiscard]] constexpr std::uint64_t full() const noexcept {
        return std::uint64_t{with_.burst} * 100;
    }

    options with_;
    // Whole numbers: a tenth, added ten times, is one.
    std::uint64_t hundredths_;
};

/// When the next attempt at one thing may begin, whoever wants it: never sooner than an interval
/// after the end of the last one, and later while attempts fail. A lock that joins concurrent
/// attempts does not stop serial ones; this does. Not thread-safe.
class pace {
public:
    constexpr pace(std::chrono::nanoseconds interval, backoff after_failure) noexcept
        : interval_(interval), after_failure_(after_failure) {}

    [[nodiscard]] constexpr instant next() const noexcept { return next_; }
    /// How long until then, at least 0.
    [[nodiscard]] constexpr std::chrono::nanoseconds early(instant now) const noexcept {
        return next_ > now ? next_ - now : std::chrono::nanoseconds{0};
    }
    /// Attempts in a row that failed.
    [[nodiscard]] constexpr unsigned failures() const noexcept { return failures_; }

    constexpr void succeeded(instant now) noexcept {
        failures_ = 0;
        next_ = detail::later(now, interval_);
    }

    template <std::uniform_random_bit_generator Generator>
    void failed(instant now, Generator& generator) {
        const std::chrono::nanoseconds drawn = after_failure_.delay(failures_, generator);
        failures_ += failures_ != ~0U;
        next_ = detail::later(now, std::max(interval_, drawn));
    }

private:
    std::chrono::nanoseconds interval_;
    backoff after_failure_;
    instant next_ = instant::min();
    unsigned failures_ = 0;
};

}  // namespace v1
}  // namespace shardweave

#endif
