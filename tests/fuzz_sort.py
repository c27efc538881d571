"""Runs gpusort and sort(1) with the same options on the same lines, and compares what they say.

  fuzz_sort.py --rounds N [--seed S]     N rounds; the same seed gives the same rounds
  fuzz_sort.py --forever [--seed S]      until it is stopped
  fuzz_sort.py --seconds N [--seed S]    for so long
  fuzz_sort.py --seed S --first K --rounds 1    round K again

A round is a set of options and some inputs, both made by a generator of random numbers that is
seeded with S and the number of the round, so that a round is the same whatever ran before it.
Standard output, the file of -o, the exit status and the line of -c must be those of sort(1) in the
C locale. Of a mismatch, the smallest input and the fewest options that still show it are looked
for, and printed as commands of the shell.

Left out is what is known to differ, between versions of sort(1) as well: more than one NaN; the
suffixes R and Q of -h where the local sort(1) does not know them; and the byte 0x80 where it is not
skipped within the numbers of -n. It is where char is signed: sort(1) says that there is no separator
of thousands by a value that is out of the range of char, but not of unsigned char.

$GPUSORT is the program under test, by default build/gpusort.
"""

import argparse
import collections
import dataclasses
import multiprocessing
import os
import queue
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SORT = shutil.which("sort")
TIME_LIMIT_S = 60
PIPE_BYTES = 60000  # what a pipe takes before anyone reads it
MISMATCHES_MAX = 20
SHRINK_TRIES = 1500
SHRINK_TIME_S = 30

# ---- text ----------------------------------------------------------------------------------------

# How many digits a part of a number has: those at which a machine word, a double or a long double
# is full count more than others.
DIGIT_COUNTS = [0, 1, 1, 1, 1, 2, 2, 3, 4, 6, 8, 9, 10, 15, 16, 17, 18, 19, 19, 20, 20, 21, 25, 40, 65]

BOUNDARIES = [
    b"0", b"-0", b"0.0", b"1", b"-1", b"0.1", b"0.3", b"1e22", b"1e23", b"1e27", b"1e28", b"255", b"256",
    b"9007199254740991", b"9007199254740992", b"9007199254740993", b"9007199254740995",
    b"9223372036854775807", b"9223372036854775808", b"18446744073709551615",
    b"18446744073709551616", b"18446744073709551617", b"36893488147419103231",
    b"1e308", b"1.7976931348623157e308", b"1.7976931348623159e308", b"5e-324", b"2e-324",
    b"2.2250738585072014e-308", b"1e4000", b"-1e4000", b"1e-4000", b"1e4932", b"1e4933",
    b"1.18973149535723176502e4932", b"1.18973149535723176509e4932", b"3.3621031431120935063e-4932",
    b"3.6e-4951", b"1.9e-4951", b"1.8e-4951", b"2e-4951", b"1e-4951", b"5.4e-4951", b"5.5e-4951",
    b"1e99999999999999999999", b"1e-99999999999999999999", b"inf", b"-inf", b"Infinity", b"INF", b"nan", b"NaN",
    b"0x", b"0x1p", b"0x.8", b"0x1.8p1", b"0x1e1", b"0xffffffffffffffff", b"0x1.00000000000000010",
    b"0x1.00000000000000011", b"0x1p-16445", b"0x1p-16446", b"0x1p16383", b"0x1p16384", b"-0x1", b"0X1P+2",
]  # fmt: skip
WORDS = [b"", b"a", b"A", b"b", b"ab", b"abc", b"abcdefgh", b"abcdefghi", b"infin", b"in", b"na", b"e5", b"E",
         b"-", b"+", b".", b"-.", b"--1", b"+-1", b"x", b"K", b"-K", b"1,000", b"1:2", b"1/2", b"\0", b"\xff",
         b"\0\0", b"\xff\xfe", b"\xa0", b"\xd9\xa1"]  # fmt: skip
ODD_BYTES = b"\0\x01\t\v\f\r !\"%,-./09:+aekKxX\\\x7f\x80\xa0\xff"
BLANKS = [b" ", b" ", b"  ", b"\t", b" \t ", b"   "]
SUFFIXES = b"kKKMMGTPEZYRQ"
OTHER_SUFFIXES = [b"m", b"g", b"B", b"i", b"KiB", b"Ki", b"MK", b" K", b"e3", b"x", b"\0K", b".K", b"\r"]


def digits(rng, count):
    """Digits of which many are alike, as carries and long runs of one digit are where errors are."""
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(b"0019").to_bytes(1, "big") * count
    if kind < 0.35 and count:
        return rng.choice(b"0099").to_bytes(1, "big") * (count - 1) + b"%d" % rng.randrange(10)
    return bytes(rng.choices(b"0123456789", k=count))


def digit_count(rng):
    if rng.random() < 0.004:
        return rng.choice([100, 300, 1000, 5000])
    return rng.choice(DIGIT_COUNTS)


def decimal(rng):
    """What -n reads, and a little of what it does not."""
    text = rng.choice([b"", b"", b"", b"-", b"-", b"+", b"--"] if rng.random() < 0.2 else [b"", b"", b"-"])
    if rng.random() < 0.15:
        text += b"0" * rng.choice([1, 2, 9, 20, 40])
    text += digits(rng, digit_count(rng))
    if rng.random() < 0.45:
        text += b"." + digits(rng, digit_count(rng))
        if rng.random() < 0.15:
            text += b"0" * rng.choice([1, 2, 9, 20])
    return text


def hex_number(rng):
    """Mantissas of up to 20 digits, so that some have to be rounded."""
    text = rng.choice([b"", b"-", b"+"]) + rng.choice([b"0x", b"0X"])
    text += b"%x" % rng.getrandbits(rng.choice([1, 4, 8, 53, 63, 64, 65, 80]))
    if rng.random() < 0.5:
        text += b"." + b"%x" % rng.getrandbits(rng.choice([1, 8, 52, 63, 64, 65, 80]))
    if rng.random() < 0.5:
        text += rng.choice([b"p", b"P"]) + b"%d" % rng.choice([0, 1, -1, 3, -4, 60, -64, 16000, -16445])
    return text


def half_way(rng):
    """A number in the middle of two neighbours of 24, 53 or 64 bits, or next to the middle."""
    bits = rng.choice([24, 53, 53, 64, 64, 64])
    mantissa = ((1 << (bits - 1)) + rng.getrandbits(bits - 1)) * 2 + 1
    if rng.random() < 0.2:
        mantissa = (1 << (bits + 1)) - 1  # rounds up to the next power of two
    exponent = rng.choice([-1, -1, 0, 1, 7, -7, 40, -40, 150, -150] + [-16000] * (rng.random() < 0.01))
    if exponent >= 0:
        text = b"%d" % (mantissa << exponent)
        text += rng.choice([b"", b"", b".", b".0"])
    else:
        text = b"%0*d" % (1 - exponent, mantissa * 5**-exponent)
        text = text[:exponent] + b"." + text[exponent:]
    beside = rng.random()
    if beside < 0.25 and b"." in text:
        text += b"0" * rng.choice([0, 3, 30]) + b"1"
    elif beside < 0.5 and text[-1:].isdigit() and text[-1:] != b"0":
        text = text[:-1] + b"%d" % (text[-1] - 49) + b"9" * rng.choice([0, 3, 30]) * (b"." in text)
    return rng.choice([b"", b"", b"-"]) + text


def cut_half_way(rng):
    """The first digits of a number in the middle of two neighbours, of any size."""
    bits = rng.choice([53, 53, 64])
    mantissa = ((1 << (bits - 1)) + rng.getrandbits(bits - 1)) * 2 + 1
    exponent = rng.randrange(-1000, 1000) if rng.random() < 0.8 else rng.randrange(-16000, 16000)
    text = b"%d" % (mantissa << exponent if exponent >= 0 else mantissa * 5**-exponent)
    digits_kept = rng.choice([17, 18, 19, 19, 20, 21, 24])
    return b"%se%d" % (text[:digits_kept], len(text[digits_kept:]) + min(exponent, 0))


def general(rng):
    """What -g reads."""
    kind = rng.random()
    if kind < 0.15:
        return rng.choice(BOUNDARIES)
    if kind < 0.25:
        return hex_number(rng)
    if kind < 0.35:
        return half_way(rng)
    if kind < 0.45:
        return cut_half_way(rng)
    text = decimal(rng)
    if rng.random() < 0.5:
        text += rng.choice([b"e", b"E"]) + rng.choice([b"", b"", b"-", b"+"])
        text += b"%d" % rng.choice([0, 1, 2, 3, 5, 10, 22, 27, 60, 308, 324, 4000, 4931, 4932, 4951])
    return text


def human(rng):
    """What -h reads, and a little of what it does not."""
    text = decimal(rng) if rng.random() < 0.5 else b"%d" % rng.randrange(-3, 1100)
    kind = rng.random()
    if kind < 0.7:
        return text + rng.choice(SUFFIXES).to_bytes(1, "big")
    return text + rng.choice(OTHER_SUFFIXES) if kind < 0.8 else text


def word(rng):
    if rng.random() < 0.4:
        return rng.choice(WORDS)
    count = rng.choice([1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 40])
    alphabet = rng.choice([b"ab", b"ab ", ODD_BYTES, b"\0a", b"\xff\xfe\0"])
    return bytes(rng.choices(alphabet, k=count))


def any_bytes(rng):
    return rng.randbytes(rng.choice([0, 1, 2, 8, 9, 20]))


CELLS = {"n": decimal, "g": general, "h": human, "b": word, "?": any_bytes}


def respell(rng, text):
    """Text that is often equal by value, or next to it."""
    kind = rng.randrange(14)
    long_number = re.match(rb"-?([0-9]{15,30})", text)
    if long_number and rng.random() < 0.5:
        begin, end = long_number.span(1)
        return text[:begin] + b"%d" % (int(long_number[1]) + rng.choice([-2, -1, -1, 1, 1, 2])) + text[end:]
    sign = text[:1] if text[:1] in (b"-", b"+") else b""
    rest = text[len(sign) :]
    if kind == 0:
        return sign + b"0" * rng.choice([1, 2, 20]) + rest
    if kind == 1 and rest.isdigit():
        return text + rng.choice([b".", b".0", b".00000000000000000000", b"e0", b"E+00", b".0000000000000000000000001"])
    if kind == 2 and rest.isdigit() and len(rest) < 40:
        return sign + b"0x%x" % int(rest)
    if kind == 3 and rest.isdigit():
        return sign + rest + b"0" * 3 + b"e-3"
    if kind == 4 and re.fullmatch(rb"[0-9]*\.[0-9]+", rest):
        return text + b"0" * rng.choice([1, 7, 30]) + rng.choice([b"", b"", b"1"])
    if kind == 5 and rest[-1:].isdigit():
        return text[:-1] + b"%d" % rng.randrange(10)
    if kind == 6:
        return rng.choice([b" ", b"  ", b"\t", b" \t", b"\v", b"\f", b"\r", b"\n"]) + text
    if kind == 7:
        return text + rng.choice([b" ", b"\0", b"x", b"\r", b",5", b".5", b"e", b"K", b"k", b"M", b"\xff", b"\v"])
    if kind == 8 and not rest[:1].isalpha():
        return rng.choice([b"-", b"+", b""]) + rest
    if kind == 9 and text:
        return text[: rng.randrange(len(text))]
    if kind == 10 and text:
        at = rng.randrange(len(text) + 1)
        return text[:at] + bytes([rng.choice(ODD_BYTES)]) + text[at:]
    if kind == 11:
        return text.swapcase()
    return text


class Lines:
    """Makes lines whose cells come from a small pool, so that many are equal or nearly so."""

    def __init__(self, rng, orders, separator, field_count, terminator):
        self.rng = rng
        self.blanks = BLANKS if terminator == b"\n" else BLANKS + [b"\n", b"\n", b" \n", b"\n\t"]
        self.separator = separator
        self.field_count = field_count
        styles = orders * 4 + ["n", "g", "h", "b", "?"] if rng.random() < 0.9 else ["b", "?"]
        self.pool = [CELLS[rng.choice(styles)](rng) for _ in range(rng.choice([1, 2, 3, 4, 6, 10, 20]))]
        self.styles = styles
        self.fresh = rng.choice([0.02, 0.2, 0.7])
        self.altered = rng.choice([0.1, 0.4, 0.8])

    def cell(self):
        rng = self.rng
        text = CELLS[rng.choice(self.styles)](rng) if rng.random() < self.fresh else rng.choice(self.pool)
        if rng.random() < 0.05:
            text = rng.choice(self.blanks) + text
        return respell(rng, text) if rng.random() < self.altered else text

    def line(self):
        rng = self.rng
        if self.field_count == 0:
            return self.cell()
        count = max(0, self.field_count + rng.choice([-2, -1, 0, 0, 0, 0, 1]))
        cells = [self.cell() for _ in range(count)]
        if self.separator is not None:
            return self.separator.join(cells)
        text = rng.choice(self.blanks) if rng.random() < 0.2 else b""
        for cell in cells:
            text += cell + rng.choice(self.blanks)
        return text.rstrip() if rng.random() < 0.8 else text

    def many(self, count):
        """More than a few lines are drawn from some hundred, most with a number of their own."""
        if count <= 300:
            return [self.line() for _ in range(count)]
        rng = self.rng
        some = [self.line() for _ in range(300)]
        own = rng.choice([0, 0.5, 1])
        return [b"%d" % rng.randrange(-count, count) + line if rng.random() < own else line
                for line in rng.choices(some, k=count)]  # fmt: skip


def strict_line(rng):
    """One number, and blanks at most."""
    text = rng.choice([general, decimal])(rng)
    if not re.fullmatch(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(inf|nan|NaN|Infinity|INF)"
                        rb"|[-+]?0[xX][0-9a-f]+(\.[0-9a-f]*)?([pP][-+]?[0-9]+)?", text):  # fmt: skip
        text = b"%d" % rng.randrange(-20, 20)
    return rng.choice([b"", b"", b" ", b"\t "]) + text + rng.choice([b"", b"", b"", b" ", b"\t"])


# ---- options -------------------------------------------------------------------------------------

# Words of the command line that only make sense together; `gives_order` if they are what makes
# gpusort compare as sort(1) does.
Unit = collections.namedtuple("Unit", "words gives_order")

LONG = {
    "n": [b"--numeric-sort", b"--sort=numeric"],
    "g": [b"--general-numeric-sort", b"--sort=general-numeric"],
    "h": [b"--human-numeric-sort", b"--sort=human-numeric"],
    "r": [b"--reverse"],
    "s": [b"--stable"],
    "u": [b"--unique"],
    "z": [b"--zero-terminated"],
    "b": [b"--ignore-leading-blanks"],
    "c": [b"--check", b"--check=diagnose-first"],
    "C": [b"--check=quiet", b"--check=silent"],
    "m": [b"--merge"],
    "header": [b"--header"],  # of gpusort alone
    "top": [b"--top"],
}
SEPARATORS = [b",", b",", b",", b":", b"\t", b" ", b";", b"x", b"0", b"1", b".", b"-", b"e", b"K", b"\\", b"\\0",
              b"\n", b"\xff", b"\r", b"a"]  # fmt: skip
WRONG = [
    [b"-k0"], [b"-k1.0"], [b"-k1,0"], [b"-k"], [b"-k1,"], [b"-k1x"], [b"-kx"], [b"-k-1"], [b"-k1."],
    [b"-k1.x"], [b"-k1ng"], [b"-k1n,2h"], [b"-k1,2.x"], [b"-k1n2"], [b"-k", b""], [b"-t", b""], [b"-tab"],
    [b"-t,", b"-t:"], [b"-n", b"-g"], [b"-g", b"-h"], [b"-n", b"-h"], [b"-c", b"-C"], [b"-k1 "], [b"-k1,2,3"],
    [b"no-such-file"], [b"-c", b"in0", b"in0"], [b"-c", b"-o", b"out"], [b"--files0-from=no-such-file"],
]  # fmt: skip


def known_long_options(gpusort):
    """The options of LONG that gpusort says it has."""
    said = subprocess.run([gpusort, "--help"], capture_output=True, check=False).stdout
    known = set(re.findall(rb"--[a-z0-9-]+", said))
    found = {letter: [word for word in words if word.split(b"=")[0] in known] for letter, words in LONG.items()}
    return {letter: words for letter, words in found.items() if words}


def known_paths(gpusort):
    """The GPU's paths, each with its sizes of tiles."""
    said = subprocess.run([gpusort, "--list"], capture_output=True, check=False).stdout
    lines = said.partition(b"\n  gpu ")[2].splitlines()[1:]
    paths = [(line.split()[0], line.partition(b"; tiles of ")[2].split(b", ")) for line in lines]
    return [(path, [tile for tile in tiles if tile.isdigit()]) for path, tiles in paths]


def is_order_of_sort(option, text):
    """Whether the text is in order as sort(1) has it."""
    command = [SORT, "-C", option]
    return subprocess.run(command, input=text, check=False, env={"LC_ALL": "C"}).returncode == 0


def with_one_nan(inputs):
    """Only the first NaN stays one, the others become infinities."""
    kept = []

    def stays(match):
        kept.append(match)
        return match[0] if len(kept) == 1 else b"inf"

    return [re.sub(rb"(?i)nan", stays, text) for text in inputs]


def key_unit(rng, orders, field_count):
    """A -k, most of whose places are in the lines."""

    def place(is_end):
        field = rng.choice([1, 1, 2, 2, 3, max(1, field_count), field_count + 1])
        if rng.random() < 0.01:
            field = rng.choice([100, 4294967296, 10**19, 10**25])
        text = b"%d" % field
        if rng.random() < 0.3:
            character = rng.choice([1, 1, 2, 3, 4, 5, 9, 30] + [0] * (2 * is_end))
            if rng.random() < 0.01:
                character = rng.choice([4294967296, 9 * 10**18])
            text += b".%d" % character
        return text

    order = rng.choice(["", "", "", "n", "g", "h"] if rng.random() < 0.6 else ["n", "g", "h"])
    letters = ["", ""]
    if order:
        letters[rng.random() < 0.2] += order
        orders.append(order)
    for which in (0, 1):
        if rng.random() < 0.15:
            letters[which] += "b"
    if rng.random() < 0.2:
        letters[rng.random() < 0.5] += "r"
    text = place(False) + "".join(rng.sample(letters[0], len(letters[0]))).encode()
    if rng.random() < 0.7 or letters[1]:
        text += b"," + place(True) + letters[1].encode()
    form = rng.random()
    words = [b"-k" + text] if form < 0.6 else [b"-k", text] if form < 0.9 else [b"--key=" + text]
    return Unit(words, True)


def letter_units(rng, letters, long_options):
    """The letters, one by one or together, or in their long form."""
    if len(letters) > 1 and rng.random() < 0.5:
        return [Unit([b"-" + "".join(letters).encode()], any(x in "ngh" for x in letters))]
    units = []
    for letter in letters:
        words = [b"-" + letter.encode()]
        if letter in long_options and rng.random() < 0.1:
            words = [rng.choice(long_options[letter])]
        units.append(Unit(words, letter in "ngh"))
    return units


# ---- a round -------------------------------------------------------------------------------------


@dataclasses.dataclass
class Case:
    units: list  # of options
    inputs: list  # of bytes
    action: str = ""  # "", "c", "C" or "m"
    is_presorted: bool = False  # the inputs are sorted by sort(1) first
    disturbed_at: float = None  # two lines about there change places again
    terminator: bytes = b"\n"
    delivery: str = "files"  # "files", "names" (--files0-from), "input" or "pipe"
    output: str = ""  # "", "out" or "in0", of -o
    strict: bool = False  # gpusort's order without letters, which is -g of sort(1)
    header: int = 0  # lines of each input, the same in all, that are not sorted and come first
    top: int = 0  # lines that are written; 0 is all
    device_words: list = dataclasses.field(default_factory=list)  # how the GPU is to sort it

    def in_domain(self):
        if not self.inputs or (self.output == "in0" and self.delivery not in ("files", "names")):
            return False
        return self.strict or any(unit.gives_order for unit in self.units)


def make_strict_case(rng):
    terminator = b"\0" if rng.random() < 0.1 else b"\n"
    letters = [letter for letter, chance in (("r", 0.3), ("s", 0.3), ("u", 0.2)) if rng.random() < chance]
    if terminator == b"\0":
        letters.append("z")
    pool = [strict_line(rng) for _ in range(rng.choice([2, 10, 40]))]
    lines = [rng.choice(pool) if rng.random() < 0.6 else strict_line(rng) for _ in range(line_count(rng))]
    units = [Unit([b"-" + letter.encode()], False) for letter in letters]
    inputs = with_one_nan(split_inputs(rng, lines, terminator))
    return Case(units, inputs, terminator=terminator, strict=True)


def line_count(rng):
    kind = rng.random()
    if kind < 0.004:
        return rng.choice([3000, 20000, 60000, 200000])
    return rng.choice([0, 1, 2, 3, 3, 4, 5, 6, 8, 12, 12, 20, 30, 60] + [200] * (rng.random() < 0.3))


def split_inputs(rng, lines, terminator):
    count = rng.choice([1, 1, 1, 2, 3, 4]) if rng.random() < 0.98 else 20
    cuts = sorted(rng.randrange(len(lines) + 1) for _ in range(count - 1))
    inputs = []
    for begin, end in zip([0] + cuts, cuts + [len(lines)]):
        text = b"".join(line + terminator for line in lines[begin:end])
        if text and rng.random() < 0.3:
            text = text[:-1]
        inputs.append(text)
    return inputs


def lengthen(rng, lines):
    """One line gets very long, at its begin or its end."""
    at = rng.randrange(len(lines))
    filling = rng.choice([b"0", b" ", b"a", b"7", b"\0", b"ab ", b", "]) * rng.choice([1000, 5000, 40000])
    lines[at] = rng.choice([lines[at] + filling, filling + lines[at], lines[at] + filling + lines[at]])


def make_case(rng, settings):
    if rng.random() < 0.05:
        return make_strict_case(rng)
    orders = []
    letters = []
    field_count = rng.choice([0, 0, 1, 2, 3, 3, 4])
    key_count = rng.choice([0, 1, 1, 2, 3, 4] if field_count else [0, 0, 0, 1, 2])
    if key_count == 0 or rng.random() < 0.3:
        orders.append(rng.choice("nngghh"))
        letters.append(orders[0])
    key_units = [key_unit(rng, orders, field_count) for _ in range(key_count)]
    for letter, chance in (("r", 0.25), ("s", 0.25), ("u", 0.25), ("z", 0.1), ("b", 0.1)):
        if rng.random() < chance:
            letters.append(letter)
    rng.shuffle(letters)
    units = letter_units(rng, letters, settings.long_options) + key_units
    separator = None
    if rng.random() < 0.45:
        word = rng.choice(SEPARATORS)
        units.append(Unit([b"-t" + word] if rng.random() < 0.5 else [b"-t", word], False))
        separator = b"\0" if word == b"\\0" else word
    if rng.random() < 0.2:
        units.append(Unit([b"--parallel=%d" % rng.choice([1, 2, 3, 8])], False))
    rng.shuffle(units)

    terminator = b"\0" if "z" in letters else b"\n"
    lines = Lines(rng, orders or ["b"], separator, field_count, terminator).many(line_count(rng))
    if lines and rng.random() < 0.01:
        lengthen(rng, lines)
    inputs = split_inputs(rng, lines, terminator)
    if not settings.knows_ronna:
        inputs = [re.sub(rb"[RQ]", b"Y", text) for text in inputs]
    if not settings.parts_at_0x80:
        inputs = [text.replace(b"\x80", b"\x81") for text in inputs]
    if "g" in orders:
        inputs = with_one_nan(inputs)
    case = Case(units, inputs, terminator=terminator)
    vary(rng, case, settings.long_options)
    return case


def vary(rng, case, long_options):
    """The ways in and out, and -c and -m."""
    case.delivery = rng.choice(["files", "files", "files", "input", "pipe"])
    if case.delivery == "pipe" and len(case.inputs[0]) > PIPE_BYTES:
        case.delivery = "files"
    if rng.random() < 0.03:
        case.delivery = "names"
    action = rng.random()
    if action < 0.1:
        case.action = rng.choice("ccC")
        case.inputs = case.inputs[:1]
        if case.delivery == "names":
            case.delivery = "files"
        case.is_presorted = rng.random() < 0.7
        if case.is_presorted and rng.random() < 0.6:
            case.disturbed_at = rng.random()
    elif action < 0.2:
        case.action = "m"
        case.is_presorted = True
    if case.action:
        words = [b"-" + case.action.encode()]
        if case.action in long_options and rng.random() < 0.2:
            words = [rng.choice(long_options[case.action])]
        case.units.insert(rng.randrange(len(case.units) + 1), Unit(words, False))
    if case.action not in ("c", "C") and rng.random() < 0.08:
        case.output = "in0" if case.delivery == "files" and rng.random() < 0.5 else "out"
    elif not case.action and rng.random() < 0.08:
        if "header" in long_options:
            case.header = rng.choice([0, 1, 1, 1, 2, 3, 50])
        if "top" in long_options and (case.header == 0 or rng.random() < 0.1):
            case.top = rng.choice([1, 2, 3, 10, 1000])
    if rng.random() < 0.02:
        case.units.append(Unit(rng.choice(WRONG), False))
    elif not case.action and rng.random() < 0.2:  # sorted in parts; the last draw, so that others stay
        case.units.append(Unit([b"-S", rng.choice([b"1b", b"40K", b"1M"])], False))


def vary_for_device(rng, case, tiles_of_paths):
    """A path and a size of tiles, less of its memory, and now and then more lines than a tile has. What
    would be checked or merged, without the device, is sorted."""
    case.units = [unit for unit in case.units if not is_action(unit)]
    case.action = ""
    lines = [line for text in case.inputs for line in lines_of(text, case.terminator)]
    has_nan = any(b"nan" in text.lower() for text in case.inputs)
    if lines and len(lines) < 300 and not has_nan and not case.header and rng.random() < 0.06:
        lines = [line.removesuffix(case.terminator) + case.terminator for line in lines]
        lines = rng.choices(lines, k=rng.choice([255, 257, 600, 2049, 5000]))
        if not case.strict and rng.random() < 0.5:
            lines = [b"%d" % rng.randrange(len(lines)) + line for line in lines]
        case.inputs = [b"".join(lines[i :: len(case.inputs)]) for i in range(len(case.inputs))]
        if case.delivery == "pipe" and len(case.inputs[0]) > PIPE_BYTES:
            case.delivery = "input"
    if len(lines) <= 20000 and rng.random() < 0.5:
        path, tiles = rng.choice(tiles_of_paths)
        tile = rng.choice(tiles + [b""])
        case.device_words.append(b"--algorithm=" + path + (b":" + tile if tile else b""))
    if rng.random() < 0.1:
        case.device_words.append(b"--device-memory=%dK" % rng.choice([1, 40, 300]))


# ---- running it ----------------------------------------------------------------------------------

Result = collections.namedtuple("Result", "status output said")


class TimeLimit(Exception):
    pass


def raise_time_limit(_signal, _frame):
    raise TimeLimit


class Server:
    """A process that runs gpusort again and again (tests/many_runs.c), so that CUDA starts once."""

    def __init__(self, program, environment):
        self.program = program
        self.environment = environment
        self.process = None

    def start(self):
        self.process = subprocess.Popen([self.program], env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip

    def stop(self):
        """What it ended with; it is started again when it is wanted."""
        self.process.kill()
        status = self.process.wait()
        self.process = None
        return status

    def run(self, words, stdin):
        """The status of a run, or how the server died in it."""
        if self.process is None:
            self.start()
        request = [stdin, b"stdout", b"stderr", b"%d" % (len(words) + 1), b"gpusort", *words]
        try:
            self.process.stdin.write(b"".join(word + b"\0" for word in request))
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if answer:
            return int(answer)
        self.process.wait()
        return "none: the server died (%d)" % self.stop()


class Runner:
    """Runs cases in a directory of its own, which becomes the current one."""

    def __init__(self, gpusort, server, gpusort_options, directory):
        self.gpusort = gpusort
        self.gpusort_options = gpusort_options
        # Threads that wait actively are slow where there are more of them than processors.
        self.environment = {**os.environ, "LC_ALL": "C"}
        self.environment.setdefault("OMP_WAIT_POLICY", "passive")
        self.server = Server(server, self.environment) if server else None
        os.mkdir(directory)
        os.chdir(directory)
        signal.signal(signal.SIGALRM, raise_time_limit)

    def spawn(self, program, words, stdin):
        """Runs a program with what is in files or, as bytes, in a pipe on its standard input."""
        actions = [
            (os.POSIX_SPAWN_OPEN, 1, "stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        ]
        read_end = None
        if isinstance(stdin, bytes):
            read_end, write_end = os.pipe()
            os.write(write_end, stdin)
            os.close(write_end)
            actions.append((os.POSIX_SPAWN_DUP2, read_end, 0))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0))
        process = os.posix_spawn(program, [os.path.basename(program), *words], self.environment, file_actions=actions)
        if read_end is not None:
            os.close(read_end)
        signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT_S)
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        except TimeLimit:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            status = "none after %d s" % TIME_LIMIT_S
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return Result(status, read_file("stdout"), read_file("stderr"))

    def serve(self, words, stdin):
        """As spawn, by the server."""
        if isinstance(stdin, bytes):
            write_file("piped", stdin)
            stdin = "|piped"
        signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT_S)
        try:
            status = self.server.run(words, stdin.encode())
        except TimeLimit:
            self.server.stop()
            status = "none after %d s" % TIME_LIMIT_S
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return Result(status, read_file("stdout"), read_file("stderr"))

    def prepared_inputs(self, case):
        """The inputs as the programs get them."""
        if not case.is_presorted:
            return case.inputs
        prepared = []
        for text in case.inputs:
            write_file("in0", text)
            words = [word for unit in case.units for word in unit.words if not is_action(unit)]
            text = self.spawn(SORT, words + [b"in0"], "/dev/null").output
            lines = text.split(case.terminator)[:-1]
            if case.disturbed_at is not None and len(lines) > 1:
                at = int(case.disturbed_at * (len(lines) - 1))
                lines[at], lines[at + 1] = lines[at + 1], lines[at]
                text = b"".join(line + case.terminator for line in lines)
            prepared.append(text)
        return prepared

    def run_one(self, program, options, case, inputs):
        """What the program makes of it, or the server where there is none; what it writes with -o
        counts as standard output."""
        for i, text in enumerate(inputs):
            write_file("in%d" % i, text)
        if case.output == "out":
            write_file("out", b"the old output")
        words, stdin = options + words_of(case, len(inputs)), stdin_of(case, inputs)
        result = self.spawn(program, words, stdin) if program else self.serve(words, stdin)
        if case.output:
            result = result._replace(output=result.output + b"|" + read_file(case.output))
        return result

    def compare(self, case):
        """None, or what the two programs say where it differs, and the inputs."""
        inputs = self.prepared_inputs(case)
        if case.delivery == "names":
            write_file("names", b"".join(b"in%d\0" % i for i in range(len(inputs))))
        header, data = cut_headers(case, inputs)
        if case.header:
            inputs = [header + text for text in data]
        expected = self.run_one(SORT, words_of_sort(case), case, data)
        expected = expected._replace(output=header + first_lines(expected.output, case))
        options = [] if case.action else self.gpusort_options + case.device_words
        # Wrong words may end the process that reads them: such a run has one of its own.
        program = None if self.server and expected.status != 2 else self.gpusort
        got = self.run_one(program, options + words_of_gpusort(case), case, inputs)
        if agree(expected, got):
            return None
        return expected, got, inputs


def is_action(unit):
    return unit.words[0] in (b"-c", b"-C", b"-m") or unit.words[0].startswith((b"--check", b"--merge"))


def words_of_sort(case):
    return [b"-g"] if case.strict else []


def words_of_gpusort(case):
    """What only gpusort is told; sort(1) is given other inputs, or its output is cut."""
    words = [b"--format=text"] if case.strict else []
    words += [b"--header=%d" % case.header] if case.header else []
    return words + ([b"--top=%d" % case.top] if case.top else [])


def lines_of(text, terminator):
    """The lines of a text, their ends with them; the last one may have none."""
    return re.findall(rb"[^%b]*%b|[^%b]+" % ((terminator,) * 3), text)


def first_lines(text, case):
    return b"".join(lines_of(text, case.terminator)[: case.top]) if case.top else text


def cut_headers(case, inputs):
    """The header of the first input, all lines of it ended, and the rest of the inputs: nothing, if
    the first is all header, as then the others must be so too."""
    if not case.header:
        return b"", inputs
    headers = [lines_of(text, case.terminator)[: case.header] for text in inputs]
    data = [text[len(b"".join(header)) :] for text, header in zip(inputs, headers)]
    if len(headers[0]) < case.header:
        data = [b"" for _ in data]
    header = b"".join(line.removesuffix(case.terminator) + case.terminator for line in headers[0])
    return header, data


def words_of(case, input_count):
    """Options and operands; the order of options is that of sort(1), which knows operands between."""
    words = [word for unit in case.units for word in unit.words]
    if case.output:
        words += [b"-o", case.output.encode()]
    if case.delivery == "names":
        return words + [b"--files0-from=names"]
    names = [b"in%d" % i for i in range(input_count)]
    if case.delivery in ("input", "pipe"):
        names[0] = b"-"
        if input_count == 1:
            names = []
    return words + names


def stdin_of(case, inputs):
    if case.delivery == "pipe" and len(inputs[0]) <= PIPE_BYTES:
        return inputs[0]
    return "in0" if case.delivery in ("input", "pipe") else "/dev/null"


def agree(expected, got):
    if expected.status == 2:  # the words of an error are one's own
        return got.status == 2 and got.said.startswith(b"gpusort: ")
    if got.status != expected.status or got.output != expected.output:
        return False
    said = expected.said
    return got.said == (b"gpu" + said if said.startswith(b"sort: ") else said)


def write_file(name, text):
    with open(name, "wb", buffering=0) as file:
        file.write(text)


def read_file(name):
    with open(name, "rb", buffering=0) as file:
        return file.read()


# ---- a mismatch ----------------------------------------------------------------------------------


class Shrinker:
    """Looks for less that still shows a mismatch, by leaving out parts for as long as that goes."""

    def __init__(self, runner, case):
        self.runner = runner
        self.case = case
        self.tries = 0
        self.end = time.monotonic() + SHRINK_TIME_S

    def still(self, **changes):
        """Takes the changes if the mismatch is still there."""
        if self.tries >= SHRINK_TRIES or time.monotonic() > self.end:
            return False
        self.tries += 1
        case = dataclasses.replace(self.case, **changes)
        if not case.in_domain() or self.runner.compare(case) is None:
            return False
        self.case = case
        return True

    def without_parts(self, parts, build):
        """Leaves out parts, many at a time and then fewer; build(parts) gives the changes."""
        size = len(parts)
        while size >= 1:
            at = 0
            while at < len(parts):
                fewer = parts[:at] + parts[at + size :]
                if self.still(**build(fewer)):
                    parts = fewer
                else:
                    at += size
            size //= 2
        return parts

    def with_input(self, i, text):
        return {"inputs": self.case.inputs[:i] + [text] + self.case.inputs[i + 1 :]}

    def shrink_lines(self):
        for i, text in enumerate(self.case.inputs):
            lines = lines_of(text, self.case.terminator)
            self.without_parts(lines, lambda parts, i=i: self.with_input(i, b"".join(parts)))

    def shrink_bytes(self):
        for i, text in enumerate(self.case.inputs):
            parts = [text[k : k + 1] for k in range(len(text))]
            self.without_parts(parts, lambda parts, i=i: self.with_input(i, b"".join(parts)))

    def shrink(self):
        before = None
        while before != self.case and self.tries < SHRINK_TRIES:
            before = self.case
            self.without_parts(self.case.inputs, lambda parts: {"inputs": parts})
            self.shrink_lines()
            self.without_parts(self.case.units, lambda parts: {"units": parts})
            for change in ({"output": ""}, {"delivery": "files"}, {"header": 0}, {"top": 0},
                           {"device_words": []}, {"is_presorted": False, "action": ""}):  # fmt: skip
                self.still(**change)
            self.shrink_bytes()
        return self.case


def in_printf(text):
    """As a format of printf(1), in quotes."""
    said = []
    for byte in text:
        char = chr(byte)
        if char in "\\%":
            said.append(char * 2)
        elif char == "\n":
            said.append("\\n")
        elif char == "'" or not 32 <= byte < 127:
            said.append("\\%03o" % byte)
        else:
            said.append(char)
    return "'" + "".join(said) + "'"


def in_shell(word):
    if all(32 <= byte < 127 for byte in word):
        return shlex.quote(word.decode())
    return "$" + in_printf(word).replace("%%", "%")


def in_report(text):
    said = in_printf(text)
    return said if len(said) < 2000 else said[:2000] + "... (%d bytes)" % len(text)


def report(number, seed, arguments, case, found):
    """What to do to see it, what was expected, and what came."""
    expected, got, inputs = found
    lines = ["mismatch in round %d of seed %d; again with" % (number, seed)]
    lines.append("  tests/fuzz_sort.py --seed %d --first %d --rounds 1%s" % (seed, number, arguments))
    for i, text in enumerate(inputs):
        lines.append("printf %s >in%d" % (in_report(text), i))
    words = " ".join(in_shell(word) for word in words_of(case, len(inputs)))
    if case.delivery == "names":
        lines.append("printf '%s' >names" % "".join("in%d\\0" % i for i in range(len(inputs))))
    feed = {"input": " <in0", "pipe": " < <(cat in0)"}.get(case.delivery, "")
    options = "".join(" " + word.decode() for word in words_of_sort(case))
    beside = " # the header and --top beside it" if case.header or case.top else ""
    lines.append("LC_ALL=C sort%s %s%s%s" % (options, words, feed, beside))
    lines.append("  status %s, %s" % (expected.status, in_report(expected.output)))
    if expected.said:
        lines.append("  says %s" % in_report(expected.said))
    options = "".join(" " + word.decode() for word in case.device_words + words_of_gpusort(case))
    lines.append("gpusort%s%s %s%s" % (arguments, options, words, feed))
    lines.append("  status %s, %s" % (got.status, in_report(got.output)))
    if got.said:
        lines.append("  says %s" % in_report(got.said))
    return "\n".join(lines) + "\n"


# ---- all of it -----------------------------------------------------------------------------------


def work(settings, which, directory, results):
    """One of several processes: every --jobs-th round, in a directory of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = os.getppid()
    gpusort_options = [option.encode() for option in settings.gpusort_options]
    runner = Runner(settings.gpusort, settings.server, gpusort_options, os.path.join(directory, str(which)))
    number = settings.first + which
    last = settings.first + settings.rounds
    while number < last and time.monotonic() < settings.end and os.getppid() == parent:
        text = try_round(settings, runner, number)
        results.put(text)
        number += settings.jobs


def try_round(settings, runner, number):
    """None, or what there is to say of a mismatch."""
    rng = random.Random(settings.seed << 40 | number)
    case = make_case(rng, settings)
    if settings.paths:
        vary_for_device(rng, case, settings.paths)
    found = runner.compare(case)
    if found is None:
        return None
    if not settings.as_it_is:
        case = Shrinker(runner, case).shrink()
    arguments = "".join(" " + option for option in settings.gpusort_options)
    return report(number, settings.seed, arguments, case, runner.compare(case) or found)


def wait_for_results(workers, results, settings):
    """Prints mismatches as they come; how many rounds there were, and how many mismatches."""
    rounds = mismatches = 0
    said_at = start = time.monotonic()
    while True:
        alive = any(worker.is_alive() for worker in workers)
        try:
            text = results.get(timeout=0.2 if alive else 0.01)
        except queue.Empty:
            if any(worker.exitcode for worker in workers):
                sys.exit("fuzz_sort.py: it died after %d rounds" % rounds)
            if not alive:
                return rounds, mismatches
            continue
        rounds += 1
        if text:
            mismatches += 1
            print(text, flush=True)
            if mismatches == (MISMATCHES_MAX if settings.keep_going else 1):
                return rounds, mismatches
        if settings.forever and time.monotonic() - said_at > 60:
            said_at = time.monotonic()
            print("%d rounds, %d mismatches, %.0f rounds/s" % (rounds, mismatches, rounds / (said_at - start)),
                  flush=True)  # fmt: skip


def run_workers(settings, directory):
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(settings, which, directory, results), daemon=True)
               for which in range(settings.jobs)]  # fmt: skip
    try:
        for worker in workers:
            worker.start()
        return wait_for_results(workers, results, settings)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def parse_arguments():
    parser = argparse.ArgumentParser(description="Compares gpusort with sort(1) on random lines and options.")
    parser.add_argument("--rounds", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first round (0)")
    parser.add_argument("--forever", action="store_true", help="until stopped, --rounds or not")
    parser.add_argument("--seconds", type=float, help="for so long, --rounds or not")
    parser.add_argument("--keep-going", action="store_true", help="up to %d mismatches" % MISMATCHES_MAX)
    parser.add_argument("--as-it-is", action="store_true", help="print a mismatch without making it smaller")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (one for each processor)")
    parser.add_argument("--server", help="runs gpusort many times in one process: build/tests/many_runs")
    parser.add_argument("--device", choices=["auto", "cpu", "gpu"], help="for gpusort")
    return parser.parse_args()


def main():
    settings = parse_arguments()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # Python's guard against long numbers, which are wanted here
    here = os.path.dirname(os.path.abspath(__file__))
    settings.gpusort = os.path.abspath(os.environ.get("GPUSORT") or os.path.join(here, "../build/gpusort"))
    if SORT is None or not os.access(settings.gpusort, os.X_OK):
        sys.exit("fuzz_sort.py: no %s" % (settings.gpusort if SORT else "sort(1)"))
    settings.server = os.path.abspath(settings.server) if settings.server else None
    settings.gpusort_options = ["--device=" + settings.device] if settings.device else []
    settings.paths = known_paths(settings.gpusort) if settings.device == "gpu" else []
    settings.long_options = known_long_options(settings.gpusort)
    settings.knows_ronna = is_order_of_sort("-h", b"2Y\n1R\n")
    settings.parts_at_0x80 = is_order_of_sort("-n", b"2\n\x8011\n")
    settings.jobs = max(1, settings.jobs)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("fuzz_sort.py: terminated"))
    start = time.monotonic()
    settings.end = start + (settings.seconds or float("inf"))
    if settings.forever or settings.seconds:
        settings.rounds = float("inf")
    try:
        with tempfile.TemporaryDirectory(prefix="gpusort-fuzz.") as directory:
            rounds, mismatches = run_workers(settings, directory)
    except KeyboardInterrupt:
        sys.exit("fuzz_sort.py: stopped")
    speed = rounds / (time.monotonic() - start)
    print("seed %d: %d rounds, %d mismatches, %.0f rounds/s" % (settings.seed, rounds, mismatches, speed))
    if mismatches:
        sys.exit(1)


if __name__ == "__main__":
    main()
