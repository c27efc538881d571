# SPDX-License-Identifier: Apache-2.0
"""raw_content.py DIR: writes files of raw numbers as NumPy makes them.

DIR/doubles-*.bin       f64 that must be sorted as such
DIR/others/HINT.*.bin   numbers that are refused as f64: HINT is what the error may say of them
DIR/*.bin, *.up, *.big  a few numbers for single claims, and some of them sorted
DIR/*.i8, u8, f16       numbers of these types, and of those that NumPy calls so

A hint is a type and perhaps a byte order (f32+big). TYPE means that none is sure, records-N that the data look like
records of N bytes.
"""

import os
import sys

import numpy as np

root = sys.argv[1]
random = np.random.default_rng(7)
fresh = np.random.default_rng(8)
os.makedirs(os.path.join(root, "others"))


def bits(word):
    return np.array([word], dtype=np.uint64).view("<f8")[0]


def mixed(share, value, n):
    return np.where(random.random(n) < share, value, random.normal(size=n))


def columns(n, *arrays):
    """Returns n numbers of a table with these columns."""
    return np.stack(arrays, 1).ravel()[:n]


def rows(n, row):
    """Returns n numbers of multiples of a row."""
    return np.outer(1 + fresh.random(n), row).ravel()[:n]


doubles = {
    "normal": lambda n: random.normal(size=n),
    "lognormal": lambda n: random.lognormal(0, 20, n),
    "uniform": lambda n: random.random(n),
    "exponential": lambda n: random.exponential(size=n),
    "cauchy": lambda n: random.standard_cauchy(n),
    "log": lambda n: 10.0 ** random.uniform(-60, 60, n) * random.choice([-1, 1], n),
    "integers": lambda n: random.integers(-1000, 1000, n),
    "large_integers": lambda n: random.integers(0, 2**53, n),
    "flags": lambda n: random.integers(0, 2, n),
    "odd": lambda n: (2 * random.integers(0, 2**21, n) + 1) / 2**14,
    "singles": lambda n: random.normal(size=n).astype("f4"),
    "halves": lambda n: random.normal(size=n).astype("f2"),
    "sorted": lambda n: np.sort(random.normal(size=n)),
    "steps": lambda n: np.arange(n) * 0.1,
    "constant": lambda n: np.full(n, 0.1),
    "nights": lambda n: np.round(2458500.38 + fresh.integers(0, 2000, n) + fresh.random(n) * 0.27, 6),
    "zeros": np.zeros,
    "nan_padded": lambda n: mixed(0.9, np.nan, n),
    "r_missing": lambda n: mixed(0.9, bits(0x7FF00000000007A2), n),
    "all_ones": lambda n: np.full(n, bits(2**64 - 1)),
    "infinite": lambda n: np.where(random.random(n) < 0.9, np.inf, -np.inf),
    "sparse": lambda n: mixed(0.99, 0, n),
    "prices": lambda n: np.round(random.random(n) * 1000, 2),
    "tenths": lambda n: np.round(random.random(n) * 100, 1),
    "times": lambda n: np.round(1.7e9 + random.random(n), 3),
    "nanoseconds": lambda n: 1.7e18 + random.integers(0, 10**15, n),
    "subnormal": lambda n: fresh.permutation(np.where(np.arange(n) % 5 == 4, 5e-324 * np.arange(n), random.random(n))),
    "greatest": lambda n: mixed(0.3, np.finfo("f8").max, n),
    "underflow": lambda n: np.exp(-fresh.exponential(100, n)),
    "bell_rows": lambda n: rows(n, np.exp(-np.linspace(0, 38, 32) ** 2 / 2)),
    "square_rows": lambda n: rows(n, 0.1 ** 2.0 ** np.arange(9)),
    "scaled_rows": lambda n: rows(n, 10.0 ** np.array([-80, -9, 0, 40, 80])),
    "thirds": lambda n: np.where(np.arange(n) % 2, fresh.random(n), fresh.integers(1, 400, n) / 3),
    "some_tiny_in_rows": lambda n: np.where(
        (np.arange(n) % 4 == 1) & (fresh.random(n) < 0.7), 5e-324 * np.arange(n), fresh.random(n)
    ),
    "one_tiny": lambda n: fresh.permutation(np.where(np.arange(n) % 9 == 8, 5e-324, fresh.random(n))),
    "two_tenths": lambda n: columns(n, fresh.choice([12.6, 12.7], n), fresh.normal(size=n)),
    "tenths_by_threes": lambda n: columns(n, fresh.choice([36.4, 36.6, 36.8], n), fresh.random(n), fresh.random(n)),
    "falling_tenths": lambda n: np.round(np.linspace(12.74, 12.55, n), 1),
    "four_tenths": lambda n: fresh.choice([12.5, 12.6, 12.7, 12.8], n),
    "scales": lambda n: columns(n, np.linspace(0, 1, n), np.logspace(-300, 300, n)),
    "likelihoods": lambda n: np.exp(-columns(n, fresh.random(n), 1 + fresh.random(n), 500 + 2 * fresh.random(n))),
    "marks": lambda n: np.where(fresh.random(n) < 0.9, -1e30, fresh.normal(size=n)),
    "bell": lambda n: np.exp(-np.linspace(-25, 25, n) ** 2 / 2),
    "decay": lambda n: np.exp(-np.linspace(0, 300, n)),
    "geometric": lambda n: 0.94 ** np.arange(n),
    "sigmoid": lambda n: 1 / (1 + np.exp(-np.linspace(-350, 350, n))),
    "no_bound": lambda n: columns(n, fresh.random(n), np.full(n, np.finfo("f8").max)),
    "growth": lambda n: columns(n, fresh.random(n), 2.0 ** np.linspace(300, 1000, n)),
    "set_point": lambda n: fresh.permutation(np.r_[np.full(n // 10, 0.103), fresh.random(n // 300), np.zeros(n)])[:n],
    "held_level": lambda n: np.where(
        (np.arange(n) < n // 4) & (fresh.random(n) > 0.05), 0.103, np.round(fresh.lognormal(3, 1, n), 2)
    ),
    "times_and_tenths": lambda n: columns(n, 1.7e9 + np.arange(n), np.round(fresh.normal(20, 3, n), 1)),
    "magnitudes": lambda n: fresh.choice([1e-80, 1e-9, 1, 1e70], n) * fresh.normal(size=n),
}
for name, make in doubles.items():
    for count in 1, 3, 8, 33, 5000:
        make(count).astype("<f8").tofile(f"{root}/doubles-{name}-{count}.bin")

doubles["times_and_tenths"](80000).tofile(f"{root}/doubles-times_and_tenths-80000.bin")

# By chance, a few words of these look like a column of text.
for name in "two_tenths", "tenths_by_threes", "falling_tenths", "four_tenths":
    for count in 64, 128, 256, 365:
        doubles[name](count).astype("<f8").tofile(f"{root}/doubles-{name}-{count}.bin")

integers = random.integers


def records(dtype, *columns):
    """Returns the bytes of records, as a function of their number."""
    return lambda n: np.frombuffer(np.rec.fromarrays([make(n) for make in columns], dtype=dtype).tobytes(), "u1")


def normal(n):
    return random.normal(size=n)


def days(n):
    return 10**18 + np.arange(n) * 86400 * 10**9


def ids(n):
    return integers(1, 25 * 10**7, n)


def seconds_of(n):
    return 17 * 10**8 + np.arange(n)


def names(n):
    return [b"k%07d" % (i * 7919 % 5000) for i in range(n)]


others = [  # the hint, numbers of n words, their dtype, the least count of words that show it
    ("i64", lambda n: integers(0, 100, n), "<i8", 3),
    ("i64", lambda n: integers(-100, 100, n), "<i8", 3),
    ("i64", lambda n: np.full(n, 7), "<i8", 8),
    ("i64", lambda n: integers(0, 2**40, n), "<u8", 3),
    ("i64", lambda n: 1700000000 * 10**9 + integers(0, 10**15, n), "<i8", 400),
    ("TYPE", lambda n: 1700000000 * 10**9 + integers(0, 10**15, min(n, 12)), "<i8", 3),
    ("TYPE", lambda n: integers(50, 80, n), "<i8", 12),  # as big-endian f64 near 1
    ("TYPE", lambda n: integers(-(2**63), 2**63, n, dtype=np.int64), "<i8", 400),
    ("TYPE", lambda n: integers(0, 2, 2 * n), "<i4", 12),
    ("TYPE", lambda n: integers(0, 100, 2 * n), "<i4", 3),
    ("TYPE", lambda n: integers(-1000, 1000, 2 * n), "<i4", 3),
    ("TYPE", lambda n: integers(60, 80, 2 * n), "<i4", 12),  # as big-endian f32 near 1
    ("TYPE", lambda n: 1700000000 + integers(0, 10**5, 2 * n), "<u4", 12),
    ("TYPE", lambda n: 10**9 + integers(0, 10**6, 2 * n), "<u4", 12),  # as f32 near 1
    ("TYPE", lambda n: integers(0, 2**32, 2 * n), "<u4", 400),
    ("TYPE", lambda n: 0xC0A80000 + integers(0, 65536, 2 * n), "<u4", 12),
    ("TYPE", lambda n: integers(-1000, 1000, 4 * n), "<i2", 12),
    ("TYPE", lambda n: integers(12000, 21000, 4 * n), "<i2", 400),  # as f32 near 1
    ("TYPE", lambda n: integers(0, 2, 8 * n), "u1", 12),
    ("TYPE", lambda n: integers(0, 100, 8 * n), "u1", 400),
    ("text", lambda n: integers(63, 75, 8 * n), "u1", 400),  # as f32 near 1
    ("text", lambda n: integers(65, 91, 8 * n), "u1", 400),  # letters
    ("TYPE", lambda n: integers(0, 256, 8 * n), "u1", 400),
    ("f32", lambda n: random.normal(size=2 * n), "<f4", 12),
    ("f32", lambda n: random.random(2 * n) * 1e6, "<f4", 12),
    ("f32", lambda n: np.sort(random.exponential(size=2 * n)), "<f4", 400),
    ("TYPE", lambda n: integers(0, 1000, 2 * n), "<f4", 40),
    ("TYPE", lambda n: random.normal(size=4 * n), "<f2", 400),
    ("TYPE", lambda n: random.normal(size=4 * n), ">f2", 400),
    ("i64+big", lambda n: integers(0, 2, n), ">i8", 24),
    ("i64+big", lambda n: np.full(n, 7), ">i8", 8),
    ("i64+big", lambda n: integers(-100, 100, n), ">i8", 400),
    ("TYPE", lambda n: integers(0, 2, 2 * n), ">i4", 12),
    ("TYPE", lambda n: integers(-1000, 1000, 2 * n), ">i4", 12),
    ("TYPE", lambda n: integers(60, 80, 2 * n), ">i4", 400),  # as f32 near 1
    ("TYPE", lambda n: integers(0, 2, 4 * n), ">i2", 12),
    ("f64+big", lambda n: random.normal(size=n), ">f8", 400),
    ("TYPE", lambda n: integers(1, 1000, n), ">f8", 12),  # as small i64
    ("TYPE", lambda n: random.normal(size=n).astype("f4"), ">f8", 400),  # as i64
    ("f32+big", lambda n: random.normal(size=2 * n), ">f4", 400),
    ("TYPE", lambda n: 10.0 ** random.uniform(91, 300, n), "<f8", 12),
    # Records of an integer, a count or a time, and a double.
    ("records-16", records("i8,f8", np.arange, normal), "u1", 20),
    ("records-16", records("f8,i8", normal, lambda n: 17 * 10**17 + np.arange(n)), "u1", 20),
    ("records-24", records("f8,f8,i8", normal, normal, lambda n: -np.arange(n) - 2), "u1", 12),
    ("records-32", records("f8,f8,f8,i8", normal, normal, normal, np.arange), "u1", 12),
    ("records-32", records("f8,f8,f8,i8", normal, normal, normal, lambda n: integers(0, 2, n)), "u1", 40),
    ("records-32", records("i8,f8,f8,f8", lambda n: 17 * 10**17 + np.arange(n) * 10**9, *[normal] * 3), "u1", 12),
    ("records-40", records("i8,f8,f8,f8,f8", days, *[normal] * 4), "u1", 12),
    ("records-32", records("f8,f8,f8,u8", *[normal] * 3, lambda n: integers(0, 2**64, n, "u8")), "u1", 50),
    ("records-32", records("f8,f8,f8,S8", *[normal] * 3, names), "u1", 12),
    ("records-24", records("S16,f8", lambda n: [b"measured" + name for name in names(n)], normal), "u1", 12),
    ("records-32", records("f8,f8,f8,u4,u4", *[normal] * 3, np.arange, np.arange), "u1", 12),
    ("records-56", records("f8,f8,f8,i4", *[normal] * 3, np.arange), "u1", 100),  # 28 bytes
    ("records-64", records("i8," + ",".join(["f8"] * 7), np.arange, *[normal] * 7), "u1", 12),
    ("records-256", records("i8," + ",".join(["f8"] * 31), np.arange, *[normal] * 31), "u1", 12),
    ("TYPE", lambda n: np.r_[np.arange(1, n + 1), random.normal(size=n).view("i8")], "<i8", 12),
    ("TYPE", lambda n: np.r_[np.arange(1, 2 * n + 1, dtype="i4"), random.normal(size=n).view("i4")], "<i4", 400),
    ("i64", lambda n: 5e-324 * integers(0, 100, n), "<f8", 12),  # the error names f64 too
    # Times of whole seconds or days look like times in either byte order, and so do numbers with a small lowest byte.
    ("i64", lambda n: 10**9 * (1700000000 + integers(0, 10**7, n)), "<i8", 400),
    ("TYPE", lambda n: 10**9 * (1700000000 + integers(0, 10**7, n)), ">i8", 400),
    ("i64", lambda n: 86400 * 10**9 * integers(19000, 22000, n), "<i8", 400),
    ("TYPE", lambda n: 86400 * 10**9 * integers(19000, 22000, n), ">i8", 400),
    ("TYPE", lambda n: integers(0, 2**40, n) << 8 | integers(1, 5, n), "<i8", 400),
    ("i64", lambda n: np.where(integers(0, 9, n), 10**9 * integers(10**9, 11 * 10**8, n), -(2**63)), "<i8", 400),
    ("TYPE", lambda n: np.where(integers(0, 9, n), 10**9 * integers(10**9, 11 * 10**8, n), -(2**63)), ">i8", 400),
    ("TYPE", lambda n: integers(0, 2**40, n) << 8, "<i8", 400),
    ("TYPE", lambda n: integers(0, 2**40, n) << 8, ">i8", 400),
    # Times of many years, and ids in the upper bits, in which the lower bytes are constant: the other order fits, too.
    ("i64", lambda n: 86400 * 10**9 * integers(0, 19700, n), "<i8", 400),
    ("TYPE", lambda n: 86400 * 10**9 * integers(0, 19700, n), ">i8", 400),
    ("TYPE", lambda n: 86400 * 10**9 * integers(-25000, 19700, n), "<i8", 400),
    ("TYPE", lambda n: 3600 * 10**6 * integers(-600000, 470000, n), "<i8", 400),
    ("i64", lambda n: integers(10**11, 2 * 10**11, n) << 22 | integers(0, 32, n) << 12, "<i8", 400),
    ("TYPE", lambda n: integers(16 * 10**8, 17 * 10**8, n) << 32 | integers(1, 9, n), "<i8", 400),
    ("TYPE", lambda n: integers(0, 10**6, n) << 32, "<i8", 400),
    ("TYPE", lambda n: integers(0, 10**4, n) << 48, "<i8", 400),
    ("TYPE", lambda n: integers(0, 2**13, n) << 50, "<i8", 400),
    ("TYPE", lambda n: integers(0, 2**32, n) << 31, "<i8", 400),
    ("TYPE", lambda n: (integers(0, 3 * 2**13, n) << 1 | 1) << 48, "<u8", 400),  # as S2 has cells of a level
    ("TYPE", lambda n: integers(1, 9, n) * 10**18, "<i8", 400),
    # Doubles that are far from 1.
    ("TYPE", lambda n: 2.0 ** integers(-1000, 1000, n), "<f8", 400),
    ("TYPE", lambda n: -1e-100 * (1 + random.random(n)), "<f8", 400),
    # Masks of 0 and -1, whose words may be of any type, and are doubles for none.
    ("TYPE", lambda n: -integers(0, 2, n), "<i8", 12),
    ("TYPE", lambda n: np.r_[-1, np.zeros(n - 1)], "<i8", 2),
    ("TYPE", lambda n: -integers(0, 2, 2 * n), "<i4", 12),
    ("TYPE", lambda n: np.repeat(integers(0, 2, n // 4 + 1) * 255, 32), "u1", 40),
    # Pairs of integers of 32 bits before a double, such as chromosome and position, or id and time.
    ("records-16", records("i4,i4,f8", lambda n: integers(1, 23, n), ids, normal), "u1", 400),
    ("records-16", records("i4,i4,f8", ids, seconds_of, normal), "u1", 400),
    ("records-40", records("i4,f8,f8", seconds_of, normal, normal), "u1", 1000),  # 20 bytes
    # f32 and f16 of which most are 0.
    ("TYPE", lambda n: np.r_[np.zeros(8 * n // 5), random.normal(size=2 * n - 8 * n // 5)], "<f4", 400),
    ("TYPE", lambda n: np.r_[np.zeros(16 * n // 5), random.normal(size=4 * n - 16 * n // 5)], "<f2", 400),
    # Tables of f32 whose columns have different magnitudes.
    ("TYPE", lambda n: columns(2 * n, random.uniform(25, 48, 2 * n), random.uniform(-124, -67, 2 * n)), "<f4", 400),
    ("TYPE", lambda n: columns(2 * n, np.linspace(300, 800, 2 * n), random.random(2 * n)), "<f4", 400),
    ("TYPE", lambda n: columns(2 * n, random.normal(14, 2, 2 * n), random.exponential(0.05, 2 * n)), "<f4", 400),
]
for number, (hint, make, dtype, least) in enumerate(others):
    for count in least, 5000:
        make(count).astype(dtype).tofile(f"{root}/others/{hint}.{number}.{count}.bin")

# Arrays of different types, one after another: times or labels and the values, f32 and f64.
nanoseconds = 17 * 10**17 + np.cumsum(integers(1, 10**9, 10000))
for number, arrays in enumerate(
    [
        (nanoseconds, random.normal(size=10000)),
        (random.normal(size=10000), nanoseconds),
        (np.arange(3000), random.normal(size=27000)),
        (random.normal(size=10000).astype("f4"), random.normal(size=10000)),
        (random.normal(size=20000), random.normal(size=4000).astype("f4")),
        (random.normal(size=27000), integers(0, 10, 3000)),
    ]
):
    with open(f"{root}/arrays.{number}.bin", "wb") as file:
        for array in arrays:
            array.tofile(file)

np.array([30, -10, 20]).tofile(root + "/data.bin")
np.array([-10, 20, 30]).tofile(root + "/data.up")
np.array([2.0, 1]).tofile(root + "/good.bin")
np.array([3, 1, 2, 2.5], ">f8").tofile(root + "/big.bin")
np.array([1, 2, 2.5, 3], ">f8").tofile(root + "/big.up")
np.concatenate([random.random(100000), np.arange(900000).view(float)]).tofile(root + "/late.bin")
np.sort(np.fromfile(root + "/others/i64+big.29.5000.bin", ">i8")).tofile(root + "/sorted.big")
np.sort(np.fromfile(root + "/others/f32+big.39.5000.bin", ">f4")).tofile(root + "/single.big")

# Too few f16 for the exponents of f32 to show it; and doubles whose bits have a period.
np.random.default_rng(3).normal(size=192).astype("f2").tofile(root + "/few_halves.bin")
(np.random.default_rng(3).choice(np.arange(193, 250, 8), 200) / 255).tofile(root + "/levels.bin")

# i8, u8 and f16: one or two bytes, and for NumPy eight or sixteen.
np.array([3, 1, 2]).tofile(root + "/few.i8")
np.array([3, -1, 2]).tofile(root + "/signed.i8")
np.arange(10**12, 10**12 + 500).tofile(root + "/large.u8")
np.full(8, 7).tofile(root + "/constant.u8")
np.full(500, 1700000000).tofile(root + "/constant.i8")
(17 * 10**17 + np.arange(500) * 10**9).tofile(root + "/time.i8")
np.arange(8.0).astype(np.longdouble).tofile(root + "/long.f16")
np.r_[np.nan, np.arange(8.0), -np.inf, 5e-324, -1e308].astype(np.longdouble).tofile(root + "/special.f16")
# Marks of no value, and 0, among times, small integers and hashes.
for number, (array, marks) in enumerate(
    [
        (17 * 10**17 + integers(0, 10**15, 5000), [0, -1, -(2**63)]),
        (integers(0, 10**6, 5000), [2**63 - 1, -(2**63)]),
        (integers(0, 2**63, 5000), np.r_[np.zeros(2000, "i8"), np.full(500, -1)]),
    ]
):
    random.permutation(np.r_[array[len(marks) :], marks]).astype("i8").tofile(f"{root}/marks{number}.i8")
random.integers(-128, 128, 4096, dtype="i1").tofile(root + "/true.i8")
random.integers(0, 3, 4096, dtype="i1").tofile(root + "/flags.u8")
(random.random(4096) < .001).astype("i1").tofile(root + "/sparse.i8")
random.normal(size=4096).astype("f2").tofile(root + "/true.f16")
random.uniform(-4, -1, 4096).astype("f2").tofile(root + "/negative.f16")
np.zeros(4096, "i1").tofile(root + "/zeros.u8")
np.full(4096, 7, "i1").tofile(root + "/sevens.u8")
np.full(4096, -1, "i1").tofile(root + "/ones.i8")

# Integers of 4 and 8 bytes in both byte orders, WIDTH.ORDER.N.ints, whose type NumPy users call i8 or u8. Those of 4
# bytes may be pairs that are packed in 8. What is of one byte: N.bytes.
ints = {
    "8": [
        integers(0, 1000, 1000),
        integers(-1000, 1000, 1000),
        integers(0, 2**40, 100),
        integers(0, 2, 100),
        10**18 + integers(0, 10**15, 500),
        np.full(9, 7),
        np.arange(8),
        integers(10**11, 2 * 10**11, 500) << 22 | integers(0, 2**12, 500),
        integers(0, 17 * 10**17, 1000),
    ],
    "4": [
        integers(0, 1000, 1000),
        integers(-1000, 1000, 1000),
        integers(1, 30, 64),
        integers(0, 2, 1000),
        integers(0, 10**5, 1000),
        np.c_[integers(1, 99, 500), integers(0, 2, 500)].ravel(),
    ],
}
for width, arrays in ints.items():
    for number, array in enumerate(arrays):
        for order, letter in ("little", "<"), ("big", ">"):
            path = "%s/%s.%s.%d.ints" % (root, width, order, number)
            array.astype(letter + "i" + width[-1]).tofile(path)
            for kind in "iu":
                np.sort(np.fromfile(path, letter + kind + width[0])).tofile("%s.%s.up" % (path, kind))
seconds = 10**9 * (1700000000 + integers(0, 10**7, 500))  # of these, both ends are constant
seconds.astype(">i8").tofile(root + "/seconds.big")
np.sort(seconds).astype(">i8").tofile(root + "/seconds.big.up")
image = integers(0, 256, (64, 64, 4)).astype("u1")
image[..., 3] = 255
bytes_of = [
    image,
    image * [1, 1, 1, 0],
    integers(0, 17, 4096),
    integers(120, 137, 4096),
    integers(0, 256, 4096),
    integers(0, 256, 16),
    (np.arange(4096) % 512 == 7) * (np.arange(4096) < 1500),  # three of the last byte of eight
    integers(0, 2, 4096) * 255,
    np.arange(4096) % 251,
    np.tile([0, 0, 0, 255], 32),
    image * [0, 0, 0, 1],
    image * [0, 0, 0, 1] + [255, 255, 255, 0],
    image // 2 * [0, 0, 1, 0] + [0, 0, 0, 255],
    (np.arange(64 * 64) % 64 == 63) * integers(1, 256, 64 * 64),
    np.c_[integers(0, 10, 1000), integers(0, 256, (1000, 7))],
    np.c_[integers(0, 200, (4096, 7)), integers(47, 73, 4096)],
]
for number, array in enumerate(bytes_of):
    array.astype("u1").tofile("%s/bytes%d.u8" % (root, number))
    np.sort(array.astype("u1"), axis=None).tofile("%s/bytes%d.up" % (root, number))
