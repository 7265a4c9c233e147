// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_RATIO_HPP
#define SHARDWEAVE_BENCHMARKS_RATIO_HPP

/// Measures ways of doing one thing as ratios to the first, in one process.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Keeps the compiler from seeing through a value.
template <class T>
inline void keep(T& value) {
    asm volatile("" : "+r,m"(value) : : "memory");
}

/// A table of ratios. All rows are measured in turn, round after round, so that whatever else the
/// machine does meets them alike; a row's figure is the median of its rounds.
class table {
public:
    explicit table(std::string title) : title_(std::move(title)) {}

    /// What the others are compared with. `once(i)` does the work once, and returns a number.
    template <class Once>
    void baseline(std::string name, Once once) {
        row(std::move(name), std::move(once));
    }

    template <class Once>
    void row(std::string name, Once once) {
        rows_.push_back({std::move(name),
                         [once = std::move(once)](std::size_t times) mutable {
                             std::uint64_t sum = 0;
                             const auto begin = std::chrono::steady_clock::now();
                             for (std::size_t i = 0; i != times; ++i) {
                                 sum += static_cast<std::uint64_t>(once(i));
                             }
                             const auto end = std::chrono::steady_clock::now();
                             keep(sum);
                             return std::chrono::duration<double, std::nano>(end - begin).count() /
                                    static_cast<double>(times);
                         },
                         {}});
    }

    void print(std::size_t times = 100'000, std::size_t rounds = 31) {
        for (std::size_t round = 0; round != rounds; ++round) {
            for (auto& each : rows_) {
                each.nanoseconds.push_back(each.run(times));
            }
        }
        fmt::print("{}\n", title_);
        const double base = median(rows_.front().nanoseconds);
        for (auto& each : rows_) {
            const double mine = median(each.nanoseconds);
            fmt::print("  {:<52} {:>8.2f} ns {:>8.2f} x\n", each.name, mine, mine / base);
        }
        fmt::print("\n");
    }

private:
    struct measured {
        std::string name;
        std::function<double(std::size_t)> run;
        std::vector<double> nanoseconds;
    };

    static double median(std::vector<double>& values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    }

    std::string title_;
    std::vector<measured> rows_;
};

}  // namespace bench

#endif
