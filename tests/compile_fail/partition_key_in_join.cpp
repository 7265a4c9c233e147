// expect: no matching function .* 'join_key'|no matching function for call to 'join_key
#include <shardweave/place/joined_key.hpp>
#include <shardweave/place/partition_key.hpp>

int main() {
    const shardweave::partition_key at{"key:bucket-1"};
#ifndef COMPILE_OK
    return static_cast<int>(shardweave::join_key("tenant", at).size());
#else
    return static_cast<int>(shardweave::join_key("tenant", at.str()).size());
#endif
}
