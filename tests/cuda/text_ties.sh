#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines with equal keys are put in order on the GPU: texts with ties for various reasons x orders,
# compared with sort(1). Skipped without a GPU.
. "$(dirname "$0")/../lib.sh"
problem=$(gpu_problem) || true
[ -z "$problem" ] || skip_all "$problem"
command -v python3 >/dev/null || skip_all 'no Python'

# texts LINES NAME...: writes texts to NAME.LINES, and with zero bytes as terminators to
# NAME.LINES.z; all texts without a NAME.
texts() {
    python3 - "$@" <<'PYTHON'
import random
import sys

chance = random.Random(29)
SPELLINGS = "1 1.0 01 +1 1e0 0.1e1 2 2.0 +2e0 2.00x 0 -0 +0 0.00".split()
BYTES = ["0", "0", "1", ".", "\x00", "\n", "\xff", " ", "\x80", "x", "-", "\t"]
# Each makes line i of n.
TEXTS = {
    "spelled_in_many_ways": lambda i, n: chance.choice(SPELLINGS),
    "all_the_same": lambda i, n: "3.25 x",
    "one_that_differs": lambda i, n: "7.0" if i == n - 1 - n // 3 else "7",
    "as_long_as_tiles": lambda i, n: f"{i // 1024}{'.0' if chance.randrange(512) == 0 else ''}",
    "nine_digits": lambda i, n: f"{chance.randrange(n // 2 + 1) / 7:.9g}",
    "one_beginning": lambda i, n: f"beginning {chance.randrange(n // 2 + 1)}",
    "prefixes": lambda i, n: "1." + "0" * (chance.randrange(40) * chance.randrange(7)),
    "long_prefixes": lambda i, n: "0" * (19 * chance.randrange(12)) + "1." + "0" * chance.randrange(9),
    "more_digits_than_a_key": lambda i, n: f"0.1000000000000000{chance.randrange(30)}" + "0" * (i % 3),
    "fields": lambda i, n: f"{chance.choice(SPELLINGS)} {chance.choice(SPELLINGS)}" + " \xff" * (i % 3 == 0),
    "any_bytes": lambda i, n: "".join(chance.choices(BYTES, k=chance.randrange(12))),
    "very_long": lambda i, n: "0" * 3000 + "1" + "x.x.xy"[i] if i < 6 else "1" * (i % 2),
}
count = int(sys.argv[1])
for name in sys.argv[2:] or TEXTS:
    lines = [TEXTS[name](i, count) for i in range(count)]
    for suffix, end, other in ("", "\n", "\0"), (".z", "\0", "\n"):
        with open(f"{name}.{count}{suffix}", "w", encoding="latin-1", newline="") as file:
            file.writelines(line.replace(end, other) + end for line in lines)
PYTHON
}

# check NAME.LINES: sorts the text in each order.
check() {
    local words
    while read -r -a words; do
        case ${words[0]} in *z*) set -- "${1%.z}.z" ;; *) set -- "${1%.z}" ;; esac
        sort "${words[@]}" "$1" >expected
        ok_output "${1%.z} ${words[*]}" expected -- gpusort --device=gpu "${words[@]}" "$1"
    done
}

orders='-g
-gr
-gs
-gu
-gru
-zg
-n
-nr
-nrs
-nu
-h
-hru
-k1
-k1 -u
-k1r -s
-z -k1 -r
-k1,1g
-k1,1gr
-r -k2,2n
-u -k2,2n
-k1,1n -k2,2g
-s -k1,1n -k2,2r
-u -k2,2n -k1,1'

# Numbers of lines around those of a tile.
read -r -a counts <<<"$(full_or_small '1 33 1024 1025 70001' 1100)"
for count in "${counts[@]}"; do
    texts "$count"
    for text in *."$count"; do check "$text" <<<"$orders"; done
    rm -f -- *."$count" *."$count.z"
done

# More tiles than are scanned at once, and less memory than the ties take.
count=$(full_or_small 4300003 3100)
texts "$count" spelled_in_many_ways nine_digits
for text in spelled_in_many_ways nine_digits; do check "$text.$count" <<<$'-g\n-gu'; done
if "$GPUSORT" --list | grep -q 'SIMT stand-in'; then
    for order in -g -gu -k1,1n; do
        sort "$order" spelled_in_many_ways.3100 >expected
        for bytes in 150000 200000 250000 300000; do
            ok_output "$order with $bytes bytes of memory" expected -- env SIMT_MEMORY_BYTES=$bytes \
                "$GPUSORT" --device=gpu "$order" spelled_in_many_ways.3100
        done
    done
fi

done_testing
