// expect: no match for 'operator==|invalid operands to binary expression
#include <shardweave/core/types.hpp>

int main() {
    const shardweave::scheme_version version{3};
    const shardweave::epoch at{3};
#ifndef COMPILE_OK
    return version == at ? 0 : 1;
#else
    return version.value() == at.value() ? 0 : 1;
#endif
}
