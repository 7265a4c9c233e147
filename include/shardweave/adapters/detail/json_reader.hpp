// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_ADAPTERS_DETAIL_JSON_READER_HPP
#define SHARDWEAVE_ADAPTERS_DETAIL_JSON_READER_HPP

/// Reads JSON strictly: every value is asked for by what it must be, and an error says where it is.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// The text in quotes, escaped as JSON needs it. Requires UTF-8.
inline std::string json_quoted(std::string_view text) { return nlohmann::json(text).dump(); }

inline bool is_utf8(std::string_view bytes) {
    try {
        (void)json_quoted(bytes);
        return true;
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

inline std::string to_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

/// `{a, b, c}` as `"a", "b" or "c"`.
inline std::string alternatives(std::span<const std::string_view> names) {
    std::string text;
    for (std::size_t i = 0; i != names.size(); ++i) {
        text += concat(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", "\"", names[i], "\"");
    }
    return text;
}

/// A failure whose detail says where in the JSON it is.
class positioned_failure final : public failure {
public:
    using failure::failure;
};

/// A name as a part of a JSON pointer (RFC 6901), in a form that fits in one line of a log.
inline std::string pointer_token(std::string_view name) {
    std::string escaped;
    for (const char c : name) {
        escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    const std::string shown = detail::quoted(escaped);
    return shown.substr(1, shown.size() - 2);
}

[[noreturn]] inline void refuse_json(std::string_view pointer, std::string_view why,
                                     errc code = errc::table_malformed) {
    throw positioned_failure{code, concat("at ", pointer.empty() ? "the top" : pointer, ": ", why)};
}

/// A value, and the JSON pointer to it. Views a document.
class json_reader {
public:
    json_reader(const nlohmann::json& value, std::string pointer)
        : value_(&value), pointer_(std::move(pointer)) {}

    [[noreturn]] void refuse(std::string_view why, errc code = errc::table_malformed) const {
        refuse_json(pointer_, why, code);
    }

    /// What the action returns; a failure of a part gets this position.
    template <class Action>
    auto within(const Action& action) const {
        try {
            return action();
        } catch (const positioned_failure&) {
            throw;  // It has a more exact one.
        } catch (const failure& thrown) {
            refuse(thrown.reason().detail, thrown.code());
        }
    }

    /// Refuses all fields but these.
    void allow(const std::vector<std::string_view>& known) const {
        must_be(value_->is_object(), "an object");
        for (const auto& [name, value] : value_->items()) {
            if (std::find(known.begin(), known.end(), name) == known.end()) {
                refuse(concat("the field ", detail::quoted(name), " is unknown; use ",
                              alternatives(known)));
            }
        }
    }

    [[nodiscard]] bool has(std::string_view name) const { return value_->contains(name); }

    [[nodiscard]] json_reader field(std::string_view name) const {
        must_be(value_->is_object(), "an object");
        const auto at = value_->find(name);
        if (at == value_->end()) {
            refuse(concat("the field \"", name, "\" is missing; add it"));
        }
        return {*at, concat(pointer_, "/", name)};
    }

    /// A field of text, or the bytes of its twin `<name>_hex`.
    [[nodiscard]] std::string text(std::string_view name) const {
        const std::string hex = concat(name, "_hex");
        if (!has(hex)) {
            return field(name).as_text(R"(text, such as "db0")");
        }
        if (has(name)) {
            refuse(concat("both \"", name, "\" and \"", hex, "\"; write one of them"));
        }
        return field(hex).from_hex(field(hex).as_text(R"(hexadecimal digits, such as "64ff")"));
    }

    /// The bytes of hexadecimal digits that stand here.
    [[nodiscard]] std::string from_hex(std::string_view digits) const {
        std::string bytes;
        for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
            unsigned value = 0;
            (void)std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
            bytes += static_cast<char>(value);
        }
        if (to_hex(bytes) != digits) {
            refuse(concat(detail::quoted(digits),
                          " is not hexadecimal; write two digits of 0-9 and a-f for each byte"));
        }
        return bytes;
    }

    /// A whole number, or one as text, as large ones are written.
    [[nodiscard]] std::uint64_t
    number(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
        std::uint64_t number = 0;
        bool whole = value_->is_number_unsigned();
        if (whole) {
            number = value_->get<std::uint64_t>();
        } else if (value_->is_string()) {
            whole = parse(value_->get_ref<const std::string&>(), number);
        }
        if (!whole || number > most) {
            refuse(concat(found(), "; write a whole number from 0 to ", most));
        }
        return number;
    }

    /// The place of this text among the names.
    [[nodiscard]] std::size_t one_of(std::span<const std::string_view> names) const {
        const auto at = value_->is_string() ? std::find(names.begin(), names.end(),
                                                        value_->get_ref<const std::string&>())
                                            : names.end();
        if (at == names.end()) {
            refuse(concat(found(), "; write ", alternatives(names)));
        }
        return static_cast<std::size_t>(at - names.begin());
    }

    /// "first-last" or "slot", below `slots`.
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> slot_range(std::uint64_t slots) const {
        const std::string text = as_text(R"(slots, such as "0-4095" or "7")");
        const auto dash = text.find('-');
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        const bool whole =
            parse(std::string_view{text}.substr(0, dash), first) &&
            (dash == std::string::npos || parse(std::string_view{text}.substr(dash + 1), last));
        if (!whole) {
            refuse(found() + R"(; write slots, such as "0-4095" or "7")");
        }
        if (dash == std::string::npos) {
            last = first;
        }
        if (last < first) {
            refuse(concat(found(), " ends before it begins; write \"", last, "-", first, "\""));
        }
        if (last >= slots) {
            refuse(concat("slot ", last, " of a table of ", slots,
                          " slots; slots are numbered from 0 to ", slots - (slots == 0 ? 0 : 1)));
        }
        return {first, last};
    }

    [[nodiscard]] std::vector<json_reader> items(std::string_view what) const {
        must_be(value_->is_array(), what);
        std::vector<json_reader> list;
        for (std::size_t i = 0; i != value_->size(); ++i) {
            list.emplace_back((*value_)[i], concat(pointer_, "/", i));
        }
        return list;
    }

    [[nodiscard]] std::vector<std::pair<std::string, json_reader>> members() const {
        must_be(value_->is_object(), R"(an object by key, such as {} or {"author-1": […]})");
        std::vector<std::pair<std::string, json_reader>> list;
        for (const auto& [name, value] : value_->items()) {
            list.emplace_back(name, json_reader{value, concat(pointer_, "/", pointer_token(name))});
        }
        return list;
    }

    /// A text; `what` says which.
    [[nodiscard]] std::string as_text(std::string_view what) const {
        must_be(value_->is_string(), what);
        return value_->get<std::string>();
    }

    /// What stands here, in short.
    [[nodiscard]] std::string found() const {
        if (value_->is_string()) {
            return detail::quoted(value_->get_ref<const std::string&>());
        }
        return value_->is_structured() ? concat("an ", value_->type_name()) : value_->dump();
    }

private:
    [[nodiscard]] static bool parse(std::string_view digits, std::uint64_t& number) {
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        return read.ec == std::errc{} && concat(number) == digits;  // one way to write each
    }

    void must_be(bool is, std::string_view what) const {
        if (!is) {
            refuse(concat(found(), "; write ", what));
        }
    }

    const nlohmann::json* value_;
    std::string pointer_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
