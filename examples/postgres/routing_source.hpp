// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_ROUTING_SOURCE_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_ROUTING_SOURCE_HPP

/// The routing table in a row of a PostgreSQL database, whose changes are told by NOTIFY.

#include <shardweave/core/error.hpp>
#include <shardweave/place/map_source.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "libpq.hpp"
#include "waiting.hpp"
#include "write.hpp"

namespace postgres {

/// A `map_source`. All errors are `errc::source_failed`. Thread-safe.
class routing_source {
public:
    /// What `load` and `compare_and_swap` may take.
    static constexpr std::chrono::seconds patience{5};

    explicit routing_source(std::string conninfo) : conninfo_(std::move(conninfo)) {}

    /// Once, before the first table is stored. The table has one row at most.
    void create() {
        guarded([&](const limits& until) {
            connection on = connected(conninfo_, until);
            run(on,
                "CREATE TABLE IF NOT EXISTS routing (one boolean PRIMARY KEY DEFAULT true "
                "CHECK (one), epoch bigint NOT NULL, bytes bytea NOT NULL)",
                until);
        });
    }

    /// The stored bytes, or none.
    [[nodiscard]] std::optional<std::string> load() {
        return guarded([&](const limits& until) -> std::optional<std::string> {
            const std::scoped_lock lock{loading_};
            // What is told while nobody listens is lost, so first listen, and then look.
            listen(until);
            changed_ = false;
            try {
                try {
                    return read(until);
                } catch (const sw::unavailable&) {
                    if (!reader_) {
                        throw;
                    }
                    reader_.reset();  // it was kept, and lost since
                    return read(until);
                }
            } catch (...) {
                changed_ = true;
                reader_.reset();
                throw;
            }
        });
    }

    /// Whether a change was told since the last `load`, or may have been missed.
    [[nodiscard]] bool changed() {
        const std::unique_lock lock{listening_, std::try_to_lock};
        if (lock) {
            hear();
        }  // else somebody else does
        return changed_;
    }

    /// Waits for a change, at most so long; true if there may be one. Where there is no connection
    /// to hear it by, every look is worthwhile, but not many in a row: it then waits a little.
    bool wait(std::chrono::milliseconds at_most, const std::stop_token& stop = {}) {
        const auto now = std::chrono::steady_clock::now();
        const limits until{sw::deadline::after(now, at_most), stop};
        const std::scoped_lock lock{listening_};
        hear();
        while (listener_ && !changed_ && wait_for(listener_->socket(), need::input, until)) {
            hear();
        }
        if (!listener_) {
            std::this_thread::sleep_for(std::min(at_most, std::chrono::milliseconds{100}));
        }
        return changed_;
    }

    /// Compares, replaces and tells in one statement, so no process sees one without the others.
    [[nodiscard]] sw::swap_result compare_and_swap(std::optional<sw::epoch> expected,
                                                   std::string_view bytes) {
        sw::check_swap(expected, bytes);
        return guarded([&](const limits& until) {
            // A connection of its own: one that was kept might be lost, and then it were open
            // whether the table was stored.
            connection on = connected(conninfo_, until);
            arguments with;
            with.add(as_bigint(sw::stored_epoch(bytes))).add_bytes(bytes);
            if (expected) {
                with.add(as_bigint(*expected));
            }
            const rows stored =
                run(on, "swap",
                    expected ? "WITH stored AS (UPDATE routing SET epoch = $1, bytes = $2 "
                               "WHERE epoch = $3 RETURNING epoch) "
                               "SELECT pg_notify('routing', epoch::text) FROM stored"
                             : "WITH stored AS (INSERT INTO routing (epoch, bytes) "
                               "VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING epoch) "
                               "SELECT pg_notify('routing', epoch::text) FROM stored",
                    with, until);
            return stored.size() == 1 ? sw::swap_result::stored : sw::swap_result::conflict;
        });
    }

private:
    template <class Work>
    static std::invoke_result_t<const Work&, const limits&> guarded(const Work& work) {
        try {
            return work(
                limits{sw::deadline::after(std::chrono::steady_clock::now(), patience), {}});
        } catch (const std::exception& why) {
            std::throw_with_nested(
                sw::failure{sw::errc::source_failed,
                            std::string{"the routing table in PostgreSQL: "} + why.what()});
        }
    }

    /// Under `loading_`.
    [[nodiscard]] std::optional<std::string> read(const limits& until) {
        if (!reader_) {
            connection fresh = connected(conninfo_, until);
            reader_.emplace(std::move(fresh));
        }
        const rows found = run(*reader_, "load", "SELECT bytes FROM routing", {}, until);
        return found.size() == 0 ? std::nullopt : std::optional{std::string{found.text(0, 0)}};
    }

    /// Makes sure that changes are told, from now on.
    void listen(const limits& until) {
        if (listens_) {
            return;
        }
        const std::scoped_lock lock{listening_};
        if (!listener_) {
            connection fresh = connected(conninfo_, until);
            run(fresh, "LISTEN routing", until);
            listener_.emplace(std::move(fresh));
            listens_ = true;
        }
    }

    /// Takes what was told. Under `listening_`.
    void hear() {
        if (!listener_) {
            return;
        }
        try {
            if (listener_->notified()) {
                changed_ = true;
            }
        } catch (const std::exception&) {
            listener_.reset();
            listens_ = false;
            changed_ = true;
        }
    }

    std::string conninfo_;
    std::mutex loading_;
    std::optional<connection> reader_;
    /// Of the listener. `wait` holds it for long, so `load` takes it only where there is none.
    std::mutex listening_;
    std::optional<connection> listener_;
    std::atomic<bool> listens_{false};
    /// True before the first load: a look is worthwhile.
    std::atomic<bool> changed_{true};
};

static_assert(sw::map_source<routing_source>);

}  // namespace postgres

#endif
