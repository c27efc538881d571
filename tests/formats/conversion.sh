#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Text, raw and .npy are converted into each other without loss: the output has the bytes that
# Python and NumPy write for the same numbers.
. "$(dirname "$0")/../lib.sh"
need_numpy

count=$(full_or_small 5000 2000)
for type in i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool; do
    "$numpy" "$tests_dir/make_data.py" text . $type "$count"
    ok_writes "$type: text to raw" $type.sorted.raw -- \
        --format=text --type=$type --output-format=raw $type.in.text
    ok_writes "$type: text to npy" $type.sorted.npy -- \
        --format=text --type=$type --output-format=npy $type.in.text
    ok_writes "$type: raw to text, as Python writes it" $type.sorted.text -- \
        --format=raw --type=$type --output-format=text $type.in.raw
    ok_writes "$type: npy to text, as Python writes it" $type.sorted.text -- \
        --output-format=text $type.in.npy
    ok_writes "$type: raw to npy, as numpy.save writes it" $type.sorted.npy -- \
        --format=raw --type=$type --output-format=npy $type.in.raw
    ok_writes "$type: npy to raw" $type.sorted.raw -- --output-format=raw $type.in.npy
    ok_writes "$type: text to text, as numbers" $type.sorted.text -- \
        --format=text --type=$type $type.in.text
done

"$numpy" "$tests_dir/make_data.py" keys . f64 1000
ok_writes 'big-endian raw to npy stays big-endian' f64.1000.big.up.npy -- \
    --format=raw --type='>f8' --output-format=npy f64.1000.big.in.raw
ok_writes 'big-endian npy to raw stays big-endian' f64.1000.big.up.raw -- \
    --output-format=raw f64.1000.big.in.npy
gpusort --output-format=text f64.in.npy -o little.text
"$numpy" -c 'import numpy; numpy.save("big", numpy.load("f64.in.npy").astype(">f8"))'
ok_writes 'big-endian npy to text' little.text -- --output-format=text big.npy

# Formats and types that need not be given.
printf '3\n1.5\n-2e3\n' >three
"$numpy" -c 'import numpy; numpy.save("three", numpy.array([-2e3, 1.5, 3]))'
ok_writes 'text to npy is f64 unless said' three.npy -- --output-format=npy three

# Integers that f64 would round may be identifiers. They are refused unless --type is given.
printf '9007199254740992\n-9007199254740994\n18446744073709551616\n9007199254740993.0\n9007199254740993e0\n-inf\n' >rounded
"$numpy" -c 'import numpy; numpy.save("rounded", numpy.sort(numpy.loadtxt("rounded")))'
ok_writes 'what f64 holds, or looks like no integer of 64 bits, is f64' rounded.npy -- --output-format=npy rounded
for word in 9007199254740993 -9007199254740993 ' +9223372036854775807' 18446744073709551615; do
    printf '1\n%s\n' "$word" >ids
    refused "$word is not rounded without a word" \
        "^gpusort: ids:2:  ?[^ ]* is not exact as f64: use --type=i64 or u64, or f64 to round it$" -- \
        gpusort --output-format=npy ids -o "$target"
    "$numpy" -c 'import numpy; numpy.save("ids", numpy.sort(numpy.loadtxt("ids")))'
    ok_writes "$word is rounded when told so" ids.npy -- --type=f64 --output-format=npy ids
done
ok 'an output called .npy is npy' gpusort three -o by_name.npy
ok_same_bytes 'an output called .npy is npy' by_name.npy three.npy
ok 'an output called .npy is text when told same' gpusort --output-format=same three -o same.npy
ok_prints 'an output called .npy is text when told same' '-2e3\n1.5\n3\n' -- cat same.npy
ok 'an output called .txt is text' gpusort three.npy -o by_name.txt
ok_prints 'an output called .txt is text' '-2000\n1.5\n3\n' -- cat by_name.txt

head -c 64 f64.in.raw >eight.f64
refused 'doubles in an output called .u32' 'out.u32: named as raw u32, but raw f64 would be written: name it .f64$' -- \
    gpusort eight.f64 -o "$target_dir/out.u32"
refused 'lines in an output called .u32.zst' 'out.u32.zst: named as raw u32.*--output-format' -- \
    gpusort three -o "$target_dir/out.u32.zst"
printf '2\n1\n' >two
refused 'text in an output called .u32' \
    'out.u32: .* but text would be written: use --type=u32 --output-format=raw, or --output-format=text$' -- \
    gpusort two -o "$target_dir/out.u32"
refused 'text of the type that the output is called after' \
    'out.u32: .* but text would be written: use --output-format=raw, or --output-format=text$' -- \
    gpusort --type=u32 two -o "$target_dir/out.u32"
refused 'doubles for want of a type in an output called .u32' \
    'out.u32: named as raw u32, but raw f64 would be written: use --type=u32$' -- \
    gpusort --output-format=raw two -o "$target_dir/out.u32"
ok_prints 'with it they are u32' '1\n2\n' -- bash -c '
    "$0" --type=u32 --output-format=raw two -o two.u32 && "$0" --output-format=text two.u32' "$GPUSORT"
ok 'an output called .u32 is what --output-format says' \
    gpusort --output-format=raw eight.f64 -o forced.u32
gpusort eight.f64 -o eight.sorted
ok_same_bytes 'an output called .u32 is what --output-format says' forced.u32 eight.sorted
ok_prints 'an output called .f64 is raw when told so' '1.5\n2\n' -- bash -c '
    printf "2\n1.5\n" | "$0" --output-format=raw -o told.f64 && "$0" --output-format=text told.f64' \
    "$GPUSORT"

# lies NAME REGEX ARGUMENT...: an output of that name is refused before any input is read.
lies() {
    local name=$1 regex=$2
    shift 2
    refused "an output called $name $*" "^gpusort: .*/$name: named as $regex" -- \
        timeout 10 "$GPUSORT" "$@" -o "$target_dir/$name"
}
mkfifo waiting
exec 5<>waiting # without data
for input in three three.npy waiting; do
    for name in x.gz x.npy.gz x.txt.bz2 x.f64.xz x.csv.lz4 x.lzma x.br x.GZ x.gz.zst x.tgz; do
        rest=${name%.zst}
        lies $name "[A-Za-z0-9]+ data, which is not written: name it .*/${rest%.*}\.zst$" $input
    done
    for name in x.npz x.zip x.parquet x.arrow x.feather x.h5 x.hdf5 x.sqlite x.xlsx x.pkl x.json \
        x.mat x.parquet.zst x.NPZ; do
        lies $name '[A-Za-z0-9]+ data, which is not written: name it .npy, .txt, ' $input
    done
done
exec 5>&-
lies x.gz 'gzip data' --zstd three
lies x.gz 'gzip data' --output-format=text three.npy
lies x.gz 'gzip data' -n three
lies x.npz 'zip data' -m three
lies x.gz 'gzip data' --argsort three
for name in x.zst.gz x.npy.ZST.bz2; do
    lies $name "[a-z0-9]+ data, which is not written: name it .*/${name%.*}$" three
done
ok '--no-zstd says that .gz is not compressed' gpusort --no-zstd three -o x.gz
ok_same_bytes '--no-zstd says that .gz is not compressed' x.gz <(sort -g three)
ok '--output-format says what is in .npz' gpusort --output-format=npy three -o x.npz
ok_same_bytes '--output-format says what is in .npz' x.npz three.npy
cp three in_place.json
ok 'lines are sorted in place whatever the name' gpusort -n in_place.json -o in_place.json
ok_same_bytes 'lines are sorted in place whatever the name' in_place.json <(sort -g three)
for name in lines.json lines.yaml.zst lines.html; do
    ok "sort(1)'s options write lines to $name" gpusort --no-zstd -n three -o $name
    ok_same_bytes "sort(1)'s options write lines to $name" $name <(LC_ALL=C sort -n three)
    lies indices.${name#*.} '[A-Z]+ data, which is not written: name it ' -n --argsort three
done
lies x.i32 'raw i32, but npy f64 would be written: name it .npy$' three.npy
lies x.i32 'raw i32, but text would be written: name it .txt$' --type=f64 three
for extension in csv tsv tab log jsonl TXT; do
    ok "an output called .$extension is text" gpusort three.npy -o by_name.$extension
    ok_prints "an output called .$extension is text" '-2000\n1.5\n3\n' -- cat by_name.$extension
done
for extension in bin raw; do
    lies x.$extension 'raw numbers, but text would be written: use --output-format=raw, or --output-format=text$' three
    lies x.$extension 'raw numbers, but npy f64 would be written: use --output-format=raw, or --output-format=npy$' three.npy
    ok "raw numbers in an output called .$extension" gpusort eight.f64 -o x.$extension
    ok_same_bytes "raw numbers in an output called .$extension" x.$extension eight.sorted
done
for name in x.float64 x.F64 x.float64.zst; do
    lies $name 'raw f64, but text would be written: use --type=f64 --output-format=raw, or --output-format=text$' three
    lies $name 'raw f64, but npy f64 would be written: use --output-format=raw, or ' three.npy
    ok "doubles in an output called $name" gpusort --no-zstd eight.f64 -o $name
    ok_same_bytes "doubles in an output called $name" $name eight.sorted
done
lies x.int32 'raw i32, but raw f64 would be written: name it .f64$' eight.f64
for option in -n -u --header; do
    lies x.f64 'raw f64, but text would be written: name it .txt, or use --output-format=text$' $option three
done
cp three.npy misnamed.bin
ok 'npy that is named .bin is sorted in place' gpusort misnamed.bin -o misnamed.bin
ok_same_bytes 'npy that is named .bin is sorted in place' misnamed.bin three.npy
ok 'an output called .NPY is npy' gpusort three -o by_name.NPY
ok_same_bytes 'an output called .NPY is npy' by_name.NPY three.npy
ok 'an output called .ZST is compressed' gpusort three -o by_name.ZST
ok_output 'an output called .ZST is compressed' <(sort -g three) -- zstd -dc by_name.ZST

ok_prints 'floats are written short' '-0\n0\n1e-05\n0.0001\n0.1\n100000\n1e+16\n1e+22\ninf\nnan\n' -- \
    gpusort --type=f64 <<<$'nan\ninf\n1e22\n1e16\n1e5\n.1\n1e-4\n1e-5\n0\n-0.0'
ok_prints 'every spelling of an integer is read' '-1\n0\n1\n10\n16\n1000\n' -- \
    gpusort --type=i32 <<<$'1e3\n0x10\n10.0\n+1\n-1.\n-0'
ok_prints 'the ends of i64' '-9223372036854775808\n9223372036854775807\n' -- \
    gpusort --type=i64 <<<$'9223372036854775807\n-9223372036854775808'
ok_prints 'the end of u64' '0\n18446744073709551615\n' -- gpusort --type=u64 <<<$'18446744073709551615\n0'
ok_prints 'halfway decimals are rounded to even' '9007199254740992\n9007199254740996\n' -- \
    gpusort --type=f64 <<<$'9007199254740995\n9007199254740993'

# out_of TYPE NUMBER REGEX: NUMBER on the second line is refused.
out_of() {
    refused "$2 is no $1" "^gpusort: standard input:2: .*$3" -- \
        gpusort --format=text --type="$1" -o "$target" <<<"1"$'\n'"$2"
}
out_of u8 256 'range'
out_of u8 -1 'range'
out_of i8 128 'range'
out_of i8 -129 'range'
out_of u16 65536 'range'
out_of i16 -32769 'range'
out_of u32 4294967296 'range'
out_of i32 2147483648 'range'
out_of u64 18446744073709551616 'range'
out_of i64 9223372036854775808 'range'
out_of i64 -9223372036854775809 'range'
out_of u64 1e400 'range'
out_of i32 1.5 'whole'
out_of u64 0.5 'whole'
out_of i8 1e-1 'whole'
out_of i32 nan ''
out_of u8 inf ''
out_of f64 1e400 'range'
out_of f32 1e39 'range'
out_of f64 abc 'number'
refused 'a type that the npy header contradicts' 'f64' -- \
    gpusort --type=u64 -o "$target" three.npy

done_testing
