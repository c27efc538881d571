#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Includes run one way: cli -> core/pipeline -> formats, backends -> core vocabulary. Each header of
# another library has its one place. Prints what goes the wrong way; the status says whether any did.
set -euo pipefail
cd "$(dirname "$0")/.."

# Every include of the sources, as "FILE:INCLUDED".
list_includes() {
    find cli core formats cpu cuda bench mpi -type f \
        \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
        xargs -0 -r grep -HoE '^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*[<"][^>"]*' |
        sed -E 's/:[^<"]*[<"]/:/'
}

# forbid REASON FILES INCLUDED [EXCEPT]: no file that matches the expression FILES may include what
# matches INCLUDED, unless the file matches EXCEPT.
forbid() {
    local found
    found=$(grep -E "^($2):($3)$" <<<"$includes" | grep -Ev "^(${4:-$^})[^:]*:" || true)
    if [ -n "$found" ]; then
        sed "s|\$| ($1)|; s|:| includes |" <<<"$found"
        wrong=1
    fi
}

wrong=0
includes=$(list_includes)
[ -n "$includes" ] || { echo "no includes found"; exit 1; }

any='[^:]*'
forbid 'cli is nobody'\''s but its own' "$any" "cli/$any" 'cli/'
forbid 'cpu/ includes core/ and itself' "cpu/$any" "(cli|formats|cuda)/$any"
forbid 'cuda/ includes core/ and itself' "cuda/$any" "(cli|formats|cpu)/$any"
forbid 'bench/ includes core/, cuda/ and itself' "bench/$any" "(cli|formats|cpu)/$any"
forbid 'bench/ is nobody'\''s but its own' "$any" "bench/$any" 'bench/'
forbid 'formats/ includes core/ and itself' "formats/$any" "(cli|cpu|cuda)/$any"
forbid 'backends are known to the table in core/ alone' "(cli|core|formats)/$any" "(cpu|cuda)/$any"
forbid 'the pipeline is above this' "(core|formats|cpu|cuda)/$any" 'core/(pipeline|external).*\.h' \
    'core/(pipeline|external)[a-z_]*\.[ch]'
forbid 'a job on its way is the pipeline'\''s' "(cli|bench)/$any" 'core/(pipeline_run|pipeline_ranks|external_[a-z_]+)\.h'
forbid 'core/ knows formats in the pipeline alone' "core/$any" "formats/$any" \
    'core/(pipeline|pipeline_[a-z_]+|external_[a-z_]+)\.[ch]'
forbid 'argp.h is for the options' "$any" 'argp\.h' '(cli/|bench/bench_)options\.c'
forbid 'zstd.h is for formats/zstd.c' "$any" 'zstd(_errors)?\.h' 'formats/zstd\.c'
forbid 'mpi.h is for the plugin' "$any" 'mpi\.h' '(mpi/mpi_plugin|tests/faults/mpi_faults)\.c'
forbid 'the plugin includes core/group.h' "mpi/$any" "(cli|formats|cpu|cuda)/$any"
forbid 'CUB is for bench/cub_peers.cu' "$any" "(cub|thrust)/$any" 'bench/cub_peers\.cu'
forbid 'CUDA headers are for cuda/ and bench/' "$any" '(cuda|cub|thrust|cooperative_groups|device_|driver_|nvtx3)'"[^/:]*(/$any)?\.h" \
    '(cuda|bench)/'
forbid 'includes are written from the top' "$any" "\.\.?/$any"
exit $wrong
