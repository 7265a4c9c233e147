#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# examples/timeline from end to end: what it prints, every bad input, kills, growth.
#
#   timeline_cli.sh TIMELINE HISTORY.tsv.gz
set -euo pipefail

timeline="$(realpath "$1")"
history="$(realpath "$2")"
work="$(mktemp -d)"
children=()
mounted=no
finish() {
  for child in "${children[@]}"; do kill -9 "$child" 2>/dev/null || true; done
  [ "$mounted" = no ] || umount "$work/small" || true
  rm -rf "$work"
}
trap finish EXIT
cd "$work"
unset TIMELINE_DIR
zcat "$history" >rows.tsv

fail() {
  echo "FAILED: $1" >&2
  sed 's/^/  out: /' out >&2 2>/dev/null || true
  sed 's/^/  err: /' err >&2 2>/dev/null || true
  exit 1
}
# expect CODE TEXT COMMAND…: it ends with the code, and says the text on standard error (with the
# code 0: anywhere).
expect() {
  local code="$1" text="$2" got=0
  shift 2
  "$@" >out 2>err </dev/null || got=$?
  [ "$got" = "$code" ] || fail "exit code $got instead of $code: $*"
  if [ "$code" = 0 ]; then cat out err >both; else cp err both; fi
  [ -z "$text" ] || grep -qF -- "$text" both || fail "no '$text' from: $*"
}
tl() { "$timeline" "$@"; }
rows_shown() { sed -n 's/^  \([0-9]\{4\}-.*\)/\1/p' out; }
token_of() { sed -n "s/^$1 page: .*--page //p" out; }
agree() { expect 0 'all of them in order' tl --verify --dir "$1"; }
reference() { awk -F'\t' -v a="$1" '$1 == a' "${2:-rows.tsv}" | LC_ALL=C sort -t$'\t' -k2,2nr -k3,3r; }
limited() { bash -c 'ulimit -f "$1"; shift; exec "$@"' - "$1" "$timeline" "${@:2}"; }  # in KiB
step() { echo "--- $1"; }

step 'load, and read all of it back'
expect 0 'new rows loaded' tl load "$history" --dir D --hot author-1=8
total=$(($(wc -l <rows.tsv) - 1))
agree D
grep -qF "$(printf "%'d" "$total" | sed 's/,//g')" <(tr -d , <out) || fail 'not every row was compared'
for author in author-1 author-2; do
  tl "$author" --dir D --all 2>err >all.tsv
  diff -q all.tsv <(reference "$author") >/dev/null || fail "--all of $author is not the reference"
  tl "$author" --dir D --all --per-shard --concurrency 4 2>err | cmp -s - all.tsv ||
    fail "--all --per-shard of $author differs"
done
expect 0 '0 new rows loaded' tl load rows.tsv --dir D --hot author-1=8
expect 0 'all of them in order' tl --verify author-1 --dir D

step 'pages: on, back by the token, back by --previous'
expect 0 'rows returned' tl author-1 --dir D --limit 7
rows_shown >page1; next="$(token_of next)"
[ -z "$(token_of previous)" ] || fail 'the first page has a page before it'
[ "$(wc -l <page1)" = 7 ] || fail 'not 7 rows'
expect 0 'rows returned' tl author-1 --dir D --limit 7 --page "$next"
rows_shown >page2; previous="$(token_of previous)"; third="$(token_of next)"
cat page1 page2 | awk '{print $3}' | cmp -s - <(reference author-1 | head -n 14 | cut -f3) ||
  fail 'two pages are not the first 14 rows'
expect 0 'rows returned' tl author-1 --dir D --limit 7 --page "$previous"
rows_shown | cmp -s - page1 || fail 'the token for the page before leads elsewhere'
expect 0 'rows returned' tl author-1 --dir D --limit 7 --page "$next" --previous
rows_shown | cmp -s - page1 || fail '--previous leads elsewhere'
expect 0 'rows returned' tl author-1 --dir D --limit 7 --page "$third" --previous --per-shard --concurrency 3
rows_shown | cmp -s - page2 || fail '--previous with --per-shard leads elsewhere'
expect 0 'no page before' tl author-1 --dir D --page "$previous" --limit 7 --previous
# The command that a page proposes works as it stands, also with an author that needs quoting.
expect 0 'rows returned' tl author-1 --dir D --limit 7
bash -c "$(sed -n 's/^next page: *//p' out)" >out 2>err
rows_shown | cmp -s - page2 || fail 'the proposed command does not show the next page'

step 'several authors as one list'
busy="$(awk -F'\t' 'NR > 1 {n[$1]++} END {for (a in n) print n[a], a}' rows.tsv | sort -rn | awk 'NR == 3 {print $2}')"
expect 0 'rows returned' tl --feed "author-1,author-2,$busy" --dir D --limit 50
rows_shown | awk '{print $4}' | cmp -s - <(awk -F'\t' -v a="$busy" '$1 ~ /^author-[12]$/ || $1 == a' rows.tsv |
  LC_ALL=C sort -t$'\t' -k2,2nr -k3,3r | head -n 50 | cut -f3) || fail 'the feed is not the reference'
feed="$(token_of next)"
expect 0 'rows returned' tl "$busy" author-2 author-1 --dir D --limit 50 --page "$feed"
expect 0 'all of them in order' tl --verify --feed "author-1,author-2,$busy" --dir D --per-shard
expect 0 '5 of' tl authors --dir D --limit 5

step 'page tokens that are none, or of others'
expect 2 'was refused' tl author-2 --dir D --page "$next"
expect 2 'was refused' tl author-1 author-2 --dir D --page "$next"
expect 2 'was refused' tl author-1 --dir D --page "${next%????}"
expect 2 'was refused' tl author-1 --dir D --page "${next}A"
expect 2 'was refused' tl author-1 --dir D --page 'not a token!'
expect 2 'was refused' tl author-1 --dir D --page "A$(printf 'x%.0s' $(seq 9000))"
forged="${next:0:12}$(echo "${next:12:1}" | tr 'A-Za-z0-9_-' 'B-ZAb-za1-90AB')${next:13}"
expect 2 'was refused' tl author-1 --dir D --page "$forged"
expect 2 '--previous' tl author-1 --dir D --previous

step 'authors that are not there, or can not be'
expect 2 'there is no item of nobody' tl nobody --dir D
expect 2 'there is no item of nobody' tl --feed author-1,nobody --dir D
expect 2 'there is no item of nobody' tl --verify nobody --dir D
expect 2 'reads as bucket 3' tl author-1:bucket-3 --dir D
expect 2 'name an author' tl --dir D
expect 2 '--dir' tl author-1

step 'bad options'
for bad in author-1 =8 author-1= author-1=0 author-1=-1 author-1=8x author-1=5000 author-1=99999999999; do
  expect 2 'use AUTHOR=BUCKETS' tl load rows.tsv --dir bad --hot "$bad"
  expect 2 'use AUTHOR=BUCKETS' tl --grow "$bad" --dir D
done
[ ! -e bad ] || fail 'a bad --hot left something behind'
expect 2 'limit' tl author-1 --dir D --limit 0
expect 2 'limit' tl author-1 --dir D --limit many
expect 2 'concurrency' tl author-1 --dir D --concurrency 0
expect 2 'shards' tl load rows.tsv --dir bad --shards 0
expect 2 'not expected' tl author-1 --dir D --nonsense
expect 2 'has 4 databases, not 5' tl load rows.tsv --dir D --shards 5
expect 2 'is in 8 bucket(s) here already' tl load rows.tsv --dir D --hot author-1=9
expect 2 'is in 1 bucket(s) here already' tl load rows.tsv --dir D --hot author-2=8

step 'files that are none'
expect 1 'missing.tsv can not be read' tl load missing.tsv --dir bad
expect 1 'is a directory' tl load D --dir bad
[ ! -e bad ] || fail 'an unreadable history left a directory behind'
head -c 60000 "$history" >cut.tsv.gz
expect 1 'can not be read beyond line' tl load cut.tsv.gz --dir cut --hot author-1=8
agree cut
expect 0 'new rows loaded' tl load "$history" --dir cut --hot author-1=8
agree cut
grep -qF "$total rows agree" <(tr -d , <out) || fail 'the cut load was not completed'

step 'rows that are none'
{
  head -n 50 rows.tsv
  printf 'author-1\t12\n\nauthor-1\tnoon\tabc\t1\n\t12\tabc\t1\nauthor-1\t12\t\t1\n'
  printf 'author-1:bucket-3\t12\tabc\t1\nauthor-1\t99999999999999999999\tabc\n'
  printf 'author-1\t12\t%s\n' "$(printf 'x%.0s' $(seq 300))"
  printf '%s\t12\tabc\n' "$(printf 'x%.0s' $(seq 2000))"
  printf 'somebody-else\t%s\n' "$(sed -n 2p rows.tsv | cut -f2-)"
  for _ in $(seq 30); do echo nonsense; done
  sed -n 51,100p rows.tsv
} >mixed.tsv
expect 3 'line 51: it has 2 of the columns' tl load mixed.tsv --dir mixed --hot author-1=8
grep -qF '99 new rows loaded, 0 there already, 40 malformed' out || fail 'not the counts of malformed rows'
[ "$(grep -c '^line ' err)" = 20 ] || fail 'not 20 malformed rows named'
for text in 'line 53: created_at is no whole number' 'line 54: the author is empty' \
  'line 55: the id is empty' 'line 56: ambiguous_key' 'line 57: created_at is no' \
  'line 58: the id has 300 bytes' 'line 59: limit_exceeded' 'line 60: another author has' \
  'and 20 more malformed rows'; do
  grep -qF "$text" err || fail "malformed row not told: $text"
done
agree mixed
expect 0 '0 new rows loaded' tl load <(printf '') --dir mixed

step 'authors of any bytes, from standard input'
printf "it's me\t5\ta\tone\n-x\t6\tb\n\xff\xfe\x1b[2J\t7\tc\nload\t8\td\n[x]\t9\te\nit's me\t9\tf\n\xc3\xa9\xc3\xa8\t-7\tg\nno=1\t1\th" >odd.tsv
tl load - --dir odd --hot 'no=1=4' <odd.tsv >out 2>err || fail 'standard input was not loaded'
agree odd
expect 0 'rows agree' tl --verify "it's me" --feed 'load,[x],-x' --dir odd
expect 0 '1969-12-31 23:59:53' tl $'\xc3\xa9\xc3\xa8' --dir odd
for author in "it's me" $'\xff\xfe\x1b[2J'; do
  expect 0 'returned' tl "$author" "it's me" '--feed=[x]' --feed=load --feed=-x --dir odd --limit 1
  ! grep -q $'\x1b' out || fail 'an escape sequence reached the terminal'
  bash -c "$(sed -n 's/^next page: *//p' out)" >out 2>err || fail 'the proposed command does not work'
done

step 'a git repository'
if command -v git >/dev/null; then
  export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
  git init -q repo
  for i in 1 2 3; do
    git -C repo -c user.name="A. U. Thor" -c user.email=a@example.org commit -q --allow-empty \
      --date "2024-05-0$i 12:00:00 +0200" -m "Change $i: no	tab is lost"
  done
  git -C repo log --reverse --format='%aN%x09%at%x09%H%x09%s' >repo.tsv
  expect 0 '3 new rows loaded' tl load repo.tsv --dir repo.d
  expect 0 '2024-05-03 10:00:00' tl 'A. U. Thor' --dir repo.d
  tl 'A. U. Thor' --all --dir repo.d 2>err | cmp -s - <(tac repo.tsv) || fail 'the subjects are not the same'
fi

step 'directories that are none, or damaged'
expect 1 'is not there' tl author-1 --dir nowhere
expect 1 'has no routing table' tl author-1 --dir .
expect 1 'has no routing table' tl --grow author-1=16 --dir .
[ ! -e lock ] || fail '--grow left a lock in a foreign directory'
damaged() { rm -rf damaged; cp -r D damaged; }
damaged; printf 'x' | dd of=damaged/routing.swrt bs=1 seek=40 conv=notrunc status=none
expect 1 'no usable routing table' tl author-1 --dir damaged
expect 1 'no usable routing table' tl load rows.tsv --dir damaged
expect 1 'no usable routing table' tl --grow author-1=16 --dir damaged
damaged; truncate -s 100 damaged/routing.swrt
expect 1 'no usable routing table' tl author-1 --dir damaged
damaged; rm damaged/routing.swrt
expect 1 'is gone, but there are databases' tl load rows.tsv --dir damaged
damaged; rm damaged/db2.sqlite
expect 1 'db2.sqlite' tl author-1 --dir damaged
expect 0 'new rows loaded' tl load rows.tsv --dir damaged
agree damaged
damaged; head -c 4096 /dev/urandom | dd of=damaged/db1.sqlite conv=notrunc status=none
expect 1 'db1.sqlite is damaged' tl author-1 --dir damaged
damaged; rm damaged/unsharded.sqlite*
expect 1 'unsharded.sqlite' tl --verify --dir damaged
! tl author-1 --dir D --all >/dev/full 2>err || fail 'a full output went unnoticed'
! tl author-1 --dir D >/dev/full 2>err || fail 'a full output went unnoticed'

step 'a row that is not the same, and one that is stored twice'
if command -v python3 >/dev/null; then
  sql() { python3 - "$@" <<'PYTHON'
import sqlite3, sys
base = sqlite3.connect(sys.argv[1])
base.executescript(sys.argv[2])
base.commit()
PYTHON
  }
  damaged; sql damaged/unsharded.sqlite "DELETE FROM item WHERE author='author-2' AND id=(SELECT max(id) FROM item WHERE author='author-2')"
  expect 4 '' tl --verify --dir damaged
  grep -qF 'one list is not the same' out || fail 'the difference was not told'
  grep -qE '^row [0-9,]+ differs' out || fail 'the differing row was not named'
  damaged; sql damaged/db0.sqlite "INSERT INTO item SELECT 'author-1:bucket-3', created_at, id, note FROM item
    WHERE partition_key = 'author-1:bucket-1' LIMIT 1"
  expect 4 '' tl --verify --dir damaged
  grep -qF 'one row is stored twice' out || fail 'the row that is stored twice was not told'
else
  echo 'skipped: no python3'
fi

step 'a database that another process holds'
if command -v python3 >/dev/null; then
  cp -r D locked
  hold() {  # FILE MODE
    python3 -c 'import sqlite3, sys, time
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("PRAGMA locking_mode = " + sys.argv[2]); base.execute("BEGIN IMMEDIATE")
base.execute("INSERT OR REPLACE INTO item SELECT * FROM item LIMIT 1"); open("held", "w"); time.sleep(60)' "$@" &
    children+=($!)
    while [ ! -e held ]; do sleep 0.05; done
    rm held
  }
  hold locked/db1.sqlite NORMAL; holder=$!
  expect 0 'rows returned' tl author-1 --dir locked   # readers do not mind a writer
  expect 1 'db1.sqlite is locked by another process' tl load rows.tsv --dir locked
  kill -9 "$holder"; wait "$holder" 2>/dev/null || true
  expect 0 'there already' tl load rows.tsv --dir locked
  hold locked/db3.sqlite EXCLUSIVE; holder=$!
  expect 1 'db3.sqlite is locked by another process' tl author-1 --dir locked
  kill -9 "$holder"; wait "$holder" 2>/dev/null || true
  agree locked
else
  echo 'skipped: no python3'
fi

step 'two loads at once'
mkfifo pipe
tl load pipe --dir twice --hot author-1=8 >/dev/null 2>&1 & first=$!; children+=("$first")
exec 9>pipe
while [ ! -e twice/routing.swrt ]; do sleep 0.05; done
expect 1 'is being changed by another process' tl load rows.tsv --dir twice
expect 1 'is being changed by another process' tl --grow author-1=16 --dir twice
cat rows.tsv >&9; exec 9>&-
wait "$first" || fail 'the load that was first failed'
agree twice

step 'killed in the middle, and run again'
tl load pipe --dir killed --hot author-1=8 >/dev/null 2>&1 & victim=$!; children+=("$victim")
exec 9>pipe
head -n 9000 rows.tsv >&9
until "$timeline" authors --dir killed 2>/dev/null | grep -qE '[1-9][0-9,]* items in all'; do sleep 0.05; done
kill -9 "$victim"; wait "$victim" 2>/dev/null || true
exec 9>&-
tl authors --dir killed --limit 1 >out
! grep -qF "$total items" <(tr -d , <out) || fail 'it was not killed in the middle'
for delay in 0.005 0.01 0.02 0.03 0.04 0.06; do
  "$timeline" load rows.tsv --dir killed --hot author-1=8 >/dev/null 2>&1 & victim=$!
  sleep "$delay"; kill -9 "$victim" 2>/dev/null || true; wait "$victim" 2>/dev/null || true
  rm -rf fresh
  "$timeline" load rows.tsv --dir fresh --hot author-1=8 >/dev/null 2>&1 & victim=$!
  sleep "$delay"; kill -9 "$victim" 2>/dev/null || true; wait "$victim" 2>/dev/null || true
  expect 0 'there already' tl load rows.tsv --dir fresh --hot author-1=8
  agree fresh
  grep -qF "$total rows agree" <(tr -d , <out) || fail "rows are missing after a kill at $delay s"
done
expect 0 'there already' tl load rows.tsv --dir killed --hot author-1=8
agree killed
grep -qF "$total rows agree" <(tr -d , <out) || fail 'the killed load was not completed'

step 'a full disk'
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=600k tmpfs small 2>/dev/null; then
  mounted=yes
  expect 1 'full; make room and run the same command again' tl load rows.tsv --dir small/D --hot author-1=8
  mount -o remount,size=64m small
else
  echo 'no tmpfs to fill: a limit on file sizes instead'
  expect 1 'run the same command again' limited 200 load rows.tsv --dir small/D --hot author-1=8
fi
expect 0 'new rows loaded' tl load rows.tsv --dir small/D --hot author-1=8
agree small/D
grep -qF "$total rows agree" <(tr -d , <out) || fail 'rows are missing after the disk was full'
expect 1 'routing.swrt.new can not be written' limited 4 load rows.tsv --dir nothing --hot author-1=8
[ ! -e nothing/routing.swrt ] || fail 'half a routing table was left'
expect 1 'can not be written' limited 4 --grow author-1=16 --dir small/D
agree small/D
expect 0 'new rows loaded' tl load rows.tsv --dir nothing

step 'grow, then load more'
half=$((total / 2))
head -n "$half" rows.tsv >older.tsv
sed '1d' rows.tsv | tail -n +"$half" >newer.tsv
# The newer half first, so that the older one arrives late, behind places where readers stand.
expect 0 'new rows' tl load newer.tsv --dir grown --hot author-1=8
expect 0 'returned' tl author-1 --dir grown --limit 9
rows_shown >page1; before="$(token_of next)"
expect 0 'returned' tl author-1 --dir grown --limit 9 --page "$before"
rows_shown >page2; back="$(token_of previous)"
expect 0 '8 partition keys before, 16 after' tl --grow author-1=16 --dir grown
expect 0 'nothing to do' tl --grow author-1=16 --dir grown
expect 0 '1 partition key before, 5 after' tl --grow author-2=4 --dir grown
expect 0 'there already' tl load newer.tsv --dir grown   # now found under the older schemes
grep -qF '0 new rows' out || fail 'items from before the growth were stored again'
agree grown
expect 0 'new rows' tl load older.tsv --dir grown --hot author-1=8
expect 0 '0 new rows' tl load rows.tsv --dir grown --hot author-1=16
agree grown
grep -qF "$total rows agree" <(tr -d , <out) || fail 'not every row once after the growth'
for author in author-1 author-2; do
  tl "$author" --dir grown --all 2>err | cmp -s - <(reference "$author") || fail "$author after the growth"
done
expect 0 'returned' tl author-1 --dir grown --limit 9 --page "$before"
rows_shown | cmp -s - page2 || fail 'a page token from before the growth leads elsewhere'
expect 0 'returned' tl author-1 --dir grown --limit 9 --page "$back"
rows_shown | cmp -s - page1 || fail 'a token back from before the growth leads elsewhere'
# Half way through, a reader gets what arrived late as well.
expect 2 'here already' tl load rows.tsv --dir grown --hot author-1=5

echo 'all of it works'
