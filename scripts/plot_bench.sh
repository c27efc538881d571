#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plot_bench.sh - draws the JSON rows of bench_sort or bench_cpu: keys per second over the number of
# items, uniform keys, a line for each path and peer.
#
#   scripts/plot_bench.sh ROWS.json TYPE OUT.svg
set -euo pipefail
if [ $# -ne 3 ]; then
    echo "usage: $0 ROWS.json TYPE OUT.svg" >&2
    exit 2
fi
rows=$1 type=$2 out=$3
if head -n 1 "$rows" | grep -q '"backend":"cpu"'; then
    place='in memory' unit=6
    threads=$(sed -n '1s/.*"threads":\([0-9]*\).*/, threads: \1/p' "$rows")
else
    place='data on the device' unit=9 threads=
fi
device=$(sed -n '1s/.*"device":"\([^"]*\)".*/\1/p' "$rows")
data=$(mktemp "${TMPDIR:-/tmp}/plot_bench.XXXXXX")
trap 'rm -f "$data"' EXIT

# The rows of the type that were timed, as "COUNT PATH MS". Members are found by their names; no value
# that is read here has a comma or a brace in it. Then a block for each path, as
# gnuplot's `index` wants them: its name in quotes, then "COUNT KEYS", these in units a second, with two
# empty lines between.
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
    member("type") == type && member("shape") == "uniform" && member("runs") > 0 {
        print member("count"), member("path"), member("ms")
    }' "$rows" | sort -k2,2 -k1,1g | awk -v unit="$unit" '
    {
        if ($2 != path)
            printf "%s\"%s\"\n", (path == "" ? "" : "\n\n"), $2
        path = $2
        print $1, $1 / $3 * 1e3 / 10 ^ unit
    }' >"$data"
if [ ! -s "$data" ]; then
    echo "$0: $rows: no times of type $type" >&2
    exit 1
fi

gnuplot <<GNUPLOT
set terminal svg size 900,540 font "sans-serif,13" background rgb "white"
set output "$out"
set grid
set title "$type, uniform: sort alone, $place${device:+ ($device$threads)}" noenhanced
set xlabel "items"
set ylabel "10^$unit keys a second"
set logscale x 10
set format x "10^{%L}"
set yrange [0:*]
set key outside right top noenhanced
stats "$data" using 1 nooutput
plot for [i=0:STATS_blocks-1] "$data" index i using 1:2 with linespoints linewidth 2 \\
    pointtype i+1 title columnheader(1)
GNUPLOT
sed -i 's/[[:blank:]]*$//' "$out" # gnuplot ends lines with blanks
echo "$out"
