#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target (tests/fuzz) for FUZZ_SECONDS (30) with a fixed seed, one on each processor:
# first its corpus, then the inputs that libFuzzer generates. clang builds the targets, with
# sanitizers of their own.
. "$(dirname "$0")/../lib.sh"
built=$(dirname "$GPUSORT")/fuzz
[ -n "$(compgen -G "$built/fuzz_*")" ] || skip_all 'no fuzz targets: clang with libFuzzer builds them'

# fuzz TARGET: runs it twice, and creates a file for each run that passes.
fuzz() {
    local log=$work/log/$1
    "$tests_dir/fuzz/seeds.sh" "$1" "$work/seeds/$1"
    mkdir -p "$work/corpus/$1" "$work/findings/$1"
    "$built/$1" -runs=0 -artifact_prefix="$work/findings/$1/" "$work/seeds/$1" >"$log.seeds" 2>&1 ||
        return 0
    touch "$log.seeds_passed"
    "$built/$1" -seed=1 -max_total_time="${FUZZ_SECONDS:-30}" -print_final_stats=1 -timeout=20 \
        -artifact_prefix="$work/findings/$1/" "$work/corpus/$1" "$work/seeds/$1" >"$log.fuzz" 2>&1 ||
        return 0
    touch "$log.fuzz_passed"
}
export -f fuzz
export tests_dir built work

# shellcheck disable=SC2016 # expanded by the shell that xargs starts
printf '%s\n' "$built"/fuzz_* | grep -v '\.' | xargs -n 1 basename |
    xargs -P "$(nproc)" -I '{}' bash -c 'set -eu; fuzz "$1"' _ '{}'

# passed LOG: succeeds if the run passed. Otherwise prints the problem and commands that repeat it.
passed() {
    local finding
    [ ! -e "$1_passed" ] || return 0
    grep -aE '^differs|SUMMARY|ERROR' "$1" || tail -n 5 "$1"
    for finding in "$work/findings/$target"/*; do
        if [ -f "$finding" ]; then
            echo "printf '$(od -An -v -tx1 "$finding" | tr -d '\n' | sed 's/ /\\x/g')' >finding;" \
                "$built/$target finding"
        fi
    done
    return 1
}

for program in "$built"/fuzz_*; do
    target=$(basename "$program")
    case $target in *.*) continue ;; esac
    log=$work/log/$target
    ok "$target: the corpus" passed "$log.seeds"
    ok "$target: ${FUZZ_SECONDS:-30} s of seed 1" passed "$log.fuzz"
    sed -nE 's/^stat::number_of_executed_units: */# executions: /p' "$log.fuzz"
done

done_testing
