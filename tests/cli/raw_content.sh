#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Raw data that is unlikely to be of the assumed type is refused: text, other programs' files, integers as
# doubles, NumPy's i8 as bytes, C's float as doubles. Numbers of the assumed type are sorted, whatever their values.
. "$(dirname "$0")/../lib.sh"
need_numpy
"$numpy" "$tests_dir/cli/raw_content.py" .

# sorts NAME WORDS...: `gpusort WORDS` succeeds, for each of the WORDS.
sorts() {
    local words
    for words in "${@:2}"; do ok "$1: $words" gpusort $words -o got; done
}

# is_told NAME MESSAGE FILE...: each FILE, a name and options, is refused in place with the MESSAGE, a regular expression,
# and sorted when told that it is raw.
is_told() {
    local file words type
    for file in "${@:3}"; do
        read -r file words <<<"$file"
        type=${file##*.}
        kept "$1: $file $words" "^gpusort: $file: $2" $file -- gpusort $words --in-place $file
        ok "$1, when told that it is raw: $file" gpusort --endian=little $words --format=raw --type=${type/bin/f64} $file -o got
    done
}

# ---- doubles, and others -------------------------------------------------------------------------

# In such loops each job has outputs of its own, as a server empties the files that it writes to.
for file in doubles-*.bin; do
    gpusort -q "$file" -o "got-$file" >got 2>"$work/log/said" || sed "s|^|$file: |" "$work/log/said"
done >refused
pass_unless_said 'doubles of any distribution are sorted without a word on their type' refused
ok 'and as NumPy sorts them' with_numpy 'import glob
names = glob.glob("doubles-*.bin")
assert len(names) > 100, names
for name in names:
    want = np.sort(np.fromfile(name))
    assert np.array_equal(np.fromfile("got-" + name), want, equal_nan=True), name'
rm got-doubles-*

for file in doubles-*.bin; do
    gpusort <"$file" >got 2>"$work/log/said" || :
    [ ! -s "$work/log/said" ] || cat "$work/log/said"
done >said
grep -vE '^gpusort: standard input: (neither .* use --type( \(these look like f64\))?, or --format|this may be .*)$|^gpusort: standard input:1: ' said >problems || :
pass_unless_said 'doubles in a file without a name of theirs are said to be f64, or nothing is said' problems
cp -r others kept
{
    for file in others/*.bin; do
        hint=${file#others/}
        hint=${hint%%.*}
        words=${hint%+big}
        case $words in
        i64) words='i64 or u64' ;;
        TYPE) words='TYPE (gpusort --list has the types)' ;;
        esac
        [ "$hint" = "${hint%+big}" ] || words="$words with --endian=big"
        said="no type is given, and these do not look like f64: use --type=$words, or --type=f64 if they are"
        [ "$hint" != text ] || said="this is text without newlines, and no f64: write each item to a line of its own in \
a file of text (fold -w N, if each has N characters); if these are numbers, use --type=TYPE"
        [ "$hint" = "${hint#records-}" ] ||
            said="no type is given, and these look like records of f64 and other data, which repeat every \
${hint#records-} bytes: write the numbers to sort as .npy or text, or use --type=f64 if all are f64"
        status=0
        gpusort "$file" -o "$file" >got 2>"$work/log/said" || status=$?
        [ $status -eq 2 ] || echo "$file: status $status"
        got=$(<"$work/log/said")
        [ "${got/"'<f8'"/f64}" = "gpusort: $file: $said" ] || echo "$got" # <f8 if they look big-endian
        [[ $got =~ \ --type=\'?([^\ \']*)\'?\ if\  ]] || BASH_REMATCH=('' none)
        [ "$hint" = text ] || gpusort --type="${BASH_REMATCH[1]}" "$file" >got 2>"$work/log/said" || cat "$work/log/said"
        case $hint in
        TYPE | records-*) looks='' ;;
        *) looks=" (these look like $words)" ;;
        esac
        gpusort <"$file" >got 2>"$work/log/said" || :
        [ "$hint" = text ] || [ "$(<"$work/log/said")" = \
            "gpusort: standard input: neither .npy nor text, nor named as raw data: use --type$looks, or --format" ] ||
            cat "$work/log/said"
        status=0
        gpusort --format=raw <"$file" >got 2>"$work/log/said" || status=$?
        [ $status -eq 2 ] || echo "$file on standard input: status $status"
        got=$(<"$work/log/said")
        [ "$hint" = text ] || [ "${got/"'<f8'"/f64}" = "gpusort: standard input: $said" ] || echo "$got"
    done
    diff -r others kept || :
} >problems 2>&1
rm -r kept
pass_unless_said 'numbers of other types are refused without --type, and a type is named only if it is sure' problems

unlikely='^gpusort: [^:]*: no type is given, and these do not look like f64: use --type=i64 or u64, or --type=f64 if they are$'
for words in data.bin 'good.bin data.bin' '--top=1 data.bin' '--argsort data.bin'; do
    refuses "a few i64: $words" "$unlikely" -- $words
done
refuses 'i64, compressed' "$unlikely" -- <(zstd -qc data.bin) --format=raw
ok_fails_with 'i64 with --explain' 2 "$unlikely" -- gpusort --explain data.bin
ok_writes 'with --type they are sorted' data.up -- --type=i64 data.bin
fold -w8 others/text.21.5000.bin >lines
sort lines >lines.up
ok_writes 'the hint for text sorts it' lines.up -- -k1 lines
refuses 'lines of text under --format=raw are no f32' 'lines: no type is given, and this looks like text: use --format=text, or --type=TYPE if' -- \
    --format=raw lines
refuses 'text under --format=raw is no f32' 'this looks like text: write each item' -- \
    --format=raw --endian=big others/text.21.5000.bin
cp data.bin data.f64
sorts 'a type that is said is believed' '--type=f64 data.bin' data.f64
ok 'a few multiples of 1/255 are f64' gpusort levels.bin -o got
refuses 'some hundred f16' 'no type is given, and these do not look like f64' -- few_halves.bin
for file in arrays.*.bin; do
    refuses "arrays of different types: $file" 'no type is given, and a part of these does not look like f64' -- "$file"
    refuses "their type is not guessed: $file" 'raw data: use --type, or --format$' -- <"$file"
done
sorts 'a type that is said for all of them is believed' '--type=f64 arrays.0.bin'
refuses 'integers after the first MiB' 'do not look like f64' -- late.bin
with_numpy 'with open("huge.bin", "wb") as file:
    file.truncate(31 * 2**32 + 1024)
    random.random(128).tofile(file)
    for place in range(1, 32): # the data between is not stored
        file.seek(place * 2**32)
        np.arange(128, dtype="i8").tofile(file)'
ok_output 'a double that begins like a count of numbers, on a pipe' <(printf '\4\0\0\0\0\0\360\77') -- \
    gpusort --type=f64 < <(printf '\4\0\0\0\0\0\360\77')
ok_output 'the same in big-endian order' <(printf '\0\0\0\4\77\360\0\0') -- \
    gpusort --type='>f8' < <(printf '\0\0\0\4\77\360\0\0')
refuses 'integers after the first 4 GiB of 124' 'do not look like f64' -- --explain huge.bin
rm huge.bin
refuses 'little-endian integers with --endian=big' \
    "do not look like f64: use --type=i64 or u64 with --endian=little, or --type='>f8' if they are$" -- \
    --endian=big others/i64.0.5000.bin
ok_writes 'the hint for big-endian integers sorts them' sorted.big -- --type=i64 --endian=big others/i64+big.29.5000.bin
ok_writes 'the hint for big-endian f32 sorts them' single.big -- --type=f32 --endian=big others/f32+big.39.5000.bin
ok 'the hint for f64 that look big-endian sorts them' gpusort --type='<f8' others/f64+big.36.5000.bin -o got
with_numpy 'days = 86400 * 10**9 * random.integers(19000, 22000, 5000)
days.astype(">i8").tofile("days.dat")'
refuses 'big-endian days, in any file: integers of either order' 'named as raw data: use --type, or' -- days.dat
ok_writes 'big-endian doubles with --endian=big' big.up -- --endian=big big.bin

records='no type is given, and these look like records of f64 and other data, which repeat every'
with_numpy 'n = 400000
def write(name, dtype, *columns):
    np.rec.fromarrays(columns, dtype=dtype).tofile(name)
write("large7.bin", "f8,f8,f8,f8,f8,f8,i8", *random.normal(size=(6, n)), np.arange(n))
write("large3.bin", ">f8,>i8,>f8", random.normal(size=n), np.arange(n), random.normal(size=n))'
refuses 'many records' "$records 56 bytes" -- large7.bin
refuses 'big-endian records' "$records 24 bytes: .* or use --type='>f8' if all" -- --endian=big large3.bin
zstd -qf large7.bin
refuses 'many records, compressed' "$records 56 bytes" -- large7.bin.zst
rm large7.bin large3.bin

ok_says '--explain says that f64 is assumed' '^input .*\(by its name; f64, as no type is given\)$' -- \
    gpusort --explain good.bin
note='^gpusort: good.bin: read as f64 \(--type names another\)'
ok_says 'a terminal shows that f64 is assumed' "$note" -- on_terminal --stderr "$GPUSORT" good.bin -o got
for words in '-q good.bin' '--type=f64 good.bin' 'doubles-zeros-1.bin --type=f64'; do
    ok_prints "no note: $words" '' -- on_terminal --stderr "$GPUSORT" $words -o got
done
ok_prints 'no note: -C good.bin' '' -- bash -c '"$@" || :' - \
    python3 "$tests_dir/on_terminal.py" --stderr "$GPUSORT" -C good.bin
ok 'nor beside the object of --stats=json' \
    "$numpy" -c 'import json, sys; json.load(sys.stdin)' < <(on_terminal --stderr "$GPUSORT" --stats=json good.bin -o got)
ok_prints 'no note but on a terminal' '' -- gpusort good.bin -o got

# ---- NumPy's i8, u8 and f16 ----------------------------------------------------------------------

for file in few.i8 signed.i8 large.u8 time.i8 constant.u8 constant.i8 marks?.i8; do
    name=${file#*.}
    letter=${name%8}
    said="^gpusort: .*: $name is one byte here, and these look like NumPy's $name of 8 bytes: use --type=${letter}64, "
    cp "$file" nameless
    refuses "64-bit integers named $file" "$said" -- "$file"
    refuses "64-bit integers with --type=$name, as $file" "$said" -- --format=raw --type="$name" nameless
    refuses "the same on a pipe, $file" "$said" -- --format=raw --type="$name" < <(cat "$file")
    sorts 'bytes that are said to be bytes' "--format=raw --type="{int8,uint8,\|i1,\|u1}" $file"
done
with_numpy 'open("random.i64", "wb").write(random.bytes(8000))
random.integers(0, 2**63, 1000).tofile("hashes.bin")
random.integers(0, 2**63, 1000).astype(">i8").tofile("swapped.bin")
random.choice(np.array([0, 255], "u1"), 8000).tofile("mask.bin")
pixels = random.integers(0, 256, (2000, 4), "u1"); pixels[:, 3] //= 2; pixels.tofile("pixels.bin")'
refuses "--type=i8 for a file named as i64, whose bits look like no type" \
    "^gpusort: random.i64: i8 is one byte here, and .* use --type=i64, or --type=int8 for bytes" -- --type=i8 random.i64
ok '--type=int8 is taken for it' gpusort --type=int8 random.i64 -o got
refuses '--type=i8 for hashes of 63 bits' 'use --type=i64, or --type=int8 for bytes$' -- --type=i8 hashes.bin
refuses 'and for big-endian ones' 'use --type=i64, and --endian=big if they are big-endian, or --type=int8 for bytes$' -- --type=i8 swapped.bin
sorts 'bytes' '--type=u8 mask.bin' '--type=u8 pixels.bin'
printf 'caf\351 %d\n' {100..199} >latin.bytes
sorts 'bytes of text in another encoding' '--type=uint8 latin.bytes'
# What is surely NumPy's is refused, and the hint sorts it. Pairs of 4 bytes are not known in the other byte order, nor
# are times whose type may be u8.
for file in *.ints; do
    IFS=. read -r width order number _ <<<"$file"
    for kind in i u; do
        bytes=int8
        [ $kind = i ] || bytes=uint8
        refuses "--type=${kind}8 has no byte order, $file" \
            "^gpusort: $file: ${kind}8 is one byte here, without a byte order: use --type=${kind}64 with --endian=big for NumPy's" -- \
            --type=${kind}8 --endian=big "$file"
        ok "--type=$bytes is believed, $file" gpusort --format=raw --type=$bytes "$file" -o got
        case $width.$order.$number.$kind in 8.big.[478].u | 4.big.*) continue ;; esac
        said="NumPy's ${kind}8 of 8 bytes: use --type=${kind}64"
        [ $width = 8 ] || said="integers of 8 or 4 bytes: use --type=${kind}64 or ${kind}32"
        case $order.$number in
        little.*) with='' ;;
        big.[2478]) with=', and --endian=big if they are big-endian' ;;
        *) with=' with --endian=big' ;;
        esac
        kept "--type=${kind}8 for $file" \
            "^gpusort: $file: ${kind}8 is one byte here, and these look like $said$with, or --type=$bytes for bytes$" \
            "$file" -- gpusort --type=${kind}8 "$file" --in-place
        type=${said##*[ =]}
        ok_writes "the hint for $file sorts it: $kind" "$file.$kind.up" -- --type="$type" --endian="$order" "$file"
    done
done
cp 8.little.0.ints named.u8
refuses 'little-endian integers named .u8' "look like NumPy's u8 of 8 bytes: use --type=u64, or" -- named.u8
refuses 'little-endian integers named .u8 with --endian=big' 'use --type=u64 with --endian=little, or' -- \
    --endian=big named.u8
refuses 'times that both orders fit' 'use --type=i64, and --endian=big if they are big-endian, or --type=int8' -- \
    --type=i8 seconds.big
ok_writes 'the hint for these sorts them' seconds.big.up -- --type=i64 --endian=big seconds.big
for file in bytes*.u8; do
    ok_writes "bytes are sorted as u8: $file" "${file%.u8}.up" -- --type=u8 --format=raw "$file"
    ok_writes "also if the name says so: $file" "${file%.u8}.up" -- "$file"
done
ok_writes '--endian=big beside --type=int8' <(gpusort --type=int8 --format=raw bytes4.u8) -- \
    --type=int8 --endian=big --format=raw bytes4.u8
head -c 4095 bytes4.u8 >odd.bytes
: >no.bytes
for file in odd no; do
    ok_writes "--endian=big beside --type=u8, if it cannot be NumPy's: $file" <(gpusort --type=uint8 $file.bytes) -- \
        --type=u8 --endian=big $file.bytes
done
ok '--endian=big beside --type=u8 is for indices' gpusort --argsort --type=u8 --endian=big --format=raw bytes4.u8 -o got
long='^gpusort: .*: f16 is 2 bytes here, and these look like .* of 16 bytes'
refuses 'long doubles named .f16' "$long" -- long.f16
refuses 'long doubles with NaNs, infinities and denormal doubles among them' "$long" -- special.f16
refuses 'long doubles with --type=f16 and --endian' "$long" -- --format=raw --type=f16 --endian=big long.f16
refuses 'long doubles with --type=f16' "$long" -- --format=raw --type=f16 long.f16
ok '--type=float16 is taken' gpusort --format=raw --type=float16 long.f16 -o got
for file in true.i8 flags.u8 sparse.i8 zeros.u8 sevens.u8 ones.i8 true.f16 negative.f16; do
    cp "$file" nameless
    ok "what is of the type is sorted, $file" gpusort "$file" -o got
    ok "and with --type, $file" gpusort --format=raw --type="${file#*.}" nameless -o got
done

# ---- truth values --------------------------------------------------------------------------------

with_numpy 'flags = random.random(5000) < 0.5
flags.tofile("flags.bool")
np.sort(flags).tofile("flags.up")
np.r_[flags, np.uint8(255)].astype("u1").tofile("bytes.bool")
np.where(flags, 255, 0).astype("u1").tofile("mask.bool")'
ok_writes 'truth values' flags.up -- flags.bool
ok 'a mask of 0 and 255' gpusort mask.bool -o got
said='byte 5001 is 255, after one that is 1, and bool has only 0 and 1: use --type=uint8 for bytes, or --format=raw to sort them as bool$'
kept 'truth values that are neither 0 nor 1' "^gpusort: bytes.bool: $said" bytes.bool -- gpusort --in-place bytes.bool
refuses 'the same with --type' "^gpusort: bytes.bool: $said" -- --type=bool bytes.bool
ok_writes 'as bytes they are sorted' <(gpusort --format=raw --type=u8 bytes.bool) -- --type=uint8 bytes.bool

# ---- NumPy's float, int and uint, which C has with 4 bytes ---------------------------------------

# Not only numbers with full significands are C's: those that are marked as missing, whole, rounded or 0 are, too, and
# times in seconds. What is of 8 bytes is sorted.
with_numpy 'n = 20000
normal = random.normal(size=n)
seconds, small = random.integers(0, 10**6, n), random.integers(0, 1000, n)
def some(share, value):
    return np.where(random.random(n) < share, value, normal)
def write(kind, types, arrays):
    for name, array in arrays.items():
        for word, type in types.items():
            array.astype(type).tofile("%s.%s.%s" % (kind, name, word))
both = {"nan": some(0.06, np.nan), "mostly_nan": some(0.6, np.nan), "zero": some(0.06, 0), "sparse": some(0.9, 0),
    "rare": some(0.99, 0), "positive": np.maximum(normal, 0), "missing": some(0.1, 1e20), "grey": small % 256,
    "counts": random.poisson(3, n), "steps": np.arange(n), "flags": small % 2, "ticks": 100 + small / 4,
    "complex": np.c_[normal, 0 * normal].ravel()}
degrees = np.c_[random.uniform(25, 48, n), random.uniform(-124, -67, n)].ravel()
write("c", {"float": "f4"}, {**both, "degrees": degrees, "fill": some(0.3, np.finfo("f4").min), "small": normal * 1e-20})
write("numpy", {"float": "f8"}, {**both, "degrees": degrees, "fill": some(0.9, np.finfo("f8").min), "small": normal * 1e-300,
    "denormal": 5e-324 * small, "underflow": np.exp(-random.exponential(100, n)), "times": 1.7e9 + random.random(n),
    "levels": random.integers(0, 256, n) / 255, "thirds": np.arange(n) / 3, "singles": normal.astype("f4")})
labels = np.where(small % 3, -1, small)
write("c", {"int": "i4", "uint": "u4"}, {"times": 1700000000 + seconds, "negative": -1700000000 - seconds,
    "ids": 10**9 + np.arange(n), "dates": 20200000 + small, "addresses": 0xc0a80000 + seconds % 65536,
    "flags": small % 2, "sparse": np.where(small % 5, 0, small), "labels": labels})
write("numpy", {"int": "i8", "uint": "u8"}, {"times": 10**9 * (1700000000 + seconds), "seconds": 1700000000 + seconds,
    "hashes": random.integers(0, 2**63, n), "flags": small % 2, "labels": labels, "fixed": small << 32,
    "mask": -(small % 2), "marked": np.where(small % 2, 2**40, small), "bits": 1 << small % 63,
    "shards": small % 3 << 32 | seconds, "telephones": 8630000000 + seconds,
    "fill": np.where(small % 2, 0x7f7f7f7f7f7f7f7f, small), "timespecs": 1700000000 + seconds << 32 | 999 * seconds})
random.choice(np.frombuffer(b"ACGT", "u1"), 8000).tofile("bases")'
ok_writes '--type=uint of text that is said to be numbers' <(gpusort --format=raw --type=u64 bases) -- \
    --format=raw --type=uint bases
for file in c.*.float c.*.int c.*.uint; do
    word=${file##*.}
    letter=${word::1}
    kept "--type=$word is C's: $file" \
        "'$word' is NumPy's ${letter}64 here, and these look like ${letter}32: use --type=${letter}32, or --type=" \
        "$file" -- gpusort --type="$word" "$file" -o "$file"
done
for row in float:f64:f32 int:i64:i32 uint:u64:u32; do
    IFS=: read -r word type of_c <<<"$row"
    cp c.sparse.$word named.$of_c
    refuses "--type=$word for a file named .$of_c" \
        "^gpusort: named.$of_c: '$word' is NumPy's $type here, and these look like $of_c: use --type=$of_c, or --type=$type if" -- \
        --type=$word named.$of_c
    refuses "--type=$word for $of_c on a pipe" "'$word' is NumPy's $type here" -- \
        --format=raw --type=$word < <(cat c.sparse.$word)
    ok "--type=$type is believed" gpusort --type=$type c.sparse.$word -o got
done
for file in numpy.*.float numpy.*.int numpy.*.uint; do
    word=${file##*.}
    ok_writes "--type=$word is NumPy's: $file" <(gpusort --type="${word::1}64" "$file") -- --type="$word" "$file"
done

# ---- a count before the numbers ------------------------------------------------------------------

# Prints FILE BYTES OPTION of each file that begins with a count of BYTES bytes.
with_numpy - >counted <<'END'
def counted(name, count, type, option="", numbers=random.normal(size=600)):
    write(name, count, numbers.astype(type))
    print(name, len(count), option)
counted("few.f32", pack("<i", 8), "f4", "", np.arange(1, 9))
counted("count8.f64", pack("<q", 600), "f8")
counted("count4.f32", pack("<i", 600), "f4")
counted("rows.bin", pack("<ii", 20, 30), "f8")
counted("rows8.f64", pack("<qq", 20, 30), "f8")
counted("bytes8.f32", pack("<q", 2400), "f4")
counted("shape.f32", pack("<iii", 4, 5, 30), "f4")
counted("rank.f32", pack("<iii", 2, 20, 30), "f4")
counted("big8.f64", pack(">q", 600), ">f8", "--endian=big")
counted("bigrank.f32", pack(">qqq", 2, 20, 30), ">f4", "--endian=big")
counted("magic.bin", b"MYDATA01" + pack("<q", 600), "f8")
counted("version.f32", b"DATA" + pack("<iq", 1, 600), "f4")
counted("ordered.f64", b"DATA\0\0\0\1" + pack(">q", 600), ">f8", "--endian=big")
normal = random.normal(size=600)
write("zero.f64", bytes(8), normal)
write("shorter.f32", pack("<iii", 4, 5, 31), normal.astype("f4"))
write("other.f64", pack("<q", 601), normal)
np.r_[8.0, np.full(65, 1.5)].astype("f4").tofile("eight.f32") # 65 is the first byte of 8
counted("magic8.f64", pack("<QQ", 0x89abcdef12345678, 600), "f8")
counted("magic4.f32", pack("<IIQ", 0xdeadbeef, 1, 600), "f4")
counted("sizes.bin", pack("<ii", 7, 600), "f8")
write("points.f64", pack("<q", 200), normal)
write("step.f32", pack("<if", 600, 0.01), normal.astype("f4"))
write("version.f64", pack("<IIII", 1, 60, 50, 0), normal)
write("grid.bin", pack("<iiii", 10, 20, 3, 0), np.array([0.1, 0.2, 0.3]), normal)
# Before integers, a count is found only if most of these are no indices of its items.
n = 5000
keys = np.sort(random.integers(0, 2**63, n))
counted("keys.u64", pack("<q", n), "u8", "", keys)
counted("keys.i64", pack("<q", n), "i8", "", keys)
counted("keys4.u32", pack("<i", n), "u4", "", keys >> 32)
counted("keys8.u32", pack("<q", n), "u4", "", keys >> 32)
for name, indices in (("down", np.arange(n)[::-1]), ("down1", np.arange(n, 0, -1)), ("ring", np.roll(np.arange(n), 1)),
                      ("leaves", np.arange(n - 1, 2 * n - 1)), ("order", np.r_[n - 1, random.permutation(n - 1)]),
                      ("order1", np.r_[n - 1, n, random.permutation(n - 2) + 1]), ("tail", np.r_[n - 1, np.full(n - 1, -1)]),
                      ("degrees", np.r_[n - 1, random.poisson(9, n - 1)])):
    indices.astype("<i8").tofile("alone.%s.i64" % name)
    indices.astype("<i4").tofile("alone.%s.i32" % name)
np.sort(np.r_[10.0 ** -np.array([36.2, 21, 14]), random.random(5000)]).astype("f4").tofile("alone.pvalues.f32")
END
while read -r file bytes option; do
    is_told 'a count of the numbers before them' \
        "the first $bytes bytes are the count .*\(tail -c \+$((bytes + 1))\); if they are numbers, use --format=raw$" \
        "$file $option"
done <counted
sorts 'no count is found' zero.f64 eight.f32 alone.*
is_told 'integers before the numbers that are not their count' 'it begins with an integer, such as .*, use --format=raw$' \
    other.f64 shorter.f32 points.f64 step.f32 version.f64 grid.bin
rm alone.*
# The upper half of 2.0, and 2.0 as f32, are 2^30.
printf '\0\0\0\0\0\0\0@\315\314\314\314\314\314\0@' >grid.f64
printf '\0\0\0@ff\6@' >grid.f32
truncate -s $((8 + (1 << 30))) grid.f64
truncate -s $((4 + (1 << 30))) grid.f32
printf '\0\312\232\73\0\0\0\0\0\0\0\0\0\0\360\77' >billion.f64 # 1e9 and 1.0
truncate -s 8000000008 billion.f64
refused 'a count of a thousand million' 'the first 8 bytes are the count' -- gpusort --explain billion.f64
for file in grid.f64 grid.f32; do ok "no count is found: $file" gpusort --explain $file; done
# Integers may begin with their count, but rarely with the shape of a table, or as the files of MNIST do.
with_numpy - >tables <<'END'
def table(name, head, numbers, option=""):
    write(name, head, numbers)
    print(name, len(head), option)
def whole(least, end, count, type="<i4"):
    return random.integers(least, end, count).astype(type)
table("table.u8", pack("<2I", 100, 128), whole(0, 256, 12800, "u1"))
table("table.i32", pack("<2I", 50, 40), whole(-99, 99, 2000))
table("table8.i32", pack("<2Q", 50, 40), whole(-99, 99, 2000))
table("dots.i32", bytes([0, 0, 12, 1]) + pack(">I", 1000), whole(0, 999, 1000, ">i4"))
table("labels.u8", bytes([0, 0, 8, 1]) + pack(">I", 1000), whole(0, 10, 1000, "u1"))
table("images.u8", bytes([0, 0, 8, 3]) + pack(">3I", 10, 28, 28), whole(0, 256, 7840, "u1"))
table("floats.f32", bytes([0, 0, 13, 1]) + pack(">I", 600), random.normal(size=600).astype(">f4"), "--endian=big")
write("small.i32", pack("<2I", 5, 4), whole(-99, 99, 20))
write("other.i32", pack("<2I", 50, 40), whole(-99, 99, 2001))
write("dot.i32", bytes([0, 0, 12, 0]), np.array([5], "<i4"))
write("others.u8", bytes([0, 0, 8, 1]) + pack(">I", 1000), whole(0, 10, 1001, "u1"))
END
while read -r file bytes option; do
    is_told 'the shape of a table' "the first $bytes bytes are the count or the shape .*\(tail -c \+$((bytes + 1))\)" \
        "$file${option:+ $option}"
done <tables
sorts 'no shape of a table is found' small.i32 other.i32 others.u8 dot.i32
refuses 'the byte order of files of MNIST is named' 'follow, which are big-endian \(--endian=big\): remove ' -- dots.i32
rm grid.f64 grid.f32 billion.f64
refuses 'a count before compressed numbers' 'tail -c \+9, once decompressed\)' -- --type=f64 <(zstd -qc count8.f64)

# ---- text before the numbers ---------------------------------------------------------------------

with_numpy 'normal = random.normal(size=500)
write("pad.f64", b"NX=5000 NY=1\n".ljust(512), normal)
write("short.bin", b"# columns 1\n# type double\n", normal)
write("ply.f32", b"ply\nformat binary_little_endian 1.0\nend_header\n", normal.astype("f4"))
write("sphere.i16", b"NIST_1A\n   1024\nsample_count 500\n".ljust(1024), random.integers(-99, 99, 500).astype("i2"))
write("log.u32", b"#ROSBAG V2.0\r\nmessages=500 \n", random.integers(0, 10**9, 500).astype("u4"))
np.frombuffer(b"# type\n".ljust(40, b"x") + random.bytes(4000), "u1").tofile("bytes.u8")
(np.frombuffer(b"Some grey pixels, dark and light", "u1").astype("u2") * 257).tofile("image")
np.r_[np.fromfile("image", "u2"), random.integers(0, 65536, 500)].astype("u2").tofile("image.u16")
np.arange(0x65407020, 0x65407020 + 500).astype("i4").tofile("times.i32")
np.array([b"GATTACAT", b"CAGACCTT", b"GACGTACG", b"TTTTACG", b"ATTTAGA"] * 99, "S8").tofile("words")
np.arange(0x4020, 0x7000).astype(">u2").tofile("ramp.u16")
np.arange(0x692A6820, 0x692A6820 + 75000, 15).astype(">u4").tofile("clock.u32")
np.r_[np.tile([0x4A52, 0x3C41, 0x5B60], 300), random.integers(0, 65536, 500)].astype("u2").tofile("rgb.u16")
np.array([b"christop", b"elizabet", b"alexandr", b"bob", b"al", b"li"] * 99, "S8").tofile("names.u64")
np.r_[np.full(12, 2600), np.arange(2700, 3700)].astype("u2").tofile("wall.u16")
np.arange(0x690A2020, 0x690A2020 + 500).astype("u4").tofile("day.u32")
write("padded.bin", b"myfmt v1".ljust(64, b"\0"), normal)
write("padded.f32", b"myfmt v1".ljust(64, b"\0"), normal.astype("f4"))
write("block.f64", b"MYFORMAT".ljust(512, b"\0"), normal)
write("number.f64", b"DATA\1\0\0\0", normal)
for name in "model.bin", "model.f32":
    text = b"{\"__metadata__\": {\"format\": \"pt\"}, \"weights\": {\"dtype\": \"F64\", \"shape\": [500]}} ".ljust(96)
    write(name, pack("<q", len(text)), text, normal.astype("f4" if name[-1] == "2" else "f8"))
write("near.f64", b"Numbers@", normal) # about 2
write("near.f32", b"num@num@", normal.astype("f4")) # about 4
write("wide.f64", b"myfmt v1", 10 ** random.uniform(-200, 200, 500))
write("least.f64", pack("<q", 1), normal)
write("greatest.f64", pack("<d", 1e300), normal)
np.where(np.arange(500) % 100, 0, 256 / 3 + normal).tofile("sparse.f64") # 85.33 is @UUUUUUU
for name in "keys.bin", "keys.f64", "keys.u64", "keys.u32", "keys.f32":
    write(name, *(b"k%07d" % (i * 7919 % 5000) for i in range(5000)))
random.choice([b"abcdefgh", b"ijklmnop", b"qrstuvwx"], 5000).tofile("codes.u64")
(random.integers(60, 100, 5000).astype("u2") * 257).tofile("grey.u16")
np.full(5000, 256 / 3).tofile("thirds.f64")
np.arange(0x403e6421, 0x403e647f).astype("u4").tofile("network.u32")
np.arange(0x403e6421, 0x403e647f).astype(">u4").tofile("network.i32")
np.array([12.6, 12.7, 16.2, 12.2]).tofile("tenths.f64") # 333333)@ff
np.array([12.2, 12.7, 12.4, 10.4]).astype("f4").tofile("tenths.f32")'
is_told 'text before the numbers' 'it begins with text, as a header is: remove .*; if these are numbers, use --format=raw$' \
    padded.bin padded.f32 block.f64 number.f64 model.bin model.f32 pad.f64 sphere.i16 log.u32
for file in short.bin ply.f32; do # of no whole number of numbers
    refuses "text before the numbers: $file" 'it begins with text, as a header is: remove .*use --format=raw$' -- $file
done
printf 'hello world 1234' >short.u32
printf 'abcdefgh12345678' >short.f64
printf 'na\303\257ve caf\303\251 1234567' >utf8.i32
printf '%-80s' 'Ada Lovelace' 'Charles Babbage' 'Grace Hopper' >names.f32
printf '%-16s' Lovelace Babbage Hopper >names.bin
printf 'AA01AA02AA03' >last.u32
is_text='this is text without newlines, and no [fiu0-9]*: .*; if these are numbers, use --'
is_told 'text without newlines' "${is_text}format=raw$" keys.{f64,u64,u32,f32} short.u32 short.f64 utf8.i32 names.f32 last.u32 \
    codes.u64
is_told 'text without newlines' "${is_text}type=TYPE$" keys.bin names.bin
ok 'text of fixed width when its type is given' gpusort --type=u64 keys.bin -o got
printf 'hello world' >eleven.u8
printf 'word' >word.u32
sorts 'numbers of which some or all bytes are printable' near.f64 near.f32 wide.f64 least.f64 greatest.f64 sparse.f64 \
    grey.u16 thirds.f64 tenths.f64 tenths.f32 network.u32 'network.i32 --endian=big' eleven.u8 word.u32
# Among the numbers after the text or a count there may be -0, and marks of no value, which are far from all others.
with_numpy 'marks = {"zero": (-0.0, [100]), "zeros": (-0.0, slice(5, None, 9)), "missing": (1e20, slice(3, None, 3)),
    "few": ([1e20, -1e15, 1e25], [200, 300, 400])}
heads = {"text": b"MYFORMAT", "padded": b"myfmt v1".ljust(64, b"\0"), "count": pack("<q", 300000)}
for type, end, least in ("f4", "f32", 1e-40), ("f8", "f64", 1e-310):
    normal = random.normal(15, 10, 300000).astype(type)
    for name, (value, positions) in {**marks, "marks": (np.finfo(type).min, slice(9, None, 97))}.items():
        numbers = normal.copy()
        numbers[positions] = value
        for head, bytes in heads.items():
            write("%s.%s.%s" % (head, name, end), bytes, numbers)
    # Numbers alone that begin like text or integers, with a mark that is repeated.
    for name, first in ("zero", [14.4, -0.0]), ("second", [14.4, least]), ("first", [least, 14.4]):
        numbers = np.r_[first, np.round(normal, 1)].astype(type)
        numbers[9::97] = min(first)
        numbers.tofile("alone.%s.%s" % (name, end))'
for file in {text,padded}.{zero,zeros,marks,missing,few}.f{32,64}; do
    kept "text before numbers with marks: $file" "^gpusort: $file: it begins with text" $file -- \
        gpusort --in-place $file
done
for file in count.{zero,zeros,marks,missing,few}.f64; do
    refuses "a count on a pipe, before numbers with marks: $file" 'standard input: it begins with an integer' -- \
        --type=f64 < <(cat $file)
done
for file in alone.*; do
    ok_writes "numbers with marks alone: $file" <(gpusort --format=raw --endian=little $file) -- $file
    ok_writes "the same on a pipe: $file" <(gpusort --format=raw $file) -- --type=${file##*.} < <(cat $file)
done
rm {text,padded,count,alone}.*.f{32,64}
refuses 'text before the numbers, on a pipe' 'standard input: it begins with text' -- \
    --type=f64 < <(cat pad.f64)
refuses 'text before compressed numbers' 'first of them, once decompressed\); if' -- --type=f64 <(zstd -qc pad.f64)
sorts 'numbers that begin like text' bytes.u8 image.u16 times.i32 'words --type=>u8' 'ramp.u16 --endian=big' \
    'clock.u32 --endian=big' rgb.u16 names.u64 wall.u16 day.u32

# ---- the byte order ------------------------------------------------------------------------------

with_numpy 'def missing(dtype):
    numbers = random.normal(size=5000).astype(dtype)
    numbers.view("u" + dtype[1])[::16] = 0x7FF00000000007A2 if dtype == "f8" else 0x7F8007A2 # R has this NaN for no value
    return numbers
for dtype, name in ("f8", "f64"), ("f4", "f32"):
    for kind, numbers in (("normal", random.normal(size=5000)), ("whole", np.arange(5000.0)),
                          ("decimal", random.integers(-9999, 9999, 5000) / 100), ("missing", missing(dtype))):
        numbers.astype(">" + dtype).tofile("big.%s.%s" % (kind, name))
        numbers.astype("<" + dtype).tofile("little.%s.%s" % (kind, name))
        np.sort(numbers.astype(">" + dtype)).tofile("big.%s.%s.up" % (kind, name))
    np.frombuffer(random.bytes(40000), dtype).tofile("little.bits.%s" % name)
    (random.random(5000) * (1e-310 if dtype == "f8" else 1e-30)).astype(dtype).tofile("little.tiny.%s" % name)
    (random.random(5000) * (1e300 if dtype == "f8" else 1e30)).astype(dtype).tofile("little.huge.%s" % name)
ids, some = np.arange(5000), random.integers(0, 1 << 31, 5000)
words = random.integers(0, 1 << 64, 5000, dtype="u8").view("i8")
for kind, numbers in (("ids", ids), ("signed", some - (1 << 30)), ("hash", words >> 32 << 32), ("random", words),
                      ("times256", words >> 8 << 8), ("tagged", words >> 8 << 8 | 1), ("few", ids << 40),
                      ("shards", words >> 16 << 16 | ids % 9), ("fixed", 10**9 + ids << 32), ("high", ids << 50),
                      ("alike", np.full(5000, 0x65000041 << 32)), ("rows", some << 16 | 1), ("tens", some * 10**9),
                      ("doubles", random.random(5000).view("i8")), ("whole", np.arange(5000.0).view("i8")),
                      ("halves", ids << 32 | some), ("powers", 1 << ids % 63), ("colours", words & 0x00ffffff << 32),
                      ("hosts", 0x0a000000 + some % 65536 << 32 | 24), ("zone", words >> 8 << 8 | 20)):
    numbers.astype("<i8").tofile("little.%s.i64" % kind)'
for file in big.*.f64 big.*.f32; do
    type=${file##*.}
    said="these look like big-endian $type: use --endian=big, or --endian=little if they are not$"
    refuses "$file" "^gpusort: $file: $said" -- "$file"
    refuses "$file with --type, on a pipe" "^gpusort: standard input: $said" -- \
        --format=raw --type="$type" < <(cat "$file")
    ok_writes "$file: what the message says is done" "$file.up" -- --endian=big "$file"
    sorts 'a byte order that is said is believed' "--endian=little $file" \
        "--type=<${type::1}$((${type:1} / 8)) $file"
done
sorts 'little-endian numbers' little.*
for file in little.{whole,decimal}.{f64,f32}; do
    type=${file##*.}
    other=${type::1}$((${type:1} / 8))
    refuses "$file beside big-endian numbers, as the message for those says" \
        "$file: these look like little-endian $type: leave --endian=big out, in a job of their own if other files need it, or use --type='>$other' if they are not$" -- \
        --endian=big "big.${file#*.}" "$file"
    ok "$file: --type=>$other is believed" gpusort --type=">$other" "$file" -o got
done

# ---- Fortran's records ---------------------------------------------------------------------------

with_numpy 'def record(array, order="<", integer="i"):
    length = pack(order + integer, array.nbytes)
    return length + array.tobytes() + length
def block(integer, array, unit=1):
    return pack(integer, array.nbytes // unit) + array.tobytes()
write("one.f64", record(random.random(1000)))
write("large.f64", record(random.random(300000)))
write("little.large.f64", record(random.random(300000)))
write("little.large.f32", record(random.normal(size=600000).astype("f4")))
write("little.counted.f64", pack("<q", 300000), random.normal(size=300000))
write("little.counted.f32", pack("<i", 600000), random.normal(size=600000).astype("f4"))
write("little.table.f64", pack("<2i", 3, 100000), random.normal(size=300000))
write("little.long.f32", pack("<q", 600000), random.normal(size=600000).astype("f4"))
write("little.shape.f32", pack("<3i", 2, 600, 500), random.normal(size=600000).astype("f4"))
write("little.shape.f64", pack("<2q", 600, 500), random.normal(size=300000))
write("big.long.f32", pack(">q", 600000), random.normal(size=600000).astype(">f4"))
np.where(random.random(300000) < 0.05, np.finfo("f8").max, 0.9).tofile("mark.large.f64")
np.tile(np.array([0, 0, 1e-9, 1]), 100000).astype("f4").tofile("zeros.large.f32")
write("little.counted4.f64", pack("<i", 300000), random.normal(size=300000))
np.concatenate([[5e-324], random.normal(size=300000)]).tofile("least.large.f64")
np.concatenate([[1e-30], random.random(600000)]).astype("f4").tofile("small.large.f32")
random.normal(size=300000).astype("f4").astype("f8").tofile("rounded.large.f64")
(2.0 ** random.integers(-1000, 1000, 300000)).tofile("powers.large.f64")
write("many.f32", *(record(random.random(7).astype("f4")) for i in range(1000)))
write("big.i32", record(np.arange(1000, dtype=">i4"), ">"))
write("each.bin", *(record(x) for x in random.random(1000)))
write("long.bin", *(record(random.normal(size=100), "<", "q") for i in range(50)))
write("long.i64", *(record(random.integers(0, 99, 70), "<", "q") for i in range(50)))
write("alone.f64", record(random.normal(size=5000), "<", "q"))
counts = random.integers(1, 200, 50)
write("counts.bin", *(block("<q", random.normal(size=100), 8) for i in counts))
write("lengths.bin", *(block("<q", random.normal(size=i)) for i in counts))
write("counts4.f32", *(block("<i", random.normal(size=i).astype("f4"), 4) for i in counts))
write("counts4.bin", *(block("<i", random.normal(size=2 * i), 8) for i in counts))
write("big.f64", *(block(">q", random.normal(size=i).astype(">f8"), 8) for i in counts))
write("lengths4.f32", *(block("<i", random.normal(size=i).astype("f4")) for i in counts))
random.choice([0, 64], 5000).tofile("flags.i64")
random.integers(1, 9, 5000).astype("f8").tofile("whole.f64") # as big-endian integers they would be lengths
(1 + np.arange(5000) / 2**52).tofile("steps.f64")
np.full(5000, 8).tofile("eights.i64")
np.full(5000, 5e-324).tofile("least.f64")
np.tile([1.0, 0], 5000).astype("f4").tofile("half.f32")
write("almost.f64", record(random.random(1000))[:-8] + bytes(8))
half = random.random(500).tobytes() # gfortran splits records of 2 GiB so, and negates the lengths between the parts
write("split.f64", pack("<i", -len(half)) + half + pack("<2i", len(half), len(half)) + half +
    pack("<i", -len(half)))
fours = np.full(100000, 4, "i4") # each three are a record of a 4, and few are of another number
fours[1::9999] = 7
fours[:99999].tofile("fours.i32")
twos = np.full(90, 2, "f4")
twos[1] = 3
twos.tofile("twos.f32")
np.full(1200, 8, "i4").tofile("eights.i32")
np.array([8, 0, 0, 8], "i4").tofile("few.i32")'
# A single length of 8 bytes is an error of floating point numbers only.
is_told "Fortran's records" 'these are records of Fortran, .*; if these are numbers alone, use --format=raw$' \
    {one,large,split,alone}.f64 many.f32 big.i32 {each,long}.bin long.i64 \
    {one.f64,many.f32,big.i32,each.bin,long.i64}' --type=u16'
zstd -qf each.bin many.f32 one.f64
for file in each.bin.zst many.f32.zst one.f64.zst; do
    refuses "Fortran's records, compressed: $file" "^gpusort: $file: these are records of Fortran" -- $file
done
said='these are blocks of numbers, each with its length or count of'
is_told 'blocks' "$said 8 bytes: .*, use --format=raw$" counts.bin lengths.bin 'big.f64 --endian=big'
is_told 'blocks' "$said 4 bytes: " counts4.f32 lengths4.f32 counts4.bin
refuses 'blocks on a pipe' "^gpusort: standard input: $said 8 bytes: .*, use --format=raw$" -- --type=f64 < <(cat lengths.bin)
# More than is looked at before. The first word of a file's name is the option --endian.
for file in little.{large,counted,table,counted4,shape}.f64 little.{large,counted,long,shape}.f32 big.long.f32; do
    refuses "an integer before many numbers on a pipe: $file" \
        '^gpusort: standard input: it begins with an integer, such as .*, use --format=raw$' -- \
        --type="${file##*.}" --endian="${file%%.*}" < <(cat $file)
done
zstd -qf little.large.f32
refuses 'a large record, compressed' '^gpusort: little.large.f32.zst: it begins with an integer' -- little.large.f32.zst
for file in {least,small,rounded,powers,mark,zeros}.large.*; do
    ok_writes "many numbers on a pipe: $file" <(gpusort --format=raw $file) -- --type="${file##*.}" < <(cat $file)
done
sorts 'no records are found' almost.f64 eights.i32 few.i32 fours.i32 twos.f32 flags.i64 whole.f64 steps.f64 eights.i64 \
    least.f64 half.f32 '--format=raw --type=f64 one.f64'

ok 'other names of types are those of numpy.dtype, and --list names them' with_numpy - "$GPUSORT" \
    "$(full_or_small '<>=|' '>')" <<'END'
import functools, subprocess
def of(*words):
    return subprocess.run([sys.argv[1], *words], stdout=subprocess.PIPE, text=True).stdout
@functools.cache
def read_as(name):
    shown = of("--explain", "--format=raw", "--type=" + name, "/dev/null")
    return shown.split("raw, ")[1].split(",")[0].split()[0] if "raw, " in shown else None
ours = {}
for line in of("--list").split("formats (")[0].splitlines()[1:]:
    name, row = line.split(None, 1)
    names = row.split("NumPy's ")[1].split(", ")
    ours[names[0]] = name
    assert all(read_as(other) == name for other in names), line
checked = 0
names = "byte ubyte short ushort intc uintc int uint int_ intp uintp long ulong longlong ulonglong half single float double bool".split()
letters = [kind + str(size) for kind in "iuf" for size in (1, 2, 4, 8)] + list("bBhHiIlLqQefd")
for name in names + letters + [order + letter for order in sys.argv[2] for letter in letters]:
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = None
    if name in ("i8", "u8"):
        assert read_as(name) == name
    elif dtype is not None:
        assert read_as(name) == ours[dtype.name], (name, read_as(name), dtype)
        checked += 1
assert checked > 50, checked
END
while read -r name remedy; do
    refuses "--type=$name is named" "unknown type '$name', a name of [a-z ]+: --list names the types${remedy:+; .*$remedy}" -- \
        --type="$name" data.bin
done <<'END'
F numpy.abs
D real part
<c16 real part
clongdouble real part
S3 latin-1
str_ encoding='utf-8'
longdouble astype\('f8'\) rounds it
<f16 astype\('f8'\) rounds it
f128 astype\('f8'\) rounds it
V4
object astype
END
refuses 'a unit of times is named' "unknown type 'M8\[ns\]': use --type='M8', for times of any unit, but not for .npy output$" -- \
    --type='M8[ns]' data.bin
refuses 'a unit and a byte order of times are named' "unknown type '>m8\[25s\]': use --type='>m8', for times of any unit, but not for .npy output$" -- \
    --type='>m8[25s]' data.bin
ok '--type of the message is taken' gpusort --type='>m8' data.bin -o got

# ---- text, and files of other programs, with names of raw data -----------------------------------

printf '30\n10\n20\n7\n11\n5\n' >text
printf 'some words, and\nmore of them, \303\244\n' >words
for name in x.bin x.raw x.f64 x.u32 x.i16 x.BIN; do
    for content in text words; do
        advice=--format=text
        if [ $content = words ]; then advice='--format=text for numbers, or -k1 for lines'; fi
        cp $content $name
        zstd -qf $name
        for file in $name $name.zst; do
            refuses "$content named $file" "^gpusort: $file: named as raw data, but it is text: use $advice$" -- "$file"
        done
    done
done
cp text x.bin
refuses 'text named .bin, with --type' 'but it is text: use --format=text$' -- --type=u16 x.bin
ok_output 'lines named .BIN are sorted as the message says' <(sort words) -- gpusort -k1 x.BIN.zst
refuses 'text in a second input' 'x.bin: named as raw data, but it is text' -- good.bin x.bin
cp text x.u8
printf -- '-1-1G\n' >few.i16
refused 'a few numbers that look like a word may be either' \
    '^gpusort: few.i16: this may be text or raw i16: use --format=text or --format=raw$' -- gpusort few.i16 -o few.i16
refused 'text named .u8 may be either' 'x.u8: this may be text or raw u8: use --format' -- gpusort x.u8 -o x.u8
ok_file 'text named .bin is sorted in place when told so' x.bin <(printf '%s\n' 5 7 10 11 20 30) -- \
    gpusort --format=text x.bin -o x.bin

# Text with a few bytes that are neither ASCII nor UTF-8, text with a colour, and text in other encodings.
mkdir stray
"$numpy" -c 'def write(name, data, size):
    open("stray/%s.dat" % name, "wb").write(data[:size])
def numbers(*limits):
    return "".join("%d\n" % i for i in range(*limits)).encode()
for i, stray in enumerate((b"\x1a", b"\x1b[1m", b"\b", bytes(3), b"# L\xe4nge [\xb5m]", b"\xdf\xe2", b"\xe2\x82")):
    write("line 68, %d" % i, numbers(100, 167) + stray + b"\n" + numbers(400), 1600)
write("line 1, colour", b"\x1b[1m\n" + "".join("%d строка\n" % i for i in range(400)).encode(), 6400)
for encoding in "koi8_r", "cp1251", "shift_jis", "euc_jp":
    line = "行 %d 番\n" if "_j" in encoding else "строка номер %d\n"
    write("line 1, encoded in " + encoding, "".join(line % i for i in range(300)).encode(encoding), 2400)'
for file in stray/*.dat; do
    for type in f64 u32 i16; do
        [[ "$type $file" != i16*encoded* ]] || continue
        refuses "text is not raw $type: $file" "^gpusort: $file: this may be text or raw $type: use --format=text" -- \
            --type=$type "$file"
    done
    line=${file#*line }
    refuses "it is text: $file" "^gpusort: $file:${line%%,*}: .*is not a number" -- "$file"
done
# Numbers of which bytes are line feeds, and few are control characters.
with_numpy 'import json
print(end=json.dumps(list(range(1000, 2000))).ljust(6400), file=open("list.json", "w"))
labels = np.full(8192, -1)
labels[::256] = random.integers(0, 5000, 32)
labels[:2] = 10, 2570
for name, numbers in (("lan.u32", 0xc0a80a00 + random.integers(128, 250, 5000)),
                      ("leases.u32", 0x0a0a3200 + random.integers(100, 200, 5000)),
                      ("printable.i16", random.normal(15936, 25, 4000)), ("some.i16", random.normal(2635, 25, 4000)),
                      ("labels.i64", labels), ("few.i32", random.choice([-1, -246, -3, -100], 5000))):
    numbers = numbers.astype(name[-3] + str(int(name[-2:]) // 8))
    numbers.tofile(name)
    np.sort(numbers).tofile(name + ".up")'
for file in printable.i16 some.i16; do ok_writes "bytes of them are printable: $file" $file.up -- $file; done
for file in lan.u32 leases.u32 labels.i64 few.i32; do
    ok_writes "bytes of them are line feeds: $file" $file.up -- $file
    cp $file nameless
    refuses "without a type it is not called text: $file" '^gpusort: nameless: neither .npy nor text' -- nameless
done
# Of doubles that are k / 255, as levels of grey are, seven bytes of eight may be printable.
for levels in 97 217,218,219 243; do
    with_numpy "(random.choice([$levels], 1000) / 255).tofile('nameless')"
    refuses "levels of grey are not called text: $levels" \
        '^gpusort: standard input: neither .npy nor text.*: use --type \(these look like f64\), or --format$' -- - <nameless
done
for i in {1..30}; do printf 'Ren\216\run village\r'; done >nameless
refuses 'text of a classic Mac without a name gets advice' "lines have to end with a newline.*tr '.r' '.n'" -- nameless
{ seq 1000 1999; printf '\032\344\n'; seq 10000 10500; } >listed.pkl
truncate -s 8000 listed.pkl
refused 'a name of another format, and no codec' '^gpusort: listed.pkl: this may be text or raw f64' -- \
    gpusort --format=auto:plain --type=f64 listed.pkl -o listed.pkl
seq 3000 >numbers.txt
tar cf tarred numbers.txt
cp tarred tarred.bin
{ seq 400; printf '\1\2'; seq 400; } >named.pkl
refuses 'a name of another format, text with strange bytes' '^gpusort: named.pkl: not text, and named as pickle data' -- \
    named.pkl
for words in tarred.bin '--type=f64 tarred' tarred; do
    refuses "an archive of text: $words" ': this is tar data, to be unpacked first \(tar -x\)' -- $words
done
refused 'text without newlines that is named as text' '^gpusort: list.json: this may be text or raw i64' -- \
    gpusort --type=i64 list.json -o list.json

with_numpy 'import bz2, gzip, lzma, pickle, sqlite3, io, tarfile, zlib
payload = random.normal(size=1000).tobytes()
files = {"gzip": gzip.compress(payload), "bzip2": bz2.compress(payload), "xz": lzma.compress(payload),
         "LZ4": b"\x04\x22\x4d\x18" + payload, "Parquet": b"PAR1" + payload + b"PAR1",
         "HDF5": b"\x89HDF\r\n\x1a\n" + payload, "Arrow": b"ARROW1\0\0" + payload,
         "NetCDF": b"CDF\x05" + payload, "GRIB": b"GRIB" + payload, "GGUF": b"GGUF" + payload,
         "PNG": b"\x89PNG\r\n\x1a\n" + payload, "ELF": open("/proc/self/exe", "rb").read(80000)}
archive = io.BytesIO()
np.savez(archive, payload)
files["zip"] = archive.getvalue()
archive = io.BytesIO()
with tarfile.open(fileobj=archive, mode="w") as tar:
    tar.addfile(tarfile.TarInfo("x"))
files["tar"] = archive.getvalue()
sqlite3.connect("db").execute("create table t(x)").connection.commit()
files["SQLite"] = open("db", "rb").read()
files["Snappy"] = b"\xff\6\0\0sNaPpY" + payload
files["MATLAB"] = b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n" + payload
files["JPEG"] = b"\xff\xd8\xff\xe0\0\x10JFIF" + payload
files["Stata"] = b"<stata_dta><header><release>118</release>" + payload
files["SAS"] = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + payload
files["zstd dictionary"] = bytes.fromhex("37a430ec1f58c223") + payload
files["TIFF.1"] = b"II*\0\x08\0\0\0" + payload
files["TIFF.2"] = b"MM\0*\0\0\0\x08" + payload
files["TIFF.3"] = b"II+\0\x08\0\0\0" + payload
files["TIFF.4"] = b"MM\0+\0\x08\0\0" + payload
files["NIfTI.1"] = b"\x5c\1\0\0".ljust(344, b"\0") + b"n+1\0\0\0\0\0" + payload
files["NIfTI.2"] = b"\x1c\2\0\0n+2\0\r\n\x1a\n".ljust(544, b"\0") + payload
files["MRC"] = bytes([9, 0, 0, 0] * 3).ljust(208, b"\0") + b"MAP DD".ljust(816, b"\0") + payload
files["ROOT"] = b"root\0\0\xf2\xfe" + payload
files["wasm"] = b"\0asm\1\0\0\0" + payload
files["pcap.1"] = b"\xd4\xc3\xb2\xa1\2\0\4\0" + payload
files["pcap.2"] = b"\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a\1\0\0\0" + payload
files["Sun audio"] = b".snd\0\0\0\x18" + payload
files["ar"] = b"!<arch>\n" + payload
files["LAS"] = b"LASF\0\0\0\0" + payload
files["E57"] = b"ASTM-E57\1\0\0\0\0\0\0\0" + payload
files["Shapefile"] = b"\0\0\x27\n" + bytes(20) + payload
files["TrackVis"] = b"TRACK\0\1\0" + payload
files["BDF"] = b"\xffBIOSEMI".ljust(256) + payload
files["SEG-Y"] = "C 1 CLIENT".ljust(3200).encode("cp037") + payload
files["Ogg"] = b"OggS\0\2\0\0" + payload
files["FLAC"] = b"fLaC\0\0\0\x22" + payload
files["Arrow.1"] = b"\xff\xff\xff\xff\x78\0\0\0\x10\0\0\0\0\0\n\0\x0c\0\6\0\5\0\b\0" + payload # a stream
files["Arrow.2"] = b"\xff\xff\xff\xff\x98\0\0\0\4\0\0\0\xf2\xff\xff\xff\x14\0\0\0\4\0\1\0" + payload
files["SPSS"] = b"$FL2@(#) IBM SPSS STATISTICS".ljust(176) + payload
for name, data in files.items():
    write("w." + name + ".bin", data[:len(data) // 8 * 8])
for protocol in range(2, 6):
    data = pickle.dumps(np.frombuffer(payload), protocol)
    write(f"w.pickle.{protocol}.bin", data[:len(data) // 8 * 8])
for protocol in 4, 5:
    data = pickle.dumps([{"k": np.frombuffer(payload)}], protocol)
    write(f"w.pickle.dictionary{protocol}.bin", data[:len(data) // 8 * 8])'
for file in w.*.bin; do
    name=${file#w.}
    name=${name%%.*}
    cp "$file" copy.f64
    refuses "$name named .bin" "^gpusort: $file: this is $name data, to be (unpacked|converted to .npy or text) first[^:]*$" -- \
        "$file"
    refuses "$name named .f64" "this is $name data, .*; if it is not, use --format=raw$" -- copy.f64
    ok "$name named .f64 when told that it is raw" gpusort --format=raw --endian=little copy.f64 -o got
    refuses "$name with --type" "this is $name data, .*; if it is not, use --format=raw$" -- --type=u32 "$file"
    ok "$name when told that it is raw" gpusort --format=raw --type=u8 "$file" -o got
done

# What other data may be, too: data of the type that is named, text in a file of another program's name, and doubles
# in two columns, one of which is beyond 1e-90.
with_numpy 'np.stack([random.random(1000), 10.0 ** -random.uniform(100, 300, 1000)], 1).tofile("columns.bin")
(random.integers(0, 10**5, 1000) << 32).tofile("fixed") # the lower halves are 0
np.tile(np.array([0, 1e30, 1e30], "f4"), 2731).tofile("filled.f32") # as big-endian numbers they would be usual, too
np.r_[1.0, np.zeros(15361)].astype("f2").tofile("one.f16")
times = 1690 * 10**15 + np.sort(random.integers(0, 31 * 10**15, 1000))
np.stack([times, random.normal(size=1000).view("i8")], 1).tofile("times.bin")
np.stack([np.geomspace(1e-300, 1e300, 1000), random.normal(size=1000)], 1).tofile("grid.bin") # ascends
np.arange(9, -1, -1).tofile("down.bin")
np.r_[0xfeff, random.integers(1, 99, 1000)].astype("u2").tofile("marked.u16") # a byte order mark'
sorts 'data of the type that is named' columns.bin grid.bin filled.f32 one.f16 '--type=int fixed' marked.u16
refuses 'times of a year and doubles in turns' 'which repeat every 16 bytes' -- times.bin
refuses 'integers of which the first is their count' 'no type is given, and these do not look like f64' -- down.bin
printf 'GRIB b\nA\n' >grib.db
sort grib.db >grib.up
ok_writes 'text that begins with the magic of another program than its name' grib.up -- -k1 grib.db
for line in 'import f\374r x\nnumpy.b' 'import f\374r x\npandas b' '\374bcnumpy.b' 'M\374ller, DUCK' 'M\374llJFIF' 'M\374llsNaPpY'; do
    printf "$line\n\na\n" >latin
    LC_ALL=C sort latin >latin.up
    zstd -qf latin
    ok_writes "compressed text in Latin-1 that has a word as other data has: $line" latin.up -- -k1 latin.zst
done

with_numpy 'np.random.default_rng(1).normal(size=50).tofile("numbers.txt")' # with a carriage return in it
ok_prints 'what would destroy doubles named as text is not advised' '' -- \
    bash -c '"$0" numbers.txt 2>&1 | grep -e "(tr " || :' "$GPUSORT"

# A format is also known by the name, unless the content is text: some have no magic, and some have several.
while IFS='|' read -r format name; do
    cp doubles-normal-5000.bin "x.$name"
    cp words "words.$name"
    zstd -qf "x.$name"
    said="not text, and named as $format data, to be converted to .npy or text first"
    for file in x.$name x.$name.zst; do
        refuses "$file with --type" "^gpusort: $file: $said; if it is not, use --format=raw$" -- --type=f64 "$file"
        refuses "$file with -n" "^gpusort: $file: $said; if it is not, use --format=text$" -- -n "$file"
        ok "$file when told that it is raw" gpusort --type=f64 --format=raw "$file" -o got
    done
    ok "text named .$name" gpusort -k1 "words.$name" -o got
done <<'END'
pickle|pkl
safetensors|safetensors
DuckDB|duckdb
EDF|edf
miniSEED|mseed
dBASE|dbf
LAS|laz
DICOM|dcm
TIFF|TIF
Excel|xlsx
HDF5|nc
MATLAB|mat
HDF5|h5ad
TFRecord|tfrecord
ROOT|root
BAM|bam
Stata|dta
Netpbm|pfm
SAC|sac
molecular trajectory|dcd
END
while IFS='|' read -r name said content; do
    { printf %b "$content\0\0\0\0" && cat doubles-normal-5000.bin; } >"$name"
    for words in -n -k1 --type=f64; do
        kept "$name that begins with $content, $words" "^gpusort: $name: $said data, to be " "$name" -- \
            gpusort $words "$name" -o "$name"
    done
done <<'END'
x.xlsx|not text, and named as Excel|PK\x3\x4
x.nc|this is NetCDF|CDF\x1
x.jpg|this is JPEG|\xff\xd8\xff\xe1\0\x10Exif\0\0
x.mat|not text, and named as MATLAB|MATLAB 7.3 \0
x.gz|this is xz|\xfd7zXZ\0\0\0
x.lz4|not text, and named as LZ4|\x2\x21\x4c\x18
END

done_testing
