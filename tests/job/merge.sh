#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -m merges inputs into one output, as sort(1) does, also if they are not sorted, in less memory than the inputs take.
. "$(dirname "$0")/../lib.sh"

# ok_merges NAME ARGUMENT...: the output is that of `sort -m ARGUMENT...`.
ok_merges() { ok_writes "$1" <(sort -m "${@:2}") -- -m "${@:2}"; }

# numbers COUNT SEED: prints integers and fractions, some of them equal and spelled differently.
numbers() {
    awk -v count="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < count; i++) {
            value = int((rand() - 0.5) * 4 * count)
            print value (rand() < 0.3 ? ".0" : rand() < 0.3 ? ".25" : "")
        }
    }'
}

lines=$(full_or_small 10000 1000)
for i in 1 2 3 4 5; do
    numbers "$lines" "$i" >plain.$i
    paste -d: plain.$i <(tac plain.$i) >pairs.$i
done

# ---- every order ---------------------------------------------------------------------------------

for options in -n -g -h '-n -r' '-n -s' '-n -u' -k1 '-k1 -r -u' '-t : -k2,2n' '-t : -k2,2nr -k1,1h' '-t : -k2,2g -s' \
    '-t : -k2,2n -u'; do
    for i in 1 2 3; do
        sort $options pairs.$i >in.$i
    done
    ok_merges "-m $options" $options in.[123]
    ok_merges "-m $options, of files that are not sorted so" $options plain.? in.2
done

# Lines with common beginnings, which end within a key, after it, or where two lines begin to differ.
for i in 1 2; do
    for first in x 'x ' 'x,' 'x a'; do
        for second in '' ' a' ' ab' ',a' ' 1' ' 10'; do
            printf "$first$second%s\n" '' ' ' ' b' " z$i" ',b' ",z $i" ' 2 b' ' 10 a'
        done
    done >alike.$i
done
for options in '-k1,1 -k2,2 -k3,3' '-s -k1,1 -k2,2 -k3,3' '-u -k1,1 -k2,2n -k3,3' '-r -k1,1 -k2,2 -k3,3n' \
    '-k1,1 -k3,3 -k2,2' '-k3,3 -k1,2 -k2,2nr' '-t, -k1,1 -k2,2 -k3,3' '-t, -k2,2 -k1,1 -k3' \
    '-k1,1 -k2.2,2.2 -k2b,3.1b -k3'; do
    for i in 1 2; do
        sort $options alike.$i >in.$i
    done
    ok_merges "alike, $options" $options in.[12]
done

for i in 1 2 3 4 5; do
    sort -g plain.$i >in.$i
    tr '\n' '\0' <in.$i >zero.$i
done
ok_writes 'without -n, -g, -h and -k lines are numbers' <(sort -g -m in.?) -- -m in.?
ok_writes '-z' <(sort -z -g -m zero.?) -- -m -z -g zero.?
sort -g -m in.? >expected
for threads in 1 3; do
    ok_writes "--parallel=$threads" expected -- -m -g --parallel=$threads in.?
done

# ---- kinds of input ------------------------------------------------------------------------------

: >empty
printf '1\n3' >open
printf '2\n4' >open.2
for files in empty 'empty empty' 'empty in.1 empty in.2 empty' in.1 plain.1 'in.1 in.1' 'open open.2'; do
    ok_merges "inputs: $files" -n $files
done
printf 'in.1\0in.2\0' >names
ok_merges 'inputs that a file names' -n --files0-from=names
sort -n -m in.1 in.2 >expected
ok_output 'standard input' expected -- gpusort -n -m - in.2 <in.1
ok_output 'pipes' expected -- gpusort -n -m <(cat in.1) <(cat in.2)
zstd -q in.1 -o in.1.zst
ok_writes 'a zstd input' expected -- -n -m in.1.zst in.2
cp in.1 target
ok_file '-o onto an input' target expected -- gpusort -n -m target in.2 -o target
for _ in 1 2 3; do head -c 3000000 /dev/zero | tr '\0' 7; echo; done >long
ok_merges 'long lines' -n -s long open.2 long open
# A line that is in many of the pieces of the threads, lines after it that are out of order, and long
# lines with equal keys.
{ head -c "$(full_or_small 20000000 2000000)" /dev/zero | tr '\0' 1; echo; } >giant
ok_merges 'a line of many pieces' -s -k1 giant open
seq -f 111111110%.0f 40000 >>giant
ok_merges 'lines after a longer one' -k1 giant open
for i in 1 2 3 4 5 6; do
    { head -c "$(full_or_small 3000000 200000)" /dev/zero | tr '\0' 7; echo $i; } >digits.$i
done
ok_merges 'long numbers' -g digits.?
rm giant digits.?
# Lines of 8 bytes, each 512 of them lower than those before: what was read ends before such a line.
awk 'BEGIN { for (b = 999; b >= 0; b--) for (i = 0; i < 512; i++) printf "%07d\n", b * 1000 + i }' >lower
ok_merges 'lines that are lower where the input is read on' -n -S 64K lower open
rm lower
seq -f %07.0f 200000 >same
ok_merges 'a line of both inputs where both are read on, -u' -k1 -u -S 64K same same
rm same
# Lines that are repeated, some of them spelled differently. Twice the same lines are not in order.
for i in 1 2; do
    awk -v i=$i 'BEGIN { for (k = 0; k < 60000; k++) print i * int(k / 7) (k % 3 ? "" : ".0") }' >again.$i
    cat again.$i again.$i >twice.$i
done
for name in again twice; do ok_merges "lines that are repeated, -n -u: $name" -n -u $name.?; done
# Lines of 8 bytes, of which a thread reads 16384 at a time. Around each 16384th line, some are repeated or lower.
for i in $(seq "$(full_or_small 24 6)"); do
    awk -v seed="$i" 'BEGIN {
        srand(seed)
        for (i = 0; i < 16384 * 12; i++) {
            at = (i + 5) % 16384
            event = i > 5 && at < 10 ? rand() : 1
            if (event >= 0.7)
                line = ++value
            else if (event < 0.2)
                line = int(rand() * (value + 1))
            printf "%07d\n", line
        }
    }' >beside.$i
done
for i in $(seq 3 3 "$(full_or_small 24 6)"); do
    ok_merges "repeated and lower lines where pieces begin, -n -u: $i" -n -u beside.$i
    ok_merges "the same of three inputs: $i" -k1 -u beside.$((i - 2)) beside.$((i - 1)) beside.$i
done
rm beside.*
head -c 2000000 /dev/zero | tr '\0' x >long.1
echo >>long.1
cp long.1 long.2
ok_merges 'a line that fits no buffer, twice, -u' -k1 -u long.1 long.2
# Lines whose first bytes are the same; some are the beginning of others.
awk 'BEGIN { for (i = 0; i < 4000; i++) print substr("aaaaaaaaaaaaa", 1, i % 14) i * 7919 % 1009 % (i % 70 + 1) }' >alike
split -n r/4 alike alike.
for options in -k1 '-k1 -r' '-k1 -u' '-k1r -k1.2n' '-k1,1 -s'; do
    for i in a b c d; do sort $options alike.a$i >in.$i; done
    ok_merges "lines that begin alike: $options" $options in.[a-d]
    ok_merges "lines that begin alike, of files that are not sorted: $options" $options alike.a?
done
mkdir many
seq 1200 | awk '{ name = "many/" NR; print $1 % 7 "\n" $1 >name; close(name) }'
ok_merges '1200 inputs' -n many/*

# Inputs that follow one another, each larger than the part of it that is kept in memory.
mkdir row
seq -f %010.0f "$(full_or_small 500000 100000)" >expected
split -l 1000 -d -a 4 expected row/
ok_output 'inputs in a row' expected -- gpusort -n -m row/*
rm -r row

# sort(1) merges 16 inputs at once. As these are not sorted, the lines of an input may be far apart in the output.
mkdir apart
cat plain.? >all
split -n l/40 all apart/
for options in -n '-n -u' '-k1 -r'; do
    ok_merges "40 inputs that are not sorted, $options" $options apart/*
done

with_64_files=(with_limit -n 64 "$GPUSORT" --format=text)
ok_output 'more inputs than files that may be open' <(sort -n -m many/*) -- "${with_64_files[@]}" -n -m many/*
cat many/* | sort -n >expected
ok_output 'more inputs than files that may be open, to be sorted' expected -- "${with_64_files[@]}" -n many/*

if possible 'more inputs than files that may be open, on FUSE' 'no calls fail in this build' has_faults; then
    on_fuse=(with_limit -n 64 env LD_PRELOAD="$fault_library" FAULT_FUSE=yes)
    ok_output 'more inputs than files that may be open, on FUSE, where inodes change' expected -- \
        "${on_fuse[@]}" "$gpusort_apart" -n many/*
    cp -r many replaced
    names=(replaced/*)
    ok_fails_with 'an input on FUSE that is replaced' 2 'it was replaced by another file while it was read$' -- \
        "${on_fuse[@]}" FAULT=read:$((${#names[@]} + 10)):run FAULT_RUN="seq 3 >other; mv other ${names[-1]}" \
        "$gpusort_apart" -n replaced/*
fi
for i in {1..100}; do : >many/empty."$i"; done
ok_output 'more inputs with nothing in them than files that may be open' expected -- "${with_64_files[@]}" -n -m many/*
ok_output 'the same, to be sorted' expected -- "${with_64_files[@]}" -n many/*

# ---- inputs that are written while they are read -------------------------------------------------

if possible 'inputs that are written while they are read' 'the full build does that' [ "$test_size" != small ]; then
    # More than the part of an input that is in memory. A limit on the file's size ends a job that reads its own output.
    count=1500000
    seq 0 2 "$count" >even
    seq 1 2 "$count" >odd
    sort -n -m even odd >expected
    cat even expected >appended
    while read -r result words; do
        cp even self
        ok_file "an input that is appended to, or written over: $words" self "$result" -- \
            bash -c "ulimit -f 100000; \"\$0\" -n -m $words" "$GPUSORT"
    done <<'END'
appended self odd >>self
expected self odd 1<>self
appended - odd <self >>self
END
    rm even odd self
fi

# ---- refused inputs ------------------------------------------------------------------------------

printf '1\n2\nx\n' >words
refused 'a line that is no number, by name' "^gpusort: words:3: 'x' is not a number: -g would " \
    -- gpusort -m in.1 words -o target
refused 'a missing input' 'gpusort: .*missing.*No such file' -- gpusort -m -n in.1 missing -o target

# ---- memory --------------------------------------------------------------------------------------

# 10 files of 16 MB each. The limit is less than their size: the documented 64 MiB, the memory of
# threads and OpenMP, and a reserve.
if possible 'memory is independent of the size of the inputs' 'a slow build' [ "$test_size" != small ]; then
    seq 10000000 11599999 | sed "s/^1/$(printf %093d 0)/" >expected
    split -n r/10 expected big.
    ok_peak 'a merge of 10 files of 16 MB' 140000 "$GPUSORT" -m -n --parallel=2 -o merged big.*
    ok_same_bytes '10 files of 16 MB' merged expected
fi

done_testing
