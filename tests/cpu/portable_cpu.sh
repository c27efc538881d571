#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Without AVX-512 unit_cpu_sort and unit_cpu_stream pass: the portable code that replaces buckets and networks in
# registers. Without it, and without AVX2 too, unit_check passes, and lines are sorted and merged as by sort(1). Both
# kinds of code need little stack.
# GLIBC_TUNABLES selects that code on a machine with these units, whose own code all other tests use.
. "$(dirname "$0")/../lib.sh"
need_numpy

with_numpy - <<'PYTHON'
# Divided into bins of equal width, three quarters of the keys are in the first bin, and so on in
# each bin.
nested = random.integers(0, 2**63, 60000, dtype="u8")
nested >>= np.minimum(3 * random.geometric(0.27, 60000), 62).astype("u8")
np.save("nested.npy", nested)
np.save("nested.up.npy", np.sort(nested))
# Twelve narrow ranges, each a bucket that is partitioned again.
places = random.integers(0, 12, 2000000, dtype="u8") * (2**64 // 12)
places += random.integers(0, 2**44, len(places), dtype="u8")
np.save("places.npy", places)
np.save("places.up.npy", np.sort(places))
PYTHON

seq 20000 | awk '{ printf "%d %*d\n", $1 * 7919 % 20011, $1 % 90, $1 }' >lines
sort -n lines >lines.up
sort -n -m lines.up lines.up >lines.twice

# unit_passes NAME UNIT
unit_passes() {
    local program
    program=$(dirname "$GPUSORT")/tests/unit_$2
    if [ -x "$program" ]; then
        ok "$1: unit_$2" env TEST_SIZE=small OMP_WAIT_POLICY=passive "$program"
    else
        skip "$1: unit_$2" "no $program (make check builds it)"
    fi
}
little_stack() {
    ok_output "$1: bins within bins, with little stack" nested.up.npy -- \
        with_limit -s 128 "$GPUSORT" --device=cpu nested.npy
    ok_output "$1: buckets within buckets, with little stack" places.up.npy -- \
        with_limit -s 128 "$GPUSORT" --device=cpu --parallel=3 places.npy
}

[ "$is_sanitized" = yes ] || little_stack 'as the machine is'
# Only lines have code for AVX2.
for units in AVX512F AVX512F,-AVX2; do
    [ $units != AVX512F ] || grep -qw avx512f /proc/cpuinfo || continue
    export GLIBC_TUNABLES=glibc.cpu.hwcaps=-$units
    without="without ${units//,-/ and }"
    ok_writes "$without: lines" lines.up -- --device=cpu -n lines
    ok_writes "$without: merged lines" lines.twice -- -m -n lines.up lines.up
    [ "$is_sanitized" = no ] || continue
    unit_passes "$without" check
    [ $units = AVX512F ] || continue
    unit_passes "$without" cpu_sort
    unit_passes "$without" cpu_stream
    little_stack "$without"
done

done_testing
