/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - GPU sorts of other libraries, to compare with. cub_peers.cu defines the list, or
 * no_peers.cu in builds without CUB.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "bench/bench_common.h"
#include "core/error.h"

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Items on the device: keys alone, or keys and separate values. */
struct key_arrays {
    void *keys;
    void *values; /* NULL: keys alone */
};

/* Input of a peer. The caller owns the arrays and the arena, aligned to 256 bytes. */
struct peer_call {
    enum bench_type_id type;
    size_t count;
    struct key_arrays input; /* may be overwritten */
    void *arena;             /* NULL: only report *arena_bytes */
    unsigned device;
    cudaStream_t stream;
};

struct peer {
    const char *name;
    unsigned item_bytes; /* the only item size it sorts; 0: any */

    /* With call->arena: starts to sort, using *arena_bytes of it, and sets *sorted to the
     * output, which is in input or arena. Without: sets *arena_bytes to the bytes it needs. */
    bool (*sort)(const struct peer_call *call, size_t *arena_bytes, struct key_arrays *sorted,
                 struct error *error);
};

extern const struct peer peers[];
extern const size_t peer_count;

#ifdef __cplusplus
}
#endif
#endif
