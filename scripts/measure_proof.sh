#!/usr/bin/env bash
# measure_proof.sh - what it costs that every run proves its output: the table of docs/performance.md.
#
#   scripts/measure_proof.sh [CASE...]     all of these, or some: integers general spelled merge f64 u8 u16
#
# gpusort and the same code that proves nothing (`make bench` builds build/bench/gpusort_unproved) run in
# turns, RUNS times each (default 7) after once that is not counted. What is counted is cycles of all
# threads, in user and system mode, as threads that wait are not free to others: medians, in 1e6. PROGRAMS
# (default: the two in build, or in BUILD) are what is measured, the first one being 100 %. SCALE (default 1)
# divides the sizes. WORK (default a temporary directory; better one in memory) needs 1 GB / SCALE. Needs
# perf(1), and python3 with NumPy.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- integers general spelled merge f64 u8 u16
build=$(realpath "${BUILD:-build}")
read -ra programs <<<"${PROGRAMS:-$build/bench/gpusort_unproved $build/gpusort}"
runs=${RUNS:-7}
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

# cycles PROGRAM: all and those in user mode of a run, in 1e6.
cycles() {
    rm -f out
    perf stat -x, -e cycles:u,cycles:k -o counts "$1" --device=cpu "${arguments[@]}" -o out
    awk -F, '$3 == "cycles:u" { u = $1 } $3 == "cycles:k" { k = $1 } END { print (u + k) / 1e6, u / 1e6 }' counts
}

# median COLUMN FILE
median() { cut -d' ' -f"$1" "$2" | sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

printf '| input |%s\n|---|%s\n' "$(printf ' %s | more | of user mode |' "${programs[@]##*/}")" \
    "$(printf -- '---|---|---|%.0s' "${programs[@]}")"
for case in "$@"; do
    prepare "$case"
    for i in "${!programs[@]}"; do
        cycles "${programs[i]}" >/dev/null
        : >"rows$i"
    done
    for ((run = 0; run < runs; run++)); do
        for i in "${!programs[@]}"; do
            cycles "${programs[i]}" >>"rows$i"
        done
    done
    printf '| %s |' "$case"
    all=$(median 1 rows0) user=$(median 2 rows0)
    for i in "${!programs[@]}"; do
        awk "BEGIN { a = $(median 1 "rows$i"); u = $(median 2 "rows$i")
            printf \" %.0f | %+.1f %% | %+.1f %% |\", a, 100 * (a / $all - 1), 100 * (u / $user - 1) }"
    done
    echo
done
