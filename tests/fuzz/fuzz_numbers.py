# SPDX-License-Identifier: Apache-2.0
"""The rounds of fuzz_sort.py --numbers: arrays in every format, of at most 30,000 numbers unless --largest is
given, and the options that are for numbers.
What gpusort writes must be, byte for byte, what NumPy makes of them (make_data.py). An input that was
damaged is sorted, as what it is now, or refused; it is refused if libzstd refuses it."""

import dataclasses
import io
import os
import random
import re
import sys

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # make_data.py
import make_data
import zstd_frames

TEXT_COUNT_MAX = 20000  # Python takes a microsecond or two for each number
TYPES = ["i8", "u8", "i16", "u16", "f16", "bf16", "i32", "u32", "f32", "i64", "u64", "f64", *make_data.DTYPES]
TEXT = [name for name in TYPES if name != "bf16"]
NPY = TEXT
INDICES = {"u32": ["u32", "uint32", "=u4"], "u64": ["u64", "uint64"], "i32": ["i32", "int32", "=i4"],
           "i64": ["i64", "int64", "=i8"]}  # fmt: skip


@dataclasses.dataclass
class Round:
    type_name: str
    endian: str  # of the numbers that are read and written
    format: str  # "raw", "npy" or "text"
    arrays: list  # of bits, one for each input
    output_format: str
    words: list  # of the command line, but for the inputs
    descending: bool = False
    nan: str = None  # "first", "last" or "error"
    top: int = None
    indices: str = None  # a type of INDICES with --argsort
    target: str = "stdout"
    old: bytes = b"the old output"  # in the target, unless that is standard output
    packs: bool = False  # the output is zstd
    is_packed: bool = False  # the inputs are


def draw_count(rng, type_name, form, settings):
    """The count of all numbers together."""
    if settings.largest and rng.random() < 0.9:
        count = int(2 ** rng.uniform(4, np.log2(settings.largest))) * 8 // make_data.width(type_name)
        return min(count, TEXT_COUNT_MAX) if form == "text" else count
    if not settings.paths and rng.random() < 0.1:  # enough for several sorted parts
        return rng.randrange(30000)
    return rng.choice([0, 1, 2, 3, 5, 17, 64, 65, rng.randrange(300), rng.randrange(300)])


def draw_arrays(rng, type_name, count):
    """One to four arrays, some of them empty, that share their few values."""
    keys = make_data.make_keys(type_name, count, rng.getrandbits(32))
    shape = rng.random()
    if shape < 0.15:
        keys = make_data.sort_keys(type_name, keys, shape < 0.05)
    elif shape < 0.3 and count:
        keys = keys[np.array([rng.randrange(min(count, 3)) for _ in range(count)])]
    cuts = sorted(rng.randrange(count + 1) for _ in range(rng.choice([0, 0, 0, 1, 2, 3])))
    return np.split(keys, cuts)


def spelled(rng, text):
    """Blanks around some numbers, and perhaps no newline after the last one."""
    before, after = [b"", b"", b" ", b"\t "], [b"\n", b"\n", b" \n", b"\r\n"]
    text = b"".join(rng.choice(before) + line + rng.choice(after) for line in text.split(b"\n")[:-1])
    return text[:-1] if rng.random() < 0.2 else text


def in_npy(array, version):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def input_bytes(rng, this, keys):
    if this.format == "text":
        return spelled(rng, make_data.in_text(this.type_name, keys))
    stored = keys if this.endian == "little" else keys.byteswap()
    if this.format == "raw":
        return stored.tobytes()
    dtype = make_data.numpy_dtype(this.type_name, this.endian)
    return in_npy(stored.view(dtype), rng.choice([(1, 0), (1, 0), (2, 0), (3, 0)]))


def expected_bytes(this):
    """What is to be written; None: it is to be refused."""
    keys = np.concatenate(this.arrays)
    if this.nan == "error":
        if make_data.is_nan(make_data.comparable(this.type_name, keys)).any():
            return None
    nan = this.nan if this.nan != "error" else None
    if this.indices:
        order = make_data.argsort_keys(this.type_name, keys, this.descending, nan)
        type_name, keys = this.indices, order.astype(make_data.bits_dtype(this.indices))
    else:
        type_name, keys = this.type_name, make_data.sort_keys(this.type_name, keys, this.descending, nan)
    keys = np.ascontiguousarray(keys[: this.top])
    if this.output_format == "text":
        return make_data.in_text(type_name, keys)
    by_words = this.output_format == "raw" and says_order(this)
    endian = this.endian if not this.indices or by_words else "little"
    stored = keys if endian == "little" else keys.byteswap()
    if this.output_format == "raw":
        return stored.tobytes()
    return in_npy(stored.view(make_data.numpy_dtype(type_name, endian)), (1, 0))


def draw_round(rng, settings):
    form = rng.choice(["raw", "raw", "npy", "npy", "text"])
    type_name = rng.choice({"raw": TYPES, "npy": NPY, "text": TEXT}[form])
    endian = rng.choice(["little", "big"]) if form != "text" and make_data.width(type_name) > 8 else "little"
    arrays = draw_arrays(rng, type_name, draw_count(rng, type_name, form, settings))
    if form == "text":
        arrays = [make_data.plain_nans(type_name, keys) for keys in arrays]
    this = Round(type_name, endian, form, arrays, form, [])
    has_nan = type_name in make_data.HAS_NAN
    if rng.random() < 0.3:
        this.descending = True
        this.words.append(rng.choice(["-r", "--reverse"]))
    if has_nan and rng.random() < 0.3:
        this.nan = rng.choice(["first", "last", "error"])
        this.words.append("--nan=" + this.nan)
    if rng.random() < 0.25:
        this.indices = rng.choice(list(INDICES))
        is_default = this.indices == "u64" and rng.random() < 0.5
        this.words.append("--argsort" if is_default else "--argsort=" + rng.choice(INDICES[this.indices]))
    if rng.random() < 0.3:
        count = sum(map(len, arrays))
        this.top = rng.choice([0, 1, 2, 10, count // 2, max(count - 1, 0), count, count + 1, 10**6])
        this.words.append("--top=%d" % this.top)
    draw_output(rng, this)
    draw_limits(rng, this, settings)
    return this


def draw_output(rng, this):
    """Where to, in which format, and who says so: the option, the name or the input."""
    written = this.indices or this.type_name
    has_unit = this.format == "npy" or written not in make_data.TIMES
    choices = ["raw"] + ["npy"] * (written in NPY and has_unit) + ["text"] * (written in TEXT)
    if sum(map(len, this.arrays)) > TEXT_COUNT_MAX:
        choices = [name for name in choices if name != "text"]
    if rng.random() < 0.4:
        this.output_format = rng.choice(choices)
        this.words.append("--output-format=" + this.output_format)
    elif rng.random() < 0.4:
        name = rng.choice(choices)
        if name != "raw":
            this.output_format, this.target = name, "out." + {"npy": "npy", "text": "txt"}[name]
        elif this.output_format == "raw":
            this.target = "out." + written
    elif rng.random() < 0.3:
        this.target = "out"
    if this.target != "stdout":
        this.words += ["-o", this.target]
        if rng.random() < 0.1:
            this.words.append("--verify")
    if rng.random() < 0.15:
        this.packs = True
        this.words.append(rng.choice(["--zstd", "--zstd=1", "--zstd=19"]))


def draw_limits(rng, this, settings):
    if rng.random() < 0.2:
        sizes = ["1b", "1K", "20K", "1M"]
        if settings.largest:  # not in thousands of parts
            sizes = ["%db" % max(1000, sum(map(len, this.arrays)) * rng.uniform(0.5, 20))]
        this.words += ["-S", rng.choice(sizes)]
    if rng.random() < 0.2:
        this.words.append("--parallel=%d" % rng.choice([1, 2, 3, 8]))
    if settings.paths and not settings.largest and rng.random() < 0.5:  # some paths are for few numbers
        path, tiles = rng.choice(settings.paths)
        tile = rng.choice(tiles + [b""])
        this.words.append("--algorithm=" + (path + (b":" + tile if tile else b"")).decode())
    if settings.paths and rng.random() < 0.1:
        this.words.append("--device-memory=%dK" % rng.choice([1, 40, 300]))


def draw_inputs(rng, this):
    """Their names and contents; adds the words that tell what they are, if their names do not."""
    type_word = "--type=" + rng.choice(type_spellings(this))
    tells = rng.random() < 0.5
    name = {"raw": this.type_name, "npy": "npy", "text": "txt"}[this.format] if not tells else "in"
    contents = [input_bytes(rng, this, keys) for keys in this.arrays]
    looks_like_text = this.format == "raw" and any(c.isascii() and b"\n" in c for c in contents)
    if tells or looks_like_text:
        this.words.append("--format=" + this.format)
    if this.format == "text" or (tells and this.format == "raw") or rng.random() < 0.2:
        this.words.append(type_word)
    if this.format == "raw" and this.endian == "big" and not says_order(this):
        this.words.append("--endian=big")
    this.is_packed = rng.random() < 0.15
    if this.is_packed:
        contents = [zstd_frames.compress_oddly(rng, data) for data in contents]
    return ["%d.%s" % (i, name) for i in range(len(contents))], contents


def damaged(rng, data):
    """Some bytes are others, gone, more, or the end is, mostly near the begin, where headers are."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(min(len(data), rng.choice([16, 100, len(data)])) + 1)
        kind = rng.random()
        if kind < 0.5 and at < len(data):
            data[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256), data[at] ^ 1 << rng.randrange(8)])
        elif kind < 0.65:
            del data[at : at + rng.choice([1, 2, 4, 100])]
        elif kind < 0.9:
            data[at:at] = rng.randbytes(rng.choice([1, 2, 4, 40]))
        else:
            del data[at:]
    return bytes(data)


# Parts of the headers of .npy files, right and wrong ones. %b is the count of the numbers.
SHAPES = [b"(%b,)", b"(%b,)", b"(%b , )", b"(%bL,)", b"(1, %b)", b"(%b,1,1)", b"(1,1,%b,)", b"(%b,0)", b"(2,%b)", b"(%b)",
          b"(0%b,)", b"[%b]", b"(-%b,)", b"(%b.,)", b"(%b,,)", b"(,)", b"()", b"(18446744073709551616,)"]  # fmt: skip
PARTS = [b"{", b"}", b"(", b")", b",", b":", b"'", b'"', b"#", b"\\", b"\0", b"\xff", b"u", b"b", b"0", b"None", b"'x'",
         b"'descr'", b"True", b"(1,)", b"'<f8'", b"''"]  # fmt: skip


def odd_header(rng, data):
    """A .npy file whose header is spelled otherwise, and may be wrong."""
    descr, count = re.search(rb"'descr': '(.*?)'.*'shape': \((\d+),\)", data).groups()
    descr = rng.choice([descr, descr, descr[1:], b"=" + descr[1:], b"|" + descr[1:], descr + b"8"])
    shape = rng.choice(SHAPES)
    if data[6] == 3:  # where NumPy knows no L
        shape = shape.replace(b"L", b"")
    values = {b"descr": b"'%b'" % descr, b"fortran_order": rng.choice([b"True", b"False"]),
              b"shape": shape % count if b"%b" in shape else shape}  # fmt: skip
    parts = [b"{"]
    for name in rng.sample(list(values), 3):
        parts += [b"'%b'" % name, b":", values[name], b","]
    parts.append(b"}")
    if rng.random() < 0.3:
        parts = [part.replace(b"'", b'"') if rng.random() < 0.8 else b"u" + part for part in parts]
    for _ in range(rng.choice([0, 0, 0, 1, 2])):  # a part is another one, missing or added
        at = rng.randrange(len(parts))
        parts[at : at + rng.choice([0, 1])] = rng.choice([[], [rng.choice(parts + PARTS)]])
    header = b"".join(part + rng.choice([b"", b"", b" ", b"\t ", b"\n"]) for part in parts).rstrip()
    header += rng.choice([b"", b" ", b"\n", b" \n"])  # Python refuses blanks after the last newline
    length = len(header) + (rng.choice([-1, 1, 256]) if rng.random() < 0.05 else 0)
    begin = 10 if data[6] == 1 else 12
    return data[:8] + length.to_bytes(begin - 8, "little") + header + data[data.index(b"\n") + 1 :]


def type_spellings(this):
    """As gpusort names it, and as NumPy does, with the byte order."""
    dtype = make_data.numpy_dtype(this.type_name, this.endian)
    if dtype is None or this.format == "text":
        return [this.type_name]
    return [this.type_name, dtype.name.split("[")[0], dtype.str.replace("|", "<").split("[")[0]]


def try_round(settings, runner, number):
    """None, or what there is to say of what is wrong."""
    rng = random.Random("numbers %d %d" % (settings.seed, number))
    this = draw_round(rng, settings)
    names, contents = draw_inputs(rng, this)
    is_npy = this.format == "npy" and not this.is_packed
    is_damaged = rng.random() < (0.5 if is_npy else 0.1)
    if is_damaged:
        at = rng.randrange(len(contents))
        damage = odd_header if is_npy and rng.random() < 0.8 else damaged
        contents[at] = damage(rng, contents[at])
    for name, data in zip(names, contents):
        write(name, data)
    words = list(settings.gpusort_options) + this.words
    stdin = "/dev/null"
    how = rng.random()
    if len(names) == 1 and is_like_its_input(this) and rng.random() < 0.2:
        this.target, this.old = names[0], contents[0]
        is_overwritten = this.format == "raw" and this.top is None and not this.is_packed
        words += ["--in-place"] if is_overwritten and rng.random() < 0.5 else ["-o", names[0]]
        how = 1
    if how < 0.1:
        write("names", b"".join(name.encode() + b"\0" for name in names))
        words.append("--files0-from=names")
    elif how < 0.3 and words_tell(this):
        stdin = contents[0] if how < 0.2 else names[0]
        words += ["-"] * (len(names) > 1 or how < 0.25) + names[1:]
    else:
        words += [word for name in names for word in (["-i", name] if how < 0.4 else [name])]
    if this.target != "stdout":
        write(this.target, this.old)
    got = runner.serve([word.encode() for word in words], stdin)
    problem = find_problem_of_damage(this, contents, got) if is_damaged else find_problem(this, got)
    return problem and report(settings, number, words, stdin, names, contents, problem)


def is_like_its_input(this):
    """Whether the output may have the name of the input."""
    return this.target == "stdout" and this.output_format == this.format and not this.indices and not this.packs


def says_order(this):
    """Whether the words name the byte order."""
    return any(word.startswith(("--endian=", "--type=<", "--type=>")) for word in this.words)


def words_tell(this):
    """What is in the inputs, without their names."""
    options = [word.partition("=")[0] for word in this.words]
    return this.format == "npy" or ("--format" in options and (this.format == "text" or "--type" in options))


def output_of(this):
    with open(this.target, "rb") as file:
        return file.read()


def find_problem_of_refusal(this, got):
    """Of what is to be refused."""
    is_refused = got.status == 2 and got.said.startswith(b"gpusort: ") and got.said.count(b"\n") == 1
    is_untouched = this.target == "stdout" or output_of(this) == this.old
    return None if is_refused and is_untouched else "not refused: status %s, %r" % (got.status, got.said)


def find_problem_of_damage(this, contents, got):
    is_sound = [not data.startswith(zstd_frames.MAGIC) or zstd_frames.decompress(data, 10**6) is not None
                for data in contents]  # fmt: skip
    is_sorted = got.status == 0 and not got.said and all(is_sound)
    if this.format == "npy" and not this.is_packed and all(data.startswith(np.lib.format.MAGIC_PREFIX) for data in contents):
        return find_problem_of_npy(this, contents, got, is_sorted)
    return None if is_sorted else find_problem_of_refusal(this, got)


def load(data):
    """The array of a .npy file; an error if bytes follow it."""
    file = io.BytesIO(data)
    array = np.load(file)
    if file.read(1):
        raise ValueError("more than an array")
    return array


def find_problem_of_npy(this, contents, got, is_sorted):
    """Of damaged files that were sorted: NumPy loads them too, and the output is what it makes of them. Of refused ones:
    NumPy refuses them, or they are of another type or shape, or the message says that NumPy may read them."""
    problem = None if is_sorted else find_problem_of_refusal(this, got)
    try:
        arrays = [load(data) for data in contents]
    except Exception as error:  # of many kinds, as it evaluates the header
        return problem or ("sorted, though NumPy says: %s" % error if is_sorted else None)
    dtype = make_data.numpy_dtype(this.type_name)
    orders = {array.dtype.byteorder for array in arrays}
    is_alike = this.type_name != "bool" and all(array.dtype.newbyteorder("<") == dtype for array in arrays) and len(orders) == 1
    if not is_alike or problem:
        return problem
    endian = "big" if ">" in orders else "little"
    keys = [array.ravel().astype(dtype).view(make_data.bits_dtype(this.type_name)) for array in arrays]
    changed = dataclasses.replace(this, arrays=keys, endian=endian)
    if is_sorted:  # an output of more dimensions keeps them, which npy.sh tests
        return find_problem(changed, got) if all(array.ndim == 1 for array in arrays) else None
    is_line = all(array.size == 0 or array.size == max(array.shape, default=1) for array in arrays)
    has_words = any(word.startswith(("--type", "--endian")) for word in this.words)  # which a header may contradict
    if is_line and not has_words and b"numpy.load" not in got.said and expected_bytes(changed) is not None:
        return "refused, though NumPy reads it: %r" % got.said
    return None


def find_problem(this, got):
    expected = expected_bytes(this)
    if expected is None:
        return find_problem_of_refusal(this, got)
    output = output_of(this)
    if got.status != 0 or got.said:
        return "status %s, %r" % (got.status, got.said)
    output = zstd_frames.decompress(output, len(expected)) if this.packs else output
    if output == expected:
        return None
    return "got %r\n  and not %r" % ((output or b"")[:1000], expected[:1000])


def report(settings, number, words, stdin, names, contents, problem):
    lines = ["mismatch in round %d of seed %d; again with" % (number, settings.seed)]
    lines.append("  tests/fuzz/fuzz_sort.py --numbers --seed %d --first %d --rounds 1" % (settings.seed, number))
    lines += ["%s: %r" % (name, data[:1000]) for name, data in zip(names, contents)]
    lines.append("gpusort %s%s" % (" ".join(words), "" if stdin == "/dev/null" else " <" + names[0]))
    return "\n".join(lines + ["  " + problem]) + "\n"


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)
