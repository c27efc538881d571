#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Includes run one way: cli -> job -> formats, backends -> core. Each header of another library has
# its one place. Prints the includes that break these rules; the status is 1 if there are any.
set -euo pipefail
cd "$(dirname "$0")/.."

# Every include of the sources, as "FILE:INCLUDED".
list_includes() {
    find cli job core formats cpu cuda bench mpi -type f \
        \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
        xargs -0 -r grep -HoE '^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*[<"][^>"]*' |
        sed -E 's/:[^<"]*[<"]/:/'
}

# report REASON: prints the includes on standard input, which are wrong.
report() {
    local found
    found=$(sed "s|\$| ($1)|; s|:| includes |")
    [ -z "$found" ] || { echo "$found" && wrong=1; }
}

# forbid REASON FILES INCLUDED [EXCEPT]: no file that matches the expression FILES may include what
# matches INCLUDED, unless the file matches EXCEPT.
forbid() {
    report "$1" < <(grep -E "^($2):($3)$" <<<"$includes" | grep -Ev "^(${4:-$^})[^:]*:")
}

# layer FOLDER [LOWER]: of their top folder, the files of FOLDER include only those of FOLDER, of the
# folders that match LOWER, and of the top folder itself.
layer() {
    report "not below $1/" < <(grep -E "^$1/[^/:]*:${1%%/*}/" <<<"$includes" |
        grep -Ev ":(${1%%/*}|$1${2:+|${1%%/*}/($2)})/[^/]*$")
}

# forbid_circles: prints the circles among the pairs "A B" on standard input.
forbid_circles() {
    local found
    found=$({ tsort 2>&1 >/dev/null || true; } | sed 's/^tsort: -: input contains a loop:$/a circle of includes:/; s/^tsort: /    /')
    [ -z "$found" ] || { echo "$found" && wrong=1; }
}

wrong=0
includes=$(list_includes)
[ -n "$includes" ] || { echo "no includes found"; exit 1; }

any='[^:]*'
forbid 'cli/ is for itself alone' "$any" "cli/$any" 'cli/'
forbid 'the job is for cli/ and itself' "$any" "job/$any" '(cli|job)/'
forbid 'of the job, pipeline.h is for all' "(cli|bench)/$any" 'job/([^p]|pipeline_|part)[a-z_]*\.h'
forbid 'formats/ includes core/ and itself' "$any" "formats/$any" '(cli|job|formats)/'
forbid 'cpu/ is known to the table in core/ alone' "$any" "cpu/$any" 'cpu/'
forbid 'cuda/ is known to the table in core/ and to bench/ alone' "$any" "cuda/$any" '(cuda|bench)/'
forbid 'bench/ is for itself alone' "$any" "bench/$any" 'bench/'
forbid 'argp.h is for the options' "$any" 'argp\.h' '(cli/options/options|bench/bench_common)\.c'
forbid 'zstd.h is for formats/codec/zstd.c' "$any" 'zstd(_errors)?\.h' 'formats/codec/zstd\.c'
forbid 'mpi.h is for the plugin' "$any" 'mpi\.h' '(mpi/mpi_plugin|tests/faults/mpi_faults)\.c'
forbid 'the plugin includes core/group.h' "mpi/$any" "(cli|job|formats|cpu|cuda)/$any"
forbid 'CUB is for bench/cub_peers.cu' "$any" "(cub|thrust)/$any" 'bench/cub_peers\.cu'
forbid 'CUDA headers are for cuda/ and bench/' "$any" '(cuda|cub|thrust|cooperative_groups|device_|driver_)'"[^/:]*(/$any)?\.h" \
    '(cuda|bench)/'
forbid 'includes are written from the top' "$any" "\.\.?/$any"

forbid 'options, plan and reports are below the command' 'cli/[^:]*/[^:]*' 'cli/[^/]*'
layer cli/options
layer cli/plan options
layer cli/report 'options|plan'
layer formats/codec
layer formats/io codec
layer formats/number
layer formats/lines 'io|number'
layer formats/array 'io|codec|number|lines'
layer formats/check 'io|lines'
layer formats/merge 'io|lines'
layer cuda/block
layer cuda/merge block
layer cuda/paths 'block|merge'
layer cuda/radix 'block|merge'
layer cuda/engine
layer cuda/text 'block|engine'
layer cuda/top 'block|engine'
layer cuda/group 'block|merge|engine'

# Headers that include each other; then sources that include each other's header.
forbid_circles < <(sed -nE 's/^(.*\.(h|cuh)):(.*\.(h|cuh))$/\1 \3/p' <<<"$includes")
forbid_circles < <(awk -F: '
    { file = $1; included = $2; is_source = sub(/\.(c|cc|cu)$/, "", file); sub(/\.[a-z]*$/, "", included) }
    is_source { sources[file]; pairs[file " " included] }
    END { for (pair in pairs) { split(pair, part, " "); if (part[1] != part[2] && part[2] in sources) print pair } }
    ' <<<"$includes")
exit $wrong
