/* SPDX-License-Identifier: Apache-2.0 */
/* array_steps.h - steps of array_sort.c that have files of their own. All members of the team call
 * a step; a lone worker calls range_is_ascending() alone.
 */
#ifndef CPU_ARRAY_STEPS_H
#define CPU_ARRAY_STEPS_H

#include "cpu/partition/bucket_partition.h"

/* ---- array_shortcut.c ---- */

/* Returns true if the range is in order. If it is not, a barrier must follow before the team calls
 * this again, as member 0 clears a flag last. */
bool range_is_ascending(struct sort_job *job, struct item_range range, struct sort_worker worker);

/* Sorts the input in place if it is sorted, reversed or has few values; otherwise moves nothing
 * and returns false. One member may return while others still write. */
bool sort_by_shortcut(struct sort_job *job, struct item_range input, struct sort_worker worker);

/* ---- team_quicksort.c ---- */

/* Returns true if the team quicksort is fastest for `count` items of `width` bytes with `threads`
 * threads, and AVX-512 is available. */
bool team_quicksort_suits(unsigned width, size_t count, unsigned threads);

/* True if the keys are sorted in place, so that the scratch needs room for VECTOR_ROOM_COUNT
 * keys (vector_sort.h) only. */
bool team_quicksort_is_in_place(unsigned width, unsigned threads);

/* Sorts the input. Each member returns when its own part is sorted. */
void team_quicksort(struct sort_job *job, struct sort_worker worker);

#endif
