#!/usr/bin/env bash
# Runs every test that was built in $BUILD, under prove(1), and counts what they claim. The last
# line is `N passed, N failed, N skipped`; the status is 0 if nothing failed and something ran.
#
#   BUILD=DIR tests/run.sh [NAME...]    all tests, or those whose names are given (text, types-simt)
#   TEST_SIZE=small                     less data, for builds that are many times slower
#
# Shell tests run with $BUILD/gpusort. Those that have to do with devices run once more with
# $BUILD/simt/gpusort, whose "gpu" is a stand-in on the CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${BUILD:-build}")
results=$build/results
for_the_stand_in=(cli device input)
# The stand-in is slow: the most numbers in an array of the device matrix.
if [ "${TEST_SIZE:-full}" = small ]; then matrix_largest=1100; else matrix_largest=5000; fi

# add_test NAME COMMAND...: a test is a script in $results that keeps what the command prints.
add_test() {
    local script=$results/$1
    {
        echo '#!/usr/bin/env bash'
        printf 'timeout 900 env '
        printf '%q ' "${@:2}"
        # cmocka writes "not ok # SKIP" where TAP has "ok # SKIP".
        printf "| sed -u 's/^not ok \\(.*# SKIP\\)/ok \\\\1/' | tee %q\n" "$script.tap"
        # shellcheck disable=SC2016 # expanded when the script runs
        printf 'status=${PIPESTATUS[0]}\necho $status >%q\nexit $status\n' "$script.status"
    } >"$script.sh"
    chmod +x "$script.sh"
}

add_tests() {
    local program test name
    for program in "$build"/tests/unit_* "$build"/simt/simt_selftest; do
        if [ -f "$program" ] && [ -x "$program" ]; then
            add_test "$(basename "$program")" CMOCKA_MESSAGE_OUTPUT=TAP "$program"
        fi
    done
    if [ -x "$build/simt/device_matrix" ]; then
        add_test device_matrix "$build/simt/device_matrix" "$matrix_largest"
        # From 65,537 items on segmented-merge merges more than two runs at a time.
        add_test device_matrix_merge "$build/simt/device_matrix" 65537 segmented-merge
    fi
    for test in tests/*.sh; do
        name=$(basename "$test" .sh)
        case $name in lib | run) continue ;; esac
        add_test "$name" "GPUSORT=$build/gpusort" bash "$test"
    done
    if [ -x "$build/simt/gpusort" ]; then
        for name in "${for_the_stand_in[@]}"; do
            add_test "$name-simt" "GPUSORT=$build/simt/gpusort" bash "tests/$name.sh"
        done
    fi
}

# Prints "PASSED FAILED SKIPPED" of a test. One that died, or did not keep to its plan, has failed
# once more than it says.
count_claims() {
    local status=255
    [ ! -s "$1.status" ] || status=$(cat "$1.status")
    awk -v status="$status" '
        /^ok .*# *[Ss][Kk][Ii][Pp]/ { skipped++; next }
        /^ok / { passed++ }
        /^not ok / { failed++ }
        /^1\.\.0/ { skipped++; claims++ }
        /^1\.\.[0-9]+/ { plans++; planned = substr($0, 4) + 0 }
        END {
            claims = claims ? 0 : passed + failed + skipped
            if (plans != 1 || claims != planned || (status != 0 && !failed))
                failed++
            print passed + 0, failed + 0, skipped + 0
        }' "$1.tap"
}

if [ ! -x "$build/gpusort" ]; then
    echo "$build/gpusort is not built"
    echo '0 passed, 1 failed, 0 skipped'
    exit 1
fi
rm -rf "$results"
mkdir -p "$results"
add_tests
if [ $# -eq 0 ]; then
    scripts=("$results"/*.sh)
else
    scripts=("${@/#/$results/}")
    scripts=("${scripts[@]/%/.sh}")
fi
prove_status=0
prove --jobs "$(nproc)" --timer --failures --comments "${scripts[@]}" || prove_status=$?

passed=0 failed=0 skipped=0
for script in "${scripts[@]}"; do
    touch "${script%.sh}.tap"
    read -r p f s <<<"$(count_claims "${script%.sh}")"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
if [ "$failed" -eq 0 ] && { [ "$prove_status" -ne 0 ] || [ "$passed" -eq 0 ]; }; then
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
