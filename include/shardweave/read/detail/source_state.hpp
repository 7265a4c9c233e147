// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_SOURCE_STATE_HPP
#define SHARDWEAVE_READ_DETAIL_SOURCE_STATE_HPP

/// What a read knows of one source, besides its rows.

#include <shardweave/read/detail/progress.hpp>
#include <shardweave/read/query.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// What became of a source, for the current page.
enum class standing : std::uint8_t {
    asked,
    /// It failed, and nothing beyond its frontier is handed out.
    stuck,
    /// It failed, and the page goes on without it.
    skipped,
};

template <class Position>
struct source_state {
    source about{};
    /// Rows that the current ask still lacks, and its bound.
    std::size_t wanted = 0;
    std::optional<Position> until{};
    /// The store's own, from its last answer.
    std::string cursor{};
    /// How many queries had to come one after another, its last one included.
    std::size_t depth = 0;
    /// Its last answer was short.
    bool unfinished = false;
    detail::standing standing = detail::standing::asked;
    progress_watch progress{};

    /// A store cursor came with rows up to `end`, or with none. Of very many the last ones become
    /// one: a cursor that is not kept is a hint less.
    void gave(const std::string& at, bool rows, const std::optional<Position>& end) {
        if (rows && end) {
            // Rows without a cursor count, too: one that comes after them is behind them.
            const bool joins =
                !ahead_.empty() && (ahead_.back().second.empty() || ahead_.size() == most_ahead);
            if (!joins) {
                ahead_.emplace_back();
            }
            ahead_.back().first = *end;
            ahead_.back().second = at;
        } else if (!at.empty()) {
            (ahead_.empty() ? settled_ : ahead_.back().second) = at;
        }
    }
    /// The page ended here: cursors of answers that it consumed wholly are where to go on. A cursor
    /// behind which rows wait would skip them.
    template <class Consumed>
    void settle(const Consumed& consumed) {
        std::size_t done = 0;
        for (; done != ahead_.size() && consumed(ahead_[done].first); ++done) {
            if (!ahead_[done].second.empty()) {
                settled_ = std::move(ahead_[done].second);
            }
        }
        ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(done));
    }
    void resume(const std::string& at) {
        cursor = at;
        settled_ = at;
    }
    [[nodiscard]] const std::string& settled() const noexcept { return settled_; }

private:
    /// A page may take any number of answers without rows that stay.
    static constexpr std::size_t most_ahead = 16;

    std::string settled_;
    std::vector<std::pair<Position, std::string>> ahead_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
