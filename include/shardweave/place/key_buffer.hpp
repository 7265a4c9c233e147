// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_KEY_BUFFER_HPP
#define SHARDWEAVE_PLACE_KEY_BUFFER_HPP

/// Room for the text of any partition key, where no memory is to be allocated.

#include <shardweave/core/limits.hpp>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace shardweave {
inline namespace v1 {

/// Two kilobytes, for the stack or a thread: what `key_format::append_to` and
/// `prepared_table::append_partition_key` append to, once each after a `clear`.
class key_buffer {
public:
    key_buffer() noexcept = default;
    // The text is copied, not the room.
    key_buffer(const key_buffer& other) noexcept : size_(other.size_) {
        std::memcpy(text_, other.text_, size_);
    }
    key_buffer& operator=(const key_buffer& other) noexcept {
        if (this != &other) {
            size_ = other.size_;
            std::memcpy(text_, other.text_, size_);
        }
        return *this;
    }

    void clear() noexcept { size_ = 0; }

    /// Requires that there is room left, as there is for one partition key.
    void append(const char* begin, const char* end) noexcept {
        const auto size = static_cast<std::size_t>(end - begin);
        copy(text_ + size_, begin, size);
        size_ += size;
    }

    [[nodiscard]] std::string_view view() const noexcept { return {text_, size_}; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    // The pieces of partition keys are short. Two copies of a known size, which may overlap, cost
    // less than a call.
    static void copy(char* to, const char* from, std::size_t size) noexcept {
        if (size - 8 <= 24) [[likely]] {  // unsigned: 8 to 32
            size < 16 ? copy_ends<8>(to, from, size) : copy_ends<16>(to, from, size);
        } else if (size > 32) {
            copy_long(to, from, size);
        } else if (size >= 4) {
            copy_ends<4>(to, from, size);
        } else if (size != 0) {
            to[0] = from[0];
            to[size / 2] = from[size / 2];
            to[size - 1] = from[size - 1];
        }
    }
    // Out of line, where g++ does not take a number's digits for a long text.
    [[gnu::noinline]] static void copy_long(char* to, const char* from, std::size_t size) noexcept {
        std::memcpy(to, from, size);
    }
    template <std::size_t Part>
    static void copy_ends(char* to, const char* from, std::size_t size) noexcept {
        char first[Part];
        char last[Part];
        std::memcpy(first, from, Part);
        std::memcpy(last, from + (size - Part), Part);
        std::memcpy(to, first, Part);
        std::memcpy(to + (size - Part), last, Part);
    }

    /// A bucket's digits, and the start of its window.
    static constexpr std::size_t number_bytes = 32;

    std::size_t size_ = 0;
    char text_[limits::key_bytes + limits::key_format_bytes + number_bytes];
};

}  // namespace v1
}  // namespace shardweave

#endif
