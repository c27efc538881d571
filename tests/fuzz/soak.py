# SPDX-License-Identifier: Apache-2.0
"""Whole runs on data of every size, each proven by NumPy or sort(1).

  soak.py --runs N [--seed S] [--largest BYTES] [--jobs J] [--work DIR]
  soak.py --seed S --first K --runs 1        run K again

A run is a format, a size from nothing to the largest, options and limits of memory, all drawn by a
generator that is seeded with S and the number of the run. Its output must be what NumPy makes of the
numbers, or sort(1) of the lines; it must say nothing; and no file may be left beside the output or
in -T. The last line says how many did.

$GPUSORT is the program under test, by default build/gpusort. On its GPU too, if it has one.
"""

import argparse
import multiprocessing
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # make_data.py
import make_data
import zstd_frames

GPUSORT = os.path.realpath(os.environ.get("GPUSORT", "build/gpusort"))
TYPES = ["u8", "i8", "u16", "i16", "f16", "bf16", "u32", "i32", "f32", "u64", "i64", "f64", "f64"]
ARGSORT_COUNT_MAX = 10_000_000  # NumPy's stable sort takes its time
LINES_SHARE = 10  # sort(1) is slower than NumPy: texts are that much smaller
TIME_LIMIT_S = 300

def sort_keys(type_name, keys, descending, nan):
    """make_data.sort_keys without its permutation: by the bits as unsigned integers."""
    dtype, bits = keys.dtype.type, make_data.width(type_name)
    sign = dtype(1 << (bits - 1))
    if type_name not in make_data.EXPONENT_BITS:
        flip = sign if type_name[0] == "i" else dtype(0)
        ordered = np.sort(keys ^ flip) ^ flip
        return ordered[::-1] if descending else ordered
    ordered = np.sort(np.where(keys & sign, ~keys, keys | sign))
    inf = make_data.infinity(type_name)
    negative_nans = int(np.searchsorted(ordered, dtype(~(int(sign) | inf) & (2**bits - 1))))
    positive_nans = len(ordered) - int(np.searchsorted(ordered, dtype(int(sign) | inf), side="right"))
    ordered = np.roll(np.where(ordered & sign, ordered ^ sign, ~ordered), -negative_nans)
    ordered = ordered[::-1] if descending else ordered
    nans = negative_nans + positive_nans
    if nan and nan != ("first" if descending else "last"):
        ordered = np.roll(ordered, -nans if descending else nans)
    return ordered


def make_keys(rng, type_name, count):
    seed = rng.getrandbits(32)
    generator = np.random.default_rng(seed)
    dtype = make_data.bits_dtype(type_name)
    shape = rng.choice(["bits", "bits", "specials", "close", "few", "sorted", "reversed", "equal"])
    if shape == "specials" and count < 10_000_000:
        return make_data.make_keys(type_name, count, seed)
    top = {"close": 1000, "few": 5, "equal": 1}.get(shape, 2 ** (8 * dtype.itemsize))
    keys = generator.integers(0, min(top, 2 ** (8 * dtype.itemsize)), count, dtype)
    if shape in ("sorted", "reversed"):
        keys.sort()
        keys = keys[::-1].copy() if shape == "reversed" else keys
    return keys


def make_lines(rng, size):
    """Many of few kinds, so that it takes no time; among them some of every spelling. No NaN, of which
    GNU sort 9.1 compares the padding."""
    odd = [line for line in (make_data.random_line(rng) for _ in range(2000)) if "nan" not in line]
    generator = np.random.default_rng(rng.getrandbits(32))
    count = size // 10
    form, values = rng.choice(
        [
            ("%d\n", lambda n: generator.integers(-(10**9), 10**9, n)),
            ("%.9g\n", lambda n: generator.normal(0, 1, n) * 10.0 ** generator.integers(-4, 4, n)),
            ("%d x\n", lambda n: generator.integers(0, 1000, n)),
            ("%.17g\n", lambda n: generator.random(n)),
        ]
    )
    pieces = []
    for begin in range(0, count, 100_000):
        n = min(100_000, count - begin)
        pieces.append(form * n % tuple(values(n)))
        pieces.append("".join(line + "\n" for line in rng.sample(odd, rng.choice([0, 0, 100]))))
    text = "".join(pieces)
    return (text[:-1] if rng.random() < 0.1 else text).encode()


class Run:
    """What is run, and where."""

    def __init__(self, rng, work, devices):
        self.rng, self.work = rng, work
        self.spill = os.path.join(work, "spill")
        self.arguments = []
        self.device = rng.choice(devices)
        os.mkdir(self.spill)

    def path(self, name):
        return os.path.join(self.work, name)

    def put(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def add_limits(self, size):
        rng = self.rng
        self.arguments.append("--device=" + self.device)
        if rng.random() < 0.3:
            self.arguments += ["-T", self.spill, "-S", "%db" % max(1000, size * rng.uniform(0.06, 3))]
        if rng.random() < 0.3 and self.device != "cpu":
            self.arguments.append("--device-memory=%db" % max(1000, size * rng.uniform(0.1, 3)))
        if rng.random() < 0.3:
            self.arguments.append("--parallel=%d" % rng.choice([1, 2, 3, 7, 16]))

    def go(self, data, extension):
        """Runs gpusort on the data; what it wrote, and what is wrong with how."""
        rng, packed_in, packed_out = self.rng, self.rng.random() < 0.2, self.rng.random() < 0.2
        stored = zstd_frames.compress(data, rng.choice([1 << 20, 1 << 24, 1 << 40])) if packed_in else data
        # A pipe has no file name, so no suffix identifies its content or selects zstd.
        by_pipe, to_pipe, in_place = rng.random() < 0.2, rng.random() < 0.2, rng.random() < 0.1
        source = self.put("in" + extension + (".zst" if packed_in else ""), stored)
        target = source if in_place and not to_pipe and packed_in == packed_out else self.path("out" + extension)
        arguments = self.arguments + ["--zstd" if packed_out else "--no-zstd"]
        arguments += [] if to_pipe else ["-o", target]
        arguments += [] if by_pipe else [source]
        self.command = " ".join(map(shlex.quote, [GPUSORT] + arguments))
        cat = subprocess.Popen(["cat", source], stdout=subprocess.PIPE) if by_pipe else None
        done = subprocess.run([GPUSORT] + arguments, stdin=cat.stdout if cat else subprocess.DEVNULL,
                              capture_output=True, timeout=TIME_LIMIT_S)  # fmt: skip
        if cat:
            cat.stdout.close()
            cat.wait()
        if done.returncode or done.stderr:
            return b"", "status %d: %s" % (done.returncode, done.stderr.decode(errors="replace"))
        left = set(os.listdir(self.work)) - {os.path.basename(source), os.path.basename(target), "spill"}
        if left or os.listdir(self.spill):
            return b"", "left behind: %s %s" % (left, os.listdir(self.spill))
        if to_pipe:
            return done.stdout, None, packed_out
        if not os.path.exists(target):
            return b"", "wrote nothing"
        with open(target, "rb") as file:
            return file.read(), None, packed_out


def run_keys(run, largest):
    rng = run.rng
    type_name = rng.choice(TYPES)
    item_bytes = make_data.width(type_name) // 8
    size = draw_size(rng, largest)
    keys = make_keys(rng, type_name, size // item_bytes)
    descending, endian = rng.random() < 0.3, rng.choice(["little", "little", "big"])
    nan = rng.choice([None, None, "first", "last"]) if type_name in make_data.EXPONENT_BITS else None
    stored = keys if endian == "little" else keys.byteswap()
    run.arguments += ["--format=raw", "--type=" + type_name, "--endian=" + endian]
    run.arguments += ["-r"] * descending + (["--nan=" + nan] if nan else [])
    run.add_limits(size)
    if rng.random() < 0.15 and len(keys) <= ARGSORT_COUNT_MAX:
        run.arguments.append("--argsort=u32")
        expected = make_data.argsort_keys(type_name, keys, descending, nan).astype("<u4")
        expected = expected if endian == "little" else expected.byteswap()
    else:
        expected = sort_keys(type_name, keys, descending, nan)
        expected = expected if endian == "little" else expected.byteswap()
    if rng.random() < 0.15:
        top = rng.choice([0, 1, 1000, len(keys) // 3, len(keys), len(keys) + 7])
        run.arguments.append("--top=%d" % top)
        expected = expected[:top]
    return stored.tobytes(), np.ascontiguousarray(expected).tobytes(), ".raw"


def run_lines(run, largest):
    rng = run.rng
    size = draw_size(rng, largest // LINES_SHARE)
    text = make_lines(rng, size)
    words = rng.choice([["-n"], ["-g"], ["-h"], ["-k1,1n"], ["-k2", "-k1n"], ["-n", "-t."]])
    words = words + [letter for letter in ("-r", "-u", "-s") if rng.random() < 0.2]
    run.arguments += words
    run.add_limits(size)
    sort = subprocess.run(["sort", "-S", "2G"] + words + [run.put("in", text)], capture_output=True,
                          env=dict(os.environ, LC_ALL="C"), check=True)  # fmt: skip
    os.remove(run.path("in"))
    return text, sort.stdout, ".txt"


def draw_size(rng, largest):
    if rng.random() < 0.1:
        return rng.randrange(100)
    return int(2 ** rng.uniform(4, np.log2(largest)))


def one(task):
    """(number, None or what is wrong)"""
    seed, number, largest, devices, work = task
    rng = random.Random("%d %d" % (seed, number))
    with tempfile.TemporaryDirectory(prefix="gpusort-soak.", dir=work) as directory:
        run = Run(rng, directory, devices)
        data, expected, extension = (run_keys if rng.random() < 0.7 else run_lines)(run, largest)
        try:
            out, problem, *packed = run.go(data, extension)
        except subprocess.TimeoutExpired:
            out, problem = b"", "not done after %d s" % TIME_LIMIT_S
        if problem is None:
            got = zstd_frames.decompress(out, len(expected)) if packed[0] else out
            problem = None if got == expected else "%d bytes, not those of %d that are right" % (
                len(got or b""), len(expected))  # fmt: skip
        return number, len(data), problem and "run %d of %d bytes: %s\n  %s" % (
            number, len(data), problem, run.command)  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--largest", type=float, default=1e6)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--work")
    words = parser.parse_args()
    plan = [GPUSORT, "--explain", "--device=gpu", "--format=raw", "--type=u8", os.devnull]
    has_gpu = subprocess.run(plan, capture_output=True, check=False).returncode == 0
    devices = ["cpu", "auto"] + ["gpu", "gpu"] * has_gpu
    begin, bad, total = time.monotonic(), 0, 0
    tasks = [(words.seed, words.first + i, int(words.largest), devices, words.work) for i in range(words.runs)]
    with multiprocessing.Pool(words.jobs) as pool:
        for _, size, problem in pool.imap_unordered(one, tasks):
            total += size
            if problem:
                bad += 1
                print(problem, flush=True)
    print("%d runs, %d wrong; %.1f GB sorted in %.0f s" % (words.runs, bad, total / 1e9, time.monotonic() - begin))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
