/* SPDX-License-Identifier: Apache-2.0 */
/* radix_order.h - items that need no partition: in order already, in reverse, or of few values.
 */
#ifndef CPU_RADIX_ORDER_H
#define CPU_RADIX_ORDER_H

#include "cpu/radix_partition.h"

/* True if the range is in order as it is; all who work on it call it. */
bool radix_is_sorted(struct radix_job *job, struct radix_range range, struct radix_worker worker);

/* Sorts the input, which is where it is to stay, if there is a way that is shorter than a
 * partition; else moves nothing and returns false. All members call it; one may return while others
 * are not done. */
bool radix_sort_otherwise(struct radix_job *job, struct radix_range input,
                          struct radix_worker worker);

#endif
