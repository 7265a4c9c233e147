// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_BACKENDS_POSTGRES_SERVER_HPP
#define SHARDWEAVE_TESTS_BACKENDS_POSTGRES_SERVER_HPP

/// A PostgreSQL server of a test's own.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "postgres/waiting.hpp"
#include "support/server_process.hpp"
#include "support/temporary_directory.hpp"

namespace test_support {

class postgres_server {
public:
    /// The path of a PostgreSQL program; none when the server is not installed.
    [[nodiscard]] static std::optional<std::string> program(const std::string& name) {
        // Debian keeps the server's programs out of PATH, in a folder for each version.
        std::vector<std::string> folders;
        const std::filesystem::path versions{"/usr/lib/postgresql"};
        if (std::filesystem::is_directory(versions)) {
            for (const auto& each : std::filesystem::directory_iterator{versions}) {
                folders.push_back((each.path() / "bin").string());
            }
        }
        return find_program(name, folders);
    }

    /// The connection string of a database, through another port where a proxy is in front.
    [[nodiscard]] std::string conninfo(const std::string& database, const std::string& user,
                                       std::uint16_t port = 0) const {
        return "host=127.0.0.1 port=" + std::to_string(port == 0 ? port_ : port) + " user=" + user +
               " dbname=" + database;
    }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    void kill() { process_.kill(); }
    void restart() { process_.restart(); }

private:
    [[nodiscard]] server_command command() {
        const std::string data = (directory_.path() / "data").string();
        server_process::run({.name = "initdb",
                             .arguments = {program("initdb").value(), "-D", data, "-U", "postgres",
                                           "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"},
                             .directory = directory_.path(),
                             .user = "postgres"});
        return {.name = "postgres",
                .arguments = {program("postgres").value(), "-D", data, "-p", std::to_string(port_),
                              "-c", "listen_addresses=127.0.0.1", "-c",
                              "unix_socket_directories=", "-c", "fsync=off", "-c",
                              "shared_buffers=32MB", "-c", "max_connections=60"},
                .directory = directory_.path(),
                .answers =
                    [this] {
                        static_cast<void>(postgres::connected(conninfo("postgres", "postgres")));
                        return true;
                    },
                .user = "postgres",
                .stop_signal = SIGINT};
    }

    temporary_directory directory_;
    std::uint16_t port_ = free_port();
    server_process process_{command()};
};

/// For all test cases of the program: started and ended by its main.
inline postgres_server* running_postgres = nullptr;

}  // namespace test_support

#endif
