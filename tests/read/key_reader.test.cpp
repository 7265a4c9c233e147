// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/key_reader.hpp>

#include <shardweave/read/fan_out.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "support/failing.hpp"
#include "support/memory_store.hpp"

namespace sw = shardweave;
using sw::errc;
using test_support::code_of;

namespace {

struct post {
    std::int64_t created_at = 0;
    std::string id{};
};

const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));
using reader_type = sw::key_reader<std::remove_const_t<decltype(newest)>>;

static_assert(std::is_same_v<reader_type::item_type, post>);

}  // namespace

TEST_CASE("options that ask nothing are refused", "[key_reader]") {
    const sw::router router{test_support::spread("a", 2)};
    const auto made = [&](sw::fan_out_options<post> with) {
        return code_of([&] { reader_type{router, newest, with}; });
    };
    CHECK(made({}) == errc::ok);
    CHECK(made({.concurrency = 0}) == errc::invalid_options);
    CHECK(made({.attempts = {.most = 0}}) == errc::invalid_options);
    CHECK(made({.asking = {.billing_unit = 0}}) == errc::invalid_options);
}

TEST_CASE("a reader has budgets of its own unless it is given some", "[key_reader]") {
    const sw::router router{test_support::spread("a", 2)};
    const auto shared = std::make_shared<sw::attempt_budgets>();
    CHECK(reader_type{router, newest}.options().budgets != nullptr);
    CHECK(reader_type{router, newest, {.budgets = shared}}.options().budgets == shared);
}
