#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The options of sort(1): wrong ones are refused in the words of sort(1), and for right ones --explain prints the order.
# Also --header, and what makes an input text. tests/lines/ has the orders themselves.
. "$(dirname "$0")/../lib.sh"
printf '2\n1\n' >two
printf '1\n2\n' >ascending

# ---- refused options -----------------------------------------------------------------------------

# refused_as_sort ARGUMENT...: gpusort ends with status 2 and one line, which is the message of sort(1) or begins with it
# and ": ".
refused_as_sort() {
    local status=0 message said
    message=$(sort "$@" 2>&1 >/dev/null </dev/null | head -n 1) || true
    message=gpusort:${message#sort:}
    gpusort "$@" >"$work/log/stdout" 2>"$work/log/stderr" </dev/null || status=$?
    {
        [ "$status" -eq 2 ] || echo "exit status $status, not 2"
        [ ! -s "$work/log/stdout" ] || echo "it wrote to standard output"
        said=$(<"$work/log/stderr")
        [ -n "${message#gpusort:}" ] && [[ $said == "$message" || $said == "$message: "* ]] ||
            printf '%s\n' "it said: $said" "and not: $message"
    } >"$work/log/problems"
    pass_unless_said "refused: $*" "$work/log/problems"
}

for key in 0 1,0 1.0 '' x -1 ' -1' + 1. 1.x 1,2. '1,' 1,x 1,-1 1,,2 1x 1.1.1 1,1x 1,2n3 1,2,3 "1'\\" 1ng 1nh 1gh 1n,1g \
    1hngrb $'1\001' $'1\377x'; do
    refused_as_sort -k "$key" two
done
refused_as_sort -k 2 -k 1ng two
for tab in '' ab '\n' '\t' $'a\tb'; do
    refused_as_sort -t "$tab" two
done
refuses 'the tab that was meant is named' ": a tab is -t .'.t' in bash\$" -- -t '\t' two
for words in '-t a -t b' '-t ab -k 0' '-k 0 -t ab' '-n -g' -nh -hg -hngrb '--sort=numeric -g' \
    '--sort=numeric --sort=human-numeric' '--check=quiet --check' '-gn -Cc' '-c -o out' '-C -o out' '-gn -c ascending' \
    '-c -o out ascending' '-o out -o other' '--compress-program=a --compress-program=b' \
    '--random-source=a --random-source=b' --parallel=0 --batch-size=0 --batch-size=1 '-C - ascending missing'; do
    refused_as_sort $words two
done
for option in --parallel --batch-size; do
    for word in '' x -1 ' -1' 2x 0x10 '2 '; do refused_as_sort "$option=$word" two; done
done
for word in x -1 ' K' 1x 1MB 1K1 99999999999999999999 999999999E; do refused_as_sort -S "$word" two; done
ok 'nothing was written' test ! -e out

# Errors in --sort and --check end sort(1) with status 1, which gpusort uses only for disorder.
for words in --{sort,check}={,x} --sort=numericx; do refused_as_sort $words two; done
ok_fails_with 'of the words of --sort those are proposed that are here' 2 \
    ": it is general-numeric, human-numeric or numeric$" -- gpusort --sort=x two

ok_fails_with '+1 is a file and no obsolete key' 2 '^gpusort: [+]1: No such file or directory; obsolete keys.* -k$' -- \
    gpusort -k1 +1 two
for words in '-k1 +1 -2' '+0 -1 +3nb -4' -12; do
    refuses "nor is this one: $words" '^gpusort: -[12]: obsolete keys .*: use -k$' -- $words two
done
refuses '-i takes the name of an input' '^gpusort: -k1: No such file or directory; -i takes the name of an input, and is no ' -- \
    -b -i -k1 two
refuses 'an empty -T' "invalid -T argument '': it names no directory$" -- -T '' two
ok_output 'an empty TMPDIR is none' <(env -u TMPDIR "$GPUSORT" --explain -n -S 1M two) -- \
    env TMPDIR= "$GPUSORT" --explain -n -S 1M two
for word in $'-\xff' $'-n\xffr'; do
    ok_fails_with "a byte that is no letter: $word" 2 "^gpusort: invalid option -- '[?]'" -- gpusort "$word" two
done

# With POSIXLY_CORRECT, options end at the first file; but -o may follow it.
for program in sort "$GPUSORT"; do
    set -- env POSIXLY_CORRECT=1 "$program" -n
    for words in 'two -o out' 'two -oout' 'two -o out two' '-r two -o out'; do
        rm -f out
        ok_file "POSIXLY_CORRECT ${program##*/} $words" out <(sort -n ${words/-o*out/}) -- "$@" $words
    done
    for word in -r -o; do
        ok_fails_with "POSIXLY_CORRECT ${program##*/} two $word" 2 " $word: No such file or directory$" -- \
            "$@" two $word
    done
    for word in -o -oout; do
        ok_fails_with "POSIXLY_CORRECT ${program##*/} -- two $word" 2 " $word: No such file or directory$" -- \
            "$@" -- two $word out
    done
done
rm out

# ---- options without effect ----------------------------------------------------------------------

for words in '--batch-size=2' '--batch-size=+16' '--compress-program=missing' '--random-source=missing' \
    '--compress-program=gzip --compress-program=gzip' '--parallel=+2'; do
    for program in sort gpusort; do
        ok_prints "$program $words" '1\n2\n' -- $program $words -n two
    done
done
refuses '--debug is refused' '^gpusort: --debug: gpusort does not mark keys ' -- --debug -n two

# ---- names from a file ---------------------------------------------------------------------------

printf 'two\0ascending\0' >names
printf 'two' >name
printf 'two\0\0two\0' >hole
printf 'two\0-\0' >dash
: >none
ok_prints '--files0-from=-' '1\n1\n2\n2\n' -- bash -c '"$0" --files0-from=- <names' "$GPUSORT"
ok_prints '--files0-from twice: the last one counts' '1\n2\n' -- gpusort --files0-from=names --files0-from=name
ok_prints 'a list names standard input' '1\n1\n2\n2\n' -- bash -c '"$0" --files0-from=dash <two' "$GPUSORT"
for list in none /dev/null - hole "$PWD" missing ''; do refused_as_sort --files0-from="$list"; done
for words in '-gn --files0-from=missing' '--files0-from=names two ascending' '- --files0-from=names' \
    '-c --files0-from=names'; do
    refused_as_sort $words
done
printf '%s\n' two ascending >lines_of_names
ok_fails_with 'a list of lines' 2 \
    "^gpusort: lines_of_names: its lines are read as one name, .*: use find -print0, or tr '.n' '.0'\$" -- \
    gpusort --files0-from=lines_of_names
ok_prints 'what its hint says is done' '1\n1\n2\n2\n' -- \
    bash -c 'tr "\n" "\0" <lines_of_names | "$0" --files0-from=-' "$GPUSORT"
printf '3\n' >$'two\nascending\n'
ok_prints 'a name of lines' '3\n' -- gpusort --files0-from=lines_of_names
refuses '-i with --files0-from' "^gpusort: extra operand 'two': file operands cannot" -- -i two --files0-from=names
refuses 'a list from standard input does not name it' \
    "^gpusort: when reading file names from stdin, no file name of '-' allowed$" -- --files0-from=- <dash
refuses 'a list on standard input with a hole' '^gpusort: -:2: invalid zero-length file name$' -- --files0-from=- <hole

# ---- orders that gpusort lacks -------------------------------------------------------------------

for option in -d:dictionary-order -f:ignore-case -M:month-sort -R:random-sort -V:version-sort; do
    for word in "${option%%:*}" "--${option#*:}"; do
        refuses "$word is refused" \
            "^gpusort: ${option%%:*}: gpusort has no order '${option:1:1}' \(--${option#*:} of sort\(1\)\)$" -- $word two
    done
done
refuses '--ignore-nonprinting is refused' 'has no order .i. \(--ignore-nonprinting' -- --ignore-nonprinting two
for letter in d f i M R V; do
    refuses "-k 1$letter is refused" "^gpusort: -k '2n,3$letter': gpusort has no order '$letter' " -- \
        -k "2n,3$letter" two
done
for word in month random version; do
    refuses "--sort=$word is refused" "^gpusort: --sort: gpusort has no order .*--$word-sort" -- --sort=$word two
done

# ---- resulting orders ----------------------------------------------------------------------------

# orders ORDER OPTIONS...: --explain prints ORDER for each list of OPTIONS, and sort(1) accepts them too.
orders() {
    local options
    for options in "${@:2}"; do ok_prints "order of: $options" "order      $1\n" -- explained_order $options two; done
}
# explains REGEX OPTIONS...: a line that --explain prints for each list of OPTIONS matches.
explains() {
    local options
    for options in "${@:2}"; do ok_says "$options" "$1" -- gpusort --explain $options two; done
}
explained_order() {
    sort "$@" 2>&1 >/dev/null | grep -v ': disorder:' || true
    gpusort --explain "$@" >explained
    grep '^order' explained
}

strict='the line as one number (as -g, but all else is an error)'
by_bytes='equal lines by their bytes'
orders "$strict; $by_bytes" ''
orders "$strict, descending; $by_bytes, descending" -r
orders "$strict; equal lines as in the input" -s
orders "$strict; of equal lines only the first is kept" -u
orders "the line as number (-n); $by_bytes" -n --numeric-sort --sort=numeric --sort=num --sort=n '-n --sort=numeric' \
    '-t x -n' -bn -k1n -k01n '-k 1nb' '-k 1.1n' -nz
orders "the line as general number (-g); $by_bytes" -g --general-numeric-sort --sort=general-numeric --sort=g
orders "the line as number with suffix (-h); $by_bytes" -h --human-numeric-sort --sort=human-numeric --sort=h
orders "the line as bytes; $by_bytes" -k1
orders "the line as bytes, descending; $by_bytes, descending" '-k1 -r'
orders "field 2 to the end of the line as bytes; $by_bytes" -k2
orders "field 2 as bytes; $by_bytes" -k2,2
orders "field 2 to field 3 as bytes; $by_bytes" --key=2,3
orders "character 3 of field 2 to its end as bytes; $by_bytes" -k2.3,2
orders "character 3 of field 2 to the end of the line as bytes; $by_bytes" -k2.3
orders "field 2 after its blanks to character 4 of field 3 after its blanks as bytes; $by_bytes" '-b -k2,3.4'
orders "character 2 of field 1 after its blanks to the end of the line as number (-n); $by_bytes" -k1.2bn
orders "field 18446744073709551615 to the end of the line as bytes; $by_bytes" -k99999999999999999999999
orders "field 1 to character 18446744073709551615 of field 1 as bytes; $by_bytes" -k1,1.99999999999999999999999
orders "field 2 as number (-n); field 1 as bytes, descending; field 3 to the end of the line as bytes; $by_bytes" \
    '-k2,2n -k1,1r -k3'

# A key without letters takes all letters of the options; a key with any letter takes none.
orders "field 2 as number (-n), descending; field 1 as bytes, descending; $by_bytes, descending" '-nr -k2,2 -k1,1r'
orders "field 2 as number (-n), descending; field 1 after its blanks to character 2 of field 1 as bytes; $by_bytes, descending" \
    '-nr -k2,2 -k1b,1.2'

explains "^fields     end at 'x'$" '-t x -k2' '-k2 --field-separator=x' '-tx -t x -k2'
explains '^fields     end at byte 0$' '-k2 -t \0'
explains '^fields     end at byte 255$' $'-k2 -t \377'
ok_prints '-t without a key: no fields are explained' '' -- \
    eval 'gpusort --explain -n -t, two | sed -n /^fields/p'
explains '^lines      end with NUL$' -z --zero-terminated
explains '^order .*; of equal lines only the first is kept$' --unique
explains '^order .*; equal lines as in the input$' --stable '--argsort -n'
explains '^order      field 2 after its blanks ' '--ignore-leading-blanks -k2'
explains '^algorithm  none: nothing is sorted$' -m --merge
explains '^output     none: the order is checked$' -c -C --check --check=quiet --check=silent --check=s \
    --check=diagnose-first --check=d -cm

# ---- lines are text ------------------------------------------------------------------------------

printf '2\n1\n' >two.u32
gzip <two >two.gz
cp two.gz two.log
cp two words.gz
cp two.gz two.tgz
for name in two.gz two.tgz; do
    refuses "lines that are gzip data by name and bytes: $name" \
        "^gpusort: $name: this is gzip data, to be unpacked first \(gzip -dc\)$" -- -n $name
done
ok_output '--format=text sorts its bytes' <(sort -n two.gz) -- gpusort --format=text -n two.gz
ok_output 'gzip data that is not named so is lines' <(sort -n two.gz) -- gpusort -n two.log
ok_prints 'lines that are named as gzip data' '1\n2\n' -- gpusort -n words.gz
printf '\377\0\1b\n' >bytes
printf 'b\0a\0' >names.bin
ok_prints '-z makes it text, whatever its name and bytes' 'a\0b\0' -- gpusort -zk1 names.bin
gpusort --type=f64 --output-format=raw two -o numbers.f64
gpusort numbers.f64 -o numbers.f64.zst
gpusort --output-format=npy two -o numbers.npy
for word in -g -n -h -k1 -tx -b -z -nc -m --header; do
    ok_says "$word makes it text, whatever its name" '^input .*: text, .*\(as -' -- gpusort --explain $word two.u32
    for name in numbers.npy numbers.f64 numbers.f64.zst; do
        [ $word != -z ] || [ $name = numbers.npy ] || continue
        ok_fails_with "$word does not make text of what is numbers by name and bytes: $name" 2 \
            "^gpusort: $name: -.* is for lines of text, and this is (a NumPy array: leave -.* out|named as raw and is neither ASCII nor UTF-8: if it is text .* use --format=text, and otherwise leave -.* out)$" -- gpusort $word $name
        [ $name != numbers.npy ] || continue
        ok_says "$word --format=text does: $name" '^input .*: text, ' -- gpusort --explain $word --format=text $name
    done
    ok_says "$word makes it text, whatever its bytes" '^input .*: text, .*\(as -' -- gpusort --explain $word bytes
    for format in raw npy; do
        ok_fails_with "$word --format=$format" 2 "^gpusort: -.* is for lines of text, and --format=$format is not$" -- \
            gpusort $word --format=$format two
    done
    ok_fails_with "$word --type=f64" 2 '^gpusort: -.* is for lines of text, and --type makes numbers of them$' -- \
        gpusort $word --type=f64 two
    ok_says "$word --format=text" '^input .*: text, ' -- gpusort --explain $word --format=text bytes
done
gpusort --zstd two >compressed
ok_prints 'zstd is recognised before' '1\n2\n' -- gpusort -n compressed
for word in -n -k -u; do
    not_kept="^gpusort: $word is for lines of text, and npy output .*: leave $word out, or"
    refuses "$word with binary output" "$not_kept use --output-format=text$" -- ${word/k/k1} --output-format=npy two
    ok_fails_with "$word with the name of binary output" 2 "$not_kept name it .txt$" -- \
        gpusort ${word/k/k1} two -o x.npy
done
cp two named.npy
kept 'lines named as npy' '^gpusort: named.npy: named as npy, and -n is for .*: use --output-format=text$' \
    named.npy -- gpusort -n named.npy -o named.npy
kept 'lines named as npy, in place' '^gpusort: named.npy: --in-place keeps .*, or use --output-format=text$' \
    named.npy -- gpusort -n --in-place named.npy
for word in -n '--in-place -n'; do
    kept "an array that is no lines: $word" '^gpusort: numbers.npy: -n is for .*: leave -n out$' numbers.npy -- \
        gpusort $word numbers.npy -o numbers.npy
done
refuses 'nor are these with --endian' '^gpusort: numbers.f64: -n is for .*, and otherwise leave -n out$' -- \
    -n --endian=big numbers.f64
ok_prints 'what it says sorts them' '1\n2\n' -- gpusort -n --output-format=text named.npy
refuses '-u with binary numbers' '^gpusort: -u is for lines of text, and --type makes numbers of them$' -- \
    -u --format=raw --type=u8 two
ok_prints '-s with binary numbers is as without' '\n\n12' -- gpusort -s --format=raw --type=u8 two
refuses '--nan with an option for lines' '^gpusort: -n is for lines of text, and --nan is for numbers$' -- \
    -n --nan=first two
refuses '--nan with lines' '^gpusort: --nan is for numbers, .* \(--type makes them numbers\)$' -- --nan=first two
refuses '--nan with -u, which --type refuses' '^gpusort: --nan is for numbers, .*, NaNs first$' -- -u --nan=first two
ok_prints 'what its hint says is done' '1\n2\n' -- gpusort --nan=first --type=f64 --output-format=text two
for action in -c -C -m; do
    for word in --top=1 --argsort --algorithm=radix; do
        ok_fails_with "$action $word" 2 "^gpusort: ${word%=*} is for sorting, but $action does not sort$" -- \
            gpusort $action $word two
    done
done
for action in -c -C; do
    for word in --zstd --output-format=text; do
        ok_fails_with "$action $word" 2 "^gpusort: ${word%=*} is for the output, but $action writes none$" -- \
            gpusort $action $word two
    done
done

# ---- --header ------------------------------------------------------------------------------------

printf 'name\nunit\n2\n1' >table
printf 'name\n-\n0' >other
ok_prints '--header' 'name\n1\n2\n' -- bash -c 'sed 2d table | "$0" --header' "$GPUSORT"
refuses '--header: two files differ' '^gpusort: other: its header is not that of table$' -- --header=2 table other
sed 's/$/\r/' table >returns
{ printf '\xef\xbb\xbf' && cat table; } >marked
refuses '--header: a difference that is not seen, carriage returns' \
    "^gpusort: returns: its header is not that of table, in carriage returns .tr -d '.r' removes them.$" -- \
    -k1 --header table returns
# tail(1) would remove letters of the other file.
mark='in the byte order mark that marked begins with .tail -c .4 removes it.$'
refuses '--header: a difference that is not seen, a mark' "^gpusort: marked: its header is not that of table, $mark" -- \
    -k1 --header table marked
refuses '--header: the file with the mark is named' "^gpusort: table: its header is not that of marked, $mark" -- \
    -k1 --header marked table
: >nothing
for files in 'table nothing' 'nothing table'; do
    refuses "--header: an empty file, $files" '^gpusort: nothing: it is empty, and has no header: leave it out$' -- \
        --header -k1 $files
done
seq 40000 -1 1 >descending
{ sed 30000q descending && sed 1,30000d descending | sort -n; } >expected
ok_output '--header of more than is read ahead' expected -- gpusort --header=30000 -n <(cat descending)
ok_prints '--header of a file that has no more, and no newline' 'name\n2\n' -- \
    gpusort --header -n <(printf name) <(printf 'name\n2\n')
ok_prints '--header and --top' 'name\nunit\n1\n' -- gpusort --header=2 --top=1 table
ok_prints '--header and --argsort: only what is sorted is counted' '1\n0\n' -- gpusort --header=2 --argsort table
printf '"id","name"\n"9","a"\n"10","b"\n' >quoted.csv
# Where only some have them, the key would leave out digits.
quotes='a number in quotes counts as no number (if all lines have a quote there, a key that begins with'
ok_prints 'a terminal shows that numbers in quotes are none' \
    "gpusort: quoted.csv:2: $quotes -k 1.2bn leaves it out)\r\n" -- \
    on_terminal --stderr "$GPUSORT" --header -t, -k1n quoted.csv -o out
ok_prints 'what it says sorts the table, and keeps its quotes' '"id","name"\n"9","a"\n"10","b"\n' -- \
    gpusort --header -t, -k1.2bn quoted.csv
printf 'a "10"\nb "9"\n' >quoted
ok_prints 'after a key that counts its blanks as characters' \
    "gpusort: quoted:1: $quotes -k 2.3n leaves it out)\r\n" -- \
    on_terminal --stderr "$GPUSORT" -k2.2n quoted -o out
ok_prints 'what it says sorts them' 'b "9"\na "10"\n' -- gpusort -k2.3n quoted
printf 'y "10"\nx "9"\n' >quoted
ok_prints 'with blanks before them, too' \
    "gpusort: quoted:1: $quotes -k 2.2bgr leaves it out)\r\n" -- \
    on_terminal --stderr "$GPUSORT" -k2 -g -r quoted -o out
ok_prints 'what it says sorts them' 'y "10"\nx "9"\n' -- gpusort -g -r -k 2.2bgr quoted
sed 's/ /  /' quoted >wide
printf 'a,"1,234"\nb,"987"\n' >commas.csv
for key in -k2,2nr -k2nr; do
    ok_prints "of a number in quotes with a comma no key is advised: $key" \
        "gpusort: commas.csv:1: ${quotes%% (*}, and this one has a comma in it, which has to be removed with them\r\n" -- \
        on_terminal --stderr "$GPUSORT" -t, $key commas.csv -o out
done
printf 'name,n\rb,3\ra,1\r' >returns.csv
returns='this line has carriage returns in it; if they end lines, they have to become newlines'
for words in '-k1 -o got' '--header -t, -k2n -o got' '-c -k1'; do
    ok_says "lines that end with carriage returns: $words" "^gpusort: returns.csv:1: $returns" -- \
        gpusort $words returns.csv
done
ok_prints 'what it says makes them lines' 'name,n\na,1\nb,3\n' -- \
    bash -c 'tr "\r" "\n" <returns.csv | "$0" --header -k1' "$GPUSORT"
for words in '-q -k1 returns.csv' '-C -k1 returns.csv' '-z -k1 returns.csv' '-k1 returns'; do
    ok_prints "there is no message about carriage returns: $words" '' -- \
        bash -c '"$@" 2>&1 >out | grep returns || :' - "$GPUSORT" $words
done
for words in '-k2.2n wide' '--header -t, -k1 quoted.csv' '--header -t, -k2n quoted.csv' \
    '-q --header -t, -k1n quoted.csv' '--stats=json -q -C -t, -k1n quoted.csv' '-C -t, -k1n quoted.csv'; do
    ok_prints "it does not: $words" '' -- bash -c '"$@" | grep quotes || :' - \
        python3 "$tests_dir/on_terminal.py" --stderr "$GPUSORT" $words
done
ok 'nor does it look for quotes after the end' on_terminal --stderr "$GPUSORT" --header=9 -t, -k1n quoted.csv -o out
ok_prints 'nor is there a message elsewhere' '' -- bash -c '"$0" --header -t, -k1n quoted.csv 2>&1 >out' "$GPUSORT"
ok_fails_with '--header: lines are counted from the top of the file' 2 \
    "^gpusort: table:2: 'unit' is not a number: -g would read no number in it, " -- gpusort --header table
ok_fails_with '--header and -c: so are lines out of order' 1 '^gpusort: table:4: disorder: 1$' -- \
    gpusort --header=2 -c -n table
ok_prints '--header and -m' 'name\n1\n2\n' -- gpusort --header -m -n <(printf 'name\n2\n') <(printf 'name\n1\n')
ok_says '--explain tells of the header' "^header     1 line of each input, written once" -- \
    gpusort --explain --header two
seq -f 'this is line %.0f' 300000 >long
{ cat long; echo 1; } >long_header
ok_prints 'a header of megabytes' '' -- \
    bash -c '"$0" --header=300000 long_header | head -n 300000 | cmp - long' "$GPUSORT"
{ seq -f 'title %.0f' 1024; seq 9 -1 1; } >long_header
{ seq -f 'title %.0f' 1024; seq 9; } >expected
# top.sh has all spellings of a count.
ok_output '--header=1K' expected -- gpusort --header=1K long_header
refuses '--header=1.5' "^gpusort: invalid number of lines '1.5'" -- --header=1.5 two

done_testing
