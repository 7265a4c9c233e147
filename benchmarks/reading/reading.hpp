// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_READING_READING_HPP
#define SHARDWEAVE_BENCHMARKS_READING_READING_HPP

namespace reading_benchmark {

/// The time of a page, beside fan-outs as they are written by hand, over stores that cost nothing.
void pages();
/// Rows and rounds of pages.
void rows();
/// A simulation of slow answers, with hedges and without.
void hedges();

}  // namespace reading_benchmark

#endif
