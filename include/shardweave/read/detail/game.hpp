// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_GAME_HPP
#define SHARDWEAVE_READ_DETAIL_GAME_HPP

/// One game of a tournament: the smaller key wins, without a branch on which one it is.

#include <shardweave/read/detail/head_key.hpp>

#include <cstdint>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// How much of the keys is compared.
enum class words : std::uint8_t { high, both };

/// A player, and its key.
struct contender {
    std::uint64_t player;
    head_key key;
};

/// What a game leaves behind, beside its winner. Nothing was decided where the keys tied.
struct game_result {
    std::uint64_t loser;
    bool tied;
};

/// Lets the winner of the games so far play against a rival, and puts who wins in its place. With
/// `words::high`, only the first word of its key is kept.
template <words Words>
[[nodiscard]] inline game_result play_plainly(contender& winner, std::uint64_t rival,
                                              const head_key& key) noexcept {
    constexpr bool both = Words == words::both;
    const bool tied = both ? key == winner.key : key.high == winner.key.high;
    const std::uint64_t wins = mask_of(both ? key < winner.key : key.high < winner.key.high);
    winner.key.high = choose(wins, key.high, winner.key.high);
    if constexpr (both) {
        winner.key.low = choose(wins, key.low, winner.key.low);
    }
    const std::uint64_t change = (winner.player ^ rival) & wins;
    winner.player ^= change;
    return {rival ^ change, tied};
}

#if defined(__x86_64__) && defined(__GNUC__)

/// The same in conditional moves, which no compiler makes of it: half the steps from key to key.
template <words Words>
[[nodiscard, gnu::always_inline]] inline game_result
play_game(contender& winner, std::uint64_t rival, const head_key& key) noexcept {
    game_result result{rival, false};
    if constexpr (Words == words::both) {
        result.tied = key == winner.key;
        std::uint64_t difference = key.high;
        asm("cmp {%[low], %[other_low]|%[other_low], %[low]}\n\t"
            "sbb {%[high], %[difference]|%[difference], %[high]}\n\t"
            "cmovb {%[player], %[loser]|%[loser], %[player]}\n\t"
            "cmovb {%[rival], %[player]|%[player], %[rival]}\n\t"
            "cmovb {%[other_high], %[high]|%[high], %[other_high]}\n\t"
            "cmovb {%[other_low], %[low]|%[low], %[other_low]}"
            : [high] "+&r"(winner.key.high), [low] "+&r"(winner.key.low),
              [player] "+&r"(winner.player), [loser] "+&r"(result.loser),
              [difference] "+&r"(difference)
            : [other_high] "r"(key.high), [other_low] "r"(key.low), [rival] "r"(rival)
            : "cc");
    } else {
        asm("cmp {%[high], %[other]|%[other], %[high]}\n\t"
            "cmovb {%[player], %[loser]|%[loser], %[player]}\n\t"
            "cmovb {%[rival], %[player]|%[player], %[rival]}\n\t"
            "cmovb {%[other], %[high]|%[high], %[other]}"
            : [high] "+&r"(winner.key.high), [player] "+&r"(winner.player),
              [loser] "+&r"(result.loser), "=@cce"(result.tied)
            : [other] "r"(key.high), [rival] "r"(rival)
            : "cc");
    }
    return result;
}

#else

template <words Words>
[[nodiscard]] inline game_result play_game(contender& winner, std::uint64_t rival,
                                           const head_key& key) noexcept {
    return play_plainly<Words>(winner, rival, key);
}

#endif

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
