// expect: an optional needs nulls_first
#include <shardweave/read/order.hpp>

#include <optional>
#include <string>

namespace sw = shardweave;

struct post {
    std::optional<long> created_at;
    std::string id;
};

// Stores put absent values first or last, each in its own way.
int main() {
#ifndef COMPILE_OK
    const auto order = sw::newest_first(&post::created_at, sw::unique(&post::id));
#else
    const auto order = sw::newest_first(sw::nulls_last(&post::created_at), sw::unique(&post::id));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
