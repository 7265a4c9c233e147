// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_FAULT_PROXY_HPP
#define SHARDWEAVE_TESTS_SUPPORT_FAULT_PROXY_HPP

/// A TCP proxy on 127.0.0.1 before a server, which goes wrong when it is told to.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace test_support {

/// Passes on what clients and the server send, on a thread of its own. A call is what a client
/// sends at once: one query of a client that waits for its answer, but also the greeting of a new
/// connection. A fault strikes once, then the proxy is as good as before. Thread-safe.
class fault_proxy {
public:
    using clock = std::chrono::steady_clock;

    explicit fault_proxy(std::uint16_t server) : server_(server) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
            ::getsockname(listener_, generic, &size) != 0) {
            throw std::runtime_error{"the fault proxy has no port"};
        }
        port_ = ntohs(address.sin_port);
        wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        thread_ = std::jthread{[this](const std::stop_token& stop) { serve(stop); }};
    }
    fault_proxy(const fault_proxy&) = delete;
    fault_proxy& operator=(const fault_proxy&) = delete;
    ~fault_proxy() {
        thread_.request_stop();
        wake();
        thread_.join();
        ::close(listener_);
        ::close(wake_);
    }

    /// Where clients connect.
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    /// Calls so far.
    [[nodiscard]] std::size_t calls() const {
        const std::scoped_lock lock{mutex_};
        return calls_;
    }

    /// Instead of passing on the n-th call from now (1 is the next), resets its connection.
    void reset_at(std::size_t call) { set({.at = calls() + call, .bytes = 0, .ask = false}); }

    /// Passes on the n-th call from now, and of its answer only so many bytes; then resets.
    void cut_answer_at(std::size_t call, std::size_t bytes) {
        set({.at = calls() + call, .bytes = bytes, .ask = true});
    }

    /// Holds every call back for so long, until told otherwise.
    void delay(std::chrono::milliseconds each) {
        const std::scoped_lock lock{mutex_};
        delay_ = each;
    }

    /// Resets all connections that there are now.
    void reset_all() {
        {
            const std::scoped_lock lock{mutex_};
            reset_all_ = true;
        }
        wake();
    }

    /// No fault, no delay.
    void calm() {
        const std::scoped_lock lock{mutex_};
        fault_ = {};
        delay_ = {};
    }

    /// Faults that have struck.
    [[nodiscard]] std::size_t struck() const {
        const std::scoped_lock lock{mutex_};
        return struck_;
    }

private:
    struct fault {
        /// Which call, counted from the first; 0 is none.
        std::size_t at = 0;
        std::size_t bytes = 0;
        bool ask = false;
    };
    struct direction {
        std::string waiting;
        clock::time_point due{};
        bool ended = false;
        bool end_passed = false;
    };
    struct connection {
        int client = -1;
        int server = -1;
        direction up;
        direction down;
        /// Bytes that the client may still have; then it is cut.
        std::size_t left = std::numeric_limits<std::size_t>::max();
        bool broken = false;
    };
    static constexpr std::size_t most_waiting = 1U << 20U;

    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        return address;
    }

    void set(fault next) {
        const std::scoped_lock lock{mutex_};
        fault_ = next;
    }
    void wake() const {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(wake_, &one, sizeof one));
    }

    void serve(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::vector<pollfd> watched{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
            int timeout = -1;
            const auto now = clock::now();
            for (connection& each : connections_) {
                watch(watched, each.client, events(each.up, each.down, now, timeout));
                watch(watched, each.server, events(each.down, each.up, now, timeout));
            }
            ::poll(watched.data(), watched.size(), timeout);
            std::uint64_t count = 0;
            static_cast<void>(!::read(wake_, &count, sizeof count));
            for (std::size_t at = 2; connection & each : connections_) {
                const short client = watched[at++].revents;
                const short server = watched[at++].revents;
                step(each, client, server);
            }
            if (take_reset_all()) {
                for (connection& each : connections_) {
                    each.broken = true;
                }
            }
            std::erase_if(connections_, [](const connection& each) { return closed(each); });
            if ((watched[0].revents & POLLIN) != 0) {
                accept();
            }
        }
        for (connection& each : connections_) {
            each.broken = true;
            closed(each);
        }
    }

    /// An end of which nothing is wanted is left out, or its hang-up would wake the loop for ever.
    static void watch(std::vector<pollfd>& watched, int end, short events) {
        watched.push_back({events == 0 ? -1 : end, events, 0});
    }

    /// What to wait for at the end from which `from` comes and to which `to` goes.
    static short events(const direction& from, const direction& to, clock::time_point now,
                        int& timeout) {
        int wanted = 0;
        if (!from.ended && from.waiting.size() < most_waiting) {
            wanted |= POLLIN;
        }
        if (!to.waiting.empty() || (to.ended && !to.end_passed)) {
            if (to.due <= now) {
                wanted |= POLLOUT;
            } else {
                const auto left =
                    std::chrono::ceil<std::chrono::milliseconds>(to.due - now).count();
                timeout = timeout < 0 ? static_cast<int>(left)
                                      : std::min(timeout, static_cast<int>(left));
            }
        }
        return static_cast<short>(wanted);
    }

    void step(connection& on, short client, short server) {
        if ((client & (POLLIN | POLLHUP | POLLERR)) != 0 && !on.up.ended) {
            const std::size_t had = on.up.waiting.size();
            receive(on, on.client, on.up);
            if (on.up.waiting.size() > had) {
                called(on, had);
            }
        }
        if ((server & (POLLIN | POLLHUP | POLLERR)) != 0 && !on.down.ended) {
            receive(on, on.server, on.down);
            if (on.down.waiting.size() > on.left) {
                on.down.waiting.resize(on.left);
            }
        }
        const auto now = clock::now();
        pass(on, on.up, on.server, now);
        const std::size_t before = on.down.waiting.size();
        pass(on, on.down, on.client, now);
        if (on.left != std::numeric_limits<std::size_t>::max()) {
            on.left -= before - on.down.waiting.size();
            on.broken = on.broken || on.left == 0;
        }
    }

    /// A client sent something.
    void called(connection& on, std::size_t had) {
        const std::scoped_lock lock{mutex_};
        ++calls_;
        if (delay_.count() > 0 && had == 0) {
            on.up.due = clock::now() + delay_;
        }
        if (fault_.at != 0 && fault_.at <= calls_) {
            if (fault_.ask && fault_.bytes > 0) {
                on.left = fault_.bytes + on.down.waiting.size();
            } else {
                on.broken = true;
            }
            fault_ = {};
            ++struck_;
        }
    }

    static void receive(connection& on, int from, direction& into) {
        std::array<char, 65'536> block;
        const ssize_t got = ::recv(from, block.data(), block.size(), MSG_DONTWAIT);
        if (got > 0) {
            into.waiting.append(block.data(), static_cast<std::size_t>(got));
        } else if (got == 0) {
            into.ended = true;
        } else if (errno != EAGAIN && errno != EINTR) {
            on.broken = true;
        }
    }

    static void pass(connection& on, direction& what, int to, clock::time_point now) {
        if (on.broken || what.due > now) {
            return;
        }
        if (!what.waiting.empty()) {
            const ssize_t put =
                ::send(to, what.waiting.data(), what.waiting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (put > 0) {
                what.waiting.erase(0, static_cast<std::size_t>(put));
            } else if (errno != EAGAIN && errno != EINTR) {
                on.broken = true;
            }
        }
        if (what.waiting.empty() && what.ended && !what.end_passed) {
            what.end_passed = true;
            ::shutdown(to, SHUT_WR);
        }
    }

    /// Closes what has come to its end; a broken connection by a reset.
    static bool closed(const connection& on) {
        const bool over = on.up.end_passed && on.down.end_passed;
        if (!on.broken && !over) {
            return false;
        }
        if (on.broken) {
            const linger at_once{1, 0};
            ::setsockopt(on.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        }
        ::close(on.client);
        ::close(on.server);
        return true;
    }

    void accept() {
        connection next;
        next.client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (next.client < 0) {
            return;
        }
        next.server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_in address = loopback(server_);
        const int on = 1;
        ::setsockopt(next.client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(next.server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        // Blocking, but on this machine: it is refused or taken at once.
        if (::connect(next.server, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0) {
            next.broken = true;
            closed(next);
            return;
        }
        connections_.push_back(std::move(next));
    }

    [[nodiscard]] bool take_reset_all() {
        const std::scoped_lock lock{mutex_};
        return std::exchange(reset_all_, false);
    }

    std::uint16_t server_;
    std::uint16_t port_ = 0;
    int listener_ = -1;
    int wake_ = -1;
    std::list<connection> connections_;

    mutable std::mutex mutex_;
    std::size_t calls_ = 0;
    std::size_t struck_ = 0;
    fault fault_{};
    std::chrono::milliseconds delay_{};
    bool reset_all_ = false;

    std::jthread thread_;
};

}  // namespace test_support

#endif
