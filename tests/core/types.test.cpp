// SPDX-License-Identifier: BSL-1.0
#include <shardweave/core/types.hpp>

#include <catch2/catch_test_macros.hpp>

#include <concepts>
#include <type_traits>
#include <unordered_set>

using namespace shardweave;

namespace {

template <class T>
constexpr bool is_plain_value = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                                std::is_nothrow_default_constructible_v<T> &&
                                std::three_way_comparable<T, std::strong_ordering>;

static_assert(is_plain_value<bucket_index> && sizeof(bucket_index) == 4);
static_assert(is_plain_value<slot_index> && sizeof(slot_index) == 4);
static_assert(is_plain_value<scheme_version> && sizeof(scheme_version) == 4);
static_assert(is_plain_value<epoch> && sizeof(epoch) == 8);

template <class A, class B>
concept comparable = requires(A a, B b) { a == b; } || requires(A a, B b) { a < b; };

// A bucket where a slot is meant reads another key's data, so none of this may compile.
static_assert(!std::is_constructible_v<slot_index, bucket_index>);
static_assert(!std::is_constructible_v<bucket_index, scheme_version>);
static_assert(!std::is_constructible_v<epoch, scheme_version>);
static_assert(!std::is_assignable_v<slot_index&, bucket_index>);
static_assert(!comparable<bucket_index, slot_index>);
static_assert(!comparable<scheme_version, epoch>);
static_assert(!comparable<bucket_index, unsigned>);

// To a number and from one only by name.
static_assert(!std::is_convertible_v<unsigned, bucket_index>);
static_assert(!std::is_convertible_v<bucket_index, unsigned>);
static_assert(std::is_constructible_v<bucket_index, std::uint32_t>);

static_assert(noexcept(bucket_index{1}.value()));
static_assert(noexcept(bucket_index{1} < bucket_index{2}));
static_assert(bucket_index{}.value() == 0);
static_assert(bucket_index{7}.value() == 7);
static_assert(epoch{~std::uint64_t{0}}.value() == ~std::uint64_t{0});
static_assert(slot_index{1} < slot_index{2} && slot_index{2} == slot_index{2});

static_assert(incarnation(epoch{}) == 0 && incarnation(epoch{(1ULL << 40U) - 1}) == 0);
static_assert(incarnation(epoch{1ULL << 40U}) == 1 && incarnation(epoch{~0ULL}) == 0xffffff);

}  // namespace

TEST_CASE("a strong integer can be kept in the user's own hash containers", "[types]") {
    const std::unordered_set<slot_index> slots{slot_index{1}, slot_index{2}, slot_index{1}};
    CHECK(slots.size() == 2);
    CHECK(slots.contains(slot_index{2}));
    CHECK_FALSE(slots.contains(slot_index{3}));
}
