// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_TIMELINE_ROUTING_FILE_HPP
#define SHARDWEAVE_EXAMPLES_TIMELINE_ROUTING_FILE_HPP

/// A directory's routing table: the one file that says where every item is.

#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/routing_table.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace timeline {

namespace sw = shardweave;

/// The directory can not be used. The text says why, and what to do.
struct store_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A file descriptor that is closed.
class descriptor {
public:
    descriptor(const std::string& path, int flags)
        : path_(path), number_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
        check(number_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { close(number_); }

    /// Throws for the result −1 of a system call.
    void check(ssize_t result) const {
        if (result == -1) {
            throw store_error{path_ + " can not be written: " + std::strerror(errno) +
                              "; see to it and run the same command again"};
        }
    }
    [[nodiscard]] int number() const noexcept { return number_; }

private:
    std::string path_;
    int number_;
};

/// Held by the one process that changes a directory; gone with the process, however it ends.
class directory_lock {
public:
    explicit directory_lock(const std::filesystem::path& directory)
        : file_((directory / "lock").string(), O_RDWR | O_CREAT) {
        if (flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
            throw store_error{directory.string() +
                              " is being changed by another process (a load, or "
                              "--grow); wait until that has finished"};
        }
    }

private:
    descriptor file_;
};

[[nodiscard]] inline std::filesystem::path routing_path(const std::filesystem::path& directory) {
    return directory / "routing.swrt";
}

/// Throws `store_error` for a directory without a table, or with one that is damaged.
[[nodiscard]] inline sw::routing_table read_routing(const std::filesystem::path& directory) {
    const std::string path = routing_path(directory).string();
    if (!std::filesystem::exists(path)) {
        throw store_error{directory.string() +
                          (std::filesystem::is_directory(directory)
                               ? " has no routing table (routing.swrt)"
                               : " is not there, or is no directory") +
                          "; fill one by: timeline load HISTORY --dir DIR"};
    }
    std::ifstream file{path, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    if (!file) {
        throw store_error{path + " can not be read: " + std::strerror(errno)};
    }
    try {
        sw::routing_table table = sw::decode(bytes);
        for (const std::string& name : table.shards().names()) {
            // They become file names.
            if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") !=
                std::string::npos) {
                throw store_error{path + " names a shard that this program never makes; restore it "
                                         "from a copy"};
            }
        }
        return table;
    } catch (const sw::failure& why) {
        throw store_error{path + " is no usable routing table (" + why.what() +
                          "); restore it from a copy, or load the history into a new directory"};
    }
}

/// All or nothing: whoever reads the file sees the old table or the new one, also after a crash.
inline void write_routing(const std::filesystem::path& directory, const sw::routing_table& table) {
    const std::string path = routing_path(directory).string();
    const std::string fresh = path + ".new";
    const std::string bytes = sw::encode(table);
    {
        const descriptor file{fresh, O_WRONLY | O_CREAT | O_TRUNC};
        for (std::size_t written = 0; written != bytes.size();) {
            const ssize_t more =
                write(file.number(), bytes.data() + written, bytes.size() - written);
            file.check(more);
            written += static_cast<std::size_t>(more);
        }
        file.check(fsync(file.number()));
    }
    std::filesystem::rename(fresh, path);
    const descriptor folder{directory.string(), O_RDONLY | O_DIRECTORY};
    folder.check(fsync(folder.number()));
}

}  // namespace timeline

#endif
