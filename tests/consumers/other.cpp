#include <shardweave/version.hpp>

int other() { return shardweave::version_major; }
