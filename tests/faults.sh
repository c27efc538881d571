#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One call fails, of each kind and each in turn: the run says so and leaves all as it was, or does
# without. Of the stand-in for a GPU, and of build/tests/gpusort_cuda_faults on a real one, it is
# calls of CUDA that fail, else those of the C library.
#
#   tests/faults.sh [--all] [--only WORD]    every call, not some of many; jobs with that in the name
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all 'no Python'

faults() { GPUSORT=$GPUSORT TMPDIR=$work python3 -B "$tests_dir/faults/faults.py" "$@"; }
library=$(dirname "$GPUSORT")/tests/fault_library.so

if [ "$(basename "$GPUSORT")" = gpusort_cuda_faults ]; then
    faults device "$@"
elif grep -q SIMT_FAIL "$GPUSORT"; then
    faults cuda "$@"
elif grep -q __asan_init "$GPUSORT"; then
    skip_all 'the address sanitizer takes the calls that a library would make fail'
elif [ ! -f "$library" ]; then
    skip_all "$library is not built (make check builds it)"
else
    # The calls of OpenMP's library are not to count, so it must not be part of the program.
    apart=$(dirname "$GPUSORT")/tests/gpusort_apart
    [ ! -x "$apart" ] || GPUSORT=$apart
    faults calls "$library" "$@"
fi
