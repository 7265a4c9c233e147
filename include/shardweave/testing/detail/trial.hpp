// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_TRIAL_HPP
#define SHARDWEAVE_TESTING_DETAIL_TRIAL_HPP

/// Asks a callback as a read does, and judges each answer by the rows that it should have.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/testing/detail/advice.hpp>
#include <shardweave/testing/detail/question.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

/// Thread-safe, if the callback is.
template <class Order, class Query>
class trial {
public:
    using position_type = typename Order::position_type;
    using asked = question<position_type>;
    using group = key_group<position_type>;
    using answer = answer_of<Order, Query>;
    using positions = std::span<const position_type>;

    /// What came of one question.
    struct judged {
        std::optional<fault> wrong{};
        /// How far all is known now, if that is beyond `after`: to its last row, or to where the
        /// store looked.
        std::optional<position_type> known{};
        /// Rows beyond `after`, how many were repeated, and what the answer said.
        std::size_t rows = 0;
        std::size_t repeated = 0;
        bool more = false;
        std::string cursor{};
    };

    trial(const Order& order, const Query& query, std::string shard, std::string filter, epoch at,
          std::vector<std::string> names, std::size_t most_calls)
        : order_(&order), query_(&query), shard_(std::move(shard)), filter_(std::move(filter)),
          epoch_(at), adviser_(std::move(names)), most_calls_(most_calls) {}

    [[nodiscard]] const adviser<Order>& advice() const noexcept { return adviser_; }

    [[nodiscard]] bool before(const position_type& a, const position_type& b, scan way) const {
        return way == scan::forward ? order_->compare(a, b) < 0 : order_->compare(b, a) < 0;
    }

    /// The group's positions beyond `after`, the way that is asked.
    [[nodiscard]] positions beyond(const group& of, const asked& q) const {
        const positions all = of.walked(q.way);
        return q.after ? all.subspan(rank(all, *q.after, q.way)) : all;
    }

    /// Asks once, and judges the answer.
    [[nodiscard]] judged ask(const group& of, const asked& q) const {
        answer page;
        try {
            page = send(q);
        } catch (const std::exception& thrown) {
            return failed(q, v1::detail::concat("the callback threw: ", thrown.what()));
        } catch (...) {
            return failed(q, "the callback threw something that is no std::exception");
        }
        return judge(of, q, page);
    }

    /// Reads on from `q` until the callback says that it is at the end, or `q.until` is reached;
    /// `visit` is told of each judgement. A cursor is handed back while no row came, as
    /// within one page of a read, and with `keep_cursor` after rows, too.
    template <class Visit>
    [[nodiscard]] std::optional<fault> walk(const group& of, asked q, bool keep_cursor,
                                            const Visit& visit) const {
        std::set<std::string> seen;
        std::size_t idle = 0;
        std::size_t quiet = 0;
        for (;;) {
            judged one = ask(of, q);
            visit(one);
            if (one.wrong || !one.more || reached(q, one)) {
                return std::move(one.wrong);
            }
            if (one.known) {
                q.after = std::move(one.known);
                q.cursor = keep_cursor ? one.cursor : std::string{};
                idle = 0;
                quiet = 0;
                seen.clear();
                continue;
            }
            idle = one.cursor.empty() || !seen.insert(one.cursor).second ? idle + 1 : 0;
            if (idle == limits::idle_answers || ++quiet == most_calls_) {
                return endless(q, one, beyond(of, q).size());
            }
            q.cursor = one.cursor;
        }
    }
    [[nodiscard]] std::optional<fault> walk(const group& of, const asked& q,
                                            bool keep_cursor = false) const {
        return walk(of, q, keep_cursor, [](const judged&) {});
    }

    /// What was allowed, and wasteful, so far.
    [[nodiscard]] std::vector<std::string> remarks() const {
        std::vector<std::string> all;
        if (repeats_) {
            all.emplace_back("answers repeat rows up to `after`; they are dropped, but were read");
        }
        if (overlong_) {
            all.emplace_back("answers have more rows than `limit`; they are kept, but were read");
        }
        return all;
    }
    [[nodiscard]] bool gave_cursors() const noexcept { return gave_cursors_; }

private:
    [[nodiscard]] std::size_t rank(positions all, const position_type& after, scan way) const {
        const auto first = std::partition_point(
            all.begin(), all.end(), [&](const auto& at) { return !before(after, at, way); });
        return static_cast<std::size_t>(first - all.begin());
    }

    [[nodiscard]] answer send(const asked& q) const {
        shard_query<position_type> query;
        query.shard = shard_;
        query.partition_keys = q.partition_keys;
        query.after = q.after;
        query.until = q.until;
        query.limit = q.limit;
        query.way = q.way;
        query.filter = filter_;
        query.cursor = q.cursor;
        query.epoch = epoch_;
        return (*query_)(query);
    }

    [[nodiscard]] judged judge(const group& of, const asked& q, const answer& page) const {
        judged result;
        result.more = page.more;
        result.cursor = page.cursor;
        gave_cursors_ = gave_cursors_ || !page.cursor.empty();
        std::vector<position_type> rows;
        rows.reserve(page.items.size());
        for (const auto& item : page.items) {
            rows.push_back(order_->position_of(item));
        }
        result.wrong = unordered(q, rows);
        if (!result.wrong) {
            result.wrong = foreign(of, q, rows);
        }
        if (result.wrong) {
            return result;
        }
        result.repeated = q.after ? rank(rows, *q.after, q.way) : 0;
        result.rows = rows.size() - result.repeated;
        repeats_ = repeats_ || result.repeated != 0;
        overlong_ = overlong_ || rows.size() > q.limit;
        const positions fresh = positions{rows}.subspan(result.repeated);
        if (!fresh.empty()) {
            result.known = fresh.back();
        }
        look_further(q, page.scanned, result.known);
        result.wrong = incomplete(q, beyond(of, q), fresh, page.more, result.known);
        return result;
    }

    [[nodiscard]] std::optional<fault> unordered(const asked& q,
                                                 const std::vector<position_type>& rows) const {
        std::vector<bool> right;
        for (std::size_t i = 1; i < rows.size(); ++i) {
            right.push_back(before(rows[i - 1], rows[i], q.way));
        }
        const auto first =
            static_cast<std::size_t>(std::ranges::find(right, false) - right.begin());
        if (first == right.size()) {
            return std::nullopt;
        }
        return fault{v1::detail::concat(text(q), "the row at ", order_->text(rows[first + 1]),
                                        " comes after the one at ", order_->text(rows[first])),
                     adviser_.unordered(q, rows, right)};
    }

    [[nodiscard]] std::optional<fault> foreign(const group& of, const asked& q,
                                               const std::vector<position_type>& rows) const {
        const positions known = of.walked(q.way);
        for (const position_type& row : rows) {
            const std::size_t at = rank(known, row, q.way);
            if (at == 0 || known[at - 1] != row) {
                return fault{
                    v1::detail::concat(text(q), "the row at ", order_->text(row),
                                       " is none of those that are stored there"),
                    "answer with the rows of `partition_keys` only, and of `filter` if it is used; "
                    "keep values as they are (a rounded number or a trimmed text is another "
                    "position); and give this check every row that is stored there"};
            }
        }
        return std::nullopt;
    }

    /// Moves `known` on to where the store looked.
    template <class Item>
    void look_further(const asked& q, const std::optional<Item>& scanned,
                      std::optional<position_type>& known) const {
        if (scanned) {
            const std::optional<position_type>& from = known ? known : q.after;
            position_type at = order_->position_of(*scanned);
            if (!from || before(*from, at, q.way)) {
                known = std::move(at);
            }
        }
    }

    /// `rows` must be the first of `left`, with all up to `known`, and all up to `until` if there
    /// are no more.
    [[nodiscard]] std::optional<fault> incomplete(const asked& q, positions left, positions rows,
                                                  bool more,
                                                  const std::optional<position_type>& known) const {
        const std::size_t first =
            static_cast<std::size_t>(std::ranges::mismatch(rows, left).in1 - rows.begin());
        if (first != rows.size()) {
            const auto skipped = rank(left, rows[first], q.way) - 1 - first;
            return fault{v1::detail::concat(text(q), "the row at ", order_->text(left[first]),
                                            " is left out"),
                         adviser_.skipped(q, left, first, skipped, rows.size())};
        }
        if (first != left.size() && known && !before(*known, left[first], q.way)) {
            return fault{
                v1::detail::concat(text(q), "`scanned` is at ", order_->text(*known),
                                   ", and the row at ", order_->text(left[first]), " is left out"),
                "`scanned` is the last row that was looked at: answer with every row up to "
                "it that matches, or set it back to the last one before those that are cut "
                "off by `limit`"};
        }
        if (more || first == left.size() || (q.until && before(*q.until, left[first], q.way))) {
            return std::nullopt;
        }
        return fault{v1::detail::concat(text(q), rows.size(),
                                        " rows and no `more`, but the row at ",
                                        order_->text(left[first]), " follows"),
                     adviser_.ended_early(q, left, first, rows.size())};
    }

    [[nodiscard]] bool reached(const asked& q, const judged& one) const {
        return q.until && one.known && !before(*one.known, *q.until, q.way);
    }

    [[nodiscard]] fault endless(const asked& q, const judged& last, std::size_t left) const {
        return {v1::detail::concat(text(q), "answer after answer says `more` and brings ",
                                   last.repeated == 0 ? "no row" : "only rows up to `after`",
                                   ", and ", left, " follow"),
                adviser_.endless(q, last.repeated != 0, left)};
    }

    [[nodiscard]] judged failed(const asked& q, std::string_view what) const {
        judged result;
        result.wrong = fault{text(q) + std::string{what},
                             "throw only when the store can not answer: an unknown partition key, "
                             "an empty result, a missing `after` and several threads are ordinary"};
        return result;
    }

    [[nodiscard]] std::string text(const asked& q) const { return question_text(*order_, q); }

    const Order* order_;
    const Query* query_;
    std::string shard_;
    std::string filter_;
    epoch epoch_;
    adviser<Order> adviser_;
    std::size_t most_calls_;
    mutable std::atomic<bool> repeats_ = false;
    mutable std::atomic<bool> overlong_ = false;
    mutable std::atomic<bool> gave_cursors_ = false;
};

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
