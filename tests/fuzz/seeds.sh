#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# seeds.sh TARGET DIR: writes the first inputs of a fuzz target to files in DIR, which it creates.
# Each is a format of printf(1): inputs that a fuzzer finds only slowly, and inputs that one found.
# tests/fuzz/TARGET.c describes how a target reads its input.
set -euo pipefail
export LC_ALL=C
target=$1
mkdir -p "$2"
cd "$2"

count=0
seed() {
    count=$((count + 1))
    printf "$1" >"seed_$count"
}

# A byte from \xf4 on repeats the byte before it 1, 2, 4, ... 2048 times.
fuzz_numbers() {
    local number
    for number in 0 -1 255 256 -128 -129 65536 2147483648 4294967296 18446744073709551615 \
        18446744073709551616 9223372036854775808 -9223372036854775809 1e3 12.0 0x10 0x1p-3 0x.8p1 \
        1.5e-7 1e308 1e309 1e-400 4.9e-324 2.4703282292062327e-324 1.7976931348623159e308 \
        3.4028235677973366e38 16777217 9007199254740993 inf -Infinity nan NaT '-nan(12)' 65519.99999999999999999999 65520 5.96e-8 2.98023223876953125e-8 \
        2.98023223876953125000000000000000000001e-8 3.3961775292304e38 0x1.fffffffffffff8p0 \
        0xffffffffffffffff.8 0x100000000000000001 ' +1 ' 1e 1e+ 0x . -. .5 5. 5.5.5 +-1 '- 1' 1,5 '1 2' 3x infinite \
        1e99999999999999999999 1.8e308 2e-324 3e-324 0x1p-1075 1.4e-45 3.5e38 0x1.8p-150 0x1.fffffffp38 \
        1.0000000000000001110223024625156540423631668090820312499999999999 0x1.00000000000008p0 \
        1.000000000000000111022302462515654042363166809082031250000000000001; do
        seed "\x01$number"
    done
    seed '\xff1\xff\xff\xff.5' # longer than what decides
    seed '\xff0\xff\xff\xff1e6144'
    seed '\xff0x1\xff\xff\xffp-9999'
    seed '\x0012345678901234567890.50' && seed '\x00-2G' && seed '\x0012\x8034' && seed '\x00\x801k'
}

# Frames as the target makes them. A byte selects: below P a frame, from P on a skippable frame, from
# a on a broken byte, z to drop the last byte, above z to append all further bytes as they are.
fuzz_zstd() {
    local flags
    for flags in '\x00' '\x04' '\x06' '\x0a' '\x14' '\x1a' '\x26' '\x2e'; do
        seed "\x23\x01$flags\x20aaaaaaaaaaaaaaaabcabcabcabcabcab"
        seed "\x09P\x05\x02$flags\x08abcdefgh\x03$flags\x00\x04\x06\x10ijklmnopijklmnopz"
        seed "\x31\x01$flags\x20aaaaaaaaaaaaaaaabcabcabcabcabcaba\x0d\x40"
    done
    seed '\x00\xff\x28\xb5\x2f\xfd\x24\x03\x19\x00\x00abc\x00\x00\x00\x00'
    seed '\x00\xff\x28\xb5\x2f\xfd\x00\x00\x01\x00\x00'             # a frame of nothing
    seed '\x00\xff\x28\xb5\x2f\xfd\x20\x05\x03\x00\x00\x00\x01\x00' # an empty last block
    seed '\x00\xff\x28\xb5\x2f\xfd\x20\x05\x2a\x00\x00x\x01\x00\x00' # a run of bytes
    seed '\x00\xff\x28\xb5\x2f\xfd\x20\x05\x18\x00\x00abc\x01\x00\x00' # less than it states
    # A compressed block of 0 bytes, which libzstd refuses in a frame passed as a whole.
    seed '\x00\xff\x28\xb5\x2f\xfd\x20\x05\x2a\x00\x00x\x05\x00\x00'
    # A block larger than the window, which libzstd accepts in a frame passed as a whole.
    seed '\x00\xff\x28\xb5\x2f\xfd\x00\x00\x45\x00\x00\x10\x00\x00\x01\x00\x7c\x80\x05'
    seed '\x00\xff\x50\x2a\x4d\x18\x02\x00\x00\x00ab\x28\xb5\x2f\xfd\x20\x01\x09\x00\x00a'
    seed '\x00\xff\x50\x2a\x4d\x18\xff\xff\xff\xffab'
    seed '\x09P\x00\x00\x00\x00\xff\x26\xb5\x2f\xfd\x0f\x00\x00\x00' # a frame of version 0.6
    # A broken header, and after it the magic of version 0.7.
    seed '\x00\xff\x28\xb5\x2f\xfd\x5d\x27\xb5\x2f\xfd\x17\x00\x00\x00\x00\x00\x00\x00\x00'
}

"$target"
