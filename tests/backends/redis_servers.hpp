// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_BACKENDS_REDIS_SERVERS_HPP
#define SHARDWEAVE_TESTS_BACKENDS_REDIS_SERVERS_HPP

/// A Redis Cluster of three masters on loopback, as long as its object lives. Nothing of it
/// outlasts the test, however that ends.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "redis/cluster.hpp"
#include "support/temporary_directory.hpp"

namespace test_support {

/// A port of loopback that nobody has: held until it is let go, so that the next is another one.
class free_port {
public:
    free_port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        // Below the ports that connections get by themselves: a node that is down for a moment
        // must find its port free again.
        static std::uint16_t next = static_cast<std::uint16_t>(20'000 + ::getpid() % 10'000);
        for (int attempt = 0; attempt != 1'000; ++attempt) {
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            address.sin_port = htons(next);
            number_ = next++;
            sockaddr any{};
            static_assert(sizeof any == sizeof address);
            std::memcpy(&any, &address, sizeof any);
            if (::bind(socket_, &any, sizeof any) == 0) {
                return;
            }
        }
        throw std::runtime_error{"no port is free"};
    }
    free_port(const free_port&) = delete;
    free_port& operator=(const free_port&) = delete;
    ~free_port() { let_go(); }
    void let_go() {
        if (socket_ >= 0) {
            ::close(std::exchange(socket_, -1));
        }
    }
    [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

private:
    int socket_;
    std::uint16_t number_ = 0;
};

/// One redis-server. Start it from the main thread: it dies with the thread that started it.
class redis_server {
public:
    redis_server(std::filesystem::path directory, std::uint16_t port, std::uint16_t bus)
        : directory_(std::move(directory)), port_(port), bus_(bus) {
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directories(directory_);
        start();
    }
    redis_server(redis_server&& other) noexcept
        : directory_(std::move(other.directory_)), port_(other.port_), bus_(other.bus_),
          process_(std::exchange(other.process_, -1)) {}
    redis_server& operator=(redis_server&&) = delete;
    ~redis_server() { kill(); }

    /// Starts it, with the data that it had.
    void start() {
        const std::vector<std::string> words{"redis-server",
                                             "--bind",
                                             "127.0.0.1",
                                             "--port",
                                             std::to_string(port_),
                                             "--cluster-port",
                                             std::to_string(bus_),
                                             "--dir",
                                             directory_.string(),
                                             "--cluster-enabled",
                                             "yes",
                                             "--cluster-node-timeout",
                                             "2000",
                                             "--appendonly",
                                             "yes",
                                             "--appendfsync",
                                             "no",
                                             "--save",
                                             "",
                                             "--daemonize",
                                             "no",
                                             "--enable-debug-command",
                                             "yes"};
        std::vector<char*> arguments;
        for (const std::string& word : words) {
            arguments.push_back(const_cast<char*>(word.c_str()));
        }
        arguments.push_back(nullptr);
        const std::string log = (directory_ / "log").string();
        const pid_t parent = ::getpid();
        process_ = ::fork();
        if (process_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            const int in = ::open("/dev/null", O_RDONLY);
            ::dup2(in, 0);
            ::dup2(out, 1);
            ::dup2(out, 2);
            if (::getppid() == parent) {
                ::execvp("redis-server", arguments.data());
            }
            ::_exit(127);
        }
        wait_until_it_answers();
    }

    /// As a crash or a lost machine ends it.
    void kill() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            ::waitpid(std::exchange(process_, -1), nullptr, 0);
        }
    }

    /// Hung: it accepts connections, and answers nothing.
    void freeze() const { ::kill(process_, SIGSTOP); }
    void thaw() const { ::kill(process_, SIGCONT); }

    [[nodiscard]] redis_timeline::endpoint at() const { return {"127.0.0.1", port_}; }
    [[nodiscard]] std::uint16_t bus() const noexcept { return bus_; }

private:
    void wait_until_it_answers() {
        for (int attempt = 0; attempt != 2'000; ++attempt) {
            int status = 0;
            if (::waitpid(process_, &status, WNOHANG) == process_) {
                process_ = -1;
                break;
            }
            try {
                redis_timeline::connection probe{at(), std::chrono::seconds{1}};
                probe.append({"PING"});
                probe.send({});
                if (!probe.read({}).is_error()) {
                    return;
                }
            } catch (const shardweave::store_trouble&) {
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
        std::ifstream log{directory_ / "log"};
        throw std::runtime_error{"redis-server does not answer; its log: " +
                                 std::string{std::istreambuf_iterator<char>{log}, {}}};
    }

    std::filesystem::path directory_;
    std::uint16_t port_;
    std::uint16_t bus_;
    pid_t process_ = -1;
};

/// Three masters with a third of the slots each.
class redis_cluster {
public:
    static constexpr std::size_t size = 3;

    redis_cluster() {
        std::vector<free_port> ports(2 * size);
        for (std::size_t i = 0; i != size; ++i) {
            ports[2 * i].let_go();
            ports[2 * i + 1].let_go();
            nodes_.emplace_back(directory_.path() / std::to_string(i), ports[2 * i].number(),
                                ports[2 * i + 1].number());
        }
        redis_timeline::cluster admin{{.seeds = {nodes_[0].at()}}};
        for (std::size_t i = 0; i != size; ++i) {
            const auto first = (16'384 * i + size - 1) / size;
            const auto last = (16'384 * (i + 1) + size - 1) / size - 1;
            tell(admin, i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
            tell(admin, i,
                 {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
            tell(admin, i,
                 {"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[0].at().port),
                  std::to_string(nodes_[0].bus())});
        }
        wait_until_whole();
    }

    [[nodiscard]] redis_server& node(std::size_t index) { return nodes_.at(index); }
    [[nodiscard]] redis_server& node_at(const redis_timeline::endpoint& where) {
        for (redis_server& each : nodes_) {
            if (each.at() == where) {
                return each;
            }
        }
        throw std::runtime_error{"no node at " + where.text()};
    }
    [[nodiscard]] std::vector<redis_timeline::endpoint> seeds() const {
        std::vector<redis_timeline::endpoint> all;
        for (const redis_server& each : nodes_) {
            all.push_back(each.at());
        }
        return all;
    }

    /// Until every node says that all slots are served, and knows all others.
    void wait_until_whole() {
        redis_timeline::cluster admin{{.seeds = seeds()}};
        for (const redis_server& each : nodes_) {
            for (int attempt = 0;; ++attempt) {
                const auto info = admin.call_node(each.at(), {"CLUSTER", "INFO"});
                const auto slots = admin.call_node(each.at(), {"CLUSTER", "SLOTS"});
                if (info.text().find("cluster_state:ok") != std::string_view::npos &&
                    slots.size() >= size) {
                    break;
                }
                if (attempt == 2'000) {
                    throw std::runtime_error{"the cluster does not come together"};
                }
                std::this_thread::sleep_for(std::chrono::milliseconds{10});
            }
        }
    }

private:
    static void tell(redis_timeline::cluster& admin, const redis_timeline::endpoint& node,
                     const std::vector<std::string>& words) {
        static_cast<void>(redis_timeline::checked(admin.call_node(node, words), words[1]));
    }
    void tell(redis_timeline::cluster& admin, std::size_t index,
              const std::vector<std::string>& words) {
        tell(admin, nodes_[index].at(), words);
    }

    temporary_directory directory_;
    std::vector<redis_server> nodes_;
};

/// One slot of the cluster on its way from its owner to another node, step by step.
class slot_migration {
public:
    slot_migration(redis_timeline::cluster& on, std::uint16_t slot, redis_timeline::endpoint to)
        : on_(&on), slot_(std::to_string(slot)), from_(owner_of(on, slot)), to_(std::move(to)) {
        tell(to_, {"CLUSTER", "SETSLOT", slot_, "IMPORTING", id_of(from_)});
        tell(from_, {"CLUSTER", "SETSLOT", slot_, "MIGRATING", id_of(to_)});
    }

    /// The node that says so of itself: others may learn it late.
    [[nodiscard]] static redis_timeline::endpoint owner_of(redis_timeline::cluster& on,
                                                           std::uint16_t slot) {
        for (const redis_timeline::endpoint& each : on.masters()) {
            const auto map =
                redis_timeline::slot_map::from(on.call_node(each, {"CLUSTER", "SLOTS"}), each);
            if (map.owner(slot) != nullptr && *map.owner(slot) == each) {
                return each;
            }
        }
        throw std::runtime_error{"nobody has the slot"};
    }

    /// Moves up to so many keys, and says how many.
    std::size_t move_keys(std::size_t most) {
        const auto keys =
            on_->call_node(from_, {"CLUSTER", "GETKEYSINSLOT", slot_, std::to_string(most)});
        for (std::size_t i = 0; i != keys.size(); ++i) {
            move_key(std::string{keys[i].text()});
        }
        return keys.size();
    }
    void move_key(const std::string& key) {
        tell(from_, {"MIGRATE", to_.host, std::to_string(to_.port), key, "0", "5000"});
    }

    void finish() {
        while (move_keys(100) != 0) {
        }
        const std::string id = id_of(to_);
        tell(to_, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
        tell(from_, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
    }

private:
    void tell(const redis_timeline::endpoint& node, const std::vector<std::string>& words) {
        static_cast<void>(redis_timeline::checked(on_->call_node(node, words), words[0]));
    }
    [[nodiscard]] std::string id_of(const redis_timeline::endpoint& node) {
        return std::string{on_->call_node(node, {"CLUSTER", "MYID"}).text()};
    }

    redis_timeline::cluster* on_;
    std::string slot_;
    redis_timeline::endpoint from_;
    redis_timeline::endpoint to_;
};

}  // namespace test_support

#endif
