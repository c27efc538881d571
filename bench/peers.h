/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - sorts of other libraries, which ours are timed against. Two files define the list:
 * cub_peers.cu, and no_peers.cu for builds in which there is no CUB.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "bench/bench_cases.h"
#include "core/error.h"

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where items lie on the device: keys alone, or keys and their values apart. */
struct key_arrays {
    void *keys;
    void *values; /* NULL: keys alone */
};

/* What a peer is asked to sort. Arrays and arena are the caller's, aligned to 256 bytes. */
struct peer_call {
    enum bench_type_id type;
    size_t count;
    struct key_arrays input; /* may be overwritten */
    void *arena;             /* NULL: only *arena_bytes is wanted */
    unsigned device;
    cudaStream_t stream;
};

struct peer {
    const char *name;
    unsigned item_bytes; /* sorts items of so many bytes alone; 0: of any */

    /* With call->arena: starts to sort with the *arena_bytes there; *sorted says where the output
     * will lie, in input or arena. Without: says how many bytes it needs. */
    bool (*sort)(const struct peer_call *call, size_t *arena_bytes, struct key_arrays *sorted,
                 struct error *error);
};

extern const struct peer peers[];
extern const size_t peer_count;

#ifdef __cplusplus
}
#endif
#endif
