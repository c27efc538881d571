/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_radix.h - the constants that radix is tuned with, and the paths that it takes: models,
 * digits, few values, short keys. See tuning.h.
 *
 * Measured on an H200 (132 multiprocessors, 227 KiB of shared memory and 65,536 registers each);
 * docs/performance_log.md has what else was tried.
 */
#ifndef CUDA_TUNING_RADIX_H
#define CUDA_TUNING_RADIX_H

#include <cuda_runtime.h>
#include <stddef.h>

/* Buckets that a partition makes, as bits: 2^18 buckets after two, of 3,900 keys each at 1e9. The
 * kernels have a thread for each. */
constexpr unsigned RADIX_WAYS_BITS = 9;
constexpr unsigned RADIX_WAYS = 1u << RADIX_WAYS_BITS;

/* The model: cells of the root and of a node as bits, and nodes; 8 bytes an entry, 16 KiB in all,
 * which each block keeps in shared memory. A cell with 2^-RADIX_HEAVY_BITS of the sample and
 * RADIX_HEAVY_LEAST keys is cut, and an uneven one with RADIX_UNEVEN_LEAST keys. */
constexpr unsigned RADIX_ROOT_BITS = 10;
constexpr unsigned RADIX_NODE_BITS = 5;
constexpr unsigned RADIX_NODES = 32;
constexpr unsigned RADIX_HEAVY_BITS = 5;
constexpr unsigned RADIX_HEAVY_LEAST = 256;
constexpr unsigned RADIX_UNEVEN_LEAST = 32;

/* The sample: one key in 2^7, but 2^12 at least (of few keys, one in 2^4), and at most 2^own_bits
 * for each thread of the learning block, in 32 registers: 2^14 keys of 8 bytes. One that parts 2e6
 * keys into 511 buckets then has 32 keys for each, so that buckets are off by a sixth. */
constexpr unsigned RADIX_SAMPLE_RARITY_BITS = 7;
constexpr unsigned RADIX_SAMPLE_BITS_LEAST = 12;
__host__ __device__ constexpr unsigned radix_sample_own_bits(size_t item_bytes)
{
    return item_bytes <= 8 ? 4 : 3;
}

/* Keys of the sample for each cell of the root, as bits. The first of two partitions needs buckets
 * that are roughly even, of keys that may crowd into few cells: many cells. The last one's model
 * also places keys in tiles, where the density of a cell matters: 64 keys tell it to an eighth. */
constexpr unsigned RADIX_FIRST_ROOT_RARITY_BITS = 4;
constexpr unsigned RADIX_LAST_ROOT_RARITY_BITS = 6;

/* A block of the partition: threads, and keys a thread holds in registers. 6,144 keys of 8 bytes
 * with their buckets, the model and the counters take 82 KiB: 2 blocks a multiprocessor, so that
 * one loads while the other scatters. */
constexpr unsigned RADIX_PARTITION_THREADS = 512;
constexpr unsigned RADIX_PARTITION_BLOCKS = 2; /* a multiprocessor */
__host__ __device__ constexpr unsigned radix_partition_keys(size_t item_bytes)
{
    return item_bytes <= 4 ? 16 : item_bytes == 8 ? 12 : 8;
}

/* Blocks a multiprocessor of the kernels that need little shared memory. */
constexpr unsigned RADIX_COUNT_BLOCKS = 2;
constexpr unsigned RADIX_COPY_BLOCKS = 8;

/* A block of the tile sort: threads, keys that a thread reads, and bins that a thread scans. 6,144
 * keys of 8 bytes with bins, model and splitters take 88 KiB: 2 blocks a multiprocessor (16 bytes:
 * 154 KiB, 1 block). For the 3,900 keys of a bucket there is about one bin a key. */
constexpr unsigned RADIX_TILE_THREADS = 512;
constexpr unsigned RADIX_TILE_KEYS = 12;
constexpr unsigned RADIX_THREAD_BINS = 8;

/* Where the model fails a tile, 512 of its keys part it: 8 keys between two of them in the mean,
 * 50 at most as a rule. A bin of so many keys as the limit tells that the model fails; of items,
 * which have an order within equal keys too, fewer do: with about one bin an item, a bin of 12 is
 * not chance. The windows of a tile are sorted so many rounds at most. */
constexpr unsigned RADIX_SPLITTERS = 512;
__host__ __device__ constexpr unsigned radix_bin_limit(size_t item_bytes)
{
    return item_bytes <= 8 ? 32 : 12;
}
constexpr unsigned RADIX_TILE_ROUNDS = 8;

/* A full bin of so many keys at most is sorted by a warp, if few are full: with 512 of them it
 * takes 30 us. */
constexpr unsigned RADIX_SPAN_MOST = 128;

__host__ __device__ constexpr unsigned radix_tile_blocks(size_t item_bytes)
{
    return item_bytes <= 8 ? 2 : 1;
}

/* Where items are sorted by words (radix_items.cuh): blocks a multiprocessor. Words of 4 bytes, and
 * items read by twos and by fours, are no faster. */
constexpr unsigned RADIX_ITEM_BLOCKS = 2;

/* The sort digit by digit (radix_digits.cuh): threads of a block, keys that a thread holds in
 * registers, of items their keys, and blocks a multiprocessor: 64 registers, and 53 to 94 KiB of
 * shared memory a block (nvcc 13.0, sm_90). The last turn of all blocks takes as long as any: so
 * where another number of keys takes less than nine tenths of the turns' time, it is taken. Keys of
 * 8 bytes with 13 and 15: 2,000,000 f64 of `hot-digits` 0.254 and 0.246 ms, 3,000,000 0.308 and
 * 0.322. Keys of 4 bytes above an index with 15, 18 and 19: `hidden` 1e8 2.434, 2.372 and 2.358,
 * but 3,000,000 of an organ pipe 0.158 with 15 and 0.177 with 18. Of few keys in all: 500,000 f32
 * of `hot-digits` 0.051 ms with 8, 0.045 with 12, 0.047 with 20; 1,000,000 f64 0.150 with 6, 0.138
 * with 8; 500,000 pairs 0.136, 0.126 (H200, 2026-11-22). */
constexpr unsigned RADIX_DIGIT_THREADS = 512;
constexpr unsigned RADIX_DIGIT_BLOCKS = 2;
struct radix_keys_choice {
    unsigned usual, other;
    unsigned few; /* of few keys in all (struct radix_tuning) */
};
__host__ __device__ constexpr struct radix_keys_choice radix_digit_keys(size_t item_bytes,
                                                                        bool is_above_index)
{
    return item_bytes <= 4  ? radix_keys_choice{20, 20, 12}
           : item_bytes > 8 ? radix_keys_choice{12, 12, 8}
           : is_above_index ? radix_keys_choice{19, 15, 12}
                            : radix_keys_choice{13, 15, 8};
}
/* Tiles that a thread looks back at a time: each look is a wait for the L2 cache. With 1 in place
 * of 4, 1e8 doubles took 7.0 ms in place of 6.4; with 8, 6.4. */
constexpr unsigned RADIX_LOOK_TILES = 4;

/* Where digits are counted first (radix_digits_early.cuh), a thread looks at a tile after each of
 * its keys: 1.760 ms for 1e8 f32; 2 after every second 1.791, 1 after every second 1.844. A warp
 * whose first row has at most so many digits asks for each which lanes have it: u32+u32
 * `hidden` 2.49 for 2.52 with 12 and 2.62 with 20, f32 `few-distinct` even; all warps 3.31 for 1.77
 * (H200, 2026-11-22). */
constexpr unsigned RADIX_EARLY_FEW_DIGITS = 6;

/* Where digits are counted: words of 16 bytes that a thread has on their way, and columns of 4
 * bytes for each value, 64 KiB of them a block. 1e8 f32 took 121 us with 4 words and 16 columns,
 * 130 with 2, 145 with 8 columns and 2 words, 120 with 32 columns and one block a multiprocessor,
 * whose 128 KiB not all devices have (H200, 2026-11-22; 226 with two counters of 16 bits a word).
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

/* The first look at an array (radix_look.cuh): threads of a block, which hold 8 keys of the sample
 * each; items at even distances that every block compares; blocks a multiprocessor, with 64 KiB of
 * items on their way. */
constexpr unsigned RADIX_LOOK_THREADS = 512;
constexpr unsigned RADIX_LOOK_SPREAD = 128;
constexpr unsigned RADIX_LOOK_BLOCKS = 4;

/* Few values are counted (radix_few.cuh): slots of a block's table, and half as many values at the
 * most: 64 KiB for keys of 4 bytes, and 96 for 8, so that 2 blocks have room on a multiprocessor. A
 * value is looked for in this number of slots from its own on. */
constexpr unsigned RADIX_FEW_SLOTS = 8192;
constexpr unsigned RADIX_FEW_MOST = RADIX_FEW_SLOTS / 2;
constexpr unsigned RADIX_FEW_PROBES = 128;
constexpr unsigned RADIX_FEW_THREADS = 1024;
constexpr unsigned RADIX_FEW_BLOCKS = 2; /* a multiprocessor */
constexpr unsigned RADIX_FEW_RUN_THREADS = 1024;

/* Up to this count of 1- and 2-byte keys segmented-merge is faster: it needs fewer launches. */
constexpr size_t RADIX_COUNT_LEAST = 4096;

/* Buckets that fit no tile are parted again so many times, each with a new model, before all is
 * merge sorted. */
constexpr unsigned RADIX_ROUNDS = 8;
constexpr size_t RADIX_MERGE_TILE = 4096; /* of segmented-merge */

/* Counting of 1- and 2-byte keys: threads of a block, 16-byte words that each has on its way,
 * blocks a multiprocessor, and pieces of the scan over the values of 2 bytes. 1e9 u16 took 2.15 ms
 * with a word, 2.01 with two, 1.95 with four, but 1e5 a twentieth more with these; u8 0.70 with
 * one, 0.73 with two; pieces of 256 to 1,024 values are as fast (H200, 2026-11-22). */
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

/* To fill: warps that a multiprocessor is to have at the least, and rows of a warp at the most. 1e9
 * u16 took 2.26 ms with 2 rows, 2.01 with 4, 1.98 with 8; 16 and 64 are as fast there, and a tenth
 * slower for 1e8 f16. */
constexpr unsigned COUNTING_FILL_WARPS = 64;
constexpr unsigned COUNTING_FILL_ROWS = 8;

#endif
