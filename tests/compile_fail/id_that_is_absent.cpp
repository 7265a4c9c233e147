// expect: use of deleted function|call to deleted
#include <shardweave/core/hash.hpp>

// No id is not the empty id: one has no place, the other always the same.
int main() {
#ifndef COMPILE_OK
    const shardweave::id_bytes id{nullptr};
#else
    const shardweave::id_bytes id{""};
#endif
    return id.view().empty() ? 0 : 1;
}
