#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plot_bench.sh - draws the JSON rows of bench_sort or bench_cpu.
#
#   scripts/plot_bench.sh sizes ROWS.json TYPE [OUT.svg]
#       keys per second over the number of items, uniform keys: a line for each path and peer
#   scripts/plot_bench.sh shapes ROWS.json TYPE [OUT.svg]
#       the time of radix relative to the fastest peer, for each shape at the largest size: below 1,
#       radix is faster
#
# OUT.svg is docs/bench_TYPE_sizes.svg or docs/bench_TYPE_shapes.svg if it is not given, and
# docs/bench_cpu_TYPE_... for rows of the CPU. If a path has several tile sizes, the fastest is drawn.
set -euo pipefail
if [ $# -lt 3 ] || [ $# -gt 4 ] || { [ "$1" != sizes ] && [ "$1" != shapes ]; }; then
    echo "usage: $0 sizes|shapes ROWS.json TYPE [OUT.svg]" >&2
    exit 2
fi
what=$1 rows=$2 type=$3
if head -n 1 "$rows" | grep -q '"class":"cpu"'; then
    prefix=bench_cpu place='in memory' peers='the best peer' unit='10^6'
    threads=$(sed -n '1s/.*"threads":\([0-9]*\).*/, threads: \1/p' "$rows")
else
    prefix=bench place='data on the device' peers="CUB's best" unit='10^9' threads=
fi
out=${4:-$(dirname "$0")/../docs/${prefix}_${type//+/_}_$what.svg}
work=$(mktemp -d "${TMPDIR:-/tmp}/plot_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The rows of the type that were timed, as "SHAPE COUNT PATH MS RATIO", the ratio 0 where it is null.
# Members are found by their names; no value has a comma or a brace in it but the device's, which is
# not read here.
awk -v type="$type" '
    function member(name,   at, rest) {
        at = index($0, "\"" name "\":")
        if (!at)
            return ""
        rest = substr($0, at + length(name) + 3)
        sub(/[,}].*/, "", rest)
        gsub(/"/, "", rest)
        return rest
    }
    member("type") == type && member("runs") > 0 {
        print member("shape"), member("count"), member("path"), member("ms"), member("ratio") + 0
    }' "$rows" >"$work/times"

# A block for each path, as gnuplot's `index` wants them: its name in quotes, then "COUNT KEYS", these
# in units a second, with two empty lines between.
sizes_data() {
    sort -k3,3 -k2,2g -k4,4g "$work/times" | awk -v unit="${unit#10^}" '
        $1 == "uniform" && !(($3, $2) in seen) {
            seen[$3, $2]
            if ($3 != path)
                printf "%s\"%s\"\n", (path == "" ? "" : "\n\n"), $3
            path = $3
            print $2, $2 / $4 * 1e3 / 10 ^ unit
        }'
}

# "SHAPE RATIO" of radix at the greatest count, in the order in which they were measured.
shapes_data() {
    awk '
        $3 == "radix" && $5 > 0 {
            if ($2 > greatest) {
                greatest = $2
                delete ratio
                shape_count = 0
            }
            if ($2 == greatest) {
                if (!($1 in ratio))
                    shapes[++shape_count] = $1
                if (!($1 in ratio) || $5 < ratio[$1])
                    ratio[$1] = $5
            }
        }
        END {
            for (i = 1; i <= shape_count; i++)
                print shapes[i], ratio[shapes[i]]
            print "# items: " greatest
        }' "$work/times"
}

"${what}_data" >"$work/data"
if ! grep -q '^[^#]' "$work/data"; then
    echo "$0: $rows: no times of type $type to draw $what of" >&2
    exit 1
fi
device=$(sed -n '1s/.*"device":"\([^"]*\)".*/\1/p' "$rows")
items=$(sed -n 's/^# items: //p' "$work/data")

{
    cat <<GNUPLOT
set terminal svg size 900,540 font "sans-serif,13" background rgb "white"
set output "$out"
set grid
GNUPLOT
    if [ "$what" = sizes ]; then
        cat <<GNUPLOT
set title "$type, uniform: sort alone, $place${device:+ ($device$threads)}" noenhanced
set xlabel "items"
set ylabel "$unit keys a second"
set logscale x 10
set format x "10^{%L}"
set yrange [0:*]
set key outside right top noenhanced
stats "$work/data" using 1 nooutput
plot for [i=0:STATS_blocks-1] "$work/data" index i using 1:2 with linespoints linewidth 2 \\
    pointtype i+1 title columnheader(1)
GNUPLOT
    else
        cat <<GNUPLOT
set title "$items $type: radix in times $peers${device:+ ($device)}" noenhanced
set ylabel "below 1: faster"
set yrange [0:*]
set style fill solid 0.7
set boxwidth 0.7
set xtics rotate by -45 noenhanced
set arrow from graph 0, first 1 to graph 1, first 1 nohead linewidth 2 front
plot "$work/data" using 0:2:xtic(1) with boxes notitle
GNUPLOT
    fi
} | gnuplot
sed -i 's/[[:blank:]]*$//' "$out" # gnuplot ends a line in one
echo "$out"
