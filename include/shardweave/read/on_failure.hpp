// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_ON_FAILURE_HPP
#define SHARDWEAVE_READ_ON_FAILURE_HPP

/// What a page makes of sources that fail, and why it ends.

#include <cstdint>

namespace shardweave {
inline namespace v1 {

/// What to do when a source fails.
enum class on_failure : std::uint8_t {
    /// Hand out nothing.
    fail,
    /// Hand out what is certain before the failed source's frontier, and name the gap. The cursor
    /// resumes there.
    prefix,
    /// Go on without the source, and name it. What it had within the page is missing, and stays
    /// missing on later pages: for lists where some is better than none.
    skip,
};

/// Why a page ends where it does.
enum class page_end : std::uint8_t {
    /// It is full.
    full,
    /// It is at the end of the list.
    end,
    /// What comes next is not certain, because a source failed.
    gap,
    /// Its `read_budget` was spent.
    budget,
};

}  // namespace v1
}  // namespace shardweave

#endif
