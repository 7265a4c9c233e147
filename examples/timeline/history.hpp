// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_TIMELINE_HISTORY_HPP
#define SHARDWEAVE_EXAMPLES_TIMELINE_HISTORY_HPP

/// Reads a history: lines of `author TAB created_at TAB id [TAB note]`, plain or gzipped.

#include <sys/stat.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace timeline {

/// One item of an author's timeline.
struct item {
    std::string author;
    /// Unix seconds, by the author's own clock.
    std::int64_t created_at = 0;
    std::string id;
    /// Free text: a commit's subject, or the number of its parents.
    std::string note;

    friend bool operator==(const item&, const item&) = default;
};

/// The file can not be read. The text says which, and why.
struct history_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// True for a first line that names the columns.
[[nodiscard]] inline bool is_header(std::string_view line) {
    return line.starts_with("author\tcreated_at\tid");
}

/// A line as an item, or the reason why it is none.
[[nodiscard]] inline std::variant<item, std::string> parse_line(std::string_view line) {
    // Part of the sort key, so of every page token: a token has to fit into a URL.
    constexpr std::size_t longest_id = 255;

    std::array<std::string_view, 4> columns;
    std::size_t count = 0;
    while (count != columns.size()) {
        const auto end = count == 3 ? std::string_view::npos : line.find('\t');
        columns[count++] = line.substr(0, end);
        if (end == std::string_view::npos) {
            break;
        }
        line.remove_prefix(end + 1);
    }
    const auto [author, time, id, note] = columns;
    if (count < 3) {
        return "it has " + std::to_string(count) +
               " of the columns author, created_at, id (separated by tabs)";
    }
    if (author.empty() || id.empty()) {
        return std::string{author.empty() ? "the author" : "the id"} + " is empty";
    }
    if (id.size() > longest_id) {
        return "the id has " + std::to_string(id.size()) + " bytes; at most " +
               std::to_string(longest_id) + " are taken";
    }
    std::int64_t created_at = 0;
    const auto read = std::from_chars(time.data(), time.data() + time.size(), created_at);
    if (read.ec != std::errc{} || read.ptr != time.data() + time.size()) {
        return std::string{"created_at is no whole number of Unix seconds"};
    }
    return item{std::string{author}, created_at, std::string{id}, std::string{note}};
}

/// The lines of a file, or of standard input for `-`.
class history_reader {
public:
    explicit history_reader(const std::string& path) : path_(path), buffer_(chunk, '\0') {
        struct stat about{};
        if (path != "-" && stat(path.c_str(), &about) == 0) {
            if (S_ISDIR(about.st_mode)) {
                throw history_error{path + " is a directory; name a history file"};
            }
            size_ = S_ISREG(about.st_mode) ? about.st_size : 0;
        }
        file_.reset(path == "-" ? gzdopen(0, "rb") : gzopen(path.c_str(), "rb"));
        if (!file_) {
            throw history_error{path + " can not be read: " + std::strerror(errno)};
        }
        gzbuffer(file_.get(), chunk);
    }

    /// The next line without its end, valid until the next call; nothing at the end of the file.
    [[nodiscard]] std::optional<std::string_view> next() {
        line_.clear();
        for (;;) {
            const std::string_view rest = std::string_view{buffer_}.substr(at_, filled_ - at_);
            const auto end = rest.find('\n');
            if (end != std::string_view::npos || (rest.empty() && !refill())) {
                if (end == std::string_view::npos && line_.empty()) {
                    return std::nullopt;
                }
                line_ += rest.substr(0, end);
                at_ += end == std::string_view::npos ? 0 : end + 1;
                ++number_;
                if (line_.ends_with('\r')) {
                    line_.pop_back();
                }
                return line_;
            }
            if (rest.empty()) {
                continue;
            }
            line_ += rest;
            at_ = filled_;
            if (line_.size() > longest_line) {
                throw history_error{path_ + ": line " + std::to_string(number_ + 1) +
                                    " has more than " + std::to_string(longest_line) +
                                    " bytes; this is no history"};
            }
        }
    }

    /// Of the line that was read last; 1 for the first.
    [[nodiscard]] std::uint64_t line_number() const noexcept { return number_; }

    /// The part of the file that was read, 0 to 1; nothing where the size is not known.
    [[nodiscard]] std::optional<double> progress() const {
        if (size_ == 0) {
            return std::nullopt;
        }
        return static_cast<double>(gzoffset(file_.get())) / static_cast<double>(size_);
    }

private:
    static constexpr unsigned chunk = 1U << 16U;
    static constexpr std::size_t longest_line = 1U << 20U;

    struct close {
        void operator()(gzFile_s* file) const noexcept { gzclose(file); }
    };

    /// False at the end of the file.
    bool refill() {
        const int read = gzread(file_.get(), buffer_.data(), chunk);
        // A cut file gives what can be unpacked, then an error that only gzerror tells from the
        // end.
        int code = Z_OK;
        const char* why = gzerror(file_.get(), &code);
        if (read < 0 || (read == 0 && code != Z_OK && code != Z_STREAM_END)) {
            throw history_error{path_ + " can not be read beyond line " + std::to_string(number_) +
                                ": " + (code == Z_ERRNO ? std::strerror(errno) : why) +
                                "; mend it and load it again"};
        }
        at_ = 0;
        filled_ = static_cast<std::size_t>(read);
        return read != 0;
    }

    std::string path_;
    std::unique_ptr<gzFile_s, close> file_;
    std::int64_t size_ = 0;
    std::string buffer_;
    std::size_t at_ = 0;
    std::size_t filled_ = 0;
    std::string line_;
    std::uint64_t number_ = 0;
};

}  // namespace timeline

#endif
