#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_targets.sh DIR [TARGET...]: runs the fuzz targets built in DIR, all of them or the named ones
# (such as fuzz_zstd), all at the same time. DIR may have been copied to another machine.
#
#   FUZZ_SECONDS=N    ends after N seconds (default 0: each target runs until it finds a difference)
#   FUZZ_FLAGS=...    more flags of libFuzzer, such as -fork=4: four processes per target
#
# Inputs are kept in DIR/corpus/TARGET, findings in DIR/findings, the output of libFuzzer in
# DIR/TARGET.log. The status is 1 if there are findings.
set -euo pipefail
dir=$(realpath "$1")
shift
targets=("$@")
if [ $# -eq 0 ]; then
    for program in "$dir"/fuzz_*; do
        [ ! -x "$program" ] || targets+=("$(basename "$program")")
    done
fi
mkdir -p "$dir/findings"
cd "$(dirname "$0")"

fuzz() {
    local corpus=$dir/corpus/$1
    mkdir -p "$corpus"
    ./seeds.sh "$1" "$dir/seeds/$1"
    "$dir/$1" -max_total_time="${FUZZ_SECONDS:-0}" -timeout=20 -print_final_stats=1 \
        -artifact_prefix="$dir/findings/$1-" ${FUZZ_FLAGS:-} "$corpus" "$dir/seeds/$1" >"$dir/$1.log" 2>&1
}

status=0
declare -A running
trap 'kill "${running[@]}" 2>/dev/null' INT TERM
for target in "${targets[@]}"; do
    fuzz "$target" &
    running[$target]=$!
    echo "$target: $dir/$target.log"
done
for target in "${targets[@]}"; do
    if wait "${running[$target]}"; then result='no findings'; else result='FOUND something' status=1; fi
    executed=$(sed -nE 's/^(stat::number_of_executed_units: *|#([0-9]+):.*)([0-9]*)/\2\3/p' "$dir/$target.log" | tail -n 1)
    echo "$target: ${executed:-?} executions, $result"
    grep -a '^differs\|SUMMARY\|Test unit' "$dir/$target.log" || true
done
exit $status
