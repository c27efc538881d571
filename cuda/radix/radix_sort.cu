/* SPDX-License-Identifier: Apache-2.0 */
/* radix_sort.cu - sorts by the strategy that radix_decide() chooses. The kernels, in the order of
 * their launches:
 *
 *   of 1 and 2 bytes: those of counting_keys.cu
 *   else up to merge_most items: those of segmented_merge_sort.cu
 *   radix_look_kernel     what is in order, and a sample; the host waits for it and decides
 *                         (radix_strategy.c)
 *   in order: none        reverse: radix_reverse_kernel
 *   count:    radix_few_count_kernel, radix_few_runs_kernel, counting_fill_kernel
 *   digits:   radix_digit_count_kernel, radix_digit_plan_kernel, then for each digit
 *             radix_digit_kernel, which ends at once if all keys share the digit; then
 *             radix_digit_copy_kernel, which copies after an odd number of passes
 *   models:   radix_open_kernel, and for the whole array
 *             radix_learn_kernel        a model: key -> position in the sorted order
 *             radix_count_kernel        items of each bucket
 *             radix_scan_kernel, radix_partition_kernel       items -> scratch, in buckets
 *                                       (of more than part_most items these are parts; each starts
 *                                       with radix_open_kernel and is sorted as the whole array is
 *                                       otherwise)
 *             then for all buckets together
 *             radix_learn_kernel, radix_count_kernel, radix_pack_kernel, radix_partition_kernel
 *                                       scratch -> items, in buckets of buckets
 *             radix_items_kernel        packs of items of 16 bytes, sorted by words
 *             radix_tiles_kernel        other packs, sorted in shared memory
 *             radix_ranges_kernel       what fits no tile is copied, and listed if its keys differ
 *   Listed buckets are partitioned once more by radix_open_kernel and the kernels from the second
 *   radix_learn_kernel on, after the engine has waited for the first round (radix_finish). After
 *   RADIX_ROUNDS rounds they are merge sorted.
 */
#include "core/trace.h"
#include "cuda/block/launch.cuh"
#include "cuda/radix/radix_digit_sort.h"
#include "cuda/radix/radix_few.cuh"
#include "cuda/radix/radix_items.cuh"
#include "cuda/radix/radix_learn.cuh"
#include "cuda/radix/radix_look.cuh"
#include "cuda/radix/radix_tiles.cuh"

#include <algorithm>
#include <cmath>

/* ---- how many buckets; workspace ---- */

/* Keys of 4 bytes have no models: digits are as fast. */
template <typename K>
constexpr bool RADIX_HAS_MODELS = sizeof(K) >= sizeof(uint64_t);

/* Items of 16 bytes are not counted, because their indices differ. */
template <typename K>
constexpr bool RADIX_HAS_FEW = sizeof(K) <= sizeof(uint64_t);

struct radix_plan {
    size_t parts;             /* expected; 1: the array is not divided */
    size_t part_keys;         /* keys of a part */
    size_t first_bucket_keys; /* keys of a bucket of the first partition */
    size_t bucket_keys;       /* keys of a bucket of the second one */
    unsigned aim;             /* keys of a pack */
    unsigned segments;        /* the most that a partition can have, each with a model */
};

/* Models and counts take at most a 32nd of the items' memory, but there is always room for five
 * segments, because a model has at least four buckets. */
constexpr size_t RADIX_MODEL_RARITY = 32;

template <typename K>
static unsigned radix_segments_at_most(size_t count)
{
    const size_t segment_bytes = sizeof(struct radix_model<K>) + RADIX_WAYS * sizeof(atomic_count);
    const size_t fit = count * sizeof(K) / RADIX_MODEL_RARITY / segment_bytes;
    return static_cast<unsigned>(std::clamp<size_t>(fit, 5, RADIX_SEGMENTS));
}

/* A thin bucket is a quarter of a tile, so that tiles of several buckets have even sizes. Others
 * are nearly a tile, which has room for 1.5 times that; they are fewer, so the partitions write
 * longer runs. Buckets that are still too large for a tile are partitioned once more. */
template <typename K>
static struct radix_plan radix_plan_make(size_t all, size_t parts, size_t tile_size,
                                         const struct radix_tuning &tuning)
{
    struct radix_plan plan = {};
    plan.parts = parts;
    plan.part_keys = launch_blocks(all, parts);
    /* A part may have a third more keys than expected. */
    const size_t count = parts > 1 ? plan.part_keys + plan.part_keys / 3 : all;
    constexpr size_t ways = RADIX_WAYS - 1;
    const size_t aim = std::min<size_t>(tile_size, RADIX_TILE_ROOM * 3 / 4);
    plan.aim = static_cast<unsigned>(aim);
    plan.segments = radix_segments_at_most<K>(count);
    plan.bucket_keys = all <= tuning.thin_most
                           ? aim / 4
                           : std::max(launch_blocks(count, ways * ways), aim * 15 / 16);
    const size_t buckets = launch_blocks(count, plan.bucket_keys);
    const size_t root = static_cast<size_t>(std::sqrt(static_cast<double>(buckets))) + 1;
    plan.first_bucket_keys =
        launch_blocks(count, std::min({root, ways, static_cast<size_t>(plan.segments) - 1}));
    return plan;
}

/* Ranges that fit no tile. */
static size_t radix_open_most(size_t count)
{
    return count / RADIX_TILE_ROOM + 1;
}

/* Strategies share memory, because only one runs. */
template <typename K>
struct radix_workspace {
    struct radix_facts *facts;
    void *other; /* for digits, or the tables of few values */
    /* For models: */
    struct radix_totals *totals;
    struct radix_segments *whole;
    struct radix_open open;       /* ranges */
    struct radix_segments *parts; /* buckets of the first partition, if these are parts */
    atomic_count *first_counts;   /* of the first partition */
    atomic_count *counts;         /* of the second one */
    struct radix_model<K> *models;
    struct radix_segments *segments;
    struct radix_pack *packs;
    struct radix_pack *left_packs; /* of items; else NULL */
    struct radix_range<K> *ranges;
    size_t bytes;
};

template <typename K>
static void radix_workspace_lay_models(const struct radix_plan &plan, size_t count, void *memory,
                                       struct radix_workspace<K> *work)
{
    const size_t buckets = static_cast<size_t>(plan.segments) * RADIX_WAYS;
    const size_t packs = std::min(buckets, radix_packs_at_most(count, plan.aim, plan.segments));
    const size_t ranges = radix_open_most(count);
    size_t used = 0;
    work->facts = workspace_take<struct radix_facts>(memory, &used, 1);
    work->totals = workspace_take<struct radix_totals>(memory, &used, 1);
    work->whole = workspace_take<struct radix_segments>(memory, &used, 1);
    work->open.first = workspace_take<atomic_count>(memory, &used, ranges);
    work->open.keys = workspace_take<atomic_count>(memory, &used, ranges);
    work->parts = workspace_take<struct radix_segments>(memory, &used, 1);
    work->first_counts = workspace_take<atomic_count>(memory, &used, RADIX_WAYS);
    work->counts = workspace_take<atomic_count>(memory, &used, buckets);
    work->models = workspace_take<struct radix_model<K>>(memory, &used, plan.segments);
    work->segments = workspace_take<struct radix_segments>(memory, &used, 1);
    work->packs = workspace_take<struct radix_pack>(memory, &used, packs);
    if (RADIX_IS_ITEM<K>)
        work->left_packs = workspace_take<struct radix_pack>(memory, &used, packs);
    work->ranges = workspace_take<struct radix_range<K>>(memory, &used, ranges);
    work->bytes = std::max(work->bytes, used);
}

/* Lays out the workspace from `memory` on. With NULL, only the size is valid. */
template <typename K>
static struct radix_workspace<K> radix_workspace_lay(const struct radix_plan &plan, size_t count,
                                                     void *memory) {
    struct radix_workspace<K> work = {
    };
    size_t used = 0;
    work.facts = workspace_take<struct radix_facts>(memory, &used, 1);
    work.other = workspace_take<unsigned char>(memory, &used, 0);
    work.bytes = used + radix_digit_bytes(count, sizeof(K));
    if constexpr (RADIX_HAS_FEW<K>)
        work.bytes = std::max(work.bytes, used + sizeof(struct few_counted<K>));
    if constexpr (RADIX_HAS_MODELS<K>)
        radix_workspace_lay_models(plan, count, memory, &work);
    return work;
}

/* ---- the state of a sort ---- */

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
    const size_t parts =
        sort.count > tuning.part_most ? launch_blocks(sort.count, tuning.part_keys) : 1;
    const struct radix_plan plan = radix_plan_make<K>(sort.count, parts, sort.tile_size, tuning);
    *run = {sort, &tuning, plan, radix_workspace_lay<K>(plan, sort.count, sort.workspace), {}};
    return launch_site_find(sort.device, sort.stream, &run->site, error) &&
           launch_can_be_early(radix_look_kernel<K>, sort.device, &run->site.is_early, error);
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
    atomic_count *counts; /* then cursors */
};

/* The segments of a partition: the `count` of `open`, or the whole array. */
template <typename K>
static bool radix_open_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                            const struct radix_open &open, size_t count, bool is_first,
                            struct error *error)
{
    return launch_kernel(launch_at(run.site, "radix_open_kernel", 1, RADIX_SEGMENTS), error,
                         radix_open_kernel<K>, open, static_cast<unsigned>(count), run.sort.count,
                         is_first, step.segments, run.work.totals);
}

/* Learns the models of the segments. The positions of their samples depend on the facts of the
 * look, so no array can hide its keys from both. */
template <typename K>
static bool radix_learn_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                             struct error *error)
{
    /* The buckets of one segment become segments themselves. */
    const unsigned buckets_most = step.segment_count == 1 ? run.plan.segments - 1 : RADIX_WAYS - 1;
    return launch_kernel(launch_at(run.site, "radix_learn_kernel", step.segment_count,
                                   LEARN_THREADS, sizeof(struct radix_learn_shared<K>)),
                         error, radix_learn_kernel<K>, step.source, step.segments, step.bucket_keys,
                         buckets_most, step.root_rarity_bits, step.encoding,
                         run.sort.status->facts.roughness, run.work.models, step.counts);
}

/* Counts the keys of the segments' buckets. */
template <typename K>
static bool radix_count_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                             struct error *error)
{
    const size_t tiles = radix_tiles_of<K>(run.sort.count) + step.segment_count;
    return launch_kernel(launch_at(run.site, "radix_count_kernel",
                                   launch_wave(run.site, RADIX_COUNT_BLOCKS, tiles),
                                   RADIX_PARTITION_THREADS),
                         error, radix_count_kernel<K>, step.source, step.segments, run.work.models,
                         step.encoding, step.counts);
}

template <typename K>
static bool radix_partition_step(const struct radix_run<K> &run, const struct radix_step<K> &step,
                                 struct error *error)
{
    const size_t tiles = radix_tiles_of<K>(run.sort.count) + step.segment_count;
    return launch_kernel(launch_at(run.site, "radix_partition_kernel",
                                   launch_wave(run.site, RADIX_PARTITION_BLOCKS, tiles),
                                   RADIX_PARTITION_THREADS,
                                   sizeof(struct radix_partition_shared<K>)),
                         error, radix_partition_kernel<K>, step.source, step.target, step.segments,
                         run.work.models, step.encoding, step.counts);
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
                                     launch_wave(run.site, RADIX_ITEM_BLOCKS, packs),
                                     RADIX_TILE_THREADS, sizeof(struct radix_item_shared)),
                           error, radix_items_kernel, move, run.work.models, run.work.totals,
                           tile_packs, run.work.left_packs))
            return false;
        pack_count = &run.work.totals->left;
        tile_packs = run.work.left_packs;
    }
    return launch_kernel(launch_at(run.site, "radix_tiles_kernel",
                                   launch_wave(run.site, radix_tile_blocks(sizeof(K)), packs),
                                   RADIX_TILE_THREADS, sizeof(struct radix_tile_shared<K>)),
                         error, radix_tiles_kernel<K>, move, run.work.models, run.work.totals,
                         pack_count, tile_packs, run.work.ranges);
}

/* The last partition and the packs: step.source -> step.target -> items. Buckets that fit no tile
 * are added to the ranges. */
template <typename K>
static bool radix_sort_last(const struct radix_run<K> &run, const struct radix_step<K> &step,
                            struct error *error)
{
    const struct radix_move<K> move = {
        step.target, static_cast<K *>(run.sort.items), run.sort.order
    };
    const size_t packs = launch_blocks(run.sort.count, run.plan.aim) + step.segment_count;
    return radix_learn_step(run, step, error) && radix_count_step(run, step, error) &&
           launch_kernel(launch_at(run.site, "radix_pack_kernel", step.segment_count, RADIX_WAYS),
                         error, radix_pack_kernel<K>, step.counts, step.segments, run.work.models,
                         run.plan.aim, run.work.totals, run.work.packs, run.work.ranges) &&
           radix_partition_step(run, step, error) && radix_sort_packs(run, move, packs, error);
}

/* source -> items: copies the buckets that fit no tile. */
template <typename K>
static bool radix_finish_ranges(const struct radix_run<K> &run, const K *source,
                                struct error *error)
{
    const struct radix_move<K> move = {
        source, static_cast<K *>(run.sort.items), run.sort.order
    };
    const size_t blocks =
        launch_wave(run.site, RADIX_COPY_BLOCKS, launch_blocks(run.sort.count, RADIX_PIECE));
    return launch_kernel(launch_at(run.site, "radix_ranges_kernel", blocks, THREADS_PER_BLOCK),
                         error, radix_ranges_kernel<K>, move, run.work.totals, run.work.ranges,
                         run.work.open, run.sort.status);
}

/* one.source -> one.target, in buckets, which become the next segments. Its model is learned. */
template <typename K>
static bool radix_partition_one(const struct radix_run<K> &run, const struct radix_step<K> &one,
                                struct radix_segments *next, struct error *error)
{
    return radix_count_step(run, one, error) &&
           launch_kernel(launch_at(run.site, "radix_scan_kernel", 1, RADIX_WAYS), error,
                         radix_scan_kernel<K>, one.segments, one.counts, next) &&
           radix_partition_step(run, one, error);
}

/* Both partitions, the first of which has its model, and the tiles: one.source -> one.target ->
 * target -> items. */
template <typename K>
static bool radix_sort_by_two(const struct radix_run<K> &run, const struct radix_step<K> &one,
                              K *target, struct error *error)
{
    const struct radix_step<K> two = {
        one.target, target, run.work.segments, run.plan.segments, run.plan.bucket_keys,
            RADIX_LAST_ROOT_RARITY_BITS, key_order_identity(), run.work.counts
    };
    return radix_partition_one(run, one, run.work.segments, error) &&
           radix_sort_last(run, two, error);
}

/* Sorts an array that is too large for two partitions: items -> scratch in parts; then each. */
template <typename K>
static bool radix_sort_parts(const struct radix_run<K> &run, const struct radix_step<K> &parting,
                             struct error *error)
{
    K *const items = static_cast<K *>(run.sort.items), *const scratch = parting.target;
    /* Two more buckets may be for keys below and above the sample. */
    const size_t parts = std::min<size_t>(run.plan.parts + 2, RADIX_SEGMENTS);
    const struct radix_step<K> one = {
        scratch, items, run.work.whole, 1, run.plan.first_bucket_keys, RADIX_FIRST_ROOT_RARITY_BITS,
            key_order_identity(), run.work.first_counts
    };
    if (!radix_partition_one(run, parting, run.work.parts, error))
        return false;
    for (size_t part = 0; part < parts; part++)
        if (!radix_open_step(run, one, {run.work.parts->first + part, run.work.parts->keys + part},
                             1, part == 0, error) ||
            !radix_learn_step(run, one, error) || !radix_sort_by_two(run, one, scratch, error))
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
    const size_t blocks = launch_wave(run.site, RADIX_LOOK_BLOCKS,
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
    const bool has_parts = run.plan.parts > 1;
    const struct radix_step<K> first = {
        items, static_cast<K *>(sort.scratch), run.work.whole,
            1, has_parts ? run.plan.part_keys : run.plan.first_bucket_keys,
            RADIX_FIRST_ROOT_RARITY_BITS, sort.order, run.work.first_counts
    };
    if (!radix_open_step(run, first, {}, 1, true, error) || !radix_learn_step(run, first, error))
        return false;
    if (has_parts)
        return radix_sort_parts(run, first, error);
    return radix_sort_by_two(run, first, items, error) && radix_finish_ranges<K>(run, items, error);
}

/* Sorts by the strategy that the facts ask for. */
template <typename K>
static bool radix_start_decided(const struct radix_run<K> &run, struct error *error)
{
    const struct radix_decision decision =
        radix_decide(run.tuning, &run.sort.status->facts, run.sort.count, sizeof(K));
    trace_note_strategy(radix_strategy_name(decision.strategy), decision.reason);
    switch (decision.strategy) {
    case RADIX_STRATEGY_NONE:
        return true;
    case RADIX_STRATEGY_REVERSE:
        return radix_reverse(run, error);
    case RADIX_STRATEGY_COUNT:
        if constexpr (RADIX_HAS_FEW<K>)
            return radix_few_sort(run.sort, static_cast<struct few_counted<K> *>(run.work.other),
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

/* Finds the facts. The hash table of keys drawn lies in the scratch. */
template <typename K>
static bool radix_look(const struct radix_run<K> &run, struct error *error)
{
    const struct cuda_sort &sort = run.sort;
    const bool has_sample = radix_needs_sample(run.tuning, sort.count, sizeof(K));
    const size_t wave = launch_wave(run.site, RADIX_LOOK_BLOCKS, SIZE_MAX);
    const size_t blocks = std::min<size_t>(wave - has_sample, radix_look_pieces<K>(sort.count));
    const unsigned drawn = has_sample && RADIX_IS_ITEM<K> ? radix_repeats_sample(sort.count) : 0;
    unsigned long long *const table = static_cast<unsigned long long *>(sort.scratch);
    return cuda_fill(sort, run.work.facts, 0, sizeof *run.work.facts, error) &&
           (drawn == 0 || cuda_fill(sort, table, 0, 2 * drawn * sizeof *table, error)) &&
           launch_kernel(launch_at(run.site, "radix_look_kernel",
                                   has_sample + blocks + launch_blocks(drawn, RADIX_LOOK_THREADS),
                                   RADIX_LOOK_THREADS),
                         error, radix_look_kernel<K>, static_cast<const K *>(sort.items),
                         sort.count, sort.order, static_cast<unsigned>(blocks), has_sample, drawn,
                         table, run.work.facts) &&
           cuda_fetch(sort, &sort.status->facts, run.work.facts, sizeof *run.work.facts, error);
}

/* ---- work that remains ---- */

/* Called after a strategy has refused the items and moved none. The facts then exclude it, and
 * another strategy is chosen. */
template <typename K>
static bool radix_start_again(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                              struct error *error)
{
    struct radix_facts *const facts = &sort.status->facts;
    struct radix_run<K> run;
    const struct radix_decision refused = radix_decide(&tuning, facts, sort.count, sizeof(K));
    if (refused.strategy == RADIX_STRATEGY_COUNT)
        facts->no_counting = 1;
    else
        facts->no_index = 1;
    return radix_prepare(sort, tuning, &run, error) && radix_start_decided(run, error);
}

/* Partitions the `count` open ranges once more, as many at once as there are models, and sorts
 * their tiles. */
template <typename K>
static bool radix_start_round(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                              size_t count, struct error *error)
{
    struct radix_run<K> run;
    if (!cuda_check_value(count, radix_open_most(sort.count), sort.device, "number of ranges",
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
        if (!radix_open_step(run, step, {run.work.open.first + first, run.work.open.keys + first},
                             segments, first == 0, error) ||
            !radix_sort_last(run, step, error))
            return false;
    }
    return radix_finish_ranges<K>(run, step.target, error);
}

/* ---- the path ---- */

/* Starts the first round, or the work that the rounds before have left, as `before` reports. */
template <typename K>
static bool radix_start(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                        unsigned round, const struct sort_status &before, struct error *error)
{
    struct radix_run<K> run;
    if (round == 0)
        return radix_prepare(sort, tuning, &run, error) && radix_look(run, error) &&
               radix_start_decided(run, error);
    if (before.is_refused)
        return radix_start_again<K>(sort, tuning, error);
    if constexpr (RADIX_HAS_MODELS<K>)
        return radix_start_round<K>(sort, tuning, before.open, error);
    return error_set(error, "device %u: keys of 4 bytes have open ranges", sort.device);
}

/* Returns run(key), where `key` has the type of keys of 4, 8 or 16 bytes. */
template <typename Run>
static auto radix_dispatch(unsigned item_bytes, const Run &run)
{
    return item_bytes == 4 ? run(uint32_t{}) : item_bytes == 8 ? run(uint64_t{}) : run(key_u128{});
}

static bool radix_start_width(const struct cuda_sort &sort, const struct radix_tuning &tuning,
                              unsigned round, struct error *error)
{
    const struct sort_status before = *sort.status;
    sort.status->open = 0;
    sort.status->is_refused = false;
    return radix_dispatch(sort.item_bytes, [&](auto key) {
        return radix_start<decltype(key)>(sort, tuning, round, before, error);
    });
}

bool radix_sort_tuned(const struct cuda_sort *sort, const struct radix_tuning *tuning,
                      struct error *error)
{
    *sort->status = {};
    if (sort->item_bytes <= 2 && sort->count > RADIX_COUNT_LEAST)
        return counting_sort(sort, SIZE_MAX, error);
    if (sort->item_bytes <= 2 || sort->count <= tuning->merge_most)
        return radix_merge(*sort, error);
    return radix_start_width(*sort, *tuning, 0, error);
}

bool radix_finish_tuned(const struct cuda_sort *sort, const struct radix_tuning *tuning,
                        unsigned round, bool *is_done, struct error *error)
{
    const struct sort_status *const status = sort->status;
    *is_done = status->open == 0 && !status->is_refused;
    if (*is_done)
        return true;
    if (round <= RADIX_ROUNDS)
        return radix_start_width(*sort, *tuning, round, error);
    *sort->status = {};
    return radix_merge(*sort, error);
}

bool radix_sort(const struct cuda_sort *sort, struct error *error)
{
    return radix_sort_tuned(sort, &radix_tuning_default, error);
}

bool radix_finish(const struct cuda_sort *sort, unsigned round, bool *is_done, struct error *error)
{
    return radix_finish_tuned(sort, &radix_tuning_default, round, is_done, error);
}

size_t radix_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes)
{
    const size_t merge = merge_workspace_bytes(count, RADIX_MERGE_TILE, item_bytes);
    if (item_bytes <= 2)
        return std::max(merge, counting_workspace_bytes(count, tile_size, item_bytes));
    return radix_dispatch(item_bytes, [=](auto key) {
        using K = decltype(key);
        const struct radix_plan plan =
            radix_plan_make<K>(count, 1, tile_size, radix_tuning_default);
        return std::max(merge, radix_workspace_lay<K>(plan, count, NULL).bytes);
    });
}
