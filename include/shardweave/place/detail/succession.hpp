// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_DETAIL_SUCCESSION_HPP
#define SHARDWEAVE_PLACE_DETAIL_SUCCESSION_HPP

/// Whether everything that was placed by one routing table is found by the next.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/place/routing_table.hpp>
#include <shardweave/place/scheme_history.hpp>

#include <string_view>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// Throws `errc::scheme_conflict` when items placed by the older history could be missed by the
/// newer: a version with other contents, one that is gone without being retired, one that comes
/// back, or a new one that is not newer.
inline void check_succession(std::string_view key, const scheme_history& older,
                             const scheme_history& newer) {
    const auto conflict = [&](scheme_version version, std::string_view what) {
        return failure{errc::scheme_conflict,
                       concat("scheme version ", version.value(), " of ", key, " ", what,
                              "; add schemes with grow and end them with retire")};
    };
    auto next = newer.entries().begin();
    for (const auto& [scheme, state] : older.entries()) {
        if (next == newer.entries().end() || next->scheme.version() != scheme.version()) {
            throw conflict(scheme.version(), "is missing from the new table");
        }
        if (next->scheme != scheme) {
            throw conflict(scheme.version(), "has other contents in the new table");
        }
        if (next->state < state) {
            throw conflict(scheme.version(), "goes back to an earlier state");
        }
        ++next;
    }
}

/// The same for whole tables: what was placed by the older must be found by the newer.
inline void check_succession(const routing_table& older, const routing_table& newer) {
    if (!(older.format() == newer.format())) {
        throw failure{
            errc::scheme_conflict,
            concat("the key format changes from ", detail::quoted(older.format().text()),
                   " with suffix mode ", static_cast<unsigned>(older.format().mode()), " to ",
                   detail::quoted(newer.format().text()), " with ",
                   static_cast<unsigned>(newer.format().mode()),
                   "; items would not be found, so keep it for as long as there are any")};
    }
    if (older.shards().slots() != newer.shards().slots()) {
        throw failure{errc::invalid_map, concat("the slots change from ", older.shards().slots(),
                                                " to ", newer.shards().slots(),
                                                "; items would not be found, so keep the count")};
    }
    const auto check_keys = [&](const routing_table& listed) {
        for (const auto& [key, history] : listed.schemes().exceptional()) {
            check_succession("the key " + detail::quoted(key), older.schemes().history(key),
                             newer.schemes().history(key));
        }
    };
    check_succession("the ordinary keys", older.schemes().ordinary(), newer.schemes().ordinary());
    check_keys(older);
    check_keys(newer);
}

}  // namespace detail

}  // namespace v1
}  // namespace shardweave

#endif
