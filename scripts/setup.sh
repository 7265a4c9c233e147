#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Installs what shardweave's own builds need on Debian 12, Debian 13 or Ubuntu 24.04.
#
#   scripts/setup.sh demo   compiler, build tools and the libraries of the examples
#   scripts/setup.sh test   these and what the tests need (the default)
#   scripts/setup.sh ci     these and clang 19, clang-tidy, clang-format, ccache
set -euo pipefail

what="${1:-test}"
packages=(g++ cmake ninja-build pkg-config git ca-certificates
  libxxhash-dev libfmt-dev libsqlite3-dev libcli11-dev zlib1g-dev)
for_tests=(python3 python3-xxhash nlohmann-json3-dev libsodium-dev libasio-dev
  postgresql libpq-dev redis-server libhiredis-dev)
case "$what" in
  demo) ;;
  test) packages+=("${for_tests[@]}") ;;
  ci) packages+=("${for_tests[@]}"
    clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev ccache) ;;
  *) echo "usage: $0 [demo|test|ci]" >&2; exit 2 ;;
esac

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
# The lock timeout waits for another apt on the machine instead of failing beside it.
apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null >/dev/null
}
# Files that are there for the installation only.
clean_up=()
trap '[ "${#clean_up[@]}" = 0 ] || as_root rm -f "${clean_up[@]}"' EXIT

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
candidate() { apt-cache policy "$1" | sed -n 's/^  Candidate: //p'; }

# The package is called catch2 in Debian 13 and Ubuntu 24.04, libcatch2-dev in Debian 12's
# backports; Debian 12's own catch2 is version 2, which has no catch_all.hpp.
has_catch2() { [ -e /usr/include/catch2/catch_all.hpp ] || [ -e /usr/local/include/catch2/catch_all.hpp ]; }

install_catch2() {
  local name
  for name in catch2 libcatch2-dev; do
    case "$(candidate "$name")" in 3.*) apt install --no-install-recommends "$name"; return ;; esac
  done
  # shellcheck disable=SC1091  # the file is the machine's
  local suite; suite="$(. /etc/os-release && echo "$VERSION_CODENAME")"
  local uri; uri="$(apt-get indextargets --format '$(REPO_URI)' \
    'Created-By: Packages' "Codename: $suite" 'Component: main' | head -n 1)"
  echo "setup: Catch2 3 comes from $suite-backports (its source is removed again afterwards)"
  backports=/etc/apt/sources.list.d/shardweave-backports.list
  clean_up+=("$backports")
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite-backports main" |
    as_root tee "$backports" >/dev/null
  apt update
  apt install --no-install-recommends "libcatch2-dev/$suite-backports"
}

# The tests start servers of their own: no package is to start one of the system's, nor to make a
# database. What is there already stays as it is.
without_services() {
  local policy=/usr/sbin/policy-rc.d clusters=/etc/postgresql-common/createcluster.conf
  if [ ! -e "$policy" ]; then
    clean_up+=("$policy")
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
  fi
  if ! installed postgresql && [ ! -e "$clusters" ]; then
    as_root mkdir -p "${clusters%/*}"
    echo 'create_main_cluster = false' | as_root tee "$clusters" >/dev/null
  fi
}

missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
need_catch2=no
if [ "$what" != demo ] && ! has_catch2; then need_catch2=yes; fi

if [ "${#missing[@]}" = 0 ] && [ "$need_catch2" = no ]; then
  echo "setup: everything for '$what' is installed"
  exit 0
fi
wanted="${missing[*]}"
if [ "$need_catch2" = yes ]; then wanted+=" Catch2 3"; fi
echo "setup: installing for '$what': ${wanted# }"
apt update
without_services
[ "${#missing[@]}" = 0 ] || apt install --no-install-recommends "${missing[@]}"
[ "$need_catch2" = no ] || install_catch2
echo "setup: done"
