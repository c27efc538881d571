#!/usr/bin/env bash
# measure_cpu.sh - the CPU's sort in memory, beside VQSort, NumPy and std::sort: what
# docs/performance.md records of it.
#
#   scripts/measure_cpu.sh [PART...]      both parts, or one: sizes shapes
#
#   sizes    uniform keys, SIZES of them, by one thread and by all
#   shapes   1000 values, zipf and sorted keys of the same sizes
#
# SIZES (default 1e2,3e2,1e3,3e3,1e4,3e4,1e5,3e5,1e6) have commas between. ROWS (default
# build/measured) gets the rows, cpu_PART_THREADS.json, and the plots of sizes if there is gnuplot.
# BUILD (default build) is where `make bench` put bench_cpu; python3 has NumPy, or its rows are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- sizes shapes
sizes=${SIZES:-1e2,3e2,1e3,3e3,1e4,3e4,1e5,3e5,1e6}
rows=${ROWS:-build/measured}
types=f64,u64,f32,u32,u64+u64
mkdir -p "$rows"

# bench PART THREADS SHAPES: the rows go to $rows/cpu_PART_THREADS.json.
bench() {
    local paths=radix,vqsort
    [ "$2" = 1 ] || paths+=,vqsort-halves
    printf '\n== %s, threads: %s\n' "$1" "$2"
    "${BUILD:-build}/bench/bench_cpu" --types="$types" --shapes="$3" --sizes="$sizes" --threads="$2" \
        --paths="$paths" --least-ms=5 --json="$rows/cpu_$1_$2.json"
}

for part in "$@"; do
    case $part in
    sizes) shapes=uniform ;;
    shapes) shapes=few-distinct,zipf,sorted ;;
    *)
        echo "$0: no part '$part'" >&2
        exit 2
        ;;
    esac
    wrong=0
    for threads in $(printf '%s\n' 1 "$(nproc)" | sort -nu); do
        bench "$part" "$threads" "$shapes" || wrong=$?
    done
    [ "$wrong" -le 1 ] || exit "$wrong" # 1: a peer's output is wrong, as its row says
    [ "$part" = sizes ] || continue
    if "${PYTHON:-python3}" -c 'import numpy' 2>/dev/null; then
        IFS=, read -ra counts <<<"$sizes"
        "${PYTHON:-python3}" scripts/measure_numpy.py --json="$rows/cpu_sizes_$(nproc).json" "${counts[@]}"
    fi
    if command -v gnuplot >/dev/null; then
        for type in ${types//,/ }; do
            scripts/plot_bench.sh sizes "$rows/cpu_sizes_$(nproc).json" "$type" \
                "$rows/bench_cpu_${type//+/_}_sizes.svg"
        done
    fi
done
