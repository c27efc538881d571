#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The text orders of lines, one rule at a time: the end of a line, several inputs, --header. check_sorted.sh has -c
# and -C, merge.sh -m, and sort_options.sh lists of names.
. "$(dirname "$0")/lib_sort_cases.sh"

# ---- lines ---------------------------------------------------------------------------------------

for order in -n -g -h -k1 -k2n '-n -s' '-n -u' -z\ -n; do
    # shellcheck disable=SC2086 # two words
    sorts "no input, $order" '' '' $order
done
sorts 'one line without a newline' '1' '1\n' -n
sorts 'a missing last newline' '2\n1' '1\n2\n' -n
sorts 'a missing last newline, -u' '1\n2\n2' '1\n2\n' -n -u
sorts 'a missing last newline after a NUL' 'b\na\x00' 'a\x00\nb\n' -k1
sorts 'CR LF, the last one missing' '10\r\n9\r\n1' '1\n9\r\n10\r\n' -n
sorts 'NUL between fields is no blank' 'a\x002\nb 1\n' 'a\x002\nb 1\n' -k2n

sorts '-z: a missing last NUL' '10\x009' '9\x0010\x00' -z -n
sorts '-z: newlines are bytes' 'b\n\x00a\nz\x00a\x00' 'a\x00a\nz\x00b\n\x00' -z -k1
sorts '-z: a newline is a blank before a number' '\n5\x00 \n\t4\x001\x00' '1\x00 \n\t4\x00\n5\x00' -z -n
sorts '-z: a newline is a blank before a number, -g' '\n5\x00 \n\t4\x001\x00' '1\x00 \n\t4\x00\n5\x00' -z -g
sorts '-z: a newline is a blank before a number, -h' '\n5\x00 \n\t4K\x001\x00' '1\x00\n5\x00 \n\t4K\x00' -z -h
sorts '-z: a newline parts fields' 'a\n2\x00b\n1\x00' 'b\n1\x00a\n2\x00' -z -k2n
sorts '-z: a newline ends a number' '1\n5\x0014\x002\x00' '1\n5\x002\x0014\x00' -z -n
sorts '-z: a newline at the end of the data' '2\x001\n' '1\n\x002\x00' -z -n
sorts '-z: -u' '1\x0001\x001\n\x00' '1\x00' -z -n -u
sorts '-z: -s' '1\n\x0001\x001\x000\x00' '0\x001\n\x0001\x001\x00' -z -n -s
sorts '-z: NUL as the separator never stands in a line' 'b 1\x00a 2\x00' 'a 2\x00b 1\x00' -z -t '\0' -k1

# ---- gpusort's own order: -g, but strict ---------------------------------------------------------

strict='1e3\n-5\n0x10\n7\n7.0\n-inf\n1e-400\n'
sorts_so 'no order is named: as -g' "$strict" '-inf\n-5\n1e-400\n7\n7.0\n0x10\n1e3\n' --format=text
sorts_so 'no order is named: -r' "$strict" '1e3\n0x10\n7.0\n7\n1e-400\n-5\n-inf\n' --format=text -r
sorts_so 'no order is named: -s' '7.0\n7\n1\n' '1\n7.0\n7\n' --format=text -s
sorts_so 'no order is named: -u' '7.0\n7\n1\n' '1\n7.0\n' --format=text -u
sorts_so 'no order is named: -z' '7.0\x007\x001\x00' '1\x007\x007.0\x00' --format=text -z

# ---- several inputs ------------------------------------------------------------------------------

given a '3\n1\n'
given b '2\n10'
given c ''
given d '02\n1.0\n'
gives 'several files' '1\n1.0\n02\n2\n3\n10\n' -n a b c d
gives 'several files, equal lines in the order of the files' '1\n1.0\n2\n02\n3\n10\n' -n -s a b c d
gives 'several files, the other way round' '1.0\n1\n02\n2\n3\n10\n' -n -s d c b a
gives 'several files, the first of equal lines is kept' '1.0\n02\n3\n10\n' -n -u d a b
gives 'a file twice' '1\n1\n3\n3\n' -n a a
gives 'empty files' '' -n c c c
given '-1' '5\n4\n'
gives 'a file whose name looks like an option' '4\n5\n' -n -- -1
gives 'a file without a newline before an empty one' '2\n10\n' -n b c
ok_output 'standard input among files' <(sort -n a b) -- gpusort -n a - <b

# ---- --header ------------------------------------------------------------------------------------

sorts_so '--header: fewer lines than that' 'z\ny' 'z\ny\n' --header=5 -n
sorts_so '--header: no lines' '' '' --header=1 -n
sorts_so '--header: with keys' 'name,size\nb,1\na,2\nc,0\n' 'name,size\nc,0\nb,1\na,2\n' --header=1 -t, -k2n
sorts_so '--header: with -u, the header is no line of the data' '1\n1\n01\n2\n' '1\n1\n2\n' --header=1 -n -u
sorts_so '--header: with -z' 'h\x002\x001\x00' 'h\x001\x002\x00' --header=1 -z -n

done_testing
