#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --argsort writes the permutation of np.argsort(kind="stable") for numbers of every type, and that of `sort -g -s` for
# lines. Each device, path of the GPU and format of indices is tested with some of them; soak.sh draws more, and
# conversion.sh has the names of outputs.
. "$(dirname "$0")/../lib.sh"
need_numpy

large=$(full_or_small 20011 9001)
problem=$(gpu_problem) || true
mapfile -t devices < <(list_devices)

# ---- numbers -------------------------------------------------------------------------------------

# soak.sh has all options and formats, with fewer numbers.
mapfile -t types < <(list_types)
make_data argsort . "$(IFS=,; echo "${types[*]}")" "$large"
make_data argsort . f64 1000
for type in "${types[@]}"; do
    for way in up down; do
        reverse=()
        [ $way = up ] || reverse=(-r)
        ok_writes "$type, $large numbers $way" "$type.$large.$way.u64" -- \
            --argsort "${reverse[@]}" --format=raw --type="$type" "$type.$large.little.in.raw"
    done
done

head -c 4000 f64.1000.little.in.raw >first.f64
tail -c 4000 f64.1000.little.in.raw >second.f64
ok_writes 'indices run on from input to input' f64.1000.up.u64 -- --argsort first.f64 second.f64
ok_output 'and through standard input' f64.1000.up.u64 -- \
    gpusort --argsort --format=raw --type=f64 first.f64 - < <(cat second.f64)
cp f64.1000.little.in.raw place.f64
cp place.f64 place.in.f64
ok_file 'the output may be an input' place.f64 f64.1000.up.u64 -- \
    gpusort --argsort place.f64 -o place.f64 --output-format=raw
ok_writes 'a byte order in the header alone is not for indices' f64.1000.up.u64 -- \
    --argsort --output-format=raw f64.1000.big.in.npy
# np.argsort returns int64, so --argsort accepts NumPy's names of types too.
with_numpy 'order = np.fromfile("f64.1000.up.u64", "<i8")
np.save("i8.npy", order)
order.astype(">u8").tofile("order.big")'
ok_writes 'a byte order in the type' order.big -- --argsort --format=raw --type='>f8' f64.1000.big.in.raw
ok_writes '--argsort=<i8, npy' i8.npy -- --argsort='<i8' --output-format=npy place.in.f64
ok_file 'indices as np.argsort writes them, by their name' named.i64 f64.1000.up.u64 -- \
    gpusort --argsort=i64 place.in.f64 -o named.i64
refuses 'indices have no byte order of their own' 'the byte order of the numbers: use --argsort=i64$' -- \
    --argsort='>i8' place.in.f64
for word in i16 float64 bool '<M8' '' I64; do
    refuses "--argsort=$word" "^gpusort: unknown type of indices '$word': it is u32, u64, i32 or i64" -- \
        --argsort="$word" place.in.f64
done
ok_says '--explain tells of indices' 'output .*raw u32 indices' -- gpusort --argsort=u32 --explain first.f64
printf '3\nnan\n-0\n1\nnan\n0\n' >numbers
ok_prints 'text read as numbers has their order: NaNs last, -0 as 0' '2\n5\n3\n0\n1\n4\n' -- \
    gpusort --argsort --type=f64 numbers

# A pipe with more than is read ahead, so that the count is unknown: numbers of 2 bytes make items
# of 8 bytes, others of 16.
with_numpy "numbers = random.integers(-9000, 9000, 600011)
numbers.astype('<i2').tofile('unknown.i16')
numbers.astype('<i4').tofile('unknown.i32')
np.argsort(numbers, kind='stable').astype('<u8').tofile('unknown.u64')"
for type in i16 i32; do
    ok_output "$type of an unknown count" unknown.u64 -- \
        gpusort --argsort --device=cpu --format=raw --type=$type < <(cat unknown.$type)
done

# More numbers than one read or one output buffer holds.
if [ "$test_size" = full ]; then
    with_numpy "numbers = random.integers(-400000, 400000, 2500011)
numbers.astype('<f8').tofile('many.f64')
numbers.astype('<i4').tofile('many.i32')
open('many.txt', 'w').write('\n'.join(map(str, numbers.tolist())))
np.argsort(numbers, kind='stable').astype('<u8').tofile('many.u64')"
    for device in "${devices[@]}"; do
        on=(--argsort --device="$device" --output-format=raw)
        for file in many.f64 many.i32 many.txt '--type=i32 many.txt'; do
            ok_writes "$file on the $device" many.u64 -- "${on[@]}" $file
        done
        ok_output "many numbers from a pipe on the $device" many.u64 -- \
            gpusort "${on[@]}" --format=raw --type=i32 < <(cat many.i32)
    done
fi

# ---- lines ---------------------------------------------------------------------------------------

# indices_of_lines FILE [-r]: prints the indices of the lines in the order of sort(1). Some versions of sort compare
# NaNs by uninitialized bytes. So lines with NaN are not sorted: they go first, or last with -r.
indices_of_lines() {
    awk '{ print NR - 1 "\t" $0 }' "$1" >numbered
    grep nan numbered >nans || true
    grep -v nan numbered | sort -s -t '	' -k 2 -g "${@:2}" >sorted || true
    if [ $# -gt 1 ]; then cut -f 1 sorted nans; else cut -f 1 nans sorted; fi
}

make_data lines "$(full_or_small 20000 3000)" >lines
# Values that are equal as doubles, of both signs and each in several spellings.
awk 'BEGIN {
    for (i = 0; i < 8000; i++) {
        srand(i); k = int(rand() * 40)
        print (i % 3 ? "" : "  ") (i % 7 ? "" : "-") "184467440737095516" 10 + k (i % 2 ? ".0" : "") (i % 5 ? "" : "e0")
    }
}' >close
for file in lines close; do
    indices_of_lines $file >$file.up
    indices_of_lines $file -r >$file.down
    ok "some lines of $file have equal values" \
        bash -c '[ "$(sort -g -s -u "$1" | wc -l)" -lt "$(wc -l <"$1")" ]' - $file
    for device in "${devices[@]}"; do
        ok_writes "$file on the $device, as sort -g -s" $file.up -- --argsort --device="$device" $file
        ok_writes "$file on the $device, as sort -g -s -r" $file.down -- --argsort --device="$device" -r $file
        for top in 0 7 1001 100000; do
            head -n $top $file.down >first
            ok_writes "the last $top of $file on the $device" first -- --argsort --top=$top --device="$device" -r $file
        done
    done
    ok_writes "$file by one thread" $file.down -- --argsort --parallel=1 -r $file
    with_numpy "indices = np.loadtxt('$file.up', dtype='<u8')
indices.astype('<u4').tofile('$file.up.u32')
np.save('$file.up.npy', indices)"
    ok_writes "$file to raw" $file.up.u32 -- --argsort=u32 --output-format=raw $file
    ok_writes "$file to npy" $file.up.npy -- --argsort --output-format=npy $file
done
ok_output 'lines from a pipe' lines.up -- gpusort --argsort < <(cat lines)
head -n 1000 lines >first.txt
tail -n +1001 lines >second.txt
ok_writes 'lines of two files' lines.up -- --argsort first.txt second.txt
: >nothing.txt
ok_writes 'no lines' nothing.txt -- --argsort nothing.txt
printf '2\n1' >open.txt
ok_prints 'a last line without a newline' '1\n0\n' -- gpusort --argsort open.txt
printf '3\n1\n3\n2\n1\n' >repeated.txt
with_numpy 'np.save("first.npy", np.array([1, 3, 0], "u8"))'
ok_writes 'the first of equal lines, as .npy' first.npy -- -u --argsort --output-format=npy repeated.txt

# ---- every path of the GPU -----------------------------------------------------------------------

# device_matrix.cu has all tiles, items of 8 bytes, and counts that are not known.
if possible 'the paths of the GPU' "$problem" [ -z "$problem" ]; then
    head -n 2000 lines >few
    indices_of_lines few -r >few.down
    make_data argsort . f64 3001
    for path in $(list_paths gpu); do
        ok_writes "$path: f64 downwards" f64.3001.down.u64 -- \
            --argsort --device=gpu -a "$path" -r --output-format=raw f64.3001.little.in.npy
        ok_writes "$path: lines" few.down -- --argsort --device=gpu -a "$path" -r few
    done
    for type in bf16 u64; do
        ok_writes "$type, $large numbers on the gpu" "$type.$large.up.u64" -- --argsort \
            --device=gpu --format=raw --type=$type "$type.$large.little.in.raw"
    done
fi

# ---- refused inputs ------------------------------------------------------------------------------

for row in 'u32 4294967295 u64' 'i32 2147483647 i64'; do
    read -r type most larger <<<"$row"
    truncate -s $((most + 1)) many.u8
    refuses "$type for $((most + 1)) numbers" \
        "argsort=$type counts up to $most numbers, and there are more: use --argsort=$larger\$" -- \
        --argsort="$type" many.u8
    truncate -s "$most" many.u8
    ok_says "$type for one number less" "raw $type indices" -- gpusort --argsort="$type" --explain many.u8
done
rm many.u8
with_numpy "with open('claims.npy', 'wb') as file:
    np.lib.format.write_array_header_1_0(
        file, {'descr': '|u1', 'fortran_order': False, 'shape': (2**32,)})
    file.write(bytes(2**21))"
refused 'u32 for the 2^32 numbers that a header in a pipe claims' 'argsort=u32 counts up to' -- \
    "$GPUSORT" - --argsort=u32 --output-format=raw -o "$target" < <(cat claims.npy)
refuses 'a NaN, if told to' 'number [0-9]+ is a NaN' -- \
    --argsort --nan=error --format=raw --type=f64 f64.1000.little.in.raw

done_testing
