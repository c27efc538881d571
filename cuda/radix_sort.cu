/* SPDX-License-Identifier: Apache-2.0 */
/* radix_sort.cu - a sort in few passes over memory: one or two partitions by learned maps, then
 * tiles in shared memory.
 *
 *   items --in order already? (radix_ordered.cuh)--> then nothing else, or:
 *         --learn (radix_learn.cuh)--> a model: key -> position in the sorted order
 *         --count, scan, partition, encoded--> scratch, in order of buckets
 *         --learn a model of each bucket, count, pack, partition--> items, in order of finer ones
 *         --tiles (radix_dense.cuh, radix_items.cuh, radix_tiles.cuh)--> items, sorted and decoded
 *
 * Up to a million keys one partition, to scratch, is enough. All work lists are made on the device
 * and kernels find their share there, so that nothing waits for the host. Buckets that fit no tile
 * and are not one value stay open, and their number is noted; the host starts one more round for
 * all of them together: the same partition and tiles, each bucket with a model of its own.
 *
 * Few values are counted (radix_few.cuh). Where models are of little use
 * (radix_choice.cuh), the first one is not even made, the note says so, and the host starts the
 * sort digit by digit (radix_digits.cuh), or by the digits of a code of shares (radix_words.cuh).
 * If that refuses the keys, the note says so as well, and they are sorted by models after all.
 * Where there is that choice, the host starts no more than the first count before it is told; the
 * device is busy with that meanwhile.
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
#include "cuda/radix_dense.cuh"
#include "cuda/radix_digit_sort.h"
#include "cuda/radix_few_sort.h"
#include "cuda/radix_items.cuh"
#include "cuda/radix_learn.cuh"
#include "cuda/radix_ordered.cuh"
#include "cuda/radix_plan.cuh"
#include "cuda/radix_tiles.cuh"

#include <algorithm>

/* A sort on its way. */
template <typename K>
struct radix_run {
    struct cuda_sort sort;
    struct radix_plan plan;
    struct radix_workspace<K> work;
    struct launch_site site;
};

/* A partition: from where to where, and of what. */
template <typename K>
struct radix_step {
    const K *source;
    K *target;
    struct radix_segments *segments;
    unsigned segment_count; /* at most */
    size_t bucket_keys;
    unsigned root_rarity_bits;
    struct key_order encoding;
    radix_count *counts; /* then cursors */
    bool chooses;        /* the keys may be left to the sort digit by digit */
};

/* Where keys have a choice: waits until the first kernels have said whether they go on by models.
 * If something went wrong there, they say nothing, and end. */
template <typename K>
static bool radix_hear_way(const struct radix_run<K> &run, bool chooses, bool *goes_on,
                           struct error *error)
{
    struct sort_note *const note = run.sort.note;
    const auto hear = [=] { return __atomic_load_n(&note->way, __ATOMIC_ACQUIRE); };
    cudaError_t status = cudaErrorNotReady;
    if (!chooses)
        return true;
    while (hear() == 0 && status == cudaErrorNotReady) {
        for (unsigned looks = 0; hear() == 0 && looks < RADIX_HEAR_LOOKS; looks++) {
        }
        if (hear() == 0)
            status = cudaStreamQuery(run.sort.stream);
    }
    *goes_on = hear() != RADIX_WAY_OTHER;
    note->is_heard = !*goes_on && note->count != 0;
    return status == cudaErrorNotReady ||
           cuda_check(status, run.sort.device, "cudaStreamQuery", error);
}

/* Learns the models of the segments; where keys have a choice, says whether they go on by them. */
template <typename K>
static bool radix_learn_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                             bool *goes_on, struct error *error)
{
    const bool has_learners = step.chooses && RADIX_HAS_CODE<K>;
    return launch_kernel(
               launch_at(run.site, "radix_learn_kernel",
                         has_learners ? size_t{RADIX_LEARNERS} : step.segment_count, LEARN_THREADS,
                         has_learners ? sizeof(union radix_learners_shared<K>)
                                      : sizeof(struct radix_learn_shared<K>)),
               error, step.chooses ? radix_learn_kernel<K, true> : radix_learn_kernel<K, false>,
               step.source, step.segments, step.bucket_keys, step.root_rarity_bits, step.encoding,
               run.work.models, step.counts, run.work.totals,
               static_cast<struct radix_digit_plan *>(run.work.digits), run.sort.note) &&
           radix_hear_way(run, step.chooses, goes_on, error);
}

/* Counts the keys of their buckets. */
template <typename K>
static bool radix_count_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                             struct error *error)
{
    const size_t tiles = radix_tiles_of<K>(run.sort.count) + step.segment_count;
    return launch_kernel(
        launch_at(run.site, "radix_count_kernel",
                  launch_resident(run.site, RADIX_COUNT_BLOCKS, tiles), RADIX_PARTITION_THREADS),
        error, radix_count_kernel<K>, step.source, step.segments,
        static_cast<const struct radix_model<K> *>(run.work.models), step.encoding, step.counts);
}

template <typename K>
static bool radix_partition_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                                 struct error *error)
{
    const size_t tiles = radix_tiles_of<K>(run.sort.count) + step.segment_count;
    return launch_kernel(
        launch_at(run.site, "radix_partition_kernel",
                  launch_resident(run.site, RADIX_PARTITION_BLOCKS, tiles), RADIX_PARTITION_THREADS,
                  sizeof(struct radix_partition_shared<K>)),
        error, radix_partition_kernel<K>, step.source, step.target, step.segments,
        static_cast<const struct radix_model<K> *>(run.work.models), step.encoding, step.counts);
}

/* Where keys have a choice: what the counts say of it. */
template <typename K>
static bool radix_doubt_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                             struct error *error)
{
    if (!step.chooses)
        return true;
    return launch_kernel(launch_at(run.site, "radix_doubt_kernel", 1, RADIX_WAYS), error,
                         radix_doubt_kernel<K>, step.source, step.segments,
                         static_cast<const struct radix_model<K> *>(run.work.models), step.encoding,
                         static_cast<const radix_count *>(step.counts), run.work.totals);
}

/* items -> scratch; the buckets become segments. */
template <typename K>
static bool radix_first_partition(const struct radix_run<K> &run, bool chooses, bool *goes_on,
                                  struct error *error)
{
    const struct radix_step<K> step = {
        static_cast<const K *>(run.sort.items), static_cast<K *>(run.sort.scratch), run.work.whole,
            1, run.plan.first_bucket_keys,
            RADIX_FIRST_ROOT_RARITY_BITS, run.sort.order, run.work.first_counts, chooses
    };
    if (!radix_learn_step(run, step, goes_on, error))
        return false;
    return !*goes_on ||
           (radix_count_step(run, step, error) && radix_doubt_step(run, step, error) &&
            launch_kernel(launch_at(run.site, "radix_scan_kernel", 1, RADIX_WAYS), error,
                          radix_scan_kernel<K>, step.segments, step.counts, run.work.segments) &&
            radix_partition_step(run, step, error));
}

/* source -> items: the packs of few values; those that it leaves join the others. */
template <typename K>
static bool radix_sort_dense(const struct radix_run<K> &run, const struct radix_move<K> &move,
                             size_t packs, struct error *error)
{
    if (!radix_plan_has_dense<K>(run.plan))
        return true;
    return launch_kernel(launch_at(run.site, "radix_dense_kernel",
                                   launch_resident(run.site, radix_dense_blocks(sizeof(K)), packs),
                                   RADIX_DENSE_THREADS),
                         error, radix_dense_kernel<K>, move, run.work.totals,
                         static_cast<const struct radix_dense_pack<K> *>(run.work.dense_packs),
                         run.work.packs);
}

/* The same of all packs of items; those that it leaves are listed apart. */
static bool radix_sort_items(const struct radix_run<key_u128> &run,
                             const struct radix_move<key_u128> &move, size_t packs,
                             struct error *error)
{
    return launch_kernel(launch_at(run.site, "radix_items_kernel",
                                   launch_resident(run.site, RADIX_ITEM_BLOCKS, packs),
                                   RADIX_TILE_THREADS, sizeof(struct radix_item_shared)),
                         error, radix_items_kernel, move,
                         static_cast<const struct radix_model<key_u128> *>(run.work.models),
                         run.work.totals, static_cast<const struct radix_pack *>(run.work.packs),
                         run.work.left_packs);
}

/* source -> items: all packs, the tiles last. */
template <typename K>
static bool radix_sort_packs(const struct radix_run<K> &run, const struct radix_move<K> &move,
                             size_t packs, struct error *error)
{
    const unsigned *pack_count = &run.work.totals->packs;
    const struct radix_pack *tile_packs = run.work.packs;
    if constexpr (RADIX_HAS_VALUES<K>) {
        if (!radix_sort_items(run, move, packs, error))
            return false;
        pack_count = &run.work.totals->left;
        tile_packs = run.work.left_packs;
    } else if (!radix_sort_dense(run, move, packs, error)) {
        return false;
    }
    return launch_kernel(launch_at(run.site, "radix_tiles_kernel",
                                   launch_resident(run.site, radix_tile_blocks(sizeof(K)), packs),
                                   RADIX_TILE_THREADS, sizeof(struct radix_tile_shared<K>)),
                         error, radix_tiles_kernel<K>, move,
                         static_cast<const struct radix_model<K> *>(run.work.models),
                         static_cast<const struct radix_totals *>(run.work.totals), pack_count,
                         tile_packs, run.work.ranges);
}

/* The last partition and the packs: step.source -> step.target -> items. What fits no tile is added
 * to the ranges. */
template <typename K>
static bool radix_sort_counted(const struct radix_run<K> &run, const struct radix_step<K> &step,
                               struct error *error)
{
    const struct radix_move<K> move = {
        step.target, static_cast<K *>(run.sort.items), run.sort.order
    };
    const size_t packs = launch_blocks(run.sort.count, run.plan.aim) + step.segment_count;
    return launch_kernel(launch_at(run.site, "radix_pack_kernel", step.segment_count, RADIX_WAYS),
                         error, radix_pack_kernel<K>, step.counts, step.segments,
                         static_cast<const struct radix_model<K> *>(run.work.models), run.plan.aim,
                         run.work.totals, run.work.packs, run.work.dense_packs, run.work.ranges) &&
           radix_partition_step(run, step, error) && radix_sort_packs(run, move, packs, error);
}

/* source -> items: copies what fits no tile and is therefore still there. */
template <typename K>
static bool radix_finish_ranges(const struct radix_run<K> &run, const K *source,
                                struct error *error)
{
    const struct radix_move<K> move = {
        source, static_cast<K *>(run.sort.items), run.sort.order
    };
    const size_t blocks =
        launch_resident(run.site, RADIX_COPY_BLOCKS, launch_blocks(run.sort.count, RADIX_PIECE));
    return launch_kernel(launch_at(run.site, "radix_ranges_kernel", blocks, THREADS_PER_BLOCK),
                         error, radix_ranges_kernel<K>, move, run.work.totals, run.work.ranges,
                         run.work.open, run.sort.note);
}

template <typename K>
static bool radix_prepare(const struct cuda_sort &sort, struct radix_run<K> *run,
                          struct error *error)
{
    const struct radix_plan plan = radix_plan_make<K>(sort.count, sort.tile_size);
    *run = {sort, plan, radix_workspace_lay<K>(plan, sort.count, sort.workspace), {}};
    return launch_site_find(sort.device, sort.stream, &run->site, error) &&
           launch_can_be_early(radix_scan_kernel<K>, sort.device, &run->site.is_early, error);
}

/* What is not known of the keys yet. */
struct radix_doubts {
    bool may_be_ordered;
    bool may_be_few;     /* their values */
    bool may_be_indices; /* below, so that digits do */
};

/* Makes the whole array one segment, or an empty one if no key is out of place, or it is left to
 * digits or to be counted: looked at where that is small beside the sort. */
static_assert(RADIX_FEW_LEAST >= radix_order_least(4), "one kernel looks");
template <typename K>
static bool radix_start_whole(const struct radix_run<K> &run, const struct radix_doubts &doubts,
                              struct error *error)
{
    const size_t count = run.sort.count;
    K *const items = static_cast<K *>(run.sort.items);
    const size_t pieces = std::min<size_t>(radix_order_pieces<K>(count), RADIX_ORDER_ANSWERS);
    const size_t lookers = doubts.may_be_ordered && count >= radix_order_least(sizeof(K))
                               ? launch_resident(run.site, RADIX_ORDER_BLOCKS, pieces)
                               : 0;
    const bool is_for_few =
        RADIX_HAS_FEW<K> && doubts.may_be_few && lookers > 0 && count >= RADIX_FEW_LEAST;
    const struct radix_look look = {run.work.answers, static_cast<unsigned>(lookers), is_for_few};
    return launch_kernel(launch_at(run.site, "radix_order_kernel", lookers + (is_for_few ? 1 : 0),
                                   RADIX_ORDER_THREADS),
                         error, radix_order_kernel<K>, static_cast<const K *>(items), count,
                         run.sort.order, look) &&
           launch_kernel(launch_at(run.site, "radix_whole_kernel", std::max<size_t>(lookers, 1),
                                   RADIX_ORDER_THREADS),
                         error, radix_whole_kernel<K>, items, count, look, doubts.may_be_indices,
                         run.work.whole, run.work.totals, run.sort.note);
}

/* Sorts digit by digit, unless the whole is an empty segment. If it has been chosen, the code that
 * the way asks for has been found. */
template <typename K>
static bool radix_start_digits(const struct radix_run<K> &run, enum radix_digit_way way,
                               bool is_chosen, struct error *error)
{
    struct radix_digit_task task = {};
    task.way = way;
    task.has_code = is_chosen;
    task.whole = run.work.whole;
    task.memory = run.work.digits;
    task.portion = RADIX_DIGIT_PORTION;
    task.totals = run.work.totals;
    task.open = run.work.open;
    task.open_most =
        static_cast<unsigned>(std::min(radix_open_most(run.sort.count), RADIX_MEND_OPEN_MOST));
    return radix_digit_sort(&run.sort, &task, error);
}

/* Sorts by models; if it `chooses`, it may note that keys are better sorted digit by digit, and do
 * nothing. */
template <typename K>
static bool radix_start_learned(const struct radix_run<K> &run, bool chooses, struct error *error)
{
    K *const items = static_cast<K *>(run.sort.items);
    K *const scratch = static_cast<K *>(run.sort.scratch);
    struct radix_step<K> step = {
        items, scratch, run.work.whole, 1, run.plan.bucket_keys, RADIX_LAST_ROOT_RARITY_BITS,
            run.sort.order, run.work.counts, chooses
    };
    bool goes_on = true;
    if (run.plan.first_bucket_keys > 0) {
        step = {scratch,
                items,
                run.work.segments,
                run.plan.segments,
                run.plan.bucket_keys,
                RADIX_LAST_ROOT_RARITY_BITS,
                key_order_identity(),
                run.work.counts,
                false};
        if (!radix_first_partition(run, chooses, &goes_on, error))
            return false;
        if (!goes_on)
            return true;
    }
    if (!radix_learn_step(run, step, &goes_on, error))
        return false;
    return !goes_on ||
           (radix_count_step(run, step, error) && radix_sort_counted(run, step, error) &&
            radix_finish_ranges<K>(run, step.target, error));
}

template <typename K>
static bool radix_start(const struct cuda_sort &sort, bool may_be_few, struct error *error)
{
    const bool may_be_indices = sizeof(K) == sizeof(uint64_t) &&
                                key_order_is_identity(sort.order) &&
                                !radix_wants_digits(sort.count, sizeof(K));
    struct radix_run<K> run;
    sort.note->way = 0;
    if (!radix_prepare(sort, &run, error) ||
        !radix_start_whole(run, {true, may_be_few, may_be_indices}, error))
        return false;
    if (radix_wants_digits(sort.count, sizeof(K)))
        return radix_start_digits(run, RADIX_DIGITS_OF_CODE, false, error);
    return radix_start_learned(run, radix_may_be_digits(sort.count, sizeof(K)), error);
}

/* What a note asks for that is no number of ranges. */
template <typename K>
static bool radix_start_other(const struct cuda_sort &sort, size_t note, struct error *error)
{
    const enum radix_digit_way way = note == RADIX_NOTE_INDICES  ? RADIX_DIGITS_ABOVE_INDEX
                                     : note == RADIX_NOTE_AGAIN  ? RADIX_DIGITS_AGAIN
                                     : note == RADIX_NOTE_SHARES ? RADIX_DIGITS_OF_SHARES
                                                                 : RADIX_DIGITS_OF_CODE;
    struct radix_run<K> run;
    if (note == RADIX_NOTE_MANY)
        return radix_start<K>(sort, false, error);
    if (!radix_prepare(sort, &run, error))
        return false;
    if (note == RADIX_NOTE_FEW)
        return radix_few_sort(&sort, run.work.digits, error);
    if (!radix_start_whole(run, {false, false, false}, error))
        return false;
    return note == RADIX_NOTE_REFUSED ? radix_start_learned(run, false, error)
                                      : radix_start_digits(run, way, true, error);
}

/* One more round: for the `count` ranges that are open, as many at a time as there are models, or
 * in another way. */
template <typename K>
static bool radix_start_round(const struct cuda_sort &sort, size_t count, struct error *error)
{
    if (count >= RADIX_NOTE_LEAST)
        return radix_start_other<K>(sort, count, error);
    struct radix_run<K> run;
    if (!cuda_check_figure(count, radix_open_most(sort.count), sort.device, "number of ranges",
                           error) ||
        !radix_prepare(sort, &run, error))
        return false;
    const struct radix_step<K> step = {
        static_cast<const K *>(sort.items),
            static_cast<K *>(sort.scratch), run.work.segments, run.plan.segments,
            run.plan.bucket_keys, RADIX_LAST_ROOT_RARITY_BITS, sort.order, run.work.counts, false
    };
    bool goes_on = true; /* as there is no choice */
    for (size_t first = 0; first < count; first += run.plan.segments) {
        const size_t segments = std::min<size_t>(count - first, run.plan.segments);
        if (!launch_kernel(launch_at(run.site, "radix_reopen_kernel", 1, RADIX_SEGMENTS), error,
                           radix_reopen_kernel<K>,
                           static_cast<const struct radix_open *>(run.work.open + first),
                           static_cast<unsigned>(segments), first == 0, run.work.segments,
                           run.work.totals) ||
            !radix_learn_step(run, step, &goes_on, error) || !radix_count_step(run, step, error) ||
            !radix_sort_counted(run, step, error))
            return false;
    }
    return radix_finish_ranges<K>(run, step.target, error);
}

/* ---- the path ---- */

/* The other path for what this one is not made for. */
static bool radix_merge(struct cuda_sort sort, struct error *error)
{
    sort.tile_size = RADIX_MERGE_TILE;
    return segmented_merge_sort(&sort, error);
}

bool radix_sort(const struct cuda_sort *sort, struct error *error)
{
    sort->note->count = 0;
    sort->note->is_heard = false;
    if (sort->count <= RADIX_COUNT_LEAST)
        return radix_merge(*sort, error);
    switch (sort->item_bytes) {
    case 1:
    case 2:
        return counting_sort(sort, SIZE_MAX, error);
    case 4:
        return radix_start<uint32_t>(*sort, true, error);
    case 8:
        return radix_start<uint64_t>(*sort, true, error);
    case 16:
        return radix_start<key_u128>(*sort, true, error);
    default:
        return error_set(error, "device %u: no path sorts items of %u bytes", sort->device,
                         sort->item_bytes);
    }
}

bool radix_finish(const struct cuda_sort *sort, unsigned round, bool *is_done, struct error *error)
{
    const size_t count = sort->note->count;
    sort->note->count = 0;
    sort->note->is_heard = false;
    *is_done = count == 0;
    if (*is_done)
        return true;
    if (round > RADIX_ROUNDS)
        return radix_merge(*sort, error);
    return sort->item_bytes == 4   ? radix_start_round<uint32_t>(*sort, count, error)
           : sort->item_bytes == 8 ? radix_start_round<uint64_t>(*sort, count, error)
                                   : radix_start_round<key_u128>(*sort, count, error);
}

template <typename K>
static size_t radix_width_workspace_bytes(size_t count, size_t tile_size)
{
    if (count <= RADIX_COUNT_LEAST)
        return 0;
    return radix_workspace_lay<K>(radix_plan_make<K>(count, tile_size), count, NULL).bytes;
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
