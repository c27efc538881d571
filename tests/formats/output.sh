#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every kind of output is complete after a job. After an error a file is as it was, and a file on standard output has no
# gap and no space beyond its end. Signals to jobs that replace a file are in output_safety.sh.
. "$(dirname "$0")/../lib.sh"

# 262,144 numbers: 2 MiB of u64, more than any buffer.
seq 262144 | shuf --random-source=<(yes) >shuffled
gpusort --type=u64 --output-format=raw shuffled -o sorted.u64
seq 262144 >sorted.text
ok_output 'the numbers that this test goes by' sorted.text -- \
    gpusort --type=u64 --format=raw --output-format=text sorted.u64
gpusort -r sorted.u64 -o reversed.u64

# ---- files ---------------------------------------------------------------------------------------

# ok_alone NAME FILE...: the directory `place` holds these files and no others.
ok_alone() { ok_output "$1: nothing else is left" <(printf '%s\n' "${@:2}" | sort) -- ls -A place; }
fresh_place() { rm -rf place && mkdir place; }

fresh_place
ok_file 'writes a new file' place/new sorted.u64 -- gpusort reversed.u64 -o place/new
ok_alone 'a new file' new

fresh_place
cp reversed.u64 place/both
ok_file 'an input may be the output' place/both sorted.u64 -- gpusort --type=u64 --format=raw place/both -o place/both
ok_alone 'an input that is the output' both

# setuid and setgid are kept or cleared as if the file itself were written to, by root or by another
# user. as_sort_leaves_it NAME MODE COMMAND...: COMMAND sort and COMMAND gpusort replace a file of
# MODE, and leave it with the same mode.
echo 1 >one
as_sort_leaves_it() {
    local name=$1 mode=$2
    shift 2
    fresh_place
    chmod 777 place
    "$@" touch place/by_sort place/both
    chmod "$mode" place/by_sort place/both
    "$@" sort -n one -o place/by_sort
    ok "$name: $mode" "$@" "$GPUSORT" -n one -o place/both
    ok_prints "$name: $mode is as sort(1) leaves it" "$(stat -c %a place/by_sort)\n" -- stat -c %a place/both
}
for mode in 4755 2755 1644 7777; do
    as_sort_leaves_it 'the mode of a file that is replaced' $mode env
done

fresh_place
cp reversed.u64 place/real
ln -s real place/link
ln -s "$PWD/place/link" place/far
ok_file 'an input may be the output through links' place/real sorted.u64 -- \
    gpusort --type=u64 --format=raw place/real -o place/far
ok_prints 'a link stays a link' 'real\n' -- readlink place/link
ok_alone 'output through links' real link far
ln -s missing place/dangling
ok_file 'a link to nothing' place/missing sorted.u64 -- gpusort reversed.u64 -o place/dangling
ok_prints 'a link to nothing stays a link' 'missing\n' -- readlink place/dangling
ln -s round place/round
refused 'a link to itself' 'place/round' -- bash -c 'exec "$0" reversed.u64 -o place/round' "$GPUSORT"

long=$(printf 'x%.0s' {1..255})
fresh_place
for name in "$long" $'a b\nc'; do
    ok_file "a name of ${#name} bytes: ${name:0:3}" "place/$name" sorted.u64 -- gpusort reversed.u64 -o "place/$name"
done

# ---- outputs that are not files ------------------------------------------------------------------

ok_output 'standard output' sorted.u64 -- gpusort reversed.u64
ok_output '-o -' sorted.u64 -- gpusort reversed.u64 -o -
ok_output '-o /dev/stdout' sorted.u64 -- gpusort reversed.u64 -o /dev/stdout
for path in /dev/fd/3 /proc/self/fd/3 /dev/stdout; do
    cat reversed.u64 reversed.u64 >twice
    ok_file "-o $path, a file that is longer, ends where the output does" twice sorted.u64 -- \
        bash -c 'exec "$0" reversed.u64 -o "$1" 3<>twice 1>&3' "$GPUSORT" $path
done
cp reversed.u64 both
ok_file '-o /dev/fd/3, which is the input' both sorted.u64 -- \
    bash -c 'exec "$0" --type=u64 --format=raw both -o /dev/fd/3 3<>both' "$GPUSORT"
{ printf head; cat sorted.u64; printf tail; } >between
ok_file '-o /dev/fd/3 after other output continues there' twice between -- \
    bash -c '{ printf head >&3; "$0" reversed.u64 -o /dev/fd/3; printf tail >&3; } 3>twice' "$GPUSORT"
ok_file 'standard output is appended to when it is opened so' appended <(printf head; cat sorted.u64) -- \
    bash -c 'printf head >appended; exec "$0" reversed.u64 >>appended' "$GPUSORT"
for words in '-n numbers' '-n - <numbers' '-u numbers' '-n numbers numbers' '-m numbers' '-nm numbers ./numbers' \
    '-n numbers - <numbers' '-n numbers -o -'; do
    seq 5 >numbers
    ok_fails_with "a file that the shell empties for standard output: $words >numbers" 2 \
        "^gpusort: (numbers|standard input): .* is empty: if '>' emptied it, its content is gone; -o may" -- \
        bash -c "exec \"\$0\" $words >numbers" "$GPUSORT"
done
ok 'an empty file may be appended to itself' bash -c 'exec "$0" -n numbers >>numbers' "$GPUSORT"
seq 5 >other
for words in '-k1 other numbers' '-c numbers' '-C numbers' '--in-place -n numbers' '-k1 numbers -o sorted' \
    '--explain -n numbers' '-m -n other numbers'; do
    ok "an empty input may be standard output: $words >numbers" \
        bash -c "exec \"\$0\" $words >numbers" "$GPUSORT"
done
ok_file 'standard output is written from where it stands' at_offset between -- \
    bash -c '{ printf head; "$0" reversed.u64; printf tail; } >at_offset' "$GPUSORT"
mkfifo fifo
cat fifo >from_fifo &
ok 'a named pipe is written' gpusort reversed.u64 -o fifo
wait $!
ok_same_bytes 'a named pipe' from_fifo sorted.u64
ok 'a named pipe stays one' test -p fifo
ok '/dev/null is written' gpusort reversed.u64 -o /dev/null
ok '/dev/null stays a device' test -c /dev/null

if possible 'a file that is too large for its file system' 'no calls fail in this build' has_faults; then
    refused 'a file that is too large for its file system: no advice on limits' 'File too large$' -- \
        env LD_PRELOAD="$fault_library" FAULT=write:1:27 "$gpusort_apart" reversed.u64 -o "$target"
fi

# A large file is mapped if it is new, and four threads may write to it: the fault library reports four processors.
head -c 20000000 /dev/zero | tr '\0' 'x' >large
seq 2000000 >many
by_four=("$GPUSORT" --parallel=4)
[ -z "$fault_library" ] || by_four=(env LD_PRELOAD="$fault_library" "$gpusort_apart" --parallel=4)

# ---- refusals ------------------------------------------------------------------------------------

refused '/dev/full' '/dev/full: No space left on device' -- gpusort reversed.u64 -o /dev/full
refused '/dev/full with little data' '/dev/full: No space left on device' -- gpusort --format=text -o /dev/full <<<1
refused '/dev/full with text' '/dev/full: No space left on device' -- gpusort many -o /dev/full
refused 'a full standard output' 'standard output: No space left on device' -- \
    bash -c 'exec "$0" reversed.u64 >/dev/full' "$GPUSORT"
# A closed or unwritable standard output is refused where sort(1) refuses it. Where sort(1) accepts
# it, for an output of no bytes, it is accepted.
for closed in '>&-' '1</dev/null'; do
    for input in /dev/null shuffled; do
        name="an output of $input with $closed"
        if bash -c "exec sort -n $input $closed" 2>/dev/null; then
            ok "$name" bash -c "exec \"\$0\" --format=text $input $closed" "$GPUSORT"
        else
            refused "$name" 'standard output: Bad file descriptor' -- bash -c "exec \"\$0\" $input $closed" "$GPUSORT"
        fi
    done
done
refused 'a closed standard output by its name' '/dev/stdout: Bad file descriptor' -- \
    bash -c 'exec "$0" -o /dev/stdout /dev/null >&-' "$GPUSORT"
refused 'a file where none can be made' '/proc/version: (cannot create a file beside it|Permission denied)' -- \
    gpusort reversed.u64 -o /proc/version
refused 'an output without a name' "^gpusort: '': No such file" -- gpusort reversed.u64 -o ''
refused 'a name that is too long' 'File name too long' -- gpusort reversed.u64 -o "place/x$long"
refused 'a path that is too long' 'File name too long' -- gpusort reversed.u64 -o "$(printf './%.0s' {1..2050})x"

chmod a+rx "$work" "$work/files"
if possible "an ordinary user's file" 'no way to be an ordinary user here' \
    eval '"${as_user[@]}" "$GPUSORT" --version && "${as_user[@]}" test -r reversed.u64'; then
    for mode in 4755 2755 1644; do
        as_sort_leaves_it "an ordinary user's file" $mode "${as_user[@]}"
    done
fi

# full NAME SIZE COMMAND...: COMMAND, whose output is larger than SIZE, has its output in a file system of that size.
# $early: what the message says of an output that is refused before the work.
early='[0-9]+ bytes will be written there, and [0-9]+ are free: use another file system'
full() {
    ok_prints "a file system that is full, $1: refused, nothing left" '2\nold\n' -- \
        within tmpfs "$2" bash -c '
            echo old >small/out
            status=0
            "$@" -o small/out 2>"$0" || status=$?
            echo $status
            cat small/*
            [ "$(ls -A small)" = out ]' "$work/log/full" "${@:3}"
    ok "a file system that is full, $1: the message" \
        grep -qxE "gpusort: small/out: ${message:-No space left on device}" "$work/log/full"
}
mkdir small
if possible 'a file system that is full' 'no name space to mount one in' can_mount small; then
    full 'numbers' 1m "$GPUSORT" reversed.u64
    message=$early full 'numbers of a pipe' 16m bash -c 'cat large | "$@"' - "${by_four[@]}" --device=cpu --format=raw --type=u8
    full 'lines' 10m "${by_four[@]}" --device=cpu many
    message=$early full 'a large file of numbers' 16m "${by_four[@]}" --device=cpu --format=raw --type=u8 large
    message=$early full 'two files of numbers' 16m "$GPUSORT" --device=cpu --format=raw --type=u8 large large
fi
seq 3000000 >lines
yes "$(printf %0999d 0)" | head -n 20000 >alike || true # yes(1) ends by SIGPIPE
export GPUSORT
sort='"$GPUSORT" --device=cpu' bytes='"$GPUSORT" --device=cpu --format=raw --type=u8'
doubles='"$GPUSORT" --device=cpu --format=raw --type=f64 -S 1M'
in_small="temporary file in 'small' \(-T\)" or_in_place='or overwrite the input with --in-place$'
beside="$in_small and the output: 40000000 bytes will be written there, and 3[0-9]{7} are free"
for kind in tmpfs ext4; do
    possible "room on $kind" 'slow, or it cannot be mounted here' \
        eval '[ "$test_size" = full ] && within $kind 24m true' || continue
    ok_prints "$kind: an output that fits is not refused" '20000000\n' -- \
        within $kind 34m bash -c "$bytes large -o small/out && stat -c %s small/out"
    ok_prints "$kind: smaller outputs are not refused" '5\n1000\n' -- \
        within $kind 8m bash -c "$bytes large --top=5 -o small/out && stat -c %s small/out
            $sort -k1 -u alike -o small/out && stat -c %s small/out
            $bytes large --zstd -o small/zst"
    ok_prints "$kind: what has room for parts and output" '20000000\n' -- \
        within $kind 64m bash -c "$doubles large -T small -o small/out && stat -c %s small/out"
    # A row: the size of the file system, what has no room there, the message, and a command.
    while IFS='|' read -r size name message command; do
        refused "$kind: no room for $name" "^gpusort: $message" -- within "$kind" "$size" bash -c "$command"
    done <<END
18m|lines|small/out: $early$|$sort -n lines -o small/out
36m|lines beside the input|small/in: $early, $or_in_place|cp lines small/in && $sort -n small/in -o small/in
18m|lines of standard input|small/out: $early$|$sort -n -o small/out <lines
28m|lines to merge|small/out: $early$|$sort -m -n lines lines -o small/out
18m|standard output|standard output: $early$|$sort -n lines >small/out
16m|parts of numbers|$in_small: 20000000 bytes will be written there, and [0-9]+ are free|$doubles large -T small
16m|parts of lines|$in_small: $early|$sort -n -S 1M lines -T small
16m|parts in two folders|temporary files in 'small', 'small/\.' \(-T\): $early|$doubles large -T small -T small/.
38m|parts beside the output|$beside: use another file system$|$doubles large -T small -o small/out
56m|parts, output and input|$in_small .* are free: .*, $or_in_place|cp large small/in && $doubles small/in -T small -o small/in
38m|parts beside standard output|$beside: use another file system$|$doubles large -T small >small/out
40m|parts of lines beside the output|${beside/40000000*/45777792} bytes will|$sort -n -S 1M lines -T small -o small/out
38m|a pipe, before its parts are merged|small/out: $early$|cat large | $doubles -T small -o small/out
40m|a pipe of lines, before that|small/out: $early$|cat lines | $sort -n -S 1M -T small -o small/out
END
done
rm -f image lines alike
refused 'a file that grows over the limit' 'File too large; raise the limit on the size of files .ulimit -f.$' -- \
    with_limit -f 512 "$GPUSORT" reversed.u64 -o "$target"

# ---- terminals -----------------------------------------------------------------------------------

if possible 'terminals' 'no Python' command -v python3; then
    refused 'binary data to a terminal' 'standard output: .*terminal: use .*--output-format=text or --force$' -- \
        on_terminal "$GPUSORT" reversed.u64
    refused 'compressed data to a terminal' 'standard output: .*terminal: use .*--no-zstd or --force$' -- \
        on_terminal "$GPUSORT" --zstd shuffled
    ok_prints 'text to a terminal' '1\r\n2\r\n' -- on_terminal "$GPUSORT" --format=text <<<$'2\n1'
    printf '21' >two
    ok_prints 'binary data to a terminal with --force' '12' -- on_terminal "$GPUSORT" --force --format=raw --type=u8 two
fi

# ---- closed pipes --------------------------------------------------------------------------------

# closed_pipe COMMAND...: prints two bytes of its output, then its status if that is not 0, and its standard error.
closed_pipe() {
    { "$@" 2>"$work/log/pipe_stderr" || echo "status $?" >&3; } 3>"$work/log/pipe_status" |
        head -c 2
    cat "$work/log/pipe_status" "$work/log/pipe_stderr"
}
set +o pipefail
ok_prints 'a closed pipe ends the run quietly, as sort(1)' '1\nstatus 141\n' -- \
    closed_pipe env --default-signal=PIPE "$GPUSORT" many
ok_prints 'a closed pipe with SIGPIPE ignored is an error, raw numbers' \
    '\1\0status 2\ngpusort: standard output: Broken pipe\n' -- \
    closed_pipe env --ignore-signal=PIPE "$GPUSORT" --type=u32 --output-format=raw many

# ---- standard output that is a file --------------------------------------------------------------

# Data that other programs write before and after the output is never lost.
set -o pipefail
if [ "$is_sanitized" = yes ]; then
    skip 'standard output that is a file' 'about signals, space and other processes, which the build without sanitizers has'
    done_testing
    exit
fi
ones() { "${by_four[@]}" --device=cpu --format=raw --type=u8 large; }
piped() { "${by_four[@]}" --device=cpu --format=raw --type=u8 - < <(cat large); }
echo other >other
# A row: what the file must have, and the commands that write to it.
while IFS='|' read -r expected command; do
    eval "{ $command; } >got"
    ok_same_bytes "standard output that is a file: $command" got <(cat $expected)
done <<'END'
large other large|ones && cat other && ones
large other large|piped && cat other && piped
other large large|cat other && ones && ones >>got
large large|ones & ones; wait $!
END
# What is written is the beginning of large, neither empty nor complete.
for command in ones piped; do
    (ulimit -f 8000 && $command) >got 2>/dev/null || true
    bytes=$(stat -c %s got)
    ok "what has no room is no gap: $command: there are some bytes" \
        test "$bytes" -gt 0 -a "$bytes" -lt "$(stat -c %s large)"
    ok_same_bytes "what has no room is no gap: $command" got <(head -c "$bytes" large)
done
head -c 19999999 /dev/zero | tr '\0' 1 | fold >unended
: >nothing
{
    "${by_four[@]}" -m -n unended nothing unended &
    "${by_four[@]}" -m -n unended nothing unended
    wait $!
} >got
for _ in 1 2 3 4; do cat unended && echo; done >expected
# Two jobs that write to the same file may take turns: no byte is lost.
counts() { wc -lc <"$1" && tr -d '1\n' <"$1" | wc -c; }
ok_same_bytes 'two at once that add last newlines' <(counts got) <(counts expected)
for delay in 0.01 0.02 0.04 0.08 0.16 0.32; do
    {
        "${by_four[@]}" --device=cpu --format=raw --type=u8 - < <(cat large) &
        sleep $delay
        kill -TERM $! || true
        wait $! 2>/dev/null || true
        echo behind
    } >got 2>/dev/null
    cmp got <(head -c "$(($(stat -c %s got) - 7))" large && echo behind) || true
    [ "$(($(stat -c '%b * 512 - %s' got)))" -lt 1048576 ] || stat -c 'after all, %b blocks for %s bytes' got
done >"$work/log/problems" 2>&1
pass_unless_said 'after a signal there is neither a gap nor space' "$work/log/problems"
if [ -n "$fault_library" ]; then
    FAULT=pread:60:5 ones >got 2>/dev/null || true
    ok_prints 'nor is there if the input cannot be read' '0 0\n' -- stat -c '%s %b' got
fi
# The size of a pipe, and so the space for the output, becomes known while it is read.
{ "${by_four[@]}" --device=cpu --format=raw --type=u32 - < <(cat large; echo) >got; } 2>/dev/null || true
ok_prints 'nor is there if nothing is written' '0 0\n' -- stat -c '%s %b' got

# The end of a complete output is not moved, as others may append to it at that moment. Where the
# file system has no fallocate(2), no file position is moved before the bytes are written.
if possible 'calls that are looked at' 'not in this build' has_faults; then
    FAULT_CALLS=$work/log/calls ones >got
    ok 'the end of what is whole is not moved' bash -c '[ -s "$0" ] && ! grep -q "^ftruncate " "$0"' "$work/log/calls"
    # Space that is allocated first is not compressed there.
    FAULT_BTRFS=full FAULT_CALLS=$work/log/calls "${by_four[@]}" --device=cpu --format=raw --type=u8 large -o got
    ok 'no space is allocated on btrfs' bash -c '[ -s "$0" ] && ! grep -q "^fallocate " "$0"' "$work/log/calls"
    ok_same_bytes 'an output on btrfs' got large
    FAULT=fallocate:1+:95 ones >got
    ok_same_bytes 'a file system without fallocate(2)' got large
    seq 1000000 3999999 >lines
    for _ in 1 2 3; do
        {
            FAULT=fallocate:1+:95 "${by_four[@]}" --device=cpu -n lines &
            until [ -s got ] || ! kill -0 $!; do :; done
            kill -KILL $! || true
            wait $! 2>/dev/null || true
            echo behind
        } >got 2>/dev/null
        cmp got <(head -c "$(($(stat -c %s got) - 7))" lines && echo behind) || true
    done >"$work/log/problems" 2>&1
    pass_unless_said 'what comes after one that is killed there' "$work/log/problems"
fi
fresh_place
ok_file 'the pages of an output are made only a little ahead of its writers' place/out large -- \
    timeout 60 "${by_four[@]}" --device=cpu --format=raw --type=u8 -S 16M large -o place/out
ok_file 'a large file' place/out large -- "${by_four[@]}" --device=cpu --format=raw --type=u8 large -o place/out
"${by_four[@]}" --device=cpu -n -u unended -o place/out
ok 'an output that is smaller than the input takes no space beyond its end' \
    test "$(($(stat -c '%b * 512 - %s' place/out)))" -lt 1048576
ok_alone 'a large file' out
head -c 30000000 /dev/zero >got
ones 1<>got
ok_same_bytes 'what is longer' got <(cat large <(head -c 10000000 /dev/zero))

done_testing
