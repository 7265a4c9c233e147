// SPDX-License-Identifier: BSL-1.0
#include <shardweave/shardweave.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "support/generate.hpp"

// The second law: whatever the shards, page sizes, ties, filters, short and empty answers, and
// however buckets move and schemes grow between two pages, the pages put together are the sorted
// whole, each item once. It is checked page by page against a list that is sorted in one go.

namespace sw = shardweave;
using test_support::generator;

namespace {

struct row {
    std::int64_t created_at = 0;
    std::string id;
    unsigned tag = 0;
    std::uint64_t revision = 0;
    bool deleted = false;
};

/// How a store behaves, all of it allowed.
struct manners {
    bool short_answers = false;
    bool empty_answers = false;
    bool repeats_known_rows = false;
    bool ignores_until = false;
    bool more_when_full = false;
    bool gives_too_many = false;
    bool fails = false;
    /// Goes on from its own cursor when it is given one, and from nothing else then.
    bool by_cursor = false;
    /// Tells how far it looked when it found nothing.
    bool tells_scanned = false;
};

template <class Order>
class world {
public:
    using position_type = typename Order::position_type;
    using query = sw::shard_query<position_type>;

    world(const Order& order, std::uint64_t seed) : order_(order), draw_(seed) {
        const unsigned shards = 1 + draw_.below(5U);
        std::vector<std::string> names;
        for (unsigned i = 0; i != shards; ++i) {
            names.push_back("db" + std::to_string(i));
        }
        const unsigned keys = draw_.chance(70) ? 1 : 2 + draw_.below(3U);
        sw::scheme_table schemes{sw::calculated(1 + draw_.below(3U))};
        for (unsigned i = 0; i != keys; ++i) {
            keys_.push_back("key-" + std::to_string(i));
            if (draw_.chance(60)) {
                schemes = std::move(schemes).with(keys_.back(), scheme());
            }
            // What is from before a scheme with times goes to the one before it.
            if (Order::timed && draw_.chance(70)) {
                auto fresh = scheme_by_time(schemes, keys_.back());
                schemes = std::move(schemes).grow(keys_.back(), std::move(fresh));
            }
        }
        const auto mode = static_cast<sw::suffix>(1 + draw_.below(3U));
        router_.emplace(sw::routing_table{std::move(schemes),
                                          sw::shard_map::even(names, 64),
                                          {sw::epoch{1}, sw::key_format{"{key}:b{bucket}", mode}}});
        with_copies_ = draw_.chance(20);
        with_tombstones_ = draw_.chance(20);
        manners_ = {draw_.chance(30), draw_.chance(20), draw_.chance(20),
                    draw_.chance(30), draw_.chance(30), draw_.chance(10),
                    draw_.chance(15), draw_.chance(25), draw_.chance(30)};
        in_front_ = draw_.chance(25);
        for (unsigned left = draw_.below(60U); left != 0; --left) {
            insert();
        }
    }

    [[nodiscard]] generator& draw() { return draw_; }
    [[nodiscard]] sw::router& router() { return *router_; }
    [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }
    [[nodiscard]] const manners& behaviour() const { return manners_; }
    /// New rows are newer than all others. (Not, for the tie-break, within the newest two.)
    [[nodiscard]] bool in_front() const { return in_front_; }
    [[nodiscard]] bool plain_spoken() const { return !with_tombstones_ && !with_copies_; }
    [[nodiscard]] bool full_answers() const {
        // From its own cursor a store repeats the rows up to the boundary, and gives fewer new
        // ones.
        return !manners_.short_answers && !manners_.empty_answers && !manners_.by_cursor;
    }

    /// Partition keys that a read asks.
    [[nodiscard]] std::size_t sources() const {
        std::size_t count = 0;
        for (const std::string& key : keys_) {
            count += targets(*router_->pin(), key).size();
        }
        return count;
    }

    /// All times that rows have; everything, where an order knows no times.
    [[nodiscard]] sw::time_range times() const {
        return Order::timed ? sw::time_range{hour(first_hour()), hour(first_hour() + 60)}
                            : sw::time_range{};
    }
    /// Some of them, or none.
    [[nodiscard]] sw::time_range some_times() {
        if (!Order::timed || draw_.chance(40)) {
            return times();
        }
        const std::int64_t from = first_hour() + draw_.below(14U);
        return {hour(from), hour(from + draw_.below(20U))};
    }

    /// The sorted whole of these times, as one store without shards would give it.
    [[nodiscard]] std::vector<row> whole(std::string_view filter,
                                         const sw::time_range& within) const {
        std::vector<row> rows;
        for (const row& each : truth_) {
            if (!each.deleted && matches(each, filter) && within.contains(hour(each.created_at))) {
                rows.push_back(each);
            }
        }
        std::ranges::sort(rows,
                          [this](const row& a, const row& b) { return order_.compare(a, b) < 0; });
        return rows;
    }

    void insert() {
        row fresh{first_hour() +
                      static_cast<std::int64_t>(in_front_ ? next_id_ / 2 : draw_.below(12U)),
                  "id" + std::to_string(next_id_++), draw_.below(3U), 1, false};
        const std::string& key = draw_.pick(keys_);
        put(place_of(key, fresh), fresh);
        truth_.push_back(fresh);
        key_of_[fresh.id] = key;
    }

    /// Whatever an owner may do between two pages.
    void disturb() {
        switch (draw_.below(6U)) {
            case 0: grow(); break;
            case 1: move_slot(); break;
            case 2: insert(); break;
            case 3: remove(); break;
            case 4: copy_to_newest(); break;
            default: break;
        }
    }

    /// What an owner may do without changing any item.
    void reroute() { draw_.chance(50) ? grow() : move_slot(); }

    /// The user's callback.
    [[nodiscard]] sw::shard_page<row> answer(const query& q) const {
        const bool backward = q.way == sw::scan::backward;
        std::vector<row> rows;
        for (const std::string& key : q.partition_keys) {
            if (const auto at = stores_.find({q.shard, key}); at != stores_.end()) {
                for (const row& each : at->second) {
                    if (matches(each, q.filter)) {
                        rows.push_back(each);
                    }
                }
            }
        }
        std::ranges::sort(rows, [&](const row& a, const row& b) {
            return backward ? order_.compare(b, a) < 0 : order_.compare(a, b) < 0;
        });
        const auto walked = [&](const auto& a, const auto& b) {
            return backward ? order_.compare(b, a) : order_.compare(a, b);
        };
        std::optional<typename Order::position_type> after = q.after;
        if (manners_.by_cursor && !q.cursor.empty()) {
            after = place_of(q);
        }
        auto first = std::ranges::find_if(
            rows, [&](const row& each) { return !after || walked(each, *after) > 0; });
        const auto until = std::find_if(first, rows.end(), [&](const row& each) {
            return q.until && !manners_.ignores_until && walked(each, *q.until) > 0;
        });
        const std::uint64_t call = calls_.fetch_add(1);
        // A page over many windows makes many calls, and is to succeed now and then.
        if (manners_.fails && generator{call}.below(Order::timed ? 500U : 30U) == 0) {
            throw std::runtime_error{"the store is away"};
        }
        std::size_t most = q.limit;
        if (manners_.short_answers && call % 3 == 0) {
            most = 1 + call % q.limit;
        }
        if (manners_.gives_too_many && call % 4 == 0) {
            most += 2;
        }
        sw::shard_page<row> page;
        // Never without a cursor: that could be said again and again.
        if (manners_.empty_answers && call % 3 == 1 && (after || !manners_.by_cursor)) {
            page.more = true;
            if (manners_.by_cursor) {
                page.cursor = cursor_at(q, *after) + ' ' + std::to_string(call);
            } else {
                page.cursor = "scanned-" + std::to_string(call);
            }
            if (manners_.tells_scanned && first != rows.begin()) {
                page.scanned = first[-1];
            }
            return page;
        }
        const auto available = static_cast<std::size_t>(until - first);
        const auto last = first + static_cast<std::ptrdiff_t>(std::min(most, available));
        page.more = available > most || (manners_.more_when_full && available == most);
        if (manners_.repeats_known_rows && first != rows.begin() && call % 2 == 0) {
            --first;
        }
        page.items.assign(first, last);
        if (manners_.by_cursor && page.more && !page.items.empty()) {
            page.cursor = cursor_at(q, order_.position_of(page.items.back()));
        }
        return page;
    }

    std::function<bool(const row&)> deleted() const {
        return with_tombstones_ ? [](const row& each) { return each.deleted; }
                                : std::function<bool(const row&)>{};
    }
    [[nodiscard]] bool groupable() const { return !with_copies_; }

private:
    [[nodiscard]] static sw::item_time hour(std::int64_t count) {
        return sw::item_time{std::chrono::sys_time<std::chrono::hours>{std::chrono::hours{count}}};
    }
    [[nodiscard]] std::int64_t first_hour() const { return in_front_ ? 100 : 0; }

    [[nodiscard]] sw::placement place_of(const std::string& key, const row& each) const {
        if constexpr (Order::timed) {
            return router_->place(key, each.id, hour(each.created_at));
        } else {
            return router_->place(key, each.id);
        }
    }
    [[nodiscard]] auto candidates(const row& each) const {
        const sw::time_range all{};
        return router_->candidates(key_of_.at(each.id), each.id,
                                   Order::timed ? hour(each.created_at) : all);
    }
    [[nodiscard]] auto targets(const sw::routing_table& table, const std::string& key) const {
        return table.targets(key, times());
    }

    /// No scheme begins before the one that it follows.
    sw::bucket_scheme scheme_by_time(const sw::scheme_table& schemes, const std::string& key) {
        const std::uint32_t buckets = 1 + draw_.below(5U);
        const sw::item_time since =
            std::max(hour(first_hour() + draw_.below(10U)),
                     schemes.history(key).writer().since().value_or(sw::item_time::min()));
        return draw_.chance(30) ? sw::calculated(buckets, {.since = since})
                                : sw::time_windowed(std::chrono::hours{1 + draw_.below(9U)},
                                                    sw::calculated(buckets, {.since = since}));
    }
    sw::bucket_scheme scheme() {
        const std::uint32_t buckets = 1 + draw_.below(8U);
        return draw_.chance(25) ? sw::random(buckets) : sw::calculated(buckets);
    }

    /// A cursor is good for this place, as long as nothing moves.
    [[nodiscard]] static std::string place(const query& q) {
        std::string text = std::to_string(q.epoch.value()) + q.shard + std::string{q.filter} +
                           (q.way == sw::scan::forward ? '>' : '<');
        for (const std::string& key : q.partition_keys) {
            text += key + ',';
        }
        return text;
    }
    [[nodiscard]] std::string cursor_at(const query& q,
                                        const typename Order::position_type& at) const {
        return place(q) + '|' + std::to_string(get<0>(at)) + '|' + get<1>(at);
    }
    [[nodiscard]] typename Order::position_type place_of(const query& q) const {
        const std::string text{q.cursor};
        const std::string here = place(q) + '|';
        if (!text.starts_with(here)) {
            throw std::logic_error{"a store cursor of another place: " + text};
        }
        const std::size_t bar = text.find('|', here.size());
        row at{std::stoll(text.substr(here.size(), bar - here.size())),
               text.substr(bar + 1, text.find(' ', bar) - bar - 1)};
        return order_.position_of(at);
    }

    static bool matches(const row& each, std::string_view filter) {
        return filter.empty() || std::to_string(each.tag) == filter;
    }

    void put(const sw::placement& at, const row& each) {
        auto& rows = stores_[{at.shard, at.partition_key.str()}];
        std::erase_if(rows, [&](const row& old) { return old.id == each.id; });
        rows.push_back(each);
    }

    void grow() {
        const auto table = router_->pin();
        const std::string& key = draw_.pick(keys_);
        if (targets(*table, key).size() < 24) {
            const auto fresh =
                Order::timed && draw_.chance(50) ? scheme_by_time(table->schemes(), key) : scheme();
            std::ignore = router_->publish(table->with_schemes(table->schemes().grow(key, fresh)));
        }
    }

    void move_slot() {
        const auto table = router_->pin();
        const auto all = targets(*table, draw_.pick(keys_));
        const sw::target& moving = draw_.pick(all);
        const std::string& to = draw_.pick(table->shards().names());
        // All partition keys of the slot move along.
        std::map<std::pair<std::string, std::string>, std::vector<row>> next;
        for (auto& [place, rows] : stores_) {
            const bool moves = table->shards().slot_of(place.second) == moving.slot;
            next[{moves ? to : place.first, place.second}] = std::move(rows);
        }
        stores_ = std::move(next);
        std::ignore =
            router_->publish(table->with_shards(table->shards().with_owner(moving.slot, to)));
    }

    void remove() {
        if (truth_.empty()) {
            return;
        }
        row& gone = truth_[draw_.below(truth_.size())];
        if (with_tombstones_) {
            // The tombstone hides the copies that older schemes may still hold.
            gone.deleted = true;
            gone.revision = 1'000 + calls_;
            for (const auto& at : candidates(gone)) {
                auto rows = stores_.find({at.shard, at.partition_key.str()});
                if (rows != stores_.end() &&
                    std::ranges::find(rows->second, gone.id, &row::id) != rows->second.end()) {
                    put(at, gone);
                    return;
                }
            }
            return;
        }
        const std::string id = gone.id;
        std::erase_if(truth_, [&](const row& each) { return each.id == id; });
        for (auto& [place, rows] : stores_) {
            std::erase_if(rows, [&](const row& each) { return each.id == id; });
        }
    }

    /// A migration's copy: the item is in two places for a while.
    void copy_to_newest() {
        if (!with_copies_ || truth_.empty()) {
            return;
        }
        const row& copied = truth_[draw_.below(truth_.size())];
        if (!copied.deleted) {
            put(place_of(key_of_.at(copied.id), copied), copied);
        }
    }

    Order order_;
    generator draw_;
    std::optional<sw::router> router_;
    std::vector<std::string> keys_;
    std::vector<row> truth_;
    std::map<std::string, std::string> key_of_;
    std::map<std::pair<std::string, std::string>, std::vector<row>> stores_;
    manners manners_;
    bool in_front_ = false;
    bool with_copies_ = false;
    bool with_tombstones_ = false;
    unsigned next_id_ = 0;
    mutable std::atomic<std::uint64_t> calls_{0};
};

/// The rows of `whole` that a page of `limit` must have, from a boundary.
template <class Order>
std::vector<row> expected_page(const Order& order, const std::vector<row>& whole, sw::scan way,
                               const std::optional<row>& boundary, std::size_t limit) {
    std::vector<row> found;
    if (way == sw::scan::forward) {
        for (const row& each : whole) {
            if ((!boundary || order.compare(each, *boundary) > 0) && found.size() < limit) {
                found.push_back(each);
            }
        }
        return found;
    }
    for (auto each = whole.rbegin(); each != whole.rend(); ++each) {
        if ((!boundary || order.compare(*each, *boundary) < 0) && found.size() < limit) {
            found.push_back(*each);
        }
    }
    std::ranges::reverse(found);
    return found;
}

std::vector<std::string> ids(const std::vector<row>& rows) {
    std::vector<std::string> out;
    out.reserve(rows.size());
    for (const row& each : rows) {
        out.push_back(each.id);
    }
    return out;
}

/// The page, asked for again as long as a store fails: a failed read leaves its cursor as it was.
template <class Reader, class Options>
auto page_at_last(const Reader& reader, const std::vector<std::string>& keys, Options& options) {
    for (int tries = 1;; ++tries) {
        try {
            return reader.page(keys, options);
        } catch (const sw::failure& failed) {
            if (options.budget.requests != sw::read_budget{}.requests &&
                (failed.code() == sw::errc::invalid_options ||
                 failed.code() == sw::errc::no_progress)) {
                options.budget = {};  // fewer requests than sources, or than a page needs
            } else if (tries == 1'000 || failed.code() != sw::errc::shard_failed ||
                       !failed.reason().detail.starts_with("the store is away")) {
                throw;
            }
        }
    }
}

/// One traversal: mostly forward, now and then back, the world changing between the pages.
template <class Order>
void traverse(const Order& order, std::uint64_t seed, std::size_t concurrency) {
    INFO("traversal with seed " << seed << ", concurrency " << concurrency);
    world<Order> w{order, seed};
    generator& draw = w.draw();
    const bool per_shard = w.groupable() && draw.chance(30);
    const auto ask = [&](const auto& q) { return w.answer(q); };
    const auto how = sw::asking{.fetch = static_cast<sw::fetch>(draw.below(3U)),
                                .billing_unit = 1 + (draw.chance(20) ? draw.below(6U) : 0U),
                                .buffered_rows = draw.chance(10) ? 1 + draw.below(60U)
                                                                 : sw::limits::buffered_rows};
    const bool newest_first =
        order.compare(row{2, "a"}, row{1, "b"}) < 0 && order.compare(row{1, "b"}, row{1, "a"}) < 0;
    const auto growth = w.in_front() && newest_first ? sw::growth::in_front : sw::growth::anywhere;
    const auto on_failure = draw.chance(50) ? sw::on_failure::fail : sw::on_failure::prefix;
    const sw::fan_out reader{
        w.router(),
        order,
        ask,
        {.concurrency = concurrency,
         .grouping = per_shard ? sw::grouping::per_shard : sw::grouping::per_partition_key,
         .on_failure = on_failure,
         .items = {.revision = &row::revision, .deleted = w.deleted()},
         .asking = how,
         .growth = growth}};
    const sw::checksummed sealer;
    const std::string filter = draw.chance(20) ? "1" : "";
    const bool disturbed = draw.chance(60);
    sw::time_range within = w.some_times();
    // The first page pins the list to it, and those that follow know it from their cursors.
    const auto as_of = Order::timed && draw.chance(20)
                           ? std::optional{sw::item_time{w.times().since.sys() +
                                                         std::chrono::hours{draw.below(15U)}}}
                           : std::nullopt;

    std::optional<sw::cursor> from;
    sw::scan way = sw::scan::forward;
    std::optional<row> boundary;
    bool cut_short = false;
    for (unsigned step = 0; step != 80; ++step) {
        const std::size_t limit = draw.chance(10) ? 100 : 1 + draw.below(9U);
        // What a budget has left behind is not read again, whatever is read then.
        if (Order::timed && !cut_short && draw.chance(10)) {
            within = w.some_times();
        }
        sw::page_options with{.limit = limit,
                              .from = from,
                              .filter = filter,
                              .within = within,
                              .as_of = from ? std::nullopt : as_of};
        sw::time_range shown = within;
        if (as_of) {
            shown.until = std::min(shown.until, static_cast<sw::time_range>(*as_of).until);
        }
        if (!disturbed && draw.chance(20)) {
            with.budget = {.rows = 20 + draw.below(100U), .requests = 8 + draw.below(20U)};
        }
        const auto page = page_at_last(reader, w.keys(), with);
        REQUIRE(page.stats.requests <= with.budget.requests);
        cut_short = page.ended == sw::page_end::budget;
        auto want = expected_page(order, w.whole(filter, shown), way, boundary, limit);
        if (!page.complete() && page.items.size() < want.size()) {
            // A prefix in the walked direction, and what it lacks is still to come.
            const auto cut = static_cast<std::ptrdiff_t>(want.size() - page.items.size());
            way == sw::scan::forward ? want.erase(want.end() - cut, want.end())
                                     : want.erase(want.begin(), want.begin() + cut);
        }
        if (ids(page.items) != ids(want)) {
            REQUIRE(ids(page.items) == ids(want));
        }
        // Of an order by time, each window that is reached has its two rounds.
        if (!Order::timed && w.full_answers() && w.plain_spoken() && how.buffered_rows > 60 &&
            with.budget.requests > 1'000 &&
            (page.stats.rounds > 2 || page.stats.requests > 2 * w.sources())) {
            REQUIRE(page.stats.rounds <= 2);
            REQUIRE(page.stats.requests <= 2 * w.sources());
        }
        if (page.stats.rows_returned != page.items.size()) {
            REQUIRE(page.stats.rows_returned == page.items.size());
        }
        if (!from && page.previous) {
            REQUIRE_FALSE(page.previous);
        }
        // No way on means that there is nothing on there.
        if (way == sw::scan::forward ? !page.next : !page.previous) {
            const auto edge = page.items.empty()
                                  ? boundary
                                  : std::optional{way == sw::scan::forward ? page.items.back()
                                                                           : page.items.front()};
            const auto rest = expected_page(order, w.whole(filter, shown), way, edge, 1);
            if (!rest.empty()) {
                REQUIRE(ids(rest).empty());
            }
        }
        // On, or now and then back.
        const bool turn_back = draw.chance(12);
        const bool forward = (way == sw::scan::forward) != turn_back;
        const auto& chosen = forward ? page.next : page.previous;
        if (!chosen) {
            break;
        }
        const auto keep_going = [&] {
            if (page.items.empty()) {
                // On from an empty page is nowhere new; back from it is the list's other end, or
                // the row that it started after, where a budget ended it.
                if (!turn_back || page.ended != sw::page_end::budget) {
                    return turn_back ? std::nullopt : boundary;
                }
                const auto rest = expected_page(order, w.whole(filter, shown), way, boundary, 1);
                return rest.empty() ? std::nullopt : std::optional{rest.front()};
            }
            return std::optional{forward ? page.items.back() : page.items.front()};
        };
        boundary = keep_going();
        way = forward ? sw::scan::forward : sw::scan::backward;
        from = chosen;
        if (draw.chance(30)) {
            from = sealer.open(sealer.seal(*chosen, "tenant"), "tenant");
        }
        if (disturbed) {
            w.disturb();
        }
    }
}

/// The same through `stream`, the table being replaced in the middle.
template <class Order>
void stream_through(const Order& order, std::uint64_t seed) {
    INFO("stream with seed " << seed);
    world<Order> w{order, seed};
    const auto ask = [&](const auto& q) {
        for (;;) {
            try {
                return w.answer(q);
            } catch (const std::runtime_error&) {
                continue;  // a stream ends with its failure; a patient callback spares it that
            }
        }
    };
    const sw::fan_out reader{
        w.router(), order, ask, {.items = {.revision = &row::revision, .deleted = w.deleted()}}};
    const auto within = w.some_times();
    const auto whole = w.whole("", within);
    std::vector<row> got;
    for (const row& each :
         reader.stream(w.keys(), {.chunk = 1 + w.draw().below(20U), .within = within})) {
        got.push_back(each);
        if (w.draw().chance(10)) {
            w.reroute();
        }
    }
    if (ids(got) != ids(whole)) {
        REQUIRE(ids(got) == ids(whole));
    }
}

}  // namespace

TEST_CASE("pages put together are the sorted whole, each item once, whatever happens between them",
          "[reading][law]") {
    INFO(test_support::replay());
    const auto newest = sw::newest_first(&row::created_at, sw::unique(&row::id));
    const auto oldest = sw::oldest_first(&row::created_at, sw::unique(&row::id));
    const auto mixed = sw::order_by(sw::descending(&row::created_at), sw::unique(&row::id));
    const std::size_t traversals = test_support::scaled(100'000);
    generator seeds;
    for (std::size_t i = 0; i < traversals; ++i) {
        // Threads are slow to start: one traversal in thirty runs on eight.
        const std::size_t concurrency = i % 30 == 0 ? 8 : 1;
        switch (i % 4) {
            case 0:
            case 1: traverse(newest, seeds(), concurrency); break;
            case 2: traverse(oldest, seeds(), concurrency); break;
            default: traverse(mixed, seeds(), concurrency); break;
        }
    }
    SUCCEED(traversals);
}

TEST_CASE("pages of windows put together are the sorted whole, whatever happens between them",
          "[reading][law]") {
    INFO(test_support::replay());
    const auto time = sw::timed<std::chrono::hours>(&row::created_at);
    const auto newest = sw::newest_first(time, sw::unique(&row::id));
    const auto oldest = sw::oldest_first(time, sw::unique(&row::id));
    const std::size_t traversals = test_support::scaled(30'000);
    generator seeds{test_support::seed() + 2};
    for (std::size_t i = 0; i < traversals; ++i) {
        const std::size_t concurrency = i % 30 == 0 ? 4 : 1;
        i % 2 == 0 ? traverse(newest, seeds(), concurrency)
                   : traverse(oldest, seeds(), concurrency);
        if (i % 10 == 0) {
            stream_through(newest, seeds());
        }
    }
    SUCCEED(traversals);
}

TEST_CASE("a stream is the sorted whole, each item once", "[reading][law]") {
    INFO(test_support::replay());
    const auto newest = sw::newest_first(&row::created_at, sw::unique(&row::id));
    const std::size_t streams = test_support::scaled(10'000);
    generator seeds{test_support::seed() + 1};
    for (std::size_t i = 0; i < streams; ++i) {
        stream_through(newest, seeds());
    }
    SUCCEED(streams);
}
