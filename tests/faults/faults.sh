#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# In each run of a job one call of a function fails, or all from one on. Jobs differ in the call that is chosen. The
# program reports the error and keeps the old output, or continues without the call. Calls of CUDA fail if GPUSORT is
# the stand-in for a GPU, or build/tests/gpusort_cuda_faults on a real one; otherwise calls of the C library.
#
#   tests/faults/faults.sh [--all] [--only WORD] [--keep]
#
#   --all    every call of each function fails in turn    --only   jobs with WORD in the name
#   --keep   keeps the inputs
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
