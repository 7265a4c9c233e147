// SPDX-License-Identifier: BSL-1.0
#include <shardweave/read/order.hpp>

#include <shardweave/core/hash.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/generate.hpp"
#include "support/vectors.hpp"

namespace sw = shardweave;
using namespace std::string_literals;
using namespace std::string_view_literals;
using test_support::generator;
using test_support::to_hex;

namespace {

enum class level : std::int8_t { low = -1, middle = 0, high = 1 };
enum class flag : bool { off = false, on = true };
using id_array = std::array<unsigned char, 4>;
using instant = std::chrono::sys_time<std::chrono::milliseconds>;

struct post {
    std::int64_t created_at;
    std::string id;
};

using post_order = decltype(sw::newest_first(&post::created_at, sw::unique(&post::id)));

static_assert(std::same_as<post_order::item_type, post>);
static_assert(std::same_as<post_order::position_type, sw::position<std::int64_t, std::string>>);
static_assert(std::tuple_size_v<post_order::position_type> == 2);
static_assert(std::same_as<std::tuple_element_t<1, post_order::position_type>, const std::string>);
static_assert(std::copyable<post_order>);
static_assert(std::equality_comparable<post_order::position_type>);

// What a projection returns decides what a position owns.
static_assert(std::same_as<decltype(sw::order_by<post>(sw::unique([](const post& each) {
                               return std::string_view{each.id};
                           })))::position_type,
                           sw::position<std::string>>);

// Not even where compilers count 128-bit integers as integral: their high half would be lost, and
// different items would tie.
__extension__ typedef unsigned __int128 wide_number;
static_assert(!sw::detail::order_key<wide_number>::supported);
static_assert(!sw::detail::order_key<long double>::supported);
static_assert(!sw::detail::order_key<int*>::supported);

int sign(std::strong_ordering order) { return (order > 0) - (order < 0); }
int sign(int comparison) { return (comparison > 0) - (comparison < 0); }

std::strong_ordering bytewise(std::string_view a, std::string_view b) {
    return std::lexicographical_compare_three_way(
        a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
            return static_cast<unsigned char>(x) <=> static_cast<unsigned char>(y);
        });
}

/// `domain<T>`: values that are hard on an order, and how they must compare, said another way than
/// the library says it.
template <class T>
struct domain {
    static T any(generator& from) {
        using limits = std::numeric_limits<T>;
        switch (from.below(4U)) {
            case 0: return limits::min();
            case 1: return limits::max();
            case 2: return static_cast<T>(from.below(5U) - 2U);
            default: return static_cast<T>(from());
        }
    }
    static std::strong_ordering expected(T a, T b) { return a <=> b; }
};
template <>
struct domain<bool> {
    static bool any(generator& from) { return from.chance(50); }
    static std::strong_ordering expected(bool a, bool b) { return int{a} <=> int{b}; }
};
template <>
struct domain<char> {
    static char any(generator& from) { return from.pick("\0\1\x7f\x80\xff"sv); }
    static std::strong_ordering expected(char a, char b) { return bytewise({&a, 1}, {&b, 1}); }
};
template <>
struct domain<level> {
    static level any(generator& from) {
        return from.pick(std::array{level::low, level::middle, level::high});
    }
    static std::strong_ordering expected(level a, level b) { return a <=> b; }
};
template <>
struct domain<flag> {
    static flag any(generator& from) { return from.chance(50) ? flag::on : flag::off; }
    static std::strong_ordering expected(flag a, flag b) { return a <=> b; }
};
template <std::floating_point T>
struct domain<T> {
    static T any(generator& from) {
        using limits = std::numeric_limits<T>;
        const T magnitude =
            from.pick(std::array{T{0}, T{1}, T{3.5}, limits::denorm_min(), limits::min(),
                                 limits::max(), limits::epsilon(), limits::infinity(),
                                 limits::quiet_NaN(), static_cast<T>(from.magnitude())});
        return from.chance(50) ? -magnitude : magnitude;
    }
    static std::strong_ordering expected(T a, T b) { return std::strong_order(a, b); }
};
template <>
struct domain<std::string> {
    static std::string any(generator& from) {
        static const std::vector<std::string> fragments{
            "", "a", "b", "ab", "\0"s, "\1", "\1\1", "\1\2", "\x80", "\xff", "a rather long text"};
        return from.joined(fragments, 4);
    }
    static std::strong_ordering expected(std::string_view a, std::string_view b) {
        return bytewise(a, b);
    }
};
template <>
struct domain<id_array> {
    static id_array any(generator& from) {
        id_array bytes{};
        for (unsigned char& each : bytes) {
            each = from.pick(std::array<unsigned char, 5>{0, 1, 0x7f, 0x80, 0xff});
        }
        return bytes;
    }
    static std::strong_ordering expected(const id_array& a, const id_array& b) { return a <=> b; }
};
template <>
struct domain<instant> {
    static instant any(generator& from) {
        return instant{std::chrono::milliseconds{domain<std::int64_t>::any(from)}};
    }
    static std::strong_ordering expected(instant a, instant b) {
        return a.time_since_epoch().count() <=> b.time_since_epoch().count();
    }
};
template <class Rep, class Period>
struct domain<std::chrono::duration<Rep, Period>> {
    using duration = std::chrono::duration<Rep, Period>;
    static duration any(generator& from) { return duration{domain<Rep>::any(from)}; }
    static std::strong_ordering expected(duration a, duration b) {
        return domain<Rep>::expected(a.count(), b.count());
    }
};

template <class T>
std::optional<T> any_optional(generator& from) {
    return from.chance(25) ? std::nullopt : std::optional<T>{domain<T>::any(from)};
}

/// What must hold of any two items, and of their positions' bytes.
template <class Order>
void check_pair(const Order& order, const typename Order::item_type& a,
                const typename Order::item_type& b, std::strong_ordering expected) {
    const auto at = order.position_of(a);
    const auto bt = order.position_of(b);
    const std::string a_bytes = order.encode(at);
    const std::string b_bytes = order.encode(bt);
    CAPTURE(order.text(at), order.text(bt), to_hex(a_bytes), to_hex(b_bytes));
    REQUIRE(order.compare(a, b) == expected);
    REQUIRE(order.compare(b, a) == (0 <=> expected));
    REQUIRE(order.compare(at, b) == expected);
    REQUIRE(order.compare(a, bt) == expected);
    REQUIRE(order.compare(at, bt) == expected);

    REQUIRE(sign(a_bytes.compare(b_bytes)) == sign(expected));
    // Not a prefix either, so that keys can be joined.
    REQUIRE((expected == 0 || !a_bytes.starts_with(b_bytes)));

    const sw::detail::sort_prefix x = order.prefix(a);
    const sw::detail::sort_prefix y = order.prefix(bt);
    const auto by_prefix = std::tie(x.high, x.low) <=> std::tie(y.high, y.low);
    REQUIRE((by_prefix == 0 || by_prefix == expected));
    REQUIRE((by_prefix != 0 || expected == 0 || (!x.exact && !y.exact)));
    REQUIRE(x.exact == (a_bytes.size() <= 16));

    const auto back = order.decode(a_bytes);
    REQUIRE(back.has_value());
    REQUIRE(order.compare(*back, at) == 0);
    REQUIRE(order.encode(*back) == a_bytes);
}

/// Bytes that may be anything: decoded or not, but never to a value with other bytes.
template <class Order>
void check_hostile(const Order& order, std::string_view bytes) {
    if (const auto at = order.decode(bytes)) {
        CAPTURE(to_hex(bytes), order.text(*at));
        REQUIRE(order.encode(*at) == bytes);
    }
}

template <class Order>
void check_decoding(const Order& order, const typename Order::item_type& item, generator& from) {
    const std::string bytes = order.encode(order.position_of(item));
    CAPTURE(to_hex(bytes));
    for (std::size_t size = 0; size != bytes.size(); ++size) {
        REQUIRE_FALSE(order.decode(std::string_view{bytes}.substr(0, size)));
    }
    for (const char extra : {'\0', '\1', '\2', '\xff'}) {
        REQUIRE_FALSE(order.decode(bytes + extra));
    }
    std::string changed = bytes;
    changed[from.below(changed.size())] ^= static_cast<char>(1U << from.below(8U));
    check_hostile(order, changed);
    check_hostile(order, from.bytes(bytes.size() + 2));
}

template <class Value>
struct item {
    Value value;
    std::uint8_t id;
};

/// One criterion and a tie-break that often decides. `expected` compares two values.
template <class Order, class Any, class Expected>
void check_order(const Order& order, const Any& any, const Expected& expected) {
    INFO(test_support::replay());
    generator from;
    using each = typename Order::item_type;
    const auto whole = [&](const each& a, const each& b) {
        const std::strong_ordering first = expected(a.value, b.value);
        return first != 0 ? first : a.id <=> b.id;
    };
    for (std::size_t round = 0; round != test_support::scaled(1'000); ++round) {
        const auto draw = [&] { return each{any(from), from.below(std::uint8_t{2})}; };
        const each a = draw();
        const each b = from.chance(20) ? each{a.value, from.below(std::uint8_t{2})} : draw();
        const each c = draw();
        check_pair(order, a, b, whole(a, b));
        check_pair(order, a, a, std::strong_ordering::equal);
        if (order.compare(a, b) <= 0 && order.compare(b, c) <= 0) {
            REQUIRE(order.compare(a, c) <= 0);
        }
        check_decoding(order, a, from);
    }
}

template <class T>
void check_type() {
    const auto any = [](generator& from) { return domain<T>::any(from); };
    const auto up = [](const T& a, const T& b) { return domain<T>::expected(a, b); };
    const auto down = [](const T& a, const T& b) { return domain<T>::expected(b, a); };
    using each = item<T>;
    check_order(sw::order_by(sw::ascending(&each::value), sw::unique(&each::id)), any, up);
    check_order(sw::order_by(sw::descending(&each::value), sw::unique(&each::id)), any, down);

    using maybe = std::optional<T>;
    using absent = item<maybe>;
    const auto perhaps = [](generator& from) { return any_optional<T>(from); };
    const auto with_nulls = [](auto compare, int null_side) {
        return [=](const maybe& a, const maybe& b) {
            if (a && b) {
                return compare(*a, *b);
            }
            // Absent counts as 0 and present as 1; a side of −1 puts the absent ones last.
            return int{a.has_value()} * null_side <=> int{b.has_value()} * null_side;
        };
    };
    check_order(sw::oldest_first(sw::nulls_first(&absent::value), sw::unique(&absent::id)), perhaps,
                with_nulls(up, 1));
    check_order(sw::oldest_first(sw::nulls_last(&absent::value), sw::unique(&absent::id)), perhaps,
                with_nulls(up, -1));
    check_order(
        sw::order_by(sw::nulls_first(sw::descending(&absent::value)), sw::unique(&absent::id)),
        perhaps, with_nulls(down, 1));
    check_order(
        sw::order_by(sw::descending(sw::nulls_last(&absent::value)), sw::unique(&absent::id)),
        perhaps, with_nulls(down, -1));
}

}  // namespace

TEST_CASE("integers of every width and sign are totally ordered, as their bytes are", "[order]") {
    check_type<std::int8_t>();
    check_type<std::uint8_t>();
    check_type<std::int16_t>();
    check_type<std::uint16_t>();
    check_type<std::int32_t>();
    check_type<std::uint32_t>();
    check_type<std::int64_t>();
    check_type<std::uint64_t>();
    check_type<long>();
    check_type<unsigned long long>();
}

TEST_CASE("bool, char and enums are totally ordered, as their bytes are", "[order]") {
    check_type<bool>();
    check_type<char>();
    check_type<level>();
    check_type<flag>();
}

TEST_CASE("floating point is totally ordered, NaN and the two zeros included", "[order]") {
    // A comparator that said neither of NaN and 1 was smaller let a sort read beyond its array, and
    // made a limited result something else than a prefix of the whole one.
    check_type<float>();
    check_type<double>();
}

TEST_CASE("infinities, zeros and NaN have one place each, in both directions", "[order]") {
    using each = item<double>;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
    const std::array rising{-not_a_number, -infinity, -1.0, -0.0, 0.0, 1.0, infinity, not_a_number};
    const auto up = sw::oldest_first(&each::value, sw::unique(&each::id));
    const auto down = sw::newest_first(&each::value, sw::unique(&each::id));
    for (std::size_t i = 0; i + 1 < rising.size(); ++i) {
        CAPTURE(rising[i], rising[i + 1]);
        CHECK(up.compare(each{rising[i], 9}, each{rising[i + 1], 1}) < 0);
        CHECK(down.compare(each{rising[i], 1}, each{rising[i + 1], 9}) > 0);
    }
    CHECK(up.compare(each{not_a_number, 1}, each{not_a_number, 1}) == 0);
}

TEST_CASE("texts are ordered by unsigned bytes, whatever they hold", "[order]") {
    check_type<std::string>();
}

TEST_CASE("text compares by its UTF-8 bytes, not by UTF-16 units", "[order]") {
    // A full-width tilde is before an emoji in UTF-8 and after it in UTF-16, so that a range
    // between them came back empty.
    struct named {
        std::string name;
    };
    const auto order = sw::oldest_first(sw::unique(&named::name));
    const std::vector<std::string> rising{"",    "\0"s,  "a",    "a\0"s,         "a\1",
                                          "ab",  "\x7f", "\x80", "\xef\xbd\x9e", "\xf0\x9f\x98\x80",
                                          "\xff"};
    for (std::size_t i = 0; i + 1 < rising.size(); ++i) {
        CAPTURE(to_hex(rising[i]), to_hex(rising[i + 1]));
        CHECK(order.compare(named{rising[i]}, named{rising[i + 1]}) < 0);
    }
}

TEST_CASE("arrays of bytes, durations and time points are ordered", "[order]") {
    check_type<id_array>();
    check_type<instant>();
    check_type<std::chrono::seconds>();
    check_type<std::chrono::duration<double>>();
}

TEST_CASE("every criterion counts, in its own direction", "[order]") {
    struct event {
        std::optional<std::string> name;
        std::int16_t score;
        std::optional<level> grade;
        std::string id;
    };
    const auto order = sw::order_by(sw::nulls_last(&event::name), sw::descending(&event::score),
                                    sw::descending(sw::nulls_first(&event::grade)),
                                    sw::descending(sw::unique(&event::id)));
    const auto expected = [](const event& a, const event& b) {
        // NOLINTNEXTLINE: absent is 1, so last.
        auto next = a.name.has_value() == b.name.has_value()
                        ? (a.name ? bytewise(*a.name, *b.name) : std::strong_ordering::equal)
                        : b.name.has_value() <=> a.name.has_value();
        next = next != 0 ? next : b.score <=> a.score;
        if (next == 0 && a.grade.has_value() != b.grade.has_value()) {
            next = a.grade.has_value() <=> b.grade.has_value();
        }
        next = next != 0 || !a.grade ? next : *b.grade <=> *a.grade;
        return next != 0 ? next : bytewise(b.id, a.id);
    };
    INFO(test_support::replay());
    generator from;
    for (std::size_t round = 0; round != test_support::scaled(20'000); ++round) {
        const auto draw = [&] {
            return event{any_optional<std::string>(from), static_cast<std::int16_t>(from.below(3U)),
                         any_optional<level>(from), domain<std::string>::any(from)};
        };
        const event a = draw();
        event b = draw();
        b.name = from.chance(60) ? a.name : b.name;
        b.grade = from.chance(50) ? a.grade : b.grade;
        b.id = from.chance(50) ? a.id : b.id;
        check_pair(order, a, b, expected(a, b));
        check_decoding(order, a, from);
    }
}

TEST_CASE("newest first turns every criterion round that does not say otherwise", "[order]") {
    const auto newest = sw::newest_first(&post::created_at, sw::unique(&post::id));
    CHECK(newest.compare(post{5, "b"}, post{5, "a"}) < 0);
    CHECK(newest.compare(post{6, "a"}, post{5, "b"}) < 0);
    const auto mixed = sw::newest_first(&post::created_at, sw::ascending(sw::unique(&post::id)));
    CHECK(mixed.compare(post{5, "b"}, post{5, "a"}) > 0);
    CHECK(mixed.compare(post{6, "a"}, post{5, "b"}) < 0);
    const auto oldest = sw::oldest_first(&post::created_at, sw::unique(&post::id));
    CHECK(oldest.compare(post{5, "b"}, post{5, "a"}) > 0);
}

TEST_CASE("projections may be members, functions and lambdas, of views and of temporaries",
          "[order]") {
    struct key_of {
        std::string operator()(const post& each) const { return "key of " + each.id; }
    };
    const auto order = sw::order_by(
        key_of{}, [](const post& each) { return std::string_view{each.id}.substr(0, 1); },
        sw::ascending([](const post& each) noexcept { return each.created_at; }),
        sw::unique(&post::id));
    const post a{1, "a"};
    const post b{1, "a rather long id which no small buffer holds"};
    CHECK(order.compare(a, b) < 0);
    CHECK(order.compare(order.position_of(b), a) > 0);
    CHECK(sw::get<0>(order.position_of(b)) == "key of " + b.id);
    CHECK(sw::get<1>(order.position_of(b)) == "a");

    const auto numbers = sw::order_by<int>(sw::unique(std::identity{}));
    CHECK(numbers.compare(-1, 1) < 0);
}

TEST_CASE("a position opens by structured bindings", "[order]") {
    const auto order = sw::newest_first(&post::created_at, sw::unique(&post::id));
    const auto position = order.position_of(post{1'112'911'993, "e83c5163316f"});
    const auto& [created_at, id] = position;
    CHECK(created_at == 1'112'911'993);
    CHECK(id == "e83c5163316f");
    CHECK(order.text(position) == R"((1112911993, "e83c5163316f"))");
}

TEST_CASE("an absent value is told apart from an empty one in an error's text", "[order]") {
    struct entry {
        std::optional<std::string> name;
        int id;
    };
    const auto order = sw::order_by(sw::nulls_last(&entry::name), sw::unique(&entry::id));
    CHECK(order.text(order.position_of(entry{std::nullopt, 7})) == "(null, 7)");
    CHECK(order.text(order.position_of(entry{"", -7})) == R"(("", -7))");
}

TEST_CASE("orders whose positions must not be mixed have different fingerprints", "[order]") {
    struct record {
        std::int64_t time;
        std::uint64_t number;
        std::int32_t small;
        double real;
        char letter;
        std::string id;
        std::optional<std::int64_t> maybe;
        std::array<unsigned char, 16> key;
        std::array<unsigned char, 8> short_key;
        std::chrono::seconds seconds;
        std::chrono::milliseconds milliseconds;
        std::chrono::sys_seconds instant;
        std::chrono::sys_time<std::chrono::milliseconds> precise;
    };
    const auto by = [](auto first) { return sw::order_by(first, sw::unique(&record::id)); };
    const auto plain = by(&record::time);
    std::vector<std::uint64_t> all{
        plain.fingerprint(),
        by(sw::descending(&record::time)).fingerprint(),
        by(&record::number).fingerprint(),
        by(&record::small).fingerprint(),
        by(&record::real).fingerprint(),
        by(&record::letter).fingerprint(),
        by(&record::id).fingerprint(),
        by(sw::nulls_first(&record::maybe)).fingerprint(),
        by(sw::nulls_last(&record::maybe)).fingerprint(),
        by(sw::descending(sw::nulls_first(&record::maybe))).fingerprint(),
        by(sw::descending(sw::nulls_last(&record::maybe))).fingerprint(),
        by(&record::key).fingerprint(),
        by(&record::short_key).fingerprint(),
        by(&record::seconds).fingerprint(),
        by(&record::milliseconds).fingerprint(),
        by(&record::instant).fingerprint(),
        by(&record::precise).fingerprint(),
        sw::order_by(sw::unique(&record::id)).fingerprint(),
        sw::order_by(sw::descending(sw::unique(&record::id))).fingerprint(),
        sw::order_by(&record::id, sw::unique(&record::time)).fingerprint(),
        sw::order_by(&record::time, &record::time, sw::unique(&record::id)).fingerprint(),
        plain.named("created").fingerprint(),
        plain.named("changed").fingerprint()};
    const std::size_t count = all.size();
    std::ranges::sort(all);
    CHECK(std::ranges::unique(all).empty());
    CHECK(all.size() == count);

    CHECK(plain.fingerprint() == by([](const record& each) { return each.time; }).fingerprint());
    CHECK(plain.named("").fingerprint() == plain.fingerprint());
    CHECK(plain.named("created").named("changed").fingerprint() ==
          plain.named("changed").fingerprint());
}

namespace {

/// The bytes of one value, with a tie-break that is always 07.
template <class T, class Criterion>
std::string golden(const T& value, const Criterion& criterion) {
    const auto order = sw::order_by(criterion(&item<T>::value), sw::unique(&item<T>::id));
    return to_hex(order.encode(order.position_of(item<T>{value, 7})));
}
template <class T>
std::string up(const T& value) {
    return golden(value, [](auto member) { return sw::ascending(member); });
}
template <class T>
std::string down(const T& value) {
    return golden(value, [](auto member) { return sw::descending(member); });
}

}  // namespace

// Positions are sent in page tokens, so their bytes and the orders' fingerprints are the same in
// every version and on every machine. Nothing else notices a change: what writes them also reads
// them. The values are derived by hand from the rules beside them; there is nothing to regenerate.

TEST_CASE("a position's bytes never change", "[order][golden]") {
    // Integers: big-endian, the sign bit flipped; a descending criterion has every byte
    // complemented.
    CHECK(up(std::int8_t{-128}) == "0007");
    CHECK(up(std::int8_t{-1}) == "7f07");
    CHECK(up(std::int8_t{0}) == "8007");
    CHECK(up(std::int64_t{-1}) == "7fffffffffffffff07");
    CHECK(up(std::int64_t{1'112'911'993}) == "800000004255b07907");
    CHECK(down(std::int64_t{1'112'911'993}) == "7fffffffbdaa4f8607");
    CHECK(up(std::int16_t{0x0102}) == "810207");
    CHECK(up(std::uint32_t{0x01020304}) == "0102030407");
    CHECK(down(std::uint64_t{1}) == "fffffffffffffffe07");
    // Bool, char (always unsigned) and enums (as their numbers).
    CHECK(up(true) == "0107");
    CHECK(up('\xff') == "ff07");
    CHECK(up(level::low) == "7f07");
    CHECK(up(flag::on) == "0107");
    // Floating point: negative numbers complemented, others with the sign bit set.
    CHECK(up(1.0) == "bff000000000000007");
    CHECK(up(-1.0) == "400fffffffffffff07");
    CHECK(up(0.0) == "800000000000000007");
    CHECK(up(-0.0) == "7fffffffffffffff07");
    CHECK(up(std::numeric_limits<double>::infinity()) == "fff000000000000007");
    CHECK(up(-std::numeric_limits<double>::infinity()) == "000fffffffffffff07");
    CHECK(up(1.0F) == "bf80000007");
    CHECK(down(1.0F) == "407fffff07");
    // Text: 00 as 01 01, 01 as 01 02, then 00.
    CHECK(up(""s) == "0007");
    CHECK(up("a\0\1z\xff"s) == "61010101027aff0007");
    CHECK(down("a\0"s) == "9efefeff07");
    // Arrays as they are; durations and time points as their counts.
    CHECK(up(id_array{0x00, 0x01, 0x80, 0xff}) == "000180ff07");
    CHECK(down(id_array{0x00, 0x01, 0x80, 0xff}) == "fffe7f0007");
    CHECK(up(std::chrono::seconds{-1}) == "7fffffffffffffff07");
    CHECK(up(instant{}) == "800000000000000007");
    // Absent or present is a byte before, which no direction turns round.
    using maybe = std::optional<std::int8_t>;
    const auto nulls_first = [](auto member) { return sw::nulls_first(member); };
    const auto nulls_last = [](auto member) { return sw::nulls_last(member); };
    const auto nulls_last_down = [](auto member) { return sw::descending(sw::nulls_last(member)); };
    CHECK(golden(maybe{}, nulls_first) == "0007");
    CHECK(golden(maybe{1}, nulls_first) == "018107");
    CHECK(golden(maybe{}, nulls_last) == "0107");
    CHECK(golden(maybe{1}, nulls_last) == "008107");
    CHECK(golden(maybe{}, nulls_last_down) == "0107");
    CHECK(golden(maybe{1}, nulls_last_down) == "007e07");
}

TEST_CASE("an order's fingerprint never changes", "[order][golden]") {
    // XXH3-64, seed 0, of each criterion's type, direction (< or >), nulls (-, f, l) and a comma,
    // for the unique one an exclamation mark; then the name.
    const auto order = sw::newest_first(&post::created_at, sw::unique(&post::id));
    CHECK(order.fingerprint() == sw::stable_hash64("i8>-,s>-!", 0));
    CHECK(order.fingerprint() == 0xada6c53b98667a04);
    CHECK(order.named("by change").fingerprint() == sw::stable_hash64("i8>-,s>-!by change", 0));

    struct record {
        bool a;
        char b;
        level c;
        float d;
        double e;
        std::optional<std::string> f;
        std::optional<std::uint16_t> g;
        id_array h;
        std::chrono::duration<std::int32_t, std::ratio<3600>> i;
        std::chrono::sys_time<std::chrono::duration<std::int64_t, std::milli>> j;
    };
    const auto all =
        sw::order_by(&record::a, sw::descending(&record::b), &record::c, &record::d, &record::e,
                     sw::nulls_first(&record::f), sw::descending(sw::nulls_last(&record::g)),
                     &record::h, &record::i, sw::unique(&record::j));
    CHECK(all.fingerprint() ==
          sw::stable_hash64("u1<-,u1>-,i1<-,f4<-,f8<-,s<f,u2>l,a4<-,d3600/1i4<-,td1/1000i8<-!", 0));
    CHECK(all.fingerprint() == 0x2800e3431eaaa31f);
}

TEST_CASE("a bool that is neither 0 nor 1 is no position", "[order]") {
    using each = item<bool>;
    const auto order = sw::order_by(&each::value, sw::unique(&each::id));
    CHECK(order.decode("\1\7"sv).has_value());
    CHECK_FALSE(order.decode("\2\7"sv).has_value());
    CHECK_FALSE(order.decode("\xff\7"sv).has_value());
    using absent = item<std::optional<std::uint8_t>>;
    const auto with_nulls = sw::order_by(sw::nulls_first(&absent::value), sw::unique(&absent::id));
    CHECK(with_nulls.decode("\0\7"sv).has_value());
    CHECK_FALSE(with_nulls.decode("\2\1\7"sv).has_value());
}
