/* SPDX-License-Identifier: Apache-2.0 */
/* array_shortcut.c - see array_steps.h: inputs that need no partition. */
#include "cpu/array_steps.h"

#include "cpu/counting_sort.h"
#include "cpu/items/item_kernels.h"
#include "cpu/vector/vector_sort.h"

/* Order is checked in blocks of this many items, so that a thread stops soon after another found
 * disorder. */
#define ORDER_BLOCK ((size_t)16 << 10)

/* Minimum keys per member for value tables: then the scratch has room for a table of each member. A
 * member first counts PREVIEW_COUNT keys (two blocks of value_table_count) in each of up to
 * STRETCHES_MAX stretches of its part. */
#define TABLE_COUNT_MIN ((size_t)64 << 10)
#define STRETCHES_MAX ((size_t)128)
#define PREVIEW_COUNT ((size_t)1 << 10)
_Static_assert(sizeof(struct value_table) + CACHE_LINE_BYTES <= TABLE_COUNT_MIN * 4 &&
                   TABLE_COUNT_MIN <= VECTOR_ROOM_COUNT,
               "the scratch has room for a table of each member");

typedef bool order_check(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order);

/* True if `check` holds for the whole range. If it does not, member 0 clears has_disorder last: a
 * barrier must follow before the team checks another range. */
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

/* Sorts the range if a sample has up to FEW_VALUES_MAX values, and no key has another one.
 * Otherwise, and for items with an index, moves nothing and returns false. */
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

/* Adds keys [begin, end) to the table. Returns false if this table or that of another member has
 * too many values. */
static bool count_unless_exceeded(const struct sort_job *job, struct item_range range,
                                  struct value_table *table, size_t begin, size_t end)
{
    return !atomic_load_explicit(&job->exceeds_table, memory_order_relaxed) &&
           value_table_count(table, job->width, range.from, begin, end);
}

/* Counts keys [begin, end) in the table. Returns false if they, or the keys of another member,
 * have too many values. The last keys of each stretch are counted first: if only a hundredth of the
 * range has many values, that is found before the other keys are counted in vain. */
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

/* Sorts the range if its keys have up to VALUE_TABLE_VALUES_MAX values; otherwise moves nothing and
 * returns false. The time of the counting is then lost: that of 128 Ki keys per member if a
 * hundredth of its keys has many values; if fewer have, up to half of the sort time. */
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

bool range_is_ascending(struct sort_job *job, struct item_range range, struct sort_worker worker)
{
    return check_range(job, range, worker, items_are_ascending);
}

bool sort_by_shortcut(struct sort_job *job, struct item_range input, struct sort_worker worker)
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
