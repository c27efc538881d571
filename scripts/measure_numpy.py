#!/usr/bin/env python3
"""Times NumPy's sort in memory: random numbers as bench_cpu's, the median of RUNS runs.

    scripts/measure_numpy.py [SIZE...]      (default 1e5 1e6 1e7 1e8)

To be run right before or behind bench_cpu. np.sort has one thread whatever the machine; to argsort
is bench_cpu's u64+u64: a key with its index.
"""
import sys
import time

import numpy as np

RUNS = 5
TYPES = ("f64", "u64", "f32", "u32")


def measure(work, make):
    times = []
    for _ in range(RUNS):
        data = make()
        start = time.perf_counter()
        work(data)
        times.append(time.perf_counter() - start)
    return sorted(times)[RUNS // 2] * 1e3


def random_keys(name, count):
    x = np.random.default_rng(1).random(count)
    if name[0] == "f":
        return (2 * x - 1).astype("f" + str(int(name[1:]) // 8))
    bits = int(name[1:])
    return (x * 2.0**bits).astype("u" + str(bits // 8))


def main():
    sizes = [int(float(word)) for word in sys.argv[1:]] or [10**5, 10**6, 10**7, 10**8]
    print(f"NumPy {np.__version__}, one thread; medians of {RUNS} runs; the sort alone")
    for count in sizes:
        for name in TYPES:
            keys = random_keys(name, count)
            print(f"{name:8} {count:10} np.sort    {measure(np.ndarray.sort, keys.copy):12.4f} ms")
        keys = random_keys("u64", count)
        print(f"u64+u64  {count:10} np.argsort {measure(np.ndarray.argsort, keys.copy):12.4f} ms")


main()
