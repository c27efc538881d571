/* SPDX-License-Identifier: Apache-2.0 */
/* sort_shortcuts.h - inputs that need no partition: sorted, reversed, or of few values. */
#ifndef CPU_SORT_SHORTCUTS_H
#define CPU_SORT_SHORTCUTS_H

#include "cpu/partition/bucket_partition.h"

/* True if the range is sorted. All members that work on it call it. */
bool range_is_sorted(struct sort_job *job, struct item_range range, struct sort_worker worker);

/* Sorts the input in place if it is sorted, reversed or has few values; otherwise moves nothing
 * and returns false. All members call it; one may return while others still write. */
bool sort_by_shortcut(struct sort_job *job, struct item_range input, struct sort_worker worker);

#endif
