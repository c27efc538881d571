#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds gpusort for aarch64 with Debian's cross compiler, linked statically, into DIR/build. DIR/gpusort
# and DIR/many_runs run the programs under qemu. If a package cannot be had, or this machine is an aarch64,
# the status is 0 and DIR/missing gives the reason; a build that fails has the status of make.
#
#   scripts/build_aarch64.sh DIR [MAKE-ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:--} = -* ]]; then
    echo "usage: $0 DIR [MAKE-ARGUMENT...]" >&2
    exit 2
fi
mkdir -p "$1"
dir=$(realpath "$1")
shift
rm -f "$dir"/{missing,gpusort,many_runs}

end_without() {
    echo "$1" | tee "$dir/missing"
    exit 0
}

# apt for the other architecture, with lists of its own: the machine's configuration stays as it is.
apt_arm64() {
    local own=$dir/apt
    mkdir -p "$own"/{lists/partial,archives/partial}
    touch "$own/status"
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$own" \
        -o Dir::State::status="$own/status" -o Dir::Cache="$own" -o APT::Sandbox::User=root "$@"
}

[ "$(uname -m)" != aarch64 ] || end_without 'this machine is an aarch64: the other tests are for it'
scripts/install_packages.sh gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static ||
    end_without 'the packages of the cross compiler or of qemu are not installed'
for program in aarch64-linux-gnu-g++ qemu-aarch64-static; do
    command -v $program >/dev/null || end_without "no $program"
done
zstd=$dir/zstd/usr
if [ ! -f "$zstd/lib/aarch64-linux-gnu/libzstd.a" ]; then
    rm -f "$dir"/libzstd-dev_*.deb
    (apt_arm64 update && cd "$dir" && apt_arm64 download libzstd-dev) ||
        end_without 'the package libzstd-dev for arm64 cannot be downloaded'
    dpkg -x "$dir"/libzstd-dev_*.deb "$dir/zstd"
fi

make -j"$(nproc)" "$dir/build/gpusort" "$dir/build/tests/many_runs" BUILD="$dir/build" CUDA=0 \
    CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ CPPFLAGS="-isystem $zstd/include" \
    LDFLAGS="-static -L$zstd/lib/aarch64-linux-gnu" "$@"
for program in gpusort tests/many_runs; do
    printf '#!/bin/sh\nexec qemu-aarch64-static "%s" "$@"\n' "$dir/build/$program" \
        >"$dir/$(basename "$program")"
    chmod +x "$dir/$(basename "$program")"
done
