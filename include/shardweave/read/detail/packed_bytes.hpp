// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_PACKED_BYTES_HPP
#define SHARDWEAVE_READ_DETAIL_PACKED_BYTES_HPP

/// Bytes of few different values in as few bits as these need: hexadecimal in 4, base64 in 6.

#include <shardweave/core/bytes.hpp>
#include <shardweave/read/detail/runs.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The form: their number (varint); if it is not 0, the bits for each (0 to 8); if these are not 8,
// the values that occur, as runs over all 256; the value's number among them for each byte, most
// significant bit first; bits of 0 up to a whole byte.

namespace shardweave {
inline namespace v1 {
namespace detail {

inline constexpr unsigned whole_byte = 8;
inline constexpr std::size_t byte_values = 256;

/// Appends the bytes, packed only where that is shorter.
inline void write_packed(byte_writer& out, std::string_view bytes) {
    out.varint(bytes.size());
    if (bytes.empty()) {
        return;
    }
    std::array<bool, byte_values> occurs{};
    for (const char c : bytes) {
        occurs[static_cast<unsigned char>(c)] = true;
    }
    std::array<unsigned char, byte_values> numbers{};
    unsigned count = 0;
    for (std::size_t value = 0; value != byte_values; ++value) {
        if (occurs[value]) {
            numbers[value] = static_cast<unsigned char>(count++);
        }
    }
    const auto bits = static_cast<unsigned>(std::bit_width(count - 1));
    std::string packed;
    byte_writer to{packed};
    write_runs(to, byte_values, [&](std::size_t value) { return occurs[value]; });
    if (packed.size() + (bytes.size() * bits + whole_byte - 1) / whole_byte >= bytes.size()) {
        out.byte(whole_byte);
        out.raw(bytes);
        return;
    }
    std::uint32_t waiting = 0;
    unsigned width = 0;
    for (const char c : bytes) {
        waiting = waiting << bits | numbers[static_cast<unsigned char>(c)];
        width += bits;
        if (width >= whole_byte) {
            width -= whole_byte;
            to.byte(static_cast<unsigned char>(waiting >> width));
        }
    }
    if (width != 0) {
        to.byte(static_cast<unsigned char>(waiting << (whole_byte - width)));
    }
    out.byte(static_cast<unsigned char>(bits));
    out.raw(packed);
}

/// Reads them one after another, from bytes that may be hostile; allocates nothing. A fault in the
/// head is one of `in`; one in the bytes ends them early.
class packed_reader {
public:
    packed_reader(byte_reader& in, std::size_t most) {
        const auto count = static_cast<std::size_t>(in.varint(most));
        if (count == 0) {
            return;
        }
        bits_ = in.byte();
        if (bits_ > whole_byte) {
            in.fail();
        } else if (bits_ != whole_byte) {
            read_runs(in, byte_values, [this](std::size_t value) {
                values_[known_++] = static_cast<unsigned char>(value);
            });
            if (known_ == 0 || static_cast<unsigned>(std::bit_width(known_ - 1)) != bits_) {
                in.fail();
            }
        }
        packed_ = in.raw((count * bits_ + whole_byte - 1) / whole_byte);
        left_ = in.ok() ? count : 0;
    }

    /// How many are left.
    [[nodiscard]] std::size_t left() const noexcept { return left_; }

    /// True when all were read, and nothing is hidden in the last byte.
    [[nodiscard]] bool finished() const noexcept {
        return left_ == 0 && packed_.empty() && (waiting_ & ((1U << width_) - 1)) == 0;
    }

    /// Appends `count` of them, if there are so many.
    [[nodiscard]] bool append(std::string& to, std::size_t count) {
        if (count > left_) {
            return false;
        }
        for (; count != 0; --count, --left_) {
            const unsigned number = next();
            if (bits_ != whole_byte && number >= known_) {
                return false;
            }
            to += static_cast<char>(bits_ == whole_byte ? number : values_[number]);
        }
        return true;
    }

private:
    unsigned next() {
        if (width_ < bits_) {
            waiting_ = waiting_ << whole_byte | static_cast<unsigned char>(packed_.front());
            packed_.remove_prefix(1);
            width_ += whole_byte;
        }
        width_ -= bits_;
        return (waiting_ >> width_) & ((1U << bits_) - 1);
    }

    std::array<unsigned char, byte_values> values_{};
    unsigned known_ = 0;
    unsigned bits_ = 0;
    std::string_view packed_;
    std::size_t left_ = 0;
    std::uint32_t waiting_ = 0;
    unsigned width_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
