#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The text orders of numbers: -n, -g, -h and -k1 sort texts that look alike as sort(1) does. Some are equal in one order
# and differ in another.
. "$(dirname "$0")/lib_sort_cases.sh"

all=()
# texts_of NAME WORD...: all orders sort the words, lines in printf %b escapes, as sort(1) does.
texts_of() {
    local options texts
    all+=("${@:2}")
    texts=$(printf '%s\\n' "${@:2}")
    for options in -n '-n -r' '-n -s' '-n -u' '-n -r -u' -h '-h -r' '-h -s' '-h -u' -g '-g -r' '-g -s' '-g -u' -k1 \
        '-k1 -r' '-k1 -u'; do
        is_in_turn || continue
        sorts "$1: $options" "$texts" = $options
    done
}
zeros_40=$(repeat 40 0)
nines_40=$(repeat 40 9)
threes_59=$(repeat 59 3)

# ---- texts of a kind -----------------------------------------------------------------------------

texts_of 'signs, zeros, and no numbers' 9 10 -10 -9 -2 -1 1 0 -0 0.0 -0.00 -.0 + - . -. -x x a b e5 '' K -K M '\xff' \
    +5 4 6 --5 --1 +-1 '- 5' ' -5' '\t-6' +.e1 '-\t' '  '
texts_of 'points and fractions' .5 0.4 .45 -.5 0.5 -0.001 .001 5. 5.1 5.5 4.9 5 1.5 1.5.9 1.5.1 1.5.5 1.6 1.4.9 1.2.3 \
    1.2 1.50 1.49 1.500001 1.50001 1.0000 0.10 0.9 0.1 .1 0.09 -0.10 -0.9 -0.09 1.09 1.1 -1.1 -1.09 007.500 7.5
texts_of 'leading zeros, and blanks' 010 9 0009 08 -010 -9 -0009 -08 1 01 1.0 1. 1e0 10e-1 0x1 +1 ' 1' '  1' '\t1' \
    "${zeros_40}9" 10 "0${zeros_40}8" 00000000000000000000000000000009.5
texts_of 'what begins and what ends a number' '1 2' '1 1' 12 2 14 1,000 1,5 1,9 1x 2x 1z 1y 10a 1b 1a 1 1aa '1\x00' \
    '1\x005' '1\x00K' '1\x00e5' '1\xff' 1: 1/ / : '\x005' '\xff5' '\xa05' '\xd9\xa1' '\v3' '\f4' '\r5' ' 3' '\t2' \
    '\v1' '\r0' -1 0 1f 1L 2u '1\r'
texts_of 'infinities, and a NaN' nan inf -inf Inf INFINITY -Inf infinity infinite infinit in na null 1 -1 1e9999 -1e5000 1e5000 \
    1e4931 -1e4931 x
texts_of 'exponents' 1e3 999 1e-3 1E2 -1e3 5e9 e5 1e 1e+ 1e- 1ex 1 2 1e1 1e5 1e99999999999999999999 \
    1e-99999999999999999999 0e99999999999999999999 1e4000 -1e4000 1e-4000 1e400 1e-400 1e-5000 -1e-5000 0 -1 \
    1e-99999999999 4e-4951 3e-4951 2e-4951 1e-4951 -2e-4951 1e-4950 2e-4950 1.18973149535723176502e+4932 \
    1.1897314953572317649e4932 1.2e4932 inf "0.$(repeat 500 0)1e501" "1$(repeat 500 0)e-500" 0.5 "$(repeat 1000 7)" \
    1e999 1e1000 8e999
texts_of 'hexadecimal numbers' 0x10 15 16 17 0X0f -0x1 0x1 1 0x1p-1 0x1.8 0x.8 0x.8p2 0x1p1 0x1p4 0xAp0 0x 0x. 0xg \
    0xp1 0x1p 0x1p+ 0x1pz 2 0x1e1 480 481 482 -0x2 +0x2 -1 0xfffffffffffffffe 0xffffffffffffffff 18446744073709551615 \
    0x10000000000000000 0x1.00000000000000010 0x1.00000000000000020 0x1.00000000000000011 \
    "0x1$(repeat 40000 0)1p-160003"
half=18446744073709551617.$(repeat 40000 0) # between 2^64 and the next number
texts_of 'integers beyond a word' 900719925474099{1,2,3,4} {,-}922337203685477580{7,8,9} \
    {,-}1844674407370955161{3,4,5,6,7,8,9} 18446744073709551620 "$half" "${half}1" "$(repeat 18 9)" "1$(repeat 18 0)" \
    "$(repeat 19 9)" "1$(repeat 19 0)" "$(repeat 20 9)" "1$(repeat 20 0)" {,-}"1${zeros_40}"{,0,1,2} \
    {,-}"$nines_40"{,.1,.10,.2} 9 10 "$(repeat 1000 7)"{,0,1} "1$zeros_40"{0,1,2}K "${nines_40}M"
texts_of 'fractions beyond a word' {,-}"0.$threes_59"{,2,3,4} 1234567890123456{,.65,.7} \
    12345678901234567{,.0000000000000001} .0000000000000000000{1,2} 0.1{,000000000000000001,000000000000000000001} \
    "0.$(repeat 1000 0)"{,1} "-0.$(repeat 1000 0)1" "0.${zeros_40}"{0,1}K 1 0.10000000000000000001
texts_of 'suffixes' 1 2 3 999 1023 9K 1023K 1024K 2048K 1{k,K,M,G,T,P,E,Z,Y} 0.5K 0.5M 1m 1g 0K 0 0G 0Y -0T -0.0M 0M \
    -1 -2 -{1,2,9}K -1M -9999 1X 1B 1KiB 1KB 2K '1 K' 1.5K 1.49K 1.50K 1.6K .5K .1K .1 1.K 5.K 5m 5KB 5K K -K M +1K \
    ' 1K' '\t3K' 1MK 1KM 1e3 1E 001K 02K 0002 1234567890123456{,7}K '1M\r' '2K\r'
texts_of 'texts with much in common' a 'a\x00' 'a\x00b' 'a\x00c' ab abcdefg abcdefgh abcdefgi '1\x002' '\x001' \
    '1\x003' {,-}{,0.,5.}"$(repeat 80 0)"{,1,2,10,7.5,7.51} 5"$(repeat 80 0)"{,1,2,10} \
    {,-,0.}"$(repeat 80 0)"{,1,10}"$(repeat 90 0)1K"
texts_of 'all of these' "${all[@]}"

# ---- rules of -n, -g and -h ----------------------------------------------------------------------

sorts_so '-g: NaNs of one value are equal' 'nan\nNAN\nNaN\nnan\n1\n' 'nan\nNAN\nNaN\nnan\n1\n' -gs
sorts_so '-g: NaNs of one value go by their bytes' 'nan\nNAN\nNaN\n1\nx\n' 'x\nNAN\nNaN\nnan\n1\n' -g
sorts '-g: a NaN with something in parentheses' 'nan(1)\n1\n-inf\nx\n' 'x\nnan(1)\n-inf\n1\n' -g
sorts '-g: a NaN with a parenthesis that is not closed' 'nan(1\n1\n-inf\nx\n' 'x\nnan(1\n-inf\n1\n' -g
sorts_so '-g: NaNs go by sign, then by their bytes' 'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\nnan(1)\n-NaN\nx\n' \
    'x\n-NaN\n-nan\n-nan(1)\nNAN\nnan\nnan(1)\nnan(2)\n0\n' -g
sorts_so '-g: NaNs of one sign are equal' 'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\n' \
    '-nan(1)\n-nan\nnan(2)\nnan\nNAN\n0\n' -gs
sorts_so '-g: of NaNs of one sign the first is kept' 'nan(2)\nnan\n-nan(1)\nNAN\n0\n-nan\n' '-nan(1)\nnan(2)\n0\n' -gu
given ronna '1R\n2Y\n'
if [ "$(sort -h ronna)" = $'2Y\n1R' ]; then
    sorts '-h: R and Q' '1Q\n1R\n9Y\n1\n-1R\n-1Q\n' '-1Q\n-1R\n1\n9Y\n1R\n1Q\n' -h
else
    sorts_so '-h: R and Q' '1Q\n1R\n9Y\n1\n-1R\n-1Q\n' '-1Q\n-1R\n1\n9Y\n1R\n1Q\n' -h
    skip '-h: R and Q as sort(1) has them' 'this sort(1) does not know them'
fi

# Before version 9.5, and where char is signed, sort(1) takes the byte 0x80 for a separator of thousands.
given separator '2\n\x8011\n'
if sort -C -n separator; then sorts_0x80=sorts_so; else sorts_0x80=sorts; fi
$sorts_0x80 '-n: a number ends before 0x80' '\x8011\n2\n3\x801\n-\x805\n-4\x80\x800\n5\x80.5\n5.4\nx\n' \
    '-4\x80\x800\n-\x805\nx\n\x8011\n2\n3\x801\n5\x80.5\n5.4\n' -n
$sorts_0x80 '-n: lines that begin with 0x80 are no numbers' '\x805\n\x806\nx\n' '\x805\n' -nu
$sorts_0x80 '-h: a suffix after 0x80 is none' '\x805K\n6\n1\x80K\n999\n1K\n-1\x800K\n' \
    '-1\x800K\n\x805K\n1\x80K\n6\n999\n1K\n' -h
sorts '-g: 0x80 is a byte like others' '\x8011\n2\n3\x801\n20\n' '\x8011\n2\n3\x801\n20\n' -g

done_testing
