/* SPDX-License-Identifier: Apache-2.0 */
/* radix_fetch.cuh - the end of a sort by words (radix_words.cuh): each word's key is fetched from
 * its place, and runs of keys that share a code are brought in order on the way.
 *
 *   words in order of codes, keys in order of places --radix_fetch_kernel--> items, in order; runs
 *                                                        that it leaves, listed
 *
 * A block has the words of a tile and writes their items. A run of up to RADIX_MEND_MOST keys that
 * goes on in the next tile is the block's in which it begins; of a longer one each block writes
 * what lies in its tile, as the words are, and lists it if that is not in order. What is read is
 * not written, so that blocks do not meet. How a run is brought in order is told in
 * radix_runs.cuh.
 */
#ifndef CUDA_RADIX_FETCH_CUH
#define CUDA_RADIX_FETCH_CUH

#include "cuda/radix_runs.cuh"
#include "cuda/radix_words.cuh"

constexpr unsigned RADIX_FETCH_TILE = RADIX_MEND_THREADS * RADIX_FETCH_KEYS;
/* Keys of a thread with what a tile has of the next one. */
constexpr unsigned RADIX_FETCH_ROWS = RADIX_FETCH_KEYS + RADIX_MEND_MOST / RADIX_MEND_THREADS;
static_assert(RADIX_FETCH_TILE > RADIX_MEND_MOST, "a run that is mended ends in the next tile");

struct radix_fetch_task {
    struct radix_mend_task<key_u128> mend; /* items: those to be written */
    const uint64_t *words;
    const uint64_t *keys;
};

/* Keys and codes of a tile, and of the next one, in shared memory; [-1] is before the tile. */
struct radix_fetch_tile {
    uint64_t *words; /* keys */
    uint32_t *codes;
    uint32_t *places;
    unsigned *falls; /* a bit for each key that is less than the one before it */
    size_t first;    /* place of words[0] */
    unsigned count;
    const uint64_t *all; /* words, all of them */
};

__device__ __forceinline__ uint32_t thread_code_of(uint64_t word)
{
    return static_cast<uint32_t>(word >> RADIX_WORD_CODE_BITS);
}

__device__ __forceinline__ uint32_t thread_tile_code(const struct radix_fetch_tile &tile,
                                                     unsigned index)
{
    return tile.codes[index];
}

__device__ __forceinline__ uint64_t thread_place_code(const struct radix_mend_task<key_u128> &,
                                                      const struct radix_fetch_tile &tile,
                                                      size_t place)
{
    return thread_code_of(tile.all[place]);
}

/* Puts a word and its key into the tile. */
__device__ __forceinline__ void thread_put_key(const struct radix_fetch_tile &tile, unsigned index,
                                               uint64_t word, uint64_t key)
{
    tile.codes[index] = thread_code_of(word);
    tile.places[index] = static_cast<uint32_t>(word);
    tile.words[index] = key;
}

/* Reads the tile, the word and key before it, and the code behind it. Begins and ends with a
 * barrier. */
__device__ __forceinline__ void block_fetch_tile(const struct radix_fetch_task &task,
                                                 const struct radix_fetch_tile &tile)
{
    uint64_t words[RADIX_FETCH_KEYS], keys[RADIX_FETCH_KEYS];
    const uint64_t *const source = task.words + tile.first;
#pragma unroll
    for (unsigned i = 0; i < RADIX_FETCH_KEYS; i++) {
        const unsigned index = i * RADIX_MEND_THREADS + threadIdx.x;
        words[i] = source[min(index, tile.count - 1)];
    }
#pragma unroll
    for (unsigned i = 0; i < RADIX_FETCH_KEYS; i++)
        keys[i] = task.keys[static_cast<uint32_t>(words[i])];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < RADIX_FETCH_KEYS; i++)
        thread_put_key(tile, i * RADIX_MEND_THREADS + threadIdx.x, words[i], keys[i]);
    if (threadIdx.x == 0 && tile.first > 0) {
        const uint64_t before = source[-1];
        tile.codes[-1] = thread_code_of(before);
        tile.words[-1] = task.keys[static_cast<uint32_t>(before)];
    }
    if (threadIdx.x == THREADS_PER_WARP && tile.first + tile.count < task.mend.count)
        tile.codes[RADIX_FETCH_TILE] = thread_code_of(source[RADIX_FETCH_TILE]);
    __syncthreads();
}

/* How many of the tile have that code, for the whole block. */
__device__ __forceinline__ unsigned block_count_codes(const struct radix_fetch_tile &tile,
                                                      uint32_t code)
{
    int all = 0;
#pragma unroll 1
    for (unsigned i = 0; i < RADIX_FETCH_KEYS; i++) {
        const unsigned index = i * RADIX_MEND_THREADS + threadIdx.x;
        all += __syncthreads_count(index < tile.count && tile.codes[index] == code);
    }
    return static_cast<unsigned>(all);
}

/* The part of a tile that is written, and what of it has whole runs, which are mended. */
struct radix_fetch_parts {
    struct radix_mend_part written;
    struct radix_mend_part mended;
};

/* Lists the run that keys [begin..end) are of, and which is too long, if any of them falls. */
__device__ __forceinline__ void block_list_long(const struct radix_fetch_task &task,
                                                const struct radix_fetch_tile &tile, unsigned begin,
                                                unsigned end, bool is_from_before)
{
    bool falls = false;
    for (unsigned i = begin + threadIdx.x; i < end; i += RADIX_MEND_THREADS) {
        const uint64_t *const key = tile.words + i;
        falls = falls || ((i > begin || is_from_before) && key[0] < key[-1]);
    }
    if (__syncthreads_or(falls) && threadIdx.x == 0)
        thread_list_run(task.mend, tile, tile.codes[begin]);
}

/* The first run of the tile, which has begun before. */
__device__ __forceinline__ void block_part_first(const struct radix_fetch_task &task,
                                                 const struct radix_fetch_tile &tile,
                                                 struct radix_fetch_parts &parts)
{
    const uint32_t code = tile.codes[0];
    const unsigned within = block_count_codes(tile, code);
    const bool is_there = threadIdx.x < tile.first; /* so many before the tile */
    const unsigned before = static_cast<unsigned>(__syncthreads_count(
        is_there && thread_code_of(task.words[tile.first - 1 - threadIdx.x]) == code));
    parts.mended.begin = within;
    if (before + within > RADIX_MEND_MOST)
        block_list_long(task, tile, 0, within, true);
    else
        parts.written.begin = within;
}

/* The last run of the tile, which goes on and has not begun before it. */
__device__ __forceinline__ void block_part_last(const struct radix_fetch_task &task,
                                                const struct radix_fetch_tile &tile,
                                                struct radix_fetch_parts &parts)
{
    const uint32_t code = tile.codes[tile.count - 1];
    const unsigned within = block_count_codes(tile, code);
    const size_t place = tile.first + tile.count + threadIdx.x;
    const uint64_t word = task.words[min(place, task.mend.count - 1)];
    const bool is_in = place < task.mend.count && thread_code_of(word) == code;
    const unsigned behind = static_cast<unsigned>(__syncthreads_count(is_in));
    if (within + behind > RADIX_MEND_MOST) {
        parts.mended.end = tile.count - within;
        block_list_long(task, tile, tile.count - within, tile.count, false);
        return;
    }
    if (is_in)
        thread_put_key(tile, tile.count + threadIdx.x, word,
                       task.keys[static_cast<uint32_t>(word)]);
    parts.mended.end = parts.written.end = tile.count + behind;
    __syncthreads();
}
static_assert(RADIX_MEND_MOST == RADIX_MEND_THREADS, "a key of the next tile for each thread");

/* Finds the tile's parts, and fetches what it has of the next one. */
__device__ __forceinline__ struct radix_fetch_parts
block_find_parts(const struct radix_fetch_task &task, const struct radix_fetch_tile &tile)
{
    struct radix_fetch_parts parts = {{0, tile.count}, {0, tile.count}};
    const bool goes_on = tile.first + tile.count < task.mend.count &&
                         tile.codes[tile.count] == tile.codes[tile.count - 1];
    if (tile.first > 0 && tile.codes[-1] == tile.codes[0])
        block_part_first(task, tile, parts);
    if (goes_on && parts.mended.begin < tile.count)
        block_part_last(task, tile, parts);
    return parts;
}

/* Fetches the items of a tile. */
__device__ __forceinline__ void block_fetch_items(const struct radix_fetch_task &task,
                                                  const struct radix_fetch_tile &tile)
{
    block_fetch_tile(task, tile);
    const struct radix_fetch_parts parts = block_find_parts(task, tile);
    const bool falls = block_find_falls<RADIX_FETCH_ROWS>(tile, parts.mended) > 0;
    const uint64_t first_index = task.mend.plan->first_index;
    key_u128 *const items = task.mend.items + tile.first;
#pragma unroll 1
    for (unsigned index = parts.written.begin + threadIdx.x; index < parts.written.end;
         index += RADIX_MEND_THREADS) {
        const bool may_move = falls && index >= parts.mended.begin && index < parts.mended.end;
        const unsigned target =
            may_move ? thread_mend_target(task.mend, tile, parts.mended, index) : index;
        items[target] =
            static_cast<key_u128>(tile.words[index]) << 64 | (first_index + tile.places[index]);
    }
}

/* Fetches all items; nothing, if the plan has no passes. Any number of blocks. */
template <unsigned THREADS>
__global__ void __launch_bounds__(THREADS, RADIX_FETCH_BLOCKS)
    radix_fetch_kernel(struct radix_fetch_task task)
{
    thread_wait_for_grid();
    __shared__ uint64_t keys[1 + RADIX_FETCH_ROWS * THREADS];
    __shared__ uint32_t codes[1 + RADIX_FETCH_ROWS * THREADS];
    __shared__ uint32_t places[RADIX_FETCH_ROWS * THREADS];
    __shared__ unsigned falls[RADIX_FETCH_ROWS * THREADS / THREADS_PER_WARP];
    if (task.mend.plan->passes == 0)
        return;
    struct radix_fetch_tile tile = {keys + 1, codes + 1, places, falls, 0, 0, task.words};
    const size_t count = task.mend.count;
    const size_t stride = static_cast<size_t>(gridDim.x) * RADIX_FETCH_TILE;
    for (tile.first = static_cast<size_t>(blockIdx.x) * RADIX_FETCH_TILE; tile.first < count;
         tile.first += stride) {
        tile.count = static_cast<unsigned>(min(count - tile.first, size_t{RADIX_FETCH_TILE}));
        block_fetch_items(task, tile);
    }
    __syncthreads(); /* any thread may have listed a run */
    if (threadIdx.x == 0)
        thread_note_open(task.mend);
}

#endif
