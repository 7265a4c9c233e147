// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_KEY_FORMAT_HPP
#define SHARDWEAVE_PLACE_KEY_FORMAT_HPP

/// How a key, a bucket and a time window are written as a partition key, so that no two read alike.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/bucket_text.hpp>
#include <shardweave/place/detail/tail_glance.hpp>
#include <shardweave/place/detail/windows.hpp>
#include <shardweave/place/partition_key.hpp>
#include <shardweave/place/time_range.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// When the bucket is written. A bucket of a time window always is.
enum class suffix : std::uint8_t {
    /// A scheme of one bucket writes the plain key.
    unless_single = 1,
    /// Every scheme writes it.
    always = 2,
    /// Bucket 0 writes the plain key, so that a promotion from 1 to n leaves 1/n of the items in
    /// place.
    unless_zero = 3,
};

/// How keys and buckets are written: free text with `{key}` and `{bucket}` once each, such as
/// `{key}:bucket-{bucket}` (the default) or `{bucket}#{key}`. A scheme with time windows writes
/// `3@20261130T0000Z` for `{bucket}`: the bucket, and the start of the window in UTC.
///
/// Writing is injective, and `parse` inverts it. For that, the character on the key's side of
/// `{bucket}` must be one that is not a digit; and, unless the suffix is `always`, a plain key that
/// would read as another key's bucket is refused.
class key_format {
public:
    static constexpr std::string_view standard = "{key}:bucket-{bucket}";

    /// A key, a bucket, and the start of the time window if there is one.
    using parsed = detail::read_bucket;

    key_format() : key_format(standard) {}

    /// Throws `errc::invalid_key_format` when keys could not be told apart, and says what to
    /// change.
    explicit key_format(std::string_view text, suffix mode = suffix::unless_single)
        : text_(text), pieces_(text), suffix_(mode), shortest_bucket_(pieces_.shortest()) {
        if (suffix_ != suffix::always) {
            glance_ = pieces_.glance();
        }
    }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] suffix mode() const noexcept { return suffix_; }

    /// False when a bucket's window could be taken for a part of the key: when `{bucket}` is in
    /// front, and `@` comes right after it.
    [[nodiscard]] bool holds_windows() const noexcept { return pieces_.holds_windows(); }

    /// True when bucket `bucket` of a scheme of `buckets` without windows is written as the plain
    /// key.
    [[nodiscard]] bool plain(bucket_index bucket, std::uint32_t buckets) const noexcept {
        return (suffix_ == suffix::unless_single && buckets == 1) ||
               (suffix_ == suffix::unless_zero && bucket.value() == 0);
    }

    /// Equal for two buckets of one key, under whatever schemes, exactly when they read alike. At
    /// most `limits::buckets` without a window, and above it with one. Windows are whole minutes in
    /// the years 0000 to 9999.
    [[nodiscard]] std::uint64_t
    identity(bucket_index bucket, std::uint32_t buckets,
             std::optional<item_time> window = std::nullopt) const noexcept {
        if (!window) {
            return plain(bucket, buckets) ? 0 : bucket.value() + 1;
        }
        const auto minute = std::chrono::floor<std::chrono::minutes>(
            window->sys() - detail::written_times.since.sys());
        return (static_cast<std::uint64_t>(minute.count()) + 1) * (limits::buckets + 1) +
               bucket.value();
    }

    /// Throws `errc::limit_exceeded` for a key over `limits::key_bytes`, and `errc::ambiguous_key`
    /// for one that reads as another key's bucket. O(length); a glance for most keys.
    void check(std::string_view key) const {
        if (!surely_valid(key)) {
            check_closely(key);
        }
    }

    /// True only for keys that `check` accepts, and for most of them: a glance.
    [[nodiscard]] bool surely_valid(std::string_view key) const noexcept {
        // Unsigned, a shorter key's difference is above every limit.
        constexpr std::size_t shortest = detail::tail_glance::shortest;
        if (key.size() - shortest > limits::key_bytes - shortest) [[unlikely]] {
            return key.size() < shortest_bucket_;
        }
        return !glance_.may_be_bucket(key);
    }

    /// Appends the partition key's text to any container of characters: a `key_buffer`, a
    /// `fmt::memory_buffer`, a string. The key must have passed `check`.
    template <class Buffer>
    void append_to(Buffer& out, std::string_view key, bucket_index bucket,
                   std::uint32_t buckets) const {
        if (plain(bucket, buckets)) {
            out.append(key.data(), key.data() + key.size());
        } else {
            pieces_.append(out, key, bucket, {});
        }
    }

    /// The same, of a time window that starts then. `holds_windows()` must be true; throws
    /// `errc::limit_exceeded` outside the years 0000 to 9999.
    template <class Buffer>
    void append_to(Buffer& out, std::string_view key, bucket_index bucket, std::uint32_t buckets,
                   std::optional<item_time> window) const {
        if (window) {
            pieces_.append(out, key, bucket, detail::window_text{*window}.view());
        } else {
            append_to(out, key, bucket, buckets);
        }
    }

    [[nodiscard]] partition_key render(std::string_view key, bucket_index bucket,
                                       std::uint32_t buckets,
                                       std::optional<item_time> window = std::nullopt) const {
        std::string text;
        text.reserve(key.size() + text_.size());
        append_to(text, key, bucket, buckets, window);
        return partition_key{std::move(text)};
    }

    /// The key, bucket and window of a partition key's text; nothing for a text that this format
    /// never writes. The result views `text`.
    [[nodiscard]] std::optional<parsed> parse(std::string_view text) const noexcept {
        if (const auto read = pieces_.parse(text)) {
            const bool never_written =
                suffix_ == suffix::unless_zero && read->bucket.value() == 0 && !read->window;
            // The plain keys of a mode that refuses keys like this are not keys here either.
            if (never_written || read->key.size() > limits::key_bytes ||
                (suffix_ != suffix::always && pieces_.parse(read->key))) {
                return std::nullopt;
            }
            return read;
        }
        if (suffix_ == suffix::always || text.size() > limits::key_bytes) {
            return std::nullopt;
        }
        return parsed{text, bucket_index{0}, std::nullopt};
    }

    friend bool operator==(const key_format& a, const key_format& b) noexcept {
        return a.text_ == b.text_ && a.suffix_ == b.suffix_;
    }

private:
    // Out of line, so that the look before it stays short where it is asked.
    [[gnu::noinline, gnu::cold]] void check_closely(std::string_view key) const {
        if (key.size() > limits::key_bytes) {
            throw failure{errc::limit_exceeded,
                          detail::concat("a key of ", key.size(), " bytes, ", detail::quoted(key),
                                         "; at most ", limits::key_bytes, " are allowed")};
        }
        if (suffix_ != suffix::always) {
            if (const auto read = pieces_.parse(key)) {
                throw failure{errc::ambiguous_key,
                              detail::concat("the key ", detail::quoted(key), " reads as bucket ",
                                             read->bucket.value(), " of the key ",
                                             detail::quoted(read->key),
                                             "; rename it, or use suffix::always")};
            }
        }
    }

    std::string text_;
    detail::bucket_text pieces_;
    suffix suffix_;
    detail::tail_glance glance_;
    std::size_t shortest_bucket_;
};

}  // namespace v1
}  // namespace shardweave

#endif
