#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --in-place overwrites a file with its sorted content, once a check has passed. The file keeps its inode, links and
# mode. If that is not possible, the command is refused and the file does not change.
. "$(dirname "$0")/../lib.sh"
need_numpy

with_numpy - <<'END'
for count in (0, 1, 2200000, 5000):
    doubles = random.standard_normal(count)
    doubles.tofile("f8.%d.f64" % count)
    ordered = np.sort(doubles)
    ordered.tofile("f8.%d.sorted" % count)
np.insert(ordered, np.searchsorted(ordered, 0), np.zeros(5000)).tofile("holes.sorted")
large = random.standard_normal(4500000)  # partitioned while it is read
large[::5] = 0.5  # in a bucket that is sorted in an array of its own
large.tofile("large.f64")
np.sort(large).tofile("large.sorted")
for name in ("u1", "i2", "u4", "f4"):
    numbers = (random.standard_normal(400000) * 60).astype("i8").astype(name)
    np.save(name + ".npy", numbers)
    np.save(name + ".sorted.npy", np.sort(numbers))
np.save("none.npy", numbers[:0])
# Headers as other programs and older versions of NumPy write them, without the room that NumPy leaves today.
for name, prefix, padding in (("short", b"\1\0\x46\0", 11), ("version 2", b"\2\0\x3b\0\0\0", 0), ("long", b"\1\0\x3b\x10", 4096)):
    header = b"\x93NUMPY" + prefix + b"{'shape':(400000,),'fortran_order':True,'descr':'<f4'}    " + b" " * padding + b"\n"
    for suffix, array in (("npy", numbers), ("sorted.npy", np.sort(numbers))):
        write("%s.%s" % (name, suffix), header, array)
    assert (np.load(name + ".npy") == numbers).all()
# More than two chunks of 16 MiB, in an order that shows which key is where: buckets that the threads write.
places = np.arange(9000000)
many = places * 1000003 % 9000000  # each of them once
for name, dtype, step in (("many", "<f4", 1), ("many.big", ">f4", -1)):
    for suffix, array in (("npy", many), ("sorted.npy", places[::step])):
        header = b"\x93NUMPY\1\0\x39\0{'shape':(9000000,),'fortran_order':True,'descr':'%s'} \n" % dtype.encode()
        write("%s.%s" % (name, suffix), header, array.astype(dtype))
END

# identity FILE: prints what sorting in place must not change.
identity() { stat -c '%i %h %a %u %g %s' "$1"; }

# sorted_in_place NAME INPUT EXPECTED ARGUMENT...: a copy of INPUT is sorted in place, and is still the same file.
sorted_in_place() {
    local name=$1 expected=$3 status=0 before copy=copy.${2##*.}
    rm -f "$copy" link
    cp "$2" "$copy"
    chmod 640 "$copy"
    ln "$copy" link
    before=$(identity "$copy")
    shift 3
    gpusort "$@" --in-place "$copy" >"$work/log/stdout" 2>"$work/log/stderr" || status=$?
    finish_comparison "$name" "$status" link "$expected" gpusort "$@" --in-place "$copy"
    ok "$name: it is the same file" [ "$before" = "$(identity "$copy")" ]
}

# ---- all kinds of data ---------------------------------------------------------------------------

for count in 0 1 5000 2200000; do
    sorted_in_place "$count doubles" f8.$count.f64 f8.$count.sorted
done
sorted_in_place 'doubles, --verify' f8.2200000.f64 f8.2200000.sorted --verify

sorted_in_place 'doubles, one thread' f8.2200000.f64 f8.2200000.sorted --parallel=1
for threads in 1 3; do
    sorted_in_place "doubles, a fifth of them equal, $threads threads" large.f64 large.sorted \
        --device=cpu --parallel=$threads
done
sorted_in_place 'doubles, in parts' f8.2200000.f64 f8.2200000.sorted -S 8M
sorted_in_place 'no numbers in .npy' none.npy none.npy
for name in short 'version 2' long; do
    sorted_in_place "a header of another program: $name" "$name.npy" "$name.sorted.npy" --verify
    sorted_in_place "a header of another program, in parts: $name" "$name.npy" "$name.sorted.npy" -S 1M
done
sorted_in_place 'a header of odd length, and two threads that write' many.npy many.sorted.npy --device=cpu --parallel=2
# The fault library makes four processors of any number.
if possible 'a header of odd length, and four threads that write' 'no calls fail in this build' has_faults; then
    for name in many many.big; do
        order=(--device=cpu)
        [ $name = many ] || order+=(-r)
        ok_file "$name: a header of odd length, and four threads that write" $name.npy $name.sorted.npy -- \
            env LD_PRELOAD="$fault_library" "$gpusort_apart" "${order[@]}" --parallel=4 --in-place $name.npy
    done
fi
for name in u1 i2 u4 f4; do
    sorted_in_place "$name in .npy" $name.npy $name.sorted.npy
    sorted_in_place "$name in .npy, in parts" $name.npy $name.sorted.npy -S 1M
done
shuf -i 100000-400000 --random-source=<(yes) >numbers.txt
sort -n numbers.txt >numbers.sorted
sorted_in_place 'lines' numbers.txt numbers.sorted
sorted_in_place 'lines, -n, --verify' numbers.txt numbers.sorted -n --verify
sorted_in_place 'lines, in parts' numbers.txt numbers.sorted -n -S 1M
sorted_in_place 'numbers in text that is made again' numbers.txt numbers.sorted --type=u32
if [ "$test_size" = full ]; then
    shuf -i 2000000-4999999 --random-source=<(yes) >many.txt
    seq 2000000 4999999 >many.sorted
    sorted_in_place 'numbers in text, partitioned while they are read' many.txt many.sorted \
        --type=u32 --device=cpu --parallel=2
fi
{ echo title && cat numbers.txt; } >titled.txt
{ echo title && cat numbers.sorted; } >titled.sorted
sorted_in_place 'lines with a header' titled.txt titled.sorted -n --header

cp numbers.txt named
ok_file 'the input may be named as the output too' named numbers.sorted -- gpusort -n -i named -o named --in-place
cp numbers.txt named && ln -sf named leads
ok_file 'a symbolic link is followed' named numbers.sorted -- gpusort -n --in-place leads
ok 'the link stays' [ -L leads ]

# The numbers are in memory once, both while they are checked and while they are written. A server
# would count the memory of all its jobs, and sanitizers take memory too.
if possible '48 MB of doubles, by the CPU' 'for a full build without sanitizers' \
    [ "$test_size" = full -a "$is_sanitized" = no ]; then
    with_numpy 'ordered = np.sqrt(np.arange(6000000))
ordered.tofile("peak.sorted")
ordered.reshape(3000, 2000).T.tofile("peak.f64")'
    "$GPUSORT" --device=cpu --in-place --parallel=2 --stats=json peak.f64 2>stats
    ok_same_bytes '48 MB of doubles, by the CPU' peak.f64 peak.sorted
    ok_json '48 MB of doubles take less than 100' "s['memory']['host_bytes'] <= 100_000_000" stats
    rm peak.f64 peak.sorted
fi
cp f8.5000.f64 holes.f64 && truncate -s 80000 holes.f64
sorted_in_place 'a file with a hole' holes.f64 holes.sorted

# Not every file system, or machine, has ACLs and attributes.
facts() { stat -c '%i %a' named && getfacl -cn named && getfattr -d named; }
cp numbers.txt named
if possible 'a file with an ACL and attributes' 'none here' \
    eval 'setfacl -m u:65534:rw named && setfattr -n user.origin -v somewhere named'; then
    facts >before
    ok 'a file with an ACL and attributes' gpusort -n --in-place named
    ok_output 'they stay' before -- facts
    ok_same_bytes 'and it is sorted' named numbers.sorted
fi

# ---- refused inputs ------------------------------------------------------------------------------

cp numbers.txt in.txt
cp numbers.txt text.f64
printf '3\n2\n1' >open.txt
printf '3.0\n2\n1\n' >spelled.txt
cp numbers.txt other.txt
for option in -u --top=3 --argsort --zstd -m -c -C; do
    kept "$option" "^gpusort: ${option%%=*} cannot be done with --in-place" in.txt -- \
        "$GPUSORT" --in-place "$option" in.txt
done
zstd -q numbers.txt -o packed.zst
mkfifo fifo
printf '2\nx\n1\n' >wrong.txt
cp numbers.txt linked.txt && ln linked.txt linked2.txt
# A row: a name, the message, the file that is kept, and the arguments.
while IFS='|' read -r name regex file words; do
    kept "$name" "$regex" "$file" -- gpusort $words
done <<'END'
another output|^gpusort: other.txt: --in-place writes to the input alone|in.txt|--in-place in.txt -o other.txt
a second input|^gpusort: --in-place sorts one file, and here are 2|in.txt|--in-place in.txt other.txt
standard input|^gpusort: --in-place needs the name of a file|in.txt|--in-place -
text in a file named as raw|would be written: use --output-format=text$|text.f64|--format=text --type=f64 --in-place text.f64
lines in a file named as raw|would be written: use --output-format=text$|text.f64|--format=text -n --in-place text.f64
compressed data|packed.zst: it is compressed, .*: use -o instead$|packed.zst|--in-place packed.zst
another format|--in-place keeps the format, and text would become raw|in.txt|--in-place --type=u32 --output-format=raw in.txt
a last line without its end|open.txt: sorted it has 6 bytes, not 5|open.txt|--in-place open.txt
a number that becomes shorter|spelled.txt: sorted it has 6 bytes, not 8|spelled.txt|--in-place --type=f64 spelled.txt
a FIFO|fifo: --in-place overwrites a regular file|in.txt|--in-place fifo
a device|/dev/null: --in-place overwrites a regular file|in.txt|--in-place --type=u32 --format=raw /dev/null
what is not a number|wrong.txt:2: |wrong.txt|--in-place wrong.txt
a file with two links|copy it here with cp, or sort it with --in-place$|linked.txt|-n linked.txt -o linked.txt
a file with two links that is not the input|copy it here with cp$|linked.txt|-n numbers.txt -o linked.txt
a file with two links, -u|copy it here with cp$|linked.txt|-n -u linked.txt -o linked.txt
END
kept 'an open file' '^gpusort: /dev/fd/3: --in-place needs the name of a file, and this has none' in.txt -- \
    bash -c 'exec "$0" --in-place /dev/fd/3 3<>in.txt' "$GPUSORT"
printf '2\n1\n' >removed.txt
refused 'a file that was removed after it was opened' '^gpusort: /proc/[0-9]+/fd/3: No such file' -- \
    bash -c 'rm removed.txt; exec "$0" --in-place /proc/$$/fd/3' "$GPUSORT" 3<>removed.txt
kept 'a file above the limit of sizes' 'f8.2200000.f64: it is larger than this process may write \(ulimit' \
    f8.2200000.f64 -- with_limit -f 1000 "$GPUSORT" --in-place f8.2200000.f64
ok_says '--explain says what is given up' 'a crash or SIGKILL leaves a mixed file' -- \
    gpusort --explain --in-place numbers.txt

if possible 'a file of a full btrfs' 'no calls fail in this build' has_faults; then
    cp numbers.txt full.txt
    kept 'a file of a full btrfs' \
        '^gpusort: full.txt: this file system may write new content to new space, .* takes [0-9]+ bytes, and 0 are free' \
        full.txt -- env LD_PRELOAD="$fault_library" FAULT_BTRFS=full "$GPUSORT" -n --in-place full.txt
fi
# Opening a lower file with two links for writing makes another file of it.
mkdir lower upper work overlay
# on_overlay COMMAND...: runs COMMAND where overlay has the files of lower, which do not change.
on_overlay() {
    unshare --map-root-user --mount bash -c '
        mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none overlay && "$@"' - "$@"
}
cp numbers.txt lower/one && ln lower/one lower/two && cp numbers.txt lower/alone
if possible 'a file in a lower layer' 'no overlay file system may be mounted' on_overlay true; then
    ok_file 'a file in a lower layer' upper/alone numbers.sorted -- on_overlay "$GPUSORT" -n --in-place overlay/alone
    ok_fails_with 'a file with two links in a lower layer' 2 'is in a lower layer .*: run the command again$' -- \
        on_overlay "$GPUSORT" -n --in-place overlay/two
    ok_file 'the command is run again' upper/two numbers.sorted -- on_overlay "$GPUSORT" -n --in-place overlay/two
    ok_same_bytes 'the lower layer stays' lower/two numbers.txt
fi

# ---- flipped bits, signals -----------------------------------------------------------------------

flips=$(dirname "$GPUSORT")/tests/gpusort_flips
if possible 'bits turned over' "no $flips (make check builds it)" [ -x "$flips" ]; then
    caught() {
        local name=$1 stage=$2 file=$3
        shift 3
        kept "$name: a bit that is turned over" 'the proof failed: .* is left as it was' "$file" -- \
            env FLIP="$stage" "$flips" --in-place "$@" "$file"
    }
    cp f8.2200000.f64 flip.f64
    cp f8.5000.f64 small.f64
    for stage in read sort stored; do
        caught "doubles, $stage" $stage flip.f64
    done
    cp large.f64 stream.f64
    for stage in $(full_or_small 'read:3 sort stored stored:5 stored:1000' stored:5); do
        caught "doubles in buckets, $stage" "$stage" stream.f64 --device=cpu --parallel=2
    done
    [ "$test_size" = small ] ||
        caught 'numbers in text, in buckets' sort:2 many.txt --type=u32 --device=cpu --parallel=2
    caught 'doubles, in a part on disk' spill flip.f64 -S 8M
    for stage in text gather read buffer; do
        caught "lines, $stage" $stage in.txt -n
    done
    caught 'lines, in a part on disk' spill in.txt -n -S 1M
    # The second pass over the data overwrites the file.
    ok_fails_with 'a bit that is turned over later is told' 2 'is of no use$' -- \
        env FLIP=write "$flips" --in-place small.f64
    cp large.f64 stream.f64
    ok_fails_with 'doubles in buckets: a bit that is turned over later is told' 2 'is of no use$' -- \
        env FLIP=write:3 "$flips" --device=cpu --parallel=2 --in-place stream.f64
fi

if possible 'signals while it is overwritten, and other processes' 'no calls fail in this build' has_faults; then
    for name in f8.2200000 large; do # the main thread writes one, two threads the other
        cp $name.f64 ended.f64
        status=0
        { env --default-signal=INT,TERM LD_PRELOAD="$fault_library" FAULT=pwrite:1:signal "$GPUSORT" \
            --device=cpu --in-place --parallel=2 ended.f64 2>"$work/log/notice" || status=$?; } 2>/dev/null
        ok_prints "SIGTERM while $name is overwritten: one line says at once that it waits" \
            'gpusort: the file is being overwritten: the job ends when it is complete\n' -- cat "$work/log/notice"
        [ $name,$status != large,130 ] || status=143 # one thread may take SIGINT before the other takes SIGTERM
        ok "SIGTERM waits until $name is whole, and then ends the run" [ "$status" -eq 143 ]
        ok_same_bytes "$name is whole then" ended.f64 $name.sorted
    done
    { env --default-signal=INT,TERM LD_PRELOAD="$fault_library" FAULT=pwrite:1:signal "$GPUSORT" \
        --device=cpu --in-place --stats=json ended.f64 >object 2>&1 || true; } 2>/dev/null
    ok '--stats=json prints no object if SIGTERM ends the run' test ! -s object
    if [ -x "$flips" ]; then
        cp f8.5000.f64 ended.f64
        status=0
        { env --default-signal=INT,TERM LD_PRELOAD="$fault_library" FAULT=pwrite:1:signal FLIP=write \
            "$flips" --device=cpu --in-place ended.f64 2>"$work/log/stderr" || status=$?; } 2>/dev/null
        ok 'SIGTERM while a write goes wrong ends the job' [ "$status" -eq 143 ]
        ok 'the message that the file is damaged comes first' grep -q 'is of no use$' "$work/log/stderr"
    fi

    cp f8.5000.f64 ended.f64
    ok_fails_with 'the first write fails: the file is not called damaged' 2 '^gpusort: ended.f64: Input.output error$' -- \
        with_fault pwrite:1:5 --in-place ended.f64
    ok_same_bytes 'and is as it was' ended.f64 f8.5000.f64
    cp large.f64 ended.f64
    ok_fails_with 'doubles in buckets: the disk fails while they are written' 2 \
        'ended.f64: Input.output error; .* is of no use$' -- with_fault pwrite:7:5 --parallel=2 --in-place ended.f64
    cp large.f64 ended.f64
    ok_file 'doubles in buckets: a write stores half of what it is given' ended.f64 large.sorted -- \
        with_fault pwrite:7:short --parallel=2 --in-place ended.f64

    # meanwhile NAME CALL COMMAND REGEX: COMMAND changes the file shared.f64 just before the call,
    # and the job then fails with one line that matches REGEX.
    meanwhile() {
        rm -f moved.f64 && cp f8.2200000.f64 shared.f64
        touch -d '1 minute ago' shared.f64 # a file's times have a resolution of some milliseconds
        FAULT_RUN=$3 refused "$1: it is reported" "$4" -- with_fault "$2:run" --in-place --parallel=2 shared.f64
    }
    # One thread writes by pwrite(2), here 32 times, and extends the file again.
    truncated() {
        FAULT_RUN='truncate -s 0 short.f64' ok_fails_with "truncated while it is overwritten: $1" 2 \
            'short.f64: another process truncated it while it was written; .* is of no use$' -- \
            with_fault "pwrite:$2:run" --parallel=1 --in-place short.f64
    }
    head -c 8388608 f8.2200000.f64 | tee again.f64 >short.f64
    truncated 'before the second write' 2
    mv again.f64 short.f64
    case $(stat -f -c %T .) in
    ext* | xfs | tmpfs) truncated 'before the last one' 32 ;;
    *) skip 'truncated before the last write' 'this file system does not show that the file has holes' ;;
    esac
    cp f8.5000.f64 short.f64 && truncate -s 8388608 short.f64
    truncated 'a file with a hole' 2
    # Threads cannot start: before the first byte is overwritten, and after it.
    for ((number = 1, unstarted = 0; number < 50 && unstarted < 3; number++)); do # some processors sort by more threads
        cp f8.2200000.f64 ended.f64
        with_fault pthread_create:$number:11 --parallel=2 -S 6M --in-place ended.f64 2>"$work/log/stderr" && continue
        unstarted=$((unstarted + 1))
        if cmp -s ended.f64 f8.2200000.f64; then
            grep 'is of no use$' "$work/log/stderr" || :
        else
            grep -v 'is of no use$' "$work/log/stderr" || :
        fi
    done >"$work/log/problems"
    [ $unstarted -gt 0 ] || echo 'no thread failed' >>"$work/log/problems"
    pass_unless_said 'a file is called damaged if it is not as it was, and only then' "$work/log/problems"
    # Another job begins while this one reads.
    cp numbers.txt both.txt
    FAULT_RUN='! "$GPUSORT" -nr --in-place both.txt 2>second' ok_file 'a file that another --in-place sorts already' \
        both.txt numbers.sorted -- with_fault read:2:run -n --in-place both.txt
    message='another job is overwriting it with --in-place: wait for its end, or write another file'
    ok_prints 'the second one is refused' "gpusort: both.txt: $message\n" -- cat second
    # Another job overwrites the file that this one replaces: before, and meanwhile.
    cp numbers.txt both.txt
    FAULT_RUN='! "$GPUSORT" -nr both.txt -o both.txt 2>second' \
        ok_file 'a file in place that another job would replace' both.txt numbers.sorted -- with_fault pwrite:1:run -n --in-place both.txt
    ok_prints 'the other one is refused' "gpusort: both.txt: $message\n" -- cat second
    # Other jobs read it: all kinds.
    cp numbers.txt both.txt
    for words in -n -c -C '-n -m' '-n -u' --argsort --top=2 '-n - <' '--format=raw --type=u16' '-n numbers.txt'; do
        echo "\"\$GPUSORT\" $words both.txt >>read; echo \$? >>statuses"
    done >readers
    FAULT_RUN='unset LD_PRELOAD; . ./readers 2>refusals' ok_file 'a file in place that other jobs would read' \
        both.txt numbers.sorted -- with_fault pwrite:1:run -n --in-place both.txt
    ok_output 'the others are refused' <(for ((i = 0; i < 10; i++)); do echo 2; done) -- cat statuses
    ok_output 'they say why' \
        <(for name in both.txt{,,,,,,} 'standard input' both.txt{,}; do
            echo "gpusort: $name: another job is overwriting it with --in-place: wait for its end"
        done) -- cat refusals
    ok 'they write nothing' [ ! -s read ]
    cp numbers.txt both.txt
    FAULT_RUN='"$GPUSORT" -n --in-place both.txt' \
        refused 'a file that is overwritten while it is sorted is not replaced' 'both.txt: it was changed while ' -- with_fault read:2:run -nr both.txt -o both.txt
    ok_same_bytes 'it is left as it was overwritten' both.txt numbers.sorted
    # locking HOW COMMAND...: COMMAND runs while a script locks locked.txt, by lockf(3) or "OFFSET BYTES" by F_OFD_SETLK.
    locking() {
        python3 -c 'import fcntl, struct, subprocess, sys
how, f = sys.argv[1], open("locked.txt", "r+")
if how == "lockf":
    fcntl.lockf(f, fcntl.LOCK_EX)
else:
    fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, *map(int, how.split()), 0))
sys.exit(subprocess.call(sys.argv[2:]))' "$@"
    }
    for how in lockf '100 1' '0 0'; do # all bytes
        cp numbers.txt locked.txt
        ok_file "a file that a script locks: $how" locked.txt numbers.sorted -- \
            locking "$how" "$GPUSORT" -n locked.txt -o locked.txt
    done
    ok_fails_with 'in place, one that a script locks so' 2 '^gpusort: locked.txt: another process has locked it' -- \
        locking lockf "$GPUSORT" -n --in-place locked.txt
    cp numbers.txt locked.txt
    ok_file 'a file that a script locks by flock(1)' locked.txt numbers.sorted -- \
        flock locked.txt "$GPUSORT" -n --in-place locked.txt

    changed='shared.f64: it was changed while (this job ran; nothing is written: .*|it was read: run the command again)$'
    # The first bytes are read to see what they are, before the file is opened as the output.
    for call in read:1 read:2 pread:1; do
        cp f8.2200000.f64 ours.f64
        meanwhile "written to at $call" $call \
            'printf "\1\2\3\4\5\6\7@" | tee ours.f64 | dd of=shared.f64 conv=notrunc status=none' "$changed"
        ok "written to at $call: what was written stays" cmp -n 8 shared.f64 ours.f64
        meanwhile "truncated at $call" $call 'truncate -s 800 shared.f64' \
            'shared.f64: (the file was cut off while it was read|it was changed while)'
        ok_same_bytes "truncated at $call: it is left as it is" shared.f64 <(head -c 800 f8.2200000.f64)
        meanwhile "appended to at $call" $call 'printf 12345678 >>shared.f64' \
            'shared.f64: (the file grew while it was read|it was changed while)'
        ok_same_bytes "appended to at $call: it is left as it is" shared.f64 \
            <(cat f8.2200000.f64 - <<<12345678 | head -c 17600008)
        meanwhile "replaced at $call" $call 'mv shared.f64 moved.f64; echo 1 >shared.f64' \
            'shared.f64: it was moved, removed or replaced while this job ran; nothing is written: .*$'
        ok_same_bytes "replaced at $call: the old file is left" moved.f64 f8.2200000.f64
        ok_same_bytes "replaced at $call: and the new one" shared.f64 <(echo 1)
        rm shared.f64
        meanwhile "removed at $call" $call 'rm shared.f64' \
            'shared.f64: (it was moved, removed or replaced while this job ran|No such file or directory$)'
        ok "removed at $call: no file is made" test ! -e shared.f64
    done
fi
done_testing
