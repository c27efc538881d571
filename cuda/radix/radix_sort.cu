/* SPDX-License-Identifier: Apache-2.0 */
/* radix_sort.cu - sorts by the strategy that radix_decide() chooses. The kernels, in the order of
 * their launches:
 *
 *   few items (radix_is_small): those of small_sort, in bitonic_sort.cu
 *   else of 1 and 2 bytes: those of counting_keys.cu
 *   radix_look_kernel     what is in order, and a sample; the host waits for it and decides
 *                         (radix_strategy.c)
 *   in order: none        reverse: radix_reverse_kernel
 *   count:    radix_few_count_kernel, radix_few_runs_kernel, counting_fill_kernel
 *   digits:   radix_digit_count_kernel, radix_digit_plan_kernel, then for each digit
 *             radix_digit_kernel, of which the last ones end at once if keys share digits; then,
 *             except for items of 16 bytes, radix_digit_copy_kernel, which copies after an odd
 *             number of passes
 *   models:   radix_open_kernel, radix_learn_kernel   a model: key -> position in the sorted order
 *             radix_count_kernel        items of each bucket
 *             radix_scan_kernel         where each bucket begins; the buckets as open ranges
 *             radix_partition_kernel    items -> scratch, in buckets; of more than part_most items
 *                                       in parts, and then once more, scratch -> items, in buckets
 *             then for all buckets, as many at once as there are models,
 *             radix_open_kernel, radix_learn_kernel, radix_count_kernel,
 *             radix_pack_kernel, radix_partition_kernel
 *                                       to the other array, in buckets of buckets
 *             radix_items_kernel        packs of items of 16 bytes, sorted by words
 *             radix_tiles_kernel        other packs, sorted in shared memory
 *             and radix_ranges_kernel   what fits no tile is copied, and listed if its keys differ
 *   Listed ranges are partitioned once more by the kernels from the second radix_open_kernel on,
 *   after the engine has waited for the round before (radix_finish). After RADIX_ROUNDS more rounds
 *   the whole array is merge sorted.
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
    unsigned segments; /* the most that a partition can have, each with a model */
    unsigned parts;    /* at most; 1: the array is not divided */
    struct radix_bucket_bits first_buckets; /* of a part, or of the whole array */
    unsigned first_most; /* most wanted parts, or buckets of the array; the model has one more */
    size_t first_keys;   /* wanted keys of each */
    size_t bucket_keys;  /* wanted keys of a bucket of the last partition */
    unsigned aim;        /* keys of a pack */
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

/* Returns the maximum number of ranges: buckets that fit no tile. */
static size_t radix_ranges_at_most(size_t count)
{
    return count / RADIX_TILE_ROOM + 1;
}

/* Returns the number of open ranges for which the workspace has room: ranges, or the buckets of all
 * parts. There are at most as many parts as segments. */
constexpr size_t RADIX_PART_BUCKETS_LEAST = 64;
static size_t radix_open_room(size_t count, unsigned segments)
{
    return std::max(radix_ranges_at_most(count), segments * RADIX_PART_BUCKETS_LEAST);
}

/* Returns the bits of a position that are the number of a bucket in its part: as many as
 * RADIX_COUNTERS_MOST, and the `room` for open ranges, allow for the buckets of all parts. */
static struct radix_bucket_bits radix_part_buckets(unsigned parts, size_t room)
{
    struct radix_bucket_bits bits = RADIX_WHOLE_BUCKETS;
    while (bits.count > RADIX_PART_BITS_MOST ||
           static_cast<size_t>(parts) << bits.count > std::min<size_t>(RADIX_COUNTERS_MOST, room))
        bits.count--;
    bits.shift -= bits.count;
    return bits;
}

/* A thin bucket is a quarter of a tile, so that tiles of several buckets have even sizes. Others
 * are nearly a tile, which has room for 1.5 times that; they are fewer, so the partitions write
 * longer runs. Buckets that are still too large for a tile are partitioned once more. */
template <typename K>
static struct radix_plan radix_plan_make(size_t count, size_t tile_size,
                                         const struct radix_tuning &tuning)
{
    const size_t aim = std::min<size_t>(tile_size, RADIX_TILE_ROOM * 3 / 4), even = aim * 15 / 16;
    const unsigned segments = radix_segments_at_most<K>(count);
    struct radix_plan plan = {};
    plan.segments = segments;
    plan.aim = static_cast<unsigned>(aim);
    if (count > tuning.part_most) {
        const size_t most = std::min(segments, RADIX_PARTS_MOST) - 1;
        const size_t parts = std::clamp<size_t>(launch_blocks(count, tuning.part_keys), 3, most);
        plan.first_most = static_cast<unsigned>(parts);
        plan.first_keys = launch_blocks(count, parts);
        plan.parts = plan.first_most + 1; /* one for keys above the sample */
        plan.first_buckets = radix_part_buckets(plan.parts, radix_open_room(count, segments));
        plan.bucket_keys = even;
    } else {
        constexpr size_t ways = RADIX_WAYS - 1;
        plan.parts = 1;
        plan.first_buckets = RADIX_WHOLE_BUCKETS;
        plan.first_most = segments - 1;
        plan.bucket_keys =
            count <= tuning.thin_most ? aim / 4 : std::max(launch_blocks(count, ways * ways), even);
        const size_t buckets = launch_blocks(count, plan.bucket_keys);
        const size_t root = static_cast<size_t>(std::sqrt(static_cast<double>(buckets))) + 1;
        plan.first_keys =
            launch_blocks(count, std::min({root, ways, static_cast<size_t>(plan.first_most)}));
    }
    return plan;
}

/* Strategies share memory, because only one runs. */
template <typename K>
struct radix_workspace {
    struct radix_facts *facts;
    void *other; /* for digits, or the tables of few values */
    /* For models: */
    struct radix_totals *totals;
    struct radix_open open;
    struct radix_segments *parts;
    atomic_count *part_cursors;
    atomic_count *counts;
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
    const size_t ranges = radix_ranges_at_most(count);
    const size_t open = radix_open_room(count, plan.segments);
    size_t used = 0;
    work->facts = workspace_take<struct radix_facts>(memory, &used, 1);
    work->totals = workspace_take<struct radix_totals>(memory, &used, 1);
    work->open.first = workspace_take<atomic_count>(memory, &used, open);
    work->open.keys = workspace_take<atomic_count>(memory, &used, open);
    work->parts = workspace_take<struct radix_segments>(memory, &used, 1);
    work->part_cursors = workspace_take<atomic_count>(memory, &used, RADIX_WAYS);
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
    auto work = radix_workspace<K>();
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

/* ---- one call of radix_sort() or radix_finish() ---- */

template <typename K>
struct radix_call {
    struct cuda_sort sort;
    struct radix_plan plan;
    struct radix_workspace<K> work;
    struct launch_site site;
};

template <typename K>
static bool radix_prepare(const struct cuda_sort &sort, struct radix_call<K> *call,
                          struct error *error)
{
    const struct radix_plan plan = radix_plan_make<K>(sort.count, sort.tile_size, *sort.tuning);
    *call = {sort, plan, radix_workspace_lay<K>(plan, sort.count, sort.workspace), {}};
    return launch_site_find(sort.device, sort.stream, &call->site, error) &&
           launch_can_be_early(radix_look_kernel<K>, sort.device, &call->site.is_early, error);
}

/* ---- models ---- */

/* A partition of the segments of one array into another. */
template <typename K>
struct radix_step {
    const K *source;
    K *target;
    struct radix_segments *segments;
    unsigned segment_count; /* at most */
    struct key_order encoding;
};

/* Sets the segments of a partition: the first `count` of `open`, or, if that is empty, the whole
 * array. */
template <typename K>
static bool radix_open_step(const struct radix_call<K> &call, const struct radix_step<K> &step,
                            const struct radix_open &open, size_t count, bool is_first,
                            struct error *error)
{
    return launch_kernel(launch_at(call.site, "radix_open_kernel", 1, RADIX_SEGMENTS), error,
                         radix_open_kernel<K>, open, static_cast<unsigned>(count), call.sort.count,
                         is_first, step.segments, call.work.totals);
}

/* Learns the models of the segments, with at most buckets_most buckets of bucket_keys keys, and one
 * more. The positions of their samples depend on the facts of the look, so no array can hide its
 * keys from both. Clears RADIX_WAYS counts for each segment. */
template <typename K>
static bool radix_learn_step(const struct radix_call<K> &call, const struct radix_step<K> &step,
                             size_t bucket_keys, unsigned buckets_most, unsigned root_rarity_bits,
                             struct error *error)
{
    return launch_kernel(launch_at(call.site, "radix_learn_kernel", step.segment_count,
                                   LEARN_THREADS, sizeof(struct radix_learn_shared<K>)),
                         error, radix_learn_kernel<K>, step.source, step.segments, bucket_keys,
                         buckets_most, root_rarity_bits, step.encoding,
                         call.sort.status->facts.roughness, call.work.models, call.work.counts);
}

/* Counts the keys in each of a segment's bucket_count buckets. */
template <typename K>
static bool radix_count_step(const struct radix_call<K> &call, const struct radix_step<K> &step,
                             unsigned shift, unsigned bucket_count, struct error *error)
{
    const size_t tiles = radix_tiles_of<K>(call.sort.count) + step.segment_count;
    return launch_kernel(
        launch_at(call.site, "radix_count_kernel",
                  launch_wave(call.site, RADIX_COUNT_BLOCKS, tiles), RADIX_PARTITION_THREADS,
                  sizeof(struct radix_count_shared<K>) + bucket_count * sizeof(unsigned)),
        error, radix_count_kernel<K>, step.source, step.segments, call.work.models, step.encoding,
        shift, bucket_count, call.work.counts);
}

template <typename K>
static bool radix_partition_step(const struct radix_call<K> &call, const struct radix_step<K> &step,
                                 bool has_one_model, const struct radix_bucket_bits &bits,
                                 atomic_count *cursors, struct error *error)
{
    const size_t tiles = radix_tiles_of<K>(call.sort.count) + step.segment_count;
    return launch_kernel(launch_at(call.site, "radix_partition_kernel",
                                   launch_wave(call.site, RADIX_PARTITION_BLOCKS, tiles),
                                   RADIX_PARTITION_THREADS,
                                   sizeof(struct radix_partition_shared<K>)),
                         error, radix_partition_kernel<K>, step.source, step.target, step.segments,
                         call.work.models, has_one_model, step.encoding, bits, cursors);
}

/* Sorts all packs: source -> items. */
template <typename K>
static bool radix_sort_packs(const struct radix_call<K> &call, const struct radix_move<K> &move,
                             size_t packs, struct error *error)
{
    const unsigned *pack_count = &call.work.totals->packs;
    const struct radix_pack *tile_packs = call.work.packs;
    if constexpr (RADIX_IS_ITEM<K>) {
        if (!launch_kernel(launch_at(call.site, "radix_items_kernel",
                                     launch_wave(call.site, RADIX_ITEM_BLOCKS, packs),
                                     RADIX_TILE_THREADS, sizeof(struct radix_item_shared)),
                           error, radix_items_kernel, move, call.work.models, call.work.totals,
                           tile_packs, call.work.left_packs))
            return false;
        pack_count = &call.work.totals->left;
        tile_packs = call.work.left_packs;
    }
    return launch_kernel(launch_at(call.site, "radix_tiles_kernel",
                                   launch_wave(call.site, radix_tile_blocks(sizeof(K)), packs),
                                   RADIX_TILE_THREADS, sizeof(struct radix_tile_shared<K>)),
                         error, radix_tiles_kernel<K>, move, call.work.models, call.work.totals,
                         pack_count, tile_packs, call.work.ranges);
}

/* The last partition and the packs: step.source -> step.target -> items. Buckets that fit no tile
 * are added to the ranges. */
template <typename K>
static bool radix_sort_last(const struct radix_call<K> &call, const struct radix_step<K> &step,
                            struct error *error)
{
    const struct radix_move<K> move = {
        step.target, static_cast<K *>(call.sort.items), call.sort.order
    };
    const size_t packs = launch_blocks(call.sort.count, call.plan.aim) + step.segment_count;
    return radix_learn_step(call, step, call.plan.bucket_keys, RADIX_WAYS - 1,
                            RADIX_LAST_ROOT_RARITY_BITS, error) &&
           radix_count_step(call, step, RADIX_FRACTION_BITS, RADIX_WAYS, error) &&
           launch_kernel(launch_at(call.site, "radix_pack_kernel", step.segment_count, RADIX_WAYS),
                         error, radix_pack_kernel<K>, call.work.counts, step.segments,
                         call.work.models, call.plan.aim, call.work.totals, call.work.packs,
                         call.work.ranges) &&
           radix_partition_step(call, step, false, RADIX_WHOLE_BUCKETS, call.work.counts, error) &&
           radix_sort_packs(call, move, packs, error);
}

/* source -> items: copies the buckets that fit no tile, and lists those whose keys differ. */
template <typename K>
static bool radix_finish_ranges(const struct radix_call<K> &call, const K *source,
                                struct error *error)
{
    const struct radix_move<K> move = {
        source, static_cast<K *>(call.sort.items), call.sort.order
    };
    const size_t blocks =
        launch_wave(call.site, RADIX_COPY_BLOCKS, launch_blocks(call.sort.count, RADIX_PIECE));
    return launch_kernel(launch_at(call.site, "radix_ranges_kernel", blocks, THREADS_PER_BLOCK),
                         error, radix_ranges_kernel<K>, move, call.work.totals, call.work.ranges,
                         call.work.open, call.sort.status);
}

/* Sorts the first `count` open ranges, as many at once as there are models: source -> target ->
 * items, where either the source or the target is items. */
template <typename K>
static bool radix_sort_open(const struct radix_call<K> &call, const K *source, K *target,
                            size_t count, const struct key_order &encoding, struct error *error)
{
    const struct radix_step<K> step = {
        source, target, call.work.segments, call.plan.segments, encoding
    };
    for (size_t first = 0; first < count; first += call.plan.segments) {
        const size_t segments = std::min<size_t>(count - first, call.plan.segments);
        if (!radix_open_step(call, step,
                             {call.work.open.first + first, call.work.open.keys + first}, segments,
                             first == 0, error) ||
            !radix_sort_last(call, step, error))
            return false;
    }
    return radix_finish_ranges<K>(call, target, error);
}

/* Sorts by models. The first one partitions the whole array: items -> scratch, or, in parts, items
 * -> scratch -> items. Its buckets become open ranges. */
template <typename K>
static bool radix_models(const struct radix_call<K> &call, struct error *error)
{
    const struct radix_plan &plan = call.plan;
    K *const items = static_cast<K *>(call.sort.items);
    K *const scratch = static_cast<K *>(call.sort.scratch);
    const struct radix_step<K> whole = {
        items, scratch, call.work.segments, 1, call.sort.order
    };
    const struct radix_step<K> parts = {
        scratch, items, call.work.parts, plan.parts, key_order_identity()
    };
    const struct radix_bucket_bits &bits = plan.first_buckets;
    const unsigned buckets = plan.parts << bits.count;
    const unsigned listed = plan.parts > 1 ? buckets : plan.segments;
    if (!radix_open_step(call, whole, {}, 1, true, error) ||
        (buckets > RADIX_WAYS &&
         !cuda_fill(call.sort, call.work.counts, 0, buckets * sizeof(atomic_count), error)) ||
        !radix_learn_step(call, whole, plan.first_keys, plan.first_most,
                          RADIX_FIRST_ROOT_RARITY_BITS, error) ||
        !radix_count_step(call, whole, bits.shift, buckets, error) ||
        !launch_kernel(launch_at(call.site, "radix_scan_kernel", 1, RADIX_WAYS), error,
                       radix_scan_kernel<K>, call.work.counts, plan.parts, bits.count, listed,
                       call.work.part_cursors, call.work.parts, call.work.open))
        return false;
    const struct key_order identity = key_order_identity();
    if (plan.parts == 1)
        return radix_partition_step(call, whole, true, bits, call.work.counts, error) &&
               radix_sort_open<K>(call, scratch, items, listed, identity, error);
    return radix_partition_step(call, whole, true, RADIX_WHOLE_BUCKETS, call.work.part_cursors,
                                error) &&
           radix_partition_step(call, parts, true, bits, call.work.counts, error) &&
           radix_sort_open<K>(call, items, scratch, listed, identity, error);
}

/* ---- the strategies ---- */

static bool radix_merge(struct cuda_sort sort, struct error *error)
{
    sort.tile_size = RADIX_MERGE_TILE;
    return segmented_merge_sort(&sort, error);
}

template <typename K>
static bool radix_reverse(const struct radix_call<K> &call, struct error *error)
{
    const size_t blocks = launch_wave(call.site, RADIX_LOOK_BLOCKS,
                                      launch_blocks(call.sort.count / 2, RADIX_LOOK_PIECE<K>));
    return launch_kernel(launch_at(call.site, "radix_reverse_kernel", blocks, RADIX_LOOK_THREADS),
                         error, radix_reverse_kernel<K>, static_cast<K *>(call.sort.items),
                         call.sort.count);
}

/* Sorts by the strategy that the facts ask for. */
template <typename K>
static bool radix_start_decided(const struct radix_call<K> &call, struct error *error)
{
    const struct radix_decision decision =
        radix_decide(call.sort.tuning, &call.sort.status->facts, call.sort.count, sizeof(K));
    trace_note_strategy(radix_strategy_name(decision.strategy), decision.reason);
    switch (decision.strategy) {
    case RADIX_STRATEGY_NONE:
        return true;
    case RADIX_STRATEGY_REVERSE:
        return radix_reverse(call, error);
    case RADIX_STRATEGY_COUNT:
        if constexpr (RADIX_HAS_FEW<K>)
            return radix_few_sort(call.sort, call.site,
                                  static_cast<struct few_counted<K> *>(call.work.other), error);
        break;
    case RADIX_STRATEGY_DIGITS:
    case RADIX_STRATEGY_UPPER_DIGITS:
        return radix_digit_sort(call.sort, call.site,
                                decision.strategy == RADIX_STRATEGY_UPPER_DIGITS,
                                call.sort.tuning->portion, call.work.other, error);
    case RADIX_STRATEGY_MODELS:
        if constexpr (RADIX_HAS_MODELS<K>)
            return radix_models(call, error);
        break;
    default:
        break;
    }
    return radix_merge(call.sort, error);
}

/* Finds the facts. The hash table of keys drawn lies in the scratch. */
template <typename K>
static bool radix_look(const struct radix_call<K> &call, struct error *error)
{
    const struct cuda_sort &sort = call.sort;
    const bool has_sample = radix_needs_sample(sort.tuning, sort.count, sizeof(K));
    const size_t wave = launch_wave(call.site, RADIX_LOOK_BLOCKS, SIZE_MAX);
    const size_t blocks = std::min<size_t>(wave - has_sample, radix_look_pieces<K>(sort.count));
    const unsigned drawn = has_sample && RADIX_IS_ITEM<K> ? radix_repeats_sample(sort.count) : 0;
    unsigned long long *const table = static_cast<unsigned long long *>(sort.scratch);
    return cuda_fill(sort, call.work.facts, 0, sizeof *call.work.facts, error) &&
           (drawn == 0 || cuda_fill(sort, table, 0, 2 * drawn * sizeof *table, error)) &&
           launch_kernel(launch_at(call.site, "radix_look_kernel",
                                   has_sample + blocks + launch_blocks(drawn, RADIX_LOOK_THREADS),
                                   RADIX_LOOK_THREADS),
                         error, radix_look_kernel<K>, static_cast<const K *>(sort.items),
                         sort.count, sort.order, static_cast<unsigned>(blocks), has_sample, drawn,
                         table, call.work.facts) &&
           cuda_fetch(sort, &sort.status->facts, call.work.facts, sizeof *call.work.facts, error);
}

/* ---- work that remains ---- */

/* Called after a strategy has refused the items and moved none. The facts then exclude it, and
 * another strategy is chosen. */
template <typename K>
static bool radix_start_again(const struct radix_call<K> &call, struct error *error)
{
    struct radix_facts *const facts = &call.sort.status->facts;
    const struct radix_decision refused =
        radix_decide(call.sort.tuning, facts, call.sort.count, sizeof(K));
    if (refused.strategy == RADIX_STRATEGY_COUNT)
        facts->no_counting = 1;
    else
        facts->no_index = 1;
    return radix_start_decided(call, error);
}

/* ---- the path ---- */

/* Starts the first round, or the work that the rounds before have left, as `before` reports:
 * another strategy after a refusal, else one more partition of the open ranges. */
template <typename K>
static bool radix_start(const struct cuda_sort &sort, unsigned round,
                        const struct sort_status &before, struct error *error)
{
    struct radix_call<K> call;
    if (!radix_prepare(sort, &call, error))
        return false;
    if (round == 0)
        return radix_look(call, error) && radix_start_decided(call, error);
    if (before.is_refused)
        return radix_start_again(call, error);
    if constexpr (RADIX_HAS_MODELS<K>)
        return cuda_check_value(before.open, radix_ranges_at_most(sort.count), sort.device,
                                "number of ranges", error) &&
               radix_sort_open<K>(call, static_cast<const K *>(sort.items),
                                  static_cast<K *>(sort.scratch), before.open, sort.order, error);
    return error_set(error, "device %u: keys of 4 bytes have open ranges", sort.device);
}

/* Calls run(key) and returns its result. `key` is 0, of the type for items of 4, 8 or 16 bytes. */
template <typename Run>
static auto radix_dispatch(unsigned item_bytes, const Run &run)
{
    return item_bytes == 4 ? run(uint32_t{}) : item_bytes == 8 ? run(uint64_t{}) : run(key_u128{});
}

static bool radix_start_width(const struct cuda_sort &sort, unsigned round, struct error *error)
{
    const struct sort_status before = *sort.status;
    sort.status->open = 0;
    sort.status->is_refused = false;
    return radix_dispatch(sort.item_bytes, [&](auto key) {
        return radix_start<decltype(key)>(sort, round, before, error);
    });
}

bool radix_sort(const struct cuda_sort *sort, struct error *error)
{
    *sort->status = {};
    if (radix_is_small(sort->tuning, sort->count, sort->item_bytes))
        return small_sort(sort, error);
    return sort->item_bytes <= 2 ? counting_sort(sort, SIZE_MAX, error)
                                 : radix_start_width(*sort, 0, error);
}

bool radix_finish(const struct cuda_sort *sort, unsigned round, bool *is_done, struct error *error)
{
    const struct sort_status *const status = sort->status;
    *is_done = status->open == 0 && !status->is_refused;
    if (*is_done)
        return true;
    if (round <= RADIX_ROUNDS)
        return radix_start_width(*sort, round, error);
    *sort->status = {};
    return radix_merge(*sort, error);
}

size_t radix_workspace_bytes(size_t count, size_t tile_size, unsigned item_bytes)
{
    const size_t merge = merge_workspace_bytes(count, RADIX_MERGE_TILE, item_bytes);
    if (radix_is_small(&radix_tuning_default, count, item_bytes))
        return merge;
    if (item_bytes <= 2)
        return std::max(merge, counting_workspace_bytes(item_bytes));
    return radix_dispatch(item_bytes, [=](auto key) {
        using K = decltype(key);
        const struct radix_plan plan = radix_plan_make<K>(count, tile_size, radix_tuning_default);
        return std::max(merge, radix_workspace_lay<K>(plan, count, NULL).bytes);
    });
}
