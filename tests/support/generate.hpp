// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_TESTS_SUPPORT_GENERATE_HPP
#define SHARDWEAVE_TESTS_SUPPORT_GENERATE_HPP

/// Seeded inputs for the property tests, the same on every platform.
///
/// SHARDWEAVE_TEST_SEED picks another run, SHARDWEAVE_TEST_SCALE (per cent) a longer or shorter
/// one. Every property begins with `INFO(test_support::replay())`, so that a failure says how to
/// see it again.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

namespace test_support {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

inline std::uint64_t seed() { return from_environment("SHARDWEAVE_TEST_SEED", 20'240'607); }

/// `count` times the scale, at least 1.
inline std::size_t scaled(std::size_t count) {
    const auto result = count * from_environment("SHARDWEAVE_TEST_SCALE", 100) / 100;
    return result == 0 ? 1 : static_cast<std::size_t>(result);
}

inline std::string replay() {
    return "replay: SHARDWEAVE_TEST_SEED=" + std::to_string(seed()) + " SHARDWEAVE_TEST_SCALE=" +
           std::to_string(from_environment("SHARDWEAVE_TEST_SCALE", 100)) +
           " <this executable> \"<this test's name>\"";
}

/// A uniform random bit generator (splitmix64: Steele, Lea, Flood, OOPSLA 2014) and what tests draw
/// from one. The standard distributions give other numbers with each standard library; these do
/// not.
class generator {
public:
    using result_type = std::uint64_t;

    explicit generator(std::uint64_t start = seed()) : state_(start) {}

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }

    result_type operator()() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31U);
    }

    /// 0 to `bound` − 1.
    template <std::unsigned_integral Number>
    Number below(Number bound) {
        return static_cast<Number>((*this)() % bound);
    }

    /// `first` to `last`, both included.
    template <std::unsigned_integral Number>
    Number between(Number first, Number last) {
        return static_cast<Number>(first + (*this)() % (last - first + 1));
    }

    bool chance(unsigned percent) { return below(100U) < percent; }

    template <class Range>
    const auto& pick(const Range& range) {
        return range[below(std::size(range))];
    }

    /// A number of any magnitude: as many small ones as large ones.
    std::uint64_t magnitude() { return (*this)() >> below(64U); }

    /// Any bytes, 0 to `most` of them.
    std::string bytes(std::size_t most) {
        std::string out(below(most + 1), '\0');
        for (char& c : out) {
            c = static_cast<char>((*this)());
        }
        return out;
    }

    /// Up to `most` of the fragments, one after another: texts that nearly mean something.
    std::string joined(std::span<const std::string> fragments, std::size_t most) {
        std::string out;
        for (std::size_t left = below(most + 1); left != 0; --left) {
            out += pick(fragments);
        }
        return out;
    }

private:
    std::uint64_t state_;
};

}  // namespace test_support

#endif
