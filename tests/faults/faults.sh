#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes one call fail: a call of each kind, at each position in turn. The program reports the error
# and leaves everything as it was, or continues without the call. CUDA calls fail with the stand-in
# for a GPU and with build/tests/gpusort_cuda_faults, which is for a real one. Calls of the C
# library fail otherwise.
#
#   tests/faults/faults.sh [--all] [--only WORD]    every call, not some; jobs with WORD in the name
. "$(dirname "$0")/../lib.sh"
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
    # Calls by the OpenMP library must not count, so the program must not contain that library.
    apart=$(dirname "$GPUSORT")/tests/gpusort_apart
    [ ! -x "$apart" ] || GPUSORT=$apart
    faults calls "$library" "$@"
fi
