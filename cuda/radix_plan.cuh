/* SPDX-License-Identifier: Apache-2.0 */
/* radix_plan.cuh - what so many keys are given: how they are parted, and the workspace.
 */
#ifndef CUDA_RADIX_PLAN_CUH
#define CUDA_RADIX_PLAN_CUH

#include "cuda/launch.cuh"
#include "cuda/radix_dense.cuh"
#include "cuda/radix_digit_sort.h"
#include "cuda/radix_few_sort.h"
#include "cuda/radix_ordered.cuh"

#include <algorithm>
#include <cmath>

/* What so many keys of a width are given. */
struct radix_plan {
    size_t first_bucket_keys; /* keys of a bucket of the first of two partitions; 0: there is one */
    size_t bucket_keys;       /* of the last one */
    unsigned aim;             /* keys of a pack */
    unsigned segments;        /* that a partition can have, each with a model */
};

/* Memory for models and counts, in parts of the items': one 32nd, but for a segment at least. */
constexpr size_t RADIX_MODEL_RARITY = 32;

template <typename K>
static unsigned radix_segments_at_most(size_t count)
{
    const size_t segment_bytes = sizeof(struct radix_model<K>) + RADIX_WAYS * sizeof(radix_count);
    const size_t fit = count * sizeof(K) / RADIX_MODEL_RARITY / segment_bytes;
    return static_cast<unsigned>(std::clamp<size_t>(fit, 1, RADIX_SEGMENTS));
}

/* Thin buckets make packs that are even. Where two partitions cannot make so many, a bucket is a
 * pack, fat, but with room in a tile for half as many keys again as it is meant to have; those that
 * are larger still are parted once more. One partition does while its buckets are three quarters of
 * that. */
template <typename K>
static struct radix_plan radix_plan_make(size_t count, size_t tile_size)
{
    constexpr size_t ways = RADIX_WAYS - 1;
    const size_t aim = std::min<size_t>(tile_size, RADIX_TILE_ROOM * 3 / 4);
    const size_t thin = aim / 4, fat = aim * 15 / 16;
    const bool is_twofold = count > ways * fat * 3 / 4;
    const size_t least = launch_blocks(count, is_twofold ? ways * ways : ways);
    struct radix_plan plan = {};
    plan.aim = static_cast<unsigned>(aim);
    plan.segments = radix_segments_at_most<K>(count);
    plan.bucket_keys = least <= thin ? thin : is_twofold ? std::max(least, fat) : least;
    if (is_twofold) {
        const size_t buckets = launch_blocks(count, plan.bucket_keys);
        const size_t root = static_cast<size_t>(std::sqrt(static_cast<double>(buckets))) + 1;
        plan.segments = std::max(plan.segments, 5u); /* a model has 4 buckets at least */
        plan.first_bucket_keys =
            launch_blocks(count, std::min({root, ways, (size_t)plan.segments - 1}));
    }
    return plan;
}

/* True if so many items may be sorted digit by digit: enough that the launches do not count, and
 * places of items have 32 bits. */
static bool radix_may_be_digits(size_t count, unsigned item_bytes)
{
    return count >= radix_digit_least(item_bytes) && (item_bytes <= 8 || count <= UINT32_MAX);
}

/* True if they are, whatever the keys: where two partitions leave buckets too large for a tile, and
 * where models cost too much. */
static bool radix_wants_digits(size_t count, unsigned item_bytes)
{
    return radix_may_be_digits(count, item_bytes) &&
           (count > RADIX_LEARNED_MOST || (item_bytes <= 4 && count < RADIX_LEARNED_SHORT_LEAST));
}

/* ---- workspace ---- */

/* Ranges that fit no tile. */
static size_t radix_open_most(size_t count)
{
    return count / RADIX_TILE_ROOM + 1;
}

template <typename K>
struct radix_workspace {
    struct radix_totals *totals;
    unsigned *answers; /* of the blocks that look at the keys first */
    struct radix_segments *whole;
    struct radix_open *open;
    void *digits;              /* for the sort digit by digit: what it keeps, and then in place of
                                  all that follows; also for the tables of few values */
    radix_count *first_counts; /* of the first of two partitions */
    radix_count *counts;
    struct radix_model<K> *models;
    struct radix_segments *segments;
    struct radix_pack *packs;
    struct radix_dense_pack<K> *dense_packs; /* NULL if none are looked for */
    struct radix_pack *left_packs;           /* of items; else NULL */
    struct radix_range<K> *ranges;
    size_t bytes;
};

/* The next `count` of the workspace, aligned for any type. */
template <typename T>
static T *workspace_take(void *memory, size_t *used, size_t count)
{
    unsigned char *const base = static_cast<unsigned char *>(memory);
    T *const part = base ? reinterpret_cast<T *>(base + *used) : NULL;
    *used += (count * sizeof(T) + 255) / 256 * 256;
    return part;
}

/* True if packs may be worth counting: keys of 16 bytes are never close together, and for few keys
 * a launch more costs more than it spares. */
template <typename K>
static bool radix_plan_has_dense(const struct radix_plan &plan)
{
    return sizeof(K) <= sizeof(uint64_t) && plan.first_bucket_keys > 0;
}

/* Lays the workspace out from `memory` on; with NULL, only its size is of use. */
template <typename K>
static struct radix_workspace<K> radix_workspace_lay(const struct radix_plan &plan, size_t count,
                                                     void *memory) {
    const size_t buckets = static_cast<size_t>(plan.segments) * RADIX_WAYS;
    const size_t packs = std::min(buckets, radix_packs_at_most(count, plan.aim, plan.segments));
    const size_t ranges = radix_open_most(count);
    size_t used = 0;
    struct radix_workspace<K> work = {
    };
    work.totals = workspace_take<struct radix_totals>(memory, &used, 1);
    work.answers = workspace_take<unsigned>(memory, &used, RADIX_ORDER_ANSWERS + 1);
    work.whole = workspace_take<struct radix_segments>(memory, &used, 1);
    work.open = workspace_take<struct radix_open>(memory, &used, ranges);
    const size_t digits_first = used;
    const size_t kept = radix_may_be_digits(count, sizeof(K)) ? RADIX_DIGIT_KEPT_BYTES : 0;
    work.digits = workspace_take<unsigned char>(memory, &used, kept);
    const size_t digits_end =
        digits_first +
        (radix_may_be_digits(count, sizeof(K)) ? radix_digit_bytes(count, sizeof(K)) : 0);
    const size_t few_end =
        digits_first + (count >= RADIX_FEW_LEAST ? radix_few_bytes(sizeof(K)) : 0);
    work.first_counts = workspace_take<radix_count>(memory, &used, RADIX_WAYS);
    work.counts = workspace_take<radix_count>(memory, &used, buckets);
    work.models = workspace_take<struct radix_model<K>>(memory, &used, plan.segments);
    work.segments = workspace_take<struct radix_segments>(memory, &used, 1);
    work.packs = workspace_take<struct radix_pack>(memory, &used, packs);
    if (radix_plan_has_dense<K>(plan))
        work.dense_packs = workspace_take<struct radix_dense_pack<K>>(memory, &used, packs);
    if (RADIX_HAS_VALUES<K>)
        work.left_packs = workspace_take<struct radix_pack>(memory, &used, packs);
    work.ranges = workspace_take<struct radix_range<K>>(memory, &used, ranges);
    work.bytes = std::max({used, digits_end, few_end});
    return work;
}

#endif
