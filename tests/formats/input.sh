#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The format of an input is detected as documented. Invalid inputs, and inputs that change while they are read, are
# refused with one clear line.
. "$(dirname "$0")/../lib.sh"
need_numpy
make_data npy .

# ---- inputs that cannot be read, of which limits.sh has more -------------------------------------

refused 'a closed standard input' 'standard input: ' -- bash -c 'exec "$0" -o "$1" <&-' "$GPUSORT" "$target"
refuses 'a name with a newline is still one line' 'No such file' -- $'missing\nfile'

# ---- raw -----------------------------------------------------------------------------------------

# numbers TYPE NUMBER...: prints raw numbers of a type, little-endian.
numbers() {
    with_numpy 'sys.stdout.buffer.write(np.array(sys.argv[2:], float).astype(sys.argv[1]).tobytes())' "$@"
}

numbers f8 2 1 >n.bin
numbers u4 9 100 1 >n.u32
numbers f8 9 100 1 >n.f64
ok_writes '.bin is f64' <(numbers f8 1 2) -- n.bin
ok_writes '.bin takes --type' <(numbers u4 0 0 1072693248 1073741824) -- --type=u32 n.bin
cp n.u32 nameless
printf '\xff\xff\xff\xff' >>nameless
refuses 'nothing says what it is' 'nameless: .*--type' -- nameless
ok_prints '--type says that it is raw' '1\n9\n100\n4294967295\n' -- gpusort --type=u32 --output-format=text nameless
head -c 10 n.u32 >five.u32
ok_prints '--type overrides the name' '0\n0\n1\n9\n100\n' -- gpusort --type=u16 --output-format=text five.u32
head -c 11 n.f64 >odd.bin
for type in i16 u32 f64; do
    refuses "11 bytes are no numbers of type $type" 'odd.bin: .*11 bytes' -- --type=$type odd.bin
done
printf '2\n1\n' >plain

printf 'one\ntwo\n' >sentence
for type in u8 i8; do
    kept "text or $type? is asked" "plain: .*text or raw $type.*--format" plain -- gpusort --type=$type plain -o plain
    refuses "text or $type? is asked on a pipe" "standard input: .*text or raw $type.*--format" -- \
        --type=$type < <(cat plain)
    ok_prints "--format=text says that it is text, $type" '1\n2\n' -- gpusort --format=text --type=$type plain
    ok_prints "--format=raw says that it is $type" '\n\n12' -- gpusort --format=raw --type=$type plain
done
refuses 'a word where text is looked for' '^gpusort: sentence:1: ' -- sentence
printf 'h\xc3\xb6he\n1.5\n1200\n' >titled # of 16 bytes, so that they could be raw numbers
for type in u8 i16 f32 f64; do
    for file in sentence titled; do
        cat $file $file $file $file >copy
        kept "words or $type? is asked: $file" "^gpusort: copy: this may be text or raw $type: use --format" copy -- \
            gpusort --type=$type copy -o copy
    done
done
ok_prints 'numbers that are printable by chance' 'xsat' -- gpusort --type=u16 < <(printf 'atxs')
refuses 'a word of UTF-8 where text is looked for' '^gpusort: titled:1: ' -- titled
refuses 'words with --format=text and --type' '^gpusort: titled:1: ' -- --format=text --type=f64 titled
ok_prints 'words with --format=raw' '\n\nenootw' -- gpusort --format=raw --type=u8 sentence

# ---- npy -----------------------------------------------------------------------------------------

for version in 1 2 3; do
    ok_prints "npy version $version" '1\n2\n3\n4\n5\n6\n7\n8\n' -- gpusort --output-format=text version$version.npy
done
cp version1.npy misnamed.bin
ok_writes 'npy is recognised whatever its name' sorted.npy -- misnamed.bin
zstd -qf version1.npy
cp version1.npy array.txt
for file in version1.npy misnamed.bin array.txt version1.npy.zst; do
    for words in --format=raw --format=text '--format=raw --type=u8' '--format=text --type=u8' \
        '-z --format=text' -z -n -k1 -m; do
        refuses "npy is not taken for anything else: $words $file" \
            "^gpusort: $file: [^:]*(NumPy array|named as npy)[^:]*: leave (--format|-[znkm]) out$" -- $words $file
    done
    ok_fails_with "-c checks the numbers of npy, whatever its name: $file" 1 \
        "^gpusort: $file: number 2: disorder: 7$" -- gpusort -c $file
    kept "-u with npy: $file" ': leave -u out, or use gpusort --output-format=text FILE \| (gpusort -u|uniq)$' $file -- \
        gpusort -u $file -o $file
done
for words in --format=raw '--format=text -n'; do
    refuses "npy on a pipe: $words" 'standard input: .*NumPy array' -- $words < <(cat version1.npy)
done
refuses 'npy in a second input: --format=raw' 'version1.npy: this is a NumPy array' -- --format=raw n.bin version1.npy
refuses 'npy in a second input: -n' 'array.txt: .*NumPy array' -- -n plain array.txt

refuses 'npy: fewer bytes, on a pipe' 'standard input: ' -- < <(cat fewer_bytes.npy)
zstd -q fewer_bytes.npy
refuses 'npy: fewer bytes, compressed' 'fewer_bytes.npy.zst: ' -- fewer_bytes.npy.zst
refuses 'npy: --endian that the header contradicts' \
    '^gpusort: big_endian.npy: its header says the other byte order than --endian=little: leave that out$' -- \
    --endian=little big_endian.npy
refuses 'npy: a type that the header contradicts is named' 'other byte order than --type=.<f8.: leave that out$' -- \
    --type='<f8' big_endian.npy
refuses 'npy: --type that the header contradicts' 'version1.npy: .*f64' -- --type=f32 version1.npy

# ---- text ----------------------------------------------------------------------------------------

printf '3\n1\n' | iconv -f UTF-8 -t UTF-16 >wide
refuses 'UTF-16 is named, whatever the file is called' '^gpusort: wide:1: this is UTF-16' -- wide
{ printf 'Gr\xc3\xb6\xc3\x9fe\n' && seq 100; } | iconv -f UTF-8 -t UTF-16 >wide
iconv -f UTF-16 -t UTF-16LE wide >wide.le
iconv -f UTF-16 -t UTF-16BE wide >wide.be
for words in -n -k1 -nc -m --header; do
    refused "UTF-16 is not sorted by its bytes: $words" \
        '^gpusort: wide: this is UTF-16, .*; if it is not, use --format=text$' -- gpusort $words wide
done
seq 60 | sed 's/^/line;/' >table
for order in LE BE; do
    iconv -f UTF-8 -t UTF-16$order table >wide.other
    for words in -n -k1 -m --header; do
        kept "nor is it without a mark: $words, $order" "^gpusort: wide.other: this looks like UTF-16, .* -f UTF-16$order " \
            wide.other -- gpusort $words wide.other -o wide.other
    done
    refuses "nor on a pipe: UTF-16$order without a mark" '^gpusort: standard input: this looks like UTF-16, ' -- \
        -k1 < <(cat wide.other)
    ok_output "unless --format says so: UTF-16$order" <(sort wide.other) -- gpusort -k1 --format=text wide.other
done
for text in '“title”\n' 'a;Ā\n一─\n' "$(printf '東%.0s' {1..40})\\n"; do
    for order in LE BE; do
        { printf "$text" && cat table table; } | iconv -f UTF-8 -t UTF-16$order >wide.other
        refuses "nor with a few other characters: $text, $order" "this looks like UTF-16, .* -f UTF-16$order " -- -k1 wide.other
    done
done
printf '東東東;a\n' | cat - table | iconv -f UTF-8 -t UTF-16LE >wide.other
refuses 'nor if it comes slowly' '^gpusort: standard input: this looks like UTF-16, ' -- \
    -k1 < <(head -c 4 wide.other && sleep 1 && tail -c +5 wide.other)
ok_output 'lines of one character that end with NUL are no UTF-16' <(sed 's/./&\x0/g' table | tr -d '\n' | sort -z) -- \
    gpusort -z -k1 <(sed 's/./&\x0/g' table | tr -d '\n')
for text in '3\n1\n2\n' '3\n' 3; do
    for order in LE BE; do
        { printf '\357\273\277' && printf "$text"; } | iconv -f UTF-8 -t UTF-16$order >short
        kept "a few characters in UTF-16$order, $text" '^gpusort: short: this is UTF-16, ' short -- \
            gpusort -n short -o short
        refuses "nor on a pipe: UTF-16$order, $text" '^gpusort: standard input: this is UTF-16, ' -- -k1 < <(cat short)
    done
done
while IFS='|' read -r name text; do
    for encoding in UTF-16LE UTF-16BE UTF-32LE UTF-32BE; do
        printf "\xef\xbb\xbf$text" | iconv -f UTF-8 -t $encoding >wide.other
        for words in -n --type=f64; do
            kept "$name in $encoding, $words" \
                "^gpusort: wide.other: (this is ${encoding%?E}, |this may be text or raw|.*size of f64)" wide.other -- \
                gpusort $words wide.other -o wide.other
        done
        refuses "$name in $encoding, on a pipe" "^gpusort: standard input: this is ${encoding%?E}, " -- \
            -k1 < <(cat wide.other)
    done
done <<END
a table in Cyrillic|Город;N\\n$(printf 'Москва;%d\\n' 3 1 2)
numbers|$(seq -s '\n' 300 -1 1)\\n
characters with a byte 0|一　─Ā\\n一;3\\nĀ;1\\n
characters of more than 16 bits|😀;1\\n🀄;2\\n
one line|Ни одного конца строки
lines that end with a carriage return|上海\\r北京\\r上课\\r
two letters|я\\nа\\n
END
{ printf '\377\376' && cat wide.le && printf '\0\330\n\0'; } >wide.other # half of a surrogate pair
refused 'UTF-16 with a mistake in it' '^gpusort: wide.other: this is UTF-16' -- gpusort -n wide.other -o wide.other
{ printf '\377\376' && head -c 4000 /dev/urandom && printf '\n\0\n'; } >random
ok_output 'random bytes after a mark are sorted' <(LC_ALL=C sort random) -- gpusort -k1 random
{ printf 'юя\n' && seq -f 'строка %g' 50; } | iconv -f UTF-8 -t CP1251 >cyrillic
ok_output 'lines in CP1251 that begin with a mark are sorted' <(LC_ALL=C sort cyrillic) -- gpusort -k1 cyrillic
for text in '\377\376' '\377\376\n' '\377\376\n\0\n' '\377\376b\na\n' 'b\0\na\0\n' '\n' b; do
    printf "$text" >short
    ok_output "bytes that are no UTF-16 are sorted: $text" <(sort short) -- gpusort -k1 short
done
ok_output 'unless --format says so' <(sort -n wide) -- gpusort -n --format=text wide
for file in wide wide.le wide.be; do
    for type in u8 u32 f64; do
        kept "UTF-16 is not raw $type: $file" "^gpusort: $file: this may be text or raw $type: use --format=text" \
            $file -- gpusort --type=$type $file -o $file
    done
done
ok_output 'small numbers of 2 bytes are no UTF-16' <(gpusort --format=raw --type=u16 wide.le) -- gpusort --type=u16 wide.le
for type in UTF-32LE UTF-32BE; do
    printf '\xef\xbb\xbf3\n1\n' | iconv -f UTF-8 -t $type >wide
    refuses "$type is named" '^gpusort: wide:1: this is UTF-32, .*iconv -f UTF-32' -- wide
    for text in я ab 上海; do
        printf "\xef\xbb\xbf$text" | iconv -f UTF-8 -t $type >wide.other
        kept "a few characters in $type, $text" '^gpusort: wide.other: this is UTF-32, ' wide.other -- \
            gpusort -k1 wide.other -o wide.other
    done
done
printf '\xef\xbb\xbf3\n1\n' >marked
for words in -n -k1 '-n --format=text'; do
    ok_says "the byte order mark that lines are sorted with is reported: $words" \
        '^gpusort: marked:1: this line is sorted with the byte order mark ' -- \
        bash -c '"$0" "$@" marked 2>&1 || :' "$GPUSORT" $words
done
ok_output 'it is a part of the first line, as in sort(1)' <(sort -n marked) -- gpusort -qn marked
ok_says '-c compares it, and says so' '^gpusort: marked:1: this line is compared with the byte order mark ' -- \
    bash -c '"$0" -cn marked 2>&1' "$GPUSORT"
refuses 'where a line has to be a number it is an error, and reported once' \
    '^gpusort: marked:1: the text begins with a byte order mark' -- -b marked
for words in '-q -n' '--header -n' -Cn; do
    ok_prints "it is not: $words" '' -- bash -c '"$0" "$@" marked 2>&1 >out' "$GPUSORT" $words
done
cp plain plain.npy
refuses 'text that is named as npy' '^gpusort: plain.npy: not a NumPy file: .*--format' -- plain.npy
for name in UTF-8 UTF-16LE UTF-16BE; do
    printf '\xef\xbb\xbf3\n1\n' | iconv -f UTF-8 -t $name >marked.txt
    for word in --format=text --type=f64; do
        refuses "the byte order mark of $name is named, $word" "^gpusort: marked.txt:1: .*${name:0:6}" -- \
            $word marked.txt
    done
done
no_order='plain: text has no byte order, and'
refuses '--endian with text' "$no_order --endian=big is not .*: leave it out$" -- --endian=big plain
refuses '--endian with text, for raw indices' "$no_order --endian=big is not for .* indices .*: leave it out$" -- \
    --endian=big --argsort --output-format=raw plain
refuses 'a big-endian type with text is named' "$no_order --type='>f8' is not .*: use --type=f64$" -- \
    --format=text --type='>f8' plain

# ---- standard input and several inputs -----------------------------------------------------------

for words in '' -; do ok_prints "standard input: '$words'" '1\n2\n' -- gpusort $words <plain; done
ok_prints '--input=FILE is FILE' '1\n1\n2\n2\n' -- gpusort --input=plain plain
ok_prints 'standard input beside a file' '1\n1\n2\n2\n' -- gpusort plain - <plain
seq 20000 | shuf --random-source=<(yes) >long # more than is read ahead
sort -n long >long.sorted
ok_output 'standard input named twice is read once, a file' long.sorted -- gpusort -n - - <long
ok_output 'standard input named twice is read once, a pipe' long.sorted -- gpusort -n - /dev/null - < <(cat long)
ok_output 'a pipe that is open and named twice is read once' long.sorted -- \
    gpusort -n /dev/fd/9 /dev/fd/9 9< <(cat long)
mkfifo pipe
ln -s pipe link
for second in pipe link; do # a second writer would not be read
    timeout 60 cat long >pipe 2>/dev/null &
    refused "a named pipe that is named twice is refused, $second" \
        "$second: a named pipe can be read once only, and is named twice" -- \
        timeout 60 "$GPUSORT" -n pipe "$second" -o "$target"
    wait $! || :
done
ok_output 'a file as standard input and by name is read twice' <(sort -n long long) -- gpusort -n long - <long
printf 'skipped\n2\n1\n' >offset
ok_prints 'standard input is read from where it stands' '1\n2\n' -- \
    bash -c '{ read -r; exec "$0"; } < <(cat offset)' "$GPUSORT"
ok_prints 'a file as standard input is read from where it stands' '1\n2\n' -- \
    bash -c '{ read -r; exec "$0"; } <offset' "$GPUSORT"
{ printf 'skip'; numbers u4 3 2 1; } >offset
ok_prints 'raw standard input is read from where it stands' '1\n2\n3\n' -- \
    bash -c '{ dd bs=4 count=1 of=/dev/null status=none
        exec "$0" --format=raw --type=u32 --output-format=text; } <offset' "$GPUSORT"
refuses 'text beside raw numbers' 'n.bin: raw f64.* plain is text' -- plain n.bin
refuses 'two types' 'n.u32: raw u32.* n.f64 is raw f64' -- n.f64 n.u32
refuses 'two byte orders' 'big_endian.npy: npy big-endian f64.* version1.npy is npy f64' -- version1.npy big_endian.npy

kernel=/proc/sys/kernel/pid_max # Linux refuses reads of more than 4 MiB
for words in "-n $kernel" "-n $kernel long" "-nm $kernel"; do
    ok_output "a file of Linux's parameters, $words" <(sort $words) -- gpusort $words
done
ok_prints 'a file of parameters is checked' '' -- gpusort -nc $kernel

mkdir parts
if possible 'the memory that 200 files take' 'sanitizers take more' [ "$test_size" = full ]; then
    with_numpy 'for i in range(200):
    (np.arange(32768) * 5 % 32768 * 200 + i).astype("f8").tofile("parts/%d.f64" % i)
np.arange(6553600, dtype="f8").tofile("ordered")'
    ok_peak '200 files of 256 KiB' $((200 * 256 * 23 / 10)) "$GPUSORT" --device=cpu parts/* -o got
    ok_same_bytes '200 files of 256 KiB come out in order' got ordered
    rm parts/* got ordered
fi
if possible '1,100 files' 'so many may not be open here' with_limit -Sn 1200 true; then
    for i in {1100..1}; do echo "$i" >"parts/$i"; done
    ok_output '1,100 files where 200 may be open until more are asked for' <(seq 1100) -- \
        with_limit -Sn 200 "$GPUSORT" parts/*
fi

# ---- files that change while they are read -------------------------------------------------------

if possible 'files that change while they are read' 'no calls fail in this build' has_faults; then
    # changed COMMAND REGEX ARGUMENT...: COMMAND changes the file `changing` just before it is read.
    changed() {
        cp numbers changing
        FAULT_RUN=$1 refused "${*:3}: $1, while it is read" "^gpusort: changing: $2" -- \
            with_fault read:1:run "${@:3}" changing -o "$target"
    }
    seq 100000 199999 >numbers
    for words in '-n' '--format=text --type=f64' '--format=raw --type=u32' '--format=raw --type=u32 --top=5'; do
        changed 'truncate -s 30000 changing' 'the file was cut off while it was read, at 30000 bytes$' $words
        [[ $words != *raw* ]] || changed 'printf 1234 >>changing' 'the file grew while it was read$' $words
    done
    # Each byte is replaced by itself. The calls of -m and -c on a plain file at positions are pread(2).
    gpusort -n numbers -o numbers.zst
    same='dd if=changing of=changing bs=1M conv=notrunc status=none'
    for name in numbers numbers.zst; do
        for words in -n '-n -u' '-n -m' '-n -c' '-n -C' --argsort --top=3 '-n -S 1M -T .' '--format=text --type=f64' \
            '--format=raw --type=u32' '--format=raw --type=u32 --top=5' '--format=raw --type=u32 --argsort'; do
            cp $name changing
            touch -d '1 minute ago' changing
            call=read:2
            case "$name $words" in *'numbers -n -'[cC]) call=pread:3 ;; esac
            FAULT_RUN=$same refused "$name, which is overwritten while it is read: $words" \
                '^gpusort: changing: it was changed while it was read: run the command again$' -- \
                with_fault $call:run $words changing
        done
    done
    for words in -n '-n -u' '-k1 -S 1M -T .' '--format=text --type=f64'; do
        cp numbers changing
        FAULT_RUN='seq 500000 700000 >changing' refused "a longer file replaces it while it is read: $words" \
            '^gpusort: changing: it was changed while it was read: run the command again$' -- \
            with_fault read:2:run $words changing
    done
    cp numbers changing
    FAULT_RUN='seq 800000 899989 >changing; tail -c 70 numbers >>changing; echo 5 >>changing' \
        refused 'a longer file with the same bytes at its old end replaces it' \
        '^gpusort: changing: it was changed while it was read: run the command again$' -- with_fault read:2:run -n changing
    for words in -c -C '-c -u'; do
        seq 3 >changing
        ok_says "a small file that grows while it is checked: $words" '^status 0$' -- env FAULT_RUN='seq 4 99 >>changing' \
            FAULT=read:1:run LD_PRELOAD="$fault_library" bash -c '"$0" --device=cpu -n "$@" changing; echo "status $?"' \
            "$GPUSORT" $words
    done
    # read(2) returns an end too early, once.
    for words in -n '-n -m' '-n -u' --argsort '--format=raw --type=u32' '--format=raw --type=u32 --zstd' \
        '--format=raw --type=u32 --top=5' '--format=text --type=f64'; do
        for call in 2 3; do
            cp numbers changing
            refused "read $call finds an end that is none: $words" \
                '^gpusort: changing: the file was cut off while it was read, at [0-9]+ bytes$' -- \
                with_fault read:$call:end $words changing -o "$target"
        done
    done
    # A file in /sys has 4096 bytes, until it is read.
    cat /sys/class/net/lo/mtu >mtu 2>"$work/log/stderr" || rm mtu
    if possible 'a file in /sys' 'there is none that can be read' [ -e mtu ]; then
        ok_output 'a file in /sys' mtu -- gpusort -n /sys/class/net/lo/mtu
    fi
    # Little is read of a small file at first, and there is little room for it.
    for words in '-n' '-nm' '' '--format=text --type=u32 --output-format=text'; do
        for call in 1 2; do
            echo 5 >changing
            FAULT_RUN='seq 6 200000 >>changing' ok_output "text that grows is read to its end: $words, read $call" \
                <(seq 5 200000) -- with_fault read:$call:run $words changing
        done
    done
fi

# ---- empty inputs --------------------------------------------------------------------------------

: >nothing
for name in bin f32 f64 txt; do cp nothing nothing.$name; done
for words in nothing nothing.bin nothing.f32 '--format=text nothing' '--format=raw --type=u8 nothing'; do
    ok_writes "an empty file: $words" nothing -- $words
done
ok_output 'empty standard input' nothing -- gpusort </dev/null
for words in '-o x.f64' '-o x.u32.zst' '-o x.bin' '--format=text -o x.f64' 'nothing.txt -o x.f64'; do
    refused "an empty input for $words: the message says that it is empty" \
        '^gpusort: .*: it is empty; if it should be, use --type=(f64|u32|TYPE) --output-format=raw$' -- gpusort $words < <(:)
done
for words in '' --format=text nothing.txt; do
    ok_file "it may be empty if it has a type: $words" x.f64 nothing -- \
        gpusort $words --type=f64 --output-format=raw -o x.f64 < <(:)
    rm x.f64
done
refused '--in-place keeps the format of an empty file' 'use --output-format=text$' -- \
    gpusort --format=text --in-place nothing.f64
ok 'which may be empty then' gpusort --format=text --in-place --output-format=text nothing.f64
ok_writes 'empty raw to npy' empty.npy -- --output-format=npy nothing.bin
ok_writes 'empty npy to text' nothing -- --output-format=text empty.npy
ok_writes 'empty text to npy' empty.npy -- --format=text --type=f64 --output-format=npy nothing
refuses 'an empty file as npy' 'nothing: ' -- --format=npy nothing
ok_prints 'an empty file beside a full one' '1\n2\n' -- gpusort --format=text nothing plain
for files in 'nothing nameless' 'nameless nothing'; do
    ok_prints "an empty raw file beside a full one: $files" '1\n9\n100\n4294967295\n' -- \
        gpusort --type=u32 --output-format=text $files
done
ok_prints 'an empty file beside text that is read as numbers' '1\n2\n' -- gpusort --type=u32 nothing plain
ok_writes 'an empty file beside an array' empty.npy -- empty.npy nothing
cp nameless nameless.u32
ok_prints 'an empty file before a named one' '1\n9\n100\n4294967295\n' -- \
    gpusort --output-format=text nothing nameless.u32

done_testing
