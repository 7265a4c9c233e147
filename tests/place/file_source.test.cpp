// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/file_source.hpp>

#include <shardweave/place/routing_codec.hpp>
#include <shardweave/place/routing_table.hpp>

#include <catch2/catch_test_macros.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"

using namespace shardweave;
using test_support::code_of;
using test_support::error_of;
namespace fs = std::filesystem;

namespace {

static_assert(map_source<file_source>);
static_assert(!std::is_copy_constructible_v<file_source>);

/// A folder of its own, gone afterwards.
class folder {
public:
    folder() {
        std::string name = (fs::temp_directory_path() / "shardweave-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { fs::remove_all(path_); }

    [[nodiscard]] fs::path file() const { return path_ / "routing.swrt"; }
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

routing_table table(std::uint64_t at, const std::string& shard = "db0") {
    return {scheme_table{calculated(1)}, shard_map::single(shard, 16), {.epoch = epoch{at}}};
}
std::string bytes(std::uint64_t at, const std::string& shard = "db0") {
    return encode(table(at, shard));
}

void write(const fs::path& path, const std::string& contents) {
    std::ofstream{path, std::ios::binary} << contents;
}
std::string read(const fs::path& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST_CASE("what is stored is loaded, by this process and by others", "[file_source]") {
    const folder in;
    file_source source{in.file()};
    CHECK_FALSE(source.load());
    CHECK(source.compare_and_swap(std::nullopt, bytes(1)) == swap_result::stored);
    CHECK(source.load() == bytes(1));
    CHECK(source.compare_and_swap(epoch{1}, bytes(2)) == swap_result::stored);
    CHECK(source.load() == bytes(2));
    CHECK(file_source{in.file()}.load() == bytes(2));
    CHECK_FALSE(fs::exists(in.path() / "routing.swrt.next"));
}

TEST_CASE("another epoch than the expected one is a conflict, and nothing changes",
          "[file_source]") {
    const folder in;
    file_source source{in.file()};
    CHECK(source.compare_and_swap(epoch{1}, bytes(2)) == swap_result::conflict);
    CHECK_FALSE(fs::exists(in.file()));
    write(in.file(), bytes(5));
    CHECK(source.compare_and_swap(std::nullopt, bytes(6)) == swap_result::conflict);
    CHECK(source.compare_and_swap(epoch{4}, bytes(6)) == swap_result::conflict);
    CHECK(source.compare_and_swap(epoch{6}, bytes(7)) == swap_result::conflict);
    CHECK(read(in.file()) == bytes(5));
    CHECK(source.compare_and_swap(epoch{5}, bytes(6)) == swap_result::stored);
}

TEST_CASE("the stored epoch only rises, and only tables are stored", "[file_source]") {
    const folder in;
    file_source source{in.file()};
    write(in.file(), bytes(5));
    CHECK(code_of([&] {
              static_cast<void>(source.compare_and_swap(epoch{5}, bytes(5, "other")));
          }) == errc::epoch_conflict);
    CHECK(code_of([&] { static_cast<void>(source.compare_and_swap(epoch{5}, bytes(4))); }) ==
          errc::epoch_conflict);
    CHECK(code_of([&] { static_cast<void>(source.compare_and_swap(epoch{5}, "SWRT")); }) ==
          errc::table_malformed);
    std::string damaged = bytes(6);
    damaged[damaged.size() / 2] = '!';
    CHECK(code_of([&] { static_cast<void>(source.compare_and_swap(epoch{5}, damaged)); }) ==
          errc::table_malformed);
    CHECK(read(in.file()) == bytes(5));
}

TEST_CASE("the epoch of stored bytes is the table's, and damaged bytes have none", "[map_source]") {
    INFO(test_support::replay());
    test_support::generator draw;
    for (std::size_t i = test_support::scaled(2'000); i != 0; --i) {
        const std::uint64_t number = draw.magnitude();
        std::string stored = bytes(number);
        REQUIRE(stored_epoch(stored) == epoch{number});
        if (draw.chance(50)) {
            stored.resize(draw.below(stored.size()));
        } else {
            char& byte = stored[draw.below(stored.size())];
            byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << draw.below(8U)));
        }
        REQUIRE(code_of([&] { static_cast<void>(stored_epoch(stored)); }) == errc::table_malformed);
    }
}

TEST_CASE("of many who store at once one wins each epoch", "[file_source][threads]") {
    const folder in;
    const std::uint64_t last = test_support::scaled(200);
    write(in.file(), bytes(0));
    std::atomic<std::uint64_t> stored{0};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int i = 0; i != 4; ++i) {
        threads.emplace_back([&, i] {
            file_source source{in.file()};  // each its own, as processes have
            for (;;) {
                const epoch seen = stored_epoch(source.load().value());
                if (seen == epoch{last}) {
                    return;
                }
                stored += source.compare_and_swap(
                              seen, bytes(seen.value() + 1, "owner " + std::to_string(i))) ==
                          swap_result::stored;
            }
        });
    }
    std::thread reads{[&] {
        file_source source{in.file()};
        epoch seen{};
        while (!done) {
            const epoch now = decode(source.load().value()).epoch();  // whole, always
            wrong += now < seen;
            seen = now;
        }
    }};
    for (std::thread& each : threads) {
        each.join();
    }
    done = true;
    reads.join();
    CHECK(stored == last);
    CHECK(wrong == 0);
}

TEST_CASE("a change is seen until it is loaded", "[file_source]") {
    const folder in;
    file_source source{in.file()};
    CHECK_FALSE(source.changed());  // nothing was there, and nothing is
    write(in.file(), bytes(1));
    CHECK(source.changed());
    CHECK(source.changed());
    CHECK(source.load());
    CHECK_FALSE(source.changed());
    CHECK(file_source{in.file()}.compare_and_swap(epoch{1}, bytes(2)) == swap_result::stored);
    CHECK(source.changed());
    CHECK(source.load());
    CHECK_FALSE(source.changed());
    fs::remove(in.file());
    CHECK(source.changed());
    CHECK_FALSE(source.load());
    CHECK_FALSE(source.changed());
}

TEST_CASE("a change shows even where size, time and inode do not", "[file_source]") {
    // Two tables in one tick of the file system's clock: the second was never noticed.
    const folder in;
    file_source source{in.file()};
    write(in.file(), bytes(1));
    const auto time = fs::last_write_time(in.file());
    CHECK(source.load());
    write(in.file(), bytes(2));  // in place: the same inode, the same size
    fs::last_write_time(in.file(), time);
    CHECK(source.changed());
}

TEST_CASE("who may read the table may still do so after it is replaced", "[file_source]") {
    const folder in;
    write(in.file(), bytes(1));
    REQUIRE(::chmod(in.file().c_str(), 0640) == 0);
    CHECK(file_source{in.file()}.compare_and_swap(epoch{1}, bytes(2)) == swap_result::stored);
    CHECK(fs::status(in.file()).permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
}

TEST_CASE("what a crash left beside the file is overwritten", "[file_source]") {
    const folder in;
    write(in.file(), bytes(1));
    write(in.path() / "routing.swrt.next", bytes(9) + "much longer than what comes now");
    CHECK(file_source{in.file()}.compare_and_swap(epoch{1}, bytes(2)) == swap_result::stored);
    CHECK(read(in.file()) == bytes(2));
}

TEST_CASE("an error of the file source names the file and what the system says", "[file_source]") {
    const folder in;
    const auto names = [](const error& reason, const fs::path& path, std::string_view what) {
        CAPTURE(reason.message());
        CHECK(reason.code == errc::source_failed);
        CHECK(reason.detail.find(path.string()) != std::string::npos);
        CHECK(reason.detail.find(what) != std::string::npos);
    };
    const fs::path nowhere = in.path() / "no" / "such" / "routing.swrt";
    CHECK_FALSE(file_source{nowhere}.load());
    names(error_of([&] { static_cast<void>(file_source{nowhere}.compare_and_swap({}, bytes(1))); }),
          nowhere, "No such file or directory");

    fs::create_directory(in.file());
    names(error_of([&] { static_cast<void>(file_source{in.file()}.load()); }), in.file(),
          "no regular file");
    names(error_of([&] { static_cast<void>(file_source{in.file()}.changed()); }), in.file(),
          "no regular file");
    fs::remove(in.file());

    write(in.path() / "file", "");
    const fs::path under = in.path() / "file" / "routing.swrt";
    names(error_of([&] { static_cast<void>(file_source{under}.load()); }), under,
          "Not a directory");

    write(in.file(), "not a table");
    names(error_of([&] {
              static_cast<void>(file_source{in.file()}.compare_and_swap(epoch{1}, bytes(2)));
          }),
          in.file(), "restore or remove it");
    CHECK(read(in.file()) == "not a table");
}

TEST_CASE("a path without a folder is in the current one", "[file_source]") {
    const folder in;
    const fs::path before = fs::current_path();
    fs::current_path(in.path());
    file_source source{"routing.swrt"};
    CHECK(source.compare_and_swap(std::nullopt, bytes(1)) == swap_result::stored);
    CHECK(source.load() == bytes(1));
    fs::current_path(before);
    CHECK(read(in.file()) == bytes(1));
}
