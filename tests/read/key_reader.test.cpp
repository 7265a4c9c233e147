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
#include "support/posts.hpp"

namespace sw = shardweave;
using sw::errc;
using test_support::code_of;
using test_support::newest;
using test_support::post;

namespace {

using reader_type = sw::key_reader<test_support::post_order>;

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
