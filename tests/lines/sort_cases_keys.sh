#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The text orders by keys, one rule at a time: bytes, fields, characters, separators, blanks.
. "$(dirname "$0")/lib_sort_cases.sh"

# ---- bytes ---------------------------------------------------------------------------------------

sorts 'bytes: capitals before small letters' 'b\nB\na\nA\n' 'A\nB\na\nb\n' -k1
sorts 'bytes: numbers as text' '10\n9\n1\n' '1\n10\n9\n' -k1
sorts 'bytes: a prefix first' 'ab\na\nabc\n\n' '\na\nab\nabc\n' -k1
sorts 'bytes: they are unsigned' 'a\n\xff\n\x80\n\x7f\n\x01\n' '\x01\na\n\x7f\n\x80\n\xff\n' -k1
sorts 'bytes: NUL is less than all others' 'a\x01\na\x00\na\na\x00b\n\x00\n' '\x00\na\na\x00\na\x00b\na\x01\n' -k1
sorts 'bytes: CR, VT and FF are bytes like others' 'a\r\na\v\na\f\na\na \na\t\n' 'a\na\t\na\v\na\f\na\r\na \n' -k1
sorts 'bytes: -r' 'b\n\na\nab\n' 'b\nab\na\n\n' -r -k1
orders 'bytes: more than 8 in common' 'abcdefgh\nabcdefghij\nabcdefghija\nabcdefghijb\n' -k1
sorts 'bytes: 7, 8 and 9 NULs' "\x00\x00\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\x00\n\n" \
    "\n\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\n" -k1
orders 'bytes: a thousand in common' "$(repeat 1000 x)\n$(repeat 1000 x)a\n$(repeat 1000 x)b\n" -k1
sorts 'bytes: only those of the key, then those of the line' 'b 1\na 2\na 1\nb 0\n' 'a 1\na 2\nb 0\nb 1\n' -k1,1
sorts 'bytes: only those of the key, -s' 'b 1\na 2\na 1\nb 0\n' 'a 2\na 1\nb 1\nb 0\n' -s -k1,1
sorts 'bytes: the end of a key is less than any byte' 'ab\na\x00\na b\naa\n' 'a b\na\x00\naa\nab\n' -s -k1,1

# ---- fields --------------------------------------------------------------------------------------

sorts 'the second field by blanks of all widths' 'a    10\nb\t9\nc \t 1\n' 'c \t 1\nb\t9\na    10\n' -k2n
sorts 'a field begins with its blanks' 'a  b\na b\na c\n' 'a  b\na b\na c\n' -k2
sorts 'blanks before the first field are its own' ' b\na\n  c\n' '  c\n b\na\n' -k1,1
sorts 'blanks before the first field: the second is the second word' ' b 1\na 3\n  c 2\n' ' b 1\n  c 2\na 3\n' -k2n
sorts 'a key runs to the end of the line' 'x a 2\ny a 1\nz a 3\n' 'y a 1\nx a 2\nz a 3\n' -k2
sorts 'a key ends with its last field' 'x a 2\ny a 1\nz a 3\n' 'x a 2\ny a 1\nz a 3\n' -s -k2,2
sorts 'a key over two fields' 'x b 1\ny a 2\nz a 1\n' 'z a 1\ny a 2\nx b 1\n' -k2,3
sorts 'a number over two fields is that of the first' 'x 2 1\ny 1 9\nz 10 0\n' 'y 1 9\nx 2 1\nz 10 0\n' -k2,3n
sorts 'fields that are missing are empty' 'a 1\nb\nc -1\n\n' 'c -1\n\nb\na 1\n' -k2n
sorts 'fields that are missing are no numbers' 'a -1\nb\nc -inf\n\n' '\nb\nc -inf\na -1\n' -k2g
sorts 'fields that are missing, as bytes' 'a 1\nb\nc\n' 'b\nc\na 1\n' -k2
sorts 'a field far after the line, in the order of the input' 'b\na\nc\n' 'b\na\nc\n' -s -k100n
sorts 'a field whose number does not fit into an integer' 'b\na\n' 'b\na\n' -s -k99999999999999999999999
sorts 'the end of a key far after the line' 'x 2\ny 1\n' 'y 1\nx 2\n' -k2,100n
sorts 'end before begin: the key is empty' 'b 1\na 2\nc 0\n' 'b 1\na 2\nc 0\n' -s -k2,1
sorts 'end before begin, within a field' 'ab\naa\n' 'ab\naa\n' -s -k1.3,1.2
sorts 'end before begin, then a second key' 'b 1\na 2\nc 0\n' 'c 0\nb 1\na 2\n' -k2,1 -k2n
sorts 'two keys, the second turned round' 'b 1\na 2\na 10\nb 0\n' 'a 10\na 2\nb 1\nb 0\n' -k1,1 -k2nr
sorts 'five keys of all orders' '1 1k 1 x b\n1 1k 1 x a\n1 1k 1 w z\n1 1k 2 a a\n1 2 9 9 9\n0x1 1 1 1 1\n0 9 9 9 9\n' \
    '0 9 9 9 9\n0x1 1 1 1 1\n1 2 9 9 9\n1 1k 1 w z\n1 1k 1 x b\n1 1k 1 x a\n1 1k 2 a a\n' \
    -k1,1g -k2,2h -k3,3n -k4,4 -k5,5r
sorts 'keys one after the other, not by their places' 'a 2\nb 1\nc 2\nd 1\n' 'd 1\nb 1\nc 2\na 2\n' -k2,2n -k1,1r
sorts 'a -k with its end after a comma' 'a 2\nb 1\n' 'b 1\na 2\n' -k 2n,2
sorts 'letters after the end' 'a 10\nb 9\n' 'b 9\na 10\n' -k 2,2n
sorts 'letters after both' 'a 10\nb 9\n' 'a 10\nb 9\n' -k 2n,2r

# ---- options that keys inherit -------------------------------------------------------------------

sorts 'a key without letters is as the global ones' 'a 10\nb 9\n' 'b 9\na 10\n' -n -k2
sorts 'a global letter after the key' 'a 10\nb 9\n' 'b 9\na 10\n' -k2 -n
sorts 'a key without letters inherits -r too' 'a 10\nb 9\n' 'a 10\nb 9\n' -nr -k2
sorts 'a key with a letter inherits nothing' 'a 10\nb 9\n' 'b 9\na 10\n' -r -k2n
sorts 'a key with r alone is no number' 'a 10\nb 9\n' 'b 9\na 10\n' -n -k2r
sorts 'a key with b alone is no number' 'a  10\nb 9\n' 'a  10\nb 9\n' -n -k2b
sorts 'a key with b alone does not inherit -r' 'a  1\nb 2\n' 'a  1\nb 2\n' -r -k2b
sorts 'one key inherits, the other does not' '1 1\n10 2\n9 2\n9 10\n' '1 1\n9 2\n9 10\n10 2\n' -n -k1,1 -k2,2r -s
sorts 'a key of its own order beside a global one' 'a 1K 2\nb 2 1\nc 1K 1\n' 'b 2 1\nc 1K 1\na 1K 2\n' -n -k2,2h -k3
sorts 'a global -b is inherited' 'x   b\ny  a\n' 'y  a\nx   b\n' -b -k2,2
sorts 'a global -b is not inherited by a key with a letter' 'x   b\ny  c\nz a\n' 'z a\ny  c\nx   b\n' -b -k2,2r
sorts 'the last resort is turned by -r, whatever the keys have' 'a 1\nb 1\nc 2\n' 'b 1\na 1\nc 2\n' -r -k2n
sorts 'the last resort is not turned by a key' 'a 1\nb 1\nc 2\n' 'c 2\na 1\nb 1\n' -k2nr
sorts '-r twice is -r' '1\n2\n' '2\n1\n' -n -r -r
sorts 'letters in any order' 'a 2\nb 10\n' 'b 10\na 2\n' -k2rn
sorts 'letters twice' 'a 2\nb 10\n' 'a 2\nb 10\n' -k2nn,2n

# ---- characters ----------------------------------------------------------------------------------

sorts 'from the second character' 'a2\nb1\nc3\n' 'b1\na2\nc3\n' -k1.2
sorts 'from one character to another' 'ab1z\nac0y\nad1a\n' 'ac0y\nab1z\nad1a\n' -s -k1.3,1.3
sorts 'a number cut off' '199\n21\n150\n' '150\n199\n21\n' -k1.1,1.1n
sorts 'a number cut off within its exponent' '1e99\n1e2\n1e10\n2\n' '2\n1e10\n1e2\n1e99\n' -k1.1,1.3g
sorts 'a hex number cut off' '0x1ff\n17\n0x100\n15\n16\n' '0x1ff\n0x100\n15\n16\n17\n' -s -k1.1,1.3g
sorts 'a suffix cut off' '1K\n2M\n3\n' '1K\n2M\n3\n' -k1.1,1.1h
sorts 'a minus cut off' '-3\n-1\n-2\n' '-1\n-2\n-3\n' -k1.2n
sorts 'characters count from the blanks of a field' 'a  b1\na bb0\n' 'a  b1\na bb0\n' -k2.2
sorts 'characters count after the blanks, with b' 'a  b1\na b0\n' 'a b0\na  b1\n' -k2.2b
sorts 'the end counts after the blanks, with b there' 'x  ab\ny   aa\nz ac\n' 'x  ab\ny   aa\nz ac\n' -s -k2b,2.1b
sorts 'the end counts from the blanks, without b there' 'x  ab\ny   aa\nz ac\n' 'y   aa\nx  ab\nz ac\n' -s -k2b,2.3
sorts 'b at the begin does not hold at the end' 'x   bc\ny a\n' 'x   bc\ny a\n' -s -k2.1b,2.2
sorts 'b at the end does not hold at the begin' 'x   b\ny a\n' 'x   b\ny a\n' -k2,2.1b
sorts 'characters after the field count on into the next' 'a b2\na b1\n' 'a b1\na b2\n' -k1.4,1.4 -s
sorts 'an end after the field' 'ab 2\nab 1\n' 'ab 1\nab 2\n' -s -k1.1,1.4
sorts 'a begin after the line' 'ab\naa\nabc0\n' 'ab\naa\nabc0\n' -s -k1.4
sorts 'a begin after the line, as numbers' 'ab\naa\nabc-5\n' 'abc-5\nab\naa\n' -s -k1.4n
sorts 'an end after the line' 'b\na\n' 'a\nb\n' -k1.1,1.99
sorts 'an end of .0 is the end of the field' 'ab z\naa y\n' 'aa y\nab z\n' -s -k1.2,1.0
sorts 'an end of .0 with a separator' 'ab,z\naa,y\nab,a\n' 'aa,y\nab,z\nab,a\n' -s -t, -k1.2,1.0
sorts 'an end in the next field' 'a,b2\na,b1\n' 'a,b1\na,b2\n' -s -t, -k1,2.2
sorts 'characters of the second field, with a separator' 'x,a2\ny,b1\n' 'y,b1\nx,a2\n' -t, -k2.2
sorts 'characters after a field run over the separator' 'a,2\nb,1\n' 'b,1\na,2\n' -t, -k1.3n
sorts 'the end of a key counts on over the separator' 'a,2z\na,1z\n' 'a,1z\na,2z\n' -s -t, -k1.1,1.3

# ---- separators ----------------------------------------------------------------------------------

sorts '-t: by itself' 'a:10\nb:9\n' 'b:9\na:10\n' -t : -k2n
sorts '-t: fields may be empty' 'a,,1\nb,x,0\n,,2\n' 'b,x,0\na,,1\n,,2\n' -t, -k3n
sorts '-t: an empty field goes first' 'a,b,1\na,,2\n' 'a,,2\na,b,1\n' -t, -k2,2
sorts '-t: every separator begins a field' 'a  2\nb  1\n' 'b  1\na  2\n' '-t ' -k3n
sorts '-t: with blank, the second of two is empty' 'x  b\ny a\n' 'x  b\ny a\n' '-t ' -k2,2
sorts '-t: tab' 'a b\t2\nc\t1\n' 'c\t1\na b\t2\n' -t$'\t' -k2n
sorts '-t: blanks are part of fields then' 'a, b\nb,a\n' 'a, b\nb,a\n' -t, -k2
sorts '-t: blanks are part of fields, unless -b' 'a, b\nb,a\n' 'b,a\na, b\n' -t, -b -k2
sorts '-t: a key does not hold the separator at its end' 'a,2\na\x2b,1\n' 'a,2\na\x2b,1\n' -s -t, -k1,1
sorts '-t: a key over fields holds the separators between' 'a,b\na-b\naab\n' 'a,b\na-b\naab\n' -t, -k1,2
sorts '-t: separators at the ends' ',b,\n,a,\n,,\n' ',,\n,a,\n,b,\n' -t, -k2,2
sorts '-t: NUL' 'a\x002\nb\x001\n' 'b\x001\na\x002\n' -t '\0' -k2n
sorts '-t: 0xFF' 'a\xff2\nb\xff1\n' 'b\xff1\na\xff2\n' -t $'\xff' -k2n
sorts '-t: backslash' 'a\x5c2\nb\x5c1\n' 'b\x5c1\na\x5c2\n' -t "\\" -k2n
sorts '-t: a digit' 'a1b\nc1a\n' 'c1a\na1b\n' -t1 -k2
sorts '-t: newline, with -z' 'a\n2\x00b\n1\x00' 'b\n1\x00a\n2\x00' -z -t$'\n' -k2n
sorts '-t: given twice, the same' 'a,2\nb,1\n' 'b,1\na,2\n' -t, -t, -k2n
sorts '-t: as numbers of a table' '1,2.5,x\n1,-3,y\n0,9e9,z\n' '0,9e9,z\n1,-3,y\n1,2.5,x\n' -t, -k1,1n -k2,2g
sorts '-t: a versions list' '1.2.10\n1.2.9\n1.10.1\n0.9\n' '0.9\n1.2.9\n1.2.10\n1.10.1\n' -t. -k1,1n -k2,2n -k3,3n
sorts '-t does nothing without -k' '2,1\n10,0\n' '2,1\n10,0\n' -t, -n

# ---- -b ------------------------------------------------------------------------------------------

sorts '-b: at the begin of a key' 'x  2\ny 10\n' 'y 10\nx  2\n' -k2b
sorts '-b: the whole line' '  b\n a\nc\n' ' a\n  b\nc\n' -b -k1
sorts '-b: equal keys go by the line with its blanks' ' a\n  a\na\n' '  a\n a\na\n' -b -k1
sorts '-b: tabs and blanks' 'x\t \tb\ny a\n' 'y a\nx\t \tb\n' -b -k2
sorts '-b: a line of blanks' '   \na\n \n\n' '\n \n   \na\n' -b -k1
sorts '-b: blanks to the end of the line' 'a   \nb x\n' 'a   \nb x\n' -b -k2,2
sorts '-b: at the end only, of a whole field' 'x  b\ny a\n' 'x  b\ny a\n' -k2,2b
sorts '-b: with characters, blanks to the end of the line' 'a   \nb xy\nc x\n' 'a   \nc x\nb xy\n' -k2.2b,2.3b
sorts '-b: newlines are blanks with -z' 'x \n b\x00y a\x00' 'y a\x00x \n b\x00' -z -b -k2
sorts '-b: VT and FF are no blanks' 'x\vb\ny a\n' 'x\vb\ny a\n' -s -k2b
sorts '-b: for numbers with a separator' 'x,  -2\ny,-10\n' 'y,-10\nx,  -2\n' -t, -b -k2n
sorts '-b: with a character in the number' 'x  12\ny 21\n' 'y 21\nx  12\n' -k2.2bn

done_testing
