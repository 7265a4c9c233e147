// SPDX-License-Identifier: BSL-1.0
// The program of the example on PostgreSQL from end to end.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "backends/postgres_server.hpp"

using Catch::Matchers::ContainsSubstring;

namespace {

#ifdef SHARDWEAVE_PG_TIMELINE

struct outcome {
    int code = -1;
    /// Both streams.
    std::string text;
};

/// Runs the program against this server, or another one.
outcome run(const std::string& arguments, const std::string& server) {
    const std::string command =
        "timeout 60 " SHARDWEAVE_PG_TIMELINE " --server '" + server + "' " + arguments + " 2>&1";
    FILE* const output = ::popen(command.c_str(), "r");
    REQUIRE(output != nullptr);
    outcome result;
    std::array<char, 4'096> block;
    while (const auto got = std::fread(block.data(), 1, block.size(), output)) {
        result.text.append(block.data(), got);
    }
    const int status = ::pclose(output);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

std::string server() {
    return "host=127.0.0.1 user=postgres port=" +
           std::to_string(test_support::running_postgres->port());
}
outcome run(const std::string& arguments) { return run(arguments, server()); }

/// What follows `--at ` in the line of this page.
std::string token(const outcome& shown, const std::string& page) {
    const auto line = shown.text.find(page + " page:");
    REQUIRE(line != std::string::npos);
    const auto at = shown.text.find("--at ", line) + 5;
    return shown.text.substr(at, shown.text.find(' ', at) - at);
}

/// The rows of a page.
std::string rows(const outcome& shown) { return shown.text.substr(0, shown.text.find("\n\n")); }

#endif

}  // namespace

TEST_CASE("the program on PostgreSQL makes, fills, pages, grows and follows", "[postgres][cli]") {
#ifdef SHARDWEAVE_PG_TIMELINE
    const outcome before = run("page author-1");
    CHECK(before.code == 2);
    CHECK_THAT(before.text, ContainsSubstring("pg_timeline init"));
    CHECK(run("init --shards 3 --hot author-1=8").code == 0);
    CHECK(run("init").code == 2);
    const outcome loaded = run("load " SHARDWEAVE_EXCERPT);
    CHECK(loaded.code == 0);
    CHECK_THAT(loaded.text, ContainsSubstring("12,000 rows loaded, 0 malformed"));

    const outcome first = run("page author-1 --limit 3");
    CHECK_THAT(first.text, ContainsSubstring("53f9a3e157db"));
    CHECK_THAT(first.text, ContainsSubstring("1 round, 8 queries, 3 shards"));
    const outcome second = run("page --limit 3 --at " + token(first, "next") + " -- author-1");
    CHECK(second.code == 0);
    const outcome back = run("page --limit 3 --at " + token(second, "previous") + " -- author-1");
    CHECK(rows(back) == rows(first));
    CHECK(rows(run("page author-1 --limit 3 --per-shard")) == rows(first));
    CHECK(run("page author-2 --at " + token(first, "next")).code == 2);

    auto follows = std::async(std::launch::async, [] { return run("follow --changes 1"); });
    // Until it listens; a change before that it would have read, and waited for the next.
    std::this_thread::sleep_for(std::chrono::seconds{1});
    const outcome grown = run("grow author-1=16");
    CHECK_THAT(grown.text, ContainsSubstring("8 partition keys before, 16 after; epoch 2"));
    const outcome followed = follows.get();
    CHECK(followed.code == 0);
    CHECK_THAT(followed.text, ContainsSubstring("epoch 1: 3 databases") &&
                                  ContainsSubstring("epoch 2: 3 databases"));
    CHECK(rows(run("page --limit 3 --at " + token(first, "next") + " -- author-1")) ==
          rows(second));

    const test_support::temporary_directory directory;
    const std::string odd = (directory.path() / "odd.tsv").string();
    std::ofstream{odd} << "a\t1\tid\xff\tno UTF-8\nbad\n\xc3\xa4\t5\tgood\tnote\n";
    const outcome some = run("load " + odd);
    CHECK(some.code == 3);
    CHECK_THAT(some.text, ContainsSubstring("line 1") && ContainsSubstring("line 2") &&
                              ContainsSubstring("1 row loaded, 2 malformed"));
    CHECK_THAT(run("page \xc3\xa4").text, ContainsSubstring("good"));

    const outcome away = run("page a", "host=127.0.0.1 port=1");
    CHECK(away.code == 1);
    CHECK_THAT(away.text, ContainsSubstring("refused"));
    CHECK(run("page").code == 2);
    CHECK(run("--help").code == 0);
#else
    SKIP("the example is not built");
#endif
}
