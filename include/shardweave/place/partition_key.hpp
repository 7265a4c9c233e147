// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_PARTITION_KEY_HPP
#define SHARDWEAVE_PLACE_PARTITION_KEY_HPP

/// The text that is stored with an item, as a type of its own.

#include <fmt/format.h>

#include <compare>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// A finished partition key. It becomes a `std::string` for the store, but never a key again:
/// passing it where a key is expected does not compile, so nothing is split twice.
class partition_key {
public:
    partition_key() = default;
    explicit partition_key(std::string text) noexcept : text_(std::move(text)) {}

    [[nodiscard]] const std::string& str() const& noexcept { return text_; }
    [[nodiscard]] std::string str() && noexcept { return std::move(text_); }
    // NOLINTNEXTLINE(google-explicit-constructor): stores take strings; keys are string_views.
    // A second one for temporaries would make `rows[router.place(key, id).partition_key]`
    // ambiguous.
    operator const std::string&() const noexcept { return text_; }

    friend auto operator<=>(const partition_key&, const partition_key&) noexcept = default;
    friend bool operator==(const partition_key&, const partition_key&) noexcept = default;
    friend bool operator==(const partition_key& a, std::string_view b) noexcept {
        return a.text_ == b;
    }
    friend bool operator==(const partition_key& a, const std::string& b) noexcept {
        return a.text_ == b;
    }
    friend bool operator==(const partition_key& a, const char* b) noexcept { return a.text_ == b; }

    template <class Traits>
    friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                        const partition_key& key) {
        return out << key.text_;
    }

private:
    std::string text_;
};

}  // namespace v1
}  // namespace shardweave

template <>
struct std::hash<shardweave::partition_key> {
    // For the user's own in-memory containers; nothing durable is ever derived from it.
    std::size_t operator()(const shardweave::partition_key& key) const noexcept {
        return std::hash<std::string>{}(key.str());
    }
};

template <>
struct fmt::formatter<shardweave::partition_key> : fmt::formatter<fmt::string_view> {
    template <class Context>
    auto format(const shardweave::partition_key& key, Context& context) const {
        return fmt::formatter<fmt::string_view>::format(
            fmt::string_view{key.str().data(), key.str().size()}, context);
    }
};

#endif
