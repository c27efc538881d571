/* SPDX-License-Identifier: Apache-2.0 */
/* radix_few_sort.h - sorts keys of few values by counting these (radix_few.cuh), where radix has
 * seen in a sample that they are few.
 */
#ifndef CUDA_RADIX_FEW_SORT_H
#define CUDA_RADIX_FEW_SORT_H

#include "cuda/cuda_sort.h"

#include <stdbool.h>

/* Starts to sort items of 4 or 8 bytes of up to RADIX_FEW_MOST values. memory: radix_few_bytes() on
 * the device, aligned to 256. If they have more values, or many values share slots of a table, the
 * items stay as they are, and the kernels set sort->note->is_refused. */
bool radix_few_sort(const struct cuda_sort *sort, void *memory, struct error *error);

size_t radix_few_bytes(unsigned item_bytes);

#endif
