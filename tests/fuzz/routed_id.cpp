// SPDX-License-Identifier: BSL-1.0
// Item ids that clients send: one text for each id, and located without a fault.
#include <shardweave/place/routed_id.hpp>

#include <shardweave/place/locate.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz.hpp"

namespace sw = shardweave;

namespace {

const sw::routing_table& table() {
    static const sw::routing_table routes{
        sw::scheme_table{sw::calculated(2)}
            .with("author-1", sw::calculated(8))
            .grow("author-1", sw::calculated(16, {sw::scheme_version{2}})),
        sw::shard_map::even({"db0", "db1", "db2"}, 64)};
    return routes;
}

/// A forged id may be anything, and is then located where an item of it would be.
void check_located(const sw::routed_id& id) {
    try {
        static_cast<void>(sw::locate(table(), id));
    } catch (const sw::failure& refused) {
        fuzz::must(!refused.reason().detail.empty(), "a refusal says why");
    }
}

void check_text(std::string_view text) {
    const fuzz::allocation_watch watch;
    const auto id = sw::routed_id::parse(text);
    fuzz::must(watch.bytes() <= 8 * text.size() + 256, "an id allocates no more than it justifies");
    if (id) {
        fuzz::must(id->text() == text, "text(parse(text)) is text");
        check_located(*id);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::choices in{fuzz::text_of(data, size)};
    switch (in.below(3)) {
        case 0: check_text(in.rest()); break;
        case 1: {  // contents as they come, well wrapped
            const std::string local{in.text()};
            check_text(local + "~" + sw::detail::base64url_encode(in.rest()));
            break;
        }
        default: {
            const std::string key = in.byte() % 2 == 0 ? "author-1" : std::string{in.text()};
            const std::string_view local = in.text();
            try {
                const auto placed = sw::place_routed(table(), key, local);
                const auto again = sw::routed_id::parse(placed.id.text());
                fuzz::must(again && *again == placed.id, "parse(text(x)) is x");
                fuzz::must(again->local() == local && again->of_key(key), "an id keeps its parts");
                const auto found = sw::locate(table(), *again);
                fuzz::must(
                    std::ranges::any_of(
                        found.places, [&](const auto& at) { return at.shard == placed.at.shard; }),
                    "an item is located where it was placed");
            } catch (const sw::failure& refused) {
                fuzz::must(refused.code() == sw::errc::ambiguous_key, "only ambiguous keys fail");
            }
        }
    }
    return 0;
}
