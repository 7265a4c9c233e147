// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_BUCKET_TEXT_HPP
#define SHARDWEAVE_PLACE_DETAIL_BUCKET_TEXT_HPP

/// The free text of a key format, taken apart: how a bucket of a key is written, and read again.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/detail/tail_glance.hpp>
#include <shardweave/place/detail/windows.hpp>
#include <shardweave/place/partition_key.hpp>
#include <shardweave/place/time_range.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// What the text of a bucket says.
struct read_bucket {
    std::string_view key;
    bucket_index bucket;
    /// The start of the time window, if there is one.
    std::optional<item_time> window{};
    friend bool operator==(const read_bucket&, const read_bucket&) noexcept = default;
};

/// Text with `{key}` and `{bucket}` once each. The bucket is always written; which buckets are not
/// is for `key_format` to say.
class bucket_text {
public:
    /// Throws `errc::invalid_key_format` when keys could not be told apart, and says what to
    /// change.
    explicit bucket_text(std::string_view text) {
        constexpr std::string_view key_field = "{key}";
        constexpr std::string_view bucket_field = "{bucket}";
        const auto key_at = text.find(key_field);
        const auto bucket_at = text.find(bucket_field);
        if (text.size() > limits::key_format_bytes || key_at == std::string_view::npos ||
            bucket_at == std::string_view::npos || text.rfind(key_field) != key_at ||
            text.rfind(bucket_field) != bucket_at) {
            refuse(text, "must hold {key} and {bucket} once each, in at most 128 bytes");
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
                refuse(text, "has braces besides {key} and {bucket}; leave them out");
            }
        }
        if (between_.empty() || is_digit(key_first_ ? between_.back() : between_.front())) {
            refuse(text,
                   "needs a character that is not a digit between {bucket} and the key's side, "
                   "as in {key}:{bucket}");
        }
    }

    /// False when a bucket's window could be taken for a part of the key: when `{bucket}` is in
    /// front, and `@` comes right after it.
    [[nodiscard]] bool holds_windows() const noexcept {
        return key_first_ || between_.front() != '@';
    }

    /// The length of bucket 0 of the empty key: no bucket is shorter.
    [[nodiscard]] std::size_t shortest() const noexcept {
        return before_.size() + between_.size() + after_.size() + 1;
    }

    [[nodiscard]] tail_glance glance() const { return {between_, after_, key_first_}; }

    template <class Buffer>
    void append(Buffer& out, std::string_view key, bucket_index bucket,
                std::string_view window) const {
        const fmt::format_int digits{bucket.value()};
        const std::string_view number{digits.data(), digits.size()};
        add(out, before_);
        add(out, key_first_ ? key : number);
        if (!key_first_) {
            add(out, window);
        }
        add(out, between_);
        add(out, key_first_ ? number : key);
        if (key_first_) {
            add(out, window);
        }
        add(out, after_);
    }

    /// Nothing for a text that `append` never writes. The result views `text`.
    [[nodiscard]] std::optional<read_bucket> parse(std::string_view text) const noexcept {
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
        return read_bucket{key_first_ ? rest.substr(0, rest.size() - between_.size())
                                      : rest.substr(between_.size()),
                           bucket_index{bucket}, window};
    }

private:
    [[noreturn]] static void refuse(std::string_view text, std::string_view why) {
        throw failure{errc::invalid_key_format, concat("the key format ", quoted(text), " ", why)};
    }

    [[nodiscard]] static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

    template <class Buffer>
    static void add(Buffer& out, std::string_view piece) {
        if (!piece.empty()) {
            out.append(piece.data(), piece.data() + piece.size());
        }
    }

    /// Takes a window's text from the end of `text`, or from its beginning.
    [[nodiscard]] std::optional<item_time> take_window(std::string_view& text) const noexcept {
        constexpr std::size_t length = window_text::shape.size();
        if (text.size() < length || !holds_windows()) {
            return std::nullopt;
        }
        const std::size_t at = key_first_ ? text.size() - length : 0;
        const auto window = window_text::parse(text.substr(at, length));
        if (window) {
            key_first_ ? text.remove_suffix(length) : text.remove_prefix(length);
        }
        return window;
    }

    std::string before_;
    std::string between_;
    std::string after_;
    bool key_first_ = true;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
