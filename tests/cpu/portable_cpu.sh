#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Without AVX-512, and without AVX2 too, the CPU sorts like NumPy and sort(1): buckets, networks in
# registers, and the portable code that replaces them. GLIBC_TUNABLES selects that code on a machine
# with these units, whose own code all other tests use.
. "$(dirname "$0")/../lib.sh"
need_numpy

sums=$(dirname "$GPUSORT")/tests/unit_check
count=$(full_or_small 400003 70001)
"$numpy" - "$count" <<'PYTHON'
import sys
import numpy as np

count = int(sys.argv[1])
random = np.random.default_rng(3)
shapes = {
    "uniform": random.random(count),
    "few": random.integers(0, 50, count) / 50,
    "five": random.integers(0, 5, count) / 4,
    "crowded": random.random(count) ** 40,  # nearly all in one bucket of any equal width
    "nearly_reversed": np.sort(random.random(count))[::-1].copy(),
}
shapes["nearly_reversed"][::1000] = 0.5
shapes["five_and_one"] = shapes["five"].copy()
shapes["five_and_one"][count - 7] = 0.6
for shape, x in shapes.items():
    for dtype, scale, offset in ("<f8", 2, 1), ("<f4", 2, 1), (">f4", 2, 1), ("<u4", 2.0**32 - 1, 0), (">i8", 2.0**63, 2.0**62):
        keys = (x * scale - offset).astype(dtype)
        np.save(f"{shape}.{dtype[1:]}.{'big' if dtype[0] == '>' else 'little'}.npy", keys)
        np.save(f"{shape}.{dtype[1:]}.{'big' if dtype[0] == '>' else 'little'}.up.npy", np.sort(keys))
        if dtype == "<f8":
            np.save(f"{shape}.down.npy", np.sort(keys)[::-1])
            np.save(f"{shape}.places.npy", np.argsort(keys, kind="stable").astype("u8"))
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

sorts() {
    local units=$1 shape type
    for shape in uniform few five five_and_one crowded nearly_reversed; do
        for type in f8.little f4.little f4.big u4.little i8.big; do
            ok_writes "$units: $shape $type" "$shape.$type.up.npy" -- --device=cpu "$shape.$type.npy"
        done
        ok_writes "$units: $shape f8 descending" "$shape.down.npy" -- \
            --device=cpu -r --parallel=3 "$shape.f8.little.npy"
        ok_writes "$units: $shape f8 by index" "$shape.places.npy" -- \
            --device=cpu --argsort --parallel=3 "$shape.f8.little.npy"
    done
    ok_writes "$units: lines" lines.up -- --device=cpu -n lines
    ok_writes "$units: merged lines" lines.twice -- -m -n lines.up lines.up
    if [ -x "$sums" ]; then
        ok "$units: the sums of the proof" "$sums"
    else
        skip "$units: the sums of the proof" "no $sums (make check builds it)"
    fi
}
little_stack() {
    ok "$1: bins within bins, with little stack" bash -c \
        'ulimit -s 128 && "$0" --device=cpu nested.npy | cmp - nested.up.npy' "$GPUSORT"
    ok "$1: buckets within buckets, with little stack" bash -c \
        'ulimit -s 128 && "$0" --device=cpu --parallel=3 places.npy | cmp - places.up.npy' "$GPUSORT"
}

is_sanitized=no # which takes more stack
! grep -Eq '__(asan|tsan|ubsan)' "$GPUSORT" || is_sanitized=yes
[ $is_sanitized = yes ] || little_stack 'as the machine is'
for units in AVX512F AVX512F,-AVX2; do
    [ $units != AVX512F ] || grep -qw avx512f /proc/cpuinfo || continue
    export GLIBC_TUNABLES=glibc.cpu.hwcaps=-$units
    sorts "without ${units//,-/ and }"
    [ $is_sanitized = yes ] || little_stack "without ${units//,-/ and }"
done

done_testing
