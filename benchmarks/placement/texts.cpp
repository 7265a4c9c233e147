// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/key_buffer.hpp>
#include <shardweave/place/key_format.hpp>

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../ratio.hpp"
#include "placement.hpp"

namespace sw = shardweave;

namespace placement_benchmark {
namespace {

struct piece {
    std::string_view key;
    std::uint32_t bucket;
};

}  // namespace

void texts() {
    constexpr std::size_t count = 4'096;
    constexpr std::uint32_t buckets = 16;
    const std::vector<std::string> keys = keys_of(16, count);
    std::vector<piece> made;
    for (std::size_t i = 0; i != count; ++i) {
        made.push_back({keys[i], static_cast<std::uint32_t>(i * 7 % buckets)});
    }
    const std::span<const piece> pieces{made};

    bench::table table{"the text of a partition key, keys of 16 bytes, against fmt::format"};
    table.row("fmt::format", pieces, [](const piece& each) {
        const std::string text = fmt::format("{}:bucket-{}", each.key, each.bucket);
        bench::keep_whole(text);
    });
    table.row("key_format::append_to a key_buffer", pieces,
              [format = sw::key_format{}](const piece& each) {
                  sw::key_buffer text;
                  format.append_to(text, each.key, sw::bucket_index{each.bucket}, buckets);
                  bench::keep_whole(text);
              },
              {.time = 0.2});
    fmt::memory_buffer buffer;
    std::string string;
    table.row("key_format::append_to a fmt::memory_buffer, reused", pieces,
              [format = sw::key_format{}, &text = buffer](const piece& each) {
                  text.clear();
                  format.append_to(text, each.key, sw::bucket_index{each.bucket}, buckets);
                  bench::keep_whole(text);
              });
    table.row("key_format::append_to a std::string, reused", pieces,
              [format = sw::key_format{}, &text = string](const piece& each) {
                  text.clear();
                  format.append_to(text, each.key, sw::bucket_index{each.bucket}, buckets);
                  bench::keep_whole(text);
              });
    table.row("key_format::render, a string of its own", pieces,
              [format = sw::key_format{}](const piece& each) {
                  const auto text = format.render(each.key, sw::bucket_index{each.bucket}, buckets);
                  bench::keep_whole(text);
              });
    table.row("peer: fmt::format_to(char[], FMT_COMPILE)", pieces, [](const piece& each) {
        char text[256];
        const char* const end =
            fmt::format_to(text, FMT_COMPILE("{}:bucket-{}"), each.key, each.bucket);
        bench::keep_whole(text);
        bench::use(end);
    });
    table.row("peer: fmt::format_to_n(char[], FMT_COMPILE)", pieces, [](const piece& each) {
        char text[256];
        fmt::format_to_n(text, sizeof text, FMT_COMPILE("{}:bucket-{}"), each.key, each.bucket);
        bench::keep_whole(text);
    });
    table.print();
}

}  // namespace placement_benchmark
