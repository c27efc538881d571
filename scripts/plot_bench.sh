#!/usr/bin/env bash
# plot_bench.sh - draws keys a second against size, a line for each path and peer of a type.
#
#   scripts/plot_bench.sh ROWS.json TYPE [SHAPE] [OUT.svg]
#
# ROWS.json is what bench_sort --json wrote, one object a line; SHAPE is uniform and OUT.svg is
# docs/bench_TYPE.svg if they are not given. Of a path with several tile sizes the fastest counts.
set -euo pipefail
if [ $# -lt 2 ] || [ $# -gt 4 ]; then
    echo "usage: $0 ROWS.json TYPE [SHAPE] [OUT.svg]" >&2
    exit 2
fi
rows=$1 type=$2 shape=${3:-uniform}
out=${4:-$(dirname "$0")/../docs/bench_$type.svg}
data=$(mktemp "${TMPDIR:-/tmp}/plot_bench.XXXXXX")
trap 'rm -f "$data"' EXIT

# A block for each path, as gnuplot's `index` wants them: its name in quotes, then "count gkeys",
# with two empty lines between. Members are found by their names; no value has a comma or a brace
# in it but texts, of which only those without are read.
awk -v type="$type" -v shape="$shape" '
    function member(name,   at, rest) {
        at = index($0, "\"" name "\":")
        if (!at)
            return ""
        rest = substr($0, at + length(name) + 3)
        sub(/[,}].*/, "", rest)
        gsub(/"/, "", rest)
        return rest
    }
    member("type") == type && member("shape") == shape && member("runs") > 0 {
        path = member("path"); count = member("count") + 0; rate = member("gkeys_per_s") + 0
        if (!(path in counts))
            paths[++path_count] = path
        if (!((path, count) in best)) {
            counts[path]++
            at[path, counts[path]] = count
        }
        if (rate > best[path, count])
            best[path, count] = rate
    }
    END {
        for (p = 1; p <= path_count; p++) {
            path = paths[p]
            printf "%s\"%s\"\n", (p > 1 ? "\n\n" : ""), path
            for (i = 1; i <= counts[path]; i++)
                print at[path, i], best[path, at[path, i]]
        }
        exit path_count == 0
    }' "$rows" >"$data" || {
    echo "plot_bench.sh: $rows: no times of type $type and shape $shape" >&2
    exit 1
}
device=$(sed -n '1s/.*"device":"\([^"]*\)".*/\1/p' "$rows")

gnuplot <<GNUPLOT
set terminal svg size 900,540 font "sans-serif,13" background rgb "white"
set output "$out"
set title "$type, $shape: sort alone, data on the device ($device)" noenhanced
set xlabel "items"
set ylabel "10^9 keys a second"
set logscale x 10
set format x "10^{%L}"
set yrange [0:*]
set grid
set key outside right top noenhanced
stats "$data" using 1 nooutput
plot for [i=0:STATS_blocks-1] "$data" index i using 1:2 smooth unique with linespoints linewidth 2 \\
    pointtype i+1 title columnheader(1)
GNUPLOT
echo "$out"
