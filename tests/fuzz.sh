#!/usr/bin/env bash
# Random options on random lines: what gpusort makes of them is what sort(1) makes of them. The seed
# is fixed, so that a run is the same every time; FUZZ_SEED and FUZZ_ROUNDS say otherwise.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all 'no Python'

rounds=${FUZZ_ROUNDS:-$(full_or_small 1500 300)}
seed=${FUZZ_SEED:-1}
fuzz() {
    GPUSORT=$GPUSORT python3 "$tests_dir/fuzz_sort.py" \
        ${GPUSORT_DEVICE:+"--device=$GPUSORT_DEVICE"} "$@"
}
ok "$rounds rounds of seed $seed" fuzz --rounds "$rounds" --seed "$seed"

done_testing
