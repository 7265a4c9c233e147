// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_CONNECTION_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_CONNECTION_HPP

/// One connection to one node, over hiredis: commands go out, replies come back in their order, and
/// neither is waited for longer than the caller does.

#include <shardweave/core/retry.hpp>
#include <shardweave/read/trouble.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "reply.hpp"

namespace redis_timeline {

namespace sw = shardweave;

/// Where a node listens.
struct endpoint {
    std::string host;
    std::uint16_t port = 0;

    [[nodiscard]] std::string text() const { return host + ":" + std::to_string(port); }
    friend auto operator<=>(const endpoint&, const endpoint&) = default;
};

/// How long a caller waits for one call.
struct waiting {
    sw::deadline until{};
    std::stop_token stop{};
};

/// One thread at a time. After anything that it throws, it must not be used again: a reply that
/// comes too late would be taken for the next command's.
class connection {
public:
    /// Throws `unavailable` or `timed_out`.
    connection(endpoint to, std::chrono::milliseconds at_most) : to_(std::move(to)) {
        const timeval limit{static_cast<time_t>(at_most.count() / 1000),
                            static_cast<suseconds_t>(at_most.count() % 1000 * 1000)};
        context_.reset(redisConnectWithTimeout(to_.host.c_str(), to_.port, limit));
        if (!context_) {
            throw std::bad_alloc{};
        }
        if (context_->err != 0) {
            fail(context_->errstr);
        }
    }

    /// False when the node has closed it meanwhile, as when it was restarted: nothing was asked, so
    /// there is nothing to read but the end.
    [[nodiscard]] bool alive() const noexcept {
        pollfd socket{context_->fd, POLLIN, 0};
        return ::poll(&socket, 1, 0) == 0;
    }

    void append(const std::vector<std::string>& words) {
        std::vector<const char*> texts;
        std::vector<std::size_t> sizes;
        for (const std::string& word : words) {
            texts.push_back(word.data());
            sizes.push_back(word.size());
        }
        char* formatted = nullptr;
        const int size = redisFormatCommandArgv(&formatted, static_cast<int>(words.size()),
                                                texts.data(), sizes.data());
        if (size < 0) {
            throw std::bad_alloc{};
        }
        out_.append(formatted, static_cast<std::size_t>(size));
        redisFreeCommand(formatted);
    }

    /// Sends what was appended. By itself, since hiredis writes in a way that a closed connection
    /// ends the process by SIGPIPE.
    void send(const waiting& wait) {
        const std::stop_callback interrupted{wait.stop, shut{context_->fd}};
        for (std::string_view rest = out_; !rest.empty();) {
            const ssize_t sent =
                ::send(context_->fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (sent >= 0) {
                rest.remove_prefix(static_cast<std::size_t>(sent));
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                ready(POLLOUT, wait);
            } else if (errno != EINTR) {
                fail(std::strerror(errno), wait);
            }
        }
        out_.clear();
    }

    [[nodiscard]] reply read(const waiting& wait) {
        const std::stop_callback interrupted{wait.stop, shut{context_->fd}};
        for (;;) {
            void* got = nullptr;
            if (redisGetReplyFromReader(context_.get(), &got) != REDIS_OK) {
                fail(context_->errstr, wait);
            }
            if (got != nullptr) {
                return reply{static_cast<redisReply*>(got)};
            }
            ready(POLLIN, wait);
            if (redisBufferRead(context_.get()) != REDIS_OK) {
                fail(context_->errstr, wait);
            }
        }
    }

    [[nodiscard]] const endpoint& to() const noexcept { return to_; }

private:
    struct close {
        void operator()(redisContext* of) const noexcept { redisFree(of); }
    };

    /// Wakes whoever waits on the socket, when nobody wants the answer any more.
    struct shut {
        int socket;
        void operator()() const noexcept { ::shutdown(socket, SHUT_RDWR); }
    };

    /// Waits until the socket can be read or written.
    void ready(short what, const waiting& wait) const {
        for (;;) {
            int left = -1;
            if (!wait.until.never()) {
                const auto ns = wait.until.left(std::chrono::steady_clock::now());
                if (ns.count() == 0) {
                    throw sw::timed_out{to_.text() + " did not answer in time"};
                }
                left = static_cast<int>(std::min<std::int64_t>(
                    std::chrono::ceil<std::chrono::milliseconds>(ns).count(), 60'000));
            }
            pollfd socket{context_->fd, what, 0};
            const int result = ::poll(&socket, 1, left);
            if (result > 0) {
                return;
            }
            if (result < 0 && errno != EINTR) {
                fail(std::strerror(errno), wait);
            }
        }
    }

    [[noreturn]] void fail(std::string_view why, const waiting& wait = {}) const {
        if (wait.stop.stop_requested()) {
            throw sw::timed_out{"nobody waits for " + to_.text() + " any more"};
        }
        const bool late = context_->err == REDIS_ERR_IO && (errno == EAGAIN || errno == ETIMEDOUT);
        std::string text = to_.text() + ": " + std::string{why};
        if (late) {
            throw sw::timed_out{std::move(text)};
        }
        throw sw::unavailable{std::move(text)};
    }

    endpoint to_;
    std::unique_ptr<redisContext, close> context_;
    std::string out_;
};

}  // namespace redis_timeline

#endif
