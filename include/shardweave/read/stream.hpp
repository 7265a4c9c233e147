// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_STREAM_HPP
#define SHARDWEAVE_READ_STREAM_HPP

/// A read as a range: items are pulled as the caller goes.

#include <shardweave/core/error.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/detail/drive.hpp>
#include <shardweave/read/detail/try_call.hpp>
#include <shardweave/read/detail/worker_crew.hpp>
#include <shardweave/read/on_failure.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/stats.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {

/// The items of a read, one after another; made by `fan_out::stream`, an input range. What is
/// buffered between chunks is kept, so a whole stream examines about as many rows as it hands out.
template <class FanOut>
class item_stream {
public:
    using item_type = typename FanOut::item_type;

    class iterator {
    public:
        using value_type = item_type;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;
        explicit iterator(item_stream& of) noexcept : of_(&of) {}

        [[nodiscard]] item_type& operator*() const noexcept { return of_->chunk_[of_->index_]; }
        [[nodiscard]] item_type* operator->() const noexcept { return &**this; }
        iterator& operator++() {
            of_->advance();
            return *this;
        }
        void operator++(int) { of_->advance(); }
        friend bool operator==(const iterator& at, std::default_sentinel_t) noexcept {
            return at.at_end();
        }

    private:
        [[nodiscard]] bool at_end() const noexcept { return of_->index_ == of_->chunk_.size(); }

        item_stream* of_ = nullptr;
    };

    /// Reads the first chunk. After an iteration that threw, reads on from where it stood.
    [[nodiscard]] iterator begin() {
        if (!reading_ && index_ == chunk_.size()) {
            load();
        }
        return iterator{*this};
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

    /// What the stream cost so far.
    [[nodiscard]] read_stats stats() const {
        if (!reading_) {
            return before_;
        }
        read_stats so_far = before_ + reading_->stats();
        so_far.retries += calls_->counted().retries;
        so_far.hedges += calls_->counted().hedges;
        return so_far;
    }

    /// With `on_failure::skip`: the sources that have failed, each with what it failed for last.
    [[nodiscard]] const std::vector<error>& failures() const noexcept { return skipped_; }

private:
    friend FanOut;
    using reading_type = typename FanOut::reading_type;
    using calls_type = detail::calls_of<reading_type, typename FanOut::query_type>;

    item_stream(const FanOut& reader, const key_set& keys, const stream_options& with)
        : reader_(&reader), keys_(keys), prefetch_(with.prefetch),
          limits_{with.deadline, with.stop}, crew_(how().run_on) {
        with_.limit = with.chunk;
        with_.filter = with.filter;
        with_.within = with.within;
        with_.range = with.range;
        with_.as_of = with.as_of;
        with_.from = with.from;
        at_ = reader.reader_.start(keys_, with_);
        with_.from.reset();
        if (with.chunk == 0) {
            throw failure{errc::invalid_options, "a stream with chunks of 0 items; use 1 or more"};
        }
        if (with.prefetch != prefetch::nothing && how().concurrency == 1) {
            throw failure{errc::invalid_options,
                          "a stream can not prefetch on the calling thread; use a concurrency of 2 "
                          "or more"};
        }
    }

    [[nodiscard]] const auto& how() const noexcept { return reader_->how(); }

    /// How far the reading is with the chunk after this one.
    enum class ahead : std::uint8_t { nothing, asked, finished };

    void advance() {
        if (++index_ == chunk_.size()) {
            load();
        }
    }

    /// Reads the next chunk that has items, or finds the end.
    void load() {
        chunk_.clear();
        index_ = 0;
        try {
            while (chunk_.empty() &&
                   (!reading_ || ahead_ != ahead::nothing || reading_->may_have_more())) {
                if (!load_chunk()) {
                    break;
                }
            }
        } catch (...) {
            // Kept, it would look like the end to who iterates again.
            forget();
            throw;
        }
        if (!chunk_.empty()) {
            try {
                read_ahead();
            } catch (...) {
                forget();  // the chunk first: what is wrong will be so again when it is used up
            }
        }
    }

    /// False when only sources are left that keep failing.
    bool load_chunk() {
        if (!failures_.empty()) {
            throw failure{std::exchange(failures_, {}).front()};
        }
        auto table = reader_->reader_.router().pin();
        if (reading_ && reading_->epoch() != table->epoch()) {
            // The boundary is the truth: what was buffered from places that may have moved is not.
            forget();
        }
        if (!reading_) {
            reading_.emplace(reader_->order(), how(), std::move(table), keys_, with_, at_);
            calls_.emplace(reader_->query_, how().concurrency, crew_, how().attempts,
                           *how().budgets);
            calls_->limit(limits_);
        } else if (ahead_ == ahead::nothing) {
            reading_->turn();
        }
        if (std::exchange(ahead_, ahead::nothing) != ahead::finished) {
            detail::drive(*reading_, *calls_);
        }
        at_.after = reading_->boundary();
        at_.state.hints = {};
        reading_->take_items(chunk_);
        if (how().on_failure != on_failure::skip) {
            failures_ = reading_->failures();
            return true;
        }
        for (const error& each : reading_->failures()) {
            skipped(each);
        }
        return !chunk_.empty() || reading_->failures().empty();
    }

    void skipped(const error& why) {
        const auto known = std::ranges::find_if(skipped_, [&](const error& each) {
            return each.shard == why.shard && each.partition_key == why.partition_key;
        });
        if (known == skipped_.end()) {
            skipped_.push_back(why);
        } else {
            *known = why;
        }
    }

    /// Sends the next chunk's first queries.
    void read_ahead() {
        if (prefetch_ == prefetch::nothing || !failures_.empty() || !reading_->may_have_more()) {
            return;
        }
        reading_->turn();
        ahead_ = detail::ask(*reading_, *calls_) ? ahead::asked : ahead::finished;
        calls_->start();
    }

    void forget() {
        if (reading_) {
            before_ = stats();
            calls_.reset();  // waits for what is under way, which refers to the reading
            reading_.reset();
            ahead_ = ahead::nothing;
        }
    }

    const FanOut* reader_;
    key_set keys_;
    page_options with_;
    shardweave::prefetch prefetch_;
    detail::call_limits limits_;
    typename reading_type::start at_;
    detail::worker_crew crew_;
    std::optional<reading_type> reading_;
    std::optional<calls_type> calls_;
    ahead ahead_ = ahead::nothing;
    std::vector<item_type> chunk_;
    std::size_t index_ = 0;
    std::vector<error> failures_;
    std::vector<error> skipped_;
    read_stats before_;
};

}  // namespace v1
}  // namespace shardweave

#endif
