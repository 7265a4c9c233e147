// SPDX-License-Identifier: BSL-1.0
// Key formats, keys, buckets and windows of any bytes: parse inverts render, and no two read alike.
#include <shardweave/place/key_format.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz.hpp"

namespace sw = shardweave;

namespace {

std::optional<sw::key_format> format_of(fuzz::choices& in) {
    static constexpr std::string_view used[] = {"{key}:bucket-{bucket}", "{key}#{bucket}",
                                                "{bucket}#{key}", "p/{key}/b{bucket}/x"};
    const auto mode = static_cast<sw::suffix>(1 + in.below(3));
    const unsigned which = in.below(5);
    try {
        return which == 4 ? sw::key_format{in.text(), mode} : sw::key_format{used[which], mode};
    } catch (const sw::failure& refused) {
        fuzz::must(refused.code() == sw::errc::invalid_key_format, "a format is refused as one");
        return std::nullopt;
    }
}

struct place {
    std::string key;
    sw::bucket_index bucket{};
    std::uint32_t buckets = 1;
    std::optional<sw::item_time> window;
};

/// A place that may be written, from the input.
std::optional<place> place_of(const sw::key_format& format, fuzz::choices& in) {
    place at;
    at.key = in.text();
    at.buckets = 1 + (in.byte() * 256U + in.byte()) % sw::limits::buckets;
    at.bucket = sw::bucket_index{(in.byte() * 256U + in.byte()) % at.buckets};
    if (in.byte() % 2 == 0 && format.holds_windows()) {
        constexpr std::int64_t minutes_to_year_9999 = 4'223'371'680;
        const auto minute = static_cast<std::int64_t>(in.number() % minutes_to_year_9999);
        at.window = sw::item_time::at_milliseconds(minute * 60'000);
    }
    const bool surely = format.surely_valid(at.key);
    try {
        format.check(at.key);
        return at;
    } catch (const sw::failure& refused) {
        fuzz::must(!surely, "a glance never accepts what a check refuses");
        fuzz::must(refused.code() == sw::errc::ambiguous_key ||
                       refused.code() == sw::errc::limit_exceeded,
                   "a key is refused as ambiguous or too long");
        return std::nullopt;
    }
}

std::string written(const sw::key_format& format, const place& at) {
    return format.render(at.key, at.bucket, at.buckets, at.window).str();
}

void check_inverse(const sw::key_format& format, const place& at) {
    const std::string text = written(format, at);
    const auto read = format.parse(text);
    fuzz::must(read.has_value(), "what is written can be read");
    fuzz::must(read->key == at.key, "parse(render(x)) has the key");
    fuzz::must(read->window == at.window, "parse(render(x)) has the window");
    const bool plain = !at.window && format.plain(at.bucket, at.buckets);
    fuzz::must(read->bucket == (plain ? sw::bucket_index{0} : at.bucket),
               "parse(render(x)) has the bucket");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::choices in{fuzz::text_of(data, size)};
    const auto format = format_of(in);
    if (!format) {
        return 0;
    }
    const auto a = place_of(*format, in);
    const auto b = place_of(*format, in);
    if (a) {
        check_inverse(*format, *a);
    }
    if (a && b) {
        const bool same =
            a->key == b->key && format->identity(a->bucket, a->buckets, a->window) ==
                                    format->identity(b->bucket, b->buckets, b->window);
        fuzz::must((written(*format, *a) == written(*format, *b)) == same,
                   "two places read alike exactly when they are one");
    }
    // Any text is a place or nothing.
    const std::string_view text = in.rest();
    if (const auto read = format->parse(text)) {
        format->check(read->key);
        const bool plain = read->key.size() == text.size();
        const std::uint32_t buckets = plain ? 1 : sw::limits::buckets;
        fuzz::must(read->bucket.value() < sw::limits::buckets, "a bucket is within its limit");
        fuzz::must(format->render(read->key, read->bucket, buckets, read->window) == text,
                   "render(parse(text)) is text");
    }
    return 0;
}
