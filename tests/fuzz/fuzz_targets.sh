#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each fuzz target (fuzz_*.c) finds no difference from its reference, on its seeds and on random
# mutations of them, which are the same each time.
. "$(dirname "$0")/../lib.sh"
program=$(dirname "$GPUSORT")/tests/mutate_seeds
[ -x "$program" ] || skip_all "no $program (make check builds it)"
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:abort_on_error=1 UBSAN_OPTIONS=${UBSAN_OPTIONS:-}:abort_on_error=1

rounds=${FUZZ_MUTATIONS:-$(full_or_small 40000 5000)}
for target in "$tests_dir"/fuzz/fuzz_*.c; do
    target=$(basename "$target" .c)
    "$tests_dir/fuzz/seeds.sh" "$target" "$target"
    ok "$target: seeds, and $rounds mutations" "$program" "$target" "$rounds" "$target"/*
done

done_testing
