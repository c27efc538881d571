/* SPDX-License-Identifier: Apache-2.0 */
/* radix_plan.cuh - how many buckets the two partitions make, and the workspace of a sort.
 */
#ifndef CUDA_RADIX_PLAN_CUH
#define CUDA_RADIX_PLAN_CUH

#include "cuda/block/launch.cuh"
#include "cuda/radix/radix_digit_sort.h"
#include "cuda/radix/radix_few.cuh"
#include "cuda/radix/radix_levels.cuh"

#include <algorithm>
#include <cmath>

/* Keys of 4 bytes have no models: digits are as fast. */
template <typename K>
constexpr bool RADIX_HAS_MODELS = sizeof(K) >= sizeof(uint64_t);

/* The few values of items of 16 bytes are not counted: these are of several indices each. */
template <typename K>
constexpr bool RADIX_HAS_FEW = sizeof(K) <= sizeof(uint64_t);

struct radix_plan {
    size_t part_keys;         /* keys of a part, if there are several */
    size_t first_bucket_keys; /* keys of a bucket of the first partition */
    size_t bucket_keys;       /* keys of a bucket of the second one */
    unsigned aim;             /* keys of a pack */
    unsigned segments;        /* the most that a partition can have, each with a model */
};

/* Memory for models and counts is one 32nd of the items', and at least enough for five segments, as
 * a model has four buckets at least. */
constexpr size_t RADIX_MODEL_RARITY = 32;

template <typename K>
static unsigned radix_segments_at_most(size_t count)
{
    const size_t segment_bytes = sizeof(struct radix_model<K>) + RADIX_WAYS * sizeof(radix_count);
    const size_t fit = count * sizeof(K) / RADIX_MODEL_RARITY / segment_bytes;
    return static_cast<unsigned>(std::clamp<size_t>(fit, 5, RADIX_SEGMENTS));
}

/* Thin buckets make packs that are even. Where two partitions cannot make so many, a bucket is a
 * pack, fat, but with room in a tile for half as many keys again as it is meant to have; those that
 * are larger still are parted once more. */
template <typename K>
static struct radix_plan radix_plan_make(size_t all, size_t tile_size, size_t part_most)
{
    /* Parts have room for a third more than they are meant to have. */
    const size_t parts = launch_blocks(all, part_most - part_most / 4);
    const size_t count = std::min(all, part_most);
    constexpr size_t ways = RADIX_WAYS - 1;
    const size_t aim = std::min<size_t>(tile_size, RADIX_TILE_ROOM * 3 / 4);
    const size_t thin = aim / 4, fat = aim * 15 / 16;
    const size_t least = launch_blocks(count, ways * ways);
    struct radix_plan plan = {};
    plan.part_keys = launch_blocks(all, std::max<size_t>(parts, 1));
    plan.aim = static_cast<unsigned>(aim);
    plan.segments = radix_segments_at_most<K>(count);
    plan.bucket_keys = least <= thin ? thin : std::max(least, fat);
    const size_t buckets = launch_blocks(count, plan.bucket_keys);
    const size_t root = static_cast<size_t>(std::sqrt(static_cast<double>(buckets))) + 1;
    plan.first_bucket_keys =
        launch_blocks(count, std::min({root, ways, static_cast<size_t>(plan.segments) - 1}));
    return plan;
}

/* ---- workspace ---- */

/* Ranges that fit no tile. */
static size_t radix_open_most(size_t count)
{
    return count / RADIX_TILE_ROOM + 1;
}

/* Strategies share memory: no two are at work at a time. */
template <typename K>
struct radix_workspace {
    struct radix_facts *facts;
    void *other; /* for digits, or the tables of few values */
    /* For models: */
    struct radix_totals *totals;
    struct radix_segments *whole;
    struct radix_open *open;
    struct radix_open *parts;
    radix_count *first_counts; /* of the first partition */
    radix_count *counts;       /* of the second one */
    struct radix_model<K> *models;
    struct radix_segments *segments;
    struct radix_pack *packs;
    struct radix_pack *left_packs; /* of items; else NULL */
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
    work->open = workspace_take<struct radix_open>(memory, &used, ranges);
    work->parts = workspace_take<struct radix_open>(memory, &used, RADIX_SEGMENTS);
    work->first_counts = workspace_take<radix_count>(memory, &used, RADIX_WAYS);
    work->counts = workspace_take<radix_count>(memory, &used, buckets);
    work->models = workspace_take<struct radix_model<K>>(memory, &used, plan.segments);
    work->segments = workspace_take<struct radix_segments>(memory, &used, 1);
    work->packs = workspace_take<struct radix_pack>(memory, &used, packs);
    if (RADIX_IS_ITEM<K>)
        work->left_packs = workspace_take<struct radix_pack>(memory, &used, packs);
    work->ranges = workspace_take<struct radix_range<K>>(memory, &used, ranges);
    work->bytes = std::max(work->bytes, used);
}

/* Lays the workspace out from `memory` on; with NULL, only its size is of use. */
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
        work.bytes = std::max(work.bytes, used + sizeof(struct few_values<K>));
    if constexpr (RADIX_HAS_MODELS<K>)
        radix_workspace_lay_models(plan, count, memory, &work);
    return work;
}

#endif
