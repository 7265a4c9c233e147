// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_CORE_HASH_HPP
#define SHARDWEAVE_CORE_HASH_HPP

/// The stable hash (XXH3 of xxHash ≥ 0.8) and the bytes of an item id that it is taken of.

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string_view>
#include <type_traits>

// Inline, so that nobody has to link xxHash and no two copies of it can meet.
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#define SHARDWEAVE_UNDEF_XXH_INLINE_ALL
#endif
#include <xxhash.h>
#ifdef SHARDWEAVE_UNDEF_XXH_INLINE_ALL
#undef XXH_INLINE_ALL
#undef SHARDWEAVE_UNDEF_XXH_INLINE_ALL
#endif

#include <shardweave/core/detail/text.hpp>

namespace shardweave {
inline namespace v1 {

static_assert(XXH_VERSION_NUMBER >= 800,
              "shardweave: XXH3 has other results before xxHash 0.8; use 0.8 or later");

/// 128 bits of hash, most significant half first.
struct hash128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend constexpr auto operator<=>(const hash128&, const hash128&) noexcept = default;
};

/// XXH3-64 of the bytes, with seed 0: faster than where the seed is a variable.
[[nodiscard]] inline std::uint64_t stable_hash64(std::string_view bytes) noexcept {
    return XXH3_64bits(bytes.data(), bytes.size());
}

/// XXH3-64 of the bytes. The same in every process, build and language; never `std::hash`.
[[nodiscard]] inline std::uint64_t stable_hash64(std::string_view bytes,
                                                 std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

/// XXH3-128 of the bytes.
[[nodiscard]] inline hash128 stable_hash128(std::string_view bytes, std::uint64_t seed) noexcept {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
    return {hash.high64, hash.low64};
}

namespace detail {

template <class T>
concept character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                    std::same_as<T, char16_t> || std::same_as<T, char32_t>;

/// Integers that have one obvious decimal text. A `bool` or a character has not. Compilers' 128-bit
/// integers count as integral in some modes only, and would not fit in the digits.
template <class T>
concept id_number = std::integral<T> && !std::same_as<T, bool> && !character<T> && sizeof(T) <= 8;

template <class T>
concept id_text = std::convertible_to<const T&, std::string_view> && !std::is_null_pointer_v<T>;

/// Bytes in one piece: a span, vector or array of `std::byte`, `unsigned char` or `char`.
template <class T>
concept id_octets =
    std::ranges::contiguous_range<const T&> && std::ranges::sized_range<const T&> && !id_text<T> &&
    (std::same_as<std::ranges::range_value_t<const T&>, std::byte> ||
     std::same_as<std::ranges::range_value_t<const T&>, unsigned char> ||
     std::same_as<std::ranges::range_value_t<const T&>, char>);

template <class T>
inline constexpr bool always_false = false;

}  // namespace detail

/// The canonical bytes of an item id, made from what the application holds:
/// text and byte spans verbatim (no normalisation, NUL allowed, "" is a value like any other),
/// integers as their shortest decimal text, so that 42, std::int64_t{42} and "42" agree.
/// Floating point does not compile: two texts of one number would be two places.
///
/// It views the caller's text, and is no value to keep: a parameter only. Store a string.
class id_bytes {
public:
    // A span's own conversions would come on top of this one, and C++ makes only one of them by
    // itself; so each kind of range is taken as it is.
    template <detail::id_text Text>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
    id_bytes(const Text& text) noexcept : text_(static_cast<std::string_view>(text)) {}

    template <detail::id_octets Octets>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
    id_bytes(const Octets& octets) noexcept
        : text_(reinterpret_cast<const char*>(std::ranges::data(octets)),
                std::ranges::size(octets)) {}

    template <detail::id_number Number>
    id_bytes(Number number) noexcept {
        char* const digits = reinterpret_cast<char*>(digits_);
        digit_count_ = static_cast<unsigned char>(
            std::to_chars(digits, digits + sizeof digits_, number).ptr - digits);
    }

    template <class Other>
        requires std::floating_point<Other> || std::same_as<Other, bool> || detail::character<Other>
    id_bytes(Other) {
        static_assert(
            detail::always_false<Other>,
            "shardweave: an item id is text, bytes or an integer; a floating-point number, "
            "a bool or a single character has no canonical bytes: format it to text first");
    }

    id_bytes(std::nullptr_t) = delete;

    [[nodiscard]] std::string_view view() const noexcept {
        return digit_count_ == 0
                   ? text_
                   : std::string_view{reinterpret_cast<const char*>(digits_), digit_count_};
    }

private:
    std::string_view text_;
    // Left as they are until they are used; of all types, only bytes may be copied like that.
    unsigned char digits_[20];
    unsigned char digit_count_ = 0;
};

}  // namespace v1
}  // namespace shardweave

#endif
