/* tuning.h - the constants that a path is tuned with. Each says what it rests on; to try another
 * value, change it here alone.
 */
#ifndef CUDA_TUNING_H
#define CUDA_TUNING_H

#include <cuda_runtime.h>
#include <stddef.h>

/* Keys that a thread holds in registers in every path that works on tiles. The networks of
 * thread_network.cuh are written for it. A block has TILE / KEYS_PER_THREAD threads, 32 to 256. */
constexpr unsigned KEYS_PER_THREAD = 8;

constexpr unsigned THREADS_PER_WARP = 32;

/* Shared memory has 32 banks of 4 bytes: one row of banks. */
constexpr unsigned BANK_ROW_BYTES = 128;

/* Threads of a block in kernels where each thread works alone. */
constexpr unsigned THREADS_PER_BLOCK = 256;

/* Strides of the bitonic network that one pass over memory does outside tiles: 2^steps keys a
 * thread. 128 bytes of keys fill 32 registers, and the kernel takes 62 to 126 in all (nvcc 13.0,
 * sm_90), without spilling; that leaves 16 warps or more on a multiprocessor with 65,536 registers,
 * each with 128 bytes a thread on their way. */
__host__ __device__ constexpr unsigned bitonic_fused_steps(size_t item_bytes)
{
    return item_bytes <= 4 ? 5 : item_bytes == 8 ? 4 : 3;
}

/* Room for the keys of the partner run that a tile of direct-merge faces, in sixteenths of the
 * tile. For random keys their number has mean TILE and standard deviation about sqrt(2 TILE), so
 * 20/16 leaves 2.8 deviations at TILE = 256 and 8 at 2048; with 16-byte items at 2048 it is
 * 40 KiB of the 48 KiB that static shared memory may take. */
constexpr unsigned DIRECT_MERGE_WINDOW_SIXTEENTHS = 20;

/* Pinned staging: enough slots that two with the caller leave two in flight. Pinning costs 0.35 s a
 * GB (H200, driver 580), so the ring stays small; at 55 GB/s a slot of 16 MiB takes 0.3 ms, far
 * above the cost of starting a copy. */
constexpr size_t STAGING_SLOT_BYTES = (size_t)16 << 20;
constexpr size_t STAGING_SLOTS = 4;

/* Device memory for a stream of unknown length grows by segments: each twice the one before, so
 * that little is wasted on short streams, up to a size where the wait for cudaMalloc is lost in
 * the time of the upload. */
constexpr size_t SEGMENT_FIRST_BYTES = (size_t)16 << 20;
constexpr size_t SEGMENT_LAST_BYTES = (size_t)1 << 30;

#endif
