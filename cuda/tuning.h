/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - the constants that a path is tuned with. Each says what it rests on; to try another
 * value, change it here, or in tuning_radix.h, alone.
 */
#ifndef CUDA_TUNING_H
#define CUDA_TUNING_H

#include "cuda/tuning_radix.h"

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

/* The blocks of a multiprocessor that a kernel's registers are limited for, of the given number. A
 * multiprocessor has 2048 threads on devices of the data centre, and 1536 on others. */
__host__ __device__ constexpr unsigned blocks_with_room(unsigned threads, unsigned blocks)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900 && __CUDA_ARCH__ != 1000
    return threads * blocks <= 1536 ? blocks : 1536 / threads;
#else
    return threads * blocks <= 2048 ? blocks : 2048 / threads;
#endif
}

/* Strides of the bitonic network that one pass over memory does outside tiles: 2^steps keys a
 * thread. 128 bytes of keys fill 32 registers, and the kernel takes 62 to 126 in all (nvcc 13.0,
 * sm_90), without spilling; that leaves 16 warps or more on a multiprocessor with 65,536 registers,
 * each with 128 bytes a thread on their way. */
__host__ __device__ constexpr unsigned bitonic_fused_steps(size_t item_bytes)
{
    return item_bytes <= 4 ? 5 : item_bytes == 8 ? 4 : 3;
}

/* ---- merge sorts ---- */

/* Keys that a thread makes of a merge in shared memory, whose search it pays once for all of them:
 * as many as a network in registers sorts well, and a row of banks of 8- and 16-byte keys. */
__host__ __device__ constexpr unsigned merge_row_keys(size_t item_bytes)
{
    return item_bytes <= 8 ? 16 : 8;
}

/* Keys that a block sorts, so the largest tile; and blocks that a multiprocessor is to hold, which
 * leaves their threads 85 registers (128 at 16 bytes). 2 and 4 blocks are as fast. */
constexpr unsigned TILE_SORT_KEYS = 4096;
__host__ __device__ constexpr unsigned tile_sort_blocks(size_t item_bytes)
{
    return item_bytes <= 8 ? 3 : 1;
}

/* segmented-merge: runs that a pass over memory merges into one at most, as bits, keys of a block's
 * part with its padding, and blocks as above. Two ways are bound by memory, and each doubling of
 * the ways adds a merge in shared memory; with 8 ways 1e9 doubles take 6 passes behind tiles of
 * 4,096 and 64.0 ms, with 4 ways 9 passes and 65.3 ms; 16 ways spill registers. 2 and 4 blocks are
 * as fast. */
constexpr unsigned MERGE_WAYS_BITS = 3;
__host__ __device__ constexpr unsigned merge_part_keys(size_t item_bytes)
{
    return item_bytes <= 8 ? 4096 : 2048;
}
constexpr unsigned MERGE_BLOCKS = 3;

/* Threads of a block that cuts runs: few, so that a small array's parts keep many multiprocessors
 * busy, each thread being a long chain of reads. */
constexpr unsigned MERGE_SELECT_THREADS = 64;

/* Up to so many keys segmented-merge is a matter of launches rather than of memory: each key finds
 * its place among up to 32 runs at once. 1e5 doubles would take 0.051 ms so in place of 0.118, but
 * radix takes 0.060, and with 2^20 for the most 1e6 took 0.65 in place of 0.28. A block takes a key
 * a thread, and has room for the keys of the other runs between its first and its last one: 31
 * times as many in the mean, for random keys, and half as many more. */
constexpr size_t RANK_MERGE_COUNT_MOST = (size_t)1 << 16;
constexpr unsigned RANK_MERGE_WAYS_BITS = 5;
__host__ __device__ constexpr unsigned rank_merge_threads(size_t item_bytes)
{
    return item_bytes <= 8 ? 128 : 64;
}
constexpr unsigned RANK_MERGE_WINDOW_BYTES = 47 << 10;

/* Room for the keys of the partner run that a tile of direct-merge faces, in sixteenths of the
 * tile. For random keys their number has mean TILE and standard deviation about sqrt(2 TILE), so
 * 20/16 leaves 2.8 deviations at TILE = 256 and 8 at 2048; with 16-byte items at 2048 it is
 * 40 KiB of the 48 KiB that static shared memory may take. */
constexpr unsigned DIRECT_MERGE_WINDOW_SIXTEENTHS = 20;

/* ---- rank, heap ---- */

/* The most keys that rank sorts. Its comparisons are the square of the count: 2^34 of them here,
 * and each doubling is four times the time. */
constexpr size_t RANK_SORT_COUNT_MAX = (size_t)1 << 17;

/* Threads that share a heap of 8 keys each, a power of two of 4 to 32. Extraction takes two steps a
 * key however many threads there are, and a warp does all its heaps at once: so with n threads
 * fewer a heap, n times fewer steps, and in their place merges, whose rounds are cheaper. Heaps of
 * 64 keys keep 4 of their 8 threads at work. */
constexpr unsigned HEAP_THREADS = 8;

/* ---- top ----
 *
 * Reckoned, for an H200. A block of the selection: threads, and words of 16 bytes that a thread has
 * on their way, 64 KiB a multiprocessor with 4 blocks; each block has 32 KiB of shared memory for
 * what it finds. To try: 2 words with 7 blocks; 512 threads with 3 blocks. */
constexpr unsigned TOP_THREADS = 256;
constexpr unsigned TOP_THREAD_WORDS = 4;
constexpr unsigned TOP_BLOCKS = 6; /* a multiprocessor */

/* Digits by which a rank is searched. 11 bits take 6 kernels for 8 bytes, and 8 KiB of counters. */
constexpr unsigned TOP_DIGIT_BITS = 11;

/* The sample: one key in 2^4, within these bits. With 2^16 keys, the bound for a few of 1e9 has
 * some 260,000 below it, which are sorted in 0.1 ms, where one read of 8-byte keys takes 1.9. */
constexpr unsigned TOP_SAMPLE_RARITY_BITS = 4;
constexpr unsigned TOP_SAMPLE_BITS_LEAST = 10;
constexpr unsigned TOP_SAMPLE_BITS_MOST = 16;

/* Up to so many keys are sorted all. */
constexpr size_t TOP_COUNT_LEAST = 8192;

/* Where the first of many are wanted, items are collected on the device in batches of so many
 * bytes, or of 4 times what is wanted, of which a selection keeps few. A batch of 256 MiB is 5 ms
 * of upload and 0.2 ms of selection; less memory makes smaller ones, of so many items at the least.
 */
constexpr size_t TOP_BATCH_BYTES = (size_t)256 << 20;
constexpr size_t TOP_BATCH_LEAST = (size_t)1 << 16;

/* ---- lines of text ----
 *
 * Reckoned, for an H100. A block's tile of text is 8 KiB, 32 bytes a thread, beside 16 KiB for
 * where its lines start, should each be a terminator alone. With 5 blocks a multiprocessor a thread
 * that reads numbers has 48 registers, and next to none is spilled. To try: 128 threads; 4 blocks.
 */
constexpr unsigned LINES_THREADS = 256;
constexpr unsigned LINES_KEY_BLOCKS = 5;

/* Bytes of a line that one thread goes through at the most, before it leaves the line to the host.
 * A tile of such lines has two, whose threads the others wait for. */
constexpr size_t LINES_WALK_BYTES = 4096;

/* The block that sums up what tiles have, and the words that a thread of it takes at a time:
 * 660,000 tiles for 5.4 GB are 81 steps. */
constexpr unsigned LINES_SCAN_THREADS = 1024;
constexpr unsigned LINES_SCAN_WORDS = 8;

/* ---- lines put in order ----
 *
 * Reckoned, for an H200. Lines of ten bytes at random places take one or two sectors of 32 bytes
 * each, so what counts is how many reads are on their way. A block measures GATHER_MEASURE_THREADS
 * * GATHER_MEASURE_LINES lines; the product of its warps and of a thread's lines is a warp. A
 * thread walks so many words of 16 bytes; of what goes on behind these a warp finds the end. */
constexpr unsigned GATHER_MEASURE_THREADS = 256;
constexpr unsigned GATHER_MEASURE_LINES = 4;
constexpr unsigned GATHER_WALK_WORDS = 16;

/* Blocks of the text of which it is marked whether a line ends there: two reads of a warp. A warp
 * looks at the marks of 1 MiB at once. */
constexpr unsigned GATHER_MARK_BYTES = 1024;

/* The scan over the blocks' sums: threads, and sums that each has at a time. */
constexpr unsigned GATHER_SCAN_THREADS = 1024;
constexpr unsigned GATHER_SCAN_SUMS = 4;

/* A block of the copy makes a tile of the output in shared memory, a thread a line; blocks a
 * multiprocessor (40 registers: nvcc 13.0, sm_90). What has more than GATHER_SHORT_BYTES is copied
 * by warps, in pieces. */
constexpr unsigned GATHER_TILE_BYTES = 16 << 10;
constexpr unsigned GATHER_THREADS = 256;
constexpr unsigned GATHER_BLOCKS = 6;
constexpr unsigned GATHER_SHORT_BYTES = 64;
constexpr unsigned GATHER_PIECE_BYTES = 512;

/* ---- runs of equal keys among lines ----
 *
 * Reckoned. A block that looks at neighbours: threads, each for 4 items. Lines that are the same
 * for so many bytes behind what they are known to share are not compared further by one thread,
 * which else would keep its block waiting; that many are half a thousand reads from the
 * second-level cache. After so many rounds, of 6 bytes each, what is not in order yet goes to the
 * host. */
constexpr unsigned REFINE_THREADS = 256;
constexpr unsigned REFINE_WALK_BYTES = 1024;
constexpr unsigned REFINE_ROUNDS = 32;

/* Pinned staging: enough slots that two with the caller leave two in flight. The threads that write
 * the output wait for each other at the end of each slot: 8 GB of f64 from file to file take 1.78 s
 * on tmpfs and 1.79 s on ext4 with slots of 64 MiB, and 2.23 and 1.89 s with slots of 16 MiB (H200
 * host, 16 cores, 2026-11). */
constexpr size_t STAGING_SLOT_BYTES = (size_t)64 << 20;
constexpr size_t STAGING_SLOTS = 4;

/* Device memory for a stream of unknown length grows by segments: each twice the one before, so
 * that little is wasted on short streams, up to a size where the wait for cudaMalloc is lost in
 * the time of the upload. */
constexpr size_t SEGMENT_FIRST_BYTES = (size_t)16 << 20;
constexpr size_t SEGMENT_LAST_BYTES = (size_t)1 << 30;

#endif
