#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Input that is larger than the memory limit, or than the GPU's memory, is sorted in parts. The
# output is that of NumPy and of sort(1) for up to 800 parts, memory stays within 1.05 times -S, and no
# temporary file is left, even after an error. limits.sh has more of -T.
. "$(dirname "$0")/../lib.sh"
need_numpy
spill=$work/spill
mkdir "$spill"
export TMPDIR=$spill

# in_parts LEAST ARGUMENT...: `gpusort ARGUMENT...` puts at least LEAST sorted parts aside, or none if LEAST is 0.
# Nothing of them is left. Prints what is wrong on standard error.
in_parts() {
    local parts=''
    gpusort -v "${@:2}" 2>"$work/log/told" || { cat "$work/log/told" >&2 && return 1; }
    [[ ! $(<"$work/log/told") =~ gpusort:\ ([0-9]+)\ sorted\ parts\ stored ]] || parts=${BASH_REMATCH[1]}
    [ "$1" != 0 ] || [ -z "$parts" ] || echo "$parts parts, not 0" >&2
    [ "${parts:-1}" -ge "$1" ] || echo "${parts:-1} parts, not $1" >&2
    ! { compgen -G "$spill/*" || compgen -G "$spill/.[!.]*"; } >&2 || echo 'left behind' >&2
}
# ok_parts NAME LEAST EXPECTED -- ARGUMENT...: like ok_writes, in at least LEAST parts.
ok_parts() {
    : >got
    ok_file "$1" got "$3" -- in_parts "$2" "${@:5}" -o got
}

# ---- numbers -------------------------------------------------------------------------------------

# The smallest part has 16 KiB, and half of it is scratch.
count=$(full_or_small 50021 20011)
few=2
# parts_of TYPE: prints the LEAST of a type. Keys of 1 and 2 bytes are counted, and stored nowhere.
parts_of() { if [ "$(bytes_of_type "$1")" -le 2 ]; then echo 0; else echo $few; fi; }
# soak.sh has all types, orders and formats, with fewer parts.
make_data keys . f64,i32,u16,u8 "$count"
for type in f64 u16; do
    base=$type.$count.little parts=$(parts_of "$type")
    ok_parts "$type, .npy" "$parts" "$base.up.npy" -- -S 1b "$base.in.npy"
    ok_parts "$type, big-endian" "$parts" "$type.$count.big.up.raw" \
        -- --format=raw --type="$type" --endian=big -S 1b "$type.$count.big.in.raw"
done

make_data shapes . "$count"
for shape in random equal two sorted reversed zipf; do
    ok_parts "$shape u64" "$few" $shape.up.u64 -- -S 1b $shape.in.u64
    ok_parts "$shape f32 downwards" "$few" $shape.down.f32 -- -r -S 1b $shape.in.f32
    ok_parts "indices of $shape" "$few" $shape.up.indices.u64 -- -S 1b --argsort --output-format=raw $shape.in.u64
    ok_parts "indices of $shape downwards" "$few" $shape.down.indices.f32 -- -r -S 1b --argsort \
        --output-format=raw $shape.in.f32
done

sorted=f64.$count.little.up.raw
unsorted=f64.$count.little.in.raw
zstd -q "$unsorted" -o in.f64.zst
on=(--format=raw --type=f64 -S 1b)
ok_parts 'zstd' "$few" "$sorted" -- "${on[@]}" in.f64.zst
ok_output 'zstd output' "$sorted" -- unpacked "${on[@]}" "$unsorted"
ok_output 'a pipe' "$sorted" -- gpusort "${on[@]}" < <(cat "$unsorted")
ok_output 'a pipe that is slow' "$sorted" -- gpusort "${on[@]}" \
    < <(head -c 100000 "$unsorted"; sleep 0.1; tail -c +100001 "$unsorted")
half=$((8 * (count / 2)))
head -c $half "$unsorted" >first.f64
tail -c +$((half + 1)) "$unsorted" >second.f64
ok_parts 'several inputs' "$few" "$sorted" -- -S 1b first.f64 second.f64 /dev/null
cp "$unsorted" both
ok_file 'in place' both "$sorted" -- gpusort "${on[@]}" both -o both
for top in 1 5000 $((count + 1)); do
    head -c $((top * 8)) "$sorted" >first
    ok_writes "the first $top" first -- "${on[@]}" --top="$top" "$unsorted"
    ok_output "the first $top of a pipe" first -- gpusort "${on[@]}" --top="$top" < <(cat "$unsorted")
done

# Runs that are merged in one pass, and more of them: the fan-in is about 400 with little memory.
with_numpy - "$(full_or_small 1700000 1000000)" <<'END'
count = int(sys.argv[1])
ordered = np.cumsum(random.integers(0, 2**63 // count, count)) - 2**62
ordered.tofile("many.up")
random.permutation(ordered).tofile("many.i64")
END
if [ "$test_size" = small ]; then
    ok_parts '30 parts, larger than their windows' 30 many.up -- -S 1M many.i64
else
    ok_parts '800 parts, in passes' 800 many.up -- -S 64K many.i64
    ok_parts '300 parts, by one thread' 300 many.up -- --parallel=1 -S 170K many.i64
    ok_parts '20 parts, by 7 threads' 20 many.up -- --parallel=7 -S 2600K many.i64
fi

# ---- the GPU's memory ----------------------------------------------------------------------------

no_gpu=$(gpu_problem) || true
if possible "parts for the GPU's memory" 'no GPU' [ -z "$no_gpu" ]; then
    for type in f64 i32 u16 u8; do
        base=$type.$count.little parts=$(parts_of "$type")
        on=(--device=gpu --device-memory=24K --format=raw --type="$type" "$base.in.raw")
        ok_parts "$type on the GPU, in parts" "$parts" "$base.up.raw" -- "${on[@]}"
        ok_parts "$type on the GPU, to disk" "$parts" "$base.down.raw" -- -r -S 1M "${on[@]}"
        for way in -r -S1M; do # sorted parts stay in memory, or are on disk
            direction=up
            [ $way = -S1M ] || direction=down
            cp "$base.in.raw" over
            gpusort $way "${on[@]:0:4}" --in-place over 2>messages
            ok "$type on the GPU, in parts, in place $way" cmp over "$base.$direction.raw"
        done
    done
    ok_parts 'indices on the GPU, in parts' 2 random.up.indices.u64 -- --device=gpu \
        --device-memory=64K --argsort --output-format=raw random.in.u64
    head -c 80 "$sorted" >first
    ok_parts 'the first 10 on the GPU, in parts' 2 first -- --device=gpu --device-memory=24K \
        --top=10 --format=raw --type=f64 "$unsorted"
    seq 9000 -1 1000 >downwards
    seq 1000 9000 >expected
    ok_parts 'lines on the GPU, in parts' 2 expected -- --device=gpu --device-memory=128K -n downwards
    ok_output 'a pipe for the GPU, in parts' "$sorted" -- gpusort --device=gpu \
        --device-memory=64K --format=raw --type=f64 < <(cat "$unsorted")
fi

# ---- lines ---------------------------------------------------------------------------------------

lines=$(full_or_small 20000 3000)
make_data lines "$lines" >lines
awk -v count="$lines" 'BEGIN {
    srand(5)
    for (i = 0; i < count; i++)
        printf "%s%d %.3g %s\n", rand() < 0.2 ? " " : "", rand() * 300, rand() * 1000,
            rand() < 0.1 ? "" : substr("abcdefghij", 1 + rand() * 9, 1 + rand() * 9)
}' >fields
tr '\n' '\0' <fields >zero

for words in 'lines -g' 'lines -n' 'lines -h' 'fields -g -u' 'lines -n -u -r' 'fields -k1' 'fields -n -s' \
    'fields -n -u' 'fields -k2,2g -s' 'fields -k2g -k1,1nr' 'fields -k3,3 -k2,2nr -s -r' 'fields -t a -k2 -u' \
    'zero -z -n' 'zero -z -k2,2g -s'; do
    read -r file options <<<"$words"
    sort $options "$file" >expected
    [ "$test_size" = small ] ||
        ok_parts "$file: $options, few parts" 3 expected -- -S 300K $options "$file"
    ok_parts "$file: $options, many parts" "$(full_or_small 9 2)" expected -- -S 100K $options "$file"
    [ -n "$no_gpu" ] || ok_parts "$file: $options, on the GPU" "$(full_or_small 2 1)" expected -- \
        --device=gpu --device-memory=2M $options "$file"
done

for options in -n '-n -u'; do
    ok_parts "several inputs of lines, $options" 3 <(sort $options lines fields lines) -- \
        -S 100K $options lines fields lines
done
sort -k1 fields >expected
ok_output 'a pipe of lines' expected -- gpusort -S 100K -k1 < <(cat fields)
zstd -q fields -o fields.zst
head -c -1 fields >open
for file in fields.zst open; do ok_parts "compressed, or no last newline: $file" 2 expected -- -S 100K -k1 $file; done
(echo head; cat lines) >headed
ok_parts 'a header' 2 <(echo head; sort -g lines) -- -S 100K -g --header headed
for options in '-g' '-g -r' '-n -u'; do
    for top in 0 500 $((lines + 1)); do
        (sort $options lines || true) | head -n "$top" >expected
        ok_writes "the first $top lines, $options" expected -- -S 100K $options --top="$top" lines
    done
done
{ seq 500; head -c 3000000 /dev/zero | tr '\0' 1; echo; seq 300; head -c 2000000 /dev/zero | tr '\0' 2; } >long
ok_parts 'a line that is longer than the limit' 2 <(sort -n -s long) -- -S 100K -n -s long
head -c 50000 /dev/zero | tr '\0' '\n' >blank
seq 5 >>blank
ok_parts 'lines of which there is nothing' 2 <(sort -k1 blank) -- -S 100K -k1 blank
if possible '500 parts of lines and of indices, in passes' 'a slow build' [ "$test_size" != small ]; then
    seq 1000000 1499999 >expected
    tac expected >many
    ok_parts '500 parts of lines, in passes' 500 expected -- -S 70K -n many
    ok_writes 'the first lines of them, after a second pass' <(seq 1000000 1000002) -- -S 70K -n --top=3 many
    seq 0 499999 | tac >expected
    ok_parts 'indices of 500 parts of lines, in passes' 500 expected -- -S 70K -n --argsort many
fi
awk '{ print NR - 1 "\t" $0 }' fields >numbered
while IFS='|' read -r options of_numbered; do
    sort -s -t '	' $of_numbered numbered | cut -f 1 >expected
    ok_parts "indices of lines: $options" "$(full_or_small 9 2)" expected -- -S 100K --argsort $options fields
    ok_writes "indices of the first lines: $options" <(head -n 1000 expected) -- \
        -S 100K --argsort --top=1000 $options fields
done <<'END'
-n|-k2,2n
-g -r|-k2,2gr
-n -u|-u -k2,2n
-k1|-k2
-k1 -u|-u -k2
END

# ---- refused inputs ------------------------------------------------------------------------------

{ cat fields; seq 3000; echo x; seq 3000; } | sed 's/ .*//' >words
sed -i '/[^0-9x]/d; s/^$/1/' words
bad=$(grep -n -m1 x words | cut -d: -f1)
refuses 'a line that is no number, by its number in the file' "^gpusort: words:$bad: 'x' is not a number: -g would " \
    -- -S 1b words
# Of a file, which is not awaited, these are found when a part is stored.
nowhere="^gpusort: cannot create temporary file in './missing' \(-T\): No such file"
in_tmpdir="^gpusort: cannot create temporary file in './missing' \(TMPDIR\): No such file"
for words in '--format=raw --type=f64' '-n --format=text'; do
    refused "a TMPDIR that is not there is named as such: $words" "$in_tmpdir" -- \
        env TMPDIR=./missing "$GPUSORT" -S 1b $words "$unsorted" -o "$target"
    refused "a -T that is not there, beside the same TMPDIR: $words" "$nowhere" -- \
        env TMPDIR=./missing "$GPUSORT" -S 1b -T ./missing $words "$unsorted" -o "$target"
done
mkdir one two
for words in '-c -n' '-C -k1' '-m -n'; do
    seq 100 109 >some
    ok "a -T that is not there is not needed: $words" bash -c 'cat some | "$0" -T ./missing "$@" >got' "$GPUSORT" $words
done
ok_parts 'two directories' "$few" "$sorted" -- -T one -T two --format=raw --type=f64 -S 1b "$unsorted"
refuses 'one of two directories is not there' "$nowhere" -- \
    -S 1b -T one -T ./missing --format=raw --type=f64 "$unsorted"
for words in '64 -S 1b --format=raw --type=f64' '8 -S 100K -g --format=text'; do
    refused "a limit of size: ulimit -f $words" \
        "^gpusort: temporary file in '.*' \(TMPDIR\): File too large; raise the limit on the size of files .ulimit -f.$" -- \
        with_limit -f ${words%% *} "$GPUSORT" ${words#* } "$unsorted" -o "$target"
done
if possible 'a /tmp in memory' 'no name space to mount one in, or /var/tmp is no better here' \
    eval 'can_mount /tmp && [ "$(stat -f -c %T /var/tmp)" != tmpfs ] && [ -w /var/tmp ]'; then
    cp "$GPUSORT" program # the original may be in /tmp
    cp "$unsorted" unsorted
    # in_memory ARGUMENT...: runs the program with a /tmp of 16 KiB that is in memory.
    in_memory() {
        env -u TMPDIR unshare --map-root-user --mount bash -c '
            mount -t tmpfs -o size=16k none /tmp
            exec env ./program -S 1b --format=raw --type=f64 unsorted "$@"' - "$@"
    }
    ok_says 'a /tmp in memory' 'parts stored in /var/tmp \([0-9.]+ [KMGT]iB free\)$' -- in_memory --explain
    ok_says 'a file system counts once, if two directories are there' 'parts stored in /tmp, /tmp/\., which is memory \(16\.0 KiB free: too little\)$' -- \
        in_memory -T /tmp -T /tmp/. --explain
    ok_output 'a /tmp in memory is not used' "$sorted" -- in_memory
    ok_says 'a /tmp in memory is used if it is named' 'parts stored in /tmp, which is memory \(16\.0 KiB free: too little\)$' -- in_memory -T /tmp --explain
    ok_output 'a directory in which no file can be made is left out' "$sorted" -- unshare --map-root-user --mount bash -c '
        mount -t tmpfs -o nr_inodes=1 none /tmp
        exec env ./program -S 1b --format=raw --type=f64 -T /tmp -T one unsorted'
    rm program
fi
refuses '--device-memory=x' "^gpusort: invalid --device-memory argument 'x'$" -- --device-memory=x lines
while read -r word shown; do
    ok_says "-S $word" "^memory +$shown \(as -S says\)" -- gpusort --explain -S "$word" lines
done <<'END'
1 1.0 KiB
1b 1 bytes
3k 3.0 KiB
2m 2.0 MiB
1536M 1.5 GiB
G 1.0 GiB
END
for size in '-S 3T' '-S 100%' '-S 200%' ''; do
    ok_says "$size is all memory or more" '^memory .*\(most of what is free' -- gpusort --explain $size lines
done
ok_says 'of several sizes, the greatest' '^memory +2.0 GiB' -- gpusort --explain -S 1M -S 2G -S 1G lines
ok_says 'a part of all memory' '^memory +[0-9.]+ [KMGT]iB \(as -S says\)' -- gpusort --explain -S 50% lines
printf '2\n1\n' >few
ok_says 'a small input is sorted without asking what is free' 'memory .*\(enough for a small input\)$' -- gpusort -v few
truncate -s 4M zeros.f64
truncate -s 400K some.f64
free='(, which is memory)? \([0-9.]+ [KMGT]iB free'
while IFS='|' read -r words said; do
    ok_says "what --explain says of parts: $words" "^$said" -- gpusort --explain -T one $words
done <<END
-S 20K lines|memory +20.0 KiB \(as -S says\): [0-9.]+ KiB of lines and their items at a time, .* in one$free\)$
-S 20K some.f64|memory +20.0 KiB \(as -S says\): [0-9]+ numbers at a time, at least [0-9.]+ KiB of sorted parts stored in one$free\)$
-S 20K some.f64|model .* transfers included, if all fitted in memory$
-S 1K zeros.f64|memory .* at least [0-9.]+ [KM]iB of sorted parts stored in one
-S 20K some.f64 -o one/sorted.f64|memory .* in one$free for these and the output\)$
-S 20K --in-place some.f64|output .*: raw \(as the input\), plain$
-S 20K --in-place some.f64|memory .* in one$free\)$
-S 20K --argsort -k1 lines|memory .* at least [0-9.]+ KiB of sorted parts stored in one
-S 20K -T /proc some.f64|memory .* sorted parts stored in one, /proc$
-S 20K --type=u16 some.f64|memory .* numbers at a time, which are counted$
END
ok_says 'what --explain says of parts: a pipe of unknown length' \
    "^memory .*\); if there are more: [0-9]+ numbers at a time, sorted parts stored in one$free\)$" -- \
    bash -c '"$0" --explain -T one -S 20K --format=raw --type=f64 < <(exec cat /dev/zero)' "$GPUSORT"
if possible 'an output on another file system' '/dev/shm is none' \
    eval '[ -w /dev/shm ] && [ "$(stat -c %d /dev/shm)" != "$(stat -c %d .)" ]'; then
    ok_says 'what --explain says of parts: an output on another file system' "^memory .* in one$free\)$" -- \
        gpusort --explain -T one -S 20K some.f64 -o /dev/shm/none.f64
fi
[ -n "$no_gpu" ] || ok_says "how much of the GPU's memory" \
    "^memory .*, 2.0 MiB of the GPU's \(as --device-memory says\)" -- \
    gpusort --explain --device=gpu --device-memory=2M lines

[ "$is_sanitized" != no ] || ok_prints 'too many open files: the advice is no other directory' \
    "gpusort: cannot create temporary file in '$spill' (TMPDIR): Too many open files; raise the limit on open files (ulimit -n)\n" -- \
    bash -c 'for n in {5..20}; do (ulimit -n $n && exec "$0" -S 1b --format=raw --type=f64 "$1" -o out); done 2>&1 |
        grep "temporary file" | sort -u' "$GPUSORT" "$unsorted"

# ---- signals -------------------------------------------------------------------------------------

# A directory in which each file has a name, and in which open files cannot be removed.
if [ -n "$fault_library" ]; then
    sort -n fields >expected
    named=(env LD_PRELOAD="$fault_library" FAULT_NAMED=yes)
    ok_output 'parts in files that have had a name' expected -- "${named[@]}" "$GPUSORT" -S 100K -n fields
    refused 'an open file that cannot be removed' 'cannot create temporary file in .* \(TMPDIR\): Text file busy; -T names another directory$' -- \
        "${named[@]}" FAULT_BUSY=yes "$GPUSORT" -S 100K -n fields -o "$target"
    ok_prints 'none of them is left' '' -- ls -A "$spill"
fi

# SIGTERM, as a later part is stored.
if possible 'SIGTERM after a part was stored' 'with sanitizers, or the faults are not built' has_faults; then
    for input in "--format=raw --type=f64 $unsorted" '-n fields'; do
        refused "the ninth write is one of a part: $input" '^gpusort: temporary file in .* \(TMPDIR\): Input/output error$' -- \
            env FAULT=write:9:5 LD_PRELOAD="$fault_library" "$GPUSORT" -S 1b $input -o "$target"
        old_output
        status=0
        env --default-signal=TERM FAULT=write:9:signal LD_PRELOAD="$fault_library" "$GPUSORT" -S 1b $input \
            -o "$target" 2>"$work/log/stderr" || status=$?
        {
            [ $status -eq 143 ] || echo "exit status $status, not that of the signal"
            old_output_problems
            [ -z "$(ls -A "$spill")" ] || echo "left behind: $(ls -A "$spill")"
        } >"$work/log/problems" 2>&1
        pass_unless_said "SIGTERM after a part was stored: $input" "$work/log/problems"
    done
fi

# ---- memory --------------------------------------------------------------------------------------

# ok_within NAME SIZE_KIB EXPECTED ARGUMENT...: sorts with -S SIZE_KIB to EXPECTED, and takes at most
# 5 % more memory than that.
ok_within() {
    rm -f got
    ok_peak "$1" $(($2 * 105 / 100)) "$GPUSORT" -o got -S "$2" --parallel=2 "${@:4}"
    ok_same_bytes "$1" got "$3"
}
if possible 'memory stays within -S' 'a slow build' [ "$test_size" != small ]; then
    for _ in 1 2 3 4 5; do cat many.i64; done >large.i64
    with_numpy 'np.repeat(np.fromfile("many.up", "i8"), 5).tofile("large.up")'
    ok_within '68 MB of numbers in 40 MiB' 40960 large.up large.i64
    if [ -n "$fault_library" ]; then # it reports four processors, so that the output is mapped
        ok_peak '68 MB of numbers in 72 MiB, by four threads' $((73728 * 105 / 100)) timeout 100 \
            env LD_PRELOAD="$fault_library" "$gpusort_apart" -o got -S 73728 --parallel=4 large.i64
        ok '68 MB of numbers, by four threads' cmp got large.up
        ok_peak '68 MB of numbers in 156 MiB, by 64 threads' $((159744 * 105 / 100)) timeout 100 env FAULT_PROCESSORS=64 \
            LD_PRELOAD="$fault_library" "$gpusort_apart" -o got -S 159744 --parallel=64 large.i64
        ok '68 MB of numbers, by 64 threads' cmp got large.up
    fi
    with_numpy 'for _ in range(50): print(random.integers(10**9), "x" * random.integers(500000, 2000000))' >long
    sort -n long >long.up
    ok_peak '60 MB of lines of 0.5 to 2 MB with -S 10M' 40000 "$GPUSORT" -n --parallel=2 -S 10M long -o got
    ok_same_bytes 'lines of 0.5 to 2 MB' got long.up
    for i in {1..20}; do head -n 40 long.up >"long.$i"; done
    ok_peak 'a merge of 20 files of such lines' 150000 "$GPUSORT" -m -n --parallel=2 long.? long.?? -o got
    rm long*
    seq 3000000 | shuf --random-source=<(yes) >lines.txt
    gpusort --stats=json -n --top=1000000 -S 4M lines.txt -o got 2>stats || true
    ok_same_bytes 'the first lines of parts' got <(seq 1000000)
    ok_json 'the first lines are stored once' "s['runs']['spilled_bytes'] < 1.5 * $(stat -c %s lines.txt)" stats
    mkfifo pipe.i64
    cat large.i64 >pipe.i64 &
    ok_within '68 MB of numbers from a pipe in 40 MiB' 40960 large.up pipe.i64
    rm large.*
    # A quarter of the keys are equal. Their bucket needs an array, and there is room for only one array of all keys.
    with_numpy 'count = 1 << 24
ordered = np.cumsum(random.integers(0, 1 << 38, count, dtype="u8"))
ordered[count // 2 : count * 74 // 100] = ordered[count // 2]
ordered.tofile("crowded.up")
ordered[np.arange(count) * 1000003 % count].tofile("crowded.u64")'
    for kilobytes in 440000 500000; do
        ok_output "a crowded bucket in $kilobytes KiB of addresses" crowded.up -- \
            with_limit -v "$kilobytes" "$GPUSORT" --device=cpu --parallel=2 crowded.u64
    done
    rm crowded.*
    for i in 0 1 2 3 4; do seq 300000 1000000 | tac | sed "s/$/$i/"; done >large
    seq 3000000 10000004 | grep '[0-4]$' >expected
    ok_within '31 MB of lines in 64 MiB' 65536 expected -n large
fi

done_testing
