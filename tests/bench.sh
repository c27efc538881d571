#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench_sort, the program that times the paths: every path sorts every type, segmented-merge and radix every shape, and
# its own checks pass. On the stand-in for a GPU this shows that it works, not how long a sort takes. $BENCH names one
# that runs on a GPU. Also bench_cpu, and the scripts that read the rows of both.
. "$(dirname "$0")/lib.sh"
[ "$test_size" = full ] || skip_all 'tested with the full build'
bench=${BENCH:-$(dirname "$GPUSORT")/simt/bench_sort}
GPUSORT=${BENCH:+$GPUSORT}
GPUSORT=${GPUSORT:-$(dirname "$bench")/gpusort}
[ -x "$bench" ] || skip_all "no $bench (make simt)"
need_gpu
need_numpy
quick=(--runs=1 --least-ms=0)

ok 'every path sorts every type' "$bench" --types=all --shapes=uniform,seeds \
    --sizes=1,2100 --no-peers "${quick[@]}" --batch=1 --json=rows.json
ok 'every shape of each kind of type is sorted' "$bench" --types=f64,f16,i32,u8,u32+u32 --shapes=all \
    --sizes=1000 --paths=segmented-merge "${quick[@]}" --batch=1
ok 'shapes that are made to mislead radix are sorted' "$bench" --types=f64,u32 \
    --shapes=all --sizes=30001 --paths=radix "${quick[@]}" --batch=1
ok 'every sort of a batch is checked' "$bench" --types=f64 --shapes=uniform,zipf \
    --sizes=5000 "${quick[@]}" --batch=3 --json=batch.json
if grep -q SIMT_DEVICES "$bench"; then
    export SIMT_DEVICES=3
    ok_says 'several devices sort from host memory to host memory' 'GPUs 0,1,2: upload .* all [0-9.]+ s$' -- \
        "$bench" --devices=0,1,2 --types=f64,u16,u64+u64 --shapes=uniform,few-distinct --sizes=2,5001 --runs=1
    ok_fails_with 'a device that there is not' 2 'no device 3: 3 found' -- "$bench" --devices=0,3 --sizes=10 --runs=1
fi
cpu=$(dirname "$bench")/../bench/bench_cpu
if possible 'the sorts of the CPU' "no $cpu (make bench)" [ -x "$cpu" ]; then
    ok 'the sorts of the CPU sort every type' "$cpu" --types=all --shapes=uniform,zipf --sizes=1,3000 "${quick[@]}"
    ok 'measure_cpu.sh times the CPU, and NumPy beside it' env \
        BUILD="$(realpath "$(dirname "$bench")/..")" ROWS="$PWD/measured" SIZES=1,1000 PYTHON="$numpy" \
        bash "$tests_dir/../scripts/measure_cpu.sh" sizes
    ok_says 'with rows of both' '"u64[+]u64",.*"path":"numpy"' -- cat "measured/cpu_sizes_$(nproc).json"
fi

# Reads the rows with another JSON parser, and counts the cases and the rows of each path.
"$numpy" - rows.json batch.json >summary <<'PYTHON'
import collections, json, sys
rows, batch = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
print(len({(row["type"], row["shape"], row["count"]) for row in rows}), "cases")
print(len([row for row in rows + batch if not row["runs"] or not row["sorted"]]), "wrong")
print(sorted({row["batch"] for row in rows} | {row["batch"] for row in batch}), "batches")
for path, count in sorted(collections.Counter(row["path"] for row in rows).items()):
    print(path, count)
PYTHON
{
    echo "$((15 * 2 * 2)) cases"
    echo "0 wrong"
    echo "[1, 3] batches"
    list_paths gpu | sed "s/\$/ $((15 * 2 * 2))/" | sort
} >expected
ok_output 'the rows are JSON, one for each case and path' expected -- cat summary

ok_says 'what a path does not take is said' 'rank .*not timed: sorts at most 131072' -- \
    "$bench" --types=u8 --sizes=131073 --paths=rank "${quick[@]}"
ok_says 'what does not fit is said' 'radix .*not timed: does not fit: [0-9.]+ GB needed' -- \
    "$bench" --sizes=1e11 --paths=radix "${quick[@]}"
"$bench" --sizes=1 "${quick[@]}" >sorters
for seed in 7 7 8; do
    "$bench" --sizes=random:3:$seed:100:900 --paths=bitonic "${quick[@]}" |
        awk '/uniform/ { print $3 }' >>drawn
done
ok 'a seed draws the same counts again, in their range, and another seed others' awk '
    { count[NR] = $1; bad += $1 < 100 || $1 > 900 }
    END { for (i = 1; i <= 3; i++) bad += count[i] != count[i + 3] || count[i] == count[i + 6]
          exit bad > 0 || NR != 9 }' drawn
if possible 'the sorts of CUB sort every type' 'built without CUB' grep -q ' cub-radix ' sorters; then
    ok_says 'the worst case is named' '^worst: f64 uniform [0-9]+, [0-9.]+ of the best' -- \
        "$bench" --sizes=random:2:1:1000:5000 --paths=radix,cub-radix "${quick[@]}"
    ok 'the sorts of CUB sort every type' "$bench" --types=all --shapes=seeds --sizes=1000,100003 \
        "${quick[@]}" --paths=radix,cub-radix,cub-merge
fi

# The rows that plot_bench.sh draws, written by hand.
row() {
    printf '{"backend":"gpu","type":"f64","shape":"uniform","count":%d,' "$1"
    printf '"path":"%s","peer":%s,"runs":5,"ms":%s,"sorted":true}\n' "$2" "$3" "$4"
}
{
    row 1000 radix false 0.030
    row 1000 cub-radix true 0.001
    row 1000000 radix false 0.099
    row 100000000 radix false 3
} >hand.json
if possible 'plot_bench.sh draws' 'no gnuplot' command -v gnuplot; then
    ok 'plot_bench.sh draws rates over sizes' bash "$tests_dir/../scripts/plot_bench.sh" hand.json f64 sizes.svg
    ok_says 'with a line for each path and peer' '>cub-radix<' -- cat sizes.svg
fi

for option in --types=f63 --shapes=cube --sizes=1.5 --sizes=random:0:1:2:3 --sizes=random:3 --sizes=random:3:7:9 --runs=0 --batch=0 --least-ms=x --paths=quick; do
    ok_fails_with "$option is refused" 2 "${option#*=}" -- "$bench" "$option"
done
ok_fails_with 'rows that cannot be written are an error' 2 'No space' -- \
    "$bench" --sizes=10 "${quick[@]}" --json=/dev/full
done_testing
