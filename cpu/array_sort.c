/* SPDX-License-Identifier: Apache-2.0 */
/* array_sort.c - see array_sort.h.
 *
 *   items --sorted or reversed already, or of few values (sort_shortcuts.h)?--> done
 *     | or of one byte, or many of two: counted, and given by pieces (counting_sort.h)
 *     | all threads: partition (bucket_partition.h)
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
#include "cpu/array_sort.h"

#include "core/vector_units.h"
#include "cpu/counting/counting_sort.h"
#include "cpu/vector/team_quicksort.h"
#include "cpu/partition/item_kernels.h"
#include "cpu/partition/sort_shortcuts.h"
#include "cpu/partition/bucket_partition.h"
#include "cpu/vector/vector_sort.h"

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
static void finish_items(const struct sort_job *job, const void *sorted, size_t begin, size_t count)
{
    items_decode(job->width, job->items + begin * job->width, sorted, count, job->order);
}

static void finish_range(const struct sort_job *job, struct item_range range,
                         struct sort_worker worker)
{
    const size_t begin = worker_begin(range, worker);
    finish_items(job, range.from + begin * job->width, begin, worker_end(range, worker) - begin);
}

/* ---- Buckets ---- */

static struct item_range make_bucket(struct item_range parent, const size_t *starts, size_t bucket)
{
    return (struct item_range){.from = parent.other,
                               .other = parent.from,
                               .begin = starts[bucket],
                               .count = starts[bucket + 1] - starts[bucket],
                               .order = key_order_identity(),
                               .parent_count = parent.count};
}

/* Buckets that would keep one thread busy while the others have nothing left. */
static bool is_for_all(struct item_range bucket, struct sort_worker worker)
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
        items_encode(width, from, from, range.count, range.order);
    finish_items(job, lsd_radix_sort(width, from, other, range.count), range.begin, range.count);
}

/* There is room: what is pending are parts of the items, each of more than SMALL_COUNT. */
static void push_range(struct partition_workspace *workspace, struct item_range range)
{
    workspace->pending[workspace->pending_count++] = range;
}

static void sort_pending(struct sort_job *job, struct sort_worker worker, size_t done);

/* Sorts the buckets that fit the cache, and leaves the others for later, as to partition one of
 * them takes the starts of these. */
static void sort_buckets_alone(struct sort_job *job, struct item_range parent,
                               struct partition_workspace *workspace, const size_t *starts,
                               size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const struct item_range range = make_bucket(parent, starts, bucket);
        if (fits_cache(job, range.count))
            sort_range_in_cache(job, range, workspace->room);
        else
            push_range(workspace, range);
    }
}

/* Which of the team's buckets the caller is to sort next: first those that are partitioned again,
 * so that the last to finish is a short one, then the others in their order. False: none is left.
 */
static bool take_bucket(struct sort_job *job, struct item_range parent, struct sort_worker worker,
                        const size_t *starts, size_t buckets, size_t *bucket)
{
    size_t turn;
    while ((turn = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < 2 * buckets) {
        *bucket = turn % buckets;
        const struct item_range range = make_bucket(parent, starts, *bucket);
        if (fits_cache(job, range.count) == (turn >= buckets) && !is_for_all(range, worker))
            return true;
    }
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

/* Leaves the buckets for all for later, by each member alike. */
static void push_those_for_all(struct item_range parent, struct sort_worker worker,
                               const size_t *starts, size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const struct item_range range = make_bucket(parent, starts, bucket);
        if (is_for_all(range, worker))
            push_range(worker.workspace, range);
    }
}

/* The team's buckets are taken by whoever is free. */
static void sort_buckets_in_turn(struct sort_job *job, struct item_range parent,
                                 struct sort_worker worker, const size_t *starts, size_t buckets)
{
    size_t bucket;
    push_those_for_all(parent, worker, starts, buckets);
    while (take_bucket(job, parent, worker, starts, buckets, &bucket))
        sort_bucket_alone(job, make_bucket(parent, starts, bucket), worker.workspace);
    worker_barrier(worker);
    if (worker_number(worker) == 0)
        atomic_store_explicit(&job->next, 0, memory_order_relaxed);
}

static void sort_by_partition(struct sort_job *job, struct item_range range,
                              struct sort_worker worker)
{
    const size_t *starts;
    const size_t buckets = bucket_partition(job, range, worker, &starts);
    if (worker.member)
        sort_buckets_in_turn(job, range, worker, starts, buckets);
    else
        sort_buckets_alone(job, range, worker.workspace, starts, buckets);
}

/* Sorts what is pending, buckets that are ordered bits, until only the first `done` are. */
static void sort_pending(struct sort_job *job, struct sort_worker worker, size_t done)
{
    struct partition_workspace *workspace = worker.workspace;
    while (workspace->pending_count > done) {
        const struct item_range range = workspace->pending[--workspace->pending_count];
        if (range_is_sorted(job, range, worker))
            finish_range(job, range, worker);
        else
            sort_by_partition(job, range, worker);
    }
}

/* ---- The input ---- */

/* All of it: stored bits, in their place already. */
static struct item_range whole_input(const struct sort_job *job)
{
    return (struct item_range){.from = job->items,
                               .other = job->scratch,
                               .count = job->count,
                               .order = job->order,
                               .parent_count = SIZE_MAX};
}

/* Sorts one of its buckets that are left; false if none is. */
static bool finish_next_bucket(struct sort_job *job, struct sort_worker worker)
{
    struct sort_progress *const progress = &job->progress;
    const struct item_range input = whole_input(job);
    size_t bucket;
    if (!take_bucket(job, input, worker, progress->starts, progress->finished.buckets, &bucket))
        return false;
    sort_bucket_alone(job, make_bucket(input, progress->starts, bucket), worker.workspace);
    sort_progress_finish(progress, bucket);
    return true;
}

/* Member 0's, when they are sorted. */
static void finish_those_for_all(struct sort_job *job, struct sort_worker worker)
{
    struct sort_progress *const progress = &job->progress;
    for (size_t bucket = 0; bucket < progress->finished.buckets; bucket++)
        if (is_for_all(make_bucket(whole_input(job), progress->starts, bucket), worker))
            sort_progress_finish(progress, bucket);
}

/* Partitions the input and sorts the buckets that are for all. Then the others can be followed. */
static void open_buckets(struct sort_job *job, struct sort_worker worker)
{
    const struct item_range input = whole_input(job);
    const size_t *starts;
    const size_t buckets = bucket_partition(job, input, worker, &starts);
    if (worker_number(worker) == 0)
        sort_progress_open(&job->progress, starts, buckets);
    push_those_for_all(input, worker, starts, buckets);
    worker_barrier(worker);
    if (worker.workspace->pending_count == 0)
        return;
    sort_pending(job, worker, 0);
    worker_barrier(worker);
    if (worker_number(worker) == 0)
        finish_those_for_all(job, worker);
}

static struct sort_worker make_worker(const struct sort_job *job, const struct member *member)
{
    return (struct sort_worker){
        member, partition_workspace_at(&job->plan, job->workspaces, member->number)};
}

/* Member 0 comes back as soon as the buckets can be followed. */
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
    open_buckets(job, worker);
    while (member->number != 0 && finish_next_bucket(job, worker))
        continue;
}

/* Vectors find out by themselves whether the items ascend, and those that are all equal do. */
static bool is_ascending(const struct sort_job *job)
{
    return !is_for_vectors(job->width) &&
           items_are_ascending(job->width, job->items, 0, job->count, job->order);
}

static bool is_descending(const struct sort_job *job)
{
    if (is_for_vectors(job->width) &&
        (job->count == 0 || items_key(job->width, job->items, 0, job->order) <=
                                items_key(job->width, job->items, job->count - 1, job->order)))
        return false;
    return items_are_descending(job->width, job->items, 0, job->count, job->order);
}

/* The same where it fits the cache. */
static void sort_small_input(const struct sort_job *job)
{
    const struct item_range range = {
        .from = job->items, .other = job->scratch, .count = job->count, .order = job->order};
    if (is_ascending(job))
        return;
    if (is_descending(job))
        items_reverse(job->width, job->items, 0, job->count / 2, job->count);
    else
        sort_range_in_cache(job, range, job->scratch);
}

/* ---- The task ---- */

/* Threads for so many parts. */
static unsigned count_useful(const struct sort_task *task, size_t parts)
{
    if (task->count <= SMALL_COUNT || parts == 0)
        return 1;
    return parts < task->threads ? (unsigned)parts : task->threads;
}

static unsigned choose_threads(const struct sort_task *task)
{
    const size_t bytes = task->count * task->item_bytes;
    const unsigned for_cuts = count_useful(task, bytes / PART_BYTES_MIN);
    if (team_quicksort_suits(task->item_bytes, task->count, for_cuts))
        return for_cuts;
    return count_useful(task, task->count / PART_COUNT_MIN);
}

static bool is_counted(const struct sort_task *task)
{
    return task->item_bytes == 1 || (task->item_bytes == 2 && task->count > few_words());
}

/* Sorted by one thread, without a partition. 16-bit keys that are not counted are. */
static bool is_small(const struct sort_task *task)
{
    return task->count <= SMALL_COUNT || task->item_bytes == 2;
}

/* Of a task that is not too small for a partition. Every bucket of SMALL_COUNT items has room. */
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

/* Of the scratch for the items. */
static size_t other_bytes(const struct sort_task *task)
{
    const unsigned width = task->item_bytes, threads = choose_threads(task);
    if (width == 2 && !is_counted(task) && has_vector_units())
        return vector_words_room(task->count);
    const bool is_in_place = task->count > SMALL_COUNT &&
                             team_quicksort_is_in_place(width, threads) &&
                             team_quicksort_suits(width, task->count, threads);
    return is_counted(task) ? 0 : (is_in_place ? VECTOR_ROOM_COUNT : task->count) * width;
}

/* Where what is behind them begins. */
static size_t sorting_begin(const struct sort_task *task)
{
    return round_to_cache_line(other_bytes(task));
}

/* A sort that is under way: it is in the scratch, behind the items and before the workspaces. */
struct array_sort {
    struct sort_job job;
    struct team team;
    struct counting_task counting; /* of keys that are counted, else without keys */
    size_t written;                /* then: those in their place; there is no team */
    bool is_over;                  /* all is sorted, and the team, if there was one, has ended */
};

/* What is behind the items in the scratch: the sorting, its progress, and the workspaces. */
static size_t sorting_bytes(void)
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

bool array_sort_scratch_bytes(const struct sort_task *task, size_t *bytes)
{
    const size_t behind = sorting_bytes() + task_bytes(task);
    if (other_bytes(task) > SIZE_MAX - CACHE_LINE_BYTES || sorting_begin(task) > SIZE_MAX - behind)
        return false;
    *bytes = sorting_begin(task) + behind;
    return true;
}

/* Of a task that is not too small for a partition; memory: for the progress and the workspaces. */
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
    unsigned char *const behind = (unsigned char *)scratch + sorting_begin(task);
    unsigned char *const memory = behind + sorting_bytes();
    struct array_sort *const sorting = (void *)behind;
    *sorting = (struct array_sort){.job = {.width = task->item_bytes,
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

size_t array_sort_await(struct array_sort *sorting, size_t known)
{
    struct sort_job *const job = &sorting->job;
    if (sorting->is_over)
        return job->count;
    if (sorting->counting.keys) {
        sorting->written = counting_sort_write(&sorting->counting, sorting->written);
        sorting->is_over = sorting->written == job->count;
        return sorting->written;
    }
    const struct member first = {&sorting->team, 0, sorting->team.count};
    for (;;) {
        const size_t sorted = sort_progress_read(&job->progress);
        if (sorted > known || sorted == job->count)
            return sorted;
        if (!finish_next_bucket(job, make_worker(job, &first)))
            return sort_progress_await(&job->progress, known);
    }
}

void array_sort_end(struct array_sort *sorting)
{
    if (sorting->is_over || sorting->counting.keys)
        return;
    atomic_store_explicit(&sorting->job.next, SIZE_MAX / 2, memory_order_relaxed);
    team_end(&sorting->team);
    sort_progress_end(&sorting->job.progress);
    sorting->is_over = true;
}
