// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_ROUTING_KEY_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_ROUTING_KEY_HPP

/// The routing table in a key of the same cluster.

#include <shardweave/place/map_source.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cluster.hpp"
#include "scripts.hpp"

namespace redis_timeline {

/// A `map_source`. What is stored lasts as long as Redis keeps what it has acknowledged: see the
/// README. Thread-safe.
class routing_key {
public:
    explicit routing_key(cluster& on) : on_(&on), swap_(on, swap_script) {}

    [[nodiscard]] std::optional<std::string> load() {
        const reply got = checked(on_->call({{"GET", key}}), "GET");
        if (got.is_nil()) {
            remember({});
            return std::nullopt;
        }
        std::string bytes{got.text()};
        remember(fingerprint(bytes));
        return bytes;
    }

    /// Reads 16 bytes.
    [[nodiscard]] bool changed() {
        const reply got = checked(on_->call({{"GETRANGE", key, "-16", "-1"}}), "GETRANGE");
        const std::scoped_lock lock{mutex_};
        return got.text() != loaded_;
    }

    /// See `table_swapper`; throws what `check_swap` does as well.
    [[nodiscard]] sw::swap_result compare_and_swap(std::optional<sw::epoch> expected,
                                                   std::string_view bytes) {
        sw::check_swap(expected, bytes);
        const reply got = checked(on_->call({{"GET", key}}), "GET");
        const std::string_view current = got.text();
        const auto stored = got.is_nil() ? std::nullopt : std::optional{sw::stored_epoch(current)};
        if (stored != expected) {
            return sw::swap_result::conflict;
        }
        const command swap =
            swap_.with(key, {std::string{fingerprint(current)}, std::string{bytes}});
        return checked(on_->call(swap), "EVALSHA").integer() == 1 ? sw::swap_result::stored
                                                                  : sw::swap_result::conflict;
    }

private:
    static constexpr const char* key = "timeline:{routing}";

    [[nodiscard]] static std::string_view fingerprint(std::string_view bytes) {
        return bytes.size() < 16 ? bytes : bytes.substr(bytes.size() - 16);
    }

    void remember(std::string_view loaded) {
        const std::scoped_lock lock{mutex_};
        loaded_ = loaded;
    }

    cluster* on_;
    script swap_;
    std::mutex mutex_;
    std::string loaded_;
};

}  // namespace redis_timeline

#endif
