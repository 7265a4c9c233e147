// expect: no matching function for call to '[^']*slot_index|no matching function for call to '[^']*strong_integer|no matching conversion .* 'slot_index'|no matching constructor
#include <shardweave/core/types.hpp>

int main() {
    const shardweave::bucket_index bucket{3};
#ifndef COMPILE_OK
    const shardweave::slot_index slot{bucket};
#else
    const shardweave::slot_index slot{bucket.value()};
#endif
    return static_cast<int>(slot.value());
}
