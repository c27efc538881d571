#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Reports on a job, while it runs and at its end: progress, --stats and --trace. Python's json reads the JSON.
. "$(dirname "$0")/../lib.sh"

# The path of the interpreter: python3 may be a script that starts it, slowly.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || skip_all 'no Python'
is_gpu=
[ -n "$(gpu_problem)" ] || is_gpu=yes

numbers=$(full_or_small 300000 150000)
lines=$(full_or_small 100000 30000)
# Random bytes may begin like the length of a Fortran record. Its end would be read and counted, too.
{ printf '\377\377\377\377abcd' && head -c $((numbers * 8 - 8)) /dev/urandom; } >data.f64
gpusort data.f64 -o data.sorted
seq "$lines" | shuf >data.txt
sort -n data.txt >lines.sorted

# ---- --stats -------------------------------------------------------------------------------------

# The members of the object that the manual page lists.
sed -n '/^\.Sh STATISTICS/,/^\.Sh ENV/s/^\.It Li \([a-zA-Z_.]*\)$/\1/p' "$tests_dir/../man/gpusort.1" >documented

# stats NAME CONDITION -- ARGUMENT...: `gpusort ARGUMENT... --stats=json` prints nothing except one line of JSON, which
# has its exit status, and CONDITION, a Python expression with the object as `s`, is true.
stats() {
    local name=$1 condition=$2 start status=0
    shift 3
    start=$(date +%s%N)
    gpusort "$@" --stats=json >"$work/log/stdout" 2>"$work/log/stats" || status=$?
    "$python" - "$condition and s['status'] == $status" "$((($(date +%s%N) - start) / 1000000 + 1))e-3" \
        "$work/log/stats" >"$work/log/problems" 2>&1 <<'PYTHON' || true
import json, os, sys
condition, wall, path = sys.argv[1:]
data = open(path, "rb").read()
s = json.loads(data.decode("utf-8"))
if data.count(b"\n") != 1 or not data.endswith(b"\n"):
    print("not one line")
if not eval(f"({condition})"):
    print(f"not so: {condition}\nin {s}")
def names(s):
    for group, value in s.items():
        if group == "stages":
            yield from (f"stages.STAGE.{name}" for stage in value.values() for name in stage)
        else:
            yield from (f"{group}.{name}" for name in value) if isinstance(value, dict) else [group]
documented = open("documented").read().split()
print(*names(s), sep="\n", file=open("seen", "a"))
for name in names(s):
    if name not in documented:
        print(f"the manual page does not have {name}")
if s["schema"] != 1:
    print("another schema, but the names are checked as ever")
if "error" in s:
    sys.exit()
stages = s["stages"]
if not 0 < stages["total"]["seconds"] <= float(wall):
    print(f"it took {wall} s, and not {stages['total']['seconds']}")
if "model" in s and s["model"]["measured_seconds"] != stages["total"]["seconds"]:
    print("the model speaks of the whole run, and is not held against it")
if not 0 < s["memory"]["host_bytes"] < 2**40:
    print("no peak of memory")
PYTHON
    pass_unless_said "$name" "$work/log/problems"
}

bytes=$((numbers * 8))
stats '--stats=json: numbers' "s['data'] == {'numbers': $numbers, 'bytes': $bytes} and
    s['stages']['read']['bytes'] == s['stages']['write']['bytes'] == $bytes and
    s['input'] == {'file': 'data.f64', 'files': 1, 'format': 'raw', 'type': 'f64'} and
    s['path']['name'] and s['path']['reason'] and s['device']['reason'] and
    s['device']['threads'] >= 1 and s['model']['cpu_seconds'] > 0 and s['model']['measured_seconds'] > 0" \
    -- data.f64 -o out
ok_same_bytes 'with --stats it sorts' out data.sorted
stats '--stats=json: lines' "s['data']['lines'] == $lines and
    s['stages']['read']['bytes'] == s['stages']['write']['bytes'] == os.path.getsize('data.txt')" \
    -- -n data.txt -o out
stats '--stats=json: what is read to verify is no input' "s['stages']['verify']['seconds'] > 0 and
    s['stages']['read']['bytes'] == os.path.getsize('data.txt')" -- --verify -n data.txt -o out
stats '--stats=json: what is compressed is counted as the file holds it' \
    "s['stages']['write']['bytes'] == os.path.getsize('out.f64.zst') and s['data']['bytes'] == $bytes" -- \
    --zstd data.f64 -o out.f64.zst
stats '--stats=json: and when it is read' \
    "s['stages']['read']['bytes'] == os.path.getsize('out.f64.zst')" -- out.f64.zst -o out
stats '--stats=json: parts that are stored' "s['runs']['count'] > 2 and s['runs']['spilled_bytes'] == $bytes and
     s['stages']['spill']['bytes'] == $bytes" -- --device=cpu -S 1M data.f64 -o out
ok_same_bytes 'with --stats it sorts in parts' out data.sorted
stats '--stats=json: a merge' "'path' not in s and s['data']['lines'] == $((2 * lines))" -- \
    -nm lines.sorted lines.sorted -o out
stats '--stats=json with -q, of nothing at all' "s['data']['numbers'] == 0" -- -q --format=raw --type=u8 /dev/null

# Settings of OpenMP that are not valid are ignored without a message of its library, if that is linked statically.
if possible 'settings of OpenMP that are not valid' 'the library reads them before the program starts' \
    eval '! ldd "$GPUSORT" | grep -q libgomp'; then
    for setting in OMP_NUM_THREADS= OMP_NUM_THREADS=x OMP_NUM_THREADS=0 OMP_NUM_THREADS=2k 'OMP_NUM_THREADS=2,' OMP_NUM_THREADS=4294967296 \
        OMP_STACKSIZE={x,,8,99999999999999999999} OMP_THREAD_LIMIT= OMP_{PLACES,PROC_BIND,WAIT_POLICY,DYNAMIC,DISPLAY_ENV}=x \
        GOMP_SPINCOUNT=x; do
        ok_prints "$setting has no effect and no message" '1\n2\n' -- env "$setting" "$GPUSORT" -n <(printf '2\n1\n')
    done
    for setting in OMP_NUM_THREADS=3 'OMP_NUM_THREADS= 3 , 2'; do
        env OMP_STACKSIZE=4M "$setting" "$GPUSORT" --stats=json data.f64 -o out 2>json
        ok_json "$setting is obeyed" "s['device']['threads'] == 3" json
    done
    ok_says 'OMP_PROC_BIND is obeyed, and shown on request' "OMP_PROC_BIND = 'TRUE'" -- \
        env OMP_DISPLAY_ENV=true OMP_PROC_BIND=true "$GPUSORT" -n data.txt -o out
fi

# Names of arbitrary bytes: JSON escapes or replaces characters that cannot be shown; text replaces them.
odd=$'a "b"\\ \t\n\001\177 \xc3\xa9 \xff \xed\xa0\x80 \xf0\x9f\x98\x80 \xc0\xaf \xc2\x9b \xe2\x80\xae \xf3\xa0\x81\x81 \xf4\x90\x80\x80 \xe2\x82'
cp data.f64 "$odd.f64"
stats '--stats=json: a name of odd bytes' \
    "s['input']['file'] == 'a \"b\"\\\\ \\t\\n\\x01\\x7f \\u00e9 \\ufffd \\ufffd\\ufffd\\ufffd \\U0001f600 \\ufffd\\ufffd \\u009b \\u202e \\U000e0041 \\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd.f64'" \
    -- "$odd.f64" -o out
ok_says '--stats: a name of odd bytes is on one line' '^gpusort: input +file a "b"\\ [?]{4} ' -- \
    gpusort --stats "$odd.f64" -o out

gpusort --stats data.f64 -o out 2>text
gpusort --stats=json data.f64 -o out 2>json
"$python" -c 'import json
s = json.load(open("json"))
print("\n".join([*(g for g in s if isinstance(s[g], dict) and g != "stages"), *s["stages"]]))' >groups
ok_prints 'text has a line for each object of JSON' "$(sed 's/$/\\n/' groups | tr -d '\n')" -- \
    bash -c "sed -E 's/^gpusort: ([a-z]+) .*/\1/' text"

# Each write(2) is a packet of a socket. Lines of several jobs are not mixed if it has whole lines.
printf '2\n1\n' >disorder.txt
for words in '--stats=json data.f64 -o out' '--stats=json missing' '-v --stats data.f64 -o out' '-c disorder.txt' '-k @'; do
    ok "each write to standard error has whole lines: $words" "$python" -c 'import socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
job = subprocess.Popen(sys.argv[1:], stderr=theirs)
theirs.close()
packets = list(iter(lambda: ours.recv(1 << 20), b""))
job.wait()
assert packets and all(p.endswith(b"\n") for p in packets), packets' "$GPUSORT" $words
done
refuses 'a form that is none' "invalid argument 'xml' for '--stats': it is text or json" -- --stats=xml data.f64
ok_prints 'a run that fails prints its error alone' \
    "gpusort: standard input:2: 'x' is not a number: -g would read no number in it, and sort it below all numbers; -k1 sorts lines by their bytes\n" -- \
    bash -c 'printf "1\nx\n" | "$0" --stats 2>&1 || true' "$GPUSORT"
ok_fails_with '-c: figures of what is out of order' 1 '^gpusort: data +lines 1, 2 bytes' -- gpusort -c --stats disorder.txt

stats '--stats=json: -c of what is out of order, and nothing besides' \
    "s['disorder'] == {'line': 2} and s['status'] == 1 and s['data']['lines'] == 1" -- -c <(printf '2\n1\n')
for count in 1 999 400000; do # the last in several pieces
    seq "$count" >some && stat -c %s some >some.bytes && printf '%s\n' 0 1 2 >>some
    stats "--stats=json: -c of lines: the first $count are in order" \
        "s['disorder'] == {'line': $count + 1} and s['data'] == {'lines': $count, 'bytes': $(<some.bytes)}" -- -nc some
    stats "--stats=json: -c of numbers: the first $count are in order" \
        "s['disorder'] == {'number': $count + 1} and s['data'] == {'numbers': $count, 'bytes': 4 * $count}" -- \
        -c --type=u32 some
done
stats '--stats=json: -c of what is in order' "'disorder' not in s and s['status'] == 0" -- -nc lines.sorted
stats '--stats=json: indices of the first numbers' "s['output']['indices'] == 'u64'" -- --argsort --top=9 data.f64

# A job that fails prints the object too, and nothing else. The message is that of the same job without --stats.
fails() {
    local name=$1 condition=$2 message
    shift 3
    message=$(gpusort "$@" 2>&1 >/dev/null) || true
    message=${message#gpusort: } stats "$name" "s['status'] == 2 and
        s['error'] == os.environ['message'] and ($condition)" -- "$@"
}
export message=
fails '--stats=json: no such file' "'stages' not in s" -- missing
cp data.f64 place.f64
stats '--stats=json: in place' "s['output']['method'] == 'in place'" -- --in-place place.f64
printf '1\nx"\\\t\303\251y\n' >words
fails '--stats=json: a word' "s['input']['file'] == 'words' and 'data' not in s and
    s['stages']['plan']['seconds'] > 0 and 'total' not in s['stages']" -- words
fails '--stats=json: an option that is wrong' "len(s) == 4" -- --top=x data.f64
fails '--stats=json: a list of no files' "len(s) == 4" -- --files0-from=/dev/null
for words in '-k 0' '-nh' '-S x' '--parallel=0' '-t ab' '--type=f128' '-c a b' '-u --format=raw' '-o missing/out' \
    '-m words words' '--format=raw words' --format=npy; do
    fails "--stats=json: $words" 'True' -- $words data.f64
done
stats '--stats=json before what is wrong' "s['error'].startswith('invalid number of items')" -- \
    --stats=json --top=x data.f64
if possible 'a thread that OpenMP cannot start' 'no calls fail in this build' has_faults; then
    env LD_PRELOAD="$fault_library" FAULT=omp_thread:1:11 "$gpusort_apart" --device=cpu --parallel=2 --stats=json \
        --trace=trace data.txt -n -o new 2>err || true
    sed '/^$/d; /^libgomp: /d' err >json
    ok_json 'a thread that OpenMP cannot start: the object is printed' "s['status'] == 2 and 'OpenMP' in s['error']" json
    ok 'and no trace or output is left' test ! -e trace -a ! -e new
fi
stats '--stats=json: a full disk' "'No space left' in s['error'] and s['path']['name']" -- data.f64 -o /dev/full
stats '--stats=json: a trace that cannot be written' "s['data']['numbers'] == $numbers and s['error']" -- \
    --trace=/dev/full data.f64 -o out
stats '--stats=json: a missing file of odd bytes' \
    "s['error'].startswith('missing\\na \"b\"\\\\ \\t\\n\\x01\\x7f \\u00e9 \\ufffd')" -- "missing
$odd"
ok_prints '--stats=json with what sorts nothing prints no object' '' -- \
    bash -c '"$0" --stats=json --list 2>&1 >/dev/null && "$0" --stats=json --explain data.f64 2>&1 >/dev/null' "$GPUSORT"
ok_prints 'all that the manual page lists is there' '' -- \
    bash -c "sort -u seen | comm -13 - <(sort documented) | grep -vx -e path.tile -e memory.device_bytes \
        -e device.count -e model.gpus_seconds; exit 0" # the last two are those of several GPUs

# ---- --trace -------------------------------------------------------------------------------------

# traced NAME CHECKS -- ARGUMENT...: `gpusort --trace=trace ARGUMENT...` prints no message, and the
# trace passes the checks of check_trace.py.
traced() {
    local name=$1 start status=0 checks
    read -ra checks <<<"$2"
    shift 3
    rm -f trace
    start=$(date +%s%N)
    gpusort --trace=trace "$@" >"$work/log/stdout" 2>"$work/log/stderr" || status=$?
    {
        [ "$status" -eq 0 ] || echo "exit status $status"
        cat "$work/log/stderr"
        "$python" "$tests_dir/cli/check_trace.py" trace \
            "wall=$((($(date +%s%N) - start) / 1000000 + 1))e-3" "${checks[@]}"
    } >"$work/log/problems" 2>&1
    pass_unless_said "$name" "$work/log/problems"
}

text_bytes=$(stat -c %s data.txt)
traced 'numbers' "read=$bytes write=$bytes lanes=read,stage,write" -- --device=cpu data.f64 -o out
ok_same_bytes 'with --trace it sorts' out data.sorted
head -c 17000000 /dev/zero >zeros.f64
traced 'numbers that several threads read' 'read=17000000 write=17000000 lanes=read,stage,write' -- \
    --device=cpu --parallel=3 zeros.f64 -o out
traced 'lines' "read=$text_bytes parse=$text_bytes make=$text_bytes write=$text_bytes lanes=make,parse,read,stage,write" -- \
    --device=cpu -n data.txt -o out
traced 'standard input and output' "read=$text_bytes write=$text_bytes" -- -n <data.txt
traced 'what is compressed' "read=$bytes encode=$bytes write=$(stat -c %s out.f64.zst) lanes=encode,read,stage,write" -- \
    --device=cpu --zstd data.f64 -o again.f64.zst
traced 'what is decompressed' "read=$(stat -c %s out.f64.zst) write=$bytes lanes=decode,read,stage,write" -- \
    --device=cpu out.f64.zst -o out
traced 'numbers in parts' "read=$bytes write=$bytes spill=$((2 * bytes)) merge=$bytes lanes=merge,read,spill,stage,write" -- \
    --device=cpu -S 1M data.f64 -o out
traced 'lines in parts' "read=$text_bytes write=$text_bytes spill=$((2 * text_bytes))" -- \
    --device=cpu -S 1M -n data.txt -o out
ok_prints 'are written once, by the merge and the commit' '2\n' -- grep -c '"name":"write","cat":"stage"' trace
traced 'a merge' "read=$((2 * text_bytes)) write=$((2 * text_bytes))" -- -nm lines.sorted lines.sorted -o out
seq 10000001 11000000 | cut -c2- >long
mkdir short
for i in {1..300}; do printf '%07d\n' $((3000 * i)) >"short/$i"; done
traced 'a merge of a long input and many short ones' "read=$((8 * 1000300))" -- -m -k1 --parallel=1 long short/* -o out
ok 'reads the long one in few pieces' test "$(grep -c '"cat":"read"' trace)" -lt 800
traced 'a check' "read=$text_bytes lanes=read,stage" -- -nc lines.sorted
traced 'text made of numbers, by many threads' "read=$bytes" -- \
    --device=cpu --parallel=16 --output-format=text data.f64 -o out
traced 'numbers made of text' "read=$text_bytes parse=$text_bytes" -- --device=cpu --type=f64 data.txt -o out
if possible 'the GPU in a trace' 'no GPU' [ -n "$is_gpu" ]; then
    traced 'numbers on the GPU' "read=$bytes write=$bytes upload=$bytes kernel=$bytes download=$bytes" -- \
        --device=gpu data.f64 -o out
    ok_same_bytes 'with --trace the GPU sorts' out data.sorted
    traced 'lines on the GPU' "upload=$text_bytes download=$text_bytes write=$text_bytes" -- \
        --device=gpu -n data.txt -o out
    traced 'the first numbers on the GPU' "upload=$bytes download=80" -- --device=gpu --top=10 data.f64
    traced 'parts on the GPU' "upload=$bytes download=$bytes merge=$bytes" -- \
        --device=gpu --device-memory=$((bytes / 2))b data.f64 -o out
    ok_prints 'are the work of one engine' '1\n' -- grep -c '"cat":"start"' trace
    stats 'the memory of the GPU' "s['memory']['device_bytes'] >= 2 * $bytes" -- --device=gpu -a radix data.f64 -o out
fi

rm -f trace
ok_fails_with 'a run that fails' 2 'standard input:3: .x. is not a number' -- \
    bash -c 'printf "2\n1\nx\n" | "$0" --trace=trace' "$GPUSORT"
ok 'leaves its trace' "$python" "$tests_dir/cli/check_trace.py" trace read=6
rm -f trace
ok_fails_with 'one that never begins' 2 'missing: No such file' -- gpusort --trace=trace missing
ok 'leaves none' test ! -e trace
mkfifo slow
for other in '' mine; do
    "$GPUSORT" --trace=trace -n slow -o out &
    exec 3<>slow
    ok 'a trace exists before it is written' wait_until test -e trace
    [ -z "$other" ] || { echo $other >other && mv other trace; }
    kill $! && { wait $! || true; } 2>/dev/null
    exec 3>&-
    [ -n "$other" ] || ok 'one that a signal ends leaves none' test ! -e trace
done
ok_prints 'but a file that has taken its name meanwhile' 'mine\n' -- cat trace
echo 'an old trace, and a long one' >trace
traced 'an old one is replaced' '' -- data.txt -n -o out
ok 'what --explain prints is no run' bash -c '"$0" --explain --trace=none data.txt >/dev/null && [ ! -e none ]' "$GPUSORT"

echo 'an old line' >log
"$GPUSORT" --trace=/dev/stderr data.f64 -o out 2>>log
ok_prints 'a trace to standard error keeps what a log has' 'an old line\n' -- head -n 1 log
sed 1d log >trace
ok 'and is appended to it' "$python" "$tests_dir/cli/check_trace.py" trace "read=$bytes"
refused 'a descriptor that is open for reading' '^gpusort: --trace=/dev/fd/3: Bad file descriptor$' -- \
    bash -c '"$0" --trace=/dev/fd/3 data.f64 -o "$1" 3<data.f64' "$GPUSORT" "$target"

refuses 'a directory' '^gpusort: --trace=\.: Is a directory$' -- --trace=. data.f64
refuses 'an input' '^gpusort: --trace=\./data\.f64: this is an input$' -- \
    --trace=./data.f64 data.sorted data.f64 --type=f64
refused 'standard input' 'this is an input$' -- bash -c '"$0" --trace=data.txt -o "$1" <data.txt' "$GPUSORT" "$target"
refuses 'the output' 'this is the output$' -- --trace="$target" data.f64
ln -sf "$target" link
refuses 'the output by another name' 'this is the output$' -- --trace=link data.f64
ok 'a device may be both' gpusort --trace=/dev/null data.f64 -o /dev/null
ln -s new leads_to_new
for name in ./new leads_to_new; do
    ok_fails_with "an output that is not there yet: $name" 2 'this is the output$' -- \
        gpusort --trace=$name data.f64 -o new
done
ok 'is not there then either, but the link is' test ! -e new -a -L leads_to_new
mkfifo fifo
for command in '"$0" --trace=/dev/stdout data.f64' '"$0" --trace=/dev/stderr data.f64 2>&1' \
    '{ cat fifo & "$0" --trace=fifo data.f64 -o fifo; }'; do
    ok_prints "the pipe of the output: $command" 'gpusort: --trace: this is the output\n' -- \
        bash -c "$command"' 2>&1 | tail -c 100 | sed "s/=.*:/:/"' "$GPUSORT"
done
ok_prints 'the file that standard error goes to' 'gpusort: --trace=log: this is standard error\n' -- \
    bash -c '"$0" --trace=log data.f64 -o out 2>log || cat log' "$GPUSORT"
printf 'data.txt\0' >list
refuses 'the list of inputs' 'this is the list of inputs$' -- --trace=list --files0-from=list
ok 'nothing of these was changed' bash -c 'cmp <(printf "data.txt\0") list &&
    [ "$(stat -c %s data.f64)" -eq "$1" ] && [ "$(wc -l <data.txt)" -eq "$2" ]' - "$bytes" "$lines"
for format in text json; do
    rm -f out
    ok_prints "--stats=$format that cannot be written: the output is, and the status is 2" '2\n' -- \
        bash -c '"$0" --stats='"$format"' data.f64 -o out 2>/dev/full; echo $?; test -s out' "$GPUSORT"
done
ok_fails_with 'a full disk' 2 '^gpusort: --trace=/dev/full: No space left on device$' -- \
    gpusort --trace=/dev/full data.f64 -o out
ok_fails_with 'a trace that the system refuses' 2 '^gpusort: --trace=refused.json: File too large; ' -- \
    bash -c '(ulimit -f 0; exec "$0" --trace=refused.json data.f64 -o /dev/null) 2>&1 | cat >&2
        exit ${PIPESTATUS[0]}' "$GPUSORT"
ok 'no part of it is left' [ ! -e refused.json ]
ok_same_bytes 'does not harm the output' out data.sorted

# ---- progress ------------------------------------------------------------------------------------

# await FILE [REGEX]: waits for 1.6 s, and on a busy machine until FILE has a match.
await() {
    sleep 1.6
    for _ in {1..300}; do
        ! grep -qE -e "${2:-.}" "$1" || break
        sleep 0.1
    done
}
# slow FILE LAST ARGUMENT...: runs gpusort on standard input whose last line, LAST, comes late: when
# FILE, to which this shell's output goes, shows something. If FILE is "", nothing should be shown.
slow() {
    local shown=${1:-/proc/version} last=$2
    shift 2
    { printf '2\n' && await "$shown" && printf '%s\n' "$last"; } | "$GPUSORT" "$@"
}
export -f await slow
export GPUSORT cr=$'\r'

# These jobs run at the same time, as they only wait.
on_terminal --stderr bash -c 'slow shown 1 -o shown.out' >shown &
on_terminal --stderr bash -c 'slow "" 1 -q -o quiet.out' >quiet &
on_terminal --stderr bash -c 'slow "" 1 --no-progress -o no_progress.out' >no_progress &
on_terminal --stderr bash -c 'slow "" 1 --stats=json -o json.out' >json &
on_terminal --stderr bash -c 'slow failed x -o failed.out' >failed || true &
on_terminal --stderr bash -c 'slow verbose 1 -v -o verbose.out' >verbose &
on_terminal --stderr bash -c '"$GPUSORT" -o killed.out < <(printf "2\n" && exec sleep 60 2>/dev/null) &
    await killed
    cat /proc/$!/task/*/comm >killed.threads
    kill $! && wait $! 2>/dev/null
    echo $? >killed.status' >killed &
on_terminal --stderr bash -c 'sleep 1.6 | "$GPUSORT" -o /dev/null' >asks &
on_terminal --stderr bash -c 'stty cols 80 <&2
    { printf "2\n" && await narrowed && stty cols 9 <&2 && await narrowed "${cr}gpusort:$cr"; } | "$GPUSORT" -o /dev/null' >narrowed &
on_terminal --stderr bash -c '"$GPUSORT" data.f64 | { sleep 1.6 && cat >/dev/null; }' >pages &
on_terminal --stderr --stdin "$GPUSORT" -o /dev/null >typed &
"$python" -c 'import os, pty, subprocess, sys, time
child, master = pty.fork()
if child == 0:
    job = subprocess.Popen([sys.argv[1], "-o", "/dev/null"], stdin=subprocess.PIPE, preexec_fn=os.setpgrp)
    job.stdin.write(b"2\n")
    job.stdin.flush()
    time.sleep(1.6)
    job.stdin.close()
    os._exit(job.wait())
try:
    while shown := os.read(master, 100):
        os.write(1, shown)
except OSError:
    pass
sys.exit(os.waitpid(child, 0)[1] != 0)' "$GPUSORT" >in_background 2>&1 || echo failed >>in_background &
on_terminal bash -c '{ printf "8K\t./b\n" && await beside && printf "4K\t./a\n"; } |
    "$GPUSORT" -h 2>&1' >beside &
on_terminal bash -c '{ { printf "8K\t./b\n" && await piped_beside && printf "4K\t./a\n"; } |
    "$GPUSORT" -h 2>&3 | cat; } 3>&1' >piped_beside &
slow '' 1 >not_asked 2>&1 &
slow asked 1 --progress >asked 2>&1 &
slow '' 1 --progress -q >asked_quiet 2>&1 &
{ { printf '2\n' && await stopped && sleep 8 && printf '1\n'; } | { echo $BASHPID >stopped.id && exec "$GPUSORT" --progress; } >stopped 2>&1; } &
{ await stopped && kill -STOP "$(<stopped.id)" && sleep 6 && kill -CONT "$(<stopped.id)"; } &
{ head -c 8000000 /dev/zero; await piped 'read 8'; } |
    "$GPUSORT" --progress --format=raw --type=f64 --device=cpu -o /dev/null >piped 2>&1 &
{ yes 1234567 || true; } | head -c 24000000 >same.txt
"$GPUSORT" --progress --device=cpu -k1 same.txt 2>written | { head -c 9000000 && sleep 2.6 && cat; } >/dev/null &
wait
rm same.txt
on_terminal --stderr "$GPUSORT" data.f64 -o out >fast
on_terminal --stderr "$GPUSORT" --progress data.txt -n -o out >fast_asked
if possible 'the time left while numbers are read' 'no calls fail in this build' has_faults; then
    # Before the writing begins, the time that compression takes is not known.
    head -c 20000000 /dev/zero >large.u64
    : >empty.u64
    for zstd in --no-zstd --zstd; do
        env LD_PRELOAD="$fault_library" FAULT=read:40:run FAULT_RUN='sleep 1.5' "$GPUSORT" --device=cpu --parallel=1 \
            --progress --format=raw --type=u64 $zstd large.u64 empty.u64 -o out 2>"while$zstd"
    done
    env LD_PRELOAD="$fault_library" FAULT=read:4:run FAULT_RUN='sleep 1.5' "$GPUSORT" --parallel=1 --progress \
        -c --format=raw --type=u64 large.u64 2>while-c
    rm large.u64 out
    ok 'the time left is shown while numbers are read' grep -Eq '^gpusort: read .* [0-9]+ s left$' while--no-zstd
    ok 'and while they are checked' grep -Eq '^gpusort: read .* [0-9]+ s left$' while-c
    ok 'but not if they will be compressed' grep -Eq '^gpusort: read [0-9]+%, [0-9.]+ [kMG]B/s$' while--zstd
fi

# The line on a terminal begins with a carriage return, and is erased with one.
shows() { grep -Eq "^${cr}gpusort: [^$cr]*(${cr}gpusort: [^$cr]*|$cr *)*$cr +$cr$1\$" "$2"; }
ok 'a slow run shows on a terminal how far it is, and takes the line away' shows '' shown
ok_prints 'and sorts' '1\n2\n' -- cat shown.out
ok 'an error stands on a line of its own' \
    shows "gpusort: standard input:2: 'x' is not a number: -g would read no number in it, and sort it below all numbers; -k1 sorts lines by their bytes$cr" failed
ok 'a signal that ends the run takes the line away too' shows '' killed
ok_prints 'and ends it as it should' '143\n' -- cat killed.status
ok 'also while the terminal is stopped (Ctrl-S)' "$python" -c 'import os, pty, select, subprocess, sys, termios
master, slave = pty.openpty()
job = subprocess.Popen([sys.argv[1], "-o", "/dev/null"], stdin=subprocess.PIPE, stderr=slave)
job.stdin.write(b"2\n")
job.stdin.flush()
assert select.select([master], [], [], 30)[0]
termios.tcflow(slave, termios.TCOOFF)
job.terminate()
try:
    assert job.wait(30) == -15
finally:
    job.kill()
    termios.tcflow(slave, termios.TCOON)' "$GPUSORT"
ok_prints 'top -H shows the thread that prints it by its name' 'progress\n' -- grep progress killed.threads
ok 'what -v prints does so too' shows "gpusort: input .*" <(head -n 1 verbose)
ok 'an output on the same terminal begins on a line of its own' shows "4K.\./a$cr" beside
ok 'also through a pipe' shows "4K.\./a$cr" piped_beside
ok 'in a terminal made narrower it is shorter' grep -Fq "${cr}gpusort:$cr" narrowed
ok 'and is not wiped beyond the last column' bash -c '! grep -q "gpusort:  " narrowed'
# While a password is read, a pager runs, or the job is in the background, the terminal belongs to another program.
for file in quiet no_progress fast fast_asked asks pages in_background; do
    ok "on a terminal nothing is shown: $file" test ! -s "$file"
done
ok 'but the object of --stats=json' "$python" -c 'import json, sys; json.load(sys.stdin)' <json
ok_prints 'while somebody types only that is shown' '1\r\n' -- cat typed
ok_prints 'elsewhere nothing is shown' '1\n2\n' -- cat not_asked
# There are more lines if the machine is busy.
ok_prints 'but if it is asked for: lines' 'gpusort: start, 1 s\n1\n2\n' -- \
    grep -vE '^gpusort: [a-z]+, ([2-9]|[0-9]{2,}) s$' asked
ok 'the time for which a run was stopped does not count' grep -Eq '^gpusort: start, [2-5] s$' stopped
ok 'of a pipe: how much of it' grep -Eq '^gpusort: read 8\.00 MB, [0-9.]+ [kM]B/s$' piped
ok 'of an output: how much of it, and the time left' \
    grep -Eq '^gpusort: write [1-9][0-9]?%, [0-9.]+ [kM]?B/s, [0-9.]+ (s|min) left$' written
ok_prints '-q is stronger' '1\n2\n' -- cat asked_quiet
ok_prints '-q silences -v' '1\n2\n' -- bash -c 'printf "2\n1\n" | "$0" -qv 2>&1' "$GPUSORT"

done_testing
