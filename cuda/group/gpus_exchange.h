/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_exchange.h - from a sorted part on each of several GPUs to a sorted range on each.
 *
 *   sorted parts -> exact cuts (gpus_cuts.h) -> each GPU copies its range of all parts into its
 *   scratch -> and merges these runs into its items
 *
 * A range has at most as many items as the GPU's part, so each GPU needs the memory of a sort of
 * its part and no more.
 */
#ifndef CUDA_GROUP_GPUS_EXCHANGE_H
#define CUDA_GROUP_GPUS_EXCHANGE_H

#include "cuda/group/gpus_part.h"

/* Lets the GPUs reach each other's memory where they can. Where they cannot, CUDA copies through
 * the host. */
bool gpus_connect(const unsigned *devices, size_t count, struct error *error);

/* The parts are sorted, as stored bits. Afterwards the items of part i are range i of all items, in
 * order: parts[i].range items, after those of the ranges before it. All items after the last range
 * are dropped. The memory of part i has room for both its range and its items. The parts' items and
 * scratch may be swapped. Adds the time to *busy_ns. Waits for all work, also after a failure. */
bool gpus_exchange(struct gpu_part *parts, size_t count, uint64_t *busy_ns, struct error *error);

#endif
