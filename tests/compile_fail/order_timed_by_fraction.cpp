// expect: timed.*takes a std::chrono::sys_time
#include <shardweave/read/order.hpp>

#include <chrono>
#include <string>

namespace sw = shardweave;

struct post {
    long created_at;
    double score;
    std::string id;
};

// A fraction of a second is no whole number.
int main() {
#ifndef COMPILE_OK
    const auto order =
        sw::newest_first(sw::timed<std::chrono::seconds>(&post::score), sw::unique(&post::id));
#else
    const auto order = sw::newest_first(sw::timed<std::chrono::seconds>(&post::created_at),
                                        &post::score, sw::unique(&post::id));
#endif
    return order.fingerprint() == 0 ? 1 : 0;
}
