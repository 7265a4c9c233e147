// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/key_buffer.hpp>

#include <shardweave/place/key_format.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "support/allocated.hpp"
#include "support/generate.hpp"

using namespace shardweave;

TEST_CASE("a key buffer holds pieces of every length as they are", "[key_buffer]") {
    for (std::size_t first = 0; first != 70; ++first) {
        for (std::size_t second = 0; second != 70; ++second) {
            std::string text;
            for (std::size_t i = 0; i != first + second; ++i) {
                text += static_cast<char>('!' + i % 90);
            }
            key_buffer buffer;
            buffer.append(text.data(), text.data() + first);
            buffer.append(text.data() + first, text.data() + text.size());
            const key_buffer copy = buffer;
            if (copy.view() != text) {
                CAPTURE(first, second);
                REQUIRE(copy.view() == text);
            }
        }
    }
    SUCCEED();
}

TEST_CASE("the longest partition key fits in a key buffer", "[key_buffer]") {
    const std::string literal(limits::key_format_bytes - std::string("{key}{bucket}").size(), 'x');
    const key_format format{"{key}" + literal + "{bucket}", suffix::always};
    const std::string key(limits::key_bytes, 'k');
    const bucket_index last{limits::buckets - 1};
    key_buffer buffer;
    format.append_to(buffer, key, last, limits::buckets,
                     item_time{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}});
    CHECK(buffer.view() ==
          format
              .render(key, last, limits::buckets,
                      item_time{std::chrono::sys_days{std::chrono::year{2026} / 11 / 30}})
              .str());
}

TEST_CASE("a key buffer is used again, and allocates nothing", "[key_buffer]") {
    INFO(test_support::replay());
    test_support::generator any;
    const key_format format;
    std::string key(400, 'k');
    key_buffer buffer;
    const std::size_t before = test_support::allocated_bytes;
    for (std::size_t round = 0; round != test_support::scaled(1'000); ++round) {
        const std::string_view part = std::string_view{key}.substr(0, any.below(400U));
        const bucket_index bucket{any.below(limits::buckets)};
        buffer.clear();
        format.append_to(buffer, part, bucket, limits::buckets);
        const auto read = format.parse(buffer.view());
        if (!read || read->key != part || read->bucket != bucket) {
            CAPTURE(round, part, bucket.value());
            REQUIRE(false);
        }
    }
    CHECK(test_support::allocated_bytes == before);
}
