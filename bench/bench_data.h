/* SPDX-License-Identifier: Apache-2.0 */
/* bench_data.h - the items of a case, made and judged on the device.
 *
 * An item is a pure function of the shape, the type and its place, so that the same input can be
 * made anew before each run: no pristine copy takes memory, and none crosses the bus.
 */
#ifndef BENCH_BENCH_DATA_H
#define BENCH_BENCH_DATA_H

#include "bench/bench_cases.h"
#include "core/error.h"

#include <cuda_runtime.h>
#include <stddef.h>

/* What is sorted, and where. */
struct bench_case {
    const struct bench_type *type;
    const struct bench_shape *shape;
    size_t count;
    unsigned device;
    cudaStream_t stream;
};

/* Where the items lie: as our paths want them, one array at `keys`; or keys and indices apart, as
 * CUB's pairs want them. */
struct item_arrays {
    void *keys;
    void *values; /* NULL: none apart */
};

/* What is left of the items when their places are forgotten, and how many are out of place. */
struct item_digest {
    unsigned long long sum, exclusive_or; /* of a 64-bit hash of each item, key and index */
    unsigned long long disorder;          /* items that belong before their neighbour on the left */
};

/* Starts to write the input of the case. */
bool bench_data_fill(const struct bench_case *bench, struct item_arrays items, struct error *error);

/* Digests the items and waits for it. work: room for one struct item_digest on the device. One
 * array of struct key_index is ordered by key, then index; keys apart from their indices, by key
 * alone. */
bool bench_data_digest(const struct bench_case *bench, struct item_arrays items,
                       struct item_digest *work, struct item_digest *digest, struct error *error);

#endif
