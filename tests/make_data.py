# SPDX-License-Identifier: Apache-2.0
"""Data for the tests, and what gpusort is to make of it, by NumPy and Python alone.

  make_data.py keys DIR TYPE[,TYPE...] COUNT...   numbers with every special value, and their orders
  make_data.py argsort DIR TYPE[,...] COUNT...    the same numbers, and the permutations that sort them
  make_data.py text DIR TYPE[,...] COUNT          the same numbers as raw data and as text, sorted
  make_data.py shapes DIR COUNT          u64 and f32 of some shapes, their orders and permutations
  make_data.py lines COUNT               lines of text of every spelling (fuzz_lines.py)
  make_data.py npy DIR                   .npy files, good ones and liars
  make_data.py arrays DIR                .npy files as others than numpy.save write them, and sorted
"""

import itertools
import os
import random
import struct
import sys

import numpy as np

# Exponent bits of the floats. NumPy has no bf16, so numbers are handled as their bits.
EXPONENT_BITS = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}

# The bits of types whose names do not end with them.
BITS = {"bool": 8}

# The dtypes of types whose name contains neither letter nor size.
DTYPES = {"bool": "?", "datetime64": "M8[ns]", "timedelta64": "m8[25s]"}
TIMES = ("datetime64", "timedelta64")
HAS_NAN = (*EXPONENT_BITS, *TIMES)


def width(type_name):
    return BITS.get(type_name) or int(type_name.lstrip("abcdefghijklmnopqrstuvwxyz"))


def bits_dtype(type_name):
    return np.dtype("<u%d" % (width(type_name) // 8))


def numpy_dtype(type_name, endian="little"):
    """The dtype of a type, or None where NumPy has none."""
    if type_name == "bf16":
        return None
    name = DTYPES.get(type_name) or "%s%d" % (type_name[0], width(type_name) // 8)
    return np.dtype("<>"[endian == "big"] + name)


def is_nan(numbers):
    """Of an array of a type of HAS_NAN: NaT is one too."""
    return np.isnat(numbers) if numbers.dtype.kind in "Mm" else np.isnan(numbers)


def infinity(type_name):
    exponent_bits = EXPONENT_BITS[type_name]
    return ((1 << exponent_bits) - 1) << (width(type_name) - 1 - exponent_bits)


def special_bits(type_name):
    """The bits of numbers that sorters get wrong."""
    bits = width(type_name)
    sign = 1 << (bits - 1)
    if type_name == "bool":
        return [0, 1]
    if type_name not in EXPONENT_BITS:
        return [0, 1, 2, sign - 1, sign, sign + 1, 2 * sign - 1]
    inf = infinity(type_name)
    quiet = inf | (inf & -inf) >> 1  # the first bit of the significand set as well
    positive = [0, 1, 2, inf - 1, inf, inf + 1, inf + 2, quiet, quiet + 1, sign - 1]
    return positive + [sign | x for x in positive]


def make_keys(type_name, count, seed):
    """Bits of numbers: a third any bits, a third few distinct ones, specials in between."""
    generator = np.random.default_rng(seed)
    top = 1 if type_name == "bool" else (1 << width(type_name)) - 1
    keys = generator.integers(0, top, count, dtype=np.uint64, endpoint=True)
    few = generator.integers(0, top, 7, dtype=np.uint64, endpoint=True)
    kind = generator.integers(0, 9, count)
    keys = np.where(kind < 3, few[generator.integers(0, 7, count)], keys)
    special = np.array(special_bits(type_name), dtype=np.uint64)
    keys = np.where(kind == 3, special[generator.integers(0, len(special), count)], keys)
    if type_name in EXPONENT_BITS and numpy_dtype(type_name):
        ordinary = generator.normal(0, 100, count).astype(numpy_dtype(type_name))
        keys = np.where(kind > 5, ordinary.view(bits_dtype(type_name)), keys)
    return keys.astype(bits_dtype(type_name))


def sort_keys(type_name, keys, descending=False, nan=None):
    """The documented order:
    -inf < ... < -0 < +0 < ... < +inf < +NaNs by payload < -NaNs by payload, downwards; NaTs last."""
    return next(ordered for *order, ordered in orders_of_keys(type_name, keys) if order == [descending, nan])


def orders_of_keys(type_name, keys):
    """(descending, nan, the keys in that order) for each direction and rule for NaNs."""
    if type_name not in HAS_NAN:
        ordered = np.sort(keys.view(numpy_dtype(type_name))).view(keys.dtype)
        yield False, None, ordered
        yield True, None, ordered[::-1]
        return
    if type_name in TIMES:
        nan = is_nan(keys.view(numpy_dtype(type_name)))
        upwards = np.argsort(keys.view(numpy_dtype(type_name)))
    else:
        bits = width(type_name)
        magnitude = (keys & keys.dtype.type((1 << (bits - 1)) - 1)).astype(np.int64)
        negative = (keys >> keys.dtype.type(bits - 1)) == 1
        by_sign = np.where(negative, ~magnitude, magnitude)
        nan = magnitude > infinity(type_name)
        upwards = np.lexsort((by_sign, negative & nan, nan))
    for descending in (False, True):
        order = upwards[::-1] if descending else upwards
        numbers, nans = order[~nan[order]], order[nan[order]]
        yield descending, None, keys[order]
        yield descending, "first", keys[np.concatenate((nans, numbers))]
        yield descending, "last", keys[np.concatenate((numbers, nans))]


def write_keys(path, type_name, endian, keys):
    """Writes raw data to PATH.raw and, where NumPy has the type, np.save's file to PATH.npy."""
    stored = keys if endian == "little" else keys.byteswap()
    stored.tofile(path + ".raw")
    dtype = numpy_dtype(type_name, endian)
    if dtype:
        np.save(path + ".npy", stored.view(dtype))


def command_keys(directory, type_name, *counts):
    for count in map(int, counts):
        keys = make_keys(type_name, count, seed=count + len(type_name))
        orders = list(orders_of_keys(type_name, keys))
        numbers = comparable(type_name, keys)
        if type_name in EXPONENT_BITS:  # np.sort must have the same values
            assert np.array_equal(np.sort(numbers), comparable(type_name, orders[0][2]), equal_nan=True)
        if type_name in HAS_NAN and is_nan(numbers).any():  # the number of the first one, from 1
            with open(os.path.join(directory, "%s.%d.nan" % (type_name, count)), "w") as file:
                print(is_nan(numbers).argmax() + 1, file=file)
        for endian in ("little", "big")[: 1 if width(type_name) == 8 else 2]:
            base = os.path.join(directory, "%s.%d.%s" % (type_name, count, endian))
            write_keys(base + ".in", type_name, endian, keys)
            write_keys(base + ".numpy", type_name, endian, keys[argsort_keys(type_name, keys)])
            for descending, nan, ordered in orders:
                name = "%s.%s%s" % (base, "down" if descending else "up", "." + nan if nan else "")
                write_keys(name, type_name, endian, ordered)


def comparable(type_name, keys):
    """Numbers that NumPy compares as those of the type: a bf16 is the upper half of an f32."""
    if type_name == "bf16":
        return (keys.astype(np.uint32) << 16).view(np.float32)
    return keys.view(numpy_dtype(type_name))


def argsort_keys(type_name, keys, descending=False, nan=None):
    """np.argsort's stable order, where -0 is 0 and NaNs are equal; downwards it is that of the
    array from its end, from its end."""
    numbers = comparable(type_name, keys)
    order = np.argsort(numbers, kind="stable")
    if descending:
        order = len(keys) - 1 - np.argsort(numbers[::-1], kind="stable")[::-1]
    if nan:
        are_nan = is_nan(numbers[order])
        parts = (order[are_nan], order[~are_nan])
        order = np.concatenate(parts if nan == "first" else parts[::-1])
    return order


def command_argsort(directory, type_name, *counts):
    """TYPE.COUNT.ENDIAN.in.{raw,npy}, TYPE.COUNT.{up,down}.u64."""
    for count in map(int, counts):
        base = os.path.join(directory, "%s.%d" % (type_name, count))
        keys = make_keys(type_name, count, seed=count + len(type_name))
        for endian in ("little", "big"):
            write_keys("%s.%s.in" % (base, endian), type_name, endian, keys)
        for name, descending in (("up", False), ("down", True)):
            argsort_keys(type_name, keys, descending).astype("<u8").tofile("%s.%s.u64" % (base, name))


def number_text(type_name, value):
    """The shortest decimal that reads back the same."""
    if type_name in TIMES:
        return "NaT" if np.isnat(value) else str(value.astype(np.int64))
    if type_name[0] != "f":
        return str(int(value))
    if np.isnan(value):
        return "-nan" if np.signbit(value) else "nan"
    # Python's format of a double, for all widths, because NumPy's depends on its version.
    if value == 0 or np.isinf(value) or 1e-4 <= abs(float(value)) < 1e16:
        return np.format_float_positional(value, unique=True, trim="-")
    return np.format_float_scientific(value, unique=True, trim="-", exp_digits=2)


def plain_nans(type_name, keys):
    """NaNs as text has them: with a sign and no payload."""
    if type_name not in EXPONENT_BITS:
        return keys
    inf = infinity(type_name)
    sign = keys & keys.dtype.type(1 << (width(type_name) - 1))
    plain = keys.dtype.type(inf | (inf & -inf) >> 1)
    return np.where((keys ^ sign) > inf, plain | sign, keys).astype(keys.dtype)


def in_text(type_name, keys):
    numbers = keys.view(numpy_dtype(type_name))
    return "".join(number_text(type_name, x) + "\n" for x in numbers).encode()


def command_text(directory, type_name, count):
    """IN.raw and IN.text hold the same numbers; SORTED.raw and SORTED.text too, in order. The NaNs
    of text have no payload."""
    keys = plain_nans(type_name, make_keys(type_name, int(count), seed=5))
    for name, numbers in (("in", keys), ("sorted", sort_keys(type_name, keys))):
        write_keys(os.path.join(directory, "%s.%s" % (type_name, name)), type_name, "little", numbers)
        with open(os.path.join(directory, "%s.%s.text" % (type_name, name)), "wb") as text:
            text.write(in_text(type_name, numbers))


def command_shapes(directory, count):
    count = int(count)
    generator = np.random.default_rng(count)
    shapes = {
        "random": generator.integers(0, 2**63, count),
        "equal": np.full(count, 7),
        "two": generator.integers(0, 2, count) * 1000,
        "sorted": np.arange(count) * 5,
        "reversed": np.arange(count)[::-1],
        "zipf": np.minimum(generator.zipf(1.3, count), 2**62),
    }
    for name, values in shapes.items():
        for type_name in ("u64", "f32"):
            numbers = values.astype(numpy_dtype(type_name))
            path = os.path.join(directory, name + ".%s." + type_name)
            numbers.tofile(path % "in")
            np.sort(numbers).tofile(path % "up")
            np.sort(numbers)[::-1].tofile(path % "down")
            for direction in ("up", "down"):
                order = argsort_keys(type_name, numbers, direction == "down")
                order.astype("<u8").tofile(path % (direction + ".indices"))


def is_alike_everywhere(line):
    """True if a long double of 64 bits, as of sort(1) here, and one of 113 bits, as on aarch64, order it alike."""
    mantissa, _, exponent = line.lower().partition(b"p" if b"x" in line.lower() else b"e")
    return len(mantissa.strip()) <= 19 and not (exponent.startswith(b"-") and len(exponent.strip()) > 4)


def command_lines(count):
    """NaNs of one spelling alone: GNU sort 9.1 compares the padding of their bytes too, so that its
    order of others is left to chance."""
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz"))
    from fuzz_lines import strict_line

    choose = random.Random(20)
    lines = itertools.islice(filter(is_alike_everywhere, iter(lambda: strict_line(choose), None)), int(count))
    sys.stdout.buffer.writelines(b"nan\n" if b"nan" in line.lower() else line + b"\n" for line in lines)


def npy(header, data, magic=b"\x93NUMPY\x01\x00"):
    """An .npy file by hand: nothing in it need be true."""
    header = header.encode("latin1")
    return magic + struct.pack("<H" if magic[6:7] == b"\x01" else "<I", len(header)) + header + data


def command_npy(directory):
    eight = np.arange(8, 0, -1, dtype="<f8")
    for version in (1, 2, 3):
        with open(os.path.join(directory, "version%d.npy" % version), "wb") as file:
            np.lib.format.write_array(file, eight, version=(version, 0))
    np.save(os.path.join(directory, "big_endian.npy"), eight.astype(">f8"))
    np.save(os.path.join(directory, "empty.npy"), eight[:0])
    np.save(os.path.join(directory, "sorted.npy"), np.sort(eight))
    with open(os.path.join(directory, "fewer_bytes.npy"), "wb") as file:
        file.write(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }\n", eight[:-1].tobytes()))


# Dtypes as programs write them in a header. The result of numpy.dtype() determines what is expected.
SPELLINGS = (
    "f8 i8 u8 i1 u1 f2 f4 i2 u2 i4 u4 b1 ? b B h H i I l L q Q p P e f d g float64 float32 float16 int8 int16"
    " int32 int64 uint8 uint16 uint32 uint64 bool half single double longdouble float int uint byte ubyte short"
    " ushort intc uintc int_ intp uintp long longlong ulonglong M8 m8 M m M8[ns] m8[us] M8[25s] m8[1D] M8[generic]"
    " datetime64 timedelta64 datetime64[ms] timedelta64[2W] M8[Y] M8[M] M8[h] M8[m] m8[ps] m8[fs] m8[as]"
    " M8[2147483647s] M8[2147483648s] M8[10] M8[] M[s] M8[s f8[s] f16 f3 c8 U1 S1 O V1 V8 i9"
    " <float64 <double <i08x"
).split() + [order + name for name in ("f8", "d", "i2", "?", "u1", "q", "M8[ns]", "timedelta64[s]") for order in "<>=|"]


def spelled_array(spelling):
    """An array of the dtype, with each special value; None if there is no such type of numbers."""
    try:
        dtype = np.dtype(spelling)
    except TypeError:
        return None
    if dtype.kind not in "biufMm" or dtype.itemsize > 8:
        return None
    names = {"b": "bool", "M": "datetime64", "m": "timedelta64"}
    type_name = names.get(dtype.kind) or "%s%d" % (dtype.kind, 8 * dtype.itemsize)
    keys = make_keys(type_name, 200, seed=len(spelling))
    if type_name in EXPONENT_BITS:  # NumPy does not order NaNs, nor -0 and 0, among themselves
        keys = keys[np.abs(keys.view(numpy_dtype(type_name))) > 0]
    return (keys if dtype.byteorder != ">" else keys.byteswap()).view(dtype)


def command_arrays(directory):
    """N.spelling says how the dtype is spelled; N.in.npy is by hand. N.out.npy is what numpy.save writes
    of it, sorted, where NumPy loads it and has numbers."""

    def path(name):
        return os.path.join(directory, name)

    def save(name, header, data, magic=b"\x93NUMPY\x01\x00"):
        with open(path(name + ".in.npy"), "wb") as file:
            file.write(npy(header, data, magic))

    header = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n"
    for at, spelling in enumerate(SPELLINGS):
        array = spelled_array(spelling)
        data = bytes(80) if array is None else array.tobytes()
        count = 10 if array is None else array.size
        save(str(at), header % (repr(spelling), "False", "(%d,)" % count), data)
        with open(path("%d.spelling" % at), "w") as file:
            file.write(spelling)
        if array is not None:
            np.save(path("%d.out.npy" % at), np.sort(np.load(path("%d.in.npy" % at))))
    numbers = np.array([3.5, -1, 2, 0.25, -7, 1, 8, 0], "<f8")
    for name, shape, text in (
        ("column", (8, 1), "(8, 1)"),
        ("row", (1, 8), "(1, 8)"),
        ("middle", (1, 8, 1), "(1,8,1,)"),
        ("python2", (8,), "(8L,)"),
        ("no_dimension", (), "()"),
        ("ones", (1, 1, 1), "(1, 1, 1)"),
        ("no_rows", (0, 1), "(0, 1)"),
        ("no_columns", (1, 0), "(1, 0)"),
        ("nothing", (0,), "(0,)"),
    ):
        for order in ("True", "False"):
            name = "%s.%s" % (name.split(".")[0], order)
            array = numbers[: int(np.prod(shape, dtype=int))].reshape(shape)
            save(name, header % ("'<f8'", order, text), array.tobytes())
            np.save(path(name + ".out.npy"), np.sort(array, axis=None).reshape(shape))
    for name, line in (
        ("unicode", "{u'descr': u'<f8', u'fortran_order': False, u'shape': (8L,)}"),
        ("tight", '{"shape":(8,),"fortran_order":False,"descr":"<f8"}'),
        ("lines", "{'shape': (8,),\n 'descr': '<f8',\n\t'fortran_order': False,\n}\n\n"),
        ("padded", "{'descr': '<f8', 'fortran_order': False, 'shape': (8,), }" + " " * 1000),
    ):
        for magic in (b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00"):
            save("%s.%d" % (name, magic[6]), line, numbers.tobytes(), magic)
            np.save(path("%s.%d.out.npy" % (name, magic[6])), np.sort(numbers))


def main(name, *words):
    command = globals()["command_" + name]
    if name not in ("keys", "argsort", "text"):
        return command(*words)
    for type_name in words[1].split(","):
        command(words[0], type_name, *words[2:])


if __name__ == "__main__":
    main(*sys.argv[1:])
