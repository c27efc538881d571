#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Numbers of every type that --list names are sorted to the documented order: raw and .npy, in both
# byte orders and both directions. NumPy makes the expected bytes from the bits of the numbers.
. "$(dirname "$0")/../lib.sh"
need_numpy
problem=
[ "${GPUSORT_DEVICE:-}" != gpu ] || problem=$(gpu_problem) || true
[ -z "$problem" ] || skip_all "$problem"
keys() { "$numpy" "$tests_dir/make_data.py" keys . "$@"; }

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
for type in $(list_types); do
    keys "$type" 2 1000 "$large"
    sorts "$type" 2 little "$type.2.little.up" # input.sh has no number and one
    sorts_each_way "$type" 1000
    sorts_each_way "$type" "$large"
done

if [ "$test_size" = full ]; then
    for type in $(those_of f64 i32 u16); do
        keys "$type" 1000000
        sorts "$type" 1000000 little "$type.1000000.little.up"
        sorts "$type" 1000000 little "$type.1000000.little.down" -r
    done
fi

for type in $(those_of f16 f32 f64); do
    for endian in little big; do
        ok "sorted: $type $endian-endian" gpusort --format=raw --type="$type" --endian=$endian \
            -o got "$type.$large.$endian.in.raw"
        ok "np.sort has the same values: $type $endian-endian" \
            "$numpy" "$tests_dir/make_data.py" agrees "$type" $endian "$type.$large.$endian.in.raw" got
    done
done

# first_nan TYPE ENDIAN: prints the number of the first NaN or NaT, counted from 1.
first_nan() {
    "$numpy" - "$@" <<END
import sys
sys.path.append("$tests_dir")
from make_data import bits_dtype, comparable, is_nan
dtype = bits_dtype(sys.argv[1]).newbyteorder("<>"[sys.argv[2] == "big"])
keys = __import__("numpy").fromfile("%s.1000.%s.in.raw" % tuple(sys.argv[1:]), dtype).astype(dtype.newbyteorder("<"))
print(is_nan(comparable(sys.argv[1], keys)).argmax() + 1)
END
}
for type in $(those_of f16 bf16 f32 f64 datetime64 timedelta64); do
    for endian in little big; do
        refused "--nan=error refuses $type with a NaN or NaT, $endian-endian" \
            "number $(first_nan "$type" $endian) is a Na[NT]" -- gpusort --format=raw --type="$type" \
            --endian=$endian --nan=error -o "$target" "$type.1000.$endian.in.raw"
    done
done
head -c 800 /dev/zero >zeros
ok_writes '--nan=error sorts numbers without one' zeros -- \
    --format=raw --type=f64 --nan=error zeros
for type in $(those_of u64); do
    ok_writes '--nan=error sorts integers' "$type.1000.little.up.raw" -- \
        --format=raw --type="$type" --nan=error "$type.1000.little.in.raw"
done

done_testing
