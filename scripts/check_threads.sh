#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_threads.sh: finds data races with ThreadSanitizer.
#
#   scripts/check_threads.sh             unit tests of code with threads, then the command on files
#   scripts/check_threads.sh TEST...     only these unit tests, for example cpu_sort
#
# BUILD (default build/threads) is built by clang, because its OpenMP reports its waits to the sanitizer,
# through the library archer if that is installed; the OpenMP of GCC does not. Status 1: a race, or
# output that differs from that of one thread.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ${1:-} = -* ]]; then
    echo "usage: $0 [TEST...]" >&2
    exit 2
fi
export BUILD=${BUILD:-build/threads}
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66 ${TSAN_OPTIONS:-}"
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
units=("$@")
if [ $# -eq 0 ]; then
    units=(cpu_sort cpu_stream cpu_share keys core check files)
fi

"${MAKE:-make}" -j"$(nproc)" CUDA=0 CC=clang CXX=clang++ SANITIZE=thread CFLAGS='-O1 -g' \
    CXXFLAGS='-O1 -g' all "${units[@]/#/$BUILD/tests/unit_}" >"$files/make.log"
status=0

# compare WORD...: the command with these words writes the same with several threads as with one.
compare() {
    local threads
    echo "gpusort $*"
    for threads in 1 2 3 7 16; do
        "$BUILD/gpusort" --device=cpu --parallel=$threads "$@" -o "$files/$threads" || status=1
        cmp "$files/1" "$files/$threads" || status=1
    done
}

check_units() {
    local unit
    for unit in "${units[@]}"; do
        echo "unit_$unit"
        "$BUILD/tests/unit_$unit" >"$files/log" 2>&1 || { status=1 && cat "$files/log"; }
    done
}

check_units
[ $# -eq 0 ] || exit $status

# Numbers for an array, and for a stream; lines; lines of few values; two sorted files.
head -c 8000000 /dev/urandom >"$files/array.u64"
head -c 48000000 /dev/urandom >"$files/stream.f32"
od -An -v -w4 -td4 -N1200000 /dev/urandom >"$files/lines.txt"
od -An -v -w1 -tu1 -N300000 /dev/urandom >"$files/few.txt"
"$BUILD/gpusort" --device=cpu "$files/array.u64" --output-format=npy -o "$files/sorted.npy"
head -n 150000 "$files/lines.txt" | LC_ALL=C sort -n >"$files/sorted_1.txt"
tail -n 150000 "$files/lines.txt" | LC_ALL=C sort -n >"$files/sorted_2.txt"

compare "$files/array.u64"
compare -r "$files/sorted.npy"
compare "$files/stream.f32"
for threads in 2 4; do # 4, on as many processors: through a mapping
    cp "$files/stream.f32" "$files/place.f32"
    "$BUILD/gpusort" --device=cpu --parallel=$threads --in-place "$files/place.f32" || status=1
    cmp "$files/1" "$files/place.f32" || status=1
done
compare --type=u16 "$files/stream.f32"
compare --type=u8 "$files/stream.f32"
compare --argsort "$files/array.u64"
compare --argsort -n "$files/lines.txt"
compare --top=1000 "$files/stream.f32"
compare --top=1000 -n "$files/lines.txt"
compare -n "$files/lines.txt"
compare -n "$files/few.txt"
compare -g -u "$files/few.txt"
compare -k1n "$files/few.txt"
compare --type=i32 "$files/lines.txt"
compare -m -n "$files/sorted_1.txt" "$files/sorted_2.txt"
compare --zstd "$files/stream.f32"
for _ in 1 2 3; do zstd -q -1 -c "$files/stream.f32"; done >"$files/frames.f32.zst"
compare --no-zstd "$files/frames.f32.zst"
compare -S 8M "$files/stream.f32"
compare --no-zstd -S 16M "$files/frames.f32.zst"
for threads in 2 7; do # read ahead from a pipe
    "$BUILD/gpusort" --device=cpu --parallel=$threads -S 8M --type=f32 -o "$files/got" < <(cat "$files/stream.f32") ||
        status=1
    "$BUILD/gpusort" --device=cpu --parallel=1 "$files/stream.f32" -o "$files/1" && cmp "$files/1" "$files/got" || status=1
done
compare -S 2M -n "$files/lines.txt"
exit $status
