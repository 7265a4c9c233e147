// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_EXAMPLES_REDIS_SLOT_MAP_HPP
#define SHARDWEAVE_EXAMPLES_REDIS_SLOT_MAP_HPP

/// Which node has each of the cluster's slots, as the nodes tell: by CLUSTER SLOTS, MOVED and ASK.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connection.hpp"
#include "hash_slot.hpp"
#include "reply.hpp"

namespace redis_timeline {

/// `host:port`, the port after the last colon; a node that does not know its own host writes none
/// or `?`, and means the one by which it was asked.
[[nodiscard]] inline std::optional<endpoint> parse_endpoint(std::string_view text,
                                                            std::string_view asked = {}) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view host = text.substr(0, colon);
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + colon + 1, end, port);
    if (read.ec != std::errc{} || read.ptr != end || port == 0) {
        return std::nullopt;
    }
    endpoint parsed{std::string{host.empty() || host == "?" ? asked : host}, port};
    return parsed.host.empty() ? std::nullopt : std::optional{std::move(parsed)};
}

/// A node's answer that another one is to be asked.
struct redirect {
    /// `moved` is for good, `ask` for this one command only.
    enum class kind : std::uint8_t { moved, ask } what;
    endpoint to;
};

/// `MOVED 3999 127.0.0.1:6381`, `ASK 3999 127.0.0.1:6381`.
[[nodiscard]] inline std::optional<redirect> parse_redirect(std::string_view error,
                                                            const endpoint& asked) {
    const bool moved = error.starts_with("MOVED ");
    if (!moved && !error.starts_with("ASK ")) {
        return std::nullopt;
    }
    auto to = parse_endpoint(error.substr(error.rfind(' ') + 1), asked.host);
    if (!to) {
        return std::nullopt;
    }
    return redirect{moved ? redirect::kind::moved : redirect::kind::ask, *std::move(to)};
}

/// Owners of the slots. A value; slots may have none.
class slot_map {
public:
    slot_map() { owners_.fill(nobody); }

    /// From the answer to CLUSTER SLOTS: arrays of first slot, last slot, the master's host and
    /// port, and its replicas, which are left out.
    [[nodiscard]] static slot_map from(const reply& slots, const endpoint& asked) {
        slot_map map;
        for (std::size_t i = 0; i != slots.size(); ++i) {
            const reply range = slots[i];
            if (range.size() < 3 || range[2].size() < 2) {
                continue;
            }
            const std::string_view host = range[2][0].text();
            const bool same = host.empty() || host == "?";
            const endpoint node{std::string{same ? asked.host : host},
                                static_cast<std::uint16_t>(range[2][1].integer())};
            const std::int64_t last = std::min<std::int64_t>(range[1].integer(), cluster_slots - 1);
            for (std::int64_t slot = std::max<std::int64_t>(range[0].integer(), 0); slot <= last;
                 ++slot) {
                map.set(static_cast<std::uint16_t>(slot), node);
            }
        }
        return map;
    }

    /// Null when nobody has it. Requires `slot` < `cluster_slots`.
    [[nodiscard]] const endpoint* owner(std::uint16_t slot) const noexcept {
        return owners_[slot] == nobody ? nullptr : &nodes_[owners_[slot]];
    }

    void set(std::uint16_t slot, const endpoint& node) {
        if (nodes_.empty() || nodes_[last_] != node) {
            const auto known = std::ranges::find(nodes_, node);
            last_ = static_cast<std::uint16_t>(known - nodes_.begin());
            if (known == nodes_.end()) {
                nodes_.push_back(node);
            }
        }
        owners_[slot] = last_;
    }

    /// The masters, each once.
    [[nodiscard]] const std::vector<endpoint>& nodes() const noexcept { return nodes_; }

private:
    static constexpr std::uint16_t nobody = 0xffff;

    std::vector<endpoint> nodes_;
    std::array<std::uint16_t, cluster_slots> owners_;
    std::uint16_t last_ = 0;
};

}  // namespace redis_timeline

#endif
