// expect: no matching (constructor|conversion|function for call to .*strong_integer)
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
