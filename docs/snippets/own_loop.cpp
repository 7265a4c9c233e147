// SPDX-License-Identifier: BSL-1.0
// What docs/async.md shows of event loops of one's own.

#include <shardweave/shardweave.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using namespace std::chrono_literals;

namespace {

struct post {
    std::int64_t created_at;
    std::string id;
};

using order_type = decltype(sw::newest_first(&post::created_at, sw::unique(&post::id)));
using post_query = sw::shard_query<order_type::position_type>;

/// Stands for the loop of a program.
struct event_loop {
    sw::instant time{1h};
    std::multimap<sw::instant, std::function<void()>> due{};

    [[nodiscard]] sw::instant now() const { return time; }
    void at(sw::instant when, std::function<void()> what) { due.emplace(when, std::move(what)); }
    void run() {
        while (!due.empty()) {
            auto next = due.extract(due.begin());
            time = next.key();
            next.mapped()();
        }
    }
};

/// Stands for a client that calls back, here with one post of each bucket.
struct client {
    event_loop* loop;

    template <class Done>
    void select(const post_query& query, Done done) {
        std::vector<post> rows;
        if (!query.after) {
            rows.push_back({7, query.partition_keys.front()});
        }
        loop->at(loop->now() + 1ms, [done, rows] { done(std::exception_ptr{}, rows); });
    }
};

class timeline_page {
public:
    timeline_page(const sw::key_reader<order_type>& reader, event_loop& loop, client& store)
        : loop_(loop), store_(store), driver_(reader, "author-1", {.limit = 20}) {
        go_on();
    }

    std::size_t items = 0;

private:
    void go_on() {
        while (const auto attempt = driver_.begin(loop_.now())) {
            store_.select(attempt->query(), [this, attempt](auto failed, std::vector<post> rows) {
                if (failed) {
                    driver_.fail(*attempt, failed, loop_.now());
                } else {
                    driver_.answer(*attempt, {.items = std::move(rows)}, loop_.now());
                }
                go_on();
            });
        }
        if (driver_.finished()) {
            if (!std::exchange(shown_, true)) {
                show(driver_.take());
            }
        } else if (driver_.wake() != sw::instant::max()) {
            loop_.at(driver_.wake(), [this] { go_on(); });
        }
    }

    void show(const sw::read_page<post>& page) { items = page.items.size(); }

    event_loop& loop_;
    client& store_;
    sw::page_driver<order_type> driver_;
    bool shown_ = false;
};

}  // namespace

int main() {
    const sw::router router{
        sw::routing_table{sw::scheme_table{sw::calculated(1)}.with("author-1", sw::calculated(8)),
                          sw::shard_map::even({"db0", "db1", "db2"})}};
    const sw::key_reader reader{
        router, sw::newest_first(&post::created_at, sw::unique(&post::id)), {.concurrency = 16}};
    event_loop loop;
    client store{&loop};
    const timeline_page page{reader, loop, store};
    loop.run();
    return page.items == 8 ? EXIT_SUCCESS : EXIT_FAILURE;
}
