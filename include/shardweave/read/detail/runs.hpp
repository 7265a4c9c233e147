// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_RUNS_HPP
#define SHARDWEAVE_READ_DETAIL_RUNS_HPP

/// A list of marks as the lengths of its runs.

#include <shardweave/core/bytes.hpp>

#include <cstddef>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// The lengths of the runs of `marked(0)` to `marked(count - 1)` in turn, unmarked ones first.
template <class Marked>
void write_runs(byte_writer& out, std::size_t count, const Marked& marked) {
    bool value = false;
    for (std::size_t at = 0; at != count; value = !value) {
        const std::size_t start = at;
        while (at != count && marked(at) == value) {
            ++at;
        }
        out.varint(at - start);
    }
}

/// Calls `mark(i)` for each marked one, in order. Only the first run may be empty.
template <class Mark>
void read_runs(byte_reader& in, std::size_t count, const Mark& mark) {
    bool value = false;
    for (std::size_t at = 0; at != count && in.ok(); value = !value) {
        const auto run = static_cast<std::size_t>(in.varint(count - at));
        if (run == 0 && (at != 0 || value)) {
            in.fail();
        }
        for (const std::size_t end = at + run; at != end; ++at) {
            if (value) {
                mark(at);
            }
        }
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
