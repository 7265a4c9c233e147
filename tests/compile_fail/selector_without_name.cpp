// expect: bucket_selector
#include <shardweave/place/scheme.hpp>

// The stored table carries the name: without one, another process could only guess the rule.
struct rule {
#ifdef COMPILE_OK
    [[nodiscard]] std::string_view name() const { return "first"; }
#endif
    [[nodiscard]] shardweave::bucket_index select(std::string_view, std::uint32_t,
                                                  std::uint64_t) const {
        return {};
    }
};

int main() { return static_cast<int>(shardweave::selected_by(rule{}, 8).buckets()); }
