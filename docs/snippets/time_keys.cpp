// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/your-store.md.
#include <shardweave/shardweave.hpp>

#include <chrono>
#include <string>

namespace sw = shardweave;

int main() {
    const std::chrono::sys_time<std::chrono::milliseconds> created_at{
        std::chrono::milliseconds{1'796'030'654'153}};
    const std::string id = "post-981";

    // 2026-11-30T09:24:14.153Z#post-981
    const std::string sort_key = sw::time_key(created_at) + "#" + id;
    // And back; what other writers make of the same time is errc::time_malformed.
    const auto time = sw::parse_time_key(sort_key.substr(0, sort_key.find('#')));

    return sort_key == "2026-11-30T09:24:14.153Z#post-981" && time == created_at ? 0 : 1;
}
