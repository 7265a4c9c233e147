// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_TEMPORARY_DIRECTORY_HPP
#define SHARDWEAVE_TESTS_SUPPORT_TEMPORARY_DIRECTORY_HPP

/// A directory that is there as long as its object.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace test_support {

class temporary_directory {
public:
    temporary_directory() {
        std::string name =
            (std::filesystem::temp_directory_path() / "shardweave-test-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory() { std::filesystem::remove_all(path_); }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace test_support

#endif
