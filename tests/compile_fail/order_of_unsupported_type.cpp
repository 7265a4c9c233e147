// expect: an order compares integers, enums
#include <shardweave/read/order.hpp>

#include <string>

namespace sw = shardweave;

struct post {
    long double created_at;
    std::string id;
};

// A long double has no bytes that are the same everywhere.
int main() {
#ifndef COMPILE_OK
    const auto order = sw::newest_first(&post::created_at, sw::unique(&post::id));
#else
    const auto order = sw::newest_first(sw::unique(&post::id));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
