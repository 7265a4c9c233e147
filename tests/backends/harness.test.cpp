// SPDX-License-Identifier: BSL-1.0
// What the tests of servers rely on: processes that start, end and are restarted, and a proxy that
// breaks what it is told to break.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "support/fault_proxy.hpp"
#include "support/server_process.hpp"
#include "support/temporary_directory.hpp"

using namespace std::chrono_literals;
using test_support::fault_proxy;
using test_support::server_error;
using test_support::server_process;
using test_support::temporary_directory;

namespace {

/// Answers every call by the same bytes, until its object ends.
class echo_server {
public:
    echo_server() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(::bind(listener_, generic, size) == 0);
        REQUIRE(::listen(listener_, 8) == 0);
        REQUIRE(::getsockname(listener_, generic, &size) == 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::jthread{[this] {
            for (;;) {
                const int client = ::accept(listener_, nullptr, nullptr);
                if (client < 0) {
                    return;
                }
                std::array<char, 256> block;
                for (;;) {
                    const auto got = ::recv(client, block.data(), block.size(), 0);
                    if (got <= 0) {
                        break;
                    }
                    ::send(client, block.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
                }
                ::close(client);
            }
        }};
    }
    echo_server(const echo_server&) = delete;
    echo_server& operator=(const echo_server&) = delete;
    ~echo_server() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::uint16_t port_ = 0;
    std::jthread thread_;
};

class client {
public:
    explicit client(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() { ::close(socket_); }

    /// What comes back until the text is whole or the connection ends; `!` for a reset.
    std::string call(const std::string& text) const {
        ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        std::string back;
        std::array<char, 256> block;
        while (back.size() < text.size()) {
            const auto got = ::recv(socket_, block.data(), block.size(), 0);
            if (got <= 0) {
                return back + (got < 0 ? "!" : "");
            }
            back.append(block.data(), static_cast<std::size_t>(got));
        }
        return back;
    }

private:
    int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace

TEST_CASE("a proxy passes everything on until it is told to break something", "[harness]") {
    const echo_server server;
    fault_proxy proxy{server.port()};
    {
        const client calm{proxy.port()};
        CHECK(calm.call("one") == "one");
        CHECK(calm.call("two") == "two");
        CHECK(proxy.calls() == 2);
        proxy.reset_at(2);
        CHECK(calm.call("three") == "three");
        CHECK(calm.call("four") == "!");
        CHECK(proxy.struck() == 1);
    }
    {
        const client cut{proxy.port()};
        proxy.cut_answer_at(1, 3);
        CHECK(cut.call("four") == "fou!");
    }
    const client slow{proxy.port()};
    proxy.delay(50ms);
    const auto start = std::chrono::steady_clock::now();
    CHECK(slow.call("five") == "five");
    CHECK(std::chrono::steady_clock::now() - start >= 50ms);
    proxy.calm();
    CHECK(slow.call("six") == "six");
    proxy.reset_all();
    CHECK(slow.call("seven") != "seven");
}

TEST_CASE("a proxy of a server that is away refuses", "[harness]") {
    fault_proxy proxy{test_support::free_port()};
    const client refused{proxy.port()};
    CHECK(refused.call("hello") == "!");
}

TEST_CASE("a server ends with its object, and is restarted after a kill", "[harness]") {
    const temporary_directory directory;
    server_process server{
        {.name = "sleep",
         .arguments = {"/bin/sh", "-c", "echo begins; touch ready; exec sleep 60"},
         .directory = directory.path(),
         .answers = [&] { return std::filesystem::remove(directory.path() / "ready"); }}};
    CHECK(server.running());
    server.kill();
    CHECK_FALSE(server.running());
    server.restart();
    CHECK(server.running());
    server.stop();
    CHECK_FALSE(server.running());
    CHECK(server.log_end().find("begins\nbegins\n") != std::string::npos);
}

TEST_CASE("a server that does not come up says what it said", "[harness]") {
    const temporary_directory directory;
    const auto start = [&](std::string script) {
        const server_process server{{.name = "broken",
                                     .arguments = {"/bin/sh", "-c", std::move(script)},
                                     .directory = directory.path(),
                                     .answers = [] { return false; },
                                     .patience = 300ms}};
    };
    using Catch::Matchers::ContainsSubstring;
    using Catch::Matchers::MessageMatches;
    CHECK_THROWS_MATCHES(start("echo the port is taken >&2; exit 1"), server_error,
                         MessageMatches(ContainsSubstring("the port is taken")));
    CHECK_THROWS_MATCHES(start("echo still thinking; sleep 60"), server_error,
                         MessageMatches(ContainsSubstring("does not answer") &&
                                        ContainsSubstring("still thinking")));
    CHECK_THROWS_AS(
        server_process::run(
            {.name = "program", .arguments = {"/bin/false"}, .directory = directory.path()}),
        server_error);
}
