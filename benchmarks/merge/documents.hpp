// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_MERGE_DOCUMENTS_HPP
#define SHARDWEAVE_BENCHMARKS_MERGE_DOCUMENTS_HPP

/// Documents with ULIDs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "merge.hpp"

namespace merge_benchmark {

/// A ULID: 48 bits of milliseconds and 80 random ones in Crockford's base 32.
inline std::string ulid(std::uint64_t milliseconds, std::mt19937_64& draw) {
    constexpr char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    std::string text(26, '0');
    for (std::size_t i = 10; i-- != 0; milliseconds /= 32) {
        text[i] = digits[milliseconds % 32];
    }
    for (std::size_t i = 10; i != 26; ++i) {
        text[i] = digits[draw() % 32];
    }
    return text;
}

/// One document every 10 ms or so, each in any of the sources.
inline sources<document> documents_of(std::size_t count, std::size_t rows, std::mt19937_64& draw) {
    sources<document> made(count);
    std::uint64_t now = 1'700'000'000'000;
    for (std::size_t i = 0; i != rows; ++i) {
        now += draw() % 20;
        made[draw() % count].push_back({ulid(now, draw), std::string(100, 'x')});
    }
    for (std::vector<document>& each : made) {
        std::sort(each.begin(), each.end());
    }
    return made;
}

}  // namespace merge_benchmark

#endif
