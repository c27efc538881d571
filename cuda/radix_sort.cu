/* radix_sort.cu - a sort in few passes over memory: one or two partitions by a learned map, then
 * tiles in shared memory.
 *
 *   items --sample, learn--> model (radix_learn.cuh): key -> position in the sorted order
 *   items --count, scan, partition by the high digit of the bucket, encoded--> scratch
 *         --count, pack, partition by the low digit--> items
 *         --tiles--> items, sorted and decoded          (radix_tiles.cuh)
 *
 * Up to a few million keys one partition, to scratch, is enough. All work lists are made on the
 * device and kernels find their share there, so that nothing waits for the host. What the model did
 * not part well enough for a tile, and is not one value, is noted; when all is done, the host sorts
 * such ranges in the same way, each with a model of its own, and by merging where that does not
 * help either. With more keys than two partitions part, one is made and all buckets are such
 * ranges.
 *
 * 64-bit keys cross the memory 8 times: read to count, read and written to part, twice; read and
 * written to sort tiles. A least-digit-first radix sort by 8 bits crosses it 17 times.
 *
 * Sources: T. Kraska et al., "The Case for Learned Index Structures", and A. Kristo et al., "The
 * Case for a Learned Sorting Algorithm" (SIGMOD 2018 and 2020), for the map; E. Stehle and H.-A.
 * Jacobsen, "A Memory Bandwidth-Efficient Hybrid Radix Sort on GPUs" (SIGMOD 2017), for most
 * digits first and tiles that end in shared memory.
 */
#include "cuda/launch.cuh"
#include "cuda/radix_learn.cuh"
#include "cuda/radix_tiles.cuh"

#include <algorithm>

/* What so many keys of a width are given. */
struct radix_plan {
    struct radix_wish wish;
    unsigned aim;      /* keys of a pack */
    unsigned segments; /* of the last partition */
    bool is_twofold;   /* two partitions */
};

static unsigned floor_log2(size_t x)
{
    return 63 - static_cast<unsigned>(__builtin_clzll(x));
}

template <typename K>
static struct radix_plan radix_plan_make(size_t count, size_t tile_size)
{
    constexpr size_t room = RADIX_TILE_ROOM<K>;
    constexpr size_t most = ((size_t)1 << RADIX_BUCKET_BITS) - 1;
    const size_t aim = std::min(tile_size, room / 2);
    /* Buckets of half a pack make packs that are even, and leave room for uneven buckets. */
    const size_t wanted = launch_blocks(count, aim / 2);
    struct radix_plan plan = {};
    plan.is_twofold = count / RADIX_WAYS > aim && count / most <= room / 2;
    const size_t buckets = std::min<size_t>(wanted, plan.is_twofold ? most : RADIX_WAYS - 1);
    const unsigned sample_bits =
        std::clamp(floor_log2(count) - std::min(floor_log2(count), RADIX_SAMPLE_RARITY_BITS),
                   RADIX_SAMPLE_BITS_LEAST, RADIX_SAMPLE_BITS_MOST);
    plan.wish = {count, sample_bits, static_cast<unsigned>(buckets)};
    plan.aim = static_cast<unsigned>(aim);
    plan.segments = plan.is_twofold ? static_cast<unsigned>(buckets / RADIX_WAYS + 1) : 1;
    return plan;
}

/* ---- workspace ---- */

/* What is cleared before each sort. Behind it: counts of the last partition. */
struct radix_head {
    struct radix_totals totals;
    radix_count counts[RADIX_WAYS]; /* of the first of two partitions */
};

template <typename K>
struct radix_workspace {
    struct radix_head *head;
    radix_count *counts;
    size_t cleared_bytes; /* from head on */
    struct radix_model<K> *model;
    struct radix_segments *whole;
    struct radix_segments *segments;
    K *sample;
    struct radix_pack *packs;
    struct radix_range<K> *ranges;
    size_t bytes;
};

/* The next `bytes` of the workspace, aligned for any type. */
static unsigned char *workspace_take(unsigned char *base, size_t *used, size_t bytes)
{
    unsigned char *const part = base ? base + *used : NULL;
    *used += (bytes + 255) / 256 * 256;
    return part;
}

/* Lays the workspace out from `base` on; with NULL, only its size is of use. */
template <typename K>
static struct radix_workspace<K> radix_workspace_lay(const struct radix_plan &plan, void *memory) {
    unsigned char *const base = static_cast<unsigned char *>(memory);
    const size_t buckets = static_cast<size_t>(plan.segments) * RADIX_WAYS;
    const size_t ranges = std::min(plan.wish.count / RADIX_TILE_ROOM<K> + 1, buckets);
    struct radix_workspace<K> work = {
    };
    size_t used = 0;
    work.head =
        reinterpret_cast<struct radix_head *>(workspace_take(base, &used, sizeof *work.head));
    work.counts =
        reinterpret_cast<radix_count *>(workspace_take(base, &used, buckets * sizeof *work.counts));
    work.cleared_bytes = used;
    work.model =
        reinterpret_cast<struct radix_model<K> *>(workspace_take(base, &used, sizeof *work.model));
    work.whole =
        reinterpret_cast<struct radix_segments *>(workspace_take(base, &used, sizeof *work.whole));
    work.segments = reinterpret_cast<struct radix_segments *>(
        workspace_take(base, &used, sizeof *work.segments));
    work.sample =
        reinterpret_cast<K *>(workspace_take(base, &used, sizeof(K) << plan.wish.sample_bits));
    work.packs = reinterpret_cast<struct radix_pack *>(
        workspace_take(base, &used, buckets * sizeof *work.packs));
    work.ranges = reinterpret_cast<struct radix_range<K> *>(
        workspace_take(base, &used, ranges * sizeof *work.ranges));
    work.bytes = used;
    return work;
}

/* ---- kernels ---- */

/* A sort, or the sort of a range of it, on its way. */
template <typename K>
struct radix_run {
    struct cuda_sort sort;
    size_t items_first; /* index of its first item among all */
    struct radix_plan plan;
    struct radix_workspace<K> work;
    unsigned multiprocessors;
};

template <typename K>
static struct launch radix_launch(const struct radix_run<K> &run, const char *name, size_t blocks,
                                  unsigned threads, size_t shared_bytes)
{
    const struct launch launch = {name,        blocks, threads, run.sort.device, run.sort.stream,
                                  shared_bytes};
    return launch;
}

/* As many blocks as run at a time, or fewer if the work is less. */
template <typename K>
static size_t radix_resident(const struct radix_run<K> &run, unsigned blocks_per_multiprocessor,
                             size_t work)
{
    return std::min<size_t>(static_cast<size_t>(run.multiprocessors) * blocks_per_multiprocessor,
                            work);
}

template <typename K>
static bool radix_learn(const struct radix_run<K> &run, struct error *error)
{
    const struct radix_wish &wish = run.plan.wish;
    const size_t sample_blocks = launch_blocks((size_t)1 << wish.sample_bits, THREADS_PER_BLOCK);
    return cuda_check(cudaMemsetAsync(run.work.head, 0, run.work.cleared_bytes, run.sort.stream),
                      run.sort.device, "cudaMemsetAsync", error) &&
           launch_kernel(
               radix_launch(run, "radix_sample_kernel", sample_blocks, THREADS_PER_BLOCK, 0), error,
               radix_sample_kernel<K>, static_cast<const K *>(run.sort.items), run.work.sample,
               wish, run.sort.order) &&
           launch_kernel(radix_launch(run, "radix_learn_kernel", 1, LEARN_THREADS, 0), error,
                         radix_learn_kernel<K>, static_cast<const K *>(run.work.sample), wish,
                         run.work.model, run.work.whole);
}

/* From where to where a partition goes, and by what. */
template <typename K>
struct radix_step {
    const K *source;
    K *target;
    const struct radix_segments *segments;
    size_t segment_count; /* at most */
    struct radix_digit digit;
    struct key_order encoding;
    radix_count *counts; /* then cursors */
};

/* At most one tile of a segment is not full. */
template <typename K>
static size_t radix_tiles_at_most(const struct radix_run<K> &run, const struct radix_step<K> &step)
{
    return run.sort.count / RADIX_PARTITION_TILE<K> + step.segment_count;
}

template <typename K>
static bool radix_count_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                             struct error *error)
{
    const size_t blocks = radix_resident(run, RADIX_COUNT_BLOCKS, radix_tiles_at_most(run, step));
    return launch_kernel(
        radix_launch(run, "radix_count_kernel", blocks, RADIX_PARTITION_THREADS, 0), error,
        radix_count_kernel<K>, step.source, step.segments,
        static_cast<const struct radix_model<K> *>(run.work.model), step.digit, step.encoding,
        step.counts);
}

template <typename K>
static bool radix_partition_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                                 struct error *error)
{
    const size_t blocks =
        radix_resident(run, RADIX_PARTITION_BLOCKS, radix_tiles_at_most(run, step));
    return launch_kernel(radix_launch(run, "radix_partition_kernel", blocks,
                                      RADIX_PARTITION_THREADS,
                                      sizeof(struct radix_partition_shared<K>)),
                         error, radix_partition_kernel<K>, step.source, step.target, step.segments,
                         static_cast<const struct radix_model<K> *>(run.work.model), step.digit,
                         step.encoding, step.counts);
}

/* items -> scratch, by the high digit. */
template <typename K>
static bool radix_first_partition(const struct radix_run<K> &run, struct error *error)
{
    const struct radix_step<K> step = {
        static_cast<const K *>(run.sort.items), static_cast<K *>(run.sort.scratch), run.work.whole,
            1, {RADIX_WAYS_BITS}, run.sort.order, run.work.head->counts
    };
    return radix_count_step(run, step, error) &&
           launch_kernel(radix_launch(run, "radix_scan_kernel", 1, RADIX_WAYS, 0), error,
                         radix_scan_kernel<K>, step.counts, run.work.segments) &&
           radix_partition_step(run, step, error);
}

/* By the low digit; the buckets become packs. */
template <typename K>
static bool radix_last_partition(const struct radix_run<K> &run, const K *source, K *target,
                                 struct error *error)
{
    const bool is_twofold = run.plan.is_twofold;
    const struct radix_step<K> step = {
        source, target, is_twofold ? run.work.segments : run.work.whole, run.plan.segments, {0},
            is_twofold ? key_order_identity() : run.sort.order, run.work.counts
    };
    return radix_count_step(run, step, error) &&
           launch_kernel(radix_launch(run, "radix_pack_kernel", run.plan.segments, RADIX_WAYS, 0),
                         error, radix_pack_kernel<K>, step.counts, step.segments, run.plan.aim,
                         &run.work.head->totals, run.work.packs, run.work.ranges) &&
           radix_partition_step(run, step, error);
}

/* Sorts the packs, and sees to what fits no tile. */
template <typename K>
static bool radix_finish_tiles(const struct radix_run<K> &run, const K *source, struct error *error)
{
    const struct radix_move<K> move = {
        source, static_cast<K *>(run.sort.items), run.sort.order
    };
    const struct radix_totals *const totals = &run.work.head->totals;
    const size_t packs = 2 * launch_blocks(run.sort.count, run.plan.aim) + run.plan.segments;
    const size_t tile_blocks = radix_resident(run, RADIX_TILE_BLOCKS, packs);
    const size_t copy_blocks =
        radix_resident(run, RADIX_COPY_BLOCKS, launch_blocks(run.sort.count, RADIX_COPY_KEYS));
    return launch_kernel(radix_launch(run, "radix_tiles_kernel", tile_blocks, RADIX_TILE_THREADS,
                                      sizeof(struct radix_tile_shared<K>)),
                         error, radix_tiles_kernel<K>, move,
                         static_cast<const struct radix_model<K> *>(run.work.model), totals,
                         static_cast<const struct radix_pack *>(run.work.packs), run.work.ranges) &&
           launch_kernel(
               radix_launch(run, "radix_ranges_kernel", copy_blocks, THREADS_PER_BLOCK, 0), error,
               radix_ranges_kernel<K>, move, totals, run.work.ranges) &&
           launch_kernel(radix_launch(run, "radix_note_kernel", 1, THREADS_PER_BLOCK, 0), error,
                         radix_note_kernel<K>, totals,
                         static_cast<const struct radix_range<K> *>(run.work.ranges),
                         run.items_first, run.sort.note);
}

/* Starts the sort of one range of items, or of all. */
template <typename K>
static bool radix_start(const struct cuda_sort &sort, size_t items_first, struct error *error)
{
    int multiprocessors = 0;
    if (!cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                           static_cast<int>(sort.device)),
                    sort.device, "cudaDeviceGetAttribute", error))
        return false;
    const struct radix_plan plan = radix_plan_make<K>(sort.count, sort.tile_size);
    const struct radix_run<K> run = {
        sort, items_first, plan, radix_workspace_lay<K>(plan, sort.workspace),
            static_cast<unsigned>(multiprocessors)
    };
    K *const items = static_cast<K *>(sort.items);
    K *const scratch = static_cast<K *>(sort.scratch);
    if (!radix_learn(run, error))
        return false;
    if (!plan.is_twofold)
        return radix_last_partition<K>(run, items, scratch, error) &&
               radix_finish_tiles<K>(run, scratch, error);
    return radix_first_partition(run, error) &&
           radix_last_partition<K>(run, scratch, items, error) &&
           radix_finish_tiles<K>(run, items, error);
}

/* ---- the path ---- */

/* The other path for what this one is not made for. */
static bool radix_merge(struct cuda_sort sort, struct error *error)
{
    sort.tile_size = RADIX_MERGE_TILE;
    return segmented_merge_sort(&sort, error);
}

static bool radix_start_width(const struct cuda_sort &sort, size_t items_first, struct error *error)
{
    switch (sort.item_bytes) {
    case 4:
        return radix_start<uint32_t>(sort, items_first, error);
    case 8:
        return radix_start<uint64_t>(sort, items_first, error);
    case 16:
        return radix_start<key_u128>(sort, items_first, error);
    default:
        return error_set(error, "device %u: no path sorts items of %u bytes", sort.device,
                         sort.item_bytes);
    }
}

bool radix_sort(const struct cuda_sort *sort, struct error *error)
{
    sort->note->count = 0;
    if (sort->count <= RADIX_COUNT_LEAST)
        return radix_merge(*sort, error);
    if (sort->item_bytes <= 2)
        return counting_sort(sort, error);
    return radix_start_width(*sort, 0, error);
}

/* The range as a sort of its own; one that has been parted often enough, or is small, is merged. */
static bool radix_sort_range(const struct cuda_sort *sort, size_t first, size_t count,
                             unsigned round, struct error *error)
{
    struct cuda_sort range = *sort;
    range.items = static_cast<unsigned char *>(sort->items) + first * sort->item_bytes;
    range.scratch = static_cast<unsigned char *>(sort->scratch) + first * sort->item_bytes;
    range.count = count;
    if (round > RADIX_ROUNDS || count <= RADIX_RANGE_LEAST)
        return radix_merge(range, error);
    return radix_start_width(range, first, error);
}

bool radix_finish(const struct cuda_sort *sort, unsigned round, bool *is_done, struct error *error)
{
    /* A copy: the work started here writes the note anew. */
    const struct sort_note note = *sort->note;
    sort->note->count = 0;
    *is_done = note.count == 0;
    if (note.count > RADIX_RANGES)
        return radix_merge(*sort, error);
    for (size_t i = 0; i < note.count; i++)
        if (!radix_sort_range(sort, note.ranges[i].first, note.ranges[i].count, round, error))
            return false;
    return true;
}

template <typename K>
static size_t radix_width_workspace_bytes(size_t count, size_t tile_size)
{
    if (count <= RADIX_COUNT_LEAST)
        return 0;
    size_t bytes = radix_workspace_lay<K>(radix_plan_make<K>(count, tile_size), NULL).bytes;
    /* A range may be parted twice where the whole was parted once. */
    constexpr size_t twofold = ((size_t)1 << RADIX_BUCKET_BITS) - 1;
    const size_t largest = std::min(count, twofold * (RADIX_TILE_ROOM<K> / 2));
    return std::max(bytes,
                    radix_workspace_lay<K>(radix_plan_make<K>(largest, tile_size), NULL).bytes);
}

size_t radix_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes)
{
    const size_t merge = merge_workspace_bytes(count, RADIX_MERGE_TILE, item_bytes);
    switch (item_bytes) {
    case 4:
        return std::max(merge, radix_width_workspace_bytes<uint32_t>(count, tile_size));
    case 8:
        return std::max(merge, radix_width_workspace_bytes<uint64_t>(count, tile_size));
    case 16:
        return std::max(merge, radix_width_workspace_bytes<key_u128>(count, tile_size));
    default:
        return std::max(merge, counting_workspace_bytes(count, tile_size, item_bytes));
    }
}
