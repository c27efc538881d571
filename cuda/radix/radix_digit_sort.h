/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digit_sort.h - sorts items digit by digit, the least one first. */
#ifndef CUDA_RADIX_DIGIT_SORT_H
#define CUDA_RADIX_DIGIT_SORT_H

#include "cuda/block/launch.cuh"
#include "cuda/cuda_sort.h"

#include <stdbool.h>

/* The counts of all tiles of a portion have 30 bits. Their memory is 5 % of that of 2^30 keys of 4
 * bytes, and 3.6 and 0.9 % for 8 and 16 bytes. In portions of 2^28, 2^29 and 2^30 - 1 keys 1e9 u32
 * take 17.6, 17.5 and 17.4 ms (H200, 2026-11-29). */
constexpr size_t RADIX_PORTION_MOST = ((size_t)1 << 30) - 1;

/* Starts to sort items of 4, 8 or 16 bytes; uses sort.scratch. With is_above_index, for items of 8
 * bytes in the identity order, only the upper halves are sorted: the lower ones must not fall from
 * one item to the next. The index of items of 16 bytes must be their position plus a constant. If
 * the indices are not so, the items stay as they are, and the kernels set sort.status->is_refused.
 *
 * A launch of a pass sorts `portion` items, a tile or more, but at most RADIX_PORTION_MOST.
 * `memory` is on the device, has radix_digit_bytes(), and is aligned to 256 bytes. */
bool radix_digit_sort(const struct cuda_sort &sort, const struct launch_site &site,
                      bool is_above_index, size_t portion, void *memory, struct error *error);

size_t radix_digit_bytes(size_t count, unsigned item_bytes);

#endif
