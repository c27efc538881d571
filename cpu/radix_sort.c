/* radix_sort.c - see radix_sort.h.
 *
 *   items --sorted or reversed already, or of few values?--> done
 *     | all threads: partition (radix_partition.h)
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
 */
#include "cpu/radix_sort.h"

#include "core/vector_units.h"
#include "cpu/counting_sort.h"
#include "cpu/radix_kernels.h"
#include "cpu/radix_partition.h"
#include "cpu/vector_sort.h"

#include <stdint.h>

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

/* The order of a range is looked at in blocks, so that threads soon learn of disorder elsewhere. */
#define ORDER_BLOCK ((size_t)16 << 10)

/* ---- Ranges that are in order already ---- */

typedef bool order_check(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order);

/* True if the check holds between all neighbours of the range. What follows where it does not is a
 * partition, by whose first meeting the flag is down again. */
static bool check_range(struct radix_job *job, struct radix_range range, struct radix_worker worker,
                        order_check *check)
{
    const size_t end = range.begin + range.count, part_end = radix_own_end(range, worker);
    bool holds = true;
    for (size_t begin = radix_own_begin(range, worker); begin < part_end && holds;
         begin += ORDER_BLOCK) {
        size_t stop = part_end - begin > ORDER_BLOCK ? begin + ORDER_BLOCK : part_end;
        if (stop < end)
            stop++; /* the first one of the next block against the last one of this */
        holds = check(job->width, range.from, begin, stop, range.order) &&
                !(worker.member && atomic_load_explicit(&job->is_disordered, memory_order_relaxed));
    }
    if (!worker.member)
        return holds;
    if (!holds)
        atomic_store_explicit(&job->is_disordered, true, memory_order_relaxed);
    radix_workers_meet(worker);
    holds = !atomic_load_explicit(&job->is_disordered, memory_order_relaxed);
    radix_workers_meet(worker);
    if (!holds && radix_worker_number(worker) == 0)
        atomic_store_explicit(&job->is_disordered, false, memory_order_relaxed);
    return holds;
}

/* The same of the first block alone. */
static bool check_first_block(const struct radix_job *job, struct radix_range range,
                              order_check *check)
{
    const size_t count = range.count < ORDER_BLOCK ? range.count : ORDER_BLOCK;
    return check(job->width, range.from, range.begin, range.begin + count, range.order);
}

static void reverse_range(const struct radix_job *job, struct radix_range range,
                          struct radix_worker worker)
{
    const struct radix_range half = {.count = range.count / 2};
    radix_reverse(job->width, range.from + range.begin * job->width, radix_own_begin(half, worker),
                  radix_own_end(half, worker), range.count);
}

/* Brings sorted items to their place in the output, decoded. */
static void finish_items(const struct radix_job *job, const void *sorted, size_t begin,
                         size_t count)
{
    radix_decode(job->width, job->items + begin * job->width, sorted, count, job->order);
}

static void finish_range(const struct radix_job *job, struct radix_range range,
                         struct radix_worker worker)
{
    const size_t begin = radix_own_begin(range, worker);
    finish_items(job, range.from + begin * job->width, begin, radix_own_end(range, worker) - begin);
}

/* ---- Input of few values ---- */

/* Sorts the input if its keys have few values; false, and nothing is moved, if they have not. */
static bool sort_few_values(struct radix_job *job, struct radix_range range,
                            struct radix_worker worker)
{
    struct few_values values;
    if (job->width == 16 ||
        !few_values_find(&values, job->width, range.from, range.count, job->order))
        return false;
    const size_t begin = radix_own_begin(range, worker), end = radix_own_end(range, worker);
    if (!few_values_count(&values, job->width, range.from, begin, end,
                          worker.workspace->value_counts))
        atomic_store_explicit(&job->has_more_values, true, memory_order_relaxed);
    radix_workers_meet(worker);
    if (atomic_load_explicit(&job->has_more_values, memory_order_relaxed))
        return false;
    size_t ends[FEW_VALUES_MAX], sum = 0;
    for (unsigned v = 0; v < values.count; v++) {
        for (unsigned part = 0; part < radix_worker_count(worker); part++)
            sum += radix_workspace_at(&job->plan, job->workspaces, part)->value_counts[v];
        ends[v] = sum;
    }
    few_values_write(&values, job->width, range.from, begin, end, ends);
    return true;
}

/* ---- Buckets ---- */

static struct radix_range make_bucket(struct radix_range parent, const size_t *starts,
                                      size_t bucket)
{
    return (struct radix_range){.from = parent.other,
                                .other = parent.from,
                                .begin = starts[bucket],
                                .count = starts[bucket + 1] - starts[bucket],
                                .order = key_order_identity(),
                                .parent_count = parent.count};
}

/* Buckets that would keep one thread busy while the others have nothing left. */
static bool is_for_all(struct radix_range bucket, struct radix_worker worker)
{
    return worker.member && bucket.count > SMALL_COUNT &&
           bucket.count > bucket.parent_count / (4 * (size_t)radix_worker_count(worker));
}

static bool fits_cache(const struct radix_job *job, size_t count)
{
    return count <= job->plan.room_bytes / job->width;
}

static void sort_range_in_cache(const struct radix_job *job, struct radix_range range, void *room)
{
    const unsigned width = job->width;
    unsigned char *from = range.from + range.begin * width;
    unsigned char *other = range.other + range.begin * width;
    if (width > 2 && has_vector_units()) {
        vector_sort(width, from, room, range.count, job->items + range.begin * width, range.order,
                    job->order);
        return;
    }
    if (!key_order_is_identity(range.order))
        radix_encode(width, from, from, range.count, range.order);
    finish_items(job, radix_sort_in_cache(width, from, other, range.count), range.begin,
                 range.count);
}

/* There is room: what is pending are parts of the items, each of more than SMALL_COUNT. */
static void push_range(struct radix_workspace *workspace, struct radix_range range)
{
    workspace->pending[workspace->pending_count++] = range;
}

static void sort_pending(struct radix_job *job, struct radix_worker worker, size_t done);

/* Sorts the buckets that fit the cache, and leaves the others for later, as to partition one of
 * them takes the starts of these. */
static void sort_buckets_alone(struct radix_job *job, struct radix_range parent,
                               struct radix_workspace *workspace, const size_t *starts,
                               size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const struct radix_range range = make_bucket(parent, starts, bucket);
        if (fits_cache(job, range.count))
            sort_range_in_cache(job, range, workspace->room);
        else
            push_range(workspace, range);
    }
}

/* The team's buckets are taken by whoever is free: first those that are partitioned again, so that
 * the last to finish is a short one. Those for all are left for later, by each member alike. */
static void sort_buckets_in_turn(struct radix_job *job, struct radix_range parent,
                                 struct radix_worker worker, const size_t *starts, size_t buckets)
{
    const struct radix_worker alone = {NULL, worker.workspace};
    struct radix_workspace *workspace = worker.workspace;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const struct radix_range range = make_bucket(parent, starts, bucket);
        if (is_for_all(range, worker))
            push_range(workspace, range);
    }
    size_t turn;
    while ((turn = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < 2 * buckets) {
        const struct radix_range range = make_bucket(parent, starts, turn % buckets);
        const bool fits = fits_cache(job, range.count);
        if (fits != (turn >= buckets) || is_for_all(range, worker))
            continue;
        if (fits) {
            sort_range_in_cache(job, range, workspace->room);
        } else {
            push_range(workspace, range);
            sort_pending(job, alone, workspace->pending_count - 1);
        }
    }
    radix_workers_meet(worker);
    if (radix_worker_number(worker) == 0)
        atomic_store_explicit(&job->next, 0, memory_order_relaxed);
}

static void sort_by_partition(struct radix_job *job, struct radix_range range,
                              struct radix_worker worker)
{
    const size_t *starts;
    const size_t buckets = radix_partition(job, range, worker, &starts);
    if (worker.member)
        sort_buckets_in_turn(job, range, worker, starts, buckets);
    else
        sort_buckets_alone(job, range, worker.workspace, starts, buckets);
}

/* Sorts what is pending, buckets that are ordered bits, until only the first `done` are. */
static void sort_pending(struct radix_job *job, struct radix_worker worker, size_t done)
{
    struct radix_workspace *workspace = worker.workspace;
    while (workspace->pending_count > done) {
        const struct radix_range range = workspace->pending[--workspace->pending_count];
        if (check_range(job, range, worker, radix_is_ascending))
            finish_range(job, range, worker);
        else
            sort_by_partition(job, range, worker);
    }
}

/* The input: stored bits, in their place already. */
static void sort_input(const struct member *member, void *context)
{
    struct radix_job *job = context;
    const struct radix_worker worker = {
        member, radix_workspace_at(&job->plan, job->workspaces, member->number)};
    radix_workspace_init(&job->plan, worker.workspace);
    const struct radix_range range = {.from = job->items,
                                      .other = job->scratch,
                                      .count = job->count,
                                      .order = job->order,
                                      .parent_count = SIZE_MAX};
    if (check_first_block(job, range, radix_is_ascending)) {
        if (check_range(job, range, worker, radix_is_ascending))
            return;
    } else if (check_first_block(job, range, radix_is_descending) &&
               check_range(job, range, worker, radix_is_descending)) {
        reverse_range(job, range, worker);
        return;
    }
    if (sort_few_values(job, range, worker))
        return;
    sort_by_partition(job, range, worker);
    sort_pending(job, worker, 0);
}

/* The same where it fits the cache. */
static void sort_small_input(const struct radix_job *job)
{
    const struct radix_range range = {
        .from = job->items, .other = job->scratch, .count = job->count, .order = job->order};
    if (radix_is_ascending(job->width, job->items, 0, job->count, job->order))
        return;
    if (radix_is_descending(job->width, job->items, 0, job->count, job->order))
        radix_reverse(job->width, job->items, 0, job->count / 2, job->count);
    else
        sort_range_in_cache(job, range, job->scratch);
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
    const unsigned wanted = radix_choose_buckets(task->count, choose_threads(task));
    const size_t least = SMALL_COUNT * task->item_bytes, usual = 4 * (bytes / wanted);
    const size_t samples = wanted * (size_t)RADIX_SAMPLE_PER_BUCKET;
    struct radix_workspace_plan plan = {
        .buckets_max = 2 * wanted > RADIX_MODEL_BUCKETS_MIN ? 2 * wanted : RADIX_MODEL_BUCKETS_MIN,
        .samples_max = samples < RADIX_SAMPLE_MAX ? samples : RADIX_SAMPLE_MAX,
        .room_bytes = usual < least         ? least
                      : usual < CACHE_BYTES ? usual
                                            : CACHE_BYTES,
        .pending_max = task->count / SMALL_COUNT};
    radix_workspace_measure(&plan);
    return plan;
}

static size_t other_bytes(const struct radix_task *task)
{
    return radix_whole_lines(task->count * task->item_bytes);
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
    struct radix_job job = {.width = task->item_bytes,
                            .items = items,
                            .scratch = scratch,
                            .order = task->order,
                            .count = task->count};
    if (task->count <= SMALL_COUNT) {
        sort_small_input(&job);
        return;
    }
    job.plan = plan_workspaces(task);
    job.workspaces = job.scratch + other_bytes(task);
    team_run(threads, sort_input, &job);
}
