#!/usr/bin/env bash
# Whole runs drawn at random, proven by NumPy and sort(1). The seed is fixed, so that a run is the same
# every time; SOAK_SEED, SOAK_RUNS, SOAK_LARGEST (bytes) and SOAK_JOBS say otherwise.
. "$(dirname "$0")/lib.sh"
need_numpy

runs=${SOAK_RUNS:-$(full_or_small 150 40)}
largest=${SOAK_LARGEST:-$(full_or_small 1e6 1e5)}
seed=${SOAK_SEED:-1}
soak() {
    GPUSORT=$GPUSORT "$numpy" "$tests_dir/soak.py" --jobs "${SOAK_JOBS:-2}" --work "$work" "$@"
}
ok "$runs runs of seed $seed, to $largest bytes" \
    soak --runs "$runs" --seed "$seed" --largest "$largest"

done_testing
