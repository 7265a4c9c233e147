// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_READ_DETAIL_ORDER_KEY_HPP
#define SHARDWEAVE_READ_DETAIL_ORDER_KEY_HPP

/// The types that an order may compare: how each compares, and its order-preserving bytes.

#include <shardweave/core/bytes.hpp>
#include <shardweave/core/detail/text.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace shardweave {
inline namespace v1 {
namespace detail {

template <class T>
concept text_like = std::convertible_to<const T&, std::string_view>;

/// `order_key<T>` is defined for each type that an order may compare, with
///   view     what is compared: cheap, and owning only where the projection returned a value
///   tag      two characters that name the type in the order's fingerprint
///   compare, write, read, and text for errors
template <class T>
struct order_key {
    static constexpr bool supported = false;
};

// Compilers' 128-bit integers count as integral in some modes only, and do not fit in the bits.
template <class T>
    requires((std::integral<T> || std::is_enum_v<T>) && sizeof(T) <= 8)
struct order_key<T> {
    static constexpr bool supported = true;
    // NOLINTNEXTLINE(modernize-type-traits): underlying_type of what is no enum must stay unasked
    using number = typename std::conditional_t<std::is_enum_v<T>, std::underlying_type<T>,
                                               std::type_identity<T>>::type;
    // A plain char is a byte, whatever sign the platform gives it.
    static constexpr bool is_signed = std::signed_integral<number> && !std::same_as<number, char>;
    static constexpr unsigned bytes = sizeof(number);

    static constexpr std::uint64_t to_bits(T value) noexcept {
        auto bits = static_cast<std::uint64_t>(static_cast<number>(value));
        if constexpr (is_signed) {
            bits ^= std::uint64_t{1} << (8 * bytes - 1);
        }
        return bytes == 8 ? bits : bits & ((std::uint64_t{1} << (8 * (bytes % 8))) - 1);
    }

    static std::string tag() { return concat(is_signed ? "i" : "u", bytes); }
    static std::string text(T value) { return concat(+static_cast<number>(value)); }
    static constexpr std::strong_ordering compare(T a, T b) noexcept {
        return to_bits(a) <=> to_bits(b);
    }
    template <class Writer>
    [[gnu::always_inline]] static void write(Writer& out, T value) {
        out.fixed(to_bits(value), bytes);
    }
    static T read(ordered_reader& in) noexcept {
        std::uint64_t bits = in.fixed(bytes);
        if constexpr (std::same_as<number, bool>) {
            if (bits > 1) {
                in.fail();
                bits = 0;
            }
        }
        if constexpr (is_signed) {
            bits ^= std::uint64_t{1} << (8 * bytes - 1);
        }
        return static_cast<T>(static_cast<number>(bits));
    }
};

/// The total order of IEEE 754 (2008, 5.10): −NaN < −∞ < … < −0 < +0 < … < +∞ < NaN.
template <class T>
    requires std::same_as<T, float> || std::same_as<T, double>
struct order_key<T> {
    static constexpr bool supported = true;
    using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    static constexpr word sign = word{1} << (8 * sizeof(T) - 1);

    static constexpr word to_bits(T value) noexcept {
        const auto bits = std::bit_cast<word>(value);
        return (bits & sign) != 0 ? static_cast<word>(~bits) : static_cast<word>(bits | sign);
    }

    static std::string tag() { return concat("f", sizeof(T)); }
    static std::string text(T value) { return std::to_string(value); }
    static constexpr std::strong_ordering compare(T a, T b) noexcept {
        return to_bits(a) <=> to_bits(b);
    }
    template <class Writer>
    [[gnu::always_inline]] static void write(Writer& out, T value) {
        out.fixed(to_bits(value), sizeof(T));
    }
    static T read(ordered_reader& in) noexcept {
        const auto bits = static_cast<word>(in.fixed(sizeof(T)));
        return std::bit_cast<T>((bits & sign) != 0 ? static_cast<word>(bits ^ sign)
                                                   : static_cast<word>(~bits));
    }
};

/// Unsigned bytes, whatever the locale and the sign of char.
template <text_like T>
struct order_key<T> {
    static constexpr bool supported = true;
    static std::string tag() { return "s"; }
    static std::string text(std::string_view value) { return detail::quoted(value); }
    static std::strong_ordering compare(std::string_view a, std::string_view b) noexcept {
        return a.compare(b) <=> 0;  // char_traits<char> compares as unsigned char
    }
    template <class Writer>
    [[gnu::always_inline]] static void write(Writer& out, std::string_view value) {
        out.text(value);
    }
    static std::string read(ordered_reader& in) { return in.text(); }
};

template <class Byte, std::size_t Size>
    requires(sizeof(Byte) == 1)
struct order_key<std::array<Byte, Size>> {
    static constexpr bool supported = true;
    using array = std::array<Byte, Size>;
    static std::string tag() { return concat("a", Size); }
    static std::string text(const array& value) {
        return detail::quoted({reinterpret_cast<const char*>(value.data()), Size});
    }
    static std::strong_ordering compare(const array& a, const array& b) noexcept {
        return std::memcmp(a.data(), b.data(), Size) <=> 0;
    }
    template <class Writer>
    [[gnu::always_inline]] static void write(Writer& out, const array& value) {
        for (const Byte each : value) {
            out.byte(static_cast<unsigned char>(each));
        }
    }
    static array read(ordered_reader& in) noexcept {
        array value{};
        for (Byte& each : value) {
            each = static_cast<Byte>(in.byte());
        }
        return value;
    }
};

template <class Rep, class Period>
struct order_key<std::chrono::duration<Rep, Period>> {
    static constexpr bool supported = order_key<Rep>::supported;
    using duration = std::chrono::duration<Rep, Period>;
    // The unit is part of the type: a boundary in seconds must not be read as milliseconds.
    static std::string tag() {
        return concat("d", Period::num, "/", Period::den, order_key<Rep>::tag());
    }
    static std::string text(duration value) { return order_key<Rep>::text(value.count()); }
    static constexpr std::strong_ordering compare(duration a, duration b) noexcept {
        return order_key<Rep>::compare(a.count(), b.count());
    }
    template <class Writer>
    [[gnu::always_inline]] static void write(Writer& out, duration value) {
        order_key<Rep>::write(out, value.count());
    }
    static duration read(ordered_reader& in) { return duration{order_key<Rep>::read(in)}; }
};

template <class Clock, class Duration>
struct order_key<std::chrono::time_point<Clock, Duration>> {
    static constexpr bool supported = order_key<Duration>::supported;
    using point = std::chrono::time_point<Clock, Duration>;
    static std::string tag() { return "t" + order_key<Duration>::tag(); }
    static std::string text(point value) {
        return order_key<Duration>::text(value.time_since_epoch());
    }
    static constexpr std::strong_ordering compare(point a, point b) noexcept {
        return order_key<Duration>::compare(a.time_since_epoch(), b.time_since_epoch());
    }
    template <class Writer>
    [[gnu::always_inline]] static void write(Writer& out, point value) {
        order_key<Duration>::write(out, value.time_since_epoch());
    }
    static point read(ordered_reader& in) { return point{order_key<Duration>::read(in)}; }
};

template <class T>
struct optional_traits {
    static constexpr bool is_optional = false;
    using value = T;
};
template <class T>
struct optional_traits<std::optional<T>> {
    static constexpr bool is_optional = true;
    using value = T;
};

/// What is kept of a projected `T`: text is owned, all else is itself.
template <class T>
using owned_key = std::conditional_t<text_like<T>, std::string, T>;

/// What is compared of a projection that returns `Result`: a view of text that lives in the item,
/// a string where the projection made one, and a copy of all else, which is small.
template <class Result>
using viewed_key = std::conditional_t<
    !text_like<std::remove_cvref_t<Result>>, std::remove_cvref_t<Result>,
    std::conditional_t<std::is_lvalue_reference_v<Result> ||
                           !std::same_as<std::remove_cvref_t<Result>, std::string>,
                       std::string_view, std::string>>;

/// The first 16 order-preserving bytes of a position as two numbers. Unequal prefixes compare as
/// their positions do; equal ones mean equal positions when either is `exact`, since no
/// order-preserving key is a prefix of another.
struct sort_prefix {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    bool exact = false;
};

/// Collects a `sort_prefix` and ignores what goes beyond.
class prefix_sink {
public:
    [[nodiscard]] bool full() const noexcept { return size_ > 16; }
    [[nodiscard]] unsigned room() const noexcept { return size_ < 16 ? 16 - size_ : 0; }
    [[gnu::always_inline]] void put(unsigned char byte) noexcept { put(byte, 1); }

    /// The low `bytes` bytes of `value`, 1 to 8, most significant first; the others are zero.
    [[gnu::always_inline]] void put(std::uint64_t value, unsigned bytes) noexcept {
        value <<= 64 - 8 * bytes;
        if (size_ < 8) {
            high_ |= value >> (8 * size_);
            low_ |= size_ == 0 ? 0 : value << (64 - 8 * size_);
        } else if (size_ < 16) {
            low_ |= value >> (8 * size_ - 64);
        }
        size_ = size_ + bytes < 17 ? size_ + bytes : 17;
    }

    [[nodiscard]] sort_prefix result() const noexcept { return {high_, low_, size_ <= 16}; }

private:
    std::uint64_t high_ = 0;
    std::uint64_t low_ = 0;
    unsigned size_ = 0;
};

/// Collects all bytes.
class string_sink {
public:
    explicit string_sink(std::string& out) noexcept : out_(&out) {}
    [[nodiscard]] static bool full() noexcept { return false; }
    void put(unsigned char byte) { out_->push_back(static_cast<char>(byte)); }

private:
    std::string* out_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
