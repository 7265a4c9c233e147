// expect: unique.* must always have a value
#include <shardweave/read/order.hpp>

#include <optional>
#include <string>

namespace sw = shardweave;

struct post {
    std::optional<long> created_at;
    std::string id;
};

// Two absent values would tie.
int main() {
#ifndef COMPILE_OK
    const auto order = sw::newest_first(sw::nulls_last(sw::unique(&post::created_at)));
#else
    const auto order = sw::newest_first(sw::nulls_last(&post::created_at), sw::unique(&post::id));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
