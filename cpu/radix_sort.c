/* SPDX-License-Identifier: Apache-2.0 */
/* radix_sort.c - see radix_sort.h.
 *
 *   items --sorted or reversed already, or of few values (radix_order.h)?--> done
 *     | or of one byte, or many of two: counted, and given by pieces (counting_sort.h)
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
#include "cpu/radix_cuts.h"
#include "cpu/radix_kernels.h"
#include "cpu/radix_order.h"
#include "cpu/radix_partition.h"
#include "cpu/vector_sort.h"

#include <stdint.h>

/* Figures below: a core of an AMD EPYC (Zen 4, 1 MiB of second cache), 2026-11. */

/* Up to so many items, one thread sorts them in cache before others would be awake. */
#define SMALL_COUNT ((size_t)64 << 10)

/* Fewer items than this are not worth a thread; nor is less than so much that goes by cuts. */
#define PART_COUNT_MIN ((size_t)32 << 10)
#define PART_BYTES_MIN ((size_t)512 << 10)

/* Up to so many 16-bit keys, sorting them costs less than walking all 65536 counters: by digits,
 * and by vectors. 65,536 and 131,072 keys, a core of an AMD EPYC (Zen 5), 2026-11, ms: 0.136 to
 * 0.186 by digits, 0.180 counted; 0.197 by vectors, 0.202 counted. */
#define FEW_WORDS ((size_t)64 << 10)
#define FEW_VECTOR_WORDS ((size_t)128 << 10)

/* Buckets up to this size are sorted in cache, if only in the one behind that of a core: another
 * partition costs more. 1e9 f64 by 16 threads of an Intel Xeon, 2026-11: 1.40 s with 1 MiB and half
 * as many buckets at the most, 1.23 with 4 MiB. */
#define CACHE_BYTES ((size_t)4 << 20)

static size_t few_words(void)
{
    return has_vector_units() ? FEW_VECTOR_WORDS : FEW_WORDS;
}

static bool is_for_vectors(unsigned width)
{
    return width > 2 && has_vector_units();
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
    if (is_for_vectors(width)) {
        vector_sort(width, from, room, range.count, job->items + range.begin * width, range.order,
                    job->order);
        return;
    }
    if (width == 2 && has_vector_units()) {
        vector_sort_words(from, range.count, room, range.order);
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

/* Which of the team's buckets the caller is to sort next: first those that are partitioned again,
 * so that the last to finish is a short one, then the others in their order. False: none is left.
 */
static bool take_bucket(struct radix_job *job, struct radix_range parent,
                        struct radix_worker worker, const size_t *starts, size_t buckets,
                        size_t *bucket)
{
    size_t turn;
    while ((turn = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < 2 * buckets) {
        *bucket = turn % buckets;
        const struct radix_range range = make_bucket(parent, starts, *bucket);
        if (fits_cache(job, range.count) == (turn >= buckets) && !is_for_all(range, worker))
            return true;
    }
    return false;
}

static void sort_bucket_alone(struct radix_job *job, struct radix_range range,
                              struct radix_workspace *workspace)
{
    if (fits_cache(job, range.count)) {
        sort_range_in_cache(job, range, workspace->room);
    } else {
        push_range(workspace, range);
        sort_pending(job, (struct radix_worker){NULL, workspace}, workspace->pending_count - 1);
    }
}

/* Leaves the buckets for all for later, by each member alike. */
static void push_those_for_all(struct radix_range parent, struct radix_worker worker,
                               const size_t *starts, size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const struct radix_range range = make_bucket(parent, starts, bucket);
        if (is_for_all(range, worker))
            push_range(worker.workspace, range);
    }
}

/* The team's buckets are taken by whoever is free. */
static void sort_buckets_in_turn(struct radix_job *job, struct radix_range parent,
                                 struct radix_worker worker, const size_t *starts, size_t buckets)
{
    size_t bucket;
    push_those_for_all(parent, worker, starts, buckets);
    while (take_bucket(job, parent, worker, starts, buckets, &bucket))
        sort_bucket_alone(job, make_bucket(parent, starts, bucket), worker.workspace);
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
        if (radix_is_sorted(job, range, worker))
            finish_range(job, range, worker);
        else
            sort_by_partition(job, range, worker);
    }
}

/* ---- The input ---- */

/* All of it: stored bits, in their place already. */
static struct radix_range whole_input(const struct radix_job *job)
{
    return (struct radix_range){.from = job->items,
                                .other = job->scratch,
                                .count = job->count,
                                .order = job->order,
                                .parent_count = SIZE_MAX};
}

/* Sorts one of its buckets that are left; false if none is. */
static bool finish_next_bucket(struct radix_job *job, struct radix_worker worker)
{
    struct radix_progress *const progress = &job->progress;
    const struct radix_range input = whole_input(job);
    size_t bucket;
    if (!take_bucket(job, input, worker, progress->starts, progress->row.buckets, &bucket))
        return false;
    sort_bucket_alone(job, make_bucket(input, progress->starts, bucket), worker.workspace);
    radix_progress_finish(progress, bucket);
    return true;
}

/* Member 0's, when they are sorted. */
static void finish_those_for_all(struct radix_job *job, struct radix_worker worker)
{
    struct radix_progress *const progress = &job->progress;
    for (size_t bucket = 0; bucket < progress->row.buckets; bucket++)
        if (is_for_all(make_bucket(whole_input(job), progress->starts, bucket), worker))
            radix_progress_finish(progress, bucket);
}

/* Partitions the input and sorts the buckets that are for all. Then the others can be followed. */
static void open_buckets(struct radix_job *job, struct radix_worker worker)
{
    const struct radix_range input = whole_input(job);
    const size_t *starts;
    const size_t buckets = radix_partition(job, input, worker, &starts);
    if (radix_worker_number(worker) == 0)
        radix_progress_open(&job->progress, starts, buckets);
    push_those_for_all(input, worker, starts, buckets);
    radix_workers_meet(worker);
    if (worker.workspace->pending_count == 0)
        return;
    sort_pending(job, worker, 0);
    radix_workers_meet(worker);
    if (radix_worker_number(worker) == 0)
        finish_those_for_all(job, worker);
}

static struct radix_worker make_worker(const struct radix_job *job, const struct member *member)
{
    return (struct radix_worker){member,
                                 radix_workspace_at(&job->plan, job->workspaces, member->number)};
}

/* Member 0 comes back as soon as the buckets can be followed. */
static void sort_input(const struct member *member, void *context)
{
    struct radix_job *job = context;
    const struct radix_worker worker = make_worker(job, member);
    radix_workspace_init(&job->plan, worker.workspace);
    if (radix_sort_otherwise(job, whole_input(job), worker))
        return;
    if (radix_suits_cuts(job->width, job->count, member->count)) {
        radix_sort_by_cuts(job, worker);
        return;
    }
    open_buckets(job, worker);
    while (member->number != 0 && finish_next_bucket(job, worker))
        continue;
}

/* Vectors find out by themselves whether the items ascend, and those that are all equal do. */
static bool is_ascending(const struct radix_job *job)
{
    return !is_for_vectors(job->width) &&
           radix_is_ascending(job->width, job->items, 0, job->count, job->order);
}

static bool is_descending(const struct radix_job *job)
{
    if (is_for_vectors(job->width) &&
        (job->count == 0 || radix_key(job->width, job->items, 0, job->order) <=
                                radix_key(job->width, job->items, job->count - 1, job->order)))
        return false;
    return radix_is_descending(job->width, job->items, 0, job->count, job->order);
}

/* The same where it fits the cache. */
static void sort_small_input(const struct radix_job *job)
{
    const struct radix_range range = {
        .from = job->items, .other = job->scratch, .count = job->count, .order = job->order};
    if (is_ascending(job))
        return;
    if (is_descending(job))
        radix_reverse(job->width, job->items, 0, job->count / 2, job->count);
    else
        sort_range_in_cache(job, range, job->scratch);
}

/* ---- The task ---- */

/* Threads for so many parts. */
static unsigned count_useful(const struct radix_task *task, size_t parts)
{
    if (task->count <= SMALL_COUNT || parts == 0)
        return 1;
    return parts < task->threads ? (unsigned)parts : task->threads;
}

static unsigned choose_threads(const struct radix_task *task)
{
    const size_t bytes = task->count * task->item_bytes;
    const unsigned for_cuts = count_useful(task, bytes / PART_BYTES_MIN);
    if (radix_suits_cuts(task->item_bytes, task->count, for_cuts))
        return for_cuts;
    return count_useful(task, task->count / PART_COUNT_MIN);
}

static bool is_counted(const struct radix_task *task)
{
    return task->item_bytes == 1 || (task->item_bytes == 2 && task->count > few_words());
}

/* Sorted by one thread, without a partition. 16-bit keys that are not counted are. */
static bool is_small(const struct radix_task *task)
{
    return task->count <= SMALL_COUNT || task->item_bytes == 2;
}

/* Of a task that is not too small for a partition. Every bucket of SMALL_COUNT items has room. */
static struct radix_workspace_plan plan_workspaces(const struct radix_task *task)
{
    const size_t bytes = task->count * task->item_bytes;
    const unsigned threads = choose_threads(task);
    const unsigned wanted = radix_choose_buckets(task->count, threads);
    const size_t least = SMALL_COUNT * task->item_bytes, usual = 4 * (bytes / wanted);
    const size_t samples = wanted * (size_t)RADIX_SAMPLE_PER_BUCKET;
    struct radix_workspace_plan plan = {
        .buckets_max = 2 * wanted > RADIX_MODEL_BUCKETS_MIN ? 2 * wanted : RADIX_MODEL_BUCKETS_MIN,
        .samples_max = samples < RADIX_SAMPLE_MAX ? samples : RADIX_SAMPLE_MAX,
        .room_bytes = usual < least         ? least
                      : usual < CACHE_BYTES ? usual
                                            : CACHE_BYTES,
        .pending_max = task->count / SMALL_COUNT};
    if (radix_suits_cuts(task->item_bytes, task->count, threads))
        plan = (struct radix_workspace_plan){0};
    radix_workspace_measure(&plan);
    return plan;
}

/* Of the scratch for the items. */
static size_t other_bytes(const struct radix_task *task)
{
    const unsigned width = task->item_bytes, threads = choose_threads(task);
    if (width == 2 && !is_counted(task) && has_vector_units())
        return vector_words_room(task->count);
    const bool is_in_place = task->count > SMALL_COUNT && radix_cuts_in_place(width, threads) &&
                             radix_suits_cuts(width, task->count, threads);
    return is_counted(task) ? 0 : (is_in_place ? VECTOR_ROOM_COUNT : task->count) * width;
}

/* Where what is behind them begins. */
static size_t sorting_begin(const struct radix_task *task)
{
    return radix_whole_lines(other_bytes(task));
}

/* A sort that is under way: it is in the scratch, behind the items and before the workspaces. */
struct radix_sorting {
    struct radix_job job;
    struct team team;
    struct counting_task counting; /* of keys that are counted, else without keys */
    size_t written;                /* then: those in their place; there is no team */
    bool is_over;                  /* all is sorted, and the team, if there was one, has ended */
};

/* What is behind the items in the scratch: the sorting, its progress, and the workspaces. */
static size_t sorting_bytes(void)
{
    return radix_whole_lines(sizeof(struct radix_sorting));
}

static size_t progress_bytes(const struct radix_workspace_plan *plan)
{
    return radix_whole_lines(radix_progress_bytes(plan->buckets_max));
}

static size_t task_bytes(const struct radix_task *task)
{
    const unsigned threads = choose_threads(task);
    if (is_counted(task))
        return counting_sort_workspace_bytes(task->item_bytes, threads);
    if (is_small(task))
        return 0;
    const struct radix_workspace_plan plan = plan_workspaces(task);
    return progress_bytes(&plan) + threads * plan.bytes;
}

bool radix_sort_scratch_bytes(const struct radix_task *task, size_t *bytes)
{
    const size_t behind = sorting_bytes() + task_bytes(task);
    if (other_bytes(task) > SIZE_MAX - CACHE_LINE_BYTES || sorting_begin(task) > SIZE_MAX - behind)
        return false;
    *bytes = sorting_begin(task) + behind;
    return true;
}

/* Of a task that is not too small for a partition; memory: for the progress and the workspaces. */
static void begin_by_team(struct radix_sorting *sorting, const struct radix_task *task,
                          unsigned char *memory)
{
    struct radix_job *const job = &sorting->job;
    job->plan = plan_workspaces(task);
    radix_progress_begin(&job->progress, job->plan.buckets_max, memory);
    job->workspaces = memory + progress_bytes(&job->plan);
    team_begin(&sorting->team, choose_threads(task), sort_input, job);
    if (job->progress.row.buckets == 0)
        radix_sort_end(sorting);
}

struct radix_sorting *radix_sort_begin(const struct radix_task *task, void *items, void *scratch)
{
    unsigned char *const behind = (unsigned char *)scratch + sorting_begin(task);
    unsigned char *const memory = behind + sorting_bytes();
    struct radix_sorting *const sorting = (void *)behind;
    *sorting = (struct radix_sorting){.job = {.width = task->item_bytes,
                                              .items = items,
                                              .scratch = scratch,
                                              .order = task->order,
                                              .count = task->count},
                                      .is_over = true};
    if (is_counted(task)) {
        sorting->counting = (struct counting_task){
            items, task->count, task->item_bytes, task->order, choose_threads(task), memory};
        counting_sort_count(&sorting->counting);
        sorting->is_over = task->count == 0;
    } else if (is_small(task)) {
        sort_small_input(&sorting->job);
    } else {
        sorting->is_over = false;
        begin_by_team(sorting, task, memory);
    }
    return sorting;
}

size_t radix_sort_await(struct radix_sorting *sorting, size_t known)
{
    struct radix_job *const job = &sorting->job;
    if (sorting->is_over)
        return job->count;
    if (sorting->counting.keys) {
        sorting->written = counting_sort_write(&sorting->counting, sorting->written);
        sorting->is_over = sorting->written == job->count;
        return sorting->written;
    }
    const struct member first = {&sorting->team, 0, sorting->team.count};
    for (;;) {
        const size_t sorted = radix_progress_look(&job->progress);
        if (sorted > known || sorted == job->count)
            return sorted;
        if (!finish_next_bucket(job, make_worker(job, &first)))
            return radix_progress_await(&job->progress, known);
    }
}

void radix_sort_end(struct radix_sorting *sorting)
{
    if (sorting->is_over || sorting->counting.keys)
        return;
    atomic_store_explicit(&sorting->job.next, SIZE_MAX / 2, memory_order_relaxed);
    team_end(&sorting->team);
    radix_progress_end(&sorting->job.progress);
    sorting->is_over = true;
}
