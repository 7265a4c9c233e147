// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_SERVER_PROCESS_HPP
#define SHARDWEAVE_TESTS_SUPPORT_SERVER_PROCESS_HPP

/// A server of a test's own on 127.0.0.1, which is gone when its object or the test's process is.

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace test_support {

/// A server did not do what it should; the text shows the end of its log.
struct server_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A port of 127.0.0.1 that nobody has. Another process could take it before the server does;
/// `server_process` then says so, since the server's log does.
[[nodiscard]] inline std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    const bool bound =
        ::bind(socket, generic, size) == 0 && ::getsockname(socket, generic, &size) == 0;
    ::close(socket);
    if (!bound) {
        throw server_error{std::string{"no port of 127.0.0.1 is free: "} + std::strerror(errno)};
    }
    return ntohs(address.sin_port);
}

/// Whether something listens there.
[[nodiscard]] inline bool accepts_connections(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool connected =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return connected;
}

/// The program's path, by PATH and then by the folders given; none when it is not installed.
[[nodiscard]] inline std::optional<std::string>
find_program(std::string_view name, const std::vector<std::string>& also = {}) {
    const char* path = std::getenv("PATH");
    std::stringstream folders{path == nullptr ? "/usr/bin:/bin" : path};
    std::vector<std::string> all;
    for (std::string folder; std::getline(folders, folder, ':');) {
        all.push_back(folder);
    }
    all.insert(all.end(), also.begin(), also.end());
    for (const std::string& folder : all) {
        const std::string candidate = folder + "/" + std::string{name};
        if (::access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
    }
    return std::nullopt;
}

/// A program, and how to tell that it answers.
struct server_command {
    /// For errors.
    std::string name;
    /// The program's path and its arguments. It must stay in the foreground.
    std::vector<std::string> arguments;
    /// Its working directory, where its output goes to `<name>.log`.
    std::filesystem::path directory;
    /// Tried until it is true; what it throws is an answer of no.
    std::function<bool()> answers{};
    /// A user to run as when the test runs as root; empty: the test's own. The directory becomes
    /// that user's.
    std::string user{};
    /// What asks it to end orderly.
    int stop_signal = SIGTERM;
    std::chrono::milliseconds patience = std::chrono::seconds{20};
};

/// The process. Start it from a thread that lives as long as it, such as the main one: the kernel
/// kills it with the thread that started it (PR_SET_PDEATHSIG), so nothing stays behind a test that
/// dies. One thread at a time.
class server_process {
public:
    /// Starts it and waits until it answers. Throws `server_error`.
    explicit server_process(server_command command) : command_(std::move(command)) { start(); }
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;
    ~server_process() { stop(); }

    [[nodiscard]] bool running() {
        if (process_ > 0 && ::waitpid(process_, &status_, WNOHANG) == process_) {
            process_ = -1;
        }
        return process_ > 0;
    }

    /// As a crash: no chance to say goodbye.
    void kill() { end(SIGKILL); }

    /// Orderly, and by force when that takes longer than ten seconds.
    void stop() { end(command_.stop_signal); }

    /// After `kill` or `stop`, with the same command and directory; waits until it answers.
    void restart() {
        stop();
        start();
    }

    /// Runs a program to its end, such as one that prepares the directory. Throws `server_error`
    /// with its output when it fails.
    static void run(server_command command) {
        server_process program{std::move(command), prepared{}};
        program.launch();
        while (program.running()) {
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
        if (program.status_ != 0) {
            throw server_error{program.command_.name + " failed" + program.log_end()};
        }
    }

    /// The last lines that it wrote.
    [[nodiscard]] std::string log_end() const {
        std::ifstream file{log_path()};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        constexpr std::size_t shown = 3'000;
        return "; the end of " + log_path() + ":\n" +
               text.substr(text.size() > shown ? text.size() - shown : 0);
    }

private:
    struct prepared {};
    server_process(server_command command, prepared /*unused*/) : command_(std::move(command)) {}

    [[nodiscard]] std::string log_path() const {
        return (command_.directory / (command_.name + ".log")).string();
    }

    void start() {
        const auto end = std::chrono::steady_clock::now() + command_.patience;
        launch();
        while (!answers()) {
            if (std::chrono::steady_clock::now() > end) {
                this->end(SIGKILL);
                throw server_error{command_.name + " does not answer" + log_end()};
            }
            if (!running()) {
                // After a kill, what it left may keep it from starting for a moment.
                if (std::chrono::steady_clock::now() + command_.patience / 2 > end) {
                    throw server_error{command_.name + " ended at once" + log_end()};
                }
                std::this_thread::sleep_for(std::chrono::milliseconds{100});
                launch();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
    }

    /// Not what another process on the same port answers.
    [[nodiscard]] bool answers() {
        try {
            return running() && command_.answers && command_.answers() && running();
        } catch (const std::exception&) {
            return false;
        }
    }

    void launch() {
        std::vector<char*> arguments;
        for (std::string& each : command_.arguments) {
            arguments.push_back(each.data());
        }
        arguments.push_back(nullptr);
        const std::string log = log_path();
        const std::string directory = command_.directory.string();
        const passwd* user = nullptr;
        if (!command_.user.empty() && ::geteuid() == 0) {
            user = ::getpwnam(command_.user.c_str());
            if (user == nullptr || ::chown(directory.c_str(), user->pw_uid, user->pw_gid) != 0) {
                throw server_error{command_.name + " can not run as the user " + command_.user};
            }
        }
        const pid_t parent = ::getpid();
        process_ = ::fork();
        if (process_ < 0) {
            throw server_error{command_.name + " can not start: " + std::strerror(errno)};
        }
        if (process_ != 0) {
            return;
        }
        // Only what is safe between fork and exec in a process with threads.
        const int null = ::open("/dev/null", O_RDONLY);
        const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        ::dup2(null, 0);
        ::dup2(out, 1);
        ::dup2(out, 2);
        ::setsid();
        if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 ||
                                ::setuid(user->pw_uid) != 0)) {
            ::_exit(126);
        }
        // After the change of the user, which would clear it.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent || ::chdir(directory.c_str()) != 0) {
            ::_exit(126);
        }
        ::execv(arguments[0], arguments.data());
        static_cast<void>(!::write(2, "it can not be executed\n", 23));
        ::_exit(127);
    }

    void end(int signal) {
        if (!running()) {
            return;
        }
        ::kill(process_, signal);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
        while (running()) {
            if (std::chrono::steady_clock::now() > end) {
                ::kill(process_, SIGKILL);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }

    server_command command_;
    pid_t process_ = -1;
    int status_ = 0;
};

}  // namespace test_support

#endif
