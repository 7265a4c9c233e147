#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Installs what the tests need, then builds and runs all of them.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test
cmake --preset dev
cmake --build --preset dev --parallel "$(nproc)"
ctest --preset dev --parallel "$(nproc)"
