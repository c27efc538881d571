#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The text orders by keys: bytes, fields, characters, separators, blanks. Each list of options sorts the same lines as
# sort(1) does.
. "$(dirname "$0")/lib_sort_cases.sh"

# ---- lines of all kinds, by keys of all kinds ----------------------------------------------------

texts=$(printf '%s\\n' b B a A '' 10 9 1 ab abc '\xff' '\x7f' '\x01' 'a\x01' 'a\x00' 'a\x00b' '\x00' 'a\r' 'a\v' \
    'a\f' 'a ' 'a\t' abcdefgh abcdefghij abcdefghija abcdefghijb '\x00\x00\x00\x00\x00\x00\x00\x00\x00' \
    '\x00\x00\x00\x00\x00\x00\x00' '\x00\x00\x00\x00\x00\x00\x00\x00' 'b 1' 'a 2' 'a 1' 'b 0' 'a b' aa 'a    10' \
    'b\t9' 'c \t 1' 'a  b' 'a c' ' b' '  c' ' b 1' 'a 3' '  c 2' 'x a 2' 'y a 1' 'z a 3' 'x b 1' 'y a 2' 'z a 1' \
    'x 2 1' 'y 1 9' 'z 10 0' 'c -1' 'a -1' 'c -inf' c 'x 2' 'y 1' 'c 0' 'a 10' '1 1k 1 x b' '1 1k 1 x a' '1 1k 1 w z' \
    '1 1k 2 a a' '1 2 9 9 9' '0x1 1 1 1 1' '0 9 9 9 9' 'c 2' 'd 1' 'b 9' 'a  10' 'a  1' 'b 2' '1 1' '10 2' '9 2' \
    '9 10' 'a 1K 2' 'b 2 1' 'c 1K 1' 'x   b' 'y  a' 'y  c' 'z a' 2 'b 10' a2 b1 c3 ab1z ac0y ad1a 199 21 150 1e99 1e2 \
    1e10 0x1ff 17 0x100 15 16 1K 2M 3 -3 -1 -2 'a  b1' 'a bb0' 'a b0' 'x  ab' 'y   aa' 'z ac' 'x   bc' 'y a' 'a b2' \
    'a b1' 'ab 2' 'ab 1' abc0 abc-5 'ab z' 'aa y' ab,z aa,y ab,a a,b2 a,b1 x,a2 y,b1 a,2 b,1 a,2z a,1z a:10 b:9 a,,1 \
    b,x,0 ,,2 a,b,1 a,,2 'a  2' 'b  1' 'x  b' 'a b\t2' 'c\t1' 'a, b' b,a 'a\x2b,1' a,b a-b aab ,b, ,a, ,, 'a\x002' \
    'b\x001' 'a\xff2' 'b\xff1' 'a\x5c2' 'b\x5c1' a1b c1a 1,2.5,x 1,-3,y 0,9e9,z 1.2.10 1.2.9 1.10.1 0.9 2,1 10,0 \
    'x  2' 'y 10' '  b' ' a' '  a' 'x\t \tb' '   ' ' ' 'a   ' 'b x' 'b xy' 'c x' 'x\vb' 'x,  -2' y,-10 'x  12' 'y 21' \
    "$(repeat 1000 x)"{,a,b})
for options in -k1 '-r -k1' -k1,1 '-s -k1,1' -k2n -k2 '-s -k2,2' -k2,3 -k2,3n -k2g '-s -k100n' \
    -k2,100n '-s -k2,1' '-s -k1.3,1.2' '-k2,1 -k2n' '-k1,1 -k2nr' \
    '-k1,1g -k2,2h -k3,3n -k4,4 -k5,5r' '-k2,2n -k1,1r' '-k 2n,2' '-k 2,2n' '-k 2n,2r' '-n -k2' '-k2 -n' '-nr -k2' \
    '-r -k2n' '-n -k2r' '-n -k2b' '-r -k2b' '-n -k1,1 -k2,2r -s' '-n -k2,2h -k3' '-b -k2,2' '-b -k2,2r' -k2nr \
    '-n -r -r' -k2rn -k2nn,2n -k1.2 '-s -k1.3,1.3' -k1.1,1.1n -k1.1,1.3g '-s -k1.1,1.3g' -k1.1,1.1h -k1.2n -k2.2 \
    -k2.2b '-s -k2b,2.1b' '-s -k2b,2.3' '-s -k2.1b,2.2' -k2,2.1b '-k1.4,1.4 -s' '-s -k1.1,1.4' '-s -k1.4' '-s -k1.4n' \
    -k1.1,1.99 '-s -k1.2,1.0' '-s -t, -k1.2,1.0' '-s -t, -k1,2.2' '-t, -k2.2' '-t, -k1.3n' '-s -t, -k1.1,1.3' \
    '-t : -k2n' '-t, -k3n' '-t, -k2,2' '-t, -k2' '-t, -b -k2' '-s -t, -k1,1' '-t, -k1,2' '-t1 -k2' '-t, -t, -k2n' \
    '-t, -k1,1n -k2,2g' '-t. -k1,1n -k2,2n -k3,3n' '-t, -n' -k2b '-b -k1' '-b -k2' -k2,2b -k2.2b,2.3b '-s -k2b' \
    '-t, -b -k2n' -k2.2bn '-u -k2n' -k2,2n '-u -k1,1 -k2,2n' '-u -k5n' '-gh -k1,1n' \
    '-hr -k2,2g -k1,1n' '-k2,2 --sort=numeric' -k2,3.4 -k2,3.4b -k2b,3.4; do
    is_in_turn || continue
    sorts "keys: $options" "$texts" = $options
done
for separator in ' ' $'\t' '\0' $'\xff' \\; do
    for options in -k2n -k3n -k2,2 '-k1,1 -s'; do
        sorts "$options, fields that end at $(printf %q "$separator")" "$texts" = -t "$separator" $options
    done
done

# ---- newlines in fields, and a great number ------------------------------------------------------

sorts 'a field whose number does not fit into an integer' 'b\na\n' 'b\na\n' -s -k99999999999999999999999
sorts '-t: newline, with -z' 'a\n2\x00b\n1\x00' 'b\n1\x00a\n2\x00' -z -t$'\n' -k2n
sorts '-b: newlines are blanks with -z' 'x \n b\x00y a\x00' 'y a\x00x \n b\x00' -z -b -k2

done_testing
