#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The limits of a process: the processors of its affinity and of the quota of its container, the size of its memory,
# full directories, and system calls and memory that are refused. Errors that need no input are reported before a
# pipe is awaited.
. "$(dirname "$0")/../lib.sh"

# ---- processors ----------------------------------------------------------------------------------

lines=$(full_or_small 400000 200000)
seq "$lines" -1 1 >downwards
seq "$lines" >upwards
processors=$(nproc)

# threads_of [VARIABLE=VALUE...] [COMMAND...] GPUSORT [ARGUMENT...]: prints the number of threads that it sorts with.
threads_of() {
    env "$@" -n --device=cpu --stats=json downwards -o got 2>&1 | grep -o '"threads":[0-9]*' |
        grep -o '[0-9]*$'
}
# in_groups FILES COMMAND...: runs COMMAND where /sys/fs/cgroup has only the files FILES, which is
# "NAME=CONTENT;NAME=CONTENT".
in_groups() {
    unshare --map-root-user --mount bash -c '
        mount -t tmpfs none /sys/fs/cgroup
        IFS=";" read -ra files <<<"$1"
        for file in "${files[@]}"; do
            path=/sys/fs/cgroup/${file%%=*}
            mkdir -p "${path%/*}"
            echo "${file#*=}" >"$path"
        done
        "${@:2}"' - "$@"
}
# ok_threads NAME THREADS FILES [WORD...]: there are THREADS threads, or one for each processor if
# there are fewer processors.
ok_threads() {
    local name=$1 threads=$(($2 < processors ? $2 : processors))
    ok_prints "$name" "$threads\n" -- \
        in_groups "$3" bash -c "$(declare -f threads_of); threads_of \"\$@\"" - "${@:4}" "$GPUSORT"
}

ok_prints 'a thread for each processor' "$processors\n" -- threads_of "$GPUSORT"
ok_prints 'a thread for each processor of the affinity' '1\n' -- threads_of taskset -c 0 "$GPUSORT"
if possible 'quotas of processors' 'one processor, or no name space to mount control groups in' \
    eval '[ "$processors" != 1 ] && can_mount /sys/fs/cgroup'; then
    ok_threads 'no quota' 999 'cpu.max=max 100000'
    ok_threads 'a quota' 1 'cpu.max=100000 100000'
    ok_threads 'a quota of a part of a processor' 1 'cpu.max=1000 100000'
    ok_threads 'a quota of a processor and a half' 2 'cpu.max=150000 100000'
    ok_threads 'a quota of another period' 1 'cpu.max=20000 20000'
    ok_threads 'a quota of more than there are' 999 'cpu.max=100000000 100000'
    ok_threads 'a file of groups that makes no sense' 999 'cpu.max=-x 0'
    ok_threads 'room for few threads' 1 'pids.max=25;pids.current=20'
    ok_threads 'room for many threads' 999 'pids.max=1000000;pids.current=20'
    ok_threads 'no limit of threads' 999 'pids.max=max;pids.current=20'
    head -c 30000000 /dev/zero | zstd -q -o packed.u8.zst
    ok_prints 'room for few threads, and compressed input' '"threads":1\n' -- \
        in_groups 'pids.max=25;pids.current=24' bash -c \
        '"$0" --device=cpu --stats=json packed.u8.zst -o got 2>&1 | grep -o "\"threads\":[0-9]*"' "$GPUSORT"
    ok_threads 'OMP_NUM_THREADS is obeyed' 2 'cpu.max=100000 100000' OMP_NUM_THREADS=2
    ok_prints '--parallel is obeyed' '7\n' -- in_groups 'cpu.max=100000 100000' bash -c \
        "$(declare -f threads_of); threads_of \"\$0\" --parallel=7" "$GPUSORT"
    if possible 'quotas of version 1' 'no such groups' grep -qE '[:,]cpu[:,]' /proc/self/cgroup; then
        ok_threads 'a quota of version 1' 1 'cpu/cpu.cfs_quota_us=50000;cpu/cpu.cfs_period_us=50000'
        ok_threads 'no quota of version 1' 999 'cpu/cpu.cfs_quota_us=-1;cpu/cpu.cfs_period_us=100000'
    fi
fi

if possible 'the memory of a container' 'no name space to mount control groups in' can_mount /sys/fs/cgroup; then
    while IFS='|' read -r name memory files; do
        ok_says "the memory of a container: $name" "^memory +$memory\.[0-9] MiB" -- \
            in_groups "memory.current=700000000;$files" "$GPUSORT" --explain -n downwards
    done <<'END'
what is left|83|memory.max=800000000
what is left of the limit for all but urgent needs|83|memory.max=900000000;memory.high=800000000
files that were read|333|memory.max=800000000;memory.stat=inactive_file 300000000
files that were read again|333|memory.max=800000000;memory.stat=active_file 300000000
END
fi

# make_group CONTROLLER LIMIT FILE...: makes a real control group, $group, and writes LIMIT to the first
# FILE that it has.
make_group() {
    local root file
    for root in "/sys/fs/cgroup/$1" /sys/fs/cgroup; do
        group=$root/gpusort-test.$$
        mkdir "$group" 2>/dev/null || continue
        for file in "${@:3}"; do
            [ ! -f "$group/$file" ] || { echo "$2" >"$group/$file" && return; } 2>/dev/null
        done
        rmdir "$group"
    done
    return 1
}
if possible 'the quota of a group around the group' 'no control group may be made' \
    make_group cpu 100000 cpu.max cpu.cfs_quota_us; then
    mkdir "$group/inner"
    ok_prints 'the quota of a group around the group' '1\n' -- bash -c "$(declare -f threads_of)"'
        echo $$ >"$1/inner/cgroup.procs"
        threads_of "$0"' "$GPUSORT" "$group"
    rmdir "$group/inner" "$group"
fi
if possible 'what a container has left' 'no control group may be made' \
    make_group memory 300M memory.max memory.limit_in_bytes; then # of which Python holds 100
    ok_says 'what a container has left' '^memory +1[0-7][0-9]\.[0-9] MiB' -- bash -c '
        echo $$ >"$1/cgroup.procs"
        python3 -c "import subprocess, sys
held = b\"x\" * 104857600
subprocess.check_call([sys.argv[1], \"--explain\", \"downwards\"])" "$0"' "$GPUSORT" "$group"
    rmdir "$group"
fi

# ---- errors that are reported before waiting for input -------------------------------------------

mkfifo silent # has no writer
mkdir closed
chmod 500 closed
printf 'silent\0missing\0' >list
# at_once NAME REGEX -- ARGUMENT...: refused before waiting for a pipe that has no writer.
at_once() { refused "before a pipe is awaited: $1" "$2" -- timeout 10 "$GPUSORT" "${@:4}" -o "$target"; }
nowhere="^gpusort: cannot create temporary file in './missing' \(-T\): No such file or directory; -T names another directory$"
at_once 'no second input' '^gpusort: missing: No such file or directory$' -- -n silent missing
at_once 'an input of no name' "^gpusort: '': No such file or directory$" -- -n silent ''
at_once 'an input that is a directory' '^gpusort: \.: Is a directory$' -- -n silent .
at_once 'an input below a file' '^gpusort: list/x: Not a directory$' -- -n silent list/x
at_once 'no input to merge' '^gpusort: missing: No such file or directory$' -- -m silent missing
at_once 'no second input of numbers' '^gpusort: missing: No such file' -- --type=f64 silent missing
at_once 'no input of a list' '^gpusort: missing: No such file' -- --files0-from=list
at_once 'no -T' "$nowhere" -- -n -T ./missing silent
at_once 'no second -T, numbers' "$nowhere" -- --type=f64 -T . -T ./missing silent
at_once 'a -T that is a file' "temporary file in 'list' \(-T\): Not a directory; -T names another directory$" -- -T list silent
at_once 'no -T, and a list' "$nowhere" -- -T ./missing --files0-from=silent
at_once 'no directory of the trace' '^gpusort: --trace=missing/x: No such file or directory$' -- \
    --trace=missing/x silent
at_once 'lines as numbers' '^gpusort: -n is for lines of text, and raw output ' -- -n --output-format=raw silent
# lines_at_once REGEX OPTION...: the same for lines and these options.
lines_at_once() {
    ok_fails_with "before a pipe is awaited: ${*:2}" 2 "^gpusort: $1" -- timeout 10 "$GPUSORT" -k1 "${@:2}" silent
}
lines_at_once '-k is for .*, and npy output ' -o got.npy
lines_at_once 'got.u32: named as raw u32, but text ' -o got.u32
lines_at_once 'got.u64: named as raw u64, but ' --argsort=u32 -o got.u64
lines_at_once '-k is for text, and --endian=big is for numbers: leave one of them out$' --endian=big
lines_at_once 'standard output: --verify reads back what was written: it needs a regular file, named by -o$' --verify
at_once 'different lines as numbers' '^gpusort: -u is for .*, and npy output ' -- -u --output-format=npy silent
lines_at_once '/dev/stdout: --verify .* by -o$' --verify -o /dev/stdout
lines_at_once '/dev/null: --verify .* by -o$' --verify -o /dev/null
at_once 'lines by the format, and --nan' '^gpusort: --nan is for numbers, and these are lines' -- \
    --format=text --nan=last silent
# Only part of what is read ahead is there, and its first items are out of order.
for first in b '\357'; do
    rm -f stalled && mkfifo stalled
    { printf "$first\0a\0" && head -c 700000 /dev/zero && exec sleep 30; } >stalled 2>/dev/null &
    writer=$!
    ok_fails_with "-z -c of a pipe that stalls ends at the first disorder, after $first" 1 'stalled:2: disorder: a' -- \
        timeout 10 "$GPUSORT" -z -c -k1 stalled
    kill $writer 2>/dev/null || : # it may have ended
done
ok_writes 'a -T that is not needed need not be there' upwards -- -n -T ./missing downwards
chmod 755 "$work"
if possible 'what another user may not do' 'no other user may run the program' "${as_user[@]}" test -x "$GPUSORT"; then
    touch unreadable
    chmod 000 unreadable
    ok_fails_with 'an input that may not be read' 2 '^gpusort: unreadable: Permission denied$' -- \
        "${as_user[@]}" timeout 10 "$GPUSORT" -n silent unreadable
    ok_fails_with 'a -T that may not be written' 2 \
        "^gpusort: cannot create temporary file in 'closed' \(-T\): Permission denied; -T names another directory$" -- \
        "${as_user[@]}" timeout 10 "$GPUSORT" -n -T closed silent
fi
{ sleep 0.2; cat downwards; } >silent 2>/dev/null &
ok_writes 'a pipe whose writer comes later' upwards -- -n silent

# ---- full directories ----------------------------------------------------------------------------

mkdir one two three
# with_directories COMMAND...: runs COMMAND where the directories one, two and three have room for
# 64 KiB, 256 KiB and much more. Fails if COMMAND fails or leaves a file there.
with_directories() {
    unshare --map-root-user --mount bash -c '
        mount -t tmpfs -o size=64k none one
        mount -t tmpfs -o size=256k none two
        status=0
        "$@" || status=$?
        [ -z "$(find one two three -mindepth 1)" ] || status=9
        exit $status' - "$@"
}
if possible 'directories that are full' 'no name space to mount file systems in' with_directories true; then
    parts=(with_directories "$GPUSORT" --device=cpu)
    for directories in 'one three' 'two one three' 'one one three'; do
        words="-T ${directories// / -T }"
        for on in '-n -S 100K' '-n -S 1M' '--type=u32 -S 100K' '--type=u32 -S 1M'; do
            ok_output "$on, in directories $directories" upwards -- "${parts[@]}" $on $words downwards
        done
    done
    head -n $((lines / 2)) upwards >half
    ok_output 'the first ones of parts, where a directory is full' half -- \
        "${parts[@]}" -n -S 1M -T one -T three --top=$((lines / 2)) downwards
    ok_output 'parts of a pipe, where a directory is full' upwards -- \
        "${parts[@]}" -n -S 1M -T one -T three < <(cat downwards)
    cp upwards merged
    "${parts[@]}" -m -n -T one -T three upwards merged >>merged
    sort -m -n upwards upwards | cat upwards - >expected
    ok_same_bytes 'a copy of an input that is written to, where a directory is full' merged expected
    rm merged
    for order in -n --type=u64; do
        refused "all directories are full, $order" \
            "^gpusort: temporary files in 'one', 'two' \(-T\): No space left on device; name more directories with -T$" -- \
            "${parts[@]}" $order -S 1M -T one -T two downwards -o "$target"
    done
fi

# ---- addresses and data --------------------------------------------------------------------------

# The data of lines takes 24 MB, and sorting them 40 MB more. Numbers take twice 12 MB, and twice 24 MB as items.
if possible 'limits of addresses and data' 'a sanitizer takes all addresses itself' [ "$test_size" != small ]; then
    seq 1500000 | tac >many
    seq 1500000 >many.up
    head -n 1000000 many.up >many.first
    gpusort -r --type=f64 --output-format=raw many -o many.f64
    seq 0 1499999 | tac >indices
    zstd -q many -o many.zst
    for limits in '1 -d 50000' '16 -v 50000'; do
        threads=${limits%% *} limit=${limits#* }
        read -ra limited <<<"with_limit $limit"
        limited+=("$GPUSORT" --device=cpu "--parallel=$threads")
        while IFS='|' read -r name expected words; do
            ok_output "$name by $threads threads, ulimit $limit" "$expected" -- "${limited[@]}" $words
        done <<'END'
lines|many.up|-n many
numbers|many.up|--output-format=text many.f64
numbers made of text|many.up|--type=u32 many
indices|indices|--argsort --output-format=text many.f64
indices of lines|indices|-n --argsort many
all of the first ones|many.up|--top=2000000 --output-format=text many.f64
a -S that is more|many.up|-n -S 1G many
END
        # Each thread that decompresses takes 12 MiB.
        [ "$threads" = 1 ] || limited[2]=100000
        ok_output "what is decompressed by $threads threads, ulimit ${limited[*]:1:2}" many.up -- \
            "${limited[@]}" -n many.zst
        limited[2]=${limit#* }
        ok_output "lines of a pipe by $threads threads, ulimit $limit" many.up -- "${limited[@]}" -n < <(cat many)
        ok_output "the first numbers of a pipe by $threads threads, ulimit $limit" many.first -- \
            "${limited[@]}" --type=f64 --format=raw --top=1000000 --output-format=text < <(cat many.f64)
    done
    refused 'no memory to compress the output' ": $target.zst: no memory to compress it$" -- \
        with_limit -v 20000 "$GPUSORT" many.f64 -o "$target.zst"
    sort -m -n many.up many.up >expected
    ok_says '-S beyond ulimit -v is not the reason' '^memory .*\(most of what the limits of the process leave\)' -- \
        with_limit -v 300000 "$GPUSORT" --explain -S 1G many.f64
    ok_output 'a merge, ulimit -v 60000' expected -- with_limit -v 60000 "$GPUSORT" -m -n many.up many.up
    if possible 'no threads' 'no other user may run the program' "${as_user[@]}" test -x "$GPUSORT"; then
        # The limit does not bind root.
        no_threads=(with_limit -u 1 "${as_user[@]}" "$GPUSORT" --device=cpu)
        ok_fails_with 'no thread for the output: the message names the limit' 2 \
            ': cannot start a thread to write the output: .*; raise the limit on processes \(ulimit -u\)' -- \
            "${no_threads[@]}" -n --parallel=1 many
        ok_fails_with 'no threads to sort: the message names the limit' 2 \
            '^gpusort: ended by OpenMP, .* limit on processes \(ulimit -u\) may do$' -- \
            "${no_threads[@]}" -n --parallel=4 many
    fi
    mkdir -p small
    for i in {1..3000}; do echo "$i" >"small/$i"; done
    : >small/empty
    for words in '-n' '-nm' '--type=u16 --format=text --output-format=text'; do
        ok_output "3001 small files, ulimit -v 250000: $words" <(seq 3000) -- \
            with_limit -v 250000 "$GPUSORT" $words small/*
    done
    if possible 'lines that have no room in a container' 'no name space to mount groups in' \
        can_mount /sys/fs/cgroup; then
        for limit in v d; do
            ok_says "without /proc half of ulimit -$limit is left" '^memory +[34][0-9][0-9]\.[0-9] MiB' -- \
                unshare --map-root-user --mount bash -c \
                "ulimit -$limit 1000000; mount -t tmpfs none /proc && exec \"\$@\"" - "$GPUSORT" --explain -n downwards
        done
        for file in memory.max memory.high; do
            ok_says "lines are sorted in parts: $file" 'sorted parts stored' -- \
                in_groups "$file=40000000;memory.current=10000000" "$GPUSORT" -v -n many -o parts
        done
        # Files of 24 and 7 frames of 16 MiB, up to 18 of which would be decoded ahead.
        head -c 16777216 <(yes "$(printf %04095d 0)") >frame
        zstd -q frame
        for _ in {1..24}; do cat frame.zst; done >long.zst
        for _ in {1..7}; do cat frame.zst; done >short.zst
        # fits_in NAME BYTES ARGUMENT...: in a container of so many bytes, the job takes less than four fifths of them.
        fits_in() {
            in_groups "memory.max=$2;memory.current=10000000" "$GPUSORT" --device=cpu --parallel=16 --stats=json \
                "${@:3}" -o peak 2>stats || true
            ok_json "$1" "s['memory']['host_bytes'] < 0.8 * $2" stats
        }
        fits_in 'the first numbers of a compressed file in a small container' 200000000 \
            --top=5 --type=u8 --format=raw long.zst
        fits_in 'a file that is read back in a small container' 40000000 \
            --verify --type=u8 --format=raw frame frame frame
        fits_in 'compressed lines, and frames that are decoded ahead' 500000000 -k1 --format=text long.zst
        fits_in 'a merge of six compressed inputs' 500000000 \
            -m -k1 --format=text short.zst short.zst short.zst short.zst short.zst short.zst
        rm frame frame.zst long.zst short.zst
    fi
fi

# In a real control group of 80 MiB.
if possible 'an output that takes memory in a container' 'slow, or no control group may be made' \
    eval '[ "$test_size" != small ] && make_group memory 80M memory.max memory.limit_in_bytes'; then
    # in_group COMMAND...: runs COMMAND in the group.
    in_group() { bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }
    seq 5000000 | tac >down
    seq 5 >few
    seq 5000000 >up
    python3 -c 'import array
count, step = 3000000, 6148914691237
with open("numbers.u64", "wb") as file:
    array.array("Q", (i * 1000003 % count * step for i in range(count))).tofile(file)
ordered = array.array("Q", range(0, count * step, step))
with open("numbers.sorted", "wb") as file:
    ordered.tofile(file)
with open("numbers", "w") as file:
    file.write("%d\n" * count % tuple(ordered))'
    # The program sees four processors, and so has up to four compressing threads.
    if possible 'a compressed output, in a container' 'no program whose processors can be set' has_faults; then
        ok_output 'a compressed output, in a container' numbers -- in_group bash -c \
            'LD_PRELOAD=$0 "$@" && zstd -dc packed.zst' "$fault_library" "$gpusort_apart" \
            --device=cpu --parallel=16 --output-format=text numbers.u64 -o packed.zst
    fi
    # where_one_is_memory SCRIPT WORDS...: runs SCRIPT in the group, where the folder `one` is in memory. Its "$@" is the
    # program with these words.
    where_one_is_memory() {
        in_group unshare --map-root-user --mount bash -c "mount -t tmpfs none one && $1" - \
            "$GPUSORT" --device=cpu "${@:2}"
    }
    # in_memory LIMIT WORDS...: runs the program so, in a group with that limit.
    in_memory() {
        rmdir "$group"
        make_group memory "$1" memory.max memory.limit_in_bytes
        where_one_is_memory '"$@" && { [ ! -e one/out ] || cat one/out; }' "${@:2}"
    }
    if possible 'outputs and sorted parts in memory' 'no name space to mount file systems in' can_mount one; then
        ok_output 'lines to a file in memory, in a container' up -- in_memory 80M -n -T . down -o one/out
        # 60 MB, which are sorted in parts and merged.
        head -c 60000000 /dev/zero >zeros
        raw=(--format=raw --type=u64 -T . -o one/out)
        ok_output 'numbers to a file in memory, in a container' zeros -- in_memory 80M "${raw[@]}" zeros
        refused 'numbers to a file in memory that a container has no room for' \
            '^gpusort: one/out: it is in memory, where 120000000 bytes will be written, and [0-9]+ are free' -- \
            in_memory 80M "${raw[@]}" zeros zeros
        refused 'nor if they are added to a file in memory' \
            '^gpusort: standard output: it is in memory, where 120000000 bytes will be written, and [0-9]+ are free' -- \
            where_one_is_memory 'echo >one/out && "$@" >>one/out' "${raw[@]:0:4}" zeros zeros
        head -c 48000000 zeros >some
        ok_output 'but a file in memory may be overwritten' some -- \
            where_one_is_memory 'cp some one/out && "$@" 1<>one/out && cat one/out' "${raw[@]:0:4}" some
        rm some
        refused 'a file in memory that leaves too little to sort' \
            '^gpusort: one/out: it is in memory, where 76000000 bytes will be written, and [56][0-9]{7} are free beside' -- \
            in_memory 80M "${raw[@]}" <(head -c 16000000 zeros) zeros
        ok 'a compressed output in memory, whose size is not known' in_memory 80M "${raw[@]}" --zstd zeros zeros
        rm zeros
        # 39 MB of lines and 24 MB of numbers.
        for size in '' '-S 32M' '-S 75M' '-S 90%'; do
            ok_output "sorted parts of lines in memory $size" up -- in_memory 80M -n $size -T one down
            ok_output "sorted parts of numbers in memory $size" numbers.sorted -- in_memory 50M $size -T one numbers.u64
        done
        ok_output 'sorted parts that memory and a disk share' numbers.sorted -- \
            in_memory 30M -T one -T . numbers.u64
        refused 'sorted parts that memory has no room for' \
            "^gpusort: the sorted parts will be stored in 'one' \(-T\), which is memory: 24000000 bytes, and [0-9]+ are free beside the job: name a directory on a disk with -T$" -- \
            in_memory 30M -T one numbers.u64 -o "$target"
        refused 'sorted parts and an output that memory has no room for' \
            "^gpusort: the sorted parts and the output will be stored in 'one' \(-T\), which is memory: 48000000 bytes," -- \
            in_memory 50M -T one numbers.u64 -o one/out
        ok_says 'sorted parts that memory has no room for, explained' \
            '^memory .*22.9 MiB of sorted parts stored in one, which is memory \([0-9.]+ MiB of memory free: too little\)$' -- \
            in_memory 30M -T one numbers.u64 --explain
        refused 'sorted parts of a pipe that memory has no room for' \
            "^gpusort: temporary file in 'one' \(-T\): no memory is left for sorted parts, which are stored in memory: name a directory on a disk with -T$" -- \
            in_memory 45M --format=raw --type=u64 -T one -o "$target" < <(cat numbers.u64 numbers.u64)
        ok_output 'a compressed output in memory' numbers.sorted -- \
            eval 'in_memory 60M --zstd -T . numbers.u64 -o one/out | zstd -dc'
        # What is overwritten takes no memory.
        ok_output 'a file in memory that is sorted in place' numbers.sorted -- where_one_is_memory \
            'cp numbers.u64 one/in.u64 && "$@" && cat one/in.u64' -T . --in-place one/in.u64
        # Files in memory do not count in the memory of the process.
        ok_output 'an output in memory of more than ulimit -v' numbers.sorted -- \
            unshare --map-root-user --mount bash -c 'mount -t tmpfs none one && (ulimit -v 40000 &&
                "$0" --device=cpu --parallel=1 -T . numbers.u64 -o one/out) && cat one/out' "$GPUSORT"
        refused 'an output as text that memory has no room for' \
            '^gpusort: one/out: no memory is left for it, as it is stored in memory: use a file system on a disk$' -- \
            in_memory 45M --output-format=text -T . numbers.u64 -o one/out
    fi
    rmdir "$group"
    make_group memory 80M memory.max memory.limit_in_bytes
    ok_output 'a -S of more than the container has' up -- in_group "$GPUSORT" --device=cpu -n -S 1G -T . down
    # Level 19 takes 90 MB for each frame of 16 MiB, and little for less.
    few_levels="^gpusort: $target.zst: no memory to compress it at level 19: use a lower level \(--zstd=N\)\$"
    refused 'no memory to compress at level 19' "$few_levels" -- \
        in_group "$GPUSORT" --device=cpu -n --zstd=19 --output-format=text - -o "$target.zst" < <(cat down)
    echo x | cat down - >down.x
    refused 'no memory to compress at level 19, before the lines are read' "$few_levels" -- \
        in_group "$GPUSORT" --device=cpu --zstd=19 down.x -o "$target.zst"
    ok_output 'little is compressed at level 19' few -- in_group bash -c \
        '"$0" --device=cpu -n --zstd=19 few | zstd -dc' "$GPUSORT"
    # A line that never ends is refused before the system kills the process. That it may be killed is
    # why this runs in a group.
    too_long='no memory for a line of more than [0-9]+ bytes$'
    truncate -s 1G endless
    for words in '-k1 -S 20M endless' '-n' '-m -k1 few endless' '-c -k1 endless'; do
        ok_fails_with "a line that never ends: $words" 2 "$too_long" -- \
            in_group timeout 60 "$GPUSORT" --device=cpu $words </dev/zero
    done
    rm endless
    rmdir "$group"
fi

# ---- system calls that are refused ---------------------------------------------------------------

# refusing ERRNO COMMAND...: runs COMMAND where newer system calls fail.
refusing() { python3 "$tests_dir/faults/refuse_calls.py" "$@"; }
if possible 'system calls that a container refuses' 'a sanitizer, no Python, or no filters of calls' \
    eval '[ "$is_sanitized" != yes ] && refusing EPERM true'; then
    head -n 3000 upwards >few
    for cause in EPERM ENOSYS; do
        limited=(refusing "$cause" "$GPUSORT" --device=cpu)
        rm -f fresh
        ok_file "$cause: a new file" fresh upwards -- "${limited[@]}" -n downwards -o fresh
        echo 'an old output' >got
        ok_file "$cause: an old file" got upwards -- "${limited[@]}" -n downwards -o got
        ok_output "$cause: in parts" upwards -- "${limited[@]}" -n -S 100K -T . downwards
        ok_output "$cause: a pipe" upwards -- eval 'cat downwards | "${limited[@]}" -n'
        ok_output "$cause: a merge" upwards -- "${limited[@]}" -m -n upwards /dev/null
        cp downwards got
        ok_file "$cause: in place" got upwards -- "${limited[@]}" -n --in-place got
        zstd -q -f downwards -o downwards.zst
        ok_output "$cause: compressed" upwards -- "${limited[@]}" -n downwards.zst
        refused "$cause: a file that is not there" '^gpusort: missing: No such file or directory$' -- \
            "${limited[@]}" missing -o "$target"
    done
fi

# ---- allocations that fail -----------------------------------------------------------------------

# No allocation larger than a given number of bytes succeeds, which no plan can foresee.
if possible 'memory that is refused' 'no program whose calls can be made to fail' \
    eval 'has_faults && [ "$test_size" != small ]'; then
    # Text of 10 MB, whose lines take twice 12 MB more; numbers of 12 MB, or 24 MB with indices.
    seq 750000 | awk '{ print $1 * 7919 % 500009, NR }' >mixed
    sort -s -k1,1n mixed >mixed.stable
    sort -u -k1,1n mixed >mixed.unique
    head -n 500000 mixed.stable >mixed.first
    while IFS='|' read -r name way bytes expected input words; do
        [ "$way" = pipe ] || words+=" $input"
        ok_output "$name of a $way, no more than $bytes bytes at a time" "$expected" -- \
            env LD_PRELOAD="$fault_library" FAULT_MEMORY="$bytes" "$gpusort_apart" --device=cpu --parallel=2 \
            $words < <(cat "$input")
    done <<'END'
lines|file|15000000|mixed.stable|mixed|-s -k1,1n
lines without equal ones|pipe|15000000|mixed.unique|mixed|-u -k1,1n
the first lines|file|15000000|mixed.first|mixed|-s -k1,1n --top=500000
numbers|pipe|8000000|many.up|many.f64|--type=f64 --format=raw --output-format=text
numbers|file|8000000|many.up|many.f64|--type=f64 --format=raw --output-format=text
numbers made of text|pipe|8000000|many.up|many|--type=f64
indices|file|12000000|indices|many.f64|--type=f64 --format=raw --argsort --output-format=text
the first numbers|pipe|20000000|many.first|many.f64|--type=f64 --format=raw --top=1000000 --output-format=text
END
    seq 10 >few
    { seq 700000 && echo abc; } >wrong
    ok_fails_with 'a wrong line of one of several inputs, no more than 8000000 bytes at a time' 2 \
        '^gpusort: wrong:700001: ' -- env LD_PRELOAD="$fault_library" FAULT_MEMORY=8000000 "$gpusort_apart" \
        --device=cpu --parallel=2 few wrong few
fi

# An output of 20 MB is allocated before the sort only where an eighth of the free memory holds it.
# space_before_sort USED: prints whether it is, in a container of 1 GB of which USED bytes are used.
space_before_sort() {
    in_groups "memory.max=1000000000;memory.current=$1" \
        env LD_PRELOAD="$fault_library" "$gpusort_apart" --device=cpu --parallel=4 \
        --type=u32 --format=raw --trace="$work/log/trace" zeros -o got &&
        tr '{' '\n' <"$work/log/trace" | sed -n 's/.*"name":"\(space\|sort\)".*"ts":\([0-9]*\).*/\2 \1/p' |
        sort -n | head -n 1 | cut -d ' ' -f 2
}
if possible 'space for the output, by the free memory' 'no program whose processors can be set, or no name space' \
    eval 'has_faults && [ "$test_size" != small ] && can_mount /sys/fs/cgroup'; then
    head -c 20000000 /dev/zero >zeros
    ok_prints 'the output gets its space at once if memory is plentiful' 'space\n' -- space_before_sort 10000000
    ok_prints 'the output gets its space after the sort if memory is not' 'sort\n' -- space_before_sort 900000000
fi

done_testing
