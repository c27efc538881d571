/* radix_sort.c - see radix_sort.h.
 *
 *   items --sorted or reversed already?--> done
 *     | sample -> model of the distribution (radix_model.h)
 *     | all threads: count the buckets of their part, then scatter it, encoded
 *     v
 *   buckets in scratch --all threads together--> buckets that are too large for one thread
 *                      --one thread each------> the others: partitioned again while they are larger
 *                                               than a cache, then sorted in cache, by networks
 *                                               (vector_sort.h) or least digit first, and decoded
 *                                               into their place in items
 *
 * The threads are a team (team.h): each takes its part of a step and meets the others behind it.
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
#include "cpu/radix_workspace.h"
#include "cpu/team.h"
#include "cpu/vector_sort.h"

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

/* Buckets up to this size are sorted in cache, if only in the one behind that of a core: another
 * partition costs more. 1e9 f64 by 16 threads of an Intel Xeon, 2026-11: 1.40 s with 1 MiB and half
 * as many buckets at the most, 1.23 with 4 MiB. */
#define CACHE_BYTES ((size_t)4 << 20)

/* The items of a bucket that a partition aims at, at the most. Two cores of an AMD EPYC (Zen 5),
 * 2026-11, ms to sort by half as many, so many and twice as many: 1e8 f64 263, 256, 260; 1e8 f32 -,
 * 213, 210; 1e8 key_index 491, 440, 448; 1e7 f64 -, 25, 27. */
#define BUCKET_COUNT ((size_t)128 << 10)

#define BUCKETS_WANTED_MIN 16u
#define BUCKETS_WANTED_MAX 4096u
_Static_assert(2 * BUCKETS_WANTED_MAX <= RADIX_MODEL_BUCKETS_MAX, "the model has room");

#define SAMPLE_PER_BUCKET 16u

/* A partition takes about so many bits of the keys, where they crowd. */
#define CROWDED_BITS 20

/* The order of a range is looked at in blocks, so that threads soon learn of disorder elsewhere. */
#define ORDER_BLOCK ((size_t)16 << 10)

/* The buckets of a partition, and which of them is the next to be sorted. */
struct level {
    size_t starts[RADIX_MODEL_BUCKETS_MAX + 1];
    atomic_size_t next;
};

struct sort {
    unsigned width;         /* bytes of an item */
    unsigned char *items;   /* the input; the output */
    unsigned char *scratch; /* of the same size */
    struct key_order order; /* of the stored keys */
    size_t count;
    struct radix_workspace_plan plan;
    void *workspaces;          /* one for each member of the team */
    atomic_bool is_disordered; /* what the members found in the range that they look at */
    struct level *level;       /* of the partition that they are in, member 0's */
};

/* Items that are together in one array, with the same places free in the other. */
struct range {
    unsigned char *from, *other;
    size_t begin, count;
    struct key_order order; /* of the keys as they are in `from` */
    size_t parent_count;    /* items of the range that this one is a bucket of */
};

/* The calling thread, and with whom it works on a range: the team, or alone. */
struct worker {
    const struct member *member; /* NULL: alone */
    struct radix_workspace *workspace;
};

static unsigned worker_count(struct worker worker)
{
    return worker.member ? worker.member->count : 1;
}

static unsigned worker_number(struct worker worker)
{
    return worker.member ? worker.member->number : 0;
}

/* That of the member `number`; of one who is alone, its own. */
static struct radix_workspace *workspace_of(const struct sort *sort, struct worker worker,
                                            unsigned number)
{
    return worker.member ? radix_workspace_at(&sort->plan, sort->workspaces, number)
                         : worker.workspace;
}

/* Those who work on the range have all come here. */
static void meet(struct worker worker)
{
    if (worker.member)
        team_meet(worker.member);
}

static size_t part_begin(struct range range, struct worker worker, unsigned part)
{
    const unsigned parts = worker_count(worker);
    return range.begin + range.count / parts * part + range.count % parts * part / parts;
}

static size_t own_begin(struct range range, struct worker worker)
{
    return part_begin(range, worker, worker_number(worker));
}

static size_t own_end(struct range range, struct worker worker)
{
    return part_begin(range, worker, worker_number(worker) + 1);
}

/* ---- Ranges that are in order already ---- */

typedef bool order_check(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order);

/* True if the check holds between all neighbours of the range. What follows where it does not is a
 * partition, by whose first meeting the flag is down again. */
static bool check_range(struct sort *sort, struct range range, struct worker worker,
                        order_check *check)
{
    const size_t end = range.begin + range.count, part_end = own_end(range, worker);
    bool holds = true;
    for (size_t begin = own_begin(range, worker); begin < part_end && holds; begin += ORDER_BLOCK) {
        size_t stop = part_end - begin > ORDER_BLOCK ? begin + ORDER_BLOCK : part_end;
        if (stop < end)
            stop++; /* the first one of the next block against the last one of this */
        holds =
            check(sort->width, range.from, begin, stop, range.order) &&
            !(worker.member && atomic_load_explicit(&sort->is_disordered, memory_order_relaxed));
    }
    if (!worker.member)
        return holds;
    if (!holds)
        atomic_store_explicit(&sort->is_disordered, true, memory_order_relaxed);
    meet(worker);
    holds = !atomic_load_explicit(&sort->is_disordered, memory_order_relaxed);
    meet(worker);
    if (!holds && worker_number(worker) == 0)
        atomic_store_explicit(&sort->is_disordered, false, memory_order_relaxed);
    return holds;
}

/* The same of the first block alone. */
static bool check_first_block(const struct sort *sort, struct range range, order_check *check)
{
    const size_t count = range.count < ORDER_BLOCK ? range.count : ORDER_BLOCK;
    return check(sort->width, range.from, range.begin, range.begin + count, range.order);
}

static void reverse_range(const struct sort *sort, struct range range, struct worker worker)
{
    const struct range half = {.count = range.count / 2};
    radix_reverse(sort->width, range.from + range.begin * sort->width, own_begin(half, worker),
                  own_end(half, worker), range.count);
}

/* Brings sorted items to their place in the output, decoded. */
static void finish_items(const struct sort *sort, const void *sorted, size_t begin, size_t count)
{
    radix_decode(sort->width, sort->items + begin * sort->width, sorted, count, sort->order);
}

static void finish_range(const struct sort *sort, struct range range, struct worker worker)
{
    const size_t begin = own_begin(range, worker);
    finish_items(sort, range.from + begin * sort->width, begin, own_end(range, worker) - begin);
}

/* ---- Partition ---- */

static unsigned choose_buckets(size_t count, unsigned parts)
{
    unsigned wanted = BUCKETS_WANTED_MIN;
    while (wanted < BUCKETS_WANTED_MAX && (wanted < count / BUCKET_COUNT || wanted < 4 * parts))
        wanted *= 2;
    return wanted;
}

/* Takes keys at random, one from each of equal stretches, and sorts them. */
static const uint64_t *take_sample(unsigned width, struct range range,
                                   struct radix_workspace *workspace, size_t count)
{
    const size_t stretch = range.count / count;
    uint64_t random = range.count;
    for (size_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const size_t place = range.begin + i * stretch + (size_t)((random >> 32) % stretch);
        workspace->samples[i] = radix_key(width, range.from, place, range.order);
    }
    return radix_sort_in_cache(sizeof(uint64_t), workspace->samples, workspace->samples + count,
                               count);
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

/* A range that holds nearly all of its parent's items may show that the parent's sample misled:
 * then the cells cover the exact range and stay apart, so that each bucket is at most 1/512 as
 * wide, whatever the sample. So of two levels one takes 9 bits of the keys or an eighth of the
 * items, and the recursion ends soon. */
static bool is_misled(struct range range)
{
    return range.count > range.parent_count / 8 * 7;
}

static void find_own_extremes(const struct sort *sort, struct range range, struct worker worker)
{
    struct radix_workspace *workspace = worker.workspace;
    workspace->lowest = UINT64_MAX;
    workspace->highest = 0;
    radix_find_range(sort->width, range.from, own_begin(range, worker), own_end(range, worker),
                     range.order, &workspace->lowest, &workspace->highest);
}

/* Member 0's. Otherwise the model covers what the sample says is the bulk of the keys. */
static void learn_model(const struct sort *sort, struct range range, struct worker worker)
{
    const unsigned wanted = choose_buckets(range.count, worker_count(worker));
    size_t count = (size_t)wanted * SAMPLE_PER_BUCKET;
    if (count > sort->plan.samples_max)
        count = sort->plan.samples_max;
    if (count > range.count)
        count = range.count;
    const uint64_t *sample = take_sample(sort->width, range, worker.workspace, count);
    const size_t outliers = count_outliers(sample, count, wanted);
    struct radix_evidence evidence = {.sample = sample,
                                      .count = count,
                                      .buckets_wanted = wanted,
                                      .buckets_max = sort->plan.buckets_max,
                                      .lowest = sample[outliers],
                                      .highest = sample[count - 1 - outliers],
                                      .cells_apart = is_misled(range)};
    if (evidence.cells_apart) {
        evidence.lowest = UINT64_MAX;
        evidence.highest = 0;
        for (unsigned i = 0; i < worker_count(worker); i++) {
            const struct radix_workspace *workspace = workspace_of(sort, worker, i);
            if (workspace->lowest < evidence.lowest)
                evidence.lowest = workspace->lowest;
            if (workspace->highest > evidence.highest)
                evidence.highest = workspace->highest;
        }
    }
    radix_model_learn(&worker.workspace->model, &evidence);
}

/* Member 0's: turns the parts' counts to their positions, and sets the level's starts. */
static void sum_counts(const struct sort *sort, struct range range, struct worker worker,
                       struct level *level)
{
    const unsigned buckets = worker.workspace->model.buckets;
    size_t position = range.begin;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        level->starts[bucket] = position;
        for (unsigned part = 0; part < worker_count(worker); part++) {
            size_t *const place = &workspace_of(sort, worker, part)->positions[bucket];
            const size_t count = *place;
            *place = position;
            position += count;
        }
    }
    level->starts[buckets] = position;
}

static struct radix_part own_part(struct range range, struct worker worker,
                                  const struct radix_model *model)
{
    return (struct radix_part){.from = range.from,
                               .to = range.other,
                               .begin = own_begin(range, worker),
                               .end = own_end(range, worker),
                               .order = range.order,
                               .model = model,
                               .positions = worker.workspace->positions,
                               .first = worker.workspace->first,
                               .lines = worker.workspace->lines};
}

/* Moves the items of range.from to range.other, bucket by bucket, encoded: bucket b is at
 * starts[b]..starts[b + 1] of the level that is returned. `own` is what is returned to member 0;
 * it stays until all have met again. Sets the number of buckets. */
static struct level *partition(struct sort *sort, struct range range, struct worker worker,
                               struct level *own, size_t *buckets)
{
    const bool is_first = worker_number(worker) == 0;
    const struct radix_model *model = &workspace_of(sort, worker, 0)->model;
    if (is_misled(range))
        find_own_extremes(sort, range, worker);
    meet(worker);
    if (is_first)
        learn_model(sort, range, worker);
    meet(worker);
    const struct radix_part part = own_part(range, worker, model);
    radix_count_buckets(sort->width, &part);
    meet(worker);
    if (is_first) {
        sum_counts(sort, range, worker, own);
        if (worker.member)
            sort->level = own;
    }
    meet(worker);
    struct level *level = worker.member ? sort->level : own;
    *buckets = model->buckets;
    radix_scatter(sort->width, &part);
    meet(worker);
    return level;
}

/* ---- Buckets ---- */

static void sort_range(struct sort *sort, struct range range, struct worker worker);

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
static bool is_for_all(struct range bucket, struct worker worker)
{
    return worker.member && bucket.count > SMALL_COUNT &&
           bucket.count > bucket.parent_count / (4 * (size_t)worker_count(worker));
}

static bool fits_cache(const struct sort *sort, size_t count)
{
    return count <= sort->plan.room_bytes / sort->width;
}

/* Buckets are taken by whoever is free: first those that are partitioned again, so that the last to
 * finish is a short one. */
static void sort_own_buckets(struct sort *sort, struct range parent, struct worker worker,
                             struct level *level, size_t buckets)
{
    const struct worker alone = {NULL, worker.workspace};
    size_t turn;
    while ((turn = atomic_fetch_add_explicit(&level->next, 1, memory_order_relaxed)) <
           2 * buckets) {
        const struct range range = make_bucket(parent, level->starts, turn % buckets);
        if (fits_cache(sort, range.count) == (turn >= buckets) && !is_for_all(range, worker))
            sort_range(sort, range, alone);
    }
}

static void sort_buckets(struct sort *sort, struct range parent, struct worker worker,
                         struct level *level, size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets && worker.member; bucket++) {
        const struct range range = make_bucket(parent, level->starts, bucket);
        if (is_for_all(range, worker))
            sort_range(sort, range, worker);
    }
    sort_own_buckets(sort, parent, worker, level, buckets);
    meet(worker);
}

static void sort_range_in_cache(const struct sort *sort, struct range range, void *room)
{
    const unsigned width = sort->width;
    unsigned char *from = range.from + range.begin * width;
    unsigned char *other = range.other + range.begin * width;
    if (width > 2 && vector_sort_is_there()) {
        vector_sort(width, from, room, range.count, sort->items + range.begin * width, range.order,
                    sort->order);
        return;
    }
    if (!key_order_is_identity(range.order))
        radix_encode(width, from, from, range.count, range.order);
    finish_items(sort, radix_sort_in_cache(width, from, other, range.count), range.begin,
                 range.count);
}

static void sort_by_partition(struct sort *sort, struct range range, struct worker worker)
{
    struct level own = {.next = 0};
    size_t buckets;
    struct level *level = partition(sort, range, worker, &own, &buckets);
    sort_buckets(sort, range, worker, level, buckets);
}

/* A bucket: ordered bits. */
static void sort_range(struct sort *sort, struct range range, struct worker worker)
{
    if (!worker.member && fits_cache(sort, range.count))
        sort_range_in_cache(sort, range, worker.workspace->room);
    else if (check_range(sort, range, worker, radix_is_ascending))
        finish_range(sort, range, worker);
    else
        sort_by_partition(sort, range, worker);
}

/* The input: stored bits, in their place already. */
static void sort_input(const struct member *member, void *context)
{
    struct sort *sort = context;
    const struct worker worker = {
        member, radix_workspace_at(&sort->plan, sort->workspaces, member->number)};
    radix_workspace_init(&sort->plan, worker.workspace);
    const struct range range = {.from = sort->items,
                                .other = sort->scratch,
                                .count = sort->count,
                                .order = sort->order,
                                .parent_count = SIZE_MAX};
    if (check_first_block(sort, range, radix_is_ascending)) {
        if (check_range(sort, range, worker, radix_is_ascending))
            return;
    } else if (check_first_block(sort, range, radix_is_descending) &&
               check_range(sort, range, worker, radix_is_descending)) {
        reverse_range(sort, range, worker);
        return;
    }
    sort_by_partition(sort, range, worker);
}

/* The same where it fits the cache. */
static void sort_small_input(const struct sort *sort)
{
    const struct range range = {
        .from = sort->items, .other = sort->scratch, .count = sort->count, .order = sort->order};
    if (radix_is_ascending(sort->width, sort->items, 0, sort->count, sort->order))
        return;
    if (radix_is_descending(sort->width, sort->items, 0, sort->count, sort->order))
        radix_reverse(sort->width, sort->items, 0, sort->count / 2, sort->count);
    else
        sort_range_in_cache(sort, range, sort->scratch);
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

/* Of a task that is not too small for a partition. Every bucket of SMALL_COUNT items has room. */
static struct radix_workspace_plan plan_workspaces(const struct radix_task *task)
{
    const size_t bytes = task->count * task->item_bytes;
    const unsigned wanted = choose_buckets(task->count, choose_threads(task));
    const size_t least = SMALL_COUNT * task->item_bytes, usual = 4 * (bytes / wanted);
    const size_t samples = wanted * (size_t)SAMPLE_PER_BUCKET;
    return radix_workspace_make_plan(2 * wanted > RADIX_MODEL_BUCKETS_MIN ? 2 * wanted
                                                                          : RADIX_MODEL_BUCKETS_MIN,
                                     samples < RADIX_SAMPLE_MAX ? samples : RADIX_SAMPLE_MAX,
                                     usual < least         ? least
                                     : usual < CACHE_BYTES ? usual
                                                           : CACHE_BYTES);
}

/* Of a size_t, a multiple of a cache line. */
static size_t other_bytes(const struct radix_task *task)
{
    const size_t bytes = task->count * task->item_bytes;
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
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
        workspaces = threads * plan_workspaces(task).bytes;
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
    struct sort sort = {.width = task->item_bytes,
                        .items = items,
                        .scratch = scratch,
                        .order = task->order,
                        .count = task->count};
    if (task->count <= SMALL_COUNT) {
        sort_small_input(&sort);
        return;
    }
    sort.plan = plan_workspaces(task);
    sort.workspaces = sort.scratch + other_bytes(task);
    team_run(threads, sort_input, &sort);
}
