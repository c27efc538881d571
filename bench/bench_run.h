/* SPDX-License-Identifier: Apache-2.0 */
/* bench_run.h - runs one case on the GPU with all sorters: timed in turns, each output checked. */
#ifndef BENCH_BENCH_RUN_H
#define BENCH_BENCH_RUN_H

#include "bench/bench_common.h"
#include "core/backend.h"
#include "core/error.h"

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- GPU sorts of other libraries, to compare with ----
 *
 * cub_peers.cu defines the list, or no_peers.cu in builds without CUB. */

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of a lane begin at multiples of this. */
#define BENCH_ALIGNMENT ((size_t)256)

/* Rounds up to BENCH_ALIGNMENT. Does not overflow, as counts are at most 10^12. */
static inline size_t bench_align(size_t bytes)
{
    return (bytes + BENCH_ALIGNMENT - 1) / BENCH_ALIGNMENT * BENCH_ALIGNMENT;
}

/* The items on the device: in one array at `keys` for our paths, or as separate keys and indices
 * for the pairs of a peer. */
struct item_arrays {
    void *keys;
    void *values; /* NULL: no separate indices */
};

/* Input of a peer. The caller owns the arrays and the arena, which are aligned. */
struct peer_call {
    enum bench_type_id type;
    size_t count;
    struct item_arrays input; /* may be overwritten */
    void *arena;              /* NULL: only report *arena_bytes */
    unsigned device;
    cudaStream_t stream;
};

struct peer {
    const char *name;

    /* With call->arena: starts to sort, using *arena_bytes of it, and sets *sorted to the
     * output, which is in input or arena. Without: sets *arena_bytes to the bytes it needs. */
    bool (*sort)(const struct peer_call *call, size_t *arena_bytes, struct item_arrays *sorted,
                 struct error *error);
};

extern const struct peer peers[];
extern const size_t peer_count;

#ifdef __cplusplus
}
#endif

/* ---- The items of a case, generated and checked on the device: bench_data.cu ----
 *
 * An item is a pure function of shape, type and index, so that the input can be generated again
 * before each run: no copy of it takes memory or crosses the bus.
 */

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

/* ---- A case with all sorters: bench_run.cu ---- */

/* Fills results[0..count), one for each sorter, whose row is a struct peer or a struct algorithm: a
 * warm-up run, then timed runs as `effort` requires, but not beyond 10 s. If a sorter refuses the
 * case or lacks memory, its result has the reason; returns false if the device itself fails. */
bool bench_run_case(const struct bench_case *bench, const struct bench_effort *effort,
                    const struct bench_sorter *sorters, size_t count, struct bench_result *results,
                    struct error *error);

/* ---- Several GPUs that sort together, from host memory to host memory: bench_gpus.cu ---- */

/* Sorts the case in host memory by options->devices, options->effort.runs times after a run to warm
 * up, and prints the times: of all, and of the upload, the sort of the parts, the exchange and the
 * download. Memory is allocated before the first run. The device and the stream of `whole` are not
 * used. *is_sorted: every output was sorted and complete. */
bool bench_run_gpus(const struct bench_options *options, const struct bench_case *whole,
                    const struct algorithm *algorithm, bool *is_sorted, struct error *error);

#endif
