// SPDX-License-Identifier: BSL-1.0
#ifndef SHARDWEAVE_VERSION_HPP
#define SHARDWEAVE_VERSION_HPP

/// The version of the library. The only place that holds it: the build reads it from here.

#include <string_view>

namespace shardweave {
inline namespace v1 {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

/// The same as text. Keep it in step: configuring the build fails when the two differ.
inline constexpr std::string_view version = "0.1.0";

}  // namespace v1
}  // namespace shardweave

#endif
