#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A GPU finds the lines of a text, makes keys of them, sorts, refines and gathers them. The output is that of
# sort(1), for many kinds of lines and inputs; fuzz.sh and sort_alike.sh have more. Skipped without a GPU.
. "$(dirname "$0")/../lib.sh"
need_gpu
on_gpu() { gpusort --device=gpu "$@"; }

# sorts NAME OPTION... FILE...: the output is that of sort(1).
sorts() { ok_output "$1" <(sort "${@:2}") -- on_gpu "${@:2}"; }

# ---- powers of ten -------------------------------------------------------------------------------

# Those of cuda/text/thread_line_image.cuh have every bit that Python's integers have: a wrong one would
# show in one number of millions. They are 10^(28 i) for i from -12 to 10, cut off to 128 bits.
python3 -c '
from fractions import Fraction
for i in range(-12, 11):
    power = Fraction(10) ** (28 * i)
    while power >= 2 ** 128: power /= 2
    while power < 2 ** 127: power *= 2
    print("{0x%016x, 0x%016x}" % divmod(int(power), 2 ** 64))' >powers
ok_output 'powers of ten, to 128 bits' powers -- \
    grep -oE '\{0x[0-9a-f]{16}, 0x[0-9a-f]{16}\}' "$tests_dir/../cuda/text/thread_line_image.cuh"

# ---- kinds of lines ------------------------------------------------------------------------------

long=$(full_or_small 10000000 300000)
: >none
printf '\n' >empty_line
printf '7' >unended
printf '7\n' >one
yes '' | head -n 40000 >empty_lines || true
{ seq 3; head -c "$long" /dev/zero | tr '\0' 9; echo; seq 2; } >long_line
head -c "$long" /dev/zero | tr '\0' 9 >nothing_but_long
seq "$(full_or_small 200000 10000)" | awk '{ print $1 * 7919 % 100003 }' >many
yes 1.50 | head -n 9000 >equal || true
awk 'BEGIN { for (i = 0; i < 9000; i++) printf "%s%d\n", i % 3 ? "" : "0", i % 50 }' >respelt
for file in none empty_line unended one empty_lines long_line nothing_but_long many equal respelt; do
    sorts "-g: $file" -g "$file"
    sorts "-n -r: $file" -n -r "$file"
done

# More than a slot of the pinned ring, so that lines are cut at the borders of slots, in both directions.
awk -v lines="$(full_or_small 60000 1000)" \
    'BEGIN { for (i = 0; i < lines; i++) printf "%d %0*d\n", i * 7919 % 50021, i % 601, i }' >slots
sorts 'more than a slot' -n slots
sorts 'more than a slot, of equal keys' -k2.1,2.1 slots

# Numbers in several spellings: more tiles of ties than are scanned at once.
awk -v lines="$(full_or_small 4300003 3100)" 'BEGIN {
    srand(29)
    count = split("1 1.0 01 +1 1e0 0.1e1 2 2.0 +2e0 2.00x 0 -0 +0 0.00", spelling, " ")
    for (i = 0; i < lines; i++) print spelling[1 + int(rand() * count)]
}' >spelled
for order in -g -gu -k1,1n; do sorts "ties: $order" $order spelled; done

# ---- kinds of input, of which fuzz.sh has more ---------------------------------------------------

ok_output 'a pipe, which does not say how much will come' <(sort -g many) -- on_gpu -g < <(cat many)
ok_says 'the size of a pipe that was read ahead counts as that of the output' '^output .*, [0-9.]+ [KM]iB of .* free$' -- \
    gpusort --explain -n -o new < <(cat many)
library=$(dirname "$GPUSORT")/../tests/fault_library.so
if [ -f "$library" ] && [ "$is_sanitized" = no ]; then
    cp "$library" "$work" # LD_PRELOAD needs a name without blanks
    cp many growing
    { cat many; seq 5; } | sort -g >expected
    ok_output 'a file that grows while it is read' expected -- env FAULT_RUN='seq 5 >>growing' \
        FAULT=read:2:run LD_PRELOAD="$work/fault_library.so" "$GPUSORT" --device=gpu -g growing
else
    skip 'a file that grows while it is read' 'with sanitizers, or the faults are not built'
fi
ok_says '-v says what the GPU did' '^gpusort: stage .*\(9000 lines\)' -- on_gpu -v -g equal -o got
ok_says '-v: the text is uploaded' '^gpusort: upload ' -- on_gpu -v -g equal -o got

# ---- refused inputs ------------------------------------------------------------------------------

printf '1\n2\n' >good
printf '3\nthree\n4\nfour\n' >bad
{ cat many; echo x; cat many; echo y; } >bad_late
refuses 'a line that is no number, of the second file' "^gpusort: bad:2: 'three' is not a number" -- \
    --device=gpu good bad
refused 'the first of two lines that are no numbers' \
    "^gpusort: bad_late:$(($(wc -l <many) + 1)): 'x' is not a number" -- gpusort --device=gpu bad_late -o "$target"
refuses 'an empty line is no number' '^gpusort: empty_lines:1: empty line, not a number' -- --device=gpu empty_lines
refuses 'lines after a header count it' "^gpusort: bad:2: 'three' is not a number" -- --device=gpu --header=1 bad

# ---- a device with little memory, and one that fails (only the stand-in can imitate them) --------

if ! grep -q SIMT_FAIL "$GPUSORT"; then
    done_testing
    exit
fi
ok_output 'more text than the device holds, in parts' <(sort -g many) -- \
    env SIMT_MEMORY_BYTES=100000 "$GPUSORT" --device=gpu -g many
ok_says 'more text than the device holds: -v says how many parts' '^gpusort: [0-9]+ sorted parts stored' -- \
    env SIMT_MEMORY_BYTES=100000 "$GPUSORT" --device=gpu -v -g many -o got
ok_output 'more lines than the device holds, in parts' <(sort -g empty_lines) -- \
    env SIMT_MEMORY_BYTES=400000 "$GPUSORT" --device=gpu -g empty_lines
refused 'a line that the device does not hold: what is needed, and what is free' \
    'device 0: out of memory: [0-9.]+ MiB needed, 0.1 MiB free' -- \
    env SIMT_MEMORY_BYTES=100000 "$GPUSORT" --device=gpu -g nothing_but_long -o "$target"
ok_output 'less memory than would be best' <(sort -g many) -- \
    env SIMT_MEMORY_BYTES="$(full_or_small 9000000 2000000)" "$GPUSORT" --device=gpu -g many
for order in -gu -k1,1n; do
    sort $order spelled >expected
    for bytes in 150000 200000 250000; do
        ok_output "ties in $bytes bytes of memory: $order" expected -- \
            env SIMT_MEMORY_BYTES=$bytes "$GPUSORT" --device=gpu $order spelled
    done
done
sort -g spelled >expected
SIMT_CALLS=calls "$GPUSORT" --device=gpu -g spelled -o got
last=$(awk '$1 == "cudaMalloc" { print $2 }' calls)
ok_output 'ties whose memory is not allocated though it is free' expected -- \
    env SIMT_FAIL="cudaMalloc:$last:cudaErrorMemoryAllocation" "$GPUSORT" --device=gpu -g spelled
registrations=$(printf 'cudaHostRegister:%d,' {1..8})
for call in 1 2; do # faults.sh makes the other calls fail
    refused "a failure to allocate pinned memory, $call" '^gpusort: device 0: ' -- env \
        SIMT_FAIL="${registrations}cudaMallocHost:$call" "$GPUSORT" --device=gpu -g respelt -o "$target"
done

# Where memory cannot be pinned once it is allocated, the ring is allocated as pinned memory.
sort -g respelt >expected
head -c 400000 /dev/urandom >bytes
gpusort --device=cpu --format=raw --type=u32 bytes -o numbers
for call in cudaHostRegister:1 cudaHostRegister:2 "${registrations%,}"; do
    ok_output "lines though $call failed" expected -- env SIMT_FAIL="$call" "$GPUSORT" --device=gpu -g respelt
    ok_output "numbers though $call failed" numbers -- \
        env SIMT_FAIL="$call" "$GPUSORT" --device=gpu --format=raw --type=u32 bytes
done

# auto chooses the GPU for large texts, and the CPU if the GPU fails. With parts, the first call to fail
# belongs to an engine for the whole input.
seq 1149999 -1 1000000 | sed "s/\$/ $(printf %0393d 0)/" >large
tac large >expected
for words in "${registrations}cudaMallocHost:2" 'cudaMalloc:2 -S 45M'; do
    read -r call options <<<"$words"
    ok_says "auto: the CPU sorts after $call failed $options" \
        '^gpusort: device     cpu after all, by radix \(device 0: ' -- \
        env SIMT_FAIL="$call" "$GPUSORT" --parallel=1 $options -v -n large -o got
    ok_same_bytes "auto: the lines after $call failed $options" got expected
done

done_testing
