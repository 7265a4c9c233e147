// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_REPORT_HPP
#define SHARDWEAVE_TESTING_REPORT_HPP

/// What a conformance check found.

#include <shardweave/core/detail/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {

enum class verdict : std::uint8_t {
    passed = 0,
    failed = 1,
    /// Nothing that was given exercises it.
    not_covered = 2,
};

/// One promise of a query callback, and whether it was kept.
struct check {
    std::string name;
    verdict result = verdict::passed;
    /// Of a failed one, the question and what is wrong with the answer; of one that is not covered,
    /// what it would take.
    std::string detail{};
    /// Of a failed one, what to change.
    std::string advice{};
};

/// All of them, in the order in which they were made.
struct report {
    std::vector<check> checks;
    /// What is allowed, and costs more than it must.
    std::vector<std::string> remarks;
    /// Kinds of rows that stores are known to get wrong, and of which there were none.
    std::vector<std::string> situations_missing;

    /// True when nothing failed. What is not covered may still be wrong.
    [[nodiscard]] bool ok() const noexcept { return count(verdict::failed) == 0; }

    [[nodiscard]] std::size_t count(verdict which) const noexcept {
        return static_cast<std::size_t>(std::ranges::count(checks, which, &check::result));
    }

    /// For people: a line for each check, with the detail and the advice below it; advice that was
    /// given just before is not repeated.
    [[nodiscard]] std::string text() const {
        std::string out =
            v1::detail::concat(count(verdict::passed), " passed, ", count(verdict::failed),
                               " failed, ", count(verdict::not_covered), " not covered\n");
        std::string_view said;
        for (const check& each : checks) {
            out += v1::detail::concat(label(each.result), each.name, "\n");
            append_below(out, "", each.detail);
            const bool again = !each.advice.empty() && each.advice == said;
            append_below(out, "to do: ", again ? "the same" : std::string_view{each.advice});
            said = each.advice.empty() ? said : std::string_view{each.advice};
        }
        for (const std::string& each : remarks) {
            out += "remark       " + each + "\n";
        }
        for (const std::string& each : situations_missing) {
            out += "no such row  " + each + "\n";
        }
        return out;
    }

private:
    static constexpr std::string_view label(verdict result) noexcept {
        switch (result) {
            case verdict::passed: return "passed       ";
            case verdict::failed: return "FAILED       ";
            case verdict::not_covered: return "not covered  ";
        }
        return "";
    }

    static void append_below(std::string& out, std::string_view heading, std::string_view line) {
        if (!line.empty()) {
            out += v1::detail::concat("             ", heading, line, "\n");
        }
    }
};

}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
