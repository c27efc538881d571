#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# measure_cpu.sh - times the CPU sort in memory against VQSort, NumPy and std::sort, for
# docs/performance.md.
#
#   scripts/measure_cpu.sh [PART...]      sizes and shapes, or these: sizes shapes plots
#
#   sizes    uniform keys, SIZES of them, by one thread and by all
#   shapes   1000 values, zipf and sorted keys of the same sizes
#   plots    uniform keys of each width, by all threads, and the pictures of them,
#            bench_cpu_TYPE_sizes.svg, as docs/ has them
#
# SIZES (default 1e2,3e2,1e3,3e3,1e4,3e4,1e5,3e5,1e6) are comma-separated. ROWS (default build/measured)
# gets the rows, cpu_PART_THREADS.json, and the plots, which need gnuplot. The plots have std::sort too,
# because VQSort does not sort keys of one byte. BUILD (default build) is where `make bench` put
# bench_cpu; python3 has NumPy, or its rows are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- sizes shapes
all_threads=$(nproc)
rows=${ROWS:-build/measured}
mkdir -p "$rows"

# bench PART THREADS TYPES SHAPES SIZES PATHS: the rows go to $rows/cpu_PART_THREADS.json.
bench() {
    printf '\n== %s, threads: %s\n' "$1" "$2"
    "${BUILD:-build}/bench/bench_cpu" --threads="$2" --types="$3" --shapes="$4" --sizes="$5" \
        --paths="$6" --least-ms=5 --json="$rows/cpu_$1_$2.json" || [ $? -eq 1 ]
    # 1: a peer's output is wrong, as its row says
}

# numpy PART TYPES SIZES: uniform keys, appended to the rows of all threads.
numpy() {
    local counts
    IFS=, read -ra counts <<<"$3"
    if "${PYTHON:-python3}" -c 'import numpy' 2>/dev/null; then
        "${PYTHON:-python3}" scripts/measure_numpy.py --types="$2" \
            --json="$rows/cpu_$1_$all_threads.json" "${counts[@]}"
    fi
}

sizes=${SIZES:-1e2,3e2,1e3,3e3,1e4,3e4,1e5,3e5,1e6}
plot_sizes=1e3,1e4,1e5,1e6,1e7
types=f64,u64,f32,u32,u64+u64
plot_types=f64,u32,u16,u8,u64+u64
for part in "$@"; do
    case $part in
    sizes | shapes)
        shapes=uniform
        [ "$part" = sizes ] || shapes=few-distinct,zipf,sorted
        bench "$part" 1 "$types,u16,u8" "$shapes" "$sizes" radix,vqsort
        [ "$all_threads" -eq 1 ] ||
            bench "$part" "$all_threads" "$types,u16,u8" "$shapes" "$sizes" radix,vqsort,vqsort-halves
        [ "$part" = shapes ] || numpy sizes "$types,u16,u8" "$sizes"
        ;;
    plots)
        bench plots "$all_threads" "$plot_types" uniform "$plot_sizes" radix,vqsort,vqsort-halves,std-sort
        numpy plots "$plot_types" "$plot_sizes"
        for type in ${plot_types//,/ }; do
            scripts/plot_bench.sh "$rows/cpu_plots_$all_threads.json" "$type" \
                "$rows/bench_cpu_${type//+/_}_sizes.svg"
        done
        ;;
    *)
        echo "$0: no part '$part'" >&2
        exit 2
        ;;
    esac
done
