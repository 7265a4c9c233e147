#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Checks the format of all tracked C++ files, and runs clang-tidy over the headers, by the tests that make
# most of them.
#
# usage: lint.sh [--all]     --all: by every test, and over all tests (minutes more)
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files '*.hpp' '*.cpp' | xargs clang-format-19 --dry-run -Werror
echo "lint: the format is right"

# The preset's compile database; all.cpp includes every public header.
cmake --preset clang >/dev/null
tests=(tests/core/bytes.test.cpp tests/place/{refresh,routing_codec}.test.cpp
       tests/read/{merge,page_driver,trouble}.test.cpp tests/move/rebalance.test.cpp
       tests/adapters/{asio,json,sodium}.test.cpp tests/testing/conformance.test.cpp)
if [ "${1:-}" = --all ]; then mapfile -t tests < <(git ls-files 'tests/*.test.cpp'); fi
{ echo build/clang/tests/headers/all.cpp; printf '%s\n' "${tests[@]}"; } |
  xargs -P "$(nproc)" -n 1 clang-tidy-19 -p build/clang --quiet
echo "lint: clang-tidy finds nothing"
