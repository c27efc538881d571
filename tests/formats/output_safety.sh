#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A file that is replaced keeps its owner, mode, ACL and attributes, or permits less where they cannot be kept. Another
# user cannot redirect the output. After a signal the file is as it was, or complete. An output that cannot be replaced
# is refused before any input is read.
. "$(dirname "$0")/../lib.sh"

seq 1000 | shuf --random-source=<(yes) >input
sort -n input >sorted
chmod a+rx "$work" "$work/files"

is_root=no
[ "$EUID" -ne 0 ] || ! "${as_user[@]}" "$GPUSORT" --version >/dev/null 2>&1 || is_root=yes
: >probe
has_acls() { setfacl -m u:65534:r probe 2>/dev/null; }
has_attributes() { setfattr -n user.probe -v 1 probe 2>/dev/null; }

# A directory that only its owner may write to, and one that all users may write to, sticky like /tmp.
fresh_place() { rm -rf place && mkdir -m 755 place; }
fresh_sticky() { rm -rf sticky && mkdir -m 1777 sticky; }

# The program whose calls can fail can also refuse files without a name.
by_name=(env LD_PRELOAD="$fault_library" FAULT_NAMED=yes "$gpusort_apart")
by_name() { "${by_name[@]}" "$@"; }

# ---- a link that another user flips --------------------------------------------------------------

# Root sorts to att/out. The owner of att keeps changing it: to a link to root's file, to a link to
# his own, and to a file.
if possible 'a link that flips' 'not root, or no Perl' eval '[ $is_root = yes ] && "${as_user[@]}" perl -e 1'; then
    mkdir -m 755 att roots
    chown 65534:65534 att
    install -m 600 input roots/file
    "${as_user[@]}" perl -e '
        alarm 60;
        chdir $ARGV[0] or die;
        umask 0;
        sub make { open my $file, ">", $_[0] or die }
        while (1) {
            for my $target ("mine", $ARGV[1], "") {
                make("mine") if $target eq "mine" && ! -e "mine";
                $target ? symlink $target, "new" : make("new");
                rename "new", "out";
            }
        }' "$PWD/att" "$PWD/roots/file" &
    attacker=$!
    wait_until test -L att/out
    rounds=$(full_or_small 100 20)
    for ((i = 0; i < rounds; i++)); do
        "$GPUSORT" -n input -o att/out 2>>"$work/log/race" || true
        [ "$(stat -c '%u %g %a' roots/file)" = '0 0 600' ] ||
            stat -c "after $i sorts root's file is of %u:%g, mode %a" roots/file
    done >"$work/log/problems"
    kill $attacker 2>/dev/null || echo 'the attacker did not run to the end' >>"$work/log/problems"
    wait $attacker 2>/dev/null || true
    pass_unless_said "root's file stays root's while a link to it flips" "$work/log/problems"
    ok "root's file is whole: as it was, or sorted" bash -c 'cmp -s roots/file input || cmp -s roots/file sorted'
    ok_prints 'and no temporary is left there' '' -- find att roots -name '.gpusort-*'
fi

# ---- ACLs, attributes, owner and mode ------------------------------------------------------------

# ok_kept NAME FILE COMMAND...: COMMAND sorts input to FILE, which keeps its owner, mode, ACL and attributes.
ok_kept() {
    facts "$2" >"$work/log/facts_before"
    ok_file "$1: it is sorted" "$2" sorted -- "${@:3}" -n input -o "$2"
    ok_output "$1: all else is as before" "$work/log/facts_before" -- facts "$2"
}
facts() {
    stat -c '%u %g %a' "$1"
    ! has_acls || getfacl -cn "$1"
    ! has_attributes || getfattr -d "$1"
}
# Both kinds of temporary: without a name, and with one.
ways=(gpusort)
[ -z "$fault_library" ] || ways+=(by_name)
for way in "${ways[@]}"; do
    fresh_place
    modes=(600 640 664 755)
    [ $is_root = no ] || modes+=(444 400)
    for mode in "${modes[@]}"; do
        install -m "$mode" /dev/null place/out
        ok_kept "$way: mode $mode" place/out "$way"
    done
    if [ $is_root = yes ]; then
        install -m 640 -o 65534 -g 7 /dev/null place/of_another
        ok_kept "$way: another user's file" place/of_another "$way"
        install -m 4755 -o 65534 -g 7 /dev/null place/set_uid
        ok_kept "$way: a file with setuid" place/set_uid "$way"
    fi
    if possible "$way: ACLs" 'no setfacl, or the file system has none' has_acls; then
        install -m 600 /dev/null place/acl
        setfacl -m u:65534:rw,g:7:r place/acl
        ok_kept "$way: an ACL" place/acl "$way"
        setfacl -m m::r place/acl
        ok_kept "$way: an ACL with a smaller mask" place/acl "$way"
        install -m 640 /dev/null place/plain
        mkdir place/inner
        install -m 600 /dev/null place/inner/plain
        setfacl -m u:65534:rw place/plain
        cp -p place/plain place/inner/acl
        setfacl -d -m u:65534:rwx,g:7:rwx,o::rwx place/inner
        ok_kept "$way: no ACL in a directory with a default ACL" place/inner/plain "$way"
        ok_kept "$way: an ACL in a directory with another default ACL" place/inner/acl "$way"
        touch place/inner/touched
        ok "$way: a new file there" "$way" -n input -o place/inner/new
        ok_output "$way: a new file has the default ACL" <(facts place/inner/touched) -- facts place/inner/new
    fi
    if possible "$way: attributes" 'no setfattr, or the file system has none' has_attributes; then
        : >place/attributes
        setfattr -n user.origin -v somewhere place/attributes
        setfattr -n user.empty place/attributes
        setfattr -n user.large -v "$(printf 'x%.0s' {1..2000})" place/attributes
        [ $is_root = no ] || chmod 440 place/attributes
        ok_kept "$way: user.* attributes" place/attributes "$way"
    fi
    for mask in 000 027 077 137; do
        rm -f place/new place/touched
        (umask $mask && touch place/touched && "$way" -n input -o place/new)
        ok_output "$way: a new file under umask $mask" <(facts place/touched) -- facts place/new
    done
    ok_prints "$way: nothing is left" '' -- find place -name '.gpusort-*'
done

if [ -n "$fault_library" ]; then
    # Some file systems refuse to set modes (EPERM, ENOSYS). The new file may permit less than the old one.
    for errno in 1 38; do
        for mode in 600 664 777; do
            fresh_place
            install -m $mode /dev/null place/out
            ok_file "a file system without modes, errno $errno, mode $mode" place/out sorted -- \
                env FAULT=fchmod:1+:$errno "${by_name[@]}" -n input -o place/out
            ok_prints "a file system without modes, errno $errno, mode $mode: it permits no more" 'out 600\n' -- \
                bash -c 'cd place && stat -c "%n %a" *'
        done
        fresh_place
        install -m 444 sorted place/out
        refused "a file system without modes, errno $errno, which would permit more" 'place/out: ' -- \
            env FAULT=fchmod:1+:$errno "${by_name[@]}" -n input -o place/out
    done
    # All files of a mounted drive of Windows belong to one user, and refuse other modes and owners.
    for user in 0 1000; do
        fresh_place
        install -m 777 /dev/null place/out
        ok_file "a drive whose files are of user $user" place/out sorted -- \
            env FAULT_OWNER=$user FAULT=fchmod:1+:1 "${by_name[@]}" -n input -o place/out
    done
    fresh_place
    for name in new old; do
        ok_file "a drive that cannot rename an open file, $name" place/out sorted -- \
            env FAULT_BUSY=yes "${by_name[@]}" -n input -o place/out
    done
    fresh_place
    ok_file 'a file system that cannot truncate' place/out sorted -- \
        env FAULT=ftruncate:1+:95 "${by_name[@]}" -n input -o place/out
    ok_prints 'nothing is left on these' 'out\n' -- ls -A place
fi

# A group that the user is not in cannot be kept. Its members are others now, and the members of the
# new group were others. So both get only the permissions that group and others had in common.
if possible 'a group that cannot be kept' 'not root' [ $is_root = yes ]; then
    rm -rf open && mkdir -m 777 open
    # old mode, new mode
    while read -r old new; do
        install -m "$old" -o 65534 -g 0 /dev/null open/out
        ok "the group of a file of mode $old is lost" "${as_user[@]}" "$GPUSORT" -n input -o open/out
        ok_prints "the group of a file of mode $old is lost: who may what" "65534 65534 $new\n" -- \
            stat -c '%u %g %a' open/out
    done <<'END'
664 644
640 600
604 600
646 644
666 666
770 700
2775 755
END
    if has_acls; then
        install -m 640 -o 65534 -g 0 /dev/null open/out
        setfacl -m u:7:r open/out
        ok 'the group of a file with an ACL is lost' "${as_user[@]}" "$GPUSORT" -n input -o open/out
        ok_prints 'the group of a file with an ACL is lost: its owner alone has access' '600\n' -- stat -c %a open/out
        ok_prints 'the group of a file with an ACL is lost: no ACL' 'user::rw-\ngroup::---\nother::---\n\n' -- \
            getfacl -cn open/out
    fi
fi

# ---- while it is sorted --------------------------------------------------------------------------

# children PID: prints its child processes. has_temporary PID: it or a child has an output, without a name or with one.
children() { cat "/proc/$1/task/$1/children" 2>/dev/null || true; }
has_temporary() { has_opened "$1" -lname "$PWD/*(deleted)" || [ -n "$(find place -name '.gpusort-*')" ]; }
# has_opened PID TEST...: a descriptor of it or of a child passes the TEST of find(1).
has_opened() {
    local process
    for process in $1 $(children "$1"); do
        [ -z "$(find "/proc/$process/fd" "${@:2}" 2>/dev/null)" ] || return 0
    done
    return 1
}

# meanwhile COMMAND...: "${sorting[@]}" sorts zeros from a pipe to place/out. COMMAND runs after the output is opened
# and before the input ends, with the process number in $sorter. Prints the status and standard error.
sorting=("$GPUSORT")
meanwhile() {
    local sorter status=0
    rm -f pipe && mkfifo pipe
    "${sorting[@]}" --format=raw --type=u64 --device=cpu pipe -o place/out 2>"$work/log/meanwhile" &
    sorter=$!
    {
        head -c 4000000 /dev/zero
        wait_until has_temporary $sorter || true
        "$@" >&2
    } >pipe || true
    wait $sorter 2>/dev/null || status=$?
    echo "status $status"
    cat "$work/log/meanwhile"
}

fresh_place
install -m 644 /dev/null place/out
# honours NAME FACTS COMMAND...: COMMAND runs meanwhile, and place/out has its mode and owner then.
meanwhile_facts() { meanwhile "$@" && stat -c '%a %u %s' place/out; }
honours() { ok_prints "$1 meanwhile counts" "status 0\n$2 4000000\n" -- meanwhile_facts "${@:3}"; }
honours 'a chmod' "600 $EUID" chmod 600 place/out
honours 'another file' "604 $EUID" install -m 604 /dev/null place/out
rm place/out
honours 'a new file' "620 $EUID" install -m 620 /dev/null place/out
honours 'a file that is removed: its mode' "620 $EUID" rm place/out
[ $is_root = no ] || honours 'a chown' '620 65534' chown 65534:7 place/out
taken='status 2\ngpusort: place/out: something that is no regular file took this name meanwhile; it is left as it is\n'
echo old >place/old
ok_prints 'a link that comes meanwhile is refused, and stays' "${taken}old\nold\n" -- \
    eval 'meanwhile ln -sfn old place/out && cat place/old && readlink place/out'
rm place/out
ok_prints 'a directory that comes meanwhile is refused, and nothing else is left' "${taken}old\nout\n" -- \
    eval 'meanwhile mkdir place/out && ls -A place'
rmdir place/out
# A file of that name with a second name, which appears during the sort, is refused as at the start.
ok_prints 'a file with two names meanwhile is refused, and stays' \
    'status 2\ngpusort: place/out: it has 2 hard links, and the others would keep the old content: write another file and copy it here with cp\nold\nold\n' -- \
    eval 'meanwhile ln place/old place/out && cat place/old place/out'

# An output that replaces an input, which another job, a log rotation or a writer changes before the pipe has data.
# overtaken NAME CAUSE COMMAND WORD...: `gpusort WORD... pipe` is refused, because of COMMAND, whose result stays, and no
# temporary.
overtaken() {
    local name=$1 cause=$2 command=$3 sorter status=0
    shift 3
    fresh_place && seq 3 >place/out && ln -s out place/link
    touch -d '1 minute ago' place/out # a file's times have a resolution of some milliseconds
    rm -f pipe && mkfifo pipe
    "$GPUSORT" "$@" pipe <place/out 2>said &
    sorter=$!
    {
        wait_until has_opened $sorter ! -name 0 -lname "$PWD/place/out" || true # or a copy of standard input
        eval "$command"
        rm -rf expected && cp -a place expected
        echo 5
    } >pipe || true
    wait $sorter || status=$?
    {
        [ $status -eq 2 ] || echo "exit status $status"
        [ "$(wc -l <said)" -eq 1 ] || echo 'not one line on standard error'
        grep -q "^gpusort: place/[outlink]*: it was $cause while this job ran; nothing is written" said || cat said
        diff --no-dereference -r expected place || true
    } >"$work/log/problems" 2>&1
    pass_unless_said "$name: $*" "$work/log/problems"
}
another_job='echo 1000 | "$GPUSORT" -n place/out - -o place/out'
for words in '-n place/out -o place/out' '-n - -o place/out' '-nm place/out -o place/out' \
    '--format=raw --type=u16 place/out -o place/out' '-n place/out -o place/link'; do
    overtaken 'another job replaces an input that is the output' 'moved, removed or replaced' "$another_job" $words
    overtaken 'an input that is the output is rotated' 'moved, removed or replaced' \
        'mv place/out place/out.1; echo fresh >place/out' $words
    overtaken 'an input that is the output is moved away' 'moved, removed or replaced' 'mv place/out place/moved' \
        $words
    overtaken 'an input that is the output is written to' changed 'echo more >>place/out' $words
done
fresh_place
cp input place/out
ok_file 'an input that is the output, and named twice' place/out <(sort -n input input) -- \
    gpusort -n place/out place/../place/out -o place/out
fresh_place

# ---- signals -------------------------------------------------------------------------------------

ulimit -c 0
end_sorter() { for signal in "$@"; do kill -s "$signal" "$sorter"; done; }
ended_by() { meanwhile end_sorter "$1" && ls -A place && cat place/out; }
# ends_all KIND SIGNAL...: each signal ends the run, and leaves the old output alone.
ends_all() {
    local kind=$1 signal
    for signal in "${@:2}"; do
        fresh_place
        echo old >place/out
        ok_prints "SIG$signal ends the run and leaves nothing, $kind" \
            "status $((128 + $(kill -l "$signal")))\nout\nold\n" -- ended_by "$signal"
    done
}
sorting=(env --default-signal "$GPUSORT")
ends_all 'neither a file without a name' KILL ABRT INT TERM PWR RTMIN+7
sorting=(env --default-signal "${by_name[@]}")
[ -z "$fault_library" ] || ends_all 'nor one with a name' HUP INT QUIT TERM XCPU PIPE USR1 USR2 ALRM VTALRM PROF \
    IO PWR SYS STKFLT RTMIN RTMIN+7 RTMAX
fresh_place
sorting=(env "--ignore-signal=HUP,TERM,USR1,RTMIN" "$GPUSORT")
ok_prints 'signals that are ignored' 'status 0\n' -- meanwhile end_sorter HUP TERM USR1 RTMIN
sorting=("$GPUSORT")

# Linux ignores the default actions of signals for the first process of a container. unshare exits with its status.
container=(unshare --user --map-root-user --pid --fork)
if possible 'signals in a container' 'no name space of processes' "${container[@]}" true; then
    end_sorter() { kill -s "$1" "$(children "$sorter" | tr -d ' ')"; }
    sorting=(env --default-signal "${container[@]}" "$GPUSORT")
    ends_all 'in a container, nor a file without a name' TERM HUP RTMIN
    sorting=(env --default-signal "${container[@]}" "${by_name[@]}")
    [ -z "$fault_library" ] || ends_all 'in a container, nor one with a name' TERM PIPE
fi
sorting=("$GPUSORT")

# at_any_moment ROUNDS COMMAND...: SIGTERM at moments over the whole time that COMMAND takes leaves place/out
# as it was or as it is after COMMAND, and no other file. Most signals come before the file has its name, and end COMMAND.
at_any_moment() {
    local begin=$EPOCHREALTIME rounds=$1 took i status ignored=0
    shift
    fresh_place
    "$@"
    took=$((${EPOCHREALTIME/./} - ${begin/./}))
    cp place/out whole
    for ((i = 0; i < rounds; i++)); do
        echo old >place/out
        status=0
        timeout "$(printf '%d.%06d' $((took * i / rounds / 1000000)) $((took * i / rounds % 1000000 + 1)))" "$@" || status=$?
        if cmp -s place/out whole; then
            [ $status -eq 0 ] || ignored=$((ignored + 1))
        else
            [ "$(head -c 10 place/out)" = old ] || echo "after $i of $rounds parts it is neither"
        fi
        [ "$(ls -A place)" = out ] || ls -A place
    done >"$work/log/problems" 2>&1
    [ $((2 * ignored)) -le "$rounds" ] || echo "$ignored of $rounds signals were ignored" >>"$work/log/problems"
    pass_unless_said "SIGTERM at any moment leaves the old output or the new one: ${*##*/}" "$work/log/problems"
}
head -c 18000000 /dev/zero >large.u8
head -c 4000000 /dev/urandom >random.u64
seq 300000 -1 1 >lines # a job of these has its name for a small part of its time
at_any_moment 20 "$GPUSORT" -n lines -o place/out
at_any_moment 10 "$GPUSORT" large.u8 -o place/out
at_any_moment 10 "$GPUSORT" --zstd="$(full_or_small 15 1)" random.u64 -o place/out
if [ -n "$fault_library" ]; then
    at_any_moment 30 "${by_name[@]}" -n lines -o place/out
    at_any_moment 10 "${by_name[@]}" --parallel=4 large.u8 -o place/out # mapped
fi
fresh_place

# Another process truncates the temporary once its space is allocated, before it is written: the 60th
# call of pread(2) is one that reads numbers. On the disk, and in memory.
cut_off='file=$(find /proc/$PPID/fd -lname "*(deleted)")
    until [ "$(stat -L -c %s "$file")" -ge 18000000 ]; do sleep 0.01; done
    truncate -s 3000000 "$file"'
for directory in place "$(mktemp -d /dev/shm/gpusort-test.XXXXXX)"; do
    case $(stat -f -c %T "$directory") in tmpfs | ext* | xfs) is_mapped=yes ;; *) is_mapped=no ;; esac
    if possible "a temporary in $directory is truncated" 'no calls fail in this build, or it is not mapped there' \
        eval 'has_faults && [ $is_mapped = yes ]'; then
        echo old >"$directory/out"
        ok_fails_with "a temporary in $directory is truncated" 2 \
            "^gpusort: $directory/out: another process truncated it while it was written$" -- \
            timeout 20 env FAULT=pread:60:run FAULT_RUN="$cut_off" LD_PRELOAD="$fault_library" \
            "$gpusort_apart" --device=cpu --parallel=4 large.u8 -o "$directory/out"
        ok_prints "a temporary in $directory is truncated: the old output stays" 'out\nold\n' -- \
            bash -c 'ls -A "$0" && cat "$0/out"' "$directory"
    fi
    rm -rf "$directory"
done
fresh_place
if [ "$is_sanitized" = no ]; then
    ok 'a small stack' with_limit -s 64 "$GPUSORT" -n input -o place/out
    seq 1000 | gpusort --type=f64 --output-format=raw >doubles
    ok 'a small stack, and numbers without a type' with_limit -s 64 "$GPUSORT" --format=raw doubles -o place/out
    seq 600000 >many
    ok_output 'a small stack, and many lines for two threads' many -- bash -c \
        'ulimit -s 64; for _ in {1..5}; do shuf many | "$0" --device=cpu --parallel=2 -n -o out || exit; done; cat out' \
        "$GPUSORT"
fi

# ---- outputs that cannot be replaced, and files of other users -----------------------------------

# refused_early NAME REGEX PATH COMMAND...: COMMAND -o PATH is refused before its input, a pipe
# without a writer, is opened. So is COMMAND --explain.
mkfifo silent
refused_early() {
    refused "$1" "$2" -- timeout 10 "${@:4}" silent -o "$3"
    refused "$1, --explain" "$2" -- timeout 10 "${@:4}" --explain silent -o "$3"
}

fresh_place
echo old >place/out
ln place/out place/second
ln -s out place/link
copy_it='write another file and copy it here with cp$'
for path in place/out place/second place/link; do
    refused_early "$path, a file with two names" \
        "^gpusort: $path: it has 2 hard links, and the others would keep the old content: $copy_it" $path "$GPUSORT"
done
for words in '-n place/out' '--zstd input' '-m -n sorted sorted'; do
    kept "a file with two names: $words" 'it has 2 hard links' place/second -- "$GPUSORT" $words -o place/out
done
for words in '' '-m -n sorted' --top=3 '--type=u64 --format=raw' --argsort; do
    refused_early "a missing directory: $words" '^gpusort: missing/out: No such file or directory$' missing/out \
        "$GPUSORT" $words
done
ln -s ../missing/out place/astray
refused_early 'a link into a missing directory' '^gpusort: place/astray: No such file' place/astray "$GPUSORT"
refused_early 'a directory' '^gpusort: place: Is a directory$' place "$GPUSORT"
refused_early 'a file as a directory' '^gpusort: input/out: Not a directory$' input/out "$GPUSORT"
refused_early 'a descriptor that is not open' '^gpusort: /dev/fd/9: Bad file descriptor$' /dev/fd/9 "$GPUSORT"
refused 'an input that is missing is reported as before' '^gpusort: nowhere: No such file' -- \
    "$GPUSORT" nowhere -o missing/out

# Files that are open already, and links to them.
: >got
ln -s /dev/stdout place/stdout
ok_output 'a link to /dev/stdout' sorted -- gpusort -n input -o place/stdout
refused "another process's removed file" 'cannot create a file beside it' -- \
    bash -c 'exec 7<>removed; rm removed; "$0" -n input -o /proc/$$/fd/7' "$GPUSORT"
ok_output "another process's pipe" sorted -- bash -c 'exec "$0" -n input -o /proc/$$/fd/1 | cat' "$GPUSORT"
ok 'a link to /dev/null, which stays a device' bash -c \
    'ln -s /dev/null place/null && "$0" -n input -o place/null && test -c /dev/null' "$GPUSORT"
mkfifo place/fifo

if possible "what another user's is" 'not root' [ $is_root = yes ]; then
    rm -rf closed && mkdir closed
    install -m 666 /dev/null closed/out
    refused_early 'a directory that may not be written' \
        "^gpusort: closed/out: its directory may not be written \(Permission denied\), so it cannot be replaced: $copy_it" \
        closed/out "${as_user[@]}" "$GPUSORT"
    refused_early 'a new file there' '^gpusort: closed/new: Permission denied$' closed/new "${as_user[@]}" "$GPUSORT"
    install -m 644 /dev/null closed/roots
    refused_early "root's file" '^gpusort: closed/roots: Permission denied$' closed/roots "${as_user[@]}" "$GPUSORT"
    chown 65534 closed
    chmod 300 closed
    ok_file 'a directory that may be written but not listed' closed/new sorted -- \
        "${as_user[@]}" "$GPUSORT" -n input -o closed/new

    # Root is protected from links of others like any user.
    stranger="it is another user's, in a sticky directory, so that nothing is written to it: name another one$"
    for directory_mode in 1777 1770 1757; do
        fresh_sticky && chmod $directory_mode sticky
        install -m 666 -o 65534 /dev/null sticky/out
        refused_early "a stranger's file in a directory of mode $directory_mode" "^gpusort: sticky/out: $stranger" \
            sticky/out "$GPUSORT"
        mkfifo sticky/pipe && chown 65534 sticky/pipe
        refused_early "a stranger's pipe in a directory of mode $directory_mode" "^gpusort: sticky/pipe: $stranger" \
            sticky/pipe "$GPUSORT"
        ln -s "$PWD/place/fifo" sticky/link && chown -h 65534 sticky/link
        refused_early "a stranger's link in a directory of mode $directory_mode" \
            "^gpusort: sticky/link: it leads to another user's symbolic link in a sticky directory" sticky/link "$GPUSORT"
        ln -s ../sticky/link place/to_link_$directory_mode
        refused_early "a link to a stranger's link in a directory of mode $directory_mode" \
            "another user's symbolic link in a sticky directory" place/to_link_$directory_mode "$GPUSORT"
        ln -s "$PWD/roots_new" sticky/dangling && chown -h 65534 sticky/dangling
        for path in out pipe link dangling; do
            refused "a trace to a stranger's $path in a directory of mode $directory_mode" \
                "^gpusort: --trace=sticky/$path: .*another user's.* in a sticky directory" -- \
                timeout 10 "$GPUSORT" -n --trace=sticky/$path input -o "$target"
        done
        ok "a trace to a stranger's link in a directory of mode $directory_mode makes no file" test ! -e roots_new
        ln -s ../input sticky/own
        cp input sticky/of_root
        ok "one's own link in a directory of mode $directory_mode" "$GPUSORT" --explain input -o sticky/own
        ok "one's own file in a directory of mode $directory_mode" "$GPUSORT" -n input -o sticky/of_root
    done
    # In a name space that maps one user, all others have one number.
    if possible "another user's file in a name space" 'no name space of users' unshare --map-root-user true; then
        fresh_sticky && chown 1234 sticky
        install -m 666 -o 65533 /dev/null sticky/out
        refused_early "a stranger's file in a name space that does not map its owner" \
            "^gpusort: sticky/out: $stranger" sticky/out unshare --map-root-user "$GPUSORT"
        ln -s ../input sticky/link && chown -h 65533 sticky/link
        refused_early "a stranger's link in a name space that maps nobody" \
            "^gpusort: sticky/link: it leads to another user's symbolic link" sticky/link unshare --user "$GPUSORT"
    fi
    fresh_sticky
    install -m 666 /dev/null sticky/out
    refused_early "a file that only the owner of its directory may replace" "^gpusort: sticky/out: $stranger" \
        sticky/out "${as_user[@]}" "$GPUSORT"
    fresh_sticky && chown 65534 sticky
    install -m 666 -o 65534 /dev/null sticky/out
    ok "a file of the directory's owner" "$GPUSORT" -n input -o sticky/out
    fresh_sticky && chmod 1755 sticky
    install -m 666 -o 65534 /dev/null sticky/out
    ok 'a file in a directory that nobody else may write to' "$GPUSORT" -n input -o sticky/out
    fresh_sticky
    fresh_place && ln -s ../sticky/out place/out
    ok_says "a stranger's file that comes meanwhile" "^gpusort: place/out: $stranger" -- \
        meanwhile install -m 666 -o 65534 /dev/null sticky/out
    ok_prints "a stranger's file that comes meanwhile stays empty" '0\n' -- stat -c %s sticky/out
fi

# chattr(1) and mounts are not possible everywhere.
mkdir grows
if possible 'append-only and immutable files' 'no chattr, or not on this file system' chattr +a grows; then
    : >grows/out
    refused_early 'a file in a directory that only grows' \
        "^gpusort: grows/out: its directory is append-only, so it cannot be replaced: $copy_it" grows/out "$GPUSORT"
    ok 'a new file in a directory that only grows' "$GPUSORT" -n input -o grows/new
    ok_prints 'nothing else is left there' 'new\nout\n' -- ls -A grows
    if [ -n "$fault_library" ]; then
        refused 'a new file there, where each file has a name' 'grows/newer: Operation not permitted' -- \
            by_name -n input -o grows/newer
        ok_prints 'nothing is left of that' 'new\nout\n' -- ls -A grows
    fi
    chattr -a grows
    chattr +a grows/out
    refused_early 'a file that only grows' '^gpusort: grows/out: (it is append-only|Operation not permitted)' grows/out "$GPUSORT"
    chattr -a grows/out && chattr +i grows/out
    refused_early 'a file that never changes' '^gpusort: grows/out: Operation not permitted$' grows/out "$GPUSORT"
    chattr -i grows/out && chattr +i grows
    refused_early 'a directory that never changes' \
        '^gpusort: grows/out: its directory may not be written \(Operation not permitted\)' grows/out "$GPUSORT"
    chattr -i grows
fi
cp input mounted
if possible 'a mount point, and no /proc' 'no name space to mount in' \
    unshare --map-root-user --mount mount --bind input mounted; then
    refused_early 'a mount point' "^gpusort: mounted: it is a mount point, so it cannot be replaced: $copy_it" \
        mounted unshare --map-root-user --mount bash -c 'mount --bind input mounted && exec "$0" "$@"' "$GPUSORT"
    # Without /proc, descriptors have no paths: no function that is needed is lost.
    [ "$is_sanitized" = yes ] || ok 'without /proc' unshare --map-root-user --mount bash -c '
        mount -t tmpfs none /proc
        echo old >no_proc && chmod 604 no_proc
        "$0" --device=cpu -n input -o no_proc && "$0" --device=cpu -n input -o no_proc_new &&
            cmp no_proc sorted && cmp no_proc_new sorted && [ "$(stat -c %a no_proc)" = 604 ] &&
            "$0" --device=cpu -n input -o /dev/null && [ -z "$(ls -A | grep gpusort-)" ]' "$GPUSORT"
fi

done_testing
