// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_ADAPTERS_DETAIL_JSON_DOCUMENT_HPP
#define SHARDWEAVE_ADAPTERS_DETAIL_JSON_DOCUMENT_HPP

/// JSON parsed so that what the parser lets pass is refused too: a field that stands twice.

#include <shardweave/adapters/detail/json_reader.hpp>
#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace detail {

class json_document {
public:
    /// Throws `errc::table_malformed` for a text that is no JSON, has a field twice, or is nested
    /// deeper than any table. The text may be hostile.
    explicit json_document(std::string_view text) {
        try {
            json_ = nlohmann::json::parse(
                text.begin(), text.end(),
                [this](int, nlohmann::json::parse_event_t event, const nlohmann::json& value) {
                    follow(event, value);
                    return true;
                });
        } catch (const nlohmann::json::parse_error& thrown) {
            const std::string_view before = text.substr(0, thrown.byte - (thrown.byte != 0));
            const auto line = 1 + std::count(before.begin(), before.end(), '\n');
            const auto column = before.size() - (before.rfind('\n') + 1) + 1;
            throw positioned_failure{
                errc::table_malformed,
                concat("at line ", line, ", column ", column, ": ", explanation(thrown.what()))};
        } catch (const nlohmann::json::out_of_range&) {
            refuse_json(pointer(around_.size()), "a number beyond all limits; write a smaller one");
        }
    }

    [[nodiscard]] json_reader root() const { return {json_, {}}; }

private:
    /// An object or array around the place that is being read.
    struct surrounding {
        bool array;
        std::size_t index = 0;
        std::set<std::string> names{};
        std::string name{};
    };

    void follow(nlohmann::json::parse_event_t event, const nlohmann::json& value) {
        using reads = nlohmann::json::parse_event_t;
        switch (event) {
            case reads::object_start: enter(false); break;
            case reads::array_start: enter(true); break;
            case reads::key: {
                surrounding& object = around_.back();
                object.name = value.get<std::string>();
                if (!object.names.insert(object.name).second) {
                    refuse_json(pointer(around_.size() - 1),
                                concat("the field ", detail::quoted(object.name),
                                       " stands twice; write it once"));
                }
                break;
            }
            case reads::object_end:
            case reads::array_end: around_.pop_back(); [[fallthrough]];
            case reads::value:
                if (!around_.empty() && around_.back().array) {
                    ++around_.back().index;
                }
                break;
        }
    }

    void enter(bool array) {
        constexpr std::size_t deepest = 5;  // top, keys, schemes of a key, scheme, and one to spare
        if (around_.size() == deepest) {
            refuse_json(pointer(deepest), "nested too deeply; no part of a table is");
        }
        around_.push_back({array});
    }

    [[nodiscard]] std::string pointer(std::size_t depth) const {
        std::string text;
        for (std::size_t i = 0; i != depth; ++i) {
            const surrounding& each = around_[i];
            text += "/" + (each.array ? concat(each.index) : pointer_token(each.name));
        }
        return text;
    }

    /// The parser's own words, without its name and without what it read: that may be anything.
    [[nodiscard]] static std::string explanation(std::string_view what) {
        const auto begin = what.find(": ");
        what.remove_prefix(begin == std::string_view::npos ? 0 : begin + 2);
        return std::string{what.substr(0, what.find("; last read"))};
    }

    nlohmann::json json_;
    std::vector<surrounding> around_;
};

}  // namespace detail
}  // namespace v1
}  // namespace shardweave

#endif
