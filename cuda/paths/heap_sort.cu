/* SPDX-License-Identifier: Apache-2.0 */
/* heap_sort.cu - tiles sorted by heaps in shared memory, then segmented merges.
 *
 * Heaps are small: HEAP_THREADS threads share a heap of 8 keys per thread, and a warp works on all
 * its heaps in step. A heap goes through two phases.
 *
 * Build (Floyd): level by level from the bottom. The subtrees under the nodes of one level are
 * disjoint. So each thread sifts down other nodes of a level at the same time, with a barrier
 * between levels.
 *
 * Extract. In the textbook, extractions run one after another and leave all threads but one idle:
 * each moves the last leaf to the root, and the next must wait until that key has sunk. Here, the
 * least key leaves a hole at the root. The smaller child of a hole moves up into it, and the hole
 * sinks one level, until key_max fills it at a leaf. No leaf has to move, so extractions follow
 * each other as waves, one per thread:
 *
 *     step         2w        2w + 1     2w + 2     2w + 3
 *     wave w       level 0   level 1    level 2    level 3      level of its hole
 *     wave w + 1                        level 0    level 1
 *
 * A hole at level d is written, and its children at level d + 1 are read. The wave before is two
 * levels below, at d + 2 and d + 3, and its hole at d + 1 was filled in the step before. So no wave
 * touches a node that another one touches in the same step, and a warp barrier between steps is
 * enough.
 *
 * docs/algorithms.md explains why a kernel with neither the barrier nor the distance loses keys.
 *
 * Data: items -> striped registers, encoded -> heaps in shared memory -> sorted runs -> merge
 * rounds in shared memory (block_pairs.cuh) -> target; then segmented merges of the tiles.
 *
 * Source: J. W. J. Williams, "Algorithm 232: Heapsort", CACM 1964; R. W. Floyd, "Algorithm 245:
 * Treesort 3", CACM 1964; waves through a heap as in the pipelined priority queues of V. N. Rao, V.
 * Kumar, "Concurrent access of priority queues", IEEE Trans. Computers 1988.
 */
#include "cuda/block/block_tile.cuh"
#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/merge/block_pairs.cuh"

/* Node i has children 2 i + 1 and 2 i + 2. */
constexpr unsigned HEAP_KEYS = HEAP_THREADS * KEYS_PER_THREAD;

/* A wave takes log2 HEAP_KEYS + 1 steps. Its thread starts the next wave 2 HEAP_THREADS steps after
 * it. */
static_assert(HEAP_THREADS >= 4 && HEAP_THREADS <= THREADS_PER_WARP, "a heap is a warp's at most");
static_assert((HEAP_THREADS & (HEAP_THREADS - 1)) == 0, "runs grow by powers of two");

/* A heap in the tile; `root` is the index of its root there. */
template <typename K>
struct heap {
    K *tile;
    unsigned root;
};

template <typename K>
__device__ __forceinline__ K &heap_node(const struct heap<K> &heap, unsigned i)
{
    return heap.tile[tile_slot<K>(heap.root + i)];
}

/* Returns the child with the smaller key; HEAP_KEYS or more for a leaf. The last parent has one
 * child. */
template <typename K>
__device__ __forceinline__ unsigned heap_smaller_child(const struct heap<K> &heap, unsigned parent)
{
    const unsigned left = 2 * parent + 1, right = left + 1;
    return right < HEAP_KEYS && heap_node(heap, right) < heap_node(heap, left) ? right : left;
}

/* Sinks the key of a node until no child has a smaller key. Both children must be heaps. */
template <typename K>
__device__ __forceinline__ void thread_sift_down(const struct heap<K> &heap, unsigned parent)
{
    const K key = heap_node(heap, parent);
    unsigned child = heap_smaller_child(heap, parent);
    while (child < HEAP_KEYS && heap_node(heap, child) < key) {
        heap_node(heap, parent) = heap_node(heap, child);
        parent = child;
        child = heap_smaller_child(heap, parent);
    }
    heap_node(heap, parent) = key;
}

/* Makes heaps of the keys in the tile. Ends with a warp barrier. */
template <typename K>
__device__ __forceinline__ void warp_build_heaps(const struct heap<K> &heap)
{
    for (unsigned nodes = HEAP_KEYS / 2; nodes > 0; nodes /= 2) {
        for (unsigned i = threadIdx.x % HEAP_THREADS; i < nodes; i += HEAP_THREADS)
            thread_sift_down(heap, nodes - 1 + i);
        __syncwarp();
    }
}

/* Fills the hole from below. Returns the new position of the hole, or HEAP_KEYS if there is none.
 */
template <typename K>
__device__ __forceinline__ unsigned thread_sink_hole(const struct heap<K> &heap, unsigned hole)
{
    if (hole >= HEAP_KEYS)
        return HEAP_KEYS;
    const unsigned child = heap_smaller_child(heap, hole);
    if (child >= HEAP_KEYS) {
        heap_node(heap, hole) = key_max<K>();
        return HEAP_KEYS;
    }
    heap_node(heap, hole) = heap_node(heap, child);
    return child;
}

/* Empties the heaps: keys[i] is key number i HEAP_THREADS + t of the heap in order, where t is the
 * thread's number within the heap. Ends with a warp barrier. */
template <typename K>
__device__ __forceinline__ void warp_extract_heaps(const struct heap<K> &heap,
                                                   K (&keys)[KEYS_PER_THREAD])
{
    const unsigned start = 2 * (threadIdx.x % HEAP_THREADS);
    unsigned hole = HEAP_KEYS;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
#pragma unroll 1
        for (unsigned step = 0; step < 2 * HEAP_THREADS; step++) {
            if (step == start) {
                keys[i] = heap_node(heap, 0);
                hole = 0;
            }
            hole = thread_sink_hole(heap, hole);
            __syncwarp();
        }
}

/* In: striped keys. Out: sorted runs of HEAP_KEYS, every other one of which descends, without gaps
 * in the tile. Ends with a barrier. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void block_heap_sort(K (&keys)[KEYS_PER_THREAD], K *tile)
{
    const unsigned thread = threadIdx.x % HEAP_THREADS;
    const unsigned first = (threadIdx.x - thread) * KEYS_PER_THREAD;
    const unsigned turn = first & HEAP_KEYS ? HEAP_KEYS - 1 : 0;
    const struct heap<K> heap = {
        tile, first
    };
    thread_store_striped<K, TILE>(keys, tile);
    __syncthreads();
    warp_build_heaps(heap);
    warp_extract_heaps(heap, keys);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        tile[first + ((i * HEAP_THREADS + thread) ^ turn)] = keys[i];
    __syncthreads();
}

/* Writes sorted tiles from source to target, which may be the same. One block per tile. */
template <typename K, unsigned TILE>
__global__ void __launch_bounds__(block_threads<TILE>())
    heap_sort_kernel(const K *source, K *target, size_t count, struct key_order encoding,
                     struct key_order decoding)
{
    __shared__ K tile[tile_slot<K>(TILE)];
    __shared__ unsigned splits[block_threads<TILE>()];
    const size_t first = static_cast<size_t>(blockIdx.x) * TILE;
    const unsigned in_tile = count - first < TILE ? static_cast<unsigned>(count - first) : TILE;
    K keys[KEYS_PER_THREAD];
    block_load_striped<K, TILE>(source + first, in_tile, encoding, keys);
    block_heap_sort<K, TILE>(keys, tile);
    block_merge_tile<K, TILE>(tile, splits, HEAP_KEYS, target + first, in_tile, decoding);
}

static bool heap_sort_tiles(const struct cuda_sort *sort, void *target, struct key_order decoding,
                            struct error *error)
{
    return dispatch(sort, error, [&](auto key, auto tile) {
        using K = decltype(key);
        return launch_kernel(
            launch_for(*sort, "heap_sort_kernel", launch_blocks(sort->count, tile()),
                       block_threads<tile()>()),
            error, heap_sort_kernel<K, tile()>, static_cast<const K *>(sort->items),
            static_cast<K *>(target), sort->count, sort->order, decoding);
    });
}

bool heap_sort(const struct cuda_sort *sort, struct error *error)
{
    return segmented_merge_runs(sort, heap_sort_tiles, error);
}
