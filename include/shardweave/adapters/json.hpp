// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_ADAPTERS_JSON_HPP
#define SHARDWEAVE_ADAPTERS_JSON_HPP

/// A routing table as JSON that a person can review in a pull request. Needs nlohmann-json: link
/// `shardweave::json`.

#include <shardweave/adapters/detail/json_document.hpp>
#include <shardweave/adapters/detail/json_reader.hpp>
#include <shardweave/adapters/detail/json_time.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/time_range.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

inline constexpr std::string_view suffix_names[] = {"unless_single", "always", "unless_zero"};
inline constexpr std::string_view selection_names[] = {"calculated", "random", "custom"};
inline constexpr std::string_view state_names[] = {"writable", "readable", "retired"};

/// `"name": "text"`, or `"name_hex": "74ff"` for bytes that are no UTF-8, which JSON cannot hold.
inline std::string json_text(std::string_view name, std::string_view bytes) {
    const bool readable = is_utf8(bytes);
    return concat("\"", name, readable ? "\": " : "_hex\": \"",
                  readable ? json_quoted(bytes) : to_hex(bytes), readable ? "" : "\"");
}

/// As text beyond what every reader of JSON keeps exactly: 2^53 − 1.
inline std::string json_number(std::uint64_t number) {
    constexpr std::uint64_t most = (std::uint64_t{1} << 53U) - 1;
    return number <= most ? concat(number) : concat("\"", number, "\"");
}

inline void write_json(std::string& out, const scheme_history& history, std::string_view indent) {
    out += "[";
    std::string_view separator = "\n";
    for (const auto& [scheme, state] : history.entries()) {
        out += concat(separator, indent, "  {\"version\": ", scheme.version().value(),
                      ", \"selector\": \"",
                      selection_names[static_cast<std::size_t>(scheme.how()) - 1], "\"");
        if (scheme.how() == selection::custom) {
            out += ", " + json_text("name", scheme.selector_name());
        }
        out +=
            concat(", \"buckets\": ", scheme.buckets(), ", \"seed\": ", json_number(scheme.seed()));
        if (scheme.width().count() != 0) {
            out += concat(", \"window\": \"", json_width(scheme.width()), "\"");
        }
        if (const auto since = scheme.since()) {
            out += concat(", \"since\": \"", json_time(*since), "\"");
        }
        out += concat(", \"state\": \"", state_names[static_cast<std::size_t>(state) - 1], "\"}");
        separator = ",\n";
    }
    out += concat("\n", indent, "]");
}

/// Each shard's slots as `"first-last"` texts, ascending.
inline std::vector<std::vector<std::string>> slot_ranges(const shard_map& map) {
    std::vector<std::vector<std::string>> ranges(map.names().size());
    const auto& owners = map.owners();
    for (std::size_t first = 0; first != owners.size();) {
        std::size_t end = first + 1;
        while (end != owners.size() && owners[end] == owners[first]) {
            ++end;
        }
        ranges[owners[first]].push_back(end - first == 1 ? concat("\"", first, "\"")
                                                         : concat("\"", first, "-", end - 1, "\""));
        first = end;
    }
    return ranges;
}

inline void write_json(std::string& out, const shard_map& map) {
    constexpr std::size_t ranges_a_line = 6;
    out += "[";
    const auto ranges = slot_ranges(map);
    for (std::size_t i = 0; i != ranges.size(); ++i) {
        out += concat(i == 0 ? "\n" : ",\n", "    {", json_text("name", map.names()[i]),
                      ", \"slots\": [");
        const bool wrapped = ranges[i].size() > ranges_a_line;
        for (std::size_t j = 0; j != ranges[i].size(); ++j) {
            out += j == 0 ? "" : ",";
            if (wrapped && j % ranges_a_line == 0) {
                out += "\n      ";
            } else if (j != 0) {
                out += " ";
            }
            out += ranges[i][j];
        }
        out += wrapped ? "\n    ]}" : "]}";
    }
    out += "\n  ]";
}

inline scheme_history read_history(const json_reader& in, const selector_registry& selectors,
                                   std::uint64_t format) {
    std::vector<scheme_history::entry> entries;
    for (const json_reader& each :
         in.items("a list of schemes, such as [{\"version\": 1, \"selector\": \"calculated\", "
                  "\"buckets\": 1, \"seed\": 1, \"state\": \"writable\"}]")) {
        const std::size_t how = each.field("selector").one_of(selection_names) + 1;
        const bool custom = selection{static_cast<std::uint8_t>(how)} == selection::custom;
        std::vector<std::string_view> known{"version", "selector", "buckets", "seed", "state"};
        if (custom) {
            known.insert(known.end(), {"name", "name_hex"});
        }
        if (format == timed_format_version) {
            known.insert(known.end(), {"window", "since"});
        }
        each.allow(known);
        shared_selector selector;
        if (custom) {
            const std::string name = each.text("name");
            selector = selectors.find(name);
            if (!selector) {
                each.refuse(concat("the selector ", detail::quoted(name),
                                   " is not registered; register it in the selector_registry "
                                   "given to decode_json"),
                            errc::unknown_selector);
            }
        }
        const auto version = each.field("version").number(0xffffffffU);
        const auto buckets = each.field("buckets").number(limits::buckets);
        const std::size_t state = each.field("state").one_of(state_names) + 1;
        const std::optional<item_time> since = read_since(each);
        each.within([&] {
            const bucket_scheme scheme{selection{static_cast<std::uint8_t>(how)},
                                       static_cast<std::uint32_t>(buckets),
                                       {scheme_version{static_cast<std::uint32_t>(version)},
                                        each.field("seed").number(), since},
                                       std::move(selector)};
            entries.push_back(
                {read_window(each, scheme), scheme_state{static_cast<std::uint8_t>(state)}});
        });
    }
    return in.within([&] { return scheme_history{std::move(entries)}; });
}

inline shard_map read_map(const json_reader& slots_field, const json_reader& in) {
    const std::uint64_t slots = slots_field.number(limits::slots);
    if (!std::has_single_bit(slots)) {
        slots_field.refuse(concat(slots, " slots; write a power of two, such as 16384"));
    }
    constexpr std::uint32_t nobody = 0xffffffffU;
    // At most 4 MiB, however short the text is: that is what `limits::slots` is for.
    std::vector<std::uint32_t> owners(slots, nobody);
    std::vector<std::string> names;
    for (const json_reader& each : in.items("a list of shards")) {
        each.allow({"name", "name_hex", "slots"});
        names.push_back(each.text("name"));
        for (const json_reader& range : each.field("slots").items("a list such as [\"0-4095\"]")) {
            const auto [first, last] = range.slot_range(slots);
            for (std::uint64_t slot = first; slot <= last; ++slot) {
                if (owners[slot] != nobody) {
                    range.refuse(concat("slot ", slot, " belongs to the shard ",
                                        detail::quoted(names[owners[slot]]),
                                        " already; write it under one shard only"));
                }
                owners[slot] = static_cast<std::uint32_t>(names.size() - 1);
            }
        }
    }
    for (std::size_t first = 0; first != owners.size(); ++first) {
        if (owners[first] == nobody) {
            std::size_t last = first;
            while (last + 1 != owners.size() && owners[last + 1] == nobody) {
                ++last;
            }
            in.refuse(concat("no shard has slot ", first, "; add \"", first,
                             first == last ? "" : concat("-", last), "\" to one"),
                      errc::incomplete_map);
        }
    }
    return in.within([&] { return shard_map{std::move(names), std::move(owners)}; });
}

inline void read_keys(const json_reader& in, std::string_view field, const key_format& format,
                      const selector_registry& selectors, std::uint64_t version,
                      scheme_table& schemes) {
    for (const auto& member : in.field(field).members()) {
        const json_reader& value = member.second;
        const std::string key = field == "keys" ? member.first : value.from_hex(member.first);
        value.within([&] {
            format.check(key);
            schemes = std::move(schemes).with(key, read_history(value, selectors, version));
        });
    }
}

}  // namespace detail

/// The table as JSON: fields in a fixed order, a scheme a line, a shard a line with its slots as
/// ranges. Equal tables give equal texts, so a difference between two texts is one of the tables.
[[nodiscard]] inline std::string encode_json(const routing_table& table) {
    std::string out = detail::concat(
        "{\n  \"format\": ", detail::format_of(table.schemes()),
        ",\n  \"epoch\": ", detail::json_number(table.epoch().value()), ",\n  ",
        detail::json_text("key_format", table.format().text()), ",\n  \"suffix\": \"",
        detail::suffix_names[static_cast<std::size_t>(table.format().mode()) - 1],
        "\",\n  \"ordinary\": ");
    detail::write_json(out, table.schemes().ordinary(), "  ");
    for (const bool readable : {true, false}) {
        std::string keys;
        for (const auto& [key, history] : table.schemes().exceptional()) {
            if (detail::is_utf8(key) == readable) {
                keys += detail::concat(
                    keys.empty() ? "\n" : ",\n", "    ",
                    readable ? detail::json_quoted(key) : "\"" + detail::to_hex(key) + "\"", ": ");
                detail::write_json(keys, history, "    ");
            }
        }
        if (readable || !keys.empty()) {
            out += detail::concat(",\n  \"", readable ? "keys" : "keys_hex", "\": {", keys,
                                  keys.empty() ? "}" : "\n  }");
        }
    }
    out += detail::concat(",\n  \"slots\": ", table.shards().slots(), ",\n  \"shards\": ");
    detail::write_json(out, table.shards());
    return out + "\n}\n";
}

/// Reads what `encode_json` writes, or a person did. The text may be hostile.
///
/// Every error names its position (line and column where it is no JSON, else a JSON pointer, RFC
/// 6901) and says what to write instead. Throws `errc::table_malformed`; `errc::unknown_selector`
/// for a selector that is not in the registry; `errc::incomplete_map` for a slot without a shard;
/// and what the parts throw for contents that cannot work. Unknown, missing and repeated fields are
/// refused.
[[nodiscard]] inline routing_table decode_json(std::string_view text,
                                               const selector_registry& selectors = {}) {
    const detail::json_document document{text};
    const detail::json_reader in = document.root();
    in.allow({"format", "epoch", "key_format", "key_format_hex", "suffix", "ordinary", "keys",
              "keys_hex", "slots", "shards"});
    const std::uint64_t version = in.field("format").number();
    if (!detail::readable_format(version)) {
        in.field("format").refuse(detail::concat(
            "format ", version, "; this library reads ", detail::routing_format_version, " and ",
            detail::timed_format_version, " (with time windows or since)"));
    }
    const epoch at{in.field("epoch").number()};
    const auto mode =
        suffix{static_cast<std::uint8_t>(in.field("suffix").one_of(detail::suffix_names) + 1)};
    const std::string format_text = in.text("key_format");
    key_format format =
        in.field(in.has("key_format") ? "key_format" : "key_format_hex").within([&] {
            return key_format{format_text, mode};
        });
    scheme_table schemes{detail::read_history(in.field("ordinary"), selectors, version)};
    detail::read_keys(in, "keys", format, selectors, version, schemes);
    if (in.has("keys_hex")) {
        detail::read_keys(in, "keys_hex", format, selectors, version, schemes);
    }
    if (detail::format_of(schemes) != version) {
        in.field("format").refuse("no scheme has a window or a since; write 1");
    }
    shard_map shards = detail::read_map(in.field("slots"), in.field("shards"));
    return in.within([&] {
        return routing_table{std::move(schemes), std::move(shards), {at, std::move(format)}};
    });
}

}  // namespace v1
}  // namespace shardweave

#endif
