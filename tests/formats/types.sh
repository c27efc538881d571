#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Numbers of every type that --list names are sorted to the documented order: raw and .npy, in both
# byte orders and both directions. NumPy makes the expected bytes from the bits of the numbers. -c
# accepts the sorted numbers, and refuses the others.
. "$(dirname "$0")/../lib.sh"
need_numpy
[ "${GPUSORT_DEVICE:-}" != gpu ] || need_gpu

# sorts TYPE COUNT ENDIAN EXPECTED OPTION...: checks raw input, and .npy input where there is one.
# Each output has the format of its input.
sorts() {
    local type=$1 count=$2 endian=$3 expected=$4
    local in=$type.$count.$endian.in
    shift 4
    ok_writes "raw $type $endian-endian, $count numbers $*" "$expected.raw" -- \
        --format=raw --type="$type" --endian="$endian" "$@" "$in.raw"
    [ -e "$in.npy" ] || return 0
    ok_writes "npy $type $endian-endian, $count numbers $*" "$expected.npy" -- "$@" "$in.npy"
}

# endians TYPE: prints the byte orders that the type has.
endians() { if [ "$(bytes_of_type "$1")" = 1 ]; then echo little; else echo little big; fi; }

sorts_each_way() {
    local type=$1 count=$2 endian base rule
    for endian in $(endians "$type"); do
        base=$type.$count.$endian
        sorts "$type" "$count" "$endian" "$base.up"
        sorts "$type" "$count" "$endian" "$base.down" -r
        for rule in first last; do
            [ -e "$base.up.$rule.raw" ] || continue
            sorts "$type" "$count" "$endian" "$base.up.$rule" --nan="$rule"
            sorts "$type" "$count" "$endian" "$base.down.$rule" --nan="$rule" -r
        done
    done
}

large=$(full_or_small 100003 20011)
types=$(list_types)
make_data keys . "${types//$'\n'/,}" 2 1000 "$large"
for type in $types; do
    sorts "$type" 2 little "$type.2.little.up" # input.sh has no number and one
    sorts_each_way "$type" 1000
    sorts_each_way "$type" "$large"
done

# -c compares numbers on the CPU, and accepts no --device.
checks() { GPUSORT_DEVICE='' gpusort -c --format=raw --type="$type" --endian="$endian" "$@"; }
for type in $types; do
    for endian in $(endians "$type"); do
        base=$type.1000.$endian
        ok "-c accepts $type as NumPy sorts it, $endian-endian" checks "$base.numpy.raw"
        ok "-c -r accepts $type in descending order, $endian-endian" checks -r "$base.down.raw"
        ok_fails_with "-c finds that $type is not sorted, $endian-endian" 1 ': number [0-9]+: disorder: ' -- \
            checks "$base.in.raw"
    done
done

for type in $types; do
    [ -e "$type.1000.nan" ] || continue
    for endian in $(endians "$type"); do
        refuses "--nan=error refuses $type with a NaN or NaT, $endian-endian" \
            "number $(cat "$type.1000.nan") is a Na[NT]" -- --format=raw --type="$type" \
            --endian="$endian" --nan=error "$type.1000.$endian.in.raw"
    done
done

done_testing
