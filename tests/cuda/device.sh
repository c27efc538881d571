#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The GPU writes the bytes that the CPU writes, for each type and direction; which of several devices are
# used; devices that lack something; what paths refuse; launches of small arrays. device_matrix.cu
# has all paths, tile sizes and orders, argsort.sh lines by each path. Skipped without a GPU.
. "$(dirname "$0")/../lib.sh"
need_numpy
problem=$(gpu_problem) || true
[ -z "$problem" ] || skip_all "$problem"
keys() { "$numpy" "$tests_dir/make_data.py" keys . "$@"; }
# Leaks are checked in argsort.sh, which runs all paths too.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

keys "$(list_types | paste -sd,)" 3001
for type in $(list_types); do
    for direction in up down; do
        reverse=${direction%up} reverse=${reverse:+-r}
        # shellcheck disable=SC2086 # no word, or one
        ok_writes "$type, $direction" "$type.3001.little.$direction.raw" -- \
            --device=gpu --format=raw --type="$type" $reverse "$type.3001.little.in.raw"
        cp "$type.3001.little.in.raw" place
        # shellcheck disable=SC2086 # no word, or one
        gpusort --device=gpu --format=raw --type="$type" $reverse --in-place place
        ok "$type: in place, $direction" cmp place "$type.3001.little.$direction.raw"
    done
done

# The rest does not depend on the type: once is enough.
if [ -z "$(those_of f64)" ]; then
    done_testing
    exit
fi

large=$(full_or_small 100003 20011)
keys f64 1 1000 "$large"
keys f32 1000
for rule in first last; do
    ok_writes "NaNs $rule" "f32.1000.little.down.$rule.raw" -- \
        --device=gpu --format=raw --type=f32 --nan=$rule -r f32.1000.little.in.raw
done
ok_writes 'big-endian npy' f32.1000.big.up.npy -- --device=gpu f32.1000.big.in.npy
ok_output 'from a pipe, which does not say how much will come' "f64.$large.little.up.raw" -- \
    gpusort --device=gpu --format=raw --type=f64 < <(cat "f64.$large.little.in.raw")

refused 'a device number that there is not' 'no device 1000' -- \
    gpusort --device=gpu:1000 --format=raw --type=f64 -o "$target" f64.1.little.in.raw
GPUSORT_SERVER= # does not get the environment variables below
# Which of several devices CUDA is shown. (Only the stand-in can have several, and logs the calls.)
if grep -q SIMT_FAIL "$GPUSORT"; then
    # shows COUNT VISIBLE: with CUDA_VISIBLE_DEVICES=VISIBLE, CUDA is shown only COUNT devices, so
    # that no other one is started.
    shows() {
        rm -f calls
        env "CUDA_VISIBLE_DEVICES=$2" SIMT_DEVICES=4 SIMT_CALLS=calls "$GPUSORT" --device=gpu \
            --format=raw --type=f64 -o got f64.1.little.in.raw
        ok "of the devices '$2' CUDA is shown $1" grep -q "^shown:$1 " calls
    }
    shows 1 0,1,2,3
    shows 1 GPU-8932f937,GPU-1
    shows 1 3
    SIMT_DEVICES=4 SIMT_CALLS=calls "$GPUSORT" --device=gpu --format=raw --type=f64 -o got \
        f64.1.little.in.raw
    ok 'of all devices CUDA is shown the first' grep -q '^shown:1 ' calls
    refused 'a device beyond those shown' 'no device 2: 2 found' -- \
        env CUDA_VISIBLE_DEVICES=2,3 SIMT_DEVICES=4 "$GPUSORT" --device=gpu:2 --format=raw \
        --type=f64 -o "$target" f64.1.little.in.raw
    refused 'no device shown' 'no CUDA device' -- \
        env CUDA_VISIBLE_DEVICES= SIMT_DEVICES=4 "$GPUSORT" --device=gpu --format=raw --type=f64 \
        -o "$target" f64.1.little.in.raw
fi
# A device that lacks what the code needs. (Only the stand-in can imitate other devices.)
if grep -q SIMT_FAIL "$GPUSORT"; then
    refused 'a device older than what was compiled' \
        'device 0 has compute capability 7.5; this program was built for 9.0 and newer' -- \
        env SIMT_CAPABILITY=75 "$GPUSORT" --device=gpu --format=raw --type=f64 -o "$target" \
        f64.3001.little.in.raw
    # A tile of segmented-merge has 66 KiB of 16-byte items.
    keys u8,i16,f32,f64 70001
    refused 'a path that the device has too little shared memory for' \
        'bytes of shared memory, and the device has 65536; choose another path' -- \
        env SIMT_SHARED_BYTES=65536 "$GPUSORT" --device=gpu -a segmented-merge --argsort --format=raw \
        --type=f64 -o "$target" f64.70001.little.in.raw
    # The path that auto chooses fits into the shared memory of devices of compute capability 8.6
    # and 7.5.
    gpusort --device=cpu --argsort --format=raw --type=f64 -o indices f64.70001.little.in.raw
    for bytes in 101376 65536; do
        export SIMT_SHARED_BYTES=$bytes
        for type in $([ $bytes = 65536 ] && echo u8 i16 f32) f64; do
            ok_writes "auto with $bytes bytes of shared memory a block: $type" \
                "$type.70001.little.up.raw" -- \
                --device=gpu --format=raw --type="$type" "$type.70001.little.in.raw"
        done
        ok_writes "auto with $bytes bytes of shared memory a block: indices" indices -- \
            --device=gpu --argsort --format=raw --type=f64 f64.70001.little.in.raw
    done
    unset SIMT_SHARED_BYTES
fi
refused 'a tile size that the path does not have' '300' -- \
    gpusort --device=gpu -a bitonic:300 --format=raw --type=f64 -o "$target" f64.1.little.in.raw

# One item more than the path sorts.
head -c 131073 /dev/zero >many
refused 'more numbers than the path sorts' "'rank' sorts at most 131072 numbers, and there are 131073" -- \
    gpusort --device=gpu -a rank --format=raw --type=u8 -o "$target" many
seq 131073 >many.lines
refused 'more lines than the path sorts, once they are counted' \
    'rank sorts at most 131072 items, and there are 131073' -- \
    gpusort --device=gpu -a rank -o "$target" many.lines

# A small array costs launches. The stand-in counts them; a real GPU does not.
launches() {
    local most=$1 count=$2
    shift 2
    "$numpy" "$tests_dir/make_data.py" keys . f64 "$count"
    rm -f launches
    ok_writes "$count numbers with the launches counted $*" "f64.$count.little.up.raw" -- \
        --device=gpu --format=raw --type=f64 "$@" "f64.$count.little.in.raw"
    ok "at most $most launches for $count numbers $*" test "$(wc -l <launches)" -le "$most"
}
export SIMT_TRACE=launches
rm -f launches
gpusort --device=gpu --format=raw --type=f64 -o got f64.1000.little.in.raw
if [ -s launches ]; then
    for count in 2 2048; do launches 1 $count; done
    launches 3 2049
    for count in 65535 65536; do launches 5 $count; done
    launches 1 4096 -a segmented-merge:4096
    launches 5 65537 -a segmented-merge:4096
else
    skip 'launches of small arrays' 'a GPU does not count them'
fi

done_testing
