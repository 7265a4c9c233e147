// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_ASKING_HPP
#define SHARDWEAVE_READ_ASKING_HPP

/// How much a read asks for, and what it may cost.

#include <shardweave/core/limits.hpp>
#include <shardweave/read/quota.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace shardweave {
inline namespace v1 {

/// How many rows the first round asks of each source.
enum class fetch : std::uint8_t {
    /// What a page needs of it nearly always; see `quota`. The second round is rare.
    quota,
    /// The whole page: never a second round, and as many times the rows as there are sources.
    full,
    /// Its even part and one more: the shortest first answers, and nearly always a second round,
    /// which for many sources asks for more rows than were saved.
    least,
};

/// What it means when an answer without rows says that there is more, and repeats the store cursor
/// that it was asked with.
enum class repeated_cursor : std::uint8_t {
    /// Nothing; after a few of them in a row the source is in error, of `errc::no_progress`.
    no_progress,
    /// That there is no more, as some services have it.
    end,
};

/// How much the rounds of a read ask for, and how answers are understood.
struct asking {
    shardweave::fetch fetch = shardweave::fetch::quota;
    /// Rows that the store bills together, such as those of 4 KB: the first round asks for whole
    /// units, though never for more than the page.
    std::size_t billing_unit = 1;
    /// Rows that may be in memory for one read; the sources share it. A smaller one than the page
    /// needs costs more rounds. At least one row a source is asked.
    std::size_t buffered_rows = limits::buffered_rows;
    /// Of a second round, with `fetch::quota`.
    double refill_chance = standard_refill_chance;
    shardweave::repeated_cursor repeated_cursor = shardweave::repeated_cursor::no_progress;

    /// Rows of a source with this share to have at hand for a page of `limit`.
    [[nodiscard]] std::size_t rows_of(std::size_t limit, double share,
                                      std::size_t sources) const noexcept {
        const std::size_t others = std::max<std::size_t>(sources, 1);
        std::size_t rows = limit;
        if (fetch == shardweave::fetch::quota) {
            rows = quota(limit, share, sources, refill_chance);
        } else if (fetch == shardweave::fetch::least) {
            rows = std::min(limit, (limit + others - 1) / others + 1);
        }
        if (billing_unit > 1) {
            const std::size_t over = rows % billing_unit;
            rows = std::min(limit, over == 0 ? rows : rows + (billing_unit - over));
        }
        return std::min(rows, std::max<std::size_t>(buffered_rows / others, 1));
    }
};

/// What a page may cost at most, whatever it finds. It ends early then, with what is certain and a
/// place to go on from. Retries are not counted: they have budgets of their own.
struct read_budget {
    /// Rows that the stores are asked for.
    std::size_t rows = std::numeric_limits<std::size_t>::max();
    std::size_t requests = std::numeric_limits<std::size_t>::max();
};

}  // namespace v1
}  // namespace shardweave

#endif
