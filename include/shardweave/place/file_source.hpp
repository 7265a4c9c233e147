// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_FILE_SOURCE_HPP
#define SHARDWEAVE_PLACE_FILE_SOURCE_HPP

/// The routing table in a file that the processes of one machine share (POSIX).

#if defined(__unix__) || defined(__APPLE__)

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/types.hpp>
#include <shardweave/place/map_source.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace shardweave {
inline namespace v1 {
namespace detail {

/// `source_failed` with what the system says, read before anything else can change it.
[[nodiscard]] inline failure file_failure(std::string_view what, const std::string& path) {
    const int number = errno;
    return failure{errc::source_failed, concat("can not ", what, " the file \"", path,
                                               "\": ", std::generic_category().message(number))};
}

/// An open file.
class file_handle {
public:
    explicit file_handle(int number) noexcept : number_(number) {}
    file_handle(file_handle&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    file_handle& operator=(file_handle&&) = delete;
    ~file_handle() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }

    /// Throws unless it opens.
    [[nodiscard]] static file_handle open(const std::string& path, int flags,
                                          std::string_view what) {
        file_handle opened = try_open(path, flags);
        if (!opened) {
            throw file_failure(what, path);
        }
        return opened;
    }
    [[nodiscard]] static file_handle try_open(const std::string& path, int flags) noexcept {
        int number = -1;
        do {
            number = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
        } while (number < 0 && errno == EINTR);
        return file_handle{number};
    }

    [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
    [[nodiscard]] int number() const noexcept { return number_; }

private:
    int number_;
};

/// What tells one state of a file from another without reading all of it. Replaced within one tick
/// of the clock by a file that gets the same inode and size, only the contents differ; the last
/// bytes of a routing table are a fingerprint of them.
struct file_mark {
    dev_t device{};
    ino_t inode{};
    off_t size{};
    long long seconds = 0;
    long long nanoseconds = 0;
    std::string tail;

    friend bool operator==(const file_mark&, const file_mark&) = default;
};

}  // namespace detail

/// A `map_source` in a file. Storing writes beside it, syncs, renames over it, and syncs the
/// folder: a reader sees the old table or the new one, and after a crash it is one of them. Those
/// who store exclude each other by a lock on `<path>.lock`, which stays; their file until the
/// rename is `<path>.next`. A link is replaced, not followed. Every error is `errc::source_failed`
/// and names the file. Thread-safe. The folder must be of one machine: network file systems keep
/// neither lock nor rename as promised.
class file_source {
public:
    explicit file_source(const std::filesystem::path& path)
        : path_(path.string()),
          folder_(path.has_parent_path() ? path.parent_path().string() : ".") {}

    /// The file's bytes, or none when it does not exist.
    [[nodiscard]] std::optional<std::string> load() {
        std::optional<contents> found = read();
        const std::scoped_lock lock{mutex_};
        if (!found) {
            loaded_.reset();
            return std::nullopt;
        }
        loaded_ = std::move(found->mark);
        return std::move(found->bytes);
    }

    /// Whether the file is another one than the last `load` read. Opens it and reads a few bytes.
    [[nodiscard]] bool changed() const {
        const detail::file_handle file = open_to_read();
        const auto mark = file ? std::optional{mark_of(file)} : std::nullopt;
        const std::scoped_lock lock{mutex_};
        return mark != loaded_;
    }

    /// See `table_swapper`; throws what `check_swap` does as well. Waits for others who store.
    [[nodiscard]] swap_result compare_and_swap(std::optional<epoch> expected,
                                               std::string_view bytes) {
        check_swap(expected, bytes);
        const detail::file_handle alone = lock();
        const std::optional<contents> current = read();
        const auto stored = current ? std::optional{epoch_of(current->bytes)} : std::nullopt;
        if (stored != expected) {
            return swap_result::conflict;
        }
        replace(bytes);
        return swap_result::stored;
    }

private:
    [[nodiscard]] epoch epoch_of(std::string_view bytes) const {
        try {
            return stored_epoch(bytes);
        } catch (const failure& damaged) {
            throw failure{errc::source_failed,
                          detail::concat("the file \"", path_,
                                         "\" can not be replaced, since it "
                                         "is not a routing table; restore or remove it: ",
                                         damaged.what())};
        }
    }

    /// No file when there is none.
    [[nodiscard]] detail::file_handle open_to_read() const {
        // Without O_NONBLOCK a pipe under that name would wait for its writer.
        detail::file_handle file = detail::file_handle::try_open(path_, O_RDONLY | O_NONBLOCK);
        if (!file && errno != ENOENT) {
            throw detail::file_failure("open", path_);
        }
        return file;
    }

    [[nodiscard]] detail::file_mark mark_of(const detail::file_handle& file) const {
        const struct stat status = status_of(file);
        char tail[detail::fingerprint_bytes];
        const auto wanted = static_cast<off_t>(sizeof tail);
        const off_t from = status.st_size < wanted ? 0 : status.st_size - wanted;
        const ssize_t got = ::pread(file.number(), tail, sizeof tail, from);
        if (got < 0) {
            throw detail::file_failure("read", path_);
        }
#ifdef __APPLE__
        const timespec& modified = status.st_mtimespec;
#else
        const timespec& modified = status.st_mtim;
#endif
        return {status.st_dev,    status.st_ino,
                status.st_size,   modified.tv_sec,
                modified.tv_nsec, std::string(tail, static_cast<std::size_t>(got))};
    }

    [[nodiscard]] struct stat status_of(const detail::file_handle& file) const {
        struct stat status{};
        if (::fstat(file.number(), &status) != 0) {
            throw detail::file_failure("look at", path_);
        }
        if (!S_ISREG(status.st_mode)) {
            throw failure{errc::source_failed,
                          detail::concat("\"", path_,
                                         "\" is no regular file; give the path of the "
                                         "routing table, not of a folder or a device")};
        }
        return status;
    }

    struct contents {
        detail::file_mark mark;
        std::string bytes;
    };

    [[nodiscard]] std::optional<contents> read() const {
        const detail::file_handle file = open_to_read();
        if (!file) {
            return std::nullopt;
        }
        // The mark first: what is changed after it is a change that `changed` sees.
        contents found{mark_of(file), {}};
        char block[16'384];
        for (;;) {
            const ssize_t got = ::read(file.number(), block, sizeof block);
            if (got == 0) {
                return found;
            }
            if (got > 0) {
                found.bytes.append(block, static_cast<std::size_t>(got));
            } else if (errno != EINTR) {
                throw detail::file_failure("read", path_);
            }
        }
    }

    /// The lock, until the handle closes. It excludes the threads of this process as well.
    [[nodiscard]] detail::file_handle lock() const {
        const std::string path = path_ + ".lock";
        detail::file_handle file = detail::file_handle::open(path, O_RDWR | O_CREAT, "open");
        while (::flock(file.number(), LOCK_EX) != 0) {
            if (errno != EINTR) {
                throw detail::file_failure("lock", path);
            }
        }
        return file;
    }

    /// Under the lock.
    void replace(std::string_view bytes) const {
        const std::string next = path_ + ".next";
        // What a crash left there is of nobody, or its writer would hold the lock.
        ::unlink(next.c_str());
        try {
            write(next, bytes);
            if (::rename(next.c_str(), path_.c_str()) != 0) {
                throw detail::file_failure("replace", path_);
            }
        } catch (...) {
            ::unlink(next.c_str());
            throw;
        }
        // Until the folder is synced, a crash may bring the old name back.
        const detail::file_handle folder =
            detail::file_handle::open(folder_, O_RDONLY | O_DIRECTORY, "open the folder of");
        sync(folder, folder_);
    }

    void write(const std::string& path, std::string_view bytes) const {
        const detail::file_handle file =
            detail::file_handle::open(path, O_WRONLY | O_CREAT | O_EXCL, "create");
        struct stat old{};  // who may read the table may still do so afterwards
        if (::stat(path_.c_str(), &old) == 0 &&
            ::fchmod(file.number(), old.st_mode & 07777U) != 0) {
            throw detail::file_failure("set the mode of", path);
        }
        while (!bytes.empty()) {
            const ssize_t put = ::write(file.number(), bytes.data(), bytes.size());
            if (put >= 0) {
                bytes.remove_prefix(static_cast<std::size_t>(put));
            } else if (errno != EINTR) {
                throw detail::file_failure("write", path);
            }
        }
        sync(file, path);
    }

    static void sync(const detail::file_handle& file, const std::string& path) {
        if (::fsync(file.number()) != 0) {
            throw detail::file_failure("sync", path);
        }
    }

    std::string path_;
    std::string folder_;
    mutable std::mutex mutex_;
    std::optional<detail::file_mark> loaded_;
};

}  // namespace v1
}  // namespace shardweave

#endif

#endif
