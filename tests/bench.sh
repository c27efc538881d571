#!/usr/bin/env bash
# The program that times the paths: every path sorts every type and shape, as its own checks prove.
# On the stand-in, so what is shown is that it works, and not how long a sort takes.
. "$(dirname "$0")/lib.sh"
bench=$(dirname "$GPUSORT")/simt/bench_sort
[ -x "$bench" ] || skip_all "no $bench (make simt)"
need_numpy

ok 'every path sorts every type and shape' "$bench" --types=all --shapes=all \
    --sizes="1,1000,$(full_or_small 5000 2100)" --runs=1 --json=rows.json
ok 'every tile size sorts' "$bench" --types=f64,key_index --sizes=4100 --tiles --runs=1

# The rows as another reader of JSON sees them: cases, and how many of them each path was in.
"$numpy" - rows.json >summary <<'PYTHON'
import collections, json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(len({(row["type"], row["shape"], row["count"]) for row in rows}), "cases")
print(len([row for row in rows if row["runs"] and not row["sorted"]]), "wrong")
for path, count in sorted(collections.Counter(row["path"] for row in rows).items()):
    print(path, count)
PYTHON
{
    echo "$((7 * 12 * 3)) cases"
    echo "0 wrong"
    "$(dirname "$GPUSORT")/simt/gpusort" --list |
        awk '/^[^ ]/ { on = /^devices/ } on && /^  [^ ]/ { gpu = $1 == "gpu" }
             on && /^    / && gpu { print $1, 7 * 12 * 3 }' | sort
} >expected
ok_output 'the rows are JSON, one for each case and path' expected -- cat summary

for option in --types=f63 --shapes=cube --sizes=1.5 --runs=0 --paths=quick; do
    ok_fails_with "$option is refused" 2 "${option#*=}" -- "$bench" "$option"
done
ok_fails_with 'rows that cannot be written are an error' 2 'No space' -- \
    "$bench" --sizes=10 --runs=1 --json=/dev/full
done_testing
