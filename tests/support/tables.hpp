// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_TABLES_HPP
#define SHARDWEAVE_TESTS_SUPPORT_TABLES_HPP

/// Generated routing tables and keys.

#include <shardweave/place/routing_table.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/generate.hpp"
#include "support/selectors.hpp"

namespace test_support {

/// Texts of which keys, formats and partition keys are made, so that they run into each other.
inline const std::vector<std::string>& key_fragments() {
    using namespace std::string_literals;
    static const std::vector<std::string> fragments{
        "",    "a",        "author-1", ":",         "bucket-", ":bucket-", ":bucket-3", "bucket-0",
        "#",   "\\",       "0",        "7",         "12",      "4095",     "4096",      "00",
        "-",   "/",        "{",        "}",         "p/",      "/b",       "/x",        "{key}",
        "\0"s, "\xff\xfe", "\xC3\x85", "A\xCC\x8A", " ",       "\n"};
    return fragments;
}

inline std::string any_key(generator& any) {
    return any.chance(5) ? any.bytes(40) : any.joined(key_fragments(), 4);
}

inline shardweave::suffix any_suffix(generator& any) {
    return shardweave::suffix{static_cast<std::uint8_t>(any.between(1U, 3U))};
}

/// A format in use or one that is made up; only some of the latter are valid.
inline std::string any_format_text(generator& any) {
    using namespace std::string_literals;
    static const std::vector<std::string> used{
        "{key}:bucket-{bucket}", "{key}#{bucket}",         "{bucket}#{key}",
        "{bucket}:{key}",        "p/{key}/b{bucket}/x",    "{key}:{bucket}0",
        "0{bucket}-{key}",       "bucket-{bucket}:{key}",  "{key}7:{bucket}",
        "{key}\0{bucket}"s,      "{key}:bucket-{bucket}:", "7{bucket}a7{key}7"};
    if (any.chance(60)) {
        return any.pick(used);
    }
    const std::vector<std::string> pieces{"", ":", "0", "7", "bucket-", "a", "-", "\0"s, "\xff"};
    const bool key_first = any.chance(50);
    return any.joined(pieces, 2) + (key_first ? "{key}" : "{bucket}") + any.joined(pieces, 3) +
           (key_first ? "{bucket}" : "{key}") + any.joined(pieces, 2);
}

inline shardweave::key_format any_format(generator& any) {
    for (;;) {
        try {
            return shardweave::key_format{any_format_text(any), any_suffix(any)};
        } catch (const shardweave::failure&) {
            // Another one; which formats are refused is a test of its own.
        }
    }
}

inline shardweave::bucket_scheme any_scheme(generator& any, shardweave::scheme_version version,
                                            std::uint32_t most_buckets) {
    // Small counts meet each other's buckets more often.
    const std::uint32_t buckets =
        any.chance(25) ? 1 : any.between(1U, any.between(1U, most_buckets));
    const shardweave::scheme_options options{version, any.chance(50) ? 1 : any.magnitude() | 1U};
    switch (any.below(4U)) {
        case 0: return shardweave::random(any.chance(90) ? 1 + buckets % 8 : buckets, options);
        case 1: return shardweave::selected_by(java_hash{}, buckets, options);
        default: return shardweave::calculated(buckets, options);
    }
}

/// One to four versions, with gaps between them, some retired.
inline shardweave::scheme_history any_history(generator& any, std::uint32_t most_buckets) {
    std::uint32_t version = any.between(0U, 2U);
    shardweave::scheme_history history{
        any_scheme(any, shardweave::scheme_version{version}, most_buckets)};
    for (unsigned more = any.below(4U); more != 0; --more) {
        version = history.writer().version().value() + any.between(1U, 200U);
        history = history.grown(any_scheme(any, shardweave::scheme_version{version}, most_buckets));
    }
    const shardweave::scheme_history grown = history;
    for (const auto& [scheme, state] : grown.entries()) {
        if (state == shardweave::scheme_state::readable && any.chance(30)) {
            history = history.retired(scheme.version());
        }
    }
    return history;
}

inline shardweave::shard_map any_map(generator& any) {
    std::vector<shardweave::shard_map::weighted_shard> shards;
    for (std::size_t i = any.between(1U, 6U); i != 0; --i) {
        shards.push_back({"db" + std::to_string(i) + any.bytes(2), any.between(1U, 9U)});
    }
    return shardweave::shard_map::weighted(std::move(shards), 1U << any.below(8U));
}

/// Any valid table; keys that have a scheme of their own are in `schemes().exceptional()`.
inline shardweave::routing_table any_table(generator& any, std::uint32_t most_buckets = 40) {
    const shardweave::key_format format = any_format(any);
    shardweave::scheme_table schemes{any_history(any, most_buckets)};
    for (unsigned i = any.below(5U); i != 0; --i) {
        const std::string key = any_key(any);
        try {
            format.check(key);
            schemes = any.chance(50) ? schemes.grow(key, any_scheme(any, {}, most_buckets))
                                     : std::move(schemes).with(key, any_history(any, most_buckets));
        } catch (const shardweave::failure&) {
            // An ambiguous key, or one that has its own already.
        }
    }
    return {std::move(schemes), any_map(any), {shardweave::epoch{any.magnitude()}, format}};
}

}  // namespace test_support

#endif
