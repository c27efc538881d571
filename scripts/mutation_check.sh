#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mutation_check.sh - breaks one line of the program in a copy of the tree, and expects tests to
# fail; repeats that for each row of scripts/mutants.txt.
#
#   scripts/mutation_check.sh [--dir DIR] [PATTERN...]
#
#   --dir DIR   builds in DIR, which is new, empty or of an earlier check, and keeps it, so that the
#               next check builds less (default: a temporary directory)
#   PATTERN     checks only rows that match one of these regular expressions: cpu/, formats/, top
#
# ccache is used if it is installed. The last line is `N passed, N failed, N skipped`: a row has
# passed if each of its tests has failed.
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
if [ "${1:-}" = --dir ] && [ $# -gt 1 ]; then
    copy=$(mkdir -p "$2" && realpath "$2")
    shift 2
    # Other files in it would be removed.
    if [ "$copy" = "$root" ] || { [ -n "$(ls -A "$copy")" ] && [ ! -f "$copy/build/files" ]; }; then
        echo "$0: $copy is neither empty nor of an earlier check" >&2
        exit 2
    fi
else
    copy=$(mktemp -d "${TMPDIR:-/tmp}/gpusort-mutation.XXXXXX")
    trap 'rm -rf "$copy"' EXIT
fi
if [[ ${1:-} = -* ]]; then
    echo "usage: $0 [--dir DIR] [PATTERN...]" >&2
    exit 2
fi
cd "$root"
patterns=$(printf '%s\n' "${@:-.}")
mapfile -t rows < <(grep -v '^#' scripts/mutants.txt | grep -E -e "$patterns")

# Copies the files whose content differs, so that make builds no more than needed, and removes those
# that are no longer in the tree.
mkdir -p "$copy/build"
git ls-files | while IFS= read -r file; do
    [ ! -f "$file" ] || { cmp -s "$file" "$copy/$file" || cp --parents "$file" "$copy"; echo "$file"; }
done | sort >"$copy/build/files"
cd "$copy"
find . -path ./build -prune -o -type f -printf '%P\n' | sort | comm -23 - build/files | xargs -r -d '\n' rm --
export CCACHE_NOHASHDIR=yes CCACHE_BASEDIR=$copy
compilers=()
! command -v ccache >/dev/null || compilers=(CC='ccache gcc' CXX='ccache g++')
passed=0 failed=0 skipped=0

# targets_of TEST...: prints what make has to build for tests of tests/run.sh.
targets_of() {
    local test
    printf 'build/%s\n' gpusort tests/many_runs # tests/run.sh needs them
    for test in "$@"; do
        case $test in
        unit_*) echo "build/tests/$test" ;;
        fuzz_targets) echo build/tests/mutate_seeds ;;
        *_matrix* | simt_selftest) printf 'build/simt/%s\n' gpusort "${test%%-*}" ;;
        ranks-simt) printf 'build/%s\n' simt/gpusort mpi.so ;;
        *-simt) printf 'build/%s\n' simt/gpusort simt/many_runs tests/fault_library.so ;;
        mpi) printf 'build/%s\n' mpi.so tests/{mpi_faults.so,fault_library.so,gpusort_apart} ;;
        *) printf 'build/tests/%s\n' gpusort_apart gpusort_flips fault_library.so ;;
        esac
    done
}

# build TEST...
build() {
    local targets
    mapfile -t targets < <(targets_of "$@" | sort -u)
    make -s -j"$(nproc)" CUDA=0 CFLAGS=-O1 CXXFLAGS=-O1 "${compilers[@]}" "${targets[@]}" >build/make.log 2>&1
}

# tests_fail TEST...: each of the tests fails. Unit tests take little time in their full size.
tests_fail() {
    local test size
    for test in "$@"; do
        case $test in unit_*) size=full ;; *) size=small ;; esac
        ! BUILD=build TEST_SIZE=$size timeout 600 tests/run.sh "$test" >build/test.log 2>&1 || return 1
    done
}

# report STATUS NAME WHAT
report() {
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok - $2: $3"
    else
        failed=$((failed + 1))
        echo "not ok - $2: $3"
    fi
}

# mutate NAME FILE COMMAND TEST...
mutate() {
    local name=$1 file=$2 command=$3
    shift 3
    if [[ $file == cpu/vector/* ]] && ! grep -qw avx512f /proc/cpuinfo; then
        skipped=$((skipped + 1))
        echo "ok - $name # SKIP no AVX-512 here"
        return
    fi
    cp "$file" build/original
    sed -i -E "$command" "$file"
    if cmp -s build/original "$file"; then
        report 1 "$name" "the command changes nothing in $file"
    elif ! build "$@"; then
        report 1 "$name" "it does not compile: $(grep -m 1 'error' build/make.log)"
    elif tests_fail "$@"; then
        report 0 "$name" "$(grep -m 1 '^not ok' "build/results/${*: -1}.tap" || echo 'the test did not end well')"
    else
        report 1 "$name" "a test of '$*' passes"
    fi
    cp build/original "$file"
}

# Without a change every test passes.
mapfile -t tests < <(printf '%s\n' "${rows[@]##* | }" | tr ' ' '\n' | sort -u)
build "${tests[@]}" || { tail -n 20 build/make.log; exit 1; }
BUILD=build TEST_SIZE=small tests/run.sh "${tests[@]}" >build/test.log 2>&1 || { tail -n 40 build/test.log; exit 1; }
for row in "${rows[@]}"; do
    rest=${row#* | }
    command=${rest#* | }
    read -ra tests <<<"${row##* | }"
    mutate "${row%% | *}" "${rest%% | *}" "${command% | *}" "${tests[@]}"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
