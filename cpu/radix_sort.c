/* radix_sort.c - see radix_sort.h.
 *
 *   items --sorted or reversed already?--> done
 *     | sample -> model of the distribution (radix_model.h)
 *     | all threads: count the buckets of their part, then scatter it, encoded
 *     v
 *   buckets in scratch --all threads together--> buckets that are too large for one thread
 *                      --one thread each------> the others: partitioned again while they are larger
 *                                               than a cache, then sorted in cache, least digit
 *                                               first, and decoded into their place in items
 *
 * So the memory is crossed about three times, whatever the number of live bits: once to count, once
 * to scatter, once to finish. Items travel between two arrays; from whichever of them a bucket is
 * finished, its place is in items.
 *
 * Partition with buffered lines: Satish et al., "Fast Sort on CPUs and GPUs" (SIGMOD 2010);
 * Polychroniou and Ross, "A Comprehensive Study of Main-Memory Partitioning" (SIGMOD 2014).
 */
#include "cpu/radix_sort.h"

#include "cpu/counting_sort.h"
#include "cpu/radix_kernels.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* Figures below: a core of an AMD EPYC (Zen 4, 1 MiB of second cache), 2026-11. */

/* Up to so many items, one thread sorts them in cache before others would be awake. */
#define SMALL_COUNT ((size_t)64 << 10)

/* Fewer items than this are not worth a thread. */
#define PART_COUNT_MIN ((size_t)32 << 10)

/* Up to so many 16-bit keys, sorting them costs less than walking all 65536 counters. */
#define FEW_WORDS ((size_t)16 << 10)
_Static_assert(FEW_WORDS <= SMALL_COUNT, "16-bit keys are never partitioned");

/* Buckets up to this size are sorted in cache. */
#define CACHE_BYTES ((size_t)1 << 20)

/* The size of buckets that a partition aims at, at the most. 1e7 f64: 0.156 s with 128 KiB, 0.135
 * with 256, 0.134 with 512; 1e7 key_index: 0.202, 0.193, 0.174. */
#define BUCKET_BYTES ((size_t)512 << 10)

#define BUCKETS_WANTED_MIN 16u
#define BUCKETS_WANTED_MAX 2048u
_Static_assert(2 * BUCKETS_WANTED_MAX <= RADIX_MODEL_BUCKETS_MAX, "the model has room");

#define SAMPLE_MAX ((size_t)16 << 10)
#define SAMPLE_PER_BUCKET 16u

/* A partition takes about so many bits of the keys, where they crowd. */
#define CROWDED_BITS 20

/* The order of a range is looked at in blocks, so that threads soon learn of disorder elsewhere. */
#define ORDER_BLOCK ((size_t)16 << 10)

/* What one thread needs for a partition. */
struct workspace {
    _Alignas(RADIX_LINE_BYTES) unsigned char lines[RADIX_MODEL_BUCKETS_MAX * RADIX_LINE_BYTES];
    size_t positions[RADIX_MODEL_BUCKETS_MAX];
    size_t first[RADIX_MODEL_BUCKETS_MAX];
    struct radix_model model;
    uint64_t sample[SAMPLE_MAX];
    uint64_t sample_other[SAMPLE_MAX];
};

struct sort {
    unsigned width;         /* bytes of an item */
    unsigned char *items;   /* the input; the output */
    struct key_order order; /* of the stored keys */
};

/* Items that are together in one array, with the same places free in the other. */
struct range {
    unsigned char *from, *other;
    size_t begin, count;
    struct key_order order; /* of the keys as they are in `from` */
    size_t parent_count;    /* items of the range that this one is a bucket of */
};

/* Threads that work together: `count` parts of the work, a workspace for each. */
struct team {
    struct workspace *workspaces;
    unsigned count;
};

static size_t part_begin(struct range range, struct team team, unsigned part)
{
    return range.begin + range.count / team.count * part +
           range.count % team.count * part / team.count;
}

/* ---- Ranges that are in order already ---- */

typedef bool order_check(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order);

/* True if the check holds between all neighbours of the range. */
static bool check_range(unsigned width, struct range range, struct team team, order_check *check)
{
    atomic_bool holds = true;
    const size_t end = range.begin + range.count;
#pragma omp parallel for num_threads(team.count) if (team.count > 1) schedule(static, 1)
    for (unsigned part = 0; part < team.count; part++) {
        const size_t part_end = part_begin(range, team, part + 1);
        for (size_t begin = part_begin(range, team, part);
             begin < part_end && atomic_load_explicit(&holds, memory_order_relaxed);
             begin += ORDER_BLOCK) {
            size_t stop = part_end - begin > ORDER_BLOCK ? begin + ORDER_BLOCK : part_end;
            if (stop < end)
                stop++; /* the first one of the next block against the last one of this */
            if (!check(width, range.from, begin, stop, range.order))
                atomic_store_explicit(&holds, false, memory_order_relaxed);
        }
    }
    return holds;
}

static void reverse_range(unsigned width, struct range range, struct team team)
{
    const struct range half = {.count = range.count / 2};
#pragma omp parallel for num_threads(team.count) if (team.count > 1) schedule(static, 1)
    for (unsigned part = 0; part < team.count; part++)
        radix_reverse(width, range.from + range.begin * width, part_begin(half, team, part),
                      part_begin(half, team, part + 1), range.count);
}

/* Brings sorted items to their place in the output, decoded. */
static void finish_items(const struct sort *sort, const void *sorted, size_t begin, size_t count)
{
    unsigned char *to = sort->items + begin * sort->width;
    if (!key_order_is_identity(sort->order))
        radix_decode(sort->width, to, sorted, count, sort->order);
    else if (to != sorted)
        memcpy(to, sorted, count * sort->width);
}

static void finish_range(const struct sort *sort, struct range range, struct team team)
{
#pragma omp parallel for num_threads(team.count) if (team.count > 1) schedule(static, 1)
    for (unsigned part = 0; part < team.count; part++) {
        const size_t begin = part_begin(range, team, part);
        finish_items(sort, range.from + begin * sort->width, begin,
                     part_begin(range, team, part + 1) - begin);
    }
}

/* ---- Partition ---- */

static unsigned choose_buckets(size_t bytes, unsigned parts)
{
    unsigned wanted = BUCKETS_WANTED_MIN;
    while (wanted < BUCKETS_WANTED_MAX && (wanted < bytes / BUCKET_BYTES || wanted < 4 * parts))
        wanted *= 2;
    return wanted;
}

/* Takes keys at random, one from each of equal stretches, and sorts them: sample[0..count). */
static const uint64_t *take_sample(unsigned width, struct range range, struct workspace *workspace,
                                   size_t count)
{
    const size_t stretch = range.count / count;
    uint64_t random = range.count;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const size_t place = range.begin + i * stretch + (size_t)((random >> 32) % stretch);
        workspace->sample[i] = radix_key(width, range.from, place, range.order);
    }
    return radix_sort_in_cache(sizeof(uint64_t), workspace->sample, workspace->sample_other, count);
}

static void find_range(unsigned width, struct range range, struct team team, uint64_t *lowest,
                       uint64_t *highest)
{
    uint64_t low = UINT64_MAX, high = 0;
#pragma omp parallel for num_threads(team.count) if (team.count > 1) schedule(static, 1)           \
    reduction(min                                                                                  \
              : low) reduction(max                                                                 \
                               : high)
    for (unsigned part = 0; part < team.count; part++)
        radix_find_range(width, range.from, part_begin(range, team, part),
                         part_begin(range, team, part + 1), range.order, &low, &high);
    *lowest = low;
    *highest = high;
}

/* How many keys at either end of the sample are outliers: about half a bucket's, so that they cost
 * nothing; but a sixteenth where the rest lies so close together that a partition of the wider
 * range would hardly part them. */
static size_t count_outliers(const uint64_t *sample, size_t count, unsigned buckets_wanted)
{
    const size_t few = count / (2 * buckets_wanted), many = count / 16;
    const uint64_t wide = sample[count - 1 - few] - sample[few];
    const uint64_t narrow = sample[count - 1 - many] - sample[many];
    return narrow < wide >> CROWDED_BITS ? many : few;
}

/* The model covers what the sample says is the bulk of the keys. A range that holds nearly all of
 * its parent's items may show that the parent's sample misled: then the cells cover the exact range
 * and stay apart, so that each bucket is at most 1/512 as wide, whatever the sample. So of two
 * levels one takes 9 bits of the keys or an eighth of the items, and the recursion ends soon. */
static const struct radix_model *learn_model(unsigned width, struct range range, struct team team)
{
    const unsigned wanted = choose_buckets(range.count * width, team.count);
    size_t count = (size_t)wanted * SAMPLE_PER_BUCKET;
    if (count > SAMPLE_MAX)
        count = SAMPLE_MAX;
    if (count > range.count)
        count = range.count;
    const uint64_t *sample = take_sample(width, range, &team.workspaces[0], count);
    const size_t outliers = count_outliers(sample, count, wanted);
    struct radix_evidence evidence = {.sample = sample,
                                      .count = count,
                                      .buckets_wanted = wanted,
                                      .lowest = sample[outliers],
                                      .highest = sample[count - 1 - outliers],
                                      .cells_apart = range.count > range.parent_count / 8 * 7};
    if (evidence.cells_apart)
        find_range(width, range, team, &evidence.lowest, &evidence.highest);
    struct radix_model *model = &team.workspaces[0].model;
    radix_model_learn(model, &evidence);
    return model;
}

/* Turns the parts' counts to their positions, and sets starts[0..model->buckets]. */
static void sum_counts(const struct radix_model *model, struct range range, struct team team,
                       size_t *starts)
{
    size_t position = range.begin;
    for (size_t bucket = 0; bucket < model->buckets; bucket++) {
        starts[bucket] = position;
        for (unsigned part = 0; part < team.count; part++) {
            const size_t count = team.workspaces[part].positions[bucket];
            team.workspaces[part].positions[bucket] = position;
            position += count;
        }
    }
    starts[model->buckets] = position;
}

/* Moves the items of range.from to range.other, bucket by bucket, encoded: bucket b is at
 * starts[b]..starts[b + 1]. Returns the number of buckets. */
static size_t partition(unsigned width, struct range range, struct team team, size_t *starts)
{
    const struct radix_model *model = learn_model(width, range, team);
#pragma omp parallel num_threads(team.count) if (team.count > 1)
    {
#pragma omp for schedule(static, 1)
        for (unsigned part = 0; part < team.count; part++) {
            struct workspace *workspace = &team.workspaces[part];
            radix_count_buckets(width,
                                &(struct radix_part){.from = range.from,
                                                     .begin = part_begin(range, team, part),
                                                     .end = part_begin(range, team, part + 1),
                                                     .order = range.order,
                                                     .model = model,
                                                     .positions = workspace->positions});
        }
#pragma omp single
        sum_counts(model, range, team, starts);
#pragma omp for schedule(static, 1)
        for (unsigned part = 0; part < team.count; part++) {
            struct workspace *workspace = &team.workspaces[part];
            radix_scatter(width, &(struct radix_part){.from = range.from,
                                                      .to = range.other,
                                                      .begin = part_begin(range, team, part),
                                                      .end = part_begin(range, team, part + 1),
                                                      .order = range.order,
                                                      .model = model,
                                                      .positions = workspace->positions,
                                                      .first = workspace->first,
                                                      .lines = workspace->lines});
        }
    }
    return model->buckets;
}

/* ---- Buckets ---- */

static void sort_range(const struct sort *sort, struct range range, struct team team);

static struct range make_bucket(struct range parent, const size_t *starts, size_t bucket)
{
    return (struct range){.from = parent.other,
                          .other = parent.from,
                          .begin = starts[bucket],
                          .count = starts[bucket + 1] - starts[bucket],
                          .order = key_order_identity(),
                          .parent_count = parent.count};
}

/* Buckets that would keep one thread busy while the others have nothing left. */
static bool is_for_all(struct range bucket, struct team team)
{
    return team.count > 1 && bucket.count > SMALL_COUNT &&
           bucket.count > bucket.parent_count / (4 * (size_t)team.count);
}

static bool fits_cache(const struct sort *sort, size_t count)
{
    return count <= CACHE_BYTES / sort->width;
}

/* The calling thread's share of the buckets, all threads of the team being in here together: the
 * long ones first, so that the last to finish is a short one. */
static void sort_own_buckets(const struct sort *sort, struct range parent, struct team team,
                             const size_t *starts, size_t buckets)
{
    const struct team alone = {&team.workspaces[omp_get_thread_num()], 1};
#pragma omp for schedule(dynamic) nowait
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const struct range range = make_bucket(parent, starts, bucket);
        if (!fits_cache(sort, range.count) && !is_for_all(range, team))
            sort_range(sort, range, alone);
    }
#pragma omp for schedule(dynamic) nowait
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const struct range range = make_bucket(parent, starts, bucket);
        if (fits_cache(sort, range.count) && !is_for_all(range, team))
            sort_range(sort, range, alone);
    }
}

static void sort_buckets(const struct sort *sort, struct range parent, struct team team,
                         const size_t *starts, size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const struct range range = make_bucket(parent, starts, bucket);
        if (is_for_all(range, team))
            sort_range(sort, range, team);
    }
#pragma omp parallel num_threads(team.count) if (team.count > 1)
    sort_own_buckets(sort, parent, team, starts, buckets);
}

static void sort_range_in_cache(const struct sort *sort, struct range range)
{
    const unsigned width = sort->width;
    unsigned char *from = range.from + range.begin * width;
    unsigned char *other = range.other + range.begin * width;
    if (!key_order_is_identity(range.order))
        radix_encode(width, from, from, range.count, range.order);
    finish_items(sort, radix_sort_in_cache(width, from, other, range.count), range.begin,
                 range.count);
}

static void sort_by_partition(const struct sort *sort, struct range range, struct team team)
{
    size_t starts[RADIX_MODEL_BUCKETS_MAX + 1];
    const size_t buckets = partition(sort->width, range, team, starts);
    sort_buckets(sort, range, team, starts, buckets);
}

/* A bucket: ordered bits. */
static void sort_range(const struct sort *sort, struct range range, struct team team)
{
    if (range.count <= SMALL_COUNT || (team.count == 1 && fits_cache(sort, range.count)))
        sort_range_in_cache(sort, range);
    else if (check_range(sort->width, range, team, radix_is_ascending))
        finish_range(sort, range, team);
    else
        sort_by_partition(sort, range, team);
}

/* The input: stored bits, in their place already. */
static void sort_input(const struct sort *sort, struct range range, struct team team)
{
    if (check_range(sort->width, range, team, radix_is_ascending))
        return;
    if (check_range(sort->width, range, team, radix_is_descending))
        reverse_range(sort->width, range, team);
    else if (range.count <= SMALL_COUNT)
        sort_range_in_cache(sort, range);
    else
        sort_by_partition(sort, range, team);
}

/* ---- The task ---- */

static unsigned choose_threads(const struct radix_task *task)
{
    const size_t useful = task->count <= SMALL_COUNT ? 1 : task->count / PART_COUNT_MIN;
    return useful < task->threads ? (unsigned)useful : task->threads;
}

static bool is_counted(const struct radix_task *task)
{
    return task->item_bytes == 1 || (task->item_bytes == 2 && task->count > FEW_WORDS);
}

/* Of a size_t, a multiple of a cache line. */
static size_t other_bytes(const struct radix_task *task)
{
    const size_t bytes = task->count * task->item_bytes;
    return (bytes + RADIX_LINE_BYTES - 1) / RADIX_LINE_BYTES * RADIX_LINE_BYTES;
}

bool radix_sort_scratch_bytes(const struct radix_task *task, size_t *bytes)
{
    const unsigned threads = choose_threads(task);
    size_t workspaces = 0;
    if (is_counted(task)) {
        *bytes = counting_sort_workspace_bytes(task->item_bytes, threads);
        return true;
    }
    if (task->count > SMALL_COUNT)
        workspaces = threads * sizeof(struct workspace);
    if (other_bytes(task) < task->count || other_bytes(task) > SIZE_MAX - workspaces)
        return false;
    *bytes = other_bytes(task) + workspaces;
    return true;
}

void radix_sort(const struct radix_task *task, void *items, void *scratch)
{
    const unsigned threads = choose_threads(task);
    if (is_counted(task)) {
        counting_sort(items, task->count, task->item_bytes, task->order, threads, scratch);
        return;
    }
    const struct sort sort = {task->item_bytes, items, task->order};
    const struct range range = {.from = items,
                                .other = scratch,
                                .count = task->count,
                                .order = task->order,
                                .parent_count = SIZE_MAX};
    void *workspaces = (unsigned char *)scratch + other_bytes(task);
    sort_input(&sort, range, (struct team){workspaces, threads});
}
