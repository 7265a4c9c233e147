// expect: an order must end with unique
#include <shardweave/read/order.hpp>

#include <string>

namespace sw = shardweave;

struct post {
    long created_at;
    std::string id;
};

// What comes after a unique criterion never decides: it is a mistake.
int main() {
#ifndef COMPILE_OK
    const auto order = sw::newest_first(sw::unique(&post::id), &post::created_at);
#else
    const auto order = sw::newest_first(sw::unique(&post::id));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
