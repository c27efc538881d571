#!/usr/bin/env bash
# measure_proof.sh - what it costs that every run proves its output: the table of docs/performance.md.
#
#   scripts/measure_proof.sh [CASE...]     all of these, or some: integers general spelled merge f64 u8 u16
#
# gpusort and the same code that proves nothing (`make bench` builds build/bench/gpusort_unproved) run in
# turns, each round in the other direction than the one before it, after one that is not counted. What is
# counted is cycles of all threads, in user and system mode, as threads that wait are not free to others, and
# time by the clock; what is said is what a program takes more than the first one in the same round: the median
# of RUNS rounds (default 20), and its standard error. PROGRAMS (default: the two in build, or in BUILD) are
# what is measured; the first one named twice shows what the noise is. SCALE (default 1) divides the sizes.
# WORK (default a temporary directory; better one in memory) needs 1 GB / SCALE. Needs perf(1), and python3
# with NumPy.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- integers general spelled merge f64 u8 u16
build=$(realpath "${BUILD:-build}")
read -ra programs <<<"${PROGRAMS:-$build/bench/gpusort_unproved $build/gpusort}"
runs=${RUNS:-20}
scale=${SCALE:-1}
work=$(mktemp -d "${WORK:-${TMPDIR:-/tmp}}/gpusort-proof.XXXXXX")
trap 'rm -rf "$work"' EXIT
make_data=$PWD/scripts/measure_data.py
python=python3
python3 -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
cd "$work"
export LC_ALL=C

# prepare CASE: makes its input, and sets `arguments`.
prepare() {
    local part
    rm -f in part*
    case $1 in
    integers) arguments=(-n in) ;;
    general | spelled) arguments=(-g in) ;;
    merge) arguments=(-m -n part{0..9}) ;;
    f64) arguments=(--type=f64 --format=raw in) ;;
    u8 | u16) arguments=(--type="$1" --format=raw in) ;;
    *)
        echo "$0: no case '$1'" >&2
        exit 2
        ;;
    esac
    case $1 in
    u8 | u16) head -c "$((200000000 / scale))" /dev/urandom >in ;;
    f64) "$python" "$make_data" f64 "$((50000000 / scale))" in ;;
    merge) "$python" "$make_data" integers "$((10000000 / scale))" in ;;
    *) "$python" "$make_data" "$1" "$((10000000 / scale))" in ;;
    esac
    [ "$1" = merge ] || return 0
    for part in {0..9}; do
        awk "NR % 10 == $part" in | "${programs[0]}" -n >"part$part"
    done
}

# measure NUMBER: 1e6 cycles of a run of the program, those of them in user mode, and milliseconds.
measure() {
    rm -f out
    perf stat -x, -e cycles:u,cycles:k,duration_time -o counts \
        "${programs[$1]}" --device=cpu "${arguments[@]}" -o out
    awk -F, '{ of[$3] = $1 / 1e6 }
        END { print of["cycles:u"] + of["cycles:k"], of["cycles:u"], of["duration_time"] }' counts
}

# compare FILE...: the cells of a row, of the programs' runs.
compare() {
    "$python" - "$@" <<'END'
import statistics, sys
programs = [[[float(word) for word in line.split()] for line in open(name)] for name in sys.argv[1:]]
for runs in programs:
    print(end=f" {statistics.median(run[0] for run in runs):.0f} |")
    for kind in range(3) if runs is not programs[0] else ():
        more = [100 * (run[kind] / first[kind] - 1) for run, first in zip(runs, programs[0])]
        median = statistics.median(more)
        # of the median of what is normally distributed, from its median distance to it
        error = 1.86 * statistics.median(abs(one - median) for one in more) / len(more) ** 0.5
        print(end=f" {median:+.1f} ± {error:.1f} % |")
END
}

names=("${programs[@]##*/}")
printf '| input | %s |%s\n|---|---|%s\n' "${names[0]}" \
    "$(printf ' %s | more | of user mode | of time |' "${names[@]:1}")" \
    "$(printf -- '---|---|---|---|%.0s' "${names[@]:1}")"
for case in "$@"; do
    prepare "$case"
    for i in "${!programs[@]}"; do
        measure "$i" >/dev/null
        : >"rows$i"
    done
    turn=("${!programs[@]}")
    for ((run = 0; run < runs; run++)); do
        back=()
        for i in "${turn[@]}"; do
            measure "$i" >>"rows$i"
            back=("$i" "${back[@]}")
        done
        turn=("${back[@]}")
    done
    printf '| %s |%s\n' "$case" "$(compare rows*)"
done
