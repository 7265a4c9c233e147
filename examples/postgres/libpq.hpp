// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_POSTGRES_LIBPQ_HPP
#define SHARDWEAVE_EXAMPLES_POSTGRES_LIBPQ_HPP

/// The little of libpq that the example needs: a connection that never blocks.

#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "errors.hpp"

namespace postgres {

struct clear_result {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using owned_result = std::unique_ptr<PGresult, clear_result>;

/// Rows in binary form.
class rows {
public:
    explicit rows(owned_result of) : of_(std::move(of)) {}
    [[nodiscard]] int size() const { return PQntuples(of_.get()); }
    [[nodiscard]] std::string_view text(int row, int column) const {
        return {PQgetvalue(of_.get(), row, column),
                static_cast<std::size_t>(PQgetlength(of_.get(), row, column))};
    }
    /// Of an integer of any size.
    [[nodiscard]] std::int64_t number(int row, int column) const {
        const std::string_view bytes = text(row, column);
        std::uint64_t value = !bytes.empty() && (bytes[0] & '\x80') != 0 ? ~std::uint64_t{0} : 0;
        for (const char each : bytes) {
            value = value << 8U | static_cast<unsigned char>(each);
        }
        return static_cast<std::int64_t>(value);
    }

private:
    owned_result of_;
};

/// Parameters of a statement, in binary form.
class arguments {
public:
    arguments& add(std::int64_t number) {
        std::string bytes(8, '\0');
        for (unsigned i = 0; i != 8; ++i) {
            bytes[i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (56 - 8 * i));
        }
        return add(int8, std::move(bytes));
    }
    arguments& add(std::string_view text) { return add(text_type, std::string{text}); }
    arguments& add_bytes(std::string_view bytes) { return add(bytea, std::string{bytes}); }
    arguments& add_nothing(Oid type) { return add(type, std::nullopt); }

    /// Types by their numbers, which never change.
    static constexpr Oid bytea = 17;
    static constexpr Oid int8 = 20;
    static constexpr Oid text_type = 25;

private:
    friend class connection;
    arguments& add(Oid type, std::optional<std::string> value) {
        types_.push_back(type);
        values_.push_back(std::move(value));
        return *this;
    }
    std::vector<Oid> types_;
    std::vector<std::optional<std::string>> values_;
};

/// What a connection's socket has to be ready for before `advance` gets any further.
enum class need { nothing, input, output, both };

/// One connection, without blocking: begin something, then `advance` until it needs nothing. Every
/// function throws as `raise` does; after that, drop it. One thread at a time.
class connection {
public:
    /// Begins to connect.
    explicit connection(const std::string& conninfo) : of_(PQconnectStart(conninfo.c_str())) {
        if (!of_) {
            throw std::bad_alloc{};
        }
        // Messages then carry the SQLSTATE: of a refused connection there is no other way to it.
        PQsetErrorVerbosity(of_.get(), PQERRORS_VERBOSE);
        PQsetNoticeProcessor(of_.get(), [](void*, const char*) {}, nullptr);
        if (PQstatus(of_.get()) == CONNECTION_BAD) {
            lost();
        }
    }

    /// Goes on with what is under way as far as it gets.
    [[nodiscard]] need advance() { return connected_ ? exchange() : connect(); }
    [[nodiscard]] int socket() const noexcept { return PQsocket(of_.get()); }
    [[nodiscard]] bool broken() const noexcept {
        return !connected_ || PQstatus(of_.get()) == CONNECTION_BAD;
    }

    /// Statements without parameters.
    void send(const std::string& sql) {
        results_.clear();
        sent(PQsendQueryParams(of_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1));
    }
    /// Whether this statement has been prepared on this connection.
    [[nodiscard]] bool knows(const std::string& name) const { return prepared_.contains(name); }
    void send_prepare(const std::string& name, const std::string& sql, const arguments& like) {
        results_.clear();
        sent(PQsendPrepare(of_.get(), name.c_str(), sql.c_str(),
                           static_cast<int>(like.types_.size()), like.types_.data()));
        prepared_.insert(name);
    }
    /// A prepared statement; within a pipeline, one of many.
    void send_prepared(const std::string& name, const arguments& with) {
        if (!in_pipeline_) {
            results_.clear();
        }
        std::vector<const char*> values;
        std::vector<int> lengths;
        for (const auto& each : with.values_) {
            values.push_back(each ? each->data() : nullptr);
            lengths.push_back(each ? static_cast<int>(each->size()) : 0);
        }
        const std::vector<int> binary(values.size(), 1);
        sent(PQsendQueryPrepared(of_.get(), name.c_str(), static_cast<int>(values.size()),
                                 values.data(), lengths.data(), binary.data(), 1));
    }

    /// What is sent until `end_pipeline` is one transaction and one round trip.
    void begin_pipeline() {
        results_.clear();
        in_pipeline_ = PQenterPipelineMode(of_.get()) == 1;
        sent(in_pipeline_ ? 1 : 0);
    }
    void end_pipeline() { sent(PQpipelineSync(of_.get())); }

    /// The result of the one statement. Throws what it failed with.
    [[nodiscard]] rows take() {
        return take_all().empty() ? no_answer() : rows{std::move(taken_.front())};
    }

    /// The results of a pipeline, or of what else was sent. Throws what the first one failed with.
    [[nodiscard]] std::vector<owned_result>& take_all() {
        taken_ = std::move(results_);
        results_.clear();
        if (in_pipeline_) {
            PQexitPipelineMode(of_.get());
            in_pipeline_ = false;
        }
        for (const owned_result& each : taken_) {
            const ExecStatusType status = PQresultStatus(each.get());
            if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
                failed(each.get());
            }
        }
        return taken_;
    }

    /// A message of LISTEN that has come, or nothing.
    [[nodiscard]] bool notified() {
        if (PQconsumeInput(of_.get()) == 0) {
            lost();
        }
        bool any = false;
        while (PGnotify* note = PQnotifies(of_.get())) {
            PQfreemem(note);
            any = true;
        }
        return any;
    }

private:
    struct close_connection {
        void operator()(PGconn* of) const noexcept { PQfinish(of); }
    };

    need connect() {
        if (!polled_) {
            polled_ = true;  // libpq asks for this before the first look
            return need::output;
        }
        switch (PQconnectPoll(of_.get())) {
            case PGRES_POLLING_READING: return need::input;
            case PGRES_POLLING_WRITING: return need::output;
            case PGRES_POLLING_OK:
                PQsetnonblocking(of_.get(), 1);
                connected_ = true;
                return need::nothing;
            default: lost();
        }
    }

    need exchange() {
        for (;;) {
            const int unsent = PQflush(of_.get());
            if (unsent < 0 || PQconsumeInput(of_.get()) == 0) {
                lost();
            }
            if (PQisBusy(of_.get()) != 0) {
                return unsent == 1 ? need::both : need::input;
            }
            owned_result next{PQgetResult(of_.get())};
            if (!next) {
                if (!in_pipeline_) {
                    return need::nothing;
                }
            } else if (PQresultStatus(next.get()) == PGRES_PIPELINE_SYNC) {
                return need::nothing;
            } else {
                results_.push_back(std::move(next));
            }
        }
    }

    void sent(int done) {
        if (done != 1) {
            lost();
        }
    }

    [[noreturn]] rows no_answer() { raise({}, "the server sent no result"); }

    [[noreturn]] static void failed(const PGresult* result) {
        const auto field = [&](int which) {
            const char* text = PQresultErrorField(result, which);
            return std::string{text == nullptr ? "" : text};
        };
        std::string text = field(PG_DIAG_MESSAGE_PRIMARY);
        raise(field(PG_DIAG_SQLSTATE), text.empty() ? "the connection was lost" : text,
              field(PG_DIAG_MESSAGE_DETAIL));
    }

    /// The message of a lost or refused connection, with `: 53300: ` or the like in it when it was
    /// the server that refused.
    [[noreturn]] void lost() {
        std::string text = PQerrorMessage(of_.get());
        if (const auto location = text.find("\nLOCATION:"); location != std::string::npos) {
            text.resize(location);
        }
        while (!text.empty() && text.back() == '\n') {
            text.pop_back();
        }
        raise(state_in(text), text.empty() ? "the connection was lost" : text);
    }
    static std::string_view state_in(std::string_view text) {
        for (auto at = text.find(":  "); at != std::string_view::npos;
             at = text.find(":  ", at + 1)) {
            const std::string_view state = text.substr(at + 3, 5);
            if (text.substr(at + 3 + state.size()).starts_with(": ") &&
                std::ranges::all_of(state, [](char each) {
                    return (each >= '0' && each <= '9') || (each >= 'A' && each <= 'Z');
                })) {
                return state;
            }
        }
        return {};
    }

    std::unique_ptr<PGconn, close_connection> of_;
    bool polled_ = false;
    bool connected_ = false;
    bool in_pipeline_ = false;
    std::set<std::string, std::less<>> prepared_;
    std::vector<owned_result> results_;
    std::vector<owned_result> taken_;
};

}  // namespace postgres

#endif
