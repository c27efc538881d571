# SPDX-License-Identifier: Apache-2.0
"""The jobs of faults.py: commands, their inputs, and what they must write.

What that is comes from sort(1), zstd(1), or a line of Python.
"""

import array
import dataclasses
import functools
import os
import random
import shutil
import subprocess

# Of a job that differs from another only in where its output goes.
OUTPUT = ("open", "openat", "close", "close_output", "fstat", "faccessat", "readlinkat", "linkat",
          "renameat", "renameat2", "unlinkat", "unlink", "fchmod", "fchown", "flistxattr",
          "fgetxattr", "fsetxattr", "fremovexattr", "getrandom", "fallocate", "ftruncate", "write",
          "pwrite", "malloc")

# Of a job that stores sorted parts. Closing them after they have been read loses nothing, and fclose
# of a stream in memory fails only for want of memory.
PARTS = ("open", "openat", "fcntl", "fstat", "fstatfs", "lseek", "pread", "pwrite", "read", "write",
         "fallocate", "ftruncate", "unlink", "unlinkat", "malloc", "calloc", "realloc", "mmap",
         "pthread_create", "omp_thread", "getrandom")

LARGE = 2_100_000  # numbers of 8 bytes: more than 16 MiB


@dataclasses.dataclass
class Job:
    """A command, in a directory with its inputs."""

    name: str
    words: list
    inputs: dict  # bytes by name
    expected: bytes  # the output
    status: int = 0
    says: bytes = b""  # on standard error
    standard_input: bytes = b""
    to_pipe: bool = False  # else to place/out, an old file
    to_file: bool = False  # to_pipe, but that standard output is a file
    is_zstd: bool = False  # what is written
    is_named: bool = False  # the temporary has a name, as on file systems that know no other
    is_new: bool = False  # there is no old file
    is_in_place: bool = False  # place/out is the input, and overwritten
    functions: tuple = ()  # those that fail; (): all
    repeats: int = 1  # of each fault; if there are several, every call fails
    directory: str = None  # in which it runs; None: of the system's choice


def sort1(words, *texts):
    """What sort(1) makes of the texts, one after the other."""
    return subprocess.run(
        ["sort", *words], input=b"".join(texts), env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE, check=True).stdout


def zstd1(words, data):
    return subprocess.run(
        ["zstd", "-q", "-c", *words], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        check=True).stdout


def numbers(count, seed):
    """`count` numbers of 64 bits, a tenth of them equal to another."""
    chance = random.Random(seed)
    made = array.array("Q", chance.randbytes(8 * count))
    for _ in range(count // 10):
        made[chance.randrange(count)] = made[chance.randrange(count)]
    return made


def raw(values):
    return array.array("Q", values).tobytes()


@functools.cache
def large_numbers():
    """What is sorted, and what it becomes. Not random: Python would take 3 s to sort them."""
    values = range(0, LARGE << 40, 1 << 40)
    return raw(values[i * 1_000_003 % LARGE] for i in range(LARGE)), raw(values)


def npy(values):
    header = "{'descr': '<u8', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + raw(values)


def text(values):
    return b"".join(b"%d\n" % value for value in values)


def lines(count, seed):
    """Lines of two fields, the first of which is the same in many."""
    chance = random.Random(seed)
    return b"".join(b"%d.5 %x\n" % (chance.randrange(count // 4 + 1), chance.getrandbits(40)) for _ in range(count))


# ---- the table -----------------------------------------------------------------------------------


def number_jobs():
    small, other = numbers(2000, 1), numbers(1500, 2)
    places = sorted(range(len(small)), key=lambda i: (small[i], i))
    raw_numbers = ["--format=raw", "--type=u64"]
    yield Job("raw numbers", [*raw_numbers, "in"], {"in": raw(small)}, raw(sorted(small)))
    yield Job("raw numbers of an input that is the output", [*raw_numbers, "place/out"],
              {"place/out": raw(small)}, raw(sorted(small)), functions=OUTPUT)
    yield Job("raw numbers in place", [*raw_numbers, "--in-place", "place/out"],
              {"place/out": raw(small)}, raw(sorted(small)), is_in_place=True)
    yield Job("npy in place, in parts", ["--in-place", "-S", "1b", "place/out"],
              {"place/out": npy(small)}, npy(sorted(small)), is_in_place=True, functions=PARTS)
    yield Job("raw numbers, --verify", [*raw_numbers, "--verify", "in"], {"in": raw(small)},
              raw(sorted(small)), functions=("fdatasync", "posix_fadvise", "lseek", "fcntl", "fstat", "read", "pread"))
    for is_named, is_new in (False, True), (True, False), (True, True):
        yield Job(f"raw numbers{' by a temporary with a name,' if is_named else ''} to {'a new' if is_new else 'an old'} file",
                  [*raw_numbers, "in"], {"in": raw(small)}, raw(sorted(small)), is_named=is_named,
                  is_new=is_new, functions=OUTPUT)
    yield Job("raw numbers from a pipe into a pipe", raw_numbers, {}, raw(sorted(small)),
              standard_input=raw(small), to_pipe=True)
    yield Job("npy", ["in.npy"], {"in.npy": npy(small)}, npy(sorted(small)))
    yield Job("npy, in two files", ["in.npy", "two.npy"],
              {"in.npy": npy(small), "two.npy": npy(other)}, npy(sorted(small + other)))
    yield Job("numbers from text to raw", ["--type=u64", "--output-format=raw", "in"],
              {"in": text(small)}, raw(sorted(small)))
    yield Job("raw numbers to text", [*raw_numbers, "--output-format=text", "in"],
              {"in": raw(small)}, text(sorted(small)))
    yield Job("--top", [*raw_numbers, "--top=10", "in"], {"in": raw(small)}, raw(sorted(small)[:10]))
    yield Job("--argsort", ["--argsort", "in.npy"], {"in.npy": npy(small)}, npy(places))


def line_jobs():
    few, more, values = lines(400, 3), lines(60000, 4), numbers(2000, 1)
    places = sorted(range(len(values)), key=lambda i: (values[i], i))
    first = b"".join(sort1(["-g"], few).splitlines(True)[:10])
    yield Job("lines of numbers", ["in"], {"in": text(values)}, text(sorted(values)))
    yield Job("lines, -g", ["-g", "in"], {"in": few}, sort1(["-g"], few))
    yield Job("lines in place", ["-g", "--in-place", "place/out"], {"place/out": few},
              sort1(["-g"], few), is_in_place=True)
    some = lines(3000, 5)
    yield Job("lines in parts", ["-g", "-S", "1b", "in"], {"in": some}, sort1(["-g"], some), functions=PARTS)
    yield Job("lines, -n -u -k", ["-n", "-u", "-k1,1", "in"], {"in": few}, sort1(["-n", "-u", "-k1,1"], few))
    yield Job("lines, four threads", ["-g", "--parallel=4", "in"], {"in": more}, sort1(["-g"], more))
    yield Job("lines from a pipe into a pipe", ["-h"], {}, sort1(["-h"], more), standard_input=more, to_pipe=True)
    yield Job("lines with a header", ["-g", "--header", "in", "two"],
              {"in": b"head\n" + few, "two": b"head\n" + few}, b"head\n" + sort1(["-g"], few, few))
    yield Job("files named in a file", ["-g", "--files0-from=names"],
              {"in": few, "two": few, "names": b"in\0two\0"}, sort1(["-g"], few, few))
    yield Job("--top of lines", ["-g", "--top=10", "in"], {"in": few}, first)
    argsort = ["-g", "--argsort", "--output-format=raw", "in"]
    yield Job("--argsort of lines", argsort, {"in": text(values)}, raw(places))
    yield Job("--argsort of lines in parts", ["-S", "1b", *argsort], {"in": text(values)}, raw(places), functions=PARTS)


def ordered_jobs():
    """Of lines that are in order."""
    small = {f"part{i}": sort1(["-g"], lines(300 + i, 10 + i)) for i in range(3)}
    parts = {f"part{i}": sort1(["-g"], lines(5000 + i, 10 + i)) for i in range(3)}
    yield Job("-m", ["-m", "-g", *small], small, sort1(["-g"], *small.values()))
    yield Job("-m, two threads", ["-m", "-g", "--parallel=2", *parts], parts, sort1(["-g"], *parts.values()))
    yield Job("-m -u", ["-m", "-u", "-g", *parts], parts, sort1(["-g", "-u"], *parts.values()))
    yield Job("-c", ["-c", "-g", "in"], {"in": b"1\n3\n2\n"}, b"", status=1,
              says=b"gpusort: in:3: disorder: 2\n", to_pipe=True)
    yield Job("-c of lines in order", ["-c", "-g", "in"], {"in": parts["part0"]}, b"", to_pipe=True)


def zstd_jobs():
    few, more, values = lines(400, 3), lines(60000, 4), numbers(2000, 1)
    texts = [lines(3000 + i, i) for i in range(4)]
    frames = b"".join(zstd1([], part) for part in texts)
    yield Job("zstd in", ["-g", "in.zst"], {"in.zst": zstd1([], few)}, sort1(["-g"], few))
    yield Job("zstd in, frames", ["-g", "--parallel=2", "in.zst"], {"in.zst": frames}, sort1(["-g"], *texts))
    yield Job("zstd from a pipe", ["-g"], {}, sort1(["-g"], few), standard_input=zstd1([], few))
    yield Job("zstd out", ["-g", "--zstd", "in"], {"in": more}, sort1(["-g"], more), is_zstd=True)
    yield Job("zstd both ways", ["--format=raw", "--type=u64", "--zstd", "in.zst"],
              {"in.zst": zstd1([], raw(values))}, raw(sorted(values)), is_zstd=True)


def large_line_jobs():
    """Pieces that wait for their turn to be written."""
    many = lines(200_000, 7)
    yield Job("a large output of lines", ["-n", "--parallel=4", "in"], {"in": many},
              sort1(["-n"], many), functions=("write", "malloc", "mmap", "mremap", "omp_thread"))
    yield Job("a large output of lines, many threads", ["-n", "--parallel=16", "in"], {"in": many},
              sort1(["-n"], many), functions=("calloc",), repeats=10)


def mapped_jobs():
    """Of more than 16 MiB: read by several threads, written by several through a mapping."""
    given, expected = large_numbers()
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None  # files there can be mapped
    words = ["--format=raw", "--type=u64", "--parallel=4", "in"]
    mapping = ("pwrite", "fstat", "fstatfs", "fallocate", "mmap", "munmap", "madvise", "ftruncate")
    others = ("pread", "lseek", "mprotect", "open", "openat", "close", "close_output", "linkat",
              "renameat", "pthread_create", "omp_thread", "malloc")
    yield Job("a mapped output", words, {"in": given}, expected, directory=shared, functions=mapping + others)
    yield Job("a mapped standard output", words, {"in": given}, expected, directory=shared,
              to_pipe=True, to_file=True, functions=mapping)


def large_zstd_jobs():
    given, expected = large_numbers()
    few = numbers(600_000, 6)
    parts = [raw(few[at:at + 100_001]) for at in range(0, len(few), 100_001)]
    frames = b"".join(zstd1(["-1"], part) for part in parts)
    words = ["--format=raw", "--type=u64", "--parallel=4", "in"]
    yield Job("a large zstd input", words, {"in": frames}, raw(sorted(few)),
              functions=("read", "pread", "malloc", "calloc", "realloc", "pthread_create", "eventfd", "close"))
    yield Job("a large zstd output", ["--zstd=1", *words], {"in": given}, expected,
              is_zstd=True, functions=("write", "malloc", "calloc", "pthread_create"))


def has_zstd():
    return shutil.which("zstd") is not None


def call_jobs():
    yield from number_jobs()
    yield from line_jobs()
    yield from ordered_jobs()
    yield from large_line_jobs()
    yield from mapped_jobs()
    if has_zstd():
        yield from zstd_jobs()
        yield from large_zstd_jobs()


def cuda_jobs(several=True):
    """By one device, and by several."""
    small, few = numbers(3000, 1), lines(400, 3)
    places = sorted(range(len(small)), key=lambda i: (small[i], i))
    raw_numbers = ["--format=raw", "--type=u64"]
    yield Job("numbers by segmented-merge", [*raw_numbers, "-a", "segmented-merge", "in"],
              {"in": raw(small)}, raw(sorted(small)))
    yield Job("numbers by radix", [*raw_numbers, "-a", "radix", "in"], {"in": raw(small * 4)}, raw(sorted(small * 4)))
    yield Job("numbers of a pipe", raw_numbers, {}, raw(sorted(small)), standard_input=raw(small))
    yield Job("--top", [*raw_numbers, "--top=10", "in"], {"in": raw(small)}, raw(sorted(small)[:10]))
    yield Job("--argsort", ["--argsort", "in.npy"], {"in.npy": npy(small)}, npy(places))
    if several:
        together = [*raw_numbers, "--device=gpu:0,1"]
        yield Job("numbers by two devices", [*together, "in"], {"in": raw(small)}, raw(sorted(small)))
        yield Job("numbers of a pipe by two devices", together, {}, raw(sorted(small)), standard_input=raw(small))
        yield Job("numbers in parts by two devices", [*together, "--device-memory=20K", "in"],
                  {"in": raw(small)}, raw(sorted(small)))
        yield Job("lines by two devices", ["-g", "--device=gpu:0,1", "--device-memory=20K", "in"], {"in": few},
                  sort1(["-g"], few))
    yield Job("lines", ["-g", "in"], {"in": few}, sort1(["-g"], few))
    yield Job("lines, -n -u -k, of a pipe", ["-n", "-u", "-k1,1"], {},
              sort1(["-n", "-u", "-k1,1"], few), standard_input=few)
    yield Job("--argsort of lines", ["-g", "--argsort", "--output-format=raw", "in"], {"in": text(small)}, raw(places))
