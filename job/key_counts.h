/* SPDX-License-Identifier: Apache-2.0 */
/* key_counts.h - how often each bit pattern of one or two bytes occurs in a job in parts: the parts
 * are counted, instead of being kept as sorted runs and merged.
 *
 * counts: KEY_COUNTS(item_bytes) numbers, one for each pattern as it is stored, 0 at first.
 */
#ifndef JOB_KEY_COUNTS_H
#define JOB_KEY_COUNTS_H

#include "job/job_state.h"

#define KEY_COUNTS(item_bytes) ((size_t)1 << 8 * (item_bytes))

/* Adds stored keys, which are in order. */
void key_counts_add(uint64_t *counts, const void *items, size_t count, unsigned item_bytes);

/* Writes at most `wanted` keys, in the given order and without the first `skipped`, to the output
 * of the job, one buffer after another. */
bool key_counts_write(const uint64_t *counts, unsigned item_bytes, struct key_order order,
                      uint64_t skipped, uint64_t wanted, struct job_state *state,
                      struct error *error);

#endif
