// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/refresh.hpp>

#include <shardweave/place/routing_codec.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <latch>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/failing.hpp"
#include "support/generate.hpp"

using namespace shardweave;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using test_support::code_of;
using test_support::error_of;

namespace {

static_assert(std::is_base_of_v<failure, stale_route>);
static_assert(!std::is_convertible_v<epoch, stale_route>);

routing_table table(std::uint64_t at) {
    return {scheme_table{calculated(1)},
            shard_map::single("at " + std::to_string(at), 16),
            {.epoch = epoch{at}}};
}

/// A clock that only sleeping moves, and chance that is drawn alike each time.
class virtual_time {
public:
    [[nodiscard]] surroundings around() {
        return {.now = [this] { return instant{nanoseconds{now_.load()}}; },
                .sleep =
                    [this](nanoseconds wait) {
                        now_ += wait.count();
                        ++sleeps_;
                    },
                .draw =
                    [this] {
                        const std::scoped_lock lock{mutex_};
                        return draw_();
                    }};
    }
    [[nodiscard]] nanoseconds now() const { return nanoseconds{now_.load()}; }
    [[nodiscard]] int sleeps() const { return sleeps_; }
    void pass(nanoseconds time) { now_ += time.count(); }

private:
    std::atomic<std::int64_t> now_{0};
    std::atomic<int> sleeps_{0};
    std::mutex mutex_;
    test_support::generator draw_;
};

/// A source that plays what it is told, and counts.
class played_source {
public:
    using scene = std::function<std::optional<std::string>(int)>;
    /// `play(n)` is the n-th load, from 1.
    explicit played_source(scene play) : play_(std::move(play)) {}

    std::optional<std::string> load() {
        crowded_ += ++loading_ != 1;
        const int number = ++loads_;
        struct leave {
            std::atomic<int>& loading;
            ~leave() { --loading; }
        } const leaves{loading_};
        return play_(number);
    }
    [[nodiscard]] bool changed() const { return changed_; }

    void change(bool changed) { changed_ = changed; }
    [[nodiscard]] int loads() const { return loads_; }
    [[nodiscard]] bool crowded() const { return crowded_ != 0; }

private:
    scene play_;
    std::atomic<int> loads_{0};
    std::atomic<int> loading_{0};
    std::atomic<int> crowded_{0};
    std::atomic<bool> changed_{false};
};
static_assert(table_loader<played_source> && table_watcher<played_source>);
static_assert(!table_swapper<played_source> && !map_source<played_source>);

played_source always(std::uint64_t at) {
    return played_source{[at](int) { return encode(table(at)); }};
}

/// The same, in time enough for others to join.
played_source slowly(std::uint64_t at) {
    return played_source{[at](int) {
        std::this_thread::sleep_for(1ms);
        return encode(table(at));
    }};
}

refresh_options options(virtual_time& time) {
    refresh_options with;
    with.minimum_interval = 100ms;
    with.surroundings = time.around();
    return with;
}

/// `call` on so many threads, released together.
void on_threads(int count, const std::function<void(int)>& call) {
    std::latch begun{count};
    std::vector<std::thread> threads;
    for (int i = 0; i != count; ++i) {
        threads.emplace_back([&, i] {
            begun.arrive_and_wait();
            call(i);
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
}

/// A store of many servers: the one that owns the route takes the write, the others tell the epoch.
class fenced_store {
public:
    explicit fenced_store(std::uint64_t at) : at_(at) {}
    void write(const placement& at) {
        ++calls_;
        if (at.shard != "at " + std::to_string(at_.load())) {
            throw stale_route{epoch{at_}};
        }
        ++written_;
    }
    void move_to(std::uint64_t at) { at_ = at; }
    [[nodiscard]] int calls() const { return calls_; }
    [[nodiscard]] int written() const { return written_; }

private:
    std::atomic<std::uint64_t> at_;
    std::atomic<int> calls_{0};
    std::atomic<int> written_{0};
};

std::string nested_in(const std::function<void()>& call) {
    try {
        call();
    } catch (const failure& thrown) {
        try {
            std::rethrow_if_nested(thrown);
        } catch (const std::exception& inner) {
            return inner.what();
        }
    }
    return "nothing";
}

}  // namespace

TEST_CASE("a refresh brings the demanded epoch, and one that is there costs no load", "[refresh]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(6);
    refresher follow{routes, source, options(time)};

    CHECK(follow.refresh(epoch{5}).status == refresh_status::reached);
    CHECK(source.loads() == 0);
    const auto got = follow.refresh(epoch{6});
    CHECK(got.status == refresh_status::reached);
    CHECK(got.epoch == epoch{6});
    CHECK_FALSE(got.cause);
    CHECK(routes.pin()->epoch() == epoch{6});
    CHECK(follow.refresh(epoch{6}).status == refresh_status::reached);
    CHECK(follow.refresh(epoch{2}).status == refresh_status::reached);
    CHECK(source.loads() == 1);
}

TEST_CASE("a hundred threads told that they are stale at once share one load",
          "[refresh][threads]") {
    // Elsewhere each failed request refreshed again, although another one already had.
    for (std::size_t round = test_support::scaled(20); round != 0; --round) {
        virtual_time time;
        router routes{table(5)};
        auto source = slowly(6);
        refresher follow{routes, source, options(time)};
        std::atomic<int> reached{0};
        on_threads(100, [&](int) {
            reached += follow.refresh(epoch{6}).status == refresh_status::reached;
        });
        REQUIRE(source.loads() == 1);
        REQUIRE(reached == 100);
    }
}

TEST_CASE("when the answer is too old, one more load follows for all", "[refresh][threads]") {
    for (std::size_t round = test_support::scaled(20); round != 0; --round) {
        virtual_time time;
        router routes{table(5)};
        played_source source{[](int number) {
            std::this_thread::sleep_for(1ms);
            return encode(table(number == 1 ? 5 : 6));
        }};
        refresher follow{routes, source, options(time)};
        std::atomic<int> reached{0};
        on_threads(100, [&](int) {
            reached += follow.refresh(epoch{6}).status == refresh_status::reached;
        });
        REQUIRE(source.loads() == 2);
        REQUIRE_FALSE(source.crowded());
        REQUIRE(reached == 100);
        REQUIRE(time.now() >= 100ms);  // the successor kept the interval
    }
}

TEST_CASE("a demand that comes while a load is in the air may be met by it, or starts one more",
          "[refresh][threads]") {
    virtual_time time;
    router routes{table(5)};
    std::latch loading{1};
    std::latch goes_on{1};
    played_source source{[&](int number) {
        if (number == 1) {
            loading.count_down();
            goes_on.wait();
            return encode(table(6));
        }
        return encode(table(7));
    }};
    refresher follow{routes, source, options(time)};
    std::thread first{[&] { follow.refresh(epoch{6}); }};
    loading.wait();
    std::atomic<int> reached{0};
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i != 10; ++i) {
        threads.emplace_back([&, i] {
            const auto got = follow.refresh(epoch{6 + i % 2});
            reached += got.status == refresh_status::reached && got.epoch >= epoch{6 + i % 2};
        });
    }
    std::this_thread::sleep_for(10ms);
    CHECK(source.loads() == 1);
    goes_on.count_down();
    first.join();
    for (std::thread& each : threads) {
        each.join();
    }
    CHECK(reached == 10);
    CHECK(source.loads() == 2);
    CHECK_FALSE(source.crowded());
}

TEST_CASE("a source without the demanded epoch is asked twice, and said to be behind",
          "[refresh]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(5);
    refresher follow{routes, source, options(time)};
    const auto got = follow.refresh(epoch{9});
    CHECK(got.status == refresh_status::behind);
    CHECK(got.epoch == epoch{5});
    CHECK(source.loads() == 2);
}

TEST_CASE(
    "a hundred who join a load that is too old have one more, even if that is too old as well",
    "[refresh][threads]") {
    for (int round = 0; round != 5; ++round) {
        virtual_time time;
        router routes{table(5)};
        std::atomic<int> asked{0};
        played_source source{[&](int number) {
            while (number == 1 && asked != 100) {
                std::this_thread::yield();
            }
            // All have looked at the clock, and are in the very next lines.
            std::this_thread::sleep_for(number == 1 ? 100ms : 0ms);
            return encode(table(5));
        }};
        auto with = options(time);
        with.load_at_most = nanoseconds::max();  // so that only who asks looks at the clock
        with.surroundings.now = [&, now = with.surroundings.now] {
            ++asked;
            return now();
        };
        refresher follow{routes, source, with};
        std::thread leads{[&] { follow.refresh(epoch{6}); }};
        while (source.loads() == 0) {
            std::this_thread::yield();
        }
        asked = 0;
        std::atomic<int> behind{0};
        on_threads(
            100, [&](int) { behind += follow.refresh(epoch{6}).status == refresh_status::behind; });
        leads.join();
        REQUIRE(source.loads() == 2);
        REQUIRE(behind == 100);
    }
}

TEST_CASE("a table that comes just before a load spares it", "[refresh]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(6);
    auto with = options(time);
    int looks = 0;
    with.surroundings.now = [&] {
        if (++looks == 2) {  // after the refresh found the router too old
            CHECK(routes.publish(table(6)) == publish_result::published);
        }
        return instant{time.now()};
    };
    refresher follow{routes, source, with};
    CHECK(follow.refresh(epoch{6}, {.at_most = 1h}).status == refresh_status::reached);
    CHECK(looks >= 2);
    CHECK(source.loads() == 0);
}

TEST_CASE("serial refreshes are no oftener than the interval", "[refresh]") {
    // A lock that joins concurrent renewals let serial ones storm, one after another.
    virtual_time time;
    router routes{table(5)};
    auto source = always(5);
    refresher follow{routes, source, options(time)};
    for (int i = 0; i != 200; ++i) {
        CHECK(follow.refresh(epoch{9}).status == refresh_status::behind);
        REQUIRE(source.loads() - 1 <= time.now() / 100ms);
    }
    // And when time passes by itself, still at most one each interval.
    const int before = source.loads();
    const nanoseconds from = time.now();
    while (time.now() < from + 10s) {
        follow.refresh(epoch{9});
        time.pass(1ms);
    }
    CHECK(source.loads() - before <= (time.now() - from) / 100ms + 1);
}

TEST_CASE("while the source fails the last good table serves, and is left alone in between",
          "[refresh]") {
    // Elsewhere a failed refresh dropped the old map, and each request blocked on the next one.
    virtual_time time;
    router routes{table(5)};
    std::uint64_t heals = 0;
    played_source source{[&](int) -> std::optional<std::string> {
        if (heals == 0) {
            throw std::runtime_error{"no network"};
        }
        return encode(table(heals));
    }};
    auto with = options(time);
    with.after_failure = {1s, 4s};
    refresher follow{routes, source, with};
    const auto begin = routes.pin();

    for (int i = 0; i != 1'000; ++i) {
        const auto got = follow.refresh(epoch{6});
        REQUIRE(got.status == refresh_status::failed);
        REQUIRE(got.cause);
        REQUIRE(got.epoch == epoch{5});
    }
    CHECK(time.sleeps() == 0);  // a failing source blocks nobody
    CHECK(source.loads() == 1);
    CHECK(routes.pin() == begin);
    CHECK(routes.place("k", 1).shard == "at 5");

    // 100 s: of waits U(0, 4 s), and never less than the interval.
    const nanoseconds from = time.now();
    while (time.now() < from + 100s) {
        follow.refresh(epoch{6});
        time.pass(10ms);
    }
    CHECK(source.loads() > 20);
    CHECK(source.loads() < 120);

    heals = 6;
    time.pass(4s);
    CHECK(follow.refresh(epoch{6}).status == refresh_status::reached);
    CHECK(routes.place("k", 1).shard == "at 6");
    heals = 7;  // and what it failed with is forgotten
    CHECK(follow.refresh(epoch{7}).status == refresh_status::reached);
}

TEST_CASE("a hundred threads on a failing source are one load, and each is told why",
          "[refresh][threads]") {
    virtual_time time;
    router routes{table(5)};
    played_source source{[](int) -> std::optional<std::string> {
        std::this_thread::sleep_for(1ms);
        throw std::runtime_error{"no network"};
    }};
    refresher follow{routes, source, options(time)};
    std::atomic<int> told{0};
    on_threads(100, [&](int) {
        const auto got = follow.refresh(epoch{6});
        try {
            std::rethrow_exception(got.cause);
        } catch (const std::runtime_error& thrown) {
            told += got.status == refresh_status::failed &&
                    std::string_view{thrown.what()} == "no network";
        }
    });
    CHECK(source.loads() == 1);
    CHECK(told == 100);
}

TEST_CASE("what can not be published is a failure, and changes nothing", "[refresh]") {
    const auto status_after = [](const std::optional<std::string>& bytes, errc expected) {
        virtual_time time;
        router routes{table(5)};
        played_source source{[&](int) { return bytes; }};
        refresher follow{routes, source, options(time)};
        const auto got = follow.refresh(epoch{6});
        CHECK(*routes.pin() == table(5));
        CHECK(code_of([&] {
                  if (got.cause) {
                      std::rethrow_exception(got.cause);
                  }
              }) == expected);
        return got.status;
    };
    CHECK(status_after(std::nullopt, errc::source_failed) == refresh_status::failed);
    CHECK(status_after("SWRT", errc::table_malformed) == refresh_status::failed);
    CHECK(
        status_after(
            encode({scheme_table{calculated(2)}, shard_map::single("a", 16), {.epoch = epoch{6}}}),
            errc::scheme_conflict) == refresh_status::failed);
    CHECK(
        status_after(
            encode({scheme_table{calculated(1)}, shard_map::single("a", 16), {.epoch = epoch{5}}}),
            errc::epoch_conflict) == refresh_status::failed);
    CHECK(status_after(encode(table(4)), errc::ok) == refresh_status::behind);
}

TEST_CASE("the router never goes backwards, whatever a source answers", "[refresh]") {
    INFO(test_support::replay());
    test_support::generator draw;
    virtual_time time;
    router routes{table(0)};
    played_source source{[&](int) { return encode(table(draw.below(50U))); }};
    refresher follow{routes, source, options(time)};
    epoch last{};
    for (int i = 0; i != 200; ++i) {
        const auto got = follow.refresh(epoch{draw.below(60U)});
        REQUIRE(got.epoch >= last);
        REQUIRE(routes.pin()->epoch() == got.epoch);
        last = got.epoch;
    }
    CHECK(last > epoch{0});
}

TEST_CASE("a caller that leaves does not end the refresh for the others", "[refresh][threads]") {
    virtual_time time;
    router routes{table(5)};
    std::latch loading{1};
    std::latch goes_on{1};
    played_source source{[&](int) {
        loading.count_down();
        goes_on.wait();
        return encode(table(6));
    }};
    refresher follow{routes, source, options(time)};
    std::atomic<int> reached{0};
    std::thread leads{[&] { reached += follow.refresh(epoch{6}).epoch == epoch{6}; }};
    loading.wait();
    std::thread stays{[&] { reached += follow.refresh(epoch{6}).epoch == epoch{6}; }};

    CHECK(follow.refresh(epoch{6}, {.at_most = 1ms}).status == refresh_status::left);
    std::stop_source stop;
    stop.request_stop();
    const auto left = follow.refresh(epoch{6}, {.stop = stop.get_token()});
    CHECK(left.status == refresh_status::left);
    CHECK(left.epoch == epoch{5});

    goes_on.count_down();
    leads.join();
    stays.join();
    CHECK(reached == 2);
    CHECK(source.loads() == 1);
}

namespace {

/// A source whose first load hangs until it is let go.
class hanging_source {
public:
    explicit hanging_source(std::function<std::string(int)> answer) : answer_(std::move(answer)) {}
    ~hanging_source() { let_go(); }

    std::optional<std::string> load() {
        const int number = ++loads_;
        if (number == 1) {
            hangs_.count_down();
            goes_on_.wait();
        }
        return answer_(number);
    }
    [[nodiscard]] static bool changed() { return true; }

    void wait_until_it_hangs() { hangs_.wait(); }
    void let_go() {
        if (!gone_.exchange(true)) {
            goes_on_.count_down();
        }
    }
    [[nodiscard]] int loads() const { return loads_; }

private:
    std::function<std::string(int)> answer_;
    std::atomic<int> loads_{0};
    std::atomic<bool> gone_{false};
    std::latch hangs_{1};
    std::latch goes_on_{1};
};

}  // namespace

TEST_CASE("a load that hangs is replaced when its time is up, and comes back to nobody",
          "[refresh][threads]") {
    // Each answer of the stuck load: older, of the same epoch with other contents, damaged, and
    // newer, which is ignored like the others.
    const routing_table other{
        scheme_table{calculated(1)}, shard_map::single("other", 16), {.epoch = epoch{6}}};
    for (const std::string& late :
         {encode(table(4)), encode(other), std::string{"SWRT"}, encode(table(9))}) {
        virtual_time time;
        router routes{table(5)};
        hanging_source source{[&](int number) { return number == 1 ? late : encode(table(6)); }};
        auto with = options(time);
        with.load_at_most = 30s;
        refresher follow{routes, source, with};
        refresh_result first{};
        std::thread leads{[&] { first = follow.refresh(epoch{6}); }};
        source.wait_until_it_hangs();

        time.pass(29s);
        CHECK(follow.refresh(epoch{6}, {.at_most = 1ms}).status == refresh_status::left);
        CHECK(source.loads() == 1);
        time.pass(1s + 100ms);
        CHECK(follow.refresh(epoch{6}).status == refresh_status::reached);
        CHECK(source.loads() == 2);

        source.let_go();
        leads.join();
        CHECK(first.status == refresh_status::reached);  // by the load that took its place
        CHECK(*routes.pin() == table(6));
        // Nor has it changed when the next load may begin: an interval after the last good one.
        const nanoseconds before = time.now();
        CHECK(follow.refresh(epoch{7}).status == refresh_status::behind);
        CHECK(time.now() - before == 200ms);
        CHECK(source.loads() == 4);
    }
}

TEST_CASE("what a replaced load saw last is looked at again", "[refresh][threads]") {
    // The source keeps its promise: it says whether the table differs from what `load` returned
    // last, and that was the load that nobody heard.
    class differing_source {
    public:
        std::optional<std::string> load() {
            if (++loads_ == 1) {
                hangs.count_down();
                goes_on.wait();
            }
            const std::scoped_lock lock{mutex_};
            returned_ = stored_;
            return encode(table(stored_));
        }
        [[nodiscard]] bool changed() {
            const std::scoped_lock lock{mutex_};
            return returned_ != stored_;
        }
        void store(std::uint64_t at) {
            const std::scoped_lock lock{mutex_};
            stored_ = at;
        }
        std::latch hangs{1};
        std::latch goes_on{1};

    private:
        std::mutex mutex_;
        std::uint64_t stored_ = 5;
        std::uint64_t returned_ = 0;
        std::atomic<int> loads_{0};
    };
    virtual_time time;
    router routes{table(4)};
    differing_source source;
    auto with = options(time);
    with.load_at_most = 10s;
    refresher follow{routes, source, with};
    std::thread leads{[&] { follow.refresh(epoch{5}); }};
    source.hangs.wait();
    time.pass(11s);
    CHECK(follow.poll().status == refresh_status::reached);
    CHECK(routes.pin()->epoch() == epoch{5});
    source.store(6);
    source.goes_on.count_down();
    leads.join();
    REQUIRE_FALSE(source.changed());
    CHECK(follow.poll().status == refresh_status::reached);
    CHECK(routes.pin()->epoch() == epoch{6});
}

TEST_CASE("the failure of a load that was replaced is nobody's", "[refresh][threads]") {
    virtual_time time;
    router routes{table(5)};
    hanging_source source{[&](int number) -> std::string {
        if (number == 1) {
            throw std::runtime_error{"timed out, at last"};
        }
        return encode(table(number == 2 ? 5 : 7));
    }};
    auto with = options(time);
    with.load_at_most = 10s;
    refresher follow{routes, source, with};
    refresh_result first{};
    std::thread leads{[&] { first = follow.refresh(epoch{7}); }};
    source.wait_until_it_hangs();
    time.pass(11s);
    CHECK(follow.poll().status == refresh_status::reached);
    source.let_go();
    leads.join();
    CHECK(first.status == refresh_status::reached);  // it loaded once more, and did not fail
    CHECK(routes.pin()->epoch() == epoch{7});
    CHECK(source.loads() == 3);
}

TEST_CASE("while one load hangs a hundred callers wait for its time, and share the one after it",
          "[refresh][threads]") {
    router routes{table(5)};
    hanging_source source{[](int) { return encode(table(6)); }};
    refresh_options with;
    with.minimum_interval = 1ms;
    with.load_at_most = 20ms;
    refresher follow{routes, source, with};
    std::thread leads{[&] { follow.refresh(epoch{6}); }};
    source.wait_until_it_hangs();
    std::atomic<int> reached{0};
    on_threads(100,
               [&](int) { reached += follow.refresh(epoch{6}).status == refresh_status::reached; });
    CHECK(reached == 100);
    CHECK(source.loads() == 2);
    source.let_go();
    leads.join();
    CHECK(source.loads() == 2);
    CHECK(routes.pin()->epoch() == epoch{6});
}

TEST_CASE("loads that hang and come back at any time neither set back the router nor crowd",
          "[refresh][threads]") {
    // Every load takes about as long as it may, so that many are replaced while they come back.
    router routes{table(0)};
    std::atomic<std::uint64_t> stored{0};
    std::atomic<int> loads{0};
    played_source source{[&](int number) {
        ++loads;
        const std::uint64_t read = ++stored;
        std::this_thread::sleep_for(std::chrono::microseconds{number % 5 == 0 ? 3'000 : 300});
        return encode(table(read));
    }};
    refresh_options with;
    with.minimum_interval = 100us;
    with.load_at_most = 300us;
    refresher follow{routes, source, with};
    std::atomic<int> fell{0};
    std::atomic<int> short_of{0};
    const std::size_t rounds = test_support::scaled(400);
    on_threads(4, [&](int) {
        epoch last{};
        for (std::size_t i = 0; i != rounds; ++i) {
            const epoch wanted{last.value() + 1};
            const auto got = follow.refresh(wanted);
            const epoch now = routes.pin()->epoch();
            fell += got.epoch < last || now < got.epoch;
            short_of += got.status == refresh_status::reached && got.epoch < wanted;
            last = now;
        }
    });
    CHECK(fell == 0);
    CHECK(short_of == 0);
    CHECK(loads > 0);
}

TEST_CASE("a source that asks for a refresh itself is told so", "[refresh]") {
    virtual_time time;
    router routes{table(5)};
    std::function<void()> again;
    played_source source{[&](int) {
        again();
        return encode(table(6));
    }};
    refresher follow{routes, source, options(time)};
    again = [&] { follow.refresh(epoch{6}); };
    const auto got = follow.refresh(epoch{6});
    CHECK(got.status == refresh_status::failed);
    CHECK(code_of([&] { std::rethrow_exception(got.cause); }) == errc::reentrant_call);
}

TEST_CASE("a poll loads when the source has changed, or failed before", "[refresh]") {
    virtual_time time;
    router routes{table(5)};
    bool fails = false;
    std::uint64_t stored = 6;
    played_source source{[&](int) {
        if (fails) {
            throw std::runtime_error{"no network"};
        }
        return encode(table(stored));
    }};
    refresher follow{routes, source, options(time)};
    CHECK(follow.poll().status == refresh_status::reached);
    CHECK(source.loads() == 0);
    source.change(true);
    CHECK(follow.poll().epoch == epoch{6});
    CHECK(source.loads() == 1);

    source.change(false);
    stored = 7;
    CHECK(follow.poll().epoch == epoch{6});
    source.change(true);
    fails = true;
    CHECK(follow.poll().status == refresh_status::failed);
    source.change(false);  // it was said once
    fails = false;
    time.pass(10s);
    CHECK(follow.poll().epoch == epoch{7});
    CHECK(follow.poll().epoch == epoch{7});
    CHECK(source.loads() == 3);
}

TEST_CASE("a stale route is refreshed and tried once where the item is now", "[with_route]") {
    // A map said epoch 5, the shard was at 6; elsewhere both owners took the write.
    virtual_time time;
    router routes{table(5)};
    auto source = always(6);
    refresher follow{routes, source, options(time)};
    fenced_store store{6};
    const auto shard = follow.with_route("k", 1, [&](const placement& at) {
        store.write(at);
        return at.shard;
    });
    CHECK(shard == "at 6");
    CHECK(store.calls() == 2);
    CHECK(store.written() == 1);
    CHECK(source.loads() == 1);

    follow.with_route("k", 1, [&](const placement& at) { store.write(at); });
    CHECK(store.calls() == 3);
    CHECK(source.loads() == 1);
}

TEST_CASE("a caller whose map is newer already does not fetch, and tries again at once",
          "[with_route]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(6);
    refresher follow{routes, source, options(time)};
    int calls = 0;
    follow.with_route("k", 1, [&](const placement& at) {
        if (++calls == 1) {
            std::ignore = routes.publish(table(6));  // another thread's refresh
            throw stale_route{epoch{6}};
        }
        CHECK(at.epoch == epoch{6});
    });
    CHECK(calls == 2);
    CHECK(source.loads() == 0);
    CHECK(time.sleeps() == 0);

    // A store that has not heard of it yet gets time, and no refresh helps it.
    calls = 0;
    follow.with_route("k", 1, [&](const placement&) {
        if (++calls < 4) {
            throw stale_route{epoch{4}};
        }
    });
    CHECK(calls == 4);
    CHECK(source.loads() == 0);
    CHECK(time.sleeps() == 2);
}

TEST_CASE("the retries of one operation end at the hop limit, and the error names the epochs",
          "[with_route]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(5);
    refresher follow{routes, source, options(time)};
    fenced_store store{6};
    const auto write = [&] {
        follow.with_route("k\n", 1, [&](const placement& at) { store.write(at); });
    };
    const auto reason = error_of(write);
    CHECK(reason.code == errc::stale_route);
    CHECK(reason.detail == R"(the route of the key "k\x0a" by epoch 5 is refused by a store that )"
                           "knows epoch 6; the hop limit is reached after 5 retries");
    CHECK(store.calls() == 6);
    CHECK(store.written() == 0);
    CHECK(nested_in(write) == stale_route{epoch{6}}.what());
}

TEST_CASE("one with_route in another does not multiply the retries", "[with_route]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(5);
    refresher follow{routes, source, options(time)};
    fenced_store store{6};
    CHECK(code_of([&] {
              follow.with_route("k", 1, [&](const placement&) {
                  follow.with_route("k", 1, [&](const placement& at) { store.write(at); });
              });
          }) == errc::stale_route);
    CHECK(store.calls() == 6);
}

namespace {

/// What a reading helper makes of its callback's exception.
template <class Inner>
[[noreturn]] void throw_nested_in_failures(const Inner& inner, int depth) {
    try {
        if (depth == 0) {
            throw inner;
        }
        throw_nested_in_failures(inner, depth - 1);
    } catch (...) {
        std::throw_with_nested(failure{errc::shard_failed, "the query callback threw"});
    }
}

}  // namespace

TEST_CASE("a stale route within another failure is refreshed and tried again", "[with_routes]") {
    // A page of a fan-out nests what its query threw, and was not tried again.
    for (const int depth : {0, 1, 5}) {
        virtual_time time;
        router routes{table(5)};
        auto source = always(6);
        refresher follow{routes, source, options(time)};
        int calls = 0;
        const auto read = [&] {
            ++calls;
            const epoch by = routes.pin()->epoch();
            if (by < epoch{6}) {
                throw_nested_in_failures(stale_route{epoch{6}}, depth);
            }
            return by;
        };
        CHECK(follow.with_routes(read) == epoch{6});
        CHECK(calls == 2);
        CHECK(source.loads() == 1);

        calls = 0;
        std::ignore = routes.publish(table(7));
        follow.with_route("k", 1, [&](const placement&) {
            if (++calls == 1) {
                throw_nested_in_failures(stale_route{epoch{7}}, depth);
            }
        });
        CHECK(calls == 2);
    }
}

TEST_CASE("an operation that routes by itself keeps to the same limits, and its error says so",
          "[with_routes]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(5);
    refresher follow{routes, source, options(time)};
    int calls = 0;
    const auto read = [&] {
        ++calls;
        throw_nested_in_failures(stale_route{epoch{6}}, 0);
    };
    const auto reason = error_of([&] { follow.with_routes(read); });
    CHECK(reason.code == errc::stale_route);
    CHECK(reason.detail == "a route by epoch 5 is refused by a store that knows epoch 6; the hop "
                           "limit is reached after 5 retries");
    CHECK(calls == 6);
    CHECK(nested_in([&] { follow.with_routes(read); }).starts_with("shard_failed"));

    calls = 0;
    CHECK(code_of([&] { follow.with_routes({.deadline = deadline{instant{time.now()}}}, read); }) ==
          errc::stale_route);
    CHECK(calls == 1);
    CHECK_THROWS_AS(follow.with_routes([]() -> int { throw std::runtime_error{"timed out"}; }),
                    std::runtime_error);
    const auto other = error_of([&] {
        follow.with_routes([] { throw_nested_in_failures(std::runtime_error{"timed out"}, 1); });
    });
    CHECK(other.code == errc::shard_failed);
    int value = 1;
    CHECK(&follow.with_routes([&]() -> int& { return value; }) == &value);
}

TEST_CASE("operations that route within one another do not multiply their retries",
          "[with_routes]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(5);
    refresher follow{routes, source, options(time)};
    int calls = 0;
    const auto read = [&] {
        ++calls;
        throw_nested_in_failures(stale_route{epoch{6}}, 0);
    };
    // What was given up on passes, plain or nested in what a reading helper throws.
    CHECK(code_of([&] {
              follow.with_route("k", 1, [&](const placement&) { follow.with_routes(read); });
          }) == errc::stale_route);
    CHECK(calls == 6);
    calls = 0;
    CHECK(code_of([&] {
              follow.with_routes([&] {
                  try {
                      follow.with_route("k", 1, [&](const placement&) { read(); });
                  } catch (...) {
                      std::throw_with_nested(failure{errc::shard_failed, "the query threw"});
                  }
              });
          }) == errc::shard_failed);
    CHECK(calls == 6);
}

TEST_CASE("a store with another table of the same epoch is found out at once, not tried again",
          "[with_route][stamp]") {
    // After its state was wiped, a second owner gave out the epochs of the first one again.
    const routing_table theirs{
        scheme_table{calculated(1)}, shard_map::single("other", 16), {.epoch = epoch{6}}};
    const auto conflict = [&](std::uint64_t mine, const table_stamp& known, int& calls) {
        virtual_time time;
        router routes{table(mine)};
        auto source = always(6);
        refresher follow{routes, source, options(time)};
        calls = 0;
        return error_of([&] {
            follow.with_route("k", 1, [&](const placement&) {
                if (++calls < 3) {
                    throw stale_route{known};
                }
            });
        });
    };
    int calls = 0;
    const auto known = conflict(6, stamp_of(theirs), calls);
    CHECK(known.code == errc::epoch_conflict);
    CHECK(known.detail.find(to_text(stamp_of(table(6)))) != std::string::npos);
    CHECK(known.detail.find(to_text(stamp_of(theirs))) != std::string::npos);
    CHECK(calls == 1);
    // Found out by the refresh as well, before the next try.
    CHECK(conflict(5, stamp_of(theirs), calls).code == errc::epoch_conflict);
    CHECK(calls == 1);
    // The same table, or another epoch, is tried again as ever.
    CHECK(conflict(6, stamp_of(table(6)), calls).code == errc::ok);
    CHECK(calls == 3);
    CHECK(conflict(6, stamp_of(table(5)), calls).code == errc::ok);
    CHECK(calls == 3);
}

TEST_CASE("a refresher knows the stamp of the router's table, whatever is published",
          "[refresh][stamp]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(6);
    refresher follow{routes, source, options(time)};
    CHECK(follow.stamp() == stamp_of(table(5)));
    CHECK(follow.stamp() == stamp_of(table(5)));
    follow.refresh(epoch{6});
    CHECK(follow.stamp() == stamp_of(table(6)));
    std::ignore = routes.publish(table(7));
    CHECK(follow.stamp() == stamp_of(table(7)));
}

TEST_CASE("a failing source does not stop what the last good table can still do", "[with_route]") {
    virtual_time time;
    router routes{table(5)};
    played_source source{
        [](int) -> std::optional<std::string> { throw std::runtime_error{"no network"}; }};
    refresher follow{routes, source, options(time)};
    fenced_store store{5};
    const auto write = [&] {
        follow.with_route("k", 1, [&](const placement& at) { store.write(at); });
    };
    write();
    CHECK(store.written() == 1);
    CHECK(source.loads() == 0);

    store.move_to(6);
    const auto reason = error_of(write);
    CHECK(reason.code == errc::stale_route);
    CHECK(reason.detail.find("the source of the table fails") != std::string::npos);
    CHECK(nested_in(write) == "no network");
    store.move_to(5);
    write();
    CHECK(store.written() == 2);
}

TEST_CASE("all retries together keep to their budget", "[with_route]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(5);
    auto with = options(time);
    with.budget = {.percent = 10, .burst = 10};
    refresher follow{routes, source, with};
    fenced_store store{6};
    error last;
    for (int i = 0; i != 1'000; ++i) {
        last = error_of(
            [&] { follow.with_route("k", 1, [&](const placement& at) { store.write(at); }); });
    }
    CHECK(store.calls() <= 1'000 + 10 + 100);
    CHECK(store.calls() >= 1'100);
    CHECK(last.detail.find("the budget for retries is spent") != std::string::npos);
}

TEST_CASE("a hundred writers who are refused at once share one load, and each write succeeds once",
          "[with_route][threads]") {
    // By the usual budget: ninety of them were refused for good, since they came together.
    for (std::size_t round = test_support::scaled(20); round != 0; --round) {
        virtual_time time;
        router routes{table(5)};
        auto source = slowly(6);
        refresher follow{routes, source, options(time)};
        fenced_store store{6};
        std::atomic<int> failed{0};
        on_threads(100, [&](int i) {
            try {
                follow.with_route("k", i, [&](const placement& at) { store.write(at); });
            } catch (const failure&) {
                ++failed;
            }
        });
        REQUIRE(source.loads() == 1);
        REQUIRE(failed == 0);
        REQUIRE(store.written() == 100);
        REQUIRE(store.calls() <= 200);
    }
}

TEST_CASE("an operation is not tried again after its deadline, nor when it is stopped",
          "[with_route]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(5);
    auto with = options(time);
    with.before_retry = {10s, 10s};
    refresher follow{routes, source, with};
    fenced_store store{6};
    const auto write = [&](const route_limits& limits) {
        return error_of([&] {
                   follow.with_route("k", 1, limits, [&](const placement& at) { store.write(at); });
               })
            .detail;
    };
    const nanoseconds begin = time.now();
    const auto until = deadline::after(instant{begin}, 2s);
    CHECK(write({.deadline = until}).find("waits no longer") != std::string::npos);
    CHECK(time.now() <= begin + 2s);

    const int calls = store.calls();
    std::stop_source stop;
    stop.request_stop();
    CHECK(write({.stop = stop.get_token()}).find("waits no longer") != std::string::npos);
    CHECK(store.calls() == calls + 1);
    CHECK(write({.deadline = deadline{instant{begin}}}).find("after 0 retries") !=
          std::string::npos);
    CHECK(store.calls() == calls + 2);
}

TEST_CASE("other exceptions pass, and are not tried again", "[with_route]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(6);
    refresher follow{routes, source, options(time)};
    int calls = 0;
    CHECK_THROWS_AS(follow.with_route("k", 1,
                                      [&](const placement&) {
                                          ++calls;
                                          throw std::runtime_error{"timed out"};
                                      }),
                    std::runtime_error);
    CHECK(calls == 1);
    CHECK(source.loads() == 0);
}

TEST_CASE("an operation may give a reference, and may ask for a refresh", "[with_route]") {
    virtual_time time;
    router routes{table(5)};
    auto source = always(6);
    refresher follow{routes, source, options(time)};
    int value = 1;
    int& got = follow.with_route("k", 1, [&](const placement&) -> int& {
        follow.refresh(epoch{6});
        return value;
    });
    CHECK(&got == &value);
    CHECK(source.loads() == 1);
}

TEST_CASE("each write succeeds exactly once while the route moves under many threads",
          "[with_route][threads]") {
    virtual_time time;
    router routes{table(1)};
    std::atomic<std::uint64_t> stored{1};
    played_source source{[&](int number) {
        if (number % 3 == 0) {
            throw std::runtime_error{"no network"};
        }
        return encode(table(stored));
    }};
    auto with = options(time);
    with.budget = {.percent = 1'000, .burst = 1'000'000};
    with.hops = 1'000;
    with.load_at_most =
        nanoseconds::max();  // all sleep in no time, so that any load lasts for long
    with.after_failure = {1ms, 4ms};
    refresher follow{routes, source, with};
    fenced_store store{1};
    const std::size_t writes = test_support::scaled(500);
    std::atomic<int> done{0};
    std::atomic<bool> stop{false};
    std::thread moves{[&] {
        for (std::uint64_t at = 2; !stop; ++at) {
            stored = at;
            store.move_to(at);
            std::this_thread::sleep_for(200us);
        }
    }};
    std::atomic<int> twice{0};
    on_threads(8, [&](int) {
        for (std::size_t i = 0; i != writes; ++i) {
            int successes = 0;
            follow.with_route("k", 1, [&](const placement& at) {
                store.write(at);
                ++successes;
            });
            twice += successes != 1;
            ++done;
        }
    });
    stop = true;
    moves.join();
    CHECK(twice == 0);
    CHECK(store.written() == done);
    CHECK_FALSE(source.crowded());
    CHECK(source.loads() <= store.calls());
}

TEST_CASE("an item of a key that is split by time is routed by its time, again when refused",
          "[refresh]") {
    virtual_time time;
    const item_time year{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
    const auto windowed = [&](std::uint64_t at) {
        return routing_table{scheme_table{calculated(1)}.with(
                                 "k", time_windowed(24h, calculated(2, {.since = year}))),
                             shard_map::single("at " + std::to_string(at), 16),
                             {.epoch = epoch{at}}};
    };
    router routes{windowed(5)};
    played_source source{[&](int) { return encode(windowed(6)); }};
    refresher follow{routes, source, options(time)};
    fenced_store store{6};
    std::string written;
    follow.with_route("k", 1, year, [&](const placement& at) {
        store.write(at);
        written = at.partition_key;
    });
    CHECK(store.calls() == 2);
    CHECK(store.written() == 1);
    CHECK(written == windowed(6).place("k", 1, year).partition_key);
    CHECK(code_of([&] { follow.with_route("k", 1, [](const placement&) {}); }) ==
          errc::time_required);
}
