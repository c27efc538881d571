#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# .npy files as programs write them: every spelling of a dtype, times, booleans and bfloat16, and
# shapes with one dimension in effect. The output has the bytes that numpy.save writes for np.sort
# of the array from np.load. Files that NumPy does not load, or that hold no numbers, are refused, and headers
# that NumPy alone accepts.
. "$(dirname "$0")/../lib.sh"
need_numpy
make_data arrays .

# ---- dtypes --------------------------------------------------------------------------------------

for file in *.spelling; do
    base=${file%.spelling}
    spelling=$(<"$file")
    if [ -e "$base.out.npy" ]; then
        ok_writes "dtype $spelling" "$base.out.npy" -- "$base.in.npy"
    else
        refuses "dtype $spelling" "^gpusort: $base.in.npy: dtype '.*' is not a number type" -- "$base.in.npy"
    fi
done
ok 'some spellings are taken, and some are not' \
    bash -c 'set -- *.spelling; taken=$(ls [0-9]*.out.npy | wc -l); [ "$taken" -gt 80 ] && [ "$taken" -lt $# ]'

# The message says what makes numbers or lines of an array, and so it does.
with_numpy 'for name, dtype in (("g", "longdouble"), ("c", "complex"), ("r", "i4,f8")):
    np.save(name + ".npy", np.arange(3).astype(dtype))
np.save("words.npy", np.array([[["\u00e9t\u00e9"]], [["b"]], [["a"]]]))
np.save("s.npy", np.array([b"\xe9t\xe9", b"b", b"a"]))
np.save("o.npy", np.array([2**53 + 1, 2**53], "O"))
np.savetxt("words", np.load("words.npy").ravel(), "%s", encoding="utf-8")
np.savetxt("bytes", np.char.decode(np.load("s.npy").ravel(), "latin-1"), "%s", encoding="latin-1")
np.save("o8.npy", np.load("o.npy", allow_pickle=True).astype("f8"))
np.save("whole.npy", np.load("o.npy", allow_pickle=True).astype("i8"))
np.save("g8.npy", np.load("g.npy").astype("f8"))'
for words in g:"astype\('f8'\) rounds it" c:'real part, or its numpy.abs' s:"savetxt\(NEW, numpy.char.decode\(numpy.load\(FILE\).ravel\(\), 'latin-1'\), '%s', encoding='latin-1'\) .*, if no string has a newline$" \
    words:"savetxt\(NEW, numpy.load\(FILE\).ravel\(\), '%s', encoding='utf-8'\) makes lines of it, for -k1, if no string has a newline$" \
    o:"numbers, astype\('f8'\) rounds them to doubles, and astype\('i8'\) is for whole ones" r:'save one field of it'; do
    refuses "no number type: ${words%%:*}.npy" "^gpusort: .*not a number type that gpusort sorts; .*${words#*:}" -- \
        "${words%%:*}.npy"
done
sort words >up
ok_writes 'lines of words' up -- -k1 words
ok_prints 'lines of bytes' 'a\nb\n\xe9t\xe9\n' -- gpusort -k1 bytes
ok_prints 'whole numbers of objects' '9007199254740992\n9007199254740993\n' -- gpusort --output-format=text whole.npy
for name in g8 o8; do ok "doubles of long doubles or objects: $name" gpusort $name.npy -o got; done

with_numpy - <<'PYTHON'
times = np.array(["NaT", "2020-02-29", "1969-12-31", "NaT", "1970-01-01", "2262-04-11"], "M8[ns]")
for name, dtype in (("little", "<M8[ns]"), ("big", ">M8[ns]"), ("seconds", "<M8[s]"), ("span", "<m8[ns]")):
    np.save("times.%s.npy" % name, times.astype("i8").view("M8[ns]").astype(dtype) if dtype[1] == "M"
            else times.view("i8").astype(dtype))
    array = np.load("times.%s.npy" % name)
    ordered = np.sort(array)
    np.save("times.%s.up.npy" % name, ordered)
    with open("times.%s.text" % name, "w") as file:
        file.writelines("NaT\n" if np.isnat(x) else "%d\n" % x.astype("i8") for x in ordered)
    ordered.astype(ordered.dtype.newbyteorder("<")).view("<i8").tofile("times.%s.raw" % name)
np.save("whole.npy", times.view("i8"))
np.save("no_unit.npy", times.view("i8").view("<M8"))
np.save("sure.npy", times[~np.isnat(times)])
np.save("sure.up.npy", np.sort(times[~np.isnat(times)]))
np.save("infinite.npy", np.array([1, np.inf, -np.inf]))
np.save("infinite.up.npy", np.array([-np.inf, 1, np.inf]))
truth = np.array([True, False, True, True, False])
np.save("truth.npy", truth)
np.save("truth.up.npy", np.sort(truth))
numbers = np.array([1.5, -2, np.nan, 3e38, 0, np.inf, 1e-40], "<f4")
bits = numbers.view("<u4") >> 16
ordered = np.sort((bits << 16).view("<f4")).view("<u4") >> 16
for name, descr in (("native", "<V2"), ("void", "|V2"), ("big", ">V2")):
    stored = [x.astype(">u2" if name == "big" else "<u2") for x in (bits, ordered)]
    for suffix, array in zip(("", ".up"), stored):
        np.save("bf16.%s%s.npy" % (name, suffix), array.view("V2"))
        with open("bf16.%s%s.npy" % (name, suffix), "r+b") as file:
            file.seek(21)
            file.write(descr.encode())
np.array(ordered, "<u2").tofile("bf16.raw")
PYTHON

for name in little big seconds span; do # types.sh has all orders of times, and soak.sh all options
    ok_writes "times, NaT among them: $name" times.$name.up.npy -- times.$name.npy
done

# The message for -u says what writes the different numbers of an array, and so it does.
with_numpy 'np.save("different.u64.npy", np.array([2**53 + 1, 2**53, 2**64 - 1, 3, 2**53], "u8"))
np.save("different.f64.npy", np.array([0.0, -0.0, 1.5, np.inf, -2.5, 1.5, 1e300]))
np.save("different.f16.npy", np.array([0.5, 1.5, -0.5, 1.5], "f2"))
np.save("different.bool.npy", np.array([True, False, True]))'
for file in times.little.npy times.span.npy different.*.npy; do
    gpusort -u "$file" -o got 2>"$work/log/said" || :
    command=$(sed -n "s/^gpusort: $file: -u is for lines .*: leave -u out, or use \\(.*\\)FILE/\\1$file/p" "$work/log/said")
    ok "the hint for -u is done: $file" env PATH="${GPUSORT%/*}:$PATH" bash -c \
        "set -o pipefail; ${command:-false} >$file.lines"
done
ok 'and it writes what numpy.unique has' with_numpy 'for name in sys.argv[1:]:
    want = np.unique(np.load(name))
    lines = open(name + ".lines").read().split()
    parse = (lambda x: np.iinfo("i8").min if x == "NaT" else int(x)) if want.dtype.kind in "mMbu" else float
    got = np.array([parse(x) for x in lines], want.dtype if want.dtype.kind in "uf" else "i8").astype(want.dtype)
    assert np.array_equal(got, want, equal_nan=True), (name, lines)' times.little.npy times.span.npy different.*.npy
ok_writes '--nan=error sorts times without a NaT' sure.up.npy -- --nan=error sure.npy
ok_writes '--nan=error sorts infinities' infinite.up.npy -- --nan=error infinite.npy
ok_writes 'times as raw numbers' times.little.raw -- --output-format=raw times.little.npy
ok_writes 'raw times with --type' times.little.raw -- --format=raw --type=datetime64 times.little.raw
ok_writes 'text of times with --type' times.span.raw -- \
    --format=text --type=timedelta64 --output-format=raw times.span.text
for order in '<' '>'; do
    said="the unit of its datetime64 is not known, .* \(--output-format=raw -o NEW.datetime64\), which numpy.fromfile\('NEW.datetime64', '${order}M8\[UNIT\]'\) reads$"
    refuses "raw times to .npy, whose unit is not known: $order" "$said" -- \
        --format=raw --type="${order}M8" times.little.raw --output-format=npy
done
refuses 'a NaN among times: NaT is named' ':1: nan is not a whole number or NaT, as datetime64 needs$' -- \
    --type=datetime64 <<<$'nan\n1'
refused 'times of text to .npy' "${said/>M8/<M8}" -- gpusort --format=text --type=datetime64 times.little.text -o o.npy
ok 'as the message says, they are raw numbers' \
    gpusort --format=text --type=datetime64 times.little.text --output-format=raw -o NEW.datetime64
ok 'and NumPy reads them with their unit' with_numpy 'np.save("NEW.npy", np.fromfile("NEW.datetime64", "<M8[ns]"))'
ok_same_bytes 'with NaT last' NEW.npy times.little.up.npy
for words in 'times.seconds.npy: npy <M8\[s\]' 'no_unit.npy: npy <M8' 'times.span.npy: npy <m8\[ns\]' 'whole.npy: npy i64'; do
    refuses "times beside another kind: $words" "$words, where times.little.npy is npy <M8\[ns\]" -- \
        times.little.npy "${words%%:*}"
done

agree='all inputs must agree: convert'
with_numpy 'a = np.array([3, 1, 2], "<f8")
np.save("a.npy", a)
np.save("other.npy", a.astype(">f4"))
np.save("NEW.npy", np.load("other.npy").astype("<f8"))
np.save("both.npy", np.sort(np.r_[a, a]))
a.tofile("a.f64")
np.sort(np.r_[a, a]).tofile("both.f64")
np.savetxt("a.txt", a, "%g")'
refuses 'two dtypes' "$agree one with NumPy's astype, to a dtype that holds both$" -- a.npy other.npy
ok_writes 'what the message says is done: astype' both.npy -- a.npy NEW.npy
refuses '.npy and raw numbers' "$agree .npy by gpusort --output-format=raw FILE -o NEW.f64$" -- a.npy a.f64
gpusort --output-format=raw a.npy -o NEW.f64
ok_writes 'what the message says is done: raw' both.f64 -- NEW.f64 a.f64
for files in 'a.npy a.txt' 'a.txt a.npy' 'a.f64 a.txt'; do
    refuses "numbers and text: $files" "$agree numbers by gpusort --output-format=text FILE -o NEW.txt$" -- $files
done
gpusort --output-format=text a.npy -o NEW.txt
ok_prints 'what the message says is done: text' '1\n1\n2\n2\n3\n3\n' -- gpusort a.txt NEW.txt
refuses 'no sorted copy is named for indices' ': all inputs must agree$' -- --argsort a.npy a.f64

ok_writes 'truth values with --type=bool' truth.up.npy -- --type=bool truth.npy

for name in native void big; do
    ok_writes "bf16 keeps its header: $name" bf16.$name.up.npy -- --type=bf16 bf16.$name.npy
    refuses "2 bytes of no type: $name" "dtype '[<|>]V2' means 2 bytes of no type; .* --type=bf16$" -- bf16.$name.npy
done
refuses '2 bytes of no type with another --type' 'use --type=bf16$' -- --type=f16 bf16.native.npy
ok_writes 'bf16 to .npy has the header of ml_dtypes' bf16.native.up.npy -- \
    --format=raw --type=bf16 --output-format=npy bf16.raw
gpusort --format=raw --type=bf16 --output-format=text bf16.raw -o bf16.txt
ok_writes 'bf16 of text' bf16.raw -- --format=text --type=bf16 --output-format=raw bf16.txt

# ---- shapes and headers --------------------------------------------------------------------------

for in in [a-z]*.in.npy; do
    base=${in%.in.npy}
    ok_writes "$base" "$base.out.npy" -- "$in"
    ok_output "$base on a pipe" "$base.out.npy" -- gpusort < <(cat "$in")
done
with_numpy - <<'PYTHON'
column = np.load("column.True.in.npy")
np.save("top", np.sort(column, axis=None)[:3].reshape(3, 1))
np.save("none", column[:0])
np.save("both", np.sort(np.concatenate((column, column), axis=None)))
np.save("indices", np.argsort(column, axis=None, kind="stable").astype("<u8"))
np.save("cube", np.zeros((2, 1, 2)))
with open("two.npy", "wb") as file:
    np.save(file, column)
    np.save(file, np.arange(3))
with open("longer.npy", "wb") as file:
    np.save(file, column)
    file.write(b"more")
PYTHON
ok_writes '--top keeps the column' top.npy -- --top=3 column.True.in.npy
ok_writes '--top=0 keeps the column' none.npy -- --top=0 column.True.in.npy
ok_writes 'two columns become one array of one dimension' both.npy -- column.True.in.npy column.False.in.npy
ok_writes 'indices of a column have one dimension' indices.npy -- --argsort column.True.in.npy
ok_writes '--top=0 of no dimension has one' nothing.True.out.npy -- --top=0 no_dimension.True.in.npy
refuses 'two dimensions that are not 1' 'the array has 3 dimensions, shape \(2, 1, 2\); .*numpy.ravel makes one of it, to sort all numbers together, not each row$' -- \
    cube.npy
for file in two longer; do
    what='(more than 64|holds 68) bytes of data; numpy.save\(NEW, numpy.load\(FILE\)\) leaves the rest out$'
    [ $file = longer ] ||
        what="another array follows the first one, of 8 items; .*: save each to its own, and name all$"
    kept "what follows an array: $file" "^gpusort: $file.npy: .*($what)" $file.npy -- gpusort $file.npy -o $file.npy
    refuses "what follows an array, on a pipe: $file" "^gpusort: standard input: .*($what)" -- < <(cat $file.npy)
    zstd -q $file.npy
    refuses "what follows an array, compressed: $file" \
        "^gpusort: $file.npy.zst: .*(${what/rest out$/rest out; FILE is the array, once decompressed$})" -- $file.npy.zst
done
with_numpy 'np.save("NEW.npy", np.load("longer.npy"))
file = open("two.npy", "rb")
arrays = [np.load(file), np.load(file)]
for i, a in enumerate(arrays):
    np.save("own%d.npy" % i, a.astype("f8"))
np.save("two.up.npy", np.sort(np.concatenate(arrays, axis=None)))
for shape in (0, 3), (3, 0), (0, 0), (2, 0, 3):
    np.save("empty.%d.%d.npy" % (len(shape), shape[0]), np.zeros(shape, "i4"))
np.save("empty.npy", np.zeros(0, "i4"))'
ok_writes 'what the message says is done: longer' column.True.out.npy -- NEW.npy
ok_writes 'what the message says is done: two' two.up.npy -- own0.npy own1.npy
for file in empty.?.?.npy; do
    ok_writes "an empty array of several dimensions: $file" empty.npy -- "$file"
    cp "$file" in_place.npy
    ok_file "in place it stays: $file" in_place.npy "$file" -- gpusort --in-place in_place.npy
done

# ---- headers that are wrong ----------------------------------------------------------------------

# npy PREFIX HEADER: writes x.npy, whose length of the header is right if PREFIX is empty. 24 bytes of data follow.
npy() {
    printf %b "$2" >header
    printf %b "${1:-\\x93NUMPY\\x01\\0\\x$(printf %02x "$(stat -c %s header)")\\0}" | cat - header >x.npy
    head -c 24 /dev/zero >>x.npy
}
while IFS='|' read -r problem header; do
    npy '' "${header/#f8/"{'descr': '<f8', 'fortran_order': False, 'shape': "}"
    refuses "$problem: $header" "^gpusort: x.npy: .*$problem" -- x.npy
done <<'END'
it is not a dictionary|
it is not a dictionary|[]
a string is missing|{
something follows it|f8(3,), }x\n
a comma is missing|f8(3,) 'a': 1}\n
unknown key 'extra'|f8(3,), 'extra': 1}\n
'shape' is there twice|f8(3,), 'shape': (3,)}\n
'fortran_order' is missing|{'descr': '<f8', 'shape': (3,), }\n
'descr' is missing|{'fortran_order': False, 'shape': (3,), }\n
'shape' is missing|{'descr': '<f8', 'fortran_order': False, }\n
it is not a dictionary|'descr': '<f8', 'fortran_order': False, 'shape': (3,)\n
a colon is missing|{'descr' 8}\n
a string has no end|{'descr': '<f8, }\n
a string with an escape|{'descr': '\\x3cf8', }\n
a string is missing|{'descr': 8, }\n
dtype ''|{'descr': '', }\n
dtype '<c16'|{'descr': '<c16', }\n
a structured dtype|{'descr': [('a', '<f8')], }\n
neither True nor False|{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }\n
neither True nor False|{'descr': '<f8', 'fortran_order': Fals
the array has 2 dimensions, shape \(3, 4\)|f8(3, 4), }\n
the header says 0 items \(0 bytes\), the file holds 24 bytes|f8(0, 5), }\n
the header says 1 items \(8 bytes\), the file holds 24 bytes|f8(), }\n
a number, not a tuple|f8(3), }\n
a string in several parts|{'descr': '''<f8''', }\n
a string in several parts|{'descr': '<f' '8', }\n
of plain whole numbers; if numpy.load reads it, numpy.save\(NEW, numpy.load\(FILE\)\) writes a usual one$|f8(0x3,), }\n
a string is missing; if numpy.load|{ # a comment\n'descr': '<f8', }\n
it is not a dictionary; if numpy.load|({'descr': '<f8', })\n
'shape' is not a tuple|f8 3, }\n
not a tuple of plain whole numbers|f8(-3,), }\n
shape is too large|f8(18446744073709551616,), }\n
shape is too large|f8(2305843009213693952,), }\n
the header says 4 items \(32 bytes\), the file holds 24 bytes of data: it is cut off, or still being written$|f8(4,), }\n
the header says 2 items \(16 bytes\), the file holds 24 bytes of data|f8(2,), }\n
END
npy '\x93NUMPY\x01\0\xc6\x03' "$(printf "%-966s" "{'descr': '<f8', 'fortran_order': False, 'shape': (3$(printf ', 1%.0s' {1..300})), }")"
refuses 'more dimensions than NumPy has' "'shape' has more dimensions than NumPy's arrays" -- x.npy
npy '' "{'descr': '''<f8''', 'fortran_order': False, 'shape': (0x3,), } # a comment"
refuses 'a header that only NumPy reads' 'a string in several parts; if numpy.load reads it' -- x.npy
refuses 'a header that only NumPy reads, compressed' 'writes a usual one; FILE is the array, once decompressed$' -- \
    <(zstd -qc x.npy)
with_numpy 'np.save("NEW.npy", np.load("x.npy"))'
ok_writes 'what the message says is done: a usual header' NEW.npy -- NEW.npy
right="{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
while IFS='|' read -r problem prefix; do
    npy "$prefix" "$right"
    refuses "$problem" "^gpusort: x.npy: .*$problem" -- --format=npy x.npy
done <<'END'
not a NumPy file: .* \(for numbers without a header, use --format=raw and --type; for text, --format=text\)|\x93NUMPX\x01\0\x39\0
version 4.0 of NumPy's format is not known|\x93NUMPY\x04\0\x39\0
version 1.1 of NumPy's format is not known|\x93NUMPY\x01\x01\x39\0
a header of 65593 bytes is too long for numbers|\x93NUMPY\x02\0\x39\0\x01\0
header is cut off|\x93NUMPY\x01\0\xff\xff
END
npy '' "$right"
bytes=$(stat -c %s x.npy)
head -c 0 x.npy >cut.npy
refuses 'an empty file' '^gpusort: cut.npy: it is empty, without a NumPy header$' -- cut.npy
for ((cut = 1; cut < bytes; cut += cut < 14 || cut > bytes - 26 ? 1 : 5)); do
    head -c $cut x.npy >cut.npy
    what='header is cut off'
    [ $cut -lt $((bytes - 24)) ] || what='the header says 3 items'
    refuses "cut off after $cut bytes" "^gpusort: cut.npy: .*$what" -- cut.npy
done

done_testing
