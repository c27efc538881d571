#!/usr/bin/env bash
# measure_gpu.sh - on a machine with a GPU: build, prove every path, then time the paths.
#
#   scripts/measure_gpu.sh [COUNT] [DIRECTORY]
#
# COUNT doubles (default 1000000000) are sorted file to file by each GPU path and by the CPU, in
# DIRECTORY (default a temporary one), which needs room for three times the data. Needs nvcc,
# compute-sanitizer, and python3 with NumPy. What it prints is what docs/performance.md records.
set -euo pipefail
cd "$(dirname "$0")/.."
count=${1:-1000000000}
work=$(mktemp -d "${2:-${TMPDIR:-/tmp}}/gpusort-measure.XXXXXX")
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n' "$*"; }

# Prints the wall clock seconds that a command takes.
seconds() {
    local start_ns
    start_ns=$(date +%s%N)
    "$@" >"$work/run.log" 2>&1 || { cat "$work/run.log"; return 1; }
    awk "BEGIN { printf \"%.3f\", ($(date +%s%N) - $start_ns) / 1e9 }"
}

say "build"
make -j"$(nproc)" all build/tests/device_matrix
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
grep -m1 'model name' /proc/cpuinfo; nproc; free -g | sed -n 2p; uname -sr; cc --version | head -n 1
df -h "$work" | tail -n 1
./gpusort --list

say "every path, tile, width, count and shape, against a reference"
build/tests/device_matrix | tail -25

say "compute-sanitizer memcheck and racecheck, 1000003 doubles through each path"
head -c $((1000003 * 8)) /dev/urandom >"$work/small.f64"
./gpusort --device=cpu -o "$work/small.cpu" "$work/small.f64"
for path in bitonic direct-merge segmented-merge radix; do
    for tool in memcheck racecheck; do
        compute-sanitizer --tool "$tool" --error-exitcode 1 \
            ./gpusort --device=gpu -a "$path" -o "$work/small.gpu" "$work/small.f64" 2>&1 | tail -1
    done
    cmp "$work/small.cpu" "$work/small.gpu" && echo "$path: same bytes as the CPU"
done

say "the sort alone"
build/tests/device_matrix --time

say "$count doubles, file to file"
python3 - "$count" "$work/data.f64" <<'PYTHON'
import sys, numpy as np
count, path = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(2026)
with open(path, "wb") as f:
    while count:
        n = min(count, 1 << 25)
        rng.random(n).tofile(f)
        count -= n
PYTHON
for _ in 1 2 3; do echo "cp: $(seconds cp "$work/data.f64" "$work/copy.f64") s"; done
rm "$work/copy.f64"
for _ in 1 2 3; do ./gpusort -v --device=cpu -o "$work/cpu.f64" "$work/data.f64"; done
for path in radix segmented-merge direct-merge bitonic; do
    for _ in 1 2 3; do ./gpusort -v --device=gpu -a "$path" -o "$work/gpu.f64" "$work/data.f64"; done
    cmp "$work/cpu.f64" "$work/gpu.f64" && echo "$path: same bytes as the CPU"
done

say "where the GPU begins to pay: file to file, both devices, seconds"
for n in 1000000 10000000 30000000 60000000 100000000 300000000; do
    head -c $((n * 8)) "$work/data.f64" >"$work/part.f64"
    for device in cpu gpu; do
        for _ in 1 2 3; do
            echo "$n $device $(seconds ./gpusort --device=$device -o "$work/out.f64" "$work/part.f64")"
        done
    done
done
