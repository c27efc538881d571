#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The proof of output shows that it has the numbers or lines of the input, in order. --verify shows
# it in the file. A bit that is flipped in one of the stages of tests/faults/flips.c, or by
# SIMT_FLIP on the bus of the stand-in, is found: status 2, one line with the reason, and the old output is kept.
. "$(dirname "$0")/../lib.sh"
need_numpy
stand_in=no has_large=yes count=300007 memory=8M
if [ "$(basename "$(dirname "$GPUSORT")")" = simt ]; then
    stand_in=yes GPUSORT_DEVICE=gpu
fi
if [ $stand_in = yes ] || [ "$test_size" = small ]; then
    has_large=no count=12007 memory=256K
fi

# ---- correct outputs -----------------------------------------------------------------------------

with_numpy - $count <<'END'
count = int(sys.argv[1])
for name in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"):
    if name[0] == "f":
        keys = random.standard_normal(count).astype("<" + name)
        keys[::1000], keys[1::1000], keys[2::1000] = np.nan, -np.nan, -0.0
    else:
        limits = np.iinfo(name)
        keys = random.integers(limits.min, limits.max, count, dtype=name, endpoint=True)
    np.save(name + ".npy", keys)
    keys.astype(">" + name).tofile(name + ".big")
    np.sort(keys).astype(">" + name).tofile(name + ".big.sorted")
random.standard_normal(200000).tofile("runs.f64")
END
[ $has_large = no ] || with_numpy - <<'END'
# More files than may be open at once. The numbers of the last one begin at an offset that is no
# multiple of their size.
def write_oddly(name, array):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (array.dtype.str, len(array))
    header += " " * (-len(header) % 8 + 2) + "\n"
    write(name, b"\x93NUMPY\x01\x00", pack("<H", len(header)), header.encode(), array)
arrays = [random.random(10) for _ in range(19)] + [random.random(2300000)]
for i, array in enumerate(arrays):
    write_oddly("many%02d.npy" % i, array)
np.sort(np.concatenate(arrays)).tofile("many.sorted")
# Enough keys to be partitioned while they are read.
count = 9 << 20
ordered = np.cumsum(random.integers(0, 2**32 // count, count, dtype="<u4"), dtype="<u4")
ordered.tofile("large.sorted")
ordered[np.arange(count) * 1000003 % count].tofile("large.u32")
# Enough keys to be counted and written in pieces.
for name in "u1", "i2":
    keys = random.integers(0, 100, 9 << 20).astype(name) - np.array(50, name)
    np.save("counted." + name + ".npy", keys)
    np.sort(keys, kind="stable").tofile("counted." + name + ".sorted")
# The same, with halves of different ranges: the first keys are not like the rest.
halves = [random.integers(low, low + 2**20, 5 << 20, dtype="<u4") for low in (0, 3 * 2**30)]
for i, half in enumerate(halves):
    write_oddly("half%d.npy" % i, half)
np.sort(np.concatenate(halves)).tofile("halves.sorted")
END
scale=$(full_or_small 30000 3000)
seq "$scale" | shuf --random-source=<(yes) | sed 's/\(.\)$/\1 \1/' >lines.txt
for i in 1 2 3 4; do seq "$((30000 * i))" -1 "$((30000 * i - 29999))"; done >parts.txt
head -n 2000 lines.txt lines.txt | grep -v '^==\|^$' >twice.txt
printf %s "$(cat lines.txt)" >open.txt
seq "$scale" | sed 'p;s/^/0/p;s/$/.0/' | shuf --random-source=<(yes) >spelled.txt
seq 100 300 | sed 's/^/0123456789abcdef/' | shuf --random-source=<(yes) >alike
# The lines in the middle are the last of 64 that are checked together and the first of the next 64.
seq 100 353 | sed 's/^/0123456789abcdef/' >border
# As doubles two numbers each are the same, and their bytes are not in the order of the numbers.
for i in {1..127}; do printf '%d\n0%d.%016d1\n' "$i" "$i" 0; done >longer
{ echo 0 && cat longer; } >longer_border
seq 100000 300000 | shuf --random-source=<(yes) | tr 0-9 q-z | sed 's,^,https://,' >links.txt
seq 1000000000 1000200000 | shuf --random-source=<(yes) >long.txt
seq 1 2 300000 >odd.txt
seq 2 2 300000 >even.txt
seq 600000 | shuf --random-source=<(yes) >shuffled.txt

all='proof +what was written is what was read, in order; verified in the file'
indices='proof +each index was written once, in the order of what was read; verified in the file'
some='proof +what was written is in order; verified in the file'
for name in f8 f4 i8 i4 i2 i1 u8 u4 u2 u1; do
    ok_says "$name: an array" "$all" -- gpusort -v --verify "$name.npy" -o got
    ok_says "$name: an array, descending, compressed" "$all" -- gpusort -v -r --verify --zstd "$name.npy" -o got
    # NumPy takes -0 and 0 for equal, and NaNs of both signs.
    [[ $name == f* ]] ||
        ok_writes "$name: big endian, verified" "$name.big.sorted" -- --verify --type=">$name" --format=raw "$name.big"
done
for arguments in --argsort '--argsort --output-format=text' --output-format=text \
    '--zstd --output-format=text' "-S $memory" "--argsort -S $memory" --parallel=1; do
    case $arguments in --argsort*) said=$indices ;; *) said=$all ;; esac
    ok_says "f64: $arguments" "$said" -- gpusort -v --verify $arguments f8.npy -o got
done
# Enough keys for the CPU to partition and count them while they are read.
if [ $has_large = yes ]; then
    ok 'more files than are open at once, with odd headers' bash -c \
        'ulimit -n 64; "$0" --parallel=2 --verify --output-format=raw many*.npy -o got && cmp got many.sorted' \
        "$GPUSORT"
    ok_writes 'u32: parted as they come' large.sorted -- --verify large.u32
    for name in u1 i2; do
        ok_writes "$name: counted, more than a piece" "counted.$name.sorted" -- \
            --verify --parallel=2 --output-format=raw "counted.$name.npy"
    done
    ok_writes 'u32: the same, nobody knows how many' large.sorted -- \
        --verify --type=u32 --format=raw - < <(cat large.u32)
    for arguments in --verify --parallel=1 --nan=error; do
        ok_writes "u32: two files in two ranges, $arguments" halves.sorted -- \
            "$arguments" --output-format=raw half0.npy half1.npy
    done
fi
ok_says '--top: what was left out is not looked at' "$some" -- gpusort -v --verify --top=1000 f8.npy -o got
printf '\377\377\377\377\050\265\057\375' >magic.u32
ok_says 'numbers that begin as zstd does' "$all" -- gpusort -v --verify magic.u32 -o got
ok_says 'no number' "$all" -- gpusort -v --verify --type=f64 --format=raw /dev/null -o got
files=(lines.txt open.txt twice.txt spelled.txt)
number=0
for arguments in -n -g '-n -r' '-n -s' '-n --parallel=1' '-n --zstd' '-n --header=3' '-k 2n -k 1'; do
    for file in "${files[number++ % 4]}" "${files[number % 4]}"; do
        ok_says "lines: $arguments $file" "$all" -- gpusort -v --verify $arguments "$file" -o got
    done
done
ok_says 'lines: -u' "$some" -- gpusort -v --verify -n -u twice.txt -o got
for arguments in '-S 1M parts.txt' /dev/null; do
    ok_says "lines: $arguments" "$all" -- gpusort -v --verify -n $arguments -o got
done
ok_says 'lines: --argsort -u' 'proof +the indices written are in the order of what was read; verified in the file' -- \
    gpusort -v --verify -n -u --argsort twice.txt -o got
ok_says 'lines: --argsort' "$indices" -- gpusort -v --verify -n --argsort twice.txt -o got
sort -n lines.txt >sorted.txt
ok_says 'lines: -m' 'proof +no line was lost or changed; verified in the file' -- \
    env GPUSORT_DEVICE= "$GPUSORT" -v --verify -m -n sorted.txt sorted.txt -o got
ok_says 'lines: -m -u' 'proof +no line was changed, and only lines with equal keys are left out; verified in the file' -- \
    env GPUSORT_DEVICE= "$GPUSORT" -v --verify -m -n -u sorted.txt sorted.txt -o got

# ---- outputs that cannot be verified -------------------------------------------------------------

# limits.sh has standard output and devices.
ln -s /dev/stdout standard
ok_fails_with '--verify: a link to a descriptor' 2 'standard: --verify reads back' -- \
    eval 'gpusort --verify lines.txt -o standard >written'
mkfifo fifo # has no reader
ok_fails_with '--verify: a named pipe' 2 'fifo: --verify reads back' -- timeout 20 "$GPUSORT" --verify lines.txt -o fifo
ok_fails_with '--verify: -c writes nothing' 2 '--verify checks the output, but -c writes none' -- \
    gpusort --verify -c lines.txt

# ---- flipped bits --------------------------------------------------------------------------------

flips=$(dirname "$GPUSORT")/tests/gpusort_flips

# caught STAGE ARGUMENT...: a bit is flipped at that stage, and the proof fails.
caught() {
    refused "a flipped bit: $*" "out: the proof failed: .* is left as it was" -- \
        env FLIP="$1" "$flips" "${@:2}" -o "$target"
}

# Merges rely on the order of sorted parts, also of one that changed on disk.
caught_in_parts() {
    for words in 'item:3 runs.f64' 'item:3 --argsort runs.f64' 'line -k1 links.txt'; do
        caught $words --device=cpu -S 1M
    done
    caught line --device=cpu -S 1M long.txt # a number becomes a word
}

if [ -x "$flips" ]; then
    for name in f8 i2 u1; do
        for words in read sort write 'buffer --output-format=text' 'file --verify' 'write --zstd'; do
            caught $words $name.npy
        done
        caught file --verify --output-format=text $name.npy
        for stage in keys items read sort buffer; do caught $stage --argsort $name.npy; done
        caught file --verify --argsort $name.npy
    done
    for order in -g '-k 2n -k 1n'; do
        for stage in text gather read buffer 'file --verify'; do
            caught $stage $order lines.txt
        done
    done
    # Equal values are exchanged, and lines that differ after the bytes of their keys.
    for order in -n -g '-n -r' '-k 1,1n' '-k 1,1nr' '-k 1,1n -k 2'; do caught ties $order spelled.txt; done
    for order in -k1 '-k1 -r' '-k1 -s' '-k1,1 -s'; do caught ties $order alike; done
    for words in '-k1 border' '-g longer' '-g -s longer' '-g -s longer_border'; do caught ties $words; done
    caught_in_parts
    while read -r -a words; do
        [ "${words[0]}" = all ] || [ $has_large = yes ] || continue
        caught "${words[@]:1}"
    done <<END
large read:3 large.u32
large sort:3 large.u32
large sort:2 --parallel=2 counted.u1.npy
large sort:2 --parallel=2 counted.i2.npy
all spill -S $memory f8.npy
all spill:2 -S $memory f8.npy
all spill --argsort -S $memory f8.npy
all spill -n -S 1M parts.txt
all spill:2 -g -S 1M parts.txt
all spill:9 -n -S 1M --parallel=2 parts.txt
all spill:2 -n --argsort -S 1M parts.txt
all spill:17 -n --argsort -S 1M --parallel=2 parts.txt
all spill:10 -n --top=80000 -S 1M parts.txt
all spill:18 -n -u --argsort -S 1M --parallel=2 parts.txt
all spill:19 -n --argsort -S 1M --parallel=2 parts.txt
all text -n -S 1M parts.txt
all gather:2 -n -S 1M parts.txt
all buffer -m -n sorted.txt sorted.txt
all cut -m -n odd.txt even.txt
all cut -n -S 6M shuffled.txt
all bound -n -S 6M shuffled.txt
all file -m -n --verify sorted.txt sorted.txt
END
elif [ "$stand_in" = no ]; then
    skip 'bits turned over' "no $flips (make check builds it)"
fi

# Bits that are flipped on the bus of the stand-in.
if [ "$stand_in" = yes ]; then
    flips=$(dirname "$GPUSORT")/../tests/gpusort_flips
    [ ! -x "$flips" ] || caught_in_parts # here, because this runs with sanitizers
    export FLIP=no
    flips=$GPUSORT
    for way in upload download; do
        export SIMT_FLIP=$way
        for words in f8.npy u1.npy '--argsort f8.npy' "--device-memory=$memory f8.npy" '-n lines.txt' \
            '--device-memory=1M -n parts.txt'; do
            caught no --device=gpu $words
        done
    done
    export SIMT_FLIP=upload
    kept 'in place: a bit is flipped on the way to the GPU' 'f8.npy: the proof failed: .* is left as it was' f8.npy -- \
        env "$GPUSORT" --device=gpu --in-place f8.npy
    # Counts, lengths and positions that the device returns, one after the other.
    for i in {1..400}; do
        echo "a common beginning $((i % 40))"
        echo "0x$i"
        echo "1.000000000000000000000000000000$i"
    done >alike.txt
    GPUSORT_SERVER= # one process for each job: the stand-in reads its environment and counts from the start
    for words in -k1 -g '-u -g'; do
        for number in 1 2 3 4 5; do
            export SIMT_FLIP=figures:$number
            refuses "$words: a wrong figure, number $number" \
                '^gpusort: device 0: returned an impossible .*; --device=cpu does without it$' -- \
                --device=gpu $words alike.txt
        done
    done
    head -c 400000 <(seq 1000000) >top.u32
    SIMT_FLIP=figures:1
    refuses '--top: a wrong figure' '^gpusort: device 0: returned an impossible number of keys' -- \
        --device=gpu --top=50 --type=u32 --format=raw top.u32
    printf 'https://example.org/%d\n' {1..100} >few.txt
    refuses '--argsort: a damaged item of a line' '^gpusort: a sorted line is none of those that were read$' -- \
        --device=gpu --argsort -k1 few.txt
    unset SIMT_FLIP
fi
done_testing
