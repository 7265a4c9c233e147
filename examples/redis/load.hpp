// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_LOAD_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_LOAD_HPP

/// Places a history's items in their buckets, many in one exchange. Any load can be cut off and run
/// again.

#include <shardweave/core/error.hpp>
#include <shardweave/place/refresh.hpp>
#include <shardweave/place/router.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "routing_key.hpp"
#include "store.hpp"
#include "timeline/history.hpp"

namespace redis_timeline {

/// Writes items in batches, again where the routing table has changed meanwhile.
class loader {
public:
    loader(cluster& on, bucket_store& store, const sw::router& router,
           sw::refresher<routing_key>& fresh) noexcept
        : on_(&on), store_(&store), router_(&router), fresh_(&fresh) {}

    /// How many are new. Throws `sw::failure` when the routing table does not come to rest.
    std::uint64_t write(std::vector<item> rows) {
        std::uint64_t added = 0;
        leave_out_older(rows);
        for (int attempt = 0; !rows.empty(); ++attempt) {
            const std::vector<batch> batches = place(rows);
            const std::vector<written> results = store_->write(batches);
            rows.clear();
            sw::epoch seen{};
            for (std::size_t i = 0; i != batches.size(); ++i) {
                added += results[i].added;
                if (results[i].refused) {
                    seen = std::max(seen, *results[i].refused);
                    rows.insert(rows.end(), batches[i].items.begin(), batches[i].items.end());
                }
            }
            if (!rows.empty()) {
                wait_for(seen, attempt);
            }
        }
        return added;
    }

private:
    /// Items in one script: so that no other caller waits for long.
    static constexpr std::size_t most_items = 100;
    static constexpr int most_attempts = 20;

    [[nodiscard]] std::vector<batch> place(const std::vector<item>& rows) const {
        const sw::router::snapshot table = router_->pin();
        std::map<std::string, std::size_t> last;
        std::vector<batch> batches;
        for (const item& row : rows) {
            sw::placement at = table->place(row.author, row.id);
            const auto [place, first] = last.try_emplace(at.partition_key.str(), batches.size());
            if (first || batches[place->second].items.size() == most_items) {
                place->second = batches.size();
                batches.push_back({std::move(at), {}});
            }
            batches[place->second].items.push_back(row);
        }
        return batches;
    }

    /// An item from before its author grew is where an older scheme put it, and stays there.
    void leave_out_older(std::vector<item>& rows) const {
        std::vector<command> looks;
        std::vector<std::size_t> of;
        const sw::router::snapshot table = router_->pin();
        for (std::size_t i = 0; i != rows.size(); ++i) {
            const auto places = table->candidates(rows[i].author, rows[i].id);
            for (std::size_t older = 1; older < places.size(); ++older) {
                looks.push_back(bucket_store::look_for(places[older], rows[i]));
                of.push_back(i);
            }
        }
        const std::vector<reply> found = on_->pipeline(looks);
        std::vector<bool> there(rows.size());
        for (std::size_t i = 0; i != found.size(); ++i) {
            there[of[i]] = there[of[i]] || checked(found[i], "ZLEXCOUNT").integer() != 0;
        }
        std::size_t index = 0;
        std::erase_if(rows, [&](const item&) { return there[index++]; });
    }

    void wait_for(sw::epoch seen, int attempt) const {
        if (attempt == most_attempts) {
            throw sw::failure{sw::errc::stale_route,
                              "buckets still refuse what the stored routing table says; a move was "
                              "cut off: run it again, then the load"};
        }
        static_cast<void>(fresh_->refresh(seen));
        std::this_thread::sleep_for(std::chrono::milliseconds{10 * attempt});
    }

    cluster* on_;
    bucket_store* store_;
    const sw::router* router_;
    sw::refresher<routing_key>* fresh_;
};

/// What a load did.
struct load_report {
    std::uint64_t added = 0;
    std::uint64_t present = 0;
    std::uint64_t malformed = 0;
};

/// Loads a whole history. `complain(line number, reason)` is told each row that is no item; the
/// rest is loaded. `show(rows, part)` is called after every few thousand.
template <class Complain, class Show>
load_report load(timeline::history_reader& history, loader& into, Complain complain,
                 const Show& show) {
    constexpr std::size_t at_once = 2'000;
    load_report report;
    std::vector<item> rows;
    const auto flush = [&] {
        const std::uint64_t given = rows.size();
        const std::uint64_t added = into.write(std::exchange(rows, {}));
        report.added += added;
        report.present += given - added;
        show(report.added + report.present, history.progress());
    };
    while (const auto line = history.next()) {
        if (history.line_number() == 1 && timeline::is_header(*line)) {
            continue;
        }
        auto row = timeline::parse_line(*line);
        if (const auto* complaint = std::get_if<std::string>(&row)) {
            ++report.malformed;
            complain(history.line_number(), *complaint);
            continue;
        }
        rows.push_back(std::get<item>(std::move(row)));
        if (rows.size() == at_once) {
            flush();
        }
    }
    flush();
    return report;
}

}  // namespace redis_timeline

#endif
