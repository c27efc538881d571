#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines that have much in common, and enough of them for several threads, are in the order of sort(1):
# long numbers, prefixes of each other, values in several spellings or halfway between two doubles, very
# long lines. The fuzzer (fuzz.sh) draws other lines and options. GPUSORT_DEVICE=gpu sorts them on a GPU.
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null || skip_all 'no Python'

# Writes a file of each kind of lines.
read -ra sizes <<<"$(full_or_small '10000 100000 5000000' '1100 20000 1300000')"
python3 - "${sizes[@]}" <<'END'
import random
import sys

many, giant, longest = map(int, sys.argv[1:])
rng = random.Random(7)


def write(name, count, line):
    with open(name, "wb") as file:
        file.writelines(line(i) + b"\n" for i in range(count))


def long_number(digits):
    """Most digits are the same in all lines."""
    text = bytearray(b"0123456789" * (digits // 10 + 1))[:digits - rng.randrange(2)]
    if rng.randrange(2):
        text[-1 - rng.randrange(len(text))] = rng.choice(b"0123456789")
    text.insert(rng.choice([digits // 2, digits // 2, rng.randrange(digits)]), ord("."))
    return rng.choice([b"", b"-"]) + bytes(text) + b"0" * rng.randrange(3)


def alike(fill):
    """470 bytes, nearly all the same. The end and the byte that differs have all positions in a word."""
    text = bytearray(fill * (480 - rng.randrange(20)))
    if rng.randrange(4):
        text[-1 - rng.randrange(40)] += rng.randrange(3)
    return bytes(text)


def ladder(fill, rests):
    """Each two lines share another number of bytes."""
    return fill * (rng.randrange(40) * rng.randrange(40)) + rng.choice(rests)


def spelled():
    """Few values, after zeros and before other bytes, around the bytes that one step compares."""
    return b"0" * rng.choice([0, 1, 2, 12, 13, 14, 15, 27, 29, 44]) + rng.choice(b"123456").to_bytes(1, "big") + \
        rng.choice([b"", b"", b".0", b" ", b"x", b"\xff", b"\x01", b"\t.", b"\0", b"\0\0"])


MIDDLES = [((1 << bits) + 2 * rng.getrandbits(bits - 1) + 1, rng.randrange(-most, most))
           for bits, most in ((53, 900), (53, 40), (64, 900), (64, 40)) * (many // 400)]


def middle():
    """The first digits of a number halfway between two doubles or long doubles, or a few more or less."""
    significand, exponent = rng.choice(MIDDLES)
    if rng.randrange(5) == 0:
        return b"0x%xp%d" % ((significand << 10) + rng.randrange(-3, 4), exponent - 10)
    digits = str(significand << exponent if exponent >= 0 else significand * 5**-exponent)
    kept = rng.choice([17, 18, 19, 19, 19, 20, 21, 25])
    number = int(digits[:kept]) + rng.randrange(-3, 4) * 10 ** max(kept - 19, 0)
    return b"%de%d" % (number, len(digits[kept:]) + min(exponent, 0))


def chosen_badly(count, pairs):
    """The line with which the others are compared is the least one each time, and differs last."""
    lines = [b"c" * (8 * pairs + 20) + b"%d" % rng.randrange(1000000) for i in range(count)]
    for k in range(pairs):
        for i, place in enumerate((2 * k + (count - 2 * k) // 8, count // 2 + k)):
            lines[place] = b"c" * (10 + 8 * k + i) + b"b"
    return lines


def cut_badly(count):
    """The samples, by which lines are cut in two, are the least ones each time."""
    values, left = [count] * count, list(range(count))
    for cut in range(2 * count.bit_length()):
        sample = left[:(len(left) - 1) // 8 * 8 + 1:(len(left) - 1) // 8]
        for i, line in enumerate(sample):
            values[line] = min(values[line], 9 * cut + i)
        pivot = sorted(sorted(values[line] for line in sample[i:i + 3])[1] for i in (0, 3, 6))[1]
        low, i, high = 0, 0, len(left)
        while i < high:
            if values[left[i]] > pivot:
                high -= 1
                left[i], left[high] = left[high], left[i]
                continue
            if values[left[i]] < pivot:
                left[i], left[low] = left[low], left[i]
                low += 1
            i += 1
        left = left[high:]
    return [b"c" * 8 + b"%07d" % (value if value < count else rng.randrange(count, 9999999)) for value in values]


BYTES = [b"", b"", b"b", b"\xff", b" a", b"a b", b"\x01"]
DIGITS = [b"", b"", b"2", b"00", b"9K", b"x", b"1\xff1"]
write("long", 1500, lambda i: long_number(rng.choice([16, 17, 18, 34, 35, 36, 52, 60, 70, 400, 1100, 4000])))
write("long_fields", 700, lambda i: b"x " + long_number(1000))
write("alike", many, lambda i: rng.choice([b"0.", b"0.", b"00.", b"-7.", b"-7."]) + alike(b"0"))
write("alike_fields", many // 4, lambda i: alike(b"f") + b" 5." + alike(b"1") + b" :-" + alike(b"01"[i % 2:][:1]))
write("blanks", many // 2, lambda i: bytes(rng.choice(b"   \t\t\t\r\x01\x1f\x0b!a\x80\xff") for _ in range(rng.randrange(60))) +
      rng.choice([b" ", b"\t", b" \t\t", b"\r", b"a\x01"]) * rng.randrange(40) + b"%d" % rng.randrange(9))
write("ladder", many, lambda i: ladder(b"a", BYTES))
write("ladder_numbers", many, lambda i: rng.choice([b"0.", b"0.", b"-0.", b"5", b"-7"]) + ladder(b"1", DIGITS))
write("far", 300, lambda i: b" " * 40 + b"b" * rng.choice([8190, 8192, 8200]) +
      ladder(b"c", BYTES) + b" d")
write("giant", 60, lambda i: b"1" * (giant - rng.randrange(2)) + rng.choice(BYTES))
write("spelled", many, lambda i: spelled())
write("middles", 3 * many, lambda i: middle())
write("spelled_few", 40, lambda i: spelled())
for values in 5, 1000, 100000:
    write(f"often_{values}", 5 * many, lambda i: b"%d" % rng.randrange(values) + rng.choice([b"", b".0"]))
write("chosen_badly", 2000, chosen_badly(2000, 50).__getitem__)
write("cut_badly", 2000, cut_badly(2000).__getitem__)
# As many equal keys as a tile of the GPU has lines, or one more or less.
write("tiles", 4100, lambda i: b"%d" % (i // 1024) + rng.choice([b""] * 200 + [b".0"]))
# Longer than the blocks in which lines are found and the buffers in which they are written.
write("longest", 3000, lambda i: rng.choice([b"", b"2"]) + b"0" * (longest - i // 700
      if i in (0, 700) else giant if i % 500 == 0 else 0) + rng.choice([b"", b" ", b" 7 1", b"1", b" 3K", b"b a"]))
END

number=0
while IFS='|' read -r files list; do
    for file in $files; do
        tr '\n\0' '\0\n' <"$file" >zero
        while read -r options; do
            number=$((number + 1))
            sort $options "$file" >expected
            ok_output "$file: $options" expected -- gpusort --parallel=$((1 + number % 3)) $options "$file"
            [ $((number % 4)) -eq 0 ] || continue
            sort -z $options zero >expected
            ok_output "$file: $options -z" expected -- gpusort -z $options zero
        done < <(tr ',' '\n' <<<"${list//, /,}")
    done
done <<'END'
long|-n, -nr, -h, -hu, -hs, -nu, -ns
long_fields|-k2n, -k2, -k2h -u, -k2r, -k2nr -s
alike|-n, -nr, -hu, -ns, -k1, -k1r -s, -g
alike_fields|-k1 -k2n, -k2n -k1r, -k3h -u, -k2n -k1.100 -s, -t: -k2n -k1
blanks|-k1, -k2, -k3b -s, -k4n -k1r, -k3.2 -u
ladder|-k1, -k1r, -k1r -k2, -k1 -k2 -s, -k1r -k2 -u, -u -k1, -k1.9 -s, -k2 -k1r
ladder_numbers|-n, -nr, -h, -nu, -ns, -k1nr -k1
far|-k1, -k1.2, -k1.2r -k2, -k2 -u, -k1.41 -u, -s -k1b
giant|-k1, -k1r, -u -k1, -s -k1r, -n, -hu
spelled spelled_few|-g, -gr, -n, -nr, -h, -gs, -nu, -k1n -k1r
middles|-g, -gs, -gru
often_5 often_1000 often_100000|-k1, -k1r -k2, -nu, -gru, -u -k1, -hsu, -u -k1n -k2, -n
chosen_badly cut_badly|-k1, -k1r -u, -k1b -s, -k1b -u
tiles|-g, -gru, -ns, -k1
longest|-n, -k1, -k2n -u, -k2
END

# Each comparison of a long field finds it again.
if [ "$test_size" = full ]; then
    python3 -c 'for i in range(100): print(" " * 262144 + str(i * 7919 % 100))' >blanks
    TIMEFORMAT=%U
    by_sort=$({ time sort -k1,1 -o expected blanks; } 2>&1)
    by_gpusort=$({ time "$GPUSORT" --device=cpu -k1,1 -o got blanks; } 2>&1)
    ok "long fields take no longer than with sort(1): $by_gpusort s, $by_sort s" \
        awk "BEGIN { exit !($by_gpusort < 8 * $by_sort + 0.3) }"
    ok 'and are sorted' cmp expected got
fi

done_testing
