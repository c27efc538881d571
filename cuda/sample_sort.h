/* SPDX-License-Identifier: Apache-2.0 */
/* sample_sort.h - sorts some ten thousand to a million items by splitters from a sample, in few and
 * short kernels, and as fast whatever the keys are.
 */
#ifndef CUDA_SAMPLE_SORT_H
#define CUDA_SAMPLE_SORT_H

#include "cuda/cuda_sort.h"

#include <stdbool.h>
#include <stdint.h>

struct sample_task {
    void *memory;       /* sample_sort_bytes() on the device, aligned to 256 */
    const size_t *keys; /* on the device: with 0 there nothing is done; NULL: always */
    uint64_t seed;      /* decides where the sample is taken; any number will do */
    size_t misled;      /* what the note says if the sample has misled */
};

/* A seed by the clock, so that no items can be made that are hidden from the sample; always the
 * same on the stand-in (tests/simt). */
uint64_t sample_seed(void);

/* True if so many items of so many bytes are to be sorted so. */
bool sample_sort_takes(size_t count, unsigned item_bytes);

/* Starts to sort items of 4, 8 or 16 bytes, SAMPLE_SORT_LEAST at the least. If the sample has
 * misled, as one in some thousands does with 2^21 keys and next to none with fewer, they stay as
 * they are.
 */
bool sample_sort(const struct cuda_sort *sort, const struct sample_task *task, struct error *error);

/* Does not fall as the count grows. */
size_t sample_sort_bytes(size_t count, unsigned item_bytes);

#endif
