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
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace bench {

/// Makes the compiler compute numbers, at no cost of its own.
template <class... Numbers>
void use(Numbers... numbers) {
    (..., [](auto number) { asm volatile("" : : "r"(number)); }(numbers));
}

/// Makes the compiler write all of an object.
template <class T>
void keep_whole(const T& object) {
    asm volatile("" : : "r"(&object) : "memory");
}

/// Keeps the thread on one processor, where the system has a way to and allows it.
inline void pin_thread([[maybe_unused]] std::size_t processor) {
#ifdef __linux__
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    CPU_SET(processor, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
#endif
}

/// How the tables are run and printed.
enum class mode : std::uint8_t {
    /// For people.
    text,
    /// One line a row, with tabs, for `report.py`.
    lines,
    /// Each row once, in `counted`: for a tool that counts what a function executes.
    counted,
};
inline mode how = mode::text;

/// A call to this is all that is counted in `mode::counted`; see `report.py`.
[[gnu::noinline]] inline void counted(const std::function<double(double)>& run) {
    static_cast<void>(run(0));
    asm volatile("");  // no tail call, which would end the function early
}
/// And a call to this ends a row.
[[gnu::noinline]] inline void counted_row() { asm volatile(""); }

/// What a row must reach. A bar of 0 is none.
struct bars {
    /// Of its time, as a multiple of the first row's.
    double time = 0;
    /// Of its instructions, as a multiple of the first row's.
    double instructions = 0;
};

/// A table of ratios. All rows are measured in turn, round after round, so that whatever else the
/// machine does meets them alike. A row's time is the least of its rounds; its ratio compares that
/// with the first row's, and the median of the ratios within each round stands beside it.
class table {
public:
    explicit table(std::string title) : title_(std::move(title)) {}

    /// `once(input)` does the work once, and uses what comes out. Everything is inlined into one
    /// loop over the inputs.
    template <class Input, class Once>
    void row(std::string name, std::span<const Input> inputs, Once once, bars limits = {}) {
        add(std::move(name), limits, inputs.size(), [inputs, once](double least_time) mutable {
            std::size_t done = 0;
            double time = 0;
            const auto begin = std::chrono::steady_clock::now();
            // Doubled, so that the clock is hardly ever read.
            for (std::size_t turns = 1; done == 0 || time < least_time; turns *= 2) {
                for (std::size_t turn = 0; turn != turns; ++turn) {
                    for (const Input& input : inputs) {
                        once(input);
                    }
                }
                done += turns;
                time = nanoseconds(std::chrono::steady_clock::now() - begin);
            }
            return time / static_cast<double>(done * inputs.size());
        });
    }

    /// `all()` does the work of `units` at a time, and returns a number.
    template <class All>
    void batch(std::string name, std::size_t units, All all, bars limits = {}) {
        add(std::move(name), limits, units, [units, all](double) mutable {
            const auto begin = std::chrono::steady_clock::now();
            use(all());
            const auto end = std::chrono::steady_clock::now();
            return nanoseconds(end - begin) / static_cast<double>(units);
        });
    }

    /// What goes on beside the row that was added last, while it is measured: `begin` and `end`
    /// stand around each of its rounds.
    void beside(std::function<void()> begin, std::function<void()> end) {
        rows_.back().begin = std::move(begin);
        rows_.back().end = std::move(end);
    }

    /// Of two rows: the second must take at least so many times the first's time.
    void at_least(double times, std::string faster, std::string slower) {
        claims_.push_back({times, std::move(faster), std::move(slower)});
    }

    /// A round of a row takes about `microseconds`.
    void print(double microseconds = 500, std::size_t rounds = 101) {
        if (how == mode::counted) {
            count();
            return;
        }
        for (std::size_t round = 0; round != rounds + 1; ++round) {
            for (measured& each : rows_) {
                each.begin();
                const double time = each.run(1'000 * microseconds);
                each.end();
                if (round != 0) {  // the first one warms up
                    each.times.push_back(time);
                }
            }
        }
        if (how == mode::text) {
            fmt::print("{}\n", title_);
        }
        for (const measured& each : rows_) {
            print_row(each);
        }
        for (const claim& each : claims_) {
            print_claim(each);
        }
        fmt::print("{}", how == mode::text ? "\n" : "");
    }

private:
    struct measured {
        std::string name;
        bars limits;
        /// How many times the work is done at least.
        std::size_t units;
        /// From the least time of a round to the time of each, in nanoseconds.
        std::function<double(double)> run;
        std::function<void()> begin = [] {};
        std::function<void()> end = [] {};
        std::vector<double> times{};

        [[nodiscard]] double least() const { return *std::min_element(times.begin(), times.end()); }
    };
    struct claim {
        double times;
        std::string faster;
        std::string slower;
    };

    static double nanoseconds(std::chrono::steady_clock::duration time) {
        return std::chrono::duration<double, std::nano>(time).count();
    }

    void add(std::string name, bars limits, std::size_t units, std::function<double(double)> run) {
        rows_.push_back({std::move(name), limits, units, std::move(run)});
    }

    void count() {
        for (measured& each : rows_) {
            each.begin();
            each.run(0);  // what is done once only
            each.end();
            each.begin();
            counted(each.run);
            counted_row();
            each.end();
            fmt::print("{}\t{}\t{}\t{}\n", title_, each.name, each.units, each.limits.instructions);
        }
    }

    [[nodiscard]] double ratio(const measured& row) const {
        return row.least() / rows_.front().least();
    }
    [[nodiscard]] double median_ratio(const measured& row) const {
        std::vector<double> ratios;
        for (std::size_t i = 0; i != row.times.size(); ++i) {
            ratios.push_back(row.times[i] / rows_.front().times[i]);
        }
        const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
        std::nth_element(ratios.begin(), middle, ratios.end());
        return *middle;
    }
    [[nodiscard]] const measured& named(std::string_view name) const {
        return *std::find_if(rows_.begin(), rows_.end(),
                             [&](const measured& each) { return each.name == name; });
    }

    static const char* verdict(bool met) { return met ? "met" : "NOT MET"; }

    void print_row(const measured& row) const {
        const double times = ratio(row);
        std::string bar;
        if (row.limits.time != 0) {
            bar = fmt::format("<= {:.2f}\t{}", row.limits.time, verdict(times <= row.limits.time));
        }
        if (how == mode::lines) {
            fmt::print("{}\t{}\t{:.3f}\t{:.4f}\t{}\n", title_, row.name, row.least(), times, bar);
            return;
        }
        fmt::print("  {:<54} {:>8.2f} ns {:>7.2f} x  (median {:.2f})  {}\n", row.name, row.least(),
                   times, median_ratio(row), bar);
    }

    void print_claim(const claim& each) const {
        const double times = named(each.slower).least() / named(each.faster).least();
        const std::string name = fmt::format("{} / {}", each.slower, each.faster);
        const std::string bar =
            fmt::format(">= {:.2f}\t{}", each.times, verdict(times >= each.times));
        if (how == mode::lines) {
            fmt::print("{}\t{}\t\t{:.4f}\t{}\n", title_, name, times, bar);
            return;
        }
        fmt::print("  {}: {:.2f} x  {}\n", name, times, bar);
    }

    std::string title_;
    std::vector<measured> rows_;
    std::vector<claim> claims_;
};

}  // namespace bench

#endif
