// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_LOSER_TREE_HPP
#define SHARDWEAVE_READ_DETAIL_LOSER_TREE_HPP

/// A tournament of numbered players that remembers who lost where.

#include <shardweave/read/detail/game.hpp>
#include <shardweave/read/detail/head_key.hpp>
#include <shardweave/read/detail/small_array.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// A loser tree (Knuth, TAOCP vol. 3, 5.4.1) over players who are compared by their keys, which lie
/// in an array of their own. When the winner's key changes, `replay` finds the next winner in
/// exactly ⌈log₂ k⌉ games, since the losers on its way up are just those that it has to beat.
///
/// The number of players is rounded up to a power of two, so that each way up has the same length,
/// which the processor predicts. There must be a key for each of `size()`. `before(a, b)` decides
/// between players of equal keys; no two tie.
class loser_tree {
public:
    static constexpr std::size_t few = 16;

    explicit loser_tree(std::size_t players) : losers_(std::bit_ceil(players)) {}

    [[nodiscard]] std::size_t size() const noexcept { return losers_.size(); }
    [[nodiscard]] std::size_t winner() const noexcept { return player_in(0); }

    /// Plays every game: `size()` − 1 of them.
    template <class Before>
    void play(const head_key* keys, const Before& before) {
        // Each player goes up until it finds a game that still waits for its second player.
        for (std::size_t game = 0; game != losers_.size(); ++game) {
            losers_[game] = nobody;
        }
        for (std::size_t player = 0; player != losers_.size(); ++player) {
            std::size_t winner = player;
            std::size_t game = (player + losers_.size()) / 2;
            for (; game != 0 && losers_[game] != nobody; game /= 2) {
                const std::size_t rival = player_in(game);
                if (wins(keys, rival, winner, before)) {
                    seat(game, winner);
                    winner = rival;
                }
            }
            seat(game, winner);
        }
    }

    /// Plays the winner's games again, with a new key. No branch depends on who wins. The new
    /// winner is told with its key, so that nobody waits for these to be stored and loaded: with
    /// `words::high`, only the first word.
    ///
    /// `tied(rival, winner)` decides whether the rival wins where that much of both keys is equal.
    template <words Words, class Tied>
    [[gnu::always_inline]] contender replay(contender of, const head_key* keys, const Tied& tied) {
        return view().template replay<Words>(of.player, of, keys, tied);
    }

    /// Takes the winner out, whose seat a player gets who loses all games. Returns the new winner.
    template <class Tied>
    contender leave(contender absent, const head_key* keys, const Tied& tied) {
        return view().template replay<words::both>(winner(), absent, keys, tied);
    }

    /// Puts the player back in who left.
    template <class Tied>
    void enter(std::size_t player, const head_key* keys, const Tied& tied) {
        // From the last game down to the player's first one: who came up on its side loses to
        // who came up on the other one, or that one to it. Those from the other sides stay.
        const std::size_t leaf = player + losers_.size();
        std::uint32_t came_up = losers_[0];
        for (auto above = static_cast<unsigned>(std::bit_width(leaf)) - 1; above != 0; --above) {
            std::uint32_t& loser = losers_[leaf >> above];
            const std::size_t from = came_up / sizeof(head_key) + losers_.size();
            if (from >> (above - 1) != leaf >> (above - 1)) {
                std::swap(loser, came_up);
            }
        }
        replay<words::both>({player, keys[player]}, keys, tied);
    }

    /// A copy of where the tree lies, for loops whose writes elsewhere can not change it.
    struct places {
        std::uint32_t* losers;
        std::size_t size;

        /// Plays the games on the way up from a player's seat; see `loser_tree::replay`.
        template <words Words, class Tied>
        [[gnu::always_inline]] contender replay(std::size_t seat, contender of,
                                                const head_key* keys, const Tied& tied) const {
            // Offsets of keys, not numbers of players: an instruction less for each game.
            contender winner{of.player * sizeof(head_key), of.key};
            const auto* const first = reinterpret_cast<const std::byte*>(keys);
            for (std::size_t game = (seat + size) / 2; game != 0; game /= 2) {
                const std::uint64_t rival = losers[game];
                const auto& key = *reinterpret_cast<const head_key*>(first + rival);
                game_result result = play_game<Words>(winner, rival, key);
                if (result.tied) [[unlikely]] {
                    if (tied(rival / sizeof(head_key), winner.player / sizeof(head_key))) {
                        result.loser = winner.player;
                        winner = {rival, key};
                    }
                }
                losers[game] = static_cast<std::uint32_t>(result.loser);
            }
            losers[0] = static_cast<std::uint32_t>(winner.player);
            return {winner.player / sizeof(head_key), winner.key};
        }
    };
    [[nodiscard]] places view() noexcept { return {losers_.data(), losers_.size()}; }

private:
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    [[nodiscard]] std::size_t player_in(std::size_t game) const noexcept {
        return losers_[game] / sizeof(head_key);
    }
    void seat(std::size_t game, std::size_t player) noexcept {
        losers_[game] = static_cast<std::uint32_t>(player * sizeof(head_key));
    }

    template <class Before>
    static bool wins(const head_key* keys, std::size_t a, std::size_t b, const Before& before) {
        if (keys[a] == keys[b]) [[unlikely]] {
            return before(a, b);
        }
        return keys[a] < keys[b];
    }

    /// Offsets of keys: [0] is the winner's, [n] that of the loser of game n. Game n feeds game n /
    /// 2; player i enters at `size()` + i.
    small_array<std::uint32_t, few> losers_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
