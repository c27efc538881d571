#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The text orders of numbers, one rule at a time: -n, -g and -h.
. "$(dirname "$0")/lib_sort_cases.sh"

zeros_40=$(repeat 40 0)
nines_40=$(repeat 40 9)
threes_59=$(repeat 59 3)

# ---- -n ------------------------------------------------------------------------------------------

sorts '-n: negative numbers' '1\n-1\n0\n-10\n-2\n' '-10\n-2\n-1\n0\n1\n' -n
sorts '-n: equal values go by the bytes of the line' '1.0\n01\n1\n1.\n 1\n' ' 1\n01\n1\n1.\n1.0\n' -n
sorts '-n: a plus sign is no part of a number' '1\n+5\n-1\n' '-1\n+5\n1\n' -n
sorts '-n: what is no number is 0' 'b\n1\n-1\na\n0\n' '-1\n0\na\nb\n1\n' -n
sorts '-n: -0 is 0' '0\n-0\n0.0\n-0.00\n' '0\n-0\n0.0\n-0.00\n' -n -s
sorts '-n: -0 is 0, the last resort decides' '0\n-\n-0\n-.0\n-x\n' '-\n-.0\n-0\n-x\n0\n' -n
sorts '-n: blanks before the minus, not after it' '- 5\n -5\n\t-6\n1\n' '\t-6\n -5\n- 5\n1\n' -n
sorts '-n: two minus signs are no number' '--1\n-1\n1\n' '-1\n--1\n1\n' -n
sorts '-n: a fraction alone' '.5\n0.4\n.45\n-.5\n' '-.5\n0.4\n.45\n.5\n' -n
sorts '-n: a point with nothing after it' '5.\n5.1\n4.9\n' '4.9\n5.\n5.1\n' -n
sorts '-n: a point alone is 0' '1\n.\n-1\n' '-1\n.\n1\n' -n
sorts '-n: two points: the second ends the number' '1.5.9\n1.5.1\n1.6\n1.4.9\n' '1.4.9\n1.5.1\n1.5.9\n1.6\n' -n
sorts '-n: the number ends at a blank' '1 2\n1 1\n12\n2\n' '1 1\n1 2\n2\n12\n' -n
sorts '-n: there is no separator of thousands' '1,000\n2\n1,5\n' '1,000\n1,5\n2\n' -n
sorts '-n: there are no exponents' '1e5\n2\n1e1\n' '1e1\n1e5\n2\n' -n
sorts '-n: there is no hex' '0x10\n1\n0\n' '0\n0x10\n1\n' -n
sorts '-n: inf and nan are no numbers' '1\ninf\nnan\n-1\n' '-1\ninf\nnan\n1\n' -n
sorts '-n: leading zeros' '010\n9\n0009\n08\n' '08\n0009\n9\n010\n' -n
sorts '-n: leading zeros of negative numbers' '-010\n-9\n-0009\n-08\n' '-010\n-0009\n-9\n-08\n' -n
sorts '-n: trailing zeros of a fraction' '1.50\n1.5\n1.49\n1.500001\n' '1.49\n1.5\n1.50\n1.500001\n' -n
sorts '-n: fractions go digit by digit' '0.10\n0.9\n0.1\n0.09\n' '0.09\n0.1\n0.10\n0.9\n' -n
sorts '-n: fractions of negative numbers' '-0.10\n-0.9\n-0.09\n-1\n' '-1\n-0.9\n-0.10\n-0.09\n' -n
orders '-n: 40 digits, negative' "-1${zeros_40}2\n-1${zeros_40}1\n-1${zeros_40}0\n-$nines_40\n" -n
sorts '-n: the length decides before the digits' "9\n10\n$nines_40\n1$zeros_40\n" "9\n10\n$nines_40\n1$zeros_40\n" -n
sorts '-n: leading zeros have no length' "${zeros_40}9\n10\n0${zeros_40}8\n" "0${zeros_40}8\n${zeros_40}9\n10\n" -n
orders '-n: fractions that differ in the 60th place' \
    "0.$threes_59\n0.${threes_59}2\n0.${threes_59}3\n0.${threes_59}4\n" -n
orders '-n: fractions that differ in the 60th place, negative' \
    "-0.${threes_59}4\n-0.${threes_59}3\n-0.${threes_59}2\n-0.$threes_59\n" -n
orders '-n: long integers with fractions' "$nines_40\n$nines_40.1\n$nines_40.10\n$nines_40.2\n" -n
orders '-n: neighbours of 2^53' '9007199254740991\n9007199254740992\n9007199254740993\n' -n
orders '-n: neighbours of 2^63' '9223372036854775807\n9223372036854775808\n9223372036854775809\n' -n
orders '-n: neighbours of -2^63' '-9223372036854775809\n-9223372036854775808\n-9223372036854775807\n' -n
orders '-n: neighbours of 2^64' '18446744073709551615\n18446744073709551616\n18446744073709551617\n' -n
orders '-n: neighbours of 10^18 to 10^20' \
    "$(repeat 18 9)\n1$(repeat 18 0)\n$(repeat 19 9)\n1$(repeat 19 0)\n$(repeat 20 9)\n1$(repeat 20 0)\n" -n
orders '-n: 16 digits and a fraction' '1234567890123456\n1234567890123456.65\n1234567890123456.7\n' -n
orders '-n: 1000 digits' "$(repeat 1000 7)\n$(repeat 1000 7)0\n$(repeat 1000 7)1\n" -n
orders '-n: 1000 zeros of a fraction' "-0.$(repeat 1000 0)1\n0.$(repeat 1000 0)\n0.$(repeat 1000 0)1\n" -n
sorts '-n: vertical tab, form feed and CR are no blanks' '2\n\v3\n\f4\n\r5\n-1\n' '-1\n\v3\n\f4\n\r5\n2\n' -n
sorts '-n: letters after a number' '2x\n1z\n1y\n10a\n' '1y\n1z\n2x\n10a\n' -n
sorts '-n: what differs after the number is compared as bytes' '1b\n1a\n1\n1\x00\n1\xff\n' '1\n1\x00\n1a\n1b\n1\xff\n' -n
sorts '-n: colons and slashes are no digits' '1:\n1/\n2\n/\n:\n' '/\n:\n1/\n1:\n2\n' -n
sorts '-nr' '10\n9\n-1\nx\n\n' '10\n9\nx\n\n-1\n' -nr
sorts '-n -r: the last resort is turned too' '1\n01\n1.0\n' '1.0\n1\n01\n' -n -r

# ---- -g ------------------------------------------------------------------------------------------

sorts '-g: exponents' '1e3\n999\n1e-3\n1E2\n-1e3\n' '-1e3\n1e-3\n1E2\n999\n1e3\n' -g
sorts '-g: a plus sign is a sign' '+5\n4\n6\n' '4\n+5\n6\n' -g
sorts '-g: no number, then numbers' '1\nabc\n-1e9\n\n0\n' '\nabc\n-1e9\n0\n1\n' -g
sorts '-g: no number, NaN, -inf, numbers, inf' 'inf\n1\nx\n-inf\nnan\n-1\n' 'x\nnan\n-inf\n-1\n1\ninf\n' -g
sorts '-g: the same, turned round' 'inf\n1\nx\n-inf\nnan\n-1\n' 'inf\n1\n-1\n-inf\nnan\nx\n' -gr
sorts '-g: what is no number goes by bytes' 'b\na\n\xff\n\n-\n+\n.\ne5\n' '\n+\n-\n.\na\nb\ne5\n\xff\n' -g
sorts '-g: signs and points alone are no numbers' '-1\n-\n+\n.\n-.\n+.e1\n' '+\n+.e1\n-\n-.\n.\n-1\n' -g
sorts '-g: -0 equals 0, in the order of the input' '0\n-0\n+0\n-1\n' '-1\n0\n-0\n+0\n' -gs
orders '-g: infinities however they are spelt' '-Inf\n1e4931\nINFINITY\ninf\ninfinite\n' -g
orders '-g: infinities are equal to what overflows' '-1e5000\n-inf\n1e5000\n1e9999\ninf\n' -g
sorts_so '-g: NaNs of one value are equal' 'nan\nNAN\nNaN\nnan\n1\n' 'nan\nNAN\nNaN\nnan\n1\n' -gs
sorts_so '-g: NaNs of one value go by their bytes' 'nan\nNAN\nNaN\n1\nx\n' 'x\nNAN\nNaN\nnan\n1\n' -g
sorts '-g: a NaN with something in parentheses' 'nan(1)\n1\n-inf\nx\n' 'x\nnan(1)\n-inf\n1\n' -g
sorts '-g: a NaN with a parenthesis that is not closed' 'nan(1\n1\n-inf\nx\n' 'x\nnan(1\n-inf\n1\n' -g
sorts_so '-g: NaNs go by sign, then by their bytes' 'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\nnan(1)\n-NaN\nx\n' \
    'x\n-NaN\n-nan\n-nan(1)\nNAN\nnan\nnan(1)\nnan(2)\n0\n' -g
sorts_so '-g: NaNs of one sign are equal' 'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\n' \
    '-nan(1)\n-nan\nnan(2)\nnan\nNAN\n0\n' -gs
sorts_so '-g: of NaNs of one sign the first is kept' 'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\n' '-nan(1)\nnan(2)\n0\n' -gu
sorts '-g: na and in are no numbers' '1\nna\nin\n-1\nnull\n' 'in\nna\nnull\n-1\n1\n' -g
sorts '-g: white space of all kinds before a number' ' 3\n\t2\n\v1\n\f4\n\r0\nx\n' 'x\n\r0\n\v1\n\t2\n 3\n\f4\n' -g
sorts '-g: blanks after the sign: no number' '- 5\n-5\n1\n' '- 5\n-5\n1\n' -g
sorts '-g: a number ends where it is none any more' '1x\n1 2\n1,5\n1.2.3\n2\n1\n' '1\n1 2\n1,5\n1x\n1.2.3\n2\n' -g
sorts '-g: an exponent without digits is none' '1e\n1e+\n2\n1\n1ex\n1e-\n' '1\n1e\n1e+\n1e-\n1ex\n2\n' -g
sorts '-g: points' '5.\n.5\n5.5\n.\n0.5\n' '.\n.5\n0.5\n5.\n5.5\n' -g
orders '-g: leading zeros' '9\n00000000000000000000000000000009.5\n010\n' -g
sorts '-g: hex integers' '0x10\n15\n17\n0X0f\n-0x1\n' '-0x1\n0X0f\n15\n0x10\n17\n' -g
orders '-g: hex fractions and exponents' '0x1p-1\n1\n0x1.8\n0x.8p2\n0x1p1\n0xAp0\n' -g
sorts '-g: 0x alone is 0' '0x\n1\n-1\n0xg\n0x.\n0xp1\n' '-1\n0x\n0x.\n0xg\n0xp1\n1\n' -g
sorts '-g: a hex exponent without digits is none' '0x1p\n2\n0x1p+\n1\n0x1pz\n' '0x1p\n0x1p+\n0x1pz\n1\n2\n' -g
sorts '-g: e is a digit of hex' '0x1e1\n480\n482\n' '480\n0x1e1\n482\n' -g
sorts '-g: signs before hex' '-0x2\n+0x2\n1\n-1\n' '-0x2\n-1\n1\n+0x2\n' -g
orders '-g: hex of 16 and more digits' \
    '0xfffffffffffffffe\n0xffffffffffffffff\n18446744073709551615\n0x10000000000000000\n' -g
sorts '-g: hex that has to be rounded to even, equal ones in place' \
    '0x1.00000000000000010\n0x1\n0x1.00000000000000020\n0x1.00000000000000011\n' \
    '0x1.00000000000000010\n0x1\n0x1.00000000000000020\n0x1.00000000000000011\n' -gs
orders '-g: neighbours of 2^53' '9007199254740991\n9007199254740992\n9007199254740993\n9007199254740994\n' -g
sorts '-g: the last digits of 64 bits' \
    '18446744073709551615\n18446744073709551613\n18446744073709551614\n18446744073709551616\n' \
    '18446744073709551613\n18446744073709551614\n18446744073709551615\n18446744073709551616\n' -gs
sorts '-g: 2^64 and the next integer are one number' \
    '18446744073709551617\n18446744073709551616\n18446744073709551618\n18446744073709551615\n' \
    '18446744073709551615\n18446744073709551617\n18446744073709551616\n18446744073709551618\n' -gs
sorts '-g: 2^64 + 1 is rounded to even, 2^64 + 3 up' \
    '18446744073709551619\n18446744073709551617\n18446744073709551620\n18446744073709551616\n' \
    '18446744073709551617\n18446744073709551616\n18446744073709551619\n18446744073709551620\n' -gs
half=18446744073709551617.$(repeat 40000 0) # between 2^64 and the next number
sorts '-g: a digit far after the half decides' "${half}1\n$half\n18446744073709551618\n" \
    "$half\n${half}1\n18446744073709551618\n" -gs
sorts '-g: negative numbers of 64 bits' '-18446744073709551613\n-18446744073709551615\n-18446744073709551614\n' \
    '-18446744073709551615\n-18446744073709551614\n-18446744073709551613\n' -gs
sorts '-g: fractions beyond a double' '0.1000000000000000001\n0.1\n0.1000000000000000000001\n' \
    '0.1\n0.1000000000000000000001\n0.1000000000000000001\n' -gs
sorts '-g: fractions that differ in the 60th place are one number' \
    "0.${threes_59}4\n0.${threes_59}2\n0.${threes_59}3\n" "0.${threes_59}4\n0.${threes_59}2\n0.${threes_59}3\n" -gs
orders '-g: exponents beyond a double' '-1e4000\n0\n1e-4000\n1e-400\n1e400\n1e4000\n' -g
sorts '-g: the least number and half of it' '4e-4951\n3e-4951\n2e-4951\n1e-4951\n0\n-2e-4951\n' \
    '-2e-4951\n1e-4951\n0\n4e-4951\n3e-4951\n2e-4951\n' -gs
sorts '-g: underflow is 0' '1e-5000\n0\n-1e-5000\n1e-99999999999\n' '1e-5000\n0\n-1e-5000\n1e-99999999999\n' -gs
sorts '-g: the greatest number' '1.18973149535723176502e+4932\n1.1897314953572317649e4932\ninf\n1.2e4932\n' \
    '1.1897314953572317649e4932\n1.18973149535723176502e+4932\ninf\n1.2e4932\n' -gs
sorts '-g: exponents that do not fit into an integer' \
    '1e99999999999999999999\n1\n1e-99999999999999999999\n0e99999999999999999999\n-1\n' \
    '-1\n1e-99999999999999999999\n0e99999999999999999999\n1\n1e99999999999999999999\n' -gs
sorts '-g: a long fraction and an exponent undo each other' \
    "0.$(repeat 500 0)1e501\n1\n1$(repeat 500 0)e-500\n2\n0.5\n" \
    "0.5\n0.$(repeat 500 0)1e501\n1\n1$(repeat 500 0)e-500\n2\n" -gs
sorts '-g: 1000 digits' "$(repeat 1000 7)\n1e999\n1e1000\n8e999\n" "1e999\n$(repeat 1000 7)\n8e999\n1e1000\n" -g
sorts '-g: equal numbers go by bytes' '1\n1.0\n1e0\n10e-1\n0x1\n01\n+1\n 1\n' ' 1\n+1\n01\n0x1\n1\n1.0\n10e-1\n1e0\n' -g
sorts '-g: a comma is no decimal point' '1,9\n1.5\n' '1,9\n1.5\n' -g
sorts '-g: suffixes of C are no part of a number' '1f\n1L\n1\n2u\n' '1\n1L\n1f\n2u\n' -g

# ---- -h ------------------------------------------------------------------------------------------

sorts '-h: suffixes before values' '1M\n1023K\n2\n1G\n999\n' '2\n999\n1023K\n1M\n1G\n' -h
sorts '-h: every suffix' '1Y\n1Z\n1E\n1P\n1T\n1G\n1M\n1K\n1\n' '1\n1K\n1M\n1G\n1T\n1P\n1E\n1Z\n1Y\n' -h
sorts '-h: k is K, in the order of the input' '1k\n1K\n0.5K\n' '0.5K\n1k\n1K\n' -hs
sorts '-h: the other suffixes are capitals' '1m\n1M\n1g\n2\n' '1g\n1m\n2\n1M\n' -h
orders '-h: suffixes go before values even where the value is less' '1024K\n2048K\n0.5M\n1M\n' -h
sorts '-h: zeros are equal' '0K\n0\n0G\n-0T\n1\n-1\n' '-1\n0K\n0\n0G\n-0T\n1\n' -hs
sorts '-h: negative numbers the other way round' '-1K\n-1\n-1M\n-2\n1\n0\n-2K\n' '-1M\n-2K\n-1K\n-2\n-1\n0\n1\n' -h
sorts '-h: an unknown suffix is none' '1X\n1K\n2\n1\n1B\n' '1\n1B\n1X\n2\n1K\n' -h
sorts '-h: only the first letter of a suffix counts' '1KiB\n1K\n1KB\n2K\n1M\n' '1K\n1KB\n1KiB\n2K\n1M\n' -h
sorts '-h: a blank before a suffix: there is none' '1 K\n2\n1K\n' '1 K\n2\n1K\n' -h
sorts '-h: fractions' '1.5K\n1.49K\n1.50K\n.5K\n2\n' '2\n.5K\n1.49K\n1.50K\n1.5K\n' -h
sorts '-h: a point and nothing after it, then a suffix' '1.K\n2\n1K\n3\n' '2\n3\n1.K\n1K\n' -h
sorts '-h: a suffix alone is 0' 'K\n1\n-1\nM\n' '-1\nK\nM\n1\n' -h
sorts '-h: a minus and a suffix are 0' '-K\n1\n-1\n0\n' '-1\n-K\n0\n1\n' -h
sorts '-h: a plus sign is no part of a number' '+1K\n1\n-1K\n' '-1K\n+1K\n1\n' -h
sorts '-h: blanks before a number' ' 1K\n2\n\t3K\n1M\n' '2\n 1K\n\t3K\n1M\n' -h
orders '-h: exact at any length' "1${zeros_40}0K\n1${zeros_40}1K\n1${zeros_40}2K\n${nines_40}M\n" -h
orders '-h: a digit that is not 0 far after the point' "0.${zeros_40}0K\n1\n0.${zeros_40}1K\n" -h
sorts '-h: two suffixes: the first counts' '1MK\n1KM\n2K\n' '1KM\n2K\n1MK\n' -h
sorts '-h: exponents are unknown suffixes' '1e3\n2\n1E\n1\n' '1\n1e3\n2\n1E\n' -h
sorts '-hr' '1K\n1\n-1K\n0K\n1M\nx\n' '1M\n1K\n1\nx\n0K\n-1K\n' -hr
sorts '-h: leading zeros' '001K\n1K\n0002\n02K\n' '0002\n001K\n1K\n02K\n' -h
given ronna '1R\n2Y\n'
if [ "$(sort -h ronna)" = $'2Y\n1R' ]; then
    sorts '-h: R and Q' '1Q\n1R\n9Y\n1\n-1R\n-1Q\n' '-1Q\n-1R\n1\n9Y\n1R\n1Q\n' -h
else
    sorts_so '-h: R and Q' '1Q\n1R\n9Y\n1\n-1R\n-1Q\n' '-1Q\n-1R\n1\n9Y\n1R\n1Q\n' -h
    skip '-h: R and Q as sort(1) has them' 'this sort(1) does not know them'
fi

# Where char is signed, sort(1) takes the byte 0x80 for a thousands separator in the C locale: the
# value with which it marks that there is no separator is one of an unsigned char.
given separator '2\n\x8011\n'
if sort -C -n separator; then sorts_0x80=sorts; else sorts_0x80=sorts_so; fi
$sorts_0x80 '-n: 0x80 is skipped before and between digits' '\x8011\n2\n3\x801\n\x80\x8007\n' \
    '2\n\x80\x8007\n\x8011\n3\x801\n' -n
$sorts_0x80 '-n: 0x80 is skipped after a minus, not before it' '-\x805\n-4\n\x80-9\n1\n-4\x80\x800\n' \
    '-4\x80\x800\n-\x805\n-4\n\x80-9\n1\n' -n
$sorts_0x80 '-n: 0x80 is skipped before a point, not after it' '5\x80.5\n5.4\n5.\x806\n6\n5\n' \
    '5\n5.\x806\n5.4\n5\x80.5\n6\n' -n
$sorts_0x80 '-n: 0x80 has no length' '1\x80\x80\x802\n13\n11\n100\n' '11\n1\x80\x80\x802\n13\n100\n' -n
$sorts_0x80 '-n: 0x80 and what is no number' 'x\n\x80\n1\n-1\n\x80x\n' '-1\nx\n\x80\n\x80x\n1\n' -n
$sorts_0x80 '-h: 0x80 parts the number from its suffix' \
    '\x805K\n6\n4\n1\x80000K\n999\n1001\n1K\n0\x805K\n-1\x800K\n-11\n' \
    '-11\n-1\x800K\n4\n0\x805K\n\x805K\n6\n999\n1\x80000K\n1001\n1K\n' -h
sorts '-g: 0x80 is a byte like others' '\x8011\n2\n3\x801\n20\n' '\x8011\n2\n3\x801\n20\n' -g

# ---- odd numbers ---------------------------------------------------------------------------------

# Texts between which -n, -h and -g draw a distinction, or do not.
odd='9 10 -10 -9 -1 0 -0.001 .001 1.5 1.50001 1.09 1.1 -1.1 -1.09 x +5 -0 - -.0 --5 5. 5 5e9 007.500 7.5 1.2.3 1.2
    1,000 0x10 12345678901234567 12345678901234567.0000000000000001 .00000000000000000001 .00000000000000000002
    \v5 \t5 1023 1K 1k 9K 1M 1G 1T 1P 1E 1Z 1Y -1M -9K -1K -9999 0Y -0.0M 0M .1 .1K 1.5K 1.6K 5.K 5m 5KB 5K
    1234567890123456K 1234567890123457K + . e5 -inf -1e4931 1e4931 inf 1e9999 infinity infinit 1x 0x 0x. 0x1p 0x1p4
    16 0x.8 0.5 1e 1e+ 1e- 1.0000 1.5.5 1e-4950 2e-4950 0.1 0.10000000000000000001 9223372036854775807
    9223372036854775808 1\0002 \0001 1\0003 a\0 a a\0b a\0c ab abcdefg abcdefgh abcdefgi \377'
for begin in '' - 0. 5. -5. 5; do
    for end in '' 1 2 10 7.5 7.51; do odd+=" $begin$(repeat 80 0)$end $begin$(repeat 80 0)$end$(repeat 90 0)1K"; done
done
read -rd '' -a texts <<<"$odd" || true
odd=$(printf '%s\\n' "${texts[@]}")
for options in -n '-n -r' '-n -s' '-n -u' '-n -r -u' -h '-h -r' '-h -s' '-h -u' -g '-g -r' '-g -s' '-g -u' -k1 '-k1 -r'; do
    # shellcheck disable=SC2086 # words
    sorts "$options: odd numbers" "$odd" = $options
done

done_testing
