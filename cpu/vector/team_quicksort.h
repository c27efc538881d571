/* SPDX-License-Identifier: Apache-2.0 */
/* team_quicksort.h - what fits a cache that the cores share, sorted by a team without buckets.
 *
 *   items --one thread: cut in two--> parts --two threads: ...--> a part for each member,
 *                                                                 sorted by it (vector_sort.h)
 *
 * A partition (bucket_partition.h) writes past the caches, and has thousands of cursors to write
 * to; here a key is moved in the caches alone. Many threads would wait for the first cuts. One
 * thread sorts keys where they are: the page faults of a scratch for all of them would take as long
 * again as half of the sort.
 */
#ifndef CPU_TEAM_QUICKSORT_H
#define CPU_TEAM_QUICKSORT_H

#include "cpu/partition/bucket_partition.h"

/* True if so many items are better sorted so by so many threads, and can be. */
bool team_quicksort_suits(unsigned width, size_t count, unsigned threads);

/* True if so many threads sort keys where they are: the scratch is then for VECTOR_ROOM_COUNT of
 * them (vector_sort.h), or more. */
bool team_quicksort_is_in_place(unsigned width, unsigned threads);

/* Sorts the input; all members of the team call it, and each returns when its part is sorted. */
void team_quicksort(struct sort_job *job, struct sort_worker worker);

#endif
