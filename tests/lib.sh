# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# lib.sh - for all tests in tests/*/*.sh: assertions in TAP, and a working directory for each test.
#
# A test sources this file, makes claims, and calls done_testing. A test that ends before that
# prints no plan, and so counts as failed. The program under test is $GPUSORT.
set -euo pipefail
export LC_ALL=C
umask 022

tests_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GPUSORT=$(realpath "${GPUSORT:-$tests_dir/../build/gpusort}")
test_size=${TEST_SIZE:-full} # small: for builds that are many times slower

# Files in memory count as memory, and a /tmp is in memory on many systems.
scratch=${TMPDIR:-/tmp}
if [ -z "${TMPDIR:-}" ] && [ "$(stat -f -c %T /tmp)" = tmpfs ] && [ -w /var/tmp ]; then
    scratch=/var/tmp
fi
work=$(mktemp -d "$scratch/gpusort-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/files" "$work/log" "$work/tools"
cd "$work/files"
# Where sort(1) and others are not GNU's, GNU's may be there as gnusort and so on.
if command -v gnusort >/dev/null; then
    for tool in "$(dirname "$(command -v gnusort)")"/gnu*; do
        ln -s "$tool" "$work/tools/${tool##*/gnu}"
    done
    PATH=$work/tools:$PATH
fi

# The output directory and file of the commands that are given to `refused`.
target_dir=$work/target
target=$target_dir/out

claims=0
failures=0

# gpusort ARGUMENT...: runs the program. GPUSORT_DEVICE is the --device of tests that do not choose one. GPUSORT_SERVER
# is build/tests/many_runs, which starts CUDA once for all jobs, and empties the files that they write to. A separate
# process is started for a job that ended the server, for jobs in a subshell, which lacks the server's descriptors, and
# for arguments that name open files of this shell.
gpusort() {
    local status='' command=(gpusort ${GPUSORT_DEVICE:+"--device=$GPUSORT_DEVICE"} "$@")
    if [ -n "${GPUSORT_SERVER:-}" ] && [ "$BASH_SUBSHELL" -eq 0 ] && [[ $* != */dev/fd/* ]]; then
        [ -n "${server_PID:-}" ] || start_server
        exec 7<&0 8>&1 9>&2 # printf and read use other descriptors
        printf '%s\0' "/proc/$$/fd/"{7,8,9} ${#command[@]} "${command[@]}" >&"${server[1]}"
        read -r status <&"${server[0]}" || end_server
        exec 7<&- 8>&- 9>&-
    fi
    if [ -z "$status" ]; then
        status=0
        "$GPUSORT" "${command[@]:1}" || status=$?
    fi
    return "$status"
}
start_server() {
    coproc server { LSAN_OPTIONS='' exec -a gpusort "$GPUSORT_SERVER" 2>"$work/log/server"; }
    server_process=$server_PID # bash unsets it when the server ends
}
# Waits for the server. It has found leaks if its status is 4, at the end of its input, or 23, which LeakSanitizer sets.
end_server() {
    local status=0
    wait "$server_process" || status=$?
    case $status in 4 | 23) server_leaks=yes ;; esac
}
[ -z "${GPUSORT_SERVER:-}" ] || GPUSORT_SERVER=$(realpath "$GPUSORT_SERVER")
# At the end of a short job LeakSanitizer takes as long as the job. Where a server runs the jobs of a test, it alone
# looks for leaks, and not the jobs that are processes of their own.
[ -z "${GPUSORT_SERVER:-}" ] || export LSAN_OPTIONS=detect_leaks=0
# A python3 that comes first in the PATH may be a script, which takes ten times as long to start.
[ ! -x /usr/bin/python3 ] || python3() { /usr/bin/python3 "$@"; }

# on_terminal [--stdin|--stderr] COMMAND...: runs COMMAND with its output, or that stream, on a terminal, and prints it.
on_terminal() { python3 "$tests_dir/on_terminal.py" "$@"; }

# wait_until COMMAND...: waits, at most for some seconds, until COMMAND succeeds.
wait_until() {
    for _ in {1..500}; do
        ! "$@" || return 0
        sleep 0.01
    done
    return 1
}

# full_or_small FULL SMALL: prints the one for the size of this test.
full_or_small() { if [ "$test_size" = small ]; then echo "$2"; else echo "$1"; fi; }

# ---- claims --------------------------------------------------------------------------------------

pass() {
    claims=$((claims + 1))
    echo "ok $claims - $1"
}

# fail NAME FILE: FILE describes the problem.
fail() {
    claims=$((claims + 1))
    failures=$((failures + 1))
    echo "not ok $claims - $1"
    head -n 40 "$2" | cut -c 1-400 | tr -c '[:print:]\n' '?' | sed 's/^/#   /'
}

# skip NAME REASON
skip() {
    claims=$((claims + 1))
    echo "ok $claims - $1 # SKIP $2"
}

# possible NAME REASON COMMAND...: returns true if COMMAND succeeds. If not, NAME is skipped for that REASON.
possible() { "${@:3}" >/dev/null 2>&1 || { skip "$1" "$2" && false; }; }

# skip_all REASON: skips the whole test and ends it.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

done_testing() {
    if [ -n "${server_PID:-}" ]; then
        local input=${server[1]}
        exec {input}>&-
        end_server
    fi
    [ ! -s "$work/unknown" ] || fail 'the test calls only functions and commands that exist' "$work/unknown"
    [ -z "${server_leaks:-}" ] || fail 'the runs of one process leave no memory behind' "$work/log/server"
    echo "1..$claims"
    [ "$failures" -eq 0 ]
}

# bash calls this for a command that does not exist. The test then fails, even if the call is in $(...).
command_not_found_handle() {
    echo "$1: command not found" | tee -a "$work/unknown" >&2
    return 127
}

# pass_unless_said NAME FILE: passes if FILE, a list of problems, is empty.
pass_unless_said() { if [ -s "$2" ]; then fail "$1" "$2"; else pass "$1"; fi; }

# matches FILE REGEX: a line of FILE matches REGEX. A process of grep(1) would take as long as a job.
matches() {
    local line lines
    mapfile -t lines <"$1"
    for line in "${lines[@]}"; do
        [[ ! $line =~ $2 ]] || return 0
    done
    return 1
}

# ok NAME COMMAND...: the command succeeds.
ok() {
    local name=$1
    shift
    if "$@" >"$work/log/ok" 2>&1; then
        pass "$name"
    else
        echo "exit status $? of: $*" >>"$work/log/ok"
        fail "$name" "$work/log/ok"
    fi
}

# same_bytes A B: returns true if two files have the same bytes. Starting cmp(1) takes a hundred times as long as a
# comparison of short texts.
same_bytes() {
    local a b
    if [[ -f $1 && -r $1 && -f $2 && -r $2 ]] &&
        ! IFS= read -r -d '' -n 4096 a <"$1" && ! IFS= read -r -d '' -n 4096 b <"$2"; then # both are short texts
        [ "$a" = "$b" ]
    else
        cmp -s "$1" "$2"
    fi
}

# describe_difference GOT EXPECTED: prints the sizes of two files, and their bytes where they first
# differ; nothing if they are the same.
describe_difference() {
    local at file
    ! same_bytes "$1" "$2" || return 0
    stat -L -c '%n has %s bytes' "$1" "$2" 2>&1 || return 0
    at=$(cmp "$1" "$2" 2>&1 | sed -nE 's/.* ([0-9]+), .*/\1/p') || true # also where one of them ends
    at=$((${at:-0} > 8 ? at - 8 : 0))
    for file in "$1" "$2"; do
        echo "$file, from byte $at on:"
        od -A d -t x1z -j "$at" -N 48 "$file" || true
    done
}

# ok_same_bytes NAME GOT EXPECTED
ok_same_bytes() {
    describe_difference "$2" "$3" >"$work/log/difference" 2>&1
    pass_unless_said "$1" "$work/log/difference"
}

# finish_comparison NAME STATUS GOT EXPECTED COMMAND...: passes if COMMAND, which has ended with
# STATUS, has succeeded without a message and GOT has the bytes of EXPECTED.
finish_comparison() {
    local name=$1 status=$2 got=$3 expected=$4
    shift 4
    {
        [ "$status" -eq 0 ] || echo "exit status $status of: $*"
        [ ! -s "$work/log/stderr" ] || sed 's/^/standard error: /' "$work/log/stderr"
        describe_difference "$got" "$expected" 2>&1
    } >"$work/log/problems"
    pass_unless_said "$name" "$work/log/problems"
}

# ok_file NAME FILE EXPECTED -- COMMAND...: COMMAND succeeds without a message, and then FILE has the bytes of EXPECTED,
# a file or <(ANOTHER COMMAND), which is read first: a server that is started closes its descriptor.
ok_file() {
    local name=$1 file=$2 expected=$3 status=0
    shift 4
    if [ -p "$expected" ]; then
        cat "$expected" >"$work/log/expected"
        expected=$work/log/expected
    fi
    "$@" >"$work/log/stdout" 2>"$work/log/stderr" || status=$?
    finish_comparison "$name" "$status" "$file" "$expected" "$@"
}

# ok_output NAME EXPECTED -- COMMAND...: as ok_file, for the standard output of COMMAND.
ok_output() { ok_file "$1" "$work/log/stdout" "${@:2}"; }

# ok_writes NAME EXPECTED -- ARGUMENT...: as ok_file, for `gpusort ARGUMENT... -o got`, where the file
# `got` existed with other content.
ok_writes() {
    echo 'an old output' >got
    ok_file "$1" got "$2" -- gpusort "${@:4}" -o got
}

# unpacked ARGUMENT...: gpusort writes got.zst, of which zstd(1) prints the content.
unpacked() { gpusort "$@" -o got.zst && zstd -qdc got.zst; }

# ok_prints NAME EXPECTED -- COMMAND...: COMMAND succeeds, prints exactly EXPECTED (printf %b
# escapes) on standard output and nothing on standard error.
ok_prints() {
    printf %b "$2" >"$work/log/expected"
    ok_output "$1" "$work/log/expected" "${@:3}"
}

# finish_message NAME STATUS EXPECTED FILE REGEX COMMAND...: passes if COMMAND has ended with EXPECTED,
# and a line of FILE matches REGEX.
finish_message() {
    local name=$1 status=$2 expected=$3 file=$4 regex=$5
    shift 5
    {
        [ "$status" -eq "$expected" ] || echo "exit status $status, not $expected, of: $*"
        matches "$file" "$regex" || {
            echo "no line matches $regex in:"
            cat "$file"
        }
    } >"$work/log/problems"
    pass_unless_said "$name" "$work/log/problems"
}

# ok_says NAME REGEX -- COMMAND...: COMMAND succeeds, and a line of its standard output or error matches REGEX.
ok_says() {
    local status=0
    "${@:4}" >"$work/log/said" 2>&1 || status=$?
    finish_message "$1" "$status" 0 "$work/log/said" "$2" "${@:4}"
}

# ok_fails_with NAME STATUS REGEX -- COMMAND...: COMMAND exits with STATUS, and its standard error matches REGEX.
ok_fails_with() {
    local status=0
    "${@:5}" >/dev/null 2>"$work/log/stderr" || status=$?
    finish_message "$1" "$status" "$2" "$work/log/stderr" "$3" "${@:5}"
}

# ok_peak NAME KIB COMMAND...: the program COMMAND succeeds, and at most KIB KiB of its memory are resident.
ok_peak() {
    ok "$1 takes at most $2 KiB of memory" "${numpy:-python3}" -c 'import resource, subprocess, sys
subprocess.check_call(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak <= int(sys.argv[1]), "%d KiB" % peak' "${@:2}"
}

# ok_json NAME CONDITION FILE: CONDITION, a Python expression with the object that FILE begins with as `s`, is true.
ok_json() {
    ok "$1" python3 -c 'import json, sys
s = json.JSONDecoder().raw_decode(open(sys.argv[2]).read())[0]
assert eval("(%s)" % sys.argv[1]), s' "$2" "$3"
}

old_output() {
    rm -rf "$target_dir"
    mkdir "$target_dir"
    echo 'the old output' >"$target"
    chmod 640 "$target"
}

# Prints what has changed since old_output.
old_output_problems() {
    local content=''
    IFS= read -r -d '' content <"$target" || true
    [ "$content" = $'the old output\n' ] || echo "the old output was changed"
    content=$(find "$target_dir" -mindepth 1 -printf '%P %m %s\n')
    [ "$content" = 'out 640 15' ] || echo "files, modes and sizes: $content"
}

# refused NAME REGEX -- COMMAND...: COMMAND, whose output is $target, ends with status 2 and one line
# on standard error that begins with "gpusort: " and matches REGEX. It writes nothing to standard output,
# and $target keeps its content and mode, as the only file of its directory.
refused() {
    local name=$1 regex=$2 status=0 message
    shift 3
    [ -e "$target" ] || old_output
    "$@" >"$work/log/stdout" 2>"$work/log/stderr" || status=$?
    {
        [ "$status" -eq 2 ] || echo "exit status $status, not 2, of: $*"
        [ ! -s "$work/log/stdout" ] || echo "it wrote to standard output"
        IFS= read -r -d '' message <"$work/log/stderr" || true
        [[ $message == *$'\n' && ${message%$'\n'} != *$'\n'* ]] || echo "not one line on standard error"
        [[ $message == 'gpusort: '* ]] || echo "no 'gpusort: ' before the message"
        [[ ${message%$'\n'} =~ $regex ]] || echo "the message does not match $regex"
        old_output_problems
    } >"$work/log/problems" 2>&1
    if [ -s "$work/log/problems" ]; then
        sed 's/^/standard error: /' "$work/log/stderr" >>"$work/log/problems"
        rm -rf "$target_dir"
    fi
    pass_unless_said "$name" "$work/log/problems"
}

# refuses NAME REGEX -- ARGUMENT...: as refused, for `gpusort ARGUMENT... -o $target`.
refuses() { refused "$1" "$2" -- gpusort "${@:4}" -o "$target"; }

# kept NAME REGEX FILE -- COMMAND...: as refused, and FILE keeps its content, mtime, ctime and inode.
kept() {
    local before
    before=$(stat -c '%i %y %z' "$3" && cksum "$3")
    refused "$1" "$2" "${@:4}"
    ok "$1: the file stays" [ "$before" = "$(stat -c '%i %y %z' "$3" && cksum "$3")" ]
}

# ---- properties of the machine and the program ---------------------------------------------------

# Sanitized programs take more memory and stack, so tests of limits leave them out.
is_sanitized=no
! grep -Eqs '__(asan|tsan|ubsan)' "$GPUSORT" || is_sanitized=yes

# A library that makes calls fail, and the program without the OpenMP library in it, whose calls must
# not fail. Both are empty if they are not built, or if a sanitizer intercepts the calls.
fault_library=$(dirname "$GPUSORT")/tests/fault_library.so
gpusort_apart=$(dirname "$GPUSORT")/tests/gpusort_apart
if [ "$is_sanitized" = yes ] || [ ! -f "$fault_library" ] || [ ! -x "$gpusort_apart" ]; then
    fault_library='' gpusort_apart=''
elif [[ $fault_library == *[^[:alnum:]/._+-]* ]]; then # LD_PRELOAD needs a name without blanks and colons
    cp "$fault_library" "$work"
    fault_library=$work/fault_library.so
fi
has_faults() { [ -n "$fault_library" ]; }
# with_fault FAULT ARGUMENT...: runs `gpusort ARGUMENT...` on the CPU. One of its calls fails, or runs the command
# $FAULT_RUN (fault_library.c).
with_fault() {
    env LD_PRELOAD="$fault_library" FAULT="$1" GPUSORT="$GPUSORT" "$GPUSORT" --device=cpu "${@:2}"
}
# with_limit FLAG N COMMAND...: runs the program COMMAND with `ulimit FLAG N`.
with_limit() { bash -c 'ulimit "$1" "$2" && exec "${@:3}"' - "$@"; }
# can_mount DIRECTORY: returns true if a file system in memory can be mounted there, in a name space of its own.
can_mount() { unshare --map-root-user --mount mount -t tmpfs none "$1"; }
# within KIND SIZE COMMAND...: runs COMMAND where the folder `small` is a new file system of that size: a tmpfs, or one
# of mkfs.KIND in the file `image`. It is unmounted when COMMAND ends.
within() {
    local options=()
    case $1 in
    tmpfs)
        unshare --map-root-user --mount bash -c 'mount -t tmpfs -o size="$0" none small && exec "$@"' "${@:2}"
        return
        ;;
    ext4) options=(-F -m 20) ;;
    esac
    rm -f image && truncate -s "$2" image && "mkfs.$1" -q "${options[@]}" image >/dev/null &&
        unshare --mount bash -c 'mount -o loop image small && chmod a+rwx small && exec "$@"' - "${@:3}"
}
# As cli/main.c sets it, which is too late for an OpenMP library that is not linked into the program.
export GOMP_SPINCOUNT=1000

# The words before a command that run it as a user that is not root.
# shellcheck disable=SC2034 # tests use it
if [ "$EUID" -eq 0 ]; then as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups); else as_user=(); fi

# Sets $numpy to a Python that has NumPy, or skips the test. An empty folder called numpy has no origin.
need_numpy() {
    local has='from importlib.util import find_spec as find; exit(not getattr(find("numpy"), "origin", None))'
    for numpy in /usr/bin/python3 "$(type -P python3)"; do
        ! "$numpy" -c "$has" 2>/dev/null || return 0
    done
    skip_all 'no Python with NumPy'
}

# with_numpy CODE [WORD...]: runs Python code, in which NumPy is np, random makes the same random numbers every time,
# write(NAME, PART...) writes a file of bytes and arrays, and the words are sys.argv[1:]. If CODE is -, it is read from
# standard input.
with_numpy() {
    local code=$1
    [ "$code" != - ] || code=$(cat)
    "$numpy" -c "import sys
from struct import pack
import numpy as np
random = np.random.default_rng(7)
def write(name, *parts):
    with open(name, 'wb') as file:
        file.writelines(parts)
$code" "${@:2}"
}

# ok_arrays DEVICE ROUNDS [WORD...]: random arrays with random options become what NumPy makes of them, by one process for
# many jobs if it is built. The words are those of fuzz_sort.py.
ok_arrays() {
    local program servers=()
    for program in "${GPUSORT%/*}"/{,tests/}many_runs; do
        [ ! -x "$program" ] || servers=(--server "$program")
    done
    ok "$2 rounds of arrays on $1 ${*:3}" env GPUSORT="$GPUSORT" "$numpy" "$tests_dir/fuzz/fuzz_sort.py" \
        --numbers --device="$1" --rounds "$2" "${servers[@]}" "${@:3}"
}

# Makes mpirun usable as root, or skips the test without Open MPI's or the plugin of the program under test. Ranks that
# wait leave the processor to other tests. MPI leaves memory behind, which is no leak of the program. Its files, which
# Open MPI 4 and 5 would share among the jobs of a user and leave in /tmp, are in the directory of the test.
need_open_mpi() {
    local plugin
    plugin=$(dirname "$GPUSORT")/mpi.so
    command -v mpirun >/dev/null || skip_all 'no mpirun'
    mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip_all 'no mpirun of Open MPI'
    [ -f "$plugin" ] || skip_all "$plugin is not built (no mpicc, or MPI=0)"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_mpi_yield_when_idle=1
    export OMPI_MCA_orte_tmpdir_base=$work PRTE_MCA_prte_tmpdir_base=$work
    export LSAN_OPTIONS=detect_leaks=0
}

# open_mpi WORD...: runs mpirun, for at most $limit seconds. Prints only the messages and statistics of gpusort and the
# messages of the GPU's stand-in. All messages are in $work/log/mpirun.
open_mpi() {
    local status=0
    timeout "${limit:-300}" mpirun --mca btl_base_warn_component_unused 0 "$@" 2>"$work/log/mpirun" || status=$?
    grep -e '^gpusort: ' -e '^simt: ' -e '^{' "$work/log/mpirun" >&2 || true
    return "$status"
}

# Prints why there is no GPU for the program under test, or nothing if there is one. Only an error
# of the search for a GPU counts: a GPU that fails later is no reason to skip.
gpu_problem() {
    printf 1 | gpusort --format=raw --type=u8 --device=gpu 2>&1 >/dev/null |
        sed -nE 's/^gpusort: (--device=gpu: |(this build has no GPU))/\2/p'
}

# Skips the test without a GPU.
need_gpu() {
    local problem
    problem=$(gpu_problem) || true
    [ -z "$problem" ] || skip_all "$problem"
}

# Prints the devices that a test runs on: cpu, and gpu if there is one.
list_devices() {
    echo cpu
    [ -n "$(gpu_problem)" ] || echo gpu
}

# Prints the paths that --list names for a device.
list_paths() {
    gpusort --list | awk -v device="$1" '
        /^[^ ]/ { in_devices = /^devices/ }
        in_devices && /^  [^ ]/ { current = $1 }
        in_devices && /^    / && current == device { print $1 }'
}

# Prints the types that --list names; if TEST_TYPES is set, only its types (types.sh).
list_types() {
    gpusort --list | awk -v wanted=" ${TEST_TYPES:-} " '
        /^[^ ]/ { in_types = /^types/ }
        in_types && /^  / && (wanted ~ /^ *$/ || index(wanted, " " $1 " ")) { print $1 }'
}

# make_data WORD...: writes data, and results by NumPy.
make_data() { "$numpy" "$tests_dir/make_data.py" "$@"; }

# Prints the size in bytes of a number of a type, from --list, which is called once.
bytes_of_type() {
    [ -e "$work/log/list" ] || gpusort --list >"$work/log/list"
    sed -nE "s/^  $1 +([0-9]+) bytes?,.*/\1/p" "$work/log/list"
}
