#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several MPI ranks sort one file: the output is that of one process; what ranks cannot share is
# refused; when a rank fails or is killed, the old output stays and nothing is left behind.
. "$(dirname "$0")/../lib.sh"

need_open_mpi
need_numpy

# ranks N ARGUMENT...: gpusort in N ranks. After a failure mpirun sends SIGTERM to the ranks and,
# $kill_after seconds later, SIGKILL, even if they have ended. MPI itself does not read the memory
# of other ranks, which the faults refuse.
ranks() {
    open_mpi --oversubscribe --mca btl_vader_single_copy_mechanism none \
        --mca odls_base_sigkill_timeout "${kill_after:-0}" \
        ${preload:+-x "LD_PRELOAD=$preload" -x "MPI_FAULT=$fault"} -n "$1" "${program:-$GPUSORT}" "${@:2}"
}

# ok_shared NAME N SUFFIX ARGUMENT...: N ranks write what one process writes, to a file with that suffix.
ok_shared() {
    local name="$2 ranks: $1" count=$2 suffix=$3 status=0
    shift 3
    rm -f one.* shared.*
    gpusort "$@" -o "one.$suffix"
    ranks "$count" "$@" -o "shared.$suffix" </dev/null >"$work/log/stdout" 2>"$work/log/stderr" || status=$?
    [ "$status" -eq 0 ] || cat "$work/log/mpirun" >>"$work/log/stderr"
    finish_comparison "$name" "$status" "shared.$suffix" "one.$suffix" mpirun -n "$count" gpusort "$@"
}

# ok_shared_all: a row of standard input for each case, NAME|N|SUFFIX|ARGUMENTS. Sanitized builds, whose
# ranks start slowly, take the rows that begin with "+".
ok_shared_all() {
    local name count suffix words
    while IFS='|' read -r name count suffix words; do
        [ "$is_sanitized" = no ] || [[ $name == +* ]] || continue
        ok_shared "${name#+}" "$count" "$suffix" $words
    done
}

with_numpy - $is_sanitized <<'END'
doubles = random.standard_normal(300_001)
doubles[::1000], doubles[1::1000], doubles[2::1000] = np.nan, -0.0, -np.inf
doubles[3::1000] = -np.frombuffer(b"\1\0\0\0\0\0\xf8\x7f", "f8")[0]
doubles.tofile("doubles.f64")
np.sort(doubles[np.isfinite(doubles)]).tofile("finite-sorted.f64")
random.permutation(doubles[np.isfinite(doubles)]).tofile("finite.f64")
for i, count in enumerate([0, 70_001, 5, 50_000]):
    np.save(f"part{i}.npy", random.integers(-1000, 1000, count).astype("i4"))
random.integers(0, 256, 100_000).astype("u1").tofile("bytes.u8")
random.standard_normal(100_000).astype("f2").tofile("halves.f16")
hot = np.full(200_000, 7, "u8")
hot[::100] = random.integers(0, 2**64, 2000, dtype="u8")
hot.tofile("hot.u64")
np.full(100_000, 1.5, "f4").tofile("equal.f32")
np.array([3, 1, 2, 0], "u4").tofile("four.u32")
doubles = np.arange(300_001.0)
doubles[-1] = np.nan
doubles.tofile("late.f64")
np.savetxt("numbers.txt", random.standard_normal(40_000), "%.17g")
np.savetxt("few.txt", random.integers(-50, 50, 1000), "%d")
open("cut.txt", "w").write("5\n7\n3.5")
open("late.txt", "w").write("1\n" * 300_000 + "one\n" + "2\n" * 1000)
open("none.f64", "wb").close()
random.integers(0, 2**64, 300_001, dtype="u8").tofile("odd.u64")
open("lines", "w").write("2\n1\n")

def lines(name, texts, end="\n", last="\n"):
    open(name, "w", newline="").write(end.join(texts) + last)
tags, ages = random.choice(["b", "a", "c c", "", "zz"], 30_000), random.integers(0, 50, 30_000)
sizes = random.choice(["1K", "2M", "x", "10", "-3G"], 30_000)
lines("rows", [f"{t}:{a}:{s}" for t, a, s in zip(tags, ages, sizes)])
lines("more-rows", [f"{t}:{a}:{s}" for t, a, s in zip(tags, ages, sizes)][:777], last="")
lines("decimals", [f"{x:.3f}" for x in random.standard_normal(40_000)], last="")
lines("long", ["b", "x" * 3_000_000, "", "a", "x" * 2_000_000 + "y", ""], last="")
lines("nul", [f"line {n}\nrest" for n in random.integers(0, 99, 5000)], end="\0", last="\0")
lines("named", ["name,value"] + [f"n{n % 97},{n}" for n in random.integers(0, 9999, 20_000)])
lines("named-too", ["name,value"] + [f"n{n},{n % 7}" for n in range(300)], last="")
lines("no-number", ["1"] * 60_000 + ["one"] + ["2"] * 1000)
np.arange(200_000, 0, -1).astype("f4").tofile("reversed.f32")
np.argsort(np.fromfile("reversed.f32", "f4"), kind="stable").astype("u4").tofile("reversed.order")
if sys.argv[1] == "no":  # large files: with sanitizers no claim needs them
    random.standard_normal(2_200_000).tofile("large.f64") # more than 16 MiB
    crowded = random.integers(0, 2**64, 10_000_000, dtype="u8")
    crowded[::5] = 2**62
    crowded.tofile("crowded.u64")
    crowded[:3_000_000].tofile("some-crowded.u64")
    random.standard_normal(10_000_000).tofile("plenty.f64") # two ranks sort them together
    crowded[::5] = random.integers(0, 2**64, 2_000_000, dtype="u8")
    crowded[::9] = 2**62 # in a bucket that is sorted in an array
    crowded.tofile("less-crowded.u64")
    open("uneven.txt", "w").write("7\n" * 600_000 + "1234567890123456789\n" * 100_000)
    lines("much", [f"{n:070}" for n in random.integers(0, 10**9, 300_000)])
    random.standard_normal(1_500_000).tofile("many.f64")
END

zstd -q finite.f64 part1.npy numbers.txt rows
# frames FILE BYTES: compresses each piece of the file to a frame that states its content.
frames() {
    split -b "$2" "$1" piece.
    zstd -q --rm piece.*
    cat piece.*.zst >"frames-$1.zst"
    rm piece.*
}
frames finite.f64 200001
frames part1.npy 50000
[ "$is_sanitized" = yes ] || frames large.f64 1000000
frames numbers.txt 100000
ok_shared_all <<'END'
+doubles with NaNs, written as .npy|2|npy|doubles.f64
+several .npy inputs, an empty one among them, descending|3|npy|-r part0.npy part1.npy part2.npy part3.npy
halves, NaNs first|5|f16|--nan=first halves.f16
parts of unlike sizes|2|u64|-S 15M odd.u64
many lines for one, few for the other|2|u64|-S 16M --type=u64 --output-format=raw uneven.txt
all equal|3|f32|equal.f32
each sorts in parts, which are on disk|2|f64|-S 4M many.f64
the first of all|3|f64|--top=100000 doubles.f64
text of numbers in several files, the last line cut off|3|txt|--type=f64 numbers.txt few.txt cut.txt
bytes to text|3|txt|bytes.u8
text of fewer numbers than ranks|7|npy|--type=f32 cut.txt
frames as one process makes them|2|f64.zst|large.f64
+no numbers, compressed|2|f64.zst|none.f64
no numbers, and no room for temporary files|2|f64|-T /proc none.f64
compressed numbers and plain ones|3|npy|part1.npy.zst part2.npy part1.npy
+compressed numbers, of which each rank decodes its frames|3|npy|frames-finite.f64.zst
+frames in several files, a header, and a plain file|3|npy|frames-part1.npy.zst part2.npy frames-part1.npy.zst
+frames of text|3|npy|--type=f64 frames-numbers.txt.zst
text of numbers, compressed and plain|2|txt|--type=f64 few.txt numbers.txt.zst
+lines by two columns of two files, descending|3|txt|-t: -k1,1 -k2,2nr rows more-rows
+lines longer than the part of a rank, empty ones, no newline at the end|4|txt|-k1 long
lines in order of input, and the files end within a line|3|txt|-s -t: -k3,3h more-rows rows more-rows
one of equal lines, the first of the input|3|txt|-u -t: -k2,2n rows
lines that end with NUL|2|txt|-z -k1 nul
lines with a header|3|txt|--header=1 -t, -k2,2n named named-too
the first lines|3|txt|-g --top=1000 decimals
indices of the first lines|3|npy|--argsort --top=1000 -g decimals
four numbers|7|u32|four.u32
lines in parts, which are on disk|2|txt|-S 1M -k1 decimals rows
two lines|6|txt|lines
+indices of lines of two files, the first of equal ones|3|npy|--argsort -u -t: -k1,1 -k2,2nr rows more-rows
indices of lines after a header, in more parts than are merged at once|3|npy|--argsort=i32 -S 1M --header=1 -t, -k2,2n named named-too
END
if [ "$is_sanitized" = no ]; then
    ok_output 'two ranks: standard output, and it is binary' finite-sorted.f64 -- ranks 2 finite.f64
    ok_file 'two ranks: the indices that NumPy finds' order.u32 reversed.order -- \
        ranks 2 --argsort=u32 reversed.f32 -o order.u32
    for words in finite.f64 '-n decimals'; do
        ranks 2 --stats=json $words -o out 2>stats || true
        ok_json "two ranks: the stages have the bytes of rank 0, and the total those of both: $words" "
            s['data']['bytes'] == s['stages']['total']['bytes'] >= $(stat -c %s "${words##* }") and all(
            s['data']['bytes'] * 0.4 < s['stages'][stage]['bytes'] < s['data']['bytes'] * 0.6
            for stage in ('sort', 'parse') if stage in s['stages'])" stats
    done
    # Headers of frames are read only in the page cache, from which a busy machine may have dropped them.
    cat frames-large.f64.zst >/dev/null
    ranks 4 --stats=json frames-large.f64.zst -o out.f64 2>stats || true
    total=$(cat frames-large.f64.zst large.f64 | wc -c)
    ok_json 'each of four ranks decodes about a quarter of the frames' \
        "all($total / 5 < r['read_bytes'] < $total / 3 for r in s['ranks'])" stats
    ok_output 'two ranks: numbers from a pipe' finite-sorted.f64 -- eval 'cat finite.f64 | ranks 2 --type=f64'
    sort -s -t: -k2,2n rows more-rows >sorted.txt
    ok_output 'three ranks: lines, of standard input and a file' sorted.txt -- eval \
        'ranks 3 -s -t: -k2,2n - more-rows <rows'
    ok_output 'three ranks: lines, compressed' sorted.txt -- ranks 3 -s -t: -k2,2n rows.zst more-rows
    ok_says 'two ranks: no bytes from a pipe' '^0$' -- eval ': | ranks 2 -n | wc -c'
    ok_output 'two ranks: the names of the inputs, from standard input' sorted.txt -- eval \
        "printf '%s\\0' rows more-rows | ranks 2 -s -t: -k2,2n --files0-from=-"
    mkfifo named-pipe
    ok_output 'two ranks: a named pipe without bytes is opened once' sorted.txt -- eval \
        '{ : >named-pipe & ranks 2 -s -t: -k2,2n rows named-pipe more-rows; }'
    refused 'two ranks: a named pipe that is named twice' 'named-pipe: .* is named twice$' -- eval \
        '{ cat rows >named-pipe & ranks 2 -k1 named-pipe named-pipe; }'
    mkdir many
    (cd many && split -l 100 ../rows)
    files=$(ulimit -S -n)
    ulimit -S -n 256
    ok_shared 'more inputs than may be open' 2 txt -k1 many/*
    ulimit -S -n "$files"
    ok_output 'two ranks: lines, compressed' <(gpusort -k1 rows) -- eval \
        'ranks 2 -k1 rows -o rows.zst && zstd -dc rows.zst'
    ok_output 'two ranks: lines on standard output, as sort(1) has them' <(sort -u -g decimals) -- \
        ranks 2 -u -g decimals
    awk '{ print NR - 1 ":" $0 }' decimals | sort -s -t: -k2,2gr | cut -d: -f 1 >sorted.txt
    mkfifo output
    ok_output 'two ranks: indices of lines, as sort(1) has them, written to a named pipe' sorted.txt -- \
        eval '{ cat output & ranks 2 --argsort -s -g -r decimals -o output && wait $!; }'
    for words in 'doubles.f64 -o out.f64' '--argsort -k1 rows -o out.npy' '-k1 rows -o out.zst'; do
        ok_says "two ranks: --verify reads back what all have written: $words" '^1$' -- eval \
            'ranks 2 --verify -v $words 2>&1 | grep -c "verified in the file"'
    done
fi
for rank in 0 1 2; do
    { echo title; sed -n "$((rank * 9000 + 1)),$((rank * 9000 + 9000))p" rows; } >"own-$rank.txt"
done
with_numpy 'array = np.load("part1.npy")
for rank in range(3):
    np.save(f"own-{rank}.npy", array[rank * 20_000:][:20_000 + rank])
    np.save(f"time-{rank}.npy", np.arange(3 + rank).astype(["M8[s]", "M8[ms]"][rank % 2]))
    # Headers of arrays with 14 dimensions are longer.
    np.save(f"shape-{rank}.npy", array[rank * 1000:][:1000].reshape([(1000, 1), (1,) * 13 + (1000,), (1000,)][rank]))'
ok 'three ranks: a file of each rank is read, and one is written, with a header' eval '
    ranks 3 --verify "own-{rank}.npy" -o "sorted-{rank}.npy" &&
        with_numpy "parts = [np.load(f\"sorted-{i}.npy\") for i in range(3)]
all = np.concatenate([np.load(f\"own-{i}.npy\") for i in range(3)])
assert (np.concatenate(parts) == np.sort(all)).all() and len(parts[0]) == len(all) // 3"'
mkdir node-{0,1,2}
for rank in 0 1 2; do cp "own-$rank.npy" "node-$rank/own-$rank.npy"; done
ok_fails_with 'an input for each rank, and no launcher' 2 '^gpusort: none-[{]rank[}].npy: [{]rank[}] is the number of an MPI rank, ' -- \
    gpusort "none-{rank}.npy" -o got
ok 'three ranks: {rank} in the name of a directory and of the file in it' eval '
    ranks 3 "node-{rank}/own-{rank}.npy" -o "node-{rank}/sorted-{rank}.npy" &&
        cmp node-0/sorted-0.npy sorted-0.npy && cmp node-1/sorted-1.npy sorted-1.npy &&
        cmp node-2/sorted-2.npy sorted-2.npy'
ok_output 'three ranks: lines of files of each rank' <(gpusort --header=1 -s -t: -k2,2n own-{0,1,2}.txt) -- eval '
    ranks 3 --header=1 -s -t: -k2,2n "own-{rank}.txt" -o "lines-{rank}.txt" &&
        cat lines-0.txt && tail -q -n +2 lines-1.txt lines-2.txt'
ok 'two ranks: indices of lines of files of each rank' eval '
    ranks 2 --header=1 --argsort -s -t: -k2,2n "own-{rank}.txt" -o "indices-{rank}.npy" &&
        gpusort --header=1 --argsort -s -t: -k2,2n own-{0,1}.txt -o one.npy &&
        with_numpy "parts = [np.load(f\"indices-{i}.npy\") for i in range(2)]
assert (np.concatenate(parts) == np.load(\"one.npy\")).all()"'
ok_output 'three ranks: arrays of each rank, of other shapes, become one of one dimension' \
    <(gpusort shape-{0,1,2}.npy) -- eval 'ranks 3 --verify "shape-{rank}.npy" -o shapes.npy && cat shapes.npy'
truncate -s 8800000000 huge-{0,1}.f32
ok 'two ranks: 2^32 indices of files of each rank, and more' \
    ranks 2 --explain --argsort 'huge-{rank}.f32' -o order.u64
rm -f huge-*
seq 9 >figures-0
: >figures-1
ok_output 'with its format, it is sorted' <(seq 9) -- eval \
    'ranks 2 --format=text --type=f32 --output-format=text "figures-{rank}" -o figures && cat figures'
mkdir -p links
ln -sf "$(realpath -s "$target")" links/0
ln -sf "$(realpath -s "$target")" links/1
refused '{rank} in the output, and no launcher' '^gpusort: old-\{rank\}\.txt: .* start it by one of them' -- \
    gpusort -k1 rows -o 'old-{rank}.txt'
refused 'files of two ranks that are links to one file' 'links/1: rank 0 writes to the same file' -- \
    ranks 2 'own-{rank}.npy' --output-format=npy -o 'links/{rank}'

# Outputs of 16 MiB or more, which ranks of one host write through a mapping.
ok_shared_all <<'END'
a large output, indices of numbers|3|npy|--parallel=2 --argsort large.f64
a large output, bytes|2|npy|--parallel=2 --type=u8 large.f64
large parts, sorted together|2|npy|--parallel=1 plenty.f64 plenty.f64 plenty.f64 plenty.f64
large parts, sorted together, descending|2|u32|--parallel=1 -r --type=u32 plenty.f64
the first of large parts|2|f64|--top=9000000 plenty.f64
large parts with a value that is a fifth of them, not sorted together|2|u64|crowded.u64
large parts with a value that is a ninth of them|2|u64|--parallel=2 less-crowded.u64
a large output, lines|2|txt|--parallel=2 -k1 much
END
if [ "$is_sanitized" = no ]; then
    ok_same_bytes '2 ranks: a large output, lines as sort(1) has them' shared.txt <(sort much)
    cp large.f64 large-0.f64
    cp large.f64 large-1.f64
    ok_output 'two ranks, large outputs of each rank' <(gpusort large-[01].f64) -- eval \
        'ranks 2 --parallel=4 "large-{rank}.f64" -o "ordered-{rank}.f64" && cat ordered-[01].f64'
    rm -f large-* ordered-*
fi

cp four.u32 kept.u32
chmod 640 kept.u32
ok_says 'the mode of the file that is replaced stays' '^640$' -- eval \
    'ranks 2 four.u32 -o kept.u32 && stat -c %a kept.u32'
ok_says 'two ranks print one version' '^1$' -- eval 'ranks 2 --version | grep -c "^gpusort "'
ok_says '--explain is of all ranks, printed by one' '^1$' -- eval \
    'ranks 2 --explain four.u32 -o out | grep -c "^ranks  *2, of which 2 on this host"'

# threads COMMAND...: prints how many threads the job uses.
threads() {
    "$@" --explain large.f64 -o out.f64 | sed -n 's/^algorithm .* \([0-9]*\) threads* (.*/\1/p'
}
if possible 'one rank has all threads' 'with sanitizers, or there is one processor' \
    eval '[ "$is_sanitized" = no ] && [ "$(threads gpusort --device=cpu)" != 1 ]'; then
    ok_says "one rank: Open MPI's default binding is undone" "^$(threads gpusort --device=cpu)\$" -- \
        threads ranks 1 --device=cpu
    while IFS='|' read -r name command; do
        ok_says "one rank is bound: $name" '^1$' -- eval "threads $command \"\$GPUSORT\" --device=cpu" </dev/null
    done <<'END'
by an option|mpirun -n 1 --bind-to core
by --cpu-set|mpirun -n 1 --cpu-set 0
by a script that mpirun starts|mpirun -n 1 sh -c "taskset -c 1 \"\$@\"; exit" sh
as mpirun itself|taskset -c 1 mpirun -n 1
as one that sorts alone|mpirun -n 1 env -u OMPI_COMM_WORLD_SIZE
END
fi

# layers OPTION...: the layers of MPI that two ranks load. mpirun may wait for itself when the ranks have ended.
layers() {
    timeout -k 5 60 mpirun --oversubscribe --mca pml_base_verbose 20 "$@" -n 2 "$GPUSORT" four.u32 -o out.u32 >loaded 2>&1 || true
    sed -n 's/.*found loaded component //p' loaded | sort -u | paste -s
}
ok_says 'ranks of one host load no layer of MPI for networks' '^ob1$' -- layers
ok_says 'with a transport that the user names, MPI finds its layers' '.ob1|ob1.' -- layers --mca btl self,vader,tcp
ok_says 'a layer of MPI that the user names is loaded' '^monitoring$' -- layers --mca pml monitoring

ranks 3 --stats=json --trace=trace.json doubles.f64 -o out.f64 2>stats || true
ok_json '--stats=json has what each rank did' "len(s['ranks']) == 3 and
    all(r['sort_seconds'] > 0 and r['memory_bytes'] > 2**20 for r in s['ranks']) and
    sum(r['written_bytes'] for r in s['ranks']) == 8 * 300_001 and
    sum(r['sent_bytes'] for r in s['ranks']) == sum(r['received_bytes'] for r in s['ranks']) > 4 * 300_001" stats
ok '--trace has a process for each rank, and each has written' "$numpy" -c 'import json
events = json.load(open("trace.json"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert sorted(names) == [0, 1, 2] and names[2].startswith("rank 2 on "), names
assert {e["pid"] for e in events if e.get("cat") == "write"} == {0, 1, 2}'
for words in '--zstd doubles.f64' '--output-format=text finite.f64' '--zstd --argsort -k1 rows' '--zstd -k1 rows' \
    '--output-format=npy doubles.f64'; do
    for name in out.file 'out.{rank}'; do
        rm -f out.*
        ranks 2 --stats=json $words -o "$name" 2>stats || true
        ok_json "--stats=json: the bytes that ranks have written are those of the files: $words -o $name" \
            "$(cat out.* | wc -c) == sum(r['written_bytes'] for r in s['ranks'])" stats
    done
done
if [ "$is_sanitized" = no ]; then
    ranks 2 --stats=json crowded.u64 -o out.u64 2>stats || true
    ok_json 'a rank has 2.2 times its part in memory, and little more' \
        "all(r['memory_bytes'] <= 2.2 * 80_000_000 / 2 + 2**26 for r in s['ranks'])" stats
    cat plenty.f64 >/dev/null # a sample is only read in the page cache
    ranks 2 --parallel=1 --stats=json plenty.f64 plenty.f64 plenty.f64 plenty.f64 -o out.f64 2>stats || true
    ok_json 'ranks that sort together have little more than their part in memory' \
        "all(r['memory_bytes'] <= 1.25 * 320_000_000 / 2 + 2**26 for r in s['ranks']) and
        sum(r['sent_bytes'] for r in s['ranks']) == sum(r['received_bytes'] for r in s['ranks']) > 20_000_000" stats
fi

# ---- errors --------------------------------------------------------------------------------------

head -c 100000 finite.f64.zst >cut.f64.zst
cat part1.npy part3.npy >two.npy
# A row: a name, the message, and the arguments.
while IFS='|' read -r name regex words; do
    refused "$name" "$regex" -- ranks 2 $words -o "$target" </dev/null
done <<'END'
an option that is not known: one message|unrecognized option '--nonsense'|--nonsense four.u32
an input that is missing: one message|nothing\.f64: No such file|nothing.f64
a number that is refused is counted in the whole input|late\.f64: number 300001 is a NaN.*\(rank 1 on |--nan=error late.f64
a line that is no number is counted in all lines|no-number:60001: .*\(rank 1 on |no-number
a line that is no number is counted in the whole text|late\.txt:300001: .*\(rank 1 on |--type=f64 late.txt
what ranks do not share is refused|do not share -m: run gpusort without mpirun or srun, or as one rank .mpirun -n 1.$|-m -n lines
the file of a rank is empty|figures-1: raw f32, where rank 0 has text f32; .* empty, and --format gives|--type=f32 figures-{rank}
files of ranks have other units|time-1\.npy: npy .*, where rank 0 has npy .* \(rank 1 on |time-{rank}.npy
files of ranks beside one of all|\{rank\} is in the name of every input or of none|own-{rank}.npy part1.npy
what follows an array is not left out|two.npy: another array follows the first one, of 70001 items|two.npy
compressed data that is cut off|cut\.f64\.zst: .*truncated zstd data|cut.f64.zst
END
printf 'b\ra\r' >returns.txt
zstd -q returns.txt
printf 'name\nb\ra\r' >named-returns.txt
while IFS='|' read -r line words; do
    ok_says "two ranks: carriage returns that may end lines: $words" "$line: this line has carriage returns" -- \
        ranks 2 $words -o got </dev/null
done <<'END'
returns.txt:1|-k1 returns.txt
returns.txt.zst:1|-k1 returns.txt.zst
named-returns.txt:2|-k1 --header named-returns.txt
END
ok_says '--stats is printed once' '^1$' -- eval \
    'ranks 2 --stats four.u32 -o out.u32 2>&1 | grep -c "^gpusort: input "'
refused 'nor do they overwrite a file in place' 'do not share --in-place: ' -- ranks 2 --in-place four.u32
# in_shell N SCRIPT: N ranks of a shell run SCRIPT, in which $0 is gpusort and $1 the output.
{ seq 20000; echo 1,234; seq 10; } | zstd -q -o late.txt.zst
ok_says 'rank 1 gives advice for a compressed file' 'tr -d ,.*, once decompressed' -- \
    eval 'ranks 2 late.txt.zst -o got 2>&1 || :'
in_shell() (program=bash && ranks "$1" -c "$2" "$GPUSORT" "$target")
options=(--verify --explain more.u32 -r --top=2 --zstd=3)
for option in "${options[@]:0:$(full_or_small 6 1)}"; do
    refused "one rank has another option: $option" 'the command line: not as rank 0 has it' -- in_shell 2 \
        '[ $OMPI_COMM_WORLD_RANK = 0 ] && option='"$option"'; exec "$0" $option four.u32 -o "$1"'
done
ok_output 'rank 1 names its pipe twice, and rank 0 two pipes' <(seq 7) -- eval "limit=60 in_shell 2 '
    exec 20< <(seq 3) 30< <(seq 4 5) 21< <(seq 6 7) 31<&21
    exec \"\$0\" -n /dev/fd/2{rank} /dev/fd/3{rank} -o got' && cat got"
ok_output 'rank 0 has a file as standard input, and rank 1 another one' <(gpusort -n few.txt) -- eval "in_shell 2 '
    [ \$OMPI_COMM_WORLD_RANK = 0 ] && file=few.txt || file=cut.txt
    exec \"\$0\" -n - -o got <\$file' && cat got"
with_numpy 'np.save("big.npy", np.arange(9, dtype=">i4"))'
refused 'one rank would write big-endian indices' 'the command line: not as rank 0 has it' -- in_shell 2 \
    '[ $OMPI_COMM_WORLD_RANK = 0 ] && endian=--endian=big
    exec "$0" $endian --argsort --output-format=raw big.npy -o "$1"'
refused 'a trace that cannot be written: one message' 'trace=/dev/full: No space left' -- \
    ranks 2 --trace=/dev/full four.u32 -o more.u32
mkdir host0 host1
cp finite.f64 host0/input.f64
gpusort finite.f64 -o host1/input.f64
refused 'the input of one rank has the same name and size, and other bytes' 'input\.f64: not as rank 0 has it' -- \
    in_shell 2 'cd host$OMPI_COMM_WORLD_RANK; exec "$0" input.f64 -o "$1"'
mv frames-finite.f64.zst host0/frames.f64.zst
cp host0/frames.f64.zst host1
printf x | dd of=host1/frames.f64.zst bs=1 seek=1000000 conv=notrunc status=none
refused 'the frames of one rank are broken' 'frames\.f64\.zst: compressed byte 1.*checksum \(rank 1 on ' -- \
    in_shell 3 'cd host1; exec "$0" frames.f64.zst -o "$1"'
cat host0/frames.f64.zst >/dev/null # headers of frames are read in the page cache only
printf xxxx | dd of=host1/frames.f64.zst bs=1 seek="$(($(stat -c %s host1/frames.f64.zst) / 2))" \
    conv=notrunc status=none
refused 'the frames of one rank are other ones' 'frames\.f64\.zst: ' -- \
    in_shell 2 'cd host$OMPI_COMM_WORLD_RANK; exec "$0" frames.f64.zst -o "$1"'
cp four.u32 four.0.u32
cp four.u32 four.1.u32
refused 'each rank has a file of its own' 'all ranks must name the same files, .* unset OMPI_COMM_WORLD_SIZE' -- \
    in_shell 2 'exec "$0" four.$OMPI_COMM_WORLD_RANK.u32 -o "$1"'
ok_output 'without the variable each rank sorts a file of its own' <(gpusort four.u32 && gpusort four.u32) -- eval \
    'in_shell 2 '"'"'unset OMPI_COMM_WORLD_SIZE PMI_SIZE
        exec "$0" four.$OMPI_COMM_WORLD_RANK.u32 -o own.$OMPI_COMM_WORLD_RANK.u32'"'"' && cat own.[01].u32'
refused 'a header that is too long for the ranks to share' 'its header has 2000001 bytes' -- \
    eval '{ head -c 2000000 /dev/zero | tr "\0" x; echo; echo 1; } | ranks 2 --header=1 -n -o "$target"'
printf '#!/bin/bash\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] || ulimit -f 100\nexec %q "$@"\n' "$GPUSORT" >limited
chmod +x limited
program=./limited
refused 'no space for the part of one rank' 'target/out: File too large; raise .* \(rank 1 on ' -- ranks 2 finite.f64 -o "$target"
[ "$is_sanitized" = yes ] ||
    refused 'no space for the part of one rank, which comes from a pipe in pieces' \
        'temporary file .*: File too large; raise .* \(rank 1 on ' -- \
        eval 'cat large.f64 | limit=60 ranks 2 --type=f64 -o "$target"'
program=

# in_memory SIZE COMMAND...: runs it with a file system of that size in the folder `memory`.
in_memory() {
    unshare --map-root-user --mount bash -c '
        mount -t tmpfs -o "size=$0" none memory && status=0
        "$@" || status=$?
        [ -z "$(ls -A memory | grep -v "^out$")" ] || echo "left behind: $(ls -A memory)" >&2
        exit "$status"' "$@"
}
mkdir memory
if possible 'a large output in memory' 'with sanitizers, or no file system may be mounted' \
    eval '[ "$is_sanitized" != yes ] && in_memory 1m true'; then
    export -f ranks open_mpi
    export work GPUSORT
    gpusort large.f64 -o sorted.f64
    ok 'two ranks write a large output through a mapping' in_memory 30m bash -c '
        ranks 2 --parallel=2 --trace=trace.json large.f64 -o memory/out &&
            cmp memory/out sorted.f64 && grep -q "\"name\":\"space\"" trace.json'
    refused 'no space for a large output' 'memory/out: 17600000 bytes will be written there, and [0-9]+ are free: use another file system$' -- \
        in_memory 12m bash -c 'ranks 3 --parallel=2 large.f64 -o memory/out'
    gpusort --output-format=text large.f64 -o large.txt
    early="^gpusort: temporary file in 'memory' \(-T\): [0-9]+ bytes will be written there, and 12582912 are free"
    refused 'no space for the parts of two ranks' "$early" -- \
        in_memory 12m bash -c 'ranks 2 -S 4M -T memory large.f64 -o "$1"' - "$target"
    refused 'no space for the parts of lines of two ranks' "$early" -- \
        in_memory 12m bash -c 'ranks 2 -S 4M -T memory -n large.txt -o "$1"' - "$target"
    refused 'no space for the parts and the output of two ranks' \
        "^gpusort: temporary file in 'memory' \(-T\) and the output: 35200000 bytes will be written there," -- \
        in_memory 30m bash -c 'ranks 2 -S 4M -T memory large.f64 -o memory/out'
    explained='^memory .*, at least 16\.8 MiB of sorted parts of all ranks of this host stored in memory, which is memory'
    ok_says 'the space that the parts of two ranks take, explained' "$explained \(12.0 MiB free: too little\)" -- \
        in_memory 12m bash -c 'ranks 2 --explain -S 4M -T memory large.f64'
    ok_file 'parts of two ranks, and space for them' got sorted.f64 -- \
        in_memory 20m bash -c 'ranks 2 -S 4M -T memory large.f64 -o got'
    ok_file 'two ranks store a pipe of numbers where a directory is full' got sorted.f64 -- \
        in_memory 4m bash -c 'ranks 2 --type=f64 -T memory -T . -o got <large.f64'
    for rank in 0 1; do zstd -q decimals -o "decimals-$rank.zst"; done
    for words in '- decimals' 'decimals-{rank}.zst'; do
        ok_file "two ranks store lines where a directory is full: $words" got <(sort -g decimals decimals) -- \
            in_memory 64k bash -c "ranks 2 -g $words -T memory -T . -o got <decimals"
    done
fi

# 26 MB for each rank, which are sorted in parts.
if possible 'the memory of ranks' 'a sanitizer takes memory itself' [ "$is_sanitized" != yes ]; then
    ranks 2 --parallel=1 --stats=json -S 48M large.f64 large.f64 large.f64 -o got 2>stats
    ok_json 'the memory of ranks is at most -S' \
        "s['ranks'] and all(rank['memory_bytes'] <= 48 << 20 for rank in s['ranks'])" stats
fi

refused 'rank 0 of PMIx, if nothing says how many ranks there are' 'unset PMIX_RANK$' -- \
    env PMIX_RANK=0 "$GPUSORT" four.u32 -o "$target"
refused 'ranks that MPI does not know are refused' 'started 2 ranks, of which the MPI of .*mpi.so finds 1: .*; if each .*, unset PMI_SIZE$' -- \
    env PMI_SIZE=2 PMI_RANK=0 "$GPUSORT" four.u32 -o "$target"

# ---- another MPI ---------------------------------------------------------------------------------

# mpich N ARGUMENT...: gpusort in N ranks of MPICH, with a plugin that its compiler has built. More ranks than
# processors wait for each other in loops: on two processors three take ten times as long as two.
mpich() {
    timeout 300 mpirun.mpich -n "$1" "$work/mpich/gpusort" "${@:2}"
}
if possible 'ranks of MPICH' 'not with sanitizers, or no mpicc.mpich and mpirun.mpich' \
    eval '[ "$is_sanitized" != yes ] && command -v mpicc.mpich mpirun.mpich'; then
    mkdir "$work/mpich"
    cp "$GPUSORT" "$work/mpich/gpusort"
    mpicc.mpich -std=c11 -D_GNU_SOURCE -I"$tests_dir/.." -O1 -fPIC -shared -o "$work/mpich/mpi.so" \
        "$tests_dir/../mpi/mpi_plugin.c"
    ok_output 'two ranks of MPICH: compressed numbers, written to standard output' \
        finite-sorted.f64 -- mpich 2 finite.f64.zst
    ok_file 'two ranks of MPICH: lines' mpich.txt <(gpusort -k1 rows) -- mpich 2 -k1 rows -o mpich.txt
    refused 'an input that is missing, for ranks of MPICH' 'nothing\.f64: No such file' -- \
        mpich 2 nothing.f64 -o "$target"
fi

# ---- faults --------------------------------------------------------------------------------------

# ok_undone NAME FAULT ARGUMENT...: the job fails within a minute, and the output is as it was.
ok_undone() {
    local name=$1 fault=$2 status=0 limit=60
    shift 2
    old_output
    ranks 2 "$@" -o "$target" >"$work/log/stdout" 2>"$work/log/stderr" || status=$?
    {
        case $status in 0 | 124) echo "status $status" ;; esac
        old_output_problems
    } >"$work/log/problems"
    [ ! -s "$work/log/problems" ] || cat "$work/log/mpirun" >>"$work/log/problems"
    pass_unless_said "$name" "$work/log/problems"
}

# changed_meanwhile NAME COMMAND...: COMMAND changes NAME, an input that only rank 1 has, while the ranks wait for their
# pipes.
changed_meanwhile() {
    local process
    exec 8<>feed.0 9<>feed.1
    ranks 2 -n 'mine.{rank}' 'feed.{rank}' -o "$target" 8>&- 9>&- &
    process=$!
    wait_until bash -c 'find /proc/[0-9]*/fd -lname "$0" | grep -q .' "$(realpath "$1")" 2>/dev/null || :
    sleep 0.2
    "${@:2}" "$1"
    echo 3 >&8
    echo 4 >&9
    exec 8>&- 9>&-
    wait $process
}
if [ "$is_sanitized" = yes ]; then
    skip 'inputs that change, MPI calls that fail, ranks that are killed' 'not with sanitizers'
    done_testing
    exit
fi
mkfifo feed.0 feed.1
seq 5 >mine.0
ln -s "$target" mine.1
old_output
touch -d '1 minute ago' "$target"
refused 'an input of rank 1 that is the output and changes' \
    'it was changed while .* \(rank 1 on ' -- changed_meanwhile "$target" touch
rm mine.1
seq 100000 >mine.1
touch -d '1 minute ago' mine.1
refused 'an input of rank 1 that changes' 'mine.1: it was changed while it was read: .* \(rank 1 on ' -- \
    changed_meanwhile mine.1 touch

# Each rank reads a part of its pipe, and waits for the rest.
progress_of_both() {
    local limit=60 process shown
    exec 8<>feed.0 9<>feed.1
    ranks 2 --progress --format=raw --type=f64 'feed.{rank}' -o got 8>&- 9>&- 2>/dev/null &
    process=$!
    head -c 800000 /dev/zero >&8
    head -c 1600000 /dev/zero >&9
    shown='^gpusort: read 2\.40 MB'
    wait_until grep -q "$shown" "$work/log/mpirun" 2>/dev/null || cat "$work/log/mpirun"
    exec 8>&- 9>&-
    wait $process
}
ok_prints '--progress counts what both ranks have read' '' -- progress_of_both

# appended N ARGUMENT...: N ranks sort live.txt, of 10 lines, and the pipe `late`. Lines are appended to live.txt when
# rank 0 opens the pipe: all ranks have live.txt open then, and read it after the pipe.
mkfifo late
appended() {
    local limit=60
    printf %s "$(seq 10)" >live.txt # the last line continues
    { exec 8>late; seq 11 12 >>live.txt; seq 20 22 >&8; } &
    ranks "$1" -n "${@:2}" live.txt late -o got && cat got
    kill $! 2>/dev/null || : # waits for a reader if the ranks have failed
}
ok_output 'lines that are appended to an input are left out' <(seq 10; seq 20 22) -- appended 4
ok_output 'the indices of lines, of which some are appended' <(seq 0 12) -- appended 3 --argsort --output-format=text
seq 5 >mine.0
seq 100 105 >mine.1
appended_own() {
    local limit=60
    { exec 8>feed.0 9>feed.1; seq 6 7 >>mine.0; seq 50 52 >&8; seq 200 201 >&9; exec 8>&- 9>&-; } &
    ranks 2 -n --argsort --output-format=text 'mine.{rank}' 'feed.{rank}' -o got && cat got
    kill $! 2>/dev/null || :
}
ok_output 'the indices of lines of own files, of which some are appended' <(seq 0 15) -- appended_own
# Inputs beyond a quarter of the files that may be open are closed until they are read, but not those without a name.
for i in {1..30}; do seq $i 30 300 >"few.$i"; done
seq 5 50 500 | zstd -qo few.zst
ok_output 'a compressed input and a pipe after many files' \
    <(for i in {1..30}; do seq $i 30 300; done | cat - <(seq 5 50 500; seq 7) | sort -n) -- eval '
    seq 7 >late &
    limit=60 in_shell 2 "ulimit -n 100; exec \"\$0\" -n few.{1..30} few.zst late -o got" && cat got'

preload=$(dirname "$GPUSORT")/tests/mpi_faults.so
if [ -z "$fault_library" ] || [ ! -f "$preload" ]; then
    skip 'MPI calls fail, ranks are killed' 'the faults are not built'
    done_testing
    exit
fi
cp "$preload" "$work" # LD_PRELOAD needs a name without blanks
preload=$work/mpi_faults.so
# with_faults VARIABLE=VALUE ARGUMENT...: two ranks, and calls fail in rank 1, as VARIABLE says.
with_faults() {
    local program=sh fault=$1 limit=60
    shift
    ranks 2 -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || export '"$fault LD_PRELOAD=$fault_library"'
        exec "$0" "$@"' "$GPUSORT" "$@"
}
# Rank 1 cannot complete its own file, whose last bytes, close or name come when rank 0 is done.
part_fails() { # FAULT INPUT ARGUMENT...
    local fault=$1 input=$2
    shift 2
    rm -f old.*
    cp "$input" old.0
    cp "$input" old.1
    with_faults FAULT="$fault" "$@" 'old.{rank}' -o 'old.{rank}'
}
for fault in write:2:28 close_output:1+:5; do
    ok_fails_with "a rank cannot complete its own file: ${fault%%:*}" 2 '^gpusort: old\.1: .* \(rank 1 on .*\)$' -- \
        part_fails $fault rows -k1
    ok_same_bytes 'the file of the other rank is as it was' old.0 rows
    ok_same_bytes 'and its own' old.1 rows
    ok 'and no other file is left' test "$(echo old.* .gpusort*)" = 'old.0 old.1 .gpusort*'
done
ok_fails_with 'a rank cannot verify its own file' 2 '^gpusort: old\.1: Input/output error \(rank 1 on .*\)$' -- \
    part_fails fdatasync:1:5 rows -k1 --verify
ok_fails_with 'a rank cannot rename its own file' 2 \
    '^gpusort: old\.1: .*; other ranks may have replaced their files \(rank 1 on .*\)$' -- \
    part_fails renameat:1:5 rows -k1
# A rank that fails while messages are sent ends its own, and the message of the job is its error.
while IFS='|' read -r name call error words; do
    ok_fails_with "a rank fails while runs are cut or exchanged: $name" 2 "^gpusort: .*: $error \(rank 1 on " -- \
        with_faults FAULT="$call" $words -o out.file </dev/null
done <<'END'
numbers that it cannot write|pwrite:2:28|No space left on device|--parallel=1 -S 8M large.f64
lines that it cannot write|pwrite:2:28|No space left on device|--parallel=1 -S 8M -k1 much
a run that it cannot read|pread:150:5|Input/output error|--parallel=1 -S 8M large.f64
END
# Rank 0 writes the ranges of all ranks, in pieces, and the other ranks wait until it has them.
ok_fails_with 'rank 0 cannot write the ranges of other ranks' 2 '^gpusort: /dev/full: No space left' -- \
    eval 'limit=60 ranks 2 large.f64 -o /dev/full'
with_faults FAULT_CALLS="$PWD/calls" --parallel=1 large.f64 -o /dev/null
ok_fails_with 'rank 1 cannot read the range that it has stored' 2 '^gpusort: temporary file .*: Input/output error \(rank 1 on ' -- \
    with_faults FAULT="pread:$(sed -n 's/^pread //p' calls):5" --parallel=1 large.f64 -o /dev/null
for call in 0:MPI_{Init_thread:1,Comm_rank:2,Comm_size:1,Comm_split_type:1}:fail \
    1:MPI_{Ibcast:{1,2},Iallreduce:{2,60},Test:30,Isend:1,Irecv:1,Testany:3}:fail \
    1:MPI_{Ibcast:{1,2},Iallreduce:{4,70},Isend:1,Testany:3}:kill \
    1:process_vm_readv:{3:fail,4:kill}; do # calls 1 and 2 find out whether the memory of another rank may be read
    ok_undone "a call of a rank fails, or the rank is killed in it: $call" "$call" finite.f64
done
ok_undone 'a rank is killed while indices of lines are sent' 1:MPI_Isend:2:kill --argsort -k1 rows
fault=0:malloc:1:fail limit=60
ok 'rank 0 has no memory for the trace of rank 1, which it writes in pieces' eval '
    ranks 2 -S 4M --trace=trace.json many.f64 -o out.f64 && "$numpy" -c "import json
assert {event[\"pid\"] for event in json.load(open(\"trace.json\"))[\"traceEvents\"]} == {0, 1}"'
unset fault limit
gpusort large.f64 -o broken.f64.zst
printf xxxx | dd of=broken.f64.zst bs=1 seek=1000000 conv=notrunc status=none
mkfifo open
exec 9<>open # its end does not come
cat broken.f64.zst >open &
ok_undone 'a frame of a pipe is broken' 0:MPI_Finalize:1:fail --parallel=2 --trace=trace.json --type=f64 <&9
exec 9<&-
ok_says 'no thread reads or decodes after that' '^(gpusort )+$' -- tr '\n' ' ' <threads
for call in 3:fail 43:fail 44:kill; do
    ok_undone "ranks sort together, reading: ${call/:/, }" "1:process_vm_readv:$call" --parallel=1 plenty.f64
done
ok_undone 'a rank is killed while the ranks map the output' 1:MPI_Isend:2:kill --parallel=2 large.f64
mpi_faults=$preload preload+=:$fault_library
export FAULT_NAMED=yes # mpirun hands it on to ranks of its own host
kill_after=1           # the ranks remove the temporary when they get SIGTERM
for call in 0:MPI_Irecv:1 1:MPI_Iallreduce:12; do
    ok_undone "a rank is killed while the temporary has a name: $call" "$call:kill" finite.f64
done
fault=0:none:1:fail
ok 'with a temporary that has a name the ranks sort' \
    eval 'ranks 2 finite.f64 -o got.f64 && cmp got.f64 finite-sorted.f64 && [ -z "$(ls -A | grep gpusort-)" ]'
unset FAULT_NAMED
preload=$mpi_faults
# Ranks that cannot read the memory of others send messages.
ok_shared_all <<'END'
99 % of one value, sent in messages|4|u64|hot.u64
a fifth of the keys equal, sent in messages|2|u64|some-crowded.u64
numbers with indices, sent in messages|3|npy|--argsort doubles.f64
parts on disk, sent in messages|2|f64|-S 4M many.f64
the first of all, sent in messages|3|f64|--top=100000 doubles.f64
END
done_testing
