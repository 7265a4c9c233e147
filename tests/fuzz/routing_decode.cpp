// SPDX-License-Identifier: BSL-1.0
// Stored routing tables, damaged or hostile: refused, or one table with one form that keeps the
// first law.
#include <shardweave/place/routing_codec.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "support/selectors.hpp"

namespace sw = shardweave;

namespace {

std::optional<sw::routing_table> decoded(std::string_view bytes,
                                         const sw::selector_registry& selectors) {
    // A slot takes a byte, and becomes a number of four; a name or key of a byte becomes a string,
    // a key's history 200 bytes of nodes; vectors that grow take up to thrice their size.
    const std::size_t justified = 1024 * bytes.size() + 65'536;
    const fuzz::allocation_watch watch;
    std::optional<sw::routing_table> table;
    try {
        table = sw::decode(bytes, selectors);
    } catch (const sw::failure& refused) {
        fuzz::must(!refused.reason().detail.empty(), "a refusal says why");
    }
    fuzz::must(watch.bytes() <= justified, "a table allocates no more than it justifies");
    return table;
}

void check_law(const sw::routing_table& table, std::string_view key, std::string_view id) {
    try {
        // There may be as many candidates as targets: a search through all for each took seconds.
        std::vector<std::pair<std::string, std::string>> targets;
        for (const sw::target& each : table.targets(key)) {
            targets.emplace_back(each.partition_key.str(), each.shard);
        }
        std::ranges::sort(targets);
        const auto among = [&](const sw::placement& at) {
            return std::ranges::binary_search(targets, std::pair{at.partition_key.str(), at.shard});
        };
        fuzz::must(among(table.place(key, id)), "a place is among the targets");
        for (const sw::placement& at : table.candidates(key, id)) {
            fuzz::must(among(at), "candidates are among the targets");
        }
    } catch (const sw::failure& refused) {
        const sw::errc code = refused.code();
        fuzz::must(code == sw::errc::ambiguous_key || code == sw::errc::limit_exceeded ||
                       code == sw::errc::time_required || code == sw::errc::time_out_of_range,
                   "a key is refused for itself or for its time");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto selectors = [] {
        sw::selector_registry known;
        known.add(test_support::java_hash{});
        return known;
    }();
    fuzz::choices in{fuzz::text_of(data, size)};
    // With the right fingerprint put behind it, since no search finds one.
    const bool with_print = in.byte() % 4 != 0;
    const std::string key{in.text()};
    std::string bytes{in.rest()};
    if (with_print) {
        const sw::hash128 print = sw::stable_hash128(bytes, 0);
        sw::byte_writer{bytes}.hash(print);
    }
    if (const auto table = decoded(bytes, selectors)) {
        fuzz::must(sw::encode(*table) == bytes, "encode(decode(bytes)) is bytes");
        check_law(*table, key, "post-1");
        check_law(*table, "", key);
        const auto& own = table->schemes().exceptional();
        if (!own.empty()) {
            check_law(*table, own.begin()->first, key);
        }
    }
    return 0;
}
