/* SPDX-License-Identifier: Apache-2.0 */
/* segmented_merge_sort.cu - merge sort that merges several runs at a time, cut into equal parts of
 * the output.
 *
 * A round has two kernels. The first finds, for the start of each part of the output, the number of
 * keys of each run before it. In the second, a block makes one part: it copies its piece of each
 * run to shared memory, merges the pieces in pairs until one is left, and writes it. So every key
 * is read once and written once per round, for any fan-in. Every block moves the same number of
 * keys, for any distribution.
 *
 *     pieces in memory      0   1   2   3   4   5   6   7
 *     pairs in the block    0> <1   2> <3   4> <5   6> <7     > ascending, < descending
 *                           -----> <-----   -----> <-----
 *                           -------------> <-------------
 *                           ----------------------------->
 *
 * Pairs begin and end at a row of block_pairs.cuh. They are padded with key_max, which the merges
 * move to the end of the part. So a part is slightly shorter than the memory of its block.
 *
 * Runs of different lengths (struct run_bounds) are merged by the same kernels.
 *
 * Source: the cut by rank of Varman et al., instead of the two-way merge path of Odeh et al.,
 * "Merge Path", IPDPS Workshops 2012; several ways per pass as in N. Leischner, V.
 * Osipov, P. Sanders, "GPU Sample Sort", IPDPS 2010, and in external sorting.
 */
#include "cuda/block/block_scan.cuh"
#include "cuda/block/dispatch.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/merge/block_pairs.cuh"
#include "cuda/merge/merge_runs.cuh"

/* ---- cuts ----
 *
 * thread_select() cuts several sorted runs so that a given number of their keys, the least ones,
 * lie before the cuts.
 *
 * A run is divided into blocks of `step` keys, and a block is represented by its last key. The
 * blocks with the least last keys are taken. Then step is halved and the choice is repaired: some
 * runs take half a block more or less. With blocks of one key the cuts are exact. All halvings
 * together read about a dozen keys for each doubling of the runs' length. The first reads of each
 * halving are independent.
 *
 * Source: P. J. Varman, S. D. Scheufler, B. R. Iyer, G. R. Ricard, "Merging Multiple Lists on
 * Hierarchical-Memory Multiprocessors", JPDC 1991. */

/* Up to WAYS sorted runs (ways); some may be empty. */
template <typename K, unsigned WAYS>
struct sorted_ways {
    const K *first[WAYS];
    size_t count[WAYS];
};

/* The blocks taken, and those next to the cuts. All indices into the arrays are constants after
 * loops are unrolled, so the arrays stay in registers. */
template <typename K, unsigned WAYS>
struct ways_cut {
    size_t taken[WAYS]; /* number of keys */
    K left[WAYS];       /* the last key taken, if any */
    K right[WAYS];      /* the last key of the next block, if that is whole */
};

/* Returns the way with the least next block; WAYS if no whole block is left. Of equal keys, those
 * of a lower way go first. */
template <typename K, unsigned WAYS>
__device__ __forceinline__ unsigned thread_least_right(const struct sorted_ways<K, WAYS> &ways,
                                                       const struct ways_cut<K, WAYS> &cut,
                                                       size_t step, K *key)
{
    unsigned least = WAYS;
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (cut.taken[k] + step <= ways.count[k] && (least == WAYS || cut.right[k] < *key)) {
            least = k;
            *key = cut.right[k];
        }
    return least;
}

template <typename K, unsigned WAYS>
__device__ __forceinline__ unsigned thread_greatest_left(const struct ways_cut<K, WAYS> &cut,
                                                         K *key)
{
    unsigned greatest = WAYS;
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (cut.taken[k] > 0 && (greatest == WAYS || !(cut.left[k] < *key))) {
            greatest = k;
            *key = cut.left[k];
        }
    return greatest;
}

template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_take_block(const struct sorted_ways<K, WAYS> &ways,
                                                  unsigned way, size_t step,
                                                  struct ways_cut<K, WAYS> *cut)
{
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (k == way) {
            cut->taken[k] += step;
            cut->left[k] = cut->right[k];
            if (cut->taken[k] + step <= ways.count[k])
                cut->right[k] = ways.first[k][cut->taken[k] + step - 1];
        }
}

template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_return_block(const struct sorted_ways<K, WAYS> &ways,
                                                    unsigned way, size_t step,
                                                    struct ways_cut<K, WAYS> *cut)
{
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (k == way) {
            cut->taken[k] -= step;
            cut->right[k] = cut->left[k];
            if (cut->taken[k] > 0)
                cut->left[k] = ways.first[k][cut->taken[k] - 1];
        }
}

/* Takes blocks until `missing` of them are taken or no whole block is left. Then exchanges blocks
 * while a block not taken goes before one that is: fewer times than there are ways if the ways are
 * sorted. They are not if a copy between GPUs has delivered something else. */
template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_repair_cut(const struct sorted_ways<K, WAYS> &ways,
                                                  size_t step, size_t missing,
                                                  struct ways_cut<K, WAYS> *cut)
{
    for (unsigned exchanges = 0; exchanges <= WAYS;) {
        K next{}, last{};
        const unsigned least = thread_least_right(ways, *cut, step, &next);
        if (least == WAYS)
            return;
        if (missing > 0) {
            missing--;
        } else {
            const unsigned greatest = thread_greatest_left(*cut, &last);
            if (greatest == WAYS || last < next || (last == next && greatest <= least))
                return;
            exchanges++;
            thread_return_block(ways, greatest, step, cut);
        }
        thread_take_block(ways, least, step, cut);
    }
}

/* Sets cut->taken to the number of keys of each way among the `rank` least keys. `rank` is at most
 * the number of all keys. The result is the same for every caller, and no number falls as rank
 * grows. */
template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_select(const struct sorted_ways<K, WAYS> &ways, size_t rank,
                                              struct ways_cut<K, WAYS> *cut)
{
    unsigned ways_with_keys = 0;
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++) {
        cut->taken[k] = 0;
        ways_with_keys += ways.count[k] > 0;
    }
    if (rank == 0)
        return;
    size_t taken = 0;
    for (size_t step = (size_t)1 << (63 - __clzll(static_cast<long long>(rank))); step > 0;
         step /= 2) {
        /* Each way's cut is rounded down by half a block on average. The aim is reduced by the sum,
         * so the cuts are near their final positions from the start and seldom go back. */
        const size_t rounding = ways_with_keys / 2 * (step - 1);
        const size_t aim = rank > rounding ? (rank - rounding) & ~(step - 1) : 0;
#pragma unroll
        for (unsigned k = 0; k < WAYS; k++)
            if (cut->taken[k] + step <= ways.count[k])
                cut->right[k] = ways.first[k][cut->taken[k] + step - 1];
        thread_repair_cut(ways, step, (aim - taken) / step, cut);
        taken = 0;
#pragma unroll
        for (unsigned k = 0; k < WAYS; k++)
            taken += cut->taken[k];
    }
}

/* ---- parts of the output ---- */

constexpr unsigned MERGE_WAYS = 1u << MERGE_WAYS_BITS;
static_assert(MERGE_WAYS == MERGE_FEW_MOST, "struct merge_few has room for these");
constexpr unsigned MERGE_PAIRS = MERGE_WAYS / 2;

template <typename K>
constexpr unsigned MERGE_KEYS = merge_part_keys(sizeof(K));
template <typename K>
constexpr unsigned MERGE_THREADS = MERGE_KEYS<K> / ROW<K>;

/* Runs of any lengths, which follow each other. They are one group, number 0. */
struct run_bounds {
    size_t first[MERGE_WAYS + 1]; /* index of the first key of each run; then the end of the last */
    unsigned ways_bits;
};

/* Returns the index of the first key of run `way` of a group, counted from 0; of the way after the
 * last one, the end of the group. */
__device__ __forceinline__ size_t run_first(const struct run_bounds &bounds, unsigned, unsigned way)
{
    return bounds.first[way];
}

__device__ __forceinline__ size_t run_first(const struct run_list &list, unsigned group,
                                            unsigned way)
{
    return min(((static_cast<size_t>(group) << list.ways_bits) + way) * list.run, list.count);
}

/* The division of a round's groups into parts. */
struct merge_cut {
    unsigned part_keys;       /* the last part of a group has fewer */
    unsigned parts_per_group; /* the last group may have fewer */
    size_t parts;
};

/* Returns the number of keys of a part. Its pairs are padded to whole rows, which takes less than a
 * row for each of them but the last, which has the rest of the memory. */
template <typename K>
__host__ __device__ constexpr unsigned merge_part_length(unsigned ways_bits)
{
    return MERGE_KEYS<K> - ROW<K> * ((1u << ways_bits) / 2 - 1);
}

template <typename K>
static struct merge_cut merge_cut_make(const struct run_list &list)
{
    const unsigned part_keys = merge_part_length<K>(list.ways_bits);
    const size_t group = list.run << list.ways_bits; /* keys */
    const size_t in_group = launch_blocks(list.count < group ? list.count : group, part_keys);
    return {part_keys, static_cast<unsigned>(in_group),
            list.count / group * in_group + launch_blocks(list.count % group, part_keys)};
}

/* A part of the output. */
struct merge_part {
    unsigned group; /* number of its group */
    size_t first;   /* index of the group's first key */
    size_t rank;    /* number of keys of the group before the part */
    size_t left;    /* number of keys of the group from the part on */
};

template <typename Runs>
__device__ __forceinline__ struct merge_part
merge_part_at(const Runs &runs, const struct merge_cut &cut, unsigned index)
{
    const unsigned group = index / cut.parts_per_group;
    const size_t rank = static_cast<size_t>(index % cut.parts_per_group) * cut.part_keys;
    const size_t first = run_first(runs, group, 0);
    return {group, first, rank, run_first(runs, group, 1u << runs.ways_bits) - first - rank};
}

/* splits[p << ways_bits | k]: the number of keys of way k of its group that go before part p. One
 * thread per part. */
template <typename K, typename Runs>
__global__ void __launch_bounds__(MERGE_SELECT_THREADS)
    merge_select_kernel(const K *__restrict__ source, Runs list, struct merge_cut cut,
                        size_t *splits)
{
    const unsigned index = blockIdx.x * MERGE_SELECT_THREADS + threadIdx.x;
    if (index >= cut.parts)
        return;
    const struct merge_part part = merge_part_at(list, cut, index);
    const unsigned ways = 1u << list.ways_bits;
    struct sorted_ways<K, MERGE_WAYS> runs;
#pragma unroll
    for (unsigned k = 0; k < MERGE_WAYS; k++) {
        const size_t first = run_first(list, part.group, k);
        runs.first[k] = source + first;
        runs.count[k] = k < ways ? run_first(list, part.group, k + 1) - first : 0;
    }
    struct ways_cut<K, MERGE_WAYS> found;
    thread_select(runs, part.rank, &found);
#pragma unroll
    for (unsigned k = 0; k < MERGE_WAYS; k++)
        if (k < ways)
            splits[(static_cast<size_t>(index) << list.ways_bits) + k] = found.taken[k];
}

template <typename K>
struct merge_shared {
    K keys[MERGE_KEYS<K>];
    size_t first[MERGE_WAYS];        /* index of each way's piece in the source */
    unsigned count[MERGE_WAYS];      /* keys of each piece */
    unsigned pairs[MERGE_PAIRS + 1]; /* start of each pair in `keys`, and the end of the last */
    unsigned splits[MERGE_THREADS<K>];
};

/* Finds the pieces of the part, and lays out the pairs, with a lane of the first warp for each way.
 * Ends with a barrier. */
template <typename K, typename Runs>
__device__ __forceinline__ void block_find_pieces(const Runs &list, const struct merge_part &part,
                                                  unsigned part_keys, const size_t *splits,
                                                  struct merge_shared<K> *shared)
{
    const unsigned ways = 1u << list.ways_bits, way = threadIdx.x;
    if (way < THREADS_PER_WARP) {
        unsigned count = 0;
        if (way < ways) {
            const size_t *const own = &splits[(static_cast<size_t>(blockIdx.x) << list.ways_bits)];
            const size_t split = own[way];
            const size_t first = run_first(list, part.group, way);
            const size_t next_split = part.left <= part_keys
                                          ? run_first(list, part.group, way + 1) - first
                                          : own[ways + way];
            count = static_cast<unsigned>(next_split - split);
            shared->first[way] = first + split;
        }
        if (__any_sync(ALL_LANES, count > part_keys)) /* the runs are not sorted */
            count = 0;
        if (way < ways)
            shared->count[way] = count;
        const unsigned keys = count + __shfl_xor_sync(ALL_LANES, count, 1);
        unsigned end = (keys + ROW<K> - 1) / ROW<K> * ROW<K>; /* end of the pair */
#pragma unroll
        for (unsigned distance = 2; distance < MERGE_WAYS; distance *= 2) {
            const unsigned before = __shfl_up_sync(ALL_LANES, end, distance);
            end += way >= distance ? before : 0;
        }
        /* The last pair gets the rest. */
        if (way == 0)
            shared->pairs[0] = 0;
        if (way < ways && way % 2 == 0)
            shared->pairs[way / 2 + 1] = way + 2 < ways ? end : MERGE_KEYS<K>;
    }
    __syncthreads();
}

/* Copies keys[lane], keys[lane + 32] ... of `count` keys, forwards or backwards, starting at `to`.
 */
template <bool IS_BACKWARDS, typename K>
__device__ __forceinline__ void warp_copy_keys(K *to, const K *keys, unsigned count)
{
    constexpr int at_once = 8, step = IS_BACKWARDS ? -1 : 1;
    constexpr int lanes = THREADS_PER_WARP;
    const int lane = threadIdx.x % THREADS_PER_WARP;
    to += step * lane;
    keys += lane;
#pragma unroll 1
    for (int left = static_cast<int>(count) - lane; left > 0; left -= at_once * lanes) {
#pragma unroll
        for (int k = 0; k < at_once; k++)
            if (k * lanes < left)
                thread_copy_async(to + step * k * lanes, keys + k * lanes);
        to += step * at_once * lanes;
        keys += at_once * lanes;
    }
}

/* Copies all pieces, each by its own warps, and pads between the pieces of a pair. Eight pieces of
 * keys of up to 8 bytes have 506 keys each in the mean. If one piece has all keys of the part, only
 * its own warps copy. */
template <typename K>
__device__ __forceinline__ void block_copy_pieces(const K *source, unsigned ways_bits,
                                                  struct merge_shared<K> *shared)
{
    static_assert(MERGE_THREADS<K> == THREADS_PER_WARP << MERGE_WAYS_BITS, "a warp for each way");
    const unsigned warp = threadIdx.x / THREADS_PER_WARP;
    const unsigned warps_bits = MERGE_WAYS_BITS - ways_bits; /* log2 of the warps per piece */
    const unsigned way = warp >> warps_bits;
    const unsigned count = shared->count[way];
    const unsigned share = (count >> warps_bits) + 1;
    const unsigned first = min((warp - (way << warps_bits)) * share, count);
    const unsigned own = min(share, count - first);
    const K *const piece = source + shared->first[way] + first;
    K *const start = shared->keys + shared->pairs[way / 2];
    K *const end = shared->keys + shared->pairs[way / 2 + 1];
    if (way % 2 == 0)
        warp_copy_keys<false>(start + first, piece, own);
    else
        warp_copy_keys<true>(end - 1 - first, piece, own);
    const unsigned threads = 2 * THREADS_PER_WARP << warps_bits; /* threads per pair */
    K *const fill_end = end - shared->count[way | 1];
    K *fill = start + shared->count[way & ~1u] + (threadIdx.x & (threads - 1));
#pragma unroll 1
    for (; fill < fill_end; fill += threads)
        *fill = key_max<K>();
}

/* Merges one level: each pair of the 2^(ways_bits - level) runs becomes one run. */
template <typename K>
__device__ __forceinline__ void block_merge_level(unsigned level, bool is_last,
                                                  struct merge_shared<K> *shared)
{
    const unsigned row = threadIdx.x * ROW<K>;
    unsigned index = 0;
    while (shared->pairs[(index + 1) << level] <= row)
        index++;
    const unsigned first = shared->pairs[index << level];
    const unsigned middle = level == 0 ? first + shared->count[2 * index]
                                       : shared->pairs[(2 * index + 1) << (level - 1)];
    const struct paired_runs pair = {first, shared->pairs[(index + 1) << level] - first,
                                     middle - first};
    K keys[ROW<K>];
    block_merge_pairs(shared->keys, shared->splits, pair, row - first, index % 2 == 1 && !is_last,
                      false, true, keys);
    __syncthreads();
}

/* Merges parts from source to target, with the splits of merge_select_kernel. One block per part,
 * with a struct merge_shared of dynamic shared memory. */
template <typename K, typename Runs>
__global__ void __launch_bounds__(MERGE_THREADS<K>, MERGE_BLOCKS)
    merge_parts_kernel(const K *__restrict__ source, K *__restrict__ target, Runs list,
                       struct merge_cut cut, const size_t *__restrict__ splits,
                       struct key_order decoding)
{
    auto *const shared = reinterpret_cast<struct merge_shared<K> *>(block_dynamic_shared());
    const struct merge_part part = merge_part_at(list, cut, blockIdx.x);
    block_find_pieces(list, part, cut.part_keys, splits, shared);
    block_copy_pieces(source, list.ways_bits, shared);
    thread_wait_for_copies();
    __syncthreads();
    for (unsigned level = 0; level < list.ways_bits; level++)
        block_merge_level(level, level + 1 == list.ways_bits, shared);
    block_store_tile(shared->keys, MERGE_THREADS<K>, target + part.first + part.rank,
                     part.left < cut.part_keys ? static_cast<unsigned>(part.left) : cut.part_keys,
                     decoding);
}

/* Merges the runs from `from` to `target`, in the parts of `cut`. */
template <typename K, typename Runs>
static bool merge_parts(const struct cuda_sort *sort, const void *from, void *target,
                        const Runs &runs, const struct merge_cut &cut, struct key_order decoding,
                        struct error *error)
{
    size_t *const splits = static_cast<size_t *>(sort->workspace);
    const K *const source = static_cast<const K *>(from);
    const size_t select_blocks = launch_blocks(cut.parts, MERGE_SELECT_THREADS);
    return launch_kernel(
               launch_for(*sort, "merge_select_kernel", select_blocks, MERGE_SELECT_THREADS), error,
               merge_select_kernel<K, Runs>, source, runs, cut, splits) &&
           launch_kernel(launch_for(*sort, "merge_parts_kernel", cut.parts, MERGE_THREADS<K>,
                                    sizeof(merge_shared<K>)),
                         error, merge_parts_kernel<K, Runs>, source, static_cast<K *>(target), runs,
                         cut, splits, decoding);
}

bool segmented_merge_few(const struct cuda_sort *sort, const struct merge_few *few,
                         struct error *error)
{
    struct run_bounds bounds = {};
    for (unsigned k = 0; k <= MERGE_WAYS; k++)
        bounds.first[k] = few->bounds[std::min<size_t>(k, few->runs)];
    bounds.ways_bits = 1;
    while ((size_t)1 << bounds.ways_bits < few->runs)
        bounds.ways_bits++;
    const size_t count = few->bounds[few->runs] - few->bounds[0];
    return dispatch_width(sort, error, [&](auto key) {
        const unsigned part_keys = merge_part_length<decltype(key)>(bounds.ways_bits);
        const size_t parts = launch_blocks(count, part_keys);
        const struct merge_cut cut = {part_keys, static_cast<unsigned>(parts), parts};
        return merge_parts<decltype(key)>(sort, few->source, few->target, bounds, cut,
                                          few->decoding, error);
    });
}

bool segmented_merge_runs(const struct cuda_sort *sort, tile_sort_function *sort_tiles,
                          struct error *error)
{
    return dispatch_width(sort, error, [&](auto key) {
        const auto merge_round = [&](const struct merge_round &round) {
            return merge_parts<decltype(key)>(sort, round.source, round.target, round.list,
                                              merge_cut_make<decltype(key)>(round.list),
                                              round.decoding, error);
        };
        return merge_runs(sort, sort_tiles, MERGE_WAYS_BITS, merge_round, error);
    });
}

bool segmented_merge_sort(const struct cuda_sort *sort, struct error *error)
{
    return segmented_merge_runs(sort, tile_sort, error);
}

/* The workspace holds the splits of a round of any fan-in, one per way and part: for whole parts,
 * and one more part per group. It grows with the count, so it is enough for any part of the
 * array. */
size_t merge_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes)
{
    const size_t part_keys =
        merge_part_keys(item_bytes) - merge_row_keys(item_bytes) * (MERGE_PAIRS - 1);
    return ((count / part_keys + 2) * MERGE_WAYS + launch_blocks(count, tile_size)) *
           sizeof(size_t);
}
