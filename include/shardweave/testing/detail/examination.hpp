// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTING_DETAIL_EXAMINATION_HPP
#define SHARDWEAVE_TESTING_DETAIL_EXAMINATION_HPP

/// The checks of a query callback, one after another.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/read/page.hpp>
#include <shardweave/read/query.hpp>
#include <shardweave/testing/detail/coverage.hpp>
#include <shardweave/testing/detail/reads.hpp>
#include <shardweave/testing/detail/sampler.hpp>
#include <shardweave/testing/detail/threads.hpp>
#include <shardweave/testing/detail/trial.hpp>
#include <shardweave/testing/report.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v1 {
namespace testing {
namespace detail {

template <class Order, class Query>
class examination {
public:
    using judge = trial<Order, Query>;
    using position_type = typename judge::position_type;
    using asked = typename judge::asked;
    using group = typename judge::group;
    using finding = std::optional<fault>;

    struct plan {
        std::string absent_key;
        std::size_t concurrent_calls = 0;
        std::size_t most_positions = 0;
        std::uint64_t seed = 0;
    };

    /// `together` has all partition keys, and is empty where they are not asked together.
    examination(const judge& of, std::vector<group> groups, group together, plan how)
        : trial_(&of), groups_(std::move(groups)), together_(std::move(together)),
          nobody_{{how.absent_key}}, plan_(std::move(how)),
          ask_(of, sampler{plan_.most_positions, plan_.seed}) {}

    [[nodiscard]] report run() && {
        for (const scan way : both_ways) {
            const std::size_t failures = result_.count(verdict::failed);
            each("order", way, [&](const group& of) {
                return trial_->walk(of, {of.partition_keys, {}, {}, of.forward.size() + 8, way});
            });
            if (result_.count(verdict::failed) != failures) {
                disordered_.push_back(way);
            }
        }
        for (const scan way : both_ways) {
            each("every row once", way, [&](const group& of) { return ask_.pages(of, way); });
        }
        check_ties();
        for (const scan way : both_ways) {
            each("from any row", way, [&](const group& of) { return ask_.from_rows(of, of, way); });
        }
        check_between_rows();
        for (const scan way : both_ways) {
            each("until a row", way,
                 [&](const group& of) { return ask_.until_rows(of, any_group(), way); });
        }
        each("beyond both ends", {}, [&](const group& of) { return ask_.beyond_ends(of); });
        conclude("a partition key without rows", [&] { return no_rows(); });
        check_together();
        check_cursors();
        each("the same again", {}, [&](const group& of) { return again(of); });
        check_threads();
        std::vector<std::vector<position_type>> lists;
        for (const group& of : groups_) {
            lists.push_back(of.forward);
        }
        result_.situations_missing =
            situations_missing<position_type>(trial_->advice().by(), lists);
        for (std::string& remark : trial_->remarks()) {
            result_.remarks.push_back(std::move(remark));
        }
        return std::move(result_);
    }

private:
    template <class Body>
    void conclude(std::string name, const Body& body, std::optional<scan> way = {}) {
        check one{std::move(name)};
        if (finding wrong = body()) {
            one.result = verdict::failed;
            one.detail = std::move(wrong->what);
            // What follows from a wrong order would be taken for other mistakes.
            one.advice = out_of_order(way) ? "see to `order` first" : std::move(wrong->advice);
        }
        result_.checks.push_back(std::move(one));
    }

    [[nodiscard]] bool out_of_order(std::optional<scan> way) const noexcept {
        return std::ranges::any_of(disordered_, [way](scan of) { return !way || *way == of; });
    }

    void not_covered(std::string name, std::string why) {
        result_.checks.push_back({std::move(name), verdict::not_covered, std::move(why)});
    }

    /// A check that each group must pass.
    template <class Body>
    void each(std::string_view name, std::optional<scan> way, const Body& body) {
        const std::string_view suffix = !way                    ? ""
                                        : *way == scan::forward ? ", forward"
                                                                : ", backward";
        conclude(
            v1::detail::concat(name, suffix),
            [&] {
                finding wrong;
                for (auto of = groups_.begin(); of != groups_.end() && !wrong; ++of) {
                    wrong = body(*of);
                }
                return wrong;
            },
            way);
    }

    [[nodiscard]] const group& any_group() { return groups_[ask_.sample().below(groups_.size())]; }

    void check_ties() {
        std::size_t ties = 0;
        finding wrong;
        for (const group& of : groups_) {
            for (const scan way : both_ways) {
                const auto& rows = of.walked(way);
                for (std::size_t i = 1; i < rows.size() && !wrong; ++i) {
                    if (criteria<Order>::tied(rows[i - 1], rows[i]) &&
                        ties++ < 4 * plan_.most_positions) {
                        wrong = ask_.from(of, rows[i - 1], way);
                    }
                }
            }
        }
        if (ties == 0) {
            not_covered("ties", "no two rows of a partition key differ in the last criterion only");
        } else {
            conclude("ties", [&] { return wrong; });
        }
    }

    /// A read goes on from where it stands in all partition keys, so not from a row of this one.
    void check_between_rows() {
        const std::string name = "from between rows";
        if (groups_.size() < 2) {
            not_covered(name, "give the rows of a second partition key");
            return;
        }
        conclude(name, [&] {
            finding wrong;
            for (std::size_t i = 0; i != 2 * groups_.size() && !wrong; ++i) {
                const group& of = groups_[i / 2];
                const group& other = groups_[(i / 2 + 1) % groups_.size()];
                wrong = ask_.from_rows(of, other, both_ways[i % 2]);
            }
            return wrong;
        });
    }

    [[nodiscard]] finding no_rows() const {
        finding wrong = ask_.pages(nobody_, scan::forward);
        wrong = wrong ? wrong : ask_.pages(nobody_, scan::backward);
        for (auto of = groups_.begin(); of != groups_.end() && !wrong; ++of) {
            if (!of->forward.empty()) {
                wrong = ask_.from(nobody_, of->forward.front(), scan::forward);
            }
        }
        return wrong;
    }

    void check_together() {
        const std::string name = "partition keys together";
        if (together_.partition_keys.empty()) {
            not_covered(name, "only for stores that take several at a time: say per_shard, and "
                              "give the rows of two partition keys");
            return;
        }
        conclude(name, [&] {
            group with_absent = together_;
            with_absent.partition_keys.insert(with_absent.partition_keys.begin() + 1,
                                              plan_.absent_key);
            finding wrong;
            for (const group* const of : {&together_, &with_absent}) {
                for (const scan way : both_ways) {
                    wrong = wrong ? wrong : ask_.pages(*of, way);
                    wrong = wrong ? wrong : ask_.from_rows(*of, *of, way);
                }
            }
            return wrong;
        });
    }

    void check_cursors() {
        if (!trial_->gave_cursors()) {
            not_covered("the store's cursor", "no answer had one");
            return;
        }
        each("the store's cursor", {}, [&](const group& of) {
            finding wrong = ask_.pages(of, scan::forward, true);
            return wrong ? wrong : ask_.pages(of, scan::backward, true);
        });
    }

    /// One question, another, and the first again.
    [[nodiscard]] finding again(const group& of) {
        const std::size_t rows = std::max<std::size_t>(of.forward.size(), 1);
        const asked first{of.partition_keys, {}, {}, rows, scan::forward};
        const asked other{of.partition_keys, {}, {}, rows, scan::backward};
        const auto a = trial_->ask(of, first);
        const auto b = trial_->ask(of, other);
        const auto c = trial_->ask(of, first);
        if (!a.wrong && !c.wrong && (a.rows != c.rows || a.more != c.more)) {
            result_.remarks.push_back(v1::detail::concat(
                "the same question was answered by ", a.rows, " rows and then by ", c.rows,
                "; that is allowed, if it is the store's page size and not another state"));
        }
        return a.wrong ? a.wrong : b.wrong ? b.wrong : c.wrong;
    }

    void check_threads() {
        const std::string name = "calls at a time";
        if (plan_.concurrent_calls < 2) {
            not_covered(name, "`concurrent_calls` is below 2; then so must the fan-out's "
                              "`concurrency` be");
            return;
        }
        const bool sound = result_.ok();
        conclude(name, [&] {
            finding wrong = from_threads(*trial_, groups_, plan_.concurrent_calls);
            if (wrong && sound) {
                wrong->advice = "one call at a time is right and several are not: keep no state "
                                "between calls, and give each call a connection, statement and "
                                "iterator of its own (or set `concurrency` to 1)";
            }
            return wrong;
        });
    }

    const judge* trial_;
    std::vector<group> groups_;
    group together_;
    group nobody_;
    plan plan_;
    reads<judge> ask_;
    /// The ways in which the order is wrong.
    std::vector<scan> disordered_;
    report result_;
};

}  // namespace detail
}  // namespace testing
}  // namespace v1
}  // namespace shardweave

#endif
