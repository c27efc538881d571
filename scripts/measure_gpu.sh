#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# measure_gpu.sh - on a machine with a GPU: what docs/performance.md records.
#
#   scripts/measure_gpu.sh [PART...]      all parts, or some of: sizes types shapes devices
#
#   sizes    sizes from 1e3 to 8e9: radix, the merges and bitonic beside CUB's sorts
#   types    every key type and pairs, 1e6 to 1e9 items, beside CUB's sorts
#   shapes   every shape of the data, 1e8 keys and pairs, beside CUB's sorts
#   devices  file to file, CPU and GPU, from which size on the GPU pays
#
# COUNT (default 1000000000) doubles are sorted from file to file. WORK (default a temporary directory)
# needs room for three times the data. ROWS (default build/measured) gets the rows of bench_sort, and
# the plots if there is gnuplot. That the paths are right is shown by `make check-gpu`. Needs nvcc, and
# python3 with NumPy.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- sizes types shapes devices
count=${COUNT:-1000000000}
rows=${ROWS:-build/measured}
work=$(mktemp -d "${WORK:-${TMPDIR:-/tmp}}/gpusort-measure.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$rows"

say() { printf '\n== %s\n' "$*"; }

# Prints the wall clock seconds that a command takes.
seconds() {
    local start_ns
    start_ns=$(date +%s%N)
    "$@" >"$work/run.log" 2>&1 || { cat "$work/run.log"; return 1; }
    awk "BEGIN { printf \"%.3f\", ($(date +%s%N) - $start_ns) / 1e9 }"
}

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

measure_devices() {
    local python=python3
    python3 -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
    say 'where the GPU begins to pay: file to file, seconds, and what --explain reckons'
    "$python" scripts/measure_data.py f64 "$count" "$work/data.f64"
    for n in 100000 1000000 10000000 30000000 100000000 200000000 300000000 1000000000; do
        [ "$n" -le "$count" ] || continue
        head -c $((n * 8)) "$work/data.f64" >"$work/part.f64"
        for device in cpu gpu; do
            for _ in 1 2 3; do
                echo "$n $device $(seconds ./gpusort --device=$device -o "$work/out.f64" "$work/part.f64")"
            done
        done
        ./gpusort --explain "$work/part.f64" | grep -E '^(device|model)'
    done
}

for part in "$@"; do
    declare -F "measure_$part" >/dev/null || { echo "$0: no part '$part'" >&2; exit 2; }
done
say "build"
make -s -j"$(nproc)" all bench
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
grep -m1 'model name' /proc/cpuinfo; nproc; free -g | sed -n 2p; uname -sr; cc --version | head -n 1
df -h "$work" | tail -n 1
./gpusort --list

for part in "$@"; do
    "measure_$part"
done
