#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs all tests that were built in $BUILD, under prove(1) if it is installed, and counts their
# claims. The last line is `N passed, N failed, N skipped`. The status is 0 if no claim failed and some
# passed, 2 if there is no test of a given name, otherwise 1.
#
#   BUILD=DIR tests/run.sh [NAME...]        all tests, or only those named (text, types-simt)
#   BUILD=DIR tests/run.sh --gpu [NAME...]  the tests for a real GPU (make check-gpu)
#   TEST_SIZE=small                         less data, for builds that are many times slower
#   TEST_EXCEPT='PATTERN...'                leaves out tests whose names match (*-simt), if no NAME is given
#   TEST_AARCH64=DIR                        some tests also with what build_aarch64.sh built in DIR
#
# Shell tests run with $BUILD/gpusort. The tests of devices also run with $BUILD/simt/gpusort, whose
# "gpu" is a stand-in on the CPU. For tests that do not choose a device, GPUSORT_DEVICE selects it.
# Where processes start slowly, one process does all jobs of a test (many_runs.c).
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${BUILD:-build}")
results=$build/results
for_the_stand_in=(argsort cli completions device devices external faults input pipes proof ranks soak stats
    text_device top)
for_aarch64=(types text)
for_any_device=(fuzz sort_alike sort_cases_numbers sort_cases_keys sort_cases_lines)
# These tests take longest. They start first, in this order, so that no processor is idle at the end. The first of them
# spend most of their time waiting.
longest=(limits mpi hosts devices-simt stats-simt radix_matrix stats faults faults-simt sort_alike-simt
    fuzz-simt ranks-simt external style zstd in_place pipes-simt raw_content unit_cpu_sort top-simt text_device-simt fuzz output
    merge soak-simt argsort proof output_safety top external-simt input install messages sort_cases_numbers-simt
    argsort-simt lines_matrix unit_cpu_stream sort_alike portable_cpu text-aarch64 check_sorted proof-simt soak
    sort_options device_matrix-top device-simt cli-simt device_matrix-rank input-simt types-aarch64)

# full_or_small FULL SMALL: prints the one for this build.
full_or_small() { if [ "${TEST_SIZE:-full}" = small ]; then echo "$2"; else echo "$1"; fi; }

# path_largest PATH: prints the largest array of the device matrix for slow builds: the stand-in, and the sanitizers,
# which run it with --quick. radix sorts so few by small_sort() or by counting; radix_matrix has its other strategies.
# A kernel that differs only inside a tile needs few arrays of more than one.
path_largest() {
    case $1 in
    radix) full_or_small 20011 5000 ;;
    segmented-merge) full_or_small 65537 5000 ;; # merges more than two runs at a time from here on
    column*) full_or_small 2049 600 ;;
    rank | heap) full_or_small 5000 600 ;;
    top) full_or_small 20011 8193 ;;
    *) echo 5000 ;;
    esac
}

# matrix_size NAME: prints the argument of another matrix on the stand-in.
matrix_size() {
    case $1 in
    radix_matrix) full_or_small 3 97 ;; # every third or every 97th of its arrays
    lines_matrix) full_or_small 20000 1000 ;; # lines of a text
    esac
}

# gpu_paths GPUSORT: prints the names of the GPU's paths.
gpu_paths() {
    "$1" --list | awk '/^[^ ]/ { on = /^devices/ } on && /^  [^ ]/ { is_gpu = $1 == "gpu" }
                       on && is_gpu && /^    / { print $1 }'
}

# server_of NAME PROGRAM: prints PROGRAM, for all jobs of a test, or nothing if the test starts its own processes.
server_of() { case $1 in faults | fuzz | fuzz_targets | soak | stats) ;; *) echo "$2" ;; esac; }

# script_of NAME: prints the path of a shell test.
script_of() { compgen -G "tests/$1.sh" || compgen -G "tests/*/$1.sh"; }

# add_test NAME COMMAND...: makes a test: a script in $results that runs COMMAND, for at most 900 s, and keeps its
# output and status.
add_test() {
    local script=$results/$1
    {
        echo '#!/usr/bin/env bash'
        printf 'timeout 900 env '
        printf '%q ' "${@:2}"
        # cmocka writes "not ok # SKIP" where TAP has "ok # SKIP".
        printf "| sed -u 's/^not ok \\(.*# SKIP\\)/ok \\\\1/' | tee %q\n" "$script.tap"
        printf 'status=${PIPESTATUS[0]}\necho $status >%q\nexit $status\n' "$script.status"
    } >"$script.sh"
    chmod +x "$script.sh"
}

add_tests() {
    local program test name path server quick
    # By the names of sources, as programs of other sources may be left in $build.
    for name in tests/unit_*.c tests/*/unit_*.c; do
        program=$build/tests/$(basename "$name" .c)
        if [ -x "$program" ]; then
            # Threads that wait do not spin, as in gpusort itself (cli/main.c).
            add_test "$(basename "$program")" OMP_WAIT_POLICY=passive CMOCKA_MESSAGE_OUTPUT=TAP "$program"
        fi
    done
    if [ -x "$build/simt/simt_selftest" ]; then add_test simt_selftest "$build/simt/simt_selftest"; fi
    for name in tests/cuda/*_matrix.cu; do
        name=$(basename "$name" .cu)
        program=$build/simt/$name
        if [ ! -x "$program" ]; then
            continue
        elif [ "$name" = device_matrix ]; then # a test for each path, as it takes a while
            for path in $(gpu_paths "$build/simt/gpusort") top; do
                read -ra quick <<<"$(full_or_small '' --quick)"
                # The stand-in fills new memory, of which --top takes 256 MiB if there is so much.
                add_test "$name-$path" SIMT_MEMORY_BYTES=100000000 "$program" "${quick[@]}" \
                    "$(path_largest "$path")" "$path"
            done
        else
            add_test "$name" "$program" "$(matrix_size "$name")"
        fi
    done
    for test in tests/*.sh tests/*/*.sh; do
        name=$(basename "$test" .sh)
        case $name in lib* | run | run_targets | seeds) continue ;; esac
        # Sanitized programs start slowly, so one process does all jobs of a test. In the other
        # build each job is a process.
        server=$(full_or_small '' "$(server_of "$name" "$build/tests/many_runs")")
        add_test "$name" "GPUSORT=$build/gpusort" "GPUSORT_SERVER=$server" bash "$test"
    done
    if [ -x "$build/simt/gpusort" ]; then
        # The stand-in is slow, so the matrices test its large arrays.
        for name in "${for_the_stand_in[@]}"; do
            add_test "$name-simt" TEST_SIZE=small "GPUSORT=$build/simt/gpusort" \
                "GPUSORT_SERVER=$(server_of "$name" "$build/simt/many_runs")" bash "$(script_of "$name")"
        done
        for name in "${for_any_device[@]}"; do
            add_test "$name-simt" TEST_SIZE=small "GPUSORT=$build/simt/gpusort" GPUSORT_DEVICE=gpu \
                "GPUSORT_SERVER=$(server_of "$name" "$build/simt/many_runs")" bash "$(script_of "$name")"
        done
    fi
    [ -z "${TEST_AARCH64:-}" ] || add_aarch64_tests "$(realpath "$TEST_AARCH64")"
}

# add_aarch64_tests DIR: a program takes 80 ms to start under qemu, so one process does all jobs of a test.
add_aarch64_tests() {
    local name
    for name in "${for_aarch64[@]}"; do
        if [ -f "$1/missing" ]; then
            add_test "$name-aarch64" echo "1..0 # SKIP $(cat "$1/missing")"
        else
            add_test "$name-aarch64" TEST_SIZE=small "GPUSORT=$1/gpusort" \
                "GPUSORT_SERVER=$1/many_runs" bash "$(script_of "$name")"
        fi
    done
}

# add_sanitizer_test TOOL NAME COMMAND...: adds a small matrix under compute-sanitizer.
add_sanitizer_test() {
    local sanitizer
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    if [ -x "$sanitizer" ]; then
        add_test "$1-$2" "$sanitizer" --tool "$1" --error-exitcode 1 "${@:3}"
    else
        add_test "$1-$2" echo '1..0 # SKIP no compute-sanitizer'
    fi
}

# Each path and each type is a test, so that all processors are busy. The shell tests leave tile
# sizes to device_matrix, and start CUDA once where they can.
add_gpu_tests() {
    local path type tool cases server="GPUSORT_SERVER=$build/tests/many_runs"
    for path in $(gpu_paths "$build/gpusort"); do
        add_test "device_matrix-$path" "$build/tests/device_matrix" 4200001 "$path"
        for tool in memcheck racecheck; do
            add_sanitizer_test $tool "$path" "$build/tests/device_matrix" --quick "$(path_largest "$path")" "$path"
        done
    done
    add_test device_matrix-top "$build/tests/device_matrix" 5000011 top
    add_test radix_matrix "$build/tests/radix_matrix"
    add_test lines_matrix "$build/tests/lines_matrix" 200000
    add_sanitizer_test memcheck radix_matrix "$build/tests/radix_matrix" 5
    add_sanitizer_test racecheck radix_matrix "$build/tests/radix_matrix" 25
    add_sanitizer_test memcheck lines "$build/tests/lines_matrix" 0
    add_sanitizer_test racecheck lines "$build/tests/lines_matrix" 0
    for type in $("$build/gpusort" --list | awk '/^[^ ]/ { on = /^types/ } on && /^  / { print $1 }'); do
        add_test "types-$type" "GPUSORT=$build/gpusort" "$server" GPUSORT_DEVICE=gpu \
            TEST_TYPES="$type" TEST_SIZE=small bash "$(script_of types)"
    done
    add_test device "GPUSORT=$build/gpusort" "$server" bash tests/cuda/device.sh
    add_test text_device "GPUSORT=$build/gpusort" "$server" bash tests/cuda/text_device.sh
    add_test devices "GPUSORT=$build/gpusort" "$server" bash tests/cuda/devices.sh
    add_test ranks "GPUSORT=$build/gpusort" bash tests/cuda/ranks.sh
    add_test faults "GPUSORT=$build/tests/gpusort_cuda_faults" bash tests/faults/faults.sh
    for cases in sort_alike sort_cases_numbers sort_cases_keys sort_cases_lines; do
        add_test $cases "GPUSORT=$build/gpusort" "$server" GPUSORT_DEVICE=gpu bash "$(script_of $cases)"
    done
    add_test stats "GPUSORT=$build/gpusort" bash tests/cli/stats.sh
    add_test soak "GPUSORT=$build/gpusort" SOAK_RUNS=30 SOAK_LARGEST=3e8 SOAK_JOBS=4 bash tests/fuzz/soak.sh
    add_test fuzz "GPUSORT=$build/gpusort" GPUSORT_DEVICE=gpu FUZZ_ROUNDS=10000 bash tests/fuzz/fuzz.sh
    add_test bench "GPUSORT=$build/gpusort" "BENCH=$build/bench/bench_sort" bash tests/bench.sh
}

# Prints "PASSED FAILED SKIPPED" of a test. A test that died, or did not keep to its plan, has one failure more.
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
# Runs the scripts in parallel; the status is 0 if all of them end with 0. prove runs three more at a
# time than there are processors, as many of them wait now and then.
run_scripts() {
    if command -v prove >/dev/null; then
        prove --jobs "$(($(nproc) + 3))" --timer --failures --comments "$@"
        return
    fi
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I '{}' bash -c '
        name=$(basename "$1" .sh) start=$SECONDS
        if "$1" >/dev/null 2>"${1%.sh}.stderr"; then result=ok; else result=FAILED; fi
        { sed -n "/^not ok/p; /^#/p" "${1%.sh}.tap"; cat "${1%.sh}.stderr"
          echo "$name: $result, $((SECONDS - start)) s"; } >&2
        [ $result = ok ]' _ '{}'
}

rm -rf "$results"
mkdir -p "$results"
on_gpu=no
if [ "${1:-}" = --gpu ]; then
    shift
    on_gpu=yes
    add_gpu_tests
else
    add_tests
fi
if [ $# -eq 0 ]; then
    read -ra except <<<"${TEST_EXCEPT:-}" # patterns, not expanded here
    for pattern in "${except[@]}"; do
        # shellcheck disable=SC2086 # a pattern
        rm -f "$results"/$pattern.sh
    done
    scripts=("$results"/*.sh)
else
    scripts=("${@/#/$results/}")
    scripts=("${scripts[@]/%/.sh}")
fi
for script in "${scripts[@]}"; do
    if [ ! -f "$script" ]; then
        echo "tests/run.sh: there is no test '$(basename "$script" .sh)', or it is not built" >&2
        exit 2
    fi
done
first=() second=()
if [ $on_gpu = no ]; then
    for name in "${longest[@]}"; do
        case " ${scripts[*]} " in *" $results/$name.sh "*) first+=("$results/$name.sh") ;; esac
    done
fi
for script in "${scripts[@]}"; do
    # The driver lets only one process at a time create a context or allocate. So tests that start gpusort many
    # times, each time with a GPU, run after the tests that are one process, which they would delay.
    if [ $on_gpu = yes ] && ! grep -q 'bash tests/' "$script"; then
        first+=("$script")
    else
        case " ${first[*]} " in *" $script "*) ;; *) second+=("$script") ;; esac
    fi
done
run_status=0
if [ $on_gpu = yes ] && [ ${#first[@]} -gt 0 ]; then
    run_scripts "${first[@]}" || run_status=$?
    first=()
fi
[ $((${#first[@]} + ${#second[@]})) -eq 0 ] || run_scripts "${first[@]}" "${second[@]}" || run_status=$?

passed=0 failed=0 skipped=0
for script in "${scripts[@]}"; do
    touch "${script%.sh}.tap"
    read -r p f s <<<"$(count_claims "${script%.sh}")"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
if [ "$failed" -eq 0 ] && { [ "$run_status" -ne 0 ] || [ "$passed" -eq 0 ]; }; then
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
