#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times NumPy's sort in memory: random numbers as bench_cpu's, the median of five runs or more.

    scripts/measure_numpy.py --json=FILE --types=LIST SIZE...

Each row is printed and, in the form of bench_cpu's, appended to FILE. np.sort has one thread whatever
the machine, and sorts keys of one and two bytes by their digits where it is asked to be stable; to
argsort is bench_cpu's u64+u64: a key with its index. measure_cpu.sh runs both.
"""
import argparse
import functools
import json
import time

import numpy as np

RUNS = 5
LEAST_S = 0.02


def measure(work, make):
    """The times of all runs, in milliseconds, sorted."""
    times, total = [], 0.0
    while len(times) < RUNS or total < LEAST_S:
        data = make()
        start = time.perf_counter()
        work(data)
        times.append(time.perf_counter() - start)
        total += times[-1]
    return sorted(1e3 * seconds for seconds in times)


def random_keys(name, count):
    x = np.random.default_rng(1).random(count)
    if name[0] == "f":
        return (2 * x - 1).astype("f" + str(int(name[1:]) // 8))
    bits = int(name[1:])
    return (x * 2.0**bits).astype("u" + str(bits // 8))


def sorter(name):
    if "+" in name:
        return np.ndarray.argsort
    return functools.partial(np.ndarray.sort, kind="stable" if name in ("u8", "u16") else None)


def report(kind, count, times, path):
    ms = times[len(times) // 2]
    print(f"{kind:8}{count:10} numpy {ms:12.4f} ms {count / ms / 1e3:10.1f} Mkey/s")
    row = {"backend": "cpu", "type": kind, "shape": "uniform", "count": count, "path": "numpy",
           "peer": True, "runs": len(times), "ms": ms, "least_ms": times[0],
           "mkeys_per_s": count / ms / 1e3, "ratio": None}
    with open(path, "a", encoding="utf-8") as rows:
        rows.write(json.dumps(row, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Times NumPy's sort in memory.")
    parser.add_argument("--json", metavar="FILE", required=True, help="append the rows to FILE")
    parser.add_argument("--types", metavar="LIST", required=True)
    parser.add_argument("sizes", metavar="SIZE", nargs="+", type=float)
    options = parser.parse_args()
    print(f"NumPy {np.__version__}, one thread; medians of {RUNS} runs or more; the sort alone")
    for size in options.sizes:
        count = int(size)
        for name in options.types.split(","):
            keys = random_keys(name.split("+")[0], count)
            report(name, count, measure(sorter(name), keys.copy), options.json)


main()
