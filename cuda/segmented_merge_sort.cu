/* segmented_merge_sort.cu - merge sort whose merges are cut into equal parts of the output.
 *
 * A round has two kernels. The first finds, for the start of each part of TILE keys of the output,
 * how many keys of run a lie before it (its split on the merge path). In the second a block makes
 * one part: it loads its piece of a and its piece of b into shared memory, its threads cut the part
 * again into 8 keys each, and the merged keys leave through shared memory, coalesced. So every
 * block moves the same number of keys, whatever their distribution, and every key is read once and
 * written once a round.
 *
 * Source: Odeh et al., "Merge Path", IPDPS Workshops 2012; S. Baxter, "moderngpu", 2013.
 */
#include "cuda/block_merge.cuh"
#include "cuda/block_tile.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/merge_runs.cuh"

/* splits[p]: how many keys of run a of its pair go before part p. */
template <typename K, unsigned TILE>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    merge_partition_kernel(const K *source, struct run_list list, size_t *splits)
{
    const size_t part = static_cast<size_t>(blockIdx.x) * THREADS_PER_BLOCK + threadIdx.x;
    const size_t first = part * TILE;
    if (first >= list.count)
        return;
    const struct run_pair pair = run_pair_at(list, first);
    splits[part] = thread_merge_path(source + pair.a, pair.a_count, source + pair.b, pair.b_count,
                                     first - pair.a);
}

/* A block's piece of each run, and how much it makes of them. */
struct merge_part {
    size_t a;
    size_t b;
    unsigned a_count;
    unsigned count; /* of both */
};

template <unsigned TILE>
__device__ __forceinline__ struct merge_part merge_part_find(const struct run_list &list,
                                                             const size_t *splits, size_t part)
{
    const size_t first = part * TILE;
    const struct run_pair pair = run_pair_at(list, first);
    const size_t diagonal = first - pair.a;
    const size_t left = pair.a_count + pair.b_count - diagonal;
    const size_t split = splits[part];
    const size_t next_split = left <= TILE ? pair.a_count : splits[part + 1];
    const struct merge_part found = {pair.a + split, pair.b + diagonal - split,
                                     static_cast<unsigned>(next_split - split),
                                     left < TILE ? static_cast<unsigned>(left) : TILE};
    return found;
}

template <typename K, unsigned TILE>
__global__ void __launch_bounds__(block_threads<TILE>())
    merge_parts_kernel(const K *__restrict__ source, K *__restrict__ target, struct run_list list,
                       const size_t *__restrict__ splits, struct key_order decoding)
{
    __shared__ K tile[tile_slot<K>(TILE)];
    __shared__ unsigned thread_splits[block_threads<TILE>()];
    const struct merge_part part = merge_part_find<TILE>(list, splits, blockIdx.x);
    const K *const a = source + part.a;
    const K *const b = source + part.b;
    K keys[KEYS_PER_THREAD];
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        const unsigned index = thread_striped_index<TILE>(i);
        keys[i] = key_infinity<K>(); /* lengthens b of the last part to a full tile */
        if (index < part.count)
            keys[i] = index < part.a_count ? a[index] : b[index - part.a_count];
    }
    thread_store_striped<K, TILE>(keys, tile);
    __syncthreads();
    const struct tile_runs runs = {0, part.a_count, part.a_count, TILE - part.a_count};
    block_merge(tile, thread_splits, runs, threadIdx.x * KEYS_PER_THREAD, keys);
    block_store_blocked<K, TILE>(keys, tile, target + static_cast<size_t>(blockIdx.x) * TILE,
                                 part.count, decoding);
}

template <typename K, unsigned TILE>
struct segmented_merge_path {
    static bool round(const struct cuda_sort *sort, struct error *error,
                      const struct merge_round &round)
    {
        const size_t parts = launch_blocks(sort->count, TILE);
        size_t *const splits = static_cast<size_t *>(sort->workspace);
        const K *const source = static_cast<const K *>(round.source);
        const struct launch partition = {"merge_partition_kernel",
                                         launch_blocks(parts, THREADS_PER_BLOCK), THREADS_PER_BLOCK,
                                         sort->device, sort->stream};
        const struct launch merge = {"merge_parts_kernel", parts, block_threads<TILE>(),
                                     sort->device, sort->stream};
        return launch_kernel(partition, error, merge_partition_kernel<K, TILE>, source, round.list,
                             splits) &&
               launch_kernel(merge, error, merge_parts_kernel<K, TILE>, source,
                             static_cast<K *>(round.target), round.list, splits, round.decoding);
    }

    static bool run(const struct cuda_sort *sort, struct error *error,
                    tile_sort_function *sort_tiles)
    {
        return merge_runs<segmented_merge_path>(sort, sort_tiles, error);
    }
};

bool segmented_merge_runs(const struct cuda_sort *sort, tile_sort_function *sort_tiles,
                          struct error *error)
{
    return dispatch<segmented_merge_path>(sort, error, sort_tiles);
}

bool segmented_merge_sort(const struct cuda_sort *sort, struct error *error)
{
    return segmented_merge_runs(sort, tile_sort, error);
}

size_t merge_workspace_bytes(size_t count, size_t tile_size, unsigned)
{
    return launch_blocks(count, tile_size) * sizeof(size_t);
}
