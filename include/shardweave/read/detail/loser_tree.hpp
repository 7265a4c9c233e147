// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_LOSER_TREE_HPP
#define SHARDWEAVE_READ_DETAIL_LOSER_TREE_HPP

/// A tournament of numbered players that remembers who lost where.

#include <cstddef>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A loser tree (Knuth, TAOCP vol. 3, 5.4.1) over the players 0 to k − 1, for any k ≥ 1. When the
/// winner changes, `replay` finds the next one in at most ⌈log₂ k⌉ games, since the losers on its
/// way up are just those that it has to beat. `before(a, b)` tells whether a wins; no two players
/// tie.
class loser_tree {
public:
    explicit loser_tree(std::size_t players) : losers_(players), winners_(2 * players) {}

    [[nodiscard]] std::size_t winner() const noexcept { return losers_[0]; }

    /// Plays every game: k − 1 of them.
    template <class Before>
    void play(const Before& before) {
        const std::size_t players = losers_.size();
        if (players == 0) {
            return;
        }
        for (std::size_t player = 0; player != players; ++player) {
            winners_[players + player] = player;
        }
        for (std::size_t game = players - 1; game != 0; --game) {
            std::size_t winner = winners_[2 * game];
            std::size_t loser = winners_[2 * game + 1];
            if (before(loser, winner)) {
                std::swap(winner, loser);
            }
            winners_[game] = winner;
            losers_[game] = loser;
        }
        losers_[0] = winners_[1];
    }

    /// Plays the winner's games again, after it changed.
    template <class Before>
    void replay(const Before& before) {
        std::size_t winner = losers_[0];
        for (std::size_t game = (winner + losers_.size()) / 2; game != 0; game /= 2) {
            if (before(losers_[game], winner)) {
                std::swap(losers_[game], winner);
            }
        }
        losers_[0] = winner;
    }

private:
    /// [0] is the winner, [n] the loser of game n. Game n feeds game n / 2; player i enters at k +
    /// i.
    std::vector<std::size_t> losers_;
    std::vector<std::size_t> winners_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
