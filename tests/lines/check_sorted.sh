#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -c and -C: whether an input is sorted, and the first line out of order, as sort(1) reports it.
# shellcheck disable=SC2086 # options that are several words
. "$(dirname "$0")/../lib.sh"

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
while IFS='|' read -r options; do
    sort $options pairs >in
    ok_checks "in order: $options" -c $options in
    ok_checks "equal keys: $options" -c -u $options in
    ok_checks "not sorted at all: $options" -c $options pairs
    # The last two lines exchanged, and one line in the middle moved to a later position.
    { head -n -2 in && tail -n 2 in | tac; } >swapped
    ok_checks "the last two lines swapped: $options" -c $options swapped
    sed "$((lines / 2)){h;d};$((lines * 3 / 4))G" in >moved
    for option in -c -C; do ok_checks "a line in the wrong place: $options" $option $options moved; done
done <<'END'
-n
-g -r
-h
-k1
-t : -k2,2n
-t : -k2,2nr -k1,1g -s
-t : -k2,2n -u
END

# ---- plain decimals, which are compared as bytes -------------------------------------------------

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
while read -r options; do
    sort $options decimals >in
    { head -n -2 in && tail -n 2 in | tac; } >swapped
    sed "$((decimals / 3)){h;d};$((decimals / 3 + 1))G" in >moved
    { cat in && tail -n 1 in; } >twice
    for file in in swapped moved twice; do ok_checks "decimals, $file: $options" -c $options $file; done
    ok "decimals in order, from a pipe: $options" gpusort -c $options < <(cat in)
done <<'END'
-g
-g -r
-g -s -u
-n
-n -r -u
-h
-k1gr
END
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
    '1234567890123456789 1234567890123456790' '0.12345678901234567891 0.12345678901234567892' '+1 +2' '5 5x'; do
    printf '%s\n' $pair >in
    for options in -n -g -h '-n -u' '-g -u' '-h -u' '-n -r' '-g -r -u' '-h -r'; do
        ok_checks "$pair: $options" -c $options in
    done
done

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

done_testing
