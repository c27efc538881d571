#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random options on random lines: the output of gpusort is that of sort(1). The seed is fixed, so
# that the test is the same every time, and another one if TEST_SIZE=small; FUZZ_SEED and FUZZ_ROUNDS
# change it. Most rounds are run by many_runs, if it is built. The jobs of the first rounds are processes
# of their own. The simulated GPU takes as long for 400 rounds as the CPU for 4000.
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null || skip_all 'no Python'

device=${GPUSORT_DEVICE:-}
processes=$(full_or_small 150 30)
rounds=1000
[ -z "$device" ] || rounds=$(full_or_small 1000 400)
rounds=${FUZZ_ROUNDS:-$rounds}
seed=${FUZZ_SEED:-$(full_or_small 2 1)}
fuzz() {
    GPUSORT=$GPUSORT python3 "$tests_dir/fuzz/fuzz_sort.py" ${device:+"--device=$device"} "$@"
}
ok "$processes rounds of seed $seed" fuzz --rounds "$processes" --seed "$seed"
for server in "${GPUSORT%/*}"/{,tests/}many_runs; do
    if [ -x "$server" ]; then
        ok "$rounds rounds of seed $seed in few processes" \
            fuzz --rounds "$rounds" --seed "$seed" --first "$processes" --server "$server"
    fi
done

done_testing
