#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Checks the format of all tracked C++ files, and runs clang-tidy over the headers and their tests.
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files '*.hpp' '*.cpp' | xargs clang-format-19 --dry-run -Werror
echo "lint: the format is right"

# The preset's compile database; all.cpp includes every public header.
cmake --preset clang >/dev/null
{ echo build/clang/tests/headers/all.cpp; git ls-files 'tests/*.test.cpp'; } |
  xargs -P "$(nproc)" -n 1 clang-tidy-19 -p build/clang --quiet
echo "lint: clang-tidy finds nothing"
