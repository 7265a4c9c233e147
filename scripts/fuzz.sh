#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds and runs the fuzz targets of tests/fuzz, from the kept inputs on. What is new is kept in
# build/fuzz/found/<target>; --merge puts what is worth it into tests/fuzz/corpus. Exits with 1 when a
# target finds something, and says how to see it again.
#
# usage: fuzz.sh [--seconds N] [--merge] [target…]     8 seconds for each, all targets
set -uo pipefail
cd "$(dirname "$0")/.." || exit

seconds=8 merge=no targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds) seconds="${2:?--seconds needs a number}"; shift ;;
    --merge) merge=yes ;;
    -*) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
if [ "${#targets[@]}" = 0 ]; then
  for source in tests/fuzz/*.cpp; do targets+=("$(basename "$source" .cpp)"); done
fi

build=build/fuzz
cmake --preset fuzz >/dev/null && cmake --build --preset fuzz --target "${targets[@]/#/shardweave_fuzz_}" || exit

# Damage to memory, 300 MB in one allocation, and inputs that take ten seconds are findings.
options=(-timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=300 -max_len=2048)
failed=()
for target in "${targets[@]}"; do
  program="$build/tests/fuzz/$target" found="$build/found/$target" kept="tests/fuzz/corpus/$target"
  mkdir -p "$found" "$kept"
  if [ "$merge" = yes ]; then
    rm -rf "$build/merged" && mkdir -p "$build/merged"
    "$program" -set_cover_merge=1 "${options[@]}" "$build/merged" "$kept" "$found" >"$build/$target.log" 2>&1 &&
      rm -rf "$kept" && mv "$build/merged" "$kept"
    echo "fuzz: $target keeps $(find "$kept" -type f | wc -l) inputs, $(du -cb "$kept"/* | tail -n 1 | cut -f 1) bytes"
    continue
  fi
  if "$program" "${options[@]}" -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="$build/$target-" "$found" "$kept" >"$build/$target.log" 2>&1; then
    echo "fuzz: $target: $(sed -nE 's/^stat::number_of_executed_units: +//p' "$build/$target.log") inputs in $seconds s," \
      "$(grep -oE 'cov: [0-9]+' "$build/$target.log" | tail -n 1 | cut -d ' ' -f 2) edges, nothing found"
  else
    failed+=("$target")
    grep -E '^broken: |^==[0-9]+==ERROR|runtime error|^SUMMARY' "$build/$target.log" | head -n 5
    echo "fuzz: $target FAILED; see $build/$target.log, and again: $program $(ls -t "$build/$target"-* | head -n 1)"
  fi
done
[ "${#failed[@]}" = 0 ]
