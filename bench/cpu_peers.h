/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_peers.h - CPU sorts of other libraries, to compare with: std::sort of the C++ library, TBB's
 * parallel sort, and VQSort of Highway; the last two if the build found them.
 */
#ifndef BENCH_CPU_PEERS_H
#define BENCH_CPU_PEERS_H

#include "core/key_types.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Input of a peer: keys of a type, or struct key_index by key, then index. */
struct cpu_peer_call {
    enum key_type_id key;
    bool has_index;
    size_t count;
    void *items;
    void *scratch; /* as large as items */
    unsigned threads;
};

struct cpu_peer {
    const char *name;
    unsigned item_bytes_min;

    /* Sorts, and sets *sorted to items or scratch. Returns false if it cannot sort this type. */
    bool (*sort)(const struct cpu_peer_call *call, void **sorted);
};

/* The row of std::sort, by threads where it has them; it takes all types, and sorts in place. */
#define CPU_PEER_STD 0

extern const struct cpu_peer cpu_peers[];
extern const size_t cpu_peer_count;

#ifdef __cplusplus
}
#endif
#endif
