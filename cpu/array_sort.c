/* SPDX-License-Identifier: Apache-2.0 */
/* array_sort.c - see cpu_sorts.h.
 *
 *   items
 *     | 1 byte, or many keys of 2 bytes: counting_sort.h, written in pieces
 *     | up to SMALL_COUNT items: sorted in cache by the calling thread
 *     | sorted, reversed or few values: array_shortcut.c
 *     | fits the shared cache, few threads: team_quicksort.c
 *     | all threads: bucket_partition.h
 *     v
 *   buckets in scratch --all threads together--> buckets too large for one thread
 *                      --one thread each-------> other buckets: partitioned again while larger than
 *                                                a cache, then sorted in cache (vector_sort.h or
 *                                                lsd_radix_sort) and decoded into items
 *
 * The threads are a team (team.h): each does its range of a step and waits at a barrier. Memory is
 * crossed about three times, whatever the key width: to count, to scatter and to sort. A bucket may
 * be in items or in scratch; its sorted keys always go to items.
 */
#include "cpu/cpu_sorts.h"

#include "core/backend.h"
#include "core/key_map.h"
#include "core/vector_units.h"
#include "cpu/array_steps.h"
#include "cpu/counting_sort.h"
#include "cpu/items/item_kernels.h"
#include "cpu/partition/bucket_partition.h"
#include "cpu/vector/vector_sort.h"

#include <stdint.h>

/* Measurements below: one core of an AMD EPYC (Zen 4), 1 MiB of L2, 2026-11. */

/* One thread sorts up to this many items in cache before other threads would have started. */
#define SMALL_COUNT ((size_t)64 << 10)

/* Minimum items per thread for a partition, and minimum bytes per thread for the team quicksort. */
#define PART_COUNT_MIN ((size_t)32 << 10)
#define PART_BYTES_MIN ((size_t)512 << 10)

/* Maximum size of a bucket that is sorted in cache, L2 or L3: up to there another partition costs
 * more. 1e9 f64, 16 threads of an Intel Xeon, 2026-11: 1.40 s with 1 MiB and a maximum of half as
 * many buckets, 1.23 s with 4 MiB. */
#define CACHE_BYTES ((size_t)4 << 20)

static bool uses_vectors(unsigned width)
{
    return width > 2 && has_vector_units();
}

/* Decodes sorted items into their final position. */
static void finish_items(const struct sort_job *job, const void *sorted, size_t begin, size_t count)
{
    key_map_decode(job->width, job->order, sorted, count, job->items + begin * job->width);
}

static void finish_range(const struct sort_job *job, struct item_range range,
                         struct sort_worker worker)
{
    const size_t begin = worker_begin(range, worker);
    finish_items(job, range.from + begin * job->width, begin, worker_end(range, worker) - begin);
}

/* ---- Buckets ---- */

/* The buckets of a range that was partitioned: bucket b is at [starts[b], starts[b + 1]). */
struct bucket_list {
    struct item_range parent;
    const size_t *starts;
    size_t count;
};

static struct bucket_list partition_range(struct sort_job *job, struct item_range range,
                                          struct sort_worker worker)
{
    struct bucket_list buckets = {.parent = range};
    buckets.count = bucket_partition(job, range, worker, &buckets.starts);
    return buckets;
}

static struct item_range bucket_at(const struct bucket_list *buckets, size_t bucket)
{
    return (struct item_range){.from = buckets->parent.other,
                               .other = buckets->parent.from,
                               .begin = buckets->starts[bucket],
                               .count = buckets->starts[bucket + 1] - buckets->starts[bucket],
                               .order = key_order_identity(),
                               .parent_count = buckets->parent.count};
}

/* True for a bucket so large that one thread would sort it while the others are idle. */
static bool is_shared_bucket(struct item_range bucket, struct sort_worker worker)
{
    return worker.member && bucket.count > SMALL_COUNT &&
           bucket.count > bucket.parent_count / (4 * (size_t)worker_count(worker));
}

static bool fits_cache(const struct sort_job *job, size_t count)
{
    return count <= job->plan.room_bytes / job->width;
}

static void sort_range_in_cache(const struct sort_job *job, struct item_range range, void *room)
{
    const unsigned width = job->width;
    unsigned char *from = range.from + range.begin * width;
    unsigned char *other = range.other + range.begin * width;
    key_map_encode(width, range.order, from, range.count, from);
    if (uses_vectors(width))
        vector_sort(width, from, range.count, room, range.count, job->items + range.begin * width,
                    job->order);
    else
        finish_items(job, lsd_radix_sort(width, from, other, range.count), range.begin,
                     range.count);
}

/* Cannot overflow: pending ranges are disjoint and each has more than SMALL_COUNT items. */
static void push_range(struct partition_workspace *workspace, struct item_range range)
{
    workspace->pending[workspace->pending_count++] = range;
}

static void sort_pending(struct sort_job *job, struct sort_worker worker, size_t done);

/* Sorts the buckets that fit the cache. Larger ones are pushed, because partitioning one
 * overwrites `starts`. */
static void sort_own_buckets(struct sort_job *job, const struct bucket_list *buckets,
                             struct partition_workspace *workspace)
{
    for (size_t bucket = 0; bucket < buckets->count; bucket++) {
        const struct item_range range = bucket_at(buckets, bucket);
        if (fits_cache(job, range.count))
            sort_range_in_cache(job, range, workspace->room);
        else
            push_range(workspace, range);
    }
}

/* Claims the next bucket that one thread sorts. Returns false if none remains, or the sort has
 * ended. */
static bool claim_bucket(struct sort_job *job, const struct bucket_list *buckets,
                         struct sort_worker worker, size_t *bucket)
{
    while (!atomic_load_explicit(&job->has_ended, memory_order_relaxed) &&
           (*bucket = atomic_fetch_add_explicit(&job->next_bucket, 1, memory_order_relaxed)) <
               buckets->count)
        if (!is_shared_bucket(bucket_at(buckets, *bucket), worker))
            return true;
    return false;
}

static void sort_bucket_alone(struct sort_job *job, struct item_range range,
                              struct partition_workspace *workspace)
{
    if (fits_cache(job, range.count)) {
        sort_range_in_cache(job, range, workspace->room);
    } else {
        push_range(workspace, range);
        sort_pending(job, (struct sort_worker){NULL, workspace}, workspace->pending_count - 1);
    }
}

/* Pushes the buckets that the whole team sorts. Every member pushes the same ones. */
static void push_shared_buckets(const struct bucket_list *buckets, struct sort_worker worker)
{
    for (size_t bucket = 0; bucket < buckets->count; bucket++) {
        const struct item_range range = bucket_at(buckets, bucket);
        if (is_shared_bucket(range, worker))
            push_range(worker.workspace, range);
    }
}

static void sort_team_buckets(struct sort_job *job, const struct bucket_list *buckets,
                              struct sort_worker worker)
{
    size_t bucket;
    push_shared_buckets(buckets, worker);
    while (claim_bucket(job, buckets, worker, &bucket))
        sort_bucket_alone(job, bucket_at(buckets, bucket), worker.workspace);
    worker_barrier(worker);
    if (worker_number(worker) == 0)
        atomic_store_explicit(&job->next_bucket, 0, memory_order_relaxed);
}

static void sort_by_partition(struct sort_job *job, struct item_range range,
                              struct sort_worker worker)
{
    const struct bucket_list buckets = partition_range(job, range, worker);
    if (worker.member)
        sort_team_buckets(job, &buckets, worker);
    else
        sort_own_buckets(job, &buckets, worker.workspace);
}

/* Sorts the pending ranges, which hold ordered bits, until `done` remain. */
static void sort_pending(struct sort_job *job, struct sort_worker worker, size_t done)
{
    struct partition_workspace *workspace = worker.workspace;
    while (workspace->pending_count > done) {
        const struct item_range range = workspace->pending[--workspace->pending_count];
        if (range_is_ascending(job, range, worker))
            finish_range(job, range, worker);
        else
            sort_by_partition(job, range, worker);
    }
}

/* ---- The input ---- */

/* The whole input: stored bits, in their final array. */
static struct item_range whole_input(const struct sort_job *job)
{
    return (struct item_range){.from = job->items,
                               .other = job->scratch,
                               .count = job->count,
                               .order = job->order,
                               .parent_count = SIZE_MAX};
}

/* The buckets of the input, after sort_progress_open. */
static struct bucket_list input_buckets(const struct sort_job *job)
{
    return (struct bucket_list){whole_input(job), job->progress.starts,
                                job->progress.finished.buckets};
}

/* Sorts one unclaimed bucket of the input; false if none remains. */
static bool finish_next_bucket(struct sort_job *job, struct sort_worker worker)
{
    const struct bucket_list buckets = input_buckets(job);
    size_t bucket;
    if (!claim_bucket(job, &buckets, worker, &bucket))
        return false;
    sort_bucket_alone(job, bucket_at(&buckets, bucket), worker.workspace);
    sort_progress_finish(&job->progress, bucket);
    return true;
}

/* Marks the shared buckets as finished. Member 0 only. */
static void finish_shared_buckets(struct sort_job *job, struct sort_worker worker)
{
    const struct bucket_list buckets = input_buckets(job);
    for (size_t bucket = 0; bucket < buckets.count; bucket++)
        if (is_shared_bucket(bucket_at(&buckets, bucket), worker))
            sort_progress_finish(&job->progress, bucket);
}

/* Partitions the input and sorts the buckets that the whole team sorts. After that,
 * the counter of sort_progress rises as buckets are finished. */
static void partition_input(struct sort_job *job, struct sort_worker worker)
{
    const struct bucket_list buckets = partition_range(job, whole_input(job), worker);
    if (worker_number(worker) == 0)
        sort_progress_open(&job->progress, buckets.starts, buckets.count);
    push_shared_buckets(&buckets, worker);
    worker_barrier(worker);
    if (worker.workspace->pending_count == 0)
        return;
    sort_pending(job, worker, 0);
    worker_barrier(worker);
    if (worker_number(worker) == 0)
        finish_shared_buckets(job, worker);
}

static struct sort_worker make_worker(const struct sort_job *job, const struct member *member)
{
    return (struct sort_worker){
        member, partition_workspace_at(&job->plan, job->workspaces, member->number)};
}

/* After a partition, member 0 returns once finished buckets can be awaited; it sorts more in
 * array_sort_await. */
static void sort_input(const struct member *member, void *context)
{
    struct sort_job *job = context;
    const struct sort_worker worker = make_worker(job, member);
    partition_workspace_init(&job->plan, worker.workspace);
    if (sort_by_shortcut(job, whole_input(job), worker))
        return;
    if (team_quicksort_suits(job->width, job->count, member->count)) {
        team_quicksort(job, worker);
        return;
    }
    partition_input(job, worker);
    while (member->number != 0 && finish_next_bucket(job, worker))
        continue;
}

/* Sorts an input that fits the cache, in the calling thread. */
static void sort_small_input(const struct sort_job *job)
{
    const struct item_range range = {
        .from = job->items, .other = job->scratch, .count = job->count, .order = job->order};
    if (items_are_descending(job->width, job->items, 0, job->count, job->order))
        items_reverse(job->width, job->items, 0, job->count / 2, job->count);
    else
        sort_range_in_cache(job, range, job->scratch);
}

/* ---- The task ---- */

/* Returns the number of threads to use if the task has `parts` parts of minimum size. */
static unsigned count_useful(const struct sort_task *task, size_t parts)
{
    if (task->count <= SMALL_COUNT || parts == 0)
        return 1;
    return parts < task->threads ? (unsigned)parts : task->threads;
}

static unsigned choose_threads(const struct sort_task *task)
{
    const size_t bytes = task->count * task->item_bytes;
    const unsigned for_quicksort = count_useful(task, bytes / PART_BYTES_MIN);
    if (team_quicksort_suits(task->item_bytes, task->count, for_quicksort))
        return for_quicksort;
    return count_useful(task, task->count / PART_COUNT_MIN);
}

/* Sorting up to SMALL_COUNT 16-bit keys is faster than counting, which reads 65,536 counters. */
static bool is_counted(const struct sort_task *task)
{
    return task->item_bytes == 1 || (task->item_bytes == 2 && task->count > SMALL_COUNT);
}

/* True if the calling thread sorts all items in cache. */
static bool is_small(const struct sort_task *task)
{
    return task->count <= SMALL_COUNT;
}

/* For a task that is_small() rejects. A bucket of SMALL_COUNT items always fits room_bytes. */
static struct partition_workspace_plan plan_workspaces(const struct sort_task *task)
{
    const size_t bytes = task->count * task->item_bytes;
    const unsigned threads = choose_threads(task);
    const unsigned wanted = partition_fan_out(task->count, threads);
    const size_t least = SMALL_COUNT * task->item_bytes, usual = 4 * (bytes / wanted);
    const size_t samples = wanted * (size_t)SAMPLES_PER_BUCKET;
    struct partition_workspace_plan plan = {
        .buckets_max =
            2 * wanted > BUCKET_MODEL_BUCKETS_MIN ? 2 * wanted : BUCKET_MODEL_BUCKETS_MIN,
        .samples_max = samples < SAMPLES_MAX ? samples : SAMPLES_MAX,
        .room_bytes = usual < least         ? least
                      : usual < CACHE_BYTES ? usual
                                            : CACHE_BYTES,
        .pending_max = task->count / SMALL_COUNT};
    if (team_quicksort_suits(task->item_bytes, task->count, threads))
        plan = (struct partition_workspace_plan){0};
    partition_workspace_measure(&plan);
    return plan;
}

/* Bytes of the second item array at the start of the scratch. */
static size_t second_array_bytes(const struct sort_task *task)
{
    const unsigned width = task->item_bytes, threads = choose_threads(task);
    const bool is_in_place = task->count > SMALL_COUNT &&
                             team_quicksort_is_in_place(width, threads) &&
                             team_quicksort_suits(width, task->count, threads);
    return is_counted(task) ? 0 : (is_in_place ? VECTOR_ROOM_COUNT : task->count) * width;
}

/* Offset of struct array_sort in the scratch. */
static size_t array_sort_offset(const struct sort_task *task)
{
    return round_to_cache_line(second_array_bytes(task));
}

/* A running sort. The scratch holds the second item array, this structure, and then the progress
 * and the workspaces, or the counters. */
struct array_sort {
    struct sort_job job;
    struct team team;
    struct counting_task counting; /* keys is NULL unless the keys are counted */
    size_t written;                /* items written so far, if the keys are counted; there is no
                                    * team then */
    bool is_done;                  /* all is sorted, and the team has ended */
};

static size_t array_sort_bytes(void)
{
    return round_to_cache_line(sizeof(struct array_sort));
}

static size_t progress_bytes(const struct partition_workspace_plan *plan)
{
    return round_to_cache_line(sort_progress_bytes(plan->buckets_max));
}

static size_t task_bytes(const struct sort_task *task)
{
    const unsigned threads = choose_threads(task);
    if (is_counted(task))
        return counting_sort_workspace_bytes(task->item_bytes, threads);
    if (is_small(task))
        return 0;
    const struct partition_workspace_plan plan = plan_workspaces(task);
    return progress_bytes(&plan) + threads * plan.bytes;
}

size_t array_sort_workspace_bytes(size_t count, unsigned item_bytes, unsigned threads)
{
    return task_bytes(
        &(struct sort_task){.item_bytes = item_bytes, .count = count, .threads = threads});
}

bool array_sort_scratch_bytes(const struct sort_task *task, size_t *bytes)
{
    const size_t more_bytes = array_sort_bytes() + task_bytes(task);
    if (second_array_bytes(task) > SIZE_MAX - CACHE_LINE_BYTES ||
        array_sort_offset(task) > SIZE_MAX - more_bytes)
        return false;
    *bytes = array_sort_offset(task) + more_bytes;
    return true;
}

/* For a task that is_small() rejects. memory: for the progress and the workspaces. */
static void begin_by_team(struct array_sort *sorting, const struct sort_task *task,
                          unsigned char *memory)
{
    struct sort_job *const job = &sorting->job;
    job->plan = plan_workspaces(task);
    sort_progress_begin(&job->progress, job->plan.buckets_max, memory);
    job->workspaces = memory + progress_bytes(&job->plan);
    team_begin(&sorting->team, choose_threads(task), sort_input, job);
    if (job->progress.finished.buckets == 0)
        array_sort_end(sorting);
}

struct array_sort *array_sort_begin(const struct sort_task *task, void *items, void *scratch)
{
    unsigned char *const begin = (unsigned char *)scratch + array_sort_offset(task);
    unsigned char *const memory = begin + array_sort_bytes();
    struct array_sort *const sorting = (void *)begin;
    *sorting = (struct array_sort){.job = {.width = task->item_bytes,
                                           .items = items,
                                           .scratch = scratch,
                                           .order = task->order,
                                           .count = task->count},
                                   .is_done = true};
    if (is_counted(task)) {
        sorting->counting = (struct counting_task){
            items, task->count, task->item_bytes, task->order, choose_threads(task), memory};
        counting_sort_count(&sorting->counting);
        sorting->is_done = task->count == 0;
    } else if (is_small(task)) {
        sort_small_input(&sorting->job);
    } else {
        sorting->is_done = false;
        begin_by_team(sorting, task, memory);
    }
    return sorting;
}

size_t array_sort_await(struct array_sort *sorting, size_t known)
{
    struct sort_job *const job = &sorting->job;
    if (sorting->is_done)
        return job->count;
    if (sorting->counting.keys) {
        sorting->written = counting_sort_write(&sorting->counting, sorting->written);
        sorting->is_done = sorting->written == job->count;
        return sorting->written;
    }
    const struct member first = {&sorting->team, 0, sorting->team.count};
    for (;;) {
        const size_t sorted = counter_await(&job->progress.sorted, 0); /* does not wait */
        if (sorted > known || sorted == job->count)
            return sorted;
        if (!finish_next_bucket(job, make_worker(job, &first)))
            return counter_await(&job->progress.sorted, known + 1);
    }
}

void array_sort_end(struct array_sort *sorting)
{
    if (sorting->is_done || sorting->counting.keys)
        return;
    atomic_store_explicit(&sorting->job.has_ended, true, memory_order_relaxed);
    team_end(&sorting->team);
    sorting->is_done = true;
}
