// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_SELECTORS_HPP
#define SHARDWEAVE_TESTS_SUPPORT_SELECTORS_HPP

/// Rules of a user's own, by which data may be laid out already.

#include <shardweave/core/types.hpp>

#include <cstdint>
#include <string_view>

namespace test_support {

/// Java's String.hashCode of an ASCII text, as an unsigned remainder.
struct java_hash {
    [[nodiscard]] static std::uint32_t hash(std::string_view id) {
        std::uint32_t sum = 0;
        for (const char c : id) {
            sum = sum * 31 + static_cast<unsigned char>(c);
        }
        return sum;
    }
    [[nodiscard]] std::string_view name() const { return "java-hash"; }
    [[nodiscard]] shardweave::bucket_index select(std::string_view id, std::uint32_t buckets,
                                                  std::uint64_t) const {
        return shardweave::bucket_index{hash(id) % buckets};
    }
};

}  // namespace test_support

#endif
