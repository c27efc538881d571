#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# zstd(1) reads the compressed output of gpusort, gpusort reads that of zstd(1), and broken data is refused.
. "$(dirname "$0")/../lib.sh"
command -v zstd >/dev/null || skip_all 'no zstd(1)'

count=$(full_or_small 60000 20000)
seq 1 "$count" | shuf --random-source=<(yes) >lines
sort -g lines >up
zstd -q lines

cp lines.zst misnamed
zstd -q -19 lines -o level.zst
zstd -q --no-check lines -o no_check.zst
split -n l/5 lines part.
zstd -q part.a?
for files in misnamed level.zst no_check.zst 'part.aa.zst part.ab.zst part.ac.zst part.ad.zst part.ae.zst'; do
    ok_writes "compressed data: $files" up -- $files
done
ok_output 'compressed data on a pipe' up -- gpusort < <(zstd -qc lines)

for magic in '\x28\xb5\x2f\xfd' '\x50\x2a\x4d\x18'; do
    printf "$magic"'\0\0\0\0' >number.u32
    printf '\0\0\0\0'"$magic" >number.up
    for format in raw auto; do
        ok_writes "a number that is a magic of zstd, by --format=$format:plain" number.up -- \
            --format=$format:plain number.u32
    done
done
printf '\x28\xb5\x2f\xfd\1\2\3\4' >number.u32
refuses 'a number that is a magic of zstd: the message says what to do' \
    '^gpusort: number.u32: .*; if it is not compressed, use --format=FORMAT:plain$' -- --format=raw number.u32
cp number.u32 number.u32.zst
refuses 'damaged data that is named as zstd: no advice to sort its bytes' \
    '^gpusort: number.u32.zst: compressed byte 5: [^;]*; decompress it first [(A-Za-z -]*)$' -- number.u32.zst
ok_writes '--format=text:zstd' up -- --format=text:zstd misnamed
refuses '--format=auto:zstd of what is not' 'lines: this is no zstd data$' -- --format=auto:zstd lines
refuses '--format=auto:gzip' "unknown codec 'gzip': --list names the codecs$" -- --format=auto:gzip lines

# With damaged first bytes, compressed data could be read as numbers. Text is recognized as text.
printf '2\n1\n' >plain.txt.zst
ok_prints 'text that is named as compressed and is not' '1\n2\n' -- gpusort plain.txt.zst
printf 'numbers!' >numbers.f64.zst
for words in --type=f64 --format=raw; do
    refuses "numbers that are named as compressed and are not: $words" \
        '^gpusort: numbers.f64.zst: named as zstd data, but it is not: unless it is damaged, --format=raw:plain reads it as it is$' -- \
        $words numbers.f64.zst
done
zstd -qc plain.txt.zst | tr '\050' '\051' >damaged.txt.zst
refuses 'lines whose first byte is damaged' \
    '^gpusort: damaged.txt.zst: named as zstd data, but it is not: unless it is damaged, --format=text:plain reads it as it is$' -- \
    -n damaged.txt.zst
ok_output 'lines whose first byte is damaged: --format=text:plain' <(sort -n damaged.txt.zst) -- \
    gpusort -n --format=text:plain damaged.txt.zst
ok_prints 'numbers that are named as compressed and are not: --format=raw:plain' 'numbers!' -- \
    gpusort --no-zstd --format=raw:plain numbers.f64.zst

# A command that changes bytes would destroy the compressed file. A row: the content, the message, and the arguments.
printf 'name\n1\n' >heading
while IFS='|' read -r content regex words; do
    printf "$content" | zstd -q >advice.txt.zst
    ok_says "advice for a compressed file: $regex $words" "$regex.*, once decompressed" -- eval \
        'gpusort $words advice.txt.zst 2>&1 >out || :'
done <<'END'
1,234\n|tr -d ,|
1\n\n2\n|sed |
1\n\n2\n|sed |-m
1,234\n|tr -d ,|-c
title\n1\n|tail -n|--type=f64
\xef\xbb\xbf1\n|tail -c|
\xef\xbb\xbf1\n|tail -c|-n
b\ra\r|tr |-k1
1\r2\r3|tr |
\xef\xbb\xbfname\n1\n|tail -c|--header -k1 heading
name\r\n1\n|tr -d|--header -k1 heading
\xff\xfe1\0\n\0002\0\n\0|iconv|
\xff\xfe1\0\n\0002\0\n\0|iconv|-n
END
printf '1\n1,234\n' | zstd -q >advice.txt.zst
ok_says 'advice for a compressed file that is merged onto itself' 'tr -d ,.*, once decompressed' -- \
    bash -c '"$0" -m advice.txt.zst heading 2>&1 >>advice.txt.zst || :' "$GPUSORT"

# A dictionary is made from files that are alike.
mkdir samples
for i in {1..300}; do printf '%s\n' "$i common words of sample $i" "$((i * 7)) common words" >"samples/$i"; done
if possible 'data that needs a dictionary' 'no dictionary of these samples' \
    zstd -q --train samples/* -o dictionary --maxdict=2048; then
    zstd -q -D dictionary lines -o of_dictionary.zst
    refuses 'data that needs a dictionary' 'needs a dictionary, which is not read here; decompress it first' -- \
        of_dictionary.zst
fi

for level in 19 1; do ok_output "compressed at level $level" up -- unpacked --zstd=$level lines; done
cp got.zst fast.zst
ok_output 'an output called .zst' up -- unpacked lines
ok_says 'compressed output has a checksum' 'Check: XXH64' -- zstd -lv got.zst
cp lines.zst got.zst
ok_output 'a compressed file is sorted onto itself' up -- unpacked got.zst
ok_output 'compressed on request, to standard output' up -- bash -c '"$0" --zstd lines | zstd -dc' "$GPUSORT"
ok 'level 19 is smaller than level 1' test "$(gpusort --zstd=19 lines | wc -c)" -lt "$(stat -c %s fast.zst)"
ok_file '--no-zstd is obeyed' plain.zst up -- gpusort --no-zstd lines -o plain.zst

# ---- frames: 16 MiB each, by all threads ---------------------------------------------------------

head -c 17000000 /dev/urandom >big.u32
gpusort -r big.u32 -o big.u32 # soon sorted, as only frames matter
gpusort big.u32 >big.up
gpusort --parallel=1 big.u32 -o big.1.zst
ok_output 'zstd(1) reads frames' big.up -- zstd -dc big.1.zst
for threads in 2 7; do
    ok_writes "$threads threads write what one does" big.1.zst -- --zstd --parallel=$threads big.u32
done
{ gpusort -r big.u32 && head -c 34000000 /dev/zero; } >slow_first.u32
ok_output 'frames that take longer come first' slow_first.u32 -- unpacked -r --zstd=6 --parallel=7 slow_first.u32
for bytes in $(full_or_small '0 1 16777215 16777216 16777217' '0 16777217'); do
    head -c $bytes /dev/zero >zeros.u8
    ok_output "$bytes bytes in frames of 16 MiB" zeros.u8 -- unpacked --parallel=7 zeros.u8
    ok_says "$bytes bytes: as many frames as are needed" "^ *$((bytes > 16777216 ? 2 : 1)) +0 .* XXH64" -- \
        zstd -l got.zst
done
ok_output 'the input on a pipe, the output on one' big.1.zst -- \
    bash -c 'cat big.u32 | "$0" --type=u32 --format=raw --zstd | cat' "$GPUSORT"

split -b 7M --filter='zstd -qc' big.u32 >unsized.zst
split -b 7M big.u32 piece.
zstd -q piece.*
cat piece.*.zst >sized.zst
zstd -q big.u32 -o single.zst
# Frames of thousands of bytes, with their size and without, more than threads hold at once; and
# skippable frames, larger than what is read ahead, and than frames that are kept whole.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests_dir/fuzz python3 - <<'PYTHON'
import struct

from zstd_frames import MAGIC, SKIPPABLE_MAGIC, compress


def skippable(size):
    return struct.pack("<II", SKIPPABLE_MAGIC, size) + bytes(size)


def without_size(data):
    """A window of 1 MiB, and a block that is stored, the last one."""
    return MAGIC + b"\0\x50" + struct.pack("<I", len(data) << 3 | 1)[:3] + data


def frames(data):
    return b"".join(compress(data[begin : begin + 2**20]) for begin in range(0, len(data), 2**20))


data = memoryview(open("big.u32", "rb").read())
with open("skippable.zst", "wb") as file:
    file.write(skippable(6 << 20) + compress(data[: 5 << 20]) + skippable(40 << 20))
    file.write(frames(data[5 << 20 :]))
with open("small.zst", "wb") as file:
    for i in range(1500):
        part, data = bytes(data[: i * 37 % 5000]), data[i * 37 % 5000 :]
        file.write(compress(part) if i % 2 else without_size(part))
        file.write(skippable(i % 200) if i % 7 == 0 else b"")
    file.write(frames(data))
PYTHON
kinds='sized unsized single small skippable'
if command -v pzstd >/dev/null; then
    pzstd -q -1 -p 4 big.u32 -o by_pzstd.zst
    kinds="$kinds by_pzstd"
    ok_output 'pzstd(1) reads frames' big.up -- pzstd -qdc big.1.zst
fi
for kind in $kinds; do
    ok_output "$kind frames, seven threads" big.up -- gpusort --type=u32 --format=raw --no-zstd --parallel=7 "$kind.zst"
    ok_output "$kind frames on a pipe, two threads" big.up -- \
        bash -c 'cat "$1" | "$0" --type=u32 --format=raw --no-zstd --parallel=2' "$GPUSORT" "$kind.zst"
done
for bytes in $(full_or_small '33554432 33554433' 33554433); do # a frame is kept whole up to 32 MiB
    head -c "$bytes" /dev/zero >zeros.u8
    { zstd -qc1 zeros.u8 && zstd -qc1 <zeros.u8; } >two.zst
    ok_output "two frames of $bytes bytes, with their size and without" <(cat zeros.u8 zeros.u8) -- \
        gpusort --type=u8 --format=raw --no-zstd --parallel=7 two.zst
done
# The header states 2^56 - 1 bytes, and the only block is empty.
printf '\x28\xb5\x2f\xfd\xc0\0\xff\xff\xff\xff\xff\xff\xff\0\1\0\0' >liar.zst
refuses 'a frame that states more than blocks can hold' 'liar.zst: compressed byte 17: corrupt zstd data: less than the frame says' -- \
    --type=u8 --format=raw liar.zst
# The headers are read only where they are in the page cache, and a busy machine may have dropped them.
ok_says 'the count is known where all frames state their size' "$(($(stat -c %s big.u32) / 4)) numbers" -- \
    bash -c 'cat sized.zst >/dev/null && "$0" --explain --type=u32 sized.zst' "$GPUSORT"
ok_says '--explain says that the input is compressed' '^input +sized.zst: raw, u32 little-endian, zstd[ ,]' -- \
    gpusort --explain --type=u32 sized.zst

size=$(stat -c %s sized.zst)
printf 'XXXX' | dd of=sized.zst bs=1 seek=$((size - 3000)) conv=notrunc status=none
head -c -5 unsized.zst >cut.zst
for threads in 1 7; do
    refuses "corrupted in the last frame, $threads threads" \
        'sized.zst: compressed byte [0-9]{7,}: corrupt zstd data' -- --type=u32 --parallel=$threads sized.zst
    refuses "cut off in the last frame, $threads threads" 'cut.zst: compressed byte [0-9]{7,}: truncated zstd data' -- \
        --type=u32 --parallel=$threads cut.zst
    refused "a full disk, $threads threads" '/dev/full: No space left' -- \
        gpusort --zstd --parallel=$threads big.u32 -o /dev/full
done

# ---- memory --------------------------------------------------------------------------------------

if possible 'memory of compressed data' 'sanitizers take more' [ "$test_size" = full -a "$is_sanitized" = no ]; then
    top=("$GPUSORT" --device=cpu --parallel=2 --type=u8 --format=raw --no-zstd --top=1)
    head -c 150000000 /dev/zero | zstd -qc1 >bomb.zst
    ok_peak 'a frame of 150 MB that is read' 100000 "${top[@]}" bomb.zst -o got
    head -c 28000000 /dev/zero >zeros.u8
    zstd -q1 -f zeros.u8 -o one.zst
    for _ in {1..10}; do cat one.zst; done >many.zst
    ok_peak 'ten frames of 28 MB that are read' 200000 "${top[@]}" many.zst -o got
    yes "$(printf '1%0999d' 0)" | head -c 300000000 >long_lines || true
    ok_peak '300 MB that are written' 200000 "$GPUSORT" --device=cpu --parallel=2 -m -n --zstd=1 long_lines -o got
    rm long_lines
fi

# ---- data that looks compressed ------------------------------------------------------------------

# Each file begins with a magic of zstd by chance. Nothing of it is lost without an error, which says how to read it.
header='\050\265\057\375'
printf 'P*M\030\020\0\0\0attack\nvictim 1\n' >skipped_whole.text
printf 'P*M\030\031\0\0\0attack\nvictim 1\n' >skipped_beyond.text
printf 'P*M\030\0\0\0\0_*M\030\001\0\0\0\n' >skipped_twice.text
printf 'P*M\030\0\0\0\0P*M\030\0\n' >skipped_cut.text
printf 'P*M\030\0\0\0\0c\nb\na\n' >skipped_then_text.text
printf 'P*M\030' >skipped_magic.text
{ printf 'P*M\030abcd\n'; seq 150000; } >skipped_large.text
{ printf 'P*M\030\0\0\100\0' && head -c 4194304 /dev/zero; } >skipped_long.text
printf "$header" >magic.text
printf "$header"'\nb\na\n' >reserved.text
printf "$header"'@Ayzab\nz\na\n' >block_cut.text
{ printf "$header"'@Ayzab\n'; seq 20000; } >block_unsound.text
{ printf "$header"'A1Ayzab\n'; seq 20000; } >dictionary.text
advice='; if it is not compressed, use --format=FORMAT:plain$'
for file in *.text; do
    for words in -k1 -n '-z -m -k1'; do
        refuses "lines that begin with a magic of zstd: $words $file" "$advice" -- $words $file
    done
    refuses "on a pipe: $file" "$advice" -- -k1 < <(cat $file)
    ok_output "said to be plain: $file" <(sort $file 2>/dev/null) -- gpusort -k1 --format=text:plain $file
    refuses "numbers that begin with a magic of zstd: $file" "$advice" -- --type=u8 $file
done
for how in skippable skippable.zst; do cp skipped_whole.text $how; done
ok_prints 'skippable frames alone, named as zstd' '' -- gpusort -k1 skippable.zst
ok_prints 'skippable frames alone, said to be zstd' '' -- gpusort -k1 --format=text:zstd skippable

# These are compressed.
{ printf 'P*M\030\0\0\040\0' && head -c 2097152 /dev/zero && cat lines.zst; } >far
{ printf 'P*M\030\004\0\0\0skip_*M\030\0\0\0\0' && cat lines.zst; } >near
{ cat lines.zst && printf 'P*M\030\004\0\0\0skip'; } >behind
for words in '' -g; do
    for file in near far behind; do
        ok_output "skippable frames and compressed lines: $file, $words" up -- gpusort $words $file
    done
    for file in far near behind; do
        ok_output "the same through a pipe: $file, $words" up -- gpusort $words < <(cat $file)
    done
done
: | zstd -q >no_content
ok_prints 'a frame of nothing is no text' '' -- gpusort -k1 no_content
head -c 400000 /dev/urandom | od -A n -v -t x1 -w8 | zstd -qc >hexadecimal
for left in 300000 200000 20000 200; do
    head -c $left hexadecimal >cut_off
    refuses "compressed lines, cut off after $left bytes" 'cut_off: .*truncated zstd data' -- -k1 cut_off
    refuses "on a pipe, cut off after $left bytes" 'standard input: .*truncated zstd data' -- -k1 < <(cat cut_off)
done
{ head -c 2000 hexadecimal; printf '\377\377\377\377\377'; tail -c +2006 hexadecimal; } >damaged
refuses 'compressed lines of which the first are damaged' 'damaged: .*corrupt zstd data' -- -n damaged

# The size of the second frame, 2^50 bytes, is not used to plan the job.
head -c 2400000 /dev/urandom >random
{ zstd -qc random; printf '\50\265\57\375\300\120\0\0\0\0\0\0\4\0\101\0\0abcdefgh'; } >more.u32.zst
refuses 'a frame that states too much' 'more.u32.zst: compressed byte [0-9]+: corrupt zstd data' -- more.u32.zst

# ---- windows -------------------------------------------------------------------------------------

if possible 'large windows' 'zstd(1) makes none here' \
    eval 'zstd -q --long=28 -k lines -o long.zst && zstd -q --long=28 -c <lines >long_piped.zst'; then
    ok_output '--long=28 reads a window of 256 MiB' up -- gpusort --no-zstd --long=28 long_piped.zst
    ok_output '--long=31 does, with all options of sort(1), and no name' up -- \
        gpusort -g --long=31 < <(cat long_piped.zst)
    for words in '' --long --long=27; do
        refuses "a window of 256 MiB: '$words'" 'the zstd window is larger than 128 MiB; --long=28 reads it' -- \
            $words long_piped.zst
    done
    refuses 'a window of 256 MiB, as lines, not named as compressed' '; --long=28 reads it' -- \
        -g < <(cat long_piped.zst)
    printf '123\n' | zstd -q --no-check --long=28 >frame # has no control characters, as text
    refuses 'two frames with a window of 256 MiB are not sorted as text' '; --long=28 reads it' -- \
        -g < <(cat frame frame)
    refuses '--long=10 takes less' 'larger than 1 KiB; --long=' -- --long=10 level.zst
fi
# Headers of frames with a window of 4 GiB, and with a content of 8 GiB in one segment.
for header in '\0\260\1\0\0' '\340\0\0\0\0\2\0\0\0\1\0\0'; do
    printf '\50\265\57\375%b' "$header" >wide.zst
    refuses "more than --long=31 reads: ${#header}" 'wide.zst: .*: the zstd window is larger than 2 GiB' -- -g wide.zst
done
# The first frame has a window of 32 KiB, the second one of 8 MiB; both are small enough to be decoded whole.
{ head -c 3200000 big.u32 | zstd -qc --zstd=wlog=15 && tail -c 9000000 big.u32 | zstd -qc --zstd=wlog=23; } >two.u32.zst
for threads in 1 2; do
    refuses "--long=20 does not read a window of 8 MiB, $threads threads" \
        'two.u32.zst: compressed byte [0-9]+: the zstd window is larger than 1 MiB; --long=23 reads it' -- \
        --long=20 --parallel=$threads two.u32.zst
    ok '--long=23 does' gpusort --long=23 --parallel=$threads two.u32.zst -o got.zst
done
for log in 9 32 x ''; do
    refuses "--long=$log" '^gpusort: .*zstd window .*10 to 31$' -- "--long=$log" lines.zst
done

# ---- data that is compressed twice ---------------------------------------------------------------

zstd -qc lines.zst >of_zstd.zst
gzip -c lines | zstd -qc >of_gzip.zst
tar -c lines | zstd -qc >of_tar.zst
# RIFF, then ASCII, and Latin-1 only after that.
{ printf 'RIFF'; head -c 200 lines; printf 'caf\351\n'; } >riff
zstd -qc riff >riff.zst
ok_output 'compressed lines that begin like a file of another program' <(sort -k1 riff) -- gpusort -k1 riff.zst
gzip -c lines >gzip.zst
head -c 8000 /dev/urandom | gzip -c >gzip.f64.zst
zstd -qc big.1.zst >twice.u32.zst
for words in '' -n -k1 -z; do
    for name in zstd gzip tar; do
        refuses "$name data in zstd data, '$words'" "this is $name data inside zstd data" -- $words of_$name.zst
    done
    refuses "gzip data named .zst, '$words'" 'gzip.zst: this is gzip data, ' -- $words gzip.zst
done
refuses 'numbers compressed twice' 'this is zstd data inside zstd data' -- twice.u32.zst
refuses 'gzip data named .f64.zst' 'this is gzip data' -- gzip.f64.zst
ok_output 'compressed twice, and said to be lines' <(sort lines.zst) -- \
    gpusort -k1 --format=text:zstd --no-zstd of_zstd.zst
printf "$header"'x\nP*M\030\n' | zstd -qc >magic_inside
ok_output 'compressed lines that begin with a magic' <(zstd -dc magic_inside | sort) -- gpusort -k1 magic_inside

# ---- data that gpusort compresses ----------------------------------------------------------------

head -c $(($(stat -c %s lines) / 4 * 4)) lines >numbers.u32
gpusort --format=raw numbers.u32 -o sorted.u32
ok_output 'raw, compressed and not, have the same bytes' sorted.u32 -- unpacked --format=raw numbers.u32
cp got.zst sorted.u32.zst
ok_output 'the type stands before .zst in a name' sorted.u32 -- gpusort --format=raw sorted.u32.zst --no-zstd
: >nothing
ok_output 'an empty output, compressed, is a frame of nothing' nothing -- unpacked --format=text nothing
ok_output 'and an empty input' nothing -- gpusort --format=text --no-zstd got.zst
for stem in none none.f64; do
    : >$stem.zst
    for words in '' -n --type=f64; do
        refuses "an empty file that is named as zstd data, $words" \
            "^gpusort: $stem.zst: it is empty, and zstd data has some bytes" -- $words $stem.zst
    done
done
refuses 'one beside another input' '^gpusort: none.zst: it is empty' -- plain.txt.zst none.zst
ok_prints 'one that is said to be plain' '' -- gpusort --format=text:plain none.zst

size=$(stat -c %s lines.zst)
for left in 5 9 100 $((size / 2)) $((size - 4)) $((size - 1)); do
    head -c "$left" lines.zst >cut.zst
    refuses "cut off after $left of $size bytes" 'cut.zst: .*truncated' -- --format=text cut.zst
done

{ cat lines.zst; echo garbage; } >garbage.zst
refuses 'garbage after the last frame' 'garbage.zst: .*garbage' -- --format=text garbage.zst
# A broken header, and after it the magic of a frame of version 0.7, which libzstd would decode.
printf '\x28\xb5\x2f\xfd\x5d\x27\xb5\x2f\xfd\x17\0\0\0\0\0\0\0\0' >header.zst
refuses 'a broken header before an old frame' 'header.zst: .*corrupt zstd data: ' -- --format=text header.zst
for level in 99 0 fast; do
    refuses "a level that there is not: $level" 'zstd level' -- --zstd=$level lines
done

done_testing
