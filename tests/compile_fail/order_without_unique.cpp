// expect: an order must end with unique
#include <shardweave/read/order.hpp>

#include <string>

namespace sw = shardweave;

struct post {
    long created_at;
    std::string id;
};

// Of two posts of the same second, one would be left out at a page's end.
int main() {
#ifndef COMPILE_OK
    const auto order = sw::newest_first(&post::created_at, &post::id);
#else
    const auto order = sw::newest_first(&post::created_at, sw::unique(&post::id));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
