#include <shardweave/version.hpp>

#include <cstdio>

// In the other translation unit: the two must link.
int other();

int main() {
    std::printf("shardweave %s\n", shardweave::version.data());
    return other() == shardweave::version_major ? 0 : 1;
}
