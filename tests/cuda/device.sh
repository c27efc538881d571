#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# When a job ends, of which the device is released later; which of several devices CUDA is shown; devices that lack
# something; what paths refuse; a long pipe; launches of small arrays.
# device_matrix.cu and soak.sh have all types, and argsort.sh lines by each path. Skipped without a GPU.
. "$(dirname "$0")/../lib.sh"
need_numpy
need_gpu

large=$(full_or_small 100003 20011)
make_data keys . f64 1 1000 "$large"
f64=(--device=gpu --format=raw --type=f64)
one=f64.1.little.in.raw many=f64.$large.little.in.raw
refuses 'a device number that there is not' 'no device 1000' -- --device=gpu:1000 --format=raw --type=f64 $one
GPUSORT_SERVER= # does not get the environment variables below
# ends_early COMMAND...: prints the status of COMMAND, and those of the processes that it leaves, in the order of
# their ends.
ends_early() {
    "$numpy" -c '
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: processes left become children of this one
command = subprocess.Popen(sys.argv[1:])
first, status = os.wait()
statuses = [os.waitstatus_to_exitcode(status)]
try:
    while True:
        statuses.append(os.waitstatus_to_exitcode(os.wait()[1]))
except ChildProcessError:
    print(first == command.pid, *statuses)
' "$@"
}
# ends_early_with STATUSES COMMAND...: the same, compared. No second process is started while process 1 has eight
# zombies of gpusort, which other tests may leave for a moment.
ends_early_with() { [ "$(ends_early "${@:2}" 2>problems)" = "$1" ]; }
ok 'a job ends before its device is released, and nothing remains' \
    wait_until ends_early_with 'True 0 0' "$GPUSORT" "${f64[@]}" -o got $one
printf '\377%.0s' {1..8} >nan
ok 'its status is that of the job' wait_until ends_early_with 'True 2 0' "$GPUSORT" "${f64[@]}" --nan=error -o got nan
# zombies COUNT COMMAND...: runs COMMAND ("named": gpusort by that name) COUNT times where process 1 reaps only its own
# children, and prints how many zombies there are.
zombies() {
    unshare --map-root-user --pid --fork --mount-proc "$numpy" -c '
import glob, subprocess, sys, time
program, count, *command = sys.argv[1:]
for _ in range(int(count)):
    subprocess.run(command, executable=program if command[0] == "named" else None, check=True)
    while any(open(stat).read().split(") ")[1][0] != "Z" for stat in glob.glob("/proc/[0-9]*/stat")
              if stat != "/proc/1/stat"):
        time.sleep(0.02)
print(sum(") Z " in open(stat).read() for stat in glob.glob("/proc/[0-9]*/stat")))
' "$GPUSORT" "$@"
}
if kept=$(zombies 3 true 2>/dev/null) && [ "$kept" = 0 ]; then
    ok_prints 'if process 1 does not reap orphans, eight zombies are left, not one of each job' '8\n' -- \
        zombies 10 named "${f64[@]}" -o got $one
else
    skip 'a process 1 that does not reap orphans' 'no processes may be isolated'
fi
ok 'a job on the CPU is one process' \
    test "$(ends_early "$GPUSORT" "${f64[@]}" --device=cpu -o got $one)" = 'True 0'
# Which of several devices CUDA is shown. (Only the stand-in has several and other ones, and logs calls.)
if grep -q SIMT_FAIL "$GPUSORT"; then
    # shows COUNT VARIABLE...: with the variables, CUDA is shown only COUNT devices, so that no other one is started.
    shows() {
        rm -f calls
        env "${@:2}" SIMT_DEVICES=4 SIMT_CALLS=calls "$GPUSORT" "${f64[@]}" -o got $one
        ok "of four devices CUDA is shown $1: ${*:2}" grep -q "^shown:$1 " calls
    }
    shows 1 CUDA_VISIBLE_DEVICES=0,1,2,3
    shows 1 CUDA_VISIBLE_DEVICES=GPU-8932f937,GPU-1
    shows 1 CUDA_VISIBLE_DEVICES=3
    shows 1
    refused 'a device beyond those shown' 'no device 2: 2 found' -- \
        env CUDA_VISIBLE_DEVICES=2,3 SIMT_DEVICES=4 "$GPUSORT" "${f64[@]}" --device=gpu:2 -o "$target" $one
    refused 'no device shown' 'no CUDA device' -- \
        env CUDA_VISIBLE_DEVICES= SIMT_DEVICES=4 "$GPUSORT" "${f64[@]}" -o "$target" $one
    ok 'a device for one process is released before the job ends' \
        test "$(SIMT_COMPUTE_MODE=3 ends_early "$GPUSORT" "${f64[@]}" -o got $one)" = 'True 0'
    # A device that lacks what the code needs.
    refused 'a device older than what was compiled' \
        'device 0 has compute capability 7.5; this program was built for 9.0 and newer' -- \
        env SIMT_CAPABILITY=75 "$GPUSORT" "${f64[@]}" -o "$target" "$many"
    # A tile of segmented-merge has 66 KiB of 16-byte items.
    make_data keys . u8,i16,f32,f64 70001
    refused 'a path that the device has too little shared memory for' \
        'bytes of shared memory, and the device has 65536; choose another path' -- \
        env SIMT_SHARED_BYTES=65536 "$GPUSORT" "${f64[@]}" -a segmented-merge --argsort -o "$target" \
        f64.70001.little.in.raw
    # The path that auto chooses fits into the shared memory of devices of compute capability 8.6.
    gpusort --device=cpu --argsort --format=raw --type=f64 -o indices f64.70001.little.in.raw
    export SIMT_SHARED_BYTES=101376
    for type in u8 i16 f32 f64; do
        ok_writes "auto with 99 KiB of shared memory a block: $type" "$type.70001.little.up.raw" -- \
            --device=gpu --format=raw --type="$type" "$type.70001.little.in.raw"
    done
    ok_writes 'auto with 99 KiB of shared memory a block: indices' indices -- \
        "${f64[@]}" --argsort f64.70001.little.in.raw
    unset SIMT_SHARED_BYTES
fi
refuses 'a tile size that the path does not have' '300' -- "${f64[@]}" -a bitonic:300 $one

# One item more than the path sorts.
head -c 131073 /dev/zero >many
refuses 'more numbers than the path sorts' "'rank' sorts at most 131072 numbers, and there are 131073" -- \
    --device=gpu -a rank --format=raw --type=u8 many
with_numpy 'data = random.integers(0, 2**40, 131073, np.uint64)
data.tofile("many.u64"); np.sort(data)[:5].tofile("first")'
ok_writes 'the first ones of more numbers than the path sorts' first -- --device=gpu -a rank --top=5 many.u64
seq 131073 >many.lines
refused 'more lines than the path sorts, once they are counted' \
    'rank sorts at most 131072 items, and there are 131073' -- gpusort --device=gpu -a rank -o "$target" many.lines

# The array for a pipe has 16 MiB at first, and is twice as large whenever it is full.
with_numpy 'data = random.integers(0, 256, 2**25 + 1, np.uint8)
data.tofile("long"); np.sort(data).tofile("long.sorted")'
ok_output 'a pipe that outgrows its first array twice' long.sorted -- \
    bash -c 'cat long | "$0" --device=gpu --format=raw --type=u8' "$GPUSORT"

# A small array costs launches. The stand-in counts them; a real GPU does not.
launches() {
    local most=$1 count=$2
    shift 2
    make_data keys . f64 "$count"
    rm -f launches
    ok_writes "$count numbers with the launches counted $*" "f64.$count.little.up.raw" -- \
        "${f64[@]}" "$@" "f64.$count.little.in.raw"
    ok "at most $most launches for $count numbers $*" test "$(wc -l <launches)" -le "$most"
}
export SIMT_TRACE=launches
rm -f launches
gpusort "${f64[@]}" -o got f64.1000.little.in.raw
if [ -s launches ]; then
    for count in 2 4096; do launches 1 $count; done
    for count in 4097 8192; do launches 3 $count; done
    for count in 65535 65536; do launches 9 $count; done
    launches 1 4096 -a segmented-merge:4096
    launches 5 65537 -a segmented-merge:4096
else
    skip 'launches of small arrays' 'a GPU does not count them'
fi

done_testing
