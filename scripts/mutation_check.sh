#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mutation_check.sh - breaks one line of a path in a copy of the tree and expects device_matrix to
# fail on the stand-in for a GPU; repeats that for each mutation.
#
#   scripts/mutation_check.sh [DIR]      copies to and builds in DIR (default a temporary one)
#
# The last line is `N passed, N failed, N skipped`: a mutation that is found has passed.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=${1:-$(mktemp -d "${TMPDIR:-/tmp}/gpusort-mutation.XXXXXX")}
[ $# -gt 0 ] || trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy"

# NAME | FILE | sed command | path | largest count
mutations=(
    'a comparator left out of the network of 8 keys|cuda/block/thread_network.cuh|s/i + stride < COUNT; i++/i + stride + 1 < COUNT; i++/|segmented-merge|600'
    'one too far in the merge path|cuda/merge/paired_runs.cuh|s/from = middle + KEY_BYTES<K>;/from = middle + 2 * KEY_BYTES<K>;/|segmented-merge|600'
    'a key lost by a pass of radix|cuda/radix/radix_digits.cuh|s/if (index < count)/if (index + 1 < count)/|radix|70001'
)

git ls-files -z | xargs -0 cp --parents -p -t "$copy"
cd "$copy"
passed=0 failed=0

build() { make -s -j"$(nproc)" CUDA=0 CXXFLAGS=-O1 build/simt/device_matrix >build.log 2>&1; }

# finds_nothing LARGEST PATH: every claim of the matrix holds.
finds_nothing() { { timeout 300 build/simt/device_matrix "$1" "$2" >matrix.log 2>&1; } 2>/dev/null; }

# report CONDITION-STATUS NAME WHAT
report() {
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok - $2: $3"
    else
        failed=$((failed + 1))
        echo "not ok - $2: $3"
    fi
}

# mutate NAME FILE COMMAND PATH LARGEST
mutate() {
    cp -p "$2" original
    sed -i "$3" "$2"
    if cmp -s original "$2"; then
        report 1 "$1" "its line is no longer in $2"
    elif ! build; then
        report 1 "$1" "does not compile: $(grep -m 1 'error' build.log)"
    elif finds_nothing "$5" "$4"; then
        report 1 "$1" 'nothing was found'
    else
        report 0 "$1" "$(grep -m 1 -E '^not ok|terminated|error|bound|read|wrote' matrix.log || echo 'the matrix did not end well')"
    fi
    cp original "$2"
}

build || { tail -n 20 build.log; exit 1; }
for path in segmented-merge radix; do
    status=0
    finds_nothing 5000 "$path" || status=$?
    report "$status" "$path as it is" 'the matrix finds nothing'
done
for mutation in "${mutations[@]}"; do
    IFS='|' read -r name file command path largest <<<"$mutation"
    mutate "$name" "$file" "$command" "$path" "$largest"
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
