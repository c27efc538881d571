#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""auto_table.py - the rows of `auto_rows` (core/auto_table.c) from times of bench_sort.

    build/bench/bench_sort --types=all --shapes=uniform --tiles --no-peers \\
        --sizes=1024,4096,16384,65536,262144,1048576,1e7,1e8,1e9 --json=rows.json
    scripts/auto_table.py [--shapes=uniform,seeds,...] rows.json

For each width and size the path and tile with the least time is the fastest, where a time is the
geometric mean over the types of that width and the shapes asked for; only what was timed in all of
them counts. A row goes on with the path of the size below unless another one is faster by more than
KEEP, so that noise does not cut the table up. It ends at the greatest size at which its path was
chosen; the last one has no end.
"""
import argparse
import collections
import json
import math
import sys

KEEP = 0.03


def read_times(paths, shapes):
    """{(class, item_bytes): {count: {(path, tile): {(type, shape): ms}}}}"""
    times = collections.defaultdict(
        lambda: collections.defaultdict(lambda: collections.defaultdict(dict)))
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                row = json.loads(line)
                if row["peer"] or not row["runs"] or row["shape"] not in shapes:
                    continue
                if not row["sorted"]:
                    sys.exit(f"{path}:{number}: the output of {row['path']} was wrong")
                case = times[row["class"], row["item_bytes"]][row["count"]]
                case[row["path"], row["tile"]][row["type"], row["shape"]] = row["ms"]
    return times


def means_of(case):
    """The mean time of each path that was timed on all data of this count."""
    data = set().union(*case.values())
    return {path: math.exp(sum(map(math.log, ms.values())) / len(ms))
            for path, ms in case.items() if set(ms) == data}


def choose(counts):
    """[(up_to, path, tile)], ascending; up_to None for the last."""
    rows = []
    for count in sorted(counts):
        means = means_of(counts[count])
        if not means:
            continue
        best = min(means, key=means.get)
        if rows and means.get(rows[-1][1], math.inf) <= means[best] * (1 + KEEP):
            best = rows[-1][1]
        if rows and rows[-1][1] == best:
            rows.pop()
        rows.append((count, best))
    return [(None if i + 1 == len(rows) else up_to, *path)
            for i, (up_to, path) in enumerate(rows)]


def main():
    parser = argparse.ArgumentParser(description="Prints rows of auto_rows from rows of bench_sort.")
    parser.add_argument("--shapes", default="uniform", help="with commas between (default uniform)")
    parser.add_argument("rows", nargs="+", metavar="ROWS.json")
    options = parser.parse_args()
    times = read_times(options.rows, options.shapes.split(","))
    if not times:
        sys.exit(f"no times of our paths with the shapes {options.shapes}")
    for device_class, item_bytes in sorted(times):
        for up_to, path, tile in choose(times[device_class, item_bytes]):
            end = "SIZE_MAX" if up_to is None else str(up_to)
            print(f'    {{"{device_class}", {item_bytes}, {end}, "{path}", {tile}}},')


if __name__ == "__main__":
    main()
