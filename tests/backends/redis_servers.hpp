// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_BACKENDS_REDIS_SERVERS_HPP
#define SHARDWEAVE_TESTS_BACKENDS_REDIS_SERVERS_HPP

/// A Redis Cluster of three masters on loopback, as long as its object lives, with a fault proxy
/// before each of them.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "redis/cluster.hpp"
#include "support/fault_proxy.hpp"
#include "support/server_process.hpp"
#include "support/temporary_directory.hpp"

namespace test_support {

/// One node. Its data outlives a kill.
class redis_node {
public:
    explicit redis_node(const std::filesystem::path& directory)
        : port_(free_port()), bus_(free_port()), proxy_(port_) {
        std::filesystem::create_directories(directory);
        const auto program = find_program("redis-server");
        if (!program) {
            throw server_error{"redis-server is not installed"};
        }
        process_ = std::make_unique<server_process>(server_command{
            .name = "redis-server",
            .arguments = {*program, "--bind", "127.0.0.1", "--port", std::to_string(port_),
                          "--cluster-port", std::to_string(bus_), "--cluster-enabled", "yes",
                          "--cluster-node-timeout", "2000", "--appendonly", "yes", "--appendfsync",
                          "no", "--save", "", "--daemonize", "no"},
            .directory = directory,
            .answers = [this] { return !ask({"PING"}).is_error(); }});
    }

    [[nodiscard]] server_process& process() noexcept { return *process_; }
    [[nodiscard]] fault_proxy& proxy() noexcept { return proxy_; }
    [[nodiscard]] redis_timeline::endpoint at() const { return {"127.0.0.1", port_}; }
    [[nodiscard]] std::uint16_t bus() const noexcept { return bus_; }

    /// By a connection of its own, not through the proxy.
    redis_timeline::reply ask(const std::vector<std::string>& words) const {
        redis_timeline::connection once{at(), std::chrono::seconds{1}};
        const redis_timeline::waiting wait{
            shardweave::deadline::after(std::chrono::steady_clock::now(), std::chrono::seconds{5})};
        once.append(words);
        once.send(wait);
        return once.read(wait);
    }
    /// Throws unless it agrees.
    void tell(const std::vector<std::string>& words) const {
        static_cast<void>(redis_timeline::checked(ask(words), words[0]));
    }

    /// Every command is refused as BUSY, since a script does not end.
    void occupy() {
        tell({"CONFIG", "SET", "busy-reply-threshold", "1"});
        script_ = std::make_unique<redis_timeline::connection>(at(), std::chrono::seconds{1});
        script_->append({"EVAL", "while true do end", "0"});
        script_->send({});
        while (!ask({"PING"}).is_error()) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
    void release() {
        if (std::exchange(script_, nullptr)) {
            while (ask({"PING"}).is_error()) {
                static_cast<void>(ask({"SCRIPT", "KILL"}));
            }
        }
    }

private:
    std::uint16_t port_;
    std::uint16_t bus_;
    fault_proxy proxy_;
    std::unique_ptr<redis_timeline::connection> script_;
    std::unique_ptr<server_process> process_;
};

/// Three masters with a third of the slots each.
class redis_cluster {
public:
    static constexpr std::size_t size = 3;

    redis_cluster() {
        for (std::size_t i = 0; i != size; ++i) {
            nodes_.push_back(std::make_unique<redis_node>(directory_.path() / std::to_string(i)));
        }
        for (std::size_t i = 0; i != size; ++i) {
            const auto first = (16'384 * i + size - 1) / size;
            const auto last = (16'384 * (i + 1) + size - 1) / size - 1;
            node(i).tell({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
            node(i).tell({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
            node(i).tell({"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(0).at().port),
                          std::to_string(node(0).bus())});
        }
        wait_until_whole();
    }

    [[nodiscard]] redis_node& node(std::size_t index) { return *nodes_.at(index); }
    [[nodiscard]] redis_node& node_at(const redis_timeline::endpoint& where) {
        for (const auto& each : nodes_) {
            if (each->at() == where) {
                return *each;
            }
        }
        throw server_error{"no node at " + where.text()};
    }

    /// For a client that reaches the nodes where they are.
    [[nodiscard]] redis_timeline::cluster_options direct() const {
        redis_timeline::cluster_options with{};
        for (const auto& each : nodes_) {
            with.seeds.push_back(each->at());
        }
        return with;
    }
    /// For one that reaches each of them through its proxy only.
    [[nodiscard]] redis_timeline::cluster_options through_proxies() const {
        redis_timeline::cluster_options with = direct();
        for (const auto& each : nodes_) {
            with.connections.reached_at[each->at()] = {"127.0.0.1", each->proxy().port()};
        }
        return with;
    }

    /// Until every node says that all slots are served, and knows all others.
    void wait_until_whole() const {
        for (const auto& each : nodes_) {
            for (int attempt = 0;; ++attempt) {
                const auto info = each->ask({"CLUSTER", "INFO"});
                if (info.text().find("cluster_state:ok") != std::string_view::npos &&
                    each->ask({"CLUSTER", "SLOTS"}).size() >= size) {
                    break;
                }
                if (attempt == 2'000) {
                    throw server_error{"the cluster does not come together"};
                }
                std::this_thread::sleep_for(std::chrono::milliseconds{10});
            }
        }
    }

    /// All data is gone.
    void wipe() const {
        wait_until_whole();
        for (const auto& each : nodes_) {
            each->tell({"FLUSHALL"});
        }
    }

private:
    temporary_directory directory_;
    std::vector<std::unique_ptr<redis_node>> nodes_;
};

/// One slot of the cluster on its way from its owner to another node, step by step.
class slot_migration {
public:
    slot_migration(redis_timeline::cluster& on, std::uint16_t slot, redis_timeline::endpoint to)
        : on_(&on), nodes_(on.masters()), slot_(std::to_string(slot)), from_(owner_of(on, slot)),
          to_(std::move(to)) {
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

    /// Until all nodes know. Begun before, the next migration could leave two nodes that each take
    /// the other one for the owner, since both may choose the same epoch.
    void finish() {
        while (move_keys(100) != 0) {
        }
        const std::string id = id_of(to_);
        for (int attempt = 0; attempt == 0 || !agreed(); ++attempt) {
            if (attempt == 500) {
                throw server_error{"the nodes do not agree on the owner of slot " + slot_};
            }
            if (attempt % 50 == 0) {
                tell(to_, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
                tell(from_, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

private:
    void tell(const redis_timeline::endpoint& node, const std::vector<std::string>& words) {
        static_cast<void>(redis_timeline::checked(on_->call_node(node, words), words[0]));
    }
    [[nodiscard]] bool agreed() {
        std::set<std::string> epochs;
        for (const redis_timeline::endpoint& each : nodes_) {
            const auto map =
                redis_timeline::slot_map::from(on_->call_node(each, {"CLUSTER", "SLOTS"}), each);
            const auto* owner = map.owner(static_cast<std::uint16_t>(std::stoul(slot_)));
            if (owner == nullptr || *owner != to_) {
                return false;
            }
            const std::string info{on_->call_node(each, {"CLUSTER", "INFO"}).text()};
            const auto at = info.find("cluster_current_epoch:");
            epochs.insert(info.substr(at, info.find('\r', at) - at));
        }
        return epochs.size() == 1;
    }
    [[nodiscard]] std::string id_of(const redis_timeline::endpoint& node) {
        return std::string{on_->call_node(node, {"CLUSTER", "MYID"}).text()};
    }

    redis_timeline::cluster* on_;
    std::vector<redis_timeline::endpoint> nodes_;
    std::string slot_;
    redis_timeline::endpoint from_;
    redis_timeline::endpoint to_;
};

}  // namespace test_support

#endif
