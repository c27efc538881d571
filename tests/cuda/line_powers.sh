#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The powers of ten with which the GPU makes keys of numbers (cuda/text/thread_line_image.cuh) have every
# bit that Python's integers have: a wrong bit would show in one number of millions.
. "$(dirname "$0")/../lib.sh"

command -v python3 >/dev/null || skip_all 'no Python'

# Prints 10^(28 i) for i from -12 to 10, cut off to 128 bits, as two halves.
powers() {
    python3 -c '
from fractions import Fraction
for i in range(-12, 11):
    power = Fraction(10) ** (28 * i)
    while power >= 2 ** 128: power /= 2
    while power < 2 ** 127: power *= 2
    print("{0x%016x, 0x%016x}" % divmod(int(power), 2 ** 64))'
}

ok_output 'powers of ten, to 128 bits' <(powers) -- \
    grep -oE '\{0x[0-9a-f]{16}, 0x[0-9a-f]{16}\}' "$tests_dir/../cuda/text/thread_line_image.cuh"

done_testing
