#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The text orders of lines, one rule at a time: the end of a line, several inputs, --header. check_sorted.sh has -c
# and -C, merge.sh -m, and sort_options.sh lists of names.
. "$(dirname "$0")/lib_sort_cases.sh"

# ---- lines ---------------------------------------------------------------------------------------

# No line, one, a missing last newline, also after a NUL or a carriage return, and a NUL between fields.
for text in '' 1 '2\n1' '1\n2\n2' 'b\na\x00' '10\r\n9\r\n1' 'a\x002\nb 1\n'; do
    for options in -n -g -h -k1 -k2n '-n -s' '-n -u'; do sorts "$text: $options" "$text" = $options; done
done
# A missing last NUL; newlines as bytes, as blanks before a number, between fields, after a number, and at the end.
for text in '10\x009' 'b\n\x00a\nz\x00a\x00' '\n5\x00 \n\t4\x001\x00' '\n5\x00 \n\t4K\x001\x00' 'a\n2\x00b\n1\x00' \
    '1\n5\x0014\x002\x00' '2\x001\n' '1\x0001\x001\n\x000\x00' 'b 1\x00a 2\x00'; do
    for options in -n -g -h -k1 -k2n '-n -s' '-n -u' '-t \0 -k1'; do sorts "-z $options: $text" "$text" = -z $options; done
done

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
for files in 'a b c d' 'd c b a' 'd a b' 'a a' 'c c c' 'b c'; do
    for options in -n '-n -s' '-n -u'; do compare "files $files: $options" = $options $files; done
done
given '-1' '5\n4\n'
compare 'a file whose name looks like an option' '4\n5\n' -n -- -1
ok_output 'standard input among files' <(sort -n a b) -- gpusort -n a - <b

# ---- --header ------------------------------------------------------------------------------------

sorts_so '--header: fewer lines than that' 'z\ny' 'z\ny\n' --header=5 -n
sorts_so '--header: no lines' '' '' --header=1 -n
sorts_so '--header: with keys' 'name,size\nb,1\na,2\nc,0\n' 'name,size\nc,0\nb,1\na,2\n' --header=1 -t, -k2n
sorts_so '--header: with -u, the header is no line of the data' '1\n1\n01\n2\n' '1\n1\n2\n' --header=1 -n -u
sorts_so '--header: with -z' 'h\x002\x001\x00' 'h\x001\x002\x00' --header=1 -z -n

done_testing
