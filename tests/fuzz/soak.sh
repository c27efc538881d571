#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random complete jobs, checked by NumPy and sort(1), and many small arrays of numbers. The seed is
# fixed, so that the test is the same every time; SOAK_SEED, SOAK_RUNS, SOAK_LARGEST (bytes) and
# SOAK_JOBS change it.
. "$(dirname "$0")/../lib.sh"
need_numpy

runs=${SOAK_RUNS:-$(full_or_small 60 30)}
largest=${SOAK_LARGEST:-$(full_or_small 1e6 1e5)}
seed=${SOAK_SEED:-1}
soak() {
    GPUSORT=$GPUSORT "$numpy" "$tests_dir/fuzz/soak.py" --jobs "${SOAK_JOBS:-2}" --work "$work" "$@"
}
ok "$runs runs of seed $seed, to $largest bytes" \
    soak --runs "$runs" --seed "$seed" --largest "$largest"

# small_arrays DEVICE ROUNDS: sorts random small arrays.
small_arrays() {
    for server in "${GPUSORT%/*}"/{,tests/}many_runs; do
        if [ -x "$server" ]; then
            ok "$2 rounds of small arrays of seed $seed, $1" env GPUSORT="$GPUSORT" "$numpy" \
                "$tests_dir/fuzz/fuzz_sort.py" --numbers --device="$1" --rounds "$2" --seed "$seed" --server "$server"
        fi
    done
}
for device in $(list_devices); do
    case $device in
    cpu) small_arrays cpu "$(full_or_small 1500 500)" ;;
    gpu) small_arrays gpu "$(full_or_small 1000 100)" ;;
    esac
done

done_testing
