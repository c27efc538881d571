/* SPDX-License-Identifier: Apache-2.0 */
/* array_sort.c - see cpu_sorts.h.
 *
 *   items --sorted, reversed or few values (sort_by_shortcut)--> done
 *     | 1 byte, or many keys of 2 bytes: counting_sort.h, written in pieces
 *     | fits the shared cache, few threads: team_quicksort
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

/* Buckets up to this size are sorted in cache, L2 or L3, as another partition costs more. 1e9
 * f64, 16 threads of an Intel Xeon, 2026-11: 1.40 s with 1 MiB and a maximum of half as many
 * buckets, 1.23 s with 4 MiB. */
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

/* ---- Inputs that need no partition: sorted, reversed, or of few values ---- */

/* Order is checked in blocks of this many items, so that a thread stops soon after another found
 * disorder. */
#define ORDER_BLOCK ((size_t)16 << 10)

/* Minimum keys per member for a value table, for which the scratch has room. A member first
 * counts PREVIEW_COUNT keys (two blocks of value_table_count) in each of up to STRETCHES_MAX
 * stretches.
 */
#define TABLE_COUNT_MIN ((size_t)64 << 10)
#define STRETCHES_MAX ((size_t)128)
#define PREVIEW_COUNT ((size_t)1 << 10)
_Static_assert(sizeof(struct value_table) + CACHE_LINE_BYTES <= TABLE_COUNT_MIN * 4 &&
                   TABLE_COUNT_MIN <= VECTOR_ROOM_COUNT,
               "the scratch has room for a table of each member");

typedef bool order_check(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order);

/* True if `check` holds for the whole range. If it does not, a partition follows, whose first
 * barrier makes the cleared flag visible. */
static bool check_range(struct sort_job *job, struct item_range range, struct sort_worker worker,
                        order_check *check)
{
    const size_t end = range.begin + range.count, part_end = worker_end(range, worker);
    bool holds = true;
    for (size_t begin = worker_begin(range, worker); begin < part_end && holds;
         begin += ORDER_BLOCK) {
        size_t stop = part_end - begin > ORDER_BLOCK ? begin + ORDER_BLOCK : part_end;
        if (stop < end)
            stop++; /* the first item of the next block against the last of this one */
        holds = check(job->width, range.from, begin, stop, range.order) &&
                !(worker.member && atomic_load_explicit(&job->has_disorder, memory_order_relaxed));
    }
    if (!worker.member)
        return holds;
    if (!holds)
        atomic_store_explicit(&job->has_disorder, true, memory_order_relaxed);
    worker_barrier(worker);
    holds = !atomic_load_explicit(&job->has_disorder, memory_order_relaxed);
    worker_barrier(worker);
    if (!holds && worker_number(worker) == 0)
        atomic_store_explicit(&job->has_disorder, false, memory_order_relaxed);
    return holds;
}

/* True if `check` holds for the first block. */
static bool check_first_block(const struct sort_job *job, struct item_range range,
                              order_check *check)
{
    const size_t count = range.count < ORDER_BLOCK ? range.count : ORDER_BLOCK;
    return check(job->width, range.from, range.begin, range.begin + count, range.order);
}

static void reverse_range(const struct sort_job *job, struct item_range range,
                          struct sort_worker worker)
{
    const struct item_range half = {.count = range.count / 2};
    items_reverse(job->width, range.from + range.begin * job->width, worker_begin(half, worker),
                  worker_end(half, worker), range.count);
}

/* Sorts the range if its keys have up to FEW_VALUES_MAX values; otherwise moves nothing and
 * returns false. */
static bool sort_few_values(struct sort_job *job, struct item_range range,
                            struct sort_worker worker)
{
    struct few_values values;
    if (job->width == 16 ||
        !few_values_find(&values, job->width, range.from, range.count, job->order))
        return false;
    const size_t begin = worker_begin(range, worker), end = worker_end(range, worker);
    if (!few_values_count(&values, job->width, range.from, begin, end,
                          worker.workspace->value_counts))
        atomic_store_explicit(&job->exceeds_few_values, true, memory_order_relaxed);
    worker_barrier(worker);
    if (atomic_load_explicit(&job->exceeds_few_values, memory_order_relaxed))
        return false;
    size_t ends[FEW_VALUES_MAX], sum = 0;
    for (unsigned v = 0; v < values.count; v++) {
        for (unsigned part = 0; part < worker_count(worker); part++)
            sum += partition_workspace_at(&job->plan, job->workspaces, part)->value_counts[v];
        ends[v] = sum;
    }
    few_values_write(&values, job->width, range.from, begin, end, ends);
    return true;
}

static struct value_table *table_at(struct item_range range, unsigned number)
{
    return (void *)(range.other + number * round_to_cache_line(sizeof(struct value_table)));
}

/* Merges all tables into member 0's and sorts it; false if there are too many values. Member 0
 * only. */
static bool merge_tables(const struct sort_job *job, struct item_range range,
                         struct sort_worker worker)
{
    struct value_table *const all = table_at(range, 0);
    for (unsigned part = 1; part < worker_count(worker); part++)
        if (!value_table_merge(all, table_at(range, part)))
            return false;
    value_table_sort(all, job->width, job->order);
    return true;
}

/* Adds keys [begin, end) to the table. Returns false if a table has too many values. */
static bool count_unless_exceeded(const struct sort_job *job, struct item_range range,
                                  struct value_table *table, size_t begin, size_t end)
{
    return !atomic_load_explicit(&job->exceeds_table, memory_order_relaxed) &&
           value_table_count(table, job->width, range.from, begin, end);
}

/* Counts keys [begin, end) in the table. Returns false if they, or the keys of another member,
 * have too many values. The last keys of each stretch are counted first, so that a hundredth of
 * the keys that has many values is found before the others are counted for nothing. */
static bool count_in_table(struct sort_job *job, struct item_range range, struct value_table *table,
                           size_t begin, size_t end)
{
    const size_t count = end - begin, previews = count / PREVIEW_COUNT;
    const size_t stretches = previews < STRETCHES_MAX ? previews : STRETCHES_MAX;
    value_table_clear(table);
    for (size_t i = 0; i < stretches; i++) {
        const size_t stop = begin + count * (i + 1) / stretches;
        if (!count_unless_exceeded(job, range, table, stop - PREVIEW_COUNT, stop))
            return false;
    }
    for (size_t i = 0; i < stretches; i++) {
        const size_t stop = begin + count * (i + 1) / stretches;
        if (!count_unless_exceeded(job, range, table, begin + count * i / stretches,
                                   stop - PREVIEW_COUNT))
            return false;
    }
    return true;
}

/* Sorts the range if its keys have up to VALUE_TABLE_VALUES_MAX values. If it gives up, the
 * counting is lost: 128 Ki keys per member if a hundredth of these has many values; if fewer
 * have, up to half of the sort time. */
static bool sort_by_table(struct sort_job *job, struct item_range range, struct sort_worker worker)
{
    struct value_table *const own = table_at(range, worker_number(worker));
    if (job->width == 16 || range.count / worker_count(worker) < TABLE_COUNT_MIN ||
        !value_table_suits(job->width, range.from, range.count))
        return false;
    const size_t begin = worker_begin(range, worker), end = worker_end(range, worker);
    if (!count_in_table(job, range, own, begin, end))
        atomic_store_explicit(&job->exceeds_table, true, memory_order_relaxed);
    worker_barrier(worker);
    if (worker_number(worker) == 0 &&
        !atomic_load_explicit(&job->exceeds_table, memory_order_relaxed) &&
        !merge_tables(job, range, worker))
        atomic_store_explicit(&job->exceeds_table, true, memory_order_relaxed);
    worker_barrier(worker);
    if (atomic_load_explicit(&job->exceeds_table, memory_order_relaxed))
        return false;
    value_table_write(table_at(range, 0), job->width, job->order, range.from, begin, end);
    return true;
}

/* Sorts the input in place if it is sorted, reversed or has few values; otherwise moves nothing
 * and returns false. All members call it; one may return while others still write. */
static bool sort_by_shortcut(struct sort_job *job, struct item_range input,
                             struct sort_worker worker)
{
    if (check_first_block(job, input, items_are_ascending)) {
        if (check_range(job, input, worker, items_are_ascending))
            return true;
    } else if (check_first_block(job, input, items_are_descending) &&
               check_range(job, input, worker, items_are_descending)) {
        reverse_range(job, input, worker);
        return true;
    }
    return sort_few_values(job, input, worker) || sort_by_table(job, input, worker);
}

/* ---- Team quicksort: up to four threads, in the cache that the cores share ----
 *
 *   items --one thread splits--> 2 parts --two threads split--> ... one part per member, which
 *         sorts it (vector_sort.h)
 *
 * A partition (bucket_partition.h) writes past the caches to thousands of positions; here items
 * move within the caches. With many threads most would wait for the first splits. One thread sorts
 * keys in place: the page faults of a scratch for all keys would take half as long as the sort.
 */

/* Larger inputs are faster by bucket_partition.h. One core of an AMD EPYC (Zen 5), 2026-11, ms
 * by quicksort and by buckets: 1e6 f64 2.8 and 4.7, 4e6 f64 16 and 21, 1e7 f64 51 and 52; 1e6
 * key_index 7.2 and 13, 4e6 38 and 35. */
#define QUICKSORT_BYTES_MAX ((size_t)32 << 20)

/* The first split, for which all other threads wait, takes a tenth of the time in which one
 * thread sorts all. Two threads sort 1e6 f64 in 1.6 ms, and in 3.3 ms by buckets; more threads
 * were not measured. */
#define QUICKSORT_THREADS_MAX 4

/* Returns true if the team quicksort is fastest for `count` items of `width` bytes with `threads`
 * threads, and AVX-512 is available. */
static bool team_quicksort_suits(unsigned width, size_t count, unsigned threads)
{
    return width > 2 && count <= QUICKSORT_BYTES_MAX / width && threads <= QUICKSORT_THREADS_MAX &&
           has_vector_units();
}

/* True if the keys are sorted in place, so that the scratch needs room for VECTOR_ROOM_COUNT
 * keys (vector_sort.h) only. */
static bool team_quicksort_is_in_place(unsigned width, unsigned threads)
{
    return threads == 1 && width < sizeof(struct key_index);
}

static struct partition_workspace *workspace_at(const struct sort_job *job, unsigned number)
{
    return partition_workspace_at(&job->plan, job->workspaces, number);
}

/* Splits the part of member `first`: it keeps the items for members first..middle, member
 * `middle` gets the others. The lower items go to the beginning of the place, the upper ones to
 * the beginning of the room. */
static void split_part(const struct sort_job *job, unsigned first, unsigned middle, unsigned end)
{
    struct quicksort_part *const low = &workspace_at(job, first)->quicksort;
    struct quicksort_part *const high = &workspace_at(job, middle)->quicksort;
    const struct quicksort_part whole = *low;
    low->count = vector_cut(job->width, whole.is_in_room ? whole.room : whole.place, whole.count,
                            middle - first, end - first, whole.place, whole.room);
    high->count = whole.count - low->count;
    high->place = whole.place + low->count * job->width;
    high->room = whole.room;
    high->is_in_room = true;
    low->room = whole.room + high->count * job->width;
    low->is_in_room = false;
}

/* Splits the input into one part per member. Members [begin, end) share one part, held by the
 * first of them, until each has its own. */
static void split_by_team(const struct sort_job *job, struct sort_worker worker)
{
    const unsigned number = worker_number(worker), members = worker_count(worker);
    unsigned begin = 0, end = members;
    for (unsigned parts = 1; parts < members; parts *= 2) {
        const unsigned middle = begin + (end - begin + 1) / 2;
        if (number == begin && middle < end)
            split_part(job, begin, middle, end);
        if (number < middle)
            end = middle;
        else
            begin = middle;
        worker_barrier(worker);
    }
}

static void encode_own_items(const struct sort_job *job, struct sort_worker worker)
{
    const struct item_range input = {.count = job->count};
    const size_t begin = worker_begin(input, worker), end = worker_end(input, worker);
    if (!key_order_is_identity(job->order))
        vector_encode_items(job->width, job->items + begin * job->width, end - begin, job->order);
}

/* Sorts the input. All members of the team call it; each returns when its own part is sorted. */
static void team_quicksort(struct sort_job *job, struct sort_worker worker)
{
    struct quicksort_part *const own = &worker.workspace->quicksort;
    if (team_quicksort_is_in_place(job->width, worker_count(worker))) {
        vector_sort_in_place(job->width, job->items, job->count, job->scratch, job->order,
                             job->order);
        return;
    }
    worker_barrier(worker); /* all members have finished reading the items */
    if (worker_number(worker) == 0)
        *own =
            (struct quicksort_part){.place = job->items, .room = job->scratch, .count = job->count};
    encode_own_items(job, worker);
    worker_barrier(worker);
    split_by_team(job, worker);
    vector_sort(job->width, own->is_in_room ? own->room : own->place,
                own->is_in_room ? own->place : own->room, own->count, own->place,
                key_order_identity(), job->order);
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
    if (uses_vectors(width)) {
        vector_sort(width, from, room, range.count, job->items + range.begin * width, range.order,
                    job->order);
        return;
    }
    key_map_encode(width, range.order, from, range.count, from);
    finish_items(job, lsd_radix_sort(width, from, other, range.count), range.begin, range.count);
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

/* Claims the next bucket that fits the cache, or the next larger one, which is partitioned again.
 * Returns false if none remains for the calling thread. */
static bool claim_next(struct sort_job *job, const struct bucket_list *buckets,
                       struct sort_worker worker, bool fits, size_t *bucket)
{
    atomic_size_t *const next = fits ? &job->next_fitting : &job->next_larger;
    while ((*bucket = atomic_fetch_add_explicit(next, 1, memory_order_relaxed)) < buckets->count) {
        const struct item_range range = bucket_at(buckets, *bucket);
        if (fits_cache(job, range.count) == fits && !is_shared_bucket(range, worker))
            return true;
    }
    return false;
}

/* Claims a bucket for the calling thread: the larger ones first, so that the last thread to finish
 * has a small one. Returns false if none remains, or the sort has ended. */
static bool claim_bucket(struct sort_job *job, const struct bucket_list *buckets,
                         struct sort_worker worker, size_t *bucket)
{
    return !atomic_load_explicit(&job->has_ended, memory_order_relaxed) &&
           (claim_next(job, buckets, worker, false, bucket) ||
            claim_next(job, buckets, worker, true, bucket));
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
    if (worker_number(worker) == 0) {
        atomic_store_explicit(&job->next_larger, 0, memory_order_relaxed);
        atomic_store_explicit(&job->next_fitting, 0, memory_order_relaxed);
    }
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
        if (check_range(job, range, worker, items_are_ascending))
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
 * sort_progress reports finished buckets. */
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

/* Member 0 returns once finished buckets can be awaited; it sorts more in array_sort_await. */
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

/* vector_sort detects ascending input, all-equal input included. */
static bool is_ascending(const struct sort_job *job)
{
    return !uses_vectors(job->width) &&
           items_are_ascending(job->width, job->items, 0, job->count, job->order);
}

static bool is_descending(const struct sort_job *job)
{
    if (uses_vectors(job->width) &&
        (job->count == 0 || items_key(job->width, job->items, 0, job->order) <=
                                items_key(job->width, job->items, job->count - 1, job->order)))
        return false;
    return items_are_descending(job->width, job->items, 0, job->count, job->order);
}

/* Sorts an input that fits the cache, in the calling thread. */
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

/* Number of threads for `parts` parts of minimum size. */
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

/* True if one thread sorts without a partition. */
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

/* A running sort. It is in the scratch, after the items and before the workspaces. */
struct array_sort {
    struct sort_job job;
    struct team team;
    struct counting_task counting; /* keys is NULL unless the keys are counted */
    size_t written;                /* items written so far, if the keys are counted; there is no
                                    * team then */
    bool is_done;                  /* all is sorted, and the team has ended */
};

/* The scratch after the items: struct array_sort, the progress, the workspaces. */
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

bool array_sort_scratch_bytes(const struct sort_task *task, size_t *bytes)
{
    const size_t behind = array_sort_bytes() + task_bytes(task);
    if (second_array_bytes(task) > SIZE_MAX - CACHE_LINE_BYTES ||
        array_sort_offset(task) > SIZE_MAX - behind)
        return false;
    *bytes = array_sort_offset(task) + behind;
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
    unsigned char *const behind = (unsigned char *)scratch + array_sort_offset(task);
    unsigned char *const memory = behind + array_sort_bytes();
    struct array_sort *const sorting = (void *)behind;
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
        const size_t sorted = sort_progress_read(&job->progress);
        if (sorted > known || sorted == job->count)
            return sorted;
        if (!finish_next_bucket(job, make_worker(job, &first)))
            return sort_progress_await(&job->progress, known);
    }
}

void array_sort_end(struct array_sort *sorting)
{
    if (sorting->is_done || sorting->counting.keys)
        return;
    atomic_store_explicit(&sorting->job.has_ended, true, memory_order_relaxed);
    team_end(&sorting->team);
    sort_progress_end(&sorting->job.progress);
    sorting->is_done = true;
}
