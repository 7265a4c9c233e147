// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_PLACE_SCHEME_TABLE_HPP
#define SHARDWEAVE_PLACE_SCHEME_TABLE_HPP

/// The scheme of every ordinary key, and the few keys that have their own.

#include <shardweave/core/detail/text.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/limits.hpp>
#include <shardweave/place/scheme.hpp>
#include <shardweave/place/scheme_history.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace shardweave {
inline namespace v1 {

/// A value, built by chaining: `scheme_table{calculated(1)}.with("author-1", calculated(8))`.
class scheme_table {
public:
    using histories = std::map<std::string, scheme_history, std::less<>>;

    /// The scheme of every key without its own.
    explicit scheme_table(const bucket_scheme& ordinary) : ordinary_(ordinary) {}
    explicit scheme_table(scheme_history ordinary) : ordinary_(std::move(ordinary)) {}

    /// A key that has its own scheme from its first item on. Throws `errc::scheme_conflict` when
    /// the key has one already: a key that holds items is changed by `grow`.
    [[nodiscard]] scheme_table with(std::string_view key, const bucket_scheme& scheme) && {
        return std::move(*this).with(key, scheme_history{scheme});
    }
    [[nodiscard]] scheme_table with(std::string_view key, const bucket_scheme& scheme) const& {
        return scheme_table{*this}.with(key, scheme);
    }
    [[nodiscard]] scheme_table with(std::string_view key, scheme_history history) && {
        if (exceptional_.contains(key)) {
            throw failure{errc::scheme_conflict,
                          detail::concat("the key ", detail::quoted(key),
                                         " has a scheme already; use grow to add a newer one")};
        }
        assign(key, std::move(history));
        return std::move(*this);
    }
    [[nodiscard]] scheme_table with(std::string_view key, scheme_history history) const& {
        return scheme_table{*this}.with(key, std::move(history));
    }

    /// Adds a scheme that takes the key's new items, while the older ones stay readable. A key
    /// under the ordinary scheme starts from that one.
    [[nodiscard]] scheme_table grow(std::string_view key, const bucket_scheme& scheme) && {
        assign(key, history(key).grown(scheme));
        return std::move(*this);
    }
    [[nodiscard]] scheme_table grow(std::string_view key, const bucket_scheme& scheme) const& {
        return scheme_table{*this}.grow(key, scheme);
    }

    /// The same for every key under the ordinary scheme.
    [[nodiscard]] scheme_table grow_ordinary(const bucket_scheme& scheme) const {
        scheme_table next = *this;
        next.ordinary_ = ordinary_.grown(scheme);
        return next;
    }

    /// Ends one version of a key's own history. Only after it was verified to hold nothing: from
    /// then on nobody reads there.
    [[nodiscard]] scheme_table retire(std::string_view key, scheme_version version) && {
        assign(key, history(key).retired(version));
        return std::move(*this);
    }
    [[nodiscard]] scheme_table retire(std::string_view key, scheme_version version) const& {
        return scheme_table{*this}.retire(key, version);
    }

    /// The same for every key under the ordinary scheme.
    [[nodiscard]] scheme_table retire_ordinary(scheme_version version) const {
        scheme_table next = *this;
        next.ordinary_ = ordinary_.retired(version);
        return next;
    }

    /// The key's own history, or the ordinary one. O(log keys with their own).
    [[nodiscard]] scheme_history history(std::string_view key) const&& { return history(key); }
    [[nodiscard]] const scheme_history& history(std::string_view key) const& noexcept {
        const auto at = exceptional_.find(key);
        return at == exceptional_.end() ? ordinary_ : at->second;
    }

    [[nodiscard]] const scheme_history& ordinary() const& noexcept { return ordinary_; }
    [[nodiscard]] scheme_history ordinary() && { return std::move(ordinary_); }
    [[nodiscard]] const histories& exceptional() const& noexcept { return exceptional_; }
    [[nodiscard]] histories exceptional() && { return std::move(exceptional_); }

    friend bool operator==(const scheme_table&, const scheme_table&) noexcept = default;

private:
    void assign(std::string_view key, scheme_history history) {
        if (key.size() > limits::key_bytes ||
            (exceptional_.size() >= limits::keys_with_schemes && !exceptional_.contains(key))) {
            throw failure{errc::limit_exceeded,
                          detail::concat("the key ", detail::quoted(key), " has ", key.size(),
                                         " bytes of at most ", limits::key_bytes, ", and ",
                                         exceptional_.size(), " keys of at most ",
                                         limits::keys_with_schemes, " have their own scheme")};
        }
        exceptional_.insert_or_assign(std::string{key}, std::move(history));
    }

    scheme_history ordinary_;
    histories exceptional_;
};

}  // namespace v1
}  // namespace shardweave

#endif
