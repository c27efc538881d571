/* SPDX-License-Identifier: Apache-2.0 */
/* sort_shortcuts.h - items that need no partition: in order already, in reverse, or of few values.
 */
#ifndef CPU_SORT_SHORTCUTS_H
#define CPU_SORT_SHORTCUTS_H

#include "cpu/partition/bucket_partition.h"

/* True if the range is in order as it is; all who work on it call it. */
bool range_is_sorted(struct sort_job *job, struct item_range range, struct sort_worker worker);

/* Sorts the input, which is where it is to stay, if there is a way that is shorter than a
 * partition; else moves nothing and returns false. All members call it; one may return while others
 * are not done. */
bool sort_by_shortcut(struct sort_job *job, struct item_range input, struct sort_worker worker);

#endif
