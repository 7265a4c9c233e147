// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_KEY_FORMAT_HPP
#define SHARDWEAVE_PLACE_KEY_FORMAT_HPP

/// How a key, a bucket and a time window are written as a partition key, so that no two read alike.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/tail_glance.hpp>
#include <shardweave/place/detail/windows.hpp>
#include <shardweave/place/partition_key.hpp>
#include <shardweave/place/time_range.hpp>

#include <charconv>
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

    struct parsed {
        std::string_view key;
        bucket_index bucket;
        /// The start of the time window, if there is one.
        std::optional<item_time> window{};
        friend bool operator==(const parsed&, const parsed&) noexcept = default;
    };

    key_format() : key_format(standard) {}

    /// Throws `errc::invalid_key_format` when keys could not be told apart, and says what to
    /// change.
    explicit key_format(std::string_view text, suffix mode = suffix::unless_single)
        : text_(text), suffix_(mode) {
        constexpr std::string_view key_field = "{key}";
        constexpr std::string_view bucket_field = "{bucket}";
        const auto key_at = text.find(key_field);
        const auto bucket_at = text.find(bucket_field);
        if (text.size() > limits::key_format_bytes || key_at == std::string_view::npos ||
            bucket_at == std::string_view::npos || text.rfind(key_field) != key_at ||
            text.rfind(bucket_field) != bucket_at) {
            refuse("must hold {key} and {bucket} once each, in at most 128 bytes");
        }
        key_first_ = key_at < bucket_at;
        const auto first = key_first_ ? key_at : bucket_at;
        const auto second = key_first_ ? bucket_at : key_at;
        const auto first_end = first + (key_first_ ? key_field : bucket_field).size();
        const auto second_end = second + (key_first_ ? bucket_field : key_field).size();
        before_ = text.substr(0, first);
        between_ = text.substr(first_end, second - first_end);
        after_ = text.substr(second_end);
        for (const std::string* piece : {&before_, &between_, &after_}) {
            if (piece->find_first_of("{}") != std::string::npos) {
                refuse("has braces besides {key} and {bucket}; leave them out");
            }
        }
        if (between_.empty() || is_digit(key_first_ ? between_.back() : between_.front())) {
            refuse("needs a character that is not a digit between {bucket} and the key's side, "
                   "as in {key}:{bucket}");
        }
        if (suffix_ != suffix::always) {
            glance_ = detail::tail_glance{between_, after_, key_first_};
        }
    }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] suffix mode() const noexcept { return suffix_; }

    /// False when a bucket's window could be taken for a part of the key: when `{bucket}` is in
    /// front, and `@` comes right after it.
    [[nodiscard]] bool holds_windows() const noexcept {
        return key_first_ || between_.front() != '@';
    }

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
        return key.size() - shortest <= limits::key_bytes - shortest && !glance_.may_be_bucket(key);
    }

    /// Appends the partition key's text to any container of characters, such as a stack buffer
    /// (`fmt::memory_buffer`). The key must have passed `check`. With the start of a window,
    /// `holds_windows()` must be true; throws `errc::limit_exceeded` outside the years 0000 to
    /// 9999.
    template <class Buffer>
    void append_to(Buffer& out, std::string_view key, bucket_index bucket, std::uint32_t buckets,
                   std::optional<item_time> window = std::nullopt) const {
        const auto add = [&out](std::string_view piece) {
            out.append(piece.data(), piece.data() + piece.size());
        };
        if (!window && plain(bucket, buckets)) {
            add(key);
            return;
        }
        const fmt::format_int digits{bucket.value()};
        const auto start = window ? std::optional<detail::window_text>{*window} : std::nullopt;
        const auto add_bucket = [&] {
            add({digits.data(), digits.size()});
            if (start) {
                add(start->view());
            }
        };
        add(before_);
        key_first_ ? add(key) : add_bucket();
        add(between_);
        key_first_ ? add_bucket() : add(key);
        add(after_);
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
        if (const auto read = parse_suffixed(text)) {
            const bool never_written =
                suffix_ == suffix::unless_zero && read->bucket.value() == 0 && !read->window;
            // The plain keys of a mode that refuses keys like this are not keys here either.
            if (never_written || read->key.size() > limits::key_bytes ||
                (suffix_ != suffix::always && parse_suffixed(read->key))) {
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
    [[nodiscard]] static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

    [[noreturn]] void refuse(std::string_view why) const {
        throw failure{errc::invalid_key_format,
                      detail::concat("the key format ", detail::quoted(text_), " ", why)};
    }

    // Out of line, so that the look before it stays short where it is asked.
    [[gnu::noinline, gnu::cold]] void check_closely(std::string_view key) const {
        if (key.size() > limits::key_bytes) {
            throw failure{errc::limit_exceeded,
                          detail::concat("a key of ", key.size(), " bytes, ", detail::quoted(key),
                                         "; at most ", limits::key_bytes, " are allowed")};
        }
        if (suffix_ != suffix::always) {
            if (const auto read = parse_suffixed(key)) {
                throw failure{errc::ambiguous_key,
                              detail::concat("the key ", detail::quoted(key), " reads as bucket ",
                                             read->bucket.value(), " of the key ",
                                             detail::quoted(read->key),
                                             "; rename it, or use suffix::always")};
            }
        }
    }

    /// Takes a window's text from the end of `text`, or from its beginning.
    [[nodiscard]] std::optional<item_time> take_window(std::string_view& text) const noexcept {
        constexpr std::size_t length = detail::window_text::shape.size();
        if (text.size() < length || !holds_windows()) {
            return std::nullopt;
        }
        const std::size_t at = key_first_ ? text.size() - length : 0;
        const auto window = detail::window_text::parse(text.substr(at, length));
        if (window) {
            key_first_ ? text.remove_suffix(length) : text.remove_prefix(length);
        }
        return window;
    }

    [[nodiscard]] std::optional<parsed> parse_suffixed(std::string_view text) const noexcept {
        if (text.size() < before_.size() + between_.size() + after_.size() ||
            !text.starts_with(before_) || !text.ends_with(after_)) {
            return std::nullopt;
        }
        text.remove_prefix(before_.size());
        text.remove_suffix(after_.size());
        std::optional<item_time> window;
        if (key_first_) {
            window = take_window(text);
        }
        std::size_t digits = 0;
        while (digits < text.size() &&
               is_digit(key_first_ ? text[text.size() - 1 - digits] : text[digits])) {
            ++digits;
        }
        const std::string_view number =
            key_first_ ? text.substr(text.size() - digits) : text.substr(0, digits);
        std::string_view rest =
            key_first_ ? text.substr(0, text.size() - digits) : text.substr(digits);
        if (!key_first_) {
            window = take_window(rest);
        }
        if (key_first_ ? !rest.ends_with(between_) : !rest.starts_with(between_)) {
            return std::nullopt;
        }
        std::uint32_t bucket = 0;
        const auto read = std::from_chars(number.data(), number.data() + number.size(), bucket);
        const bool canonical = digits == 1 || (digits > 1 && number.front() != '0');
        if (!canonical || read.ec != std::errc{} || bucket >= limits::buckets) {
            return std::nullopt;
        }
        return parsed{key_first_ ? rest.substr(0, rest.size() - between_.size())
                                 : rest.substr(between_.size()),
                      bucket_index{bucket}, window};
    }

    std::string text_;
    std::string before_;
    std::string between_;
    std::string after_;
    suffix suffix_;
    bool key_first_ = true;
    detail::tail_glance glance_;
};

}  // namespace v1
}  // namespace shardweave

#endif
