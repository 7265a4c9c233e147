#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Uses the library in each way that its users do: run.sh <source dir> <work dir>.
# One line a road, `ok` or `FAILED`; the log of a failed one follows it.
set -uo pipefail

source_dir="$(realpath "$1")"
work="$2"
here="$source_dir/tests/consumers"
rm -rf "$work"
mkdir -p "$work"
work="$(realpath "$work")"
export CMAKE_GENERATOR=Ninja
failed=0

# road <name> <command…>
road() {
  local name="$1" log="$work/log"
  shift
  if "$@" >"$log" 2>&1; then
    echo "ok      $name"
  else
    echo "FAILED  $name"
    sed 's/^/        /' "$log"
    failed=1
  fi
}

# project <folder> <cmake options…>: configures, builds and runs one consumer.
project() {
  local folder="$1"
  shift
  cmake -S "$here/$folder" -B "$work/$folder" "-DSHARDWEAVE_SOURCE_DIR=$source_dir" "$@" &&
    cmake --build "$work/$folder" && "$work/$folder/consumer"
}

install_it() {
  cmake -S "$source_dir" -B "$work/build" -DSHARDWEAVE_BUILD_TESTS=OFF \
    -DSHARDWEAVE_BUILD_EXAMPLES=OFF -DSHARDWEAVE_BUILD_BENCHMARKS=OFF &&
    cmake --install "$work/build" --prefix "$work/prefix"
}

# Only the refusal of the version counts, not any other failure.
wrong_version() {
  local words
  words="$(cmake -S "$here/find_package" -B "$work/wrong" -DSHARDWEAVE_WANTED=0.0.1 \
    "-DCMAKE_PREFIX_PATH=$work/prefix" 2>&1)" && return 1
  echo "$words"
  grep -q 'compatible with requested version "0.0.1"' <<<"${words//$'\n'/ }"
}

no_cmake() {
  "${CXX:-g++}" -std=c++20 "$@" -I "$source_dir/include" -DFMT_HEADER_ONLY \
    "$here/main.cpp" "$here/other.cpp" -o "$work/plain" && "$work/plain"
}

road "add_subdirectory" project add_subdirectory
road "add_subdirectory, with a compiled fmt" project compiled_fmt
road "FetchContent" project fetch_content
road "install" install_it
road "find_package" project find_package "-DCMAKE_PREFIX_PATH=$work/prefix" -DSHARDWEAVE_WANTED=0.1
road "find_package refuses another version" wrong_version
road "without CMake" no_cmake
road "without CMake and RTTI" no_cmake -fno-rtti
exit "$failed"
