// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_SELECTOR_HPP
#define SHARDWEAVE_PLACE_SELECTOR_HPP

/// Which bucket of a key an item belongs to: calculated from its id, drawn at random, or by a rule
/// of the user's own.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/hash.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/core/types.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// How a scheme chooses a bucket.
enum class selection : std::uint8_t {
    /// From the item's id: the item can be found, changed and deleted alone.
    calculated = 1,
    /// Drawn at random: perfectly even, but only a search of every bucket finds an item again.
    random = 2,
    /// By a `bucket_selector` that the user registered.
    custom = 3,
};

/// A user's own rule, for data that is laid out already (Java's string hash, crc32, …).
///
/// `name()` is stored in the routing table and must never be reused for another rule: a rule that
/// changes gets a new name. `select` returns a bucket below `buckets`. No compiler can check that
/// it is deterministic in every process and build, and that it may be called concurrently.
template <class Selector>
concept bucket_selector = requires(const Selector& selector, std::string_view id,
                                   std::uint32_t buckets, std::uint64_t seed) {
    { selector.name() } -> std::convertible_to<std::string_view>;
    { selector.select(id, buckets, seed) } -> std::same_as<bucket_index>;
};

/// The contract's own rule: the low 32 bits of XXH3-64 modulo the bucket count. 32 bits, so that
/// every language can compute it; a modulo, so that doubling splits bucket b into b and b + n.
/// Requires `buckets` > 0.
[[nodiscard]] inline bucket_index calculated_bucket(std::string_view id, std::uint32_t buckets,
                                                    std::uint64_t seed) noexcept {
    return bucket_index{static_cast<std::uint32_t>(stable_hash64(id, seed)) % buckets};
}

/// A bucket from the caller's generator, each equally likely. Requires `buckets` > 0.
template <std::uniform_random_bit_generator Generator>
[[nodiscard]] bucket_index random_bucket(std::uint32_t buckets, Generator& generator) {
    return bucket_index{std::uniform_int_distribution<std::uint32_t>{0, buckets - 1}(generator)};
}

namespace detail {

/// Seeded once a thread from the system.
inline std::mt19937_64& thread_generator() {
    thread_local std::mt19937_64 generator = [] {
        std::random_device device;
        std::seed_seq seed{device(), device(), device(), device()};
        return std::mt19937_64{seed};
    }();
    return generator;
}

class any_selector {
public:
    any_selector() = default;
    any_selector(const any_selector&) = delete;
    any_selector& operator=(const any_selector&) = delete;
    virtual ~any_selector() = default;
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    [[nodiscard]] virtual bucket_index select(std::string_view id, std::uint32_t buckets,
                                              std::uint64_t seed) const = 0;
};

template <bucket_selector Selector>
class selector_model final : public any_selector {
public:
    explicit selector_model(Selector selector)
        : selector_(std::move(selector)), name_(selector_.name()) {
        if (name_.empty() || name_.size() > limits::selector_name_bytes) {
            throw failure{errc::invalid_scheme,
                          concat("the selector name ", detail::quoted(name_), " must have 1 to ",
                                 limits::selector_name_bytes, " bytes")};
        }
    }
    [[nodiscard]] std::string_view name() const noexcept override { return name_; }
    [[nodiscard]] bucket_index select(std::string_view id, std::uint32_t buckets,
                                      std::uint64_t seed) const override {
        const bucket_index bucket = selector_.select(id, buckets, seed);
        if (bucket.value() >= buckets) {
            throw failure{errc::invalid_scheme,
                          concat("the selector ", detail::quoted(name_), " chose bucket ",
                                 bucket.value(), " of ", buckets, " for the id ",
                                 detail::quoted(id), "; use unsigned arithmetic and a remainder")};
        }
        return bucket;
    }

private:
    Selector selector_;
    std::string name_;
};

using shared_selector = std::shared_ptr<const any_selector>;

}  // namespace detail

/// The user's own selectors by name: what `decode` needs to read a table that uses them.
class selector_registry {
public:
    /// Throws `errc::invalid_scheme` when another rule has the name already.
    template <bucket_selector Selector>
    [[nodiscard]] selector_registry with(Selector selector) && {
        add(std::move(selector));
        return std::move(*this);
    }

    template <bucket_selector Selector>
    [[nodiscard]] selector_registry with(Selector selector) const& {
        return selector_registry{*this}.with(std::move(selector));
    }

    template <bucket_selector Selector>
    void add(Selector selector) {
        auto model = std::make_shared<const detail::selector_model<Selector>>(std::move(selector));
        const auto [at, added] = by_name_.emplace(std::string{model->name()}, model);
        if (!added) {
            throw failure{errc::invalid_scheme,
                          detail::concat("the selector name ", detail::quoted(at->first),
                                         " is registered twice; give each rule its own name")};
        }
    }

    /// Null when the name is unknown.
    [[nodiscard]] detail::shared_selector find(std::string_view name) const {
        const auto at = by_name_.find(name);
        return at == by_name_.end() ? nullptr : at->second;
    }

private:
    std::map<std::string, detail::shared_selector, std::less<>> by_name_;
};

}  // namespace v1
}  // namespace shardweave

#endif
