#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# measure_gpu.sh - on a machine with a GPU: what docs/performance.md records.
#
#   scripts/measure_gpu.sh [PART...]      all parts, or some of: sizes types shapes
#
#   sizes    sizes from 1e3 to 8e9: radix, the merges and bitonic beside CUB's sorts
#   types    every key type and pairs, 1e6 to 1e9 items, beside CUB's sorts
#   shapes   every shape of the data, 1e8 keys and pairs, beside CUB's sorts
#
# ROWS (default build/measured) gets the rows of bench_sort, and the plots if there is gnuplot. That the
# paths are right is shown by `make check-gpu`. Needs nvcc.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- sizes types shapes
rows=${ROWS:-build/measured}
mkdir -p "$rows"

say() { printf '\n== %s\n' "$*"; }

# bench NAME ARGUMENT...: the rows go to $rows/NAME.json.
bench() {
    local name=$1
    shift
    say "bench_sort $*"
    build/bench/bench_sort --json="$rows/$name.json" "$@"
}

peers=cub-radix,cub-merge

measure_sizes() {
    bench sizes --types=f64,u64,f32,u32 \
        --sizes=1e3,1e4,65536,1e5,3e5,1e6,3e6,1e7,1e8,1e9,4e9,8e9 \
        --paths=radix,segmented-merge,direct-merge,bitonic,$peers
    command -v gnuplot >/dev/null || return 0
    for type in f64 u64 f32 u32; do
        scripts/plot_bench.sh "$rows/sizes.json" $type "$rows/bench_${type}_sizes.svg"
    done
}

measure_types() {
    bench types --types=all --sizes=1e6,1e7,1e9 --paths=radix,$peers
}

measure_shapes() {
    bench shapes --types=f64,u32,u64+u32,u32+u32 --shapes=all --sizes=1e8 \
        --paths=radix,segmented-merge,$peers
}

for part in "$@"; do
    declare -F "measure_$part" >/dev/null || { echo "$0: no part '$part'" >&2; exit 2; }
done
say "build"
make -s -j"$(nproc)" all bench
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
grep -m1 'model name' /proc/cpuinfo; nproc; free -g | sed -n 2p; uname -sr; cc --version | head -n 1
./gpusort --list

for part in "$@"; do
    "measure_$part"
done
