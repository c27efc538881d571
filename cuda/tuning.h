/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - the tuning constants of the paths, --top, lines and copies. Most state their basis. To
 * try another value, change only the constant.
 */
#ifndef CUDA_TUNING_H
#define CUDA_TUNING_H

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

/* ---- radix ----
 *
 * Measured on an H200 (132 multiprocessors, 227 KiB of shared memory and 65,536 registers each);
 * docs/performance_log.md lists what else was tried. */

/* Fan-out of a partition, as bits. Two partitions make 2^18 buckets, of 3,840 keys each for 1e9
 * keys. The kernels have one thread per bucket. */
constexpr unsigned RADIX_WAYS_BITS = 9;
constexpr unsigned RADIX_WAYS = 1u << RADIX_WAYS_BITS;

/* More items than two partitions can divide are first partitioned into at most RADIX_PARTS_MOST
 * parts, the last for keys above the sample. One model and one count serve this partition and the
 * next one, of each part into at most 2^RADIX_PART_BITS_MOST buckets. A counting block has a
 * counter for each bucket of all parts, together less than 32 KiB: then 8.5e9 keys have a million
 * in each. 1.5e9 pairs took 78.2, 77.6 and 77.4 ms in parts of 2^27, 2^26 and 2^25 items with 8, 7
 * and 6 bits, and 84.7 with a model and a count for each part (H200, 2026-11-29). */
constexpr unsigned RADIX_PARTS_MOST = 126;
constexpr unsigned RADIX_PART_BITS_MOST = 7;
constexpr unsigned RADIX_COUNTERS_MOST = RADIX_PARTS_MOST << (RADIX_PART_BITS_MOST - 1);

/* Size of a model: cells of the root and of a node (both as bits), and number of nodes. An entry
 * has 8 bytes, so a model has 16 KiB; each block keeps it in shared memory. A cell is split into a
 * node if it holds 2^-RADIX_HEAVY_BITS of the sample and at least RADIX_HEAVY_LEAST keys, or if it
 * is uneven and holds at least RADIX_UNEVEN_LEAST keys. */
constexpr unsigned RADIX_ROOT_BITS = 10;
constexpr unsigned RADIX_NODE_BITS = 5;
constexpr unsigned RADIX_NODES = 32;
constexpr unsigned RADIX_HEAVY_BITS = 5;
constexpr unsigned RADIX_HEAVY_LEAST = 256;
constexpr unsigned RADIX_UNEVEN_LEAST = 32;

/* Size of the sample that a model is made from: one key in 2^7, but at least 2^12 keys (or one key
 * in 2^4 if the array is small). The maximum is 2^own_bits keys per thread of the learning block,
 * in 32 registers: 2^14 keys of 8 bytes. A sample of that size that divides 2e6 keys into 511
 * buckets has 32 keys per bucket, so that bucket sizes are off by a sixth. */
constexpr unsigned RADIX_SAMPLE_RARITY_BITS = 7;
constexpr unsigned RADIX_SAMPLE_BITS_LEAST = 12;
__host__ __device__ constexpr unsigned radix_sample_own_bits(size_t item_bytes)
{
    return item_bytes <= 8 ? 4 : 3;
}

/* Sample keys per cell of the root, as bits. The model of the first of two partitions needs roughly
 * even buckets even if the keys concentrate in few cells, hence many cells. The model of the last
 * partition also predicts positions in tiles, for which the density of a cell matters: 64 sample
 * keys give the density to within an eighth. */
constexpr unsigned RADIX_FIRST_ROOT_RARITY_BITS = 4;
constexpr unsigned RADIX_LAST_ROOT_RARITY_BITS = 6;

/* Partition kernel: threads per block, blocks per multiprocessor, and keys that a thread holds in
 * registers. A tile of 6,144 keys of 8 bytes with their buckets, the model and the counters takes
 * 82 KiB. So a multiprocessor has room for 2 blocks, and one loads while the other scatters. */
constexpr unsigned RADIX_PARTITION_THREADS = 512;
constexpr unsigned RADIX_PARTITION_BLOCKS = 2; /* per multiprocessor */
__host__ __device__ constexpr unsigned radix_partition_keys(size_t item_bytes)
{
    return item_bytes == 8 ? 12 : 8;
}

/* Blocks per multiprocessor of the kernels that need little shared memory. */
constexpr unsigned RADIX_COUNT_BLOCKS = 2;
constexpr unsigned RADIX_COPY_BLOCKS = 8;

/* Tile sort: threads per block, keys that a thread reads, and bins that a thread scans. A tile of
 * 6,144 keys of 8 bytes with bins, model and splitters takes 88 KiB: 2 blocks per multiprocessor
 * (with 16 bytes: 149 KiB, 1 block). For the 3,840 keys of a bucket there is about one bin per
 * key. */
constexpr unsigned RADIX_TILE_THREADS = 512;
constexpr unsigned RADIX_TILE_KEYS = 12;
constexpr unsigned RADIX_THREAD_BINS = 8;

/* RADIX_SPLITTERS is the number of keys of a tile that divide it if the model fails. Then there are
 * 8 keys on average between two splitters, and usually at most 50.
 *
 * A bin with more than radix_bin_limit() keys is full, which shows that the model fails. The limit
 * is lower for items of 16 bytes, which are ordered within equal keys too: with about one bin per
 * item, a bin of 12 is not chance.
 *
 * RADIX_TILE_ROUNDS is the maximum number of rounds in which the windows of a tile are sorted. */
constexpr unsigned RADIX_SPLITTERS = 512;
__host__ __device__ constexpr unsigned radix_bin_limit(size_t item_bytes)
{
    return item_bytes <= 8 ? 32 : 12;
}
constexpr unsigned RADIX_TILE_ROUNDS = 8;

/* Maximum items of a full bin whose words a warp sorts, if few bins are full. */
constexpr unsigned RADIX_SPAN_MOST = 128;

__host__ __device__ constexpr unsigned radix_tile_blocks(size_t item_bytes)
{
    return item_bytes <= 8 ? 2 : 1;
}

/* Blocks per multiprocessor of the kernel that sorts items by words (radix_items.cuh). Words of 4
 * bytes were no faster, nor was reading items in groups of two or four. */
constexpr unsigned RADIX_ITEM_BLOCKS = 2;

/* radix_digit_sort.cu: threads per block, blocks per multiprocessor, and keys that a thread holds
 * in registers (of items, their keys). With 512 threads, a thread has 64 registers, and a block 58
 * to 75 KiB of shared memory. With 16 keys of 8 bytes, 32 bytes of registers spill: `zipf` f64 took
 * 1.09 times as long as with 14, and 1.35 times with 18.
 *
 * Items have one large tile, as a long run of items with one digit touches fewer sectors of memory
 * at its ends: 1e8 pairs `hot-digits` take 8.67 ms with 768 threads and 18 keys, 9.44 with two
 * blocks of 512 and 12, and 10.3 with three of 256 and 18. A block has 134 KiB of shared memory
 * (H100, 2026-11-26). */
__host__ __device__ constexpr unsigned radix_digit_threads(size_t item_bytes)
{
    return item_bytes <= 8 ? 512 : 768;
}
__host__ __device__ constexpr unsigned radix_digit_blocks(size_t item_bytes)
{
    return item_bytes <= 8 ? 2 : 1;
}
__host__ __device__ constexpr unsigned radix_digit_keys(size_t item_bytes)
{
    return item_bytes <= 4 ? 20 : item_bytes == 8 ? 14 : 18;
}

/* In a pass a thread does one step of look-back after each of its keys: 1.760 ms for 1e8 f32. Two
 * steps after every second key took 1.791, one step after every second key 1.844.
 *
 * A warp whose first row of keys has at most RADIX_EARLY_FEW_DIGITS distinct digits finds the lanes
 * of each digit by __match_any_sync, which takes a step per digit. For u32+u32 `hidden` it takes
 * 2.49 ms with 6, 2.52 with 12 and 2.62 with 20; f32 `few-distinct` does not differ. f32 takes
 * 3.31 ms instead of 1.77 if all warps do so (H200, 2026-11-22). */
constexpr unsigned RADIX_EARLY_FEW_DIGITS = 6;

/* Counting of digits: threads per block, blocks per multiprocessor, 16-byte words that a thread
 * loads at once, and columns (counters of 4 bytes) per value, which take 64 KiB per block. 1e8 f32
 * took 121 us with 4 words and 16 columns, 130 with 2 words, 145 with 8 columns and 2 words. It
 * took 120 with 32 columns and one block per multiprocessor, but not all devices have the 128 KiB
 * for that. Two counters of 16 bits per word took 226 (H200, 2026-11-22).
 */
constexpr unsigned RADIX_DIGIT_COUNT_THREADS = 1024;
constexpr unsigned RADIX_DIGIT_COUNT_BLOCKS = 2;
__host__ __device__ constexpr unsigned radix_digit_count_words(size_t item_bytes)
{
    return item_bytes <= 4 ? 4 : 2;
}
__host__ __device__ constexpr unsigned radix_digit_columns(unsigned digits)
{
    return digits <= 4 ? 16 : 8;
}

/* The first read of an array (radix_look.cuh): threads per block, half of which hold 16 keys of the
 * sample; number of items at even distances that every block compares first; blocks per
 * multiprocessor, which together have 64 KiB of loads in flight; slots of a hash table that a drawn
 * key tries; only keys that were made to collide need more. */
constexpr unsigned RADIX_LOOK_THREADS = 512;
constexpr unsigned RADIX_LOOK_SPREAD = 128;
constexpr unsigned RADIX_LOOK_BLOCKS = 2;
constexpr unsigned RADIX_LOOK_PROBES = 128;

/* Counting of few values (radix_few.cuh): slots of a block's hash table, and the maximum number of
 * values, which is half of that. A table has 64 KiB for keys of 4 bytes and 96 KiB for 8 bytes, so
 * that 2 blocks fit on a multiprocessor. A value is searched for in RADIX_FEW_PROBES slots, from
 * its own slot on. */
constexpr unsigned RADIX_FEW_SLOTS = 8192;
constexpr unsigned RADIX_FEW_MOST = RADIX_FEW_SLOTS / 2;
constexpr unsigned RADIX_FEW_PROBES = 128;
constexpr unsigned RADIX_FEW_THREADS = 1024;
constexpr unsigned RADIX_FEW_BLOCKS = 2; /* per multiprocessor */
constexpr unsigned RADIX_FEW_RUN_THREADS = 128;

/* Maximum number of times that buckets too large for a tile are partitioned again, each time with a
 * new model; a refused strategy counts as one. After that the whole array is merge sorted. */
constexpr unsigned RADIX_ROUNDS = 8;
constexpr size_t RADIX_MERGE_TILE = 4096; /* of segmented-merge */

/* Counting of 1- and 2-byte keys: threads per block, 16-byte words that a thread loads at once,
 * blocks per multiprocessor, and pieces of the scan over the values of 2-byte keys. 1e9 u16 took
 * 2.15 ms with 1 word, 2.01 with 2 and 1.95 with 4, but with 4 words 1e5 keys took a twentieth
 * longer. 1e9 u8 took 0.70 with 1 word, 0.73 with 2. Pieces of 256 to 1,024 values are equally fast
 * (H200, 2026-11-22). */
constexpr unsigned COUNTING_THREADS = 1024;
__host__ __device__ constexpr unsigned counting_words(size_t item_bytes)
{
    return item_bytes == 1 ? 1 : 2;
}
__host__ __device__ constexpr unsigned counting_blocks(size_t item_bytes)
{
    return item_bytes == 1 ? 2 : 1;
}
constexpr unsigned COUNTING_SCANS = 64;

/* Filling the output: minimum number of warps per multiprocessor, and maximum number of rows per
 * warp. 1e9 u16 took 2.26 ms with 2 rows, 2.01 with 4, 1.98 with 8. With 16 and 64 rows it took as
 * long as with 8, but 1e8 f16 took a tenth longer. */
constexpr unsigned COUNTING_FILL_WARPS = 64;
constexpr unsigned COUNTING_FILL_ROWS = 8;

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
