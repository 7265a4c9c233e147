// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_POOL_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_POOL_HPP

/// Connections to the shards, and the blocking query callback over them.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libpq.hpp"
#include "page_query.hpp"
#include "waiting.hpp"

namespace postgres {

/// The connection string of each shard, by the shard's name.
using databases = std::map<std::string, std::string, std::less<>>;

/// Keeps connections that went well, and lends each to one user at a time: there are as many to a
/// shard as ever used it at once. Thread-safe.
class connection_pool {
public:
    explicit connection_pool(databases of) : of_(std::move(of)) {}

    /// A connection that is lent. Unless it is `keep`t, it is closed: what is under way on it is
    /// nobody's any more. One that broke takes the idle ones of its shard with it, since they most
    /// likely go to the same dead server.
    class lease {
    public:
        lease(connection_pool& from, std::string shard, std::unique_ptr<connection> lent)
            : from_(&from), shard_(std::move(shard)), lent_(std::move(lent)) {}
        lease(lease&&) = default;
        lease& operator=(lease&&) = delete;
        ~lease() {
            if (lent_ && lent_->broken()) {
                from_->forget(shard_);
            }
        }
        [[nodiscard]] connection& operator*() const noexcept { return *lent_; }
        [[nodiscard]] connection* operator->() const noexcept { return lent_.get(); }
        void keep() { from_->take_back(shard_, std::move(lent_)); }

    private:
        connection_pool* from_;
        std::string shard_;
        std::unique_ptr<connection> lent_;
    };

    /// An idle connection, or a new one that has begun to connect: `finish` either first.
    [[nodiscard]] lease lend(const std::string& shard) {
        {
            const std::scoped_lock lock{mutex_};
            auto& idle = idle_[shard];
            if (!idle.empty()) {
                auto connection = std::move(idle.back());
                idle.pop_back();
                return {*this, shard, std::move(connection)};
            }
        }
        const auto at = of_.find(shard);
        if (at == of_.end()) {
            throw database_error{{}, "no connection string for the shard " + shard, {}};
        }
        return {*this, shard, std::make_unique<connection>(at->second)};
    }

    [[nodiscard]] const databases& shards() const noexcept { return of_; }

private:
    void take_back(const std::string& shard, std::unique_ptr<connection> lent) {
        const std::scoped_lock lock{mutex_};
        idle_[shard].push_back(std::move(lent));
    }
    void forget(const std::string& shard) {
        std::vector<std::unique_ptr<connection>> broken;  // closed without the lock
        const std::scoped_lock lock{mutex_};
        broken.swap(idle_[shard]);
    }

    databases of_;
    std::mutex mutex_;
    std::map<std::string, std::vector<std::unique_ptr<connection>>> idle_;
};

/// The query callback. May be called by several threads; lets go of a slow server when the query's
/// deadline passes or nobody wants the answer.
[[nodiscard]] inline rows_page ask(connection_pool& shards, const sw::key_format& format,
                                   const query& asked) {
    const limits until{asked.deadline, asked.stop};
    auto shard = shards.lend(asked.shard);
    finish(*shard, until);
    rows_page answer;
    const auto statements = statements_of(asked);
    for (const page_statement& each : statements) {
        take_rows(run(*shard, each.name, each.sql, each.with, until), format, answer);
    }
    close_page(asked, statements.size(), answer);
    shard.keep();
    return answer;
}

}  // namespace postgres

#endif
