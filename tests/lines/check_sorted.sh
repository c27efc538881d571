#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -c and -C: whether an input is sorted, and the first line out of order, as sort(1) reports it, or the first
# number, as NumPy finds it.
. "$(dirname "$0")/../lib.sh"

need_numpy

# ok_checks NAME ARGUMENT...: `gpusort ARGUMENT...` has the exit status and the messages of sort(1).
# Standard input is the file $input, if that is set.
ok_checks() {
    local name=$1 status=0 expected_status=0
    shift
    (exec -a gpusort sort "$@") <"${input:-/dev/null}" >"$work/log/expected" 2>&1 || expected_status=$?
    gpusort "$@" <"${input:-/dev/null}" >"$work/log/found" 2>&1 || status=$?
    {
        [ "$status" -eq "$expected_status" ] ||
            echo "exit status $status, not $expected_status, of: $*"
        describe_difference "$work/log/found" "$work/log/expected"
    } >"$work/log/problems"
    pass_unless_said "$name" "$work/log/problems"
}

lines=$(full_or_small 80000 20000)

# ---- every order ---------------------------------------------------------------------------------

awk -v count="$lines" 'BEGIN {
    srand(1)
    for (i = 0; i < count; i++)
        print int((rand() - 0.5) * count) (rand() < 0.3 ? ".0" : "") ":" int(rand() * 100)
}' >pairs
for options in -n '-g -r' -h -k1 '-t : -k2,2n' '-t : -k2,2nr -k1,1g -s' '-t : -k2,2n -u'; do
    sort $options pairs >in
    ok_checks "in order: $options" -c $options in
    ok_checks "equal keys: $options" -c -u $options in
    ok_checks "not sorted at all: $options" -c $options pairs
    # The last two lines exchanged, and one line in the middle moved to a later position.
    { head -n -2 in && tail -n 2 in | tac; } >swapped
    ok_checks "the last two lines swapped: $options" -c $options swapped
    sed "$((lines / 2)){h;d};$((lines * 3 / 4))G" in >moved
    for option in -c -C; do ok_checks "a line in the wrong place: $options" $option $options moved; done
done

# ---- plain decimals ------------------------------------------------------------------------------

# Changing shapes, exponents, trailing zeros, repeated lines, and numbers of more digits than a long double has.
decimals=$((lines / 2))
awk -v count="$decimals" 'BEGIN {
    srand(2)
    for (i = 0; i < count; i++) {
        value = (rand() - 0.5) * 10 ^ int(rand() * 8 - 3)
        if (i % 50 == 0)
            printf "%.25g\n", value
        else if (i % 3 == 0)
            printf "%.4g\n", value
        else
            printf "%.9g\n", value
    }
}' >decimals
for options in -g '-g -r' '-g -s -u' -n '-n -r -u' -h -k1gr; do
    sort $options decimals >in
    { head -n -2 in && tail -n 2 in | tac; } >swapped
    sed "$((decimals / 3)){h;d};$((decimals / 3 + 1))G" in >moved
    { cat in && tail -n 1 in; } >twice
    for file in in swapped moved twice; do ok_checks "decimals, $file: $options" -c $options $file; done
    ok "decimals in order, from a pipe: $options" gpusort -c $options < <(cat in)
done
# Short lines of one width that fill whole pieces of the input, of 256 KiB each.
for width in 1 7 8 31 63 64; do
    awk -v width="$width" 'BEGIN { for (i = 0; i < 600000 / (width + 1); i++) printf "%0*d\n", width, i % 10 ^ width }' |
        sort -n >in
    ok_checks "lines of $width digits" -c -n in
    { cat in && head -n 1 in; } >moved
    ok_checks "lines of $width digits, the last out of order" -c -n moved
done

# Neighbours whose digits are not in the order of their values, or are although their values are equal.
for pair in '1e9999 2e9999' '1e-9999 2e-9999' '1e4932 2e4932' '0x1F 1x1F' '0x1F 0x2F' '1K 2K' '1.5K 1.50K' '1K 1M' \
    '0K 0M' '-0 0' '-1 -0' '1e1 9e0' '1.e1 2.e1' '1.2.3 1.3.3' '12 12.0' '12 12.01' '1,5 2,5' '-.5 -.4' '1-5 2-5' \
    '1234567890123456789 1234567890123456790' '0.12345678901234567891 0.12345678901234567892' \
    '1.0000000000000000000001 1.0000000000000000000002' '-1.50 -1.5' '1.50 1.5' '+1 +2' '5 5x'; do
    printf '%s\n' $pair >in
    for options in -n -g -h '-n -u' '-g -u' '-h -u' '-n -r' '-g -r -u' '-h -r'; do
        ok_checks "$pair: $options" -c $options in
    done
done

printf '0.%05000d%d\n' 0 1 0 2 >in
ok_checks 'different decimals that are too small for a long double' -c -g -u in

# Lines whose first bytes are the same; some are the beginning of others.
awk 'BEGIN { for (i = 0; i < 4000; i++) print substr("aaaaaaaaaaaaa", 1, i % 14) i * 7919 % 1009 % (i % 70 + 1) }' >alike
for options in -k1 '-k1 -r' '-k1r' '-k1 -k2 -s' '-k1.2,1' '-k1.5,1r -k1.3' '-k1,1.12 -s'; do
    sort -u $options alike >in
    ok_checks "lines that begin alike: $options" -c -u $options in
    for line in $(seq 5 170 $(($(wc -l <in) - 1))); do
        sed "${line}{h;d};$((line + 1))G" in >swapped
        ok_checks "line $((line + 1)) belongs before, of lines that begin alike: $options" -c $options swapped
        sed "${line}p" in >twice
        ok_checks "line $((line + 1)) is repeated, of lines that begin alike: $options" -c -u $options twice
    done
done

# A last resort, an empty line and a NUL; what is equal by a key.
for text in '1 b\n1 a\n' '1\n\n' '2\n1\0x\n' '1\n2\n02\n3\n' 'a 1\na 2\na 01\nb 0\n' 'b 1\na 2\na 10\n'; do
    printf "$text" >in
    for options in -n '-n -u' '-n -r' -k2n '-k1,1 -k2n'; do
        for option in -c -C; do ok_checks "$text: $option $options" $option $options in; done
    done
done

seq "$lines" >in
ok 'without -n, -g, -h and -k lines are numbers' gpusort -c in
{ cat in && printf 1; } >open
ok_checks 'a last line without a newline' -c -n open
tr '\n' '\0' <open >zero
ok_checks '-z' -c -z -n zero

# ---- kinds of input ------------------------------------------------------------------------------

: >empty
ok_checks 'nothing' -c -n empty
input=pairs ok_checks 'standard input' -c -n
input=in ok_checks 'standard input, in order' -c -n -
input=pairs ok_checks 'standard input, quietly' -C -n
for file in in open; do
    ok_prints "standard input is left at the end of what was read: $file" '0\n' -- \
        bash -c '{ "$0" -C -n; wc -c; } <"$1"' "$GPUSORT" $file
done
zstd -q open -o open.zst
ok_fails_with 'a zstd input' 1 "^gpusort: open.zst:$((lines + 1)): disorder: 1$" -- gpusort -c -n open.zst
for digit in 1 3 2; do head -c 5000000 /dev/zero | tr '\0' $digit; echo; done >long
for options in -n '-n -r'; do ok_checks "long lines: $options" -c $options long; done
printf 'x\ny\ny\n' >equal
ok_checks 'equal lines at the end' -c -k1 equal
# One long line, or many empty ones, up to the border of a piece of the text, and one byte more or less.
size=$(full_or_small 1048576 262144)
for shift in -1 0 1; do
    { head -c $((size - 2 + shift)) /dev/zero | tr '\0' 1 && printf '\n2\n1\n'; } >border
    ok_checks "disorder at a border, shifted by $shift" -c -n -k1.1,1.1 border
    { head -c $((size - 2 + shift)) /dev/zero | tr '\0' '\n' && printf '2\n1\n'; } >border
    ok_checks "many empty lines, shifted by $shift" -c -n border
    for words in -k1 '-k1 -r' '-k1 -u'; do
        for last in 'y\ny\n' 'y\nx\n' 'x\ny\n'; do
            { head -c $((size - 5 + shift)) /dev/zero | tr '\0' y && printf "\ny\n$last"; } >border
            ok_checks "bytes at a border, shifted by $shift" -c $words border
        done
    done
done

# With -c, failing to print the line out of order is an error, as in sort(1).
for words in -c -C; do
    expected=$(sort $words -n pairs 2>/dev/full && echo 0 || echo $?)
    ok_prints "$words to a full device" "$expected\n" -- \
        bash -c '"$0" $1 -n pairs 2>/dev/full; echo $?' "$GPUSORT" $words
done

# ---- refused inputs ------------------------------------------------------------------------------

{ cat in && echo x && echo 1; } >words
ok_fails_with 'a line that is no number' 2 "^gpusort: words:$((lines + 1)): 'x' is not a number: -g would " \
    -- gpusort -c words
printf '2\n1\nx\n' >words
ok_fails_with 'disorder before it' 1 '^gpusort: words:2: disorder: 1$' -- gpusort -c words
ok_checks 'two files' -c -n in open
ok_fails_with 'a missing file' 2 '^gpusort: missing: No such file' -- gpusort -c -n missing

# ---- numbers -------------------------------------------------------------------------------------

# checked FILE OPTION...: what -c says of the numbers of a file.
checked() {
    local file=$1 status=0
    gpusort -c "${@:2}" "$file" </dev/null >"$work/log/said" 2>&1 || status=$?
    { cat "$work/log/said" && echo "status $status"; } >>"$work/log/found"
}

# Numbers that are sorted, but for one of them; also beside the ends of a read of 8 MiB. The expected messages
# are made by NumPy.
with_numpy - "$(full_or_small 4500000 50000)" >cases <<'END'
many = int(sys.argv[1])
def case(name, numbers, place, options="", save=None):
    """Prints FILE|OPTIONS|FIRST NUMBER OUT OF ORDER, 0 for none|ITS TEXT."""
    if place:
        numbers[place - 1], numbers[place] = numbers[place].copy(), numbers[place - 1].copy()
    values = numbers.astype("i8") if numbers.dtype.kind in "mM" else numbers
    disorder = values[1:] > values[:-1] if "-r" in options else values[1:] < values[:-1]
    found = int(np.argmax(disorder)) + 2 if disorder.any() else 0
    (save or numbers.tofile)(name)
    text = values[found - 1] if found else ""
    print(name, options, found, text if numbers.dtype.kind != "b" else int(text or 0), sep="|")
for dtype in "i1 u1 i2 u2 i4 u4 i8 u8".split():
    info = np.iinfo(dtype)
    numbers = np.sort(random.integers(info.min, info.max, 1000, dtype, True))
    name = {"i": "i", "u": "u"}[dtype[0]] + str(8 * int(dtype[1]))
    case(f"ordered.{name}", numbers.copy(), 0)
    case(f"swapped.{name}", numbers, int(np.flatnonzero(np.diff(numbers))[-1]) + 1)
doubles = np.sort(random.standard_normal(many))
case("all.f64", doubles.copy(), 0)
case("reversed.f64", doubles[::-1].copy(), 0, "-r")
case("reversed-as-is.f64", doubles[::-1].copy(), 0)
for place in 1, 1048575, 1048576, 1048577, 4194304, many - 1:
    if place < many:
        case(f"at{place}.f64", doubles.copy(), place)
case("large.f64", doubles.astype(">f8"), 7, "--endian=big")
case("half.f16", np.sort(random.standard_normal(900).astype("f2")), 0)
saved = lambda numbers: lambda name: np.save(name, numbers)
numbers = np.sort(random.standard_normal(1000).astype(">f4"))
numbers[500] = -1000.5
case("big.npy", numbers, 0, "", saved(numbers))
numbers = np.sort(random.integers(0, 2**40, 1000)).astype("M8[s]")
numbers[999] = numbers[3]
case("times.npy", numbers, 0, "", saved(numbers))
case("flags.npy", np.array([False, True, True, False]), 0, "", saved(np.array([False, True, True, False])))
case("one.f32", np.ones(1, "f4"), 0)
case("none.f32", np.ones(0, "f4"), 0)
END
: >"$work/log/found"
while IFS='|' read -r file options place text; do
    checked "$file" $options
    [ "$place" = 0 ] || echo "gpusort: $file: number $place: disorder: $text"
    echo "status $((place > 0))"
done <cases >numbers-expected
ok_same_bytes 'numbers are checked as NumPy compares them' "$work/log/found" numbers-expected
zstd -q all.f64 at1.f64
ok 'compressed numbers in order' gpusort -c all.f64.zst
ok_fails_with 'compressed numbers out of order' 1 '^gpusort: at1.f64.zst: number 2: disorder: ' -- gpusort -c at1.f64.zst
ok_fails_with 'numbers on a pipe' 1 '^gpusort: -: number 2: disorder: ' -- \
    bash -c 'cat at1.f64 | "$0" -c --type=f64' "$GPUSORT"
ok_prints '-C prints nothing of numbers' '1\n' -- bash -c '"$0" -C at1.f64 2>&1; echo $?' "$GPUSORT"
ok_fails_with 'text is checked as numbers of a type' 1 '^gpusort: -: number 3: disorder: 9$' -- \
    bash -c 'printf "9\n10\n9\n" | "$0" -c --type=f32' "$GPUSORT"
# What is sorted is checked as what it was sorted as, whatever its bytes.
with_numpy 'np.array([1, 2, np.nan, 3, np.nan]).tofile("nan.f64")
random.integers(40, 256, 100_000).astype("u1").tofile("image.u8")
np.frombuffer(b"99991111", "u4").tofile("digits.u32")
np.sort(np.frombuffer(np.array([0, 0, 1 << 63, 0xfff8 << 48, 0x7ff8 << 48], "u8"))).tofile("equal.f64")
zeros = np.sort(np.array([0., -0., 0., -0., np.inf, -np.inf]))
for bits in 16, 32, 64: zeros.astype("f%d" % (bits // 8)).tofile("zeros.f%d" % bits)
for name, first, second in ("zeros", 0, 1 << 63), ("nans", 0x7ff9 << 48, 0x7ff8 << 48):
    np.repeat(np.array([first, second], "u8"), 1 << 20).tofile(f"border-{name}.f64")'
with_numpy 'np.array([5, -0.0, 3]).tofile("minus.f64")'
ok_fails_with 'a number out of order is shown as it is' 1 '^gpusort: minus.f64: number 2: disorder: -0$' -- gpusort -c minus.f64
for file in image.u8 digits.u32; do
    ok_fails_with "$file is not sorted" 1 '^gpusort: .*: number [0-9]+: disorder: ' -- gpusort -c $file
    gpusort $file -o sorted.${file#*.}
    ok "$file is sorted" gpusort -c sorted.${file#*.}
done
for file in equal.f64 zeros.f16 zeros.f32 zeros.f64 border-zeros.f64 border-nans.f64; do
    ok "as NumPy sorts it: $file" gpusort -c $file
done
for command in 'gpusort -c' gpusort; do
    : >empty.npy
    ok_fails_with "no array at all: $command" 2 '^gpusort: empty.npy: it is empty' -- $command empty.npy
    cp nan.f64 unnamed.dat
    ok_fails_with "raw numbers of no type: $command" 2 '^gpusort: unnamed.dat: .*: use --type' -- $command unnamed.dat
done
ok_fails_with 'a NaN sorts last' 1 '^gpusort: nan.f64: number 4: disorder: 3$' -- gpusort -c nan.f64
ok_fails_with '--nan=error refuses a NaN' 2 'nan\.f64: number 3 is a NaN' -- gpusort -c --nan=error nan.f64
with_numpy 'np.array([1, 3, 2, np.nan]).tofile("before-nan.f64")
np.array([np.nan, 2, 1, 3]).tofile("nan-before.f64")'
ok_fails_with '--nan=error: a number out of order before a NaN' 1 'before-nan.f64: number 3: disorder: 2$' -- \
    gpusort -c --nan=error before-nan.f64
ok_fails_with '--nan=error: a NaN before a number out of order' 2 'nan-before.f64: number 1 is a NaN' -- \
    gpusort -c -r --nan=error nan-before.f64

# What follows the first number out of order is no error, however much is read at once.
{ seq 5; echo 0; seq 1000; echo abc; } >before-error
ok_fails_with 'text: a number out of order before a word' 1 'before-error: number 6: disorder: 0$' -- \
    gpusort -c --type=f64 before-error
{ printf '2\n1\n' && head -c 1100000 /dev/zero | tr '\0' 3; } >before-error
status=0
sort -c -g before-error 2>/dev/null || status=$?
ok_fails_with 'text: a number out of order before a line that is too long' "$status" 'before-error: number 2: disorder: 1$' -- \
    gpusort -c --type=f64 before-error
with_numpy 'np.arange(400000)[::-1].astype(float).tofile("before-error")'
printf tail >>before-error
ok_fails_with 'raw: a number out of order before a part of one' 1 'number 2: disorder: 399998$' -- \
    eval 'cat before-error | gpusort -c --type=f64'
ok_fails_with '-u is for lines' 2 'nan\.f64: -u is for lines of text, and this is raw: leave -u out$' -- gpusort -c -u nan.f64
ok_fails_with 'half a number' 2 'cut\.f64: ' -- eval 'head -c 20 nan.f64 >cut.f64; gpusort -c cut.f64'

done_testing
