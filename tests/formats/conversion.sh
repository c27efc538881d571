#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Text, raw and .npy are converted into each other, by options and by the names of files, without loss unless --type
# asks for it: the output has the bytes that Python and NumPy write for the same numbers. soak.sh converts all types.
. "$(dirname "$0")/../lib.sh"
need_numpy

types='i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bool'
make_data text . "${types// /,}" "$(full_or_small 5000 2000)"
for type in $types; do
    # What an output may be called by its type, an input may be called too.
    long=${type/#i/int} long=${long/#u/uint} long=${long/#f/float}
    gpusort --format=text --type="$type" --output-format=raw "$type.in.text" -o "named.$long"
    for name in $type $long ${long^^}; do
        [ -e "named.$name" ] || cp "named.$long" "named.$name"
        ok_output "$type: a file named .$name is raw" "$type.sorted.text" -- gpusort --output-format=text "named.$name"
        zstd -qf "named.$name"
        ok_output "$type: so is a compressed one" "$type.sorted.text" -- gpusort --output-format=text "named.$name.zst"
    done
done

make_data keys . f64 1000
ok_writes 'big-endian raw to npy stays big-endian' f64.1000.big.up.npy -- \
    --format=raw --type='>f8' --output-format=npy f64.1000.big.in.raw
ok_writes 'big-endian npy to raw stays big-endian' f64.1000.big.up.raw -- --output-format=raw f64.1000.big.in.npy
ok_says 'the plan says so' '^output +got: raw big-endian \(' -- \
    gpusort --explain --output-format=raw f64.1000.big.in.npy -o got
gpusort --output-format=text f64.in.npy -o little.text

# ---- names of outputs ----------------------------------------------------------------------------

printf '3\n1.5\n-2e3\n' >three
printf '2\n1\n' >two
head -c 64 f64.in.raw >eight.f64
printf '9007199254740992\n-9007199254740994\n18446744073709551616\n9007199254740993.0\n9007199254740993e0\n-inf\n' >rounded
inexact=(9007199254740993 -9007199254740993 ' +9223372036854775807' 18446744073709551615 0xdeadbeefcafebabe -0X20000000000001)
printf '0x20000000000000\n0xdeadbeefcafebp12\n-0XEEEEEEEEEEEEE000\n0x1EEEEEEEEEEEEEEEF\n' >hexadecimal
with_numpy 'np.save("big", np.load("f64.in.npy").astype(">f8"))
np.save("rounded", np.sort(np.loadtxt("rounded")))
for i, word in enumerate(sys.argv[1:]):
    np.save("ids%d" % i, np.sort([1, float(int(word, 0))]))
np.save("hexadecimal", np.sort([float(2**53), float(0xdeadbeefcafeb << 12), -float(0xEEEEEEEEEEEEE000), float(0x1EEEEEEEEEEEEEEEF)]))
three = np.array([-2e3, 1.5, 3])
np.save("three", three)
open("three.text", "w").write("-2000\n1.5\n3\n")
open("three.lines", "w").write("-2e3\n1.5\n3\n")
np.array([1, 2], "<u4").tofile("two.raw")
np.array([1, 0], "<u4").tofile("order.raw")
np.array([2, 1, 0], "<u4").tofile("third.first.u4")
np.array([2, 1, 0], "<u8").tofile("third.first.u8")
open("third.first.text", "w").write("2\n1\n0\n")
np.arange(3, dtype="<u4").tofile("in.order.u4")
np.sort(np.fromfile("eight.f64")).tofile("eight.raw")
np.array([1, 2], "<f8").tofile("two.doubles")' "${inexact[@]}"
ok_writes 'big-endian npy to text' little.text -- --output-format=text big.npy

# A row: the name of an output, the file that has the same bytes, and the arguments.
while IFS='|' read -r name expected words; do
    [ -e "$name" ] || echo 'an old output' >"$name"
    ok_file "$name: $words" "$name" "$expected" -- gpusort $words -o "$name"
done < <(
    printf '%s|three.text|three.npy\n' by_name.{txt,csv,tsv,tab,log,jsonl,TXT}
    printf '%s|eight.raw|eight.f64\n' x.{bin,raw,float64,F64}
    cat <<'END'
without_name|three.npy|--output-format=npy three
by_name.npy|three.npy|three
by_name.NPY|three.npy|three
same.npy|three.lines|--output-format=same three
x.gz|three.lines|--no-zstd three
x.npz|three.npy|--output-format=npy three
lines.json|three.lines|-n three
lines.yaml.zst|three.lines|--no-zstd -n three
lines.html|three.lines|-n three
two.u32|two.raw|--type=u32 --output-format=raw two
order.uint32|order.raw|--argsort=u32 two
order.u32|third.first.u4|--argsort=u32 three
order.u32|third.first.u4|--argsort=u32 -n three
order.u32|in.order.u4|--argsort=u32 three.npy
order.u64|third.first.u8|--argsort three
order.u32|third.first.text|--argsort=u32 --output-format=text three
order.u32.zst|third.first.u4|--argsort=u32 --no-zstd three
forced.u32|eight.raw|--output-format=raw eight.f64
told.f64|two.doubles|--output-format=raw two
x.float64.zst|eight.raw|--no-zstd eight.f64
END
)
cp three in_place.json
cp three.npy misnamed.bin
for row in 'in_place.json three.lines' 'misnamed.bin three.npy'; do
    ok_file "in place the name does not matter: $row" $row -- gpusort "${row% *}" -o "${row% *}"
done
ok_output 'an output called .ZST is compressed' three.lines -- \
    eval 'gpusort three -o by_name.ZST && zstd -dc by_name.ZST'

# A row: the name of an output, what it is refused for, and the arguments. No input is read before.
mkfifo waiting
exec 5<>waiting # without data
{
    for input in three three.npy waiting; do
        for name in x.gz x.npy.gz x.txt.bz2 x.f64.xz x.csv.lz4 x.lzma x.br x.GZ x.gz.zst x.tgz; do
            rest=${name%.zst}
            echo "$name|[A-Za-z0-9]+ data, which is not written: name it .*/${rest%.*}\.zst$|$input"
        done
        for name in x.npz x.zip x.parquet x.arrow x.feather x.h5 x.hdf5 x.sqlite x.xlsx x.pkl x.json \
            x.mat x.parquet.zst x.NPZ; do
            echo "$name|[A-Za-z0-9]+ data, which is not written: name it .npy or .txt$|$input"
        done
    done
    to_text='--output-format=raw, or --output-format=text$'
    for name in x.float64 x.F64 x.float64.zst; do
        echo "$name|raw f64, but text would be written: use --type=f64 $to_text|three"
        echo "$name|raw f64, but npy f64 would be written: use --output-format=raw, or |three.npy"
    done
    for name in x.bin x.raw; do
        echo "$name|raw numbers, but text would be written: use $to_text|three"
        echo "$name|raw numbers, but npy f64 would be written: use --output-format=raw, or |three.npy"
    done
    cat <<'END'
x.gz|gzip data|--output-format=text three.npy
x.npz|zip data, which is not written: name it .txt, or use --output-format=text$|-m three
x.db|SQLite data, which is not written: name it .txt, or use --output-format=text$|-k1 three
x.gz|gzip data|--argsort three
x.i32|raw i32, but raw u64 would be written: use --argsort=i32$|--argsort eight.f64
x.i16|raw i16, but raw u64 would be written: name it .u64$|--argsort eight.f64
x.u32|raw u32, but raw u64 would be written: use --argsort=u32$|--argsort eight.f64
x.f64|raw f64, but raw u64 would be written|--argsort eight.f64
x.u32|raw u32, but text would be written: use --argsort=u32 or --output-format=text$|--argsort three
x.zst.gz|gzip data, which is not written: name it .*/x.zst$|three
x.npy.ZST.bz2|bzip2 data, which is not written: name it .*/x.npy.ZST$|three
x.json|JSON data, which is not written: name it .npy or .txt$|-n --argsort three
x.yaml.zst|YAML data, which is not written: name it |-n --argsort three
x.html|XML data, which is not written: name it |-n --argsort three
x.i32|raw i32, but npy f64 would be written: name it .npy$|three.npy
x.i32|raw i32, but text would be written: name it .txt$|--type=f64 three
x.int32|raw i32, but raw f64 would be written: name it .f64$|eight.f64
x.u32|raw u32, but raw f64 would be written: name it .f64$|eight.f64
x.u32.zst|raw u32.*--output-format|three
x.u32|raw u32, but text would be written: use --type=u32 --output-format=raw, or --output-format=text$|two
x.u32|raw u32, but text would be written: use --output-format=raw, or --output-format=text$|--type=u32 two
x.u32|raw u32, but raw f64 would be written: use --type=u32$|--output-format=raw two
x.f64|raw f64, but text would be written: name it .txt, or use --output-format=text$|-n three
x.f64|raw f64, but text would be written: name it .txt, or use --output-format=text$|--header three
x.f64.zst|raw f64, but text would be written: name it .txt.zst, or use --output-format=text$|-n three
x.u32.zst|raw u32, but raw f64 would be written: name it .f64.zst$|eight.f64
END
} >names
while IFS='|' read -r name regex words; do
    refused "an output called $name: $words" "^gpusort: .*/$name: named as $regex" -- \
        gpusort $words -o "$target_dir/$name"
done <names
exec 5>&-

refused 'lines that would be raw numbers: no advice to use --type, which -g refuses' \
    '^gpusort: -g is for lines of text, and raw output would not keep them: leave -g out, or use --output-format=text$' -- \
    gpusort -g --output-format=raw two -o "$target_dir/x.u32"

# ---- numbers in text -----------------------------------------------------------------------------

# Integers that f64 would round may be identifiers. They are refused unless --type is given.
ok_writes 'what f64 holds, or looks like no integer of 64 bits, is f64' rounded.npy -- --output-format=npy rounded
ok_writes 'the same of hexadecimal numbers' hexadecimal.npy -- --output-format=npy hexadecimal
for type in i8 u8; do
    refuses "what a byte cannot hold says that $type is one" \
        "^gpusort: standard input:1: 300 is out of the range of $type, which is one byte here: NumPy's $type is ${type::1}64$" -- \
        --type=$type --format=text - <<<300
done
refuses 'but not for other types' 'is out of the range of u16$' -- --type=u16 --format=text - <<<70000
for i in "${!inexact[@]}"; do
    word=${inexact[i]}
    printf '1\n%s\n' "$word" >ids
    refuses "$word is not rounded without a word" \
        "^gpusort: ids:2:  ?[^ ]* is not exact as f64: use --type=i64 or u64, or f64 to round it$" -- \
        --output-format=npy ids
    ok_writes "$word is rounded when told so" "ids$i.npy" -- --type=f64 --output-format=npy ids
done
ok_prints 'floats are written short' '-0\n0\n1e-05\n0.0001\n0.1\n100000\n1e+16\n1e+22\ninf\nnan\n' -- \
    gpusort --type=f64 <<<$'nan\ninf\n1e22\n1e16\n1e5\n.1\n1e-4\n1e-5\n0\n-0.0'
ok_prints 'every spelling of an integer is read' '-1\n0\n1\n10\n16\n1000\n' -- \
    gpusort --type=i32 <<<$'1e3\n0x10\n10.0\n+1\n-1.\n-0'

# Each positive float of two bytes is written with the fewest digits. The decimal halfway between two of them is read as
# the even one, and a decimal just below or above it as the nearest: lines.TYPE has these, and read.TYPE the results.
with_numpy - <<'END'
import math, re
for name, dtype, infinity in ("f16", "u2", 0x7C00), ("bf16", "u4", 0x7F80):
    bits = np.arange(infinity, dtype="u2")
    values = (bits.astype("u4") << 16).view("f4") if name == "bf16" else bits.view("f2")
    values = [float(x) for x in values]
    bits[1:].tofile("each." + name)
    with open("values." + name, "w") as file:
        file.writelines("%r\n" % x for x in values)
    read = []
    with open("lines." + name, "w") as lines:
        for i, value in enumerate(values[:-1]):
            middle = (value + values[i + 1]) / 2
            text = "%.140f" % middle
            head, last, zeros = re.match("(.*)([1-9])([0.]*)$", text).groups()
            less = head + str(int(last) - 1) + zeros.replace("0", "9")
            lines.writelines(line + "\n" for line in (less, text, middle.hex(), text + "%060d1" % 0))
            read += [i, i + i % 2, i + i % 2, i + 1]
    np.array(read, "<u2").tofile("read." + name)
    (np.array(read, "<u2") | 0x8000).tofile("negative." + name)
END
for type in f16 bf16; do
    ok_writes "decimals halfway between two $type" read.$type -- --format=text --type=$type --output-format=raw lines.$type
    sed 's/^/-/' lines.$type >below.$type
    ok_writes "negative decimals halfway between two $type" negative.$type -- \
        -r --format=text --type=$type --output-format=raw below.$type
    gpusort --output-format=text each.$type -o each.text
    ok_output "$type as text is read as the same" each.$type -- \
        gpusort --format=text --type=$type --output-format=raw each.text
    ok "$type as text has the fewest digits" "$numpy" -c 'import decimal, sys
values = [decimal.Decimal(float(line)) for line in open(sys.argv[1])]
for i, line in enumerate(open("each.text"), 1):
    written = decimal.Decimal(line).normalize()
    digits = len(written.as_tuple().digits)
    below, above = [(values[i] + x) / 2 for x in (values[i - 1], values[min(i + 1, len(values) - 1)])]
    unit = decimal.Decimal(10) ** (written.adjusted() - digits + 2) # of the last place of one digit less
    shorter = [(values[i] // unit + step) * unit for step in (0, 1)]
    assert digits == 1 or not any(below < x < above for x in shorter), line' values.$type
done

# A row: a type, and numbers on the second line that are refused, each with the words of the message. fuzz_numbers.c
# has all types except floats of two bytes.
while read -r type numbers; do
    for number in $numbers; do
        refuses "${number%:*} is no $type" "^gpusort: standard input:2: .*${number#*:}" -- \
            --format=text --type="$type" <<<"1"$'\n'"${number%:*}"
    done
done <<'END'
u8 256:range -1:range inf:
i32 2147483648:range 1.5:whole nan:
i64 9223372036854775808:range -9223372036854775809:range
f64 1e400:range abc:number
f16 65520:range 1e39:range
bf16 3.4e38:range 1e39:range
END

done_testing
