# SPDX-License-Identifier: Apache-2.0
"""Makes the options and the inputs of a round of fuzz_sort.py, and says which words they are."""

import collections
import dataclasses
import itertools
import re
import shutil
import subprocess

from fuzz_lines import Lines, strict_line

SORT = shutil.which("sort")
SMALL_MEMORY_BYTES = 1 << 20  # what is sorted in parts of some lines each

# ---- options -------------------------------------------------------------------------------------

# Words of the command line that are valid only together. `gives_order`: they make gpusort compare as
# sort(1) does.
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
}
SEPARATORS = [b",", b",", b",", b":", b"\t", b" ", b";", b"x", b"0", b"1", b".", b"-", b"e", b"K", b"\\", b"\\0",
              b"\n", b"\xff", b"\r", b"a"]  # fmt: skip
WRONG = [
    [b"-k0"], [b"-k1.0"], [b"-k1,0"], [b"-k"], [b"-k1,"], [b"-k1x"], [b"-kx"], [b"-k-1"], [b"-k1."],
    [b"-k1.x"], [b"-k1ng"], [b"-k1n,2h"], [b"-k1,2.x"], [b"-k1n2"], [b"-k", b""], [b"-t", b""], [b"-tab"],
    [b"-t,", b"-t:"], [b"-n", b"-g"], [b"-g", b"-h"], [b"-n", b"-h"], [b"-c", b"-C"], [b"-k1 "], [b"-k1,2,3"],
    [b"no-such-file"], [b"-c", b"in0", b"in0"], [b"-c", b"-o", b"out"], [b"--files0-from=no-such-file"],
]  # fmt: skip


def known_paths(gpusort):
    """The GPU's paths, each with its sizes of tiles."""
    said = subprocess.run([gpusort, "--list"], capture_output=True, check=False).stdout
    lines = said.partition(b"\n  gpu ")[2].splitlines()[1:]
    lines = itertools.takewhile(lambda line: line.startswith(b"    "), lines)  # another GPU may follow
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


def change_definition(rng, unit):
    """One character of a -k is another one, missing or added, so that it may be wrong."""
    text = unit.words[-1]
    prefix = next((name for name in (b"-k", b"--key=") if text.startswith(name)), b"")
    text = text[len(prefix) :]
    at = rng.randrange(len(text) + 1)
    added = rng.choice([b"", bytes([rng.choice(b"0123456789.,,+- \t\nbhnrx")])])
    text = text[:at] + added + text[at + rng.choice([0, 1]) :]
    return unit._replace(words=unit.words[:-1] + [prefix + text])


def letter_units(rng, letters):
    """The letters, one by one or together, or in their long form."""
    if len(letters) > 1 and rng.random() < 0.5:
        return [Unit([b"-" + "".join(letters).encode()], any(x in "ngh" for x in letters))]
    units = []
    for letter in letters:
        words = [b"-" + letter.encode()]
        if rng.random() < 0.1:
            words = [rng.choice(LONG[letter])]
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
    packing: int = 0  # the seed of the frames of zstd that gpusort gets the inputs in; 0: none
    repeated: int = None  # the input that is named once more
    names_at: float = 1.0  # which part of the options is before the names of the inputs
    argsort: bytes = b""  # the word, if the numbers of the lines are to be written

    def in_domain(self):
        if not self.inputs or (self.output == "in0" and self.delivery not in ("files", "names")):
            return False
        if self.repeated is not None and self.repeated >= len(self.inputs):
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
    key_units = [change_definition(rng, unit) if rng.random() < 0.1 else unit for unit in key_units]
    for letter, chance in (("r", 0.25), ("s", 0.25), ("u", 0.25), ("z", 0.1), ("b", 0.1)):
        if rng.random() < chance:
            letters.append(letter)
    rng.shuffle(letters)
    units = letter_units(rng, letters) + key_units
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
    inputs = split_inputs(rng, lines, terminator)
    if not settings.knows_ronna:
        inputs = [re.sub(rb"[RQ]", b"Y", text) for text in inputs]
    if settings.parts_at_0x80:
        inputs = [text.replace(b"\x80", b"\x81") for text in inputs]
    if "g" in orders:
        inputs = with_one_nan(inputs)
    case = Case(units, inputs, terminator=terminator)
    vary(rng, case)
    return case


def vary(rng, case):
    """The ways in and out, and -c and -m."""
    case.delivery = rng.choice(["files", "files", "files", "input", "pipe"])
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
        if rng.random() < 0.2:
            words = [rng.choice(LONG[case.action])]
        case.units.insert(rng.randrange(len(case.units) + 1), Unit(words, False))
    if case.action not in ("c", "C") and rng.random() < 0.08:
        case.output = "in0" if case.delivery == "files" and rng.random() < 0.5 else "out"
    elif case.action in ("", "m") and rng.random() < 0.08:
        case.header = rng.choice([0, 1, 1, 1, 2, 3, 50])
        if not case.action and (case.header == 0 or rng.random() < 0.1):
            case.top = rng.choice([1, 2, 3, 10, 1000])
    if rng.random() < 0.02:
        case.units.append(Unit(rng.choice(WRONG), False))
    elif case.action in ("", "m") and rng.random() < 0.2:  # sorted in parts, or merged in little memory
        size = rng.choice([b"1b", b"40K", b"1M"])
        is_small = sum(map(len, case.inputs)) < SMALL_MEMORY_BYTES
        case.units.append(Unit([b"-S", size if is_small else b"1M"], False))


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
    if len(lines) <= 20000 and rng.random() < 0.5:
        path, tiles = rng.choice(tiles_of_paths)
        tile = rng.choice(tiles + [b""])
        case.device_words.append(b"--algorithm=" + path + (b":" + tile if tile else b""))
    if sum(map(len, case.inputs)) < SMALL_MEMORY_BYTES and rng.random() < 0.1:
        case.device_words.append(b"--device-memory=%dK" % rng.choice([1, 40, 300]))


def vary_ends(rng, case):
    """The inputs in zstd, or one of them once more; the lines' numbers. The last draws, so that others stay."""
    if rng.random() < 0.1:
        case.packing = rng.getrandbits(32) + 1
    has_nan = any(b"nan" in text.lower() for text in case.inputs)
    if rng.random() < 0.05 and case.delivery == "files" and case.action not in ("c", "C") and not has_nan:
        case.repeated = rng.randrange(len(case.inputs))
    in_parts = any(unit.words[0] == b"-S" for unit in case.units)  # which --argsort of lines may refuse
    if rng.random() < 0.05 and not case.action and not case.output and not in_parts:
        case.argsort = rng.choice([b"--argsort", b"--argsort=u32"])
    if rng.random() < 0.1:
        case.names_at = rng.random()


def vary_lines(rng, case):
    """Some lines get very long. After all other draws."""
    kind = rng.random()
    if kind > 0.01 or case.strict or case.header:
        return
    for i, text in enumerate(case.inputs):
        lines = lines_of(text, case.terminator)[:20]
        if lines and kind < 0.001:  # more than 2^24 bytes
            lines[0] = rng.choice([lines[0][:2].replace(case.terminator, b""), b"0"]) * (1 << 23) + lines[0]
        elif lines:  # around 2^16
            filling = rng.choice([b"0", b"7", b" ", b"a"])
            at = (1 << 16) + rng.randrange(-2, 3)
            lines = [(filling + line).rjust(at, filling) if rng.random() < 0.5 else line for line in lines]
        case.inputs[i] = b"".join(lines)


# ---- its words -----------------------------------------------------------------------------------


def is_action(unit):
    return unit.words[0] in (b"-c", b"-C", b"-m") or unit.words[0].startswith((b"--check", b"--merge"))


def words_of_sort(case):
    return [b"-g"] * case.strict + [b"-s"] * bool(case.argsort)


def words_of_gpusort(case):
    """What only gpusort is told; sort(1) is given other inputs, or its output is cut."""
    is_marked = any(text.startswith((b"\xff\xfe", b"\xfe\xff")) for text in case.inputs)
    is_wide = any(3 * text.count(b"\0") >= len(text) for text in case.inputs)  # may look like UTF-16, too
    words = [b"--format=text"] if case.strict or is_marked or is_wide else []
    has_returns = any(text.partition(b"\n")[0].count(b"\r") > 1 for text in case.inputs)  # is reported
    words += [b"-q"] if has_returns else []
    words += [b"--header=%d" % case.header] if case.header else []
    words += [case.argsort] if case.argsort else []
    return words + ([b"--top=%d" % case.top] if case.top else [])


def lines_of(text, terminator):
    """The lines of a text, their ends with them; the last one may have none."""
    return re.findall(rb"[^%b]*%b|[^%b]+" % ((terminator,) * 3), text)


def expected_output(case, header, data, output):
    """What sort(1) made of the data, as gpusort is to write it."""
    lines = lines_of(output, case.terminator)
    if not case.argsort:
        return header + b"".join(lines[: case.top or None])
    places = collections.defaultdict(collections.deque)  # of each line, in the order of the input
    inputs = data + [data[case.repeated]] if case.repeated is not None else data
    for i, line in enumerate(line for text in inputs for line in lines_of(text, case.terminator)):
        places[line.removesuffix(case.terminator)].append(i)
    numbers = [places[line.removesuffix(case.terminator)].popleft() for line in lines]
    return b"".join(b"%d\n" % number for number in numbers[: case.top or None])


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
    """The options, and the names of the inputs among them."""
    options = [unit.words for unit in case.units]
    if case.output:
        options.append([b"-o", case.output.encode()])
    names = [b"in%d" % i for i in range(input_count)]
    if case.delivery in ("input", "pipe"):
        names[0] = b"-"
        if input_count == 1:
            names = []
    if case.repeated is not None:
        names.append(names[case.repeated])
    if case.delivery == "names":
        names = [b"--files0-from=names"]
    at = round(case.names_at * len(options))
    return sum(options[:at] + [names] + options[at:], [])


def stdin_of(case, inputs):
    return {"pipe": inputs[0], "input": "in0"}.get(case.delivery, "/dev/null")
