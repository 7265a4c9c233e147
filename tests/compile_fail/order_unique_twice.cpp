// expect: have it nowhere else
#include <shardweave/read/order.hpp>

#include <string>

namespace sw = shardweave;

struct post {
    long created_at;
    std::string id;
};

// Which of the two breaks the ties?
int main() {
#ifndef COMPILE_OK
    const auto order = sw::newest_first(sw::unique(&post::created_at), sw::unique(&post::id));
#else
    const auto order = sw::newest_first(&post::created_at, sw::unique(&post::id));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
