#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random arrays of numbers, small and large, with random options: the output is that of NumPy, on each device. The seed
# is fixed, so that the test is the same every time; SOAK_SEED, SOAK_RUNS, SOAK_LARGEST (bytes) and SOAK_JOBS change it.
. "$(dirname "$0")/../lib.sh"
need_numpy

runs=${SOAK_RUNS:-$(full_or_small 40 20)}
largest=${SOAK_LARGEST:-$(full_or_small 1e6 1e5)}
seed=${SOAK_SEED:-1}
for device in $(list_devices); do
    case $device in cpu) rounds=$(full_or_small 4000 1000) ;; gpu) rounds=$(full_or_small 1000 100) ;; esac
    ok_arrays "$device" "$rounds" --seed "$seed"
    ok_arrays "$device" "$runs" --seed "$seed" --largest "$largest" --jobs "${SOAK_JOBS:-2}"
done

done_testing
