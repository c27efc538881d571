/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digit_sort.h - sorts items digit by digit, the least one first (radix_digits.cuh).
 */
#ifndef CUDA_RADIX_DIGIT_SORT_H
#define CUDA_RADIX_DIGIT_SORT_H

#include "cuda/cuda_sort.h"

#include <stdbool.h>

struct radix_digit_task {
    bool is_above_index; /* items of 8 bytes in the identical order, whose lower halves do not fall
                            from one to the next: only the upper halves are sorted */
    void *memory;        /* on the device, radix_digit_bytes(), aligned to 256 bytes */
    size_t small_tiles_most; /* up to this count tiles are small; RADIX_SMALL_TILES_MOST or less */
    size_t portion; /* items of one launch of a pass; a tile or more, RADIX_PORTION_MOST or less */
};

/* The counts of all tiles of a portion have 30 bits. */
constexpr size_t RADIX_PORTION_MOST = (size_t)1 << 28;
constexpr size_t RADIX_SMALL_TILES_MOST = (size_t)1 << 19;

/* Starts to sort items of 4, 8 or 16 bytes; uses sort->scratch. The index of items of 16 bytes is
 * their position plus a constant. If the indices or lower halves are not as stated, the items stay
 * as they are, and the kernels set sort->note->is_refused. */
bool radix_digit_sort(const struct cuda_sort *sort, const struct radix_digit_task *task,
                      struct error *error);

/* Bytes of the memory, whatever else the task says. */
size_t radix_digit_bytes(size_t count, unsigned item_bytes);

#endif
