#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes one call fail: a call of each kind, at each position in turn. The program reports the error and leaves
# everything as it was, or continues without the call. CUDA calls fail with the stand-in for a GPU and with
# build/tests/gpusort_cuda_faults, which is for a real one. Calls of the C library fail otherwise.
#
#   tests/faults/faults.sh [--all] [--only WORD]    every call, not some; jobs with WORD in the name
. "$(dirname "$0")/../lib.sh"
command -v python3 >/dev/null || skip_all 'no Python'

faults() { GPUSORT=$GPUSORT TMPDIR=$work python3 -B "$tests_dir/faults/faults.py" "$@"; }

if [ "$(basename "$GPUSORT")" = gpusort_cuda_faults ]; then
    faults device "$@"
elif grep -q SIMT_FAIL "$GPUSORT"; then
    faults cuda "$@"
elif [ "$is_sanitized" = yes ]; then
    skip_all 'the address sanitizer takes the calls that a library would make fail'
elif [ -z "$fault_library" ]; then
    skip_all 'gpusort_apart or fault_library.so is not built (make check builds them)'
else
    GPUSORT=$gpusort_apart
    faults calls "$fault_library" "$@"
fi
