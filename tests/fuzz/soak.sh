#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random arrays of numbers, small and large, with random options: the output is that of NumPy, on each device. The seed
# is fixed, so that the test is the same every time; SOAK_SEED, SOAK_RUNS, SOAK_LARGEST (bytes) and SOAK_JOBS change it.
. "$(dirname "$0")/../lib.sh"
need_numpy

runs=${SOAK_RUNS:-$(full_or_small 40 20)}
largest=${SOAK_LARGEST:-$(full_or_small 1e6 1e5)}
seed=${SOAK_SEED:-1}
servers=() # of one process, if it is built
for program in "${GPUSORT%/*}"/{,tests/}many_runs; do
    [ ! -x "$program" ] || servers=(--server "$program")
done
# arrays DEVICE ROUNDS [WORD...]
arrays() {
    ok "$2 rounds of seed $seed on the $1 ${*:3}" env GPUSORT="$GPUSORT" "$numpy" "$tests_dir/fuzz/fuzz_sort.py" \
        --numbers --device="$1" --rounds "$2" --seed "$seed" "${servers[@]}" "${@:3}"
}
for device in $(list_devices); do
    case $device in cpu) rounds=$(full_or_small 4000 1000) ;; gpu) rounds=$(full_or_small 1000 100) ;; esac
    arrays "$device" "$rounds"
    arrays "$device" "$runs" --largest "$largest" --jobs "${SOAK_JOBS:-2}"
done

done_testing
