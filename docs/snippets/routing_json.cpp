// SPDX-License-Identifier: BSL-1.0
// Quoted by docs/contract.md. Needs nlohmann-json.
#include <shardweave/adapters/json.hpp>
#include <shardweave/shardweave.hpp>

#include <cstdio>
#include <string>

namespace sw = shardweave;

int main() {
    const sw::routing_table table{
        sw::scheme_table{sw::calculated(1)}.grow("author-1", sw::calculated(8)),
        sw::shard_map::even({"db0", "db1"})};

    // To the repository, and back; `encode` and `decode` do the same with bytes.
    const std::string text = sw::encode_json(table);
    const sw::routing_table reviewed = sw::decode_json(text);
    std::fputs(text.c_str(), stdout);

    // A mistake is refused with its place and what to write instead.
    std::string wrong = text;
    wrong.replace(wrong.find("8192-"), 5, "8191-");
    try {
        (void)sw::decode_json(wrong);
    } catch (const sw::failure& refused) {
        std::puts(refused.what());
        return reviewed == table ? 0 : 1;
    }
    return 1;
}
