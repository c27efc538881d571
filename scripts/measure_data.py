#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data to time gpusort with, made by all cores.

  measure_data.py KIND COUNT FILE

  f64 f32     raw, uniform in [0, 1)
  u32         raw, below 1,000,000
  general     lines of %.9g, spread over eight powers of ten
  integers    lines of integers of 1 to 18 digits
  spelled     lines of 1,000,000 values, each spelled in one of five ways
  digits      lines of nine random digits after the point (-0.889170205), an even COUNT

The same KIND and COUNT give the same bytes.
"""

import multiprocessing
import os
import random
import sys

import numpy as np

KINDS = ("f64", "f32", "u32", "general", "integers", "spelled", "digits")
BLOCK = 1 << 18
GROUP = 256  # blocks that are in memory at a time
SPELLINGS = ["%d", "%d.0", "+%d", "0%d", "%de0"]


def keys(kind, rng, count):
    if kind == "u32":
        return rng.integers(0, 1000000, count, np.uint32).tobytes()
    return rng.random(count, {"f64": np.float64, "f32": np.float32}[kind]).tobytes()


def lines(kind, rng, count):
    if kind == "general":
        values = rng.uniform(-1, 1, count) * 10.0 ** rng.integers(-4, 4, count)
        return ("%.9g\n" * count % tuple(values)).encode()
    if kind == "integers":
        values = rng.integers(0, 10**18, count) // 10 ** rng.integers(0, 18, count)
        return ("%d\n" * count % tuple(values * rng.choice([-1, 1], count))).encode()
    if kind == "spelled":
        values = rng.integers(0, 1000000, count)
        form = "\n".join(random.Random(int(values[0])).choices(SPELLINGS, k=count)) + "\n"
        return (form % tuple(values)).encode()
    pairs = np.empty((count // 2, 25), np.uint8)
    pairs[:] = np.frombuffer(b"0.000000000\n-0.000000000\n", np.uint8)
    for begin in (2, 15):
        pairs[:, begin : begin + 9] += rng.integers(0, 10, (count // 2, 9), np.uint8)
    return pairs.tobytes()


def block(task):
    kind, number, count = task
    rng = np.random.default_rng([2026, number])
    return (keys if kind in KINDS[:3] else lines)(kind, rng, count)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    kind, count, path = sys.argv[1], int(float(sys.argv[2])), sys.argv[3]
    if kind == "digits" and count % 2 != 0:
        sys.exit(f"{sys.argv[0]}: {count} lines of digits: their number is even")
    tasks = [(kind, i, min(BLOCK, count - i)) for i in range(0, count, BLOCK)]
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool, open(path, "wb") as out:
        for begin in range(0, len(tasks), GROUP):
            out.writelines(pool.map(block, tasks[begin : begin + GROUP], chunksize=1))


if __name__ == "__main__":
    main()
