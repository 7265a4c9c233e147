#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Shows the library at work: loads a real history into four SQLite databases, pages through it, grows
# its hot author, and compares everything with one unsharded query.
#
#   scripts/demo.sh   installs what is missing (by sudo unless root), and leaves all it makes in
#                     build/demo
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() {
  printf '\n$ timeline %s\n' "$*"
  build/demo/examples/timeline/timeline "$@" | tee build/demo/output
}
token() { sed -n "s/^$1 page: .*--page //p" build/demo/output; }

scripts/setup.sh demo
say 'Building the example'
mkdir -p build
cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release -DSHARDWEAVE_BUILD_TESTS=OFF \
  -DSHARDWEAVE_BUILD_BENCHMARKS=OFF >build/demo.log 2>&1 || { cat build/demo.log; exit 1; }
cmake --build build/demo --target timeline
data=build/demo/databases
rm -rf "$data"

say 'A history of 12,000 commits goes into four databases.'
echo 'One author, author-1, wrote a third of them. In one piece, all of that would be on one database;'
echo 'so it is split into eight buckets, each with a place of its own.'
run load tests/data/commits-excerpt.tsv.gz --dir "$data" --hot author-1=8
run authors --dir "$data" --limit 5

say "The hot author's newest commits: one list again, from eight buckets on four databases."
echo 'Each bucket is asked for a few rows only: look at "examined".'
run author-1 --dir "$data"
next="$(token next)"

say 'The next page begins where that one ended. The place is in the page token.'
run author-1 --dir "$data" --page "$next"

say 'And back to the page before it.'
run author-1 --dir "$data" --page "$next" --previous

say 'Three authors as one list, by one query a database.'
run --feed author-1,author-2,author-7 --dir "$data" --limit 8 --per-shard

say 'The hot author grows: new commits go to 16 buckets. Nothing is moved, nothing gets lost:'
echo 'the eight buckets of before are still read.'
run --grow author-1=16 --dir "$data"
echo
echo 'A token from before the growth still leads to its page:'
run author-1 --dir "$data" --page "$next"

say 'Is all of it really there, and in order? Every list, against one unsharded query:'
run --verify --dir "$data"

say 'Go on by yourself, also with the history of a repository of your own:'
cat <<END
  PATH="\$PWD/build/demo/examples/timeline:\$PATH"
  git log --reverse --format='%aN%x09%at%x09%H%x09%s' | timeline load - --dir /tmp/mine
  timeline authors --dir /tmp/mine
END
