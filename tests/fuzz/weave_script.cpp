// SPDX-License-Identifier: BSL-1.0
// Shards that answer as the input says. Honest ones, however awkward, are read as the sorted whole;
// hostile ones end in a typed failure or in pages that still increase, after a bounded number of
// queries.
#include <shardweave/read/fan_out.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;

namespace {

struct row {
    std::uint8_t at = 0;
    std::uint8_t id = 0;

    friend bool operator==(const row&, const row&) = default;
};

const auto order = sw::order_by(sw::descending(&row::at), sw::unique(&row::id));
using position = decltype(order)::position_type;
using query = sw::shard_query<position>;
using page = sw::shard_page<row>;

bool before(const row& a, const row& b) { return order.compare(a, b) < 0; }

const sw::router& router_of(std::size_t shards) {
    static const std::array<sw::router, 4> routers{
        sw::router{test_support::spread("k", 1)}, sw::router{test_support::spread("k", 2)},
        sw::router{test_support::spread("k", 3)}, sw::router{test_support::spread("k", 4)}};
    return routers[shards - 1];
}

/// The shards, and the script by which they answer.
class world {
public:
    explicit world(fuzz::choices& in)
        : in_(&in), hostile_(in.byte() % 2 == 1), fails_(in.byte() % 4 == 1),
          rows_(1 + in.below(4)) {
        for (unsigned id = in.below(40); id != 0; --id) {
            const std::uint8_t where = in.byte();
            const row one{static_cast<std::uint8_t>(where / 16 % 8), static_cast<std::uint8_t>(id)};
            rows_[where % rows_.size()].push_back(one);
            if (where >= 240) {  // a copy, as while buckets move
                rows_[(where + 1U) % rows_.size()].push_back(one);
            }
        }
        for (auto& shard : rows_) {
            std::ranges::sort(shard, before);
            shard.erase(std::ranges::unique(shard).begin(), shard.end());
            whole_.insert(whole_.end(), shard.begin(), shard.end());
        }
        std::ranges::sort(whole_, before);
        whole_.erase(std::ranges::unique(whole_).begin(), whole_.end());
        // Each choice of the input may cost some queries, and each row may be asked for by itself;
        // eight idle answers, or three times a cycle of cursors, end a source.
        most_calls_ = 2000 + 16 * in.left() + 64 * whole_.size() * rows_.size();
    }

    [[nodiscard]] bool hostile() const { return hostile_; }
    [[nodiscard]] bool fails() const { return fails_; }
    [[nodiscard]] std::size_t shards() const { return rows_.size(); }
    [[nodiscard]] const std::vector<row>& whole() const { return whole_; }

    [[nodiscard]] page answer(const query& q) {
        fuzz::must(++calls_ <= most_calls_, "queries are bounded");
        fuzz::must(q.limit != 0 && q.partition_keys.size() == 1, "a query asks for something");
        const std::size_t shard = static_cast<std::size_t>(q.shard.back() - '0');
        const std::uint8_t how = in_->byte();
        if (fails_ && how % 8 == 7) {
            throw std::runtime_error{"the shard is away"};
        }
        page mine = honest(rows_[shard], q, how);
        if (hostile_) {
            distort(mine, q);
        }
        return mine;
    }

private:
    /// What is allowed: short and empty answers, rows that are known, rows beyond the bounds.
    [[nodiscard]] page honest(const std::vector<row>& rows, const query& q, std::uint8_t how) {
        const bool forward = q.way == sw::scan::forward;
        const auto beyond = [&](const row& a, const position& b) {
            return forward ? order.compare(a, b) > 0 : order.compare(a, b) < 0;
        };
        std::vector<row> walked = rows;
        if (!forward) {
            std::ranges::reverse(walked);
        }
        page mine;
        const bool ignores_until = how % 2 == 1;
        std::size_t known = 0;
        for (const row& each : walked) {
            const bool is_known = q.after && !beyond(each, *q.after);
            known += is_known ? 1U : 0U;
            if (!is_known && (ignores_until || !q.until || !beyond(each, *q.until))) {
                mine.items.push_back(each);
            }
        }
        std::size_t most = q.limit;
        std::size_t repeated = 0;
        switch (how / 8 % 5) {
            case 1: most = 1 + how / 64; break;
            case 2: most += 2; break;
            case 3:  // nothing yet, three times, with the cursors of each question alike
                if (const int given = q.cursor.empty() ? 0 : q.cursor.front() - '0'; given < 3) {
                    return {.items = {}, .more = true, .cursor = std::to_string(given + 1)};
                }
                break;
            case 4:  // some that are known already
                mine.items.insert(mine.items.begin(),
                                  walked.begin() + static_cast<std::ptrdiff_t>(known / 2),
                                  walked.begin() + static_cast<std::ptrdiff_t>(known));
                repeated = known - known / 2;
                most += repeated;
                break;
            default: break;
        }
        mine.more = mine.items.size() > most || (how >= 128 && mine.items.size() > repeated);
        mine.items.resize(std::min(most, mine.items.size()));
        if (how / 16 % 4 == 2 && mine.more && !mine.items.empty()) {
            mine.scanned = mine.items.back();
        }
        return mine;
    }

    void distort(page& mine, const query& q) {
        switch (in_->byte()) {
            case 1: mine.more = true; break;
            case 2: mine.more = false; break;
            case 3: std::ranges::reverse(mine.items); break;
            case 4: mine.items.clear(); break;
            case 5: mine.cursor = std::string(1, static_cast<char>(in_->byte() % 4)); break;
            case 6: mine.cursor = std::string(in_->text()); break;
            case 7: mine = {.items = {}, .more = true, .cursor = std::string{q.cursor}}; break;
            case 8:  // the other one of two
                mine = {.items = {}, .more = true, .cursor = q.cursor == "a" ? "b" : "a"};
                break;
            case 9: mine.items.insert(mine.items.end(), 3, any_row()); break;
            case 10: mine.items = {any_row(), any_row()}; break;
            case 11: mine.scanned = any_row(); break;
            case 12: mine.items = whole_; break;
            case 13:
                if (!mine.items.empty()) {
                    mine.items.front() = any_row();
                }
                break;
            case 14: throw 14;
            default: break;
        }
    }

    row any_row() { return {static_cast<std::uint8_t>(in_->byte() % 8), in_->byte()}; }

    fuzz::choices* in_;
    bool hostile_;
    bool fails_;
    std::vector<std::vector<row>> rows_;
    std::vector<row> whole_;
    std::size_t most_calls_ = 0;
    std::size_t calls_ = 0;
};

void check_code(const world& shards, const sw::failure& thrown) {
    const sw::errc code = thrown.code();
    fuzz::must(code == sw::errc::shard_failed || code == sw::errc::unordered_source ||
                   code == sw::errc::no_progress,
               "a read fails for what a shard did");
    fuzz::note(thrown.what());
    fuzz::must(shards.hostile() || (shards.fails() && code == sw::errc::shard_failed),
               "shards that keep their promises do not fail a read");
}

bool increasing(const std::vector<row>& rows) {
    return std::ranges::adjacent_find(
               rows, [](const row& a, const row& b) { return !before(a, b); }) == rows.end();
}

template <class Reader>
void read_pages(const Reader& reader, world& shards, fuzz::choices& in, sw::on_failure how) {
    std::vector<row> all;
    std::optional<sw::cursor> from;
    const std::size_t limit = 1 + in.below(12);
    // A page that fails, or that a failure cuts short, took one byte of the script at least.
    for (std::size_t left = 400 + in.left(); left != 0; --left) {
        sw::read_page<row> got;
        try {
            got = reader.page("k", {.limit = limit, .from = from});
        } catch (const sw::failure& thrown) {
            check_code(shards, thrown);
            if (shards.hostile()) {
                return;
            }
            continue;  // the cursor is as good as before
        }
        fuzz::must(got.items.size() <= limit, "a page is not longer than its limit");
        fuzz::must(got.complete() || shards.hostile() || shards.fails(), "a page is complete");
        fuzz::must(got.failures.empty() || how != sw::on_failure::fail, "a gap is not hidden");
        if (!all.empty() && got.previous && in.byte() % 4 == 1 && !shards.hostile() &&
            !shards.fails()) {
            const auto back = reader.page("k", {.limit = limit, .from = got.previous});
            const std::size_t count = std::min(limit, all.size());
            fuzz::must(
                std::ranges::equal(
                    back.items,
                    std::vector<row>(all.end() - static_cast<std::ptrdiff_t>(count), all.end())),
                "the page before is the one that was read before");
        }
        all.insert(all.end(), got.items.begin(), got.items.end());
        fuzz::must(increasing(all), "pages increase");
        from = got.next;
        if (!from) {
            const bool lossy = how == sw::on_failure::skip && shards.fails();
            fuzz::must(shards.hostile() || lossy || all == shards.whole(),
                       "pages are the sorted whole");
            fuzz::must(shards.hostile() || !lossy ||
                           std::ranges::includes(shards.whole(), all, before),
                       "nothing is made up");
            return;
        }
    }
    fuzz::must(shards.hostile(), "pages come to an end");
}

template <class Reader>
void read_stream(const Reader& reader, world& shards, fuzz::choices& in, sw::on_failure how) {
    std::vector<row> all;
    bool failed = false;
    try {
        auto stream = reader.stream("k", {.chunk = 1U + in.below(12)});
        for (const row& each : stream) {
            all.push_back(each);
            fuzz::must(all.size() <= 4096, "a stream comes to an end");
        }
    } catch (const sw::failure& thrown) {
        check_code(shards, thrown);
        failed = true;
    }
    fuzz::must(increasing(all), "a stream increases");
    if (!shards.hostile()) {
        const auto& whole = shards.whole();
        if (how != sw::on_failure::skip) {
            fuzz::must(all.size() <= whole.size() &&
                           std::equal(all.begin(), all.end(), whole.begin()) &&
                           (failed || all.size() == whole.size()),
                       "a stream is the sorted whole, or its beginning");
        }
        fuzz::must(std::ranges::includes(whole, all, before), "nothing is made up");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::choices in{fuzz::text_of(data, std::min<std::size_t>(size, 4096))};
    world shards{in};
    const auto how = static_cast<sw::on_failure>(in.below(3));
    sw::fan_out_options<row> options;
    options.on_failure = how;
    options.growth = in.byte() % 4 == 1 ? sw::growth::in_front : sw::growth::anywhere;
    const sw::fan_out reader{router_of(shards.shards()), order,
                             [&](const query& q) { return shards.answer(q); }, options};
    if (in.byte() % 2 == 0) {
        read_pages(reader, shards, in, how);
    } else {
        read_stream(reader, shards, in, how);
    }
    return 0;
}
