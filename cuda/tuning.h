/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - the tuning constants of the paths, --top, lines and copies, except those in
 * tuning_radix.h. Most state their basis. To try another value, change only the constant.
 */
#ifndef CUDA_TUNING_H
#define CUDA_TUNING_H

#include "cuda/tuning_radix.h"

#include <cuda_runtime.h>
#include <stddef.h>

/* Keys that a thread holds in registers in bitonic, direct-merge, rank, heap and column. A block
 * has TILE / KEYS_PER_THREAD threads, 32 to 512. bitonic_sort.cu asserts the value. radix has
 * windows of as many keys. */
constexpr unsigned KEYS_PER_THREAD = 8;

constexpr unsigned THREADS_PER_WARP = 32;

/* Shared memory has 32 banks of 4 bytes: the bytes of one row of banks. */
constexpr unsigned BANK_ROW_BYTES = 128;

/* Threads per block in kernels whose threads work independently. */
constexpr unsigned THREADS_PER_BLOCK = 256;

/* The minBlocksPerMultiprocessor of __launch_bounds__: `blocks`, or fewer if a multiprocessor has
 * too few threads. It has 2048 on devices of the data centre (ptxas: 8.0, 9.0, 10.x), else 1536. */
__host__ __device__ constexpr unsigned blocks_with_room(unsigned threads, unsigned blocks)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900 &&                      \
    __CUDA_ARCH__ / 100 != 10
    return threads * blocks <= 1536 ? blocks : 1536 / threads;
#else
    return threads * blocks <= 2048 ? blocks : 2048 / threads;
#endif
}

/* Strides of the bitonic network that one pass over memory does outside tiles: 2^steps keys a
 * thread. 128 bytes of keys fill 32 registers, and the kernel takes 62 to 126 in all (nvcc 13.0,
 * sm_90), without spilling. So a multiprocessor with 65,536 registers has at least 16 warps, with
 * 128 bytes in flight for each thread. */
__host__ __device__ constexpr unsigned bitonic_fused_steps(size_t item_bytes)
{
    return item_bytes <= 4 ? 5 : item_bytes == 8 ? 4 : 3;
}

/* About as many threads as the multiprocessors of an H200 hold. If a pass of the bitonic network
 * would start more, a thread takes more keys than its steps need, up to the maximum above: 1e9 f32
 * then take 165 ms instead of 178. */
constexpr size_t BITONIC_THREADS = (size_t)1 << 18;

/* small_sort: the smallest tile that it sorts, and the keys of a tile of its merges, of which those
 * of 8 and 16 bytes take 36 KiB of shared memory. For 4 bytes tiles of 8,192 take 1.1 times as
 * long, and for 4 and 8 bytes tiles of 2,048 up to 1.14 times (16,384 to 262,144 keys, H200,
 * 2026-11-30). */
constexpr size_t SMALL_TILE_LEAST = 64;
__host__ __device__ constexpr unsigned small_merge_tile(size_t item_bytes)
{
    return item_bytes <= 8 ? 4096 : 2048;
}

/* ---- merge sorts ---- */

/* Keys that a thread makes in a merge in shared memory, after one search for all of them. The
 * number is what a network in registers sorts well; it is also one row of banks of 8- and 16-byte
 * keys. */
__host__ __device__ constexpr unsigned merge_row_keys(size_t item_bytes)
{
    return item_bytes <= 8 ? 16 : 8;
}

/* TILE_SORT_KEYS: keys that a block sorts, and so the largest tile. tile_sort_blocks: blocks per
 * multiprocessor, which leaves 85 registers per thread (128 for 16 bytes). 2 and 4 blocks are as
 * fast. */
constexpr unsigned TILE_SORT_KEYS = 4096;
__host__ __device__ constexpr unsigned tile_sort_blocks(size_t item_bytes)
{
    return item_bytes <= 8 ? 3 : 1;
}

/* segmented-merge. MERGE_WAYS_BITS: log2 of the maximum fan-in of one pass over memory.
 * merge_part_keys: keys of a block's part, with its padding. MERGE_BLOCKS: blocks per
 * multiprocessor. A fan-in of 2 is bound by memory, and each doubling adds a merge in shared
 * memory. 1e9 doubles in tiles of 4,096 take 6 passes and 64.0 ms with a fan-in of 8, and 9 passes
 * and 65.3 ms with 4; a fan-in of 16 spills registers. 2 and 4 blocks are as fast. */
constexpr unsigned MERGE_WAYS_BITS = 3;
__host__ __device__ constexpr unsigned merge_part_keys(size_t item_bytes)
{
    return item_bytes <= 8 ? 4096 : 2048;
}
constexpr unsigned MERGE_BLOCKS = 3;

/* Threads of a block that cuts runs. Each thread makes a long chain of reads, so blocks are small:
 * the parts of a small array then keep many multiprocessors busy. */
constexpr unsigned MERGE_SELECT_THREADS = 64;

/* Capacity of the window of direct-merge, the keys of the partner run that a tile faces, in
 * sixteenths of the tile. For random keys their number has mean TILE and standard deviation about
 * sqrt(2 TILE), so 20/16 leaves 2.8 deviations at TILE = 256 and 8 at 2048. With 16-byte items at
 * 2048 the window takes 40 KiB of the 48 KiB of static shared memory. */
constexpr unsigned DIRECT_MERGE_WINDOW_SIXTEENTHS = 20;

/* ---- rank, heap ---- */

/* Maximum number of keys that rank sorts. It makes n^2 comparisons, here 2^34, so twice the keys
 * take four times the time. */
constexpr size_t RANK_SORT_COUNT_MAX = (size_t)1 << 17;

/* Threads that share a heap of 8 keys per thread; a power of two from 4 to 32. Extraction takes two
 * steps per key for any number of threads, and a warp works on all its heaps at once. So heaps of n
 * times fewer threads take n times fewer steps, and need more merge rounds, which are cheaper.
 * Heaps of 64 keys keep 4 of their 8 threads busy. */
constexpr unsigned HEAP_THREADS = 8;

/* ---- top ----
 *
 * Calculated for an H200; other values were not tried. TOP_THREAD_WORDS: words of 16 bytes that a
 * thread has in flight; with 6 blocks that is 96 KiB per multiprocessor. Each block has 32 KiB of
 * shared memory for the items it finds. Keys of 1 byte have half of both. To try: 2 words with 7
 * blocks; 512 threads with 3 blocks.
 */
constexpr unsigned TOP_THREADS = 256;
constexpr unsigned TOP_THREAD_WORDS = 4;
constexpr unsigned TOP_BLOCKS = 6; /* per multiprocessor */

/* The sample: one key in 2^4, with a size between these limits. With 2^16 keys, about 260,000 of
 * 1e9 keys are below the bound for a few. They are sorted in 0.1 ms, while one read of the 8-byte
 * keys takes 1.9 ms. */
constexpr unsigned TOP_SAMPLE_RARITY_BITS = 4;
constexpr unsigned TOP_SAMPLE_BITS_LEAST = 10;
constexpr unsigned TOP_SAMPLE_BITS_MOST = 16;

/* Up to this many keys, all are sorted. */
constexpr size_t TOP_COUNT_LEAST = 8192;

/* If the first of many items are wanted, items are collected on the device in batches of
 * TOP_BATCH_BYTES, or of 4 times the wanted items if that is more; a selection then keeps few. A
 * batch of 256 MiB is 5 ms of upload and 0.2 ms of selection. Batches are smaller if memory is
 * short, but of TOP_BATCH_LEAST items at least, and of twice the wanted items.
 */
constexpr size_t TOP_BATCH_BYTES = (size_t)256 << 20;
constexpr size_t TOP_BATCH_LEAST = (size_t)1 << 14;

/* ---- lines of text ----
 *
 * Calculated for an H100; other values were not tried. A block's tile of text is 8 KiB, 32 bytes
 * per thread. Another 16 KiB hold the starts of its lines, enough if each is only a terminator.
 * With 5 blocks per multiprocessor a thread that reads numbers has 48 registers, and almost none is
 * spilled. To try: 128 threads; 4 blocks.
 */
constexpr unsigned LINES_THREADS = 256;
constexpr unsigned LINES_KEY_BLOCKS = 5;

/* Maximum bytes that a thread reads of the last line of a tile, which may extend past the tile. If
 * its key may go on after them, the line is flagged for the host. The other threads of the block
 * wait for this one. */
constexpr size_t LINES_WALK_BYTES = 4096;

/* ---- gathering lines ----
 *
 * Calculated for an H200; other values were not tried. Lines of ten bytes at random positions take
 * one or two sectors of 32 bytes each, so the time depends on the number of reads in flight. A
 * block measures GATHER_MEASURE_THREADS * GATHER_MEASURE_LINES lines. A thread reads up to
 * GATHER_WALK_WORDS words of 16 bytes of a line; a warp finds the end of longer lines. */
constexpr unsigned GATHER_MEASURE_THREADS = 256;
constexpr unsigned GATHER_MEASURE_LINES = 4;
constexpr unsigned GATHER_WALK_WORDS = 16;

/* The copy: a block makes a tile of the output in shared memory, one line per thread.
 * GATHER_BLOCKS: blocks per multiprocessor (40 registers; nvcc 13.0, sm_90). Warps copy spans
 * longer than GATHER_SHORT_BYTES, in pieces of GATHER_PIECE_BYTES. */
constexpr unsigned GATHER_TILE_BYTES = 16 << 10;
constexpr unsigned GATHER_THREADS = 256;
constexpr unsigned GATHER_BLOCKS = 6;
constexpr unsigned GATHER_SHORT_BYTES = 64;
constexpr unsigned GATHER_PIECE_BYTES = 512;

/* ---- tie groups of lines ----
 *
 * Calculated, not measured. REFINE_THREADS: threads of a block that compares neighbours, with 4
 * items each. REFINE_WALK_BYTES: one thread compares two lines for at most this many bytes after
 * their known common prefix, because its block waits for it; that is half a thousand reads from the
 * L2 cache. After REFINE_ROUNDS rounds, of 6 bytes each, the host sorts the remaining lines. */
constexpr unsigned REFINE_THREADS = 256;
constexpr unsigned REFINE_WALK_BYTES = 1024;
constexpr unsigned REFINE_ROUNDS = 32;

/* Pinned staging. The number of slots leaves two in flight while the caller holds two. The threads
 * that write the output wait for each other at the end of each slot: 8 GB of f64 from file to file
 * take 1.78 s on tmpfs and 1.79 s on ext4 with slots of 64 MiB, and 2.23 and 1.89 s with slots of
 * 16 MiB (H200 host, 16 cores, 2026-11). Small slots stay in the last-level cache: with slots of 64
 * and 32 MiB, 8 GB are read in 0.28 and 0.20 s (H100 host, 16 cores, 2026-11). */
constexpr size_t STAGING_SLOT_BYTES = (size_t)32 << 20;
constexpr size_t STAGING_SLOTS = 4;

/* The first array for an input of unknown length. Each further one is twice as large, so a short
 * input wastes little. */
constexpr size_t ARRAY_FIRST_BYTES = (size_t)16 << 20;

#endif
