// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/attempts.hpp>
#include <shardweave/read/detail/call_plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <queue>
#include <random>
#include <vector>

#include "../ratio.hpp"
#include "reading.hpp"

namespace reading_benchmark {
namespace {

namespace sw = shardweave;

constexpr std::size_t sources = 10;
constexpr std::size_t straggler = 3;

/// Answers take a lognormal time, with a median of 5 ms; those of one source of ten now and then
/// ten times as long.
struct stores {
    double chance;
    std::mt19937_64 draw{20261130};

    std::chrono::nanoseconds answer(std::size_t source) {
        const auto uniform = [this] {
            return (static_cast<double>(draw() >> 11U) + 0.5) / 9007199254740992.0;
        };
        const double normal =
            std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
        const bool slow = source == straggler && uniform() < chance;
        return std::chrono::nanoseconds{
            static_cast<std::int64_t>(5e6 * std::exp(0.4 * normal) * (slow ? 10 : 1))};
    }
};

struct result {
    std::vector<double> milliseconds;
    std::size_t attempts = 0;
};

/// Reads of one round over all sources, one after another, on a clock of their own.
result read(double chance, const sw::attempt_options& how, std::size_t reads) {
    stores from{chance};
    sw::attempt_budgets budgets;
    result all;
    sw::instant now{std::chrono::hours{1}};
    struct event {
        sw::instant at;
        sw::detail::attempt who;
        bool operator>(const event& other) const { return at > other.at; }
    };
    for (std::size_t i = 0; i != reads; ++i) {
        sw::detail::call_plan plan{how, budgets};
        std::priority_queue<event, std::vector<event>, std::greater<>> running;
        for (std::size_t source = 0; source != sources; ++source) {
            (void)plan.add();
        }
        const sw::instant begin = now;
        while (plan.open() != 0) {
            while (const auto next = plan.due(now)) {
                ++all.attempts;
                running.push({now + from.answer(next->call), *next});
            }
            const sw::instant due = plan.next_due();
            if (running.empty() || due < running.top().at) {
                now = due;
                continue;
            }
            const event ended = running.top();
            running.pop();
            now = ended.at;
            (void)plan.answered(ended.who, now);
        }
        all.milliseconds.push_back(std::chrono::duration<double, std::milli>(now - begin).count());
    }
    std::ranges::sort(all.milliseconds);
    return all;
}

}  // namespace

void hedges() {
    if (bench::how == bench::mode::counted) {
        return;
    }
    const bool text = bench::how == bench::mode::text;
    constexpr std::size_t reads = 100'000;
    if (text) {
        fmt::print("simulated reads of 10 sources, of which one is now and then ten times as slow; "
                   "hedged beyond 95 % of the recent answers, at most 5 % of the queries\n");
    }
    for (const double chance : {0.01, 0.02, 0.05, 0.1, 0.2}) {
        const result plain = read(chance, {}, reads);
        const result hedged = read(chance, {.hedge = {.beyond = 0.95}}, reads);
        const auto at = [](const result& of, double part) {
            return of.milliseconds[static_cast<std::size_t>(part * reads)];
        };
        const double queries =
            static_cast<double>(hedged.attempts) / static_cast<double>(plain.attempts);
        if (!text) {
            fmt::print(
                "slowest hundredth of reads, ms\tslow {:.0f} % of its answers\t{:.1f}\t{:.1f}\t"
                "{:.3f}\n",
                100 * chance, at(plain, 0.99), at(hedged, 0.99), queries);
            continue;
        }
        fmt::print("  slow {:>4.0f} % of its answers:  p50 {:>5.1f} to {:>5.1f} ms   p99 {:>6.1f} "
                   "to {:>6.1f} ms, {:.2f} x   p99.9 {:>6.1f} to {:>6.1f} ms   queries x {:.3f}\n",
                   100 * chance, at(plain, 0.5), at(hedged, 0.5), at(plain, 0.99), at(hedged, 0.99),
                   at(hedged, 0.99) / at(plain, 0.99), at(plain, 0.999), at(hedged, 0.999),
                   queries);
    }
    fmt::print("{}", text ? "\n" : "");
}

}  // namespace reading_benchmark
