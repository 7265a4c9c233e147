// expect: read-only|const-qualified
#include <shardweave/version.hpp>

int main() {
#ifndef COMPILE_OK
    shardweave::version_major = 1;
#endif
}
