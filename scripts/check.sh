#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything twice and runs each test in one build or in both: with all warnings as errors, and
# with the address and undefined behaviour sanitizers, on less data and without nvcc. The code for the
# GPU runs on its stand-in on the CPU, in the sanitized build alone; `make check` runs it without
# sanitizers, on more data. A third build, for aarch64, runs a few shell tests under qemu. The tests of
# the first build, which often wait, run beside the other builds. The last line is `N passed, N failed,
# N skipped` over all.
#
#   scripts/check.sh [--install] [DIR]
#
#   --install   installs packages that are missing; the default if the variable CI is set
#   DIR         builds in DIR/plain, DIR/sanitized, DIR/aarch64 (default build/check)
set -euo pipefail
cd "$(dirname "$0")/.."
export INSTALL_PACKAGES=no
[ -z "${CI:-}" ] || INSTALL_PACKAGES=yes
if [ "${1:-}" = --install ]; then
    INSTALL_PACKAGES=yes
    shift
fi
if [[ ${1:-} = -* ]] || [ $# -gt 1 ]; then
    echo "usage: $0 [--install] [DIR]" >&2
    exit 2
fi
build=${1:-build/check}
passed=0 failed=0 skipped=0

# check NAME MAKE-ARGUMENT...: builds into $build/NAME, runs the tests, adds to the counts.
check() {
    local name=$1 log=$build/$1.log status=0 p=0 f=0 s=0
    shift
    mkdir -p "$build"
    echo "== $name: make check $*"
    make -j"$(nproc)" check BUILD="$build/$name" "$@" 2>&1 | tee "$log" || status=$?
    if grep -Eq '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log"; then
        read -r p f s <<<"$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' \
            "$log" | tail -n 1)"
    else
        echo "$name: did not get as far as its tests"
    fi
    [ "$status" -eq 0 ] || [ "$f" -gt 0 ] || f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

scripts/install_packages.sh gcc g++ make libzstd-dev libcmocka-dev perl mandoc shellcheck \
    clang-format zstd python3-numpy acl attr
scripts/install_packages.sh openmpi-bin libopenmpi-dev iproute2 ||
    echo '== no Open MPI or ip(8): tests/job/mpi.sh or hosts.sh is skipped'
scripts/install_packages.sh e2fsprogs xfsprogs btrfs-progs ||
    echo '== no mkfs of ext4, XFS or btrfs: parts of tests/formats/file_systems.sh and output.sh are skipped'
scripts/install_packages.sh mpich libmpich-dev || echo '== no MPICH: tests/job/mpi.sh is of Open MPI alone'

[ $INSTALL_PACKAGES = no ] || scripts/install_cuda.sh
cuda_flags=()
nvcc=$(make -s --eval='nvcc: ; @echo $(NVCC)' nvcc)
if [ -n "$nvcc" ]; then
    cuda_flags=(NVCCFLAGS='-O3 -lineinfo --Werror all-warnings' NVCC_GENCODE=-arch=native)
    # To see that it compiles, one kind of GPU is enough, and code that is optimized less: nvcc takes
    # half of the time for cuda/paths/column_sort.cu, or a quarter if it has an option for this. The
    # smallest code takes 1.5 s more for cuda/radix/radix_sort.cu than code that is a tenth larger.
    if ! nvidia-smi -L >/dev/null 2>&1; then
        fastest='-Xcicc -O1 -Xptxas -O1'
        [[ $("$nvcc" --help) != *--Ofast-compile* ]] || fastest='-Ofc max'
        cuda_flags=(NVCCFLAGS="-O1 $fastest --Werror all-warnings")
        cuda_flags+=(NVCC_GENCODE='-gencode=arch=compute_90,code=sm_90' nvcc_compress=-Xfatbin=-compress-all)
    fi
else
    echo '== no nvcc: the code for the GPU is built for its stand-in on the CPU alone'
fi

# Only the sanitized build runs these tests, some with less data: they test messages and the reading of
# small inputs, and would take as long again.
plain_except='check_sorted completions conversion examples fuzz fuzz_targets messages npy raw_content'
plain_except+=' sort_cases_* sort_options types'
plain=(SIMT=0 CFLAGS='-O2 -g0 -Werror' CXXFLAGS='-O2 -g0 -Werror' "${cuda_flags[@]}")
# Tests whose NAME-simt runs all of the host's code run only there; file_systems, hosts, limits, output_safety
# and proof, which are about disks, processes, memory, signals and faults, only in the plain build. -g1,
# the lines of a backtrace alone, takes a third less time to build than -g. A sanitized program starts in
# half of the time if it is linked -no-pie and with the static libraries of the sanitizers.
sanitized_except='argsort cli completions external file_systems hosts input limits output_safety pipes proof soak'
sanitized_except+=' stats top'
sanitized=(CUDA=0 'SANITIZE=address,undefined' CFLAGS='-g1 -Werror' CXXFLAGS='-g1 -Werror' \
    LDFLAGS='-no-pie -static-libasan -static-libubsan' LDLIBS=-l:libubsan.a)

# programs NAME MAKE-ARGUMENT...: builds what check would build, which then counts a failure.
programs() { make -j"$(nproc)" check-programs BUILD="$build/$1" "${@:2}" || echo "$1: the build failed"; }
mkdir -p "$build"
TEST_EXCEPT=$plain_except programs plain "${plain[@]}"
set -m # the job is a process group, which ends with this script
{
    renice -n 19 "$BASHPID" >/dev/null
    scripts/build_aarch64.sh "$build/aarch64" CFLAGS='-O1 -g0 -Werror' CXXFLAGS='-O1 -g0 -Werror' ||
        echo 'the build for aarch64 failed'
    TEST_EXCEPT=$sanitized_except programs sanitized "${sanitized[@]}"
} >"$build/beside.log" 2>&1 &
set +m
trap 'kill -- -$! 2>/dev/null || true' EXIT
TEST_EXCEPT=$plain_except check plain "${plain[@]}"
echo '== the builds for aarch64 and with sanitizers'
wait
cat "$build/beside.log"
TEST_SIZE=small TEST_AARCH64=$build/aarch64 TEST_EXCEPT=$sanitized_except check sanitized "${sanitized[@]}"

echo "checked in $((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
