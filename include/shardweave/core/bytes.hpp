// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_BYTES_HPP
#define SHARDWEAVE_CORE_BYTES_HPP

/// Canonical bytes: one writing for each value, and readers that take nothing else.

#include <shardweave/core/hash.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace shardweave {
inline namespace v1 {

/// Appends to a string: varints (LEB128, shortest form), length-prefixed text, raw bytes.
class byte_writer {
public:
    explicit byte_writer(std::string& out) noexcept : out_(&out) {}

    void byte(unsigned char value) { out_->push_back(static_cast<char>(value)); }

    void varint(std::uint64_t value) {
        while (value >= 0x80) {
            byte(static_cast<unsigned char>(value | 0x80U));
            value >>= 7U;
        }
        byte(static_cast<unsigned char>(value));
    }

    /// A varint of 0, −1, 1, −2, … (zigzag).
    void signed_varint(std::int64_t value) {
        const auto bits = static_cast<std::uint64_t>(value);
        varint(value < 0 ? ~(bits << 1U) : bits << 1U);
    }

    void raw(std::string_view bytes) { out_->append(bytes); }

    void text(std::string_view bytes) {
        varint(bytes.size());
        raw(bytes);
    }

    /// 16 bytes, big-endian.
    void hash(const hash128& value) {
        fixed64(value.high);
        fixed64(value.low);
    }

    /// 8 bytes, big-endian.
    void fixed64(std::uint64_t value) {
        for (unsigned shift = 64; shift != 0; shift -= 8) {
            byte(static_cast<unsigned char>(value >> (shift - 8)));
        }
    }

private:
    std::string* out_;
};

/// Reads what `byte_writer` wrote, from bytes that may be hostile. The first fault (an end too
/// early, an overlong varint, a length over its limit) sticks: everything read after it is zero or
/// empty, `ok()` is false, and nothing is ever allocated.
class byte_reader {
public:
    explicit byte_reader(std::string_view bytes) noexcept : rest_(bytes) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    /// True when all bytes were read without a fault.
    [[nodiscard]] bool finished() const noexcept { return ok_ && rest_.empty(); }
    [[nodiscard]] std::size_t remaining() const noexcept { return rest_.size(); }
    void fail() noexcept {
        ok_ = false;
        rest_ = {};
    }

    unsigned char byte() noexcept {
        const std::string_view one = raw(1);
        return one.empty() ? static_cast<unsigned char>(0)
                           : static_cast<unsigned char>(one.front());
    }

    /// A varint of at most `most`; an overlong one is a fault, so that each value has one writing.
    std::uint64_t varint(std::uint64_t most = ~std::uint64_t{0}) noexcept {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const unsigned char next = byte();
            const auto bits = static_cast<std::uint64_t>(next & 0x7fU);
            if (!ok_ || (shift == 63 && bits > 1) || (shift != 0 && next == 0)) {
                break;
            }
            value |= bits << shift;
            if ((next & 0x80U) == 0) {
                if (value > most) {
                    break;
                }
                return value;
            }
        }
        fail();
        return 0;
    }

    std::int64_t signed_varint() noexcept {
        const std::uint64_t value = varint();
        return static_cast<std::int64_t>((value & 1U) != 0 ? ~(value >> 1U) : value >> 1U);
    }

    std::string_view raw(std::size_t count) noexcept {
        if (count > rest_.size()) {
            fail();
            return {};
        }
        const std::string_view taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    /// Length-prefixed bytes of at most `most`.
    std::string_view text(std::size_t most) noexcept {
        return raw(static_cast<std::size_t>(varint(most)));
    }

    std::uint64_t fixed64() noexcept {
        std::uint64_t value = 0;
        for (const char c : raw(8)) {
            value = value << 8U | static_cast<unsigned char>(c);
        }
        return value;
    }

    hash128 hash() noexcept {
        const std::uint64_t high = fixed64();
        return {high, fixed64()};
    }

private:
    std::string_view rest_;
    bool ok_ = true;
};

// Order-preserving keys. Comparing two of them as unsigned bytes gives the order of the values, and
// no key is a prefix of another one, so that keys can be joined: integers are big-endian with the
// sign bit flipped; text has 00 written as 01 01 and 01 as 01 02, and ends with 00.
// A descending component has every byte complemented, which `mask` does (0x00 or 0xff).

/// Writes order-preserving keys to a sink with `void put(unsigned char)` and `bool full()`: a full
/// one may ignore what is put, and no more text is written to it. A sink may also have
/// `void put(std::uint64_t value, unsigned bytes)`, for up to 8 bytes that come together, and
/// `room()`, the bytes that it still keeps.
template <class Sink>
class ordered_writer {
public:
    explicit ordered_writer(Sink& sink, unsigned char mask = 0) noexcept
        : sink_(&sink), mask_(mask) {}

    void mask(unsigned char mask) noexcept { mask_ = mask; }

    [[gnu::always_inline]] void byte(unsigned char value) {
        sink_->put(static_cast<unsigned char>(value ^ mask_));
    }

    /// The low `bytes` bytes of `value`, most significant first.
    [[gnu::always_inline]] void fixed(std::uint64_t value, unsigned bytes) {
        if constexpr (takes_words) {
            const std::uint64_t mask = mask_ * each_byte >> (64 - 8 * bytes);
            sink_->put(value ^ mask, bytes);
        } else {
            for (unsigned i = bytes; i != 0; --i) {
                byte(static_cast<unsigned char>(value >> (8 * (i - 1))));
            }
        }
    }

    [[gnu::always_inline]] void text(std::string_view bytes) {
        if constexpr (takes_words) {
            if (bytes.size() >= 16 && put_word(bytes) && put_word(bytes) && sink_->room() == 0) {
                return byte(0);
            }
            if (bytes.size() >= 8) {
                put_word(bytes);
            }
        }
        for (const char c : bytes) {
            if (sink_->full()) {
                return;
            }
            const auto value = static_cast<unsigned char>(c);
            if (value <= 1) {
                byte(1);
                byte(static_cast<unsigned char>(value + 1));
            } else {
                byte(value);
            }
        }
        byte(0);
    }

private:
    static constexpr std::uint64_t each_byte = 0x0101'0101'0101'0101;
    static constexpr bool takes_words = requires(Sink& sink) { sink.put(std::uint64_t{}, 8U); };

    /// Writes the first eight bytes and removes them, unless one needs two bytes of its own.
    [[gnu::always_inline]] bool put_word(std::string_view& bytes) {
        const std::uint64_t word = first_word(bytes);
        if (has_byte_below_2(word)) [[unlikely]] {
            return false;
        }
        fixed(word, 8);
        bytes.remove_prefix(8);
        return true;
    }
    /// Big-endian. One load, and one instruction for all the swaps: of single bytes that are put
    /// together, clang makes eight loads.
    static std::uint64_t first_word(std::string_view bytes) noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof(word));
        if constexpr (std::endian::native == std::endian::little) {
            constexpr std::uint64_t odd_bytes = 0x00ff'00ff'00ff'00ff;
            constexpr std::uint64_t odd_pairs = 0x0000'ffff'0000'ffff;
            word = (word & odd_bytes) << 8U | (word >> 8U & odd_bytes);
            word = (word & odd_pairs) << 16U | (word >> 16U & odd_pairs);
            word = word << 32U | word >> 32U;
        }
        return word;
    }
    /// The lowest byte below 2 borrows into its own top bit; bytes from 128 on have theirs set
    /// before.
    static bool has_byte_below_2(std::uint64_t word) noexcept {
        return ((word - 2 * each_byte) & ~word & 0x80 * each_byte) != 0;
    }

    Sink* sink_;
    unsigned char mask_;
};

/// Reads order-preserving keys back, strictly: what `ordered_writer` would not write is a fault.
class ordered_reader {
public:
    explicit ordered_reader(std::string_view bytes) noexcept : bytes_(bytes) {}

    void mask(unsigned char mask) noexcept { mask_ = mask; }
    [[nodiscard]] bool ok() const noexcept { return bytes_.ok(); }
    [[nodiscard]] bool finished() const noexcept { return bytes_.finished(); }
    void fail() noexcept { bytes_.fail(); }

    unsigned char byte() noexcept { return static_cast<unsigned char>(bytes_.byte() ^ mask_); }

    std::uint64_t fixed(unsigned bytes) noexcept {
        std::uint64_t value = 0;
        for (unsigned i = 0; i != bytes; ++i) {
            value = value << 8U | byte();
        }
        return value;
    }

    /// Allocates at most as many bytes as are left to read.
    std::string text() {
        std::string out;
        while (bytes_.ok()) {
            const unsigned char value = byte();
            if (!bytes_.ok()) {
                break;
            }
            if (value == 0) {
                return out;
            }
            if (value == 1) {
                const unsigned char escaped = byte();
                if (escaped != 1 && escaped != 2) {
                    break;
                }
                out.push_back(static_cast<char>(escaped - 1));
            } else {
                out.push_back(static_cast<char>(value));
            }
        }
        fail();
        return {};
    }

private:
    byte_reader bytes_;
    unsigned char mask_ = 0;
};

}  // namespace v1
}  // namespace shardweave

#endif
