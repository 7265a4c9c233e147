// expect: timed.*must be the first criterion
#include <shardweave/read/order.hpp>

#include <chrono>
#include <string>

namespace sw = shardweave;

struct post {
    long created_at;
    long score;
    std::string id;
};

// Best first: a window may have rows of every score.
int main() {
#ifndef COMPILE_OK
    const auto order = sw::newest_first(
        &post::score, sw::timed<std::chrono::seconds>(&post::created_at), sw::unique(&post::id));
#else
    const auto order = sw::newest_first(sw::timed<std::chrono::seconds>(&post::created_at),
                                        &post::score, sw::unique(&post::id));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
