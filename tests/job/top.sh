#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --top=K writes exactly the beginning of the output without it, for numbers, indices and lines: each type and
# direction, on the CPU and, if there is one, on the GPU. unit_cpu_stream.c and device_matrix.cu have all shapes, and more
# values of K, soak.sh all formats. NumPy and sort(1) | head give the expected output.
. "$(dirname "$0")/../lib.sh"
need_numpy
mapfile -t devices < <(list_devices)

# More numbers than are always sorted completely, on either device, and K around half of them.
count=20011
all_tops=(0 1 1000 $((count / 2 - 1)) $((count / 2 + 1)) "$count" 18446744073709551615)
few_tops=(1 1000 $((count / 2 + 1)))
on_gpu=(1000) # device_matrix.cu has all of them

# ok_top NAME ITEM_BYTES EXPECTED -- ARGUMENT...: `gpusort --top=K ARGUMENT...` writes the first K items
# of EXPECTED, for each K in $tops.
ok_top() {
    local name=$1 item_bytes=$2 expected=$3 top bytes all
    all=$(stat -c %s "$expected")
    shift 4
    for top in "${tops[@]}"; do
        bytes=$all
        [ ${#top} -gt 15 ] || [ $((top * item_bytes)) -ge "$all" ] || bytes=$((top * item_bytes))
        head -c "$bytes" "$expected" >first
        gpusort --top="$top" "$@" -o got || echo "exit status $? with --top=$top"
        cmp -s got first || { echo "--top=$top:" && describe_difference got first; }
    done >"$work/log/top" 2>&1
    pass_unless_said "$name" "$work/log/top"
}

mapfile -t types < <(list_types)
list=$(IFS=,; echo "${types[*]}")
make_data keys . "$list" "$count"
make_data argsort . "$list" "$count"
for type in "${types[@]}"; do
    bytes=$(bytes_of_type "$type")
    for device in "${devices[@]}"; do
        tops=("${few_tops[@]}")
        [ "$type" != f64 ] || tops=("${all_tops[@]}")
        [ "$device" = cpu ] || tops=("${on_gpu[@]}")
        on=(--device="$device" --format=raw --type="$type" "$type.$count.little.in.raw")
        ok_top "$device: the first of $type" "$bytes" "$type.$count.little.up.raw" -- "${on[@]}"
        ok_top "$device: the last of $type" "$bytes" "$type.$count.little.down.raw" -- "${on[@]}" -r
        # Items have 8 bytes, or 16 where key and index need more.
        ok_top "$device: the first indices of $type" 8 "$type.$count.up.u64" -- "${on[@]}" --argsort
        ok_top "$device: the last indices of $type" 8 "$type.$count.down.u64" -- "${on[@]}" --argsort -r
    done
done

# expect TOP FILE: writes the first TOP items of 8 bytes of FILE to `first`.
expect() { head -c $(($1 * 8)) "$2" >first; }

f64=f64.$count.little
# soak.sh has all formats.
for device in "${devices[@]}"; do
    on=(--device="$device" --top=100)
    cp "$f64.in.raw" place
    expect 100 "$f64.up.raw"
    ok_file "$device: in place of the input" place first -- gpusort "${on[@]}" --format=raw --type=f64 place -o place
    ok_writes "$device: nothing of nothing" /dev/null -- "${on[@]}" --type=f64 /dev/null
    refuses "$device: a NaN that is not among the first is an error all the same" 'is a NaN' -- \
        --device="$device" --top=1 --nan=error --format=raw --type=f64 "$f64.in.raw"
done

if [[ ${devices[*]} == *gpu ]]; then
    expect 1000 "f64.$count.up.u64"
    for path in $(list_paths gpu); do
        ok_writes "$path: the first indices" first -- --argsort --top=1000 --device=gpu -a "$path" \
            --format=raw --type=f64 "$f64.in.raw"
    done
fi

# Lines, as by sort -g | head, where many lines have equal values.
make_data lines 3000 >lines
sort -g lines >lines.up
sort -g -r lines >lines.down
for device in "${devices[@]}"; do
    for top in 0 1 7 1001 30000; do
        ok_output "$device: lines as sort -g | head -n $top" <(head -n $top lines.up) -- \
            gpusort --device="$device" --top=$top lines
        head -n $top lines.down >first
        ok_output "$device: lines as sort -g -r | head -n $top" first -- \
            gpusort --device="$device" --top=$top -r < <(cat lines)
    done
done

# A small device: the input is selected from in batches. If there is no room for a batch of twice
# the requested items, it is sorted in parts. (Only the stand-in can have so little memory.)
size=$(full_or_small 8080000 1000000) memory=2000000 most=58500
head -c "$size" /dev/urandom >large
with_numpy 'np.sort(np.fromfile("large", "<u8")).tofile("large.first")'
for device in "${devices[@]}"; do
    for top in 1 $((most / 12)) "$most"; do
        expect "$top" large.first
        first=(env SIMT_MEMORY_BYTES="$memory" "$GPUSORT" --device="$device" --top="$top" --format=raw --type=u64)
        ok_output "$device: the first $top of more than the device holds" first -- "${first[@]}" large
        [ "$top" = "$most" ] ||
            ok_output "$device: the first $top of a pipe of more than that" first -- "${first[@]}" < <(cat large)
    done
done

# Nearly half of the input takes more room to select than to sort in place.
if [[ ${devices[*]} == *gpu ]]; then
    head -c 808000 large >half
    with_numpy 'np.sort(np.fromfile("half", "<u8"))[:49999].tofile("first")'
    ok_output 'gpu: a selection that the device has no room for' first -- \
        env SIMT_MEMORY_BYTES=1250000 "$GPUSORT" --device=gpu --algorithm=bitonic --top=49999 \
        --format=raw --type=u64 half
fi

# Indices of more numbers than the device holds, with many equal ones. From a pipe the count is
# unknown, so numbers of 4 bytes make items of 16.
with_numpy 'numbers = np.fromfile("large", "<u8") % 10
numbers.astype("<u2").tofile("often.u16")
numbers.astype("<u4").tofile("often.u32")
np.argsort(numbers, kind="stable")[:5000].astype("<u8").tofile("often.first")'
for device in "${devices[@]}"; do
    for type in u16 u32; do
        first=(env SIMT_MEMORY_BYTES="$memory" "$GPUSORT" --argsort --device="$device" --top=5000 --format=raw
            --type="$type")
        ok_output "$device: the first indices of more $type than the device holds" often.first -- \
            "${first[@]}" often.$type
        ok_output "$device: the first indices of a pipe of more $type than that" often.first -- \
            "${first[@]}" < <(cat often.$type often.$type)
    done
done

# The memory that 200 MB through a pipe take.
if possible 'a pipe of 200 MB takes 80 MB at the most' 'sanitizers take memory of their own' \
    [ "$test_size" != small ]; then
    head -c 2340000 /dev/urandom >part
    with_numpy 'np.repeat(np.sort(np.fromfile("part", "<u8"))[:10], 100).tofile("first")'
    ok_peak 'the first 1000 of a pipe of 200 MB' 80000 "$GPUSORT" --device=cpu --parallel=2 --top=1000 \
        --format=raw --type=u64 -o got < <(for _ in {1..100}; do cat part; done)
    ok_same_bytes 'the first 1000 of a pipe of 200 MB' got first
fi

# Spellings of K.
head -c 80 "$f64.in.raw" >few.f64
# Suffixes as in head(1), and powers of ten as in printf(1).
seq 3000 | shuf | tee counted | sort -g >counted.sorted
for word in 1K 1k 1KiB 1kB 2K 1M 15EiB 7 0 1e3 1E3 1e+3 1.234e3 0.5e1 9.5e18 0e99 1.5K \
    9.5E 2.000E 18.4EB 00000000000000000000000000000000005; do
    lines=$word # as head(1) has it
    case $word in 1.5K) lines=1536 ;; *.*E*) lines=3000 ;; *[eE][0-9+]*) lines=$(printf %.0f "$word") ;; esac
    head -n "$lines" counted.sorted >expected
    ok_output "--top=$word is what head -n $lines leaves" expected -- gpusort --top=$word counted
done
for word in '' -1 ' 1' 1.5 1. .5 1e-1 1.2345e3 1e+ e3 1e3K 1Kb 1KI K 1_000 0x10 \
    18446744073709551616 2e19 1e99999999999999999999 16E 16.5E 18.5EB 1.0001K; do
    refuses "--top='$word' is no number" 'invalid number of items' -- --top="$word" few.f64
done
head -c 400000 /dev/zero >zeros.f64
while IFS='|' read -r words said; do
    ok_says "--explain $words" "^$said" -- gpusort --explain $words
done <<'END'
--top=2 few.f64|top +the first 2 \(the others are dropped
--top=2 few.f64|device +cpu: .*as fast as they are read
--top=9 few.f64|top +the first 9 \(all are sorted
--top=2 lines|top +the first 2 \(all lines
--device=cpu --top=1000 -S 1K zeros.f64|top +the first 1000 \(those of each part are merged
END

done_testing
