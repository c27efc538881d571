/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_proof.h - checks sorted items in device memory, as core/check/check.h does on the host. */
#ifndef CUDA_CUDA_PROOF_H
#define CUDA_CUDA_PROOF_H

#include "core/check/tap.h"
#include "cuda/cuda_sort.h"

/* Sets *sum to the number of items and the sum of their hashes, and *disorder to the first item,
 * counted from 1, that belongs before the item before it; 0: none. Waits for the result. The items
 * are as stored, not as ordered bits. */
bool cuda_proof_items(const struct cuda_sort *sort, struct check_sum *sum, uint64_t *disorder,
                      struct error *error);

#endif
