#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Characters that are not shown as themselves, above all control characters, appear in no message:
# they may be in names, lines, options, the environment or a header.
. "$(dirname "$0")/../lib.sh"

# Escape sequences, DEL, C1 controls as a byte and as UTF-8, marks that change the direction of
# text, line ends, the byte order mark, a tag, overlong sequences and other bytes that are not
# UTF-8.
# Those of a group are in one name, separated by blanks.
hidden=($'\033]0;x \a \b \r \v \177' $'\x9b \x80 \xc2\x9b \xc2\x85 \xd8\x9c \xe2\x80\xae \xe2\x80\x8f'
    $'\xe2\x81\xa6 \xe2\x80\xa8 \xef\xbb\xbf \xf3\xa0\x81\x81 \xc0\x9b \xed\xa0\x80 \xff \xe2\x80')
shown=$'é ε 日 𝄞 \xe2\x80\x8c \xe2\x80\x8d' # the last two join letters, or keep them apart

# Prints the messages of commands with the characters in one of their arguments or files. A
# subshell, where lib.sh uses no server: all messages go to one file, which a server would empty.
messages() (
    c=$1 name=a$1.txt
    printf '2\n1\n' >"$name"
    mkdir -p "d$c"
    echo "x$c" >"line$c"
    printf '2\n1%s\n' "$c" >"open$c"
    printf '\x93NUMPY\1\0\x66\0%-101s\n' "{'descr': '<f$c', 'fortran_order': False, 'shape': (1,), }" >"h$c.npy"
    printf 'missing%s\0' "$c" >"list$c"
    while read -r -a words; do
        words=("${words[@]//@/$c}")
        gpusort "${words[@]}" </dev/null || true
    done <<'WORDS'
missing@
-n missing@
a@.txt -o missing@/out
a@.txt -o d@
--explain a@.txt
--explain -n a@.txt -o out@
-v -n a@.txt -o out@
--stats -n a@.txt -o out@
--stats=json -n a@.txt -o out@
--trace=d@ -n a@.txt
--explain -S 1M -T d@ -n missing/../a@.txt
--explain -S 48M -T d@ -n -
-T missing@ -S 1M -n a@.txt
line@
--type=f64 line@
-c -k1 open@
-c -n open@
-C a@.txt b@
h@.npy
--files0-from=missing@
--files0-from=list@
--files0-from=list@ b@
--format=text:@ a@.txt
-k @ a@.txt
-k 1@ a@.txt
-t x@ a@.txt
-a @ a@.txt
--device=gpu:@ a@.txt
-S @ a@.txt
-S 1@ a@.txt
--@
--@=1
--top@
-@
-n@
WORDS
    for option in format output-format type endian nan argsort top header zstd long stats sort check device parallel \
        batch-size device-memory; do
        gpusort "--$option=$c" "$name" || true
    done
    TMPDIR=missing$c gpusort -S 1M -n "$name" || true
    TMPDIR=d$c gpusort --explain -S 48M -n - </dev/null || true
    rm -rf "$name" "d$c" "line$c" "open$c" "h$c.npy" "list$c" "out$c"
)

for group in "${hidden[@]}"; do
    messages "$group" >said 2>&1
    IFS=' ' read -r -a characters <<<"$group"
    for c in "${characters[@]}"; do
        ! grep -aF -e "$c" said || echo "have $(printf %q "$c")"
    done
done >problems
pass_unless_said 'no message has a character in it that is not shown' problems
messages "$shown" >said 2>&1
{ [ "$(grep -acF -e "a$shown.txt" said)" -ge 5 ] || cat said; } >problems
pass_unless_said 'names in other letters are shown' problems

printf 'b\t1\na\t2\xc3\xa9 \033[2J\xc2\x9b\x9b\n' >open
ok_fails_with '-c shows tabs and letters of the line that is out of order' 1 \
    $'^gpusort: open:2: disorder: a\t2\xc3\xa9 \\?\\[2J\\?\\?$' -- gpusort -c -k1 open
ok_fails_with 'an argument of any length is cut' 2 "^gpusort: invalid --parallel argument 'x{1000,1020}[.]{3}'$" -- \
    gpusort --parallel="$(printf 'x%.0s' {1..3000})"
ok_fails_with 'an unknown option' 2 "^gpusort: unrecognized option '--\?\]0;x'$" -- gpusort $'--\033]0;x'
for option in $'--fo\no' $'--top\n=5' $'-\n' $'--x\ngpusort: all is well' $'--x\nTry `gpusort' $'--\n\n'; do
    visible=${option//$'\n'/.}
    ok_prints "an unknown option with newlines is shown in one line: ${visible//./?}" '2\n1\n' -- bash -c \
        'grep -c . <<<"$1" && grep -c "^gpusort: [a-z ]*option.*$2.$" <<<"$1"' - \
        "$(gpusort "$option" 2>&1)" "${visible#-}"
done

done_testing
