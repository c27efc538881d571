#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --argsort writes the permutation of np.argsort(kind="stable") for numbers of every type, and that
# of `sort -g -s` for lines, for all formats, devices and paths.
. "$(dirname "$0")/../lib.sh"
need_numpy
data() { "$numpy" "$tests_dir/make_data.py" argsort . "$@"; }

large=$(full_or_small 20011 9001)
problem=$(gpu_problem) || true
mapfile -t devices < <(list_devices)

# ---- numbers -------------------------------------------------------------------------------------

# permutes TYPE COUNT ENDIAN EXPECTED OPTION...: checks the indices of a raw file, and those of a
# .npy file where there is one. Each output has the format of its input.
permutes() {
    local type=$1 count=$2 endian=$3 expected=$4 in=$1.$2.$3.in raw=$4.u64
    shift 4
    if [ "$endian" = big ] && [ "$(bytes_of_type "$type")" != 1 ]; then raw=$expected.big.u64; fi
    ok_writes "raw $type $endian-endian, $count numbers $*" "$raw" -- \
        --argsort --format=raw --type="$type" --endian="$endian" "$@" "$in.raw"
    [ -e "$in.npy" ] || return 0
    ok_writes "npy $type $endian-endian, $count numbers $*" "$expected.npy" -- \
        --argsort "$@" "$in.npy"
}

permutes_each_way() {
    local type=$1 count=$2 endian base=$1.$2 rule
    for endian in little big; do
        [ "$endian" = little ] || { [ "$count" -eq 1000 ] && [ "$(bytes_of_type "$type")" != 1 ]; } || continue
        permutes "$type" "$count" "$endian" "$base.up"
        permutes "$type" "$count" "$endian" "$base.down" -r
        for rule in first last; do
            if [ "$count" -ne 1000 ] || [ ! -e "$base.up.$rule.u64" ]; then continue; fi
            permutes "$type" "$count" "$endian" "$base.up.$rule" --nan="$rule"
            permutes "$type" "$count" "$endian" "$base.down.$rule" --nan="$rule" -r
        done
    done
}

for type in $(list_types); do
    data "$type" 0 1 2 1000 "$large"
    for count in 0 1 2 1000 "$large"; do
        permutes_each_way "$type" "$count"
    done
done

# Keys of each width to every output format, as indices of 64 and 32 bits, in both directions; from
# files, pipes and zstd.
for type in $(those_of u8 bf16 f32 datetime64); do
    raw=$type.1000.little.in.raw
    as_type=(--format=raw --type="$type")
    for direction in up down; do
        options=(--argsort)
        [ $direction = up ] || options+=(-r)
        as_u32=("${options[@]/%argsort/argsort=u32}")
        expected=$type.1000.$direction
        ok_writes "$type to text, $direction" "$expected.text" -- \
            "${options[@]}" "${as_type[@]}" --output-format=text "$raw"
        ok_writes "$type to npy, $direction" "$expected.npy" -- \
            "${options[@]}" "${as_type[@]}" --output-format=npy "$raw"
        ok_writes "$type to u32, $direction" "$expected.u32" -- \
            "${as_u32[@]}" "${as_type[@]}" "$raw"
        ok_writes "$type to u32 in npy, $direction" "$expected.u32.npy" -- \
            "${as_u32[@]}" "${as_type[@]}" --output-format=npy "$raw"
        ok_output "$type from a pipe, $direction" "$expected.u64" -- \
            bash -c 'cat "$1" | "${@:2}"' - "$raw" "$GPUSORT" "${options[@]}" "${as_type[@]}"
        if [ -e "$type.1000.little.in.npy" ]; then
            ok_writes "$type, npy to raw, $direction" "$expected.u64" -- \
                "${options[@]}" --output-format=raw "$type.1000.little.in.npy"
        fi
    done
done

if command -v zstd >/dev/null; then
    for type in u8 bf16 f32 f64; do
        zstd -q -f "$type.$large.little.in.raw" -o in.zst
        ok_writes "$type, zstd in" "$type.$large.up.u64" -- --argsort --format=raw --type=$type in.zst
        ok "$type, zstd out" gpusort --argsort --zstd --format=raw --type=$type in.zst -o got.zst
        zstd -q -d -f got.zst -o got
        ok_same_bytes "$type, what zstd reads of it" got "$type.$large.up.u64"
    done
else
    skip 'zstd in and out' 'no zstd'
fi

head -c 4000 f64.1000.little.in.raw >first.f64
tail -c 4000 f64.1000.little.in.raw >second.f64
ok_writes 'indices run on from input to input' f64.1000.up.u64 -- --argsort first.f64 second.f64
ok_output 'and through standard input' f64.1000.up.u64 -- \
    gpusort --argsort --format=raw --type=f64 first.f64 - < <(cat second.f64)
cp f64.1000.little.in.raw place.f64
cp place.f64 place.in.f64
ok 'the output may be an input' gpusort --argsort place.f64 -o place.f64 --output-format=raw
ok_same_bytes 'and has the indices then' place.f64 f64.1000.up.u64
ok_writes 'one thread' "f64.$large.down.u64" -- \
    --argsort -r --parallel=1 --format=raw --type=f64 "f64.$large.little.in.raw"
ok_writes 'a byte order in the type' f64.1000.up.big.u64 -- \
    --argsort --format=raw --type='>f8' f64.1000.big.in.raw
ok_writes 'a byte order in the header alone is not for indices' f64.1000.up.u64 -- \
    --argsort --output-format=raw f64.1000.big.in.npy
ok 'a name that says the type of the indices' \
    gpusort --argsort=u32 --format=raw --type=f64 f64.1000.little.in.raw -o named.u32
ok_same_bytes 'and what is in it' named.u32 f64.1000.up.u32
# np.argsort returns int64, so --argsort accepts NumPy's names of types too.
for pair in i64:i64 int64:i64 '<i8:i64' i32:i32 int32:i32 u32:u32 uint32:u32 uint64:u64 '=u4:u32'; do
    word=${pair%:*} type=${pair#*:}
    "$numpy" -c "
import numpy as np
order = np.fromfile('f64.1000.up.u64', '<u8').astype(np.dtype('<${type:0:1}$(bytes_of_type "$type")'))
order.tofile('expected.raw')
order.byteswap().tofile('expected.big')
np.save('expected.npy', order)
np.savetxt('expected.txt', order, fmt='%d')"
    ok_writes "--argsort=$word, raw" expected.raw -- --argsort="$word" place.in.f64
    ok_writes "--argsort=$word, npy" expected.npy -- --argsort="$word" --output-format=npy place.in.f64
    ok_writes "--argsort=$word, text" expected.txt -- --argsort="$word" --output-format=text place.in.f64
    ok_writes "--argsort=$word, big-endian" expected.big -- \
        --argsort="$word" --format=raw --type='>f8' f64.1000.big.in.raw
done
ok 'indices as np.argsort writes them, by their name' gpusort --argsort=i64 place.in.f64 -o named.i64
ok_same_bytes 'are in the file of that name' named.i64 <("$numpy" -c "
import numpy as np, sys
x = np.fromfile('place.in.f64')
sys.stdout.buffer.write(np.argsort(x, kind='stable').tobytes())")
refused 'a name of another type of indices says which to ask for' 'use --argsort=i32$' -- \
    gpusort --argsort "$PWD/place.in.f64" -o "${target_dir}/x.i32"
refused 'big-endian indices are asked for by --endian' 'use --argsort=i64 --endian=big$' -- \
    gpusort --argsort='>i8' place.in.f64 -o "$target"
for word in i16 u8 f64 float64 bool datetime64 '<M8' '' I64; do
    refused "--argsort=$word" "^gpusort: unknown type of indices '$word': it is u32, u64, i32 or i64" -- \
        gpusort --argsort="$word" place.in.f64 -o "$target"
done
ok_says '--explain tells of indices' 'output .*raw u32 indices' -- \
    gpusort --argsort=u32 --explain first.f64
printf '3\nnan\n-0\n1\nnan\n0\n' >numbers
ok_prints 'text read as numbers has their order: NaNs last, -0 as 0' '2\n5\n3\n0\n1\n4\n' -- \
    gpusort --argsort --type=f64 numbers

# A pipe with more than is read ahead, so that the count is unknown: numbers of 2 bytes make items
# of 8 bytes, others of 16.
"$numpy" -c "
import numpy
numbers = numpy.random.default_rng(1).integers(-9000, 9000, 600011)
numbers.astype('<i2').tofile('unknown.i16')
numbers.astype('<i4').tofile('unknown.i32')
numpy.argsort(numbers, kind='stable').astype('<u8').tofile('unknown.u64')"
for type in i16 i32; do
    ok_output "$type of an unknown count" unknown.u64 -- \
        gpusort --argsort --device=cpu --format=raw --type=$type < <(cat unknown.$type)
done

# More numbers than one read or one output buffer holds.
if [ "$test_size" = full ]; then
    "$numpy" -c "
import numpy
numbers = numpy.random.default_rng(1).integers(-400000, 400000, 2500011)
numbers.astype('<f8').tofile('many.f64')
numbers.astype('<i4').tofile('many.i32')
numpy.savetxt('many.txt', numbers, fmt='%d')
numpy.argsort(numbers, kind='stable').astype('<u8').tofile('many.u64')"
    for device in "${devices[@]}"; do
        on=(--argsort --device="$device" --output-format=raw)
        for file in many.f64 many.i32 many.txt; do
            ok_writes "$file on the $device" many.u64 -- "${on[@]}" $file
        done
        ok_output "many numbers from a pipe on the $device" many.u64 -- \
            gpusort "${on[@]}" --format=raw --type=i32 < <(cat many.i32)
        ok_writes "many numbers from text on the $device" many.u64 -- "${on[@]}" --type=i32 many.txt
    done
fi

# ---- lines ---------------------------------------------------------------------------------------

# indices_of_lines FILE [-r]: prints the indices of the lines in the order of sort(1). Some versions
# of sort compare NaNs by uninitialized bytes. So lines with NaN are not sorted: they go first, or
# last with -r.
indices_of_lines() {
    awk '{ print NR - 1 "\t" $0 }' "$1" >numbered
    grep nan numbered >nans || true
    grep -v nan numbered | sort -s -t '	' -k 2 -g "${@:2}" >sorted || true
    if [ $# -gt 1 ]; then cut -f 1 sorted nans; else cut -f 1 nans sorted; fi
}

"$numpy" "$tests_dir/make_data.py" lines "$(full_or_small 60000 8000)" >lines
# Values that are equal as doubles, of both signs and each in several spellings.
awk 'BEGIN {
    for (i = 0; i < 30000; i++) {
        srand(i); k = int(rand() * 40)
        print (i % 3 ? "" : "  ") (i % 7 ? "" : "-") "184467440737095516" 10 + k (i % 2 ? ".0" : "") \
            (i % 5 ? "" : "e0")
    }
}' >close
for file in lines close; do
    indices_of_lines $file >$file.up
    indices_of_lines $file -r >$file.down
    ok "some lines of $file have equal values" \
        bash -c '[ "$(sort -g -s -u "$1" | wc -l)" -lt "$(wc -l <"$1")" ]' - $file
    for device in "${devices[@]}"; do
        ok_writes "$file on the $device, as sort -g -s" $file.up -- --argsort --device="$device" $file
        ok_writes "$file on the $device, as sort -g -s -r" $file.down -- \
            --argsort --device="$device" -r $file
        for top in 0 1 7 1001 6000 100000; do
            head -n $top $file.up >first
            ok_writes "the first $top of $file on the $device" first -- \
                --argsort --top=$top --device="$device" $file
            head -n $top $file.down >first
            ok_writes "the last $top of $file on the $device" first -- \
                --argsort --top=$top --device="$device" -r $file
        done
    done
    ok_writes "$file by one thread" $file.down -- --argsort --parallel=1 -r $file
    "$numpy" -c "
import numpy
indices = numpy.loadtxt('$file.up', dtype='<u8')
indices.astype('<u4').tofile('$file.up.u32')
numpy.save('$file.up.npy', indices)"
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
ok 'the first of equal lines, as .npy' gpusort -u --argsort repeated.txt -o repeated.npy
ok 'NumPy reads as many indices as there are' "$numpy" -c "import numpy
assert numpy.load('repeated.npy').tolist() == [1, 3, 0]"

# ---- every path of the GPU -----------------------------------------------------------------------

# Both sizes of items: 8 bytes, and 16 for f64.
if [ -z "$problem" ]; then
    head -n 2000 lines >few
    indices_of_lines few -r >few.down
    for type in u8 f16 f32 f64; do data "$type" 3001; done
    for path in $(list_paths gpu); do
        for type in u8 f16 f32 f64; do
            if [[ $path == *:* && $type =~ u8|f16 ]]; then continue; fi
            ok_writes "$path: $type" $type.3001.up.u64 -- --argsort --device=gpu -a "$path" \
                --format=raw --type=$type $type.3001.little.in.raw
        done
        if [[ $path == *:* ]]; then continue; fi # tiles are tested above, with items of 8 and 16 bytes
        ok_writes "$path: f64 downwards" f64.3001.down.npy -- \
            --argsort --device=gpu -a "$path" -r f64.3001.little.in.npy
        ok_output "$path: f32 from a pipe" f32.3001.down.u64 -- \
            gpusort --argsort --device=gpu -a "$path" -r --format=raw --type=f32 \
            < <(cat f32.3001.little.in.raw)
        ok_writes "$path: lines" few.down -- --argsort --device=gpu -a "$path" -r few
    done
    for type in bf16 u64; do
        ok_writes "$type, $large numbers on the gpu" "$type.$large.up.u64" -- --argsort \
            --device=gpu --format=raw --type=$type "$type.$large.little.in.raw"
    done
else
    skip 'the paths of the GPU' "$problem"
fi

# ---- refused inputs ------------------------------------------------------------------------------

truncate -s 4294967296 many.u8
refused 'u32 for 2^32 numbers' 'argsort=u32 counts up to 4294967295 numbers' -- \
    gpusort --argsort=u32 many.u8 -o "$target"
truncate -s 4294967295 many.u8
ok_says 'u32 for one number less' 'raw u32 indices' -- gpusort --argsort=u32 --explain many.u8
rm many.u8
"$numpy" -c "
import numpy
with open('claims.npy', 'wb') as file:
    numpy.lib.format.write_array_header_1_0(
        file, {'descr': '|u1', 'fortran_order': False, 'shape': (2**32,)})
    file.write(bytes(2**21))"
refused 'u32 for the 2^32 numbers that a header in a pipe claims' 'argsort=u32 counts up to' -- \
    "$GPUSORT" - --argsort=u32 --output-format=raw -o "$target" \
    < <(cat claims.npy)
refused 'a name that says another type' \
    'named as raw u32, but raw u64 would be written: use --argsort=u32$' -- \
    gpusort --argsort first.f64 -o "$target_dir/x.u32"
printf '30\n10\n20\n' >three.txt
"$numpy" -c 'import numpy
for type in "u4", "u8":
    numpy.array([1, 2, 0], dtype="<" + type).tofile("three." + type)
numpy.save("three.npy", numpy.array([30.0, 10, 20]))'
for input in three.txt three.npy; do
    ok "a name that says the type of the indices: $input" gpusort --argsort=u32 $input -o order.u32
    ok_same_bytes "a name that says the type of the indices: $input" order.u32 three.u4
    ok "and the default one: $input" gpusort --argsort $input -o order.u64
    ok_same_bytes "and the default one: $input" order.u64 three.u8
    ok "and compressed: $input" gpusort --argsort=u32 $input -o order.u32.zst
    ok_output "and compressed: $input" three.u4 -- zstd -dc order.u32.zst
    ok "a format that is said is believed: $input" \
        gpusort --argsort=u32 --output-format=text $input -o order.u32
    ok_prints "a format that is said is believed: $input" '1\n2\n0\n' -- cat order.u32
done
ok 'lines by a key, too' gpusort --argsort=u32 -n three.txt -o order.u32
ok_same_bytes 'lines by a key, too' order.u32 three.u4
refused 'a name that says another type than the indices of lines' \
    'named as raw u32, but text would be written: use --argsort=u32 or --output-format=text$' -- \
    gpusort --argsort three.txt -o "$target_dir/x.u32"
refused 'the name of the input, which says another type' 'named as raw f64, but raw u64' -- \
    gpusort --argsort first.f64 -o "$target_dir/x.f64"
refused 'a rule for NaNs in lines' '--nan is for numbers' -- \
    gpusort --argsort --nan=last lines -o "$target"
refused 'a NaN, if told to' 'number [0-9]+ is a NaN' -- \
    gpusort --argsort --nan=error --format=raw --type=f64 f64.1000.little.in.raw -o "$target"
printf '1\n\n2\n' >empty_line
refused 'an empty line' 'empty_line:2: ' -- gpusort --argsort empty_line -o "$target"
printf '1\nx\n' >word
refused 'a word, named with its line' 'word:2: ' -- gpusort --argsort word -o "$target"
refused 'a word where text is read as numbers' 'word:2: ' -- \
    gpusort --argsort --type=f32 word -o "$target"
head -c 4001 f64.1000.little.in.raw >cut.f64
refused 'a number that is cut off' '4001 bytes is not a multiple of 8' -- \
    gpusort --argsort cut.f64 -o "$target"
ok_fails_with 'a full disk' 2 'No space left on device' -- \
    gpusort --argsort first.f64 -o /dev/full

done_testing
