/* SPDX-License-Identifier: Apache-2.0 */
/* team_quicksort.c - quicksort by up to four threads, in the cache that the cores share.
 *
 *   items --one thread splits--> 2 parts --two threads split--> ... one part per member, which
 *         sorts it (vector_sort.h)
 *
 * A partition (bucket_partition.h) writes past the caches to thousands of positions; here items
 * move within the caches. With many threads most would wait for the first splits. One thread sorts
 * keys in place: the page faults of a scratch for all keys would take half as long as the sort.
 */
#include "cpu/array_steps.h"

#include "core/key_map.h"
#include "core/vector_units.h"
#include "cpu/vector/vector_sort.h"

/* Larger inputs are faster by bucket_partition.h. One core of an AMD EPYC (Zen 5), 2026-11, ms
 * by quicksort and by buckets: 1e6 f64 2.8 and 4.7, 4e6 f64 16 and 21, 1e7 f64 51 and 52; 1e6
 * key_index 7.2 and 13, 4e6 38 and 35. */
#define QUICKSORT_BYTES_MAX ((size_t)32 << 20)

/* The first split, for which all other threads wait, takes a tenth of the time in which one
 * thread sorts all. Two threads sort 1e6 f64 in 1.6 ms, and in 3.3 ms by buckets; more threads
 * were not measured. */
#define QUICKSORT_THREADS_MAX 4

bool team_quicksort_suits(unsigned width, size_t count, unsigned threads)
{
    return width > 2 && count <= QUICKSORT_BYTES_MAX / width && threads <= QUICKSORT_THREADS_MAX &&
           has_vector_units();
}

bool team_quicksort_is_in_place(unsigned width, unsigned threads)
{
    return threads == 1 && width < sizeof(struct key_index);
}

static struct partition_workspace *workspace_at(const struct sort_job *job, unsigned number)
{
    return partition_workspace_at(&job->plan, job->workspaces, number);
}

/* Splits the part of member `first`, which keeps the lower items, for members [first, middle), at
 * the beginning of the place. Member `middle` gets the upper ones, at the beginning of the room. */
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
    unsigned char *const items = job->items + begin * job->width;
    key_map_encode(job->width, job->order, items, end - begin, items);
}

void team_quicksort(struct sort_job *job, struct sort_worker worker)
{
    struct quicksort_part *const own = &worker.workspace->quicksort;
    if (team_quicksort_is_in_place(job->width, worker_count(worker))) {
        const size_t room = job->count < VECTOR_ROOM_COUNT ? job->count : VECTOR_ROOM_COUNT;
        encode_own_items(job, worker);
        vector_sort(job->width, job->items, job->count, job->scratch, room, job->items, job->order);
        return;
    }
    worker_barrier(worker); /* all members have finished reading the items */
    if (worker_number(worker) == 0)
        *own =
            (struct quicksort_part){.place = job->items, .room = job->scratch, .count = job->count};
    encode_own_items(job, worker);
    worker_barrier(worker);
    split_by_team(job, worker);
    vector_sort(job->width, own->is_in_room ? own->room : own->place, own->count,
                own->is_in_room ? own->place : own->room, own->count, own->place, job->order);
}
