#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# measure_files.sh - times gpusort from file to file against common tools: the tables of
# docs/performance.md.
#
#   scripts/measure_files.sh [PART...]     some of these, or all but the last one
#
#   keys    raw numbers of 80 MB to 16 GB, and cp
#   pipes   numbers through pipes, and cat through two of them
#   zstd    integers, compressed on both sides, and zstd -T0 -dc | zstd -T0
#   memory  doubles in less memory than they take, of the GPU and of the host, and cp
#   text    lines by the hundred million, and cp
#   lines   20 million lines by -g, -n and -h, and sort(1) once; -c and -m
#   small   jobs of 1000 to 1,000,000 numbers, and sort(1) and cat
#   proof   the cost of the proof of output
#
# Each line is the median of RUNS (default 5) runs of each command, in turns, after one that is not
# counted. SCALE (default 1) divides the sizes, except of `small`: 10 for a machine of two cores. WORK
# (default a temporary directory) needs room for 50 GB / SCALE, for the proof 1 GB. Needs python3 with NumPy.
#
# The part "proof" compares gpusort with gpusort_unproved, the same code without the proof (`make bench`).
# Build both with CFLAGS and CXXFLAGS of '-O2 -g -falign-functions=64', because the alignment of functions
# changes the result by 1 %. They run in turns, in alternating order, after a warm-up round. It counts cycles
# of all threads, in user and system mode, and elapsed time, and prints how much more a program takes than
# the first one of the same round: the median of RUNS rounds (default 20), and its standard error. PROGRAMS
# (default: build/bench/gpusort_unproved and ./gpusort) are compared; naming the first one twice shows the
# noise. Needs perf(1) too.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- keys pipes zstd memory text lines small
runs=${RUNS:-5}
scale=${SCALE:-1}
read -ra programs <<<"${PROGRAMS:-$PWD/build/bench/gpusort_unproved $PWD/gpusort}"
PATH=$PWD:$PATH
work=$(mktemp -d "${WORK:-${TMPDIR:-/tmp}}/gpusort-measure.XXXXXX")
trap 'rm -rf "$work"' EXIT
make_data=$PWD/scripts/measure_data.py
python=python3
python3 -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
cd "$work"
export LC_ALL=C
threads=$(nproc)

# data KIND COUNT: writes COUNT / SCALE items of KIND to ./in, replacing the last data.
data() {
    rm -f in out
    "$python" "$make_data" "$1" "$(($2 / scale))" in
}

# timed COMMAND FILE: appends its nanoseconds to FILE; prints its output if it fails.
timed() {
    local start_ns
    start_ns=$(date +%s%N)
    eval "$1" >messages 2>&1 || { cat messages >&2; echo "failed: $1" >&2; return 1; }
    echo "$(($(date +%s%N) - start_ns))" >>"$2"
}

# median FILE: prints the median of the nanoseconds in it, in seconds.
median() { sort -n "$1" | awk '{ a[NR] = $1 } END { printf "%.4f", a[int((NR + 1) / 2)] / 1e9 }'; }

# row NAME PEER OURS: prints a line of the table: the medians of both commands, and their ratio. PEER may be empty.
row() {
    rm -f peer.ns ours.ns
    local i
    for ((i = 0; i <= runs; i++)); do
        [ "$i" = 1 ] && rm -f peer.ns ours.ns
        rm -f out
        [ -z "$2" ] || timed "$2" peer.ns
        rm -f out
        timed "$3" ours.ns
    done
    local ours peer='-' ratio='-'
    ours=$(median ours.ns)
    if [ -n "$2" ]; then
        peer=$(median peer.ns)
        ratio=$(awk "BEGIN { printf \"%.2f\", $ours / $peer }")
    fi
    echo "| $1 | $peer | $ours | $ratio |"
}

table() { printf '\n| %s | %s | gpusort, s | ratio |\n|---|---|---|---|\n' "$1" "$2"; }

# bytes MB: prints MB / SCALE in readable form.
bytes() { awk "BEGIN { mb = $1 / $scale; if (mb < 1000) print mb \" MB\"; else print mb / 1000 \" GB\" }"; }

measure_keys() {
    table 'raw, file to file' 'cp, s'
    data f64 1000000000
    row "f64, $(bytes 8000)" 'cp in out' 'gpusort --type=f64 in -o out'
    data f32 4000000000
    row "f32, $(bytes 16000)" 'cp in out' 'gpusort --type=f32 in -o out'
    data f64 100000000
    row "f64, $(bytes 800)" 'cp in out' 'gpusort --type=f64 in -o out'
    data f64 10000000
    row "f64, $(bytes 80)" 'cp in out' 'gpusort --type=f64 in -o out'
}

measure_pipes() {
    table 'raw, through pipes' 'two of cat, s'
    data f64 1000000000
    row "f64, $(bytes 8000), pipe to file" 'cat in | cat >out' 'cat in | gpusort --type=f64 >out'
    row "f64, $(bytes 8000), file to pipe" 'cat in | cat >out' 'gpusort --type=f64 in | cat >out'
}

measure_zstd() {
    command -v zstd >/dev/null || { echo 'zstd: no zstd(1)'; return; }
    table 'zstd to zstd' 'zstd -T0 out of zstd -T0 -dc, s'
    data u32 2000000000
    gpusort --type=u32 in -o sorted --no-zstd
    split --bytes=16M --filter='zstd -q -c' in >frames.zst
    zstd -q -T0 in -o one.zst
    row "u32 below 1e6, $(bytes 8000), frames of 16 MiB" \
        'zstd -q -T0 -dc frames.zst | zstd -q -T0 >out' 'gpusort --type=u32 --zstd frames.zst -o out'
    zstd -q -dc out | cmp - sorted
    row 'the same, one frame' 'zstd -q -T0 -dc one.zst | zstd -q -T0 >out' \
        'gpusort --type=u32 --zstd one.zst -o out'
    zstd -q -dc out | cmp - sorted
    rm frames.zst one.zst sorted
}

measure_memory() {
    local gpu_mb=$((6000 / scale)) host_mb=$((4000 / scale))
    table 'in less memory' 'cp, s'
    data f64 2000000000
    if gpusort --explain --device=gpu --type=f64 in >/dev/null 2>&1; then
        row "f64, $(bytes 16000), --device-memory=${gpu_mb}M" 'cp in out' \
            "gpusort --type=f64 --device=gpu --device-memory=${gpu_mb}M in -o out"
        row "the same, -S ${host_mb}M" 'cp in out' \
            "gpusort --type=f64 --device=gpu --device-memory=${gpu_mb}M -S ${host_mb}M -T. in -o out"
    fi
    row "f64, $(bytes 16000), --device=cpu -S ${host_mb}M" 'cp in out' \
        "gpusort --type=f64 --device=cpu -S ${host_mb}M -T. in -o out"
}

measure_text() {
    table 'lines, file to file' 'cp, s'
    data digits 500000000
    row "$((500000000 / scale)) lines, $(bytes 6250), -g" 'cp in out' 'gpusort -g in -o out'
    gpusort -g in -o sorted
    row 'the same, sorted, -c -g, beside reading' 'cat sorted >/dev/null' 'gpusort -c -g sorted'
    rm sorted
}

# The peer is run once: it takes minutes.
against_sort() {
    local start_ns
    data "$2" 20000000
    start_ns=$(date +%s%N)
    sort "$3" --parallel="$threads" -S 50% in -o sorted
    local peer_ns=$(($(date +%s%N) - start_ns))
    row "$1" '' "gpusort $3 in -o out" | sed "s/ - |/ $(awk "BEGIN { printf \"%.2f\", $peer_ns / 1e9 }") |/" |
        awk -F'|' -v OFS='|' '{ $5 = sprintf(" %.3f ", $4 / $3); print }'
    cmp out sorted
}

measure_lines() {
    table "$((20000000 / scale)) lines" 'sort(1), once, s'
    against_sort 'eight powers of ten, -g' general -g
    against_sort 'each value in five ways, -g' spelled -g
    against_sort 'integers of 1 to 18 digits, -n' integers -n
    against_sort 'the same, -h' integers -h
    row 'sorted, -c -n' 'sort -c -n sorted' 'gpusort -c -n sorted'
    split -n l/10 sorted sorted.
    row 'ten sorted files, -m -n' 'sort -m -n sorted.* -o out' 'gpusort -m -n sorted.* -o out'
    cmp out sorted
    rm sorted*
}

measure_small() {
    table 'few numbers' 'peer, s'
    for count in 1000 10000 100000 1000000; do
        "$python" "$make_data" integers $count in
        row "$count lines, ten times, sort -n" 'for i in 1 2 3 4 5 6 7 8 9 10; do sort -n in -o out; done' \
            'for i in 1 2 3 4 5 6 7 8 9 10; do gpusort -n in -o out; done'
        "$python" "$make_data" f64 $count in
        row "$count doubles, ten times, cat" 'for i in 1 2 3 4 5 6 7 8 9 10; do cat in >out; done' \
            'for i in 1 2 3 4 5 6 7 8 9 10; do gpusort --type=f64 in -o out; done'
    done
}

# prepare_case CASE: makes its input, and sets `arguments`.
prepare_case() {
    local part
    rm -f part*
    case $1 in
    integers) arguments=(-n in) ;;
    general | spelled) arguments=(-g in) ;;
    merge) arguments=(-m -n part{0..9}) ;;
    f64) arguments=(--type=f64 --format=raw in) ;;
    u8 | u16) arguments=(--type="$1" --format=raw in) ;;
    esac
    case $1 in
    u8 | u16) head -c "$((200000000 / scale))" /dev/urandom >in ;;
    f64) data f64 50000000 ;;
    merge) data integers 10000000 ;;
    *) data "$1" 10000000 ;;
    esac
    [ "$1" = merge ] || return 0
    for part in {0..9}; do
        awk "NR % 10 == $part" in | "${programs[0]}" -n >"part$part"
    done
}

# counted NUMBER: prints 1e6 cycles of a run of the program, the same in user mode, and milliseconds.
counted() {
    rm -f out
    perf stat -x, -e cycles:u,cycles:k,duration_time -o counts \
        "${programs[$1]}" --device=cpu "${arguments[@]}" -o out
    awk -F, '{ of[$3] = $1 / 1e6 }
        END { print of["cycles:u"] + of["cycles:k"], of["cycles:u"], of["duration_time"] }' counts
}

# compare_rounds FILE...: prints the cells of a row from the programs' runs.
compare_rounds() {
    "$python" - "$@" <<'END'
import statistics, sys
programs = [[[float(word) for word in line.split()] for line in open(name)] for name in sys.argv[1:]]
for runs in programs:
    print(end=f" {statistics.median(run[0] for run in runs):.0f} |")
    for kind in range(3) if runs is not programs[0] else ():
        more = [100 * (run[kind] / first[kind] - 1) for run, first in zip(runs, programs[0])]
        median = statistics.median(more)
        # standard error of the median of a normal distribution, from the median absolute deviation
        error = 1.86 * statistics.median(abs(one - median) for one in more) / len(more) ** 0.5
        print(end=f" {median:+.1f} ± {error:.1f} % |")
END
}

# proof_row CASE: a line of the table.
proof_row() {
    local round i turn=("${!programs[@]}") back
    prepare_case "$1"
    for i in "${turn[@]}"; do
        counted "$i" >/dev/null
        : >"rows$i"
    done
    for ((round = 0; round < ${RUNS:-20}; round++)); do
        back=()
        for i in "${turn[@]}"; do
            counted "$i" >>"rows$i"
            back=("$i" "${back[@]}")
        done
        turn=("${back[@]}")
    done
    echo "| $1 |$(compare_rounds rows*)"
}

measure_proof() {
    local case names=("${programs[@]##*/}")
    printf '\n| input | %s |%s\n|---|---|%s\n' "${names[0]}" \
        "$(printf ' %s | more | of user mode | of time |' "${names[@]:1}")" \
        "$(printf -- '---|---|---|---|%.0s' "${names[@]:1}")"
    for case in integers general spelled merge f64 u8 u16; do
        proof_row "$case"
    done
}

for part in "$@"; do
    declare -F "measure_$part" >/dev/null || { echo "$0: no part '$part'" >&2; exit 2; }
done
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo 'no GPU'
grep -m1 'model name' /proc/cpuinfo; nproc; free -g | sed -n 2p; uname -sr
df -h . | tail -n 1
gpusort --version
for part in "$@"; do
    "measure_$part"
done
