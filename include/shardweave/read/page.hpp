// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_PAGE_HPP
#define SHARDWEAVE_READ_PAGE_HPP

/// What a read is asked to be, and what a page of it is.

#include <shardweave/core/error.hpp>
#include <shardweave/core/retry.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/asking.hpp>
#include <shardweave/read/attempts.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/item_traits.hpp>
#include <shardweave/read/on_failure.hpp>
#include <shardweave/read/stats.hpp>
#include <shardweave/read/task_runner.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// What one query covers.
enum class grouping : std::uint8_t {
    /// One partition key: any store.
    per_partition_key,
    /// All partition keys of a shard, merged by the store: fewer round trips for those that can.
    /// A key that has several live schemes is still asked by partition key: two copies of an item
    /// in one answer could not be told apart.
    per_shard,
};

/// One key, or several whose items are read as one list (a feed from the authors that someone
/// follows). `unique(…)` must then tell items of different keys apart, too.
class key_set {
public:
    template <class Text>
        requires std::convertible_to<const Text&, std::string_view>
    key_set(const Text& key) : keys_{std::string{static_cast<std::string_view>(key)}} {}

    key_set(std::initializer_list<std::string_view> keys) : keys_(keys.begin(), keys.end()) {}

    template <std::ranges::input_range Range>
        requires(!std::convertible_to<const Range&, std::string_view> &&
                 std::convertible_to<std::ranges::range_reference_t<Range>, std::string_view>)
    key_set(Range&& keys) {
        for (auto&& key : keys) {
            keys_.emplace_back(static_cast<std::string_view>(key));
        }
    }

    [[nodiscard]] const std::vector<std::string>& keys() const noexcept { return keys_; }

private:
    std::vector<std::string> keys_;
};

/// Where new rows come in a list.
enum class growth : std::uint8_t {
    anywhere,
    /// Before all others, as in a list that is newest first and to which nothing older is added: a
    /// source that had no more rows is not asked again on later pages.
    in_front,
};

/// How a fan-out reads.
template <class Item>
struct fan_out_options {
    /// The most queries at a time. 1 runs them one after another on the calling thread; more run
    /// them on other threads, and then the callback must allow concurrent calls.
    std::size_t concurrency = 1;
    /// Other threads to run them on; nothing: threads that end with the call.
    task_runner run_on{};
    shardweave::grouping grouping = shardweave::grouping::per_partition_key;
    shardweave::on_failure on_failure = shardweave::on_failure::fail;
    item_traits<Item> items{};
    shardweave::asking asking{};
    shardweave::growth growth = shardweave::growth::anywhere;
    attempt_options attempts{};
    /// What retries and hedges may cost; nothing: budgets of the fan-out's own.
    std::shared_ptr<attempt_budgets> budgets{};
};

/// Positions between which a read stays, in the order's own direction, both excluded; made by
/// `fan_out::between`.
struct read_range {
    /// Order-preserving bytes; nothing is no bound.
    std::optional<std::string> after{};
    std::optional<std::string> before{};
};

/// What a page is asked to be.
struct page_options {
    /// Items of the page; may differ from page to page. 0 asks nothing.
    std::size_t limit = 20;
    /// `next` or `previous` of a page, or what a sealer opened; nothing for the first page.
    std::optional<cursor> from{};
    /// Handed to the callback as it is, and bound to the cursors.
    std::string filter{};
    /// The times to read. An order that is `timed` leaves out rows of other times; with any other,
    /// only keys that are split by time heed it: windows of other times are not asked. It may move
    /// between pages; what a page has left behind, by its items or by its budget, is not read
    /// again.
    time_range within{};
    /// The positions to read. It may move between pages.
    read_range range{};
    /// For a `timed` order: nothing later is shown, on this page and those that follow it. Their
    /// cursors keep it. It does not hide rows of earlier times that are added later.
    std::optional<item_time> as_of{};
    read_budget budget{};
    /// When the page is no longer wanted: it fails with `errc::deadline_exceeded`, or ends early as
    /// `on_failure` says.
    shardweave::deadline deadline{};
    /// Stopped, the page fails with `errc::cancelled`.
    std::stop_token stop{};
};

/// What a stream reads before it is asked for.
enum class prefetch : std::uint8_t {
    nothing,
    /// The next chunk's first round, while the chunk before it is used. Needs a concurrency of 2 or
    /// more; the memory's bound stays the same.
    next_round,
};

/// What a stream is asked to be.
struct stream_options {
    /// Items that are read at a time: bounds the memory, and the requests.
    std::size_t chunk = 256;
    std::optional<cursor> from{};
    std::string filter{};
    /// As of a page.
    time_range within{};
    read_range range{};
    std::optional<item_time> as_of{};
    /// Of the whole stream.
    shardweave::deadline deadline{};
    std::stop_token stop{};
    shardweave::prefetch prefetch = shardweave::prefetch::nothing;
};

/// One page.
template <class Item>
struct read_page {
    /// In the order, in whichever direction the page was reached.
    std::vector<Item> items;
    /// Goes on after the page. Nothing at the certain end; a full last page can not be certain, so
    /// the page after it may be empty.
    std::optional<cursor> next;
    /// Goes back, likewise. Nothing for the first page.
    std::optional<cursor> previous;
    /// The sources that failed. With `on_failure::prefix`, the page ends before the first row that
    /// they could have had, and `next` (backward: `previous`) tries them again; with `skip`, it is
    /// without them.
    std::vector<error> failures;
    /// Why there are no more items.
    page_end ended = page_end::full;
    read_stats stats;

    /// False when sources failed, or the budget was spent.
    [[nodiscard]] bool complete() const noexcept {
        return failures.empty() && ended != page_end::budget;
    }
};

}  // namespace v1
}  // namespace shardweave

#endif
