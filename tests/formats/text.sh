#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines of text are sorted byte for byte as by `LC_ALL=C sort -g`, from any kind of input. A line
# that is not one number is refused with its position.
. "$(dirname "$0")/../lib.sh"
need_numpy

count=$(full_or_small 40000 20000)
make_data lines "$count" >lines
sort -g lines >up
sort -g -r lines >down

zstd -q lines
for file in lines lines.zst; do
    ok_writes "$count lines, $file" up -- $file
    ok_output "$count lines, $file from a pipe, -r" down -- gpusort -r - < <(cat $file)
done

printf '3\n1' >first
ok_prints 'blanks around a number stay' '  1\n\t2 \n 3\t\n' -- gpusort <<<$' 3\t\n  1\n\t2 '
ok_prints 'NaN first, by sign and bytes, then the infinities around the rest' \
    ' -nan\n-nan\n-nan(1)\nNAN\nnan\n-inf\n-1\n-0\n0\n1\ninf\n' -- \
    gpusort <<<$'inf\n1\n0\n-0\nnan\n-1\n-nan(1)\nNAN\n-nan\n -nan\n-inf'

"$numpy" -c '
import sys
getattr(sys, "set_int_max_str_digits", id)(0)
print(f"{(2**114 - 1) * 5**16495}e-16495\n0x1p-16381")' >halfway
ok_prints 'a number halfway between two long doubles, of 11,564 digits, is rounded to even' '1\n' -- \
    bash -c '"$0" -g -u halfway | wc -l' "$GPUSORT"

printf '3\r\n1\r\n2\r\n' >crlf
ok_writes 'lines that end in CR LF' <(sort -g crlf) -- crlf

# strict NAME CONTENT LINE: CONTENT is refused with a message that names LINE.
strict() {
    printf -- "$2" >bad
    refuses "$1" "^gpusort: bad:$3: " -- --format=text bad
}
strict 'a line of blanks' '1\n2\n  \n' 3
strict 'an empty first line' '\n1\n' 1
strict 'a bad last line without a newline' '1\n2\nx' 3
{ seq 1 499999; echo abc; seq 1 1000; } >bad
refuses 'a word far down' '^gpusort: bad:500000: ' -- bad
refuses 'a word far down on a pipe' '^gpusort: standard input:500000: ' -- < <(cat bad)
refuses 'a word far down on a pipe, as numbers' '^gpusort: standard input:500000: ' -- --type=f64 < <(cat bad)
printf '1\nx\n' >second
refuses 'a word in the second file' '^gpusort: second:2: ' -- first second
{ echo 1; echo x; seq 500000; echo y; } >bad
refuses 'the first of several words is named' '^gpusort: bad:2: ' -- bad
# says REGEX CONTENT ARGUMENT...: CONTENT is refused with a message that matches REGEX.
says() {
    printf -- "$2" >bad
    refuses "$1" "^gpusort: bad:$1" -- --format=text "${@:3}" bad
}
no_number=': -g would read no number in it, and sort it below all numbers'
says "2: 'one' is not a number$no_number; -k1 sorts lines by their bytes$" '1\none\n'
removes="sed '/.\[\[:space:]]\*\\$/d' removes such lines"
says "2: empty line, not a number$no_number; $removes .sed -z those of -z.; -k1 sorts lines by their bytes$" '1\n\n'
says "2: empty line, not a number: $removes$" '1\n \t\n\r\n\v\f \n\n' --type=f64
ok_prints 'so it does' '1\n' -- bash -c "sed '/^[[:space:]]*\$/d' bad | \"\$0\"" "$GPUSORT"
says "1: '15.000' has a NUL byte in it and is not a number: -z takes lines that end with NUL$" '15\0'
says "1: '1.000' has a NUL .*: -z takes lines that end with NUL; if this is UTF-16, .*-f UTF-16LE -t UTF-8\)$" '1\0\n\0'
says "1: '1.000..000' has NUL bytes beside its characters: UTF-16 .*-f UTF-16LE -t UTF-8\)$" '1\0.\0\n\0'
for line in '3.5\0' '3\0\0' '12345\0\0'; do
    says "1: '[0-9.]+(.000)+' has a NUL byte in it and is not a number: -z takes lines that end with NUL$" "$line\n$line\n"
done
says "2: '3.000' has a NUL byte in it and is not a number$" '1\n3\0\n' --type=f64
says "1: '.0001.000' has NUL bytes beside its characters: UTF-16 .*-f UTF-16BE -t UTF-8\)$" '\0001\0\n' --type=f64
says "1: '1.0122' is not a number: .*; the lines of -z end with NUL, and this has a newline in it; -k1 sorts lines by their bytes$" '1\n2\0' -z
says "1: '.377.033\[1m' is not a number$no_number" '\377\033[1m'
says "1: '0{40}\.\.\.' is not a number: what follows the number has to be removed, if it is the same unit in all lines$" '%050dx' --type=f64
says "1: lines of 1 MiB and more are not read: each number has to be on a line of its own$" \
    '%01048576d' --type=f64
says "2: 'x' is not a number$" '1\nx\n%01048576d' --type=f64
printf '7%0300000d.%0300000de-300000\n' 0 0 >long
ok_prints 'a number of 600,000 digits' '7\n' -- gpusort --format=text --type=u8 long
printf '7%0300000d.%0300000de-300000\n' 0 1 >long
refuses 'one whose last digit makes it a fraction' 'long:1: .* whole' -- --format=text --type=u8 long
if possible 'many equal lines, with little stack' 'sanitizers take more' [ "$is_sanitized" != yes ]; then
    head -c "$(full_or_small 8000000 500000)" /dev/zero | tr '\0' '\n' >empty_lines
    ok_output 'many equal lines, with little stack' empty_lines -- \
        with_limit -s 128 "$GPUSORT" --device=cpu -n empty_lines
fi

done_testing
