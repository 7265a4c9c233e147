// SPDX-License-Identifier: BSL-1.0
#include <shardweave/place/router.hpp>

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../ratio.hpp"
#include "placement.hpp"

namespace sw = shardweave;

namespace placement_benchmark {
namespace {

/// How often the table is replaced while it is read.
enum class swaps : std::uint8_t { never, each_millisecond, back_to_back };

/// A thread that replaces a table again and again.
class publisher {
public:
    publisher(swaps often, const std::function<void()>& replace)
        : thread_([this, often, &replace](const std::stop_token& stop) {
              bench::pin_thread(1);
              while (!stop.stop_requested()) {
                  replace();
                  started_ = true;
                  if (often == swaps::each_millisecond) {
                      std::this_thread::sleep_for(std::chrono::milliseconds{1});
                  }
              }
          }) {
        while (!started_) {
            std::this_thread::yield();
        }
    }

private:
    std::atomic<bool> started_{false};
    std::jthread thread_;
};

constexpr std::uint32_t slots = 64;

/// A small one, so that publishing costs little.
sw::routing_table small_table(std::uint64_t epoch) {
    return {sw::scheme_table{sw::calculated(1)},
            sw::shard_map::even(shard_names(10), slots),
            {.epoch = sw::epoch{epoch}}};
}

/// What is done with a table: one slot's owner is looked up. Either all at the same time, as far as
/// the processor can, or each when the one before is known, as where a route is followed by its
/// use.
template <bool InTurn>
class looking_up {
public:
    void operator()(const sw::routing_table& table, std::uint32_t slot) {
        const std::uint32_t asked = InTurn ? slot ^ (last_ % slots) : slot;
        last_ = table.shards().owner_number(sw::slot_index{asked});
        bench::use(last_);
    }

private:
    std::uint32_t last_ = 0;
};

sw::router::reader& reader_of_this_thread(const sw::router& router) {
    thread_local sw::router::reader reader{router};
    return reader;
}

template <bool InTurn>
void readings(swaps often) {
    looking_up<InTurn> look_up;
    using shared_table = std::shared_ptr<const sw::routing_table>;
    sw::router router{small_table(1)};
    std::uint64_t epoch = 1;
    const std::function<void()> publish = [&] {
        static_cast<void>(router.publish(small_table(++epoch)));
    };
    // The peers are only handed tables that are ready.
    const shared_table ready[2] = {std::make_shared<const sw::routing_table>(small_table(1)),
                                   std::make_shared<const sw::routing_table>(small_table(2))};
    std::size_t turn = 0;
    std::atomic<const sw::routing_table*> plain{ready[0].get()};
    std::atomic<shared_table> atomic{ready[0]};
    const std::function<void()> store = [&] { atomic.store(ready[++turn % 2]); };
    std::shared_mutex mutex;
    shared_table guarded = ready[0];
    const std::function<void()> replace = [&] {
        auto next = ready[++turn % 2];
        const std::scoped_lock lock{mutex};
        guarded.swap(next);
    };

    std::vector<std::uint32_t> asked;
    for (std::uint32_t i = 0; i != 4'096; ++i) {
        asked.push_back(i * 7'919 % slots);
    }
    const std::span<const std::uint32_t> times{asked};
    const char* const when = often == swaps::never              ? "idle"
                             : often == swaps::each_millisecond ? "a swap each millisecond"
                                                                : "swaps back to back";
    const double most = often == swaps::never              ? 1.15
                        : often == swaps::each_millisecond ? 1.25
                                                           : 2.0;
    bench::table table{fmt::format("reading the current table, {}, {}, against a plain pointer",
                                   when,
                                   InTurn ? "one look-up after another" : "look-ups side by side")};
    std::optional<publisher> running;
    const auto beside = [&](const std::function<void()>& swap) {
        if (often != swaps::never) {
            table.beside([&running, &swap, often] { running.emplace(often, swap); },
                         [&running] { running.reset(); });
        }
    };
    table.row("a plain pointer, never replaced", times,
              [&](std::uint32_t slot) { look_up(*plain.load(std::memory_order_acquire), slot); });
    sw::router::reader reader{router};
    table.row("a reader's handle", times,
              [&](std::uint32_t slot) { look_up(reader.table(), slot); }, {.time = most});
    beside(publish);
    table.row("a reader's handle, thread_local", times,
              [&](std::uint32_t slot) { look_up(reader_of_this_thread(router).table(), slot); });
    beside(publish);
    table.row("router::pin", times, [&](std::uint32_t slot) { look_up(*router.pin(), slot); });
    beside(publish);
    table.row("peer: std::atomic<std::shared_ptr>", times,
              [&](std::uint32_t slot) { look_up(*atomic.load(std::memory_order_acquire), slot); });
    beside(store);
    table.row("peer: std::shared_mutex", times, [&](std::uint32_t slot) {
        const std::shared_lock lock{mutex};
        look_up(*guarded, slot);
    });
    beside(replace);
    often == swaps::never ? table.print() : table.print(5'000, 31);
}

}  // namespace

void reading() {
    readings<false>(swaps::never);
    readings<true>(swaps::never);
    if (bench::how != bench::mode::counted) {
        for (const swaps often : {swaps::each_millisecond, swaps::back_to_back}) {
            readings<false>(often);
            readings<true>(often);
        }
    }
}

}  // namespace placement_benchmark
