// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_SHARES_HPP
#define SHARDWEAVE_READ_DETAIL_SHARES_HPP

/// Which part of a page each source is expected to hold.

#include <shardweave/read/asking.hpp>
#include <shardweave/read/query.hpp>

#include <cstddef>
#include <numeric>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Starts from the sources' weights, and follows what the pages of a stream took.
class source_shares {
public:
    source_shares(const std::vector<source>& sources, std::size_t limit) {
        double total = 0;
        for (const source& each : sources) {
            total += each.weight;
        }
        for (const source& each : sources) {
            const double share =
                total > 0 ? each.weight / total : 1.0 / static_cast<double>(sources.size());
            taken_.push_back(share * static_cast<double>(limit));
        }
        turn();
    }

    /// The page took rows from the source.
    void took(std::size_t number, std::size_t rows) noexcept {
        taken_[number] += static_cast<double>(rows);
    }

    /// Ends a page: its shares, and those of the pages before it, fading by a quarter each time.
    void turn() {
        const double total = std::accumulate(taken_.begin(), taken_.end(), 0.0);
        shares_.resize(taken_.size());
        for (std::size_t i = 0; i != taken_.size(); ++i) {
            shares_[i] = total > 0 ? taken_[i] / total : 0;
            taken_[i] *= 0.75;
        }
    }

    /// How many rows of the source a page of `limit` should have at hand.
    [[nodiscard]] std::size_t quota_of(std::size_t number, std::size_t limit, const asking& how) {
        if (shares_[number] != known_share_ || limit != known_limit_) {
            known_share_ = shares_[number];
            known_limit_ = limit;
            known_quota_ = how.rows_of(limit, known_share_, shares_.size());
        }
        return known_quota_;
    }

    /// Which part of the pages came from the sources that `belongs` picks, the last one most.
    template <class Belongs>
    [[nodiscard]] double part_of(const Belongs& belongs) const {
        double part = 0;
        double total = 0;
        for (std::size_t i = 0; i != taken_.size(); ++i) {
            total += taken_[i];
            part += belongs(i) ? taken_[i] : 0;
        }
        return total > 0 ? part / total : 0;
    }

private:
    std::vector<double> shares_;
    std::vector<double> taken_;
    // Shares are equal more often than not: one quota is remembered.
    double known_share_ = -1;
    std::size_t known_limit_ = 0;
    std::size_t known_quota_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
