// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/quota.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/generate.hpp"

namespace sw = shardweave;

namespace {

static_assert(noexcept(sw::quota(1, 1, 1, 1)));

/// The chance that some source i holds `quotas[i]` or more of `rows` rows, each of which is in
/// source i by `shares[i]`: exact. Independent Poisson counts that add up to `rows` are
/// multinomial, so the sources can be taken one after another.
double chance_of_refill(std::size_t rows, const std::vector<double>& shares,
                        const std::vector<std::size_t>& quotas) {
    const auto poisson = [](double mean, std::size_t most) {
        std::vector<double> terms{std::exp(-mean)};
        while (terms.size() <= most) {
            terms.push_back(terms.back() * mean / static_cast<double>(terms.size()));
        }
        return terms;
    };
    const auto total = static_cast<double>(rows);
    // Of the sources so far: the chance that together they hold n, and none holds too much.
    std::vector<double> sums(rows + 1, 0);
    sums[0] = 1;
    for (std::size_t i = 0; i != shares.size(); ++i) {
        const std::vector<double> own = poisson(total * shares[i], quotas[i] - 1);
        std::vector<double> next(rows + 1, 0);
        for (std::size_t n = 0; n <= rows; ++n) {
            for (std::size_t m = 0; m <= std::min(n, quotas[i] - 1); ++m) {
                next[n] += sums[n - m] * own[m];
            }
        }
        sums = std::move(next);
    }
    // Of the Poisson terms the last one, by logarithms: exp(-1000) is no number.
    const double all = std::exp(total * std::log(total) - total - std::lgamma(total + 1));
    return 1 - sums[rows] / all;
}

double chance_of_refill(std::size_t limit, std::size_t sources, std::size_t quota) {
    return chance_of_refill(limit - 1, std::vector(sources, 1 / static_cast<double>(sources)),
                            std::vector(sources, quota));
}

struct cell {
    std::size_t limit;
    std::size_t sources;
    /// The smallest quotas for a refill in at most 10 %, 1 % and 0.1 % of the pages.
    std::array<std::size_t, 3> best;
};

constexpr std::array chances{0.1, 0.01, 0.001};

constexpr cell known[] = {
    {10, 4, {6, 7, 8}},         {10, 8, {5, 6, 7}},       {10, 16, {4, 5, 6}},
    {10, 64, {3, 4, 4}},        {10, 256, {3, 3, 4}},     {20, 4, {10, 11, 13}},
    {20, 8, {7, 8, 10}},        {20, 16, {5, 7, 8}},      {20, 64, {4, 5, 5}},
    {20, 256, {3, 4, 4}},       {50, 4, {19, 22, 24}},    {50, 8, {13, 15, 17}},
    {50, 16, {9, 11, 12}},      {50, 64, {5, 6, 7}},      {50, 256, {4, 5, 5}},
    {100, 4, {34, 38, 42}},     {100, 8, {21, 24, 27}},   {100, 16, {14, 16, 18}},
    {100, 64, {7, 9, 10}},      {100, 256, {5, 6, 6}},    {1000, 4, {278, 290, 299}},
    {1000, 8, {150, 158, 166}}, {1000, 16, {83, 89, 95}}, {1000, 64, {29, 33, 35}},
    {1000, 256, {13, 15, 16}},
};

}  // namespace

TEST_CASE("a quota is the exact optimum or one row more", "[quota]") {
    std::size_t exact = 0;
    for (const cell& each : known) {
        const double share = 1 / static_cast<double>(each.sources);
        for (std::size_t i = 0; i != chances.size(); ++i) {
            const std::size_t quota = sw::quota(each.limit, share, each.sources, chances[i]);
            CAPTURE(each.limit, each.sources, chances[i], quota);
            // The optimum is one: enough, and one less is not.
            CHECK(chance_of_refill(each.limit, each.sources, each.best[i]) <= chances[i]);
            CHECK(chance_of_refill(each.limit, each.sources, each.best[i] - 1) > chances[i]);
            CHECK(quota >= each.best[i]);
            CHECK(quota <= each.best[i] + 1);
            exact += quota == each.best[i] ? 1U : 0U;
        }
    }
    CHECK(exact >= 69);
}

TEST_CASE("a quota keeps its promise for sources that hold different shares", "[quota]") {
    INFO(test_support::replay());
    test_support::generator from;
    for (std::size_t round = 0; round != test_support::scaled(400); ++round) {
        const std::size_t limit = from.between(2U, 200U);
        const std::size_t sources = from.between(2U, 24U);
        const double chance = from.pick(std::array{0.2, 0.1, 0.02, 0.01, 0.001});
        std::vector<double> shares;
        double total = 0;
        for (std::size_t i = 0; i != sources; ++i) {
            // From nearly equal to one that has nearly all.
            shares.push_back(std::pow(1.0 + static_cast<double>(from.below(1'000U)),
                                      static_cast<double>(from.below(4U))));
            total += shares.back();
        }
        std::vector<std::size_t> quotas;
        for (double& share : shares) {
            share /= total;
            quotas.push_back(sw::quota(limit, share, sources, chance));
        }
        CAPTURE(round, limit, sources, chance, shares, quotas);
        // One that is asked for the whole page is never asked again: its rows are enough.
        std::vector<std::size_t> held = quotas;
        std::ranges::replace(held, limit, limit + 1);
        REQUIRE(chance_of_refill(limit - 1, shares, held) <= chance + 1e-9);
    }
}

TEST_CASE("the standard chance asks 8 rows of each of 8 sources for a page of 20", "[quota]") {
    CHECK(sw::quota(20, 1.0 / 8, 8) == 8);
    const double exact = chance_of_refill(20, 8, 8);
    CHECK(exact < 1.0 / 95);
    CHECK(exact > 1.0 / 105);

    // And counted, by rows that are thrown into sources.
    INFO(test_support::replay());
    test_support::generator from;
    const std::size_t pages = test_support::scaled(200'000);
    std::size_t refills = 0;
    for (std::size_t page = 0; page != pages; ++page) {
        std::array<unsigned, 8> held{};
        bool refill = false;
        for (unsigned row = 0; row != 19; ++row) {
            refill = ++held[from.below(held.size())] == 8 || refill;
        }
        refills += refill ? 1U : 0U;
    }
    CHECK(static_cast<double>(refills) / static_cast<double>(pages) ==
          Catch::Approx(exact).margin(4 * std::sqrt(exact / static_cast<double>(pages))));
}

TEST_CASE("a quota is never above the limit, and never 0 for a page that has rows", "[quota]") {
    CHECK(sw::quota(0, 0.5, 2) == 0);
    CHECK(sw::quota(1, 0.5, 2) == 1);
    CHECK(sw::quota(2, 0.5, 2) == 2);
    // The only source has every row.
    CHECK(sw::quota(50, 1, 1) == 50);
    CHECK(sw::quota(50, 0.3, 1) == 50);
    CHECK(sw::quota(50, 1, 8) == 50);
    // Rounding may take a share a little beyond its bounds.
    CHECK(sw::quota(50, 1.0000001, 8) == 50);
    CHECK(sw::quota(50, 0, 8) == 1);
    CHECK(sw::quota(50, -1e-12, 8) == 1);
    // One that is expected to have nothing is asked all the same.
    CHECK(sw::quota(50, 1e-300, 8) == 1);
    CHECK(sw::quota(100'000, 1.0 / 4'096, 4'096) < 100);
    for (std::size_t limit = 1; limit != 300; ++limit) {
        std::size_t before = 0;
        for (const double share : {0.0, 1e-9, 0.001, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0}) {
            const std::size_t quota = sw::quota(limit, share, 16);
            CAPTURE(limit, share, quota);
            CHECK(quota >= 1);
            CHECK(quota <= limit);
            // A larger share never asks for less.
            CHECK(quota >= before);
            before = quota;
        }
    }
}

TEST_CASE("a smaller chance never asks for less", "[quota]") {
    for (const std::size_t limit : {5U, 20U, 100U, 1'000U}) {
        for (const std::size_t sources : {2U, 8U, 100U}) {
            std::size_t before = 0;
            for (const double chance : {1.0, 0.5, 0.1, 0.02, 0.001, 1e-6, 1e-12, 0.0}) {
                const std::size_t quota =
                    sw::quota(limit, 1 / static_cast<double>(sources), sources, chance);
                CAPTURE(limit, sources, chance, quota);
                CHECK(quota >= before);
                before = quota;
            }
        }
    }
}

TEST_CASE("the logarithm of a factorial is as exact as its users need", "[quota]") {
    double sum = 0;
    for (std::size_t n = 1; n <= 100'000; ++n) {
        sum += std::log(static_cast<double>(n));
        if (n < 200 || n % 1'000 == 0) {
            CAPTURE(n);
            CHECK(sw::detail::log_factorial(static_cast<double>(n)) ==
                  Catch::Approx(sum).epsilon(1e-12));
        }
    }
    CHECK(sw::detail::log_factorial(0) == 0);
}
