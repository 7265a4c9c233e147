// SPDX-License-Identifier: BSL-1.0
// Compiled without RTTI, where the library works as well: see tests/CMakeLists.txt.
#include <shardweave/place/stale_route.hpp>

#include <catch2/catch_test_macros.hpp>

#include <exception>
#include <stdexcept>

#ifdef __GXX_RTTI
#error "this file is compiled with -fno-rtti"
#endif

using namespace shardweave;

namespace {

/// What a throwing call throws.
template <class Call>
std::exception_ptr thrown_by(const Call& call) {
    try {
        call();
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}

/// The exception within another one.
template <class Outer>
std::exception_ptr within(const Outer& outer, const std::exception_ptr& inner) {
    return thrown_by([&] {
        try {
            std::rethrow_exception(inner);
        } catch (...) {
            std::throw_with_nested(outer);
        }
    });
}

const failure shard_failed{errc::shard_failed, "the query callback threw"};
const failure given_up{errc::stale_route, "no more retries"};

}  // namespace

TEST_CASE("a stale route is found however it is nested, without RTTI too", "[stale_route]") {
    const std::exception_ptr stale = thrown_by([] { throw stale_route{epoch{6}}; });
    REQUIRE(detail::stale_in(stale));
    CHECK(detail::stale_in(stale)->seen() == epoch{6});
    CHECK(detail::stale_in(within(shard_failed, stale)));
    CHECK(detail::stale_in(within(std::runtime_error{"a helper of the user's"}, stale)));
    CHECK(detail::stale_in(within(shard_failed, within(shard_failed, stale)))->seen() == epoch{6});
    // One that nests its own cause is one still.
    const std::exception_ptr timeout = thrown_by([] { throw std::runtime_error{"timed out"}; });
    CHECK(detail::stale_in(within(stale_route{epoch{7}}, timeout))->seen() == epoch{7});
}

TEST_CASE("what holds no stale route, or one that was given up on, is left alone",
          "[stale_route]") {
    const std::exception_ptr stale = thrown_by([] { throw stale_route{epoch{6}}; });
    CHECK_FALSE(detail::stale_in(nullptr));
    CHECK_FALSE(detail::stale_in(thrown_by([] { throw 5; })));
    CHECK_FALSE(detail::stale_in(thrown_by([] { throw shard_failed; })));
    CHECK_FALSE(detail::stale_in(within(shard_failed, thrown_by([] { throw 5; }))));
    CHECK_FALSE(detail::stale_in(thrown_by([] { throw given_up; })));
    CHECK_FALSE(detail::stale_in(within(given_up, stale)));
    CHECK_FALSE(detail::stale_in(within(shard_failed, within(given_up, stale))));
    CHECK_FALSE(detail::stale_in(thrown_by([] {
        std::throw_with_nested(shard_failed);  // outside of a handler it nests nothing
    })));
}
