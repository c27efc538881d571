/* SPDX-License-Identifier: Apache-2.0 */
/* team_quicksort.h - sorts an array that fits the cache shared by the cores, with up to four
 * threads.
 *
 *   items --one thread splits--> 2 parts --two threads split--> ... one part per member, sorted by
 * it (vector_sort.h)
 *
 * A partition (bucket_partition.h) writes past the caches to thousands of positions; here items
 * move within the caches. With many threads most would wait for the first splits. One thread sorts
 * keys in place: the page faults of a scratch for all keys would take half as long as the sort.
 */
#ifndef CPU_TEAM_QUICKSORT_H
#define CPU_TEAM_QUICKSORT_H

#include "cpu/partition/bucket_partition.h"

/* True if `count` items of `width` bytes are faster sorted this way by `threads` threads, and
 * AVX-512 is available. */
bool team_quicksort_suits(unsigned width, size_t count, unsigned threads);

/* True if the keys are sorted in place, so that the scratch needs room for VECTOR_ROOM_COUNT
 * keys (vector_sort.h) only. */
bool team_quicksort_is_in_place(unsigned width, unsigned threads);

/* Sorts the input. All members of the team call it; each returns when its own part is sorted. */
void team_quicksort(struct sort_job *job, struct sort_worker worker);

#endif
