// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_STREAM_HPP
#define SHARDWEAVE_READ_STREAM_HPP

/// A read as a range: items are pulled as the caller goes.

#include <shardweave/core/error.hpp>
#include <shardweave/place/time_range.hpp>
#include <shardweave/read/cursor.hpp>
#include <shardweave/read/detail/drive.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/stats.hpp>

#include <cstddef>
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
        if (!machine_) {
            load();
        }
        return iterator{*this};
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

    /// What the stream cost so far.
    [[nodiscard]] read_stats stats() const noexcept { return total_; }

private:
    friend FanOut;
    using position_type = typename FanOut::position_type;

    item_stream(const FanOut& reader, const key_set& keys, const stream_options& with)
        : reader_(&reader), keys_(keys), filter_(with.filter), within_(with.within),
          chunk_size_(with.chunk), at_(reader.resolve(with.from, reader.bind(keys, with.filter))) {
        if (chunk_size_ == 0) {
            throw failure{errc::invalid_options, "a stream with chunks of 0 items; use 1 or more"};
        }
    }

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
            while (chunk_.empty() && (!machine_ || machine_->may_have_more())) {
                load_chunk();
            }
        } catch (...) {
            // Kept, it would look like the end to who iterates again.
            if (machine_) {
                total_ = before_ + machine_->stats();
                machine_.reset();
            }
            throw;
        }
    }

    void load_chunk() {
        if (!failures_.empty()) {
            throw failure{std::exchange(failures_, {}).front()};
        }
        const auto table = reader_->router_->pin();
        if (!machine_ || machine_->epoch() != table->epoch()) {
            // The boundary is the truth: what was buffered from places that may have moved is not.
            machine_.emplace(reader_->make(*table, keys_, at_, chunk_size_, filter_, within_));
            before_ = total_;
        } else {
            machine_->turn(chunk_size_);
        }
        detail::drive(*machine_, reader_->query_, reader_->options_.concurrency, crew_);
        at_.after = machine_->boundary();
        failures_ = machine_->failures();
        chunk_ = machine_->take_page();
        total_ = before_ + machine_->stats();
    }

    const FanOut* reader_;
    key_set keys_;
    std::string filter_;
    time_range within_;
    std::size_t chunk_size_;
    typename FanOut::start at_;
    detail::worker_crew crew_;
    std::optional<typename FanOut::machine> machine_;
    std::vector<item_type> chunk_;
    std::size_t index_ = 0;
    std::vector<error> failures_;
    read_stats before_;
    read_stats total_;
};

}  // namespace v1
}  // namespace shardweave

#endif
