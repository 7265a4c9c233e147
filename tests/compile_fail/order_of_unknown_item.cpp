// expect: name it, as in
#include <shardweave/read/order.hpp>

#include <string>

namespace sw = shardweave;

struct post {
    long created_at;
    std::string id;
};

// A generic projection takes any item, and so tells none.
int main() {
#ifndef COMPILE_OK
    const auto order = sw::newest_first(sw::unique([](const auto& each) { return each.id; }));
#else
    const auto order = sw::newest_first<post>(sw::unique([](const auto& each) { return each.id; }));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
