# SPDX-License-Identifier: Apache-2.0
"""Makes lines that are hard to sort: for fuzz_case.py, make_data.py and lines_matrix.cu. All is drawn from the
generator of random numbers that is given.

  fuzz_lines.py KIND COUNT   prints that many lines of a kind of KINDS
"""

import random
import re
import sys

MANY_LINES_BYTES = 8 << 20  # of more than a few lines, about

# ---- text ----------------------------------------------------------------------------------------

# Numbers of digits of a part of a number. Those at which a machine word, a double or a long double is
# full are listed more often.
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


def wide_half_way(rng):
    """An odd multiple of a power of ten: 65 bits, in the middle of two neighbours of 64 bits."""
    exponent = rng.randrange(1, 28)
    least = 2**64 // 5**exponent
    return b"%de%d" % (rng.randrange(least, 2 * least) | 1, exponent)


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


def ordinary(rng):
    """A number as most programs write it: an amount of money, an integer, or a double."""
    kind = rng.randrange(4)
    if kind == 0:
        return b"%.2f" % rng.uniform(0, 1e6)
    if kind == 1:
        return b"%d" % (rng.randrange(-(2**63), 2**63) >> rng.randrange(64))
    return (b"%.17g" if kind == 2 else b"%g") % (rng.uniform(-1, 1) * 2.0 ** rng.randrange(-80, 80))


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
        if rng.random() < 0.1:  # that begin alike
            shared = rng.choice([b"", b"0.", b"-3."]) + digits(rng, rng.choice([30, 100, 150, 400]))
            self.pool = [shared + text for text in self.pool]
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
        count = min(count, MANY_LINES_BYTES * len(some) // (sum(map(len, some)) + 1))
        return [b"%d" % rng.randrange(-count, count) + line if rng.random() < own else line
                for line in rng.choices(some, k=count)]  # fmt: skip


def strict_line(rng):
    """One number, and blanks at most."""
    text = rng.choice([general, decimal])(rng)
    if not re.fullmatch(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(inf|nan|NaN|Infinity|INF)"
                        rb"|[-+]?0[xX][0-9a-f]+(\.[0-9a-f]*)?([pP][-+]?[0-9]+)?", text):  # fmt: skip
        text = b"%d" % rng.randrange(-20, 20)
    return rng.choice([b"", b"", b" ", b"\t "]) + text + rng.choice([b"", b"", b"", b" ", b"\t"])


def respelled(rng):
    return respell(rng, rng.choice([decimal, general, human])(rng))


KINDS = {kind.__name__: kind for kind in
         (ordinary, decimal, general, human, half_way, wide_half_way, cut_half_way, respelled)}  # fmt: skip


def main(kind, count):
    rng = random.Random(kind)
    sys.stdout.buffer.writelines(KINDS[kind](rng) + b"\n" for _ in range(int(count)))


if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)  # Python's guard against long numbers, which are wanted here
if __name__ == "__main__":
    main(*sys.argv[1:])
