#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a sorted file: installs what is missing, builds gpusort, sorts 10,000,000
# doubles, shows the time of each stage, and proves the result by a program that is not gpusort. On a
# machine with a GPU this includes a compiler for it (install_cuda.sh).
#
#   scripts/quickstart.sh [COUNT]
set -euo pipefail
cd "$(dirname "$0")/.."
count=${1:-10000000}
if [[ ! $count =~ ^[0-9]+$ ]]; then
    echo "$0: the count of numbers is not a number: $count" >&2
    exit 2
fi

scripts/install_packages.sh gcc g++ make libzstd-dev
scripts/install_cuda.sh
echo '== building'
if nvidia-smi -L >/dev/null 2>&1; then
    export NVCC_GENCODE=-arch=native # takes a quarter of the time that code for all GPUs takes
fi
make -j"$(nproc)"

work=$(mktemp -d "${TMPDIR:-/tmp}/gpusort-quickstart.XXXXXX")
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # the compiler may have options, or ccache before it
${CC:-cc} -std=c11 -O2 -o "$work/doubles" tests/doubles.c -lm

echo "== making $count random doubles"
"$work/doubles" make "$count" "$RANDOM" >"$work/data.bin"

echo '== gpusort -v -i data.bin -o sorted.bin'
start=$(date +%s%N)
"${BUILD:-build}/gpusort" -v -i "$work/data.bin" -o "$work/sorted.bin"
elapsed_ms=$((($(date +%s%N) - start) / 1000000))

echo '== proving it'
"$work/doubles" prove "$work/data.bin" "$work/sorted.bin"
printf '%s doubles sorted, file to file, in %d.%03d s\n' \
    "$count" $((elapsed_ms / 1000)) $((elapsed_ms % 1000))
