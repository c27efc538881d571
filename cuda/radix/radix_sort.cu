/* SPDX-License-Identifier: Apache-2.0 */
/* radix_sort.cu - sorts by the strategy that the facts of an array ask for. The kernels, in the
 * order of their launches:
 *
 *   up to merge_most items: those of segmented_merge_sort.cu; of 1 and 2 bytes: counting_keys.cu
 *   radix_look_kernel     what is in order, and a sample; the host waits for it and decides
 *                         (radix_strategy.c)
 *   in order: none        reverse: radix_reverse_kernel
 *   count:    radix_few_count_kernel, radix_few_runs_kernel, counting_fill_kernel
 *   digits:   radix_digit_count_kernel, radix_digit_plan_kernel, then a pass for each digit:
 *             radix_digit_kernel; radix_digit_copy_kernel after an odd number of passes
 *   models:   radix_whole_kernel, and for the whole array
 *             radix_learn_kernel        a model: key -> position in the sorted order
 *             radix_count_kernel        items of each bucket
 *             radix_crowd_kernel        whether the model follows the keys; the host waits, and may
 *                                       decide for digits
 *             radix_scan_kernel, radix_partition_kernel       items -> scratch, in buckets
 *                                       (of more than part_most items radix_part_kernel and
 *                                       radix_reopen_kernel: these are parts, and each is sorted as
 *                                       the whole array is otherwise)
 *             then for all buckets together
 *             radix_learn_kernel, radix_count_kernel, radix_pack_kernel, radix_partition_kernel
 *                                       scratch -> items, in buckets of buckets
 *             radix_items_kernel        packs of items of 16 bytes, sorted by words
 *             radix_tiles_kernel        other packs, sorted in shared memory
 *             radix_ranges_kernel       what fits no tile is copied, and listed if its keys differ
 *   What is listed is parted once more, by radix_reopen_kernel and the second half of the above,
 *   once the engine has waited for all this (radix_finish); after RADIX_ROUNDS all is merge sorted.
 *
 * Sources: T. Kraska et al., "The Case for Learned Index Structures", and A. Kristo et al., "The
 * Case for a Learned Sorting Algorithm" (SIGMOD 2018 and 2020), for the map; E. Stehle and H.-A.
 * Jacobsen, "A Memory Bandwidth-Efficient Hybrid Radix Sort on GPUs" (SIGMOD 2017), for most
 * digits first and tiles that end in shared memory.
 */
#include "core/trace.h"
#include "cuda/block/launch.cuh"
#include "cuda/radix/radix_digit_sort.h"
#include "cuda/radix/radix_items.cuh"
#include "cuda/radix/radix_learn.cuh"
#include "cuda/radix/radix_look.cuh"
#include "cuda/radix/radix_plan.cuh"
#include "cuda/radix/radix_tiles.cuh"

#include <algorithm>

/* A sort on its way. */
template <typename K>
struct radix_run {
    struct cuda_sort sort;
    const struct radix_tuning *tuning;
    struct radix_plan plan;
    struct radix_workspace<K> work;
    struct launch_site site;
};

template <typename K>
static bool radix_prepare(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                          struct radix_run<K> *run, struct error *error)
{
    const struct radix_plan plan = radix_plan_make<K>(sort.count, sort.tile_size, tuning.part_most);
    *run = {sort, &tuning, plan, radix_workspace_lay<K>(plan, sort.count, sort.workspace), {}};
    return launch_site_find(sort.device, sort.stream, &run->site, error) &&
           launch_can_be_early(radix_look_kernel<K>, sort.device, &run->site.is_early, error);
}

/* Waits for the kernels so far, whose results the host reads. */
static bool radix_wait(const struct cuda_sort &sort, struct error *error)
{
    return cuda_check(cudaStreamSynchronize(sort.stream), sort.device, "cudaStreamSynchronize",
                      error);
}

/* ---- models ---- */

/* A partition of the segments of one array into another. */
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
};

/* Learns the models of the segments, and counts the keys of their buckets. */
template <typename K>
static bool radix_count_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                             struct error *error)
{
    const size_t tiles = radix_tiles_of<K>(run.sort.count) + step.segment_count;
    /* The buckets of one segment become segments themselves. */
    const unsigned buckets_most = step.segment_count == 1 ? run.plan.segments - 1 : RADIX_WAYS - 1;
    return launch_kernel(launch_at(run.site, "radix_learn_kernel", step.segment_count,
                                   LEARN_THREADS, sizeof(struct radix_learn_shared<K>)),
                         error, radix_learn_kernel<K>, step.source,
                         static_cast<const struct radix_segments *>(step.segments),
                         step.bucket_keys, buckets_most, step.root_rarity_bits, step.encoding,
                         run.work.models, step.counts) &&
           launch_kernel(launch_at(run.site, "radix_count_kernel",
                                   launch_resident(run.site, RADIX_COUNT_BLOCKS, tiles),
                                   RADIX_PARTITION_THREADS),
                         error, radix_count_kernel<K>, step.source,
                         static_cast<const struct radix_segments *>(step.segments),
                         static_cast<const struct radix_model<K> *>(run.work.models), step.encoding,
                         step.counts);
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
        error, radix_partition_kernel<K>, step.source, step.target,
        static_cast<const struct radix_segments *>(step.segments),
        static_cast<const struct radix_model<K> *>(run.work.models), step.encoding, step.counts);
}

/* source -> items: all packs. */
template <typename K>
static bool radix_sort_packs(const struct radix_run<K> &run, const struct radix_move<K> &move,
                             size_t packs, struct error *error)
{
    const unsigned *pack_count = &run.work.totals->packs;
    const struct radix_pack *tile_packs = run.work.packs;
    if constexpr (RADIX_IS_ITEM<K>) {
        if (!launch_kernel(launch_at(run.site, "radix_items_kernel",
                                     launch_resident(run.site, RADIX_ITEM_BLOCKS, packs),
                                     RADIX_TILE_THREADS, sizeof(struct radix_item_shared)),
                           error, radix_items_kernel, move,
                           static_cast<const struct radix_model<K> *>(run.work.models),
                           run.work.totals, tile_packs, run.work.left_packs))
            return false;
        pack_count = &run.work.totals->left;
        tile_packs = run.work.left_packs;
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
                         error, radix_pack_kernel<K>, step.counts,
                         static_cast<const struct radix_segments *>(step.segments),
                         static_cast<const struct radix_model<K> *>(run.work.models), run.plan.aim,
                         run.work.totals, run.work.packs, run.work.ranges) &&
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

/* Counts the buckets of the first partition, and looks whether the model follows the keys. */
template <typename K>
static bool radix_start_models(const struct radix_run<K> &run, const struct radix_step<K> &step,
                               struct error *error)
{
    return launch_kernel(launch_at(run.site, "radix_whole_kernel", 1, RADIX_SEGMENTS), error,
                         radix_whole_kernel<K>, run.sort.count, run.work.whole, run.work.totals) &&
           radix_count_step(run, step, error) &&
           launch_kernel(launch_at(run.site, "radix_crowd_kernel", 1, RADIX_WAYS), error,
                         radix_crowd_kernel<K>, step.source, run.sort.count,
                         static_cast<const struct radix_model<K> *>(run.work.models), step.encoding,
                         static_cast<const radix_count *>(step.counts), &run.sort.note->crowd) &&
           radix_wait(run.sort, error);
}

/* one.source -> one.target, in buckets. They are counted. */
template <typename K>
static bool radix_partition_counted(const struct radix_run<K> &run, const struct radix_step<K> &one,
                                    struct error *error)
{
    return launch_kernel(launch_at(run.site, "radix_scan_kernel", 1, RADIX_WAYS), error,
                         radix_scan_kernel<K>,
                         static_cast<const struct radix_segments *>(one.segments), one.counts,
                         run.work.segments) &&
           radix_partition_step(run, one, error);
}

/* Both partitions, the first of which is counted, and the tiles: one.source -> one.target -> target
 * -> items. */
template <typename K>
static bool radix_sort_by_two(const struct radix_run<K> &run, const struct radix_step<K> &one,
                              K *target, struct error *error)
{
    const struct radix_step<K> two = {
        one.target, target, run.work.segments, run.plan.segments, run.plan.bucket_keys,
            RADIX_LAST_ROOT_RARITY_BITS, key_order_identity(), run.work.counts
    };
    return radix_partition_counted(run, one, error) && radix_count_step(run, two, error) &&
           radix_sort_counted(run, two, error);
}

/* The first `count` segments as parts. One block. */
static __global__ void __launch_bounds__(RADIX_SEGMENTS)
    radix_part_kernel(const struct radix_segments *segments, unsigned count,
                      struct radix_open *parts)
{
    thread_wait_for_grid();
    if (threadIdx.x < count)
        parts[threadIdx.x] = {segments->first[threadIdx.x], segments->keys[threadIdx.x]};
}

/* Sorts an array that is too large for two partitions: items -> scratch in parts, which are
 * counted; then each by itself. */
template <typename K>
static bool radix_sort_parts(const struct radix_run<K> &run, const struct radix_step<K> &parting,
                             struct error *error)
{
    K *const items = static_cast<K *>(run.sort.items), *const scratch = parting.target;
    const unsigned parts =
        static_cast<unsigned>(launch_blocks(run.sort.count, parting.bucket_keys)) + 2;
    const struct radix_step<K> one = {
        scratch, items, run.work.whole, 1, run.plan.first_bucket_keys, RADIX_FIRST_ROOT_RARITY_BITS,
            key_order_identity(), run.work.first_counts
    };
    if (!radix_partition_counted(run, parting, error) ||
        !launch_kernel(
            launch_at(run.site, "radix_part_kernel", 1, RADIX_SEGMENTS), error, radix_part_kernel,
            static_cast<const struct radix_segments *>(run.work.segments), parts, run.work.parts))
        return false;
    for (unsigned part = 0; part < parts; part++)
        if (!launch_kernel(launch_at(run.site, "radix_reopen_kernel", 1, RADIX_SEGMENTS), error,
                           radix_reopen_kernel<K>,
                           static_cast<const struct radix_open *>(run.work.parts + part), 1u,
                           part == 0, run.work.whole, run.work.totals) ||
            !radix_count_step(run, one, error) || !radix_sort_by_two(run, one, scratch, error))
            return false;
    return radix_finish_ranges<K>(run, scratch, error);
}

/* ---- the strategies ---- */

static bool radix_merge(struct cuda_sort sort, struct error *error)
{
    sort.tile_size = RADIX_MERGE_TILE;
    return segmented_merge_sort(&sort, error);
}

template <typename K>
static bool radix_reverse(const struct radix_run<K> &run, struct error *error)
{
    const size_t blocks = launch_resident(run.site, RADIX_LOOK_BLOCKS,
                                          launch_blocks(run.sort.count / 2, RADIX_LOOK_PIECE<K>));
    return launch_kernel(launch_at(run.site, "radix_reverse_kernel", blocks, RADIX_LOOK_THREADS),
                         error, radix_reverse_kernel<K>, static_cast<K *>(run.sort.items),
                         run.sort.count);
}

template <typename K>
static bool radix_digits(const struct radix_run<K> &run, bool is_above_index, struct error *error)
{
    return radix_digit_sort(&run.sort, is_above_index, run.tuning->portion, run.work.other, error);
}

template <typename K>
static bool radix_models(const struct radix_run<K> &run, struct error *error)
{
    const struct cuda_sort &sort = run.sort;
    K *const items = static_cast<K *>(sort.items);
    const bool has_parts = sort.count > run.tuning->part_most;
    const struct radix_step<K> first = {
        items, static_cast<K *>(sort.scratch), run.work.whole,
            1, has_parts ? run.plan.part_keys : run.plan.first_bucket_keys,
            RADIX_FIRST_ROOT_RARITY_BITS, sort.order, run.work.first_counts
    };
    if (!radix_start_models(run, first, error))
        return false;
    const struct radix_decision decision =
        radix_decide_counted(&sort.note->facts, sort.count, sizeof(K), sort.note->crowd);
    trace_note_strategy(radix_strategy_name(decision.strategy), decision.reason);
    if (decision.strategy == RADIX_STRATEGY_DIGITS)
        return radix_digits(run, false, error);
    if (has_parts)
        return radix_sort_parts(run, first, error);
    return radix_sort_by_two(run, first, items, error) && radix_finish_ranges<K>(run, items, error);
}

/* Sorts by the strategy that the facts ask for. */
template <typename K>
static bool radix_start_decided(const struct radix_run<K> &run, struct error *error)
{
    const struct radix_decision decision =
        radix_decide(run.tuning, &run.sort.note->facts, run.sort.count, sizeof(K));
    trace_note_strategy(radix_strategy_name(decision.strategy), decision.reason);
    switch (decision.strategy) {
    case RADIX_STRATEGY_NONE:
        return true;
    case RADIX_STRATEGY_REVERSE:
        return radix_reverse(run, error);
    case RADIX_STRATEGY_COUNT:
        if constexpr (RADIX_HAS_FEW<K>)
            return radix_few_sort(run.sort, static_cast<struct few_values<K> *>(run.work.other),
                                  error);
        break;
    case RADIX_STRATEGY_DIGITS:
        return radix_digits(run, false, error);
    case RADIX_STRATEGY_UPPER_DIGITS:
        return radix_digits(run, true, error);
    case RADIX_STRATEGY_MODELS:
        if constexpr (RADIX_HAS_MODELS<K>)
            return radix_models(run, error);
        break;
    default:
        break;
    }
    return radix_merge(run.sort, error);
}

/* Counts the keys that items share, in a sample. The hash table lies in the scratch. */
template <typename K>
static bool radix_draw_repeats(const struct radix_run<K> &run, struct error *error)
{
    const struct cuda_sort &sort = run.sort;
    const unsigned sample = radix_repeats_sample(sort.count);
    unsigned long long *const table = static_cast<unsigned long long *>(sort.scratch);
    return cuda_check(cudaMemsetAsync(table, 0, 2 * sample * sizeof *table, sort.stream),
                      sort.device, "cudaMemsetAsync", error) &&
           launch_kernel(launch_at(run.site, "radix_repeats_kernel",
                                   launch_blocks(sample, RADIX_LOOK_THREADS), RADIX_LOOK_THREADS),
                         error, radix_repeats_kernel<K>, static_cast<const K *>(sort.items),
                         sort.count, sort.order, sample, table, run.work.facts);
}

/* Finds the facts. */
template <typename K>
static bool radix_look(const struct radix_run<K> &run, struct error *error)
{
    const struct cuda_sort &sort = run.sort;
    const size_t pieces = radix_look_pieces<K>(sort.count);
    const size_t blocks = launch_resident(run.site, RADIX_LOOK_BLOCKS, pieces);
    const bool has_sample = radix_needs_sample(run.tuning, sort.count, sizeof(K));
    return cuda_check(cudaMemsetAsync(run.work.facts, 0, sizeof *run.work.facts, sort.stream),
                      sort.device, "cudaMemsetAsync", error) &&
           launch_kernel(
               launch_at(run.site, "radix_look_kernel", blocks + has_sample, RADIX_LOOK_THREADS),
               error, radix_look_kernel<K>, static_cast<const K *>(sort.items), sort.count,
               sort.order, static_cast<unsigned>(blocks), run.work.facts) &&
           (!has_sample || sizeof(K) <= 8 || radix_draw_repeats(run, error)) &&
           cuda_check(cudaMemcpyAsync(&sort.note->facts, run.work.facts, sizeof *run.work.facts,
                                      cudaMemcpyDeviceToHost, sort.stream),
                      sort.device, "cudaMemcpyAsync", error) &&
           radix_wait(sort, error);
}

template <typename K>
static bool radix_start(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                        struct error *error)
{
    struct radix_run<K> run;
    return radix_prepare(sort, tuning, &run, error) && radix_look(run, error) &&
           radix_start_decided(run, error);
}

/* ---- what is left undone ---- */

/* After a strategy has refused the items, and moved none: the facts say why, and another one has
 * its turn. */
template <typename K>
static bool radix_start_again(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                              struct error *error)
{
    struct radix_facts *const facts = &sort.note->facts;
    struct radix_run<K> run;
    const struct radix_decision refused = radix_decide(&tuning, facts, sort.count, sizeof(K));
    if (refused.strategy == RADIX_STRATEGY_COUNT)
        facts->no_counting = 1;
    else
        facts->no_index = 1;
    return radix_prepare(sort, tuning, &run, error) && radix_start_decided(run, error);
}

/* Partitions the `count` open ranges once more, as many at a time as there are models, and sorts
 * their tiles. */
template <typename K>
static bool radix_start_round(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                              size_t count, struct error *error)
{
    struct radix_run<K> run;
    if (!cuda_check_figure(count, radix_open_most(sort.count), sort.device, "number of ranges",
                           error) ||
        !radix_prepare(sort, tuning, &run, error))
        return false;
    const struct radix_step<K> step = {
        static_cast<const K *>(sort.items),
            static_cast<K *>(sort.scratch), run.work.segments, run.plan.segments,
            run.plan.bucket_keys, RADIX_LAST_ROOT_RARITY_BITS, sort.order, run.work.counts
    };
    for (size_t first = 0; first < count; first += run.plan.segments) {
        const size_t segments = std::min<size_t>(count - first, run.plan.segments);
        if (!launch_kernel(launch_at(run.site, "radix_reopen_kernel", 1, RADIX_SEGMENTS), error,
                           radix_reopen_kernel<K>,
                           static_cast<const struct radix_open *>(run.work.open + first),
                           static_cast<unsigned>(segments), first == 0, run.work.segments,
                           run.work.totals) ||
            !radix_count_step(run, step, error) || !radix_sort_counted(run, step, error))
            return false;
    }
    return radix_finish_ranges<K>(run, step.target, error);
}

template <typename K>
static bool radix_go_on(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                        struct error *error)
{
    const struct sort_note before = *sort.note;
    sort.note->open = 0;
    sort.note->is_refused = false;
    if (before.is_refused)
        return radix_start_again<K>(sort, tuning, error);
    if constexpr (RADIX_HAS_MODELS<K>)
        return radix_start_round<K>(sort, tuning, before.open, error);
    return error_set(error, "device %u: keys of 4 bytes have open ranges", sort.device);
}

/* ---- the path ---- */

static bool radix_refuse_width(const struct cuda_sort &sort, struct error *error)
{
    return error_set(error, "device %u: no path sorts items of %u bytes", sort.device,
                     sort.item_bytes);
}

bool radix_sort_tuned(const struct cuda_sort *sort, const struct radix_tuning *tuning,
                      struct error *error)
{
    *sort->note = {};
    if (sort->item_bytes <= 2 && sort->count > RADIX_COUNT_LEAST)
        return counting_sort(sort, SIZE_MAX, error);
    if (sort->count <= tuning->merge_most)
        return radix_merge(*sort, error);
    switch (sort->item_bytes) {
    case 4:
        return radix_start<uint32_t>(*sort, *tuning, error);
    case 8:
        return radix_start<uint64_t>(*sort, *tuning, error);
    case 16:
        return radix_start<key_u128>(*sort, *tuning, error);
    default:
        return radix_refuse_width(*sort, error);
    }
}

bool radix_finish_tuned(const struct cuda_sort *sort, const struct radix_tuning *tuning,
                        unsigned round, bool *is_done, struct error *error)
{
    const struct sort_note *const note = sort->note;
    *is_done = note->open == 0 && !note->is_refused;
    if (*is_done)
        return true;
    if (round > RADIX_ROUNDS) {
        *sort->note = {};
        return radix_merge(*sort, error);
    }
    switch (sort->item_bytes) {
    case 4:
        return radix_go_on<uint32_t>(*sort, *tuning, error);
    case 8:
        return radix_go_on<uint64_t>(*sort, *tuning, error);
    case 16:
        return radix_go_on<key_u128>(*sort, *tuning, error);
    default:
        return radix_refuse_width(*sort, error);
    }
}

bool radix_sort(const struct cuda_sort *sort, struct error *error)
{
    return radix_sort_tuned(sort, &radix_tuning_default, error);
}

bool radix_finish(const struct cuda_sort *sort, unsigned round, bool *is_done, struct error *error)
{
    return radix_finish_tuned(sort, &radix_tuning_default, round, is_done, error);
}

template <typename K>
static size_t radix_width_workspace_bytes(size_t count, size_t tile_size)
{
    return radix_workspace_lay<K>(radix_plan_make<K>(count, tile_size, SIZE_MAX), count, NULL)
        .bytes;
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
