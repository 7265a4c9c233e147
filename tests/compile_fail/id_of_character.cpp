// expect: an item id is text, bytes or an integer; .* a bool or a single character
#include <shardweave/core/hash.hpp>

// Is 'a' the text "a" or the number 97?
int main() {
#ifndef COMPILE_OK
    const shardweave::id_bytes id{'a'};
#else
    const shardweave::id_bytes id{"a"};
#endif
    return id.view().empty() ? 1 : 0;
}
