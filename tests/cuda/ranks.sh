#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MPI ranks of one host with a GPU each: they exchange sorted numbers from GPU to GPU, or through the host where that
# is impossible, and write what NumPy or the CPU writes. If there are more ranks than GPUs, some share one.
. "$(dirname "$0")/../lib.sh"
need_numpy
need_gpu
GPUSORT_SERVER= # mpirun starts each rank
is_simt=$(grep -q SIMT_FAIL "$GPUSORT" && echo yes) || true
if [ -n "$is_simt" ] && [ -f "$(dirname "$GPUSORT")/../mpi.so" ]; then # the plugin is beside the program
    mkdir "$work/ranks"
    cp "$GPUSORT" "$(dirname "$GPUSORT")/../mpi.so" "$work/ranks"
    GPUSORT=$work/ranks/gpusort
fi
need_open_mpi
export SIMT_IPC=1 SIMT_DEVICES=3

# ranks N ARGUMENT...: gpusort in N ranks. Rank $faulty_rank has the variable $setting.
ranks() {
    open_mpi --oversubscribe -n "$1" bash -c \
        '[ "$OMPI_COMM_WORLD_RANK" != "${faulty_rank:-}" ] || export "${setting?}"; exec "$@"' - "$GPUSORT" "${@:2}"
}

ranks_to_got() { ranks "$@" --stats=json -o got 2>stats; }

# ok_sorts WAY NAME FILE N ARGUMENT...: N ranks write the bytes of FILE. WAY: gpu, if numbers go from GPU to GPU, or
# host.
ok_sorts() {
    local exchange='"exchange" in s["stages"]'
    [ "$1" = gpu ] || exchange="not $exchange"
    rm -f got
    ok_file "$4 ranks: $2" got "$3" -- ranks_to_got "${@:4}"
    ok_json "$4 ranks: $2, by way of the $1" "$exchange" stats
}

with_numpy - "$(full_or_small 300007 20011)" <<'END'
count = int(sys.argv[1])
doubles = random.standard_normal(count)
doubles[::1000], doubles[1::1000] = np.nan, -np.inf
whole = random.integers(0, 2**32, count, "u4")
for name, numbers in {
        "doubles.f64": doubles, "whole.u32": whole, "three.u32": whole[:3],
        "few.i64": random.integers(-3, 3, count, "i8"), "sorted.i32": np.arange(count, dtype="i4"),
        "hot.u64": np.where(random.random(count) < 0.99, 7, random.integers(0, 100, count)).astype("u8"),
        "equal.f32": np.full(count, 0.5, "f4"), "bytes.u8": random.integers(0, 256, count, "u1")}.items():
    numbers.tofile(name)
    np.sort(numbers).tofile(name + ".up")
np.argsort(whole, kind="stable").tofile("whole.indices")
doubles[:100].tofile("own-0.f64")
doubles[100:].tofile("own-1.f64")
END

# ---- by way of the GPUs --------------------------------------------------------------------------

gpu=gpu # or host, for a driver, GPUs or a container that do not allow it
[ -n "$is_simt" ] || { ranks_to_got 2 --device=gpu doubles.f64 && grep -q '"exchange":' stats; } || gpu=host
for count in 2 3 5; do
    ok_sorts $gpu 'doubles' doubles.f64.up $count --device=gpu doubles.f64
done
for input in whole.u32 sorted.i32 hot.u64 equal.f32; do
    ok_sorts $gpu "$input" $input.up 3 --device=gpu $input
done
ok_sorts $gpu 'indices' whole.indices 3 --device=gpu --argsort --output-format=raw whole.u32
ok_sorts $gpu 'downwards' <(gpusort --device=cpu -r doubles.f64) 4 --device=gpu -r doubles.f64
ok_sorts $gpu 'to compressed text' <(gpusort --device=cpu --output-format=text --zstd few.i64) 2 \
    --device=gpu --output-format=text --zstd few.i64
ok_sorts $gpu 'nine runs, which are merged in two rounds' doubles.f64.up 9 --device=gpu doubles.f64
ok_sorts $gpu 'a small and a large part' doubles.f64.up 2 --device=gpu 'own-{rank}.f64'
ok_sorts $gpu 'numbers to zstd' <(gpusort --device=cpu --zstd hot.u64) 3 --device=gpu --zstd hot.u64

# ---- by way of the host --------------------------------------------------------------------------

ok_sorts host 'fewer numbers than ranks' three.u32.up 5 --device=gpu three.u32
ok_sorts host 'counted numbers' bytes.u8.up 2 --device=gpu bytes.u8
ok_sorts host 'the first ones' <(head -c 8000 doubles.f64.up) 2 --device=gpu --top=1000 doubles.f64
ok_sorts host 'a path without scratch' doubles.f64.up 2 --device=gpu -a bitonic doubles.f64
ok_sorts host 'parts of what a rank has' doubles.f64.up 2 --device=gpu --device-memory=100K doubles.f64
ok_output '2 ranks: a GPU and a CPU' doubles.f64.up -- mpirun --oversubscribe \
    -n 1 "$GPUSORT" --device=gpu doubles.f64 : -n 1 "$GPUSORT" --device=cpu doubles.f64

# ---- faults, by the stand-in ---------------------------------------------------------------------

if [ -n "$is_simt" ]; then
    ranks 2 --device=gpu --trace=trace -o got doubles.f64
    ok 'a trace has the copies of both ranks' test "$(grep -c '"name":"exchange"' trace)" = 2
    SIMT_DEVICES=4 ok_file 'two ranks, each with two GPUs' got doubles.f64.up -- \
        ranks_to_got 2 --device=gpu:0,1,2,3 doubles.f64
    ok_json 'each has two GPUs' "s['device']['count'] == 2" stats
    head -c 96000 hot.u64 >some.u64
    ranks_to_got 2 --device=gpu --device-memory=100K --zstd some.u64
    ok_json 'a limit of memory holds, also if one rank gives all numbers' "s['memory']['device_bytes'] <= 102400" stats
    head -c 160000 hot.u64 >some.u64
    SIMT_DEVICES=1 SIMT_MEMORY_BYTES=250000 ranks_to_got 2 --device=gpu -a segmented-merge some.u64
    ok_same_bytes 'two ranks of one GPU' got <(gpusort --device=cpu some.u64)
    ok_json 'its memory holds what both take' "2 * s['memory']['device_bytes'] <= 250000" stats
    SIMT_MEMORY_BYTES=60000,4000000 ok_sorts host 'a GPU has memory for its part, and not for its range' \
        doubles.f64.up 2 --device=gpu 'own-{rank}.f64'
    copies() { awk '$1 == "cudaMemcpyAsync" { print $2 }' calls; }
    export faulty_rank=0 setting=SIMT_CALLS=calls
    ranks 2 --device=gpu -o got 'own-{rank}.f64'
    ok 'a range that is larger than the part is copied in large pieces' test "$(copies)" -le 12
    SIMT_IPC=0 ok_sorts host 'memory that others may not open' doubles.f64.up 3 --device=gpu doubles.f64
    SIMT_IPC=lost ok_sorts host 'memory of which others read nothing' doubles.f64.up 3 --device=gpu doubles.f64
    SIMT_IPC=lost ok_sorts host 'the same, of numbers that end with 0' <(gpusort --device=cpu -r hot.u64) 3 \
        --device=gpu -r hot.u64
    for order in SIMT_STREAMS=eager SIMT_ORDER=2; do
        ok_sorts gpu "with $order" doubles.f64.up 3 --device=gpu doubles.f64
    done
    faulty_rank=1
    setting=CUDA_VISIBLE_DEVICES=1
    SIMT_DEVICES=2 SIMT_MEMORY_BYTES=250000 ranks_to_got 2 --device=gpu -a segmented-merge some.u64
    ok_json 'ranks to which the launcher shows one GPU each have all of it' "s['memory']['device_bytes'] > 125000" stats
    for call in cudaIpcGetMemHandle:1 cudaIpcOpenMemHandle:2; do
        setting=SIMT_FAIL=$call:cudaErrorNotSupported
        ok_sorts host "one refuses $call" doubles.f64.up 3 --device=gpu doubles.f64
    done
    setting=SIMT_CALLS=calls
    ranks 2 --device=gpu -o got doubles.f64
    piece=$(($(copies) - 1)) # the last but the copy to the host
    setting=SIMT_TRACE=kernels
    ranks 2 --device=gpu -o got doubles.f64
    for kernel in encode_kernel cuts_kernel 'merge_parts_kernel.*run_bounds'; do
        number=$(grep -n -m1 "$kernel" kernels | cut -d: -f1)
        setting=SIMT_FAIL=kernel:$number
        refused "a GPU fails in ${kernel%%.*}" '^gpusort: device 1: .*\(rank 1 on ' -- \
            ranks 2 --device=gpu -o "$target" doubles.f64
    done
    for call in cudaMallocHost:1 cudaMallocHost:2 "cudaMemcpyAsync:$piece" cudaEventRecord:6 cudaEventSynchronize:3; do
        setting=SIMT_FAIL=$call
        refused "a GPU fails in $call" "^gpusort: device 1: ${call%:*}: .*\\(rank 1 on " -- \
            ranks 2 --device=gpu -o "$target" doubles.f64
    done
fi
done_testing
