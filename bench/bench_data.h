/* SPDX-License-Identifier: Apache-2.0 */
/* bench_data.h - the items of a case, generated and checked on the device.
 *
 * An item is a pure function of shape, type and index, so that the input can be generated again
 * before each run: no copy of it takes memory or crosses the bus.
 */
#ifndef BENCH_BENCH_DATA_H
#define BENCH_BENCH_DATA_H

#include "bench/bench_common.h"
#include "core/error.h"

#include <cuda_runtime.h>
#include <stddef.h>

/* A type, a shape and a count, on a device and a stream. `first` and `total` make it a part of a
 * larger input. */
struct bench_case {
    const struct bench_type *type;
    const struct bench_shape *shape;
    size_t count;
    unsigned device;
    cudaStream_t stream;
    size_t first = 0; /* index of its first item in the whole input */
    size_t total = 0; /* items of the whole input; 0: count */
};

/* The items: in one array at `keys` for our paths, or as separate keys and indices for CUB's
 * pairs. */
struct item_arrays {
    void *keys;
    void *values; /* NULL: no separate indices */
};

/* An order-independent checksum of the items, and the number of items out of order. */
struct item_digest {
    unsigned long long sum, exclusive_or; /* of a 64-bit hash of each item, key and index */
    unsigned long long disorder;          /* items less than their left neighbour */
};

/* Starts to write the input of the case, asynchronously on its stream. */
bool bench_data_fill(const struct bench_case *bench, struct item_arrays items, struct error *error);

/* Computes the digest and waits for it. work: room for one struct item_digest on the device. An
 * array of struct key_index is ordered by key, then index; separate keys by key alone. */
bool bench_data_digest(const struct bench_case *bench, struct item_arrays items,
                       struct item_digest *work, struct item_digest *digest, struct error *error);

#endif
