// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_TIMELINE_SQLITE_HPP
#define SHARDWEAVE_EXAMPLES_TIMELINE_SQLITE_HPP

/// The little of SQLite that the example needs, with owners for its handles and errors that say
/// what to do.

#include <sqlite3.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace timeline {

/// A database said no. The text names the file and says what to do.
struct database_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One run of a prepared statement: bind, step through the rows, and it is reset for the next run.
class query {
public:
    explicit query(sqlite3_stmt* statement) noexcept : statement_(statement) {}
    query(const query&) = delete;
    query& operator=(const query&) = delete;
    ~query() {
        sqlite3_reset(statement_);
        sqlite3_clear_bindings(statement_);
    }

    /// The text is not copied: it must outlive the query.
    query& bind(int index, std::string_view text) {
        // A null pointer would bind NULL, and an empty view may have one.
        check(sqlite3_bind_text64(statement_, index, text.data() == nullptr ? "" : text.data(),
                                  text.size(), nullptr, SQLITE_UTF8));
        return *this;
    }
    query& bind(int index, std::int64_t number) {
        check(sqlite3_bind_int64(statement_, index, number));
        return *this;
    }

    /// True when there is a row.
    bool step() {
        const int result = sqlite3_step(statement_);
        if (result != SQLITE_ROW && result != SQLITE_DONE) {
            check(result);
        }
        return result == SQLITE_ROW;
    }

    /// Valid until the next step.
    [[nodiscard]] std::string_view text(int column) const {
        const void* bytes = sqlite3_column_blob(statement_, column);
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
        return bytes == nullptr ? std::string_view{}
                                : std::string_view{static_cast<const char*>(bytes), size};
    }
    [[nodiscard]] std::int64_t integer(int column) const {
        return sqlite3_column_int64(statement_, column);
    }

private:
    void check(int result) const;

    sqlite3_stmt* statement_;
};

/// A connection with its prepared statements. One thread at a time.
class database {
public:
    enum class access { existing, create };

    /// How long a statement waits for another process's lock.
    static constexpr int patience_ms = 5'000;

    database(const std::string& path, access how) {
        sqlite3* handle = nullptr;
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                          (how == access::create ? SQLITE_OPEN_CREATE : 0);
        const int result = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
        handle_.reset(handle);
        check(handle, result, path.c_str());
        sqlite3_busy_timeout(handle, patience_ms);
    }

    /// Runs statements that answer nothing of interest.
    void run(const char* sql) {
        check(handle_.get(), sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr));
    }

    /// A run of the statement, which is prepared once and kept.
    [[nodiscard]] query prepared(const std::string& sql) {
        auto& statement = statements_[sql];
        if (!statement) {
            sqlite3_stmt* handle = nullptr;
            check(handle_.get(), sqlite3_prepare_v3(handle_.get(), sql.c_str(), -1,
                                                    SQLITE_PREPARE_PERSISTENT, &handle, nullptr));
            statement.reset(handle);
        }
        return query{statement.get()};
    }

    /// Rows that the last INSERT changed.
    [[nodiscard]] int changes() const { return sqlite3_changes(handle_.get()); }

    /// Throws `database_error` for any result but success. A file that did not open needs its path.
    static void check(sqlite3* handle, int result, const char* path = nullptr) {
        if (result == SQLITE_OK) {
            return;
        }
        const char* file = path == nullptr ? sqlite3_db_filename(handle, "main") : path;
        std::string text = file == nullptr ? "the database" : file;
        switch (result & 0xff) {
            case SQLITE_FULL:
                text += ": the disk is full; make room and run the same command again";
                break;
            case SQLITE_BUSY:
            case SQLITE_LOCKED:
                text += " is locked by another process, and stayed so for " +
                        std::to_string(patience_ms / 1000) + " s; try again when that has finished";
                break;
            case SQLITE_CANTOPEN:
                text += " can not be opened (" + system_text(handle) +
                        "); load the history again, or restore the file from a copy";
                break;
            case SQLITE_CORRUPT:
            case SQLITE_NOTADB:
                text += " is damaged (" + std::string{sqlite3_errmsg(handle)} +
                        "); restore it from a copy, or load the history into a new directory";
                break;
            case SQLITE_IOERR:
                text += " can not be read or written (" + system_text(handle) +
                        "); see to the disk and run the same command again";
                break;
            default: text += ": " + std::string{sqlite3_errmsg(handle)};
        }
        throw database_error{text};
    }

private:
    struct close {
        void operator()(sqlite3* handle) const noexcept { sqlite3_close(handle); }
    };
    struct finalize {
        void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
    };

    [[nodiscard]] static std::string system_text(sqlite3* handle) {
        const int number = sqlite3_system_errno(handle);
        return number == 0 ? sqlite3_errmsg(handle) : std::strerror(number);
    }

    std::unique_ptr<sqlite3, close> handle_;
    std::map<std::string, std::unique_ptr<sqlite3_stmt, finalize>, std::less<>> statements_;
};

inline void query::check(int result) const {
    database::check(sqlite3_db_handle(statement_), result);
}

}  // namespace timeline

#endif
