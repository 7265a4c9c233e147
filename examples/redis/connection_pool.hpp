// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_CONNECTION_POOL_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_CONNECTION_POOL_HPP

/// Connections to the nodes, made when needed and kept.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "connection.hpp"
#include "trouble.hpp"

namespace redis_timeline {

struct connection_options {
    std::chrono::milliseconds connect_at_most{1'000};
    /// For one exchange of commands and replies.
    std::chrono::milliseconds answer_at_most{2'000};
    /// No AUTH without a password; without a user, Redis's default one.
    std::string user{};
    std::string password{};
    /// Kept to one node while nobody needs them.
    std::size_t idle_at_most = 16;
    /// Where nodes are reached from here, if not where they say: behind the forwarded ports of a
    /// container, say.
    std::map<endpoint, endpoint> reached_at{};
};

/// Thread-safe: a connection is lent to one caller at a time.
class connection_pool {
public:
    explicit connection_pool(connection_options with) : with_(std::move(with)) {}

    /// A connection that goes back when `keep` was called, and is closed otherwise.
    class lease {
    public:
        lease(connection_pool& from, std::unique_ptr<connection> lent) noexcept
            : from_(&from), lent_(std::move(lent)) {}
        connection* operator->() const noexcept { return lent_.get(); }
        /// Says that every reply was read.
        void keep() { from_->take_back(std::move(lent_)); }

    private:
        connection_pool* from_;
        std::unique_ptr<connection> lent_;
    };

    /// Throws what `connection` throws, and `redis_error` for a password that is refused.
    [[nodiscard]] lease borrow(const endpoint& node, const waiting& wait) {
        const auto forwarded = with_.reached_at.find(node);
        return borrow_at(forwarded == with_.reached_at.end() ? node : forwarded->second, wait);
    }
    /// Until when an exchange may take, that the caller gave so long.
    [[nodiscard]] waiting limited(const waiting& wait) const {
        const auto now = std::chrono::steady_clock::now();
        const auto own = sw::deadline::after(now, with_.answer_at_most);
        return {own.at() < wait.until.at() ? own : wait.until, wait.stop};
    }

private:
    [[nodiscard]] lease borrow_at(const endpoint& node, const waiting& wait) {
        while (auto idle = take_idle(node)) {
            if (idle->alive()) {
                return {*this, std::move(idle)};
            }
        }
        const auto now = std::chrono::steady_clock::now();
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            std::min<std::chrono::nanoseconds>(wait.until.left(now), with_.connect_at_most));
        auto made =
            std::make_unique<connection>(node, std::max(left, std::chrono::milliseconds{1}));
        if (!with_.password.empty()) {
            authenticate(*made, wait);
        }
        return {*this, std::move(made)};
    }

    [[nodiscard]] std::unique_ptr<connection> take_idle(const endpoint& node) {
        const std::scoped_lock lock{mutex_};
        auto& idle = idle_[node];
        if (idle.empty()) {
            return nullptr;
        }
        // The one that has rested longest, so that one which is broken is found out soon.
        auto taken = std::move(idle.front());
        idle.erase(idle.begin());
        return taken;
    }

    void take_back(std::unique_ptr<connection> lent) {
        const std::scoped_lock lock{mutex_};
        auto& idle = idle_[lent->to()];
        if (idle.size() < with_.idle_at_most) {
            idle.push_back(std::move(lent));
        }
    }

    void authenticate(connection& with, const waiting& wait) const {
        with.append(with_.user.empty()
                        ? std::vector<std::string>{"AUTH", with_.password}
                        : std::vector<std::string>{"AUTH", with_.user, with_.password});
        with.send(limited(wait));
        const reply answer = with.read(limited(wait));
        throw_passing(answer, with.to());
        static_cast<void>(checked(answer, with.to().text()));
    }

    connection_options with_;
    std::mutex mutex_;
    std::map<endpoint, std::vector<std::unique_ptr<connection>>> idle_;
};

}  // namespace redis_timeline

#endif
