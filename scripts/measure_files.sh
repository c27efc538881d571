#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# measure_files.sh - times gpusort from file to file against common tools: the tables of
# docs/performance.md.
#
#   scripts/measure_files.sh [PART...]     some of these, or all but the last two
#
#   keys    raw numbers of 80 MB to 16 GB, and cp
#   pipes   numbers through pipes, and cat through two of them
#   zstd    integers, compressed on both sides, and zstd -T0 -dc | zstd -T0
#   memory  doubles in less memory than they take, of the GPU and of the host, and cp
#   text    lines by the hundred million, and cp
#   lines   20 million lines by -g, -n and -h, and sort(1) once; -c and -m
#   small   jobs of 1000 to 1,000,000 numbers, and sort(1) and cat
#   devices doubles by the CPU and by the GPU, and what --explain estimates
#   proof   the cost of the proof of output
#
# Each line has the medians of RUNS (default 5) runs of each command, in turns, after one that is not
# counted, and their ratio. SCALE (default 1) divides the sizes, except of `small`: 10 for a machine of two
# cores. WORK (default a temporary directory) needs room for 50 GB / SCALE, for the proof 1 GB. Needs python3
# with NumPy.
#
# The part "proof" compares gpusort with gpusort_unproved, the same code without the proof (`make bench`), by
# the cycles of all threads, in user and system mode, or with EVENT=cycles:u in user mode alone. Build both with
# CFLAGS and CXXFLAGS of '-O2 -g -falign-functions=64', because the alignment of functions changes the result
# by 1 %. UNPROVED=./gpusort shows the noise. Needs perf(1) too.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- keys pipes zstd memory text lines small
runs=${RUNS:-5}
scale=${SCALE:-1}
unproved=$(realpath -m "${UNPROVED:-build/bench/gpusort_unproved}")
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

# timed COMMAND FILE: appends its nanoseconds to FILE, or with `event` how many events perf(1) has counted;
# prints its output if it fails.
event=
timed() {
    local start_ns command=(bash -c "$1")
    [ -z "$event" ] || command=(perf stat -x ' ' -e "$event" -o events "${command[@]}")
    start_ns=$(date +%s%N)
    "${command[@]}" >messages 2>&1 || { cat messages >&2; echo "failed: $1" >&2; return 1; }
    [ -n "$event" ] || echo "$(($(date +%s%N) - start_ns))" >>"$2"
    [ -z "$event" ] || awk '/^[0-9]/ { print $1 }' events >>"$2"
}

# median FILE: prints the median of the numbers in it, divided by 1e9.
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
        ratio=$(awk "BEGIN { printf \"%.3f\", $ours / $peer }")
    fi
    echo "| $1 | $peer | $ours | $ratio |"
}

table() { printf '\n| %s | %s | gpusort, %s | ratio |\n|---|---|---|---|\n' "$1" "$2" "${event:-s}"; }

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

measure_devices() {
    local count
    table 'file to file' '--device=cpu, s'
    for count in 100000 1000000 10000000 30000000 100000000 200000000 300000000 1000000000; do
        data f64 $count
        row "f64, $((count / scale))" 'gpusort --device=cpu --type=f64 in -o out' \
            'gpusort --device=gpu --type=f64 in -o out'
        gpusort --explain --type=f64 in | grep -E '^(device|model)'
    done
}

# proof_row NAME ARGUMENT...: a line of the table: gpusort with the arguments.
proof_row() { row "$1" "$unproved --device=cpu ${*:2} -o out" "gpusort --device=cpu ${*:2} -o out"; }

measure_proof() {
    local kind event=${EVENT:-cycles}
    table "input, 1e9 $event" 'without the proof'
    for kind in integers general spelled; do
        data $kind 10000000
        proof_row "1e7 lines, $kind" "-$([ $kind = integers ] && echo n || echo g)" in
    done
    data integers 10000000
    split -n r/10 in part.
    for kind in part.*; do gpusort -n "$kind" -o "$kind"; done
    proof_row 'the integers in ten files, merged' -m -n 'part.*'
    data f64 50000000
    proof_row "f64, $(bytes 400)" --type=f64 in
    head -c "$((200000000 / scale))" /dev/urandom >in
    proof_row "u8, $(bytes 200)" --type=u8 --format=raw in
    proof_row "u16, $(bytes 200)" --type=u16 --format=raw in
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
