// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_READS_HPP
#define SHARDWEAVE_TESTING_DETAIL_READS_HPP

/// The questions of a check: from where, in pages of which sizes, which way, up to where.

#include <shardweave/read/query.hpp>
#include <shardweave/testing/detail/advice.hpp>
#include <shardweave/testing/detail/sampler.hpp>
#include <shardweave/testing/detail/threads.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

/// Each asks until the first fault, and returns it.
template <class Trial>
class reads {
public:
    using position_type = typename Trial::position_type;
    using asked = typename Trial::asked;
    using group = typename Trial::group;
    using finding = std::optional<fault>;

    reads(const Trial& trial, sampler sample) : trial_(&trial), sample_(sample) {}

    [[nodiscard]] sampler& sample() noexcept { return sample_; }

    /// All of it, in pages of each size.
    [[nodiscard]] finding pages(const group& of, scan way, bool keep_cursor = false) const {
        finding wrong;
        for (const std::size_t limit : sampler::limits(of.forward.size())) {
            if (!wrong) {
                wrong = trial_->walk(of, {of.partition_keys, {}, {}, limit, way}, keep_cursor);
            }
        }
        return wrong;
    }

    [[nodiscard]] finding from(const group& of, const position_type& after, scan way) const {
        for (const std::size_t limit : sampler::limits(of.forward.size())) {
            auto one = trial_->ask(of, {of.partition_keys, after, {}, limit, way});
            if (one.wrong) {
                return std::move(one.wrong);
            }
        }
        return std::nullopt;
    }

    /// Reads `of` from the positions of `places`.
    [[nodiscard]] finding from_rows(const group& of, const group& places, scan way) {
        finding wrong;
        for (const std::size_t i : sample_.places(places.forward.size())) {
            if (!wrong) {
                wrong = from(of, places.forward[i], way);
            }
        }
        return wrong;
    }

    /// To each of the chosen rows, from a row before it or the start; its own, or another key's.
    [[nodiscard]] finding until_rows(const group& of, const group& other, scan way) {
        for (const auto* const ends : {&of.walked(way), &other.walked(way)}) {
            for (const std::size_t i : sample_.places(ends->size())) {
                asked q{of.partition_keys, {}, (*ends)[i], 1 + sample_.below(3), way};
                if (const std::size_t back = sample_.below(i + 1); back != 0) {
                    q.after = (*ends)[i - back];
                }
                if (finding wrong = trial_->walk(of, q)) {
                    return wrong;
                }
            }
        }
        return std::nullopt;
    }

    [[nodiscard]] finding beyond_ends(const group& of) const {
        for (const scan way : both_ways) {
            if (!of.forward.empty()) {
                for (const std::size_t limit : sampler::limits(of.forward.size())) {
                    if (finding wrong = trial_->walk(
                            of, {of.partition_keys, of.walked(way).back(), {}, limit, way})) {
                        return wrong;
                    }
                }
            }
        }
        return std::nullopt;
    }

private:
    const Trial* trial_;
    sampler sample_;
};

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
