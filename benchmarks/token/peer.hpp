// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_BENCHMARKS_TOKEN_PEER_HPP
#define SHARDWEAVE_BENCHMARKS_TOKEN_PEER_HPP

/// A page token as it is commonly written by hand: where each shard stands, as JSON, as base64.

#include <shardweave/core/detail/base64url.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace token_benchmark {

/// The last item that was handed out of one bucket.
struct shard_key {
    std::string partition_key;
    std::int64_t created_at = 0;
    std::string id;
};

/// One for each source; the ids have so many characters.
inline std::vector<shard_key> keys_of(std::size_t sources, std::size_t id_size) {
    std::vector<shard_key> keys;
    for (std::size_t i = 0; i != sources; ++i) {
        std::string id = std::to_string(1'000'003 * (i + 1) % 9'999'991);
        id.insert(0, id_size - id.size(), 'p');
        keys.push_back({"author-1:bucket-" + std::to_string(i),
                        1'796'030'654'153 - static_cast<std::int64_t>(i * 997), std::move(id)});
    }
    return keys;
}

inline std::string peer_seal(const std::vector<shard_key>& keys) {
    nlohmann::json json = nlohmann::json::object();
    for (const shard_key& each : keys) {
        json[each.partition_key] = {{"created_at", each.created_at}, {"id", each.id}};
    }
    return shardweave::detail::base64url_encode(json.dump());
}

/// Nothing for a text that it can not read; it takes everything else.
inline std::optional<std::vector<shard_key>> peer_open(std::string_view token) {
    const auto text = shardweave::detail::base64url_decode(token);
    const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
    if (!json.is_object()) {
        return std::nullopt;
    }
    std::vector<shard_key> keys;
    for (const auto& [key, at] : json.items()) {
        keys.push_back(
            {key, at.at("created_at").get<std::int64_t>(), at.at("id").get<std::string>()});
    }
    return keys;
}

}  // namespace token_benchmark

#endif
